package io.joinless.engine.sample

import java.lang.Long.numberOfTrailingZeros
import java.util.ArrayDeque

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import io.joinless.engine.algebra.{Weight, Wide}
import io.joinless.engine.enumerate.Residual
import io.joinless.engine.positions.{Located, PositionList}
import io.joinless.engine.tuples.{IntStack, TouchedTuples}
import io.joinless.engine.update.{DeleteOfAbsentRow, DeltaEnumeration, NettedBatch, TreeAnnotations}
import io.joinless.engine.view.ViewTree

/** A batch of signed changes, and how it changes a kept sample of the result; no result is
  * enumerated (algorithms A60 to A62).
  *
  * {{{
  * changes.foreach(c => batch.add(c.input, c.roles, c.weight, c.words, c.words.length))
  * batch.prepare()
  * batch.seed = seedOf(number of the batch)
  * batch.propagate()
  * while (batch.next()) emit(batch.rows, batch.weight)
  * }}}
  * First all deletions and decreases are applied: copies that are gone leave their reservoirs, and
  * the free places are filled from the results that are left. Then all insertions and increases:
  * the new results with keys below the reservoir's bound enter. So the sample's law holds in
  * between, too. Where a sample is kept per group, all of this is done in each group that the batch
  * touches, with random numbers of its own. The same batch on the same rows with the same seed
  * gives the same sample, whatever history the tree has.
  *
  * Cost: that of the changes and of the annotations; O(log n) per copy that enters, and the lists
  * that are visited on the way; with deletions, O(capacity) per touched group. Without groups also
  * the root's list, if places are to be filled.
  *
  * @param tree of retractable inputs, with [[io.joinless.engine.algebra.WideCounts]] as ungrouped
  *     aggregates
  */
