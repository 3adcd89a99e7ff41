package io.joinless.spark.compile

import io.joinless.spark.TestFolders
import io.joinless.spark.changes.Changes
import io.joinless.spark.plans.nodes.JoinFreeJoin
import io.joinless.spark.plans.values.DeltaForm
import io.joinless.spark.rules.StreamingPlans
import io.joinless.spark.spec.{BlockShape, ColumnsInOrder, RecordedQuery, SpecComparison}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.joinless.Plans
import org.scalatest.funsuite.AnyFunSuite

/** A query is compiled again, after one of its two sources has reordered its columns: now they
  * stand as those of the other one. Each block continues its own record.
  */
class RecordedColumnsSpec extends AnyFunSuite with StreamingPlans {

  private val folders = Seq("t", "u").map(name => name -> TestFolders.create(name).toString).toMap

  private def read(name: String, columns: String): Unit =
    Changes.changelog(
      spark.readStream.schema(s"$columns, _change_type STRING").json(folders(name)),
      None,
      None
    ).createOrReplaceTempView(name)

  private def deltas(sql: String): DataFrame = Changes.deltas(spark.sql(sql), DeltaForm.Weight)

  private def shapes(query: DataFrame, recorded: Option[RecordedQuery]): Seq[BlockShape] =
    DeltaCompilation(spark, Plans.analyzed(query), recorded).collect { case join: JoinFreeJoin => join.shape }

  /** What does not fit, after `t` has reordered its columns.
    *
    * @param release what the release that began the checkpoint recorded of a block
    */
  private def differences(query: => DataFrame)(release: BlockShape => BlockShape): Seq[String] = {
    read("t", "k BIGINT, x INT, s STRING")
    read("u", "s STRING, x INT, k BIGINT")
    val before = shapes(query, None).map(release)
    assert(before.map(_.inputs.map(_.columns)).distinct.size == 2)
    read("t", "s STRING, x INT, k BIGINT")
    val unordered = shapes(query, None)
    assert(before.zip(unordered).exists { case (was, is) => SpecComparison.difference(was, is).isDefined })
    for {
      recorded <- Seq(before, before.reverse)
      (was, is) <- before.zip(shapes(query, Some(RecordedQuery(recorded))))
      (_, what) <- SpecComparison.difference(was, is)
    } yield what
  }

  private def join(table: String) = s"SELECT a.s, b.x FROM $table a JOIN $table b ON a.k = b.k"

  test("two blocks of one query, whose order was not recorded as a whole") {
    assert(
      differences(deltas(s"${join("t")} UNION ALL ${join("u")}"))(_.having(ColumnsInOrder, IndexedSeq.empty)) == Nil
    )
  }

  test("two queries in one") {
    assert(differences(deltas(join("t")).union(deltas(join("u"))))(identity) == Nil)
  }

  test("two queries in one, whose order was not recorded as a whole") {
    assert(differences(deltas(join("t")).union(deltas(join("u"))))(_.having(ColumnsInOrder, IndexedSeq.empty)) == Nil)
  }
}
