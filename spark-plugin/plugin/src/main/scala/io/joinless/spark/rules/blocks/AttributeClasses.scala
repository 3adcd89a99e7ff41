package io.joinless.spark.rules.blocks

import scala.collection.immutable.BitSet

import org.apache.spark.sql.catalyst.expressions.{EqualNullSafe, EqualTo, Expression, Literal}

/** An attribute of the hypergraph: terms that are equal in every result, at most one per leaf,
  * leaves ascending.
  *
  * @param nullSafe all of its equi-join conditions are `<=>`, so NULL is a value; one `=` suffices
  *   to exclude NULLs
  */
final case class AttributeClass(members: IndexedSeq[Term], nullSafe: Boolean)

/** The equi-join conditions of a block, closed under transitivity; and the terms by which its
  * results are grouped, if they are.
  *
  * @param filters per leaf, the derived equality conditions between its own columns
  * @param constants what is true of every result because filters fix it: the terms of a class and
  *   their one value
  * @param groupedBy the attributes by which results are grouped
  */
final case class AttributeClasses(
    attributes: IndexedSeq[AttributeClass],
    filters: IndexedSeq[Seq[Expression]],
    constants: IndexedSeq[String],
    groupedBy: BitSet
)

/** Groups equated terms into classes (algorithms A9, A10).
  *
  * A class keeps one term per leaf; every further term of the leaf must equal it, which is a filter
  * of the leaf. A class that the filters of all its leaves fix to one constant adds no join
  * condition, and is dropped: the graph may fall apart, or lose a cycle. Stored rows were filtered
  * by these constants, so they are recorded: a restart with other constants must be refused.
  *
  * A term by which results are grouped, and which no condition equates with others, is a class of
  * its own, behind all others; there NULL is a value.
  *
  * The order of classes and members depends on the leaves and their columns, not on the order of
  * conditions.
  */
object AttributeClasses {

  /** The classes of a block's equi-join conditions, the conditions that follow within leaves, and
    * the classes that are constant.
    */
  def apply(block: JoinBlock): AttributeClasses = {
    val all = united(block.equiJoinConditions).toIndexedSeq.map(new Members(block, _)).sortBy(_.place)(lexicographic)
    val classes = all.filter(_.fixed.isEmpty)
    val (equated, alone) = block.groupedBy.distinctBy(_.identity).partition(term => classes.exists(_.contains(term)))
    val own = alone.sortBy(placeOf(block, _))
    AttributeClasses(
      classes.map(_.attribute) ++ own.map(term => AttributeClass(IndexedSeq(term), nullSafe = true)),
      block.leaves.indices.map(leaf => classes.flatMap(_.filters(leaf))),
      all.flatMap(members => members.fixed.map(members.text)),
      BitSet.fromSpecific(
        equated.map(term => classes.indexWhere(_.contains(term))) ++ own.indices.map(classes.size + _)
      )
    )
  }

  /** The place of a term in the order of terms: by leaf, then by column; computed terms last, by
    * their texts.
    */
  private def placeOf(block: JoinBlock, term: Term): (Int, Int, String) = {
    val column = block.leaves(term.leaf).attributes.indexWhere(_.semanticEquals(term.expression))
    (term.leaf, if (column < 0) Int.MaxValue else column, Names.of(term.expression))
  }

  /** Classes of terms, each with its equi-join conditions. */
  private def united(equiJoinConditions: IndexedSeq[EquiJoinCondition]): Seq[IndexedSeq[EquiJoinCondition]] =
    Linked(Nil, equiJoinConditions.map(e => Set(e.left.identity, e.right.identity)))
      .map(terms => equiJoinConditions.filter(e => terms(e.left.identity)))

  /** One class: the terms of its equi-join conditions. */
  final private class Members(block: JoinBlock, equiJoinConditions: IndexedSeq[EquiJoinCondition]) {

    private val nullSafe = equiJoinConditions.forall(_.nullSafe)

    private val terms: IndexedSeq[Term] =
      equiJoinConditions.flatMap(e => Seq(e.left, e.right)).distinctBy(_.identity).sortBy(placeOf(block, _))

    /** The place of the class in the order of classes. */
    def place: Seq[(Int, Int, String)] = terms.map(placeOf(block, _))

    def contains(term: Term): Boolean = terms.exists(_.identity == term.identity)

    /** The class with one term per leaf. */
    def attribute: AttributeClass = AttributeClass(terms.distinctBy(_.leaf), nullSafe)

    /** The conditions that the leaf's further terms equal its first one. */
    def filters(leaf: Int): Seq[Expression] = {
      val own = terms.filter(_.leaf == leaf).map(_.expression)
      own.drop(1).map(other => if (nullSafe) EqualNullSafe(own.head, other) else EqualTo(own.head, other))
    }

    /** The value to which filters of all leaves fix the class. */
    val fixed: Option[Literal] = terms.map(term => constantOf(block, term)).distinct match {
      case Seq(Some(constant)) => Some(constant)
      case _ => None
    }

    /** A class that is fixed to a constant, as it is recorded: relations by their numbers. */
    def text(constant: Literal): String =
      terms.map(term => s"relation ${term.leaf + 1}.${Names.of(term.expression)}").mkString(
        "",
        " = ",
        s" = ${constant.sql}"
      )
  }

  /** The constant that a term equals in every row of its leaf. */
  private def constantOf(block: JoinBlock, term: Term): Option[Literal] = {
    val leaf = block.leaves(term.leaf)
    val own = leaf.own(term.expression)
    (block.filters(term.leaf).map(leaf.own) ++ leaf.plan.constraints).collectFirst {
      case EqualTo(e, constant: Literal) if e.semanticEquals(own) => constant
      case EqualTo(constant: Literal, e) if e.semanticEquals(own) => constant
    }
  }

  private val lexicographic: Ordering[Seq[(Int, Int, String)]] =
    Ordering.Implicits.seqOrdering[Seq, (Int, Int, String)]
}
