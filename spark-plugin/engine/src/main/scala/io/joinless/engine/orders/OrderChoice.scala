package io.joinless.engine.orders

/** How a walk through a bag chooses the relation that it binds next. Given the row R(1,2) of the
  * triangle R(a,b) ⋈ S(b,c) ⋈ T(c,a), where S has 3 rows with b = 2 and T has 5 with a = 1:
  * {{{
  * Fewest                  S: it has the fewest candidates now
  * Fixed((0,2,1), …)       T: it comes before S in the order for changes of R
  * Adaptive()              what has been cheaper on average, for changes of R
  * }}}
  * A relation of which all attributes are bound needs one probe, and is looked at before any of
  * these. A choice decides on the number of look-ups only, never on results.
  */
sealed trait OrderChoice

object OrderChoice {

  /** The relation with the fewest candidates under the rows that are bound. */
  case object Fewest extends OrderChoice

  /** The first relation of an order that has a bound attribute and no bound row.
    *
    * @param orders by the relation that is bound first: all relations
    */
  final case class Fixed(orders: IndexedSeq[IndexedSeq[Int]]) extends OrderChoice

  /** The relation from which the least look-ups are expected ([[CostGraph]]). Bags of more than
    * `CostGraph.MaxRelations` relations, and those that are not connected, are walked as by
    * `Fewest`.
    *
    * @param sums a step costs the sum of the lists that lead to its relation; else the shortest of
    *     them, which is what a walk reads
    * @param bounds an increase only tags values as lower bounds; else they are computed at once
    * @param patience how often an average must differ from the value in use before it replaces it
    * @param ratio what counts as different
    * @param lengthWeight the weight of a new length in the average
    * @param shareWeight the weight of a new share in the average
    * @param randomFirst so many walks at the start have random orders
    * @param randomAfter and one of so many later ones
    */
  final case class Adaptive(
      sums: Boolean = false,
      bounds: Boolean = true,
      patience: Int = 200,
      ratio: Double = 1.5,
      lengthWeight: Double = 0.04,
      shareWeight: Double = 0.05,
      randomFirst: Int = 50,
      randomAfter: Int = 100
  ) extends OrderChoice
}
