package io.joinless.spark.errors

import org.apache.spark.sql.joinless.JoinlessRuntimeException

/** One method per error condition; each returns the exception to throw.
  *
  * Conditions, sentences and SQLSTATEs are in `error/joinless-error-conditions.json`. Errors in the
  * query or its checkpoint are [[JoinlessAnalysisException]]s, errors of a running task are
  * [[JoinlessRuntimeException]]s.
  */
object JoinlessErrors {

  /** A join stays with Spark although every join must be rewritten.
    *
    * @param advice a remedy for this reason; may be empty
    */
  def notRewritten(reason: String, sentence: String, advice: String): JoinlessAnalysisException =
    notRewritten(reason, sentence, advice, "Set spark.joinless.mode=auto to let Spark run it.")

  /** As `notRewritten`, of a query that would run, but whose results would be dropped as late. */
  def resultsLate(reason: String, sentence: String, advice: String): JoinlessAnalysisException =
    notRewritten(reason, sentence, advice, "Set spark.joinless.mode=auto to run it all the same.")

  /** As `notRewritten`, of a query whose changes are requested. */
  def deltasNotRewritten(reason: String, sentence: String, advice: String): JoinlessAnalysisException =
    notRewritten(reason, sentence, advice, "Spark itself cannot emit the changes of a result.")

  /** A query that is refused for a reason.
    *
    * @param remedy a remedy for every reason
    */
  private def notRewritten(
      reason: String,
      sentence: String,
      advice: String,
      remedy: String
  ): JoinlessAnalysisException =
    analysis(
      "JOINLESS_NOT_REWRITTEN",
      "reason" -> reason,
      "sentence" -> sentence,
      "advice" -> (if (advice.isEmpty) "" else advice + " "),
      "remedy" -> remedy
    )

  /** The checkpoint was begun by a query that this one cannot continue.
    *
    * @param what a sentence that says what differs, in words of columns
    */
  def stateMismatch(kind: Mismatch, checkpoint: String, what: String): JoinlessAnalysisException =
    analysis("JOINLESS_STATE_MISMATCH." + kind.subclass, "checkpoint" -> checkpoint, "what" -> what)

  /** The setting of the shares does not fit the join, or the cluster.
    *
    * @param shares the setting, as text
    * @param what a clause that says why
    */
  def invalidShares(shares: String, what: String): JoinlessAnalysisException =
    analysis("JOINLESS_INVALID_SHARES", "shares" -> shares, "what" -> what)

  /** A column cannot be the one that describes changes.
    *
    * @param subclass the fault of a column that should have changes
    */
  def changeColumn(subclass: String, column: String, source: String, dataType: String = ""): JoinlessAnalysisException =
    analysis(
      "JOINLESS_CHANGE_COLUMN." + subclass,
      Seq("column" -> column, "source" -> source) ++ Option.when(dataType.nonEmpty)("type" -> dataType): _*
    )

  /** There is no column of this name to describe changes.
    *
    * @param columns the existing columns
    */
  def noChangeColumn(column: String, source: String, columns: Seq[String]): JoinlessAnalysisException = {
    val listed = columns.take(20).mkString(", ") + (if (columns.size > 20) ", …" else "")
    analysis(
      "JOINLESS_CHANGE_COLUMN.NOT_FOUND",
      "column" -> column,
      "source" -> source,
      "columns" -> (if (columns.isEmpty) "none" else listed),
      "suggestion" -> Suggestion.sentence(column, columns)
    )
  }

  /** Rows cannot expire as requested.
    *
    * @param more parameters of the subclass
    */
  def expiry(subclass: String, column: String, source: String, more: (String, String)*): JoinlessAnalysisException =
    analysis("JOINLESS_EXPIRY." + subclass, Seq("column" -> column, "source" -> source) ++ more: _*)

  /** Both kinds of change column are given. */
  def twoChangeColumns(weight: String, changeType: String, source: String): JoinlessAnalysisException =
    analysis("JOINLESS_CHANGE_COLUMN.TWO_GIVEN", "column" -> weight, "other" -> changeType, "source" -> source)

