package io.joinless.engine.times

import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.nio.file.StandardOpenOption.{APPEND, CREATE}
import java.nio.file.{Files, Path}
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.scalatest.Reporter
import org.scalatest.events._

/** Records the processor time of each suite in `.build/times/scala.tsv`, with a line
  * `seconds, wall seconds, tests, suite` each.
  *
  * It runs in the process of sbt and reads from the system the process that runs the suite; the
  * environment of that process holds the first letters of its suites' names. Suites of a process
  * run one after the other. If the system has no `/proc`, nothing is written.
  */
final class SuiteTimes extends Reporter {
  import SuiteTimes._

  private val started = new ConcurrentHashMap[String, Reading]
  private val tests = new ConcurrentHashMap[String, Int]

  override def apply(event: Event): Unit = event match {
    case e: SuiteStarting => started.put(e.suiteId, Reading.of(e.suiteId)): Unit
    case e: TestSucceeded => tests.merge(e.suiteId, 1, _ + _): Unit
    case e: TestFailed => tests.merge(e.suiteId, 1, _ + _): Unit
    case e: SuiteCompleted => completed(e.suiteId)
    case e: SuiteAborted => completed(e.suiteId)
    case _ => ()
  }

  private def completed(suite: String): Unit = for {
    before <- Option(started.remove(suite))
    after = Reading.of(suite)
    ticks = after.ticks - before.ticks if ticks >= 0 && after.ticks > 0
  } append(
    f"${ticks / TicksPerSecond}%.2f\t${(after.nanos - before.nanos) / 1e9}%.2f\t${tests.getOrDefault(suite, 0)}\t$suite\n"
  )
}

private object SuiteTimes {

  /** The unit of processor time in Linux, on every machine since 2.6. */
  private val TicksPerSecond = 100.0
  private val file = Path.of(".build", "times", "scala.tsv")

  private def append(line: String): Unit = synchronized {
    Files.createDirectories(file.getParent)
    val _ = Files.write(file, line.getBytes(UTF_8), CREATE, APPEND)
  }

  /** The environment variable of a test process with the prefixes of its suites' names. */
  private val Prefixes = "JOINLESS_SUITES="

  /** The processor time of a suite's process and of the processes it started, and the time of day.
    */
  final private case class Reading(ticks: Long, nanos: Long)

  private object Reading {

    def of(suite: String): Reading = {
      def fits(process: ProcessHandle) = read(process, "environ")
        .split('\u0000')
        .filter(_.startsWith(Prefixes))
        .flatMap(_.drop(Prefixes.length).split(','))
        .filter(suite.startsWith)
        .map(_.length)
        .maxOption
      val fitting = for {
        process <- ProcessHandle.current.descendants.iterator.asScala.toSeq
        length <- fits(process)
      } yield length -> process
      val process = fitting.maxByOption(_._1).map(_._2)
      Reading(process.fold(0L)(tree), System.nanoTime())
    }

    private def tree(process: ProcessHandle): Long =
      (process +: process.descendants.iterator.asScala.toSeq).map(ticks).sum

    /** The process's own ticks and those of its children that have ended: fields 14 to 17, behind
      * the name in parentheses.
      */
    private def ticks(process: ProcessHandle): Long = {
      val line = read(process, "stat")
      line.drop(line.lastIndexOf(')') + 2).split(' ').slice(11, 15).map(_.toLong).sum
    }

    /** A file of a process in `/proc`; empty if the process has ended. */
    private def read(process: ProcessHandle, what: String): String =
      Try(Files.readString(Path.of("/proc", process.pid.toString, what), ISO_8859_1)).getOrElse(") 0")
  }
}
