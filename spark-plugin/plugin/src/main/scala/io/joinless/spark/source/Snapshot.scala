package io.joinless.spark.source

import io.joinless.spark.checkpoint.{CommittedState, OperatorMetadata, Recorded}
import io.joinless.spark.errors.{JoinlessErrors, Mismatch}
import io.joinless.spark.spec.{BlockShape, BlockSpec, ColumnSpec, ResultSpec, SpecComparison}
import io.joinless.spark.state.CommittedStores
import org.apache.spark.sql.joinless.PythonTypes

/** One join block of a checkpoint as of exactly one committed batch, found on the driver.
  *
  * Later batches do not change it; it can be read as long as the query's own retention keeps that
  * batch.
  */
final case class Snapshot(checkpoint: String, batch: Long, operator: Long, spec: BlockSpec, stores: CommittedStores) {

  /** This snapshot, if all rows of its results are stored; else an error. */
  def ifComplete: Snapshot = {
    if (spec.forgets) throw Snapshot.forgotten(checkpoint, spec.shape)
    this
  }
}

object Snapshot {

  /** A block of the checkpoint, by the checkpoint alone.
    *
    * @param operator number of the block's stateful operator; needed only if the query has several
    *     blocks
    */
  def apply(state: CommittedState, operator: Option[Long]): Snapshot =
    withStoredTypes(of(state, chosen(state.operators, state.checkpoint, operator)))

  /** The snapshot with types that do not name Python classes. Showing such a type in Python would
    * unpickle its content.
    */
  private def withStoredTypes(snapshot: Snapshot): Snapshot = {
    def withoutPythonTypes(columns: IndexedSeq[ColumnSpec]) =
      columns.map(c => c.copy(dataType = PythonTypes.stored(c.dataType)))
    val shape = snapshot.spec.shape
    val stored = shape.copy(
      inputs = shape.inputs.map(input => input.copy(columns = withoutPythonTypes(input.columns))),
      attributes = shape.attributes.map(a => a.copy(dataType = PythonTypes.stored(a.dataType)))
    ).having(ResultSpec, shape.result.map(result => result.copy(columns = withoutPythonTypes(result.columns))))
    snapshot.copy(spec = snapshot.spec.copy(shape = stored))
  }

  /** The block of the checkpoint that a compiled query can continue. If none fits, or several do
    * and nothing chooses between them, it throws the error for the user.
    *
    * @param place position of the query's block among all its blocks: if several blocks fit, the
    *   one at the same position is taken, if it has the same relations
    * @param operator number of the block's stateful operator. If it is given, no other block is
    *   tried. It is needed only if several blocks fit and `place` does not choose
    */
  def fitting(state: CommittedState, planned: BlockShape, place: BlockPlace, operator: Option[Long]): Snapshot =
    of(state, fitting(state.operators, state.checkpoint, planned, place, operator))

  /** The same, as far as the records of the operators decide it. */
  private[source] def fitting(
      found: OperatorMetadata.Found,
      checkpoint: String,
      planned: BlockShape,
      place: BlockPlace,
      operator: Option[Long]
  ): Recorded = {
    def difference(block: Recorded) =
      SpecComparison.difference(block.spec.shape, planned).orElse(SpecComparison.otherRows(block.spec.shape, planned))
    val blocks = found.ours.sortBy(_.operator)
    def names(shape: BlockShape) = shape.relations.map(_.name)

    /** The block at the query's own position, if it is one of these and has the same relations. */
    def atPlace(several: Seq[Recorded]) = blocks.lift(place.position).filter { block =>
      blocks.size == place.blocks && several.contains(block) && names(block.spec.shape) == names(planned)
    }
    val block = blocks.filter(difference(_).isEmpty) match {
      case Seq(only) if operator.isEmpty => only
      case several if operator.isEmpty && several.size > 1 =>
        atPlace(several).getOrElse(throw JoinlessErrors.severalJoins(checkpoint, listed(several)))
      case Seq() if operator.isEmpty && blocks.size > 1 =>
        val evicting = blocks.filter(block => isOfForgettingOne(block.spec.shape, planned))
        atPlace(evicting).orElse(evicting.headOption).getOrElse {
          val differences = blocks.flatMap(block => difference(block).map { case (kind, what) => (kind, block, what) })
          val all = differences.map { case (_, block, what) => s"${listed(Seq(block))}: $what" }
          throw JoinlessErrors.stateMismatch(
            differences.head._1,
            checkpoint,
            s"None of its joins fits. ${all.mkString(" ")}"
          )
        }
      case _ => chosen(found, checkpoint, operator)
    }
    difference(block).foreach { case (kind, what) =>
      throw if (isOfForgettingOne(block.spec.shape, planned)) forgotten(checkpoint, block.spec.shape)
      else JoinlessErrors.stateMismatch(kind, checkpoint, what)
    }
    block
  }

  /** The error that rows of a result were evicted. */
  private def forgotten(checkpoint: String, shape: BlockShape) =
    JoinlessErrors.rowsForgotten(checkpoint, shape.relations.filter(_.lifetime.isDefined).map(_.name))

  /** Whether the block would fit if it had evicted no rows. */
  private def isOfForgettingOne(recorded: BlockShape, planned: BlockShape): Boolean = recorded.forgets && {
    val kept = recorded.copy(relations = recorded.relations.map(_.copy(lifetime = None)))
    SpecComparison.difference(kept, planned).isEmpty
  }

  /** The snapshot of a recorded block; an error if it lacks stores. */
  private def of(state: CommittedState, block: Recorded): Snapshot = {
    if (block.partitions != block.spec.cells) throw JoinlessErrors.stateMismatch(
      Mismatch.Unreadable,
      state.checkpoint,
      s"Operator ${block.operator} has ${block.spec.cells} cells and ${block.partitions} stores."
    )
    Snapshot(state.checkpoint, state.batch, block.operator, block.spec, state.stores(block))
  }

  /** The block of this operator, or the only one; else the error for the user. */
  private def chosen(found: OperatorMetadata.Found, checkpoint: String, operator: Option[Long]): Recorded = {
    val blocks = found.ours
    (blocks, operator) match {
      case (Seq(), _) =>
        val what =
          if (found.groups.nonEmpty) "Its query groups rows that no join stores."
          else if (found.sparkOperators) "Its stateful operators are Spark's own."
          else "Its query has no stateful operator."
        throw JoinlessErrors.noJoin(checkpoint, what)
      case (_, Some(number)) =>
        blocks.find(_.operator == number).getOrElse(
          throw JoinlessErrors.noJoin(checkpoint, s"Its operator $number is none of the joins ${listed(blocks)}.")
        )
      case (Seq(only), None) => only
      case _ => throw JoinlessErrors.severalJoins(checkpoint, listed(blocks))
    }
  }

  /** Blocks by their operators and relations. */
  private def listed(blocks: Seq[Recorded]): String =
    blocks.map(b => s"${b.operator} (${b.spec.relations.map(_.name).mkString(", ")})").mkString(", ")
}

/** The position of a block in a query: blocks are planned, and so numbered, in the order in which
  * they stand in the plan.
  */
final private[source] case class BlockPlace(position: Int, blocks: Int)
