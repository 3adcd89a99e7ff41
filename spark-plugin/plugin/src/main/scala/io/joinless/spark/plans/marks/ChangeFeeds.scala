package io.joinless.spark.plans.marks

import java.util.Locale

import io.joinless.spark.plans.nodes.DeltaRows
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.plans.values.DeltaForm
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.joinless.StreamLeaf
import org.apache.spark.sql.types.StringType

/** Change feeds that a query reads as if they were rows. A deletion would count as a row, and so
  * would the old values of an update: the output looks like a result and is none.
  *
  * A stream is a change feed by its source (`readChangeFeed` of Delta's), or by its columns:
  * `_change_type`, or `_commit_version` with `_commit_timestamp`. A query may compute
  * `_change_type` of a stream, for example from the texts of a topic. None of these counts below
  * the mark of `joinless.changelog`, which says what the rows are, or below that of
  * `joinless.rows`.
  */
object ChangeFeeds {

  /** Why a query that reads such a feed cannot treat its records as rows. */
  def unmarked(query: LogicalPlan): Option[Reason] =
    feed(query).map(source => Reason.of(Reason.UnmarkedChangeFeed, "source" -> source))

  /** The first change feed below a plan that no mark covers, by its location or source. */
  private def feed(plan: LogicalPlan): Option[String] = plan match {
    case changelog: Changelog if changelog.hidden.nonEmpty => None
    case _: TakenAsRows | _: DeltaRows => None
    case StreamLeaf(stream) =>
      Option.when(requestsChanges(stream) || hasItsColumns(plan.output))(called(stream))
    case other =>
      val below = (other.children ++ other.subqueries).iterator.flatMap(feed).nextOption()
      below.orElse(if (computesChangeTypes(other)) streamBelow(other) else None)
  }

  private val Options = Seq("readChangeFeed", "readChangeData")

  /** Whether a Delta source is read as a change feed, by its options. */
  private def requestsChanges(stream: StreamLeaf): Boolean = {
    val set = CaseInsensitiveMap(stream.options)
    Options.exists(name => set.get(name).exists(_.equalsIgnoreCase("true"))) || stream.older.exists(requestsChanges)
  }

  /** Whether a stream has the columns of a change feed. */
  private def hasItsColumns(columns: Seq[Attribute]): Boolean = {
    val names = columns.map(_.name.toLowerCase(Locale.ROOT)).toSet
    columns.exists(isChangeType) || Seq("_commit_version", "_commit_timestamp").forall(names)
  }

  /** Whether it is a column of change types. */
  private def isChangeType(column: Attribute): Boolean =
    column.name.equalsIgnoreCase(DeltaForm.ChangeType.column) && column.dataType.isInstanceOf[StringType]

  /** Whether this is a projection that computes the change types of its rows. */
  private def computesChangeTypes(plan: LogicalPlan): Boolean = plan match {
    case Project(list, child) if child.isStreaming =>
      list.exists {
        case alias @ Alias(value, _) =>
          !value.isInstanceOf[Attribute] && value.references.nonEmpty && isChangeType(alias.toAttribute)
        case _ => false
      }
    case _ => false
  }

  /** The first stream below a plan, by its location or source. */
  private def streamBelow(plan: LogicalPlan): Option[String] =
    plan.collectFirst { case StreamLeaf(stream) => called(stream) }

  /** A stream by its location, or by its source. */
  private def called(stream: StreamLeaf): String = stream.place.getOrElse(s"of the source ${stream.sourceName}")
}
