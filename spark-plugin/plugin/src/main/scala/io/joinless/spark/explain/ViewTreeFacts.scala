package io.joinless.spark.explain

import scala.collection.immutable.BitSet

import io.joinless.engine.query.{
  BagNode,
  Dependencies,
  GeneralizedNode,
  Hypergraph,
  JoinTree,
  QueryClass,
  References,
  RelationNode
}
import io.joinless.spark.plans.reasons.TimeText
import io.joinless.spark.spec.{BlockShape, ColumnRef, TimeSpec}

/** One block's view tree in words of columns: the facts that text, graph, JSON and the plan show.
  *
  * Derived from the shape alone (algorithms A5, A11).
  */
final case class ViewTreeFacts(shape: BlockShape) {
  import ViewTreeFacts.Constant

  val relations: Seq[String] = shape.relations.map(_.name)

  val root: NodeFacts = node(shape.tree, None)

  def height: Int = shape.tree.height

  /** How the relations are joined. */
  def form: String =
    if (shape.isBag) s"joined by intersection on ${root.name}" else s"root ${root.name}, height $height"

  private lazy val graph = Hypergraph(shape.relations.map(r => BitSet.fromSpecific(r.keys.map(_.attribute))))

  lazy val queryClass: QueryClass = QueryClass.of(graph)

  /** Per relation, the attributes by which its rows are unique: none, or one set. */
  private lazy val keys: IndexedSeq[Seq[BitSet]] = graph.edges.indices.map(shape.uniqueBy.lift(_).flatten.toSeq)

  /** The class of the query with its keys, where it is another one, and the keys. */
  lazy val classByKeys: Option[(QueryClass, Seq[String])] = {
    val byKeys = QueryClass.of(Dependencies.ofKeys(graph, keys).reduct(graph))
    val named = for ((key, r) <- keys.zipWithIndex; attributes <- key if attributes.nonEmpty)
      yield s"${relations(r)} (${attributes.toSeq.map(x => name(keyOf(r, x))).mkString(", ")})"
    Option.when(byKeys != queryClass)(byKeys -> named)
  }

  /** The class, with the one that follows from keys. */
  def classes: String = queryClass.name + classByKeys.fold("") { case (byKeys, named) =>
    s"; ${byKeys.name} by the keys ${named.mkString(", ")}"
  }

  /** The cost that follows from tree and inputs. Without equi-join conditions, each change makes
    * results with all rows of the other relations.
    */
  def guarantee: String = {
    val results = if (crossProduct.isEmpty) "" else s" for the views; for the results, $meetsAll"
    val delay = if (shape.isBag) "" else "constant delay between results; "
    s"$update$results; ${delay}state linear in the stored rows"
  }

  /** The cost of the views. */
  def update: String = references match {
    case _ if shape.isBag =>
      "one step per row of the shortest list that agrees with a changed row, relation after relation"
    case _ if height <= 1 => Constant
    case Some(Seq()) => s"$Constant, by its keys"
    case _ if changelogs.isEmpty => "O(1) amortised per inserted row"
    case Some(held) =>
      s"O(1) amortised per change where all rows to which rows refer are there at the end of each batch (${held.mkString(", ")}), O(lambda) otherwise"
    case None if height == 2 =>
      "O(1) amortised per change where rows are deleted in the order in which they were inserted, O(lambda) otherwise"
    case None => "O(1) amortised per change where rows are only inserted or only deleted, O(lambda) otherwise"
  }

  /** The references on which a constant cost relies, if keys bound it. */
  private def references: Option[Seq[String]] = References.of(shape.tree, keys)
    .map(_.map { case (from, to) => s"rows of ${relations(from)} refer to ${relations(to)}" })

  /** The cost of a cross product. */
  def meetsAll: String = apart.map(_.map(relations).mkString(", ")) match {
    case Seq(one, other) => s"a change of $one meets every row of $other, and one of $other every row of $one"
    case several => s"a change of one of ${several.mkString("; ")} meets all combinations of rows of the others"
  }

  /** The sets of relations between which nothing but a condition on each result decides, if there are
    * several: no equi-join condition links them, or none links the counts of their results.
    */
  def apart: Seq[Seq[Int]] = shape.reduction.fold(unlinked) { reduction =>
    reduction.top match {
      case GeneralizedNode(attributes, children) if attributes.isEmpty && children.size > 1 =>
        children.map(_.relations.flatMap(reduction.components(_).relations))
      case _ => Nil
    }
  }

  /** The relations whose rows are inserted and deleted. */
  def changelogs: Seq[String] = shape.relations.filter(r => shape.inputs(r.input).kind.leaves).map(_.name)

  /** For each relation with eviction, the watermark until which its rows are needed, as a text over
    * its columns. Where rows are of several kinds (those of a union), the text has a time for each
    * kind, joined by `or`: a row is of one of them.
    */
  def neededUntil: Seq[(String, String)] = for {
    (relation, r) <- shape.relations.zipWithIndex
    lifetime <- relation.lifetime
  } yield {
    val kinds = lifetime.kinds.map { kind =>
      val times = kind.map { time =>
        val column = shape.inputs(relation.input).columns(time.ordinal)
        val name = s"${relation.name}.${column.name}"
        val from = if (TimeSpec.isWindow(column.dataType)) s"the end of $name" else name
        from + TimeText.beyond(time.after)
      }
      if (times.size == 1) times.head else times.mkString("the latest of ", ", ", "")
    }
    relations(r) -> kinds.distinct.mkString(" or ")
  }

  /** The relations whose rows are never evicted, each with the reason, if some relation has an
    * event time.
    */
  def keptForEver: Seq[(String, String)] = for {
    (by, r) <- shape.unboundedBy.zipWithIndex
    other <- by
  } yield relations(r) -> s"no condition that Joinless knows how to read bounds the event time of ${relations(other)} by a time of ${relations(r)}"

  /** The sets of relations that no equi-join condition links, if there are several. */
  def crossProduct: Seq[Seq[String]] = unlinked.map(_.map(relations))

  private def unlinked: Seq[Seq[Int]] = shape.tree match {
    case GeneralizedNode(attributes, children) if attributes.isEmpty && children.size > 1 => children.map(_.relations)
    case BagNode(_, children) =>
      val components = Hypergraph(children.map(_.attributes)).components.map(_.toSeq.map(children(_).relation))
      if (components.size > 1) components else Nil
    case _ => Nil
  }

  def conditions: Seq[String] = shape.residuals.map(_.sql)

  /** The equi-join conditions that are evaluated as residual conditions, because with them the
    * graph is cyclic.
    */
  def cuts: Seq[String] = shape.residuals.filter(_.closesCycle).map(_.sql.stripPrefix("(").stripSuffix(")"))

  def output: Seq[String] = shape.output.map(c => s"${relations(c.relation)}.${name(c)}")

  /** A node with all below it; `parent` is None at the root. */
  private def node(tree: JoinTree, parent: Option[JoinTree]): NodeFacts = {
    val key = parent.map(p => tree.attributes & p.attributes)
    val children = tree.children.map(node(_, Some(tree)))
    tree match {
      case RelationNode(r, _, _) =>
        val columns = shape.inputs(shape.relations(r).input).columns.map(_.name)
        val byKey = key.map(_.toSeq.map(x => name(keyOf(r, x))))
        NodeFacts(
          relations(r),
          Some(r),
          columns,
          byKey,
          children,
          Option.when(shape.isBag)(indexes(byKey.toSeq.flatten))
        )
      case _ =>
        val meet = tree.attributes.toSeq.map(shape.attributes(_).name)
        NodeFacts(
          meet.mkString("[", ", ", "]"),
          None,
          meet,
          key.map(_.toSeq.map(shape.attributes(_).name)),
          children,
          Option.when(shape.isBag)(Nil)
        )
    }
  }

  /** The columns of each index of a relation of a bag: each key by itself, and all of them. */
  private def indexes(keys: Seq[String]): Seq[Seq[String]] = (keys.map(Seq(_)) :+ keys).filter(_.nonEmpty).distinct

  /** The column of a relation that has an attribute. */
  private def keyOf(relation: Int, attribute: Int): ColumnRef =
    ColumnRef(relation, shape.relations(relation).keys.find(_.attribute == attribute).get.ordinal)

  private def name(c: ColumnRef): String = shape.inputs(shape.relations(c.relation).input).columns(c.ordinal).name
}

