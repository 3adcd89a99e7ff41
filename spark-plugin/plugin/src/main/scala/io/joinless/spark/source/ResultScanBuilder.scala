package io.joinless.spark.source

import scala.collection.mutable.ArrayBuffer

import io.joinless.spark.plans.failures.CanThrow
import org.apache.spark.sql.catalyst.expressions.{Attribute, BoundReference, Expression}
import org.apache.spark.sql.connector.expressions.aggregate.{Aggregation, CountStar}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.joinless.CatalystPushDown
import org.apache.spark.sql.types.StructType

/** Chooses what is read of a [[CompleteResult]]. Spark offers, in this order:
  * {{{
  * TABLESAMPLE       positions are thinned                          not SYSTEM, no split
  * conditions        on single relations: checked while the view    not after a sample
  *                   tree is rebuilt, so that semi-join reduction
  *                   makes all other relations small as well
  * COUNT(*)          one number per cell                            not if any are rejected
  * LIMIT, OFFSET     a page in the order of the result              not after a sample
  * columns           only the needed ones
  * }}}
  * What the scan does not take, Spark does on its rows. LIMIT is always offered before the OFFSET
  * that is applied to its rows.
  */
final private class ResultScanBuilder(result: CompleteResult)
    extends ScanBuilder with SupportsPushDownRequiredColumns with CatalystPushDown with SupportsPushDownAggregates
    with SupportsPushDownLimit with SupportsPushDownOffset with SupportsPushDownTableSample {
  import Reading._

  private var columns: Seq[Int] = result.names.indices
  private val taken = new ArrayBuffer[RelationFilter]
  private var reading: Reading = Whole

  override def pruneColumns(required: StructType): Unit =
    columns = required.fieldNames.toSeq.map(name => result.names.indexOf(name))

  /** A part of a split does not begin at 0: parts must not overlap, so Spark makes them all. */
  override def pushTableSample(
      lowerBound: Double,
      upperBound: Double,
      withReplacement: Boolean,
      seed: Long
  ): Boolean = lowerBound == 0.0 && reading == Whole && {
    reading = Thinned(math.max(0.0, upperBound), withReplacement, seed)
    true
  }

  /** Whether the scan takes a condition. A scan reads rows that are part of no result, and a
    * condition that can fail would fail on one of them.
    */
  override protected def take(condition: Expression): Boolean = {
    val spec = result.spec
    val value = condition.transform { case a: Attribute => result.values(result.names.indexOf(a.name)) }
    val places = value.collect { case BoundReference(i, _, _) => spec.output(i) }
    places.map(_.relation).distinct match {
      case Seq(relation) if reading == Whole && !CanThrow(value) =>
        val overStored = value.transform { case BoundReference(i, dataType, _) =>
          BoundReference(spec.output(i).ordinal, dataType, nullable = true)
        }
        taken += RelationFilter(relation, overStored, condition.sql)
        true
      case _ => false
    }
  }

  /** Spark adds up the numbers of the cells. */
  override def pushAggregation(aggregation: Aggregation): Boolean = {
    val functions = aggregation.aggregateExpressions
    reading == Whole && !result.rejects && aggregation.groupByExpressions.isEmpty && functions.nonEmpty &&
    functions.forall(_.isInstanceOf[CountStar]) && {
      reading = Numbers(functions.length)
      true
    }
  }

  /** Spark's sum of LIMIT and OFFSET may have overflowed. */
  override def pushLimit(limit: Int): Boolean = limit >= 0 && paged { (from, until) =>
    Page(from, Some((until.toSeq :+ (from + limit)).min))
  }

  override def isPartiallyPushed: Boolean = false

  override def pushOffset(offset: Int): Boolean = paged((from, until) => Page(from + offset, until))

  private def paged(page: (BigInt, Option[BigInt]) => Page): Boolean = reading match {
    case Whole => reading = page(0, None); true
    case Page(from, until) => reading = page(from, until); true
    case _ => false
  }

  override def build(): Scan = ResultScan(result, columns, result.conditions ++ taken, reading)
}
