package io.joinless.bench.jmh

import io.joinless.bench._
import io.joinless.engine.enumerate.FullEnumeration
import io.joinless.engine.update.{DeltaEnumeration, Restoration}
import io.joinless.engine.view.ViewTree
import java.nio.file.Paths
import java.util.concurrent.TimeUnit
import org.openjdk.jmh.annotations._

/** The engine against the bare index on the path of 3 over one stream of edges: the first target of
  * docs/benchmarks.md.
  *
  * `insert`, `fifo` and `delete` have no results: no edge ends above the threshold. Their `changes`
  * are those of the two remaining relations, two per edge. `delta` and `full` count results: the
  * engine's cursor yields their row ids, the bare index reads their vertices.
  */
@State(Scope.Benchmark)
@BenchmarkMode(Array(Mode.Throughput))
@OutputTimeUnit(TimeUnit.SECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 1, jvmArgsAppend = Array("-XX:+UseSerialGC", "-Xmx3g"))
class PathBenchmark {

  @Param(Array("joinless", "bare"))
  var system: String = _

  /** The size of the generated graph. */
  @Param(Array("50000"))
  var edges: Int = _

  /** A folder of batches of `src,dst` to use instead of the generated graph. */
  @Param(Array(""))
  var folder: String = _

  /** The per cent of the edges with which a result may end. */
  @Param(Array("100"))
  var percent: Double = _

  private var graph: EdgeBatch = _
  private var none, some: GraphQuery = _
  private var window: EdgeStream = _
  private var deletions: EdgeBatch = _
  private var loaded: ViewTree = _
  private var index: BarePath = _

  @Setup
  def generate(): Unit = {
    graph = if (folder.isEmpty) Graphs.generate(edges) else Graphs.read(Paths.get(folder))
    none = query(Long.MaxValue)
    some = query(Graphs.threshold(graph, percent))
    window = EdgeStream.of(graph.src, graph.dst, batches = 20, window = Some(4))
    deletions = new EdgeBatch(graph.weights.map(w => (-w).toByte), graph.src, graph.dst)
    loaded = loadTree()
    index = loadIndex()
  }

  /** An empty state of the chosen `system`. */
  private def empty(query: GraphQuery, deletes: Boolean): Maintenance =
    if (joinless) EngineRun(query, deletes) else BareIndex(query)

  private def joinless = system == "joinless"

  private def query(threshold: Long) = GraphQuery(star = false, IndexedSeq(0, 0, 0), threshold, columns = 4)

  @Benchmark
  def insert(counted: Changes): Maintenance = {
    val maintenance = empty(none, deletes = false)
    maintenance(IndexedSeq(graph))
    counted.changes += 2 * graph.size
    maintenance
  }

  @Benchmark
  def fifo(counted: Changes): Maintenance = {
    val maintenance = empty(none, deletes = true)
    for (batch <- window.batches) {
      maintenance(batch)
      counted.changes += 2 * batch.head.size
    }
    maintenance
  }

  @Benchmark
  def delete(full: Full, counted: Changes): Maintenance = {
    full.maintenance(IndexedSeq(deletions))
    counted.changes += 2 * graph.size
    full.maintenance
  }

  @Benchmark
  def delta(counted: Results): Long = if (joinless) {
    val tree = new ViewTree(some.block(deletes = false))
    val delta = new DeltaEnumeration(tree, IndexedSeq.empty)
    var seen = 0L
    eachRow(tree) { (roles, row) =>
      var left = roles
      while (left != 0) {
        delta.insert(java.lang.Long.numberOfTrailingZeros(left), row)
        while (delta.next()) seen += delta.rows(0) + delta.rows(2)
        left &= left - 1
      }
    }
    counted.results += tree.counters.results
    seen
  } else {
    val index = BareIndex(some)
    index(IndexedSeq(graph))
    counted.results += index.plus
    index.check
  }

  @Benchmark
  def full(counted: Results): Long = if (joinless) {
    val all = new FullEnumeration(loaded, IndexedSeq.empty)
    val before = loaded.counters.results
    var seen = 0L
    while (all.next()) seen += all.rows(0) + all.rows(2)
    counted.results += loaded.counters.results - before
    seen
  } else {
    val before = index.plus
    index.enumerate()
    counted.results += index.plus - before
    index.check
  }

  @Benchmark
  def rebuild(counted: StoredRows): AnyRef = {
    counted.rows += graph.size
    if (joinless) loadTree() else loadIndex()
  }

  private def loadTree(): ViewTree = {
    val tree = new ViewTree(some.block(deletes = false))
    val restoration = new Restoration(tree)
    eachRow(tree)(restoration.load)
    restoration.finish()
    tree
  }

  private def loadIndex(): BarePath = {
    val index = new BarePath(some.threshold)
    index.load(graph)
    index
  }

  /** Stores the rows of the graph in the arena, one by one. */
  private def eachRow(tree: ViewTree)(f: (Long, Int) => Unit): Unit = {
    val words = new Array[Long](EdgeRow.Plain.words)
    var i = 0
    while (i < graph.size) {
      f(
        some.roles(0, graph.dst(i)),
        tree.arena(0).append(words, 0, EdgeRow.Plain.write(words, graph.src(i), graph.dst(i)))
      )
      i += 1
    }
  }

  private[jmh] def fill(): Maintenance = {
    val maintenance = empty(none, deletes = true)
    maintenance(IndexedSeq(graph))
    maintenance
  }
}

/** A state that holds the whole graph. */
@State(Scope.Benchmark)
class Full {
  var maintenance: Maintenance = _

  @Setup(Level.Invocation)
  def fill(benchmark: PathBenchmark): Unit = maintenance = benchmark.fill()
}

// A secondary counter: the score counts passes over the graph, this one changes, both per second.

@AuxCounters(AuxCounters.Type.OPERATIONS)
@State(Scope.Thread)
class Changes {
  var changes = 0L

  @Setup(Level.Iteration)
  def reset(): Unit = changes = 0
}

@AuxCounters(AuxCounters.Type.OPERATIONS)
@State(Scope.Thread)
class Results {
  var results = 0L

  @Setup(Level.Iteration)
  def reset(): Unit = results = 0
}

@AuxCounters(AuxCounters.Type.OPERATIONS)
@State(Scope.Thread)
class StoredRows {
  var rows = 0L

  @Setup(Level.Iteration)
  def reset(): Unit = rows = 0
}
