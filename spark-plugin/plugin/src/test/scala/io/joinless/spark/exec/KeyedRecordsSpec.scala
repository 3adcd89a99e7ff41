package io.joinless.spark.exec

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.joinless.JoinlessRuntimeException
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

/** Changes of a key next to each other become one record. */
class KeyedRecordsSpec extends AnyFunSuite {

  private def merged(changes: (String, String, Long)*): Seq[(String, Option[String])] = {
    // the operators of Spark give the same object for each row
    val row = new GenericInternalRow(3)
    val rows = changes.iterator.map { case (key, value, weight) =>
      row.update(0, UTF8String.fromString(key))
      row.update(1, UTF8String.fromString(value))
      row.update(2, weight)
      row: InternalRow
    }
    KeyedRecordsExec.merged(rows, "id").map { case (key, value) => key.toString -> Option(value).map(_.toString) }.toSeq
  }

  test("a key has its inserted row, or a tombstone if it has none") {
    assert(merged() == Nil)
    assert(merged(("1", "a", 1), ("2", null, -1), ("3", null, -1), ("3", "b", 1), ("4", "c", 1), ("4", null, -1)) ==
      Seq("1" -> Some("a"), "2" -> None, "3" -> Some("b"), "4" -> Some("c")))
  }

  test("two rows of a key before or after the batch are an error by name") {
    val twice: Seq[Seq[(String, String, Long)]] = Seq(
      Seq(("1", "a", 1), ("1", "b", 1)),
      Seq(("0", "x", 1), ("1", null, -1), ("1", "a", 1), ("1", null, -1)),
      Seq(("1", "a", 2)),
      Seq(("1", null, -2))
    )
    for (changes <- twice) {
      val error = intercept[JoinlessRuntimeException](merged(changes: _*))
      assert(error.getCondition == "JOINLESS_UPSERTS.KEY_NOT_UNIQUE")
      assert(error.getMessage.contains("more than one row of the key 1, by the columns id"))
    }
  }
}
