package io.joinless.bench

import java.util.Arrays

/** The floor of the benchmark: a hand-written implementation of one query. Vertices are hashed once
  * to dense ids, and the state is queues of ids per vertex. No trees, no generic keys, no
  * multiplicities; deletions only in the order of the insertions.
  */
object BareIndex {

  /** The reason why there is no floor for the query, if there is none. */
  def refuses(query: GraphQuery): Option[String] =
    if (query.columns != query.relations + 1) Some("every vertex must be a column")
    else if (query.star && query.relations == 4 && query.inputs.distinct.size == 4) None
    else if (!query.star && query.relations == 3 && query.selfJoin) None
    else Some("only the path of 3 over one input and the star of 4 over four")

  def apply(query: GraphQuery): BareIndex = {
    refuses(query).foreach(why => sys.error(why))
    if (query.star) new BareStar(query.threshold) else new BarePath(query.threshold)
  }
}

/** Applies changes one by one: the common part of the two floors. */
abstract class BareIndex extends Maintenance {
  protected val ids = new VertexIds
  protected var sign = 1L

  var plus, minus, check = 0L
  protected var edges = 0L

  final def apply(batch: IndexedSeq[EdgeBatch]): Unit = {
    // as in the stream: deletes come before all inserts
    for (input <- batch.indices) each(input, batch(input), -1)
    for (input <- batch.indices) each(input, batch(input), 1)
  }

  private def each(input: Int, batch: EdgeBatch, weight: Int): Unit = {
    var i = 0
    while (i < batch.size) {
      if (batch.weights(i) == weight) {
        val (src, dst) = (ids.findOrAdd(batch.src(i)), ids.findOrAdd(batch.dst(i)))
        if (weight > 0) { edges += 1; insert(input, src, dst) }
        else { edges -= 1; delete(input, src, dst) }
      }
      i += 1
    }
  }

  protected def insert(input: Int, src: Int, dst: Int): Unit

  /** Deletes the oldest edge. */
  protected def delete(input: Int, src: Int, dst: Int): Unit

  final protected def add(rows: Long, terms: Long): Unit =
    if (sign > 0) { plus += rows; check += terms }
    else { minus += rows; check -= terms }

  def stateRows: Long = edges
}

/** x1 → x2 → x3 → x4 over one stream, x4 above the threshold: per vertex the sources of edges to
  * it, the targets of edges from it, and those of them above the threshold.
  */
final class BarePath(threshold: Long) extends BareIndex {
  private[this] val from, to, ends = new VertexQueues

  def stateBytes: Long = ids.bytes + from.bytes + to.bytes + ends.bytes

  protected def insert(input: Int, src: Int, dst: Int): Unit = {
    sign = 1
    asFirst(src, dst)
    from.push(dst, src)
    to.push(src, dst)
    asSecond(src, dst)
    if (ids.name(dst) > threshold) {
      asThird(src, dst)
      ends.push(src, dst)
    }
  }

  protected def delete(input: Int, src: Int, dst: Int): Unit = {
    sign = -1
    if (ids.name(dst) > threshold) {
      ends.pop(src)
      asThird(src, dst)
    }
    asSecond(src, dst)
    from.pop(dst)
    to.pop(src)
    asFirst(src, dst)
  }

  /** Inserts edges without visiting results. */
  def load(batch: EdgeBatch): Unit = {
    var i = 0
    while (i < batch.size) {
      val (src, dst) = (ids.findOrAdd(batch.src(i)), ids.findOrAdd(batch.dst(i)))
      from.push(dst, src)
      to.push(src, dst)
      if (batch.dst(i) > threshold) ends.push(src, dst)
      i += 1
    }
    edges += batch.size
  }

  /** Visits all current results, by a scan of all second edges. */
  def enumerate(): Unit = {
    sign = 1
    var x3 = 0
    while (x3 < ids.size) {
      if (!ends.isEmpty(x3)) {
        var slot = from.first(x3)
        while (slot != 0) { asSecond(from(slot), x3); slot = from.next(x3, slot) }
      }
      x3 += 1
    }
  }

