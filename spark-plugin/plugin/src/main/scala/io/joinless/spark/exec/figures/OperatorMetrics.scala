package io.joinless.spark.exec.figures

/** The figures that the operator reports in `progress.stateOperators[].customMetrics`. Every figure
  * but `nextEnd` and `stepsSaved` is a sum over the cells. They are followed by `rows.<relation>`
  * for each relation: the rows that it has ([[RelationSizes]]); by `late.<times>` if rows were late
  * by those columns (`LateRows`); and by `anyAge.<time>` if results can be late for operators
  * above.
  *
  * Counts are of this batch, of all actions on it; `storedRows`, `negativeRows`, `logRows`,
  * `liveTuples`, `keys` and `arenaBytes` are sizes of the state after it, and `nextEnd` is of it
  * ([[CellSizes]]). Times are task times in milliseconds; those of propagating and enumerating are
  * estimated from samples.
  */
object OperatorMetrics {
  final val RowsIn = "rowsIn"
  final val RowsNetted = "rowsNetted"
  final val RowsForgotten = "rowsForgotten"
  final val RowsExpired = "rowsExpired"
  final val KeyErrors = "keyErrors"
  final val RowsOut = "rowsOut"
  final val PropagationSteps = "propagationSteps"
  final val CursorMoves = "cursorMoves"
  final val ResultsEnumerated = "resultsEnumerated"
  final val StoredRows = "storedRows"
  final val NegativeRows = "negativeRows"
  final val LogRows = "logRows"
  final val LiveTuples = "liveTuples"
  final val Keys = "keys"
  final val ArenaBytes = "arenaBytes"
  final val NextEnd = "nextEnd"
  final val StepsSaved = "stepsSaved"
  final val CacheHits = "cacheHits"
  final val BatchesRolledBack = "batchesRolledBack"
  final val Rebuilds = "rebuilds"
  final val PropagateMs = "propagateMs"
  final val EnumerateMs = "enumerateMs"
  final val CommitMs = "commitMs"
  final val RebuildMs = "rebuildMs"

  /** The number of results, where a sample of them is kept, and no condition is checked on them. */
  final val ResultSize = "resultSize"

  /** The rows of a relation. */
  def rowsOf(relation: String): String = s"rows.$relation"

  /** Results can have a value of this time however old, and operators above drop late ones: 1. */
  def anyAgeOf(time: String): String = s"anyAge.$time"

  /** Name and meaning, in the order of the documentation. */
  val all: Seq[(String, String)] = Seq(
    RowsIn -> "rows that cells received",
    RowsNetted -> "rows of changelogs cancelled or merged within the batch",
    RowsForgotten -> "rows forgotten: no later row can join them",
    RowsExpired -> "rows whose time has passed, also when they arrived: they count no more",
    KeyErrors -> "rows left out because a join key could not be computed",
    RowsOut -> "result rows written",
    PropagationSteps -> "propagation steps: counts changed because a key was inserted or deleted below",
    CursorMoves -> "moves of cursors: lists entered or advanced",
    ResultsEnumerated -> "results enumerated, those that residual conditions reject not counted",
    StoredRows -> "rows stored, each once per cell whatever its roles; those with a negative count included",
    NegativeRows -> "rows of changelogs with a negative count: deleted before they were inserted",
    LogRows -> "entries in the log",
    LiveTuples -> "tuples of inner nodes that are part of a result",
    Keys -> "distinct keys on the edges of the join tree",
    ArenaBytes -> "bytes held by view trees",
    NextEnd -> "the watermark at which the next stored row is evicted or expires, in milliseconds; 0 where none does",
    StepsSaved -> "percent of the steps of changes that another join tree would save, by the rows that relations have now",
    CacheHits -> "cells whose view tree was in the executor's cache",
    BatchesRolledBack -> "cached view trees rolled back by one batch, which is computed again",
    Rebuilds -> "cells whose view tree was rebuilt from the log",
    PropagateMs -> "time to propagate changes (sampled)",
    EnumerateMs -> "time to enumerate results and write rows (sampled)",
    CommitMs -> "time to commit the log",
    RebuildMs -> "time to rebuild view trees from the log"
  )
}
