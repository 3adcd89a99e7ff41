package io.joinless.spark.exec.cells

import io.joinless.spark.Blocks._
import io.joinless.spark.spec.{BlockSpec, InputKind, SampleSpec}
import org.scalatest.funsuite.AnyFunSuite

/** Which kind of cells a block has. */
class CellKindsSpec extends AnyFunSuite {

  private def of(kind: InputKind): BlockSpec =
    path(3).shaped(shape => shape.copy(inputs = shape.inputs.map(_.copy(kind = kind))))

  private val blocks = Seq(
    (path(3), AppendedCell),
    (ForgettingTaskSpec.star(60), ForgettingCell),
    (of(InputKind.Changelog), ChangelogCell),
    (of(InputKind.Counted), ChangelogCell),
    (of(InputKind.Counted).shaped(_.having(SampleSpec, Some(SampleSpec(5, 0L)))), SampledCell)
  )

  test("each block has one kind of cells") {
    for ((block, kind) <- blocks) {
      assert(CellKinds.all.filter(_.fits(block)) == Seq(kind))
      assert(CellKinds.of(block) == kind)
    }
  }

  test("a task refuses the state of another kind of cell") {
    val state = ChangelogCell.empty(of(InputKind.Changelog))
    val refused = intercept[IllegalStateException](AppendedCell.task(null, state, Iterator.empty))
    assert(refused.getMessage.contains("another kind of cell"))
  }
}
