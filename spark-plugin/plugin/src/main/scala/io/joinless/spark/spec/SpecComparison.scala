package io.joinless.spark.spec

import io.joinless.spark.errors.Mismatch

/** Decides whether a planned block can continue with the state of a recorded one, and if not, says
  * what differs, in terms of columns.
  *
  * All that decides the meaning of stored rows and the results already emitted must be equal:
  * relations by position, their stored columns (names and types), their join attributes, the
  * constants that filters give to columns that are joined, the output columns. Where rows can be
  * deleted, the filters and computed columns that apply to a delete must be equal as well
  * ([[MeaningSpec]]): those of changelogs, and those of the result. Free are aliases, filters of
  * append-only relations and, without changelogs, residuals (as in Spark), and tree and shares,
  * which are taken from the record.
  */
object SpecComparison {

  def difference(recorded: BlockShape, planned: BlockShape): Option[(Mismatch, String)] =
    ofState(MadeName.forgotten(recorded, planned), planned)
      .orElse(meaning(recorded, planned).map(Mismatch.Filter -> _))
      .orElse(swapped(recorded, planned).map(Mismatch.Query -> _))

  /** The difference in the stored rows or in the emitted results. */
  private def ofState(recorded: BlockShape, planned: BlockShape): Option[(Mismatch, String)] =
    relations(recorded, planned)
      .map(Mismatch.Query -> _)
      .orElse(counted(recorded, planned).map(Mismatch.Query -> _))
      .orElse(columns(recorded, planned).map(Mismatch.Columns -> _))
      .orElse(equiJoinConditions(recorded, planned).map(Mismatch.Query -> _))
      .orElse(output(recorded, planned).map(Mismatch.Columns -> _))
      .orElse(lifetimes(recorded, planned).map(Mismatch.Filter -> _))

  /** The same sources, but some are read for another relation than before. Where a source has an
    * entirely different location, it has moved.
    */
  private def swapped(recorded: BlockShape, planned: BlockShape): Option[String] =
    for {
      (was, is) <- recorded.origins.zip(planned.origins)
      (before, now) = (was.map(_.places), is.map(_.places))
      if before != now && before.flatten.sorted == now.flatten.sorted
      i <- before.indices.find(i => before(i) != now(i))
    } yield s"Relation ${planned.relations(i).name} was read from ${before(i).mkString(", ")} and is now read from ${now(i).mkString(", ")}."

  /** Why the recorded block does not store the complete result of a planned block that could
    * continue with its state.
    */
  def otherRows(recorded: BlockShape, planned: BlockShape): Option[(Mismatch, String)] = {
    val relations = for {
      (was, is) <- recorded.origins.zip(planned.origins).toSeq
      i <- was.indices
    } yield (planned.relations(i).name, was(i), is(i))
    relations.collectFirst {
      case (name, was, is) if !was.sameRows(is) =>
        Mismatch.Query -> s"It stores rows of $name that come from another source, or from another query below the join."
      case (name, was, is) if was.filters.diff(is.filters).nonEmpty =>
        val missing = was.filters.diff(is.filters).mkString(" and ")
        Mismatch.Filter -> s"It stores the rows of $name where $missing; the query reads others, too."
    }
  }

  /** The recorded block, with the names and the conditions of the planned one. */
  def continued(recorded: BlockSpec, planned: BlockShape): BlockSpec = {
    val relations = planned.relations.zip(recorded.relations).map { case (is, was) => is.copy(lifetime = was.lifetime) }
    BlockSpec(
      planned.copy(relations = relations, tree = recorded.tree, reduction = recorded.shape.reduction),
      recorded.shares
    )
  }

  private def relations(recorded: BlockShape, planned: BlockShape): Option[String] =
    Option.when(recorded.relations.size != planned.relations.size)(
      s"It joins ${recorded.relations.size} relations (${names(recorded)}), the query ${planned.relations.size} (${names(planned)})."
    )

  private def counted(recorded: BlockShape, planned: BlockShape): Option[String] =
    Option.when(emitted(recorded) != emitted(planned)) {
      def done(shape: BlockShape) = shape.reduction.fold("enumerated") { r =>
        if (r.once) "counted once each" else if (r.sums.isEmpty) "counted" else "added up"
      }
      val (before, now) = (done(recorded), done(planned))
      if (before == now)
        s"Over the join of ${names(recorded)} it adds up ${sums(recorded, planned)}, and the query ${sums(planned, planned)}."
      else s"Results of the join of ${names(recorded)} are $before in it, and would be $now for the query."
    }

  private def sums(spec: BlockShape, names: BlockShape): String = {
    val all = spec.reduction.toSeq.flatMap(_.sums).map(_.factors.map(column(spec, names)).mkString(" times "))
    if (all.isEmpty) "nothing" else all.mkString(", ")
  }

  /** The emitted part of results: all of them; or whether there are any, or their number, and their
    * sums.
    */
  private def emitted(shape: BlockShape) = shape.reduction.map(r => (r.once, r.sums, r.failures))

