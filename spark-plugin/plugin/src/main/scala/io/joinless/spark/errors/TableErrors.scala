package io.joinless.spark.errors

/** The errors of queries over tables, and of views that are compared with their queries. Each
  * method returns the exception to throw.
  */
object TableErrors {

  /** A table has no change data feed, since it is not Delta's. */
  def tableFormat(table: String, format: String): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_TABLE.FORMAT", "table" -> table, "format" -> format)

  /** The change data feed of a table is off, and cannot be switched on from here.
    *
    * @param statement which would switch it on
    */
  def tableFeed(table: String, statement: String, cause: Throwable): JoinlessAnalysisException =
    JoinlessErrors.analysis(
      "JOINLESS_TABLE.FEED_IS_OFF",
      "table" -> table,
      "statement" -> statement,
      "error" -> shortened(String.valueOf(cause.getMessage), most = 400)
    )

  /** A query reads a column of a table that its changes do not have. */
  def tableColumn(table: String, column: String): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_TABLE.HIDDEN_COLUMN", "table" -> table, "column" -> column)

  /** A text is no query. */
  def notAQuery(text: String): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_TABLE.NOT_A_QUERY", "text" -> shortened(text))

  /** A query reads nothing that changes. */
  def nothingChanges(text: String): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_TABLE.NOTHING_CHANGES", "text" -> shortened(text))

  /** A view whose query reads a stream is to be compared with it. */
  def verifyStream(text: String): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_VIEW.STREAM", "text" -> shortened(text))

  /** A view whose query draws a sample is to be compared with it. */
  def verifySample(text: String): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_VIEW.SAMPLE", "text" -> shortened(text))

  /** The first batch runs again, and a static table is another one than when it began. */
  def staticTableChanged(table: String): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_STATIC_TABLE_CHANGED", "table" -> table)

  /** A view is to be compared with its query, and a static table has changed since it was read. */
  def verifyStatic(table: String): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_VIEW.STATIC_TABLE_CHANGED", "table" -> table)

  /** A view is to be compared with its query over another table than it has read. */
  def verifyReplaced(table: String): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_VIEW.REPLACED", "table" -> table)

  /** A view has not read all rows that a table had when the view began. */
  def verifyFirstRows(table: String): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_VIEW.FIRST_ROWS", "table" -> table)

  /** A view has read several versions of a table. */
  def verifyVersions(table: String, versions: Seq[Long]): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_VIEW.VERSIONS", "table" -> table, "versions" -> versions.sorted.mkString(", "))

  private def shortened(text: String, most: Int = 80): String = {
    val line = text.trim.replaceAll("\\s+", " ")
    if (line.length > most) line.take(most) + " …" else line
  }
}
