package io.joinless.spark.spec

import io.joinless.spark.errors.Mismatch
import io.joinless.spark.spec.JsonFields._
import org.json4s.JsonAST._

/** The sample that is kept of a block's results, as it is recorded: `size` of them, each as likely
  * as the others.
  *
  * @param seed from which the random numbers of all batches follow
  * @param keyed each cell keeps a sample, and emits the key of each row: the rows with the least
  *   keys of all cells are the sample. Otherwise there is one cell
  */
final case class SampleSpec(size: Int, seed: Long, keyed: Boolean = false)

/** None where all results are emitted. Another size or another seed would be another sample. */
object SampleSpec extends BlockProperty[Option[SampleSpec]]("sample", default = None) {

  override def write(sample: Option[SampleSpec]): Option[JValue] =
    sample.map(s => JObject("size" -> JInt(s.size), "seed" -> JInt(s.seed), "keyed" -> JBool(s.keyed)))

  override def read(json: Option[JValue]): Option[SampleSpec] =
    json.map(found => SampleSpec(int(found, "size"), long(found, "seed"), boolean(at(found, "keyed"))))

  override def problem(sample: Option[SampleSpec], block: BlockCore): Option[(Mismatch, String)] = sample.flatMap { s =>
    if (s.size <= 0) Some(BlockProperty.contradiction(s"its sample has the size ${s.size}"))
    else Option.when(!block.inputs.forall(_.retractable))(
      BlockProperty.contradiction("its results are sampled, and its rows are not counted")
    )
  }

  override def compared: Compared = Compared.AfterRelations

  override def difference(
      was: Option[SampleSpec],
      is: Option[SampleSpec],
      recorded: BlockCore,
      planned: BlockCore
  ): Option[(Mismatch, String)] = Option.when(was != is) {
    Mismatch.Query ->
      s"Of the join of ${recorded.names} it keeps ${text(was)}, and the query ${text(is)}."
  }

  private def text(sample: Option[SampleSpec]): String =
    sample.fold("all results") { s =>
      val cells = if (s.keyed) ", of several cells" else ""
      s"a sample of ${s.size} results with the seed ${s.seed}$cells"
    }
}