final class SampledBatch(
    tree: ViewTree,
    residuals: IndexedSeq[Residual],
    sample: KeptSample,
    negatives: Boolean = false
) extends NettedBatch(tree) {
  require(tree.block.inputs.forall(_.retractable), "rows of a sampled block are counted")
  private[this] val relations = tree.block.relations.size
  private[this] val delta = new DeltaEnumeration(tree, IndexedSeq.empty)
  private[this] val annotations = new TreeAnnotations(tree)
  private[this] val touched = new TouchedTuples
  private[this] val newResults = new NewResults(changes)
  private[this] val groups = Groups(tree, sample.isGrouped, newResults, touched)
  private[this] val drawsOf = mutable.LongMap.empty[Draws] // by group
  private[this] val absences = new IntStack
  private[this] val decreases = new IntStack
  private[this] val increases = new IntStack
  private[this] val copies = new Array[Long](relations)
  private[this] var isApplied = false
  private[this] val emitted = new IntStack // removed slots, then added ones
  private[this] var removed = 0
  private[this] var at = -1

  /** From which the random numbers of the pending batch follow. */
  var seed: Long = 0L

  /** Records what the pending batch does to the sample; null if it will not be rolled back. */
  var journal: SampleJournal = null

  /** Row id per relation of a copy that enters or leaves; valid until the next call of `next`. */
  val rows = new Array[Int](relations)

  /** The slot of that copy in the reservoir. */
  def slot: Int = emitted(at)

  /** 1 if it enters, −1 if it leaves. */
  def weight: Long = if (at < removed) -1L else 1L

  /** Divides the entries with a net change by whether rows get fewer or more copies, or were and
    * remain absent. Returns why the batch is refused, and then keeps none of them; null if it is
    * not.
    */
  override protected def arrange(): DeleteOfAbsentRow = {
    var e = 0
    while (e < changes.size) {
      val before = changes.before(e)
      val after = Weight.add(before, changes.change(e))
      val refusal = changes.refusal(e, before, after, negatives)
      if (refusal != null) {
        clear()
        return refusal
      }
      if (after < before && before > 0) decreases.push(e)
      else if (after > before && after > 0) increases.push(e)
      else if (after != before) absences.push(e)
      e += 1
    }
    null
  }

  override protected def begin(): Unit = ()

  /** Applies the batch to the tree and to the sample. */
  def propagate(): Unit = {
    prepare()
    if (!isApplied) applyAll()
  }

  /** Moves to the next copy that leaves or enters the sample; false after the last one. Applies the
    * batch before, if it is not.
    */
  override def next(): Boolean = {
    propagate()
    at += 1
    if (at < emitted.size) {
      sample.readRows(slot, rows)
      true
    } else {
      end()
      false
    }
  }

  override def drain(): Unit = while (next()) {}

  /** Applies the batch to the tree and to the sample: first what decreases, and places that become
    * free are filled; then what increases, and new results enter.
    */
  private def applyAll(): Unit = {
    if (!decreases.isEmpty) {
      decreases.foreach(change(_))
      annotations.update(touched)
      annotations.finish()
      refillAll()
      touched.clear()
    }
    increases.foreach(change(_))
    annotations.updateAndKeep(touched)
    admitAll()
    annotations.forget()
    touched.clear()
    newResults.clear()
    drawsOf.clear()
    absences.foreach(changes.setCounts(_))
    sample.foreachRemoved(emitted.push(_))
    removed = emitted.size
    sample.foreachAdded(emitted.push(_))
    if (journal != null) journal.note()
    isApplied = true
  }

  /** Applies the change of an entry in all its relations. */
  private def change(entry: Int): Unit = {
    val (row, before, after) = (changes.row(entry), changes.before(entry), changes.after(entry))
    var roles = changes.roles(entry)
    while (roles != 0L) {
      val relation = numberOfTrailingZeros(roles)
      delta.change(relation, row, before, after)
      delta.complete()
      annotations.change(relation, row, before, after)
      if (after > before) newResults.increase(relation, row)
      roles &= roles - 1
    }
  }

  /** Whether a copy's rows have fewer copies now. */
  private def isGone(slot: Int): Boolean = {
    var r = 0
    while (r < relations && sample.copy(slot, r) < tree.multiplicity(r, sample.row(slot, r))) r += 1
    r < relations
  }

  /** The random numbers of a group in the pending batch. */
  private def drawsIn(group: Int): Draws = drawsOf.getOrElseUpdate(group, new Draws(groups.seed(group, seed)))

  /** Removes the copies that are gone, and fills the free places. */
  private def refillAll(): Unit = {
    val places = ArrayBuffer.empty[() => Drawing]
    groups.foreachTouched(touched) { group =>
      val reservoir = sample.existing(group)
      if (reservoir != null) {
        val bound = reservoir.bound
        if (reservoir.removeWhere(isGone(_)) > 0) places += (() => new Refill(group, bound))
      }
    }
    draw(places.iterator.map(_()), groups.locate(_, _))
  }

  /** Lets new results enter. */
  private def admitAll(): Unit = {
    val entering = new IntStack
    groups.foreachTouched(touched)(entering.push(_))
    draw(Iterator.range(0, entering.size).map(i => new Admission(entering(i))), groups.locateNew(_, _))
  }

  /** Finds the results that the groups ask for, those of several groups at once, until no group asks
    * for more.
    */
  private def draw(waiting: Iterator[Drawing], locate: (IntStack, PositionList) => Located): Unit = {
    val again = new ArrayDeque[Drawing]
    while (!again.isEmpty || waiting.hasNext) {
      val (of, positions) = (new IntStack, new PositionList)
      val asking = ArrayBuffer.empty[(Drawing, Int)]
      while (positions.size < SampledBatch.MostDrawn && (!again.isEmpty || waiting.hasNext)) {
        val drawing = if (again.isEmpty) waiting.next() else again.poll()
        val wanted = drawing.next()
        for (_ <- 0 until wanted.size) of.push(drawing.group)
        positions.addAll(wanted)
        if (wanted.size > 0) asking += drawing -> wanted.size
      }
      val located = locate(of, positions)
      var from = 0
      for ((drawing, count) <- asking) {
        if (drawing.take(located, from, from + count)) again.add(drawing)
        from += count
      }
    }
  }

  /** What a group draws: positions, and then what it takes of the results there. */
  sealed abstract private class Drawing(val group: Int) {
    final protected val draws: Draws = drawsIn(group)

    /** The next positions in the group, in ascending order; none at the end. */
    def next(): PositionList

    /** Takes the located results at these positions; true if more positions are needed. */
    def take(located: Located, from: Int, until: Int): Boolean
  }

  /** Fills the free places of a group after deletions. The keys of the results that are not in the
    * sample are uniform on (`bound`, 1): the least of them enter.
    */
  final private class Refill(group: Int, bound: Double) extends Drawing(group) {
    private[this] val reservoir = sample.reservoir(group)
    private[this] val positions = new Wide
    groups.results(group, positions)
    private[this] val keys = leastKeys()
    private[this] val subsets = new Subsets(draws, positions)
    private[this] val known = new SampledSet(sample, reservoir, relations)
    private[this] var filled = 0
    private[this] var perPlace = 1 // positions to draw for each free place

    private def leastKeys(): Array[Double] = {
      val unseen = new Wide
      if (residuals.isEmpty || positions.isZero) unseen.set(positions)
      else groups.countAccepted(group, residuals, unseen)
      unseen.subtract(Wide(reservoir.size.toLong))
      val places = Wide((sample.capacity - reservoir.size).toLong)
      val keys = new Array[Double]((if (unseen.compare(places) < 0) unseen else places).low.toInt)
      var from = bound
      for (i <- keys.indices) {
        from = draws.nextKey(from, unseen)
        unseen.subtract(Wide(1L))
        keys(i) = from
      }
      draws.shuffle(keys, keys.length)
      keys
    }

    private def missing: Int = keys.length - filled

    // each part is a uniform subset of the positions that are left, and so are its results
    override def next(): PositionList =
      subsets.next(math.min(missing.toLong * perPlace, math.max(missing, SampledBatch.MostDrawn).toLong).toInt)

    override def take(located: Located, from: Int, until: Int): Boolean = {
      val others = othersIn(located, from, until, known)
      val entering = if (others.size <= missing) null else draws.subset(others.size, missing)
      val count = math.min(others.size, missing)
      for (i <- 0 until count) {
        read(located, others(if (entering == null) i else entering(i)))
        reservoir.add(keys(filled + i), rows, copies)
      }
      filled += count
      if (2 * count < until - from) perPlace = math.min(2 * perPlace, SampledBatch.MostDrawn)
      filled < keys.length
    }
  }

  /** The located results that are not in the sample yet and that the residuals accept. */
  private def othersIn(located: Located, from: Int, until: Int, known: SampledSet): IntStack = {
    val others = new IntStack
    for (i <- from until until) {
      read(located, i)
      if (!known.contains(rows, copies) && accepts) others.push(i)
    }
    others
  }

  /** Reads a located result into `rows` and `copies`. */
  private def read(located: Located, i: Int): Unit = {
    located.readRows(i, rows)
    var r = 0
    while (r < relations) { copies(r) = located.copy(i, r); r += 1 }
  }

  /** Whether the residual conditions accept the result in `rows`. */
  private def accepts: Boolean = residuals.forall(_.accept(rows))

  /** Lets new results of a group enter, those with the least keys, as far as they are below the
    * bound.
    */
  final private class Admission(group: Int) extends Drawing(group) {
    private[this] val positions = new Wide
    groups.newResults(group, positions)
    private[this] val subsets = new Subsets(draws, positions)
    private[this] var from = 0.0
    private[this] var entered = 0
    private[this] var keys = Array.emptyDoubleArray
    private[this] var isMore = false

    override def next(): PositionList = {
      val most = sample.capacity - entered
      keys = keysBelow(subsets.left, most)
      // the next key is not below the bound, or the sample consists of these
      isMore = residuals.nonEmpty && most > 0 && keys.length == most
      if (residuals.isEmpty) makePlaces()
      if (keys.length > 0) {
        from = keys.last
        draws.shuffle(keys, keys.length)
      }
      subsets.next(keys.length)
    }

    private def bound: Double = {
      val reservoir = sample.existing(group)
      if (reservoir == null) 1.0 else reservoir.bound
    }

    /** Where the copies that are kept and the new ones are too many, removes those with the greatest
      * keys: kept ones leave, and new ones are never located. So each new key that is left is kept.
      */
    private def makePlaces(): Unit = {
      val reservoir = sample.existing(group)
      if (reservoir != null) {
        var entering = keys.length
        while (reservoir.size + entering > sample.capacity)
          if (keys(entering - 1) < reservoir.greatest) reservoir.removeGreatest() else entering -= 1
        keys = keys.take(entering)
      }
    }

    /** The least keys of `unseen` new results, from `from` to the bound: at most `most`. */
    private def keysBelow(unseen: Wide, most: Int): Array[Double] = {
      val (below, last) = (Array.newBuilder[Double], bound)
      var key = draws.nextKey(from, unseen)
      var i = 0
      while (i < most && key < last) {
        below += key
        i += 1
        unseen.subtract(Wide(1L))
        key = draws.nextKey(key, unseen)
      }
      below.result()
    }

    /** Lets the located results enter that the residuals accept. */
    override def take(located: Located, start: Int, until: Int): Boolean = {
      var i = start
      while (i < until) {
        read(located, i)
        if (accepts) {
          entered += 1
          val reservoir = sample.reservoir(group)
          if (keys(i - start) < reservoir.bound) reservoir.add(keys(i - start), rows, copies)
        }
        i += 1
      }
      isMore
    }
  }

  /** Ends the batch: what left the sample cannot be read any more. */
  private def end(): Unit = {
    sample.settle()
    clear()
    at = -1
    isApplied = false
    journal = null
    finish()
  }

  /** Forgets the entries, and the changes of the sample. */
  private def clear(): Unit = {
    decreases.clear(); increases.clear(); absences.clear(); emitted.clear()
  }
}

object SampledBatch {

  /** The number of results of a tree with [[io.joinless.engine.algebra.WideCounts]] as aggregates;
    * with residual conditions an upper bound.
    */
  def total(tree: ViewTree): BigInt = {
    val total = new Wide
    tree.root.annotation.readCount(0, total)
    total.toBigInt
  }

  /** The most positions that are drawn at once to find results among those that residuals reject. */
  final private val MostDrawn = 1 << 16
}