  def reservedColumn(column: String): JoinlessAnalysisException =
    analysis("JOINLESS_RESERVED_COLUMN", "column" -> column)

  /** A changelog is read where no changes are requested.
    *
    * @param columns the plain columns of the changelog
    */
  def retractionsNotRepresentable(columns: String): JoinlessAnalysisException =
    analysis("JOINLESS_RETRACTIONS_NOT_REPRESENTABLE", "columns" -> columns)

  /** A key cannot be declared.
    *
    * @param subclass the fault of the columns, or of the query
    */
  def key(subclass: String, parameters: (String, String)*): JoinlessAnalysisException =
    analysis(s"JOINLESS_KEY.$subclass", parameters: _*)

  /** Several rows of a relation have the same values in the columns of its key.
    *
    * @param key the columns, and `values` theirs, as text
    * @param rows how many rows have them
    */
  def keyViolation(relation: String, key: Seq[String], values: String, rows: Long): JoinlessRuntimeException =
    runtime(
      "JOINLESS_KEY_VIOLATION",
      "relation" -> relation,
      "key" -> key.mkString(", "),
      "values" -> values,
      "rows" -> rows.toString
    )

  /** A sample is requested of a size that it cannot have.
    *
    * @param most the greatest size; the least is 1
    */
  def sampleSize(size: String, most: Long): JoinlessAnalysisException =
    analysis("JOINLESS_SAMPLE.SIZE", "size" -> size, "most" -> most.toString)

  /** A sample is requested per group, by columns by which rows cannot be grouped.
    *
    * @param subclass of the error: why not
    */
  def sampleBy(subclass: String, parameters: (String, String)*): JoinlessAnalysisException =
    analysis(s"JOINLESS_SAMPLE.$subclass", parameters: _*)

  /** The table function of samples is called with arguments that it does not take.
    *
    * @param arguments all of them, as text
    */
  def sampleArguments(arguments: String): JoinlessAnalysisException =
    analysis("JOINLESS_SAMPLE.ARGUMENTS", "arguments" -> arguments)

  /** A table function in SQL has other arguments than it takes.
    *
    * @param usage a call as it should be
    * @param arguments all of them, as text
    */
  def tableFunction(function: String, usage: String, arguments: String): JoinlessAnalysisException =
    analysis("JOINLESS_TABLE_FUNCTION", "function" -> function, "usage" -> usage, "arguments" -> arguments)

  /** The relation of a table function is a name that WITH defines around the call. */
  def outerWith(function: String): JoinlessAnalysisException =
    analysis("JOINLESS_TABLE_FUNCTION_WITH", "function" -> function)

  /** A row of a changelog has a change type that is none.
    *
    * @param value the change type, if it is not NULL
    */
  def unknownChangeType(value: Option[String], source: String): JoinlessRuntimeException =
    runtime("JOINLESS_UNKNOWN_CHANGE_TYPE", "value" -> value.fold("NULL")(v => s"`$v`"), "source" -> source)

  def unknownWeight(source: String): JoinlessRuntimeException = runtime("JOINLESS_NULL_WEIGHT", "source" -> source)

  def weightOverflow(): JoinlessRuntimeException = runtime("JOINLESS_WEIGHT_OVERFLOW")

  /** An argument fails for a result, after it was computed for single rows.
    *
    * @param argument of an aggregate function, as far as it is computed from one relation
    * @param relations the relations that it is computed from
    */
  def argumentFails(argument: String, relations: String): JoinlessRuntimeException =
    runtime("JOINLESS_ARGUMENT_FAILS", "argument" -> argument, "relations" -> relations)

  /** A form of changes that does not exist.
    *
    * @param text the text where `change_type` or `weight` is expected
    */
  def deltaForm(text: String): JoinlessAnalysisException = analysis("JOINLESS_DELTA_FORM", "given" -> text)

  /** A subquery reads a stream where no changes are requested.
    *
    * @param stream the stream that a subquery reads
    */
  def streamInSubquery(stream: String): JoinlessAnalysisException =
    analysis("JOINLESS_STREAM_IN_SUBQUERY", "stream" -> stream)

