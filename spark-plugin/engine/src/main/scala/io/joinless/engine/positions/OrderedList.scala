package io.joinless.engine.positions

import io.joinless.engine.algebra.Wide
import io.joinless.engine.tuples.RecordLists
import io.joinless.engine.view.ViewNode

/** One list of tuples in the canonical order ([[TupleOrder]]), as far as a walk over ascending
  * positions needs it.
  *
  * The tuples are put into buckets by the upper bits of their hashes. A bucket's positions are
  * added up; it is sorted only if a position falls into it. So a walk costs O(tuples), whatever
  * their number.
  */
final private[positions] class OrderedList(space: Space) {
  private[this] var node: ViewNode = null
  private[this] var order: TupleOrder = null
  private[this] var part = 0
  private[this] var isSingle = false // no tuple has more than one position
  private[this] var size = 0
  private[this] var tuples = new Array[Int](16)
  private[this] var hashes = new Array[Long](16)
  private[this] var places = new Array[Int](16) // indexes of tuples, by bucket
  private[this] var starts = new Array[Int](2) // of the buckets, in `places`
  private[this] val sorted = new java.util.BitSet // the buckets that are

  // the walk: the bucket, the tuple in it, and the first position of both
  private[this] var bits = 0
  private[this] var bucket = 0
  private[this] var at = 0
  private[this] val bucketUntil = new Wide
  private[this] val tupleFrom = new Wide
  private[this] val tupleUntil = new Wide
  private[this] val scratch = new Wide
  private[this] val other = new Wide

  private[this] val byOrder: IndexSort.Order = (a, b) => compare(a, b)

  /** Loads the tuples of a list. */
  def load(node: ViewNode, order: TupleOrder, part: Int, lists: RecordLists, key: Int): Unit = {
    var older = lists.count(key)
    val isOne = older == 1 // then nothing is ordered, and its row need not be read
    begin(node, order, part, older)
    var slot = lists.first(key)
    while (slot != 0) {
      val (page, at) = (lists.page(slot), lists.at(slot))
      val tuple = RecordLists.tuple(page(at))
      if (contains(tuple)) add(tuple, if (isOne) 0L else order.hash(page, at))
      older -= 1
      slot = lists.next(slot, older)
    }
    arrange()
  }

  /** Loads tuples that are given one by one. */
  def load(node: ViewNode, order: TupleOrder, part: Int, count: Int, tuple: Int => Int): Unit = {
    begin(node, order, part, count)
    var i = 0
    while (i < count) {
      val t = tuple(i)
      if (contains(t)) add(t, order.hash(t))
      i += 1
    }
    arrange()
  }

  /** Starts a list of a node, of which `part` is read, and makes room for `count` tuples. */
  private def begin(node: ViewNode, order: TupleOrder, part: Int, count: Int): Unit = {
    this.node = node
    this.order = order
    this.part = part
    isSingle = space.isSingle(part, node)
    size = 0
    if (tuples.length < count) {
      val length = math.max(count, 2 * tuples.length)
      tuples = new Array[Int](length)
      hashes = new Array[Long](length)
      places = new Array[Int](length)
    }
  }

  /** Whether a tuple may have a position. */
  private def contains(tuple: Int): Boolean = !isSingle || space.contains(part, node, tuple)

  private def add(tuple: Int, hash: Long): Unit = {
    tuples(size) = tuple
    hashes(size) = hash
    size += 1
  }

  /** Puts the tuples into buckets. */
  private def arrange(): Unit = {
    bits = if (size <= OrderedList.Bucket) 0 else 32 - Integer.numberOfLeadingZeros((size - 1) / OrderedList.Bucket)
    val buckets = 1 << bits
    if (starts.length < buckets + 1) starts = new Array[Int](buckets + 1)
    java.util.Arrays.fill(starts, 0, buckets + 1, 0)
    if (size == 1) { places(0) = 0; starts(1) = 1 }
    else {
      var i = 0
      while (i < size) { starts(bucketOf(i) + 1) += 1; i += 1 }
      var b = 0
      while (b < buckets) { starts(b + 1) += starts(b); b += 1 }
      i = size - 1
      // fills each bucket from its end: `starts(b + 1)` moves down to the start of bucket b
      while (i >= 0) {
        val b = bucketOf(i) + 1
        starts(b) -= 1
        places(starts(b)) = i
        i -= 1
      }
      b = 0
      while (b < buckets) { starts(b) = starts(b + 1); b += 1 }
      starts(buckets) = size
    }
    sorted.clear()
    bucket = -1
    bucketUntil.set(0L)
  }

  /** The bucket of the tuple at index `i`: the upper `bits` bits of its hash. */
  private def bucketOf(i: Int): Int = if (bits == 0) 0 else (hashes(i) >>> (64 - bits)).toInt

  /** The tuple at a position, where each tuple has one. Positions may be asked for in any order. */
  def tuple(position: Int): Int = {
    val found = java.util.Arrays.binarySearch(starts, 0, (1 << bits) + 1, position)
    var bucket = if (found >= 0) found else -2 - found
    while (starts(bucket + 1) == position) bucket += 1 // it is empty
    sort(bucket)
    tuples(places(position))
  }

  /** Moves to the tuple that has `position`, and makes it the position under that tuple. Positions
    * must be asked for in ascending order, and be positions of the list.
    */
  def seek(position: Wide): Int = {
    while (position.compare(bucketUntil) >= 0) nextBucket()
    sort(bucket)
    while (position.compare(tupleUntil) >= 0) {
      at += 1
      tupleFrom.set(tupleUntil)
      count(tuples(places(at)), scratch)
      tupleUntil.add(scratch)
    }
    position.subtract(tupleFrom)
    tuples(places(at))
  }

  private def sort(bucket: Int): Unit =
    if (starts(bucket + 1) - starts(bucket) > 1 && !sorted.get(bucket)) {
      IndexSort.sort(places, starts(bucket), starts(bucket + 1), byOrder)
      sorted.set(bucket)
    }

  /** Moves before the first tuple of the next bucket, and finds the positions it covers: up to below
    * `bucketUntil`.
    */
  private def nextBucket(): Unit = {
    bucket += 1
    at = starts(bucket) - 1
    tupleUntil.set(bucketUntil)
    if (isSingle) bucketUntil.add(0L, (starts(bucket + 1) - starts(bucket)).toLong)
    else {
      var p = starts(bucket)
      while (p < starts(bucket + 1)) {
        count(tuples(places(p)), scratch)
        bucketUntil.add(scratch)
        p += 1
      }
    }
  }

  /** The number of positions of the part under a tuple. */
  private def count(tuple: Int, into: Wide): Unit =
    if (isSingle) into.set(1L) else space.count(part, node, tuple, into)

  /** Equal rows are in the order of their numbers of positions; with equal ones they are
    * interchangeable.
    */
  private def compare(a: Int, b: Int): Int =
    if (hashes(a) != hashes(b)) java.lang.Long.compareUnsigned(hashes(a), hashes(b))
    else {
      val byWords = order.compare(tuples(a), tuples(b))
      if (byWords != 0) byWords
      else {
        count(tuples(a), scratch)
        count(tuples(b), other)
        scratch.compare(other)
      }
    }
}

private object OrderedList {

  /** Tuples per bucket. */
  final val Bucket = 4
}
