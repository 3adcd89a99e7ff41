package io.joinless.spark.spec

import io.joinless.spark.errors.Mismatch

/** Decides whether a planned block can continue with the state of a recorded one, and if not, says
  * what differs, in terms of columns.
  *
  * All that decides the meaning of stored rows and the results already emitted must be equal:
  * relations by position, their stored columns (names and types), their join attributes, the
  * output columns, and what each property demands ([[BlockProperty]]). Where rows can be deleted,
  * those are the filters and computed columns that apply to a delete ([[MeaningSpec]]): those of
  * changelogs, and those of the result. Free are aliases, filters of append-only relations and,
  * without changelogs, residuals (as in Spark), and tree and shares, which are taken from the
  * record.
  */
object SpecComparison {

  def difference(recorded: BlockShape, planned: BlockShape): Option[(Mismatch, String)] =
    ofState(MadeName.forgotten(recorded, planned), planned)
      .orElse(properties(Compared.AfterState, recorded, planned))

  /** Whether the state of a recorded block can be that of a planned one, as far as the block itself
    * shows.
    */
  def storesSame(recorded: BlockShape, planned: BlockShape): Boolean =
    ofState(MadeName.forgotten(recorded, planned), planned).isEmpty

  /** The first difference in the stored rows or in the emitted results: its kind, and a sentence. */
  private def ofState(recorded: BlockShape, planned: BlockShape): Option[(Mismatch, String)] =
    relations(recorded, planned).map(Mismatch.Query -> _)
      .orElse(properties(Compared.AfterRelations, recorded, planned))
      .orElse(columns(recorded, planned).map(Mismatch.Columns -> _))
      .orElse(equiJoinConditions(recorded, planned).map(Mismatch.Query -> _))
      .orElse(properties(Compared.AfterConditions, recorded, planned))
      .orElse(output(recorded, planned).map(Mismatch.Columns -> _))
      .orElse(lifetimes(recorded, planned).map(Mismatch.Filter -> _))
      .orElse(properties(Compared.AfterOutput, recorded, planned))

  private def properties(at: Compared, recorded: BlockShape, planned: BlockShape): Option[(Mismatch, String)] = {
    def difference[A](property: BlockProperty[A]) =
      property.difference(recorded(property), planned(property), recorded, planned)
    BlockProperties.all.iterator.filter(_.compared == at).flatMap(difference(_)).nextOption()
  }

  /** Why the recorded block does not store the complete result of a planned block that could
    * continue with its state.
    */
  def otherRows(recorded: BlockShape, planned: BlockShape): Option[(Mismatch, String)] = {
    def otherRows[A](property: BlockProperty[A]) =
      property.otherRows(recorded(property), planned(property), planned)
    BlockProperties.all.iterator.flatMap(otherRows(_)).nextOption()
  }

  /** The recorded block, with the names and the conditions of the planned one. */
  def continued(recorded: BlockSpec, planned: BlockShape): BlockSpec = {
    def asRecorded[A](shape: BlockShape, property: BlockProperty[A]) =
      shape.having(property, recorded.shape(property))
    val relations = planned.relations.zip(recorded.relations).map { case (is, was) => is.copy(lifetime = was.lifetime) }
    val core = planned.copy(relations = relations, tree = recorded.tree)
    BlockSpec(BlockProperties.all.filter(_.goesOn).foldLeft(core)(asRecorded(_, _)), recorded.shares)
  }

  private def relations(recorded: BlockShape, planned: BlockShape): Option[String] =
    Option.when(recorded.relations.size != planned.relations.size)(
      s"It joins ${recorded.relations.size} relations (${recorded.names}), the query ${planned.relations.size} (${planned.names})."
    )

  private def columns(recorded: BlockShape, planned: BlockShape): Option[String] =
    pairs(recorded, planned).collectFirst {
      case (was, is) if recorded.stored(was) != planned.stored(is) =>
        s"It stores ${list(recorded.stored(was))} of relation ${was.name}, the query needs " +
          s"${list(planned.stored(is))} of ${is.name}."
      case (was, is) if kind(recorded, was) != kind(planned, is) =>
        s"Relation ${was.name} was ${kind(recorded, was)} and is now ${kind(planned, is)}."
      case (was, is) if was.input != is.input =>
        s"Relation ${was.name} shared its stored rows with others than ${is.name} would."
    }

  private def equiJoinConditions(recorded: BlockShape, planned: BlockShape): Option[String] = {
    val (was, is) = (conditions(recorded), conditions(planned))
    Option.when(was != is)(s"It joins on ${listed(was)}, the query on ${listed(is)}.")
  }

  private def listed(conditions: Seq[String]): String =
    if (conditions.isEmpty) "nothing" else conditions.mkString(" and ")

  private def output(recorded: BlockShape, planned: BlockShape): Option[String] =
    Option.when(recorded.output != planned.output)(
      s"Its result has the columns ${recorded.output.map(recorded.nameOf(_, planned)).mkString(", ")}, the query's " +
        s"${planned.output.map(planned.nameOf(_, planned)).mkString(", ")}."
    )

  private def lifetimes(recorded: BlockShape, planned: BlockShape): Option[String] =
    pairs(recorded, planned).iterator.flatMap { case (was, is) =>
      LifetimeSpec.difference(was.lifetime, is.lifetime, recorded.expires, is.name)
    }.nextOption()

  private def pairs(recorded: BlockShape, planned: BlockShape): Seq[(RelationSpec, RelationSpec)] =
    recorded.relations.zip(planned.relations)

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
      s"relation ${i + 1}.${spec.stored(r)(k.ordinal).name}"
    }
    places.mkString(if (spec.attributes(x).nullSafe) " <=> " else " = ")
  }

  private def list(columns: Seq[ColumnSpec]): String =
    if (columns.isEmpty) "no columns" else columns.map(c => s"${c.name} ${c.dataType.sql}").mkString(", ")
}
