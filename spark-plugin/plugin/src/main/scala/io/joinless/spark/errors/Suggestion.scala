package io.joinless.spark.errors

import java.util.Locale

import org.apache.spark.unsafe.types.UTF8String

/** What somebody may have meant: the known name with the fewest edits, where it is close enough to be a slip. */
private[errors] object Suggestion {

  /** A question behind a blank, or nothing where no name is close. Capital letters count for nothing. */
  def apply(name: String, known: Seq[String]): String =
    known.map(other => other -> edits(name, other)).minByOption(_._2)
      .collect { case (other, n) if n <= math.max(2, last(name).length / 3) => s" Did you mean $other?" }
      .getOrElse("")

  /** Names of confs begin alike: what counts is how far they end apart. */
  private def last(name: String): String = name.split('.').last

  private def edits(one: String, other: String): Int =
    folded(one).levenshteinDistance(folded(other))

  private def folded(name: String): UTF8String = UTF8String.fromString(name.toLowerCase(Locale.ROOT))
}
