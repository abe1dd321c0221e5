"""The place of the row that an error is about."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["located"]

ROW = re.compile(r"\brow (\d+)")


def located(
    error: ValueError, where: str, before: int, place: Callable[[int], str] | None = None
) -> ValueError:
    """An error about rows of a part, as one about the rows of what the part belongs to.

    Parameters
    ----------
    error : ValueError
        Its rows are counted from the beginning of the part.
    where : str
        What the part belongs to: a file, a partition.
    before : int
        How many rows of it come before the part.
    place : callable (int) -> str, optional
        What messages call a row besides, by its number, such as "line 5".
    """
    message, kind = str(error), type(error)
    found = ROW.search(message)
    if found and place is not None:
        where = f"{where}, {place(int(found[1]) + before)}"
    message = ROW.sub(lambda found: f"row {int(found[1]) + before}", message)
    return kind(f"{where}: {message}" if where else message)
