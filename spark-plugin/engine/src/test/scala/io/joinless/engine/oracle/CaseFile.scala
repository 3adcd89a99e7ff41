package io.joinless.engine.oracle

import java.nio.file.{Files, Path, Paths}

import scala.collection.immutable.BitSet
import scala.jdk.CollectionConverters._

import io.joinless.engine.query.{BagNode, GeneralizedNode, JoinTree, RelationNode}

/** A case as text, one fact per line: the format of the files in `tests/regressions/`.
  *
  * {{{
  * attribute fixed|variable equal|nullsafe
  * input changelog|append fixed variable ...         one word per column
  * row INPUT 3 NULL 0 ...                            the stock, in order
  * relation INPUT ATTRIBUTE:COLUMN ...
  * tree relation 1 ( generalized 0,2 ( ... ) )       as nested lines of tokens
  * residual SALT RELATION ...
  * negatives                                         deletes may precede their inserts
  * batch
  * change INPUT ROW ROLES WEIGHT                     roles as a bit set
  * }}}
  */
object CaseFile {

  /** The root of the repository. */
  val root: Path = {
    val here = Paths.get("").toAbsolutePath
    Iterator.iterate(here)(_.getParent).takeWhile(_ != null).find(p => Files.exists(p.resolve("build.sbt"))).getOrElse(
      here
    )
  }

  val folder: Path = root.resolve("tests").resolve("regressions").resolve("engine")

  def all: Seq[Path] =
    if (!Files.isDirectory(folder)) Nil
    else {
      val files = Files.list(folder)
      try files.iterator.asScala.filter(_.toString.endsWith(".case")).toSeq.sorted
      finally files.close()
    }

  def read(path: Path): Case = parse(Files.readAllLines(path).asScala.toSeq)

  def write(query: Case, name: String, comment: String): Path = {
    Files.createDirectories(folder)
    Files.write(folder.resolve(s"$name.case"), (comment.linesIterator.map("# " + _).toSeq ++ render(query)).asJava)
  }

  def render(query: Case): Seq[String] = {
    val attributes =
      query.attributes.map(a => s"attribute ${kind(a.variable)} ${if (a.nullSafe) "nullsafe" else "equal"}")
    val inputs = query.inputs.map(i =>
      (s"input ${if (i.retractable) "changelog" else "append"}" +: i.columns.map(kind)).mkString(" ")
    )
    val rows = for ((input, i) <- query.inputs.zipWithIndex; row <- input.rows)
      yield (s"row $i" +: row.map(_.fold("NULL")(_.toString))).mkString(" ")
    val relations =
      query.relations.map(r => (s"relation ${r.input}" +: r.keys.map { case (a, c) => s"$a:$c" }).mkString(" "))
    val residuals = query.residuals.map(r => (s"residual ${r.salt}" +: r.relations.map(_.toString)).mkString(" "))
    val batches = query.batches.flatMap { changes =>
      "batch" +: changes.map(c => s"change ${c.input} ${c.row} ${c.roles} ${c.weight}")
    }
    attributes ++ inputs ++ rows ++ relations ++ Seq(s"tree ${render(query.tree)}") ++ residuals ++
      (if (query.negatives) Seq("negatives") else Nil) ++ batches
  }

  def parse(text: Seq[String]): Case = {
    val lines = text.filterNot(l => l.startsWith("#") || l.trim.isEmpty).map(_.trim.split(" +").toIndexedSeq)
    def all(name: String) = lines.filter(_.head == name).map(_.tail).toIndexedSeq
    val relations = all("relation").map { l =>
      CaseRelation(l.head.toInt, l.tail.map(_.split(":")).map(p => p(0).toInt -> p(1).toInt))
    }
    val rows = all("row").groupMap(_.head.toInt)(_.tail.map(v => if (v == "NULL") None else Some(v.toLong)))
    val batches = lines.foldLeft(IndexedSeq.empty[IndexedSeq[CaseChange]]) { (done, l) =>
      l.head match {
        case "batch" => done :+ IndexedSeq.empty
        case "change" => done.init :+ (done.last :+ CaseChange(l(1).toInt, l(2).toInt, l(3).toLong, l(4).toLong))
        case _ => done
      }
    }
    Case(
      all("attribute").map(l => CaseAttribute(l(0) == "variable", l(1) == "nullsafe")),
      all("input").zipWithIndex.map { case (l, i) =>
        CaseInput(l.head == "changelog", l.tail.map(_ == "variable"), rows.getOrElse(i, IndexedSeq.empty))
      },
      relations,
      parseTree(all("tree").head.iterator.buffered, relations),
      all("residual").map(l => CaseResidual(l.tail.map(_.toInt), l.head.toInt)),
      batches,
      lines.exists(_.head == "negatives")
    )
  }

  private def kind(variable: Boolean): String = if (variable) "variable" else "fixed"

  private def render(tree: JoinTree): String = {
    val node = tree match {
      case RelationNode(r, _, _) => s"relation $r"
      case GeneralizedNode(attributes, _) => attributes.mkString("generalized ,", ",", "")
      case BagNode(attributes, _) => attributes.mkString("bag ,", ",", "")
    }
    s"$node ( ${tree.children.map(render).mkString(" ")} )"
  }

  private def parseTree(tokens: collection.BufferedIterator[String], relations: IndexedSeq[CaseRelation]): JoinTree = {
    val (kind, what) = (tokens.next(), tokens.next())
    tokens.next()
    val children = IndexedSeq.newBuilder[JoinTree]
    while (tokens.head != ")") children += parseTree(tokens, relations)
    tokens.next()
    def attributes = BitSet.fromSpecific(what.split(",").filter(_.nonEmpty).map(_.toInt))
    kind match {
      case "relation" =>
        RelationNode(what.toInt, BitSet.fromSpecific(relations(what.toInt).keys.map(_._1)), children.result())
      case "bag" => BagNode(attributes, children.result().collect { case relation: RelationNode => relation })
      case _ => GeneralizedNode(attributes, children.result())
    }
  }
}
