"""Delta tables in, a Delta table out: the target gets exactly the changes of the sources."""

from __future__ import annotations

import random

import pytest

from support.process import run_python
from support.shop import BY_CITY, BY_ORDER, Shop

COMMITS = 20


@pytest.fixture
def shop(shop: Shop) -> Shop:
    shop.create_target("by_order", BY_ORDER)
    shop.create_target("by_city", BY_CITY)
    return shop


def test_after_random_commits_the_targets_are_the_batch_result(shop: Shop) -> None:
    rng = random.Random(20)
    shop.fill(customers=6, items=4, orders=60)
    statements: list[str] = []
    for commit in range(COMMITS):
        statements.append(shop.random_commit(rng))
        if commit % 4 == 3:
            shop.run("by_order", BY_ORDER, "order_id")
            shop.check("by_order", BY_ORDER, "\n".join(statements))
        if commit % 10 == 9:
            shop.run("by_city", BY_CITY, None)
            shop.check("by_city", BY_CITY, "\n".join(statements))
    assert shop.session.table(shop.at("by_order")).count() > 5
    assert {statement.split()[1] for statement in statements} >= {"UPDATE", "DELETE", "MERGE"}


#: Runs in a process of its own, with the extensions in the other order, and kills it when the batch
#: is in the target.
KILLED = """
import sys
from pathlib import Path
import joinless
from conftest import quiet_builder, set_permissions_without_processes, with_delta
from support.shop import BY_ORDER, Shop, dying

spark = with_delta(joinless.configure(quiet_builder())).getOrCreate()
set_permissions_without_processes(spark)
first, second = spark.conf.get("spark.sql.extensions").split(",")
assert "joinless" in first and "delta" in second
shop = Shop(spark, Path(sys.argv[1]))
apply = joinless.apply_changes(shop.at("by_order"), "order_id")

shop.run("by_order", BY_ORDER, "order_id")
shop.commit("orders", "DELETE FROM {t} WHERE id IN (1, 2)")
writer = shop.deltas(BY_ORDER).writeStream.foreachBatch(dying(apply, spark))
writer.option("checkpointLocation", str(shop.folder / "by_order-checkpoint")).start().awaitTermination()
"""


def test_a_kill_between_delete_and_insert_changes_nothing_and_extensions_stand_in_any_order(shop: Shop) -> None:
    shop.fill(customers=6, items=4, orders=30)
    killed = run_python(KILLED, str(shop.folder))
    assert killed.stdout.strip() == "applied", killed.stderr[-3000:]
    assert killed.returncode == 9
    shop.check("by_order", BY_ORDER, "applied before the kill")
    version = shop.version("by_order")
    again = shop.run("by_order", BY_ORDER, "order_id")
    assert [p.batchId for p in again.recentProgress][:1] == [1]
    assert shop.version("by_order") == version
    shop.commit("orders", "INSERT INTO {t} VALUES (1, 1, 1, 1), (2, 3, 3, 2)")
    shop.run("by_order", BY_ORDER, "order_id")
    assert shop.version("by_order") == version + 1
    shop.check("by_order", BY_ORDER, "inserted again")
