package io.joinless.spark.source

import scala.util.control.NonFatal

import io.joinless.spark.errors.{JoinlessAnalysisException, JoinlessErrors}
import io.joinless.spark.inspect.SqlText
import io.joinless.spark.spec.{BlockShape, BlockSpec, ColumnRef, ResultSpec, SpecComparison}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Attribute, BoundReference, Expression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.types.DataType

/** The complete result of a join block as a checkpoint records it: by the checkpoint alone, or for
  * a query that the block belongs to.
  */
object RecordedResult {

  /** The result as the checkpoint alone describes it. Where the record has no result, since it would
    * be too large to be read back or an earlier release wrote it, columns are called
    * `relation.column`; with conditions on several relations (residuals) that is an error, since
    * nothing says how to evaluate them.
    */
  def recorded(session: SparkSession, snapshot: Snapshot): ResultTable = {
    val spec = snapshot.spec
    spec.shape.result match {
      case Some(result) => new Recorded(session, snapshot, result).table
      case None if spec.residuals.isEmpty =>
        val names = spec.output.map { c =>
          val relation = spec.relations(c.relation)
          s"${relation.name}.${spec.inputs(relation.input).columns(c.ordinal).name}"
        }
        ResultTable(CompleteResult(snapshot, spec, Nil, DistinctNames(names), plain(spec), Nil))
      case None =>
        val conditions = spec.residuals.map(_.sql).mkString(", ")
        throw JoinlessErrors.resultNotRecorded(
          snapshot.checkpoint,
          s"its record has no readable form of the conditions $conditions: it would be too large, or an earlier release wrote it"
        )
    }
  }

  /** The result of a block that a query was compiled to, as a plan with the given attributes, one
    * per column of `planned.output`. The query must be able to continue the recorded block; its
    * residuals are the ones that are evaluated.
    *
    * @param residuals over `planned.residuals(j).columns` by position
    * @param conditions conditions on the rows of single relations
    */
  def relation(
      snapshot: Snapshot,
      planned: BlockShape,
      residuals: Seq[Expression],
      output: Seq[Attribute],
      conditions: Seq[RelationFilter]
  ): LogicalPlan = {
    SpecComparison.difference(snapshot.spec.shape, planned).foreach { case (kind, what) =>
      throw JoinlessErrors.stateMismatch(kind, snapshot.checkpoint, what)
    }
    require(output.size == planned.output.size, "one attribute per column of the block")
    val spec = SpecComparison.continued(snapshot.spec, planned)
    val names = DistinctNames(output.map(_.name).toIndexedSeq)
    val result = CompleteResult(snapshot, spec, residuals, names, plain(spec), Nil, conditions)
    WholeTable.relation(ResultTable(result), output)
  }

  /** The columns of results themselves. */
  private def plain(spec: BlockSpec): IndexedSeq[Expression] =
    spec.output.zipWithIndex.map { case (c, i) => BoundReference(i, typeOf(spec, c), nullable = true) }

  /** The type of a stored column. */
  def typeOf(spec: BlockSpec, column: ColumnRef): DataType =
    spec.inputs(spec.relations(column.relation).input).columns(column.ordinal).dataType

  /** Parses the recorded texts. */
  final private class Recorded(session: SparkSession, snapshot: Snapshot, result: ResultSpec) {
    private val spec = snapshot.spec

    /** The result as the texts describe it. */
    def table: ResultTable = {
      val residuals = spec.residuals.zip(result.residuals).flatMap { case (residual, text) =>
        read(Seq(text), residual.columns, _ => s"the condition ${residual.sql}")
      }
      val values = read(result.values, spec.output, i => s"the column ${result.columns(i).name}")
      val filters = read(result.filters, spec.output, _ => "a condition that Joinless leaves to Spark")
      val names = DistinctNames(result.columns.map(_.name))
      ResultTable(CompleteResult(snapshot, spec, residuals, names, values.toIndexedSeq, filters))
    }

    /** Parses texts over these columns; `name` says what the i-th text is, for the error. */
    private def read(texts: Seq[Option[String]], columns: Seq[ColumnRef], name: Int => String): Seq[Expression] = {
      texts.zipWithIndex.collectFirst { case (None, i) =>
        refuse(s"${name(i)} has no form that other sessions can read")
      }
      try SqlText.read(session, texts.flatten, columns.map(typeOf(spec, _)), result.confs)
      catch {
        case refused: JoinlessAnalysisException => throw refused
        case NonFatal(e) =>
          refuse(s"${texts.indices.map(name).distinct.mkString(", ")} cannot be read back: ${firstLine(e)}")
      }
    }

    /** Throws the error of a result that cannot be read from the checkpoint alone. */
    private def refuse(what: String): Nothing = throw JoinlessErrors.resultNotRecorded(snapshot.checkpoint, what)

    /** The first line of an error's message, or else its class. */
    private def firstLine(e: Throwable): String =
      Option(e.getMessage).flatMap(_.linesIterator.nextOption()).getOrElse(e.getClass.getSimpleName)
  }
}
