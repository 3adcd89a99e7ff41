package io.joinless.spark.source

import io.joinless.spark.spec.{BlockSpec, Roles}
import io.joinless.spark.state.log.ChangeLogReader
import org.apache.spark.sql.catalyst.expressions.{And, BasePredicate, Expression, Predicate, UnsafeRow}

/** The pushed-down conditions on single relations, checked while the log is read: of a stored row's
  * roles, keeps those whose conditions are true. The row is in the layout of the roles' input. Not
  * thread safe.
  */
final private class PushedFilters(spec: BlockSpec, conditions: Seq[RelationFilter]) extends ChangeLogReader.Keep {
  private[this] val ofRelation: Array[BasePredicate] = spec.relations.indices.map { r =>
    conditions.filter(_.relation == r).map(_.condition).reduceOption(And(_, _)).map(compiled).orNull
  }.toArray
  private[this] val rows = spec.relations.map(r => new UnsafeRow(spec.inputs(r.input).columns.size)).toArray

  /** Those of a row's roles (bit set) that read it and whose conditions it passes. */
  override def kept(roles: Long, base: AnyRef, offset: Long, bytes: Int): Long = {
    var accepting = roles
    var unchecked = roles
    while (unchecked != 0L) {
      val r = Roles.first(unchecked)
      unchecked = Roles.rest(unchecked)
      if (ofRelation(r) != null) {
        rows(r).pointTo(base, offset, bytes)
        if (!ofRelation(r).eval(rows(r))) accepting = Roles.without(accepting, r)
      }
    }
    accepting
  }

  /** The condition, ready to be evaluated. */
  private def compiled(condition: Expression): BasePredicate = {
    val predicate = Predicate.create(condition)
    predicate.initialize(0)
    predicate
  }
}
