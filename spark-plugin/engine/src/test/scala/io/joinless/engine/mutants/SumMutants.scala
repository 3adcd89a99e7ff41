package io.joinless.engine.mutants

/** Mutations of what algorithms A45 to A58 specify: results that are counted and summed up, in
  * place of or besides their enumeration.
  */
private[mutants] object SumMutants {
  private val propagation = "update/Propagation.scala"
  private val links = "update/Links.scala"
  private val restoration = "update/Restoration.scala"
  private val deletedRows = "update/DeletedRows.scala"
  private val tupleKeys = "tuples/TupleKeys.scala"
  private val builder = "view/ViewTreeBuilder.scala"
  private val index = "tuples/KeyIndex.scala"
  private val annotation = "view/Annotation.scala"
  private val componentSums = "reduce/ComponentSums.scala"
  private val contribution = "update/Contribution.scala"
  private val treeAnnotations = "update/TreeAnnotations.scala"
  private val wholeRows = "view/WholeRows.scala"
  private val forgetting = "update/Forgetting.scala"
  private val presentRows = "reduce/PresentRows.scala"
  private val rowStore = "view/RowStore.scala"
  private val reduction = "query/Reduction.scala"
  private val exactSums = "algebra/ExactSums.scala"
  private val topChanges = "reduce/TopChanges.scala"
  private val projection = "tuples/RowProjection.scala"

  val all: Seq[Mutant] = Seq(
    Mutant("sums: key touched once per row", annotation, "        page(touchedAt) = keys.size\n" -> ""),
    Mutant("sums: touched keys stay touched", annotation, "    if (!once && !keep) page(at + width) = 0L\n" -> ""),
    Mutant(
      "sums: change of an earlier batch kept",
      annotation,
      "Words.copy(summand, 0, changes.page(index), changes.at(index), width)" ->
        "ring.add(changes.page(index), changes.at(index), summand, 0)"
    ),
    Mutant(
      "sums: a distinct part counts as often as it is there",
      componentSums,
      "if (children(c).isDistinct) " -> "if (false) "
    ),
    Mutant(
      "sums: a distinct part multiplies",
      contribution,
      "if (node.child(c).isDistinct) null else node.child(c).annotation" -> "node.child(c).annotation"
    ),
    Mutant(
      "sums: the changed child multiplies, too",
      contribution,
      "if (c != except && below(c) != null)" -> "if (below(c) != null)"
    ),
    Mutant(
      "sums: rows that are keys of each other are kept for ever",
      deletedRows,
      " || store.hasOtherKeys(input) && !store.isThere(input, row)" -> ""
    ),
    Mutant(
      "sums: a freed key is found",
      index,
      "references.add(id, -times) == 0 && { vacate(id); " -> "references.add(id, -times) == 0 && { "
    ),
    Mutant("sums: rows count once", componentSums, "    ring.scale(contribution.product, multiplicity(row))\n" -> ""),
    Mutant(
      "sums: rows do not lift",
      contribution,
      "    if (lift != null) lift.multiply(product, arena, tuple)\n" -> ""
    ),
    Mutant("sums: negative counts count", componentSums, "math.max(countAfter, 0L)" -> "countAfter"),
    Mutant(
      "sums: new count in place of the difference",
      componentSums,
      "ring.results(contribution.product, after - before)" -> "ring.results(contribution.product, after)"
    ),
    Mutant(
      "sums: dead rows walked as alive",
      componentSums,
      "walk(c, ViewNode.aliveList(key), delta)" -> "walk(c, ViewNode.otherList(key), delta)"
    ),
    Mutant(
      "sums: support of dead rows not decremented",
      componentSums,
      "        node.state(row) = node.state(row) - 1\n        counters.steps += 1" -> "        counters.steps += 1"
    ),
    Mutant("sums: rows stay in their list", componentSums, "Links.move(node, row, toAlive = false)" -> "()"),
    Mutant(
      "sums: new rows are without support",
      links,
      "      if (node.countsSupport) node.state(row) = supporting\n" -> ""
    ),
    Mutant(
      "sums: keys of freed projected rows kept",
      tupleKeys,
      "        TupleKeys.forget(ofKeys, key)\n" -> ""
    ),
    Mutant(
      "aggregates: rows that appeared stay in the list of the others",
      propagation,
      "if (appears && node.isSplit) Links" -> "if (false) Links"
    ),
    Mutant(
      "aggregates: rows that died stay in the list of the alive ones",
      propagation,
      "if (n.isSplit && ((n ne deleted) || t != deletedRow))" -> "if (false)"
    ),
    Mutant(
      "aggregates: rows that are not alive keep their support",
      propagation,
      "      countAll(node, ViewNode.otherList(key), up)\n" -> "      if (up) countAll(node, ViewNode.otherList(key), up)\n"
    ),
    Mutant(
      "aggregates: new count in place of the difference",
      treeAnnotations,
      "math.max(after, 0L) - math.max(before, 0L)" -> "math.max(after, 0L)"
    ),
    Mutant("aggregates: negative counts count", treeAnnotations, "- math.max(before, 0L)" -> "- before"),
    Mutant("aggregates: rows count once", treeAnnotations, "ring.scale(contribution.product, r.weight(tuple))" -> "()"),
    Mutant(
      "aggregates: lost keys are taken over with the others",
      treeAnnotations,
      "while (c < node.childCount) { loseKeys(c); c += 1 }" -> "()"
    ),
    Mutant(
      "aggregates: lost keys are taken over twice",
      treeAnnotations,
      "if (child.annotation.signAfter(i) > 0) {" -> "if (true) {"
    ),
    Mutant(
      "aggregates: rows of a lost key keep their contributions",
      treeAnnotations,
      "if (hadResults) contributeAll(c, key, alive = false)" -> "()"
    ),
    Mutant(
      "aggregates: appended rows are not counted",
      treeAnnotations,
      "      change(changes.appendedRelation(i), changes.appendedRow(i), 0L, 1L)\n" -> ""
    ),
    Mutant(
      "aggregates: an unsupported row contributes",
      treeAnnotations,
      "if (contribution.isSupported(rows(i), except = -1)) {" -> "{"
    ),
    Mutant(
      "aggregates: pending changes of the root are kept",
      annotation,
      "while (i < keys.size) { val _ = applyChange(i, change); i += 1 }" -> ""
    ),
    Mutant(
      "aggregates: what is forgotten still counts",
      forgetting,
      "annotations.change(relation, row, 1L, 0L)" -> "()"
    ),
    Mutant(
      "aggregates: what is restored does not count",
      restoration,
      "if (annotations != null) annotations.change(relation, row, 0L, count)" -> ""
    ),
    Mutant(
      "aggregates: keys without results are supported",
      contribution,
      "if (c != except && node.child(c).annotation.isEmpty" -> "if (false && node.child(c).annotation.isEmpty"
    ),
    Mutant(
      "aggregates: lists of appended rows lose the last one",
      builder,
      "new IntLists(removable || r.isSplit)" -> "new IntLists(removable)"
    ),
    Mutant("sums: pending row taken twice", topChanges, "if (c != component && " -> "if ("),
    Mutant(
      "sums: inserted rows are emitted with the remaining ones",
      topChanges,
      "case Remaining => delta.reweigh" -> "case Remaining => delta.insert"
    ),
    Mutant(
      "sums: a row that is touched in vain stays touched",
      topChanges,
      "if (distinct(c) || !emits)" -> "if (distinct(c) && emits)"
    ),
    Mutant("sums: each sum takes in the number", exactSums, "var i = starts(s)" -> "var i = 0"),
    Mutant(
      "sums: the number alone is multiplied with a count",
      exactSums,
      "multiplySum(into, s, times, times >> 63)" -> "()"
    ),
    Mutant("sums: keys that are rows have their columns in another order", wholeRows, ".sortBy(_._1.ordinal)" -> ""),
    Mutant(
      "sums: a part of a row is taken for all of it",
      wholeRows,
      " && fields.map(_.ordinal).sorted == (0 until count)" -> ""
    ),
    Mutant(
      "sums: rows of different inputs are one",
      wholeRows,
      "block.relations(r).input == input && isWhole(r, projected)" -> "isWhole(r, projected)"
    ),
    Mutant(
      "sums: a key that is touched several times is taken to be touched once",
      builder,
      "r.isOwnKey && r.childCount == 0" -> "r.isOwnKey"
    ),
    Mutant("sums: rows counted once per role", presentRows, "if (changes.isRowsFirst(entry))" -> "if (true)"),
    Mutant("sums: what is restored has no rows", presentRows, "count(store.isThere(input, _))" -> "count(_ => false)"),
    Mutant("find: a key is taken for a row", rowStore, "row >= 0 && isThere(input, row)" -> "row >= 0"),
    Mutant(
      "restore: rows of one identity are given back once per input",
      restoration,
      "inputs.groupBy(store.identity)" -> "inputs.map(i => store.identity(i) -> IndexedSeq(i))"
    ),
    Mutant(
      "reduction: a component goes below one that has a part of what it projects",
      reduction,
      "part.projected.subsetOf(whole.projected)" -> "(part.projected & whole.projected).nonEmpty"
    ),
    Mutant("projection: NULL equals 0", projection, "buffer(f >>> 6) |= 1L << (f & 63)" -> "()"),
    Mutant(
      "projection: offsets of the row it was taken from",
      projection,
      "(8L * end) << 32 | word & 0xffffffffL" -> "word"
    )
  )
}
