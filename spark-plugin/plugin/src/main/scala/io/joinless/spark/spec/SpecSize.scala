package io.joinless.spark.spec

import io.joinless.spark.spec.SpecBounds._

/** Whether a block is within the limits of [[SpecBounds]]. */
private[spec] object SpecSize {

  /** Which part of a block is too large, or of a form that no query has; positions need not exist
    * yet.
    */
  def problem(spec: BlockSpec): Option[String] = {
    val names =
      spec.relations.map(_.name) ++ spec.attributes.map(_.name) ++ spec.inputs.flatMap(_.columns.map(_.name)) ++
        spec.residuals.map(_.sql) ++ BlockProperties.all.flatMap(namesOf(_, spec))
    def tooMany(what: String, found: Int, most: Int) = Option.when(found > most)(s"it has $found $what")
    Option.when(spec.id.block < 0 || spec.id.stage < 0)(s"it is stage ${spec.id.stage} of block ${spec.id.block}")
      .orElse(tooMany("relations", spec.relations.size, MaxRelations))
      .orElse(tooMany("inputs", spec.inputs.size, MaxRelations))
      .orElse(tooMany("attributes", spec.attributes.size, MaxAttributes))
      .orElse(tooMany("columns", columns(spec), MaxColumns))
      .orElse(names.find(_.length > MaxName).map(name => s"a name or condition has ${name.length} characters"))
      .orElse(Option.when(!cellsAreFew(spec.shares))(
        s"the shares ${spec.shares.take(100).mkString(", ")} make too many cells"
      ))
  }

  private def columns(spec: BlockSpec): Int =
    spec.inputs.map(_.columns.size).sum + spec.output.size + spec.residuals.map(_.columns.size).sum +
      spec.relations.map(r => r.keys.size + r.lifetime.fold(0)(LifetimeSpec.columns)).sum +
      BlockProperties.all.map(columnsOf(_, spec)).sum

  private def columnsOf[A](property: BlockProperty[A], spec: BlockSpec): Int = property.columns(spec.shape(property))

  private def namesOf[A](property: BlockProperty[A], spec: BlockSpec): Seq[String] =
    property.names(spec.shape(property))

  private def cellsAreFew(shares: Seq[Int]): Boolean =
    shares.foldLeft(1L)((cells, share) => if (cells > MaxCells) cells else cells * math.max(1, share)) <= MaxCells
}
