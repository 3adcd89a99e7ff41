package io.joinless.spark.functions

import io.joinless.spark.changes.TableFunctions
import io.joinless.spark.kafka.{Debezium, Upserts}

/** Topics in SQL. */
private[functions] object KafkaFunctions {

  private val Topic = Signature(
    "debezium",
    "debezium(TABLE(records), 'id BIGINT, city STRING', key => id)",
    Seq("schema", "key", "added", "decimals", "timestamps"),
    tables = 1
  )

  private val debezium = Topic.registered(
    "the table whose changes are the records of a Debezium topic in JSON. With a key it has the newest row of each " +
      "key; added are columns that older records lack."
  ) { call =>
    val schema = call.needed(call.text("schema"))
    val (key, added) = (call.columns("key").getOrElse(Nil), call.columns("added").getOrElse(Nil))
    val (decimals, timestamps) = (call.text("decimals"), call.text("timestamps"))
    (_, relations) => Debezium.relation(relations.head, schema, key, added, decimals, timestamps)
  }

  private val Records = Signature("upserts", "upserts(TABLE(deltas), (shop, id))", Seq("key"), tables = 1)

  private val upserts = Records.registered(
    "the changes of a result as records of a compacted topic: for each key that a batch changes its new row, or NULL"
  ) { call =>
    val key = call.needed(call.columns("key"))
    (_, relations) => Upserts.records(relations.head, key)
  }

  val all: Seq[TableFunctions.Registered] = Seq(debezium, upserts)
}
