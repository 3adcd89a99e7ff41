package io.joinless.spark.spec

import scala.collection.immutable.BitSet

import io.joinless.engine.query.{BagNode, GeneralizedNode, JoinTree, RelationNode}
import io.joinless.spark.spec.JsonFields._
import io.joinless.spark.spec.JsonValues.{array, numbers}
import org.json4s.JsonAST._

/** Join trees in a record: their JSON, and whether they are join trees of their relations.
  *
  * In a join tree, each relation stands for exactly one node, whose attributes are the relation's;
  * a generalized node's attributes are contained in each of its children; the nodes with a given
  * attribute are connected, that is, all but one of them share it with their parent. A bag is the
  * whole tree.
  */
private[spec] object RecordedTree {

  def write(tree: JoinTree): JObject = {
    val relation = tree match {
      case RelationNode(r, _, _) => List("relation" -> JInt(r))
      case _: GeneralizedNode => Nil
      case _: BagNode => List("bag" -> JBool(true))
    }
    JObject(
      relation ++ List("attributes" -> numbers(tree.attributes.toSeq: _*), "children" -> array(tree.children)(write))
    )
  }

  def read(json: JValue): JoinTree = {
    val attributes = BitSet.fromSpecific(list(json, "attributes").map(attribute))
    val children = list(json, "children").map(read(_))
    (json \ "relation", json \ "bag") match {
      case (JNothing, JNothing) => GeneralizedNode(attributes, children)
      case (JNothing, _) => BagNode(attributes, children.map(relationOfBag))
      case (r, _) => RelationNode(number(r), attributes, children)
    }
  }

  private def relationOfBag(tree: JoinTree): RelationNode = tree match {
    case relation: RelationNode if relation.children.isEmpty => relation
    case other => throw new IllegalArgumentException(s"a bag has the node ${other.attributes}, which is no relation")
  }

  /** Why a tree is too large, or not of the form of a tree, as a clause; None if it is neither.
    * Generalized nodes stand above the nodes they group, and below no relation.
    */
  def malformed(tree: JoinTree): Option[String] = {
    val nodes = tree.preorder
    if (nodes.size > 4 * SpecBounds.MaxRelations) Some(s"its tree has ${nodes.size} nodes")
    else
      nodes.collectFirst {
        case bag: BagNode if bag ne tree => "a bag is below another node"
        case bag: BagNode if bag.attributes.size > BagNode.MaxAttributes =>
          s"its bag has ${bag.attributes.size} attributes"
        case g: GeneralizedNode if g.children.isEmpty => "a generalized node has no children"
        case node if !node.isInstanceOf[GeneralizedNode] && node.children.exists(_.isInstanceOf[GeneralizedNode]) =>
          "a generalized node is below a relation"
      }
  }

  /** Why a tree is no join tree of exactly these relations, as a clause; None if it is one.
    *
    * @param attributesOf by the number of a relation
    * @param name of an attribute
    */
  def problem(
      tree: JoinTree,
      relations: IndexedSeq[Int],
      attributesOf: IndexedSeq[BitSet],
      name: Int => String
  ): Option[String] = {
    val nodes = tree.preorder
    def stray = nodes.collectFirst {
      case RelationNode(r, _, _) if !attributesOf.indices.contains(r) => s"relation $r is not there"
      case RelationNode(r, attributes, _) if attributes != attributesOf(r) =>
        s"the node of relation $r has other attributes"
      case g: GeneralizedNode if !g.children.forall(c => g.attributes.subsetOf(c.attributes)) =>
        "a generalized node has attributes that a child lacks"
    }
    lazy val pairs = edges(tree)
    def torn = nodes.flatMap(_.attributes).distinct.find { x =>
      nodes.count(_.attributes(x)) - pairs.count { case (p, c) => p.attributes(x) && c.attributes(x) } > 1
    }
    malformed(tree)
      .orElse(stray)
      .orElse(Option.when(tree.relations != relations.sorted)("a relation is missing or stands twice"))
      .orElse(torn.map(x => s"the nodes with ${name(x)} are not connected"))
  }

  private def edges(tree: JoinTree): IndexedSeq[(JoinTree, JoinTree)] =
    tree.preorder.flatMap(parent => parent.children.map(child => (parent, child)))
}
