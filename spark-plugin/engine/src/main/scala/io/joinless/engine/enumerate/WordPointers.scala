package io.joinless.engine.enumerate

/** Pointers to the projected words of a result (`view.FieldLocations`). The words of pointer p lie
  * in `pages(p)`, from `starts(p)` on. The pointers are valid until the next result.
  */
final class WordPointers(pointers: Int) {
  val pages = new Array[Array[Long]](pointers)
  val starts = new Array[Int](pointers)

  private[enumerate] def set(pointer: Int, page: Array[Long], start: Int): Unit = {
    pages(pointer) = page
    starts(pointer) = start
  }
}
