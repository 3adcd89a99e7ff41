package io.joinless.bench

import java.io.FileWriter
import java.lang.management.ManagementFactory
import java.nio.file.{Path, Paths}

/** Runs a job of benchmarks/jobs.py on the engine alone or on the bare index, without Spark: the
  * last target of docs/benchmarks.md.
  *
  * Arguments: `engine`, `wide` (the engine over wide rows, [[EdgeRow]]) or `bare`, report file,
  * `path` or `star`, columns, threshold, batches, runs, whether to warm up (0: not), and the folder
  * of each relation. For a grouped job: `engine`, report file, `grouped`, the clauses of the query
  * and the columns of each relation in one argument each, separated by semicolons; then batches and
  * so on as before. Appends the events of the job's report. Those of a run have in addition `cpu`,
  * the seconds for which the one thread had a core (including writing the report), `heap`, the
  * bytes that the run still holds at its end (heap in use after a collection, less that before it),
  * and for the engine `changes` (inserted and deleted rows, once per relation) and its counters
  * `steps` (of propagation) and `moves` (of cursors).
  *
  * Reading the files is not measured. All runs are in this process, one after the other. So are
  * several jobs, their arguments separated by `--`: tests run many tiny ones.
  */
object EngineJob {

  def main(args: Array[String]): Unit = args.indexOf("--") match {
    case -1 => job(args)
    case end =>
      job(args.take(end))
      main(args.drop(end + 1))
  }

  private def job(args: Array[String]): Unit = args match {
    case Array(_, report, "grouped", clauses, columns, batches, runs, warmUp, folders @ _*) =>
      val paths = folders.map(Paths.get(_)).toIndexedSeq
      val inputs = paths.distinct
      val widths = columns.split(';').map(_.toInt)
      val ofInput = inputs.map(input => widths(paths.indexOf(input)))
      val query = new GroupedQuery(paths.map(inputs.indexOf(_)), ofInput, clauses.split(';').toSeq)
      val stream = RowStream.read(inputs, ofInput, batches.toInt)
      reporting(report, "joinless-engine") { file =>
        measure[IndexedSeq[RowBatch], GroupedRun](stream, runs.toInt, warmUp.toInt, file)(
          () => new GroupedRun(query),
          _(_)
        )
      }
    case Array(system, report, shape, columns, threshold, batches, runs, warmUp, folders @ _*)
        if names.contains(system) =>
      val paths = folders.map(Paths.get(_)).toIndexedSeq
      val inputs = paths.distinct
      val rows = if (system == "wide") EdgeRow.Wide else EdgeRow.Plain
      val query = GraphQuery(shape == "star", paths.map(inputs.indexOf(_)), threshold.toLong, columns.toInt, rows)
      val stream = EdgeStream.read(inputs, batches.toInt)
      val deletes = stream.deletes
      reporting(report, names(system)) { file =>
        measure[IndexedSeq[EdgeBatch], Maintenance](stream.batches, runs.toInt, warmUp.toInt, file)(
          () => if (system == "bare") BareIndex(query) else EngineRun(query, deletes),
          _(_)
        )
      }
    case _ => sys.error("arguments: engine|wide|bare report path|star columns threshold batches runs warm-up folder...")
  }

  private val names = Map("engine" -> "joinless-engine", "wide" -> "joinless-engine-wide", "bare" -> "bare-index")

  private def reporting(report: String, system: String)(body: Report => Unit): Unit = {
    val file = new Report(Paths.get(report))
    try {
      file.start(system)
      body(file)
    } finally file.close()
  }

  private def measure[Batch, M <: Emitted](stream: IndexedSeq[Batch], runs: Int, warmUp: Int, file: Report)(
      fresh: () => M,
      apply: (M, Batch) => Unit
  ): Unit = {
    if (warmUp > 0) compile(stream, fresh, apply)
    for (r <- 0 until runs) {
      val before = heap()
      val maintenance = fresh()
      val cpu = threads.getCurrentThreadCpuTime
      val seconds = run(maintenance, stream, apply, file.batch(r, _, _, _))
      file.run(r, seconds, (threads.getCurrentThreadCpuTime - cpu) / 1e9, maintenance, heap() - before)
    }
  }

