"""Short forms of ``python -m benchmarks files kills | writers``."""

from __future__ import annotations

import pytest
from benchmarks.files.commands import kills, writers

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def test_a_kill_leaves_what_was_acknowledged():
    verdict = kills(6, seed=1)
    assert verdict.wrong == []
    assert sum(verdict.counts.values()) == 6


def test_writers_at_once_leave_what_was_acknowledged():
    verdict = writers(1, seed=0)
    assert verdict.wrong == []
    assert verdict.counts == {"acknowledged": 8, "refused": 0}
