package org.apache.spark.sql.joinless

import scala.util.Try

/** The self-test: members of Spark that the plugin needs, private ones and those that move between
  * versions, probed once.
  *
  * A build of the same version may lack some of them (a vendor's, a patched one). Then queries stay
  * with Spark, with that as the reason, and a checkpoint that holds state of ours is refused when
  * its query starts.
  */
object SparkMembers {

  final private[joinless] case class Member(owner: String, name: String) {
    override def toString: String = s"${owner.split('.').last.stripSuffix("$")}.$name"

    /** Whether the member exists. Private members have longer names in class files; nested ones and
      * those of traits are found in a superclass.
      */
    def exists: Boolean = Try {
      val found = Class.forName(owner, false, getClass.getClassLoader)
      found.getMethods.exists(_.getName.endsWith(name)) || found.getDeclaredMethods.exists(_.getName.endsWith(name))
    }.getOrElse(false)
  }

  private val streaming = "org.apache.spark.sql.execution.streaming"

  private[joinless] val all: Seq[Member] = Seq(
    Member(s"$streaming.runtime.IncrementalExecution", "nextStatefulOperationStateInfo"),
    Member(s"$streaming.runtime.IncrementalExecution", "watermarkPropagator"),
    Member(s"$streaming.runtime.StreamExecution", "lastExecution"),
    Member(s"$streaming.runtime.StreamExecution", "resolvedCheckpointRoot"),
    Member(s"$streaming.operators.stateful.StateStoreWriter", "operatorStateMetadata"),
    Member(s"$streaming.operators.stateful.StateStoreWriter", "getStateStoreCheckpointInfo"),
    Member(s"$streaming.sources.ForeachBatchSink", "addBatch"),
    Member("org.apache.spark.sql.catalyst.streaming.WriteToStream", "sink"),
    Member(s"$streaming.state.package$$StateStoreOps", "mapPartitionsWithStateStore"),
    Member(s"$streaming.state.StateStore$$", "isLoaded"),
    Member(s"$streaming.state.StateSchemaCompatibilityChecker$$", "validateAndMaybeEvolveStateSchema"),
    Member(s"$streaming.state.OperatorStateMetadataReader$$", "createReader"),
    Member(s"$streaming.checkpointing.CheckpointFileManager$$", "create"),
    Member("org.apache.spark.sql.internal.SharedState", "activeStreamingQueries"),
    Member("org.apache.spark.sql.classic.StreamingQueryManager", "stateStoreCoordinator"),
    Member("org.apache.spark.sql.catalyst.expressions.DirectShufflePartitionID", "child"),
    Member("org.apache.spark.sql.catalyst.plans.physical.ShufflePartitionIdPassThrough", "expr"),
    Member("org.apache.spark.sql.catalyst.optimizer.NormalizeFloatingNumbers$", "normalize")
  )

  /** The first of these members that the running Spark lacks. */
  private[joinless] def probe(members: Seq[Member]): Option[String] = members.find(!_.exists).map(_.toString)

  private lazy val probed: Option[String] = probe(all)

  /** The member that a test pretends is missing. */
  @volatile private[joinless] var pretended: Option[String] = None

  /** The first member that this build of Spark lacks, by name. */
  def missing: Option[String] = pretended.orElse(probed)
}
