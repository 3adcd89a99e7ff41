package io.joinless.spark.state.asof

import java.nio.ByteBuffer

/** An ordered set of longs in the entries of a key-value store, which itself has no order: a radix
  * tree of six bits per level, in which a node with one child is left out.
  * {{{
  * {5, 9, 70}     root ──► level 1 ──► level 0: bits 5, 9
  *                              └────► 70
  * }}}
  * ''Invariants'': every node has at least two children. What is stored follows from the set alone,
  * not from the changes that led to it.
  *
  * ''Cost'': a search, an insertion and a deletion read one entry per level, of which there are at
  * most eleven, and about log₆₄ n + 1 where n values are spread evenly; a change writes at most
  * two.
  *
  * '''Durable format''' 1: the root is a child, at level 11. A node of level 0 is a long, a bit per
  * value. A node above is a long, a bit per child, then the children by their digits. A child is
  * its level as a byte (−1: it is a value), and a long: the value, or the lowest one that the child
  * can have. Values are compared as unsigned numbers, their highest bit flipped.
  */
final private[asof] class OrderedLongs(nodes: OrderedLongs.Nodes) {
  import OrderedLongs._

  /** Adds a value, if it is not there. */
  def add(value: Long): Unit = {
    val u = value ^ Long.MinValue
    val before = root
    val now = if (before == null) leaf(u) else added(before, u)
    if (now ne before) putRoot(now)
  }

  /** Removes a value, if it is there. */
  def remove(value: Long): Unit = {
    val before = root
    if (before != null) {
      val now = removed(before, value ^ Long.MinValue)
      if (now == null) nodes.remove(RootLevel, 0L) else if (now ne before) putRoot(now)
    }
  }

  /** The greatest value that is at most `value`. */
  def floor(value: Long): Option[Long] = found(root, value ^ Long.MinValue, up = false).map(_ ^ Long.MinValue)

  /** The least value that is at least `value`. */
  def ceiling(value: Long): Option[Long] = found(root, value ^ Long.MinValue, up = true).map(_ ^ Long.MinValue)

  /** The least value that is greater. */
  def higher(value: Long): Option[Long] = if (value == Long.MaxValue) None else ceiling(value + 1)

  /** All values, in ascending order; the set must not change meanwhile. */
  def iterator: Iterator[Long] = Option(root).iterator.flatMap(all).map(_ ^ Long.MinValue)

  private def root: Child = {
    val bytes = nodes.get(RootLevel, 0L)
    if (bytes == null) null else childIn(ByteBuffer.wrap(bytes))
  }

  private def putRoot(child: Child): Unit =
    nodes.put(RootLevel, 0L, written(ByteBuffer.allocate(ChildBytes), child).array)

  /** The node that a child is. */
  private def node(child: Child): Node = {
    val bytes = nodes.get(child.level, prefix(child.value, child.level))
    if (bytes == null) throw new IllegalStateException(s"A node of level ${child.level} is not stored.")
    new Node(child.level, ByteBuffer.wrap(bytes))
  }

  private def put(child: Child, node: Node): Unit =
    nodes.put(child.level, prefix(child.value, child.level), node.bytes.array)

  /** The child with a value more: itself, unless it has become another node. */
  private def added(child: Child, u: Long): Child =
    if (child.isLeaf && child.value == u) child
    else if (!child.covers(u)) {
      val level = firstDifference(child.value, u)
      val above = Child(level, lowest(u, level))
      put(above, Node.empty(level).having(digit(child.value, level), child).having(digit(u, level), leaf(u)))
      above
    } else {
      val of = node(child)
      val d = digit(u, child.level)
      if (!of.has(d)) put(child, of.having(d, leaf(u)))
      else {
        val before = of.child(d, child)
        val now = added(before, u)
        if (now ne before) put(child, of.having(d, now))
      }
      child
    }

  /** The child without a value: null if it had no other, another one if it has one child left. */
  private def removed(child: Child, u: Long): Child =
    if (!child.covers(u)) child
    else if (child.isLeaf) null
    else {
      val of = node(child)
      val d = digit(u, child.level)
      if (!of.has(d)) child
      else {
        val before = of.child(d, child)
        val now = removed(before, u)
        if (now eq before) child
        else if (now != null) {
          put(child, of.having(d, now))
          child
        } else {
          val rest = of.without(d)
          if (rest.size > 1) {
            put(child, rest)
            child
          } else {
            nodes.remove(child.level, prefix(child.value, child.level))
            rest.child(rest.first(0), child)
          }
        }
      }
    }

  /** The value of a child that is nearest to `u`: at least `u`, if upwards, else at most. */
  private def found(child: Child, u: Long, up: Boolean): Option[Long] =
    if (child == null) None
    else if (child.covers(u))
      if (child.isLeaf) Some(child.value)
      else {
        val of = node(child)
        val d = digit(u, child.level)
        val near = if (of.has(d)) found(of.child(d, child), u, up) else None
        if (near.isDefined) near
        else {
          val next = if (up) of.first(d + 1) else of.last(d - 1)
          if (next < 0) None else Some(end(of.child(next, child), !up))
        }
      }
    else if ((java.lang.Long.compareUnsigned(child.value, u) > 0) == up) Some(end(child, !up))
    else None

  /** The greatest value of a child, or its least one. */
  private def end(child: Child, greatest: Boolean): Long =
    if (child.isLeaf) child.value
    else {
      val of = node(child)
      end(of.child(if (greatest) of.last(63) else of.first(0), child), greatest)
    }

  private def all(child: Child): Iterator[Long] =
    if (child.isLeaf) Iterator(child.value)
    else {
      val of = node(child)
      Iterator.iterate(of.first(0))(d => of.first(d + 1)).takeWhile(_ >= 0).flatMap(d => all(of.child(d, child)))
    }
}