  private def asFirst(x1: Int, x2: Int): Unit = {
    var slot = to.first(x2)
    while (slot != 0) {
      val x3 = to(slot)
      if (!ends.isEmpty(x3)) overLast(ids.name(x1), ids.name(x2), x3)
      slot = to.next(x2, slot)
    }
  }

  private def asSecond(x2: Int, x3: Int): Unit =
    if (!ends.isEmpty(x3)) {
      var slot = from.first(x2)
      while (slot != 0) { overLast(ids.name(from(slot)), ids.name(x2), x3); slot = from.next(x2, slot) }
    }

  private def overLast(x1: Long, x2: Long, x3: Int): Unit = {
    val fixed = 3 * x1 + 5 * x2 + 7 * ids.name(x3)
    var rows, terms = 0L
    var slot = ends.first(x3)
    while (slot != 0) {
      val x4 = ids.name(ends(slot))
      rows += 1
      terms += (x1 + 7) * (x4 + 11) + fixed + 9 * x4
      slot = ends.next(x3, slot)
    }
    add(rows, terms)
  }

  private def asThird(x3: Int, x4: Int): Unit = {
    val end = ids.name(x4)
    var outer = from.first(x3)
    while (outer != 0) {
      val x2 = from(outer)
      val fixed = 5 * ids.name(x2) + 7 * ids.name(x3) + 9 * end
      var rows, terms = 0L
      var slot = from.first(x2)
      while (slot != 0) {
        val x1 = ids.name(from(slot))
        rows += 1
        terms += (x1 + 7) * (end + 11) + fixed + 3 * x1
        slot = from.next(x2, slot)
      }
      add(rows, terms)
      outer = from.next(x3, outer)
    }
  }
}

/** Four streams that join on src, the last one's dst above the threshold: four queues per vertex.
  */
final class BareStar(threshold: Long) extends BareIndex {
  private[this] val ends = Array.fill(4)(new VertexQueues)
  private[this] val x = new Array[Long](5)
  private[this] val others = Array.tabulate(4)(arm => (0 until 4).filter(_ != arm).toArray)

  def stateBytes: Long = ids.bytes + ends.iterator.map(_.bytes).sum

  protected def insert(input: Int, src: Int, dst: Int): Unit =
    if (input < 3 || ids.name(dst) > threshold) {
      sign = 1
      combine(input, src, dst)
      ends(input).push(src, dst)
    }

  protected def delete(input: Int, src: Int, dst: Int): Unit =
    if (input < 3 || ids.name(dst) > threshold) {
      sign = -1
      ends(input).pop(src)
      combine(input, src, dst)
    }

  private def combine(arm: Int, centre: Int, dst: Int): Unit = {
    val (a, b, c) = (others(arm)(0), others(arm)(1), others(arm)(2))
    if (!ends(a).isEmpty(centre) && !ends(b).isEmpty(centre) && !ends(c).isEmpty(centre)) {
      x(0) = ids.name(centre)
      x(arm + 1) = ids.name(dst)
      var i = ends(a).first(centre)
      while (i != 0) {
        x(a + 1) = ids.name(ends(a)(i))
        var j = ends(b).first(centre)
        while (j != 0) {
          x(b + 1) = ids.name(ends(b)(j))
          overLast(ends(c), c + 1, centre)
          j = ends(b).next(centre, j)
        }
        i = ends(a).next(centre, i)
      }
    }
  }

  private def overLast(queue: VertexQueues, at: Int, centre: Int): Unit = {
    x(at) = 0
    val fixed = 3 * x(0) + 5 * x(1) + 7 * x(2) + 9 * x(3) + 11 * x(4)
    val own = 2 * at + 3
    val isLast = at == 4
    val (head, tail) = (x(0) + 7, x(4) + 11)
    var rows, terms = 0L
    var slot = queue.first(centre)
    while (slot != 0) {
      val v = ids.name(queue(slot))
      rows += 1
      terms += head * (if (isLast) v + 11 else tail) + fixed + own * v
      slot = queue.next(centre, slot)
    }
    add(rows, terms)
  }
}

