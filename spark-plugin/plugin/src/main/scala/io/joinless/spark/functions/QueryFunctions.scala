package io.joinless.spark.functions

import io.joinless.spark.changes.{Changes, TableFunctions}
import io.joinless.spark.plans.marks.UnresolvedCall
import io.joinless.spark.tables.QueryOverTables
import io.joinless.spark.views.Explanation
import org.apache.spark.sql.catalyst.{FunctionIdentifier, InternalRow}
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Literal}
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation
import org.apache.spark.sql.joinless.Plans
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.types.{ArrayType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/** Delta tables as they change, feeds as rows, and how a query would be computed, in SQL. */
private[functions] object QueryFunctions {

  private val rows = Signature("rows", "rows(TABLE(feed))", Nil, tables = 1)
    .registered("a change feed in which each change counts as a row")(_ =>
      (_, relations) => Changes.rows(relations.head)
    )

  private val table = Signature("joinless_table", "joinless_table('orders')", Seq("name"), tables = 0)
    .registered("a Delta table as it changes, as a stream") { call =>
      val name = call.needed(call.text("name"))
      (session, _) => QueryOverTables.table(session, name)
    }

  /** `joinless_sql('SELECT ...', orders => TABLE(orders_of_today))`. */
  private val query: TableFunctions.Registered = {
    val usage = "joinless_sql('SELECT ...', name => TABLE(stream))"
    (
      FunctionIdentifier("joinless_sql"),
      TableFunctions.info(
        getClass.getName,
        "joinless_sql",
        "query, name => TABLE(stream), ...",
        "a query over Delta tables as they change, as a stream. Relations that its text calls by a name may be given.",
        "'SELECT shop, SUM(amount) FROM orders GROUP BY shop'"
      ),
      {
        case arguments @ Literal(text: UTF8String, _: StringType) +: others =>
          val (names, relations) = others.map {
            case TableFunctions.Named(name, TableFunctions.Table(relation)) => name -> relation
            case _ => throw TableFunctions.refused("joinless_sql", usage, arguments)
          }.unzip
          UnresolvedCall("joinless_sql", relations)((session, frames) =>
            QueryOverTables.query(session, text.toString, names.zip(frames).toMap)
          )
        case arguments => throw TableFunctions.refused("joinless_sql", usage, arguments)
      }
    )
  }

  private val Columns = Seq("text", "mermaid", "json", "reasons")

  private val Plan =
    Signature("joinless_plan", "joinless_plan(TABLE(SELECT ...))", Seq("is_view", "lookups"), tables = 1)

  private val plan = Plan.registered(
    "one row: how Joinless would run a query, as text, as a Mermaid drawing and as JSON, why joins stay with Spark, " +
      "and what look-ups by lists of columns would cost"
  ) { call =>
    val isView = call.flag("is_view").getOrElse(false)
    val lookups = call.lists("lookups").getOrElse(Nil)
    (session, relations) => {
      val found = Explanation(relations.head, isView)
      val values = Seq(found.text, found.mermaid, found.json, found.reasonsJson).map(UTF8String.fromString)
      val costs = new GenericArrayData(found.lookups(lookups).map(UTF8String.fromString))
      val output = Columns.map(AttributeReference(_, StringType, nullable = false)()) :+
        AttributeReference("lookups", ArrayType(StringType, containsNull = false), nullable = false)()
      Plans.dataFrame(session, LocalRelation(output, Seq(InternalRow(values :+ costs: _*))))
    }
  }

  val all: Seq[TableFunctions.Registered] = Seq(rows, table, query, plan)
}
