package io.joinless.engine.enumerate

/** Where words that results show lie (`view.ShownFields`): those of place p in `pages(p)`, from `starts(p)` on. They hold until the next
  * result.
  */
final class Places(places: Int) {
  val pages = new Array[Array[Long]](places)
  val starts = new Array[Int](places)

  private[enumerate] def set(place: Int, page: Array[Long], start: Int): Unit = {
    pages(place) = page
    starts(place) = start
  }
}
