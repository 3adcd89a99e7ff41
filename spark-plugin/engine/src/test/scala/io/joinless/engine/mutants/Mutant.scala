package io.joinless.engine.mutants

/** A mutation of the engine: in `file`, each text (which must occur exactly once) is replaced by
  * another.
  */
final case class Mutant(name: String, file: String, edits: (String, String)*) {

  def mutate(source: String): String = edits.foldLeft(source) { case (text, (from, to)) =>
    val first = text.indexOf(from)
    require(first >= 0 && text.indexOf(from, first + 1) < 0, s"$name: not exactly once in $file: $from")
    text.replace(from, to)
  }
}

/** Mutations of what algorithms A16 to A35 specify, and others that a reader of the engine may find
  * plausible.
  *
  * Not included: enumerating R_e in place of V_s, for which no list exists; and marking witnesses
  * live before their results are enumerated, which is equivalent: a tuple that one change of one
  * row makes live is never above another of its witnesses.
  */
object Mutant {
  private val propagation = "update/Propagation.scala"
  private val liveness = "update/Liveness.scala"
  private val links = "update/Links.scala"
  private val delta = "update/DeltaEnumeration.scala"
  private val collected = "update/CollectedChanges.scala"
  private val net = "update/Net.scala"
  private val order = "update/ApplyOrder.scala"
  private val deltas = "update/BatchDeltas.scala"
  private val reversal = "update/Reversal.scala"
  private val restoration = "update/Restoration.scala"
  private val prefetchedRows = "update/PrefetchedRows.scala"
  private val cursor = "enumerate/Cursor.scala"
  private val level = "enumerate/Level.scala"
  private val bindingOrder = "enumerate/BindingOrder.scala"
  private val lists = "tuples/IntLists.scala"
  private val records = "tuples/RecordLists.scala"
  private val deletedRows = "update/DeletedRows.scala"
  private val tupleKeys = "tuples/TupleKeys.scala"
  private val fieldLocations = "view/FieldLocations.scala"
  private val builder = "view/ViewTreeBuilder.scala"
  private val index = "tuples/KeyIndex.scala"
  private val reader = "tuples/KeyReader.scala"

  private val survives = "n.vs.count(key) > n.dying(key) && n.isLiveAbove(key)"

  /** Those of trees whose results are enumerated, those of bags ([[BagMutants]]) and of their orders
    * ([[OrderMutants]]), those of sums ([[SumMutants]]), of totals over cycles ([[CycleMutants]]),
    * of samples ([[SampleMutants]]) and of what is drawn for them ([[DrawMutants]]).
    */
  val all: Seq[Mutant] =
    enumerated ++ BagMutants.all ++ OrderMutants.all ++ SumMutants.all ++ CycleMutants.all ++ SampleMutants.all ++
      DrawMutants.all

