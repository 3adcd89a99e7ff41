package io.joinless.engine.enumerate

import io.joinless.engine.orders.Orders

/** What a walk through a bag reports to orders that adapt: of the candidates of each relation, the
  * share that agrees with all bound rows and conditions. Of 8 candidates of S, 5 have the bound
  * values, and a condition rejects 2 of these when they are bound:
  * {{{
  * S is entered      8 candidates, 5 agree
  * conditions        5 − 2 = 3
  * S is left         3 of 8 are reported
  * }}}
  * Conditions are evaluated while the level is walked, so its share is complete when the level is
  * entered again, or another walk begins.
  */
final private[enumerate] class WalkReport(orders: Orders, levels: Int) {
  private[this] val bound = new Array[Long](levels)
  private[this] val relations = new Array[Int](levels)
  private[this] val rows = new Array[Int](levels) // 0: nothing to report
  private[this] val agreeing = new Array[Int](levels)

  /** Begins a walk; whether it has a random order. */
  def begin(): Boolean = {
    var l = 0
    while (l < levels) {
      complete(l)
      l += 1
    }
    orders.begin()
  }

  /** A relation was entered at a level, after the `before` ones were bound. */
  def entered(l: Int, before: Long, relation: Int, candidates: Int, agree: Int): Unit = {
    bound(l) = before
    relations(l) = relation
    rows(l) = candidates
    agreeing(l) = agree
  }

  /** Conditions have rejected a row that the level has bound. */
  def rejected(l: Int): Unit = agreeing(l) -= 1

  /** Reports what the level has seen, if it was entered since the last call. */
  def complete(l: Int): Unit = {
    if (rows(l) > 0) orders.sawShare(bound(l), relations(l), rows(l), agreeing(l))
    rows(l) = 0
  }
}