  /** Runs the stream unmeasured, so that the virtual machine has compiled the measured code: a
    * thousand times, or as often as fits in five seconds.
    */
  private def compile[Batch, M <: Emitted](
      stream: IndexedSeq[Batch],
      fresh: () => M,
      apply: (M, Batch) => Unit
  ): Unit = {
    val end = System.nanoTime + 5000000000L
    for (_ <- 1 to 1000 if System.nanoTime < end) {
      val maintenance = fresh()
      for (batch <- stream) if (System.nanoTime < end) apply(maintenance, batch)
    }
  }

  private val threads = ManagementFactory.getThreadMXBean

  /** The seconds of all batches; reports (batch, seconds, change) of each. */
  private def run[Batch, M <: Emitted](
      maintenance: M,
      stream: IndexedSeq[Batch],
      apply: (M, Batch) => Unit,
      report: (Int, Double, Changed) => Unit
  ): Double = {
    var total = 0.0
    var b = 0
    while (b < stream.size) {
      val (plus, minus, check) = (maintenance.plus, maintenance.minus, maintenance.check)
      val start = System.nanoTime
      apply(maintenance, stream(b))
      val seconds = (System.nanoTime - start) / 1e9
      total += seconds
      report(b, seconds, Changed(maintenance.plus - plus, maintenance.minus - minus, maintenance.check - check))
      b += 1
    }
    total
  }

  private def heap(): Long = {
    System.gc()
    val runtime = Runtime.getRuntime
    runtime.totalMemory - runtime.freeMemory
  }
}

/** Rows gained and lost in a batch, and their check. */
final private case class Changed(plus: Long, minus: Long, check: Long)

/** The report of a job, a line of JSON per event; written every 200 ms, so that batches of one edge
  * cost little.
  */
final private class Report(path: Path) {
  private[this] val file = new FileWriter(path.toFile, true)
  private[this] val lines = new java.lang.StringBuilder
  private[this] var flushed = System.nanoTime

  def start(system: String): Unit = {
    val runtime = ManagementFactory.getRuntimeMXBean
    val flags = runtime.getInputArguments.toArray.mkString(" ")
    lines.append(s"""{"event": "start", "system": "$system", "version": "${System.getProperty(
        "joinless.version",
        ""
      )}", """)
      .append(s""""settings": "Java ${Runtime.version}, $flags"}""").append('\n')
    flush()
  }

  def batch(run: Int, batch: Int, seconds: Double, changed: Changed): Unit = {
    lines.append("{\"event\": \"batch\", \"run\": ").append(run).append(", \"batch\": ").append(batch)
      .append(", \"seconds\": ").append(seconds).append(", \"plus\": ").append(changed.plus)
      .append(", \"minus\": ").append(changed.minus)
      .append(", \"check\": ").append(java.lang.Long.toUnsignedString(changed.check)).append("}\n")
    if (System.nanoTime - flushed > Report.Interval) flush()
  }

  def run(run: Int, seconds: Double, cpu: Double, of: Emitted, heap: Long): Unit = {
    val figures = Seq(
      "plus" -> of.plus.toString,
      "minus" -> of.minus.toString,
      "check" -> java.lang.Long.toUnsignedString(of.check),
      "state_rows" -> of.stateRows.toString,
      "state_bytes" -> of.stateBytes.toString
    ) ++ of.figures.map { case (name, value) => name -> value.toString } :+ ("heap" -> heap.toString)
    lines.append(s"""{"event": "run", "run": $run, "seconds": $seconds, "cpu": $cpu""")
    for ((name, value) <- figures) lines.append(s""", "$name": $value""")
    lines.append("}\n")
    flush()
  }

  def close(): Unit = { flush(); file.close() }

  private def flush(): Unit = {
    file.append(lines)
    file.flush()
    lines.setLength(0)
    flushed = System.nanoTime
  }
}

private object Report {
  final val Interval = 200L * 1000 * 1000
}
