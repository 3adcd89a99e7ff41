package io.joinless.spark.spec

import org.json4s.JsonAST._

/** Limits on the size of what a checkpoint records. Its digest protects against accidents, not
  * against authors: the text is checked against these limits before memory, stack or time is spent
  * on it.
  *
  * The limits are far above the size of any query; a spec that exceeds them is not written either.
  */
private[spec] object SpecBounds {

  /** The number of characters of a recorded block. */
  val MaxLength: Int = 1 << 24

  /** The depth of nested objects and lists: types, and join trees, are read by recursion. */
  val MaxDepth = 500

  /** Sets of relations are bits of a long. */
  val MaxRelations = 63

  val MaxAttributes = 10000
  val MaxColumns = 100000
  val MaxCells: Int = 1 << 20
  val MaxName: Int = 1 << 20

  /** Why the text of a record cannot be read back. */
  def problem(json: String): Option[String] = refused(checkText(json))

  /** What `demand` says of a computation that it ends. */
  def refused(body: => Any): Option[String] =
    try { body; None }
    catch { case e: IllegalArgumentException => Some(e.getMessage) }

  /** @throws IllegalArgumentException where the text is too long or too deep */
  def checkText(json: String): Unit = {
    demand(json.length <= MaxLength, s"it has ${json.length} characters")
    var (depth, at) = (0, 0)
    while (at < json.length) {
      json.charAt(at) match {
        case '{' | '[' => depth += 1
        case '}' | ']' => depth -= 1
        case '"' =>
          at += 1
          while (at < json.length && json.charAt(at) != '"') at += (if (json.charAt(at) == '\\') 2 else 1)
        case _ =>
      }
      demand(depth <= MaxDepth, s"it is nested deeper than $MaxDepth")
      at += 1
    }
  }

  /** @throws IllegalArgumentException where a field occurs twice: readers could disagree which one
    *   counts
    */
  def checkFields(json: JValue): Unit = json match {
    case JObject(fields) =>
      val names = fields.map(_._1)
      names.diff(names.distinct).headOption.foreach(name => demand(false, s"the field ${name.take(100)} comes twice"))
      fields.foreach(field => checkFields(field._2))
    case JArray(items) => items.foreach(checkFields)
    case _ =>
  }

  def demand(holds: Boolean, otherwise: => String): Unit = if (!holds) throw new IllegalArgumentException(otherwise)
}
