"""The Python user's view: explanations, reasons, progress, and errors with a
name instead of a py4j stack.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import cast
from xml.etree import ElementTree

import pyspark
import pytest
from delta import configure_spark_with_delta_pip
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import joinless
from joinless import _jars
from joinless.errors import EXTENSION_CLASS
from support import delta_jars, graphs, process
from support.database import make_active

DELTA = "io.delta.sql.DeltaSparkSessionExtension"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def edges(spark: SparkSession, tmp_path: Path) -> SparkSession:
    """A session with a stream `e` of two edges."""
    session = spark.newSession()
    (tmp_path / "edges").mkdir()
    (tmp_path / "edges" / "1.csv").write_text("1,2\n2,3\n")
    graphs.stream(session, tmp_path / "edges").createOrReplaceTempView("e")
    return session


def test_explain_names_columns_and_comes_as_text_graph_and_json(edges: SparkSession) -> None:
    explanation = joinless.explain(edges.sql(graphs.L3))
    assert str(explanation) == explanation.text
    assert "dst" in explanation.text
    assert "height" in explanation.text
    assert explanation.mermaid().startswith(("graph", "flowchart"))
    assert json.loads(explanation.json())


def test_explain_says_what_look_ups_will_cost(edges: SparkSession) -> None:
    sql = """SELECT a.src, b.src AS via, CAST(c.dst AS DOUBLE) AS last, a.src + 1 AS next
        FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"""
    by = ["via", ["src", "via"], ["src"], "next", ["via", "next"]]
    expected = [
        "via: by the key (a.dst), at the cost of the rows; per value ",
        "src, via: by the key (a.dst), whose rows are compared with the other values; per value ",
        "src: by a scan of a, since no key of the join tree ((",
        "next: by all rows of the result, since next is no column of one join",
        "via, next: by the key (a.dst), at the cost of the rows; conditions reject some of the rows; per value ",
    ]
    plain = edges.sql(sql)
    changes = joinless.enumerate_deltas(edges.sql(sql))
    for df in (plain, changes):
        text = joinless.explain(df, lookups=by).text
        lines = [line.strip() for line in text.partition("Look-ups while the query runs:\n")[2].splitlines()]
        assert len(lines) == len(expected)
        for line, start in zip(lines, expected, strict=True):
            assert line.startswith(start), (line, start)
        assert lines[-1].endswith("; compared with each row: next")
        assert text.startswith(joinless.explain(df).text)
    with pytest.raises(PySparkException, match="Did you mean via"):
        joinless.explain(plain, lookups=["vai"])


def test_a_notebook_shows_each_tree_as_a_picture_and_each_reason(edges: SparkSession) -> None:
    star_of_four = """SELECT a.src AS x1, a.dst AS x2, b.dst AS x3, c.dst AS x4, d.dst AS x5 FROM e a
        JOIN e b ON a.src = b.src JOIN e c ON a.src = c.src JOIN e d ON a.src = d.src"""
    explanation = joinless.explain(edges.sql(f"{star_of_four} UNION ALL {graphs.L4_FULL}"))
    star, path = map(ElementTree.fromstring, explanation.svg())
    for picture, relations in ((star, "abcd"), (path, "abcd")):
        names = {text.text for text in picture.iter(f"{SVG}text") if text.get("class") == "name"}
        assert names >= set(relations)
        boxes = [tuple(float(r.get(k) or 0) for k in ("x", "y", "width", "height")) for r in picture.iter(f"{SVG}rect")]
        assert len(boxes) == len(names) >= 4
        for (x, y, w, h), (u, v, s, t) in itertools.combinations(boxes, 2):
            assert x + w < u or u + s < x or y + h < v or v + t < y, "boxes overlap"
        assert all(x >= 0 and x + w <= float(picture.get("width") or 0) for x, _, w, _ in boxes)
        assert len(list(picture.iter(f"{SVG}line"))) == len(boxes) - 1
    assert {text.text for text in path.iter(f"{SVG}text") if text.get("class") == "key"} <= {"on src", "on dst"}
    shown = explanation._repr_html_()
    assert shown.count("<svg") == 3  # the steps, and the trees
    assert "height 1" in shown
    assert "height 2" in shown
    kept = joinless.explain(edges.sql("SELECT a.src FROM e a JOIN e b ON a.dst = b.src AND b.dst > a.src"))
    assert "<b>TOO_FEW_RELATIONS</b>" in kept._repr_html_()
    assert kept.svg() == []


def test_the_steps_of_a_query_are_one_picture(edges: SparkSession) -> None:
    make_active(edges)
    edges.sql("SELECT src, dst, 'insert' AS _change_type FROM e").createOrReplaceTempView("changes")
    tables = {"f": joinless.changelog(edges.table("changes"))}
    query = """SELECT a.src, COUNT(*) AS n FROM f a JOIN f b ON a.dst = b.src WHERE a.src <> b.dst
        GROUP BY a.src HAVING COUNT(*) > (SELECT AVG(dst) FROM f)"""
    explanation = joinless.explain(query, tables=tables)
    assert joinless.why_not(query, tables=tables) == []
    assert explanation.text.startswith("Result\n|  src, n\n|  !! cost: costliest in [4], by a change of ")
    steps = json.loads(explanation.json())["steps"]
    assert steps["inputs"][0]["reach"] == "all"
    document = explanation.picture()
    assert document is not None
    picture = ElementTree.fromstring(document)
    width, height = (float(picture.get(name) or 0) for name in ("width", "height"))
    texts = [(float(t.get("x") or 0), float(t.get("y") or 0), t.text or "") for t in picture.iter(f"{SVG}text")]
    assert {"[4] Join", "Result", "src, n", "costliest in [4]"} <= {text for _, _, text in texts}
    for x, y, text in texts:
        assert x > 0
        assert x + 6.7 * len(text) < width, text
        assert 0 < y < height
    lines = {(x, y): text for x, y, text in texts}
    assert len(lines) == len(texts), "texts overlap"
    bands = [r for r in picture.iter(f"{SVG}rect") if r.get("class") == "band"]
    assert len(bands) == len([t for _, _, t in texts if t == "costliest in [4]"]) + 1
    assert explanation._repr_html_().startswith('<div><svg xmlns="http://www.w3.org/2000/svg" class="joinless"')
    kept = joinless.explain("SELECT src, RAND() AS s FROM f", tables=tables)
    assert kept.picture() is None
    assert "Left to Spark" in kept.text


def test_why_not_gives_the_reason_of_each_join_left_to_spark(edges: SparkSession) -> None:
    assert joinless.why_not(edges.sql(graphs.L3)) == []
    (reason,) = joinless.why_not(edges.sql("SELECT a.src FROM e a JOIN e b ON a.dst = b.src"))
    assert reason.code == "TOO_FEW_RELATIONS"
    assert reason.sentence
    assert "minRelations" in reason.advice
    assert str(reason).startswith("[TOO_FEW_RELATIONS] ")
    triangle = "SELECT 1 FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src AND c.dst = a.src"
    assert joinless.why_not(edges.sql(triangle)) == []


def test_a_view_over_changelogs_is_shown_as_if_its_changes_were_requested(edges: SparkSession) -> None:
    changes = edges.sql("SELECT src, dst, 'insert' AS _change_type FROM e")
    joinless.changelog(changes).createOrReplaceTempView("f")
    view = edges.sql("SELECT a.src, b.dst FROM f a JOIN f b ON a.dst = b.src")
    (reason,) = joinless.why_not(view)
    assert reason.code == "CHANGES_NOT_REQUESTED"
    assert "incrementalEnumerate()" in reason.advice
    explanation = joinless.explain(view)
    assert explanation.text.startswith("Join-free join of a, b")
    assert str(reason) in explanation.text
    assert len(explanation.svg()) == 1
    assert joinless.why_not(joinless.enumerate_deltas(view)) == []


def test_a_notebook_shows_reasons_as_a_table(edges: SparkSession) -> None:
    table = ElementTree.fromstring(
        joinless.why_not(edges.sql("SELECT a.src FROM e a JOIN e b ON a.dst = b.src AND a.src < b.dst"))._repr_html_()
    )
    ((code, sentence, advice),) = [
        [cell.text for cell in row] for row in table.iter("tr") if row.find("td") is not None
    ]
    assert code == "TOO_FEW_RELATIONS"
    assert "2" in str(sentence)
    assert "minRelations" in str(advice)
    assert joinless.why_not(edges.sql(graphs.L3))._repr_html_() == "<p>No join is left to Spark.</p>"
    escaped = joinless.plan.Reasons([joinless.Reason("X", "a < b & c", "<b>")])._repr_html_()
    assert "a &lt; b &amp; c" in escaped
    assert "<b>" not in escaped


def test_disabled_means_a_reason_too(edges: SparkSession) -> None:
    edges.conf.set("spark.joinless.enabled", "false")
    assert [r.code for r in joinless.why_not(edges.sql(graphs.L3))] == ["DISABLED"]


def test_progress_reports_what_the_operator_did(edges: SparkSession, tmp_path: Path) -> None:
    edges.conf.set("spark.sql.shuffle.partitions", "1")
    (tmp_path / "edges" / "2.csv").write_text("3,4\n3,5\n")
    writer = edges.sql(graphs.L3).writeStream.format("memory").queryName("paths")
    edges.conf.set("spark.sql.streaming.noDataProgressEventInterval", "50ms")
    query = writer.option("checkpointLocation", str(tmp_path / "cp")).start()
    query.processAllAvailable()
    until = time.monotonic() + 60
    while len(query.recentProgress) < 5:  # an idle Spark repeats the figures of the last batch
        assert time.monotonic() < until
        time.sleep(0.05)
    report = joinless.progress(query)
    query.stop()
    assert report is not None
    assert (report.batch_id, report.rows_in, report.rows_out, report.stored_rows) == (1, 2, 2, 4)
    assert report.memory_bytes > report.arena_bytes > 0
    assert (report.duration_ms > 0, report.input_rows, report.rows_removed) == (True, 2, 0)
    assert (report.total.batches, report.total.input_rows, report.total.rows_out) == (2, 4, 2)
    assert report.total.duration_ms > report.duration_ms
    assert report.bytes_per_row > 0
    assert report.output_amplification == 1.0
    assert joinless.error(query) is None


def test_progress_reports_the_sizes_of_relations_and_of_a_better_tree_for_them(
    edges: SparkSession, tmp_path: Path
) -> None:
    edges.conf.set("spark.sql.shuffle.partitions", "4")
    sizes = {"a": 9, "b": 8, "c": 7, "d": 6, "e": 1500}
    for name, rows in sizes.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.csv").write_text("".join(f"{i},{i}\n" for i in range(rows)))
        edges.readStream.schema(f"x{name} INT, y{name} INT").csv(str(tmp_path / name)).createOrReplaceTempView(
            f"v{name}"
        )
    path = (
        "SELECT xa, ye FROM va a JOIN vb b ON a.ya = b.xb JOIN vc c ON b.yb = c.xc JOIN vd d ON c.yc = d.xd "
        "JOIN ve e ON d.yd = e.xe"
    )

    def progress_of(checkpoint: str) -> joinless.Progress:
        query = edges.sql(path).writeStream.format("noop").option("checkpointLocation", checkpoint).start()
        query.processAllAvailable()
        query.stop()
        report = joinless.progress(query)
        assert report is not None
        assert report.rows_of == sizes
        assert (report.steps_saved > 25) == bool(report.advice)
        return report

    (better,) = progress_of(str(tmp_path / "cp1")).advice
    # The tree has e two levels below its root, where one would be enough.
    assert better.startswith("Another join tree of a, b, c, d, e would take 49 % fewer steps")
    hint = "a=9,b=8,c=7,d=6,e=1500"
    assert f"spark.joinless.relationSizes={hint} chooses it" in better
    edges.conf.set("spark.joinless.relationSizes", hint)
    assert progress_of(str(tmp_path / "cp2")).advice == ()


def test_the_full_result_of_one_of_several_equal_joins_is_requested_by_number(
    edges: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "edges" / "2.csv").write_text("3,4\n3,5\n")
    two = "SELECT a.src, b.dst FROM e a JOIN e b ON a.dst = b.src WHERE a.src < 9 AND b.dst IS NOT NULL"
    sides = edges.sql(two), edges.sql(f"{two} AND a.src + 2 < b.dst")
    checkpoint = str(tmp_path / "cp")
    _emit_both(*sides, checkpoint)
    with pytest.raises(PySparkException, match=r"JOINLESS_SEVERAL_JOINS.*operator=") as several:
        joinless.enumerate_full(sides[0], checkpoint)
    assert several.value.getCondition() == "JOINLESS_SEVERAL_JOINS"
    parts = [
        [tuple(row) for row in joinless.enumerate_full(side, checkpoint, operator=number).collect()]
        for number, side in enumerate(sides)
    ]
    assert [sorted(part) for part in parts] == [[(1, 3), (2, 4), (2, 5)], [(2, 5)]]
    with pytest.raises(ValueError, match="operator"):
        sides[0].incrementalEnumerate(operator=1)  # type: ignore[operator]


def test_equal_joins_are_distinguished_by_their_filters(edges: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "edges" / "2.csv").write_text("3,4\n3,5\n")
    low, high = (
        edges.sql(f"SELECT a.src, b.dst FROM e a JOIN e b ON a.dst = b.src WHERE a.src {side}")
        for side in ("< 2", ">= 2")
    )
    checkpoint = str(tmp_path / "cp")
    _emit_both(low, high, checkpoint)
    parts = [[tuple(row) for row in joinless.enumerate_full(side, checkpoint).collect()] for side in (low, high)]
    assert [sorted(part) for part in parts] == [[(1, 3)], [(2, 4), (2, 5)]]


def _emit_both(one: DataFrame, other: DataFrame, checkpoint: str) -> None:
    changes = joinless.enumerate_deltas(one).union(joinless.enumerate_deltas(other))
    writer = changes.writeStream.format("noop").option("checkpointLocation", checkpoint)
    writer.trigger(availableNow=True).start().awaitTermination()


def test_force_raises_the_reason_by_name_when_the_query_starts(edges: SparkSession, tmp_path: Path) -> None:
    edges.conf.set("spark.joinless.mode", "force")
    df = edges.sql("SELECT a.src FROM e a JOIN e b ON a.dst = b.src")
    writer = df.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "cp"))
    with pytest.raises(PySparkException, match=r"\[JOINLESS_NOT_REWRITTEN.*TOO_FEW_RELATIONS") as refused:
        writer.start()
    assert str(refused.value.getCondition()).startswith("JOINLESS_NOT_REWRITTEN")
    assert (refused.value.getMessageParameters() or {})["reason"] == "TOO_FEW_RELATIONS"


@pytest.mark.parametrize("delta_first", [True, False])
def test_configure_appends_before_and_after_deltas_helper(spark: SparkSession, delta_first: bool) -> None:
    builder = SparkSession.Builder().config("spark.sql.extensions", DELTA).config("spark.jars", "mine.jar")
    if delta_first:
        builder = joinless.configure(configure_spark_with_delta_pip(builder))
    else:
        builder = configure_spark_with_delta_pip(joinless.configure(builder))
    options = joinless.configure(builder)._options  # once more: nothing is added twice
    assert options["spark.sql.extensions"] == f"{DELTA},{EXTENSION_CLASS}"
    jars = options["spark.jars"].split(",")
    assert jars[0] == "mine.jar"
    assert Path(jars[1]).exists()
    assert len(jars) == 2
    assert "delta-spark" in options["spark.jars.packages"]


def test_an_unknown_pyspark_is_named(tmp_path: Path) -> None:
    (tmp_path / "joinless-spark-4.2_2.13-0.1.0.jar").touch()
    assert _jars.bundled("4.2.1", tmp_path).name == "joinless-spark-4.2_2.13-0.1.0.jar"
    with pytest.raises(joinless.SparkVersionError, match=r"\[JOINLESS_SPARK_VERSION\].* Spark 4\.2, found 3\.5\.1"):
        _jars.bundled("3.5.1", tmp_path)
    with pytest.raises(joinless.ExtensionNotInstalledError, match="make wheel"):
        _jars.bundled("4.2.0", tmp_path / "empty")


def test_spark_connect_is_named() -> None:
    with pytest.raises(joinless.ConnectUnsupportedError, match="Spark Connect") as refused:
        joinless.configure(SparkSession.Builder().config("spark.api.mode", "connect"))
    assert refused.value.getCondition() == "JOINLESS_CONNECT_UNSUPPORTED"


def test_what_is_no_builder_or_dataframe_is_named(spark: SparkSession) -> None:
    for wrong in (spark, SparkSession):
        with pytest.raises(TypeError, match=r"joinless\.configure takes a builder"):
            joinless.configure(wrong)  # type: ignore[arg-type]
    sql = cast(DataFrame, "SELECT 1")
    with pytest.raises(
        TypeError, match=r"joinless\.explain takes a DataFrame or the text of a query as query, and got 5"
    ):
        str(joinless.explain(cast(DataFrame, 5)))
    with pytest.raises(TypeError, match=r"joinless\.changelog takes a DataFrame, and got 'SELECT 1'"):
        joinless.changelog(sql)


def test_the_package_says_where_its_jar_is() -> None:
    run = process.run([sys.executable, "-m", "joinless"])
    assert run.returncode == 0, run.stderr
    assert Path(run.stdout.strip()) == _jars.bundled(pyspark.__version__)


def test_the_package_says_its_version_and_how_it_is_called() -> None:
    version, usage, unknown = (process.run([sys.executable, "-m", "joinless", word]) for word in COMMANDS)
    assert version.stdout.strip() == f"joinless {joinless.__version__} (PySpark {pyspark.__version__})"
    assert "spark-submit --jars" in usage.stdout
    assert (version.returncode, usage.returncode, unknown.returncode) == (0, 0, 2)
    assert "--wersion" in unknown.stderr


COMMANDS = ("--version", "--help", "--wersion")

SUBMITTED = """
import joinless
from pyspark.sql import SparkSession
try:
    spark = joinless.configure(SparkSession.builder).getOrCreate()
