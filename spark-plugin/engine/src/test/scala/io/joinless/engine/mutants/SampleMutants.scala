package io.joinless.engine.mutants

/** Mutations of what algorithms A59 to A62 specify: results by position, and kept samples. */
private[mutants] object SampleMutants {
  private val ordered = "positions/OrderedList.scala"
  private val order = "positions/TupleOrder.scala"
  private val descent = "positions/Descent.scala"
  private val counts = "positions/SubtreeCounts.scala"
  private val reservoir = "sample/Reservoir.scala"
  private val draws = "sample/Draws.scala"
  private val subsets = "sample/Subsets.scala"
  private val results = "sample/NewResults.scala"
  private val batch = "sample/SampledBatch.scala"
  private val journal = "sample/SampleJournal.scala"
  private val groups = "sample/Groups.scala"
  private val kept = "sample/KeptSample.scala"
  private val set = "sample/SampledSet.scala"
  private val annotation = "view/Annotation.scala"
  private val treeAnnotations = "update/TreeAnnotations.scala"

  def all: Seq[Mutant] = ofAll ++ ofGroups

  private val ofAll: Seq[Mutant] = Seq(
    Mutant("positions: in the order of memory", ordered, "order.hash(page, at)" -> "tuple.toLong << 40"),
    Mutant(
      "positions: inlined words are read one too early",
      order,
      "inRow.map(1 + r.words.indexOf(_))" -> "inRow.map(r.words.indexOf(_))"
    ),
    Mutant(
      "positions: tuples with equal hashes are not ordered",
      ordered,
      "if (starts(bucket + 1) - starts(bucket) > 1 && !sorted.get(bucket))" -> "if (false)"
    ),
    Mutant(
      "positions: a key's positions are not sorted",
      descent,
      "      if (!isSingle) here.sort(order, from, until)\n" -> ""
    ),
    Mutant("positions: copies count once", counts, "into.set(node.copies(tuple))" -> "into.set(1L)"),
    Mutant("sample: keys of refilled places are not above the bound", draws, "from + (1.0 - from) * least" -> "least"),
    Mutant("sample: keys are those of one result", draws, " / unseen.toDouble" -> ""),
    Mutant("sample: the bound is not lowered", reservoir, "if (isFull) greatest else 1.0" -> "1.0"),
    Mutant(
      "sample: the lesser of the greatest keys leaves",
      batch,
      "keys(entering - 1) < reservoir.greatest" -> "keys(entering - 1) >= reservoir.greatest"
    ),
    Mutant(
      "sample: another than the greatest key leaves",
      reservoir,
      "    val slot = heap(0)\n    count -= 1\n    heap(0) = heap(count)\n" -> "    val slot = heap(count - 1)\n    count -= 1\n"
    ),
    Mutant(
      "sample: the heap is not restored after deletions",
      reservoir,
      "      while (i >= 0) { down(i); i -= 1 }\n" -> ""
    ),
    Mutant(
      "sample: keys follow the order of positions",
      batch,
      "        draws.shuffle(keys, keys.length)\n" -> ""
    ),
    Mutant(
      "sample: keys of refilled places follow the order of positions",
      batch,
      "      draws.shuffle(keys, keys.length)\n      keys\n" -> "      keys\n"
    ),
    Mutant(
      "sample: a rejected combination enters",
      batch,
      "        if (accepts) {\n" -> "        if (true) {\n"
    ),
    Mutant(
      "sample: a free place is filled by a rejected combination",
      batch,
      "!known.contains(rows, copies) && accepts" -> "!known.contains(rows, copies)"
    ),
    Mutant(
      "sample: a free place is filled by a result that is sampled",
      batch,
      "!known.contains(rows, copies) && accepts" -> "accepts"
    ),
    Mutant(
      "sample: rejected combinations count as results left",
      batch,
      "if (residuals.isEmpty || positions.isZero)" -> "if (true)"
    ),
    Mutant(
      "sample: a key is looked at again",
      batch,
      "most > 0 && keys.length == most" -> "most > 0 && keys.length > 0"
    ),
    Mutant(
      "sample: copies of a row that leave stay sampled",
      batch,
      "sample.copy(slot, r) < tree.multiplicity(r, sample.row(slot, r))" -> "tree.multiplicity(r, sample.row(slot, r)) > 0"
    ),
    Mutant(
      "sample: deletions fill no places",
      batch,
      "if (reservoir.removeWhere(isGone(_)) > 0)" -> "if (reservoir.removeWhere(isGone(_)) > 0 && false)"
    ),
    Mutant(
      "sample: results that are left are as many as before",
      batch,
      "        unseen.subtract(Wide(1L))\n        keys(i) = from\n" -> "        keys(i) = from\n"
    ),
    Mutant("sample: new copies are old ones", results, "      digits.copy += copiesBefore\n" -> ""),
    Mutant(
      "sample: a result of two new rows is drawn twice as often",
      results,
      "if (c < first) Before else" -> "if (c < first) After else"
    ),
    Mutant(
      "sample: new results with old siblings only",
      results,
      "if (part == Before && touched >= 0)" -> "if (touched >= 0)"
    ),
    Mutant(
      "sample: further copies of a row are not new",
      results,
      "c < node.childCount || isIncreased(node, tuple)" -> "c < node.childCount"
    ),
    Mutant(
      "sample: a leaf's new rows are among those before",
      results,
      "part == After || isIncreased(node, tuple) == (part == New)" -> "part != New || isIncreased(node, tuple)"
    ),
    Mutant(
      "positions: rows of a leaf that are in no part have positions",
      ordered,
      "!isSingle || space.contains(part, node, tuple)" -> "true"
    ),
    Mutant(
      "sample: increased rows stay increased",
      results,
      "increased(relation).clear(noted(relation).pop())" -> "noted(relation).pop()"
    ),
    Mutant("sample: a position is drawn twice", subsets, "      drawn.removeAll(taken)\n    }" -> "    }"),
    Mutant(
      "sample: a rolled-back copy has another key",
      journal,
      "java.lang.Double.longBitsToDouble(keys(i))" -> "0.5"
    ),
    Mutant("sample: copies of a row are one", set, " && sample.copy(slot, r) == copies(r)" -> ""),
    Mutant("sample: keys stay touched", annotation, "      records.page(keys(i))(at(keys(i)) + width) = 0L\n" -> ""),
    Mutant(
      "sample: rows of the root are not new results",
      treeAnnotations,
      "          if (isAtRoot && touchedAtRoot != null) touchedAtRoot.note(rows(i))\n" -> ""
    )
  )

  /** Those of samples per group. */
  val ofGroups: Seq[Mutant] = Seq(
    Mutant(
      "groups: the same random numbers for all",
      groups,
      "override def seed(group: Int, ofBatch: Long): Long = ofBatch ^ order.hash(group)" -> "override def seed(group: Int, ofBatch: Long): Long = ofBatch ^ order.hash(group) * 0L"
    ),
    Mutant("groups: random numbers follow from memory", groups, "order.hash(group)" -> "(group * 0x9e3779b97f4a7c15L)"),
    Mutant(
      "groups: results of the other groups are counted",
      groups,
      "counts.ofTuple(root, group, into)" -> "root.annotation.readCount(0, into)"
    ),
    Mutant(
      "groups: new results are all results",
      groups,
      "added.count(NewResults.New, root, group, into)" -> "added.count(NewResults.After, root, group, into)"
    ),
    Mutant(
      "groups: accepted results of all groups are counted",
      groups,
      "cursor.startUnder(root.child(0), group)" -> "cursor.startFull()"
    ),
    Mutant(
      "groups: results are those of another group",
      descent,
      "bind(tree.root, tuples(i)" -> "bind(tree.root, tuples(0)"
    ),
    Mutant("groups: results of the first group that asks", batch, "        from += count\n" -> ""),
    Mutant(
      "groups: groups with deleted results are not touched",
      treeAnnotations,
      "    touchedAtRoot = touched\n    update()\n    touchedAtRoot = null" -> "    update()\n    touchedAtRoot = null"
    ),
    Mutant(
      "groups: that of a row below several generalized nodes",
      groups,
      "(path.takeWhile(_.isInstanceOf[GeneralizedViews]).toSeq :+ firstRelation(tree)).reverse" -> "Seq(firstRelation(tree))"
    ),
    Mutant(
      "groups: only one is rolled back",
      kept,
      "gone.map(groups(_)).foreach" -> "gone.map(groups(_)).take(1).foreach"
    ),
    Mutant(
      "groups: those of rolled-back copies are mixed up",
      kept,
      "    val group = groupOf(rowOf)\n    put" -> "    val group = 0\n    put"
    )
  )
}
