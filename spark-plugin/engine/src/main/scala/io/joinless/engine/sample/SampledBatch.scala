package io.joinless.engine.sample

import java.lang.Long.numberOfTrailingZeros

import io.joinless.engine.algebra.{Weight, Wide}
import io.joinless.engine.enumerate.{FullEnumeration, Residual}
import io.joinless.engine.positions.{AllResults, AnnotatedCounts, Descent, Located}
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
  * while (batch.next()) emit(batch.rows, batch.weight)
  * }}}
  * First all deletions and decreases are applied: copies that are gone leave the reservoir, and its
  * free places are filled from the results that are left. Then all insertions and increases: the
  * new results with keys below the reservoir's bound enter. So the sample's law holds in between,
  * too. The same batch on the same rows with the same seed gives the same sample, whatever history
  * the tree has.
  *
  * Cost: that of the changes and of the annotations; O(log n) per copy that enters, and the lists
  * that are visited on the way; with deletions, O(capacity) and the root's list, if places are to
  * be filled.
  *
  * @param tree of retractable inputs, with [[io.joinless.engine.algebra.WideCounts]] as ungrouped
  *     aggregates
  */
final class SampledBatch(
    tree: ViewTree,
    residuals: IndexedSeq[Residual],
    sample: Reservoir,
    negatives: Boolean = false
) extends NettedBatch(tree) {
  require(tree.block.inputs.forall(_.retractable), "rows of a sampled block are counted")
  private[this] val relations = tree.block.relations.size
  private[this] val delta = new DeltaEnumeration(tree, IndexedSeq.empty)
  private[this] val annotations = new TreeAnnotations(tree)
  private[this] val touched = new TouchedTuples
  private[this] val newResults = new NewResults(changes)
  private[this] val ofNew = new Descent(tree, newResults)
  private[this] val ofAll = new Descent(tree, new AllResults(new AnnotatedCounts))
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

  /** Moves to the next copy that leaves or enters the sample; false after the last one. The first
    * call applies the batch.
    */
  override def next(): Boolean = {
    prepare()
    if (!isApplied) applyAll()
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
    val draws = new Draws(seed)
    if (!decreases.isEmpty) {
      decreases.foreach(change(_))
      annotations.update()
      annotations.finish()
      val bound = sample.bound
      if (sample.removeWhere(isGone(_)) > 0) refill(draws, bound)
    }
    increases.foreach(change(_))
    annotations.updateAndKeep(touched)
    admit(draws)
    annotations.forget()
    touched.clear()
    newResults.clear()
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

  /** Fills the free places after deletions. The keys of the results that are not in the sample are
    * uniform on (`bound`, 1): the least of them enter.
    */
  private def refill(draws: Draws, bound: Double): Unit = {
    val (positions, unseen) = (new Wide, new Wide)
    tree.root.annotation.readCount(0, positions)
    if (residuals.isEmpty) unseen.set(positions) else countResults(unseen)
    unseen.subtract(Wide(sample.size.toLong))
    val places = Wide((sample.capacity - sample.size).toLong)
    val keys = new Array[Double]((if (unseen.compare(places) < 0) unseen else places).low.toInt)
    var from = bound
    for (i <- keys.indices) {
      from = draws.nextKey(from, unseen)
      unseen.subtract(Wide(1L))
      keys(i) = from
    }
    draws.shuffle(keys, keys.length)
    val subsets = new Subsets(draws, positions)
    val known = new SampledSet(sample, relations)
    var filled = 0
    var perPlace = 1 // positions to draw for each free place
    // each part is a uniform subset of the positions that are left, and so are its results
    while (filled < keys.length) {
      val missing = keys.length - filled
      val drawn = math.min(missing.toLong * perPlace, math.max(missing, SampledBatch.MostDrawn).toLong).toInt
      val located = ofAll.locate(NewResults.After, subsets.next(drawn))
      val others = othersIn(located, known)
      val entering = if (others.size <= missing) null else draws.subset(others.size, missing)
      val count = math.min(others.size, missing)
      for (i <- 0 until count) {
        read(located, others(if (entering == null) i else entering(i)))
        sample.add(keys(filled + i), rows, copies)
      }
      filled += count
      if (2 * count < drawn) perPlace = math.min(2 * perPlace, SampledBatch.MostDrawn)
    }
  }

  /** The located results that are not in the sample yet and that the residuals accept. */
  private def othersIn(located: Located, known: SampledSet): IntStack = {
    val others = new IntStack
    for (i <- 0 until located.size) {
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

  /** The exact number of results where residual conditions reject some: by a walk. */
  private def countResults(into: Wide): Unit = {
    val all = new FullEnumeration(tree, residuals)
    into.set(0L)
    while (all.next()) into.add(0L, all.weight)
  }

  /** Lets new results enter, those with the least keys, as far as they are below the bound. */
  private def admit(draws: Draws): Unit = {
    val positions = new Wide
    val root = tree.root.annotation
    if (root.touched > 0) root.readIncrease(0, positions)
    val subsets = new Subsets(draws, positions)
    var from = 0.0
    var entered = 0
    var more = true
    while (more) {
      val most = sample.capacity - entered
      val keys = keysBelow(draws, from, sample.bound, subsets.left, most)
      // the next key is not below the bound, or the sample consists of these
      more = residuals.nonEmpty && most > 0 && keys.length == most
      if (keys.length > 0) {
        from = keys.last
        draws.shuffle(keys, keys.length)
        entered += enterBelow(ofNew.locate(NewResults.New, subsets.next(keys.length), touched), keys)
      }
    }
  }

  /** The least keys of `unseen` new results, from `from` to `bound`: at most `most`. */
  private def keysBelow(draws: Draws, from: Double, bound: Double, unseen: Wide, most: Int): Array[Double] = {
    val keys = Array.newBuilder[Double]
    var key = draws.nextKey(from, unseen)
    var i = 0
    while (i < most && key < bound) {
      keys += key
      i += 1
      unseen.subtract(Wide(1L))
      key = draws.nextKey(key, unseen)
    }
    keys.result()
  }

  /** Lets the located results enter that the residuals accept. Returns their number. */
  private def enterBelow(located: Located, keys: Array[Double]): Int = {
    var entered = 0
    var i = 0
    while (i < located.size) {
      read(located, i)
      if (accepts) {
        entered += 1
        if (keys(i) < sample.bound) sample.add(keys(i), rows, copies)
      }
      i += 1
    }
    entered
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