except joinless.ExtensionNotInstalledError as error:
    print(error)
else:
    print(joinless.why_not(spark.readStream.format("rate").load()))
"""


def spark_submit(folder: Path, code: str, options: list[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Submits `code` as a program, on one core."""
    program = folder / "pipeline.py"
    program.write_text(code)
    quiet = ["--master", "local[1]", "--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=127.0.0.1"]
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    return process.run([str(submit), *quiet, *options, str(program), *arguments])


@pytest.mark.parametrize("with_jar", [True, False])
def test_under_spark_submit_the_jar_must_be_submitted(tmp_path: Path, with_jar: bool) -> None:
    run = spark_submit(tmp_path, SUBMITTED, ["--jars", str(_jars.bundled(pyspark.__version__))] if with_jar else [])
    assert run.returncode == 0, run.stderr[-3000:]
    if with_jar:
        assert run.stdout.splitlines()[-1] == "[]"
    else:
        assert run.stdout.startswith("[JOINLESS_EXTENSION_NOT_INSTALLED.NO_JAR_SUBMITTED]")
        assert "--jars " + str(_jars.bundled(pyspark.__version__)) in run.stdout


BESIDE = """
import joinless, sys
from pyspark.sql import SparkSession
builder = joinless.configure(SparkSession.builder)
if sys.argv[1] == "before":
    print(builder._options["spark.sql.extensions"], builder._options["spark.jars"])
else:
    spark = builder.getOrCreate()
    print(spark.conf.get("spark.sql.extensions"), spark.sparkContext.getConf().get("spark.jars"))
    print(type(spark._jvm.io.delta.sql.DeltaSparkSessionExtension).__name__)
"""


