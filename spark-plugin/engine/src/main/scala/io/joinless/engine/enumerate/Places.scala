package io.joinless.engine.enumerate

/** Pointers to the projected words of a result (`view.ShownFields`). The words of place p lie in
  * `pages(p)`, from `starts(p)` on. The pointers are valid until the next result.
  */
final class Places(places: Int) {
  val pages = new Array[Array[Long]](places)
  val starts = new Array[Int](places)

  private[enumerate] def set(place: Int, page: Array[Long], start: Int): Unit = {
    pages(place) = page
    starts(place) = start
  }
}
