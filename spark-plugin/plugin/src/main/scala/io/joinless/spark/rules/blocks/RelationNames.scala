package io.joinless.spark.rules.blocks

import io.joinless.spark.changes.Aliases
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag

/** The aliases of the query, recorded on its sources as long as the plan has them.
  *
  * The name of a source is its outermost alias below the next join: in
  * `FROM (SELECT ... FROM e) x JOIN ...` that is `x`. A source object that occurs in the plan
  * several times, under different aliases, gets no name. Views of a session share their plans:
  * names recorded by another query are replaced, in subqueries too.
  */
private[spark] object RelationNames {

  private val tag: TreeNodeTag[String] = TreeNodeTag[String]("joinless.relation")

  /** Records the names of all sources of a query, also in its subqueries, and removes names that
    * another query has recorded.
    */
  def note(plan: LogicalPlan): Unit =
    (plan +: plan.subqueriesAll).flatMap(names(_, None)).groupMap(found => Identity(found._1))(_._2).foreach {
      case (Identity(source), aliases) if aliases.distinct.size == 1 => source.setTagValue(tag, aliases.head)
      case (Identity(source), _) => source.unsetTagValue(tag)
    }

  /** Names a source that has no alias in the query. */
  def call(source: LogicalPlan, name: String): Unit = source.setTagValue(tag, name)

  /** The name that `note` or `call` recorded on this very node. */
  def called(plan: LogicalPlan): Option[String] = plan.getTagValue(tag)

  /** The sources of a plan that have an alias, each with its outermost one below the next join.
    *
    * @param alias the outermost alias between the plan and the next join above; None if there is
    *   none
    */
  private def names(plan: LogicalPlan, alias: Option[String]): Seq[(LogicalPlan, String)] = plan match {
    case Aliases(name, child) => names(child, alias.orElse(name))
    case join: Join => join.children.flatMap(names(_, None))
    case source if source.children.isEmpty => alias.map(source -> _).toSeq
    case other => other.children.flatMap(names(_, alias))
  }

  /** A node by object identity: equal sources are different ones. */
  final private case class Identity(source: LogicalPlan) {
    override def equals(other: Any): Boolean = other match {
      case Identity(same) => same eq source
      case _ => false
    }
    override def hashCode: Int = System.identityHashCode(source)
  }

  /** The name of this leaf of a block, or of a static table, in the query: the name of a stream
    * takes precedence over those of the tables that it is joined with.
    */
  def of(leaf: LogicalPlan): Option[String] =
    if (leaf.exists { case join: Join => Conditions.joinsStreams(join); case _ => false }) None
    else leaf.collectLeaves().sortBy(!_.isStreaming).flatMap(_.getTagValue(tag)).headOption
}
