package io.joinless.spark.state.log

/** Each entry is valid for ever. */
final private[spark] class EveryEntry(writer: ChangeLogWriter) extends Retention(writer) {
  override def oldest: Long = 0L
  override def isMostlyOutdated: Boolean = false
  override def pays(entries: Int): Boolean = false
  override def keep(block: LoggedBlock): ChangeLogReader.Entry = again
  override def removed(block: LoggedBlock): Unit = ()
  override def merge(block: LogTail.Block): ChangeLogReader.Entry = again

  /** Writes an entry again as it is. */
  private def again: ChangeLogReader.Entry =
    (roles, _, _, base, offset, bytes) => writer.append(roles, base, offset, bytes)
}
