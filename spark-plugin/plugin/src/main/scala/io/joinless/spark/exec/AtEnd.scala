package io.joinless.spark.exec

/** Rows, and what is done once, when there are no more of them. */
private[exec] object AtEnd {

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
