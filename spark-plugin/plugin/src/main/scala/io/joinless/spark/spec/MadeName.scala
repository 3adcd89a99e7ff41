package io.joinless.spark.spec

/** Names that Spark's optimizer gives to columns which the query does not have, such as `_common_expr_7`. Some have a running number of the
  * process. What is recorded has none of them; earlier releases recorded them as they came.
  */
object MadeName {

  /** Where nothing else is known of such a column. */
  val Plain = "expression"

  private val Numbered = "_common_expr_\\d+"
  private val All = s"$Numbered|_groupingexpression|_aggregateexpression|_groupingmapsort|_extract_.+|_gen_alias_\\d+".r

  /** Whether an earlier release may have recorded it of such a column, or of what is computed from one. */
  private def wasMade(recorded: String): Boolean = is(recorded) || Numbered.r.findFirstIn(recorded).isDefined

  private val Longest = 1000

  def is(name: String): Boolean = All.matches(name)

  /** The name of such a column, by the text of what it is; a long one is cut, and told from others by a hash. */
  def of(text: String): String = {
    val known = text.replaceAll(Numbered, Plain)
    if (known.length <= Longest) known else s"${known.take(Longest)}... ${known.hashCode.toHexString}"
  }

  /** A recorded block with the names that `planned` has for columns to which Spark gave the recorded ones. */
  def forgotten(recorded: BlockShape, planned: BlockShape): BlockShape = {
    val places = recorded.relations.zip(planned.relations).map { case (was, is) => was.input -> is.input }.toMap
    recorded.copy(inputs = recorded.inputs.zipWithIndex.map { case (input, i) =>
      input.copy(columns = places.get(i).fold(input.columns)(p => forgotten(input.columns, planned.inputs(p).columns)))
    })
  }

  /** The same of columns. */
  def forgotten(recorded: IndexedSeq[ColumnSpec], planned: IndexedSeq[ColumnSpec]): IndexedSeq[ColumnSpec] =
    recorded.zipWithIndex.map { case (column, i) =>
      column.copy(name = planned.lift(i).filter(_ => wasMade(column.name)).fold(column.name)(_.name))
    }
}
