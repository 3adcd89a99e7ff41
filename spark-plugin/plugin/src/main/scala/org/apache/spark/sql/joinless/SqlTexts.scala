package org.apache.spark.sql.joinless

/** Texts as SQL spells them. */
object SqlTexts {

  def literal(text: String): String = "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

  /** The properties of a table, in parentheses. */
  def properties(named: Map[String, String]): String =
    named.toSeq.sorted.map { case (name, value) => s"${literal(name)} = ${literal(value)}" }.mkString("(", ", ", ")")
}
