"""Model files as commands take them: the file, and what is done for its kind of model."""

from __future__ import annotations

from typing import Any

from tallybayes.cli.files import load
from tallybayes.cli.kinds import Kind
from tallybayes.cli.messages import Failure

__all__ = ["kind_of", "loaded"]


def kind_of(file: Any) -> Kind:
    """What commands do for a model file."""
    if file.unit == "document":
        from tallybayes.cli.text_models import TextModels

        return TextModels()
    from tallybayes.cli.table_models import TableModels

    return TableModels()


def loaded(path: str, *, like: Any = None, first: str = "") -> Any:
    """A model file, of the same kind as another one where that is given.

    Raises
    ------
    Failure
        For a file of another kind.
    """
    file = load(path)
    if like is not None and file.unit != like.unit:
        raise Failure(
            f"{first} counts {like.unit}s and {path} counts {file.unit}s: only models of one kind "
            "merge"
        )
    return file
