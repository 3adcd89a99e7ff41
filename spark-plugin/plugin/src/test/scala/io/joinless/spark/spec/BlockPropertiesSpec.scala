package io.joinless.spark.spec

import io.joinless.spark.Specs
import org.scalatest.funsuite.AnyFunSuite

class BlockPropertiesSpec extends AnyFunSuite {
  private val newest = SpecDecoder.all.last.version

  test("each property has a field of its own, which no core field has") {
    val core = SpecEncoder.encode(Specs.threeHops, newest, "0").obj.map(_._1)
    val own = BlockProperties.all.map(_.field)
    assert(own.distinct == own)
    assert(core.filter(own.contains) == BlockProperties.all.filter(_.isRequired(newest)).map(_.field))
  }

  /** Written, a default would be refused by the releases before the property. */
  private def isSilent[A](property: BlockProperty[A]): Boolean =
    property.write(property.default).isEmpty && property.read(None) == property.default

  test("a default is not written, and what is not written is the default, unless all texts have the field") {
    assert(BlockProperties.all.filterNot(_.isRequired(newest)).forall(isSilent(_)))
    assert(BlockProperties.all.forall(property => property.since <= newest))
  }

  test("shapes are equal where all values are, and a value that is set back to its default is none") {
    val shape = Specs.threeHops.shape
    val other = shape.having(StaticsAtArrival, true).having(FixedConditions, Some(IndexedSeq("a")))
    assert(other != shape && other.staticsAtArrival && other.constants.contains(IndexedSeq("a")))
    assert(other.having(FixedConditions, None).having(StaticsAtArrival, false) == shape)
    assert(other(MeaningSpec).isEmpty)
  }
}
