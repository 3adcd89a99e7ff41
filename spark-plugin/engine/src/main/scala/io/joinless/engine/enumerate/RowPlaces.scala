package io.joinless.engine.enumerate

/** Where words of the rows of a result lie (`tuples.ShownWords`): those of relation r's row in `pages(r)`, from `starts(r)` on; of relations
  * that have some beside their rows. They hold until the next result.
  */
final class RowPlaces(relations: Int) {
  val pages = new Array[Array[Long]](relations)
  val starts = new Array[Int](relations)

  private[enumerate] def set(relation: Int, page: Array[Long], start: Int): Unit = {
    pages(relation) = page
    starts(relation) = start
  }
}
