package io.joinless.spark.spec

import scala.collection.immutable.BitSet

import io.joinless.engine.query.{BagNode, GeneralizedNode, Hypergraph, RelationNode}
import io.joinless.spark.Specs
import io.joinless.spark.errors.{JoinlessAnalysisException, Mismatch}
import io.joinless.spark.state.SignedText
import org.apache.spark.sql.types.{LongType, StringType}
import org.json4s.JsonAST.{JObject, JString}
import org.json4s.jackson.JsonMethods.parse
import org.scalatest.funsuite.AnyFunSuite

class StateFormatSpec extends AnyFunSuite {

  test("a spec comes back as it was written, collations included") {
    val timed = Seq(InputKind.Appended, InputKind.Expiring).map(Specs.timed)
    val ordered =
      Specs.threeHops.shaped(_.having(ColumnsInOrder, IndexedSeq(IndexedSeq("b", "a \"c\""), IndexedSeq.empty)))
    (Seq(Specs.threeHops, Specs.starAndOther, ordered) ++ timed).foreach { spec =>
      assert(StateFormat.fromJson(StateFormat.toJson(spec)) == spec)
    }
  }

  test("times that are not there, or that nobody waits for, are refused") {
    val json = StateFormat.toJson(Specs.timed(InputKind.Appended))
    assert(json.contains(""""until":[{"column":1,"after":3600000000}]"""))
    def read(from: String, to: String) = StateFormat.read(SignedText.signed(parse(json.replace(from, to))))
    assert(read("3600000000", "3600000001").isRight)
    for (
      (from, to) <-
        Seq(""""column":1,""" -> """"column":0,""", """"column":1,""" -> """"column":9,""", "3600000000" -> "1e99")
    )
      assert(read(from, to).isLeft, s"$from, $to")
    for (kind <- Seq(InputKind.Changelog, InputKind.Counted))
      assert(StateFormat.read(StateFormat.toJson(Specs.timed(kind))).isLeft, kind.name)
    val timeless = Specs.timed(InputKind.Expiring).shaped(shape =>
      shape.copy(relations = shape.relations.map(_.copy(lifetime = None)))
    )
    assert(StateFormat.read(StateFormat.toJson(timeless)).isLeft)
  }

  test("a result comes back as it was written, and must fit the block") {
    val result = ResultSpec(
      IndexedSeq(ColumnSpec("x", LongType), ColumnSpec("y \"z\"", StringType("UTF8_LCASE"))),
      IndexedSeq(Some("(c0 + 1L)"), None),
      IndexedSeq(None),
      IndexedSeq(Some("(c0 < c1)")),
      Map("spark.sql.ansi.enabled" -> "true", "spark.sql.session.timeZone" -> "UTC")
    )
    val spec = Specs.threeHops.shaped(_.having(ResultSpec, Some(result)))
    assert(StateFormat.fromJson(StateFormat.toJson(spec)) == spec)
    Seq(result.copy(values = result.values.take(1)), result.copy(residuals = IndexedSeq.empty)).foreach { wrong =>
      val read = StateFormat.read(StateFormat.toJson(spec.shaped(_.having(ResultSpec, Some(wrong)))))
      assert(read.left.map(_._1) == Left(Mismatch.Unreadable))
    }
  }

  test("a sample comes back as it was written, one without groups as before there were any") {
    val sampled = Specs.timed(InputKind.Changelog)
    val ofAll = sampled.shaped { shape =>
      shape.copy(relations = shape.relations.map(_.copy(lifetime = None))).having(SampleSpec, Some(SampleSpec(5, -7L)))
    }
    assert(StateFormat.toJson(ofAll).contains(""""sample":{"size":5,"seed":-7,"keyed":false}"""))
    assert(StateFormat.fromJson(StateFormat.toJson(ofAll)) == ofAll)
    val perGroup = SampleSpec(5, -7L, keyed = true, by = BitSet(0))
    val rooted = ofAll.shaped(shape =>
      shape.copy(tree = GeneralizedNode(BitSet(0), IndexedSeq(shape.tree))).having(SampleSpec, Some(perGroup))
    )
    assert(StateFormat.fromJson(StateFormat.toJson(rooted)) == rooted)
    val wrong = Seq(
      ofAll.shaped(_.having(SampleSpec, Some(perGroup))) -> Mismatch.Tree,
      ofAll.shaped(_.having(SampleSpec, Some(SampleSpec(0, 7L)))) -> Mismatch.Unreadable
    )
    for ((spec, mismatch) <- wrong)
      assert(StateFormat.read(StateFormat.toJson(spec)).left.map(_._1) == Left(mismatch))
  }

