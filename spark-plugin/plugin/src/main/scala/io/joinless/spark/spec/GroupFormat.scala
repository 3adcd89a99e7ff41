package io.joinless.spark.spec

import scala.util.control.NonFatal

import io.joinless.spark.errors.{JoinlessAnalysisException, JoinlessErrors, Mismatch}
import io.joinless.spark.spec.JsonFields._
import org.json4s.JsonAST._
import org.json4s.jackson.JsonMethods.{compact, parse, render}

/** The permanent format of the shape of groups in the operator metadata of a checkpoint.
  *
  * '''Durable format''' 1 and 2: one JSON object. Version 2 has `closes`; version 1 is written
  * where groups do not close. The contents of the stores are described at
  * [[io.joinless.spark.state.groups.StoredGroups]].
  */
object GroupFormat {
  private val Versions = Seq(1, 2)

  private def version(shape: GroupShape): Int = if (shape.isClosing) 2 else 1

  /** The operator's name in Spark's metadata, progress and errors. */
  val OperatorName = "joinFreeGroups"

  /** @throws IllegalArgumentException if the text is too large to be read back, which the compiler
    *   has excluded ([[tooLarge]])
    */
  def toJson(shape: GroupShape): String = {
    val text = encoded(shape)
    SpecBounds.checkText(text)
    text
  }

  /** Why groups cannot be recorded: their record could not be read back. */
  def tooLarge(shape: GroupShape): Option[String] = SpecBounds.refused(toJson(shape))

  /** The shape as JSON text, whose size is not checked. `above` and `zone` are null where the shape
    * has none; later fields are left out, as older records lack them. The type of an argument is
    * recorded as a schema of one column, `a`.
    */
  private def encoded(shape: GroupShape): String = {
    val functions = shape.functions.map { f =>
      JObject(
        "text" -> JString(f.text),
        "kind" -> JString(f.kind.name),
        "argument" -> JsonValues.schema(Seq(ColumnSpec("a", f.argument))),
        "values" -> JBool(f.values)
      )
    }
    compact(render(JObject(
      "groupsVersion" -> JInt(version(shape)),
      "engineVersion" -> JString(StateFormat.EngineVersion),
      "columns" -> JsonValues.schema(shape.columns),
      "functions" -> JArray(functions.toList),
      "above" -> shape.above.fold[JValue](JNull)(RowsSpec.toJson),
      "zone" -> shape.zone.fold[JValue](JNull)(JString(_)),
      "origin" -> shape.origin.fold[JValue](JNothing)(OriginSpec.toJson),
      "closes" -> (if (shape.isClosing) JsonValues.array(shape.closes)(TimeSpec.toJson) else JNothing),
      "order" -> ColumnsInOrder.write(shape.order).getOrElse(JNothing),
      "emitted" -> shape.emitted.fold[JValue](JNothing)(JsonValues.texts)
    )))
  }

  /** @param checkpoint where the text was found, for the error */
  def fromJson(json: String, checkpoint: String): GroupShape = {
    def refuse(kind: Mismatch, what: String) = throw JoinlessErrors.stateMismatch(kind, checkpoint, what)
    def unreadable(what: String) = refuse(Mismatch.Unreadable, s"Its recorded groups cannot be read: $what.")
    try {
      SpecBounds.checkText(json)
      val o = parse(json)
      val version = int(o, "groupsVersion")
      if (!Versions.contains(version))
        refuse(
          Mismatch.Format,
          s"Its groups are recorded in format $version by release ${text(o, "engineVersion")}, this release reads the formats ${Versions.mkString(" and ")}."
        )
      GroupShape(
        columns(at(o, "columns")),
        list(o, "functions").map(f =>
          FunctionSpec(
            text(f, "text"),
            kind(text(f, "kind")),
            columns(at(f, "argument")).head.dataType,
            boolean(at(f, "values"))
          )
        ),
        nullable(at(o, "above"))(RowsSpec.fromJson),
        nullable(at(o, "zone"))(_ => text(o, "zone")),
        optional(o, "origin").map(OriginSpec.fromJson),
        if (version == 1) IndexedSeq.empty else list(o, "closes").map(TimeSpec.fromJson),
        ColumnsInOrder.read(optional(o, "order")),
        optional(o, "emitted").map(_ => texts(o, "emitted"))
      )
    } catch {
      case refused: JoinlessAnalysisException => throw refused
      case NonFatal(e) => unreadable(e.toString.linesIterator.next().take(300))
      case _: StackOverflowError => unreadable("it is nested too deep")
    }
  }

  /** Whether both keep the same state, under the same keys. */
  def holdsSame(before: GroupShape, now: GroupShape): Boolean =
    MadeName.forgotten(before.columns, now.columns) == now.columns && before.functions == now.functions

  /** Why state of `before` cannot be continued as `now`, in a sentence. */
  def difference(before: GroupShape, now: GroupShape): Option[String] = {
    def types(shape: GroupShape) = shape.columns.map(_.dataType) ++ shape.functions.map(_.argument)
    def rows(shape: GroupShape) = shape.above.fold("")(above => (above.values ++ above.filters).mkString(", "))
    if (before.isClosing != now.isClosing)
      Some(
        if (before.isClosing)
          "Its groups are emitted when they are final (emit=\"on_close\"); the query requests all changes."
        else
          "Its groups are emitted whenever they change; the query requests them when they are final (emit=\"on_close\")."
      )
    else if (!holdsSame(before, now))
      Some(
        if (before.text != now.text) s"Its groups are those ${before.text}; the query groups ${now.text}."
        else s"Its groups have the types ${types(before).map(_.sql).mkString(", ")}; those of the query have " +
          s"${types(now).map(_.sql).mkString(", ")}."
      )
    else if (before.closes != now.closes)
      Some(s"Its groups close by ${times(before)}; those of the query by ${times(now)}.")
    else
      Option.when(before.above != now.above)(
        s"The query made of its groups: ${rows(before)}. Now it makes of them: ${rows(now)}. A group must be deleted as it was inserted."
      ).orElse(
        before.origin.zip(now.origin).collect {
          case (was, is) if was.mustReadAgain(is) => OriginSpec.readOnce(s"the groups ${before.text}")
        }
      ).orElse(MeaningSpec.emitted(before.emitted, now.emitted).map { case (was, is) =>
        s"The query emitted the columns $was of its groups. Now it emits $is. A group must be deleted as it was inserted."
      }).orElse(MeaningSpec.zones(before.zone, now.zone))
  }

  private def times(shape: GroupShape): String = shape.closes.map { time =>
    val behind = if (time.after == 0) "" else s" + ${time.after / 1e6} seconds"
    shape.columns(time.ordinal).name + behind
  }.mkString(", ")

  private def kind(name: String): FunctionKind = FunctionKind.all.find(_.name == name).getOrElse {
    throw new IllegalArgumentException(s"nothing is kept of a group as ${name.take(100)}")
  }
}
