package io.joinless.spark.views

import io.joinless.spark.errors.JoinlessErrors
import org.apache.spark.SparkException
import org.scalatest.funsuite.AnyFunSuite

class FailureSpec extends AnyFunSuite {

  /** As Spark wraps the error of a batch. */
  private def stream(cause: Throwable): Throwable = new SparkException(
    "STREAM_FAILED",
    Map("id" -> "7", "runId" -> "8", "message" -> String.valueOf(cause.getMessage)),
    cause
  )

  private def python(error: String): Throwable =
    new RuntimeException(
      s"Return Message: Traceback (most recent call last):\n  File x, in f\nan.Error: $error\n\n at y"
    )

  test("the error of a batch is that inside of Spark's wrappers") {
    val divided = new SparkException("DIVIDE_BY_ZERO", Map("config" -> "\"ansi\""), null)
    assert(Failure.line(stream(divided)).startsWith("[DIVIDE_BY_ZERO] Division by zero."))
    assert(Failure.line(stream(new RuntimeException("job aborted", divided))).startsWith("[DIVIDE_BY_ZERO] "))
  }

  test("an error of Joinless is found before others, in causes and in texts") {
    val ours = JoinlessErrors.weightOverflow()
    val line = ours.getMessage.split(" SQLSTATE").head
    assert(Failure.line(stream(new SparkException("TASK_WRITE_FAILED", Map("path" -> "/t"), ours))) == line)
    assert(Failure.line(stream(python(s"${ours.getMessage} [DIVIDE_BY_ZERO] so"))) == line)
  }

  test("an error of a function in Python is found in its text") {
    val text = "[DELTA_CONCURRENT_APPEND.WITH_HINT] Files were added. SQLSTATE: 2D521"
    assert(Failure.line(stream(python(text))) == "[DELTA_CONCURRENT_APPEND.WITH_HINT] Files were added.")
    assert(Failure.line(stream(python("[Errno 2] no file"))).startsWith("[STREAM_FAILED] "))
  }

  test("an error of several lines is one line, and says what to do about a table that has changed") {
    val text =
      "[DELTA_MISSING_CHANGE_DATA] Changes of [5, 5] were not\nrecorded.\n Use ALTER TABLE. SQLSTATE: KD002\n\tat io.x(y)"
    val line = "[DELTA_MISSING_CHANGE_DATA] Changes of [5, 5] were not recorded. Use ALTER TABLE."
    assert(Failure.line(stream(python(text))) == line)
    assert(Failure.line(stream(python(text.replace("\n", "\\n")))) == line)
    assert(Failure.advice("sums", line).exists(_.contains("joinless.replace('sums') reads all tables again")))
    assert(Failure.advice("sums", "[DELTA_CONCURRENT_APPEND.WITH_HINT] Files were added.").isEmpty)
    assert(Failure.advice("sums", "[DIVIDE_BY_ZERO] Division by zero.").isEmpty)
  }

  test("an error without a condition is one line") {
    assert(Failure.line(new IllegalStateException("closed\nlong ago")) == "closed")
    assert(Failure.line(new NullPointerException()) == "java.lang.NullPointerException")
  }
}