  test("what could not be read back is not written, and is known before the query starts") {
    val spec = Specs.threeHops
    def conditions(length: Int) =
      spec.shaped(shape => shape.copy(residuals = shape.residuals.map(_.copy(sql = "x" * length))))
    def named(name: String) =
      spec.shaped(_.copy(relations = spec.relations.updated(0, spec.relations.head.copy(name = name))))
    assert(StateFormat.tooLarge(conditions(1 << 20).shape).isEmpty)
    assert(StateFormat.read(StateFormat.toJson(conditions(1 << 20))).isRight)
    for (large <- Seq(conditions((1 << 20) + 1), named("x" * ((1 << 20) + 1)))) {
      assert(StateFormat.tooLarge(large.shape).contains("a name or condition has 1048577 characters"))
      assert(intercept[IllegalArgumentException](StateFormat.toJson(large)).getMessage.contains("1048577"))
    }
    val constants = spec.shaped(_.having(FixedConditions, Some(IndexedSeq("x" * (1 << 24)))))
    assert(StateFormat.tooLarge(constants.shape).exists(_.endsWith("characters")))
    // the result is for readers of the checkpoint alone: the query runs without it
    val column = ColumnSpec("x" * ((1 << 20) + 1), LongType)
    val result = ResultSpec(IndexedSeq(column), IndexedSeq(None), IndexedSeq.empty, IndexedSeq(None), Map.empty)
    assert(StateFormat.tooLarge(spec.shape.having(ResultSpec, Some(result))).isEmpty)
    assert(StateFormat.fromJson(StateFormat.toJson(spec.shaped(_.having(ResultSpec, Some(result))))) == spec)
    val groups = GroupShape(IndexedSeq(ColumnSpec("x" * (1 << 24), LongType)), IndexedSeq.empty)
    assert(GroupFormat.tooLarge(groups).isDefined)
    assert(GroupFormat.tooLarge(groups.copy(columns = IndexedSeq(ColumnSpec("x", LongType)))).isEmpty)
  }

  test("the written text is the durable format") {
    assert(StateFormat.toJson(Specs.threeHops) == StateFormatSpec.ThreeHops)
    assert(StateFormat.fromJson(StateFormatSpec.ThreeHops) == Specs.threeHops)
  }

  test("what earlier releases wrote is read; once, static tables were read at arrival") {
    assert(StateFormat.fromJson(StateFormatSpec.Version1) == Specs.threeHops)
    val earlier = StateFormat.fromJson(StateFormatSpec.Earlier)
    assert(earlier == Specs.threeHops.shaped(_.having(StaticsAtArrival, true)))
  }

  test("a field that the version does not have is refused, and so is one that is missing") {
    def said(json: String) = StateFormat.read(json).left.map(_._2).swap.getOrElse("")
    val fields = parse(StateFormat.toJson(Specs.threeHops)).asInstanceOf[JObject].obj
    val more = SignedText.signed(JObject(fields :+ ("expires" -> JString("never"))))
    assert(said(more) == "Its recorded join block cannot be read: the field expires is not known.")
    val less = SignedText.signed(JObject(fields.filterNot(_._1 == "stage")))
    assert(said(less) == "Its recorded join block cannot be read: the field stage is missing.")
  }

  test("what a delete must meet comes back as it was written") {
    val rows = RowsSpec(IndexedSeq("k", "(v + 1)"), IndexedSeq("(v > 0)"))
    val meaning = MeaningSpec(IndexedSeq(Some(rows), None, None), IndexedSeq("(r1.v < r2.v)"), IndexedSeq("r1.v"))
    val spec =
      Specs.threeHops.shaped(_.having(MeaningSpec, Some(meaning)).having(
        FixedConditions,
        Some(IndexedSeq("relation 1.k = relation 2.k = 1L"))
      ))
    assert(StateFormat.fromJson(StateFormat.toJson(spec)) == spec)
    val wrong = StateFormat.toJson(spec.shaped(_.having(MeaningSpec, Some(meaning.copy(rows = meaning.rows.take(2))))))
    assert(StateFormat.read(wrong).left.map(_._1) == Left(Mismatch.Unreadable))
  }

