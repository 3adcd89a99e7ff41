package io.joinless.spark.errors

/** The errors of queries that take over from others. Each method returns the exception to throw. */
object EvolveErrors {

  /** A query is to begin with the rows of another one, and its checkpoint has begun. */
  def begun(checkpoint: String): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_EVOLVE.BEGUN", "checkpoint" -> checkpoint)

  /** The first batch of a query runs again, and the query is another one than when it began. */
  def otherQuery(checkpoint: String): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_EVOLVE.OTHER_QUERY", "checkpoint" -> checkpoint)
}
