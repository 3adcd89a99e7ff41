package io.joinless.spark.rules.counts

import io.joinless.spark.plans.failures.CanThrow
import io.joinless.spark.rules.blocks.{AttributeClasses, JoinBlock, OuterScope, Term}
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.joinless.KeyBytes

/** Conditions over several relations that one relation can check by itself, since join keys have
  * the values of the others' columns:
  * {{{
  * e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src AND c.dst = a.src
  * WHERE a.src < b.src AND b.src < c.src          each triangle once
  *
  * a.src < b.src   is   a.src < a.dst,   a filter of a
  * b.src < c.src   is   b.src < b.dst,   a filter of b
  * }}}
  * So no result is looked at to check them, and a total can be kept without results.
  */
private[spark] object LocalConditions {

  /** The block with these conditions as filters of relations; None if it has none of them. */
  def apply(block: JoinBlock): Option[JoinBlock] = {
    val classes = AttributeClasses(block).attributes.map(_.members)

    /** What stands for an attribute in the rows of a leaf; None if nothing is known to be equal. */
    def in(leaf: Int)(a: Attribute): Option[Expression] =
      if (block.leaves(leaf).attributes.exists(_.exprId == a.exprId)) Some(a)
      else
        classes.find(_.exists(isColumn(_, a))).flatMap(_.find(_.leaf == leaf)).map(_.expression)
          .filter(_.dataType == a.dataType && isOneValue(a))

    def moved(condition: Expression): Option[(Int, Expression)] =
      if (CanThrow(condition) || !condition.deterministic) None
      else {
        val read = OuterScope.attributes(condition)
        block.leaves.indices.iterator.map(leaf => leaf -> read.map(a => a.exprId -> in(leaf)(a)).toMap).collectFirst {
          case (leaf, found) if found.values.forall(_.isDefined) =>
            leaf -> OuterScope.replace(condition)(a => found.get(a.exprId).flatten.getOrElse(a))
        }
      }

    val (local, others) = block.residuals.partitionMap(condition => moved(condition).toLeft(condition))
    Option.when(local.nonEmpty) {
      val filters = block.filters.zipWithIndex.map { case (own, leaf) =>
        own ++ local.collect { case (`leaf`, condition) => condition }
      }
      block.copy(filters = filters, residuals = others)
    }
  }

  private def isColumn(term: Term, a: Attribute): Boolean = term.expression match {
    case column: Attribute => column.exprId == a.exprId
    case _ => false
  }

  /** Whether equal values of the column are one value for every expression: not the two zeros of
    * floating point, nor strings that a collation makes equal.
    */
  private def isOneValue(column: Attribute): Boolean = KeyBytes.stored(column) == column
}
