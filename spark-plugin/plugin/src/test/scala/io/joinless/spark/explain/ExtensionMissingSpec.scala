package io.joinless.spark.explain

import io.joinless.spark.SharedSpark
import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.joinless.WithoutExtension
import org.apache.spark.sql.streaming.{StreamingQueryException, Trigger}
import org.scalatest.funsuite.AnyFunSuite

class ExtensionMissingSpec extends AnyFunSuite with SharedSpark {

  private lazy val without = WithoutExtension(spark)

  private def run(mode: String, provider: String = classOf[ExtendedExplain].getName): Unit = {
    without.conf.set("spark.joinless.mode", mode)
    without.conf.set("spark.sql.extendedExplainProviders", provider)
    without.withActive {
      val stream = without.readStream.format("rate").load()
      stream.writeStream.format("noop").trigger(Trigger.AvailableNow()).start().awaitTermination()
    }
  }

  test("under mode=force a stream fails where the extension is not there, and says so") {
    val error = intercept[AnalysisException](run("force"))
    assert(error.getCondition == "JOINLESS_EXTENSION_NOT_INSTALLED", "when it starts")
  }

  test("under mode=auto it runs with Spark's plans") {
    run("auto")
  }

  test("switched off it runs with Spark's plans, whatever the mode") {
    without.conf.set("spark.joinless.enabled", "false")
    try run("force")
    finally without.conf.unset("spark.joinless.enabled")
  }

  test("a jar that is missing stops it, too") {
    val error = intercept[StreamingQueryException](run("auto", "io.joinless.spark.explain.NotThere"))
    assert(error.getMessage.contains("NotThere"))
  }
}
