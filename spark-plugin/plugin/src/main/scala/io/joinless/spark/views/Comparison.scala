package io.joinless.spark.views

import org.apache.spark.sql.expressions.Window
import org.apache.spark.sql.functions._
import org.apache.spark.sql.types.{DoubleType, FloatType}
import org.apache.spark.sql.{Column, DataFrame}

/** Two bags of rows with columns of the same names, in the same order: how often each row is in
  * either.
  *
  * Rows that differ by less than a billionth of the value in FLOAT and DOUBLE columns, and in no
  * other column, count as equal: Spark's sums of such numbers depend on the order of the rows.
  *
  * @param table the rows of the table of a view
  * @param query the rows of its query
  */
final private[views] class Comparison(table: DataFrame, query: DataFrame) {
  import Comparison._

  /** Values by position: names of the user's may be those of columns here. */
  private val cells = table.columns.indices.map(i => s"c$i")

  /** One row for all equal ones: its copies in both, and whether it differs from one of the other
    * side by rounding only.
    */
  private val compared: DataFrame = {
    def side(rows: DataFrame, here: Int) =
      rows.toDF(cells: _*).select(cells.map(col) ++ Seq(lit(here).as(InTable), lit(1 - here).as(InQuery)): _*)
    val both = side(table, 1).unionByName(side(query, 0)).groupBy(cells.map(col): _*)
      .agg(sum(InTable).as(InTable), sum(InQuery).as(InQuery))
    val floats = cells.zip(table.schema).collect {
      case (cell, column) if column.dataType == FloatType || column.dataType == DoubleType => cell
    }
    both.withColumn(Rounded, if (floats.isEmpty) lit(false) else differing && coalesce(near(floats), lit(false)))
  }

  /** Whether a row differs, and so does one row of the other side, which has nearly the same values
    * in these columns and the same ones in the others.
    */
  private def near(floats: Seq[String]): Column = {
    val others = Window.partitionBy(differing +: cells.filterNot(floats.contains).map(col): _*)
    val alone = sum(InTable).over(others) === 1 && sum(InQuery).over(others) === 1
    floats.foldLeft(alone) { (all, cell) =>
      val one = max(when(col(InTable) > col(InQuery), col(cell))).over(others)
      val other = max(when(col(InTable) < col(InQuery), col(cell))).over(others)
      val (error, size) = (abs(one - other), greatest(abs(one), abs(other)))
      // NaN is greater than all
      all && (one <=> other || error <= size * Rounding && error < lit(Double.PositiveInfinity))
    }
  }

  def totals: Totals = {
    val (more, differs) = (col(InTable) - col(InQuery), !col(Rounded))
    val row = compared.agg(
      sum(InTable),
      sum(when(differs, greatest(-more, lit(0)))),
      sum(when(differs, greatest(more, lit(0)))),
      sum(when(!differs, greatest(more, lit(0))))
    ).head()
    def number(i: Int): Long = if (row.isNullAt(i)) 0 else row.getLong(i)
    Totals(number(0), number(1), number(2), number(3))
  }

  /** Rows of one side only, and rows with other numbers of copies: the columns of the table,
    * `_in_table` and `_in_query`.
    */
  def differences: DataFrame = {
    val columns = cells.zip(table.columns).map { case (cell, name) => col(cell).as(name) }
    compared.where(differing && !col(Rounded)).select(columns ++ Seq(col(InTable), col(InQuery)): _*)
  }
}

private[views] object Comparison {

  /** @param rows of the table
    * @param missing rows of the query that the table lacks, copies counted
    * @param extra rows of the table that the query lacks, copies counted
    * @param rounded rows that differ by rounding only
    */
  final case class Totals(rows: Long, missing: Long, extra: Long, rounded: Long)

  private val InTable = "_in_table"
  private val InQuery = "_in_query"
  private val Rounded = "_rounded"

  private def differing: Column = col(InTable) =!= col(InQuery)

  /** Two sums of floating-point numbers in another order differ by less than this part of them. */
  private val Rounding = 1e-9
}
