package io.joinless.spark.explain

import io.joinless.spark.plans.nodes.DeltaRows
import io.joinless.spark.plans.values.{Addition, DeltaForm}
import io.joinless.spark.spec.BlockSpec

/** The form in which the changes of a block's result are emitted, as a line of text for users.
  *
  * A cell is a part of the state, chosen by the values of some join attributes. Where the result
  * does not project one of these, equal rows can come from several cells.
  */
object DeltasText {

  /** How the changes of a block's result are emitted.
    *
    * @param spec the block below, with its shares
    */
  def apply(spec: BlockSpec, deltas: DeltaRows): String = {
    val hidden = Addition.hidden(spec, deltas.projectedColumns).map(spec.attributes(_).name)
    val sum = Addition(spec, deltas.form, deltas.projectedColumns) match {
      case Addition.None => "emitted as they are found"
      case Addition.Within => "equal rows added up within each cell"
      case Addition.Across =>
        s"equal rows added up over all cells, because the result does not project ${hidden.mkString(", ")}"
    }
    if (deltas.form == DeltaForm.OnClose) "  emitted: each result once, when it appears: it is final"
    else s"  changes: in ${deltas.form.column}, $sum"
  }
}
