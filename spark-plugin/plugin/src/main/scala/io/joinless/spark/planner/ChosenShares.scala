package io.joinless.spark.planner

import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.errors.{JoinlessErrors, Suggestion}
import io.joinless.spark.placement.{Placement, Shares}
import io.joinless.spark.spec.{BlockShape, BlockSpec}

/** The shares of a block whose checkpoint is new: the configured ones, or the best ones within the
  * confs' bounds.
  *
  * If no conf sets the number of cells, it is one for each core: in chains of joins each further
  * cell costs copies of rows, and each task some 20 ms per batch. If no row needs copies, as in
  * stars, it is two for each core: results are skewed there, and tasks that finish early take
  * another cell. It stays one if results are only counted, which costs about the same for every
  * row.
  */
object ChosenShares {

  /** The block with its shares.
    *
    * @param partitions the greatest number of cells
    * @param cores of the executors; evaluated once, and only if no conf sets the number of cells
    */
  def apply(shape: BlockShape, partitions: Int, cores: => Int, conf: JoinlessConf): BlockSpec = {
    val sizes = conf.expectedRows(shape.relations.map(_.name))
    def best(cells: Long) = Shares.choose(shape, math.min(cells, partitions.toLong).toInt, conf.maxReplication, sizes)
    def byCores(cores: Long) =
      Option.when(shape.reduction.isEmpty)(best(2 * cores)).filter(Placement.of(shape, _, sizes).copiesNothing)
        .getOrElse(best(cores))
    val shares =
      if (shape.sample.exists(!_.keyed)) best(1L)
      else if (conf.shares.nonEmpty) named(shape, partitions, conf.shares)
      else if (conf.maxCells > 0) best(conf.maxCells.toLong)
      else byCores(cores.toLong)
    BlockSpec(shape, shares)
  }

  /** The configured shares. An attribute is named by its own name, or by any `relation.column` that
    * is equated in it.
    */
  private def named(shape: BlockShape, partitions: Int, shares: Map[String, Long]): IndexedSeq[Int] = {

    /** Refuses the configured shares, for this reason. */
    def refuse(what: String) = throw JoinlessErrors.invalidShares(
      shares.toSeq.sorted.map { case (name, n) => s"$name=$n" }.mkString(","),
      what
    )
    val names = shape.attributes.indices.map { x =>
      shape.attributes(x).name +: shape.relations.flatMap { r =>
        r.keys.collect { case k if k.attribute == x => s"${r.name}.${shape.inputs(r.input).columns(k.ordinal).name}" }
      }
    }
    (shares.keySet -- names.flatten).toSeq.sorted.headOption.foreach { unknown =>
      val guess = Suggestion.of(unknown, names.flatten).fold("")(name => s"; did you mean $name?")
      refuse(s"the join has no attribute $unknown: it has ${shape.attributes.map(_.name).mkString(", ")}$guess")
    }
    val named = names.map(_.distinct.filter(shares.contains))
    named.find(_.size > 1).foreach(several => refuse(s"${several.sorted.mkString(" and ")} are one attribute"))
    val chosen = named.map(_.headOption.fold(1L)(shares))
    val cells = chosen.map(BigInt(_)).product
    if (cells > partitions) refuse(s"that makes $cells cells, and spark.sql.shuffle.partitions is $partitions")
    chosen.map(Math.toIntExact(_))
  }
}
