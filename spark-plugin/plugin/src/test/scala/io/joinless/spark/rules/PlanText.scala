package io.joinless.spark.rules

import io.joinless.engine.query.{BagNode, GeneralizedNode, JoinTree, RelationNode}
import io.joinless.spark.plans.nodes.JoinFreeJoin
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.spec.{BlockShape, ColumnRef}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** An optimized plan as text that is the same in every run: ids count from 1, paths are left out,
  * blocks show their spec.
  */
object PlanText {

  def apply(plan: LogicalPlan): String = numbered(lines(plan).mkString("", "\n", "\n"))

  private def lines(plan: LogicalPlan): Seq[String] = plan match {
    case block: JoinFreeJoin =>
      val scans = block.scans.zip(block.rolesOfScan).flatMap { case (scan, roles) =>
        s"scan for [${roles.map(block.shape.relations(_).name).mkString(", ")}]" +: indented(lines(scan))
      }
      s"JoinFreeJoin [${block.output.mkString(", ")}]" +: indented(spec(block.shape) ++ scans)
    case other =>
      val reason = Reason.at(other).map(r => s"  -- $r")
      (other.simpleString(1000).stripPrefix("~") + reason.getOrElse("")) +: indented(other.children.flatMap(lines))
  }

  private def spec(spec: BlockShape): Seq[String] = {
    val attributes = spec.attributes.map(a => s"${a.name} ${a.dataType.sql}${if (a.nullSafe) " <=>" else ""}")
    val relations = spec.relations.map { r =>
      val columns = spec.inputs(r.input).columns.zipWithIndex.map { case (c, i) =>
        s"${c.name} ${c.dataType.sql}" + r.keys.filter(_.ordinal == i).map(k => s" =${k.attribute}").mkString
      }
      s"relation ${r.name}, input ${r.input} (${columns.mkString(", ")})"
    }
    val residuals = spec.residuals.map(r => s"residual ${r.sql} of ${r.columns.map(column(spec, _)).mkString(", ")}")
    Seq(
      attributes.zipWithIndex.map { case (a, i) => s"attribute $i $a" },
      relations,
      Seq(s"tree ${tree(spec, spec.tree)}"),
      residuals,
      Seq(s"output ${spec.output.map(column(spec, _)).mkString(", ")}")
    ).flatten
  }

  private def column(spec: BlockShape, ref: ColumnRef): String = {
    val relation = spec.relations(ref.relation)
    s"${relation.name}.${spec.inputs(relation.input).columns(ref.ordinal).name}"
  }

  private def tree(spec: BlockShape, node: JoinTree): String = {
    val below = if (node.children.isEmpty) "" else node.children.map(tree(spec, _)).mkString("(", ", ", ")")
    node match {
      case RelationNode(r, _, _) => spec.relations(r).name + below
      case GeneralizedNode(attributes, _) => attributes.mkString("[", " ", "]") + below
      case BagNode(attributes, _) => attributes.mkString("bag [", " ", "]") + below
    }
  }

  private def indented(lines: Seq[String]): Seq[String] = lines.map("  " + _)

  private def numbered(text: String): String = {
    val ids = scala.collection.mutable.LinkedHashMap.empty[String, Int]
    "#(\\d+)L?".r.replaceAllIn(
      text.replaceAll("FileSource\\[[^\\]]*\\]", "FileSource").replaceAll(
        "DataSource\\(.*\\), FileSource",
        "FileSource"
      )
        .replace(", name=<Unassigned>", ""), // sources have names from 4.2 on
      m => "#" + ids.getOrElseUpdate(m.group(1), ids.size + 1)
    )
  }
}
