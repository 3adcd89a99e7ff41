package io.joinless.spark.spec

import scala.util.control.NonFatal

import io.joinless.spark.conf.Built
import io.joinless.spark.errors.{JoinlessErrors, Mismatch}
import org.json4s.JsonAST._
import org.json4s.jackson.JsonMethods.{compact, parse, render}

/** The permanent format of a block's spec in the operator metadata of a checkpoint (architecture
  * D2).
  *
  * '''Durable format''': one JSON object with `specVersion`, the fields of that version and
  * `digest`, the SHA-256 of the compact text of all other fields: a spec that was changed by hand
  * would send rows to other cells than those in whose stores they are. Types are written as a Spark
  * schema, which alone keeps collations. [[SpecEncoder]] writes the newest version, [[SpecDecoder]]
  * reads all. The
  * fields of a property are described at it ([[BlockProperties]]):
  *
  *   1. A block of joins, by its number; inputs are changelogs or not. Earlier releases lack
  *      `result`, `statics`, `meaning` and `constants`.
  *   1. `stage` says which node of the block it is, `kind` how the rows of an input are inserted
  *      and deleted. Blocks of compiled queries have `origins` and `order`; those of
  *      earlier releases lack them.
  *
  * `meaning` stands only where rows can be deleted; `result` is omitted where it is too long to be
  * read. `fromJson(toJson(spec)) == spec`. Reading is strict: a field that its version does not
  * have is refused by name, and so is a missing one.
  */
object StateFormat {

  /** The release that writes; recorded for people, never compared. */
  val EngineVersion: String = Built.Release

  /** Our operator's name in Spark's metadata, progress and errors. */
  val OperatorName = "joinFree"

  /** The spec as a text of the newest version. If the spec is too large to be read back, the field
    * `result` is left out.
    *
    * @throws IllegalArgumentException if it is still too large, which the rules have excluded
    *   ([[tooLarge]])
    */
  def toJson(spec: BlockSpec): String = {
    val fields = SpecEncoder.encode(spec, SpecDecoder.all.last.version, EngineVersion)
    val text = compact(render(JObject(fields.obj :+ ("digest" -> JString(digest(fields))))))
    val problem = SpecSize.problem(spec).orElse(SpecBounds.problem(text))
    if (problem.isDefined && spec.shape.result.isDefined) toJson(spec.shaped(_.having(ResultSpec, None)))
    else { problem.foreach(SpecBounds.demand(false, _)); text }
  }

  /** Why a block cannot be recorded: its record could not be read back. It is asked before a query
    * starts, when its cells are not chosen yet.
    */
  def tooLarge(shape: BlockShape): Option[String] =
    SpecBounds.refused(toJson(BlockSpec(shape, shape.attributes.map(_ => 1))))

  /** @param checkpoint where the text was found, for the error */
  def fromJson(json: String, checkpoint: String = "of the query"): BlockSpec =
    read(json).fold(problem => throw JoinlessErrors.stateMismatch(problem._1, checkpoint, problem._2), identity)

  /** The spec, or the problem with the text. */
  def read(json: String): Either[(Mismatch, String), BlockSpec] =
    try {
      SpecBounds.checkText(json)
      parse(json) match {
        case all @ JObject(fields) =>
          SpecBounds.checkFields(all)
          decode(fields)
        case _ => unreadable("it is no JSON object")
      }
    } catch {
      case NonFatal(e) => unreadable(firstLine(e))
      case _: StackOverflowError => unreadable("it is nested too deep")
    }

  private def firstLine(e: Throwable): String =
    Option(e.getMessage).flatMap(_.linesIterator.nextOption()).getOrElse(e.toString).take(300).stripSuffix(".")

  private def decode(all: List[JField]): Either[(Mismatch, String), BlockSpec] = {
    val (digests, fields) = all.partition(_._1 == "digest")
    val o = JObject(fields)
    val version = JsonFields.int(o, "specVersion")
    SpecDecoder.of(version) match {
      case None =>
        val known = SpecDecoder.all.map(_.version).mkString(" and ")
        val writer = JsonFields.text(o, "engineVersion")
        Left((
          Mismatch.Format,
          s"Its join block is recorded in format $version by release $writer, this release reads the formats $known."
        ))
      case _ if digests.map(_._2) != List(JString(digest(o))) => unreadable("its digest is wrong, so it was changed")
      case Some(decoder) =>
        val spec = decoder.decode(o)
        SpecCheck.problem(spec).toLeft(spec)
    }
  }

  private def unreadable(what: String) =
    Left((Mismatch.Unreadable, s"Its recorded join block cannot be read: $what."))

  private def digest(fields: JObject): String = Sha256(compact(render(fields)))
}
