package io.joinless.spark.errors

import java.util.Locale

import org.apache.spark.unsafe.types.UTF8String

/** What somebody may have meant by a name that does not exist: the known one with the fewest edits, where it is close enough to be a
  * slip. Capital letters count for nothing.
  */
object Suggestion {

  /** The nearest of the known names, if it is near. */
  def of(wanted: String, known: Iterable[String]): Option[String] =
    known.map(name => name -> edits(wanted, name))
      .filter { case (name, n) => n <= math.max(2, math.max(last(wanted).length, last(name).length) / 3) }
      .minByOption { case (name, n) => (n, name) }
      .map(_._1)

  /** ` Did you mean x?`, or nothing. */
  def sentence(wanted: String, known: Iterable[String]): String =
    of(wanted, known).fold("")(name => s" Did you mean $name?")

  /** Names of confs begin alike: what counts is how far they end apart. */
  private def last(name: String): String = name.split('.').lastOption.getOrElse("")

  private def edits(one: String, other: String): Int = folded(one).levenshteinDistance(folded(other))

  private def folded(name: String): UTF8String = UTF8String.fromString(name.toLowerCase(Locale.ROOT))
}
