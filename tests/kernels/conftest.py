"""The kernels of another build, and what the kernels return, where an environment variable asks.

``SANITIZED_KERNELS`` is the folder in which the sanitized kernels have to lie (``make sanitize``).
``RECORD_KERNELS`` is a folder for digests of all that the kernels return in each test:
tools/same_bits.py compares those of two compilers.
"""

import functools
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tallybayes import _kernels

RECORDS = os.environ.get("RECORD_KERNELS")


@pytest.fixture(scope="session", autouse=True)
def _sanitized_where_asked_for():
    """tools/sanitize.sh says where they lie; the checks are calls of functions with these names."""
    if folder := os.environ.get("SANITIZED_KERNELS"):
        module = Path(_kernels.__file__)
        assert module.is_relative_to(folder)
        code = module.read_bytes()
        assert b"__asan_init" in code
        assert b"__ubsan_handle" in code


def _bits(value: object) -> Iterator[bytes]:
    """The bits of arrays and plain values; every NaN is the same, since its sign has no meaning."""
    if isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape}".encode()
        if value.dtype.kind == "f":
            value = np.where(np.isnan(value), np.nan, value).astype(value.dtype)
        yield repr(value.tolist()).encode() if value.dtype.kind in "OT" else value.tobytes()
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _bits(one)
    elif isinstance(value, bool | int | float | str | bytes | None):
        yield repr(value).encode()


def _kernel_functions() -> Iterator[tuple[Any, str, Callable[..., object]]]:
    """Each compiled function with its owner, the module or a class, and its name."""
    for name, member in list(vars(_kernels).items()):
        if isinstance(member, type):
            for method, function in list(vars(member).items()):
                if type(function).__name__ == "nb_method":
                    yield member, method, function
        elif type(member).__name__ == "nb_func":
            yield _kernels, name, member


_calls: list[bytes] = []  # of the running test: a digest each


def _recorded_call(name: str, function: Callable[..., object]) -> Callable[..., object]:
    """The function, which records its result and the arrays that it was given."""

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> object:
        try:
            result = function(*given, **named)
        except Exception as error:
            refused = f"{name} {type(error).__name__} {error}"
            _calls.append(hashlib.sha256(refused.encode()).digest())
            raise
        bits = b" ".join(_bits((name, result, given, tuple(named.values()))))
        _calls.append(hashlib.sha256(bits).digest())
        return result

    return call


@pytest.fixture(scope="session")
def _records() -> Iterator[dict[str, str]]:
    """The digest of each test, which is written when the session ends."""
    functions = list(_kernel_functions())
    for owner, name, function in functions:
        setattr(owner, name, _recorded_call(name, function))
    records: dict[str, str] = {}
    yield records
    for owner, name, function in functions:
        setattr(owner, name, function)
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    Path(str(RECORDS), f"{worker}.json").write_text(json.dumps(records))


@pytest.fixture(autouse=True)
def _recorded(request: pytest.FixtureRequest) -> Iterator[None]:
    if RECORDS is None:
        yield
        return
    records = request.getfixturevalue("_records")
    _calls.clear()
    yield
    if _calls:  # sorted, since threads call in any order
        records[request.node.nodeid] = hashlib.sha256(b"".join(sorted(_calls))).hexdigest()
