"""What the tests stand on: random cases, oracles, runs."""
