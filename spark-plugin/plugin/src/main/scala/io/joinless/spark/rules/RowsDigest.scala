package io.joinless.spark.rules

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Paths
import java.security.MessageDigest

import io.joinless.spark.plans.{Groups, JoinFreeJoin, WindowFunctions}
import io.joinless.spark.spec.{BlockShape, OriginSpec}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, SubqueryAlias, View}
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.joinless.StreamLeaf
import org.apache.spark.sql.types.DataType

/** What rows a compiled plan yields, as a digest that is equal in every run of the same query, and differs where the rows may.
  *
  * Columns go by their positions, sources by the names and types of their columns, and by what the query calls them where nothing says
  * where they are. Ids, names of results, join trees and placements do not show.
  */
private[spark] object RowsDigest {

  /** What rows a plan yields, and where its sources are. */
  def origin(plan: LogicalPlan): OriginSpec = {
    val zone = TimeZones.in(plan).getOrElse("")
    val bytes = MessageDigest.getInstance("SHA-256").digest(s"$zone ${text(plan)}".getBytes(UTF_8))
    OriginSpec(bytes.map(b => f"${b & 0xff}%02x").mkString, plan.collectLeaves().flatMap(place).toIndexedSeq)
  }

  private def text(plan: LogicalPlan): String = {
    val name = RelationNames.called(plan).filter(_ => plan.collectLeaves().flatMap(place).isEmpty).fold("")(_ + ": ")
    val below = plan.children.map(text).mkString("(", ", ", ")")
    name + (plan match {
      case SubqueryAlias(_, child) => text(child)
      case View(_, _, child, _) => text(child)
      case source if source.children.isEmpty =>
        source.output.map(a => s"${a.name} ${a.dataType.sql}").mkString("[", ", ", "]")
      case join: JoinFreeJoin => s"join ${block(join.shape)} ${join.residuals.map(_.sql).mkString(", ")}$below"
      case groups: Groups =>
        s"groups ${groups.shape.text} ${groups.shape.functions.map(_.kind.name).mkString(", ")}$below"
      case other =>
        val columns = other.children.flatMap(_.output)
        s"${other.nodeName} ${parameters(other.productIterator, columns)}$below"
    })
  }

  /** Where a stream is; a local path as a whole, since it may be given by parts. */
  private def place(source: LogicalPlan): Option[String] = source match {
    case StreamLeaf(stream) => stream.place.map { place =>
        val path =
          stream.options.collectFirst { case (key, value) if key.equalsIgnoreCase("path") => new Path(value).toUri }
        path.filter(uri => stream.table.isEmpty && (uri.getScheme == null || uri.getScheme == "file"))
          .fold(place)(uri => Paths.get(uri.getPath).toAbsolutePath.normalize.toString)
      }
    case _ => None
  }

  /** All that decides on the rows of a block, by position. */
  private def block(shape: BlockShape): String = {
    def listed(texts: Seq[String]) = texts.mkString("[", ", ", "]")
    val relations = shape.relations.map { r =>
      val kind = shape.inputs(r.input).kind.name
      s"${r.name} ${r.input} $kind ${listed(r.keys.map(k => s"${k.attribute}=${k.ordinal}"))}"
    }
    val columns = shape.output.map(c => s"${c.relation}.${c.ordinal}")
    Seq(relations, shape.attributes.map(_.nullSafe.toString), shape.constants.getOrElse(Nil), columns).map(listed)
      .mkString(" ")
  }

  private def parameters(values: Iterator[Any], columns: Seq[Attribute]): String =
    values.map(parameter(_, columns)).mkString("[", ", ", "]")

  private def parameter(value: Any, columns: Seq[Attribute]): String = value match {
    case _: LogicalPlan => ""
    case Alias(child, _) => parameter(child, columns)
    case e: Expression => MeaningTexts.plain(OuterScope.replace(e) { a =>
        val at = columns.indexWhere(_.exprId == a.exprId)
        (if (at < 0) a else a.withName(s"c$at")).withQualifier(Nil)
      })
    case windows: WindowFunctions => parameters(windows.productIterator, columns)
    case several: Iterable[_] => parameters(several.iterator, columns)
    case some: Option[_] => parameters(some.iterator, columns)
    case plain @ (_: String | _: Number | _: Boolean | _: DataType | _: JoinType) => plain.toString
    case other => other.getClass.getSimpleName
  }
}
