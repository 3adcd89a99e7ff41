package io.joinless.bench

import java.nio.file.Path
import java.util.SplittableRandom
import scala.collection.mutable

/** Distinct directed edges without loops, in their order of arrival; all are a function of the
  * seed.
  */
object Graphs {

  /** The weight of the vertex of rank k is (k + 8)^−`exponent`; 0 is uniform, 0.75 is that of
    * benchmarks/streams.py. About 6.65 edges per vertex, as in the known graphs.
    */
  def generate(edges: Int, exponent: Double = 0.75, seed: Long = 1): EdgeBatch = {
    val random = new SplittableRandom(seed)
    val vertices = math.max(16, (edges / 6.65).toInt)
    val sums = Array.tabulate(vertices)(k => math.pow(k + 8.0, -exponent)).scanLeft(0.0)(_ + _).tail
    val names = permutation(vertices, random)
    def vertex(): Int = {
      val found = java.util.Arrays.binarySearch(sums, random.nextDouble() * sums.last)
      names(math.min(vertices - 1, if (found < 0) -found - 1 else found))
    }
    val pairs = mutable.LinkedHashSet.empty[Long]
    while (pairs.size < edges) {
      val (src, dst) = (vertex(), vertex())
      if (src != dst) pairs += src.toLong << 32 | dst
    }
    EdgeBatch.insertions(pairs.iterator.map(_ >>> 32).toArray, pairs.iterator.map(_ & 0xffffffffL).toArray)
  }

  /** Edges of a folder of batches (`src,dst` lines), as one. */
  def read(folder: Path): EdgeBatch = {
    val batches = EdgeStream.read(IndexedSeq(folder), Int.MaxValue).batches.flatten
    EdgeBatch.insertions(batches.flatMap(_.src).toArray, batches.flatMap(_.dst).toArray)
  }

  /** The dst above which `percent` per cent of the edges end. */
  def threshold(edges: EdgeBatch, percent: Double): Long =
    if (percent >= 100) Long.MinValue
    else if (percent <= 0) Long.MaxValue
    else edges.dst.sorted.apply((edges.size * (1 - percent / 100)).toInt)

  private def permutation(n: Int, random: SplittableRandom): Array[Int] = {
    val all = Array.range(0, n)
    for (i <- n - 1 to 1 by -1) {
      val j = random.nextInt(i + 1)
      val swap = all(i); all(i) = all(j); all(j) = swap
    }
    all
  }
}
