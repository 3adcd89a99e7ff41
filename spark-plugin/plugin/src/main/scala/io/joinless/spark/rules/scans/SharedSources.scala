package io.joinless.spark.rules.scans

import scala.collection.mutable

import io.joinless.spark.plans.nodes.JoinFreeJoin
import org.apache.spark.sql.catalyst.expressions.ExprId
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.joinless.StreamLeaf

/** Finds the streaming sources of a query that are one and the same, and rewrites the query to one
  * source for each of them.
  *
  * Spark opens a source for every scan of a stream: three for a self-join of three, each listing
  * the same files or polling the same broker in every batch. Sources are the same where they have
  * equal definitions and equal definitions mean equal data: files, Delta tables, Kafka topics,
  * memory streams. (Two socket readers, say, would each receive a part of the data.)
  */
object SharedSources {

  /** For each scan of a stream in the plan, in preorder, the number of its source, as Spark numbers
    * them: one for each distinct relation.
    */
  def apart(plan: LogicalPlan): Seq[Int] = numbered(places(plan))

  /** The same where equal sources have one number.
    *
    * @param may which scans may share beyond Spark's own sharing, by their position
    */
  def together(plan: LogicalPlan, may: Int => Boolean): Seq[Int] = numbered(places(plan).zipWithIndex.map {
    case (place, i) => if (may(i)) definition(place).getOrElse(place) else place
  })

  /** For each element the number of the first one that is equal, counting different ones. */
  private def numbered(sources: Seq[Any]): Seq[Int] = {
    val known = mutable.HashMap.empty[Any, Int]
    sources.map(source => known.getOrElseUpdate(source, known.size))
  }

  /** Whether the plan's scans can share as `numbers` says: there are as many, and those of one
    * number are one relation to Spark, or have equal definitions.
    */
  def fits(plan: LogicalPlan, numbers: Seq[Int]): Boolean = {
    val scans = places(plan)
    scans.size == numbers.size && scans.zip(numbers).groupMap(_._2)(_._1).values.forall { sharing =>
      sharing.distinct.size == 1 || (definition(sharing.head).isDefined && sharing.map(definition).distinct.size == 1)
    }
  }

  /** The plan in which scans of one number read one relation, each under its own attributes; `eq`
    * where no two do.
    */
  def shared(plan: LogicalPlan, numbers: Seq[Int]): LogicalPlan = {
    val first = mutable.Map.empty[Int, LogicalPlan]
    val numberOfScan = numbers.iterator

    /** The plan with each scan replaced by the first one of its number. */
    def walk(plan: LogicalPlan): LogicalPlan =
      if (isPlace(plan)) {
        val source = first.getOrElseUpdate(numberOfScan.next(), plan)
        if (source.output == plan.output) plan else SharedMark.renamed(source, plan.output)
      } else plan.mapChildren(walk)
    walk(plan)
  }

  /** Whether the scan at a position of the plan may share its source: all scans for which Spark
    * opens that source are read by our join blocks only, as the optimized plan reads each of them
    * once, in a block. A scan is recognized in the optimized plan by the id of its first column;
    * one without columns counts as read elsewhere.
    *
    * @param optimize the plan as its first batch would have it
    */
  def inBlocksOnly(plan: LogicalPlan, optimize: LogicalPlan => LogicalPlan): Int => Boolean = {
    val separate = SeparateScans.everywhere(plan)
    val readsOf = readsInBlocks(optimize(separate), inBlock = false).groupMap(_._1)(_._2)
    val onceInBlock = places(separate).map(_.output.headOption.exists(a => readsOf.get(a.exprId).contains(Seq(true))))
    val sources = apart(plan)
    val ours =
      sources.zip(onceInBlock).groupMap(_._1)(_._2).collect { case (n, scans) if scans.forall(identity) => n }.toSet
    i => ours(sources(i))
  }

  /** The first column of each scan, and whether the scan is read in a block. */
  private def readsInBlocks(plan: LogicalPlan, inBlock: Boolean): Seq[(ExprId, Boolean)] =
    if (isPlace(plan)) plan.output.headOption.map(_.exprId -> inBlock).toSeq
    else plan.children.flatMap(readsInBlocks(_, inBlock || plan.isInstanceOf[JoinFreeJoin]))

  /** The scans of streams in the plan, in preorder. */
  def places(plan: LogicalPlan): Seq[LogicalPlan] = plan.collect { case place if isPlace(place) => place }

  /** Which scans read files, by position. */
  def readFiles(plan: LogicalPlan): Seq[Boolean] = places(plan).map(StreamLeaf.unapply(_).exists(_.readsFiles))

  /** Whether it is a scan of a stream. */
  private def isPlace(plan: LogicalPlan): Boolean = StreamLeaf.is(plan)

  /** The definition of the source, where equal definitions mean equal data. */
  private def definition(place: LogicalPlan): Option[Any] = {
    val columns = place.output.map(a => (a.name, a.dataType))
    StreamLeaf.unapply(place).flatMap(definition).map((_, columns))
  }

  /** The definition of the source, with that of an older source which it continues; None if equal
    * definitions need not mean equal data.
    */
  private def definition(stream: StreamLeaf): Option[Any] =
    Option.when(isReplayable(stream) || stream.older.exists(isReplayable)) {
      (stream.definition, stream.older.flatMap(definition))
    }

  /** Whether a source of this definition returns the same data to each reader. */
  private def isReplayable(stream: StreamLeaf): Boolean = Replayable(stream.sourceName) || stream.readsFiles

  private val Replayable = Set("delta", "kafka", "memory")
}
