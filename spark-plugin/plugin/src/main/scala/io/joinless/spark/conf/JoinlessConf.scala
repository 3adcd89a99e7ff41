package io.joinless.spark.conf

import java.util.Locale

import io.joinless.spark.errors.JoinlessErrors
import org.apache.spark.network.util.ByteUnit
import org.apache.spark.sql.internal.SQLConf

/** The confs of Joinless in one session, typed. Read on the driver; operators carry the values to
  * their tasks.
  */
final class JoinlessConf(conf: SQLConf) {
  import JoinlessConf._

  def enabled: Boolean = conf.getConf(ENABLED)

  def minRelations: Int = conf.getConf(MIN_RELATIONS)

  /** Whether a join block that stays with Spark is an error instead of a reason. */
  def forced: Boolean = conf.getConf(MODE) == "force"

  def maxRelations: Int = conf.getConf(MAX_RELATIONS)

  def crossProducts: Boolean = conf.getConf(CROSS_PRODUCTS_ENABLED)

  /** As configured; 0 stands for a share of each executor's heap ([[JoinlessConf.boundOfCache]]).
    */
  def cacheMaxBytes: Long = conf.getConf(CACHE_MAX_BYTES)

  def cacheEnabled: Boolean = conf.getConf(CACHE_ENABLED)

  def maxReplication: Double = conf.getConf(MAX_REPLICATION)

  /** As configured; 0 stands for one cell per executor core, or for two where no row is copied and
    * results are not only counted (`planner.ChosenShares`).
    */
  def maxCells: Int = conf.getConf(MAX_CELLS)

  /** Whether blocks have several cells by the user's own choice. */
  def severalCells: Boolean = maxCells > 1 || shares.nonEmpty

  /** Shares by attribute name; empty if the placement is chosen. */
  def shares: Map[String, Long] = counts(conf.getConf(SHARES))

  /** Hinted row counts by relation name. */
  def relationSizes: Map[String, Long] = counts(conf.getConf(RELATION_SIZES))

  /** Expected rows of relations with these names: a relation without a hint counts as the largest
    * one with a hint.
    */
  def expectedRows(names: IndexedSeq[String]): IndexedSeq[Double] = {
    val hinted = relationSizes
    val largest = names.flatMap(hinted.get).maxOption.getOrElse(1L)
    names.map(hinted.getOrElse(_, largest).toDouble)
  }

  /** Whether results of a join that are added up anyway are counted, not enumerated. */
  def aggregatesEnabled: Boolean = conf.getConf(AGGREGATES_ENABLED)

  /** Whether outer joins of plain queries are rewritten. */
  def outerJoins: Boolean = conf.getConf(OUTER_JOINS_ENABLED)

  /** Whether joins whose equi-join conditions form a cycle are joined by intersection. */
  def cyclicJoins: Boolean = conf.getConf(CYCLIC_JOINS_ENABLED)

  def shareSources: Boolean = conf.getConf(SHARE_SOURCES)

  /** Whether static tables are read when a row of the stream that they are joined with arrives. */
  def staticsAtArrival: Boolean = conf.getConf(STATIC_SIDES) == "atArrival"

  /** Whether a row whose key cannot be computed has no match, where Spark may not compute the key.
    */
  def keyErrorsAreNull: Boolean = conf.getConf(KEY_ERRORS) == "null"

  /** Refuses a conf with our prefix that this release does not have: a typing error would leave the
    * default in force. If Joinless is disabled, nothing is refused.
    */
  def checkNames(): Unit = if (enabled) {
    val known = JoinlessConf.all.map(_.key)
    conf.getAllConfs.keys.filter(key => key.startsWith(PREFIX) && !known.contains(key)).toSeq.sorted.headOption.foreach {
      unknown => throw JoinlessErrors.unknownConf(unknown, JoinlessConf.all.filter(_.isPublic).map(_.key))
    }
  }

