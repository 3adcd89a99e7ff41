package io.joinless.spark.spec

import org.json4s.JsonAST.JValue

/** The names of the columns of each stream and projection of the compiled query, in the order in
  * which it passes them on: a source may reorder its columns later. Empty where the query is not
  * compiled, or the writing release did not record them.
  */
object ColumnsInOrder extends BlockProperty[IndexedSeq[IndexedSeq[String]]]("order", IndexedSeq.empty) {

  override def write(order: IndexedSeq[IndexedSeq[String]]): Option[JValue] =
    Option.when(order.nonEmpty)(JsonValues.array(order)(JsonValues.texts))

  override def read(json: Option[JValue]): IndexedSeq[IndexedSeq[String]] =
    json.fold(default)(JsonFields.items(_, field).map(JsonFields.textsIn(_, field)))
}
