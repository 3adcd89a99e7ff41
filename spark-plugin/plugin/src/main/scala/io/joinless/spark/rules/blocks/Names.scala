package io.joinless.spark.rules.blocks

import org.apache.spark.sql.catalyst.analysis.EliminateSubqueryAliases
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical._

/** Names that users read: in explain, reasons and the recorded spec. */
private[spark] object Names {

  /** The same names, with a number where one occurs again. */
  def distinct(names: IndexedSeq[String]): IndexedSeq[String] =
    names.foldLeft(IndexedSeq.empty[String]) { (taken, name) =>
      taken :+ Iterator.single(name).concat(Iterator.from(2).map(n => s"${name}_$n")).filterNot(taken.contains).next()
    }

  /** An expression over one leaf, with its column names. */
  def of(expression: Expression): String =
    expression.transform { case a: Attribute => a.withQualifier(Nil) }.sql

  /** An expression over the leaves of a block, each column with the name of its relation. */
  def of(expression: Expression, leaves: IndexedSeq[Leaf]): String = {
    val owner = leaves.flatMap(leaf => leaf.attributes.map(_.exprId -> leaf.name)).toMap
    expression.transform { case a: Attribute => a.withQualifier(owner.get(a.exprId).toSeq) }.sql
  }

  /** A table by its name in the query, or by its columns where it has no name. */
  def ofTable(plan: LogicalPlan): String = RelationNames.of(plan).getOrElse(called(plan))

  /** An operator by the name that users know. */
  def called(plan: LogicalPlan): String = EliminateSubqueryAliases(plan) match {
    case Project(_, child) => called(child)
    case _: Distinct => "DISTINCT"
    case _: Deduplicate => "dropDuplicates of some columns"
    case _: Expand => "ROLLUP, CUBE, GROUPING SETS or a window that slides"
    case generate: Generate => generate.generator.prettyName
    case _: Aggregate => "GROUP BY or DISTINCT"
    case union: Union => if (union.children.exists(_.exists(_.isInstanceOf[Join]))) "UNION of joins" else "UNION"
    case leaf: LeafNode => leaf.output.map(_.name).mkString("(", ", ", ")")
    case other => other.simpleString(5).take(120)
  }

  def of(term: Term, leaves: IndexedSeq[Leaf]): String = of(term.expression, leaves)
}
