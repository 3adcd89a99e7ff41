package io.joinless.spark.errors

import java.util.Locale

import org.apache.spark.unsafe.types.UTF8String

/** A guess at the intended name where a name does not exist: the known name with the fewest edits,
  * if it is close enough to be a typing error. Case is ignored.
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

  /** The last part of a name. Names of confs begin alike, so only the last parts are compared. */
  private def last(name: String): String = name.split('.').lastOption.getOrElse("")

  /** The number of letters to insert, delete or replace. */
  private def edits(one: String, other: String): Int = folded(one).levenshteinDistance(folded(other))

  private def folded(name: String): UTF8String = UTF8String.fromString(name.toLowerCase(Locale.ROOT))
}
