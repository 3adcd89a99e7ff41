package org.apache.spark.sql

import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorStateInfo

/** Everything that is private to Spark and used by Joinless, or that moves between its versions; checked on 4.2.0. It knows nothing of
  * Joinless but this package.
  */
package object joinless {

  /** Where the state of one stateful operator is, and at which version. */
  type StateInfo = StatefulOperatorStateInfo

  /** The session with its internals; a session of Spark Connect has none. */
  private[joinless] def classicOf(session: SparkSession): classic.SparkSession =
    session.asInstanceOf[classic.SparkSession]
}
