package io.joinless.spark

/** Spark's own test mode, in which users run their suites: it applies each batch of rules twice,
  * checks plans after every rule, and refuses transformations inside the analyzer. Spark reads the
  * property each time.
  */
object SparkTestMode {
  private val property = "spark.testing"

  def on[A](body: => A): A = {
    val before = Option(System.getProperty(property))
    System.setProperty(property, "true")
    try body
    finally {
      val _ = before.fold(System.clearProperty(property))(System.setProperty(property, _))
    }
  }
}
