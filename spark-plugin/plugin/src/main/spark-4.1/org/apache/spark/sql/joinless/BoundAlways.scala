package org.apache.spark.sql.joinless

import org.apache.spark.sql.connector.catalog.procedures.{BoundProcedure, UnboundProcedure}
import org.apache.spark.sql.types.StructType

/** A procedure that has the same parameters whatever the types of the arguments are. */
trait BoundAlways extends UnboundProcedure with BoundProcedure {
  final override def bind(inputType: StructType): BoundProcedure = this
}
