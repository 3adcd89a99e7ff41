package io.joinless.engine.oracle

import scala.collection.mutable

/** The oracle: the result by a nested loop over all relations, from scratch.
  *
  * A result is a row of each relation's stock, packed into a long (ten bits each). Its weight is
  * the product of the rows' multiplicities; a negative one (a delete before its insert) counts as
  * 0.
  */
final class NaiveJoin(query: Case) {
  private[this] val relations = query.relations.indices

  /** The multiplicity of each row of the stock in each relation. */
  val multiplicity: Array[Array[Long]] =
    query.relations.map(r => new Array[Long](query.inputs(r.input).rows.size)).toArray

  /** The relation's attributes and, per row, their values; NULL is a value of its own. */
  private[this] val attributes = query.relations.map(_.keys.map(_._1).toArray).toArray
  private[this] val values = query.relations.map { r =>
    query.inputs(r.input).rows.map(row => r.keys.map { case (_, c) => row(c).getOrElse(NaiveJoin.Null) }.toArray).toArray
  }.toArray
  private[this] val lastRelation = query.residuals.map(_.relations.maxOption.getOrElse(0))

  def apply(changes: Iterable[CaseChange]): Unit =
    for (change <- changes; r <- relations if (change.roles >>> r & 1L) != 0)
      multiplicity(r)(change.row) += change.weight

  def result(): mutable.LongMap[Long] = {
    val result = new mutable.LongMap[Long]
    val bound = new Array[Long](query.attributes.size)
    val isBound = new Array[Boolean](query.attributes.size)
    val rows = new Array[Int](relations.size)

    def join(r: Int, weight: Long): Unit =
      if (r == relations.size) result(NaiveJoin.pack(rows)) = weight
      else {
        val mine = attributes(r)
        val fresh = mine.map(a => !isBound(a))
        mine.foreach(isBound(_) = true)
        var row = 0
        while (row < multiplicity(r).length) {
          if (multiplicity(r)(row) > 0 && agrees(mine, fresh, values(r)(row), bound)) {
            for (i <- mine.indices if fresh(i)) bound(mine(i)) = values(r)(row)(i)
            rows(r) = row
            if (accepted(r, rows)) join(r + 1, weight * multiplicity(r)(row))
          }
          row += 1
        }
        for (i <- mine.indices if fresh(i)) isBound(mine(i)) = false
      }

    join(0, 1L)
    result
  }

  private def agrees(mine: Array[Int], fresh: Array[Boolean], row: Array[Long], bound: Array[Long]): Boolean = {
    var i = 0
    while (i < mine.length && (fresh(i) || row(i) == bound(mine(i)))) i += 1
    i == mine.length
  }

  private def accepted(r: Int, rows: Array[Int]): Boolean =
    query.residuals.isEmpty ||
      query.residuals.indices.forall(i => lastRelation(i) != r || query.residuals(i).accept(rows(_)))
}

object NaiveJoin {
  private val Null = Long.MinValue

  def pack(rows: Array[Int]): Long = {
    var key = 0L
    var r = 0
    while (r < rows.length) { key = key << 10 | rows(r); r += 1 }
    key
  }

  def unpack(key: Long, relations: Int): IndexedSeq[Int] =
    IndexedSeq.tabulate(relations)(r => (key >>> (10 * (relations - 1 - r)) & 1023).toInt)
}
