package io.joinless.spark.functions

import io.joinless.spark.changes.{StreamFunctions, TableFunctions}

/** All table functions of SQL. */
object SqlFunctions {

  val all: Seq[TableFunctions.Registered] =
    StreamFunctions.all ++ QueryFunctions.all ++ ResultFunctions.all ++ KafkaFunctions.all

  /** Functions whose arguments may be names of columns. */
  val takingNames: Set[String] =
    (StreamFunctions.all ++ KafkaFunctions.all).map(_._1.funcName).toSet
}
