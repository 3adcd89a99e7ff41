package io.joinless.spark.functions

import scala.jdk.CollectionConverters._
import scala.util.Try

import io.joinless.spark.changes.TableFunctions
import io.joinless.spark.inspect.ActiveQueries
import io.joinless.spark.plans.marks.UnresolvedCall
import io.joinless.spark.source.{FullResult, Lookups, ResultsOnDemand}
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{Alias, Expression, Literal}
import org.apache.spark.sql.catalyst.expressions.aggregate.Count
import org.apache.spark.sql.catalyst.plans.logical.Aggregate
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.joinless.{CheckpointFolder, Plans}

/** Complete results in SQL, what is drawn of them, and their rows by values. */
private[functions] object ResultFunctions {

  private val Full = Signature(
    "enumerate_full",
    "enumerate_full(TABLE(SELECT ...), checkpoint => '/path')",
    Seq("checkpoint", "batch_id", "operator", "query"),
    tables = 1
  )

  private val enumerateFull = Full.registered(
    "the complete result of a streaming query as of the last committed batch of its checkpoint, or of the batch " +
      "batch_id. Instead of the checkpoint, query is the name or id of a running query."
  ) { call =>
    val checkpoint = folder(call)
    val (batch, operator) = (call.number("batch_id"), call.number("operator"))
    (_, relations) => FullResult(relations.head, checkpoint, batch, operator)
  }

  private val Committed =
    Signature("committed_batch", "committed_batch(checkpoint => '/path')", Seq("checkpoint", "query"), tables = 0)

  private val committed = Committed.registered(
    "one row: a checkpoint, given by its path or by the name or id of a running query, and its last committed batch"
  ) { call =>
    val checkpoint = folder(call)
    (session, _) => {
      val batch = new CheckpointFolder(session, new Path(checkpoint)).committed.map(Long.box).orNull
      val columns = StructType.fromDDL("checkpoint STRING, batch BIGINT")
      session.createDataFrame(Seq(Row(checkpoint, batch)).asJava, columns)
    }
  }

  /** The checkpoint that a call names, by its path or by a running query. */
  private def folder(call: Call): String = (call.text("checkpoint"), call.text("query")) match {
    case (Some(folder), None) => folder
    case (None, Some(query)) => Plans.checkpoint(ActiveQueries.find(query))
    case _ => call.refuse()
  }

  private val Page = Signature("page", "page(TABLE(result), 1000, 20)", Seq("offset", "size"), tables = 1)

  private val page = Page.registered("the rows of a complete result from number offset on, at most size of them") {
    call =>
      val (offset, size) = (call.needed(call.number("offset")), call.needed(call.number("size")))
      (_, relations) => ResultsOnDemand.page(relations.head, BigInt(offset), size)
  }

  /** `lookup(TABLE(result), TABLE(keys))`, or `lookup(TABLE(result), customer => 7)`.
    */
  private val lookup = byValues("lookup", "the rows of a complete result that have these values in these columns") {
    case (Seq(result, keys), Seq()) => Lookups(result, keys)
    case (Seq(result), values) if values.nonEmpty => Lookups.of(result, values.map(_._1), values.map(_._2))
  }

  private val weightOf = byValues("weight_of", "one row: how often a complete result has this row") {
    case (Seq(result), row) if row.nonEmpty =>
      counted(Lookups.ofRow(result, row.map(_._1), row.map(_._2)))
    case (Seq(result, row), Seq()) => counted(Lookups.ofRow(result, row))
  }

  private def counted(rows: DataFrame): DataFrame = {
    val weight = Alias(Count(Literal(1)).toAggregateExpression(), "weight")()
    Plans.dataFrame(rows, Aggregate(Nil, Seq(weight), Plans.analyzed(rows)))
  }

  val all: Seq[TableFunctions.Registered] = Seq(enumerateFull, committed, page, lookup, weightOf)

  /** A function of relations and of values of columns, which are named freely.
    *
    * @param made the result; undefined for arguments that the function does not take
    */
  private def byValues(function: String, meaning: String)(
      made: PartialFunction[(Seq[DataFrame], Seq[(String, Literal)]), DataFrame]
  ): TableFunctions.Registered = (
    FunctionIdentifier(function),
    TableFunctions.info(
      getClass.getName,
      function,
      "TABLE(result), column => value, ...",
      meaning,
      "TABLE(result), customer => 7"
    ),
    arguments => {
      def refused = TableFunctions.refused(function, s"$function(TABLE(result), customer => 7)", arguments)
      val (relations, values) = arguments.span(TableFunctions.Table.unapply(_).isDefined)
      val named = values.map {
        case TableFunctions.Named(name, Constant(value)) => name -> value
        case _ => throw refused
      }
      UnresolvedCall(function, relations.collect { case TableFunctions.Table(query) => query })((_, frames) =>
        made.applyOrElse((frames, named), (_: (Seq[DataFrame], Seq[(String, Literal)])) => throw refused)
      )
    }
  )

  /** An expression that has one value, wherever it is computed. */
  private object Constant {
    def unapply(expression: Expression): Option[Literal] = expression match {
      case literal: Literal => Some(literal)
      case constant if constant.foldable && constant.deterministic =>
        Try(Literal(constant.eval(), constant.dataType)).toOption
      case _ => None
    }
  }
}
