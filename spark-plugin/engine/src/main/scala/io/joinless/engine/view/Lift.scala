package io.joinless.engine.view

import io.joinless.engine.tuples.TupleArena

/** The contribution of a row of a relation, that is, the argument of a sum, as an element of a
  * ring.
  */
trait Lift {

  /** Multiplies an element by the contribution of one copy of the row, whose first word is that of
    * the ring's one.
    */
  def multiply(into: Array[Long], arena: TupleArena, row: Int): Unit
}
