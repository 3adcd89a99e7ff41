package io.joinless.spark.compile

import scala.collection.mutable
import scala.util.Random

import io.joinless.engine.oracle.Seeds
import io.joinless.spark.SharedSpark
import io.joinless.spark.api._
import io.joinless.spark.changes.Changes
import io.joinless.spark.errors.JoinlessAnalysisException
import io.joinless.spark.exec.groups.InterpretedPlan
import io.joinless.spark.plans.values.DeltaForm
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.joinless.Plans
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{Encoders, Row, classic}
import org.scalatest.funsuite.AnyFunSuite

/** Semi, anti and outer joins, as they are compiled: in many random batches, with a nested-loop
  * join as the oracle. JOINLESS_EDGE_BATCHES is their number; `make test-long` has 100,000.
  */
class MatchEdgesSpec extends AnyFunSuite with SharedSpark {
  import MatchEdgesSpec._
  import RandomQuery.{JoinKinds, WhereKinds}

  private val session = spark.asInstanceOf[classic.SparkSession]
  private val batches = sys.env.getOrElse("JOINLESS_EDGE_BATCHES", "2000").toInt
  private val names = IndexedSeq("x", "y", "z")

  for ((name, i) <- names.zipWithIndex)
    MemoryStream[Row](Encoders.row(schema(name)), session).toDF().toDF("a", "b", "w").weightedChangelog("w")
      .createOrReplaceTempView(s"t$i")

  /** The current tables, and their changes by the current batch. */
  final private class Tables(rng: Random) {
    private val present = names.map(_ => mutable.ArrayBuffer.empty[RandomQuery.Row])
    private var changes = Map.empty[Int, Seq[(RandomQuery.Row, Long)]]

    def rows(table: Int): Seq[RandomQuery.Row] = present(table).toSeq

    def next(): Unit = changes = names.indices.map { table =>
      val rows = present(table)
      val deleted = Seq.fill(if (rng.nextInt(9) == 0) rows.size else rng.nextInt(3).min(rows.size))(rows.remove(
        rng.nextInt(rows.size)
      ))
      val inserted =
        Seq.fill(rng.nextInt(3).min(6 - rows.size))(IndexedSeq.fill(2)(Option.when(rng.nextInt(6) > 0)(rng.nextInt(3))))
      rows ++= inserted
      table -> (deleted.map(_ -> -1L) ++ inserted.map(_ -> 1L))
    }.toMap

    /** The changes of a source by the batch. */
    def of(leaf: LogicalPlan): Seq[InternalRow] = {
      changes(names.indexOf(leaf.output.head.name)).map { case (row, weight) =>
        InternalRow.fromSeq(row.map(_.orNull[Any]) :+ weight)
      }
    }
  }

  private def compiled(query: RandomQuery): LogicalPlan =
    DeltaCompilation(spark, Changes.marked(Plans.analyzed(spark.sql(query.sql)), DeltaForm.Weight))

  /** The first batch after which the changes do not add up; None if all do. */
  private def wrong(query: RandomQuery, oracle: RandomQuery, rng: Random, batches: Int): Option[(Int, String)] = {
    val tables = new Tables(rng)
    val plan = new InterpretedPlan(compiled(query), tables.of)
    var result = Map.empty[Seq[Any], Long]
    (0 until batches).iterator.map { batch =>
      tables.next()
      val emitted = plan.batch()
      result = (result.keySet ++ emitted.keySet).iterator.map(row =>
        row -> (result.getOrElse(row, 0L) + emitted.getOrElse(row, 0L))
      ).filter(_._2 != 0L).toMap
      val expected = oracle.rows(tables.rows).groupMapReduce(_.map(_.orNull[Any]): Seq[Any])(_ => 1L)(_ + _)
      Option.when(result != expected)((batch, s"emitted $result, expected $expected"))
    }.collectFirst { case Some(found) => found }
  }

  test(s"$batches random batches of joins of all types, subqueries and groups") {
    val seed = Seeds.of("MatchEdgesSpec")
    val rng = new Random(seed)
    val kinds = mutable.Map.empty[String, Int].withDefaultValue(0)
    var left = batches
    withConf("spark.sql.codegen.factoryMode" -> "NO_CODEGEN", "spark.joinless.maxRelations" -> "16") {
      while (left > 0) {
        val query = RandomQuery.random(rng, names.size)
        try {
          val found = wrong(query, query, rng, 50)
          assert(found.isEmpty, s"seed $seed: $found\n${query.sql}")
          kindsOf(query).foreach(kinds(_) += 1)
          left -= 50
        } catch {
          case refused: JoinlessAnalysisException => kinds(s"refused: ${refused.getMessage.take(90)}") += 1
        }
      }
    }
    info(kinds.toSeq.sortBy(-_._2).map { case (kind, n) => s"$kind $n" }.mkString(", "))
    assert((JoinKinds ++ WhereKinds).forall(kinds(_) > 0), kinds)
  }

  /** Each kind of edge compiled as another one: the test above must detect it. */
  for ((kind, as) <- Mutants) test(s"a mutant is found: $kind as $as") {
    val rng = new Random(kind.hashCode.toLong)
    def random(): RandomQuery =
      Iterator.continually(RandomQuery.random(rng, names.size)).find(kindsOf(_).contains(kind)).get
    withConf("spark.sql.codegen.factoryMode" -> "NO_CODEGEN", "spark.joinless.maxRelations" -> "16") {
      val found = Iterator.continually(random()).take(40).exists { query =>
        val mutant = replaced(query, kind, as)
        try wrong(mutant, query, rng, 20).isDefined
        catch { case _: JoinlessAnalysisException => false }
      }
      assert(found)
    }
  }
}

private object MatchEdgesSpec {
  import RandomQuery._

  /** The first column has the name of the source. */
  def schema(name: String): StructType = StructType.fromDDL(s"$name INT, b INT, w BIGINT")

  val Mutants: Seq[(String, String)] = Seq(
    "LEFT OUTER" -> "INNER",
    "RIGHT OUTER" -> "INNER",
    "FULL OUTER" -> "LEFT OUTER",
    "FULL OUTER" -> "RIGHT OUTER",
    "EXISTS" -> "NOT EXISTS",
    "NOT EXISTS" -> "OR",
    "NOT IN" -> "IN",
    "NOT IN" -> "NOT EXISTS",
    "OR" -> "EXISTS",
    "LEFT SEMI" -> "LEFT ANTI",
    "LEFT ANTI" -> "LEFT SEMI"
  )

  def kindsOf(query: RandomQuery): Seq[String] = query match {
    case Table(_, _) => Nil
    case Joined(kind, left, right, _) => kind +: (kindsOf(left) ++ kindsOf(right))
    case Where(kind, child, sub, _, _, _) => kind +: (kindsOf(child) ++ kindsOf(sub))
    case Counted(child, _, _) => "COUNT" +: kindsOf(child)
  }

  def replaced(query: RandomQuery, kind: String, as: String): RandomQuery = query match {
    case table: Table => table
    case join: Joined =>
      Joined(
        if (join.kind == kind) as else join.kind,
        replaced(join.left, kind, as),
        replaced(join.right, kind, as),
        join.on
      )
    case where: Where =>
      where.copy(
        if (where.kind == kind) as else where.kind,
        replaced(where.child, kind, as),
        replaced(where.sub, kind, as)
      )
    case counted: Counted => counted.copy(replaced(counted.child, kind, as))
  }
}
