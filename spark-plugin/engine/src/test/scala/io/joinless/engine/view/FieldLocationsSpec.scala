package io.joinless.engine.view

import scala.collection.immutable.BitSet

import io.joinless.engine.query.{JoinTree, RelationNode}
import io.joinless.engine.tuples.KeyField
import io.joinless.engine.update.{DeletedRows, DeltaEnumeration}
import org.scalatest.funsuite.AnyFunSuite

class FieldLocationsSpec extends AnyFunSuite {

  /** A path of relations over one input of `fields` fields: field 1 of each is field 0 of the next.
    * It projects `projected(r)` of relation r.
    */
  private def path(relations: Int, fields: Int, nullSafe: Boolean = false, variable: Boolean = false)(
      projected: Int => IndexedSeq[Int]
  ): BlockDef = {
    def attributes(r: Int) = BitSet.fromSpecific(Seq(r - 1, r).filter(a => a >= 0 && a < relations - 1))
    def node(r: Int): JoinTree =
      RelationNode(r, attributes(r), if (r + 1 < relations) IndexedSeq(node(r + 1)) else IndexedSeq.empty)
    BlockDef(
      IndexedSeq(InputDef(fields, if (variable) 0 else fields + 1, retractable = true)),
      IndexedSeq.fill(relations - 1)(AttributeDef(nullSafe)),
      (0 until relations).map { r =>
        val keys = attributes(r).toIndexedSeq.map(a => a -> KeyField(if (a < r) 0 else 1, variable))
        RelationDef(0, keys, projected(r))
      },
      node(0)
    )
  }

  private def locations(block: BlockDef) = {
    val found = new FieldLocations(block)
    for (r <- block.relations.indices; f <- block.relations(r).projected) yield (r, f) -> found.find(r, f)
  }.toMap

  test("keys are read from keys, ends are inlined with their rows, and nothing is read of the middle") {
    val block = path(3, 2)(r => if (r == 2) IndexedSeq(0, 1) else IndexedSeq(0))
    assert(
      locations(block) === Map(
        (0, 0) -> Some((0, 0)),
        (1, 0) -> Some((3, 0)),
        (2, 0) -> Some((4, 0)),
        (2, 1) -> Some((2, 0))
      )
    )
    val found = new FieldLocations(block)
    assert((0 until 3).map(found.inlined) === Seq(Seq(0), Seq(), Seq(1)) && found.pointers === 5)
  }

  test("rows are read where more is projected than is inlined with them, and then nothing from keys") {
    val ends = locations(path(3, 5)(_ => IndexedSeq(4, 2, 3)))
    assert(ends.values.forall(_.isEmpty))
    val two = locations(path(3, 4)(_ => IndexedSeq(3, 2, 0)))
    assert(two((0, 3)).isEmpty && two((1, 3)).isEmpty && two((1, 0)).isEmpty)
    assert((two((2, 3)), two((2, 2)), two((2, 0))) === ((Some((2, 0)), Some((2, 1)), Some((3, 0)))))
    val one = locations(path(3, 3)(_ => IndexedSeq(1, 2)))
    assert((one((1, 1)), one((1, 2)), one((2, 2))) === ((Some((4, 0)), Some((1, 0)), Some((2, 1)))))
  }

  test("what can be NULL, varies in length or is one relation's is not read from keys") {
    assert(locations(path(3, 2, nullSafe = true)(r => IndexedSeq(r % 2))).values.flatten.forall(_._1 < 3))
    assert(locations(path(3, 2, variable = true)(_ => IndexedSeq.empty)).isEmpty)
    assert(new FieldLocations(path(1, 2)(_ => IndexedSeq(0))).find(0, 0) === None)
  }

  test("pointers are bits of a word, however many columns are keys") {
    val found = locations(path(40, 2)(_ => IndexedSeq(0)))
    assert(found.values.flatten.map(_._1).max === 63)
    assert(found((25, 0)).exists(_._1 == 40 + 23) === false || found.values.flatten.toSet.size === found.size)
    assert(found((39, 0)) === Some((39, 0)))
  }

  test("a value that several edges read from one column is a key once, and is deleted with the last row") {
    val tree = new ViewTree(path(3, 2)(_ => IndexedSeq.empty))
    val delta = new DeltaEnumeration(tree, IndexedSeq.empty)
    val rows = for ((a, b) <- Seq((1L, 2L), (2L, 3L), (3L, 1L))) yield tree.arena(0).append(Array(0L, a, b), 0, 3)
    for (row <- rows; r <- 0 until 3) delta.load(r, row)
    assert(tree.keys === 3)
    for (row <- rows; r <- 0 until 3) { delta.delete(r, row); delta.complete() }
    rows.foreach(DeletedRows.free(tree, 0, _))
    assert(tree.keys === 0)
  }
}
