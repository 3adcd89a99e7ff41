package io.joinless.engine.sample

import io.joinless.engine.algebra.Wide
import io.joinless.engine.enumerate.{Cursor, Residual}
import io.joinless.engine.positions.{AllResults, AnnotatedCounts, Descent, Located, PositionList, TupleOrder}
import io.joinless.engine.tuples.{IntStack, TouchedTuples}
import io.joinless.engine.view.{GeneralizedViews, ViewTree}

/** The groups of a tree's results of each of which a sample is kept: by number, how many results
  * they have, and the results at positions in them.
  *
  * All results are one group, with the number 0; or each tuple of the root is one, with the number
  * of that tuple: then the root is a generalized node, whose attributes are the columns by which
  * results are grouped. A number is valid as long as the group has results, and in the batch that
  * deletes its last one; random numbers follow from the content of the tuple instead (`seed`).
  */
sealed abstract private[sample] class Groups(tree: ViewTree, added: NewResults) {
  protected val counts = new AnnotatedCounts
  protected val ofNew = new Descent(tree, added)
  protected val ofAll = new Descent(tree, new AllResults(counts))

  /** The groups in which a batch changes results, given the tuples of the root in which it does. */
  def foreachTouched(touched: TouchedTuples)(f: Int => Unit): Unit

  /** The seed of a group's random numbers in a batch, given the batch's. */
  def seed(group: Int, ofBatch: Long): Long

  /** The number of results of a group; with residual conditions an upper bound. */
  def results(group: Int, into: Wide): Unit

  /** The number of those that the batch has inserted. */
  def newResults(group: Int, into: Wide): Unit

  /** The number of results of a group that residual conditions accept: by a walk. */
  final def countAccepted(group: Int, residuals: IndexedSeq[Residual], into: Wide): Unit = {
    val cursor = new Cursor(tree, residuals)
    start(cursor, group)
    into.set(0L)
    while (cursor.next()) into.add(0L, cursor.weight)
  }

  protected def start(cursor: Cursor, group: Int): Unit

  /** The results at positions in groups, and among the new ones: one for each. Those of a group are
    * behind each other and in ascending order.
    */
  def locate(groups: IntStack, positions: PositionList): Located
  def locateNew(groups: IntStack, positions: PositionList): Located
}

private[sample] object Groups {

  /** @param touched the tuples of the root in which a batch changes results */
  def apply(tree: ViewTree, isGrouped: Boolean, added: NewResults, touched: TouchedTuples): Groups =
    if (isGrouped) new RootGroups(tree, added) else new OneGroup(tree, added, touched)

  /** The group of a result, given the rows of its relations. */
  def ofRows(tree: ViewTree, isGrouped: Boolean): Array[Int] => Int = if (isGrouped) ofRootTuples(tree) else _ => 0

  /** The tuple of a generalized root: the key of a row, of the relation that is below it by way of
    * first children. With other generalized nodes in between it is the key of their tuples.
    */
  private def ofRootTuples(tree: ViewTree): Array[Int] => Int = {
    val path = Iterator.iterate(tree.root)(_.child(0)).drop(1)
    val nodes = (path.takeWhile(_.isInstanceOf[GeneralizedViews]).toSeq :+ firstRelation(tree)).reverse
    rows => nodes.foldLeft(rows(nodes.head.id))((tuple, node) => node.key(tuple))
  }

  private def firstRelation(tree: ViewTree) =
    Iterator.iterate(tree.root)(_.child(0)).find(!_.isInstanceOf[GeneralizedViews]).get
}

/** All results as one group. */
final private class OneGroup(tree: ViewTree, added: NewResults, touched: TouchedTuples) extends Groups(tree, added) {
  override def foreachTouched(touched: TouchedTuples)(f: Int => Unit): Unit = f(0)

  override def seed(group: Int, ofBatch: Long): Long = ofBatch

  override def results(group: Int, into: Wide): Unit = tree.root.annotation.readCount(0, into)

  override def newResults(group: Int, into: Wide): Unit = {
    into.set(0L)
    if (tree.root.annotation.touched > 0) tree.root.annotation.readIncrease(0, into)
  }

  override protected def start(cursor: Cursor, group: Int): Unit = cursor.startFull()

  override def locate(groups: IntStack, positions: PositionList): Located = ofAll.locate(NewResults.After, positions)

  override def locateNew(groups: IntStack, positions: PositionList): Located =
    ofNew.locate(NewResults.New, positions, touched)
}

/** The results of each tuple of a generalized root as a group. */
final private class RootGroups(tree: ViewTree, added: NewResults) extends Groups(tree, added) {
  private[this] val root = tree.root
  private[this] val order = new TupleOrder(root)
  require(root.isInstanceOf[GeneralizedViews], "groups are the tuples of a generalized root")

  override def foreachTouched(touched: TouchedTuples)(f: Int => Unit): Unit = {
    var i = 0
    while (i < touched.size) { f(touched(i)); i += 1 }
  }

  override def seed(group: Int, ofBatch: Long): Long = ofBatch ^ order.hash(group)

  override def results(group: Int, into: Wide): Unit = counts.ofTuple(root, group, into)

  override def newResults(group: Int, into: Wide): Unit = added.count(NewResults.New, root, group, into)

  override protected def start(cursor: Cursor, group: Int): Unit = cursor.startUnder(root.child(0), group)

  override def locate(groups: IntStack, positions: PositionList): Located =
    ofAll.locateUnder(NewResults.After, groups, positions)

  override def locateNew(groups: IntStack, positions: PositionList): Located =
    ofNew.locateUnder(NewResults.New, groups, positions)
}
