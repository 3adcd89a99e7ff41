package io.joinless.suites

import io.joinless.spark.spec.StateFormat
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.streaming.StreamTest

/** Checks that sessions of Spark's suites have the extension exactly if the property
  * `joinless.suites.extension` is true, by the plan and the progress of a join of two streams.
  */
class ExtensionSuite extends StreamTest {
  import testImplicits._

  private val expected = System.getProperty("joinless.suites.extension").toBoolean

  test("a join of two streams is planned as is expected") {
    val left = MemoryStream[Int]
    val right = MemoryStream[Int]
    val joined = left.toDF().toDF("a").join(right.toDF().toDF("b"), $"a" === $"b")
    testStream(joined)(
      AddData(left, 1, 2),
      AddData(right, 2, 3),
      CheckAnswer((2, 2)),
      Execute { query =>
        val stateful = query.lastProgress.stateOperators.map(_.operatorName).toSeq
        val ours = stateful == Seq(StateFormat.OperatorName)
        assert(ours == expected, s"stateful operators: $stateful\n${query.lastExecution.executedPlan}")
        assert(query.lastExecution.executedPlan.toString.contains("StreamingSymmetricHashJoin") != expected)
      }
    )
  }
}