  /** Whether a delete of an absent row leads to a negative count instead of an error. */
  def negativesAllowed: Boolean = conf.getConf(DELETE_OF_ABSENT_ROW) == "negative"
}

/** Every conf of Joinless, documented where it is defined: `SET -v` and the docs page list these
  * texts.
  */
object JoinlessConf {

  /** The confs of the session that is active in the calling thread. */
  def active: JoinlessConf = new JoinlessConf(SQLConf.get)

  /** Bytes that all view trees of this JVM may hold together, from the value of `cache.maxBytes`.
    */
  def boundOfCache(configured: Long): Long =
    if (configured > 0) configured else (Runtime.getRuntime.maxMemory * HEAP_SHARE).toLong

  /** The share of the heap that 0 means for `cache.maxBytes`: well inside the 40 % of the heap that
    * Spark leaves to user code.
    */
  private val HEAP_SHARE = 0.25

  private val PREFIX = "spark.joinless."

  private val PAIRS = "\\s*([^=,\\s][^=,]*?)\\s*=\\s*([1-9][0-9]*)\\s*".r

  private val AreNumbers = s"must have numbers from 1 to ${Long.MaxValue}"
  private val AreOnce = "must have each name once"

  val ENABLED = SQLConf
    .buildConf("spark.joinless.enabled")
    .doc(
      "Rewrites blocks of streaming inner equi-joins into one join-free operator. When false, plans are exactly " +
        "Spark's. A checkpoint written with Joinless needs it on; only a new checkpoint goes back to Spark's joins."
    )
    .version("0.1.0")
    .booleanConf
    .createWithDefault(true)

  val MIN_RELATIONS = SQLConf
    .buildConf("spark.joinless.minRelations")
    .doc("Blocks of fewer relations stay with Spark: with two there is no intermediate result to save.")
    .version("0.1.0")
    .intConf
    .checkValue(_ >= 1, "must be at least 1")
    .createWithDefault(3)

  val MODE = SQLConf
    .buildConf("spark.joinless.mode")
    .doc(
      "`auto`: a join block that cannot be rewritten stays with Spark and carries a reason. `force`: the reason is " +
        "the error JOINLESS_NOT_REWRITTEN. A session without the extension then fails, too, if " +
        "io.joinless.spark.explain.ExtendedExplain is among spark.sql.extendedExplainProviders."
    )
    .version("0.1.0")
    .stringConf
    .transform(_.toLowerCase(Locale.ROOT))
    .checkValues(Set("auto", "force"))
    .createWithDefault("auto")

  val MAX_RELATIONS = SQLConf
    .buildConf("spark.joinless.maxRelations")
    .doc("Blocks of more relations stay with Spark: the search for the best join tree grows with their number.")
    .version("0.1.0")
    .intConf
    .checkValue(n => n >= 1 && n <= 63, "must be between 1 and 63")
    .createWithDefault(12)

  val CROSS_PRODUCTS_ENABLED = SQLConf
    .buildConf("spark.joinless.crossProducts.enabled")
    .doc(
      "Rewrites blocks whose relations are not all connected by equi-join conditions: their result is a cross product, as large " +
        "as SQL makes it. Spark itself cannot run such streaming joins."
    )
    .version("0.1.0")
    .booleanConf
    .createWithDefault(true)

  val CACHE_MAX_BYTES = SQLConf
    .buildConf("spark.joinless.cache.maxBytes")
    .doc(
      "Bytes that the view trees of one executor may hold together. Idle trees are evicted first, least recently used; a single " +
        "tree above the bound is the error JOINLESS_STATE_TOO_LARGE. 0 stands for a quarter of the executor's heap, " +
        "inside the share that spark.memory.fraction leaves to user code."
    )
    .version("0.1.0")
    .bytesConf(ByteUnit.BYTE)
    .checkValue(_ >= 0, "must not be negative")
    .createWithDefault(0L)

  val CACHE_ENABLED = SQLConf
    .buildConf("spark.joinless.cache.enabled")
    .internal()
    .doc("Keeps view trees in the executor between batches. When false, every batch rebuilds them from its store.")
    .version("0.1.0")
    .booleanConf
    .createWithDefault(true)

