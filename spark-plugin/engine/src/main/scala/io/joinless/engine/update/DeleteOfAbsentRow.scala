package io.joinless.engine.update

/** A batch deletes a row more often than it is present. Nothing of the batch was applied. */
final class DeleteOfAbsentRow(val relation: Int, val row: IndexedSeq[Long], val present: Long, val change: Long)
    extends RuntimeException(s"relation $relation holds the row $present times and the batch changes that by $change")
