"""Which engine reads a source.

An engine of this package is a file and a line in :data:`ENGINES`; another package adds its own
with :func:`register_engine`. An engine is imported when a source is looked at, and imports the
library that it needs when it reads one.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from importlib import import_module
from typing import Any

from tallybayes.engines.contract import Engine
from tallybayes.tables import Table

__all__ = ["ENGINES", "engine_named", "engine_of", "register_engine"]

ENGINES = {
    "duckdb": "tallybayes.engines.duckdb:DuckDBEngine",
    "spark": "tallybayes.engines.stream:SparkEngine",
    "stream": "tallybayes.engines.stream:StreamEngine",
}
"""By name, where each engine is. The first that reads a source is taken."""

_registered: dict[str, Engine] = {}  # by other packages


def register_engine(name: str, engine: Engine | None) -> None:
    """Adds an engine, which is tried before those of this package; None removes it again.

    Raises
    ------
    ValueError
        If an engine of this package has the name.
    """
    if name in ENGINES:
        raise ValueError(
            f"the name {name!r} is that of an engine of tallybayes: register yours under another "
            f"than {', '.join(map(repr, ENGINES))}"
        )
    if engine is None:
        _registered.pop(name, None)
    else:
        _registered[name] = engine


@cache
def _own(name: str) -> Engine:
    module, _, class_name = ENGINES[name].partition(":")
    engine: Engine = getattr(import_module(module), class_name)()
    return engine


def engine_named(name: str) -> Engine:
    """The engine of this name.

    Raises
    ------
    ValueError
        If there is none.
    """
    if name in _registered:
        return _registered[name]
    if name not in ENGINES:
        known = [*_registered, *ENGINES]
        raise ValueError(f"there is no engine {name!r}; engines are {', '.join(map(repr, known))}")
    return _own(name)


def engine_of(source: Any, otherwise: str, passing: Collection[str] = ()) -> Engine:
    """The engine for a source: the first that reads it, but for those in `passing`; else the one
    named `otherwise`."""
    if not isinstance(source, Table):  # which is rows in memory
        for name in [*_registered, *ENGINES]:
            if name not in passing and engine_named(name).reads(source):
                return engine_named(name)
    return engine_named(otherwise)
