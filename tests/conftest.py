"""What every test shares: Hypothesis profiles, and settings that no test may leave changed."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from tallybayes import _kernels
from tallybayes.engines import threads

# The default draws the same examples every time. `--hypothesis-profile=thorough` looks for more.
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
settings.load_profile("suite")


@pytest.fixture(autouse=True)
def _settings_restored():
    """The instruction set and the number of threads are as they were, whatever a test does."""
    chosen, name = threads._chosen, _kernels.instruction_set()
    yield
    threads._chosen = chosen
    _kernels.use_instruction_set(name)
