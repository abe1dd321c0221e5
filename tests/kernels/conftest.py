"""Under ``make sanitize`` the kernels that are tested are the sanitized ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tallybayes import _kernels


@pytest.fixture(scope="session", autouse=True)
def _sanitized_where_asked_for():
    """tools/sanitize.sh says where they lie; the checks are calls of functions with these names."""
    if folder := os.environ.get("SANITIZED_KERNELS"):
        module = Path(_kernels.__file__)
        assert module.is_relative_to(folder)
        code = module.read_bytes()
        assert b"__asan_init" in code
        assert b"__ubsan_handle" in code