  private def enumerated: Seq[Mutant] = Seq(
    Mutant("delete: witnesses whose key does not survive", propagation, survives -> "n.isLiveAbove(key)"),
    Mutant("delete: witnesses below dead parents", propagation, survives -> "n.vs.count(key) > n.dying(key)"),
    Mutant(
      "delete: no witness at the root",
      propagation,
      "if (node.isRoot) witness(node, tuple)" -> "if (node.isRoot) ()"
    ),
    Mutant("delete: dying tuples of a key not reset", propagation, "n.dying(n.key(t)) = 0; " -> ""),
    Mutant(
      "insert: witnesses below dead parents",
      propagation,
      "if (node.isLiveAbove(key)) witness(node, tuple)" -> "witness(node, tuple)"
    ),
    Mutant(
      "insert: no witness at the root",
      propagation,
      "node.vs.push(0, tuple)\n      witness(node, tuple)" -> "node.vs.push(0, tuple)"
    ),
    Mutant(
      "insert: no witness under a key that is alive already",
      propagation,
      "if (!first) { if (node.isLiveAbove(key)) witness(node, tuple) }" -> "if (!first) ()"
    ),
    Mutant(
      "insert: counts up for each tuple, not for each key",
      propagation,
      "val first = node.vs.isEmpty(key)" -> "val first = true"
    ),
    Mutant(
      "mark missing",
      propagation,
      "liveness.mark(tree.nodes(witnessNodes(i)), witnessTuples(i)); i += 1" -> "i += 1"
    ),
    Mutant(
      "unmark missing",
      propagation,
      "liveness.unmark(tree.nodes(witnessNodes(i)), witnessTuples(i)); i += 1" -> "i += 1"
    ),
    Mutant(
      "mark not recursive",
      liveness,
      "if (first) pushAll(n.child(c), key)" -> "if (list == null) pushAll(n.child(c), key)"
    ),
    Mutant("mark for every live parent", liveness, "if (first) pushAll(n.child(c), key)" -> "pushAll(n.child(c), key)"),
    Mutant(
      "unmark not recursive",
      liveness,
      "if (list == null || list.isEmpty(key)) pushAll(n.child(c), key)" -> "if (list == null) pushAll(n.child(c), key)"
    ),
    Mutant(
      "unmark though another parent is live",
      liveness,
      "if (list == null || list.isEmpty(key)) pushAll(n.child(c), key)" -> "pushAll(n.child(c), key)"
    ),
    Mutant(
      "insertions first",
      order,
      "order.push(e, changes.roles(e) & ~replaced)" -> "if (refilled != 0L) order.push(e, changes.roles(e) & ~replaced)",
      "    order.pushAll(fresh)\n" -> "    order.pushAll(fresh)\n    if (refilled == 0L) deletions.foreach(e => order.push(e, changes.roles(e)))\n"
    ),
    Mutant(
      "transient results of replacements emitted",
      deltas,
      "bitCount(order.refilled) > 1" -> "bitCount(order.refilled) > 99"
    ),
    Mutant(
      "transient results suppressed when they are inserted only",
      deltas,
      "case Replacements.Deleted => Replacements.Inserted" -> "case Replacements.Deleted => Replacements.None"
    ),
    Mutant("rows changed in transient results not announced", deltas, "delta.changed | unseen" -> "delta.changed"),
    Mutant("counts that go up and down not reported", order, "reweighsDown && (reweighsUp || " -> "reweighsDown && ("),
    Mutant("equal rows appended not reported", order, "|| changes.appends > 0 || refilled" -> "|| refilled"),
    Mutant("replacements whose counts go down not reported", order, "> 0 || refilled != 0L)" -> "> 0)"),
    Mutant("marks of replacements kept", deltas, "replacements.clear()" -> "()"),
    Mutant(
      "replaced rows inserted twice",
      order,
      "fresh.push(e, changes.roles(e) & ~refill)" -> "fresh.push(e, changes.roles(e))"
    ),
    Mutant(
      "keys stay marked as refilled",
      order,
      "RefilledKeys.forget(node, node.key(row))" -> ""
    ),
    Mutant(
      "negative counts forgotten",
      collected,
      "      counts(numberOfTrailingZeros(rolesLeft))(row(entry)) = after(entry)\n" -> ""
    ),
    Mutant(
      "negative counts of deleted rows dropped",
      delta,
      "else if (after <= 0) delete(relation, row, after)" -> "else if (after <= 0) delete(relation, row)"
    ),
    Mutant(
      "negative counts not subtracted",
      delta,
      "if (before <= 0) insert(relation, row, after)" -> "if (before <= 0) insert(relation, row, after - before)"
    ),
    Mutant(
      "rows that were rolled back stay stored",
      reversal,
      "DeletedRows.free(store, block.inputOf(roles), row)" -> ""
    ),
    Mutant("changes rolled back the wrong way", reversal, "Weight.subtract(0L, changes(e))" -> "changes(e)"),
    Mutant(
      "slots of chunks that were freed forgotten",
      records,
      "head(left, pool.word(newest - 1, 0).toInt)" -> "head(left, newest - width)"
    ),
    Mutant(
      "restored rows not retained",
      restoration,
      "if (store.multiplicity(r, row) != 0) identity.retain(row)" -> "()"
    ),
    Mutant(
      "last restored rows are left out",
      restoration,
      "    insertGroup()\n    loading.end()" -> "    loading.end()"
    ),
    Mutant(
      "restored rows are inserted once",
      restoration,
      "if (counts == null) 1L else counts(row)" -> "1L"
    ),
    Mutant("group: other inputs' keys are looked up", prefetchedRows, "(roleSets(i) & columns.roles) != 0L" -> "true"),
    Mutant(
      "group: all have the key of the first",
      prefetchedRows,
      "joinKeys.findOrAdd(chosen(i), chosen(i))" -> "joinKeys.findOrAdd(chosen(i), chosen(0))"
    ),
    Mutant("restored rows kept for ever", restoration, "val _ = identity.release(row)" -> ""),
    Mutant("batch not netted", net, "Weight.add(change(e), weight)" -> "weight"),
    Mutant("change of some roles taken for all", net, "if (named != this.roles(e)) split(e, named)" -> ""),
    Mutant("change of a role taken twice", net, "        rolesLeft &= ~named\n" -> ""),
    Mutant(
      "one count taken for that of all roles",
      collected,
      "if (counts(numberOfTrailingZeros(others))(row) != before) " -> "if (false) "
    ),
    Mutant("absent rows deleted", collected, "if (after < 0 && change" -> "if (after < -1 && change"),
    Mutant(
      "refused batch keeps appended rows",
      collected,
      "if (!alreadyFreed) DeletedRows.free" -> "if (alreadyFreed) DeletedRows.free"
    ),
    Mutant("rows not retained", collected, "if (before == 0) store.identity" -> "if (false) store.identity"),
    Mutant("rows retained for one role", collected, ".retain(row, bitCount(sameCount))" -> ".retain(row)"),
    Mutant("deletions taken for growth", collected, "if (weight <= 0L) grows = false" -> ""),
    Mutant("negative counts taken for growth", collected, "if (before < 0L) grows = false" -> ""),
    Mutant("rows not released", collected, "if (net.before(e) + net.change(e) == 0) release(e)" -> ""),
    Mutant(
      "new multiplicity in place of the difference",
      delta,
      "Weight.subtract(weight, node.weight(row))" -> "weight"
    ),
    Mutant(
      "multiplicity changes below dead parents",
      delta,
      "node.isAlive(row) && (node.isRoot || node.isLiveAbove(node.key(row)))" -> "node.isAlive(row)"
    ),
    Mutant("multiplicity of the witness forgotten", delta, "Weight.multiply(sign, n.weight(t))" -> "sign"),
    Mutant(
      "multiplicity of deleted rows kept",
      delta,
      "if (sign <= 0L && node.multiplicity != null)" -> "if (sign == 0L && node.multiplicity != null)"
    ),
    Mutant(
      "multiplicity of other rows forgotten",
      cursor,
      "Weight.multiply(weights(l), level.weights(tuples(level.nodeId)))" -> "weights(l)"
    ),
    Mutant("rows that count twice not counted", delta, "if (weight > 1) addRepeated(1)" -> ""),
    Mutant("rows that count twice after a change not counted", delta, "if (newWeight > 1) addRepeated(1)" -> ""),
    Mutant("runs of rows that count several times", cursor, "levels(l).node.repeated == 0" -> "true"),
    Mutant("innermost list not the last one", cursor, "if (innermost != null) chooseInnermost()" -> ""),
    Mutant("words of the list before the innermost one not set", cursor, "      bind(second)\n" -> ""),
    Mutant("list before the innermost one with weights", cursor, "last > 0 && !weighted && " -> "last > 0 && "),
    Mutant(
      "list before the innermost one with conditions",
      cursor,
      "levels(last - 1).isPlain" -> "levels(last - 1).lists != null"
    ),
    Mutant(
      "generalized parent left out that leads to its own",
      bindingOrder,
      "walks.forall(onward => onward.from != w.node.id || onward.keys == null)" -> "true"
    ),
    Mutant(
      "one of two columns of a key read twice",
      reader,
      "index.findOrAdd(word(page, start, fields(0).ordinal), word(page, start, fields(1).ordinal))" ->
        "index.findOrAdd(word(page, start, fields(0).ordinal), word(page, start, fields(0).ordinal))"
    ),
    Mutant(
      "run without its last result",
      level,
      "at = end - width * (size - 1)" -> "at = end - width * (if (size > 1) size - 2 else 0)"
    ),
    Mutant("run beyond its chunk", level, "beyond -= size" -> ""),
    Mutant("run with transient results", deltas, "whole = opposite == Replacements.None" -> "whole = true"),
    Mutant("changes not announced", cursor, "    changed |= level.relations\n" -> ""),
    Mutant(
      "residual of the witness ignored",
      cursor,
      "if (conditions.length > 0 && " -> "if (conditions.length > 99 && "
    ),
    Mutant("index entry left", links, "      node.idx(c).remove(node.listTo(c, row), row)\n" -> ""),
    Mutant(
      "key of a generalized tuple left",
      tupleKeys,
      "        if (above != null) above.forget(key)\n" -> ""
    ),
    Mutant("keys of rows not released", tupleKeys, "if (index.release(key)) {" -> "if (false) {"),
    Mutant("keys of rows noted for ever", tupleKeys, "      noted.forget(tuple)\n" -> ""),
    Mutant(
      "keys of rows kept",
      deletedRows,
      "if (store.identity(input).release(row, relations) ||" -> "if (store.identity(input).release(row, relations) && false ||"
    ),
    Mutant(
      "keys of appended rows kept",
      deletedRows,
      "    TupleKeys.forget(store.keysOfRows(input), row)\n    store" -> "    store"
    ),
    Mutant(
      "counts of a new row start at 0",
      links,
      "if (node.countsSupport && node.child(c).hasAlive(key)) supporting += 1" -> ""
    ),
    Mutant("NULL equals 0", reader, "|= 1L << (f & 63)" -> "|= 0L"),
    Mutant("sizes of variable keys ignored", reader, "buffer(n) = size.toLong" -> "buffer(n) = 0L"),
    Mutant("hole in a run of keys", index, "{ slots(hole) = slots(s); hole = s }" -> "{ }"),
    Mutant(
      "record left at its slot",
      records,
      "    Words.copy(pool.page(end), pool.at(end), pool.page(gap), pool.at(gap), width)\n" -> ""
    ),
    Mutant("gap in a list", lists, "        slotOf(last) = slot\n" -> ""),
    Mutant("gap in a list of records", records, "    slotOf(pool.word(gap, 0).toInt) = gap\n" -> ""),
    Mutant(
      "words of a list that got longer forgotten",
      records,
      "Words.copy(page, at, pool.page(slot), pool.at(slot), width)" -> "Words.copy(page, at, pool.page(slot), pool.at(slot), 1)"
    ),
    Mutant(
      "words of a list that got short forgotten",
      records,
      "pool.at(slot), page, at, width)" -> "pool.at(slot), page, at, 1)"
    ),
    Mutant(
      "slot of a record moved to a chunk forgotten",
      records,
      "    if (slotOf != null) slotOf(page(at).toInt) = slot\n" -> ""
    ),
    Mutant("record lost on the way to a larger chunk", records, "width * length)\n" -> "width * (length - 1))\n"),
    Mutant("slots of moved records forgotten", records, "while (s <= last)" -> "while (s < last)"),
    Mutant(
      "chunk of records given back too early",
      records,
      "else if (isBorder(left)) {" -> "else if (isBorder(left + 1)) {"
    ),
    Mutant(
      "chunk of records given back as a larger one",
      records,
      "space.free(old - 1, from)" -> "space.free(old - 1, to)"
    ),
    Mutant("pointers to words of keys not set", cursor, "      level.setKeyWords(key, pointers)\n" -> ""),
    Mutant("change of a key not announced", cursor, "      changed |= level.setsOnEntry\n" -> ""),
    Mutant(
      "words of keys that say what is NULL ignored",
      fieldLocations,
      "KeyReader.nullWords(block.nullSafe(separator)) + " -> ""
    ),
    Mutant("columns that can be NULL read from keys", fieldLocations, ".filterNot(block.attributes(_).nullSafe)" -> ""),
    Mutant("another word of a key projected", fieldLocations, "separator.toIndexedSeq.indexOf(a)" -> "0"),
    Mutant("keys of two indexes noted in one array", builder, "(index, block.relations" -> "(null, block.relations"),
    Mutant(
      "keys of a node below another one shared",
      builder,
      "if (isTop) keys.shared" -> "if (!isOwnKey) keys.shared"
    ),
    Mutant(
      "pointers to words not set",
      cursor,
      "    level.setWords(pointers)\n" -> ""
    ),
    Mutant("gap in a short list", lists, "        slotOf(heads(~end)) = slot\n" -> ""),
    Mutant(
      "slot of a list that got short forgotten",
      lists,
      "if (slotOf != null) slotOf(tuple) = ~(Head * key + i)" -> ""
    ),
    Mutant(
      "chunk given back too early",
      lists,
      "if (chunks.isBorder(length)) {\n      set" -> "if (chunks.isBorder(length + 1)) {\n      set"
    )
  )
}
