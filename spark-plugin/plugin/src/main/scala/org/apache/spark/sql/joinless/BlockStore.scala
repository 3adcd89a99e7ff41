package org.apache.spark.sql.joinless

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The state store of one cell, as a log of blocks needs it: sequence → block. Callers reuse the
  * rows that they pass.
  */
trait BlockStore {

  /** Stores a block under a key, in place of another one. */
  def put(key: UnsafeRow, block: UnsafeRow): Unit

  /** The block, which is valid until the next call; null if there is none. */
  def get(key: UnsafeRow): UnsafeRow

  def remove(key: UnsafeRow): Unit
}

/** Entries that are found by the first columns of their keys. */
trait PrefixScan {

  /** Calls `read` with the entries whose keys begin with the columns of `prefix`, in any order;
    * each pair is valid until the next. Only if the store was opened for prefixes of as many
    * columns.
    */
  def scan[A](prefix: UnsafeRow)(read: Iterator[(UnsafeRow, UnsafeRow)] => A): A
}

/** A store whose entries are found by the first columns of their keys, too. */
trait PrefixStore extends BlockStore with PrefixScan {

  /** Calls `read` with all entries, in any order; each pair is valid until the next. */
  def read[A](read: Iterator[(UnsafeRow, UnsafeRow)] => A): A
}
