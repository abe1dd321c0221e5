"""Deferred imports: modules that libraries import and the command line does not need at its start.

scikit-learn imports scipy.stats and pandas, SciPy imports numpy.f2py and numpy.testing, Arrow
imports pandas: that takes longer than a small fit. In a process that only runs the command line
these imports are deferred (:func:`allow`), not if its functions are called from Python. A module
that is used later is imported then.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.util import find_spec
from types import ModuleType
from typing import Any

__all__ = ["DEFERRED", "allow", "import_arrow", "import_estimators", "stood_in"]

DEFERRED = ("numpy.f2py", "numpy.testing", "scipy.stats", "pandas")
"""Modules that scikit-learn and SciPy import, and use in functions that nobody calls here."""

_allowed = False


def allow() -> None:
    """From now on modules are left out: this process is the command line."""
    global _allowed
    _allowed = True
    gc.disable()  # imported modules stay; to search them for garbage takes 5 % of the start


class _StandIn(ModuleType):
    """Takes the place of a module that is imported when it is asked for a name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the import system asks for these; nothing uses the module yet
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        _take_out(self.__name__)
        return getattr(import_module(self.__name__), name)


def _put_in(name: str) -> None:
    parent, _, own = name.rpartition(".")
    if parent:
        import_module(parent)
    if name in sys.modules or find_spec(name) is None:  # an import fails as before
        return
    sys.modules[name] = stand_in = _StandIn(name)
    if parent:  # as the import system would do
        setattr(sys.modules[parent], own, stand_in)


def _take_out(name: str) -> None:
    parent, _, own = name.rpartition(".")
    if isinstance(sys.modules.get(name), _StandIn):
        del sys.modules[name]
    if parent and isinstance(vars(sys.modules[parent]).get(own), _StandIn):
        delattr(sys.modules[parent], own)


@contextmanager
def stood_in(*names: str) -> Iterator[None]:
    """Within it, modules that are not imported yet are stood in for. Afterwards an import finds the
    real ones; a stand-in that somebody has kept imports its module on first use."""
    try:
        for name in names:
            _put_in(name)
        yield
    finally:
        for name in names:
            _take_out(name)


class _NoPandas(MetaPathFinder):
    """Has imports of pandas fail, as where it is not installed."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is not imported here", name=fullname)


def import_estimators() -> None:
    """Imports the classifiers of tables, and scikit-learn with them."""
    if not _allowed or gc.isenabled():  # collection is on again once they are imported
        return
    with stood_in(*DEFERRED):
        import_module("tallybayes.estimators.tables.base")
    gc.freeze()
    gc.enable()


def import_arrow() -> None:
    """Imports Arrow. It looks for pandas once, to know a Series from a list, and finds that there
    is none; where pandas is needed to go on, it looks again."""
    import pyarrow

    if _allowed and "pandas" not in sys.modules:
        absent = _NoPandas()
        sys.meta_path.insert(0, absent)
        try:
            pyarrow.array([None])
        finally:
            sys.meta_path.remove(absent)
