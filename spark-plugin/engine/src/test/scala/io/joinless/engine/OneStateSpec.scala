package io.joinless.engine

import java.util.concurrent.{Callable, Executors, TimeUnit}

import scala.util.Random

import io.joinless.engine.update.Reversal
import org.scalatest.funsuite.AnyFunSuite

/** One block, of paths of three edges, is listed and counted per vertex from one state:
  * {{{
  * SELECT a.src, a.dst, b.dst, c.dst FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src
  * SELECT <vertex>, COUNT(*) FROM … GROUP BY <vertex>      the vertex at the root of the tree
  * }}}
  * The oracle keeps the edges as a bag and follows them.
  */
class OneStateSpec extends AnyFunSuite {

  for (kind <- Seq("appended", "inserted and deleted"))
    test(s"rows, counts, roll-backs and rebuilds of edges that are $kind, and two readers between batches") {
      val random = new Random(48)
      val readers = Executors.newFixedThreadPool(2)
      try {
        var paths = new Paths(deletes = kind != "appended")
        for (batch <- 1 to 60) {
          val changes = paths.draw(random)
          if (random.nextInt(3) == 0) { // a first attempt, rolled back
            paths.send(changes)
            paths.batch.prepare()
            val reversal = new Reversal(paths.tree)
            paths.batch.note(reversal)
            if (random.nextBoolean()) { val _ = paths.batch.next() }
            paths.batch.drain()
            reversal.undo()
            paths.check()
          }
          paths.play(changes)
          // both read the same tree at the same time; neither knows of the other
          val found = (1 to 2).map(_ =>
            readers.submit(new Callable[Paths.Found] { override def call(): Paths.Found = paths.read() })
          )
          val right = paths.expected
          found.foreach(f => assert(f.get(1, TimeUnit.MINUTES) === right, s"batch $batch"))
          if (random.nextInt(6) == 0) paths = paths.rebuilt()
        }
        assert(paths.expected.rows > 1000)
      } finally { val _ = readers.shutdownNow() }
    }
}
