package io.joinless.engine.mutants

/** Mutations of joins by intersection (algorithms A74 to A76). */
private[mutants] object BagMutants {
  private val indexes = "view/BagIndexes.scala"
  private val walk = "enumerate/BagWalk.scala"
  private val packed = "tuples/PackedKeys.scala"
  private val level = "enumerate/Level.scala"
  private val cursor = "enumerate/Cursor.scala"
  private val order = "enumerate/BindingOrder.scala"
  private val builder = "view/ViewTreeBuilder.scala"
  private val links = "update/Links.scala"
  private val bagLinks = "update/BagLinks.scala"

  val all: Seq[Mutant] = Seq(
    Mutant("bag: a row is in a list once per role", bagLinks, "if ((before & list.roles) == 0L) list" -> "list"),
    Mutant(
      "bag: a row leaves a list that another role uses",
      bagLinks,
      "if ((after & list.roles) == 0L) list" -> "list"
    ),
    Mutant(
      "bag: a deleted row stays in lists",
      links,
      "    if (node.bag != null) BagLinks.unlink(node.bag, node.relation, row)\n" -> ""
    ),
    Mutant("bag: a row is in its last role only", bagLinks, "before | 1L << relation" -> "1L << relation"),
    Mutant("bag: a row leaves all roles at once", bagLinks, "member.roles(row) & ~(1L << relation)" -> "0L"),
    Mutant(
      "bag: a row counts in every role of its input",
      indexes,
      "present == null || (present(row) >>> relation & 1L) != 0L" -> "true"
    ),
    Mutant("bag: only the first relation has all rows", builder, "if (first(r)) node.vs" -> "if (r == 0) node.vs"),
    Mutant("bag: other bound attributes are not compared", walk, "(isExact || agrees(member, row, bound))" -> "true"),
    Mutant("bag: roles are not compared", walk, "member.has(row) && " -> ""),
    Mutant(
      "bag: attributes that were bound before are forgotten",
      walk,
      "      boundAttributes(l) = boundAttributes(l - 1)\n" -> ""
    ),
    Mutant(
      "bag: attributes of the row before are not bound",
      walk,
      "    boundAttributes(l) |= member.attributeSet\n" -> ""
    ),
    Mutant("bag: the chosen relation is not the next", walk, "    levels(best) = levels(l)\n" -> ""),
    Mutant(
      "bag: the list of another relation is walked",
      walk,
      "    chosenLists(l) = foundLists\n" -> "    if (chosenLists(l) == null) chosenLists(l) = foundLists\n"
    ),
    Mutant(
      "bag: a missing key is the first one",
      walk,
      "foundKey = member.find(ids, buffer)" -> "foundKey = math.max(member.find(ids, buffer), 0)"
    ),
    Mutant(
      "bag: a fixed order goes on without a bound attribute",
      walk,
      "== 0L && (bag.members(r).attributeSet & boundAttributes(l)) != 0L" -> "== 0L"
    ),
    Mutant("bag: a fixed order has bound relations again", walk, "(boundRelations(l) >>> r & 1L) == 0L && " -> ""),
    Mutant("bag: conditions are evaluated too early", walk, "(readBy(i) & ~now) == 0L && " -> ""),
    Mutant("bag: conditions are never evaluated", walk, "(readBy(i) & ~before) != 0L" -> "false"),
    Mutant(
      "bag: runs whatever the conditions",
      walk,
      "val isPlain: Boolean = conditions.isEmpty" -> "val isPlain: Boolean = true"
    ),
    Mutant("bag: ids of one word are added up", packed, "<< ((i & 1) << 5)" -> "<< 0"),
    Mutant("bag: a key has the ids of the last one", packed, "if ((i & 1) == 0) word else into" -> "into"),
    Mutant("bag: candidates of the list before are kept", level, "    offers = 0\n" -> ""),
    Mutant("bag: the last candidate is left out", level, "end = offers - 1" -> "end = offers - 2"),
    Mutant("bag: the start is not bound", cursor, "    if (bag != null) bag.begin(tuples)\n" -> ""),
    Mutant("bag: two innermost lists", cursor, "if (bag == null && last > 0 && " -> "if (last > 0 && "),
    Mutant("bag: rows that count twice in a list that became the last", order, "if (bag != null) 0\n  else {" -> "{")
  )
}
