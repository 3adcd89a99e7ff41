package io.joinless.spark.rules.rewrite

import scala.collection.immutable.BitSet

import io.joinless.engine.query.{Hypergraph, JoinTree}
import io.joinless.spark.plans.failures.{CanThrow, IsComputable}
import io.joinless.spark.plans.marks.Expiry
import io.joinless.spark.plans.reasons.UnboundedMatches
import io.joinless.spark.rules.blocks.{AttributeClasses, Conditions, JoinBlock, Leaf, Names, OuterScope, Term}
import io.joinless.spark.rules.time.{Boundless, EventTimes, KindOfRows, Lifetime, Lifetimes}
import io.joinless.spark.spec.{
  AttributeSpec,
  BlockShape,
  ColumnRef,
  ColumnSpec,
  FixedConditions,
  InputKind,
  InputSpec,
  KeySpec,
  LifetimeSpec,
  NodeId,
  RelationSpec,
  ResidualSpec,
  SampleSpec,
  SumSpec,
  TimeSpec
}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark
import org.apache.spark.sql.joinless.KeyBytes

/** The stored columns of each leaf, and their positions.
  *
  * The stored columns of a leaf are those that the output, the residuals and the late conditions
  * need, and its join keys; a key whose equal values can differ in their bytes, or that is
  * computed, is a column of its own. An event time that a key reads is stored, too, because rows
  * are late by it. Leaves whose columns have the same names and types share an input.
  *
  * @param columns per leaf: attributes of the leaf as they are, computed keys as aliases
  * @param residuals conditions on each result: those of the block, then the equi-join conditions
  *   that close its cycles
  * @param output each needed attribute of the root, with its expression over stored columns; NULL
  *   where only a sum needs it
  * @param changelogs the leaves whose rows are inserted and deleted
  * @param guarded the keys that can fail on rows on which Spark does not compute them: such a row
  *   is left out
  * @param unguarded such keys for which leaving out rows is impossible
  * @param counted equal rows of insert-only streams are one row with a multiplicity
  * @param sample the sample of its results that is kept
  * @param forgets rows that can be part of no further result need not be kept
  * @param expiring the leaves whose rows expire: a stored column, and how many microseconds after
  *   it
  * @param kinds per leaf, the kinds of its rows, where rows are emitted once they are final
  * @param uniqueBy per leaf, the columns by which its rows are unique; empty if nothing is known
  * @param like the recorded block whose order of columns this one has, where the query's is another
  *   ([[RecordedOrder]])
  */
