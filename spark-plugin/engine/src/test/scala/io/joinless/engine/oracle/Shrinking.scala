package io.joinless.engine.oracle

/** Shrinks a failing case: fewer batches, fewer changes, simpler changes, as long as it still
  * fails.
  */
object Shrinking {

  /** The failure of a case, if it fails. */
  def failure(query: Case): Option[Mismatch] =
    try { new EngineRun(query).run(); None }
    catch { case e: Mismatch => Some(e) }

  def shrink(query: Case): Case = {
    var smallest = query
    var smaller = candidates(smallest).find(failure(_).isDefined)
    while (smaller.isDefined) {
      smallest = smaller.get
      smaller = candidates(smallest).find(failure(_).isDefined)
    }
    smallest
  }

  private def candidates(query: Case): Iterator[Case] = {
    val batches = query.batches
    val chunks = Iterator.iterate(batches.size / 2)(_ / 2).takeWhile(_ > 0)
    val fewerBatches = for {
      size <- chunks
      from <- Iterator.range(0, batches.size, size)
    } yield batches.patch(from, Nil, size)
    val fewerChanges = for {
      b <- batches.indices.iterator
      c <- batches(b).indices
    } yield batches.updated(b, batches(b).patch(c, Nil, 1))
    val plainerChanges = for {
      b <- batches.indices.iterator
      c <- batches(b).indices
      change = batches(b)(c)
      plain <- bits(change.roles).map(r => change.copy(roles = change.roles & ~(1L << r))).filter(_.roles != 0) ++
        Seq(change.copy(weight = change.weight.sign.toLong)).filter(_ != change)
    } yield batches.updated(b, batches(b).updated(c, plain))
    val fewerConditions =
      query.residuals.indices.iterator.map(i => query.copy(residuals = query.residuals.patch(i, Nil, 1)))
    fewerConditions ++ (fewerBatches ++ fewerChanges ++ plainerChanges).map(b => query.copy(batches = b))
  }

  private def bits(set: Long): Seq[Int] = (0 until 64).filter(r => (set >>> r & 1L) != 0)
}