  /** Whether the state of a recorded block can be that of a planned one, as far as the block itself
    * shows.
    */
  def storesSame(recorded: BlockShape, planned: BlockShape): Boolean =
    ofState(MadeName.forgotten(recorded, planned), planned).isEmpty

  private def columns(recorded: BlockShape, planned: BlockShape): Option[String] =
    pairs(recorded, planned).collectFirst {
      case (was, is) if stored(recorded, was) != stored(planned, is) =>
        s"It stores ${list(stored(recorded, was))} of relation ${was.name}, the query needs " +
          s"${list(stored(planned, is))} of ${is.name}."
      case (was, is) if kind(recorded, was) != kind(planned, is) =>
        s"Relation ${was.name} was ${kind(recorded, was)} and is now ${kind(planned, is)}."
      case (was, is) if was.input != is.input =>
        s"Relation ${was.name} shared its stored rows with others than ${is.name} would."
    }

  private def equiJoinConditions(recorded: BlockShape, planned: BlockShape): Option[String] = {
    val (was, is) = (conditions(recorded), conditions(planned))
    Option.when(was != is)(s"It joins on ${listed(was)}, the query on ${listed(is)}.").orElse {
      for (before <- recorded.constants; now <- planned.constants if before != now)
        yield s"Its filters say ${listed(before)}, the query's ${listed(now)}: rows that are stored rely on it."
    }
  }

  private def listed(conditions: Seq[String]): String =
    if (conditions.isEmpty) "nothing" else conditions.mkString(" and ")

  private def output(recorded: BlockShape, planned: BlockShape): Option[String] =
    Option.when(recorded.output != planned.output)(
      s"Its result has the columns ${recorded.output.map(column(recorded, planned)).mkString(", ")}, the query's " +
        s"${planned.output.map(column(planned, planned)).mkString(", ")}."
    )

  /** Rows that the query needs may have been evicted. Rows that it needs no longer may stay. */
  private def lifetimes(recorded: BlockShape, planned: BlockShape): Option[String] = if (recorded.expires)
    expiries(recorded, planned)
  else
    pairs(recorded, planned).collectFirst {
      case (was, is) if was.lifetime.exists(kept => !is.lifetime.exists(isWithin(_, kept))) =>
        s"It forgets rows of ${is.name} that the query may still need: the bounds in time are wider now, or there is no watermark, or another time zone, or changes are requested, which need all rows."
    }

  /** Rows are stored, or were deleted, by the recorded time. */
  private def expiries(recorded: BlockShape, planned: BlockShape): Option[String] =
    pairs(recorded, planned).collectFirst {
      case (was, is) if was.lifetime != is.lifetime =>
        s"Rows of ${is.name} expired after another time, or by another column."
    }

  private def isWithin(needed: LifetimeSpec, kept: LifetimeSpec): Boolean =
    needed.kinds.size == kept.kinds.size && needed.kinds.zip(kept.kinds).forall { case (is, was) =>
      is.forall(time => was.exists(k => k.ordinal == time.ordinal && k.after >= time.after))
    }

  private def meaning(recorded: BlockShape, planned: BlockShape): Option[String] =
    for (
      was <- recorded.meaning; is <- planned.meaning; what <- MeaningComparison(was, is, planned.relations.map(_.name))
    )
      yield what

  private def pairs(recorded: BlockShape, planned: BlockShape): Seq[(RelationSpec, RelationSpec)] =
    recorded.relations.zip(planned.relations)

  private def stored(spec: BlockShape, relation: RelationSpec): Seq[ColumnSpec] = spec.inputs(relation.input).columns

  private def kind(spec: BlockShape, relation: RelationSpec): String =
    spec.inputs(relation.input).kind match {
      case InputKind.Expiring => "one whose rows expire"
      case InputKind.ExpiringChangelog => "a changelog whose rows expire"
      case kind => if (kind.retractable) "a changelog" else "append-only"
    }

  /** One text per attribute, in terms of positions of relations and names of columns, without
    * aliases.
    */
  private def conditions(spec: BlockShape): Seq[String] = spec.attributes.indices.map { x =>
    val places = for ((r, i) <- spec.relations.zipWithIndex; k <- r.keys if k.attribute == x) yield {
      s"relation ${i + 1}.${stored(spec, r)(k.ordinal).name}"
    }
    places.mkString(if (spec.attributes(x).nullSafe) " <=> " else " = ")
  }

  /** @param names the spec whose aliases are used; a recorded spec may have older ones */
  private def column(spec: BlockShape, names: BlockShape)(c: ColumnRef): String =
    s"${names.relations(c.relation).name}.${stored(spec, spec.relations(c.relation))(c.ordinal).name}"

  private def names(spec: BlockShape): String = spec.relations.map(_.name).mkString(", ")

  private def list(columns: Seq[ColumnSpec]): String =
    if (columns.isEmpty) "no columns" else columns.map(c => s"${c.name} ${c.dataType.sql}").mkString(", ")
}
