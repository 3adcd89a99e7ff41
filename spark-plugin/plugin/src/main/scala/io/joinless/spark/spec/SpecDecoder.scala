package io.joinless.spark.spec

import io.joinless.spark.spec.JsonFields._
import org.json4s.JsonAST._

/** Reads one version of the durable format. The parts common to all versions are here, the parts
  * specific to a version are abstract: a new version is a new object at the end, and none of the
  * others changes.
  */
sealed abstract private[spec] class SpecDecoder(val version: Int) {

  /** The name of the node in the query. */
  protected def id(o: JObject): NodeId

  /** How the rows of an input are inserted and deleted. */
  protected def kind(input: JValue): InputKind

  /** The fields besides those of every version and those of properties. */
  protected def own: Set[String]

  /** The block that a record of this version describes. Whether its parts fit each other has not
    * been checked (`SpecCheck`).
    *
    * @param o the record, without its digest
    * @throws IllegalArgumentException with the problem, in words
    */
  def decode(o: JObject): BlockSpec = {
    checkFieldNames(o)
    val shape = BlockShape(
      id(o),
      list(o, "inputs").map(input => InputSpec(columns(at(input, "columns")), kind(input))),
      attributes(columns(at(o, "attributes")), list(o, "nullSafe").map(boolean)),
      list(o, "relations").map { r =>
        val keys = list(r, "keys").map(pair).map { case (attribute, ordinal) => KeySpec(attribute, ordinal) }
        RelationSpec(text(r, "name"), int(r, "input"), keys, LifetimeSpec.read(r))
      },
      RecordedTree.read(at(o, "tree")),
      list(o, "residuals").map { r =>
        ResidualSpec(text(r, "sql"), list(r, "columns").map(column), optional(r, "closesCycle").exists(boolean))
      },
      list(o, "output").map(column)
    )
    BlockSpec(BlockProperties.all.foldLeft(shape)(decode(_, _, o)), list(o, "shares").map(number))
  }

  private def decode[A](shape: BlockShape, property: BlockProperty[A], o: JObject): BlockShape =
    shape.having(property, property.read(optional(o, property.field)))

  /** Refuses a record whose top-level fields are not those of this version: it lacks a required one,
    * or has an unknown one, which would say something that this release cannot interpret.
    *
    * @throws IllegalArgumentException with the first missing field by name, else the first unknown
    *   one
    */
  private def checkFieldNames(o: JObject): Unit = {
    val names = o.obj.map(_._1).toSet
    val (required, mayLack) = BlockProperties.all.filter(_.since <= version).partition(_.isRequired(version))
    val present = SpecDecoder.Common ++ own ++ required.map(_.field)
    def refuse(names: Set[String], what: String) =
      names.toSeq.sorted.headOption.foreach(name => SpecBounds.demand(false, s"the field ${name.take(100)} is $what"))
    refuse(present -- names, "missing")
    refuse(names -- present -- mayLack.map(_.field), "not known")
  }

  private def attributes(columns: IndexedSeq[ColumnSpec], nullSafe: IndexedSeq[Boolean]): IndexedSeq[AttributeSpec] = {
    SpecBounds.demand(
      columns.size == nullSafe.size,
      s"${nullSafe.size} of ${columns.size} attributes say whether NULL is a value"
    )
    columns.zip(nullSafe).map { case (a, nullSafe) => AttributeSpec(a.name, a.dataType, nullSafe) }
  }
}

private[spec] object SpecDecoder {

  /** The fields of every version. */
  private val Common = Set(
    "specVersion",
    "engineVersion",
    "block",
    "inputs",
    "attributes",
    "nullSafe",
    "relations",
    "tree",
    "shares",
    "residuals",
    "output"
  )

  /** The first version: joins were the only stateful nodes, and an input was a changelog or not.
    * Earlier releases recorded less.
    */
  private object Version1 extends SpecDecoder(1) {
    override protected def own: Set[String] = Set.empty
    override protected def id(o: JObject): NodeId = NodeId(int(o, "block"))
    override protected def kind(input: JValue): InputKind =
      if (boolean(at(input, "changelog"))) InputKind.Changelog else InputKind.Appended
  }

  /** The second version: nodes have stages, inputs have kinds. */
  private object Version2 extends SpecDecoder(2) {
    override protected def own: Set[String] = Set("stage")
    override protected def id(o: JObject): NodeId = NodeId(int(o, "block"), int(o, "stage"))
    override protected def kind(input: JValue): InputKind = {
      val name = text(input, "kind")
      InputKind.all.find(_.name == name).getOrElse {
        throw new IllegalArgumentException(s"there are no inputs of the kind ${name.take(100)}")
      }
    }
  }

  /** All versions that this release reads; the last one is what it writes. */
  val all: Seq[SpecDecoder] = Seq(Version1, Version2)

  def of(version: Int): Option[SpecDecoder] = all.find(_.version == version)
}
