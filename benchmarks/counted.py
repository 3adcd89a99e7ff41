"""The grouped workloads: their queries, and the plan that an expert would write by
hand for each (queries.py).

Over distinct edges e(src, dst) of one stream unless said otherwise:

| workload | result |
|---|---|
| L3CNT | paths of three edges, counted per second vertex |
| L3SUM | the same and the sum of (31 src + 17 dst) mod 100 of their third edges |
| L4CNT | paths of four edges, counted per middle vertex |
| STAR4CNT | four streams e0..e3 (position modulo 4) joined on src, counted per src |
| L3DISTINCT | the middle edges of paths of three |
| L4PROJ | the two middle edges of paths of four, as their three vertices |
| COMB2 | paths of three edges between vertices of v1 and of v2, counted per second vertex |

In COMB2, v1 is a bag, the src of the edges at positions 0 modulo 5, and v2 the dst of those at
positions 1 modulo 5. A path counts as often as its ends occur.

SNB1 to SNB4 are over the social network of snb.py; `limit` bounds the persons of SNB2 and SNB4.
"""

from __future__ import annotations

import itertools

from queries import Aggregate, Lookup, Query, Relation, View

EDGE = ("src", "dst")
COUNT = Aggregate("count")

#: The tables of the social network; a message that answers none has replyof NULL.
SNB_TABLES: dict[str, tuple[str, ...]] = {
    "person": ("id", "name"),
    "knows": ("a", "b"),
    "message": ("id", "creator", "replyof"),
    "message_tag": ("message", "tag"),
    "tag": ("id", "name"),
}

GRAPH_WORKLOADS = ("L3CNT", "L3SUM", "L4CNT", "STAR4CNT", "L3DISTINCT", "L4PROJ", "COMB2")
SNB_WORKLOADS = ("SNB1", "SNB2", "SNB3", "SNB4")


def is_counted(workload: str) -> bool:
    """Whether a workload is a grouped one."""
    return workload in GRAPH_WORKLOADS or workload in SNB_WORKLOADS


def query(workload: str, limit: int = 0) -> Query:
    """The query of a workload, with its plan."""
    made = {
        "L3CNT": _path3, "L3SUM": _path3_sum, "L4CNT": _path4, "STAR4CNT": _star4, "L3DISTINCT": _distinct3,
        "L4PROJ": _projected4, "COMB2": _comb, "SNB1": _snb1, "SNB3": _snb3,
    }  # fmt: skip
    with_limit = {"SNB2": _snb2, "SNB4": _snb4}
    return with_limit[workload](limit) if workload in with_limit else made[workload]()


def _edges(*aliases: str) -> tuple[Relation, ...]:
    return tuple(Relation(alias, "e", EDGE) for alias in aliases)


def _path(*aliases: str) -> tuple[tuple[str, str], ...]:
    return tuple((f"{a}.dst", f"{b}.src") for a, b in itertools.pairwise(aliases))


def _per(name: str, column: str, *lookups: Lookup, table: str = "e", distinct: bool = False) -> View:
    """The number of edges per one of their ends."""
    return View(name, table, EDGE, (column,), lookups, distinct=distinct)


def _path3() -> Query:
    views = (_per("entering", "dst"), _per("leaving", "src"), _per("two", "src", Lookup("leaving", ("dst",))))
    return Query(
        _edges("a", "b", "c"),
        _path("a", "b", "c"),
        ("b.src",),
        (COUNT,),
        plan=views,
        products=((1, ("entering", "two")),),
    )


def _path3_sum() -> Query:
    w = Aggregate("sum", "c", (31, 17), 100)
    views = (
        _per("entering", "dst"),
        View("leaving", "e", EDGE, ("src",), term="(31 * src + 17 * dst) % 100", sums=True),
        View("two", "e", EDGE, ("src",), (Lookup("leaving", ("dst",)),), sums=True),
    )
    return Query(
        _edges("a", "b", "c"),
        _path("a", "b", "c"),
        ("b.src",),
        (COUNT, w),
        plan=views,
        products=((1, ("entering", "two")),),
    )


def _path4() -> Query:
    views = (
        _per("entering", "dst"),
        _per("leaving", "src"),
        _per("two_in", "dst", Lookup("entering", ("src",))),
        _per("two_out", "src", Lookup("leaving", ("dst",))),
    )
    relations = _edges("g1", "g2", "g3", "g4")
    path = _path("g1", "g2", "g3", "g4")
    return Query(relations, path, ("g2.dst",), (COUNT,), plan=views, products=((1, ("two_in", "two_out")),))


def _star4() -> Query:
    relations = tuple(Relation(f"s{i}", f"e{i}", EDGE) for i in range(4))
    views = tuple(_per(f"of{i}", "src", table=f"e{i}") for i in range(4))
    equi_joins = tuple(("s0.src", f"s{i}.src") for i in range(1, 4))
    return Query(
        relations, equi_joins, ("s0.src",), (COUNT,), plan=views, products=((1, tuple(v.name for v in views)),)
    )


def _distinct3() -> Query:
    ends = (Lookup("entering", ("src",)), Lookup("leaving", ("dst",)))
    views = (
        _per("entering", "dst", distinct=True),
        _per("leaving", "src", distinct=True),
        View("middle", "e", EDGE, ("src", "dst"), ends, distinct=True),
    )
    relations = _edges("a", "b", "c")
    return Query(relations, _path("a", "b", "c"), ("b.src", "c.src"), plan=views, products=((1, ("middle",)),))


