"""Settings that are refused, by themselves or with the query."""

from __future__ import annotations

from support.bad_input import Bad, setting
from support.world import PATH

SETTINGS = [
    setting("minRelations", "0", "at least 1"),
    setting("maxRelations", "64", "between 1 and 63"),
    setting("mode", "always", "auto, force"),
    setting("placement.maxReplication", "0.5", "at least 1"),
    setting("placement.shares", "a.dst", "name=number"),
    setting("relationSizes", "a=many", "name=number"),
    *[
        setting(name, value, message)
        for name in ("placement.shares", "relationSizes")
        for value, message in ((f"a.x={2**63}", f"numbers from 1 to {2**63 - 1}"), ("a.x=1,a.x=2", "each name once"))
    ],
    setting("cache.maxBytes", "-1", "not be negative"),
    setting("deleteOfAbsentRow", "ignore", "fail, negative"),
    setting("enabled", "perhaps", "boolean"),
    setting("crossProducts.enabled", "2", "boolean"),
    Bad(
        "shares of a column that joins nothing",
        "JOINLESS_INVALID_SHARES",
        "22023",
        "a.weight|a.nothing",
        lambda w: w.run(w.at(placement_shares="a.nothing=1").sql(PATH)),
    ),
    Bad(
        "more shares than partitions",
        "JOINLESS_INVALID_SHARES",
        "22023",
        "partitions",
        lambda w: w.run(w.at(placement_shares="a.dst=8").sql(PATH)),
    ),
    *[
        Bad(
            f"shares of {cells} cells",
            "JOINLESS_INVALID_SHARES",
            "22023",
            f"{shares}.*makes {cells} cells",
            lambda w, shares=shares: w.run(w.at(placement_shares=shares).sql(PATH)),  # type: ignore[misc]
        )
        for shares, cells in (
            (f"a.dst={2**32}", 2**32),
            (f"a.dst={2**32},b.dst={2**32}", 2**64),
            (f"a.dst={2**63 - 1},b.dst=2", 2**64 - 2),
        )
    ],
    Bad(
        "shares of one attribute twice",
        "JOINLESS_INVALID_SHARES",
        "22023",
        "a.dst and b.src are one attribute",
        lambda w: w.run(w.at(placement_shares="a.dst=1,b.src=1").sql(PATH)),
    ),
]
