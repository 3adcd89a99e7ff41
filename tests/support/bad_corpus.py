"""All cases of bad input, of every kind."""

from __future__ import annotations

from support.bad_changes import CHANGES
from support.bad_input import Bad
from support.bad_queries import QUERIES
from support.bad_readings import READINGS
from support.bad_settings import SETTINGS
from support.bad_states import STATES

CASES: list[Bad] = [*QUERIES, *CHANGES, *SETTINGS, *STATES, *READINGS]
