package io.joinless.spark.plans.values

import java.util.Locale

import org.apache.spark.unsafe.types.UTF8String

/** The change types that tables write: Spark 4.2's CHANGES and Delta's change feed (the first
  * four), Iceberg's changelog views (the last two). Any case.
  */
object ChangeTypes {
  private val insertions = Set("insert", "update_postimage", "update_after")
  private val deletions = Set("delete", "update_preimage", "update_before")

  val Insert: UTF8String = UTF8String.fromString("insert")
  val Delete: UTF8String = UTF8String.fromString("delete")

  /** 1 for an insert, −1 for a delete, 0 for a text that is no change type. */
  def weight(changeType: String): Long = {
    val name = changeType.toLowerCase(Locale.ROOT)
    if (insertions(name)) 1L else if (deletions(name)) -1L else 0L
  }

  /** Further columns of table changes apart from the change type: when they happened, and in which
    * order.
    */
  val metadata: Set[String] = Set("_commit_version", "_commit_timestamp", "_change_ordinal", "_commit_snapshot_id")
}
