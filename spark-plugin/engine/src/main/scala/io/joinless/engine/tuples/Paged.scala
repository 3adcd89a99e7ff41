package io.joinless.engine.tuples

import java.util.Arrays

/** Growable arrays of primitives in pages: the storage of all lists, keys and counts of a view
  * tree.
  *
  * An index that was never set reads as 0. So 0 means "none" throughout the engine, and references
  * are stored plus one. The first page starts with 16 elements and doubles; a later page starts at
  * half its full size. So growing copies at most one page, and little memory is unused. `clear`
  * frees all pages. Pages are large because each access reads the length of a page's array, and the
  * lengths of few pages stay in the cache. They are not larger because G1 allots separate regions
  * to an array of half a megabyte if the heap is small; elements of up to three words stay below
  * that size.
  */
sealed abstract class Paged(elementBytes: Int) {
  import Paged._

  protected[this] var capacity = 0

  /** Resizes page `p` to `size` elements, keeping its content. */
  protected[this] def resizePage(p: Int, size: Int): Unit

  /** Frees all pages. */
  protected[this] def dropPages(): Unit

  /** Grows the array to hold element `i`. All pages before its own get their full size. */
  final protected[this] def grow(i: Int): Unit = {
    val lastPage = i >>> Shift
    var p = capacity >>> Shift
    while (p < lastPage) { resizePage(p, PageSize); p += 1 }
    val at = i & Mask
    val size =
      if (lastPage > 0 && at < PageSize / 2) PageSize / 2
      else math.max(16, Integer.highestOneBit(at) << 1)
    resizePage(lastPage, size)
    capacity = (lastPage << Shift) + size
  }

  final def clear(): Unit = { dropPages(); capacity = 0 }

  final def bytes: Long = elementBytes.toLong * capacity
}

final class PagedInts extends Paged(4) {
  import Paged._

  private[this] var pages = new Array[Array[Int]](1)

  /** The element at `i`; 0 if it was never set. */
  def apply(i: Int): Int = if (i < capacity) pages(i >>> Shift)(i & Mask) else 0

  /** Sets the element at `i`; the array grows to it. */
  def update(i: Int, value: Int): Unit = {
    if (i >= capacity) grow(i)
    pages(i >>> Shift)(i & Mask) = value
  }

  /** Adds `delta` and returns the new value. */
  def add(i: Int, delta: Int): Int = {
    val value = apply(i) + delta
    update(i, value)
    value
  }

  protected[this] def resizePage(p: Int, size: Int): Unit = {
    if (p >= pages.length) pages = Arrays.copyOf(pages, math.max(p + 1, 2 * pages.length))
    pages(p) = if (pages(p) == null) new Array[Int](size) else Arrays.copyOf(pages(p), size)
  }

  protected[this] def dropPages(): Unit = pages = new Array[Array[Int]](1)
}

object PagedInts {

  /** The position of an element in its page. */
  def at(i: Int): Int = i & Paged.Mask

  /** Elements per page. */
  final val PageSize = Paged.PageSize
}

final class PagedLongs extends Paged(8) {
  import Paged._

  private[this] var pages = new Array[Array[Long]](1)

  /** The element at `i`; 0 if it was never set. */
  def apply(i: Int): Long = if (i < capacity) pages(i >>> Shift)(i & Mask) else 0L

  def update(i: Int, value: Long): Unit = {
    if (i >= capacity) grow(i)
    pages(i >>> Shift)(i & Mask) = value
  }

  protected[this] def resizePage(p: Int, size: Int): Unit = {
    if (p >= pages.length) pages = Arrays.copyOf(pages, math.max(p + 1, 2 * pages.length))
    pages(p) = if (pages(p) == null) new Array[Long](size) else Arrays.copyOf(pages(p), size)
  }

  protected[this] def dropPages(): Unit = pages = new Array[Array[Long]](1)
}

final class PagedBytes extends Paged(1) {
  import Paged._

  private[this] var pages = new Array[Array[Byte]](1)

  /** The element at `i`, from −128 to 127; 0 if it was never set. */
  def apply(i: Int): Int = if (i < capacity) pages(i >>> Shift)(i & Mask).toInt else 0

  def update(i: Int, value: Int): Unit = {
    if (i >= capacity) grow(i)
    pages(i >>> Shift)(i & Mask) = value.toByte
  }

  protected[this] def resizePage(p: Int, size: Int): Unit = {
    if (p >= pages.length) pages = Arrays.copyOf(pages, math.max(p + 1, 2 * pages.length))
    pages(p) = if (pages(p) == null) new Array[Byte](size) else Arrays.copyOf(pages(p), size)
  }

  protected[this] def dropPages(): Unit = pages = new Array[Array[Byte]](1)
}

/** A paged array of elements of `width` words each. */
final class PagedWords(val width: Int) extends Paged(8 * width) {
  import Paged._

  private[this] var pages = new Array[Array[Long]](1)

  /** The page of an element that was set; its words begin at `at(i)`. Valid until the next element
    * is set.
    */
  def page(i: Int): Array[Long] = pages(i >>> Shift)

  /** The word of its page at which an element begins. */
  def at(i: Int): Int = (i & Mask) * width

  /** One word of an element. */
  def word(i: Int, offset: Int): Long = if (i < capacity) pages(i >>> Shift)((i & Mask) * width + offset) else 0L

  /** Whether the element is allocated. */
  def holds(i: Int): Boolean = i < capacity

  /** Allocates an element, which is zero until it is set. */
  def reserve(i: Int): Unit = if (i >= capacity) grow(i)

  protected[this] def resizePage(p: Int, size: Int): Unit = {
    if (p >= pages.length) pages = Arrays.copyOf(pages, math.max(p + 1, 2 * pages.length))
    pages(p) = if (pages(p) == null) new Array[Long](size * width) else Arrays.copyOf(pages(p), size * width)
  }

  protected[this] def dropPages(): Unit = pages = new Array[Array[Long]](1)
}

private object Paged {
  final val Shift = 14
  final val PageSize = 1 << Shift
  final val Mask = PageSize - 1
}