  /** A plan with marks is executed without being started as a query.
    *
    * @param what the plan's marks, as clauses about the DataFrame: "it reads the changelog (a, b)"
    */
  def streamNotStarted(what: String): JoinlessAnalysisException =
    analysis("JOINLESS_STREAM_NOT_STARTED", "what" -> what)

  /** No running query has this name or id.
    *
    * @param active names and ids of the running queries
    */
  def queryNotActive(query: String, active: Seq[String]): JoinlessAnalysisException =
    analysis("JOINLESS_QUERY_NOT_FOUND.NOT_ACTIVE", "query" -> query, "active" -> listed(active))

  def queryAmbiguous(query: String, ids: Seq[String]): JoinlessAnalysisException =
    analysis("JOINLESS_QUERY_NOT_FOUND.AMBIGUOUS", "query" -> query, "active" -> listed(ids))

  /** A setting with our prefix that does not exist.
    *
    * @param known all confs
    */
  def unknownConf(conf: String, known: Seq[String]): JoinlessAnalysisException =
    analysis("JOINLESS_UNKNOWN_CONF", "conf" -> conf, "suggestion" -> Suggestion.sentence(conf, known))

  def notStreaming(): JoinlessAnalysisException = analysis("JOINLESS_NOT_STREAMING")

  def extensionNotInstalled(): JoinlessAnalysisException =
    analysis("JOINLESS_EXTENSION_NOT_INSTALLED", "extension" -> "io.joinless.spark.JoinlessExtension")

  /** Another Spark than the jar was built for.
    *
    * @param found the version that runs
    * @param built the version that the jar was built for
    * @param what a clause that says what does not work
    */
  def sparkVersion(found: String, built: String, what: String): JoinlessAnalysisException =
    analysis("JOINLESS_SPARK_VERSION", "found" -> found, "built" -> built, "what" -> what)

  /** A complete result is requested whose rows were evicted.
    *
    * @param relations those whose rows are evicted
    */
  def rowsForgotten(checkpoint: String, relations: Seq[String]): JoinlessAnalysisException =
    analysis(
      "JOINLESS_ROWS_FORGOTTEN",
      "checkpoint" -> checkpoint,
      "what" -> s"rows of ${relations.mkString(", ")} when no later row can join them"
    )

  /** Groups are emitted once, and then dropped. */
  def groupsForgotten(checkpoint: String): JoinlessAnalysisException =
    analysis("JOINLESS_ROWS_FORGOTTEN", "checkpoint" -> checkpoint, "what" -> "groups when it has emitted them")

  /** A complete result is requested of rows that passed through.
    *
    * @param what a noun phrase: the source of the rows that are not stored
    */
  def rowsNotStored(what: String): JoinlessAnalysisException = analysis("JOINLESS_ROWS_NOT_STORED", "what" -> what)

  /** The function of a `foreachBatch` has read a batch in part only.
    *
    * @param left number of partitions of our operators that were not read to their end
    * @param partitions number of all of their partitions
    */
  def batchNotRead(batch: Long, left: Int, partitions: Int): JoinlessRuntimeException =
    runtime(
      "JOINLESS_BATCH_NOT_READ",
      "batch" -> batch.toString,
      "left" -> left.toString,
      "partitions" -> partitions.toString
    )

  /** A block of a log is not as it was written, or is missing.
    *
    * @param block sequence number of the block in its cell's log
    * @param batch the last one that the state being read includes
    * @param what the fault, as a clause about the block: "its checksum does not match"
    */
  def corruptBlock(block: Long, cell: Int, batch: Long, what: String): JoinlessRuntimeException =
    runtime(
      "JOINLESS_CORRUPT_STATE",
      "block" -> block.toString,
      "cell" -> cell.toString,
      "batch" -> batch.toString,
      "what" -> what
    )

  /** A changelog deletes a row more often than it is there.
    *
    * @param row its columns with values
    * @param present the multiplicity of the row before the batch
    * @param change the net change of its multiplicity by the batch
    */
  def deleteOfAbsentRow(relation: String, row: String, present: Long, change: Long): JoinlessRuntimeException =
    runtime(
      "JOINLESS_DELETE_OF_ABSENT_ROW",
      "relation" -> relation,
      "row" -> row,
      "present" -> present.toString,
      "change" -> change.toString
    )

