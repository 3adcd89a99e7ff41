package io.joinless.spark.plans.reasons

import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag

/** Why a join was not rewritten and runs in Spark: a stable code, its arguments, one sentence, and
  * what the user can do.
  *
  * Reasons are data. They are attached as a tag to the unchanged join, where explain finds them,
  * and become the error `JOINLESS_NOT_REWRITTEN` under `spark.joinless.mode=force`.
  */
final case class Reason(code: Reason.Code, arguments: Seq[(String, String)]) {

  /** The code's sentence with the arguments filled in. */
  def sentence: String = fill(code.sentence)

  /** The code's advice with the arguments filled in. */
  def advice: String = fill(code.advice)

  /** The template with the arguments in place of `<name>`, and windows as people write them. */
  private def fill(template: String): String =
    WindowTexts.short(arguments.foldLeft(template) { case (text, (name, value)) => text.replace(s"<$name>", value) })

  override def toString: String = s"${code.name}: $sentence"
}

object Reason {

  /** Attached to the topmost join of a block, and to its condition: Spark's
    * `RemoveRedundantAliases` copies joins without their tags, but keeps conditions. Read it by
    * [[at]].
    */
  private val tag: TreeNodeTag[Reason] = TreeNodeTag[Reason]("joinless.reason")

  /** Records why a join runs in Spark. The plan stays the same. */
  def leave(join: Join, reason: Reason): Unit = synchronized {
    join.setTagValue(tag, reason)
    join.condition.foreach(_.setTagValue(tag, reason))
  }

  /** Why the join `plan` runs in Spark. */
  def at(plan: LogicalPlan): Option[Reason] = plan match {
    case join: Join => synchronized(join.getTagValue(tag).orElse(join.condition.flatMap(_.getTagValue(tag))))
    case _ => None
  }

  /** A kind of reason.
    *
    * @param name upper case and stable
    * @param sentence the reason, with the arguments as `<name>`
    * @param advice what the user can do
    */
  final case class Code(name: String, sentence: String, advice: String)

