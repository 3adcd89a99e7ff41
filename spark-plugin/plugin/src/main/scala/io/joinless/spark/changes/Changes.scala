package io.joinless.spark.changes

import scala.util.control.NonFatal

import io.joinless.spark.errors.{JoinlessErrors, Suggestion}
import io.joinless.spark.inspect.Inspection
import io.joinless.spark.plans.marks.{
  ChangeColumn,
  ChangeFeeds,
  Changelog,
  DeltaOutput,
  KeyedRows,
  SampleOf,
  TakenAsRows
}
import io.joinless.spark.plans.values.{ChangeTypes, DeltaForm}
import io.joinless.spark.spec.TimeSpec
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Cast, Expression, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.util.DateTimeConstants.MICROS_PER_DAY
import org.apache.spark.sql.catalyst.util.IntervalUtils
import org.apache.spark.sql.joinless.{KeyBytes, Plans}
import org.apache.spark.sql.types.{ByteType, IntegerType, LongType, ShortType, StringType}

/** Marks that users put on DataFrames: changelogs as input, changes as output. Marks decide
  * nothing.
  */
object Changes {

  /** The relation of which `df` is a changelog, with a column of change types or one of signed
    * integer weights.
    */
  def changelog(df: DataFrame, changeType: Option[String], weight: Option[String]): DataFrame = of(df) {
    val plan = Plans.analyzed(df)
    val node = (changeType, weight) match {
      case (Some(changes), Some(name)) => throw JoinlessErrors.twoChangeColumns(name, changes, SourceNames.of(plan))
      case (None, Some(name)) => byWeight(plan, name)
      case (Some(name), None) => byChangeType(plan, name)
      case (None, None) => byChangeType(plan, DeltaForm.ChangeType.column)
    }
    Plans.dataFrame(df, withColumns(node))
  }

  /** A resolved plan as a changelog, by a column whose type says what it holds: change types are
    * texts, weights are whole numbers. `_change_type` if none is named.
    */
  def changelog(plan: LogicalPlan, column: Option[String]): LogicalPlan = withColumns(column match {
    case None => byChangeType(plan, DeltaForm.ChangeType.column)
    case Some(name) if ofChanges(plan, name).dataType.isInstanceOf[StringType] => byChangeType(plan, name)
    case Some(name) => byWeight(plan, name)
  })

  /** The changelog, if its relation has any columns. */
  private def withColumns(node: Changelog): Changelog =
    if (node.output.nonEmpty) node
    else throw JoinlessErrors.changeColumn("NO_COLUMNS", node.hidden.head.name, SourceNames.of(node.child))

  /** `df` as a stream whose rows are plain rows, even if `df` is a change feed. */
  def rows(df: DataFrame): DataFrame = of(df)(Plans.dataFrame(df, TakenAsRows(Plans.analyzed(df))))

  /** The rows of `df`, a changelog or not, whose time in `column` is not longer ago than `after`,
    * by the watermark.
    */
  def expire(df: DataFrame, column: String, after: String): DataFrame = of(df) {
    Plans.dataFrame(df, expiring(Plans.analyzed(df), column, after))
  }

  /** A sample that is kept of the rows of `df`, or of each group of rows with the same values in the
    * columns `by`.
    */
  def sample(df: DataFrame, size: Long, seed: Long, by: Option[Seq[String]] = None): DataFrame = of(df) {
    Plans.dataFrame(df, sampling(Plans.analyzed(df), size, seed, by))
  }

  /** A resolved plan with the mark of `sample`. */
  def sampling(plan: LogicalPlan, size: Long, seed: Long, by: Option[Seq[String]]): LogicalPlan = {
    if (size <= 0 || size > MaxSample) throw JoinlessErrors.sampleSize(size.toString, MaxSample)
    SampleOf(plan, size.toInt, seed, by.fold(Seq.empty[Attribute])(ofGroups(plan, _)))
  }

  /** The columns of a sample's groups. */
  private def ofGroups(plan: LogicalPlan, names: Seq[String]): Seq[Attribute] =
    grouping(plan, names)((subclass, more) => throw JoinlessErrors.sampleBy(subclass, more: _*))

