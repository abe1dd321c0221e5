"""What every test shares: Hypothesis profiles, and settings that no test may leave changed."""

import functools
import os
from types import ModuleType
from typing import Any

# The tests' matrices are small: a second thread of BLAS only waits, and costs as much as the first.
# This is read when NumPy and SciPy are imported, here and in the processes that tests start.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
import typer.main
import typer.testing
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


@pytest.fixture(scope="session", autouse=True)
def _commands_are_built_once():
    """Typer builds the whole command line for each call, which takes longer than most commands."""
    get_command = functools.cache(typer.main.get_command)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", get_command)
        patch.setattr(typer.testing, "_get_command", get_command)
        yield


SERVERS = {"browser", "mysql", "postgres", "postgres_server", "spark"}
"""Fixtures that start one, and names by which tests are parametrized with one."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that use a server come first: of several workers the first one alone begins with them,
    so that each server is started once."""
    items.sort(key=lambda item: not _uses_server(item))


def _uses_server(item: pytest.Item) -> bool:
    assert isinstance(item, pytest.Function)
    given = item.callspec.params.values() if hasattr(item, "callspec") else ()
    names = {*item.fixturenames, *(value for value in given if isinstance(value, str))}
    return bool(names & SERVERS) or item.get_closest_marker("xdist_group") is not None


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
