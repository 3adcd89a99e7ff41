package io.joinless.engine.view

/** Counts of the engine's operations. Complexity claims are tested on these, never on time
  * (algorithms A18).
  */
final class Counters {

  /** Steps of propagation: changes of a tuple's support because a key below was inserted or
    * deleted.
    */
  var steps: Long = 0L

  /** Moves of cursors: a list was entered or advanced. */
  var moves: Long = 0L

  /** Results that cursors produced. */
  var results: Long = 0L

  /** Alive tuples, over all nodes. */
  var alive: Long = 0L

  /** Tuples marked live, over all nodes that have children. */
  var marked: Long = 0L

  /** Lists and probes that walks through bags have looked up, to choose among relations and to find
    * candidates. They are moves, too.
    */
  var lookups: Long = 0L

  /** How often the relation that follows a set of bound relations has changed, in orders that adapt.
    */
  var reorders: Long = 0L
}