  /** The rows of `df`, a changelog or not, of which at most one has the same values in these
    * columns.
    */
  def key(df: DataFrame, columns: Seq[String]): DataFrame = of(df) {
    Plans.dataFrame(df, keyed(Plans.analyzed(df), columns))
  }

  /** A resolved plan with the mark of `key`. */
  def keyed(plan: LogicalPlan, columns: Seq[String]): LogicalPlan = {
    val source = SourceNames.of(plan)
    def refused(subclass: String, more: Seq[(String, String)]) =
      throw JoinlessErrors.key(subclass, ("source" -> source) +: more: _*)
    plan.collectFirst { case known: KeyedRows =>
      refused("TWICE", Seq("known" -> known.key.map(_.name).mkString(", ")))
    }
    KeyedRows(plan, grouping(plan, columns)((subclass, more) => refused(subclass, more)), source)
  }

  /** The columns that are named as those by which rows are grouped.
    *
    * @param refused throws the error of names that are none, by its subclass and parameters
    */
  private def grouping(plan: LogicalPlan, names: Seq[String])(
      refused: (String, Seq[(String, String)]) => Nothing
  ): Seq[Attribute] = {
    val all = plan.output.map(_.name)
    val listed = "columns" -> all.mkString(", ")
    if (names.isEmpty) refused("NO_COLUMNS", Seq(listed))
    val columns = names.map { name =>
      find(plan, name)(
        refused(
          "COLUMN_NOT_FOUND",
          Seq("column" -> name, listed, "suggestion" -> Suggestion.sentence(name, all))
        ),
        refused("COLUMN_AMBIGUOUS", Seq("column" -> name))
      )
    }
    columns.diff(columns.distinct).headOption.foreach(twice => refused("COLUMN_TWICE", Seq("column" -> twice.name)))
    columns.find(a => !KeyBytes.comparable(a.dataType)).foreach { a =>
      refused("COLUMN_TYPE", Seq("column" -> a.name, "type" -> a.dataType.sql))
    }
    columns
  }

  /** The most rows that a sample can have: they are in the memory of one executor. */
  final val MaxSample = 10000000L

  /** A resolved plan with the mark of `expire`. */
  def expiring(plan: LogicalPlan, column: String, after: String): LogicalPlan = {
    val source = SourceNames.of(plan)

    /** Refuses the request with this subclass of the error, and more parameters for its text. */
    def refused(subclass: String, more: (String, String)*) =
      throw JoinlessErrors.expiry(subclass, column, source, more: _*)
    if (plan.exists(_.isInstanceOf[KeyedRows])) throw JoinlessErrors.key("BELOW", "source" -> source)
    if (plan.exists { case changelog: Changelog => changelog.expiry.isDefined; case _ => false }) refused("TWICE")
    val names = plan.output.map(_.name)
    val time = find(plan, column)(
      refused("NOT_FOUND", "columns" -> names.mkString(", "), "suggestion" -> Suggestion.sentence(column, names)),
      refused("AMBIGUOUS")
    )
    if (!TimeSpec.isTime(time.dataType)) refused("NOT_A_TIMESTAMP", "type" -> time.dataType.sql)
    if (!time.metadata.contains(EventTimeWatermark.delayKey)) refused("NO_WATERMARK", "quoted" -> s"\"$column\"")
    val micros = lasting(after).getOrElse(refused("INTERVAL", "after" -> s"'$after'"))
    Changelog(plan, Literal(1L), Nil, Some(time), micros)
  }

  /** The interval in microseconds; a day is 24 hours, as it is for a watermark. None if the text is
    * no interval, or a negative one, or one with months.
    */
  private def lasting(after: String): Option[Long] =
    try {
      val interval = IntervalUtils.fromIntervalString(after)
      val micros = Math.addExact(Math.multiplyExact(interval.days.toLong, MICROS_PER_DAY), interval.microseconds)
      Option.when(interval.months == 0 && micros >= 0)(micros)
    } catch { case NonFatal(_) => None }

