package io.joinless.spark.spec

import scala.collection.immutable.BitSet

import io.joinless.engine.query.{GeneralizedNode, JoinTree}
import io.joinless.spark.errors.Mismatch
import io.joinless.spark.spec.JsonFields._
import io.joinless.spark.spec.JsonValues.numbers
import org.json4s.JsonAST._

/** The sample that is kept of a block's results, as it is recorded: `size` of them, each as likely
  * as the others; or so many of each group of results.
  *
  * @param seed from which the random numbers of all batches follow
  * @param keyed each cell keeps a sample, and emits the key of each row: the rows with the least
  *   keys of all cells are the sample. Otherwise there is one cell
  * @param by the attributes by which results are grouped: those of the root of the join tree, which
  *   is a generalized node; none: all results are one group
  */
final case class SampleSpec(size: Int, seed: Long, keyed: Boolean = false, by: BitSet = BitSet.empty) {
  def isGrouped: Boolean = by.nonEmpty
}

/** None where all results are emitted. Another size, another seed and other groups would be another
  * sample. Without groups a record has no `by`.
  */
object SampleSpec extends BlockProperty[Option[SampleSpec]]("sample", default = None) {

  override def write(sample: Option[SampleSpec]): Option[JValue] =
    sample.map { s =>
      val by = Option.when(s.isGrouped)("by" -> numbers(s.by.toSeq: _*))
      JObject(List("size" -> JInt(s.size), "seed" -> JInt(s.seed), "keyed" -> JBool(s.keyed)) ++ by)
    }

  override def read(json: Option[JValue]): Option[SampleSpec] =
    json.map { found =>
      val by = optional(found, "by").fold(BitSet.empty)(_ => BitSet.fromSpecific(list(found, "by").map(attribute)))
      SampleSpec(int(found, "size"), long(found, "seed"), boolean(at(found, "keyed")), by)
    }

  override def problem(sample: Option[SampleSpec], block: BlockCore): Option[(Mismatch, String)] = sample.flatMap { s =>
    if (s.size <= 0) Some(BlockProperty.contradiction(s"its sample has the size ${s.size}"))
    else if (!block.inputs.forall(_.retractable))
      Some(BlockProperty.contradiction("its results are sampled, and its rows are not counted"))
    else Option.when(s.isGrouped && !isRoot(s.by, block.tree))(
      BlockProperty.wrongTree("its root has other attributes than those by which its results are sampled")
    )
  }

  private def isRoot(by: BitSet, tree: JoinTree): Boolean = tree match {
    case GeneralizedNode(attributes, _) => attributes == by
    case _ => false
  }

  override def compared: Compared = Compared.AfterRelations

  override def difference(
      was: Option[SampleSpec],
      is: Option[SampleSpec],
      recorded: BlockCore,
      planned: BlockCore
  ): Option[(Mismatch, String)] =
    Option.when(was != is || was.map(columns(_, recorded)) != is.map(columns(_, planned))) {
      Mismatch.Query ->
        s"Of the join of ${recorded.names} it keeps ${text(was, recorded)}, and the query ${text(is, planned)}."
    }

  /** The columns by which results are grouped: of equated ones the first. */
  private def columns(sample: SampleSpec, block: BlockCore): Seq[Option[(Int, String)]] =
    sample.by.toSeq.map { attribute =>
      val places = for ((r, i) <- block.relations.iterator.zipWithIndex; k <- r.keys if k.attribute == attribute)
        yield (i, block.stored(r)(k.ordinal).name)
      places.nextOption()
    }

  private def text(sample: Option[SampleSpec], block: BlockCore): String =
    sample.fold("all results") { s =>
      val cells = if (s.keyed) ", of several cells" else ""
      val groups = if (s.isGrouped) s" of each ${names(s, block)}" else ""
      s"a sample of ${s.size} results$groups with the seed ${s.seed}$cells"
    }

  /** The names of the columns by which results are grouped. */
  def names(sample: SampleSpec, block: BlockCore): String =
    sample.by.toSeq.map(block.attributes(_).name).mkString(", ")
}