  test("a text that was changed, cut or is no JSON is unreadable") {
    val json = StateFormat.toJson(Specs.threeHops)
    val tampered = Seq(
      json.replace("\"shares\":[2,2]", "\"shares\":[1,2]"),
      json.replace("\"src\"", "\"source\""),
      json.replaceAll("\"digest\":\"[0-9a-f]+\"", "\"digest\":\"00\""),
      json.take(json.length / 2),
      json.replace("\"tree\"", "\"bush\""),
      "",
      "[]",
      "{}"
    )
    tampered.foreach { text =>
      assert(StateFormat.read(text).left.map(_._1) == Left(Mismatch.Unreadable), text)
    }
    val error = intercept[JoinlessAnalysisException](StateFormat.fromJson(tampered.head, "/cp"))
    assert(error.getCondition == "JOINLESS_STATE_MISMATCH.UNREADABLE")
    assert(error.getMessage.contains("The checkpoint /cp does not fit the query."))
  }

  test("another format version is named, whatever else the text holds") {
    val newer = StateFormat.toJson(Specs.threeHops).replace("\"specVersion\":2", "\"specVersion\":3")
    val Left((kind, what)) = StateFormat.read(newer): @unchecked
    assert(kind == Mismatch.Format)
    assert(what == "Its join block is recorded in format 3 by release 0.1.0, this release reads the formats 1 and 2.")
  }

  test("all kinds of inputs are there, whichever of them is touched first in a JVM") {
    val package_ = "io.joinless.spark.spec."
    for (first <- InputKind.all) {
      val fresh = new ClassLoader(getClass.getClassLoader) {
        override def loadClass(name: String, resolve: Boolean): Class[_] =
          if (!name.startsWith(package_ + "InputKind")) super.loadClass(name, resolve)
          else Option(findLoadedClass(name)).getOrElse {
            val in = getParent.getResourceAsStream(name.replace('.', '/') + ".class")
            try { val bytes = in.readAllBytes(); defineClass(name, bytes, 0, bytes.length) }
            finally in.close()
          }
      }
      Class.forName(s"${package_}InputKind$$$first$$", true, fresh)
      val kinds = Class.forName(package_ + "InputKind$", true, fresh)
      val all = kinds.getMethod("all").invoke(kinds.getField("MODULE$").get(null)).asInstanceOf[Seq[Any]]
      assert(all.size == InputKind.all.size && !all.contains(null), first)
    }
  }

