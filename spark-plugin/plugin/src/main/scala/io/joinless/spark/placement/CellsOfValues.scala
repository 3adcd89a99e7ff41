package io.joinless.spark.placement

import io.joinless.spark.spec.BlockSpec
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The cells that can have results with some values of columns, in ascending order.
  *
  * A column that is a key of an attribute with several coordinates has, for each value, one
  * coordinate there ([[Cells]]). Other columns exclude no cell. A NULL where NULL joins nothing is
  * in no cell.
  */
object CellsOfValues {

  /** @param columns a relation, the position of a stored column, and its values as rows of one
    *     column
    */
  def apply(spec: BlockSpec, columns: Seq[(Int, Int, Seq[UnsafeRow])]): Seq[Int] = {
    val coordinates = columns.flatMap { case (relation, ordinal, values) =>
      val r = spec.relations(relation)
      val variable = !UnsafeRow.isFixedLength(spec.inputs(r.input).columns(ordinal).dataType)
      r.keys.filter(_.ordinal == ordinal).map { key =>
        val x = key.attribute
        x -> values.filter(v => spec.attributes(x).nullSafe || !v.isNullAt(0))
          .map(Cells.coordinate(spec, x, _, 0, variable)).toSet
      }
    }
    val strides = spec.strides
    (0 until spec.cells).filter { cell =>
      coordinates.forall { case (x, of) => of(cell / strides(x) % spec.shares(x)) }
    }
  }
}
