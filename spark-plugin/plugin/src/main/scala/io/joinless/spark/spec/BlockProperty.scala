package io.joinless.spark.spec

import io.joinless.spark.errors.Mismatch
import org.json4s.JsonAST.JValue

/** Something that a join block may have besides its core ([[BlockCore]]): its value, how it is
  * recorded, when a record contradicts itself, and what is said at a restart where it differs.
  *
  * A property is an object in a file of its own, with one line in [[BlockProperties]]: what writes,
  * reads, checks and compares blocks goes through that list. Each method but `write` and `read` has
  * a default for a property that is neither checked nor compared.
  *
  * @param field its name in the record. Never change it: checkpoints have it
  * @param default the value of a block that was not given one
  */
abstract class BlockProperty[A](val field: String, val default: A) {

  /** The content of the field; None where the record has no such field. An earlier release refuses a
    * field that it does not know. So the default is not written: a block that has it is one that
    * earlier releases had, too.
    */
  def write(value: A): Option[JValue]

  /** The value in a text that has this field, or does not have it: what the releases that wrote no
    * such field did.
    *
    * @throws IllegalArgumentException with the problem, in words
    */
  def read(json: Option[JValue]): A

  /** The first version of the format that may have the field. */
  def since: Int = 2

  /** Whether all texts of a version have the field. */
  def isRequired(version: Int): Boolean = false

  /** How many columns and expressions it has, and their names: both are bounded. */
  def columns(value: A): Int = 0
  def names(value: A): Seq[String] = Nil

  /** Why a record with this value contradicts itself, in a sentence. The core of the block has been
    * checked before.
    */
  def problem(value: A, block: BlockCore): Option[(Mismatch, String)] = None

  /** When it is compared. */
  def compared: Compared = Compared.AfterOutput

  /** Why a planned block cannot continue with the state of a recorded one, in a sentence.
    *
    * @param was the value of the recorded block
    * @param is that of the planned block
    */
  def difference(was: A, is: A, recorded: BlockCore, planned: BlockCore): Option[(Mismatch, String)] = None

  /** Why the recorded block does not store the complete result of a planned block that could
    * continue with its state, in a sentence.
    */
  def otherRows(was: A, is: A, planned: BlockCore): Option[(Mismatch, String)] = None

  /** Whether a block that continues with a recorded one has the recorded value, not the planned
    * one. */
  def goesOn: Boolean = false
}

object BlockProperty {

  /** A problem of a record whose parts do not fit each other. */
  def contradiction(what: String): (Mismatch, String) =
    Mismatch.Unreadable -> s"Its recorded join block contradicts itself: $what."

  /** A problem of a record whose trees do not fit the relations. */
  def wrongTree(what: String): (Mismatch, String) =
    Mismatch.Tree -> s"Its recorded join tree does not fit its relations: $what."
}

/** When a property is compared with that of a recorded block. Several parts of a block may differ,
  * as one follows from the other; the first difference is the one that is named.
  */
sealed trait Compared

object Compared {

  /** After the number of relations, before their columns. */
  case object AfterRelations extends Compared

  /** After the equi-join conditions, before the columns of results. */
  case object AfterConditions extends Compared

  /** After the columns of results. */
  case object AfterOutput extends Compared

  /** After all that decides whether a block stores the same; the property does not. */
  case object AfterState extends Compared
}

/** The values of a block's properties.
  *
  * @param values those that are not the default, by field
  */
final case class PropertyValues private (values: Map[String, Any]) {

  def apply[A](property: BlockProperty[A]): A =
    values.get(property.field).fold(property.default)(_.asInstanceOf[A]) // only `updated` puts it there

  def updated[A](property: BlockProperty[A], value: A): PropertyValues = PropertyValues(
    if (value == property.default) values - property.field else values.updated(property.field, value)
  )
}

object PropertyValues {

  /** The default of each. */
  val Defaults: PropertyValues = PropertyValues(Map.empty[String, Any])
}
