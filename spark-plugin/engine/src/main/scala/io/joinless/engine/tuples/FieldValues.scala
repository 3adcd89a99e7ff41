package io.joinless.engine.tuples

/** A set of values of one field: whether a row has one of them costs one probe.
  *
  * A value is the words that a key has for it ([[KeyReader]]): one word, or for a variable field
  * its size in bytes and its data, zero padded. NULL is None.
  */
final class FieldValues(field: KeyField, values: Iterable[FieldValues.Value]) {
  private[this] val nullSafe = Array(true)
  private[this] val words = KeyReader.keyWords(Array(field.variable), nullSafe)
  private[this] val index = new KeyIndex(new TupleArena(words), words, counted = false)

  for (value <- values) {
    val key = FieldValues.key(Seq(value), nullSafe).get
    val _ = index.findOrAdd(key, key.length)
  }

  /** Whether a row has one of the values.
    *
    * @param rowFields the number of fields of its rows
    */
  def test(arena: TupleArena, rowFields: Int): Int => Boolean = {
    val reader = new KeyReader(arena, rowFields, Array(field), nullSafe)
    row => reader.find(index, row) >= 0
  }
}

object FieldValues {
  type Value = Option[IndexedSeq[Long]]

  /** The key with these values of attributes; None if a value is NULL where NULL joins nothing.
    */
  def key(
      values: Seq[Value],
      nullSafe: Array[Boolean]
  ): Option[Array[Long]] = {
    val nulls = new Array[Long](KeyReader.nullWords(nullSafe))
    val joins = values.indices.forall { i =>
      values(i).isDefined || nullSafe(i) && { nulls(i >>> 6) |= 1L << (i & 63); true }
    }
    // a NULL has one word, whether it is a value or the size of one
    Option.when(joins)(nulls ++ values.flatMap(_.getOrElse(IndexedSeq(0L))))
  }
}