  test("how results are counted comes back as it was written, and must fit the block") {
    val together = Specs.threeHops.shaped { shape =>
      val inputs = shape.inputs.map(_.copy(kind = InputKind.Counted))
      val counted = shape.copy(inputs = inputs, residuals = IndexedSeq.empty, output = IndexedSeq(ColumnRef(1, 0)))
      counted.having(
        ReductionSpec,
        ReducedBlock.best(counted, IndexedSeq(1.0, 1.0, 1.0), once = false).map(_.reduction)
      )
    }
    assert(StateFormat.fromJson(StateFormat.toJson(together)) == together)
    // components with the same projection, apart, as checkpoints may have them
    val counted = together.shaped(_.having(
      ReductionSpec,
      together.shape.reduction.map { reduction =>
        val IndexedSeq(GeneralizedNode(shared, parts)) = reduction.components: @unchecked
        val top = parts.indices.map(RelationNode(_, shared, IndexedSeq.empty))
        ReductionSpec(parts, GeneralizedNode(shared, top))
      }
    ))
    assert(counted.shape.reduction.exists(_.components.map(_.relations) == IndexedSeq(Seq(0), Seq(1, 2))))
    assert(StateFormat.fromJson(StateFormat.toJson(counted)) == counted)
    def refused(change: ReductionSpec => ReductionSpec): Boolean =
      StateFormat.read(StateFormat.toJson(counted.shaped(s => s.having(ReductionSpec, s.reduction.map(change))))).isLeft
    assert(refused(r => r.copy(components = r.components.take(1))))
    assert(!refused(r => r.copy(components = r.components.reverse))) // both project the same
    assert(refused(r => r.copy(components = IndexedSeq(r.components(1), r.components(1)))))
    assert(refused(r => r.copy(components = r.components :+ r.components.head)))
    assert(refused(r => r.copy(top = RelationNode(0, BitSet(0), IndexedSeq.empty))))
    assert(refused(r =>
      r.copy(top = RelationNode(0, BitSet(0), IndexedSeq(RelationNode(1, BitSet(1), IndexedSeq.empty))))
    ))
    assert(refused(r =>
      r.copy(top = RelationNode(0, BitSet(), IndexedSeq(RelationNode(1, BitSet(), IndexedSeq.empty))))
    ))
    val sums = IndexedSeq(SumSpec(IndexedSeq(ColumnRef(2, 0))), SumSpec(IndexedSeq(ColumnRef(0, 0), ColumnRef(1, 0))))
    val summed =
      counted.shaped(s => s.having(ReductionSpec, s.reduction.map(_.copy(sums = sums, failures = sums.take(1)))))
    assert(StateFormat.fromJson(StateFormat.toJson(summed)) == summed)
    assert(refused(_.copy(sums = sums, once = true)))
    for (wrong <- Seq(IndexedSeq.empty, IndexedSeq(ColumnRef(2, 7)), IndexedSeq(ColumnRef(3, 0)))) {
      assert(refused(_.copy(sums = IndexedSeq(SumSpec(wrong)))))
      assert(refused(_.copy(failures = IndexedSeq(SumSpec(wrong)))))
    }
    val whole = ReductionSpec(IndexedSeq(counted.tree), RelationNode(0, BitSet(0), IndexedSeq.empty))
    assert(!refused(_ => whole))
    assert(StateFormat.read(StateFormat.toJson(counted.shaped(_.copy(inputs = Specs.threeHops.inputs)))).isLeft)
  }

  test("the total over a cycle comes back as it was written, and must be one") {
    val edges = Specs.threeHops.inputs.head
    def side(name: String, first: Int, second: Int) = {
      val keys = IndexedSeq(KeySpec(first, 0), KeySpec(second, 1)).sortBy(_.attribute)
      Specs.threeHops.relations.head.copy(name = name, input = 0, keys = keys)
    }
    val cycle = Specs.threeHops.shaped(shape =>
      shape.copy(
        inputs = IndexedSeq(edges.copy(kind = InputKind.Counted)),
        attributes = IndexedSeq.tabulate(3)(x => shape.attributes.head.copy(name = s"x$x")),
        relations = IndexedSeq(side("a", 0, 1), side("b", 1, 2), side("c", 2, 0)),
        residuals = IndexedSeq.empty,
        output = IndexedSeq.empty
      )
    ).copy(shares = IndexedSeq(1, 1, 1))
    val bag = cycle.shaped(s =>
      s.copy(tree = BagNode.of(Hypergraph(s.relations.map(r => BitSet.fromSpecific(r.keys.map(_.attribute))))))
    )
    val total = bag.shaped(s =>
      s.having(ReductionSpec, ReducedBlock.best(s, IndexedSeq(1.0, 1.0, 1.0), once = false).map(_.reduction))
    )
    assert(total.shape.reduction.exists(_.isTotal))
    assert(StateFormat.fromJson(StateFormat.toJson(total)) == total)
    def refused(change: BlockShape => BlockShape): Boolean =
      StateFormat.read(StateFormat.toJson(total.shaped(change))).isLeft
    def reduced(change: ReductionSpec => ReductionSpec): Boolean =
      refused(s => s.having(ReductionSpec, s.reduction.map(change)))
    assert(reduced(_.copy(once = true)))
    assert(reduced(r => r.copy(components = r.components.take(2))))
    assert(reduced(r => r.copy(components = IndexedSeq(r.components(1), r.components(0), r.components(2)))))
    assert(reduced(r => r.copy(top = BagNode(BitSet(0, 1), r.top.asInstanceOf[BagNode].children))))
    assert(reduced(r => r.copy(components = r.components.updated(0, BagNode(BitSet(0, 1), IndexedSeq.empty)))))
    assert(!refused(_.copy(output = IndexedSeq(ColumnRef(0, 0)))))
    assert(refused(_.copy(output = IndexedSeq(ColumnRef(0, 0), ColumnRef(0, 1), ColumnRef(1, 1)))))
  }

