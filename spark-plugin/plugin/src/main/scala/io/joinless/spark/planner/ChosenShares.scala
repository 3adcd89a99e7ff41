package io.joinless.spark.planner

import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.errors.{JoinlessErrors, Suggestion}
import io.joinless.spark.placement.{Placement, Shares}
import io.joinless.spark.spec.{BlockShape, BlockSpec}

/** The shares of a block whose checkpoint is new: the expert's, or the best ones within the confs' bounds.
  *
  * Where no conf says how many cells there may be, it is one for each core: in chains of joins each cell more costs copies of rows, and
  * each task some 20 ms per batch. Where no row needs copies, as in stars, it is two: results do not spread evenly there, and tasks that
  * are done early take another cell; not where they are only counted, which costs about the same for every row.
  */
object ChosenShares {

  /** @param cores of the executors; asked for once, and only where nothing else says how many cells there may be */
  def apply(shape: BlockShape, partitions: Int, cores: => Int, conf: JoinlessConf): BlockSpec = {
    val sizes = conf.expectedRows(shape.relations.map(_.name))
    def best(cells: Long) = Shares.choose(shape, math.min(cells, partitions.toLong).toInt, conf.maxReplication, sizes)
    def byCores(cores: Long) =
      Option.when(shape.reduction.isEmpty)(best(2 * cores)).filter(Placement.of(shape, _, sizes).copiesNothing)
        .getOrElse(best(cores))
    val shares =
      if (conf.shares.nonEmpty) named(shape, partitions, conf.shares)
      else if (conf.maxCells > 0) best(conf.maxCells.toLong)
      else byCores(cores.toLong)
    BlockSpec(shape, shares)
  }

  /** An attribute goes by its own name, or by any `relation.column` that is equated in it. */
  private def named(shape: BlockShape, partitions: Int, shares: Map[String, Long]): IndexedSeq[Int] = {
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
