package org.apache.spark.sql.joinless

import java.util.UUID

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.state.{StateStoreId, StateStoreProviderId}

/** The stores of a query that runs in this application, and where they are.
  *
  * Uses the coordinator of state stores, internal to Spark.
  */
object RunningStores {

  /** The run of the query that has a checkpoint in use.
    *
    * @param checkpoint its folder, in full
    */
  def run(checkpoint: String): Option[UUID] = Plans.active.find(Plans.checkpoint(_) == checkpoint).map(_.runId)

  /** The executor that has the store of a cell open, as tasks name it. */
  def executor(session: SparkSession, stores: CellStores, cell: Int, run: UUID): Option[String] =
    classicOf(session).streams.stateStoreCoordinator
      .getLocation(StateStoreProviderId(StateStoreId(stores.location, stores.operator, cell), run))
}
