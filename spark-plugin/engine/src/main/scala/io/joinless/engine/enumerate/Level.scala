package io.joinless.engine.enumerate

import io.joinless.engine.tuples.{IntLists, PagedInts}
import io.joinless.engine.view.RelationNode

/** One wheel of the odometer: binds a tuple of `node`, given a bound tuple of the node `from`.
  *
  * The candidates are a list of a key: `lists` under `keys(tuple of from)`, or under that tuple itself where it is a key
  * (`keys` null). Without `lists` there is one candidate, the key (a generalized parent).
  */
final private[enumerate] class Level(
    val node: Int,
    val from: Int,
    val lists: IntLists,
    val keys: PagedInts,
    val relation: RelationNode,
    val residuals: Array[Residual]
) {
  val bit: Long = if (relation == null) 0L else 1L << node
}