def _projected4() -> Query:
    views = (
        _per("entering", "dst", distinct=True),
        _per("leaving", "src", distinct=True),
        View("second", "e", EDGE, ("dst", "src"), (Lookup("entering", ("src",)),), distinct=True),
        View("third", "e", EDGE, ("src", "dst"), (Lookup("leaving", ("dst",)),), distinct=True),
        View(
            "both", "second", ("mid", "before"), ("before", "mid", "after"), (Lookup("third", ("mid",), ("after",)),), distinct=True
        ),
    )  # fmt: skip
    relations, path = _edges("g1", "g2", "g3", "g4"), _path("g1", "g2", "g3", "g4")
    return Query(relations, path, ("g2.src", "g3.src", "g3.dst"), plan=views, products=((1, ("both",)),))


def _comb() -> Query:
    relations = (
        Relation("v1", "v1", ("v",)),
        *_edges("g1", "g2", "g3"),
        Relation("v2", "v2", ("v",)),
    )
    equi_joins = (("v1.v", "g1.src"), *_path("g1", "g2", "g3"), ("g3.dst", "v2.v"))
    views = (
        View("from", "v1", ("v",), ("v",)),
        View("to", "v2", ("v",), ("v",)),
        _per("entering", "dst", Lookup("from", ("src",))),
        _per("last", "src", Lookup("to", ("dst",))),
        _per("two", "src", Lookup("last", ("dst",))),
    )
    return Query(relations, equi_joins, ("g2.src",), (COUNT,), plan=views, products=((1, ("entering", "two")),))


def _snb(**tables: str) -> tuple[Relation, ...]:
    return tuple(Relation(alias, table, SNB_TABLES[table]) for alias, table in tables.items())


def _of(name: str, table: str, key: str, *lookups: Lookup, where: str = "", distinct: bool = False) -> View:
    return View(name, table, SNB_TABLES[table], (key,), lookups, where=where, distinct=distinct)


def _snb1() -> Query:
    views = (_of("persons", "person", "id"), _of("messages", "message", "creator"), _of("friends", "knows", "a"))
    return Query(
        _snb(p="person", m="message", k="knows"),
        (("p.id", "m.creator"), ("p.id", "k.a")),
        ("p.id",),
        (COUNT,),
        plan=views,
        products=((1, ("persons", "messages", "friends")),),
    )


def _snb2(limit: int) -> Query:
    views = (
        _of("tags", "tag", "id"),
        _of("tagged", "message_tag", "message", Lookup("tags", ("tag",))),
        _of("posts", "message", "creator", Lookup("tagged", ("id",)), where="replyof IS NULL"),
        _of("near", "knows", "a", Lookup("posts", ("b",))),
        _of("far", "knows", "a", Lookup("near", ("b",)), where=f"a < {limit}"),
    )
    equi_joins = (("t.id", "mt.tag"), ("mt.message", "m.id"), ("m.creator", "k2.b"), ("k2.a", "k1.b"))
    return Query(
        _snb(t="tag", mt="message_tag", m="message", k2="knows", k1="knows"),
        equi_joins,
        ("k1.a",),
        (COUNT,),
        below=(("k1.a", limit),),
        null=("m.replyof",),
        plan=views,
        products=((1, ("far",)),),
    )


def _snb3() -> Query:
    """Paths that return to their start are counted separately, and subtracted."""
    pair = SNB_TABLES["knows"]
    views = (
        _of("persons", "person", "id"),
        _of("messages", "message", "creator", Lookup("persons", ("creator",))),
        _of("near", "knows", "a", Lookup("messages", ("b",))),
        _of("far", "knows", "a", Lookup("near", ("b",))),
        View("pairs", "knows", pair, ("a", "b")),
        _of("back", "knows", "a", Lookup("pairs", ("b", "a"))),
    )
    return Query(
        _snb(p="person", m="message", k2="knows", k1="knows"),
        (("p.id", "m.creator"), ("m.creator", "k2.b"), ("k2.a", "k1.b")),
        ("k1.a",),
        (COUNT,),
        unequal=(("k2.b", "k1.a"),),
        plan=views,
        products=((1, ("far",)), (-1, ("back", "messages"))),
    )


def _snb4(limit: int) -> Query:
    views = (
        _of("known", "knows", "b", where=f"a < {limit}", distinct=True),
        _of("posts", "message", "id", Lookup("known", ("creator",)), where="replyof IS NULL", distinct=True),
        View(
            "tagged", "message_tag", SNB_TABLES["message_tag"], ("tag", "message"), (Lookup("posts", ("message",)),), distinct=True
        ),
        View(
            "named", "tag", SNB_TABLES["tag"], ("name", "message"), (Lookup("tagged", ("id",), ("message",)),), distinct=True
        ),
        View("per_name", "named", ("name", "message"), ("name",)),
    )  # fmt: skip
    return Query(
        _snb(t="tag", mt="message_tag", m="message", k="knows"),
        (("t.id", "mt.tag"), ("mt.message", "m.id"), ("m.creator", "k.b")),
        ("t.name",),
        (Aggregate("distinct", "m.id"),),
        below=(("k.a", limit),),
        null=("m.replyof",),
        plan=views,
        products=((1, ("per_name",)),),
    )
