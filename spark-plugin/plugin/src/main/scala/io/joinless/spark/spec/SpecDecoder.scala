package io.joinless.spark.spec

import scala.collection.immutable.BitSet

import io.joinless.engine.query.{GeneralizedNode, JoinTree, RelationNode}
import io.joinless.spark.spec.JsonFields._
import org.json4s.JsonAST._
import org.json4s.jackson.JsonMethods.{compact, render}

/** Reads one version of the durable format. The parts common to all versions are here, the parts
  * specific to a version are abstract: a new version is a new object at the end, and none of the
  * others changes.
  */
sealed abstract private[spec] class SpecDecoder(val version: Int) {

  /** The name of the node in the query. */
  protected def id(o: JObject): NodeId

  /** How the rows of an input are inserted and deleted. */
  protected def kind(input: JValue): InputKind

  /** The fields that must be present, besides those of every version. */
  protected def own: Set[String]

  /** The fields that may be missing. */
  protected def mayLack: Set[String]

  /** @throws IllegalArgumentException with the problem, in words */
  def decode(o: JObject): BlockSpec = {
    checkNames(o)
    BlockSpec(
      BlockShape(
        id(o),
        list(o, "inputs").map(input => InputSpec(columns(at(input, "columns")), kind(input))),
        attributes(columns(at(o, "attributes")), list(o, "nullSafe").map(boolean)),
        list(o, "relations").map { r =>
          val keys = list(r, "keys").map(pair).map { case (attribute, ordinal) => KeySpec(attribute, ordinal) }
          RelationSpec(text(r, "name"), int(r, "input"), keys, optional(r, "until").map(_ => lifetime(r)))
        },
        tree(at(o, "tree")),
        list(o, "residuals").map { r =>
          ResidualSpec(text(r, "sql"), list(r, "columns").map(column), optional(r, "closesCycle").exists(boolean))
        },
        list(o, "output").map(column),
        optional(o, "result").map(result),
        // releases that did not record it read static tables at arrival
        staticsAtArrival = optional(o, "statics").forall(atArrival),
        meaning = optional(o, "meaning").map(meaning),
        constants = optional(o, "constants").map(_ => texts(o, "constants")),
        origins = optional(o, "origins").map(_ => list(o, "origins").map(origin)),
        reduction = optional(o, "reduction").map { r =>
          ReductionSpec(
            list(r, "components").map(tree),
            tree(at(r, "top")),
            boolean(at(r, "once")),
            sums(r, "sums"),
            sums(r, "failures")
          )
        },
        order = order(o)
      ),
      list(o, "shares").map(number)
    )
  }

  private def lifetime(relation: JValue): LifetimeSpec =
    LifetimeSpec(
      list(relation, "until").map(SpecDecoder.time),
      optional(relation, "orUntil").fold(IndexedSeq.empty[IndexedSeq[TimeSpec]])(_ =>
        list(relation, "orUntil").map(kind => list(kind, "until").map(SpecDecoder.time))
      )
    )

  /** Refuses unknown fields: they would say something that this release cannot interpret. */
  private def checkNames(o: JObject): Unit = {
    val names = o.obj.map(_._1).toSet
    val known = SpecDecoder.Common ++ own ++ mayLack
    def refuse(names: Set[String], what: String) =
      names.toSeq.sorted.headOption.foreach(name => SpecBounds.demand(false, s"the field ${name.take(100)} is $what"))
    refuse(known -- mayLack -- names, "missing")
    refuse(names -- known, "not known")
  }

  private def attributes(columns: IndexedSeq[ColumnSpec], nullSafe: IndexedSeq[Boolean]): IndexedSeq[AttributeSpec] = {
    SpecBounds.demand(
      columns.size == nullSafe.size,
      s"${nullSafe.size} of ${columns.size} attributes say whether NULL is a value"
    )
    columns.zip(nullSafe).map { case (a, nullSafe) => AttributeSpec(a.name, a.dataType, nullSafe) }
  }

  private def atArrival(json: JValue): Boolean = json match {
    case JString(SpecEncoder.AtArrival) => true
    case JString(SpecEncoder.AsSpark) => false
    case other =>
      throw new IllegalArgumentException(s"${compact(render(other))} is no time at which static tables are read")
  }

  private def meaning(json: JValue): MeaningSpec = MeaningSpec(
    list(json, "rows").map(nullable(_)(rows)),
    texts(json, "conditions"),
    texts(json, "values"),
    json \ "zone" match {
      case JNothing => None
      case _ => Some(text(json, "zone"))
    },
    optional(json, "emitted").map(_ => texts(json, "emitted"))
  )

  private def result(json: JValue): ResultSpec = ResultSpec(
    columns(at(json, "columns")),
    list(json, "values").map(sqlText),
    list(json, "filters").map(sqlText),
    list(json, "residuals").map(sqlText),
    at(json, "confs") match {
      case JObject(confs) => confs.map {
          case (key, JString(value)) => key -> value
          case (key, _) => throw new IllegalArgumentException(s"the setting ${key.take(100)} is no text")
        }.toMap
      case _ => throw new IllegalArgumentException("the field confs is no object")
    }
  )

  private def sqlText(json: JValue): Option[String] = json match {
    case JString(sql) => Some(sql)
    case JNull => None
    case _ => throw new IllegalArgumentException("an expression is no text")
  }

  private def sums(json: JValue, field: String): IndexedSeq[SumSpec] =
    optional(json, field).fold(IndexedSeq.empty[SumSpec])(_ =>
      list(json, field).map {
        case JArray(factors) => SumSpec(factors.toIndexedSeq.map(column))
        case other => throw new IllegalArgumentException(s"${excerpt(other)} is no list of factors")
      }
    )

  private def tree(json: JValue): JoinTree = {
    val attributes = BitSet.fromSpecific(list(json, "attributes").map(attribute))
    val children = list(json, "children").map(tree)
    json \ "relation" match {
      case JNothing => GeneralizedNode(attributes, children)
      case r => RelationNode(number(r), attributes, children)
    }
  }
}

private[spec] object SpecDecoder {

  def time(time: JValue): TimeSpec = TimeSpec(int(time, "column"), long(time, "after"))

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
    override protected def mayLack: Set[String] = Set("statics", "constants", "meaning", "result")
    override protected def id(o: JObject): NodeId = NodeId(int(o, "block"))
    override protected def kind(input: JValue): InputKind =
      if (boolean(at(input, "changelog"))) InputKind.Changelog else InputKind.Appended
  }

  /** The second version: nodes have stages, inputs have kinds. */
  private object Version2 extends SpecDecoder(2) {
    override protected def own: Set[String] = Set("stage", "statics")
    override protected def mayLack: Set[String] =
      Set("constants", "meaning", "origins", "order", "reduction", "result")
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