def test_jars_and_extensions_of_the_submission_stay(tmp_path: Path) -> None:
    ours = tmp_path / _jars.bundled(pyspark.__version__).name
    ours.symlink_to(_jars.bundled(pyspark.__version__))
    delta = ",".join(delta_jars.paths())
    beside = ["--conf", "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension", "--jars", f"{delta},{ours}"]
    run = spark_submit(tmp_path, BESIDE, beside, "submitted")
    assert run.returncode == 0, run.stderr[-3000:]
    extensions, jars = run.stdout.splitlines()[0].split(" ")
    assert extensions == f"io.delta.sql.DeltaSparkSessionExtension,{EXTENSION_CLASS}"
    assert [Path(jar).name for jar in jars.split(",")] == [Path(jar).name for jar in [*delta.split(","), str(ours)]]
    assert run.stdout.splitlines()[1] == "JavaClass"


@pytest.mark.parametrize("by", ["arguments", "defaults"])
def test_jars_and_extensions_of_a_session_that_python_starts_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    if by == "arguments":
        monkeypatch.setenv(
            "PYSPARK_SUBMIT_ARGS", "--jars 'a.jar, b.jar' --conf spark.sql.extensions=x.Other --conf=x=y pyspark-shell"
        )
    else:
        (tmp_path / "spark-defaults.conf").write_text(
            "# of the cluster\nspark.sql.extensions   x.Other\n\nspark.jars=a.jar, b.jar\nspark.a b c\n"
        )
        monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    run = process.run_python(BESIDE, "before")
    assert run.returncode == 0, run.stderr[-3000:]
    assert run.stdout.split() == [f"x.Other,{EXTENSION_CLASS}", f"a.jar,b.jar,{_jars.bundled(pyspark.__version__)}"]


