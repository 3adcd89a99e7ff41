"""Support for the tests: random cases, oracles, runs."""
