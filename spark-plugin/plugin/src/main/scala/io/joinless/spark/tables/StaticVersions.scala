package io.joinless.spark.tables

import scala.util.Try

import io.joinless.spark.errors.TableErrors
import io.joinless.spark.spec.Sha256
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.UserDefinedExpression
import org.apache.spark.sql.catalyst.plans.logical.{
  CTERelationRef,
  Filter,
  LocalRelation,
  LogicalPlan,
  OneRowRelation,
  Project,
  Range,
  SubqueryAlias,
  Union,
  View
}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelationWithTable}
import org.apache.spark.sql.joinless.{DeltaDetail, Plans, TableLeaf}
import org.json4s.JsonAST.{JArray, JField, JObject, JString}
import org.json4s.jackson.JsonMethods.{compact, parse, render}

/** The versions of static tables that a query reads once, in its first batch. They are in the
  * offsets of its checkpoint.
  *
  * The version of a table of files is a digest of their names, sizes and times, and of how they are
  * read. That of a Delta table at a version has the table's id. That of any other table is a digest
  * of its rows, whatever their order. Literals and ranges cannot change, and have none. Rows that
  * are computed from several others, or by functions of the user, have a digest, too: they may
  * depend on the order of the others, or on the function.
  *
  * @param of the versions by the names of tables, in the order of the plan
  */
final case class StaticVersions(of: Seq[(String, String)]) {

  def json: String =
    compact(render(JObject("static" -> JArray(of.toList.map { case (table, version) =>
      JObject("table" -> JString(table), "version" -> JString(version))
    }))))

  /** The tables that have other versions now. */
  def changed(now: StaticVersions): Seq[String] = now.of.filterNot(of.contains(_)).map(_._1).distinct
}

object StaticVersions {

  /** The versions of the static tables that a plan reads, as they are now. */
  def now(session: SparkSession, plan: LogicalPlan): StaticVersions =
    ofLeaves(plan)(leaf => listing(leaf).orElse(contents(session, leaf)))

  /** The versions of what a source reads.
    *
    * @param called the name of the source, for tables without one
    */
  def ofSource(session: SparkSession, plan: LogicalPlan, called: String): StaticVersions = {
    val computed = Option.when(mayVary(plan))(called -> Plans.digest(session, plan))
    StaticVersions(now(session, plan).of ++ computed)
  }

  /** Whether the rows may differ although those of all tables are the same. */
  private def mayVary(plan: LogicalPlan): Boolean = plan.collectFirstWithSubqueries {
    case node if !isRowByRow(node) => node
    case node if node.expressions.exists(_.exists(_.isInstanceOf[UserDefinedExpression])) => node
  }.isDefined

  private def isRowByRow(node: LogicalPlan): Boolean = node match {
    case _: Project | _: Filter | _: Union | _: SubqueryAlias | _: View => true
    case other => other.children.isEmpty
  }

  /** The versions of those that are files, which are found without reading them. */
  def ofFiles(plan: LogicalPlan): StaticVersions = ofLeaves(plan)(listing)

  private def ofLeaves(plan: LogicalPlan)(version: LogicalPlan => Option[String]): StaticVersions = StaticVersions(
    plan.collectWithSubqueries { case leaf if leaf.children.isEmpty && !hasChanges(leaf) && !isReference(leaf) => leaf }
      .flatMap(leaf => version(leaf).map(name(leaf) -> _))
  )

  /** Fails unless what a source reads has these versions. */
  def check(session: SparkSession, plan: LogicalPlan, called: String)(json: String): Unit =
    for (before <- read(json); table <- before.changed(ofSource(session, plan, called)).headOption)
      throw TableErrors.staticTableChanged(if (table.startsWith("(")) s"$called $table" else table)

  /** The versions that an offset records; None if it is the offset of another source. */
  def read(json: String): Option[StaticVersions] = Try(parse(json) \ "static").toOption.collect {
    case JArray(tables) => StaticVersions(tables.collect { case JObject(fields) =>
        val texts = fields.collect { case JField(name, JString(text)) => name -> text }.toMap
        texts("table") -> texts("version")
      })
  }

  /** A table or path by its name, or a relation without one by its columns. */
  def name(leaf: LogicalPlan): String =
    place(leaf).getOrElse(leaf.output.map(_.name).mkString("(", ", ", ")"))

  /** The table or path that a leaf reads, with its version if the query names one. */
  def place(leaf: LogicalPlan): Option[String] = leaf match {
    case TableLeaf(TableLeaf(table, Some(version))) => Some(s"$table@v$version")
    case LogicalRelationWithTable(_, Some(table)) => Some(table.identifier.unquotedString)
    case LogicalRelationWithTable(files: HadoopFsRelation, _) => files.location.rootPaths.headOption.map(_.toString)
    case table: DataSourceV2Relation => Some(table.name)
    case _ => None
  }

  /** Whether a leaf reads the newest version of a Delta table: it has changes that can be read. */
  def hasChanges(leaf: LogicalPlan): Boolean = leaf match {
    case TableLeaf(table) => !table.pinned
    case _ => false
  }

  /** Whether it stands for a common table expression, whose definition is elsewhere in the plan. */
  private def isReference(leaf: LogicalPlan): Boolean = leaf.isInstanceOf[CTERelationRef]

  private def listing(leaf: LogicalPlan): Option[String] = leaf match {
    case TableLeaf(table) => Some(s"${table.version.mkString} of ${DeltaDetail.of(leaf).map(_.id).mkString}")
    case LogicalRelationWithTable(files: HadoopFsRelation, _) =>
      Some(Sha256((listed(files) ++ howRead(files)).sorted.mkString("\n")))
    case _ => None
  }

  private def contents(session: SparkSession, leaf: LogicalPlan): Option[String] = leaf match {
    case _: LocalRelation | _: OneRowRelation | _: Range => None
    case table: DataSourceV2Relation if table.timeTravelSpec.isDefined => None
    case _ => Some(Plans.digest(session, leaf))
  }

  /** The files of a table, a line each. */
  private def listed(relation: HadoopFsRelation): Seq[String] =
    relation.location.listFiles(Nil, Nil).flatMap(_.files).map { file =>
      s"${file.getPath} ${file.getLen} ${file.getModificationTime}"
    }

  /** What decides on the rows that the files have: their format, columns and options, and the
    * session's time zone where texts are read as times.
    */
  private def howRead(relation: HadoopFsRelation): Seq[String] = {
    val format = relation.fileFormat.getClass.getName
    val asText = format.matches(".*(csv|json|xml|text)\\..*") && relation.schema.sql.contains("TIMESTAMP")
    val zone = Option.when(asText)(relation.sparkSession.conf.get("spark.sql.session.timeZone"))
    Seq(format, relation.schema.json) ++ relation.options.map(_.toString) ++ zone
  }
}
