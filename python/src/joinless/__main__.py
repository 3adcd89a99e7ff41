"""``python -m joinless`` prints the path of the jar that fits the installed PySpark, for
``spark-submit --jars``.
"""

from __future__ import annotations

import argparse
import sys

import pyspark

import joinless
from joinless import _jars
from joinless.errors import EXTENSION_CLASS, JoinlessError

EPILOG = f"""example:
  spark-submit --jars "$(python -m joinless)" --conf spark.sql.extensions={EXTENSION_CLASS} pipeline.py
"""


def main() -> None:
    """Prints the path of the bundled jar."""
    parser = argparse.ArgumentParser(
        prog="python -m joinless",
        description="Prints the path of the jar that fits the installed PySpark, for spark-submit --jars.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    versions = f"joinless {joinless.__version__} (PySpark {pyspark.__version__})"
    parser.add_argument("--version", action="version", version=versions)
    parser.parse_args()
    try:
        print(_jars.bundled(pyspark.__version__))
    except JoinlessError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
