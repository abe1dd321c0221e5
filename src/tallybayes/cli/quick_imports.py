"""Deferred imports: modules that libraries import and the command line does not need at its start.

scikit-learn, the parts of SciPy, and what these import take longer than a small fit; Arrow imports
pandas. In a process that only runs the command line these imports are deferred (:func:`allow`), not
if its functions are called from Python. A module whose names are used later is imported then.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, FileFinder
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

import tallybayes

__all__ = [
    "allow",
    "import_arrow",
    "import_estimators",
    "stood_in",
]


DEFERRED = ("numpy.f2py", "numpy.testing", "scipy.stats", "pandas")
"""Modules that scikit-learn and SciPy import, and use in functions that nobody calls here."""

BY_NAME = (
    "scipy.linalg",
    "scipy.linalg.blas",
    "scipy.linalg.lapack",
    "scipy.sparse",
    "scipy.special",
    "sklearn",
    "sklearn.base",
    "sklearn.exceptions",
    "sklearn.utils",
    "sklearn.utils._array_api",
    "sklearn.utils._param_validation",
    "sklearn.utils.multiclass",
    "sklearn.utils.validation",
)
"""Modules whose names the classifiers of tables import; each after the module that it is in."""

COMPILED = {
    "scipy.linalg.blas": "scipy.linalg._fblas",
    "scipy.linalg.lapack": "scipy.linalg._flapack",
}
"""The compiled modules that have the functions of a module; most of a package is not needed."""

CLASSIFIERS = ("cross_validate", "NaiveBayes", "WeightedNaiveBayes", "load")
"""Names of the package whose modules import those."""

GARBAGE_THRESHOLD = 50_000  # objects that are made between two searches for garbage

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
    if parent in sys.modules and isinstance(vars(sys.modules[parent]).get(own), _StandIn):
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


class _Name:
    """Takes the place of a function or class of a module, which is imported when it is used."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def _found(self) -> Any:
        compiled = _compiled(COMPILED[self._module]) if self._module in COMPILED else None
        if compiled is not None:
            return getattr(compiled, self._name)
        for name in reversed(BY_NAME):  # while the classifiers are imported these are still there
            _take_out(name)
        with stood_in(*DEFERRED):
            return getattr(import_module(self._module), self._name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._found()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._found(), name)

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, self._found())


def _compiled(name: str) -> ModuleType | None:
    """A compiled module, without the package that it is in; None where there is no such file."""
    if name not in sys.modules:
        top, *folders = name.split(".")[:-1]
        folder = os.path.join(import_module(top).__path__[0], *folders)
        finder = FileFinder(folder, (ExtensionFileLoader, EXTENSION_SUFFIXES))
        spec = finder.find_spec(name)
        if spec is None or spec.loader is None:
            return None
        sys.modules[name] = module = module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


class _Names(_StandIn):
    """Takes the place of a module whose names are imported before they are used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return _Name(self.__name__, name)


@contextmanager
def names_stood_in(light: Mapping[str, Mapping[str, Any]]) -> Iterator[None]:
    """Within it, the modules of :data:`BY_NAME` that are not imported yet have names that import
    them on first use, or the names of `light`. Afterwards an import finds the real modules."""
    put_in: list[str] = []
    try:
        for name in BY_NAME:
            parent, _, own = name.rpartition(".")
            if name in sys.modules or (parent in BY_NAME and parent not in put_in):
                continue
            sys.modules[name] = module = _Names(name)
            vars(module).update(light.get(name, {}))
            if parent:
                setattr(import_module(parent), own, module)
            put_in.append(name)
        yield
    finally:
        for name in reversed(put_in):
            _take_out(name)


class _NoPandas(MetaPathFinder):
    """Has imports of pandas fail, as where it is not installed."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is not imported here", name=fullname)


def import_estimators() -> None:
    """Imports the classifiers of tables, without scikit-learn and SciPy until these are used."""
    if not _allowed or gc.isenabled():  # collection is on again once they are imported
        return
    from tallybayes.cli.light_estimators import LIGHT

    with stood_in(*DEFERRED), names_stood_in(LIGHT):
        for name in CLASSIFIERS:
            getattr(tallybayes, name)
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD)
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
