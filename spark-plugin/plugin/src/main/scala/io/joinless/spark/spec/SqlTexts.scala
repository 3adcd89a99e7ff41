package io.joinless.spark.spec

import org.apache.spark.sql.catalyst.expressions.Expression

/** Writes expressions as SQL for readers of the checkpoint. */
trait SqlTexts {

  /** The text of an expression over positions (`BoundReference`s), or None where it would not be read back as the same
    * expression.
    */
  def of(expression: Expression): Option[String]

  /** The settings under which the texts mean what they mean. */
  def confs: Map[String, String]
}

object SqlTexts {

  /** Writes nothing: what is recorded can then be read by the query's own DataFrame alone. */
  object None extends SqlTexts {
    override def of(expression: Expression): Option[String] = Option.empty
    override def confs: Map[String, String] = Map.empty
  }
}
