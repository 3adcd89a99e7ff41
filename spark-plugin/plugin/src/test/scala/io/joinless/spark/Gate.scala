package io.joinless.spark

/** Whether tests run in the gate, which plays less of what differs in sizes only, or in a long run,
  * which chooses seeds of its own.
  */
object Gate {
  val isShort: Boolean = !sys.env.contains("JOINLESS_SEED")
}