  /** The changes of `df`'s result. */
  def deltas(df: DataFrame, form: DeltaForm): DataFrame = of(df) {
    Plans.dataFrame(df, marked(Plans.analyzed(df), form))
  }

  /** A resolved plan with the mark of `incrementalEnumerate`; refuses columns of reserved names. */
  def marked(plan: LogicalPlan, form: DeltaForm): LogicalPlan = {
    plan.output.find(a => DeltaForm.all.exists(_.column.equalsIgnoreCase(a.name))).foreach { taken =>
      // an unmarked change feed has such a column, which must not be renamed
      ChangeFeeds.unmarked(plan).foreach { reason =>
        throw JoinlessErrors.deltasNotRewritten(reason.code.name, reason.sentence, reason.advice)
      }
      throw JoinlessErrors.reservedColumn(taken.name)
    }
    markedUnchecked(plan, form)
  }

  /** As `marked` without that check, for plans that are only explained. */
  def markedUnchecked(plan: LogicalPlan, form: DeltaForm): LogicalPlan = {
    val withChange = Project(plan.output :+ Alias(ChangeColumn(form), form.column)(), DeltaOutput(plan))
    if (form == DeltaForm.OnClose) Project(plan.output, withChange) else withChange
  }

  /** The plan as a changelog by a column of change types. Columns that a change feed adds to them
    * are hidden as well.
    */
  private def byChangeType(plan: LogicalPlan, name: String): Changelog = {
    val column = ofChanges(plan, name)
    if (!column.dataType.isInstanceOf[StringType])
      throw JoinlessErrors.changeColumn("NOT_A_STRING", name, SourceNames.of(plan), column.dataType.sql)
    val others = plan.output.filter(a => ChangeTypes.metadata(a.name.toLowerCase(java.util.Locale.ROOT)))
    Changelog(plan, ChangeTypeWeight(column, SourceNames.of(plan)), column +: others)
  }

  /** The plan as a changelog by a column of whole numbers, which are read as BIGINT. */
  private def byWeight(plan: LogicalPlan, name: String): Changelog = {
    val column = ofChanges(plan, name)
    val value: Expression = column.dataType match {
      case LongType => column
      case ByteType | ShortType | IntegerType => Cast(column, LongType)
      case other => throw JoinlessErrors.changeColumn("NOT_AN_INTEGER", name, SourceNames.of(plan), other.sql)
    }
    Changelog(plan, GivenWeight(value, SourceNames.of(plan)), Seq(column))
  }

  /** The column of changes that the user names; an error if it is not there, or not unique. */
  private def ofChanges(plan: LogicalPlan, name: String): Attribute = find(plan, name)(
    throw JoinlessErrors.noChangeColumn(name, SourceNames.of(plan), plan.output.map(_.name)),
    throw JoinlessErrors.changeColumn("AMBIGUOUS", name, SourceNames.of(plan))
  )

  /** The column that the session's rules resolve by this name; `none` and `several` throw the error
    * of a name that is unknown or ambiguous.
    */
  private def find(plan: LogicalPlan, name: String)(none: => Nothing, several: => Nothing): Attribute =
    plan.output.filter(a => plan.conf.resolver(a.name, name)) match {
      case Seq(column) => column
      case Seq() => none
      case _ => several
    }

  /** Computes `marked`, a mark on `df`, in the settings of its session. Refuses a session without
    * the extension, and rows that are no stream.
    */
  private[spark] def of(df: DataFrame)(marked: => DataFrame): DataFrame = within(df) {
    if (df.isStreaming) marked else throw JoinlessErrors.notStreaming()
  }

  /** Computes `made`, of the rows of `df`, in the settings of its session. Refuses a session without
    * the extension.
    */
  private[spark] def within(df: DataFrame)(made: => DataFrame): DataFrame = {
    if (!Inspection.hasExtension(df.sparkSession)) throw JoinlessErrors.extensionNotInstalled()
    Inspection.within(df.sparkSession)(made)
  }
}
