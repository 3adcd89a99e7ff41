package io.joinless.spark.compile

import io.joinless.spark.compile.streams.{Emission, GroupCompiler}
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.plans.marks.KeyedRows
import io.joinless.spark.plans.values.{OnlyRow, RowOrder}
import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  Attribute,
  CreateNamedStruct,
  Expression,
  GetStructField,
  Literal
}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Project}
import org.apache.spark.sql.joinless.KeyBytes
import org.apache.spark.sql.types.Metadata

/** Declared keys as groups: the rows of a key are a group, whose only row is its value.
  * {{{
  * key(t, id)   =>   SELECT id, r.city FROM (SELECT id, only_row(city) AS r FROM t GROUP BY id)
  * }}}
  * ''Invariant'': after each batch, a group has exactly one row. So the groups return the rows of
  * the relation, and a second row of a key fails the batch ([[OnlyRow]]). All rows of a key meet in
  * one group, however joins above place the rows. NULL is a value as others are.
  *
  * Cost: a read and a write of the store per key that a batch touches; the store has an entry per
  * key, its row.
  *
  * The optimizer has pruned the columns that the query does not need, and must not see the groups:
  * it would remove a function that nobody reads, and the check with it.
  */
private[compile] object DeclaredKeys {

  /** An optimized template with groups in place of its keys. Groups that are emitted once never
    * are: a key has no time at which it closes.
    */
  def checked(plan: LogicalPlan, emission: Emission): LogicalPlan = plan.transformUp { case rows: KeyedRows =>
    if (emission.isFinal) refuse(rows)
    grouped(rows)
  }

  /** Refuses a plan with keys that nothing checks. */
  def refuse(plan: LogicalPlan): Unit = plan.foreach {
    case rows: KeyedRows => throw JoinlessErrors.key("NO_CHANGES", "source" -> rows.source)
    case _ =>
  }

  private def grouped(rows: KeyedRows): LogicalPlan = {
    val keys = rows.key.map(key => Alias(KeyBytes.stored(key), key.name)())

    /** The grouping column that has the bytes of a column. */
    def keyOf(a: Attribute) = keys.find(_.child.semanticEquals(a))
    val others = rows.output.filter(keyOf(_).isEmpty)
    val inRow = if (others.isEmpty) rows.output.take(1) else others // a struct has at least one field
    val struct = CreateNamedStruct(inRow.flatMap(a => Seq(Literal(a.name), a)))
    val order = RowOrder(Nil, struct.dataType)
    val row = Alias(OnlyRow(struct, order, rows.key.map(_.name), rows.source).toAggregateExpression(), "row")()
    val groups = Aggregate(keys.map(_.child), keys :+ row, rows.child)
    val text = s"the only row by the key ${rows.key.map(_.name).mkString(", ")}"
    groups.setTagValue(GroupCompiler.purpose, GroupCompiler.Purpose(text, text, isOfMatches = false))
    Project(
      rows.output.map { a =>
        val value = keyOf(a).fold[Expression](
          GetStructField(row.toAttribute, inRow.indexWhere(_.exprId == a.exprId))
        )(_.toAttribute)
        // the times of rows bound nothing any more
        Alias(value, a.name)(a.exprId, a.qualifier, explicitMetadata = Some(Metadata.empty))
      },
      groups
    )
  }
}
