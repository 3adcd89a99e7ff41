package io.joinless.spark.spec

import io.joinless.engine.query.JoinTree

/** The decisions for one join block, for the life of its checkpoint: its shape, and the cells it is
  * placed in.
  *
  * The spec is written to the operator metadata at the first batch and read back on restart
  * (architecture D2). A block whose cells are not chosen yet is a [[BlockShape]].
  *
  * @param shares number of coordinates per attribute; their product is the number of cells
  */
final case class BlockSpec(shape: BlockShape, shares: IndexedSeq[Int]) extends BlockCore {

  override def id: NodeId = shape.id
  override def inputs: IndexedSeq[InputSpec] = shape.inputs
  override def attributes: IndexedSeq[AttributeSpec] = shape.attributes
  override def relations: IndexedSeq[RelationSpec] = shape.relations
  override def tree: JoinTree = shape.tree
  override def residuals: IndexedSeq[ResidualSpec] = shape.residuals
  override def output: IndexedSeq[ColumnRef] = shape.output

  /** The block with another shape in the same cells. */
  def shaped(change: BlockShape => BlockShape): BlockSpec = copy(shape = change(shape))

  def cells: Int = shares.foldLeft(1)(Math.multiplyExact(_, _))

  /** Per attribute, the difference between the numbers of two cells whose coordinates differ by one
    * at that attribute.
    */
  def strides: IndexedSeq[Int] = shares.scanRight(1)(_ * _).tail

  /** The attributes with more than one coordinate, by name. */
  def divided: Seq[(String, Int)] = attributes.map(_.name).zip(shares).filter(_._2 > 1)
}
