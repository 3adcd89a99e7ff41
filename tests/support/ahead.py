"""Runs seeds ahead of the tests that report them, two at a time: a micro-batch mostly waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest


def seeds(metafunc: pytest.Metafunc, parameter: str, option: str) -> None:
    """Gives tests that have this parameter as many seeds as the option says, from `--first-seed` on."""
    if parameter in metafunc.fixturenames:
        first = metafunc.config.getoption("--first-seed")
        metafunc.parametrize(parameter, range(first, first + metafunc.config.getoption(option)))


def run_ahead(
    request: pytest.FixtureRequest, parameter: str, run: Callable[[int], None]
) -> Iterator[dict[int, Future[None]]]:
    """Starts `run` for each seed that the file's tests have as `parameter`;
    returns the seeds' futures.
    """
    functions = (item for item in request.session.items if isinstance(item, pytest.Function))
    own = (item for item in functions if item.path == request.path and parameter in item.fixturenames)
    seeds = dict.fromkeys(int(str(item.callspec.params[parameter])) for item in own)
    pool = ThreadPoolExecutor(2)
    yield {seed: pool.submit(run, seed) for seed in seeds}
    pool.shutdown(cancel_futures=True)
