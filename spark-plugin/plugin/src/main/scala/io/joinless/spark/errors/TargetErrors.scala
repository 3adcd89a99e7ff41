package io.joinless.spark.errors

/** The errors of a table to which the changes of a result are applied. */
object TargetErrors {

  /** @param what the subclass
    * @param target the table
    * @param parameters the others of the subclass
    */
  def of(what: String, target: String, parameters: (String, String)*): JoinlessAnalysisException =
    caused(what, target, None, parameters: _*)

  /** The same, because of another error. */
  def caused(
      what: String,
      target: String,
      cause: Option[Throwable],
      parameters: (String, String)*
  ): JoinlessAnalysisException =
    new JoinlessAnalysisException(s"JOINLESS_APPLY_CHANGES.$what", (parameters :+ "target" -> target).toMap, cause)
}
