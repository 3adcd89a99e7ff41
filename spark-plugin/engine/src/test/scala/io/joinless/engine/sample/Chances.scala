package io.joinless.engine.sample

/** Bounds of what is seen by chance. */
object Chances {

  /** The chance of a χ² of at least `x` with so many degrees of freedom, by the cube root that is
    * nearly normal (Wilson and Hilferty).
    */
  def chiSquare(x: Double, freedom: Int): Double = if (freedom == 1) 2 * normal(math.sqrt(x))
  else if (freedom == 2) math.exp(-x / 2)
  else {
    val spread = 2.0 / (9.0 * freedom)
    normal((math.cbrt(x / freedom) - (1.0 - spread)) / math.sqrt(spread))
  }

  /** The chance of a normal number of at least `z`. */
  def normal(z: Double): Double =
    if (z < 0) 1.0 - normal(-z)
    else {
      // a continued fraction in the tail, a series near 0
      val density = math.exp(-z * z / 2) / math.sqrt(2 * math.Pi)
      if (z > 3) density / (1 to 60).foldRight(z)((i, below) => z + i / below)
      else 0.5 - density * Iterator.iterate((z, 1))({ case (term, i) => (term * z * z / (2 * i + 1), i + 1) })
        .map(_._1).takeWhile(math.abs(_) > 1e-18).sum
    }
}