private[asof] object OrderedLongs {

  /** Where nodes are stored: by their level, and the bits of their values above those of the level.
    */
  trait Nodes {

    /** The bytes of a node; null if there is none. */
    def get(level: Int, prefix: Long): Array[Byte]

    def put(level: Int, prefix: Long, bytes: Array[Byte]): Unit

    def remove(level: Int, prefix: Long): Unit
  }

  final private[asof] val RootLevel = 11
  final private val Bits = 6
  final private val ChildBytes = 9

  /** A value, or a node of values that differ in the bits of its level and below.
    *
    * @param level −1 for a value
    * @param value the value, or the least one that the node can have
    */
  final private case class Child(level: Int, value: Long) {
    def isLeaf: Boolean = level < 0

    /** Whether a value is in the range of the child. */
    def covers(u: Long): Boolean = prefix(u, level) == prefix(value, level)
  }

  private def leaf(u: Long) = Child(-1, u)

  /** The bits above those of a level. */
  private def prefix(u: Long, level: Int): Long =
    if (level >= RootLevel - 1) 0L else u >>> Bits * (level + 1)

  /** The bits of a level. */
  private def digit(u: Long, level: Int): Int = (u >>> Bits * level & 63L).toInt

  /** The least value with the same bits above a level. */
  private def lowest(u: Long, level: Int): Long =
    if (level >= RootLevel - 1) 0L else u >>> Bits * (level + 1) << Bits * (level + 1)

  /** The level of the highest bit in which two values differ. */
  private def firstDifference(u: Long, v: Long): Int = (63 - java.lang.Long.numberOfLeadingZeros(u ^ v)) / Bits

  private def childIn(in: ByteBuffer): Child = Child(in.get().toInt, in.getLong())

  private def written(out: ByteBuffer, child: Child): ByteBuffer = out.put(child.level.toByte).putLong(child.value)

  /** A node, as it is stored: its bits, and above level 0 a child for each bit that is set. */
  final private class Node(level: Int, val bytes: ByteBuffer) {
    private[this] val bits = bytes.getLong(0)

    def size: Int = java.lang.Long.bitCount(bits)

    def has(d: Int): Boolean = (bits >>> d & 1L) == 1L

    /** Where the child of a digit is in the bytes, or would be. */
    private def at(d: Int): Int = if (level == 0) 8 else 8 + ChildBytes * java.lang.Long.bitCount(bits & (1L << d) - 1L)

    /** The child of a digit that the node has; `of` is the node itself. */
    def child(d: Int, of: Child): Child =
      if (level == 0) leaf(of.value | d.toLong) else childIn(bytes.duplicate().position(at(d)))

    /** The node with this child, in place of another one or as a new one. */
    def having(d: Int, child: Child): Node = spliced(d, bits | 1L << d, Some(child))

    def without(d: Int): Node = spliced(d, bits & ~(1L << d), None)

    private def spliced(d: Int, now: Long, child: Option[Child]): Node = {
      val (start, end) = (at(d), if (level > 0 && has(d)) at(d) + ChildBytes else at(d))
      val added = child.filter(_ => level > 0)
      val out = ByteBuffer.allocate(bytes.capacity - (end - start) + added.size * ChildBytes)
      out.put(bytes.array, 0, start)
      added.foreach(written(out, _))
      out.put(bytes.array, end, bytes.capacity - end)
      new Node(level, out.putLong(0, now))
    }

    /** The first digit from `d` on; −1 if there is none. */
    def first(d: Int): Int = {
      val from = if (d > 63) 0L else bits >>> d << d
      if (from == 0L) -1 else java.lang.Long.numberOfTrailingZeros(from)
    }

    /** The last digit up to `d`; −1 if there is none. */
    def last(d: Int): Int = if (d < 0) -1 else 63 - java.lang.Long.numberOfLeadingZeros(bits << 63 - d >>> 63 - d)
  }

  private object Node {
    def empty(level: Int): Node = new Node(level, ByteBuffer.allocate(8))
  }
}
