package io.joinless.spark.exec.cells

import io.joinless.spark.spec.Roles
import io.joinless.spark.state.cells.CellState
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The rows of a batch that arrived at a cell: a cursor over rows of the exchange
  * ([[ExchangeRow]]).
  */
final private class ArrivedRows(context: CellContext, state: CellState, exchanged: Iterator[InternalRow]) {
  import context.metrics

  private[this] val inputOf = context.spec.relations.map(_.input).toArray
  private[this] var row: UnsafeRow = null
  private[this] var ofRoles, ofOffset = 0L
  private[this] var ofInput, ofBytes = 0

  /** Moves to the next row; false if there is none. */
  def next(): Boolean = exchanged.hasNext && {
    row = exchanged.next().asInstanceOf[UnsafeRow]
    ofRoles = row.getLong(ExchangeRow.Roles)
    ofInput = inputOf(Roles.first(ofRoles))
    val place = row.getLong(ExchangeRow.Row)
    ofOffset = row.getBaseOffset + (place >>> 32)
    ofBytes = place.toInt
    metrics.rowsIn += 1
    if (metrics.rowsIn % CellContext.RowsBetweenSizeChecks == 0) context.checkSize(state.bytes)
    true
  }

  /** The current row's relations, all of one input (bit set). */
  def roles: Long = ofRoles
  def input: Int = ofInput

  /** The current position of the row's bytes: they move with the next row. */
  def base: AnyRef = row.getBaseObject
  def offset: Long = ofOffset
  def bytes: Int = ofBytes

  /** Of a block whose rows are counted. */
  def weight: Long = row.getLong(ExchangeRow.Weight)
}
