package io.joinless.spark.time

/** A query whose rows are emitted once they are final, over streams `t` (k, g, x, ts) and `a` (k,
  * y, ta).
  *
  * @param closes when its groups close: a projected column, and seconds beyond it; None if rows are
  *   emitted as they are inserted
  */
final private[time] case class FinalQuery(sql: String, closes: Option[(String, Int)], late: FinalQuery.LateRows) {

  /** Whether the query reads the time of a stream at most as windows of ten seconds: then a row is
    * late once its window is over.
    */
  def readsWindows(time: String): Boolean =
    !s"\\b$time\\b".r.unanchored.matches(s"window\\([a-z.]*$time, '10 seconds'\\)".r.replaceAllIn(sql, ""))
}

private[time] object FinalQuery {

  /** The treatment of late rows. */
  sealed trait LateRows

  /** They are dropped, by the form in which the query reads their time. */
  case object Dropped extends LateRows

  /** Treated differently in different parts of the query, so none are sent. */
  case object NotSent extends LateRows

  val Window = "window(ts, '10 seconds')"
  private val w = Window
  private val near = "t.k = a.k AND a.ta BETWEEN t.ts AND t.ts + INTERVAL 20 SECONDS"
  val PerGroup: String = s"SELECT $w AS w, g, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY $w, g"
  private val perGroup = PerGroup

  private val ofGroups: Seq[FinalQuery] = Seq(
    "w.end" -> s"SELECT $w AS w, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m FROM t GROUP BY $w",
    "e" -> s"SELECT $w.end AS e, g, COUNT(*) AS n FROM t GROUP BY $w, g HAVING COUNT(*) > 1",
    "ts" -> "SELECT ts, g, COUNT(*) AS n FROM t GROUP BY ts, g",
    "w.end" -> s"SELECT $w AS w, ROUND(STDDEV(x), 6) AS d, SORT_ARRAY(COLLECT_LIST(x)) AS l FROM t GROUP BY $w",
    "w.end" -> s"SELECT w, g, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY w ORDER BY n DESC, g) AS r FROM ($perGroup)) WHERE r <= 2",
    "w.end" -> s"SELECT w, MAX(n) AS m, COUNT(*) AS c, SUM(s) AS s FROM ($perGroup) GROUP BY w",
    "w.end" -> (s"SELECT w, COUNT(*) AS n, SUM(v) AS s FROM (SELECT $w AS w, x AS v FROM t UNION ALL " +
      "SELECT window(ta, '10 seconds'), y FROM a WHERE y > 0) GROUP BY w"),
    "w.end" -> s"SELECT w, g, SUM(n) OVER (PARTITION BY w ORDER BY g) AS r FROM ($perGroup)",
    "w.end" -> s"SELECT w, g, COUNT(*) AS n FROM (SELECT *, $w AS w FROM t) GROUP BY GROUPING SETS ((w, g), (w))",
    "w.end" -> s"SELECT w, n, i FROM ($perGroup) LATERAL VIEW EXPLODE(SEQUENCE(1, n)) AS i WHERE n > 1",
    "w.end" -> s"SELECT w, g, RANK() OVER (PARTITION BY w ORDER BY n, g) AS r, SUM(n) OVER (PARTITION BY w) AS s FROM ($perGroup)",
    "w.end" -> (s"SELECT w, COUNT(*) AS c, MAX(r) AS m FROM (SELECT w, g, RANK() OVER (PARTITION BY w ORDER BY x) AS r FROM (SELECT *, $w AS w " +
      "FROM t)) GROUP BY w")
  ).map { case (closes, sql) => FinalQuery(sql, Some(closes -> 0), Dropped) }

  private val ofJoins: Seq[FinalQuery] = Seq(
    (
      "w.end",
      20,
      s"SELECT window(t.ts, '10 seconds') AS w, COUNT(*) AS n, SUM(a.y) AS s FROM t JOIN a ON $near GROUP BY 1"
    ),
    (
      "w.end",
      0,
      s"SELECT t.g, window(a.ta, '10 seconds') AS w, COUNT(*) AS n, MAX(t.x) AS h FROM t JOIN a ON $near GROUP BY 1, 2"
    ),
    (
      "w.end",
      15,
      s"SELECT s.w, COUNT(*) AS n FROM (SELECT *, $w AS w FROM t) s JOIN a ON s.k = a.k AND a.ta BETWEEN s.ts AND s.ts + " +
        "INTERVAL 15 SECONDS JOIN t u ON u.g = s.g AND u.ts = s.ts GROUP BY s.w"
    ),
    ("ts", 20, "SELECT t.k, t.x, t.ts FROM t WHERE NOT EXISTS (SELECT 1 FROM a WHERE " + near + ")"),
    (
      "w.end",
      20,
      s"SELECT window(ts, '10 seconds') AS w, g, COUNT(*) AS n FROM t WHERE NOT EXISTS (SELECT 1 FROM a WHERE $near) GROUP BY 1, 2"
    ),
    (
      "w.end",
      0,
      s"SELECT g.w, g.n, a.y FROM ($perGroup) g JOIN (SELECT *, window(ta, '10 seconds') AS v FROM a) a ON g.g = a.k AND g.w = a.v"
    ),
    (
      "ts",
      10,
      s"SELECT t.ts, t.x, a.y FROM t JOIN a ON $near WHERE NOT EXISTS (SELECT 1 FROM t u WHERE u.g = t.g AND u.ts > t.ts " +
        "AND u.ts <= t.ts + INTERVAL 10 SECONDS)"
    ),
    (
      "w.end",
      0,
      s"SELECT k, w, x FROM (SELECT *, $w AS w FROM t) t WHERE NOT EXISTS (SELECT 1 FROM (SELECT *, window(ta, '10 seconds') AS v " +
        "FROM a) a WHERE a.k = t.k AND a.v = t.w)"
    ),
    (
      "w.end",
      0,
      s"SELECT a.w, COUNT(*) AS n, SUM(b.n) AS s FROM ($perGroup) a JOIN ($perGroup) b ON a.w = b.w AND a.n >= b.n GROUP BY a.w"
    ),
    (
      "w.end",
      0,
      s"SELECT e.w, e.n, COUNT(*) AS c FROM (SELECT w, n, EXPLODE(ARRAY(g, g + 1)) AS g FROM ($perGroup)) e JOIN (SELECT *, " +
        "window(ta, '10 seconds') AS v FROM a) a ON a.k = e.g AND a.v = e.w GROUP BY e.w, e.n"
    ),
    (
      "w.end",
      5,
      "SELECT t.w, u.x, COUNT(*) AS n FROM (SELECT *, " + w + " AS w FROM t) t JOIN (SELECT *, window(ta, '10 seconds') AS w FROM a) a " +
        "ON t.w = a.w JOIN t u ON u.k = a.k AND u.ts BETWEEN a.ta AND a.ta + INTERVAL 5 SECONDS GROUP BY t.w, u.x"
    )
  ).map { case (closes, behind, sql) =>
    // the last one reads t by its windows, and by its times
    FinalQuery(sql, Some(closes -> behind), if (sql.contains("t.w = a.w")) NotSent else Dropped)
  }

  private val asTheyCome: Seq[FinalQuery] = Seq(
    s"SELECT t.k, t.x, a.y FROM t JOIN a ON $near",
    s"SELECT DISTINCT t.ts, t.g FROM t JOIN a ON $near",
    s"SELECT t.k, t.x, t.ts FROM t WHERE EXISTS (SELECT 1 FROM a WHERE $near AND a.y > 0)",
    "SELECT x, ts FROM t WHERE k IN (SELECT a.k FROM a WHERE a.ta = t.ts) AND x > 0",
    "SELECT t.w, t.x, a.y FROM (SELECT *, window(ts, '10 seconds', '5 seconds') AS w FROM t) t JOIN (SELECT *, window(ta, " +
      "'10 seconds', '5 seconds') AS w FROM a) a ON t.k = a.k AND t.w = a.w"
  ).map(sql => FinalQuery(sql, None, if (sql.contains("'5 seconds'")) NotSent else Dropped))

  private val others: Seq[FinalQuery] = Seq(
    FinalQuery(
      "SELECT window(ts, '10 seconds', '5 seconds') AS w, MIN(x) AS l, MAX(x) AS h, COUNT(DISTINCT g) AS d FROM t " +
        "WHERE x <> 5 GROUP BY 1",
      Some("w.end" -> 0),
      NotSent
    ),
    FinalQuery(s"SELECT DISTINCT $w AS w, g FROM t", None, Dropped),
    FinalQuery(
      s"SELECT w, n, COUNT(*) AS c FROM (SELECT w, n FROM ($perGroup) UNION ALL SELECT window(t.ts, '10 seconds'), COUNT(*) " +
        s"FROM t JOIN a ON $near GROUP BY 1) GROUP BY w, n",
      Some("w.end" -> 20),
      NotSent
    )
  )

  private val ofTwo = "SELECT u.g, u.ts, b.y AS z FROM t u JOIN a b ON b.k = u.k AND b.ta = u.ts"

  private val chain =
    s"t LEFT JOIN a ON $near LEFT JOIN t u ON u.g = a.y AND u.ts BETWEEN a.ta AND a.ta + INTERVAL 8 SECONDS"

  /** The time at which a row is final whose `column` is NULL because it has no match; other rows
    * are final when they are inserted, or at `other`.
    */
  private def alone(column: String, time: String, other: String = "TIMESTAMP '0001-01-01'") =
    s"IF($column IS NULL, $time, $other)"
  private val ofSecond = alone("z", "ta + INTERVAL 8 SECONDS")

  private val outer: Seq[FinalQuery] = (Seq(
    (alone("y", "ts"), 20, s"SELECT t.k, t.ts, t.x, a.y FROM t LEFT JOIN a ON $near"),
    (
      "w.end",
      20,
      s"SELECT window(t.ts, '10 seconds') AS w, COUNT(*) AS n, COUNT(a.y) AS m FROM t LEFT JOIN a ON $near GROUP BY 1"
    ),
    (
      s"GREATEST(${alone("y", "ts + INTERVAL 20 SECONDS")}, ${alone("z", "ts + INTERVAL 10 SECONDS")})",
      0,
      s"SELECT t.k, t.ts, a.y, u.x AS z FROM t LEFT JOIN a ON $near LEFT JOIN t u ON u.g = t.k AND u.ts BETWEEN t.ts AND t.ts + " +
        "INTERVAL 10 SECONDS"
    ),
    (
      alone("l", "ts + INTERVAL 20 SECONDS", alone("k", "ta")),
      0,
      s"SELECT t.k, t.ts, a.k AS l, a.ta FROM t FULL JOIN a ON $near"
    ),
    (
      alone("y", "w.end"),
      0,
      "SELECT t.x, t.w, a.y FROM (SELECT *, " + w + " AS w FROM t) t LEFT JOIN (SELECT *, window(ta, '10 seconds') AS v FROM a) a " +
        "ON t.k = a.k AND t.w = a.v JOIN t u ON u.g = t.g AND u.ts = t.ts"
    ),
    (
      alone("x", "ta"),
      0,
      s"SELECT t.x, a.ta, a.y FROM t RIGHT JOIN a ON $near AND t.x > a.y"
    ),
    (
      alone("y", "ts"),
      20,
      s"SELECT t.k, t.x, t.ts, a.y FROM t LEFT JOIN a ON $near AND t.x > 2 AND a.y + t.x > 4"
    ),
    (
      alone("y", "ts"),
      25,
      s"SELECT t.x, t.ts, r.y, r.z FROM t LEFT JOIN (SELECT a.k, a.ta, a.y, u.x AS z FROM a JOIN t u ON u.k = a.k AND u.ts BETWEEN a.ta - INTERVAL 5 SECONDS AND a.ta + INTERVAL 5 SECONDS) r ON t.k = r.k AND r.ta BETWEEN t.ts AND t.ts + INTERVAL 20 SECONDS"
    ),
    (
      alone("y", "ts + INTERVAL 20 SECONDS", ofSecond),
      0,
      s"SELECT t.x, t.ts, a.ta, a.y, u.x AS z FROM $chain"
    ),
    (
      alone("y", "ts + INTERVAL 20 SECONDS", alone("z", "ta + INTERVAL 8 SECONDS", alone("q", "uts"))),
      0,
      s"SELECT t.x, t.ts, a.ta, a.y, u.x AS z, u.ts AS uts, b.y AS q FROM $chain LEFT JOIN a b ON b.k = u.k AND b.ta = u.ts"
    ),
    (
      alone("y", "ts + INTERVAL 20 SECONDS", s"GREATEST($ofSecond, ${alone("q", "ta")})"),
      0,
      s"SELECT t.x, t.ts, a.ta, a.y, u.x AS z, b.y AS q FROM $chain LEFT JOIN a b ON b.k = a.y AND b.ta = a.ta"
    ),
    (
      ofSecond,
      0,
      s"SELECT t.x, t.ts, q.ta, q.y, q.z FROM t JOIN (SELECT a.k, a.ta, a.y, r.z FROM a LEFT JOIN ($ofTwo) r ON r.g = a.y AND r.ts BETWEEN a.ta AND a.ta + INTERVAL 8 SECONDS) q ON t.k = q.k AND q.ta BETWEEN t.ts AND t.ts + INTERVAL 20 SECONDS"
    ),
    (
      s"GREATEST(${alone("q", "ts + INTERVAL 8 SECONDS")}, ${alone("y", "ts + INTERVAL 20 SECONDS")})",
      0,
      s"SELECT t.x, t.ts, r.z AS q, a.ta, a.y FROM t LEFT JOIN ($ofTwo) r ON r.g = t.k AND r.ts BETWEEN t.ts AND t.ts + INTERVAL 8 SECONDS LEFT JOIN a ON $near"
    )
  ) ++ Seq("u.k", "COALESCE(u.k, 1)").map { key =>
    // rows that have no a are final sooner than those that have one, and no u
    val ofThird = alone("q", "IF(y IS NULL, ts + INTERVAL 25 SECONDS, ts + INTERVAL 28 SECONDS)")
    (
      s"GREATEST($ofThird, ${alone("y", "ts + INTERVAL 20 SECONDS", ofSecond)})",
      0,
      s"SELECT t.x, t.ts, a.ta, a.y, u.x AS z, b.y AS q FROM $chain LEFT JOIN a b ON b.k = $key AND b.ta BETWEEN t.ts AND t.ts + INTERVAL 25 SECONDS"
    )
  }).map { case (closes, behind, sql) => FinalQuery(sql, Some(closes -> behind), Dropped) }

  private val semi: Seq[FinalQuery] = Seq(
    s"SELECT t.x, t.ts FROM t LEFT SEMI JOIN a ON $near AND a.y > 0",
    s"SELECT t.x, u.x AS z FROM t JOIN t u ON u.g = t.g AND u.ts BETWEEN t.ts AND t.ts + INTERVAL 10 SECONDS LEFT SEMI JOIN a ON a.k = u.k AND a.ta = u.ts"
  ).map(FinalQuery(_, None, Dropped))

  private val (tw, aw) = (s"(SELECT k, x, $w AS w FROM t)", "(SELECT k, y, window(ta, '10 seconds') AS w FROM a)")

  /** The queries read times only as windows. */
  private val ofWindows: Seq[FinalQuery] = Seq(
    Some(alone("y", "w.end") -> 0) -> s"SELECT t.x, t.w, a.y FROM $tw t LEFT JOIN $aw a ON t.k = a.k AND t.w = a.w",
    None -> s"SELECT t.x FROM $tw t LEFT SEMI JOIN $aw a ON t.k = a.k AND t.w = a.w",
    Some(alone("x", "v.end", alone("y", "w.end")) -> 0) ->
      s"SELECT t.x, t.w, a.w AS v, a.y FROM $tw t FULL JOIN $aw a ON t.k = a.k AND t.w = a.w"
  ).map { case (closes, sql) => FinalQuery(sql, closes, Dropped) }

  /** Outer and semi joins, for which Spark emits the same rows without a request for changes. */
  val Waiting: Seq[FinalQuery] = outer ++ semi ++ ofWindows

  val All: Seq[FinalQuery] = ofGroups ++ ofJoins ++ asTheyCome ++ others ++ Waiting
}
