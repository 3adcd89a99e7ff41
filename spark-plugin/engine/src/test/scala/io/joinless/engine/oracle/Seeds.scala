package io.joinless.engine.oracle

/** Seeds of tests that have none of their own: the same in every run, so that the gate says the same of the same code.
  *
  * With a number as JOINLESS_SEED they are others, as in the long run, which takes the number from the clock and prints it.
  */
object Seeds {
  private val chosen = sys.env.get("JOINLESS_SEED").fold(0L)(_.toLong)

  def of(test: String): Long = (chosen << 32) + (test.hashCode & 0x7fffffffL)
}
