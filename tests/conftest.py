"""What every test shares: Hypothesis profiles, and settings that no test may leave changed."""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any

# The tests' matrices are small: a second thread of BLAS only waits, and costs as much as the first.
# This is read when NumPy and SciPy are imported, here and in the processes that tests start.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings

from servers.browser import browser as browser
from servers.postgres import postgres_server as postgres_server
from servers.postgres import postgres_url as postgres_url
from tallybayes import _kernels, threads

pytest_plugins = ["servers.spark"]

# The default draws the same examples every time. `--hypothesis-profile=thorough` looks for more;
# `long`, which is `make laws`, for as many as TALLYBAYES_EXAMPLES says.
settings.register_profile(
    "suite",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "thorough",
    deadline=None,
    max_examples=500,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "long",
    settings.get_profile("thorough"),
    max_examples=int(os.environ.get("TALLYBAYES_EXAMPLES", "10000")),
    print_blob=True,
)
# for tools/mutants.py: that a test fails is all it asks, and a smaller example would take time
settings.register_profile(
    "first-failure",
    settings.get_profile("suite"),
    phases=[phase for phase in Phase if phase not in (Phase.shrink, Phase.explain)],
)
settings.load_profile("suite")


@pytest.fixture(autouse=True)
def _settings_restored():
    """The instruction set and the number of threads are as they were, whatever a test does."""
    chosen, name = threads._chosen, _kernels.instruction_set()
    yield
    threads._chosen = chosen
    _kernels.use_instruction_set(name)


_DRAWN_FROM = pytest.StashKey[dict[ModuleType, list[tuple[np.random.Generator, Any]]]]()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note the generators of the collected modules, and their states."""
    modules = {item.module for item in session.items if isinstance(item, pytest.Function)}
    session.stash[_DRAWN_FROM] = {
        module: [
            (value, value.bit_generator.state)
            for value in vars(module).values()
            if isinstance(value, np.random.Generator)
        ]
        for module in modules
    }


@pytest.fixture(autouse=True)
def _same_random_numbers(request: pytest.FixtureRequest):
    """A test draws the same numbers alone, in any order and beside others on several workers."""
    for generator, state in request.session.stash[_DRAWN_FROM].get(request.module, []):
        generator.bit_generator.state = state
