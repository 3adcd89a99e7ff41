package io.joinless.spark.errors

/** The errors of views that are named, and of the procedures over them. Each method returns the
  * exception to throw.
  */
object ViewErrors {

  /** A table does not name a query that it is kept equal to. */
  def notAView(view: String): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_VIEW.NOT_A_VIEW", "view" -> view)

  /** A view has not completed a batch. */
  def noBatch(view: String): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_VIEW.NO_BATCH", "view" -> view)

  /** A view that is to be started is running. */
  def running(view: String, query: String, id: String): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_VIEW.RUNNING", "view" -> view, "query" -> query, "id" -> id)

  /** Another query is to be started for a view that is running. */
  def runningOther(view: String, query: String): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_VIEW.RUNNING_OTHER", "view" -> view, "query" -> query)

  /** The checkpoint of a view is gone, and its table has rows. */
  def noCheckpoint(view: String, folder: String): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_VIEW.NO_CHECKPOINT", "view" -> view, "folder" -> folder)

  /** The tables of a view are not what they were.
    *
    * @param cause what was found, in a line
    */
  def tables(view: String, cause: String): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_VIEW.TABLES", "view" -> view, "cause" -> cause)

  /** The query of a view cannot be run again.
    *
    * @param frames the DataFrames that its text reads; empty if it has no text
    */
  def noQuery(view: String, frames: Seq[String]): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_VIEW.NO_QUERY", "view" -> view, "given" -> ofQuery(frames))

  /** A view is to be replaced by its own query, which has no text, or reads DataFrames. */
  def noNewQuery(view: String, frames: Seq[String]): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_VIEW.NO_NEW_QUERY", "view" -> view, "given" -> ofQuery(frames))

  private def ofQuery(frames: Seq[String]): String =
    if (frames.isEmpty) " given as a DataFrame" else frames.mkString(" that reads DataFrames (", ", ", ")")

  /** A view that no catalog names is to be dropped. */
  def dropOfPath(view: String, location: String): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_VIEW.PATH", "view" -> view, "location" -> location)

  /** The text of a view's query reads other tables than the view.
    *
    * @param database in which the view was made
    * @param found the current one
    */
  def otherDatabase(view: String, database: String, found: String): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_VIEW.OTHER_DATABASE", "view" -> view, "database" -> database, "found" -> found)

  /** A text is no trigger. */
  def trigger(found: String): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_VIEW.TRIGGER", "found" -> found)

  /** A query has other columns than the view. */
  def columns(view: String, columns: Seq[String], found: Seq[String]): JoinlessAnalysisException =
    JoinlessErrors.analysis(
      "JOINLESS_VIEW.COLUMNS",
      "view" -> view,
      "columns" -> columns.mkString(", "),
      "found" -> found.mkString(", ")
    )

  /** A number of cells is no positive one. */
  def cells(found: Int): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_VIEW.CELLS", "found" -> found.toString)

  /** There is no procedure of this name. */
  def noProcedure(name: String, known: Seq[String]): JoinlessAnalysisException =
    JoinlessErrors.analysis(
      "JOINLESS_PROCEDURE.NOT_FOUND",
      "procedure" -> name,
      "procedures" -> known.mkString(", "),
      "suggestion" -> Suggestion.sentence(name, known)
    )

  /** A parameter of a procedure is NULL or blank, and needs a value. */
  def noValue(procedure: String, parameter: String): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_PROCEDURE.NO_VALUE", "procedure" -> procedure, "parameter" -> parameter)

  /** A call has a text and a temporary view. */
  def twoQueries(procedure: String): JoinlessAnalysisException =
    JoinlessErrors.analysis("JOINLESS_PROCEDURE.TWO_QUERIES", "procedure" -> procedure)

  /** A number of rows is negative, or larger than one result may be. */
  def numberOfRows(procedure: String, parameter: String, found: String, most: Int): JoinlessAnalysisException =
    JoinlessErrors.analysis(
      "JOINLESS_PROCEDURE.NUMBER_OF_ROWS",
      "procedure" -> procedure,
      "parameter" -> parameter,
      "found" -> found,
      "most" -> most.toString
    )
}
