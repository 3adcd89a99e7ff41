package io.joinless.spark.errors

import java.util.Locale

/** What somebody may have meant by a name that does not exist. */
object Suggestion {

  /** The nearest of the known names, if it is near: at most a third of the letters differ. */
  def of(wanted: String, known: Iterable[String]): Option[String] = {
    val asked = wanted.toLowerCase(Locale.ROOT)
    known.map(name => name -> distance(asked, name.toLowerCase(Locale.ROOT)))
      .filter { case (name, edits) => edits <= math.max(1, math.max(asked.length, name.length) / 3) }
      .minByOption { case (name, edits) => (edits, name) }
      .map(_._1)
  }

  /** ` Did you mean x?`, or nothing. */
  def sentence(wanted: String, known: Iterable[String]): String =
    of(wanted, known).fold("")(name => s" Did you mean $name?")

  /** Insertions, deletions and replacements of a letter, and swaps of two neighbours. */
  private def distance(a: String, b: String): Int = {
    val rows = Array.tabulate(a.length + 1, b.length + 1)((i, j) => if (i == 0) j else if (j == 0) i else 0)
    for (i <- 1 to a.length; j <- 1 to b.length) {
      val replaced = rows(i - 1)(j - 1) + (if (a(i - 1) == b(j - 1)) 0 else 1)
      val moved = math.min(rows(i - 1)(j), rows(i)(j - 1)) + 1
      val swapped =
        if (i > 1 && j > 1 && a(i - 1) == b(j - 2) && a(i - 2) == b(j - 1)) rows(i - 2)(j - 2) + 1 else Int.MaxValue
      rows(i)(j) = math.min(math.min(replaced, moved), swapped)
    }
    rows(a.length)(b.length)
  }
}
