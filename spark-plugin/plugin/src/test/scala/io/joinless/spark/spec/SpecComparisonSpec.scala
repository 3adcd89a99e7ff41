package io.joinless.spark.spec

import io.joinless.spark.{Blocks, Specs}
import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.errors.{JoinlessAnalysisException, Mismatch}
import io.joinless.spark.planner.ChosenShares
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.IntegerType
import org.scalatest.funsuite.AnyFunSuite

class SpecComparisonSpec extends AnyFunSuite {

  private val placed = Specs.threeHops
  private val spec = placed.shape

  private def difference(planned: BlockShape): (Mismatch, String) = SpecComparison.difference(spec, planned).get

  test("aliases, residuals, tree and shares may differ; tree and shares go on as recorded") {
    val planned = spec.copy(
      relations = spec.relations.map(r => r.copy(name = r.name + "2")),
      residuals = IndexedSeq.empty,
      tree = spec.tree.children.head
    )
    assert(SpecComparison.difference(spec, planned).isEmpty)
    val continued = SpecComparison.continued(placed, planned)
    assert(continued.tree == spec.tree && continued.shares == placed.shares)
    assert(continued.relations.head.name == "a2" && continued.residuals.isEmpty)
  }

  test("what differs is said in words of columns") {
    val input = spec.inputs.head
    assert(
      difference(spec.copy(inputs =
        IndexedSeq(input.copy(columns = input.columns.updated(0, ColumnSpec("from", IntegerType))))
      )) ==
        (Mismatch.Columns -> "It stores src BIGINT, dst BIGINT of relation a, the query needs from INT, dst BIGINT of a.")
    )
    assert(
      difference(spec.copy(relations = spec.relations.take(2))) ==
        (Mismatch.Query -> "It joins 3 relations (a, b, c), the query 2 (a, b).")
    )
    assert(
      difference(spec.copy(relations = spec.relations.updated(2, RelationSpec("c", 0, IndexedSeq(KeySpec(1, 1)))))) ==
        (Mismatch.Query -> ("It joins on relation 1.dst = relation 2.src and relation 2.dst = relation 3.src, the query on " +
          "relation 1.dst = relation 2.src and relation 2.dst = relation 3.dst."))
    )
    assert(
      difference(spec.copy(output = spec.output.take(1))) ==
        (Mismatch.Columns -> "Its result has the columns a.src, b.dst, c.dst, the query's a.src.")
    )
    assert(
      difference(spec.copy(inputs = IndexedSeq(input.copy(kind = InputKind.Changelog))))._2 == "Relation a was append-only and is now a changelog."
    )
    assert(difference(spec.copy(attributes = spec.attributes.map(_.copy(nullSafe = true))))._2.contains("<=>"))
  }

  test("a constant that filters give to columns that are joined may not change") {
    val recorded = spec.having(FixedConditions, Some(IndexedSeq("relation 1.k = relation 2.k = 1L")))
    assert(SpecComparison.difference(recorded, recorded).isEmpty)
    assert(SpecComparison.difference(spec, recorded).isEmpty, "an earlier release recorded none")
    val (kind, what) = SpecComparison.difference(recorded, spec.having(FixedConditions, Some(IndexedSeq.empty))).get
    assert(kind == Mismatch.Query)
    assert(
      what == "Its filters say relation 1.k = relation 2.k = 1L, the query's nothing: rows that are stored rely on it."
    )
  }

  test("where rows can be deleted, so must be what a delete meets") {
    def rows(filter: String, value: String = "v") = Some(RowsSpec(IndexedSeq("k", value), IndexedSeq(filter)))
    def meaning(row: Option[RowsSpec], condition: String, value: String) =
      spec.having(MeaningSpec, Some(MeaningSpec(IndexedSeq(row, None, None), IndexedSeq(condition), IndexedSeq(value))))
    val recorded = meaning(rows("(v > 0)"), "(r1.v < r2.v)", "r1.v")
    def said(planned: BlockShape): String = {
      val (kind, what) = SpecComparison.difference(recorded, planned).get
      assert(kind == Mismatch.Filter)
      what
    }
    assert(SpecComparison.difference(recorded, recorded).isEmpty)
    assert(SpecComparison.difference(spec, recorded).isEmpty, "an earlier release recorded none")
    assert(said(
      meaning(rows("(v > 5)"), "(r1.v < r2.v)", "r1.v")
    ) == "The changelog a was filtered by (v > 0), and the query " +
      "filters it by (v > 5): a delete would not find the row that its insert stored.")
    assert(said(meaning(rows("(v > 0)", "(v + 1)"), "(r1.v < r2.v)", "r1.v")).contains("stored as v"))
    assert(said(meaning(rows("(v > 0)"), "(r1.v > r2.v)", "r1.v")).contains("r1 is a"))
    assert(said(meaning(rows("(v > 0)"), "(r1.v < r2.v)", "(r1.v + 1)")).contains("(r1.v + 1)"))
  }

