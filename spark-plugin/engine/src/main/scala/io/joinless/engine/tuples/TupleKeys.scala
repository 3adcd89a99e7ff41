package io.joinless.engine.tuples

/** The key of each tuple in an index. It is looked up once, when it is first asked for, and noted until the tuple is gone: so relations
  * that read the same columns of a row ask the index once, and the key has one reference for all of them.
  *
  * Where a key of the index is itself a tuple, of a generalized node, its own key `above` comes and goes with it; then nobody else adds keys
  * to the index.
  *
  * @param reader reads the key from a row
  * @param noted the keys, by tuple; of a generalized node they may be read from rows of several relations
  */
final class TupleKeys(index: KeyIndex, reader: KeyReader, val noted: NotedKeys, above: TupleKeys) {

  /** The tuple's key, which comes where it is not there yet. `row` is the tuple, or a row of which the tuple is the key. The tuple must be
    * one that `forget` will be told of.
    */
  def findOrAdd(tuple: Int, row: Int): Int = {
    val key = noted(tuple)
    if (key >= 0) key else add(tuple, row)
  }

  private def add(tuple: Int, row: Int): Int = {
    val keys = index.size
    val key = reader.findOrAdd(index, row)
    index.retain(key)
    noted.note(tuple, key)
    if (above != null && index.size > keys) { val _ = above.findOrAdd(key, row) }
    key
  }

  /** For reading ahead: the hash of a row's key, and the key that one with this hash most likely is, −1 where none is likely. */
  def hash(row: Int): Int = reader.hash(row)
  def likely(hash: Int): Int = index.likely(hash)

  /** All keys are below this. */
  def limit: Int = index.limit

  /** The tuple is gone, and so is its key if no other tuple has it. */
  def forget(tuple: Int): Unit = {
    val key = noted(tuple)
    if (key >= 0) {
      noted.forget(tuple)
      if (index.release(key) && above != null) above.forget(key)
    }
  }
}

object TupleKeys {

  /** The tuple is gone: none of its keys is noted any more. */
  def forget(keys: Array[TupleKeys], tuple: Int): Unit = {
    var i = 0
    while (i < keys.length) { keys(i).forget(tuple); i += 1 }
  }
}

/** Where keys of tuples are noted. */
final class NotedKeys {
  private[this] val keys = new PagedInts // 1 + key

  /** −1 where none is noted. */
  def apply(tuple: Int): Int = keys(tuple) - 1

  private[tuples] def note(tuple: Int, key: Int): Unit = keys(tuple) = key + 1
  private[tuples] def forget(tuple: Int): Unit = keys(tuple) = 0

  def bytes: Long = keys.bytes
}
