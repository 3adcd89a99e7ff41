package io.joinless.engine.sample

/** From which seed the random numbers of one batch in one cell follow: those of different cells and
  * batches are independent, and the same batch has the same again.
  */
object SampleSeed {

  /** @param ofSample the seed that the user has given, or that was drawn for the sample */
  def apply(ofSample: Long, cell: Int, batch: Long): Long = mixed(mixed(mixed(ofSample), cell.toLong), batch)

  private def mixed(seed: Long, number: Long): Long = mixed(seed ^ number * 0x9e3779b97f4a7c15L)

  private def mixed(seed: Long): Long = {
    val z = (seed ^ seed >>> 30) * 0xbf58476d1ce4e5b9L
    val y = (z ^ z >>> 27) * 0x94d049bb133111ebL
    y ^ y >>> 31
  }
}
