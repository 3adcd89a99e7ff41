package io.joinless.spark.rules.scans

import io.joinless.spark.plans.failures.IsComputable
import io.joinless.spark.rules.blocks.Conditions
import io.joinless.spark.spec.BlockShape
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.PhysicalOperation
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LocalRelation, LogicalPlan, Project}
import org.apache.spark.sql.connector.read.streaming.SparkDataStream
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation

/** A child of the block's node: a plan that returns stored columns, and the relations that it
  * stands for.
  *
  * Without roles it is an empty placeholder: Spark counts input rows per source by the sources'
  * leaves.
  */
final case class Scan(plan: LogicalPlan, roles: Seq[Int])

/** The scans of a block: one per leaf, but one for all leaves that read the same data of this
  * batch.
  *
  * Leaves merge when their base relations are equal and they store the same columns at the same
  * positions of it; their filters become one BOOLEAN column per role, and rows of no role are
  * filtered out. Whether sources are equal can differ from batch to batch; this changes nothing, as
  * stored rows record their relations and not their source.
  */
object MergeScans {

  /** The scans in which those of one relation are merged where possible. Scans that were merged
    * before stay unchanged, and so do their placeholders: merging again changes nothing.
    */
  def apply(shape: BlockShape, scans: Seq[Scan]): Seq[Scan] = {
    val leaves = scans.collect { case Scan(plan, Seq(role)) =>
      LeafScan(role, plan, base(plan, notNull(shape, role)))
    }
    val groups = leaves.groupBy(_.key).values.toSeq
    val (placeholders, others) = scans.filter(_.roles.size != 1).partition(_.roles.isEmpty)
    (groups.map(scan) ++ others).sortBy(_.roles.head) ++ placeholders ++
      groups.flatMap(_.tail).sortBy(_.role).map(placeholder)
  }

  /** The scan of a single relation.
    *
    * @param base the relation that it reads, where that can be shared
    */
  final private case class LeafScan(role: Int, plan: LogicalPlan, base: Option[Base]) {

    /** Leaves of the same key merge. */
    def key: Any = base.fold[Any](role)(_.key)
  }

  /** What a leaf reads, apart from its role.
    *
    * @param columns over positions of the relation
    * @param conditions over positions of the relation, without those that the block's operator
    *   checks itself
    */
  final private case class Base(
      relation: LogicalPlan,
      columns: Seq[NamedExpression],
      conditions: Seq[Expression]
  ) {

    /** Equal for bases with equal data and the same columns; conditions may differ. */
    def key: Any =
      (
        data(relation),
        relation.output.map(a => (a.name, a.dataType)),
        columns.map(c => (c.name, valueOf(c).canonicalized))
      )
  }

  /** The stored columns in which the operator accepts no NULLs. */
  private def notNull(shape: BlockShape, role: Int): Set[Int] =
    shape.relations(role).keys.filterNot(key => shape.attributes(key.attribute).nullSafe).map(_.ordinal).toSet

  /** What a leaf reads, where it can be shared: projections and conditions over one streaming
    * relation, which return the same for a row whenever they are evaluated, and read that relation
    * only.
    *
    * @param notNull positions of columns in which the operator accepts no NULL
    */
  private def base(plan: LogicalPlan, notNull: Set[Int]): Option[Base] = plan match {
    case PhysicalOperation(fields, conditions, relation)
        if data(relation).isDefined && (fields ++ conditions).forall(e => e.deterministic && !Conditions.isLate(e)) =>
      val positions = AttributeMap(relation.output.zipWithIndex)
      def bound[E <: Expression](e: E): E =
        e.transform {
          case a: Attribute if positions.contains(a) => BoundReference(positions(a), a.dataType, nullable = true)
        }
          .asInstanceOf[E]
      val columns = fields.map(field => bound(Alias(valueOf(field), field.name)()))
      val keys = notNull.map(i => valueOf(columns(i)))
      val remaining = conditions.map(bound).filter {
        case IsNotNull(e) => !keys.exists(_.semanticEquals(e))
        case _ => true
      }
      Option.when((columns ++ remaining).forall(_.references.isEmpty))(Base(relation, columns, remaining))
    case _ => None
  }

  /** The data that a leaf reads in this batch; leaves with equal data read the same. */
  private def data(leaf: LogicalPlan): Option[Any] = leaf match {
    case v1: LogicalRelation if v1.isStreaming => Some(v1.relation)
    case v2: StreamingDataSourceV2ScanRelation => Some((v2.stream, v2.startOffset, v2.endOffset))
    case _ => None
  }

  /** The source that a leaf reads, by which Spark counts its input rows. */
  private def source(leaf: LogicalPlan): Option[SparkDataStream] = leaf match {
    case v1: LogicalRelation => v1.stream
    case v2: StreamingDataSourceV2ScanRelation => Some(v2.stream)
    case _ => None
  }

  private def valueOf(column: NamedExpression): Expression = column match {
    case Alias(value, _) => value
    case other => other
  }

  /** One scan for leaves with a common base: its columns, then per leaf whether the leaf has the
    * row. A condition that is NULL rejects the row. Rows that no leaf has are dropped, unless a
    * condition counts the rows on which it fails.
    */
  private def scan(leaves: Seq[LeafScan]): Scan = (leaves, leaves.head.base) match {
    case (Seq(alone), _) => Scan(alone.plan, Seq(alone.role))
    case (_, None) => throw new IllegalStateException("Leaves without a common base do not merge.")
    case (_, Some(base)) =>
      /** The expression over columns of the base relation, instead of positions. */
      def unbound(e: Expression): Expression = e.transform { case BoundReference(i, _, _) => base.relation.output(i) }
      val acceptedBy =
        leaves.flatMap(_.base).map(_.conditions.map(unbound).reduceOption(And).getOrElse(Literal.TrueLiteral))
      val hasRole = acceptedBy.map(c => if (c.nullable) Coalesce(Seq(c, Literal.FalseLiteral)) else c)
      val rows =
        if (acceptedBy.contains(Literal.TrueLiteral) || acceptedBy.exists(counts)) base.relation
        else Filter(acceptedBy.distinct.reduce[Expression](Or), base.relation)
      val columns = base.columns.map(c => Alias(unbound(valueOf(c)), c.name)())
      val roleColumns = hasRole.zip(leaves).map { case (accepted, leaf) => Alias(accepted, s"role_${leaf.role}")() }
      Scan(Project(columns ++ roleColumns, rows), leaves.map(_.role))
  }

  /** Whether it counts the rows on which it fails: such a condition is evaluated once. */
  private def counts(condition: Expression): Boolean = condition.exists(_.isInstanceOf[IsComputable])

  /** An empty scan of a leaf's source, in place of a leaf that was merged into another. */
  private def placeholder(leaf: LeafScan): Scan =
    Scan(LocalRelation(Nil, Nil, isStreaming = true, stream = leaf.base.flatMap(b => source(b.relation))), Nil)
}
