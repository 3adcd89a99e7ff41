package io.joinless.engine.oracle

/** Seeds of tests that have none of their own. They are the same in every run, so that the gate
  * gives the same verdict on the same code.
  *
  * A number in JOINLESS_SEED changes them, as in the long run, which takes the number from the
  * clock and prints it.
  */
object Seeds {
  private val chosen = sys.env.get("JOINLESS_SEED").fold(0L)(_.toLong)

  def of(test: String): Long = (chosen << 32) + (test.hashCode & 0x7fffffffL)
}
