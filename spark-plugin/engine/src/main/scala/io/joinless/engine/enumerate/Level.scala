package io.joinless.engine.enumerate

import io.joinless.engine.tuples.{IntLists, PagedInts, PagedLongs}

/** One wheel of the odometer: binds a tuple of `node`, given a bound tuple of the node `from`.
  *
  * The candidates are a list of a key: `lists` under `keys(tuple of from)`, or under that tuple itself where it is a key
  * (`keys` null). Without `lists` there is one candidate, the key (a generalized parent). Where `beside` is not −1, that level
  * binds the tuple of `from`, and the key lies beside it in that level's list, too.
  *
  * @param relations the relations (bit set) whose rows it binds
  * @param weights how often each tuple of `node` counts, null where each counts once
  */
final private[enumerate] class Level(
    val node: Int,
    val from: Int,
    val lists: IntLists,
    val keys: PagedInts,
    val beside: Int,
    val relations: Long,
    val weights: PagedLongs,
    val residuals: Array[Residual]
)
