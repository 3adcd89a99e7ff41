package io.joinless.spark.rules

import java.nio.file.{Files, Path, Paths}

import io.joinless.spark.conf.Built
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

/** The plan of every query shape, as a text in the repository; and that no rule changes its own
  * output. Where a version of Spark makes another plan, the text is in the folder of that version.
  * To write the texts anew after a wanted change:
  * {{{JOINLESS_REGENERATE_PLANS=1 sbt "plugin/testOnly *GoldenPlansSpec"}}}
  */
class GoldenPlansSpec extends AnyFunSuite with AppliedTwice with BeforeAndAfterAll {

  private val folder: Path = Paths.get("src/test/resources/golden-plans")

  override def beforeAll(): Unit = {
    super.beforeAll()
    Seq("e", "f", "g", "h").foreach(stream(_, "src BIGINT, dst BIGINT"))
    Seq("orders", "lines").foreach(stream(_, "ok BIGINT, ck BIGINT, pk BIGINT, price DECIMAL(10, 2)"))
    stream("customers", "ck BIGINT, nk BIGINT, name STRING")
    stream("nations", "nk BIGINT, rk BIGINT, name STRING")
    stream("parts", "pk BIGINT, sk BIGINT, name STRING")
    stream(
      "t",
      "i INT, l BIGINT, d DOUBLE, s STRING, ci STRING COLLATE UTF8_LCASE, st STRUCT<x: INT, y: DOUBLE>, ts TIMESTAMP"
    )
    spark.range(10).selectExpr("id AS k", "id % 3 AS class").createOrReplaceTempView("dimension")
  }

  private def golden(name: String, confs: (String, String)*)(sql: String): Unit = test(s"plan_ $name") {
    val query = sql.stripMargin.trim
    val head = confs.map { case (k, v) => s"SET $k=$v;\n" }.mkString + query + "\n\n"
    val text = head + withConf(confs: _*)(PlanText(optimized(query)))
    val file = {
      val text = name.replace(' ', '-') + ".txt"
      val own = folder.resolve(s"spark-${Built.Spark}").resolve(text)
      if (Files.exists(own)) own else folder.resolve(text)
    }
    if (sys.env.contains("JOINLESS_REGENERATE_PLANS")) {
      Files.createDirectories(folder)
      Files.writeString(file, text)
    }
    assert(Files.exists(file), s"no golden plan; the plan is\n$text")
    assert(text == Files.readString(file))
    withConf(confs: _*)(unchangedTwice(query))
  }

  private val anyTwo = "spark.joinless.minRelations" -> "2"

