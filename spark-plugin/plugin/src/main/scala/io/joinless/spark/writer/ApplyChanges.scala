package io.joinless.spark.writer

import java.util.UUID

import io.joinless.spark.writer.Refusals.refusal
import org.apache.spark.sql.catalyst.util.quoteIdentifier
import org.apache.spark.sql.functions._
import org.apache.spark.sql.joinless.{OwnSession, Plans}
import org.apache.spark.sql.types.{DataType, StructField}
import org.apache.spark.sql.{Column, DataFrame, SparkSession}

/** Keeps a Delta table equal to the result of a query, from the net changes of each batch.
  *
  * Let `R` be the target as a bag and `D` the signed bag of a batch. A call makes the target `R +
  * D` in one commit, or fails and leaves it `R`. Invariants:
  *
  *   - The batch is computed once, by one action that reads all its partitions.
  *   - Each commit is a Delta transaction with (app id, batch id), so that a batch that runs again
  *     changes nothing. The commit also records when the batch was planned. Another batch of that
  *     number, from an older copy of the checkpoint, fails.
  *   - If the target would differ from `R + D`, the commit itself fails, not a check before it: no
  *     other writer can commit in between. Batch 0 fails in the same way if the target is not
  *     empty; as a repetition it is skipped, like any other batch.
  *   - Of two writers that found the target empty, the later one fills it. Batch 0 records its
  *     writer in the table before it checks for rows, and each later batch reads that record.
  *   - Values are stored unchanged: −0.0 stays −0.0, and a row is deleted only if it also equals
  *     the deleted row in the sign of its zeros.
  *
  * Cost: with a key, one MERGE on it. Without a key, a batch that deletes reads the target once
  * more, to count copies, and a batch that only inserts is appended. A batch without changes writes
  * nothing. Only Spark's public functions and Delta's SQL are used.
  *
  * @param key columns that are unique in the result; None for a bag
  * @param appId the writer; by default the id of the streaming query
  * @param shared others fill the table, too
  */