final case class BlockLayout(
    block: JoinBlock,
    classes: AttributeClasses,
    columns: IndexedSeq[IndexedSeq[NamedExpression]],
    keys: IndexedSeq[IndexedSeq[KeySpec]],
    residuals: IndexedSeq[Expression],
    late: IndexedSeq[Expression],
    output: IndexedSeq[(Attribute, Expression)],
    changelogs: Set[Int],
    guarded: Seq[Term],
    unguarded: Seq[Term],
    counted: Boolean,
    sample: Option[SampleSpec],
    forgets: Boolean,
    expiring: Map[Int, Expiry],
    kinds: Option[IndexedSeq[IndexedSeq[KindOfRows]]],
    uniqueBy: IndexedSeq[Option[Seq[Attribute]]],
    like: Option[BlockShape]
) {

  private lazy val bounds = new Lifetimes(
    block,
    classes,
    columns.map(stored => AttributeSet(stored.collect { case a: Attribute => a })),
    kinds.getOrElse(block.leaves.map(leaf => IndexedSeq(KindOfRows.of(leaf))))
  )

  /** Per leaf, how long its rows can be part of further results. */
  def lifetimes: IndexedSeq[Either[Boundless, Lifetime]] = bounds.of

  /** The block's columns that are closing times, by position, with their lags ([[EventTimes]]). */
  def times: Map[Int, Long] = {
    val (columns, values) = block.output.unzip
    EventTimes.made(columns, values, bounds.lag)
  }

  /** Why the times of results in a column of a leaf are unbounded, where it is an event time and
    * they are.
    */
  def unbounded(column: Attribute): Option[UnboundedMatches] = bounds.unbounded(column).map { case (r, Boundless(by)) =>
    val other = block.leaves(by)
    // a time that the query does not read exists nevertheless
    def unread = other.plan.collectFirst { case timed: EventTimeWatermark => timed.eventTime.name }
    val timeOfBy = other.attributes.find(Conditions.isEventTime).map(_.name).orElse(unread)
    UnboundedMatches(block.leaves(r).name, TimeSpec.nameOf(column), other.name, timeOfBy)
  }

  private[rules] val schemas: IndexedSeq[InputSpec] = columns.zipWithIndex.map { case (stored, leaf) =>
    InputSpec(
      stored.map(c => ColumnSpec(c.name, KeyBytes.storedType(c.dataType))),
      expiring.get(leaf) match {
        case Some(expiry) => if (expiry.signed) InputKind.ExpiringChangelog else InputKind.Expiring
        case None =>
          if (changelogs(leaf)) InputKind.Changelog else if (counted) InputKind.Counted else InputKind.Appended
      }
    )
  }

  private val inputs: IndexedSeq[InputSpec] = schemas.distinct

  private val places: Map[ExprId, ColumnRef] =
    (for ((stored, leaf) <- columns.zipWithIndex; (column, i) <- stored.zipWithIndex)
      yield column.exprId -> ColumnRef(leaf, i)).toMap

  /** The relation and position at which an attribute of a leaf is stored. */
  def place(attribute: Attribute): ColumnRef = places(attribute.exprId)

  /** Positions of a leaf's columns that are never NULL in a stored row. */
  def keysOf(leaf: Int): Set[Int] =
    keys(leaf).filterNot(key => classes.attributes(key.attribute).nullSafe).map(_.ordinal).toSet

  /** The join attributes of each leaf. */
  def hypergraph: Hypergraph = Hypergraph(keys.map(_.map(_.attribute).to(BitSet)))

  /** The conditions that rows of a leaf must pass to be stored. */
  def conditions(leaf: Int): Seq[Expression] =
    block.filters(leaf) ++ guarded.filter(_.leaf == leaf).map(key => IsComputable(key.expression)) ++ classes.filters(
      leaf
    )

  /** The sums over results: of each, the stored columns whose product is summed. */
  def sums: IndexedSeq[SumSpec] = block.summed.products.map(sum)

  /** The sums that must be 0: they count results of which an argument fails. */
  def failures: IndexedSeq[SumSpec] = block.summed.failures.map(sum)

  private def sum(factors: IndexedSeq[Attribute]) = SumSpec(factors.map(place))

  /** The residual conditions, each over positions in its own columns (`columnsOf`). */
  def boundResiduals: IndexedSeq[Expression] = residuals.map { residual =>
    val columns = columnsOf(residual)
    OuterScope.replace(residual) { a =>
      BoundReference(columns.indexWhere(_.exprId == a.exprId), a.dataType, nullable = true)
    }
  }

  /** The block as it is recorded.
    *
    * @param columns the columns that the block returns, in order
    */
  def shape(id: NodeId, tree: JoinTree, columns: Seq[Attribute]): BlockShape =
    BlockShape(
      id = id,
      inputs = inputs,
      attributes = classes.attributes.zipWithIndex.map { case (c, i) =>
        AttributeSpec(Names.of(c.members.head, block.leaves), typeOfKey(i), c.nullSafe)
      },
      relations = block.leaves.indices.map { i =>
        RelationSpec(block.leaves(i).name, inputs.indexOf(schemas(i)), keys(i), lifetime(i))
      },
      tree = tree,
      residuals = residuals.zipWithIndex.map { case (residual, i) =>
        ResidualSpec(
          Names.of(residual, block.leaves),
          columnsOf(residual).map(place),
          closesCycle = i >= block.residuals.size
        )
      },
      output = columns.map(place).toIndexedSeq,
      unboundedBy = if (hasEventTimes) lifetimes.map(_.left.toOption.map(_.leaf)) else IndexedSeq.empty,
      uniqueBy = block.leaves.indices.map(attributesOfKey)
    ).having(FixedConditions, Some(classes.constants)).having(SampleSpec, sample)

  /** The attributes by which the rows of a leaf are unique; None if a column of its key is none. */
  private def attributesOfKey(leaf: Int): Option[BitSet] = uniqueBy.lift(leaf).flatten.flatMap { key =>
    val attributes = key.map(column => keys(leaf).find(k => stores(columns(leaf)(k.ordinal), column)).map(_.attribute))
    Option.when(attributes.forall(_.isDefined))(attributes.flatten.to(BitSet))
  }

  /** Whether a stored column has the values of a column of a leaf, or its keys. */
  private def stores(stored: NamedExpression, column: Attribute): Boolean = stored match {
    case Alias(value, _) => value.semanticEquals(KeyBytes.stored(column))
    case a => a.exprId == column.exprId
  }

  /** Whether rows could be evicted: some leaf has an event time. */
  private def hasEventTimes: Boolean =
    forgets && (block.leaves.exists(_.plan.exists(_.isInstanceOf[EventTimeWatermark])) ||
      kinds.exists(_.flatten.exists(_.times.nonEmpty)))

  /** Until when rows of a leaf are needed, as it is recorded: the time at which they expire, or
    * beyond which they match nothing. None if they stay.
    */
  private def lifetime(leaf: Int): Option[LifetimeSpec] =
    if (expiring.contains(leaf))
      Some(LifetimeSpec(IndexedSeq(TimeSpec(place(expiring(leaf).column).ordinal, expiring(leaf).after))))
    else if (!forgets) None
    else
      lifetimes(leaf).toOption.map { l =>
        val kinds = l.kinds.map(_.map { case (column, after) => TimeSpec(place(column).ordinal, after) })
        LifetimeSpec(kinds.head, kinds.tail)
      }

  /** The columns that an expression reads, each once. */
  private def columnsOf(expression: Expression): IndexedSeq[Attribute] =
    OuterScope.attributes(expression).distinctBy(_.exprId).toIndexedSeq

  /** The type of an attribute's stored keys. */
  private def typeOfKey(attribute: Int) = {
    val leaf = keys.indexWhere(_.exists(_.attribute == attribute))
    schemas(leaf).columns(keys(leaf).find(_.attribute == attribute).get.ordinal).dataType
  }
}

