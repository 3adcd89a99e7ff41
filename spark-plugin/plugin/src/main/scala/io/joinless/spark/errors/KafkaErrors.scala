package io.joinless.spark.errors

import org.apache.spark.sql.joinless.JoinlessRuntimeException

/** The errors of topics that are read and written. Each method returns the exception to throw. */
object KafkaErrors {

  /** A topic cannot be read as requested. */
  def arguments(subclass: String, parameters: (String, String)*): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_DEBEZIUM_ARGUMENTS." + subclass, parameters: _*)

  /** The rows of a record of a topic are not certain.
    *
    * @param record which one, as the subject of a sentence
    */
  def message(subclass: String, record: String, more: Seq[(String, String)]): JoinlessRuntimeException =
    JoinlessErrors.runtime("JOINLESS_DEBEZIUM." + subclass, ("record" -> record) +: more: _*)

  /** Changes cannot be written as records of a key. */
  def upserts(subclass: String, parameters: (String, String)*): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_UPSERTS." + subclass, parameters: _*)

  /** A batch has more than one row of a key before or after it.
    *
    * @param columns of the key
    * @param key as JSON
    */
  def keyNotUnique(columns: String, key: String): JoinlessRuntimeException =
    JoinlessErrors.runtime("JOINLESS_UPSERTS.KEY_NOT_UNIQUE", "columns" -> columns, "key" -> key)
}
