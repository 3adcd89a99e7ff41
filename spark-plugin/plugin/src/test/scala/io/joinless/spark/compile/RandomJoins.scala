package io.joinless.spark.compile

import scala.util.Random

/** A query of joins of all types, subqueries as conditions, and groups, over small tables of two
  * columns: its SQL, and its result by nested loops. Columns have distinct names, so no text needs
  * an alias.
  */
sealed abstract private[compile] class RandomQuery {
  import RandomQuery._

  def columns: Seq[String]

  /** A SELECT. */
  def sql: String

  def rows(tables: Int => Seq[Row]): Seq[Row]

  final protected def at(column: String): Int = columns.indexOf(column)
}

private[compile] object RandomQuery {
  type Value = Option[Int]
  type Row = IndexedSeq[Value]

  /** @param named number in the names of the columns */
  final case class Table(number: Int, named: Int) extends RandomQuery {
    override val columns: Seq[String] = Seq(s"a$named", s"b$named")
    override def sql: String = s"SELECT a AS a$named, b AS b$named FROM t$number"
    override def rows(tables: Int => Seq[Row]): Seq[Row] = tables(number)
  }

  /** A comparison of two columns, or of one with a number. */
  final case class Comparison(left: String, operator: String, right: Either[Int, String]) {
    def sql: String = s"$left $operator ${right.fold(_.toString, identity)}"

    /** None: it is NULL. */
    def holds(columns: Seq[String], row: Row): Option[Boolean] = {
      def value(column: String) = row(columns.indexOf(column))
      val (x, y) = (value(left), right.fold(Option(_), value))
      operator match {
        case "<=>" => Some(x == y)
        case _ =>
          for (a <- x; b <- y) yield operator match {
            case "=" => a == b
            case "<" => a < b
            case "<>" => a != b
          }
      }
    }
  }

  /** Whether both comparisons are true, in SQL's logic, for a row of the left side joined with one
    * of the right side.
    */
  final case class Condition(parts: Seq[Comparison]) {
    def sql: String = parts.map(_.sql).mkString(" AND ")
    def holds(columns: Seq[String], row: Row): Boolean = parts.forall(_.holds(columns, row).contains(true))
  }

  final case class Joined(kind: String, left: RandomQuery, right: RandomQuery, on: Condition) extends RandomQuery {
    private def both = left.columns ++ right.columns
    override def columns: Seq[String] = if (kind == "LEFT SEMI" || kind == "LEFT ANTI") left.columns else both
    override def sql: String =
      s"SELECT ${columns.mkString(", ")} FROM (${left.sql}) $kind JOIN (${right.sql}) ON ${on.sql}"

    override def rows(tables: Int => Seq[Row]): Seq[Row] = {
      val (ls, rs) = (left.rows(tables), right.rows(tables))
      def meets(l: Row, r: Row) = on.holds(both, l ++ r)
      val nulls: Int => Row = IndexedSeq.fill(_)(None)
      lazy val inner = for (l <- ls; r <- rs if meets(l, r)) yield l ++ r
      lazy val lefts = ls.filterNot(l => rs.exists(meets(l, _))).map(_ ++ nulls(right.columns.size))
      lazy val rights = rs.filterNot(r => ls.exists(meets(_, r))).map(nulls(left.columns.size) ++ _)
      kind match {
        case "INNER" => inner
        case "LEFT OUTER" => inner ++ lefts
        case "RIGHT OUTER" => inner ++ rights
        case "FULL OUTER" => inner ++ lefts ++ rights
        case "LEFT SEMI" => ls.filter(l => rs.exists(meets(l, _)))
        case "LEFT ANTI" => ls.filterNot(l => rs.exists(meets(l, _)))
      }
    }
  }

  /** The rows that a subquery accepts: EXISTS, NOT EXISTS, IN, NOT IN, or EXISTS with another
    * condition under OR.
    */
  final case class Where(
      kind: String,
      child: RandomQuery,
      sub: RandomQuery,
      on: Condition,
      in: (String, String),
      or: Comparison
  ) extends RandomQuery {
    override def columns: Seq[String] = child.columns

    private def exists = s"EXISTS (SELECT 1 FROM (${sub.sql}) WHERE ${on.sql})"

    override def sql: String = {
      val condition = kind match {
        case "EXISTS" => exists
        case "NOT EXISTS" => s"NOT $exists"
        case "OR" => s"(${or.sql} OR $exists)"
        case _ => s"${in._1} $kind (SELECT ${in._2} FROM (${sub.sql}) WHERE ${on.sql})"
      }
      s"SELECT ${columns.mkString(", ")} FROM (${child.sql}) WHERE $condition"
    }

    override def rows(tables: Int => Seq[Row]): Seq[Row] = {
      val subs = sub.rows(tables)
      val both = child.columns ++ sub.columns
      child.rows(tables).filter { row =>
        val meeting = subs.filter(s => on.holds(both, row ++ s))
        lazy val value = row(at(in._1))
        lazy val values = meeting.map(_(sub.columns.indexOf(in._2)))
        lazy val equal = value.isDefined && values.contains(value)
        kind match {
          case "EXISTS" => meeting.nonEmpty
          case "NOT EXISTS" => meeting.isEmpty
          case "OR" => or.holds(columns, row).contains(true) || meeting.nonEmpty
          case "IN" => equal
          case "NOT IN" => values.isEmpty || !equal && value.isDefined && !values.contains(None)
        }
      }
    }
  }

  /** The number of rows per value of a column. */
  final case class Counted(child: RandomQuery, by: String, as: String) extends RandomQuery {
    override def columns: Seq[String] = Seq(by, as)
    override def sql: String = s"SELECT $by, CAST(COUNT(*) AS INT) AS $as FROM (${child.sql}) GROUP BY $by"
    override def rows(tables: Int => Seq[Row]): Seq[Row] = {
      val place = child.columns.indexOf(by)
      child.rows(tables).groupBy(_(place)).map { case (value, rows) => IndexedSeq(value, Some(rows.size)) }.toSeq
    }
  }

  val JoinKinds: Seq[String] = Seq("INNER", "LEFT OUTER", "RIGHT OUTER", "FULL OUTER", "LEFT SEMI", "LEFT ANTI")
  val WhereKinds: Seq[String] = Seq("EXISTS", "NOT EXISTS", "IN", "NOT IN", "OR")

  /** A random query over this number of tables. */
  def random(rng: Random, tables: Int): RandomQuery = {
    var named = 0
    def some[A](values: Seq[A]): A = values(rng.nextInt(values.size))
    def table(): RandomQuery = { named += 1; Table(rng.nextInt(tables), named) }
    def compared(left: RandomQuery, right: RandomQuery): Comparison =
      Comparison(some(left.columns), some(Seq("<", "<>")), Right(some(right.columns)))
    def on(left: RandomQuery, right: RandomQuery): Condition = {
      val equal = Comparison(some(left.columns), if (rng.nextInt(8) == 0) "<=>" else "=", Right(some(right.columns)))
      val more = Seq(
        Option.when(rng.nextInt(3) == 0)(compared(left, right)),
        Option.when(rng.nextInt(5) == 0)(Comparison(some(left.columns), "<", Left(2))),
        Option.when(rng.nextInt(5) == 0)(Comparison(some(right.columns), "<>", Left(1)))
      )
      Condition(equal +: more.flatten)
    }
    def query(depth: Int): RandomQuery =
      if (depth == 0 || rng.nextInt(6) == 0) table()
      else {
        val child = query(depth - 1)
        rng.nextInt(8) match {
          case 0 =>
            named += 1
            Counted(child, some(child.columns), s"n$named")
          case 1 | 2 | 3 =>
            val sub = query(rng.nextInt(depth))
            val or = Comparison(some(child.columns), "<>", Left(rng.nextInt(3)))
            Where(some(WhereKinds), child, sub, on(child, sub), (some(child.columns), some(sub.columns)), or)
          case _ =>
            val right = query(rng.nextInt(depth))
            Joined(some(JoinKinds), child, right, on(child, right))
        }
      }
    query(1 + rng.nextInt(3))
  }
}
