"""Random values of every key type that Spark and DuckDB equate alike;
special values occur more often.
"""

from __future__ import annotations

from random import Random

#: Types whose values are compared after the same implicit cast in Spark and in DuckDB.
FAMILIES: dict[str, tuple[str, ...]] = {
    "integer": ("bigint", "int", "smallint"),
    "floating": ("double", "float"),
    "decimal": ("decimal(10,2)", "decimal(25,2)"),
    "string": ("string",),
    "time": ("date", "timestamp"),
    "boolean": ("boolean",),
    "binary": ("binary",),
}
FAMILY = {type_: family for family, types in FAMILIES.items() for type_ in types}

_AWKWARD: dict[str, tuple[str, ...]] = {
    "bigint": ("0", "-1", "9007199254740993"),
    "int": ("0", "-1"),
    "smallint": ("0", "-1"),
    "double": ("0.0", "-0.0", "NaN", "Infinity", "-Infinity"),
    "float": ("0.0", "-0.0", "NaN", "Infinity"),
    "decimal(10,2)": ("0.00", "-1.50"),
    "decimal(25,2)": ("0.00", "-1.50", "12345678901234567890123.25"),
    "string": ("", " ", "a", "A", "ä", "eight by", "a string longer than one word of a row"),
    "date": ("1969-12-31", "0001-01-01"),
    "timestamp": ("1969-12-31 23:59:59.999999", "2024-01-03 00:00:00"),
    "boolean": ("true", "false"),
    "binary": ("", "0", "bytes"),
}


def random_type(rng: Random, family: str | None = None) -> str:
    """A column type; most are integers, as keys mostly are."""
    chosen = family or rng.choices(list(FAMILIES), weights=[10, 3, 2, 4, 3, 1, 1])[0]
    return rng.choice(FAMILIES[chosen])


def random_value(rng: Random, type_: str, domain: int, nulls: float) -> str | None:
    """A value out of about `domain` distinct ones, NULL with probability `nulls`."""
    if rng.random() < nulls:
        return None
    if rng.random() < 0.25:
        return rng.choice(_AWKWARD[type_])
    n = min(rng.randrange(domain), rng.randrange(domain))  # small ones more often: a few hubs
    match FAMILY[type_]:
        case "integer":
            return str(n)
        case "floating":
            return str(n / 2)
        case "decimal":
            return f"{n / 4:.2f}"
        case "time":
            return f"2024-01-{1 + n % 28:02d}" + (" 12:30:00" if type_ == "timestamp" and n % 2 else "")
        case "boolean":
            return "true" if n % 2 else "false"
        case _:
            return f"s{n}"


def literal(type_: str, value: str) -> str:
    """A value as SQL that Spark and DuckDB read alike."""
    match FAMILY[type_]:
        case "integer" | "boolean":
            return value
        case "string":
            return f"'{value}'"
        case _:
            return f"CAST('{value}' AS {type_})"
