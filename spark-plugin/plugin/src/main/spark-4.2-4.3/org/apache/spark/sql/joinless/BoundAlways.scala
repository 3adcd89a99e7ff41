package org.apache.spark.sql.joinless

import org.apache.spark.sql.connector.catalog.procedures.SimpleProcedure

/** A procedure that has the same parameters whatever the types of the arguments are. DESCRIBE
  * PROCEDURE lists them.
  */
trait BoundAlways extends SimpleProcedure
