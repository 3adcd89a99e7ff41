package io.joinless.spark.exec.operator

/** An iterator over rows with an action that runs once, when the rows are exhausted. */
private[exec] object AtEnd {

  /** The rows; `done` runs when `hasNext` first finds that there is none left. */
  def apply[A](rows: Iterator[A])(done: => Unit): Iterator[A] = new Iterator[A] {
    private[this] var open = true
    override def hasNext: Boolean = {
      val more = rows.hasNext
      if (!more && open) {
        open = false
        done
      }
      more
    }
    override def next(): A = rows.next()
  }
}