  val CyclicJoinGraph: Code = Code(
    "CYCLIC_JOIN_GRAPH",
    "The relations <relations> form a cycle through <attributes>, and <why>.",
    "Write <equations> as <conditions>: Joinless checks them on each result of the other equi-join conditions. Or leave them out, and keep " +
      "the rows for which they hold in foreachBatch; or write the join of <joined> to a table and read that as one stream."
  )
  val NonEquiJoin: Code = Code(
    "NON_EQUI_JOIN",
    "Only the condition <condition> links <left> with <right>, and it is no equi-join condition of two relations.",
    "Add an equi-join condition on columns of two relations; where Spark cannot run the join either, set " +
      "spark.joinless.crossProducts.enabled=true."
  )
  val CrossProduct: Code = Code(
    "CROSS_PRODUCT",
    "Nothing links <left> with <right>, and cross products are switched off.",
    "Add an equi-join condition between them, or set spark.joinless.crossProducts.enabled=true."
  )
  val OuterJoin: Code = Code(
    "OUTER_JOIN",
    "A join of type <type> is not an inner join: <why>.",
    "Bound the times of both sides in its condition, and give both a watermark. Or request the changes of the result, or its final rows, by " +
      "incrementalEnumerate(), where both sides are streams."
  )
  val TooFewRelations: Code = Code(
    "TOO_FEW_RELATIONS",
    "The block joins <found> relations, and blocks are rewritten from <minimum> on.",
    "Set spark.joinless.minRelations=<found>."
  )
  val TooManyRelations: Code = Code(
    "TOO_MANY_RELATIONS",
    "The block joins <found> relations, and blocks are rewritten up to <maximum>.",
    "Set spark.joinless.maxRelations=<found>, at most 63."
  )
  val NondeterministicCondition: Code = Code(
    "NONDETERMINISTIC_CONDITION",
    "The expression <expression> between the joins is nondeterministic and splits them into blocks that are too small.",
    "Evaluate it before the first join or after the last one."
  )
  val StreamStaticJoin: Code = Code(
    "STREAM_STATIC_JOIN",
    "The static side <static> must be joined with exactly one streaming relation, and is with <relations>.",
    "Join it with one streaming relation, or once per streaming relation."
  )
  val StaticSideAboveJoins: Code = Code(
    "STATIC_SIDE_ABOVE_JOINS",
    "The static side <static> may change. Spark reads it when a result of the joins below it appears, so the block ends there.",
    "Join it before the first join, or after the last one (of a query whose changes are requested: after incrementalEnumerate()), " +
      "or pin its version. If each row may meet the static side as it is when the row arrives, set " +
      "spark.joinless.staticSides=atArrival."
  )
  val ThrowingKey: Code = Code(
    "THROWING_KEY",
    "The join key <key> can fail on some rows. Spark computes it only for rows that have passed other joins; Joinless would " +
      "compute it for every row.",
    "Write a key that cannot fail, with try_cast, try_add or try_divide. If a row without a key may have no match, set " +
      "spark.joinless.keyErrors=null; for a function written in Python, compute the key before the first join."
  )
  val UnsupportedKeyType: Code = Code(
    "UNSUPPORTED_KEY_TYPE",
    "The join key <key> has the type <type>, whose equal values can differ in their bytes.",
    "Cast the key to a type of simple values, such as STRING or BIGINT."
  )
  val RecordTooLarge: Code = Code(
    "RECORD_TOO_LARGE",
    "The checkpoint must record the <operator>, and its record is too large to be read again: <what>.",
    "Make the texts of the query shorter: put a long list of constants into a table, and join that."
  )
  val UnsupportedOutputMode: Code = Code(
    "UNSUPPORTED_OUTPUT_MODE",
    "The output mode <mode> emits more than new rows.",
    "Use the output mode append or update."
  )
  val AmbiguousColumns: Code = Code(
    "AMBIGUOUS_COLUMNS",
    "Both sides of a join carry the column <column> under one id, so its side is not known.",
    "Select the columns of one side under new names."
  )
  val UnsupportedOperator: Code = Code(
    "UNSUPPORTED_OPERATOR",
    "The operator <operator> stands in the query, and changes of a result are emitted for joins, subqueries, filters, " +
      "projections, unions, GROUP BY, DISTINCT, LIMIT and window functions.",
    "Leave it out. What treats rows one by one may follow incrementalEnumerate()."
  )
  val UnsupportedAggregate: Code = Code(
    "UNSUPPORTED_AGGREGATE",
    "The changes of groups are emitted for functions that are Spark's own, and the query has <function>.",
    "Leave it out, or compute it from the complete result, incrementalEnumerate(\"full\")."
  )
  val UnsupportedAggregateType: Code = Code(
    "UNSUPPORTED_AGGREGATE_TYPE",
    "The function <function> is over values of the type <type>, whose equal values can differ in their bytes.",
    "Cast them to a type of simple values, such as STRING or BIGINT; take a collated string by lower(...) or by collate(..., 'UTF8_BINARY')."
  )
  val UnsupportedGroupKey: Code = Code(
    "UNSUPPORTED_GROUP_KEY",
    "The grouping column <key> has the type <type>, whose equal values can differ in their bytes.",
    "Cast it to a type of simple values, such as STRING or BIGINT; group a collated string by lower(...) or by " +
      "collate(..., 'UTF8_BINARY'), a map by array_sort(map_entries(...))."
  )
  val NondeterministicExpression: Code = Code(
    "NONDETERMINISTIC_EXPRESSION",
    "The expression <expression> above a changelog is nondeterministic: a delete need not meet what its insert met.",
    "Evaluate it before the rows are written to the table, or behind incrementalEnumerate()."
  )
  val TimeDependentExpression: Code = Code(
    "TIME_DEPENDENT_EXPRESSION",
    "The expression <expression> above a changelog changes with time: a delete need not meet what its insert met.",
    "Compare with a constant; or let rows expire by their age with joinless.expire."
  )
  val StaticSideOfChangelog: Code = Code(
    "STATIC_SIDE_OF_CHANGELOG",
    "A changelog meets the static side <static>. A delete must find there what its insert found, and nothing ensures that it does.",
    "Read a Delta table as it changes, by joinless.table(name), or name its version, VERSION AS OF. Other tables are read once, in the " +
      "first batch, unless random expressions or the current time decide on their rows."
  )
  val StaticPartOfUnion: Code = Code(
    "STATIC_PART_OF_UNION",
    "UNION puts the rows of <static>, which is no stream, beside a changelog, and nothing says in which batch they are inserted.",
    "Read a Delta table as it changes, by joinless.table(name), or name its version, VERSION AS OF. Other tables are read once, in the " +
      "first batch, unless random expressions or the current time decide on their rows."
  )
  val WatermarkOnChangelog: Code = Code(
    "WATERMARK_ON_CHANGELOG",
    "The column <column> of a changelog has a watermark, and a late delete would be dropped.",
    "Leave withWatermark out; or call it first, and let the rows expire: joinless.expire(joinless.changelog(df.withWatermark(...)), ...)."
  )
  val NeverFinal: Code = Code(
    "NEVER_FINAL",
    "The query requests rows that are final, and <why>.",
    "<advice>"
  )
  val SampleIsNotFinal: Code = Code(
    "SAMPLE_IS_NOT_FINAL",
    "Rows leave a sample when others take their places, so no row of it is final.",
    "Request the changes of the sample: incrementalEnumerate() without emit=\"on_close\"."
  )
  val LateResults: Code = Code(
    "LATE_RESULTS",
    "Results can have a time <time> of any age, since nothing bounds how late rows of <by> join rows of <relation>. <operator> above the " +
      "join drops results whose time the watermark has passed, with Joinless as with Spark alone.",
    "<advice>"
  )
  val ChangesNotRequested: Code = Code(
    "CHANGES_NOT_REQUESTED",
    "The query reads a changelog, rows that expire or rows with a declared key, and it does not request the changes of its result.",
    "Call incrementalEnumerate() on it; then it runs as explain shows it."
  )
  val UnmarkedChangeFeed: Code = Code(
    "UNMARKED_CHANGE_FEED",
    "The stream <source> is a change feed, and the query reads its deletions and old values as rows.",
    "Mark it: joinless.changelog(df). Where each change is to count as a row, write joinless.rows(df) instead."
  )
  val ExistingSparkState: Code = Code(
    "EXISTING_SPARK_STATE",
    "The checkpoint was begun with Spark's own join here, and its state goes on.",
    "Start the query with a new checkpoint location."
  )
  val UnsupportedSpark: Code = Code(
    "UNSUPPORTED_SPARK",
    "This build of Spark lacks <member>, on which Joinless stands.",
    "Run the query on the open-source build of a Spark version that Joinless supports."
  )
  val Disabled: Code = Code(
    "DISABLED",
    "spark.joinless.enabled is false.",
    "Set spark.joinless.enabled=true."
  )

