package io.joinless.spark.rules.counts

import io.joinless.spark.plans.failures.{Attempt, Failure}
import io.joinless.spark.rules.blocks.{JoinBlock, Leaf, Names, OuterScope, SummedPart, SummedResults, Term}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.Project

/** Arguments of aggregate functions that are added up inside a join, as [[Polynomial]]s over its
  * relations (algorithms A51).
  *
  * A factor is a stored column of its relation: a computed factor is computed for all stored rows.
  * Where it fails on such a row it is NULL, and a second product marks the results of which the
  * argument fails: there must be none, else the query fails.
  */
private[spark] object SummedArguments {

  /** The block with the arguments that can be added up, and with the keys that can be computed
    * where rows are stored; None where there is neither.
    */
  def apply(block: JoinBlock, demand: Demand): Option[JoinBlock] = {
    val meaning = block.output.map { case (a, value) => a.exprId -> value }.toMap
    val leafOf = block.leaves.zipWithIndex.flatMap { case (leaf, i) => leaf.attributes.map(_.exprId -> i) }.toMap
    val factors = new Factors(leafOf)

    /** An expression over the block's output as one over its leaves. */
    def overLeaves(e: Expression) = OuterScope.replace(e)(a => meaning.getOrElse(a.exprId, a))

    /** The columns that those expressions read that are not computed below. */
    def reads(all: Seq[Expression], computed: Seq[Option[Any]]) =
      AttributeSet(all.zip(computed).collect { case (e, None) => e }.flatMap(_.references))

    /** The attributes of leaves that are emitted if these columns of the output are. */
    def projectedBy(read: AttributeSet) =
      AttributeSet(block.output.collect { case (a, value) if read.contains(a) => value }.flatMap(OuterScope.attributes))

    val sums = demand.arguments.map(argument => factors(overLeaves(argument)))
    val keys = demand.keys.map(key => factors.ofOneLeaf(overLeaves(key)))
    val read = demand.kept ++ reads(demand.arguments, sums) ++ reads(demand.keys, keys)
    // values that follow from emitted columns need not be emitted again, nor added up
    val projected = projectedBy(read)

    /** Whether an expression follows from emitted columns. */
    def isProjected(e: Expression) = AttributeSet(OuterScope.attributes(e)).subsetOf(projected)
    val computed = keys.map(_.filterNot(key => isProjected(key.expression)))
    val summed = sums.map(_.filterNot(_.factors.forall(factor => isProjected(factor.expression))))
    Option.when(summed.exists(_.isDefined) || computed.exists(_.isDefined)) {
      val emitted = demand.kept ++ reads(demand.arguments, summed) ++ reads(demand.keys, computed)
      val columns = new Columns(block.leaves)
      val attributes = summed.map(_.map(_.parts.map { case (term, numbers, sums) =>
        SummedPart(columns(term.factors), numbers, sums)
      }))
      val failures = summed.flatten.flatMap(_.failure).map(failure => columns(failure.factors))
      val keyColumns = computed.map(_.map { key =>
        val column = columns(Seq(key)).head
        column.newInstance() -> column
      })
      val hidden = block.output.map(_._1).filterNot(emitted.contains).map(_.exprId).toSet
      block.copy(
        leaves = columns.leaves,
        output = block.output ++ keyColumns.flatten,
        summed = SummedResults(attributes, failures, keyColumns.map(_.map(_._1)), hidden)
      )
    }
  }

  /** The leaves, with a further column for each factor that is not a column yet. */
  final private class Columns(before: IndexedSeq[Leaf]) {
    private[this] val computed = Array.fill(before.size)(IndexedSeq.empty[(Alias, Attribute)])

    def apply(factors: Seq[Term]): IndexedSeq[Attribute] =
      factors.sortBy(_.leaf).map(factor => column(factor.leaf, factor.expression)).toIndexedSeq

    /** The column of a leaf with a factor's values: its own, or a further one. */
    private def column(leaf: Int, factor: Expression): Attribute = factor match {
      case a: Attribute => a
      case value =>
        val own = before(leaf).own(value)
        computed(leaf).collectFirst { case (Alias(same, _), a) if same.semanticEquals(own) => a }.getOrElse {
          val name = value match {
            case Attempt(argument) => argument
            case Failure(argument) => argument
            case If(condition, Literal.TrueLiteral, Literal(null, _)) => condition
            case other => other
          }
          val alias = Alias(own, Names.of(name))()
          computed(leaf) :+= (alias -> alias.toAttribute.newInstance())
          computed(leaf).last._2
        }
    }

    /** The leaves with all further columns that were requested so far. */
    def leaves: IndexedSeq[Leaf] = before.zipWithIndex.map { case (leaf, i) =>
      val (aliases, attributes) = computed(i).unzip
      if (aliases.isEmpty) leaf
      else leaf.copy(
        plan = Project(leaf.plan.output ++ aliases, leaf.plan),
        columns = leaf.columns ++ aliases.map(_.toAttribute),
        attributes = leaf.attributes ++ attributes
      )
    }
  }
}
