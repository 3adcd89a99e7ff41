package io.joinless.spark.source

import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.spec.ResultSpec
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

/** The rows that a block stores, one by one: the inputs of its relations.
  *
  *   - `relation STRING`: the role of a row; a row with several roles is returned once for each;
  *   - `count BIGINT`: 1 for a row of an append-only input (equal rows are returned one by one),
  *     the multiplicity for one of a changelog, negative if deletes came before their inserts;
  *   - `row`: the stored columns, only those that the join needs: a STRUCT if one relation is
  *     requested, else JSON.
  *
  * Rows with a NULL in a key that NULL never joins are not stored. A row that is stored in several
  * cells is returned once.
  */
final case class InputsTable(snapshot: Snapshot, relation: Option[Int]) extends WholeTable {
  import snapshot.spec

  override def name: String = s"joinless.`${snapshot.checkpoint}`.inputs"

  override def readSchema(): StructType = StructType(Seq(
    StructField("relation", StringType, nullable = false),
    StructField("count", LongType, nullable = false),
    StructField("row", relation.fold[DataType](StringType)(StoredRow.struct(spec, _)))
  ))

  override def description(): String =
    s"joinless stored rows of ${relations.map(spec.relations(_).name).mkString(", ")} as of batch ${snapshot.batch}, " +
      s"checkpoint: ${snapshot.checkpoint}"

  override protected def parts: Int = spec.cells

  /** Reads are planned on the driver, with the settings of its session. */
  override def createReaderFactory(): PartitionReaderFactory =
    InputsReaderFactory(
      spec.shaped(_.having(ResultSpec, None)),
      relations,
      asStruct = relation.isDefined,
      SQLConf.get.sessionLocalTimeZone,
      snapshot.stores,
      JoinlessConf.active.cacheMaxBytes
    )

  /** The relations that are read. */
  private def relations: Seq[Int] = relation.fold[Seq[Int]](spec.relations.indices)(Seq(_))
}