  /** The state of a cell exceeds the bound of the cache, both in bytes. */
  def stateTooLarge(cell: Int, bytes: Long, limit: Long): JoinlessRuntimeException =
    runtime("JOINLESS_STATE_TOO_LARGE", "cell" -> cell.toString, "bytes" -> bytes.toString, "limit" -> limit.toString)

  def noCheckpoint(checkpoint: String): JoinlessAnalysisException =
    analysis("JOINLESS_CHECKPOINT_NOT_FOUND.FOLDER", "checkpoint" -> checkpoint)

  def noBatch(checkpoint: String): JoinlessAnalysisException =
    analysis("JOINLESS_CHECKPOINT_NOT_FOUND.NO_BATCH", "checkpoint" -> checkpoint)

  /** The checkpoint has no join whose result could be read.
    *
    * @param what a sentence that says what the checkpoint holds instead
    */
  def noJoin(checkpoint: String, what: String): JoinlessAnalysisException =
    analysis("JOINLESS_CHECKPOINT_NOT_FOUND.NO_JOIN", "checkpoint" -> checkpoint, "what" -> what)

  /** A batch is not committed yet, or not kept any more.
    *
    * @param batches those that can be read (at least one), ascending
    */
  def batchNotAvailable(batch: Long, checkpoint: String, batches: Seq[Long]): JoinlessAnalysisException =
    analysis(
      "JOINLESS_BATCH_NOT_AVAILABLE." + (if (batch < batches.head) "CLEANED_UP" else "NOT_COMMITTED"),
      "batch" -> batch.toString,
      "checkpoint" -> checkpoint,
      "batches" -> (if (batches.size == 1) batches.head.toString else s"${batches.head} to ${batches.last}")
    )

  /** The state of a batch was there when the query began to read it, and is not any more. */
  def stateMissing(batch: Long, checkpoint: String, cell: Int, cause: Throwable): JoinlessRuntimeException = {
    val error = runtime(
      "JOINLESS_BATCH_NOT_AVAILABLE.STATE_GONE",
      "batch" -> batch.toString,
      "checkpoint" -> checkpoint,
      "cell" -> cell.toString,
      "what" -> Option(cause.getMessage).flatMap(_.linesIterator.nextOption()).getOrElse(cause.getClass.getSimpleName)
    )
    error.addSuppressed(cause)
    error
  }

  /** The store of a cell could not be opened; the text is that of the innermost cause.
    *
    * @param batch the last one that the state includes
    */
  def stateNotLoaded(operator: Long, cell: Int, batch: Long, cause: Throwable): JoinlessRuntimeException = {
    val error = runtime(
      "JOINLESS_STATE_NOT_LOADED",
      "operator" -> operator.toString,
      "cell" -> cell.toString,
      "batch" -> batch.toString,
      "what" -> firstLine(causes(cause).last)
    )
    error.addSuppressed(cause)
    error
  }

  /** The checkpoint has several joins that fit, and none is named.
    *
    * @param joins their list as text, each with the number of its stateful operator
    */
  def severalJoins(checkpoint: String, joins: String): JoinlessAnalysisException =
    analysis("JOINLESS_SEVERAL_JOINS", "checkpoint" -> checkpoint, "joins" -> joins)

  /** The checkpoint alone does not suffice to read its result.
    *
    * @param what a clause that says which part of the query is missing, and why
    */
  def resultNotRecorded(checkpoint: String, what: String): JoinlessAnalysisException =
    analysis("JOINLESS_RESULT_NOT_RECORDED", "checkpoint" -> checkpoint, "what" -> what)

  /** An option of the format has a value that it cannot have.
    *
    * @param what a clause that says what is wrong, or what the value must be
    */
  def invalidOption(option: String, value: String, what: String): JoinlessAnalysisException =
    analysis("JOINLESS_INVALID_OPTION", "option" -> option, "value" -> value, "what" -> what)