WITHOUT = """
import joinless, sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
spark = builder.config("spark.driver.host", "127.0.0.1").config("spark.jars", sys.argv[1]).getOrCreate()
for call in (lambda: joinless.explain(spark.range(1)), lambda: joinless.configure(SparkSession.builder)):
    try:
        call()
    except joinless.ExtensionNotInstalledError as error:
        print(error)
    else:
        sys.exit("no error")
spark.stop()
try:
    joinless.configure(SparkSession.builder)
    print("configured")
except joinless.ExtensionNotInstalledError as error:
    print(error)
"""


@pytest.mark.parametrize("with_jar", [True, False])
def test_a_session_without_the_extension_is_named(with_jar: bool) -> None:
    jar = str(_jars.bundled(pyspark.__version__)) if with_jar else ""
    run = process.run_python(WITHOUT, jar)
    assert run.returncode == 0, run.stderr[-3000:]
    assert "JavaPackage" not in run.stdout
    explained, configured, again = run.stdout.splitlines()
    assert explained.startswith(
        f"[JOINLESS_EXTENSION_NOT_INSTALLED.{'NOT_SWITCHED_ON' if with_jar else 'NO_JAR'}] The Joinless jar is "
    )
    assert "already runs in this process" in configured
    assert again.startswith("configured" if with_jar else "[JOINLESS_EXTENSION_NOT_INSTALLED.OTHER_JVM] The Java")
