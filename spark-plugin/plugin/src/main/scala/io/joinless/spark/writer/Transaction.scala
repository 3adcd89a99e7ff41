package io.joinless.spark.writer

import org.apache.spark.sql.SparkSession

/** Settings of a session that hold while a body runs. */
private[spark] object Transaction {
  private val Delta = "spark.databricks.delta."
  private val SaidOfCommits = s"${Delta}commitInfo.userMetadata"

  /** Makes the writes of a body one batch of a writer to Delta: applied once, then skipped. */
  def apply[A](session: SparkSession, note: BatchNote)(body: => A): A = {
    val of = Map(
      s"${Delta}write.txnAppId" -> note.writer,
      s"${Delta}write.txnVersion" -> note.batch.toString,
      SaidOfCommits -> note.text(session.conf.getOption(SaidOfCommits))
    )
    within(session, of)(body)
  }

  /** Runs `body` with these settings, and restores those before. */
  def within[A](session: SparkSession, settings: Map[String, String])(body: => A): A = {
    val before = settings.keys.map(name => name -> session.conf.getOption(name)).toSeq
    try {
      settings.foreach { case (name, value) => session.conf.set(name, value) }
      body
    } finally before.foreach { case (name, value) =>
        value.fold(session.conf.unset(name))(session.conf.set(name, _))
      }
  }
}
