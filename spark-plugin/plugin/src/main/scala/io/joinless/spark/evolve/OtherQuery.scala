package io.joinless.spark.evolve

import io.joinless.spark.checkpoint.CommittedState
import io.joinless.spark.rules.meaning.ExpressionTexts
import io.joinless.spark.spec.{StoredRelation, StoredRelations}
import io.joinless.spark.tables.VersionsRead
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, IsNotNull}
import org.apache.spark.sql.joinless.DeltaDetail
import org.apache.spark.sql.types.LongType

/** What another query has stored, as of a batch.
  *
  * @param offsets where it stood, one for each of its scans
  */
final private[evolve] class OtherQuery(
    session: SparkSession,
    state: CommittedState,
    record: StoredRelations,
    offsets: Seq[Option[String]]
) {

  /** The stored rows in place of rows that are read through a scan, and where the other query stood
    * in its stream; or why there are none, as a clause.
    *
    * @param scan its position in the query
    */
  def taken(scan: Int, name: String, rows: Relations.Rows): Either[String, (Taken, String)] = {
    def none =
      if (record.scans.isEmpty) "the old query has no record of its rows"
      else if (!record.scans.exists(_.name == name)) "the old query does not read it"
      else if (record.relations.exists(r => record.scans(r.scan).name == name))
        "its columns have changed, or it was read in another way"
      else "the old query does not store its rows as they are"
    val all = record.relations.filter(_.stream == rows.stream).map(from(scan, rows, _))
    all.collectFirst { case found @ Right(_) => found }.orElse(all.headOption).getOrElse(Left(none))
  }

  private def from(scan: Int, rows: Relations.Rows, stored: StoredRelation): Either[String, (Taken, String)] = for {
    operator <- operatorOf(stored).toRight("its rows are not in the state")
    offset <- offsets.lift(stored.scan).flatten.toRight("the old query has read nothing of it")
    _ <- another(record.scans(stored.scan).name, offset).toLeft(())
    _ <- stored.lacks(rows.conditions.map(text), rows.present.map(text), rows.settings).toLeft(())
    _ <- Either.cond(stored.weight.forall(rows.values.map(text).contains), (), "it is read in another way")
    values <- over(stored, rows.values)
    conditions <- over(stored, rows.conditions.filterNot(c => stored.filters.contains(text(c))))
    present <- over(stored, rows.present.filterNot(p => stored.present.contains(text(p))))
  } yield {
    val all = conditions ++ present.map(IsNotNull(_))
    (Taken(scan, rows.columns, rows.streamColumns, operator, stored, values, all), offset)
  }

  /** Expressions over the columns of a stream as those over the stored ones; or the first one that
    * these do not decide.
    */
  private def over(stored: StoredRelation, expressions: Seq[Expression]): Either[String, Seq[Expression]] = {
    val columns = columnsOf(stored)
    val known = stored.ordinals ++ stored.weight.map(_ -> stored.columns.size)
    all(expressions.map { e =>
      val bound = e.transformDown {
        case part if known.contains(text(part)) => columns(known(text(part)))
      }
      Either.cond(bound.references.isEmpty, bound, s"its ${bound.references.head.name} is not stored")
    })
  }

  private def text(e: Expression): String = ExpressionTexts.unqualified(e)

  /** The stored columns, and the count of a row after them. */
  private def columnsOf(stored: StoredRelation): IndexedSeq[BoundReference] =
    (stored.columns.map(_.dataType) :+ LongType).zipWithIndex.map { case (t, i) =>
      BoundReference(i, t, nullable = i < stored.columns.size)
    }

  private def all[A](several: Seq[Either[String, A]]): Either[String, Seq[A]] =
    several.collectFirst { case Left(why) => why }.toLeft(several.flatMap(_.toOption))

  /** The operator whose block has stored a relation's rows, if it is as the record says. */
  private def operatorOf(stored: StoredRelation): Option[Long] =
    state.operators.ours.find(_.spec.id.block == stored.block).filter { block =>
      block.spec.relations.lift(stored.relation).exists { relation =>
        block.spec.shape.stored(relation).map(_.dataType) == stored.columns.map(_.dataType)
      }
    }.map(_.operator)

  /** Why a table is another one than that of an offset, as a clause. */
  private def another(name: String, offset: String): Option[String] = {
    val table = if (name.contains("/")) s"delta.`${name.replace("`", "``")}`" else name
    for (read <- VersionsRead.of(offset); now <- DeltaDetail(session, table) if now.id != read.table)
      yield "it was created anew"
  }
}
