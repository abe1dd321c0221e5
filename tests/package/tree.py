"""Where the checkout and its files are, for the tests of the package itself."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tallybayes"
NOT_OURS = {"build", "dist", "pictures", "__pycache__", ".git", ".hypothesis"}
"""Folders that builds and tools make, beside every ``.*_cache`` and ``.venv*``; .gitignore names
them too."""


def modules() -> list[Path]:
    """Every Python file of the package."""
    return sorted(SOURCE.rglob("*.py"))


def name_of(module: Path) -> str:
    """The dotted name by which a file of the package is imported."""
    parts = module.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


EXTRAS = {"typer", "rich", "duckdb", "matplotlib", "seaborn", "pyspark", "sqlglot", "onnx"}
EXTRAS |= {"adbc_driver_manager", "adbc_driver_postgresql", "python_calamine"}
"""Libraries of the optional extras: a module that needs one is skipped where it is missing."""


def imported(module: Path) -> ModuleType:
    """A file of the package, imported."""
    try:
        return importlib.import_module(name_of(module))
    except ModuleNotFoundError as error:
        if error.name in EXTRAS:
            pytest.skip(f"{error.name}, of an optional extra, is not installed")
        raise


def files(folder: Path = ROOT) -> Iterator[Path]:
    """Every file of the checkout that a person wrote."""
    for path in sorted(folder.iterdir()):
        made = (
            path.name in NOT_OURS or path.name.endswith("_cache") or path.name.startswith(".venv")
        )
        if path.is_dir() and not made:
            yield from files(path)
        elif path.is_file() and not made:
            yield path
