package io.joinless.spark.planner

import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.errors.{JoinlessErrors, Suggestion}
import io.joinless.spark.placement.Shares
import io.joinless.spark.spec.{BlockShape, BlockSpec}

/** The shares of a block whose checkpoint is new: the expert's, or the best ones within the confs' bounds. */
object ChosenShares {

  /** Cells for each core: results do not spread evenly, and tasks that are done early take another cell. Where results are only
    * counted, rows cost about the same, and a second task costs more than it evens out.
    */
  private def cellsPerCore(shape: BlockShape): Int = if (shape.reduction.isDefined) 1 else 2

  /** @param cores of the executors; asked for only where nothing else says how many cells there may be */
  def apply(shape: BlockShape, partitions: Int, cores: => Int, conf: JoinlessConf): BlockSpec = {
    val shares =
      if (conf.shares.isEmpty)
        Shares.choose(
          shape,
          maxCells(shape, partitions, cores, conf),
          conf.maxReplication,
          conf.expectedRows(shape.relations.map(_.name))
        )
      else named(shape, partitions, conf.shares)
    BlockSpec(shape, shares)
  }

  private def maxCells(shape: BlockShape, partitions: Int, cores: => Int, conf: JoinlessConf): Int = {
    val most =
      if (conf.maxCells > 0) conf.maxCells else math.max(1L, cores.toLong * cellsPerCore(shape)).min(Int.MaxValue).toInt
    math.min(partitions, most)
  }

  /** An attribute goes by its own name, or by any `relation.column` that is equated in it. */
  private def named(shape: BlockShape, partitions: Int, shares: Map[String, Int]): IndexedSeq[Int] = {
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
    val chosen = names.map(_.collectFirst { case name if shares.contains(name) => shares(name) }.getOrElse(1))
    val cells = chosen.map(_.toLong).product
    if (cells > partitions) refuse(s"that makes $cells cells, and spark.sql.shuffle.partitions is $partitions")
    chosen
  }
}
