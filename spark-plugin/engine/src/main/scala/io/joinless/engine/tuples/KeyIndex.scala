package io.joinless.engine.tuples

/** Key → dense int id, by open addressing with linear probing. The keys themselves lie in an arena.
  *
  * A key has one word or several (see [[KeyReader]]); keys of one word, the common case, are
  * compared as primitives. Each tree edge has one index for both of its sides. The children of a
  * generalized node share one, whose ids are that node's tuples. Each slot holds the key's hash
  * with the id. So a key is read to confirm a match, but not to reject one, nor to grow the table.
  * To free an id, only its own key is read. With `counted`, `retain`/`release` count references,
  * and the last release frees the id for another key. Otherwise keys stay. One probe costs O(1)
  * expected.
  *
  * `find(Long)` and `findOrAdd(Long)` are for indexes with one-word keys (`keyWords` 1), the array
  * variants for all others: the two hash differently. An added key has no reference yet: the caller
  * must retain it.
  *
  * Over the arena of an input it is the identity of rows: row → row id.
  *
  * @param keys the arena of the keys; an id is an id of this arena
  * @param keyWords words of every key, 0 if keys vary in length
  */
final class KeyIndex(keys: TupleArena, keyWords: Int, counted: Boolean) {
  private[this] val references = if (counted) new PagedInts else null
  private[this] var slots = new Array[Long](16) // hash << 32 | id + 1; 0 where free
  private[this] var mask = 15

  /** Number of keys. */
  def size: Int = keys.live

  /** An exclusive upper bound of all ids. */
  def limit: Int = keys.limit

  /** The page that holds the words of a key, from `start` on. */
  def page(id: Int): Array[Long] = keys.page(id)
  def start(id: Int): Int = keys.start(id)
  def words(id: Int): Int = keys.words(id)

  /** The id of a one-word key; −1 if absent. */
  def find(key: Long): Int = {
    val hash = KeyIndex.hash(key)
    var s = hash & mask
    while (true) {
      val slot = slots(s)
      if (slot == 0L) return -1
      if ((slot >>> 32).toInt == hash && isKey(slot.toInt - 1, key)) return slot.toInt - 1
      s = (s + 1) & mask
    }
    -1
  }

  /** The id of a one-word key; an absent key is added. */
  def findOrAdd(key: Long): Int = {
    val hash = KeyIndex.hash(key)
    var s = hash & mask
    while (true) {
      val slot = slots(s)
      if (slot == 0L) {
        val added = keys.reserve(1)
        keys.page(added)(keys.start(added)) = key
        return occupy(s, hash, added)
      }
      if ((slot >>> 32).toInt == hash && isKey(slot.toInt - 1, key)) return slot.toInt - 1
      s = (s + 1) & mask
    }
    -1
  }

  /** As `findOrAdd`, for a key of two words, hashed as the array of both. */
  def findOrAdd(first: Long, second: Long): Int = {
    val hash = KeyIndex.hash(first, second)
    var s = hash & mask
    while (true) {
      val slot = slots(s)
      if (slot == 0L) {
        val added = keys.reserve(2)
        val page = keys.page(added)
        val start = keys.start(added)
        page(start) = first
        page(start + 1) = second
        return occupy(s, hash, added)
      }
      if ((slot >>> 32).toInt == hash && isKey(slot.toInt - 1, first, second)) return slot.toInt - 1
      s = (s + 1) & mask
    }
    -1
  }

  /** The id of a key, the first `words` words of the array; −1 if absent. */
  def find(key: Array[Long], words: Int): Int = {
    val hash = KeyIndex.hash(key, 0, words)
    var s = hash & mask
    while (true) {
      val slot = slots(s)
      if (slot == 0L) return -1
      if ((slot >>> 32).toInt == hash && keys.sameWords(slot.toInt - 1, key, 0, words)) return slot.toInt - 1
      s = (s + 1) & mask
    }
    -1
  }

  /** The id of a key, the first `words` words of the array; an absent key is added. */
  def findOrAdd(key: Array[Long], words: Int): Int = findOrAdd(KeyIndex.hash(key, 0, words), key, 0, words)

