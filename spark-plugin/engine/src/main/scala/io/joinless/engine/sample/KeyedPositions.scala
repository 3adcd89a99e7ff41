package io.joinless.engine.sample

import java.util.SplittableRandom

import io.joinless.engine.algebra.Wide
import io.joinless.engine.positions.{ChosenPositions, PositionList}

/** Uniform positions with keys, by which samples of several cells are merged: the results with the
  * smallest keys of all cells are a uniform sample of all results. Nobody needs to know how many
  * results the other cells have, nor which of the positions are rejected.
  *
  * ''Without replacement'' each position has a key, uniform on (0, 1). They come in ascending order
  * of their keys, chunk by chunk: each key is the least of those that are left.
  *
  * ''With replacement'' positions arrive at rate 1 each, and the keys are the times: the next
  * arrival of any of n positions is exponential of rate n, and it is each of them with the same
  * chance. The first arrivals of all cells are independent and uniform over all results. A position
  * comes again and again.
  *
  * @param total the number of positions
  */
final class KeyedPositions(total: BigInt, replacement: Boolean, seed: Long) extends ChosenPositions {
  private[this] val limit = Wide(total)
  private[this] val draws = new Draws(new SplittableRandom(seed).nextLong())
  private[this] val subsets = new Subsets(draws, limit)
  private[this] val repeated = new PositionList
  private[this] var keys = new Array[Double](0)
  private[this] var last = 0.0
  private[this] val unseen = new Wide
  private[this] val one = Wide(1L)

  /** How many more positions are drawn. */
  var wanted: Long = 0L

  /** The key of a position of the chunk. All keys of later chunks are greater. */
  def key(i: Int): Double = keys(i)

  /** The greatest key so far: all keys up to it are drawn. */
  def drawnUpTo: Double = last

  /** The least key above `from` of so many further results, whose keys are drawn now. */
  def keyOfOthers(from: Double, others: Long): Double = draws.nextKey(from, Wide(others))

  /** The next arrivals after all that were drawn, of any of `sources`, as (source, key), by source.
    */
  def arrivals(count: Int, sources: Long): Array[(Long, Double)] = {
    val (of, source) = (Wide(sources), new Wide)
    Array.fill(count) {
      last = draws.nextArrival(last, of)
      draws.position(of, source)
      (source.low, last)
    }.sortBy(_._1)
  }

  override private[engine] def next(): PositionList = {
    val size = math.min(wanted, KeyedPositions.Chunk).toInt
    wanted -= size
    repeated.clear()
    if (limit.isZero || size == 0) repeated
    else if (replacement) {
      drawKeys(size, draws.nextArrival(_, limit))
      draws.positions(size, limit, repeated)
      repeated.sort()
      repeated
    } else {
      unseen.set(subsets.left)
      val chunk = subsets.next(size)
      drawKeys(
        chunk.size,
        { from =>
          val key = draws.nextKey(from, unseen)
          unseen.subtract(one)
          key
        }
      )
      chunk
    }
  }

  /** Draws ascending keys, and gives them to the positions in a random order. */
  private def drawKeys(count: Int, after: Double => Double): Unit = {
    if (keys.length < count) keys = new Array[Double](count)
    var i = 0
    while (i < count) {
      last = after(last)
      keys(i) = last
      i += 1
    }
    draws.shuffle(keys, count)
  }
}

private object KeyedPositions {

  /** The most positions of a chunk. Those that were drawn before are sorted for each chunk. */
  final val Chunk = 1L << 18
}
