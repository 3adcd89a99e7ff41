package io.joinless.engine.view

/** What the engine did, counted: complexity claims are tested on these, never on time (algorithms A18). */
final class Counters {

  /** Steps of propagation: how often the count of a tuple changed because a key came or went below. */
  var steps: Long = 0L

  /** Moves of cursors: how often a list was entered or advanced. */
  var moves: Long = 0L

  /** Results that cursors handed out. */
  var results: Long = 0L

  /** Tuples that are alive, over all nodes. */
  var alive: Long = 0L

  /** Tuples marked live, over all nodes that have children. */
  var marked: Long = 0L
}