/** Vertex → dense id, by open addressing; vertices are never deleted. */
final class VertexIds {
  private[this] var slots = new Array[Int](16) // id + 1
  private[this] var names = new Array[Long](16)
  private[this] var count = 0

  def size: Int = count

  def name(id: Int): Long = names(id)

  def findOrAdd(name: Long): Int = {
    val mask = slots.length - 1
    var s = hash(name) & mask
    while (slots(s) != 0) {
      if (names(slots(s) - 1) == name) return slots(s) - 1
      s = (s + 1) & mask
    }
    if (count == names.length) names = Arrays.copyOf(names, 2 * count)
    names(count) = name
    count += 1
    slots(s) = count
    if (2 * count > slots.length) grow()
    count - 1
  }

  private def grow(): Unit = {
    slots = new Array[Int](2 * slots.length)
    val mask = slots.length - 1
    var id = 0
    while (id < count) {
      var s = hash(names(id)) & mask
      while (slots(s) != 0) s = (s + 1) & mask
      slots(s) = id + 1
      id += 1
    }
  }

  private def hash(name: Long): Int = ((name * 0x9e3779b97f4a7c15L) >>> 32).toInt

  def bytes: Long = 4L * slots.length + 8L * names.length
}

/** A queue of ids for each vertex, in lines of 64 bytes of one pool. The first int of a line is the
  * next line, the 15 others hold ids. A slot is valid until the next push or pop; 0 is none.
  */
final class VertexQueues {
  private[this] var pool = new Array[Int](2 * VertexQueues.Line)
  private[this] var poolEnd = VertexQueues.Line // line 0 is not used: slot 0 is none
  private[this] var free = 0
  // slots of the oldest id and the newest, 0 if there is none
  private[this] var heads, tails = new Array[Int](16)

  def isEmpty(vertex: Int): Boolean = vertex >= heads.length || heads(vertex) == 0

  def first(vertex: Int): Int = if (vertex < heads.length) heads(vertex) else 0

  def apply(slot: Int): Int = pool(slot)

  def next(vertex: Int, slot: Int): Int = if (slot == tails(vertex)) 0 else after(slot)

  def push(vertex: Int, id: Int): Unit = {
    if (vertex >= heads.length) {
      val size = math.max(vertex + 1, 2 * heads.length)
      heads = Arrays.copyOf(heads, size)
      tails = Arrays.copyOf(tails, size)
    }
    val tail = tails(vertex)
    val slot =
      if (tail != 0 && (tail + 1) % VertexQueues.Line != 0) tail + 1
      else {
        val line = allocate()
        if (tail == 0) heads(vertex) = line + 1 else pool(tail - VertexQueues.Line + 1) = line
        line + 1
      }
    pool(slot) = id
    tails(vertex) = slot
  }

  /** Removes the oldest id. */
  def pop(vertex: Int): Unit = {
    val head = heads(vertex)
    val line = head / VertexQueues.Line * VertexQueues.Line
    if (head == tails(vertex)) {
      heads(vertex) = 0
      tails(vertex) = 0
      release(line)
    } else {
      heads(vertex) = after(head)
      if ((head + 1) % VertexQueues.Line == 0) release(line)
    }
  }

  private def after(slot: Int): Int =
    if ((slot + 1) % VertexQueues.Line != 0) slot + 1 else pool(slot - VertexQueues.Line + 1) + 1

  private def allocate(): Int =
    if (free != 0) { val line = free; free = pool(line); line }
    else {
      if (poolEnd == pool.length) pool = Arrays.copyOf(pool, 2 * poolEnd)
      poolEnd += VertexQueues.Line
      poolEnd - VertexQueues.Line
    }

  private def release(line: Int): Unit = { pool(line) = free; free = line }

  def bytes: Long = 4L * (pool.length + heads.length + tails.length)
}

private object VertexQueues {
  final val Line = 16
}
