package io.joinless.spark.explain.steps

import io.joinless.engine.query.{JoinTree, RelationNode}
import io.joinless.spark.explain.{ReadableSql, ViewTreeFacts}
import io.joinless.spark.spec.{BlockShape, DerivedNames}
import org.apache.spark.sql.catalyst.util.quoteIdentifier

/** A join as a step: what is joined on which columns, what it stores, and what a change costs.
  *
  * @param input the step that a relation is
  */
final private[steps] class JoinWords(shape: BlockShape, input: Int => Step) {
  private val facts = ViewTreeFacts(shape)
  private val called = JoinWords.called(shape, input) _
  private val sql = ReadableSql.of(shape, r => Option.when(!isMade(r))(called(r)))

  /** @param inputs the steps below it, of which each stands for the relations `roles` */
  def step(inputs: Seq[Step], roles: Seq[Seq[Int]]): Step = {
    val apart = new Unlinked(facts.apart, called, r => input(r).role == Step.OneRow || isFlag(r))
    def reach(relation: Int): Step.Reach =
      if (apart.meetsAll(relation)) Step.All
      else if (walks.exists(_._1 == relation)) Step.Group
      else if (isTotal) Step.Change
      else if (shape.isBag || shape.residuals.nonEmpty) Step.Group
      else Step.Change
    Step(
      title,
      on ++ matches ++ checks,
      Some(
        if (shape.reduction.isDefined) "counts by join key"
        else if (shape.isBag) "indexes by join keys" else "join keys"
      ),
      Some(apart.cost.getOrElse(cost)),
      shape.relations.indices.map(reach).max,
      inputs,
      reachFrom = roles.map(_.map(reach).max)
    )
  }

  /** The relations of which a change reads rows of another one, those above them in a tree. */
  private val walks: Seq[(Int, Int)] = {
    def below(tree: JoinTree): Seq[(Int, Int)] = tree.children.flatMap { child =>
      val here = (tree, child) match {
        case (RelationNode(parent, _, _), RelationNode(relation, _, _)) => Seq(relation -> parent)
        case (RelationNode(parent, _, _), several) => several.children.flatMap(_.relations.headOption).map(_ -> parent)
        case _ => Nil
      }
      here ++ below(child)
    }
    shape.reduction.fold(Seq(shape.tree))(_.components).flatMap(below)
  }

  private def title: String = {
    val join = if (inputs.exists(_.role == Step.Padded)) "LEFT JOIN" else "Join"
    val kind = if (shape.isBag) s"$join by intersection" else join
    shape.sample match {
      case Some(sample) =>
        val by = sample.by.toSeq.map(x => shape.attributes(x).name)
        s"Sample of ${sample.size} rows${if (by.isEmpty) "" else by.mkString(" per ", ", ", "")} of the join"
      case None if shape.reduction.exists(_.once) => s"$kind (equal results once)"
      case None if isTotal =>
        val kept = if (shape.output.isEmpty) "the total is" else "totals are"
        s"$kind (only $kept kept)"
      case None if shape.reduction.isDefined => s"$kind (equal results are counted)"
      case None => kind
    }
  }

  private def inputs: Seq[Step] = shape.relations.indices.map(input)

  /** Whether a relation only says which rows have a match. */
  private def isMade(relation: Int): Boolean = input(relation).role == Step.Matches

  /** Whether it says so of all rows alike. */
  private def isFlag(relation: Int): Boolean = isMade(relation) && shape.relations(relation).keys.isEmpty

  /** The equi-join conditions, a line for each. */
  private def on: Seq[String] = {
    val all = shape.attributes.indices.flatMap { x =>
      val sides = for {
        (relation, r) <- shape.relations.zipWithIndex
        key <- relation.keys.find(_.attribute == x)
        if !isMade(r)
      } yield column(r, key.ordinal)
      val isOuter = shape.relations.indices.exists(r =>
        input(r).role == Step.Padded && shape.relations(r).keys.exists(_.attribute == x)
      )
      val equal = if (shape.attributes(x).nullSafe && !isOuter) " <=> " else " = "
      Option.when(sides.distinct.size > 1)(sides.distinct.mkString(equal))
    }
    all.zipWithIndex.map { case (equal, i) => s"${if (i == 0) "on" else "and"} $equal" }
  }

  /** Which relations say which rows have a match, a line for each. */
  private def matches: Seq[String] = shape.relations.indices.filter(r => isMade(r) && !isFlag(r)).map { r =>
    val keys = shape.relations(r).keys.sortBy(_.ordinal).flatMap { key =>
      shape.relations.indices.filterNot(isMade).flatMap(other =>
        shape.relations(other).keys.find(_.attribute == key.attribute).map(k => column(other, k.ordinal))
      ).headOption
    }
    s"only rows whose ${keys.distinct.mkString(", ")} ${if (keys.distinct.size == 1) "is" else "are"} in ${called(r)}"
  }

  /** The conditions on combinations of rows, a line for each. */
  private def checks: Seq[String] = shape.residuals.map { condition =>
    condition.columns.map(_.relation).filter(isMade).distinct match {
      case Seq() => s"checked: ${sql(condition.sql)}"
      case several => s"only rows that ${several.map(called).mkString(" and ")} lets pass"
    }
  }

  /** Only totals are maintained, through a cycle. */
  private def isTotal: Boolean = shape.reduction.exists(_.isTotal)

  private def cost: String = if (isTotal) {
    val root = "O(sqrt(N)) for N stored rows"
    val paths =
      if (shape.output.isEmpty) root
      else s"$root, one step per row of the shorter of two lists where the changed row lacks a grouping column"
    if (walks.nonEmpty) s"$paths, $reads" else paths
  } else if (shape.isBag) intersection
  else {
    val results =
      if (shape.residuals.isEmpty) "one step per result that changes"
      else "one step per combination of rows with equal keys, also where a condition rejects it"
    if (walks.nonEmpty) s"$results, $reads" else if (shape.residuals.isEmpty) s"O(1), and $results" else results
  }

  /** The cost of a change of a cyclic join. */
  private def intersection: String =
    "one step per row of the shortest list of rows with an equal key, and per row that is found by these"

  /** What is read of the relations above the one that changes. */
  private def reads: String = {
    val change = if (shape.reduction.exists(!_.once)) "a change of" else "the first or last row with a key of"
    walks.map(_._2).distinct.map { parent =>
      val below = walks.collect { case (r, `parent`) => called(r) }.distinct.mkString(" or ")
      s"for $change $below also one per row of ${called(parent)} with its key"
    }.mkString(", ")
  }

  private def column(relation: Int, ordinal: Int): String = {
    val owner = shape.relations(relation)
    sql(s"${quoteIdentifier(owner.name)}.${quoteIdentifier(shape.stored(owner)(ordinal).name)}")
  }
}

private[steps] object JoinWords {

  /** A relation of a block for people: by its name in the query, or by the step that it is. */
  def called(shape: BlockShape, input: Int => Step)(relation: Int): String = {
    val (name, step) = (shape.relations(relation).name, input(relation))
    val number = if (DerivedNames.is(name)) step.all.flatMap(_.number).headOption else step.number
    number.fold(name)(n => s"[$n]")
  }

  /** How long rows of these relations are stored, after a comma; empty where they stay. */
  def ends(shape: BlockShape, relations: Seq[String]): String = {
    val until =
      ViewTreeFacts(shape).neededUntil.collect { case (relation, time) if relations.contains(relation) => time }
    if (until.isEmpty) "" else s", until the watermark reaches ${until.distinct.mkString(", ")}"
  }
}
