package io.joinless.spark

import io.joinless.spark.conf.Built
import org.apache.spark.sql.joinless.Unobserved
import org.apache.spark.sql.SparkSession
import org.scalatest.Assertions

/** The one Spark session of all tests of a JVM, with the extension installed. A test that changes
  * confs works on `spark.newSession()` or restores them with `withConf`.
  */
trait SharedSpark {

  def spark: SparkSession = SharedSpark.session

  /** Runs `body` with some confs set, and restores them after it. */
  def withConf[A](confs: (String, String)*)(body: => A): A = {
    val before = confs.map { case (key, _) => key -> spark.conf.getOption(key) }
    confs.foreach { case (key, value) => spark.conf.set(key, value) }
    try body
    finally
      before.foreach {
        case (key, Some(value)) => spark.conf.set(key, value)
        case (key, None) => spark.conf.unset(key)
      }
  }
}

object SharedSpark {

  /** Cancels the test where Spark refuses joins of streams in update mode. */
  def assumeUpdateMode(): Unit = {
    val _ = Assertions.assume(Built.Spark != "4.1", "Spark 4.1 has no joins of streams in update mode")
  }

  lazy val session: SparkSession = {
    val session = SparkSession
      .builder()
      .master("local[2,4]")
      .appName("joinless-tests")
      .config("spark.sql.extensions", "io.joinless.spark.JoinlessExtension")
      .config("spark.sql.shuffle.partitions", "2")
      .config("spark.joinless.placement.maxCells", "1000") // partitions determine the number of cells, not the machine
      // plans live shorter than their compilation takes; the tests in Python run with generated
      // code
      .config("spark.sql.codegen.wholeStage", "false")
      .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
      .config("spark.buffer.pageSize", "1m") // each hash table and each sort takes one; Spark would take 64 MB
      .config("spark.ui.enabled", "false")
      .config("spark.sql.ui.explainMode", "simple") // made for each batch, even if nobody reads it
      .config("spark.ui.retainedJobs", "20")
      .config("spark.ui.retainedStages", "20")
      .config("spark.ui.retainedTasks", "200")
      .config("spark.sql.ui.retainedExecutions", "20")
      .config(
        "spark.sql.warehouse.dir",
        s"${System.getProperty("java.io.tmpdir")}/joinless-warehouse-${ProcessHandle.current.pid}"
      )
      .config("spark.sql.streaming.forceDeleteTempCheckpointLocation", "true")
      .config("spark.log.level", "WARN")
      .getOrCreate()
    LocalFiles.use(session.sparkContext.hadoopConfiguration)
    Unobserved(session)
    session
  }
}
