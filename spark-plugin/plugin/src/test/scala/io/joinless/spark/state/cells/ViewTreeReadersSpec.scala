package io.joinless.spark.state.cells

import java.util.UUID
import java.util.concurrent.{Callable, CyclicBarrier, ExecutorService, Executors, Future, TimeUnit}

import scala.util.Random

import io.joinless.engine.Paths
import io.joinless.engine.view.RowStore
import io.joinless.spark.state.log.LogEnd
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

/** Readers of a tree while batches want it. The tree is counted and enumerated from one state
  * ([[Paths]]); a reader compares all results and all counts with the edges of its version.
  */
class ViewTreeReadersSpec extends AnyFunSuite with BeforeAndAfterAll {
  private val pool: ExecutorService = Executors.newFixedThreadPool(4)
  private val run = UUID.randomUUID()
  private val cell = CellId("checkpoint/state", 0L, 0)
  private def at(version: Long) = StateVersion(run, version, None)

  override def afterAll(): Unit = { val _ = pool.shutdownNow() }

  private def later[A](body: => A): Future[A] = pool.submit(new Callable[A] { override def call(): A = body })
  private def get[A](future: Future[A]): A = future.get(1, TimeUnit.MINUTES)

  /** A batch: checks the tree out, or builds another one from the edges; true if it was there. */
  private def batch(cache: ViewTreeCache, version: Long, edges: Paths => Paths, random: Random): (Paths, Boolean) = {
    val lease = cache.checkOut(cell, at(version))
    val found = lease.cached.collect { case state: PathState => state.paths }
    val paths = found.getOrElse(edges(null))
    paths.play(paths.draw(random))
    lease.checkIn(new PathState(paths), at(version + 1), Long.MaxValue)
    (paths, found.isDefined)
  }

  test("a batch waits for two readers, and they read one version to the end") {
    val (cache, random) = (new ViewTreeCache(patience = 60000), new Random(1))
    var (paths, _) = batch(cache, 0, _ => new Paths(deletes = true), random)
    for (version <- 1L to 40L) {
      val expected = paths.expected
      val begun = new CyclicBarrier(3) // both readers have the tree before the batch asks for it
      val readers = Seq.fill(2)(later {
        val reading = cache.read(cell, at(version)).get
        begun.await(1, TimeUnit.MINUTES)
        try reading.state.asInstanceOf[PathState].paths.read()
        finally reading.close()
      })
      begun.await(1, TimeUnit.MINUTES)
      val (next, found) = batch(cache, version, _ => fail("the tree is there"), random)
      assert(found && readers.map(get(_)) === Seq(expected, expected))
      assert(cache.read(cell, at(version)).isEmpty, "the version is gone")
      paths = next
    }
  }

  test("a batch does not wait for ever: the readers keep the tree, the batch rebuilds its own") {
    val (cache, random) = (new ViewTreeCache(patience = 20), new Random(2))
    val (paths, _) = batch(cache, 0, _ => new Paths(deletes = true), random)
    val expected = paths.expected
    val readers = Seq.fill(2)(cache.read(cell, at(1)).get)
    val alone = cache.bytes
    val (next, found) = batch(cache, 1, _ => paths.copied(), random)
    assert(!found && (next ne paths) && next.expected != expected)
    assert(cache.bytes > alone, "both trees are counted")
    for (reader <- readers) assert(reader.state.asInstanceOf[PathState].paths.read() === expected)
    readers.foreach(_.close())
    assert(cache.bytes === next.tree.bytes && cache.size === 1)
  }

  test("a tree that is worked on, or of another version, is not read; one that is read makes no room") {
    val (cache, random) = (new ViewTreeCache(patience = 20), new Random(3))
    assert(cache.read(cell, at(0)).isEmpty)
    batch(cache, 0, _ => new Paths(deletes = true), random)
    assert(cache.read(cell, at(0)).isEmpty && cache.read(cell, at(2)).isEmpty)
    val reading = cache.read(cell, at(1)).get
    val other = cache.checkOut(CellId("other", 0L, 0), at(0))
    other.resize(1L, limit = 1L)
    assert(cache.size === 1)
    reading.close()
    other.resize(1L, limit = 1L)
    assert(cache.size === 0)
    other.release()
    val lease = cache.checkOut(cell, at(1))
    assert(cache.read(cell, at(1)).isEmpty)
    lease.release()
  }

  test("the batch before is read where the last one only inserted rows; a reader waits for its task, for a moment") {
    val (cache, paths) = (new ViewTreeCache(patience = 60000), new Paths(deletes = false))
    val undo = new Undo {
      override def apply(): CellState = fail("nothing is rolled back")
      override def bytes: Long = 0L
    }
    def checkIn(lease: ViewTreeCache#Lease, version: Long, before: Option[IndexedSeq[Int]]): Unit =
      lease.checkIn(new PathState(paths, before), at(version), Long.MaxValue, Some(at(version - 1) -> undo))
    checkIn(cache.checkOut(cell, at(0)), 1, Some(IndexedSeq(5)))
    def read(version: Long) = cache.readOrNewer(cell, at(version)).map { r => r.close(); r.before }
    assert(read(1) === Some(None) && read(0) === Some(Some(IndexedSeq(5))) && read(2) === None)
    assert(cache.read(cell, at(0)).isEmpty)
    val lease = cache.checkOut(cell, at(1))
    assert(read(0) === None, "two batches later")
    val waiting = later(read(1))
    Thread.sleep(50)
    assert(!waiting.isDone)
    checkIn(lease, 2, Some(IndexedSeq(7)))
    assert(get(waiting) === Some(Some(IndexedSeq(7))))
    checkIn(cache.checkOut(cell, at(2)), 3, None)
    assert(read(2) === None && read(3) === Some(None))
    val impatient = new ViewTreeCache(patience = 40)
    val slow = impatient.checkOut(cell, at(1))
    assert(impatient.readOrNewer(cell, at(1)).isEmpty)
    slow.release()
  }
}

final private class PathState(val paths: Paths, override val before: Option[IndexedSeq[Int]] = None)
    extends CellState(LogEnd.Empty) {
  override def views: RowStore = paths.tree
  override protected def bytesOfParts: Long = 0L
  override def logRows: Long = 0L
}