  test("a spec that contradicts itself is refused") {
    val spec = Specs.threeHops
    def check(changed: BlockSpec): Option[Mismatch] =
      StateFormat.read(StateFormat.toJson(changed)).left.toOption.map(_._1)
    val RelationNode(_, _, IndexedSeq(a, c)) = spec.tree: @unchecked
    assert(check(spec.shaped(_.copy(tree = RelationNode(1, BitSet(0, 1), IndexedSeq(a))))).contains(Mismatch.Tree))
    assert(check(spec.shaped(_.copy(tree = RelationNode(1, BitSet(0), IndexedSeq(a, c))))).contains(Mismatch.Tree))
    assert(
      check(spec.shaped(_.copy(tree = GeneralizedNode(BitSet.empty, IndexedSeq(spec.tree, a))))).contains(Mismatch.Tree)
    )
    val torn = RelationNode(
      0,
      BitSet(0),
      IndexedSeq(RelationNode(2, BitSet(1), IndexedSeq(RelationNode(1, BitSet(0, 1), IndexedSeq.empty))))
    )
    assert(check(spec.shaped(_.copy(tree = torn))).contains(Mismatch.Tree))
    assert(check(spec.copy(shares = IndexedSeq(4))).contains(Mismatch.Unreadable))
    assert(check(spec.copy(shares = IndexedSeq(0, 1))).contains(Mismatch.Unreadable))
    assert(check(spec.shaped(_.copy(output = IndexedSeq(ColumnRef(0, 2))))).contains(Mismatch.Unreadable))
    assert(check(spec.shaped(_.copy(output = IndexedSeq(ColumnRef(3, 0))))).contains(Mismatch.Unreadable))
    assert(check(spec.copy(shares = IndexedSeq(2)).shaped(_.copy(attributes = spec.attributes.take(1)))).contains(
      Mismatch.Unreadable
    ))
    assert(check(spec.shaped(_.copy(inputs = IndexedSeq.empty))).contains(Mismatch.Unreadable))
  }
}

object StateFormatSpec {

  /** The text that this release writes. Never change it: checkpoints hold it. */
  val ThreeHops: String =
    """{"specVersion":2,"engineVersion":"0.1.0","block":0,"stage":0,"inputs":[{"kind":"appended",""" + rest +
      ""","statics":"asSpark","digest":"6972188fd6f2f3d44e3015c752232bc8a1fa98ba2161cf452acd24ac81a25e8e"}"""

  /** Version 1 of the format, as its first releases wrote it. */
  val Version1: String =
    versionOne + ""","statics":"asSpark","digest":"0a4ead8912342f6efd4f1debc8a95748ca29955b4976ff789439065d587f48be"}"""

  val Earlier: String =
    versionOne + ""","digest":"6be4698b8751a8b10c43c4334a84e7e3596d493dc9cc6801614962afe10c6d40"}"""

  private def versionOne: String =
    """{"specVersion":1,"engineVersion":"0.1.0","block":0,"inputs":[{"changelog":false,""" + rest

  private def rest: String =
    """"columns":{"type""" +
      """":"struct","fields":[{"name":"src","type":"long","nullable":true,"metadata":{}},{"name":"dst","t""" +
      """ype":"long","nullable":true,"metadata":{}}]}}],"attributes":{"type":"struct","fields":[{"name":"""" +
      """a.dst","type":"long","nullable":true,"metadata":{}},{"name":"b.dst","type":"long","nullable":tru""" +
      """e,"metadata":{}}]},"nullSafe":[false,false],"relations":[{"name":"a","input":0,"keys":[[0,1]]},{""" +
      """"name":"b","input":0,"keys":[[0,0],[1,1]]},{"name":"c","input":0,"keys":[[1,0]]}],"tree":{"relat""" +
      """ion":1,"attributes":[0,1],"children":[{"relation":0,"attributes":[0],"children":[]},{"relation":""" +
      """2,"attributes":[1],"children":[]}]},"shares":[2,2],"residuals":[{"sql":"(NOT (a.src = c.dst))","""" +
      """columns":[[0,0],[2,1]]}],"output":[[0,0],[1,1],[2,1]]"""
}
