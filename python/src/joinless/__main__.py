"""``python -m joinless`` prints the path of the jar that fits the installed PySpark, for ``spark-submit --jars``."""

from __future__ import annotations

import sys

import pyspark

from joinless import _jars
from joinless.errors import JoinlessError

if __name__ == "__main__":
    try:
        print(_jars.bundled(pyspark.__version__))
    except JoinlessError as error:
        sys.exit(str(error))
