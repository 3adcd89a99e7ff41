package io.joinless.engine.mutants

/** Mutations of totals over cycles (algorithms A79). Not included: borders between heavy and light
  * values, which decide on steps and not on totals.
  */
private[mutants] object CycleMutants {
  private val sums = "reduce/CycleSums.scala"
  private val changes = "reduce/CycleChanges.scala"
  private val keyed = "reduce/KeyedChanges.scala"
  private val pairs = "reduce/PairElements.scala"

  val all: Seq[Mutant] = Seq(
    Mutant(
      "cycle: the other direction",
      sums,
      "val (from, to) = (side.second(row), side.first(row))\n    if (s.by" ->
        "val (from, to) = (side.first(row), side.second(row))\n    if (s.by"
    ),
    Mutant("cycle: views are not read", sums, "      side.paths.addTo(sum, from, to)\n" -> ""),
    Mutant(
      "cycle: no paths through two heavy values",
      sums,
      "        if (second >= 0) addPath(first, second)\n" -> ""
    ),
    Mutant("cycle: paths through two heavy values twice", sums, " && !t.isHeavy(second)) t.eachFrom" -> ") t.eachFrom"),
    Mutant("cycle: rows of light values change no view", sums, "s.heavies > 0) {" -> "s.heavies < 0) {"),
    Mutant(
      "cycle: a light value's row counts with light ones",
      sums,
      "if (s.isHeavy(s.first(other))) add" -> "if (true) add"
    ),
    Mutant("cycle: rows that move stay where they were", sums, "      ring.scale(opposite, -1L)\n" -> ""),
    Mutant(
      "cycle: rows that move join no view",
      sums,
      "    side.setHeavy(value, heavy)\n    side" -> "    side.setHeavy(value, heavy)\n    if (false) side"
    ),
    Mutant(
      "cycle: views go on when all is sorted anew",
      sums,
      "      paths.clear()\n      var value" -> "      var value"
    ),
    Mutant("cycle: the element of the other row is left out", sums, "    of.multiply(term, row)\n" -> ""),
    Mutant("cycle: the change of the row is left out", sums, "      ring.multiply(sum, delta, 0)\n" -> ""),
    Mutant(
      "cycle: rows of other roles lead on",
      sums,
      "byFirst.rows.foreach(value)(row => if (member.has(row)) f(row) else counters.steps += 1)" -> "byFirst.rows.foreach(value)(f)"
    ),
    Mutant(
      "cycle: rows of other roles lead here",
      sums,
      "bySecond.rows.foreach(value)(row => if (member.has(row)) f(row) else counters.steps += 1)" -> "bySecond.rows.foreach(value)(f)"
    ),
    Mutant("cycle: rows of other roles are found", sums, "if (member.has(row)) row else -1" -> "row"),
    Mutant(
      "cycle: only the changed role is sorted",
      sums,
      "alike <- sides if alike.byFirst eq side.byFirst" -> "alike <- Seq(side)"
    ),
    Mutant(
      "cycle: keys that a row lacks are its own",
      sums,
      "if (side.walks) eachPath" -> "if (false) eachPath"
    ),
    Mutant("cycle: the row of another key", sums, "case 0 => side.first(row)" -> "case 0 => side.second(row)"),
    Mutant(
      "cycle: rows of one relation for all keys",
      sums,
      "keys.vertices.isEmpty || keys.relation == side.relation" -> "true"
    ),
    Mutant("cycle: a path without its second row", sums, "      side.previous.multiply(term, second)\n" -> ""),
    Mutant(
      "cycle: one change for two keys",
      keyed,
      "PairElements.pack(first, second)" -> "PairElements.pack(first, 0)"
    ),
    Mutant("cycle: values stay heavy", sums, "if (length < fewRows) move" -> "if (length < 0) move"),
    Mutant("cycle: pairs without paths are kept", pairs, "      val _ = index.release(pair)\n" -> ""),
    Mutant("cycle: a pair is one key", pairs, "first.toLong << 32 | second & 0xffffffffL" -> "first.toLong + second"),
    Mutant(
      "cycle: deleted rows stay linked",
      changes,
      "if (isThere && !stays) { links.delete(c, row); links.complete() }" -> ""
    ),
    Mutant(
      "cycle: rows that remain change nothing",
      changes,
      "if (isThere || stays) cycle" -> "if (isThere != stays) cycle"
    ),
    Mutant("cycle: what remains is applied again", changes, "    remaining.foreach(_.clear())\n" -> ""),
    Mutant("cycle: the totals of the batch before", changes, "    totals.clear()\n" -> "")
  )
}
