package io.joinless.suites

import org.scalatest.Reporter
import org.scalatest.events._

/** Records the outcome of every test, and suites that could not run. */
class Outcomes extends Reporter {

  override def apply(event: Event): Unit = event match {
    case e: TestSucceeded => outcome(e, "passed", e.suiteName, e.testName, e.duration, "")
    case e: TestFailed =>
      outcome(e, "failed", e.suiteName, e.testName, e.duration, message(e.message, e.throwable))
    case e: TestCanceled => outcome(e, "canceled", e.suiteName, e.testName, e.duration, e.message)
    case e: TestIgnored => outcome(e, "ignored", e.suiteName, e.testName, None, "")
    case e: TestPending => outcome(e, "pending", e.suiteName, e.testName, e.duration, "")
    case e: SuiteAborted => Record.add("aborted", e.suiteName, message(e.message, e.throwable))
    case e: RunAborted => Record.add("aborted", "", message(e.message, e.throwable))
    case _: RunCompleted => Record.add("completed")
    case _ =>
  }

  private def outcome(event: Event, word: String, suite: String, test: String, took: Option[Long], why: String): Unit =
    Record.add(
      "test",
      suite,
      word,
      (event.timeStamp - took.getOrElse(0L)).toString,
      event.timeStamp.toString,
      test,
      why
    )

  private def message(text: String, thrown: Option[Throwable]): String = {
    val causes = Iterator.iterate(thrown.orNull)(_.getCause).takeWhile(_ != null).take(5).map(_.toString).toSeq
    (text +: causes).distinct.mkString(" <- ").take(4000)
  }
}