  val MAX_CELLS = SQLConf
    .buildConf("spark.joinless.placement.maxCells")
    .doc(
      "How many cells a join may be placed in, at most spark.sql.shuffle.partitions. 0 stands for as many as the executors " +
        "have cores at the first batch, or for twice as many where no row has to go to several cells and results are not only counted; " +
        "set it where more executors come later. Chosen when a checkpoint is new."
    )
    .version("0.1.0")
    .intConf
    .checkValue(_ >= 0, "must not be negative")
    .createWithDefault(0)

  val MAX_REPLICATION = SQLConf
    .buildConf("spark.joinless.placement.maxReplication")
    .doc(
      "How many copies of an input's row may be stored on average, over all relations that read it. More cells mean less " +
        "load for each, but for chains of joins also more copies of each row. Chosen when a checkpoint is new."
    )
    .version("0.1.0")
    .doubleConf
    .checkValue(_ >= 1, "must be at least 1")
    .createWithDefault(8.0)

  val SHARES = SQLConf
    .buildConf("spark.joinless.placement.shares")
    .doc(
      "For experts: coordinates per join attribute, such as `a.dst=4,b.dst=2`, in the names that explain shows; " +
        "attributes not named get one. Their product is the number of cells and must not exceed " +
        "spark.sql.shuffle.partitions. Empty: chosen from the query. Applies when a checkpoint is new."
    )
    .version("0.1.0")
    .stringConf
    .checkValue(arePairs, "must be a list of name=number")
    .checkValue(areNumbers, AreNumbers)
    .checkValue(areOnce, AreOnce)
    .createWithDefault("")

  val RELATION_SIZES = SQLConf
    .buildConf("spark.joinless.relationSizes")
    .doc(
      "Hint for the join tree and the placement: expected rows of relations, such as `orders=1000000,customers=1000`, " +
        "by alias. Relations without a hint get the largest hinted size; names that a query does not have are passed over. " +
        "Applies when a checkpoint is new."
    )
    .version("0.1.0")
    .stringConf
    .checkValue(arePairs, "must be a list of name=number")
    .checkValue(areNumbers, AreNumbers)
    .checkValue(areOnce, AreOnce)
    .createWithDefault("")

  val DELETE_OF_ABSENT_ROW = SQLConf
    .buildConf("spark.joinless.deleteOfAbsentRow")
    .doc(
      "A delete of a row that a changelog input does not hold. `fail`: the batch fails and nothing is lost. `negative`: the " +
        "row keeps a negative count, is absent while that is not positive, and the metric negativeRows counts it."
    )
    .version("0.1.0")
    .stringConf
    .transform(_.toLowerCase(Locale.ROOT))
    .checkValues(Set("fail", "negative"))
    .createWithDefault("fail")

  private val STATIC_TIMES = Set("asSpark", "atArrival")

  val STATIC_SIDES = SQLConf
    .buildConf("spark.joinless.staticSides")
    .doc(
      "When static tables are read that may change and stand above joins of streams. `asSpark`: as Spark reads them, when a " +
        "result of the joins below appears; they end the block. `atArrival`: when the row of the stream that they are joined " +
        "with arrives; results that appear later show the table as it was then. Applies when a checkpoint is new."
    )
    .version("0.1.0")
    .stringConf
    .transform(text => STATIC_TIMES.find(_.equalsIgnoreCase(text)).getOrElse(text))
    .checkValues(STATIC_TIMES)
    .createWithDefault("asSpark")

  val AGGREGATES_ENABLED = SQLConf
    .buildConf("spark.joinless.aggregates.enabled")
    .doc(
      "The results of a join below a GROUP BY are counted, and added up, per distinct row that the GROUP BY reads, and not " +
        "enumerated. `false`: they are enumerated. A checkpoint goes on as it was begun."
    )
    .version("0.1.0")
    .booleanConf
    .createWithDefault(true)