  test("columns that changed places are named") {
    def meaning(columns: String*) =
      spec.having(
        MeaningSpec,
        Some(MeaningSpec(
          IndexedSeq(Some(RowsSpec(columns.toIndexedSeq, IndexedSeq.empty)), None, None),
          IndexedSeq.empty,
          columns.toIndexedSeq
        ))
      )
    val recorded = meaning("k", "(x + y)", "(x - y)")
    val swapped = meaning("k", "(x - y)", "(x + y)")
    val (_, rows) = SpecComparison.difference(recorded, swapped).get
    assert(rows.contains("was stored as (x + y) and (x - y), and the query reads it as (x - y) and (x + y)"), rows)
    def results(of: BlockShape) = of.having(MeaningSpec, of.meaning.map(_.copy(rows = IndexedSeq(None, None, None))))
    val (_, columns) = SpecComparison.difference(results(recorded), results(swapped)).get
    assert(columns.contains("were the columns (x + y) and (x - y), and the query's are (x - y) and (x + y)"), columns)
  }

  test("expert shares are taken by attribute or by any equated column, and checked") {
    def chosen(shares: String, partitions: Int) = {
      val conf = new SQLConf
      conf.setConfString("spark.joinless.placement.shares", shares)
      ChosenShares(spec, partitions, 1, new JoinlessConf(conf)).shares
    }
    assert(chosen("a.dst=3", 4) == IndexedSeq(3, 1))
    assert(chosen("b.src=1,c.src=4", 4) == IndexedSeq(1, 4))
    assert(chosen("", 1) == IndexedSeq(1, 1))
    val unknown = intercept[JoinlessAnalysisException](chosen("a.src=2", 4))
    assert(unknown.getCondition == "JOINLESS_INVALID_SHARES")
    assert(unknown.getMessage.contains("no attribute a.src: it has a.dst, b.dst"))
    assert(intercept[JoinlessAnalysisException](chosen("a.dst=3,b.dst=2", 4)).getMessage.contains("6 cells"))
  }

  private def cellsOf(shape: BlockShape, cores: Int, confs: (String, String)*): Int = {
    val conf = new SQLConf
    confs.foreach { case (key, value) => conf.setConfString(key, value) }
    ChosenShares(shape, 200, cores, new JoinlessConf(conf)).cells
  }

  test("where results are counted, there is at most one cell for each core, unless a conf says how many") {
    val counted =
      spec.having(ReductionSpec, ReducedBlock.best(spec, spec.relations.map(_ => 1.0), once = false).map(_.reduction))
    assert(Seq(1, 2, 4).map(cellsOf(counted, _)) == Seq(1, 2, 4))
    assert(cellsOf(counted, 1, "spark.joinless.placement.maxCells" -> "6") == 6)
  }

  test("a star, which copies no row, has at most two cells for each core") {
    assert(Seq(1, 3, 1000).map(cellsOf(Blocks.star(4).shape, _)) == Seq(2, 6, 200))
  }

  test("a chain has at most one cell for each core, unless a conf says how many") {
    def cells(cores: Int, confs: (String, String)*) = cellsOf(spec, cores, confs: _*)
    assert(Seq(1, 2, 3, 8, 1000).map(cells(_)) == Seq(1, 2, 3, 8, 12))
    assert(cells(1, "spark.joinless.placement.maxCells" -> "6") == 6)
    assert(cells(8, "spark.joinless.placement.maxCells" -> "1") == 1)
    assert(cells(64, "spark.joinless.placement.maxReplication" -> "12") == 30)
    assert(cells(1, "spark.joinless.placement.shares" -> "a.dst=7,b.dst=3") == 21)
  }
}
