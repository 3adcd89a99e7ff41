package io.joinless.spark.exec.cells

/** The layout of a row of the exchange: null word, cell, roles, offset and size of the stored row,
  * weight if any, stored row.
  */
object ExchangeRow {
  final val CellAt = 8
  final val RolesAt = 16
  final val SizeAt = 24
  final val WeightAt = 32

  // the same as ordinals
  final val Cell = 0
  final val Roles = 1
  final val Row = 2
  final val Weight = 3
}
