package org.apache.spark.sql

import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorStateInfo

/** All members that are private to Spark and used by Joinless, or that move between its versions.
  * What differs between versions is in a folder per range of them, beside `src/main/scala`. This
  * package depends on no other package of Joinless.
  */
package object joinless {

  /** The location and version of the state of one stateful operator. */
  type StateInfo = StatefulOperatorStateInfo

  /** The session with its internals; a session of Spark Connect has none. */
  private[joinless] def classicOf(session: SparkSession): classic.SparkSession =
    session.asInstanceOf[classic.SparkSession]
}
