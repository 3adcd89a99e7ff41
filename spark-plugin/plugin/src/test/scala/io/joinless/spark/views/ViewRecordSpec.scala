package io.joinless.spark.views

import org.scalatest.funsuite.AnyFunSuite

class ViewRecordSpec extends AnyFunSuite {

  test("what a table says of its view is read back") {
    val records = for {
      query <- Seq(None, Some("SELECT 'a', \"b\"\nFROM t"))
      frames <- Seq(Nil, Seq("clicks", "a \"b\""))
      checkpoint <- Seq(None, Some("_joinless_2"), Some("s3://cp"))
    } yield ViewRecord(query, query.map(_ => "spark_catalog.sales"), frames, checkpoint)
    records.foreach(record => assert(ViewRecord.of(record.properties) == Some(record)))
    assert(ViewRecord.of(Map("joinless.writer" -> "7", "delta.enableChangeDataFeed" -> "true")).isEmpty)
    assert(ViewRecord(None, None, Nil, None).properties == Map("joinless.view" -> "1"))
  }

  test("a checkpoint is in the folder of the table, unless it has a place of its own") {
    def folder(checkpoint: Option[String]) = ViewRecord(None, None, Nil, checkpoint).folder("file:/t/v/")
    assert(folder(None) == "file:/t/v/_joinless")
    assert(folder(Some("_joinless_12")) == "file:/t/v/_joinless_12")
    assert(folder(Some("/cp/_joinless_12")) == "/cp/_joinless_12")
    assert(folder(Some("_joinless_x")) == "_joinless_x")
  }
}
