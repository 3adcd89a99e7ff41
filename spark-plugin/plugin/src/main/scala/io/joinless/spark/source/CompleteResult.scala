package io.joinless.spark.source

import java.util.concurrent.ConcurrentHashMap

import io.joinless.spark.spec.BlockSpec
import org.apache.spark.sql.catalyst.expressions.Expression

/** The complete result of a join block in a snapshot, which nobody has read yet.
  *
  * `spec` is the snapshot's, with the current residuals. `residuals(j)` is over
  * `spec.residuals(j).columns`, `values` and `filters` are over `spec.output`, all by position.
  * `conditions` are conditions on the rows of single relations. `names` are distinct, whatever
  * their case.
  */
final case class CompleteResult(
    snapshot: Snapshot,
    spec: BlockSpec,
    residuals: Seq[Expression],
    names: IndexedSeq[String],
    values: IndexedSeq[Expression],
    filters: Seq[Expression],
    conditions: Seq[RelationFilter] = Nil
) {

  def name: String = s"joinless.`${snapshot.checkpoint}`"

  /** Whether some combinations of rows that join are no rows of the result, or which do is not known
    * before. Then its length is known only after a walk.
    */
  def rejects: Boolean = ResultCells.rejects(spec, residuals, filters)

  // pages of one DataFrame need them again and again
  @transient private lazy val known = new ConcurrentHashMap[Seq[RelationFilter], IndexedSeq[BigInt]]

  /** The numbers of rows per cell under these conditions, computed once. */
  private[source] def numbers(taken: Seq[RelationFilter])(compute: => IndexedSeq[BigInt]): IndexedSeq[BigInt] =
    Option(known.get(taken)).getOrElse {
      val numbers = compute
      known.put(taken, numbers)
      numbers
    }
}
