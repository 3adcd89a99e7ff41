package io.joinless.engine.update

import io.joinless.engine.algebra.Weight
import io.joinless.engine.enumerate.{Cursor, Residual, Results, Run, WordPointers}
import io.joinless.engine.view.{RelationViews, ViewTree}

/** The result deltas of one change of one relation, row by row with constant delay.
  *
  * {{{
  * val row = tree.arena(input).reserve(words)      // and write the row's words
  * delta.insert(relation, row)
  * while (delta.next()) emit(delta.rows, delta.weight)
  * }}}
  *
  * Each result that the change inserts or deletes contains exactly one witness ([[Propagation]]). A
  * cursor enumerates the results of one witness after the other (algorithms A17, A24). The state of
  * the views during the enumeration, and the weight of a result:
  * {{{
  *            V_s, counts   live views   the row's count   weight of a result
  * insert     new           old          new               + the product of its rows' counts
  * delete     old           old          old               − that product
  * reweigh    unchanged     unchanged    old               (new − old) · the others' product
  * }}}
  * Example: with R(1,10), R(2,10), S(10,7), S(10,8) and T(8,5) stored, the insertion of T(7,6) has
  * the witness S(10,7) and the results (1,10,7,6) and (2,10,7,6). S(10,7) is marked live after
  * them.
  *
  * Changes are applied one after the other, role by role. Each state in between is that of a legal
  * database, so self-joins need no correction terms (algorithms A22). A change whose results were
  * not drained is completed without them: the views are then the same as with them.
  *
  * Invariant: no change emits a combination of rows twice (I6). Cost: that of propagation, and
  * constant delay per result ([[Cursor]]); a change without results costs propagation only.
  */
final class DeltaEnumeration(tree: ViewTree, residuals: IndexedSeq[Residual]) extends Results {
  private[this] val propagation = new Propagation(tree)
  private[this] val cursor = new Cursor(tree, residuals)
  // whether weights are computed; else each row counts once, and weights are 1, also of a deletion
  private[this] val weighted = tree.block.inputs.exists(_.counted)

  // the pending change
  private[this] var pending = false
  private[this] var witness = 0 // the position of the next witness
  private[this] var sign = 1L // 1: insert, −1: delete, 0: reweigh
  private[this] var node: RelationViews = null
  private[this] var row = 0
  private[this] var newWeight = 0L // the row's count after the change

  val rows: Array[Int] = cursor.tuples
  val pointers: WordPointers = cursor.pointers

  def changed: Long = cursor.changed
  def weight: Long = cursor.weight

  /** Changelog inputs: changes the count of a row. One of 0 or less is that of an absent row; rows
    * that were and remain absent have no change here.
    */
  def change(relation: Int, row: Int, before: Long, after: Long): Unit =
    if (before <= 0) insert(relation, row, after)
    else if (after <= 0) delete(relation, row, after)
    else reweigh(relation, row, after)

  /** Inserts `row`, which lies in the arena of the relation's input, into the relation. */
  def insert(relation: Int, row: Int): Unit = insert(relation, row, 1L)

  /** Changelog inputs: inserts the row with the multiplicity `weight` > 0. */
  def insert(relation: Int, row: Int, weight: Long): Unit = {
    begin(relation, row, 1L)
    if (node.multiplicity != null) node.multiplicity(row) = weight
    if (weight > 1) addRepeated(1)
    propagation.insert(node, row)
    newWeight = weight
  }

  /** Changelog inputs: deletes the row, whatever its multiplicity. Its id may be freed once the
    * results are drained.
    */
  def delete(relation: Int, row: Int): Unit = delete(relation, row, 0L)

  /** As `delete`; the row's count becomes `after` <= 0. */
  def delete(relation: Int, row: Int, after: Long): Unit = {
    begin(relation, row, -1L)
    propagation.delete(node, row)
    newWeight = after
  }

  /** Changelog inputs: changes the multiplicity of a present row to `weight` > 0. Nothing
    * propagates.
    */
  def reweigh(relation: Int, row: Int, weight: Long): Unit = {
    begin(relation, row, 0L)
    newWeight = weight
    if (node.isAlive(row) && (node.isRoot || node.isLiveAbove(node.key(row))))
      cursor.start(node, row, Weight.subtract(weight, node.weight(row)))
  }

  /** As `insert`, without results: for rebuilding a tree. */
  def load(relation: Int, row: Int): Unit = load(relation, row, 1L)

  /** As `insert` with a multiplicity, without results. */
  def load(relation: Int, row: Int, weight: Long): Unit = {
    insert(relation, row, weight)
    complete()
  }

  /** Moves to the next result of the pending change, witness by witness. False after the last one;
    * then the change is complete.
    */
  def next(): Boolean = {
    if (cursor.next()) return true
    while (pending) {
      if (witness < propagation.witnessNodes.size) {
        val n = tree.nodes(propagation.witnessNodes(witness))
        val t = propagation.witnessTuples(witness)
        witness += 1
        cursor.start(n, t, if (weighted) Weight.multiply(sign, n.weight(t)) else 1L)
        if (cursor.next()) return true
      } else finish()
    }
    false
  }

  def next(run: Run): Boolean = next() && { take(run, whole = true); true }

  /** Takes the current result with all that differ from it only in the row of one relation; if not
    * `whole`, alone ([[Cursor]]).
    */
  private[update] def take(run: Run, whole: Boolean): Unit = cursor.take(run, whole)

  /** Completes the pending change without its remaining results. */
  def complete(): Unit = if (pending) finish()

  /** Makes a change the pending one. The one before is completed, if it was not drained. */
  private def begin(relation: Int, row: Int, sign: Long): Unit = {
    complete()
    this.node = tree.relation(relation)
    this.row = row
    this.sign = sign
    witness = 0
    pending = true
  }

  /** Adds to the number of the relation's rows with a multiplicity > 1. */
  private def addRepeated(change: Int): Unit = {
    tree.repeated += change
    node.repeated += change
  }

  /** Completes the pending change, whether enumerated or not. `insert` has set the row's count
    * already; those of a deleted or reweighed row are set here, since results read the old ones.
    */
  private def finish(): Unit = {
    cursor.stop()
    if (sign <= 0L) {
      if (node.weight(row) > 1) addRepeated(-1)
      if (newWeight > 1) addRepeated(1)
    }
    if (sign != 0L) propagation.finish()
    if (sign <= 0L && node.multiplicity != null) node.multiplicity(row) = newWeight
    pending = false
  }
}