  /** As `findOrAdd`, for a key that begins at `from` and whose hash is known. */
  def findOrAdd(hash: Int, key: Array[Long], from: Int, words: Int): Int = {
    var s = hash & mask
    while (true) {
      val slot = slots(s)
      if (slot == 0L) return occupy(s, hash, keys.append(key, from, words))
      if ((slot >>> 32).toInt == hash && keys.sameWords(slot.toInt - 1, key, from, words)) return slot.toInt - 1
      s = (s + 1) & mask
    }
    -1
  }

  /** The most likely id of a key with this hash; −1 if there is none. For prefetching. */
  def likely(hash: Int): Int = {
    val slot = slots(hash & mask)
    if ((slot >>> 32).toInt == hash) slot.toInt - 1 else -1
  }

  /** Adds references to a key; does nothing if they are not counted. */
  def retain(id: Int, times: Int = 1): Unit = if (references != null) { val _ = references.add(id, times) }

  /** Releases references; true if these were the last ones. Then the key is removed and its id is
    * free.
    */
  def release(id: Int, times: Int = 1): Boolean =
    references != null && references.add(id, -times) == 0 && { vacate(id); keys.free(id); true }

  private def isKey(id: Int, key: Long): Boolean = keys.page(id)(keys.start(id)) == key

  /** Whether the key of an id is these two words. */
  private def isKey(id: Int, first: Long, second: Long): Boolean = {
    val page = keys.page(id)
    val start = keys.start(id)
    page(start) == first && page(start + 1) == second
  }

  /** Stores a new key's id in the free slot `at`; at least three eighths of all slots stay free. */
  private def occupy(at: Int, hash: Int, id: Int): Int = {
    slots(at) = hash.toLong << 32 | id + 1
    if (8 * keys.live > 5 * slots.length) grow()
    id
  }

  /** The slot at which the probe chain of a stored key begins. */
  private def home(slot: Long): Int = (slot >>> 32).toInt & mask

  /** Doubles the table. Stored hashes are used: no key is read. */
  private def grow(): Unit = {
    val old = slots
    slots = new Array[Long](2 * old.length)
    mask = slots.length - 1
    var i = 0
    while (i < old.length) {
      if (old(i) != 0L) {
        var s = home(old(i))
        while (slots(s) != 0L) s = (s + 1) & mask
        slots(s) = old(i)
      }
      i += 1
    }
  }

  /** Empties the slot of `id` and moves later ids of its probe chain back, so that no chain has a
    * hole. The key must still be in the arena. Terminates because some slots are empty (`occupy`).
    */
  private def vacate(id: Int): Unit = {
    var hole = hashOf(id) & mask
    while (slots(hole).toInt != id + 1) hole = (hole + 1) & mask
    var s = (hole + 1) & mask
    while (slots(s) != 0L) {
      // an id whose home is not behind the hole would be found no longer: it fills the hole
      if (((s - home(slots(s))) & mask) >= ((s - hole) & mask)) { slots(hole) = slots(s); hole = s }
      s = (s + 1) & mask
    }
    slots(hole) = 0L
  }

  /** The hash of a stored key, read from the arena. */
  private def hashOf(id: Int): Int =
    if (keyWords == 1) KeyIndex.hash(keys.page(id)(keys.start(id)))
    else KeyIndex.hash(keys.page(id), keys.start(id), keys.words(id))

  /** Heap held, without the arena of the keys. */
  def bytes: Long = 8L * slots.length + (if (references == null) 0 else references.bytes)
}

private[engine] object KeyIndex {

  /** The hash of a key of one word: the upper half of a Fibonacci product, which spreads
    * consecutive keys, and keys that differ in high bits only.
    */
  def hash(key: Long): Int = {
    val h = (key ^ (key >>> 32)) * 0x9e3779b97f4a7c15L
    (h >>> 32).toInt
  }

  /** The hash of a key of `count` words, from `from` on. */
  def hash(words: Array[Long], from: Int, count: Int): Int = {
    var h = count.toLong
    var i = from
    while (i < from + count) { h = mix(h, words(i)); i += 1 }
    hash(h)
  }

  /** The same hash as that of the array of both words. */
  def hash(first: Long, second: Long): Int = hash(mix(mix(2L, first), second))

  /** Adds a word to a hash. */
  private def mix(h: Long, word: Long): Long = {
    val product = (h ^ word) * 0x9e3779b97f4a7c15L
    product ^ product >>> 29
  }
}