  /** All codes, in the order of the documentation. */
  val codes: Seq[Code] = Seq(
    CyclicJoinGraph,
    NonEquiJoin,
    CrossProduct,
    OuterJoin,
    TooFewRelations,
    TooManyRelations,
    NondeterministicCondition,
    StreamStaticJoin,
    StaticSideAboveJoins,
    ThrowingKey,
    UnsupportedKeyType,
    RecordTooLarge,
    UnsupportedOutputMode,
    AmbiguousColumns,
    UnsupportedOperator,
    UnsupportedAggregate,
    UnsupportedAggregateType,
    UnsupportedGroupKey,
    NondeterministicExpression,
    TimeDependentExpression,
    StaticSideOfChangelog,
    StaticPartOfUnion,
    WatermarkOnChangelog,
    NeverFinal,
    LateResults,
    ChangesNotRequested,
    UnmarkedChangeFeed,
    ExistingSparkState,
    UnsupportedSpark,
    Disabled
  )

  def apply(code: Code): Reason = Reason(code, Nil)

  def of(code: Code, arguments: (String, String)*): Reason = Reason(code, arguments)

  /** The reason for a block of too few relations. */
  def tooFew(found: Int, minimum: Int): Reason =
    of(TooFewRelations, "found" -> found.toString, "minimum" -> minimum.toString)

  /** The reason for a join whose record is too large: `what` says of which part. */
  def joinTooLarge(relations: Seq[String], what: String): Reason =
    of(RecordTooLarge, "operator" -> s"join of ${relations.mkString(", ")}", "what" -> what)

  /** The reason for groups whose record is too large. */
  def groupsTooLarge(what: String): Reason = of(RecordTooLarge, "operator" -> "GROUP BY", "what" -> what)

  /** The reason that this build of Spark cannot be used.
    *
    * @param member what the running Spark lacks
    */
  def unsupportedSpark(member: String): Reason = of(UnsupportedSpark, "member" -> member)
}
