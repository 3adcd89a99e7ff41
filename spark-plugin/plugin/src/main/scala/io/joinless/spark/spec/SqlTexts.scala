package io.joinless.spark.spec

import org.apache.spark.sql.catalyst.expressions.Expression

/** Writes expressions as SQL for readers of the checkpoint. */
trait SqlTexts {

  /** The text of an expression over positions (`BoundReference`s), or None where it would be read
    * back as another expression.
    */
  def of(expression: Expression): Option[String]

  /** The settings on which the meaning of the texts depends. */
  def confs: Map[String, String]
}

object SqlTexts {

  /** Writes nothing: the record can then be read by the query's own DataFrame only. */
  object None extends SqlTexts {
    override def of(expression: Expression): Option[String] = Option.empty
    override def confs: Map[String, String] = Map.empty
  }
}
