"""A stream, and a view that Joinless keeps.

Materialized views of a pipeline are recomputed in each update. This one is a sink: an update reads
what has changed, and applies the changes of the result to a Delta table.
"""

import os

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

SHOP = os.environ["SHOP"]
spark = SparkSession.active()


@dp.temporary_view
def orders() -> DataFrame:
    """Orders as they come."""
    return spark.readStream.schema("id INT, customer INT, amount INT").json(f"{SHOP}/orders")


dp.create_sink("revenue", "joinless", {"into": f"delta.`{SHOP}/revenue`", "key": "country"})


@dp.append_flow(target="revenue")
def changes_of_revenue() -> DataFrame:
    """Customers move and leave: `joinless_table` follows the changes of their Delta table."""
    return spark.sql(
        f"""SELECT * FROM incremental_enumerate(TABLE(
                SELECT c.country, COUNT(*) AS orders, SUM(o.amount) AS amount
                FROM STREAM orders o JOIN joinless_table('delta.`{SHOP}/customers`') c ON o.customer = c.id
                GROUP BY c.country))"""
    )