  val OUTER_JOINS_ENABLED = SQLConf
    .buildConf("spark.joinless.outerJoins.enabled")
    .doc(
      "Rewrites LEFT, RIGHT and FULL OUTER joins of streams in append mode, where their conditions bound the times of both sides, and LEFT " +
        "SEMI joins, together with the inner joins around them. `false`: they stay with Spark. A checkpoint goes on as it was begun."
    )
    .version("0.1.0")
    .booleanConf
    .createWithDefault(true)

  val CYCLIC_JOINS_ENABLED = SQLConf
    .buildConf("spark.joinless.cyclicJoins.enabled")
    .doc(
      "Joins relations whose equi-join conditions form a cycle, such as a triangle, by intersection. `false`: they stay with " +
        "Spark, and where changes of the result are requested, one of the conditions is checked on each result of the others. A " +
        "checkpoint goes on as it was begun."
    )
    .version("0.1.0")
    .booleanConf
    .createWithDefault(true)

  val KEY_ERRORS = SQLConf
    .buildConf("spark.joinless.keyErrors")
    .doc(
      "What to do about a join key that can fail, such as CAST(code AS BIGINT), where Spark computes it only for rows that " +
        "have passed other joins. `fail`: the block stays with Spark. `null`: the block is rewritten, and a row whose key fails " +
        "has no match, unless Spark computes the key for every row, too: then it fails. The metric keyErrors counts such rows, " +
        "and each task logs the first. A whole number that gets too large for its type always counts so: nothing is equal to " +
        "it. Keep the setting for the life of a checkpoint."
    )
    .version("0.1.0")
    .stringConf
    .transform(_.toLowerCase(Locale.ROOT))
    .checkValues(Set("fail", "null"))
    .createWithDefault("fail")

  val SHARE_SOURCES = SQLConf
    .buildConf("spark.joinless.shareSources")
    .doc(
      "Opens one source for all places of a rewritten join that read the same files, Delta table, Kafka topics or " +
        "memory stream; when false, each place has a source of its own, as in Spark. Applies when a checkpoint is new."
    )
    .version("0.1.0")
    .booleanConf
    .createWithDefault(true)

  /** Makes `SET -v` list the confs, and Spark check their values, before the first is read. */
  def register(): Unit = all.foreach(entry => require(entry.key.startsWith(PREFIX)))

  /** All confs, in the order of the docs page. */
  val all = Seq(
    ENABLED,
    MODE,
    MIN_RELATIONS,
    MAX_RELATIONS,
    CROSS_PRODUCTS_ENABLED,
    RELATION_SIZES,
    MAX_CELLS,
    MAX_REPLICATION,
    SHARES,
    CACHE_MAX_BYTES,
    CACHE_ENABLED,
    SHARE_SOURCES,
    AGGREGATES_ENABLED,
    OUTER_JOINS_ENABLED,
    CYCLIC_JOINS_ENABLED,
    STATIC_SIDES,
    KEY_ERRORS,
    DELETE_OF_ABSENT_ROW
  )

  /** Whether a text is a list of `name=number`, or empty. */
  private def arePairs(text: String): Boolean =
    text.trim.isEmpty || text.split(",", -1).forall(PAIRS.matches(_))

  /** The names and numbers of such a list, as texts. */
  private def pairs(text: String): Seq[(String, String)] =
    text.split(",").toSeq.collect { case PAIRS(name, n) => name -> n }

  /** Whether all numbers of a list fit a BIGINT. */
  private def areNumbers(text: String): Boolean = pairs(text).forall(_._2.toLongOption.isDefined)

  /** Whether no name is twice in a list. */
  private def areOnce(text: String): Boolean = pairs(text).map(_._1).distinct.size == pairs(text).size

  /** The numbers of a list, by name. */
  private def counts(text: String): Map[String, Long] =
    pairs(text).map { case (name, n) => name -> n.toLong }.toMap
}
