package io.joinless.spark.spec

/** Names that Spark's optimizer gives to columns which the query does not have, such as
  * `_common_expr_7`. Some contain a number that runs within the process. Recorded texts have none
  * of these names; earlier releases recorded them unchanged.
  */
object MadeName {

  /** The name where nothing else is known of such a column. */
  val Plain = "expression"

  private val Numbered = "_common_expr_\\d+"
  private val All = s"$Numbered|_groupingexpression|_aggregateexpression|_groupingmapsort|_extract_.+|_gen_alias_\\d+".r

  /** Whether an earlier release may have recorded this name for such a column, or for one computed
    * from it.
    */
  private def wasMade(recorded: String): Boolean = is(recorded) || Numbered.r.findFirstIn(recorded).isDefined

  private val Longest = 1000

  def is(name: String): Boolean = All.matches(name)

  /** The name of such a column, made from the text of its expression; a long name is cut, and made
    * unique by a hash.
    */
  def of(text: String): String = {
    val known = text.replaceAll(Numbered, Plain)
    if (known.length <= Longest) known else s"${known.take(Longest)}... ${known.hashCode.toHexString}"
  }

  /** A recorded block in which columns with names made by Spark have their names of `planned`. */
  def forgotten(recorded: BlockShape, planned: BlockShape): BlockShape = {
    val places = recorded.relations.zip(planned.relations).map { case (was, is) => was.input -> is.input }.toMap
    recorded.copy(inputs = recorded.inputs.zipWithIndex.map { case (input, i) =>
      input.copy(columns = places.get(i).fold(input.columns)(p => forgotten(input.columns, planned.inputs(p).columns)))
    })
  }

  /** The same for columns. */
  def forgotten(recorded: IndexedSeq[ColumnSpec], planned: IndexedSeq[ColumnSpec]): IndexedSeq[ColumnSpec] =
    recorded.zipWithIndex.map { case (column, i) =>
      column.copy(name = planned.lift(i).filter(_ => wasMade(column.name)).fold(column.name)(_.name))
    }
}