  golden("L2")("SELECT a.src, b.dst FROM e a JOIN e b ON a.dst = b.src")
  golden("L2 from two relations", anyTwo)("SELECT a.src, b.dst FROM e a JOIN e b ON a.dst = b.src")
  golden("L3 self-join")(
    """SELECT a.src, b.src AS via, b.dst, c.dst AS last
      |FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"""
  )
  golden("L3 of different streams")("SELECT e.src, h.dst FROM e, f, h WHERE e.dst = f.src AND f.dst = h.src")
  golden("L4")(
    """SELECT a.src, d.dst FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src JOIN e d ON c.dst = d.src"""
  )
  golden("L5")(
    """SELECT a.src, e5.dst FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src
      |JOIN e d ON c.dst = d.src JOIN e e5 ON d.dst = e5.src"""
  )
  golden("star")(
    """SELECT a.src, a.dst AS d1, b.dst AS d2, c.dst AS d3, d.dst AS d4
      |FROM e a, e b, e c, e d WHERE a.src = b.src AND b.src = c.src AND c.src = d.src"""
  )
  golden("comb")(
    """SELECT a.src, b.src, c.src, x.dst, y.dst, z.dst
      |FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src
      |JOIN f x ON x.src = a.src JOIN f y ON y.src = b.src JOIN f z ON z.src = c.src"""
  )
  golden("snowflake")(
    """SELECT o.ok, l.price, c.name AS customer, n.name AS nation, p.name AS part
      |FROM orders o JOIN lines l ON o.ok = l.ok JOIN customers c ON o.ck = c.ck
      |JOIN nations n ON c.nk = n.nk JOIN parts p ON l.pk = p.pk"""
  )
  golden("bushy")(
    """SELECT x.s, y.d FROM
      |(SELECT a.src AS s, b.dst AS m FROM e a JOIN e b ON a.dst = b.src) x JOIN
      |(SELECT c.src AS m, d.dst AS d FROM f c JOIN f d ON c.dst = d.src) y ON x.m = y.m"""
  )
  golden("disconnected")(
    "SELECT a.src, b.dst, c.src, d.dst FROM e a JOIN e b ON a.dst = b.src CROSS JOIN f c JOIN f d ON c.dst = d.src"
  )
  golden("cyclic")(
    "SELECT a.src, b.src, c.src FROM e a, e b, e c WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src"
  )
  golden("cycle cut by a constant")(
    """SELECT a.src, b.src, c.src FROM e a, e b, e c
      |WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src AND a.src = 7"""
  )
  golden("residual")(
    """SELECT a.src, c.dst FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src
      |WHERE a.src < c.dst AND a.src + b.dst <> c.dst"""
  )
  golden("filters")(
    """SELECT a.src, c.dst FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src
      |WHERE a.src > 5 AND c.dst IN (1, 2, 3) AND b.src % 2 = 0"""
  )
  golden("constant")(
    "SELECT a.src, c.dst FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src WHERE b.src = 5"
  )
  golden("contradiction")(
    "SELECT a.src, c.dst FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src WHERE b.src = 5 AND a.dst = 6"
  )
  golden("null-safe")(
    "SELECT a.src, c.dst FROM e a JOIN e b ON a.dst <=> b.src JOIN e c ON b.dst <=> c.src AND b.dst = c.dst"
  )
  golden("composite keys")(
    "SELECT a.src, c.dst FROM e a JOIN e b ON a.src = b.src AND a.dst = b.dst JOIN e c ON b.dst = c.dst AND b.src = c.src"
  )
  golden("one class twice in a leaf")(
    "SELECT a.src, c.dst FROM e a JOIN e b ON a.src = b.src AND a.dst = b.src JOIN e c ON b.dst = c.src"
  )
  golden("aliases")(
    """SELECT p AS first, q, q AS again, r FROM
      |(SELECT a.src AS p, a.dst AS q FROM e a) x JOIN (SELECT dst AS r, src AS q2 FROM e) y ON q = q2
      |JOIN (SELECT src AS s, src AS s2 FROM f) z ON r = s AND r = s2"""
  )
  golden("computed projection between joins")(
    """SELECT x.total, x.total * 2 AS twice, c.dst FROM
      |(SELECT a.src + b.dst AS total, b.dst + 1 AS next FROM e a JOIN e b ON a.dst = b.src) x
      |JOIN f c ON x.next = c.src JOIN f d ON c.dst = d.src"""
  )
  golden("condition on several relations as a join key")(
    """SELECT x.total, c.dst FROM (SELECT a.src + b.dst AS total FROM e a JOIN e b ON a.dst = b.src) x
      |JOIN f c ON x.total = c.src JOIN f d ON c.dst = d.src"""
  )
  golden("keys of several types")(
    """SELECT a.d, b.ci, c.l FROM t a JOIN t b ON a.d = b.d AND a.st = b.st
      |JOIN t c ON b.ci = c.ci AND b.i = c.l JOIN t u ON c.s = u.s AND c.ts <=> u.ts"""
  )
  golden("static side last")(
    """SELECT a.src, c.dst, k.class FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src
      |JOIN dimension k ON k.k = b.dst"""
  )
  golden("static side first")(
    """SELECT a.src, c.dst, k.class FROM dimension k JOIN e a ON a.src = k.k
      |JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"""
  )
  golden("union as a leaf")(
    """SELECT a.src, c.dst FROM (SELECT * FROM e UNION ALL SELECT * FROM f) a
      |JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"""
  )
  golden("nondeterministic filter between joins")(
    """SELECT x.s, d.dst FROM (SELECT a.src AS s, c.dst AS m FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src
      |WHERE rand(7) < 0.5) x JOIN e d ON x.m = d.src"""
  )
  golden("aggregate above")(
    """SELECT a.src, count(*) FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src GROUP BY a.src"""
  )
  golden("nothing but a count")("SELECT count(*) FROM e a, e b, e c WHERE a.dst = b.src")
  golden("two blocks")(
    """SELECT a.src, c.dst FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src
      |UNION ALL SELECT a.src, c.dst FROM f a JOIN f b ON a.src = b.src JOIN f c ON b.src = c.src"""
  )
}
