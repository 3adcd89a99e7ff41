package io.joinless.engine.tuples

/** For each key a list of tuples. */
trait KeyedLists {

  /** The length of a key's list. */
  def count(key: Int): Int
}
