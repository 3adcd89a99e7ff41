package io.joinless.engine.enumerate

/** A condition on several relations that is no equi-join condition (`a.x < b.y`). It is evaluated
  * during enumeration, at the first cursor level where all its relations are bound. With residuals
  * the delay between results is no longer constant (algorithms A26).
  */
trait Residual {

  /** The relations whose rows the condition reads. */
  def relations: IndexedSeq[Int]

  /** The same as a bit set. */
  final def relationSet: Long = relations.foldLeft(0L)((bits, r) => bits | 1L << r)

  /** @param rows row id per relation; only those of `relations` are bound */
  def accept(rows: Array[Int]): Boolean
}
