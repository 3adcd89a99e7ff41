package io.joinless.engine.reduce

import io.joinless.engine.tuples.TupleArena

/** What a row of a relation counts for: the argument of a sum, as an element of a ring. */
trait Lift {

  /** Multiplies an element with what one copy of the row counts for; the first word is that of the ring's one. */
  def multiply(into: Array[Long], arena: TupleArena, row: Int): Unit
}