  /** A request that the format joinless does not support. */
  def format(subclass: String, parameters: (String, String)*): JoinlessAnalysisException =
    analysis("JOINLESS_FORMAT." + subclass, parameters: _*)

  /** A count, a page or a sample of a complete result that cannot be given. */
  def onDemand(subclass: String, parameters: (String, String)*): JoinlessAnalysisException =
    analysis("JOINLESS_ON_DEMAND." + subclass, parameters: _*)

  /** Rows of a complete result that cannot be looked up as requested. */
  def lookup(subclass: String, parameters: (String, String)*): JoinlessAnalysisException =
    analysis("JOINLESS_LOOKUP." + subclass, parameters: _*)

  /** @param cells the number of them: the sum over all must fit */
  def countBeyond64Bits(cell: Int, count: BigInt, cells: Int): JoinlessRuntimeException = runtime(
    "JOINLESS_COUNT_OVERFLOW.BIGINT",
    "cell" -> cell.toString,
    "cells" -> cells.toString,
    "count" -> count.toString
  )

  def countBeyond127Bits(cell: Int): JoinlessRuntimeException =
    runtime("JOINLESS_COUNT_OVERFLOW.ROWS", "cell" -> cell.toString)

  /** A folder that no file system of the session can list. */
  def unreachableCheckpoint(checkpoint: String, cause: Throwable): JoinlessAnalysisException = {
    val error =
      analysis("JOINLESS_CHECKPOINT_NOT_FOUND.UNREACHABLE", "checkpoint" -> checkpoint, "what" -> firstLine(cause))
    error.addSuppressed(cause)
    error
  }

  /** Causes may form a cycle. */
  final private val MostCauses = 50

  private def causes(e: Throwable): Seq[Throwable] =
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(MostCauses).toSeq

  /** The error of ours by which a job failed, if it was one. */
  def ofTask(job: Throwable): Option[JoinlessRuntimeException] =
    causes(job).collectFirst { case ours: JoinlessRuntimeException => ours }

  /** The first line of an error's message without its full stop, or else its class. */
  private def firstLine(e: Throwable): String =
    Option(e.getMessage).flatMap(_.linesIterator.nextOption()).getOrElse(e.getClass.getSimpleName).stripSuffix(".")

  /** An option of the format that does not exist.
    *
    * @param known all options
    */
  def unknownOption(option: String, value: String, known: Seq[String]): JoinlessAnalysisException =
    invalidOption(
      option,
      value,
      s"there is no such option.${Suggestion.sentence(option, known)} Known are ${known.mkString(", ")}"
    )

  private def listed(names: Seq[String]): String = if (names.isEmpty) "none" else names.mkString(", ")

  /** An error that is known when a query is planned. */
  private[errors] def analysis(condition: String, parameters: (String, String)*): JoinlessAnalysisException =
    new JoinlessAnalysisException(condition, parameters.toMap)

  /** An error of a running task. */
  private[errors] def runtime(condition: String, parameters: (String, String)*): JoinlessRuntimeException = {
    val all = parameters.toMap
    new JoinlessRuntimeException(
      condition,
      ErrorTexts.sentence(condition, all),
      ErrorTexts.template(condition),
      ErrorTexts.sqlState(condition),
      all
    )
  }
}

/** The part of a checkpoint that does not fit; the subclass of `JOINLESS_STATE_MISMATCH`. */
sealed abstract class Mismatch(val subclass: String)

object Mismatch {

  /** Other join blocks, relations, attributes or equi-join conditions. */
  case object Query extends Mismatch("QUERY")

  /** The recorded join tree is no join tree of the recorded relations. */
  case object Tree extends Mismatch("TREE")

  /** A version of the layout that this release does not know. */
  case object Format extends Mismatch("FORMAT")

  /** Numbers of cells or shares that are impossible. */
  case object Cells extends Mismatch("CELLS")

  /** Other stored columns, or other types. */
  case object Columns extends Mismatch("COLUMNS")

  /** A filter, condition or computed column that must be the same for deletes as for their inserts.
    */
  case object Filter extends Mismatch("FILTER")

  /** A file that neither this nor any other release has written. */
  case object Unreadable extends Mismatch("UNREADABLE")
}
