package io.joinless.engine.mutants

/** Mutations of orders that adapt (algorithms A80), which `Probe.runOrders` kills. Not included:
  * what decides only on how much is computed, or among orders of the same cost.
  */
private[mutants] object OrderMutants {
  private val graph = "orders/CostGraph.scala"
  private val averages = "orders/Averages.scala"
  private val orders = "orders/Orders.scala"
  private val report = "enumerate/WalkReport.scala"
  private val walk = "enumerate/BagWalk.scala"

  val all: Seq[Mutant] = Seq(
    Mutant(
      "orders: an increase leaves values exact",
      graph,
      "if (exact(node) && best(node) == step) {" -> "if (false) {"
    ),
    Mutant("orders: an increase tags one set only", graph, "        loosen(into(i))\n" -> ""),
    Mutant("orders: a value is exact above a bound", graph, "      if (exact(children(s))) {" -> "      if (true) {"),
    Mutant("orders: what is computed is exact", graph, "exact(node) = exact(children(s))" -> "exact(node) = true"),
    Mutant("orders: a set that is no longer exact stays so above", graph, " || wasExact && !exact(node)" -> ""),
    Mutant("orders: a lower value is not passed upwards", graph, "values(node) < value || wasExact" -> "wasExact"),
    Mutant("orders: a decrease changes nothing", graph, "by < 0.0 || by > 0.0" -> "by > 0.0"),
    Mutant(
      "orders: a decrease changes one set only",
      graph,
      "if (computed(node)) above(node).foreach(step => pending.set(owners(step)))" -> "val _ = computed(node)"
    ),
    Mutant(
      "orders: without bounds increases stay below",
      graph,
      "else values(node) != value" -> "else values(node) < value"
    ),
    Mutant("orders: without bounds increases are not computed", graph, " || by > 0.0 && !bounds" -> ""),
    Mutant("orders: the longest list", graph, "math.min(shortest, rows)" -> "math.max(shortest, rows)"),
    Mutant("orders: the last list instead of the sum", graph, "sum += rows" -> "sum = rows"),
    Mutant("orders: probes cost as lists", graph, "if (probed(s)) lists(to * n + to) else length" -> "length"),
    Mutant(
      "orders: what probes find is not used",
      graph,
      "(from == to || (set & 1 << from) != 0)" -> "(set & 1 << from) != 0"
    ),
    Mutant("orders: candidates cost nothing", graph, "(1.0 + shares(step)" -> "(shares(step)"),
    Mutant("orders: sets that are not connected", graph, "is(rest) && (neighbours(r) & rest) != 0" -> "is(rest)"),
    Mutant("orders: every average is used at once", averages, "differences(i) >= patience && use(i)" -> "use(i)"),
    Mutant("orders: no ratio", averages, "more > ratio * less" -> "more > less"),
    Mutant("orders: small differences count", averages, "more - less > Averages.Negligible && " -> ""),
    Mutant(
      "orders: the last value is the average",
      averages,
      "averages(i) += weight * (value" -> "averages(i) += (value"
    ),
    Mutant(
      "orders: differences are not counted anew",
      averages,
      "    differences(i) = 0\n" -> "    differences(i) = math.max(differences(i), 0)\n"
    ),
    Mutant("orders: a probe that finds nothing is free", orders, "math.max(rows, 1)" -> "rows"),
    Mutant(
      "orders: lists of the other direction",
      orders,
      "saw(from, relation, shortest)" -> "saw(relation, from, shortest)"
    ),
    Mutant("orders: all candidates agree", orders, "agreeing.toDouble / rows" -> "1.0"),
    Mutant("orders: conditions are not counted", report, "Unit = agreeing(l) -= 1" -> "Unit = ()"),
    Mutant("orders: rejected rows are not reported", walk, "        if (report != null) report.rejected(l)\n" -> ""),
    Mutant(
      "orders: shares are never reported",
      walk,
      "    if (report != null) report.complete(l)\n" -> "",
      "isRandom = report != null && report.begin()" -> "isRandom = report != null && orders.begin()"
    )
  )
}
