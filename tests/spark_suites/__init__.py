"""Spark's own suites from its published test jars, with the extension and without."""
