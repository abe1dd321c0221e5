"""The one file that imports matplotlib and seaborn, on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["library"]


def library(name: str) -> Any:
    """A module of matplotlib or seaborn.

    Raises
    ------
    ImportError
        If it is not installed, with what to install.
    """
    try:
        import matplotlib  # noqa: F401  named, so that the check of layers sees who imports them
        import seaborn  # noqa: F401

        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"pictures need matplotlib and seaborn ({error}): pip install 'tallybayes[plots]'"
        ) from error