final private[spark] class ApplyChanges(
    target: Target,
    key: Option[Seq[String]],
    appId: Option[String],
    shared: Boolean
) {

  /** The target's partition columns; None before the first batch. */
  private var partitions: Option[Seq[String]] = None
  private var keyIsUnique = false

  /** Applies the changes of a batch. */
  def apply(batchRows: DataFrame, batch: Long): Unit = {
    val query = Option(batchRows.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId"))
    // the transaction is a setting of the session, and would be that of other threads' writes
    val df = OwnSession.of(batchRows)
    val session = df.sparkSession
    val writer = appId.orElse(query).getOrElse(throw target.error("NO_APP_ID"))
    val note = BatchNote(writer, batch, query.flatMap(Plans.plannedAt(_, batch)))
    val columns = target.columns(df)
    if (partitions.isEmpty) {
      partitions = Some(target.detail(session).partitionColumns)
      // the first batch after a start: only there a checkpoint can be another one
      if (note.planned.isDefined) target.checkBatch(session, note)
    }
    val names = columns.map(_.name)
    val positions = key.map(target.keyOf(session, _, names))
    val net = NetChanges(df)
    val changes = positions.fold(net)(NetChanges.byKey(net, _, names)).persist()
    try Refusals.named(target.name)(write(session, changes, columns, positions, note))
    finally { val _ = changes.unpersist() }
  }

  private def write(
      session: SparkSession,
      changes: DataFrame,
      columns: Seq[StructField],
      key: Option[Seq[Int]],
      note: BatchNote
  ): Unit = {
    // batch 0 is the first of a checkpoint: the target must be as the checkpoint, empty
    val mustBeEmpty = note.batch == 0 && !shared
    val totals = changes.agg(count(lit(1)), sum("deletes"), lost(columns, key.isDefined)).head()
    if (!totals.isNullAt(2)) throw target.error("VALUE_NOT_KEPT", "value" -> totals.getString(2))
    if (mustBeEmpty) target.claim(session, note.writer)
    if (totals.getLong(0) == 0) {
      if (mustBeEmpty && !target.isEmpty(session)) throw target.error("TARGET_NOT_EMPTY")
    } else {
      if (!mustBeEmpty && !shared) target.checkWriter(session, note)
      if (!mustBeEmpty) key.foreach(positions => checkKey(session, positions.map(columns(_).name)))
      val source = if (mustBeEmpty) onEmptyTarget(session, changes) else changes
      Transaction(session, note) {
        key match {
          case Some(positions) => mergeByKey(source, positions, columns)
          case None if totals.getLong(1) > 0 => mergeByCount(session, source, columns)
          case None => append(source, columns)
        }
      }
    }
  }

  /** An inserted value that the target would not preserve, as JSON; NULL if there is none. */
  private def lost(columns: Seq[StructField], byKey: Boolean): Column = {
    val lost = columns.zip(Cells.names(columns.size, if (byKey) "new." else "")).flatMap { case (field, cell) =>
      TargetColumns.isLost(cell, field.dataType).filter(_ => partitions.exists(_.contains(field.name)))
        .map(condition => when(expr(condition), Refusals.json(struct(col(cell).as(field.name)))))
    }
    if (lost.isEmpty) lit(null).cast("string")
    else first(if (byKey) coalesce(lost: _*) else when(col("weight") > 0, coalesce(lost: _*)), ignoreNulls = true)
  }

  /** Checks once that the key of the target is unique; every later batch keeps it so. */
  private def checkKey(session: SparkSession, names: Seq[String]): Unit = if (!keyIsUnique) {
    target.checkKey(session, names)
    keyIsUnique = true
  }

  /** The rows, which cannot be read if the target holds any. Delta skips a repeated batch before it
    * reads.
    */
  private def onEmptyTarget(session: SparkSession, rows: DataFrame): DataFrame = {
    val there = session.table(target.name).limit(1).agg(count(lit(1)).as("there"))
    val empty = when(col("there") > 0, refusal("TARGET_NOT_EMPTY")).otherwise(lit(true))
    rows.crossJoin(there).where(empty.cast("boolean")).drop("there")
  }

  // -- the three ways to write --------------------------------------------------------------------

  private def append(changes: DataFrame, columns: Seq[StructField]): Unit = {
    val cells = Cells.names(columns.size)
    val copies = changes.select(cells.map(col) :+ explode(sequence(lit(1L), col("weight"))): _*)
    run(copies)(source => s"INSERT INTO ${target.name} (${list(columns)}) SELECT ${cells.mkString(", ")} FROM $source")
  }

  /** Deletes all copies of each deleted row and inserts those that stay. The source reads the
    * target inside the MERGE, at the version that the MERGE itself changes.
    */
  private def mergeByCount(session: SparkSession, changes: DataFrame, columns: Seq[StructField]): Unit = {
    val cells = Cells.names(columns.size)
    val minus = changes.where("weight < 0").as("s")
    val rows = columns.zip(cells).map { case (field, cell) => col(quoteIdentifier(field.name)).as(cell) }
    val present = session.table(target.name).select(lit(1).as("present") +: rows: _*).as("t")
    val equal = columns.zip(cells).map { case (field, cell) =>
      expr(Cells.same(s"t.$cell", s"s.$cell", field.dataType))
    }.reduce(_ && _)
    val found = minus.join(present, equal, "left")
      .select(cells.map(cell => col(s"s.$cell")) ++ Seq(col("weight"), col("present")): _*)
    val counted = NetChanges.grouped(found, cells :+ "weight", count("present").as("present"))
    val stay = col("present") + col("weight")
    val absent = refusal(
      "ROW_NOT_IN_TARGET",
      "row" -> Cells.row(columns.map(_.name)),
      "present" -> col("present").cast("string"),
      "change" -> col("weight")
    )
    // copy 0 stands for the deletion, copies 1, 2, ... are inserted
    val kept = sequence(lit(0L), when(stay < 0, absent).otherwise(stay))
    val deletions = counted.select(cells.map(col) :+ explode(kept).as("copy"): _*)
    val copies = explode(sequence(lit(1L), col("weight"))).as("copy")
    val insertions = changes.where("weight > 0").select(cells.map(col) :+ copies: _*)
    merge(
      deletions.unionByName(insertions),
      s"ON s.copy = 0 AND ${Cells.matches(typed(columns), "s.")} WHEN MATCHED THEN DELETE " +
        s"WHEN NOT MATCHED AND s.copy > 0 THEN ${insert(columns, Cells.names(columns.size, "s."))}"
    )
  }

  /** One source row per key, with the deleted row and the inserted row. If the target does not
    * match the changes, the error is raised in a value: Delta also evaluates conditions for rows to
    * which they do not apply.
    */
  private def mergeByKey(changes: DataFrame, key: Seq[Int], columns: Seq[StructField]): Unit = {
    val matches = key.map(i => s"t.${quoteIdentifier(columns(i).name)} <=> s.key$i").mkString(" AND ")
    val asDeleted = Cells.matches(typed(columns), "s.old.")
    val cells = Cells.names(columns.size, "s.new.")
    val updated =
      s"CASE WHEN s.old IS NULL THEN raise_error(s.twice) WHEN $asDeleted THEN ${cells.head} " +
        "ELSE raise_error(s.absent) END"
    val inserted = s"CASE WHEN s.old IS NULL THEN ${cells.head} ELSE raise_error(s.absent) END"
    val updates = columns.zip(updated +: cells.tail).map { case (field, value) =>
      s"t.${quoteIdentifier(field.name)} = $value"
    }
    merge(
      changes,
      s"ON $matches WHEN MATCHED AND s.new IS NULL AND $asDeleted THEN DELETE " +
        s"WHEN MATCHED THEN UPDATE SET ${updates.mkString(", ")} " +
        s"WHEN NOT MATCHED THEN ${insert(columns, inserted +: cells.tail)}"
    )
  }

  private def insert(columns: Seq[StructField], values: Seq[String]): String =
    s"INSERT (${list(columns)}) VALUES (${values.mkString(", ")})"

  private def merge(source: DataFrame, clauses: String): Unit =
    run(source)(name => s"MERGE INTO ${target.name} AS t USING $name AS s $clauses")

  /** Runs a statement over rows that have a name in it. */
  private def run(source: DataFrame)(statement: String => String): Unit = {
    val name = s"_joinless_${UUID.randomUUID.toString.replace("-", "")}"
    source.createOrReplaceTempView(name)
    try { val _ = source.sparkSession.sql(statement(name)) }
    finally { val _ = source.sparkSession.catalog.dropTempView(name) }
  }

  private def typed(columns: Seq[StructField]): Seq[(String, DataType)] =
    columns.map(field => field.name -> field.dataType)

  private def list(columns: Seq[StructField]): String = columns.map(field => quoteIdentifier(field.name)).mkString(", ")
}