object BlockLayout {

  /** The layout of a block, without what only a compiled query knows.
    *
    * @param guardKeys rows whose keys fail are left out where Spark may not compute these keys;
    *     rows whose keys are too large for their type are always left out, as nothing is equal to
    *     them
    */
  def apply(
      block: JoinBlock,
      classes: AttributeClasses,
      changelogs: Set[Int] = Set.empty,
      guardKeys: Boolean = false,
      expiring: Map[Int, Expiry] = Map.empty,
      uniqueBy: IndexedSeq[Option[Seq[Attribute]]] = IndexedSeq.empty
  ): BlockLayout = {
    val (guarded, unguarded) = block.earlyKeys.partition { case Term(_, key) =>
      !Conditions.isLate(key) && (guardKeys || CanThrow.onlyByOverflow(key))
    }
    val keys = for {
      (attribute, number) <- classes.attributes.zipWithIndex
      member <- attribute.members
    } yield Key(number, member.leaf, column(member), member.expression)

    // A key that a leaf computes need not be computed again above.
    val computed = keys.collect { case Key(_, _, Alias(value, _), asWritten) if value eq asWritten => asWritten }

    /** The expression in which computed keys are columns. */
    def reuse(e: Expression): Expression = e.transformDown {
      case part if computed.exists(_.semanticEquals(part)) =>
        keys.find(k => k.asWritten.semanticEquals(part)).get.column.toAttribute
    }

    val output = block.output.map { case (attribute, meaning) =>
      attribute -> (if (block.summed.hidden(attribute.exprId)) Literal(null, attribute.dataType) else reuse(meaning))
    }
    val residuals = (block.residuals ++ block.cuts).map(reuse)
    val late = block.late.map(reuse)
    val needed = (output.map(_._2) ++ residuals ++ late).flatMap(OuterScope.attributes) ++
      block.summed.factors ++ expiring.values.map(_.column) ++ keys.flatMap(key => OuterScope.attributes(key.asWritten))
        .filter(Conditions.isEventTime)
    val used = AttributeSet(needed ++ keys.collect { case Key(_, _, a: Attribute, _) => a })

    val columns = block.leaves.zipWithIndex.map { case (leaf, i) =>
      val stored = leaf.attributes.filter(used.contains) ++ keys.collect { case Key(_, `i`, c: Alias, _) => c }
      if (stored.nonEmpty) stored else leaf.attributes.headOption.toIndexedSeq.appendedAll(noColumn(leaf))
    }
    val specs = columns.indices.map { i =>
      keys.collect { case Key(attribute, `i`, column, _) =>
        KeySpec(attribute, columns(i).indexWhere(_.exprId == column.exprId))
      }
    }
    BlockLayout(
      block,
      classes,
      columns,
      specs,
      residuals,
      late,
      output,
      changelogs,
      guarded,
      unguarded,
      counted = false,
      sample = None,
      forgets = false,
      expiring = expiring,
      kinds = None,
      uniqueBy = uniqueBy,
      like = None
    )
  }

  /** A join key of a leaf, and the column that stores it.
    *
    * @param asWritten the key as the query has it
    */
  final private case class Key(attribute: Int, leaf: Int, column: NamedExpression, asWritten: Expression)

  /** The column that stores a key. */
  private def column(term: Term): NamedExpression = (KeyBytes.stored(term.expression), term.expression) match {
    case (same, column: Attribute) if same.semanticEquals(column) => column
    case (same, asWritten) if same.semanticEquals(asWritten) => Alias(asWritten, Names.of(asWritten))()
    case (stored, asWritten) => Alias(stored, s"key(${Names.of(asWritten)})")()
  }

  /** A row needs at least one column. */
  private def noColumn(leaf: Leaf): Option[NamedExpression] =
    if (leaf.attributes.isEmpty) Some(Alias(Literal.TrueLiteral, "present")()) else None
}
