package io.joinless.engine.tuples

/** The key of each tuple in an index, memoized. It is looked up on the first request, and kept
  * until the tuple is deleted. So relations that read the same columns of a row probe the index
  * once, and the key has one reference for all of them.
  *
  * If a key of the index is itself a tuple of a generalized node, its own key `above` is added and
  * freed with it; nothing else may then add keys to the index.
  *
  * @param reader reads the key from a row
  * @param noted the memoized keys, by tuple; those of a generalized node may be read from rows of
  *     several relations
  * @param ofKeys if the keys are themselves rows of another tree: the keys that it has memoized for
  *     them, which are forgotten with them
  */
final class TupleKeys(
    private[engine] val index: KeyIndex,
    reader: RowReader,
    val noted: NotedKeys,
    above: TupleKeys,
    ofKeys: Array[TupleKeys] = TupleKeys.None
) {

  /** The tuple's key; a new key is added. `row` is the tuple, or a row of which the tuple is the
    * key. The caller must call `forget` when the tuple is deleted.
    */
  def findOrAdd(tuple: Int, row: Int): Int = {
    val key = noted(tuple)
    if (key >= 0) key else add(tuple, row)
  }

  /** Looks up the tuple's key and memoizes it, with one reference. */
  private def add(tuple: Int, row: Int): Int = {
    val keysBefore = index.size
    val key = reader.findOrAdd(index, row)
    index.retain(key)
    noted.note(tuple, key)
    if (above != null && index.size > keysBefore) { val _ = above.findOrAdd(key, row) }
    key
  }

  /** For prefetching: the hash of a row's key, and the most likely key with this hash, −1 if there
    * is none.
    */
  def hash(row: Int): Int = reader.hash(row)
  def likely(hash: Int): Int = index.likely(hash)

  /** An exclusive upper bound of all keys. */
  def limit: Int = index.limit

  /** Forgets a deleted tuple's key, and frees the key if no other tuple has it. */
  def forget(tuple: Int): Unit = {
    val key = noted(tuple)
    if (key >= 0) {
      noted.forget(tuple)
      if (index.release(key)) {
        if (above != null) above.forget(key)
        TupleKeys.forget(ofKeys, key)
      }
    }
  }
}

object TupleKeys {
  private[engine] val None: Array[TupleKeys] = Array.empty

  /** Forgets all memoized keys of a deleted tuple. */
  def forget(keys: Array[TupleKeys], tuple: Int): Unit = {
    var i = 0
    while (i < keys.length) { keys(i).forget(tuple); i += 1 }
  }
}

/** The memoized keys of tuples. */
final class NotedKeys {
  private[this] val keys = new PagedInts // 1 + key

  /** The key; −1 if none is memoized. */
  def apply(tuple: Int): Int = keys(tuple) - 1

  /** Memoizes the key of a tuple. */
  private[tuples] def note(tuple: Int, key: Int): Unit = keys(tuple) = key + 1
  private[tuples] def forget(tuple: Int): Unit = keys(tuple) = 0

  def bytes: Long = keys.bytes
}
