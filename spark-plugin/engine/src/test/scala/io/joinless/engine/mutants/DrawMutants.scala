package io.joinless.engine.mutants

/** Mutations of what algorithms A59 and A60 specify of positions that are drawn on demand, and of
  * the random numbers of the cells and batches of kept samples.
  */
private[mutants] object DrawMutants {
  private val thinned = "sample/ThinnedPositions.scala"
  private val keyed = "sample/KeyedPositions.scala"
  private val seeds = "sample/SampleSeed.scala"

  val ofPositions: Seq[Mutant] = Seq(
    Mutant(
      "thinned: the position after a chosen one is skipped",
      thinned,
      "position.add(0L, 1L)" -> "position.add(0L, 2L)"
    ),
    Mutant("thinned: a jump beyond the end is taken", thinned, " && jump.compare(left) < 0" -> ""),
    Mutant(
      "thinned: jumps are exponential in blocks only",
      thinned,
      " while (positive() > StrictMath.exp(logMissed * rest.toDouble))" -> " while (false)"
    ),
    Mutant("thinned: jumps are whole blocks", thinned, "        jump.add(rest)\n" -> ""),
    Mutant("thinned: the chance of a jump is that of a position", thinned, "(logMissed * block)" -> "logMissed"),
    Mutant("thinned: a chance is its own logarithm", thinned, "StrictMath.log1p(-chance)" -> "-chance"),
    Mutant(
      "thinned: with replacement the chance is the mean",
      thinned,
      "if (replacement) -StrictMath.expm1(-fraction) else" -> "if (replacement) math.min(1.0, fraction) else"
    ),
    Mutant(
      "thinned: copies are those of a position that may have none",
      thinned,
      "-StrictMath.log1p(-random.nextDouble() * chance)" -> "-StrictMath.log(positive())"
    ),
    Mutant("thinned: one copy too many", thinned, "    var n = 0L\n" -> "    var n = 1L\n"),
    Mutant(
      "thinned: the rest has bits of the lower word only",
      thinned,
      "if (bits <= 64) 0L else random.nextLong() >>> (128 - bits)" -> "0L"
    ),
    Mutant(
      "thinned: large blocks are counted as small",
      thinned,
      "jump.multiply(1L << (bits - 64), 0L)" -> "jump.multiply(0L, 1L << (bits - 64))"
    ),
    Mutant("keyed: keys follow the order of positions", keyed, "    draws.shuffle(keys, count)\n" -> ""),
    Mutant("keyed: all keys are those of all positions", keyed, "          unseen.subtract(one)\n" -> ""),
    Mutant(
      "keyed: keys begin anew in each chunk",
      keyed,
      "    var i = 0\n    while (i < count) {" -> "    last = 0.0\n    var i = 0\n    while (i < count) {"
    ),
    Mutant(
      "keyed: cells have keys of the same law whatever their size",
      keyed,
      "unseen.set(subsets.left)" -> "unseen.set(100L)"
    ),
    Mutant(
      "keyed: arrivals come at the same rate in all cells",
      keyed,
      "drawKeys(size, draws.nextArrival(_, limit))" -> "drawKeys(size, draws.nextArrival(_, one))"
    ),
    Mutant(
      "keyed: with replacement without it",
      keyed,
      "else if (replacement) {" -> "else if (repeated == null) {"
    ),
    Mutant("keyed: repeated positions are in no order", keyed, "      repeated.sort()\n" -> ""),
    Mutant("keyed: positions that were drawn come again", keyed, "    repeated.clear()\n" -> "")
  )

  val ofCells: Seq[Mutant] = Seq(
    Mutant("cells: all have the same random numbers", seeds, "mixed(ofSample), cell.toLong)" -> "mixed(ofSample), 0L)"),
    Mutant("batches: all have the same random numbers", seeds, "cell.toLong), batch)" -> "cell.toLong), 0L)"),
    Mutant(
      "cells: random numbers are those of the cell before in the batch after",
      seeds,
      "mixed(mixed(mixed(ofSample), cell.toLong), batch)" -> "mixed(mixed(ofSample), cell.toLong + batch)"
    )
  )

  val all: Seq[Mutant] = ofPositions ++ ofCells
}
