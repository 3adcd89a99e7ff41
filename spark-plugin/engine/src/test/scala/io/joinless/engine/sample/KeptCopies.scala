package io.joinless.engine.sample

import io.joinless.engine.oracle.CaseChange
import io.joinless.engine.sample.SampledTree.Copy

/** A kept sample under test: that of one tree, or one that is merged from those of several cells.
  */
trait KeptCopies {

  /** The changes of the sample that a batch makes. */
  def play(changes: Iterable[CaseChange], seed: Long): Seq[(Copy, Long)]

  /** The copies that are kept, with their keys. */
  def copies: Map[Copy, Double]
}