object ViewTreeFacts {
  private[explain] val PerChange = "O(1) per change"
  private[explain] val Constant = s"$PerChange, whatever the changes"
}

/** A node of the join tree and the views it keeps.
  *
  * @param columns of its rows: stored columns, or the attributes by which its children join
  * @param key the columns that link it with its parent; none at the root
  * @param indexes the columns of each of its indexes, in a bag; None if it has views
  */
final case class NodeFacts(
    name: String,
    relation: Option[Int],
    columns: Seq[String],
    key: Option[Seq[String]],
    children: Seq[NodeFacts],
    indexes: Option[Seq[Seq[String]]] = None
) {

  /** What is stored of its rows besides them. */
  def views: Seq[ViewFacts] = indexes.fold(semiJoins)(_.map(by =>
    ViewFacts("index", "I", name, by, s"rows of $name by ${by.mkString(" and ")}")
  ))

  private def semiJoins: Seq[ViewFacts] =
    ViewFacts("semi-join view", "V_s", name, columns, semiJoin) +:
      key.map(ViewFacts("projection view", "V_p", name, _, s"keys of $name that its parent can join")).toSeq

  /** What the semi-join view holds, as text. */
  private def semiJoin: String = {
    val rows = relation.fold("keys")(_ => "rows")
    if (children.isEmpty) s"all $rows" else s"$rows with a match in ${children.map(_.name).mkString(" and in ")}"
  }
}

/** A view of a node.
  *
  * @param holds its content, as text
  */
final case class ViewFacts(kind: String, symbol: String, node: String, columns: Seq[String], holds: String) {

  override def toString: String = s"$kind $symbol($node) [${columns.mkString(", ")}]: $holds"
}
