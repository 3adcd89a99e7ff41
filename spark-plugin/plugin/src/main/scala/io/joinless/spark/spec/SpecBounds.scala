package io.joinless.spark.spec

import io.joinless.engine.query.{GeneralizedNode, JoinTree}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
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

  /** Which part of a block is too large, or of a form that no query has; positions need not exist
    * yet.
    */
  def problem(spec: BlockSpec): Option[String] = {
    val names =
      spec.relations.map(_.name) ++ spec.attributes.map(_.name) ++ spec.inputs.flatMap(_.columns.map(_.name)) ++
        spec.residuals.map(_.sql) ++ spec.shape.result.toSeq.flatMap(_.columns.map(_.name))
    def tooMany(what: String, found: Int, most: Int) = Option.when(found > most)(s"it has $found $what")
    Option.when(spec.id.block < 0 || spec.id.stage < 0)(s"it is stage ${spec.id.stage} of block ${spec.id.block}")
      .orElse(tooMany("relations", spec.relations.size, MaxRelations))
      .orElse(tooMany("inputs", spec.inputs.size, MaxRelations))
      .orElse(tooMany("attributes", spec.attributes.size, MaxAttributes))
      .orElse(tooMany("columns", columns(spec), MaxColumns))
      .orElse(names.find(_.length > MaxName).map(name => s"a name or condition has ${name.length} characters"))
      .orElse(Option.when(!cellsAreFew(spec.shares))(
        s"the shares ${spec.shares.take(100).mkString(", ")} make too many cells"
      ))
  }

  private def columns(spec: BlockSpec): Int =
    spec.inputs.map(_.columns.size).sum + spec.output.size + spec.residuals.map(_.columns.size).sum +
      spec.shape.result.fold(0)(r => r.columns.size + r.filters.size) + spec.relations.map(r =>
        r.keys.size + r.lifetime.fold(0)(l => l.times.size + l.others.size)
      ).sum

  private def cellsAreFew(shares: Seq[Int]): Boolean =
    shares.foldLeft(1L)((cells, share) => if (cells > MaxCells) cells else cells * math.max(1, share)) <= MaxCells

  /** Which part of a tree is too large, or violates its form: generalized nodes stand above the
    * nodes they group, and below no relation.
    */
  def shape(tree: JoinTree): Option[String] = {
    val nodes = tree.preorder
    if (nodes.size > 4 * MaxRelations) Some(s"its tree has ${nodes.size} nodes")
    else
      nodes.collectFirst {
        case g: GeneralizedNode if g.children.isEmpty => "a generalized node has no children"
        case node if !node.isInstanceOf[GeneralizedNode] && node.children.exists(_.isInstanceOf[GeneralizedNode]) =>
          "a generalized node is below a relation"
      }
  }

  def demand(holds: Boolean, otherwise: => String): Unit = if (!holds) throw new IllegalArgumentException(otherwise)

  /** Keys of one attribute are read as words of one form. Positions must exist. */
  def keysOfDifferentForm(spec: BlockSpec): Option[String] = {
    val forms = for {
      relation <- spec.relations
      key <- relation.keys
    } yield {
      val column = spec.inputs(relation.input).columns(key.ordinal)
      key.attribute -> UnsafeRow.isFixedLength(column.dataType)
    }
    forms.groupMap(_._1)(_._2).collectFirst {
      case (x, kinds) if kinds.distinct.size > 1 => s"the keys of ${spec.attributes(x).name} are of different kinds"
    }
  }
}
