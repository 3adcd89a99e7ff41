package io.joinless.engine.sample

import java.util.SplittableRandom

import io.joinless.engine.algebra.Wide
import io.joinless.engine.positions.{ChosenPositions, PositionList}

/** Each position with the same chance, independently of the others: a Bernoulli sample. Or, with
  * replacement, each position as often as a Poisson number says.
  *
  * Positions that are not chosen are jumped over, so the cost is that of the chosen ones. The same
  * seed chooses the same positions, on every machine.
  *
  * A jump is a geometric number G: the failures before a success of chance p. It may have more bits
  * than a double, so it is drawn in two parts. For B = 2^k^ near 1/p, G = q·B + r, where q and r
  * are independent. q is geometric with the chance of a success among B, and small. r has the law
  * (1−p)^r^ on 0 … B−1: a uniform one is accepted with that chance, which is about 1/e or more.
  *
  * @param fraction the chance of a position, from 0 to 1; with replacement the mean number of its
  *   copies, from 0 on
  * @param total the number of positions
  */
final class ThinnedPositions(fraction: Double, replacement: Boolean, seed: Long, total: BigInt)
    extends ChosenPositions {
  private[this] val random = new SplittableRandom(seed)
  private[this] val limit = Wide(total)
  private[this] val chunk = new PositionList
  private[this] val position = Wide(0L) // the next one that is not decided
  private[this] var copies = 0L // of the position, that are still to be chosen
  private[this] val left = new Wide
  private[this] val jump = new Wide
  private[this] val rest = new Wide

  /** The chance that a position is chosen at least once. */
  private[this] val chance = if (replacement) -StrictMath.expm1(-fraction) else math.min(1.0, fraction)

  /** The logarithm of the chance that a position is not chosen. */
  private[this] val logMissed = if (replacement) -fraction else StrictMath.log1p(-chance)

  /** The k of B = 2^k^. */
  private[this] val bits = math.max(0, math.min(ThinnedPositions.MostBits, -1 - Math.getExponent(chance)))
  private[this] val block = Math.scalb(1.0, bits)

  override private[engine] def next(): PositionList = {
    chunk.clear()
    while (chunk.size < ChosenPositions.Chunk && (copies > 0L || advance())) {
      chunk.add(position)
      take()
    }
    chunk
  }

  /** The next chosen one of fewer than 2^63^ positions; −1 after the last one. */
  def nextLong(): Long =
    if (copies > 0L || advance()) {
      val chosen = position.low
      take()
      chosen
    } else -1L

  private def take(): Unit = {
    copies -= 1L
    if (copies == 0L) position.add(0L, 1L)
  }

  /** Moves to the next chosen position; false if there is none. */
  private def advance(): Boolean = {
    left.set(limit)
    left.subtract(position)
    val isThere = chance > 0.0 && !left.isZero && drawJump() && jump.compare(left) < 0
    if (isThere) {
      position.add(jump)
      copies = if (replacement) copiesOfOne() else 1L
    } else position.set(limit)
    isThere
  }

  /** Draws a jump; false if it is longer than what is left. */
  private def drawJump(): Boolean =
    if (chance >= 1.0) { jump.set(0L); true }
    else {
      val blocks = Math.floor(StrictMath.log(positive()) / (logMissed * block))
      blocks <= left.toDouble / block && {
        jump.set(blocks.toLong)
        if (bits < 64) jump.multiply(0L, 1L << bits) else jump.multiply(1L << (bits - 64), 0L)
        drawRest()
        jump.add(rest)
        true
      }
    }

  private def drawRest(): Unit =
    do rest.set(
      if (bits <= 64) 0L else random.nextLong() >>> (128 - bits),
      if (bits == 0) 0L else random.nextLong() >>> math.max(0, 64 - bits)
    ) while (positive() > StrictMath.exp(logMissed * rest.toDouble))

  /** A Poisson number, given that it is not 0: how many arrivals there are up to time `fraction`, at
    * rate 1, given the first one.
    */
  private def copiesOfOne(): Long = {
    var time = -StrictMath.log1p(-random.nextDouble() * chance)
    var n = 0L
    do {
      n += 1L
      time -= StrictMath.log(positive())
    } while (time < fraction)
    n
  }

  /** A uniform number of (0, 1]. */
  private def positive(): Double = 1.0 - random.nextDouble()
}

private object ThinnedPositions {

  /** The most bits of B: a product with the number of blocks that are left has at most 127. */
  final val MostBits = 100
}
