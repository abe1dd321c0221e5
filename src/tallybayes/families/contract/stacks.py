"""Tables of many columns, computed together where they have the same shape."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

__all__ = ["alike"]

MAX_CELLS = 1 << 16
"""Numbers of the tables that are computed together: few enough to stay in the cache."""


def alike(
    keys: Sequence[Hashable], sizes: Sequence[int], at_once: int = MAX_CELLS
) -> Iterator[list[int]]:
    """The places of equal keys, in parts of at most so many numbers, or of one table.

    Parameters
    ----------
    keys : sequence of hashable
    sizes : sequence of int
        How many numbers the table of each has; equal where the keys are.
    at_once : int
        Numbers of a part.
    """
    places: dict[Hashable, list[int]] = {}
    for i, key in enumerate(keys):
        places.setdefault(key, []).append(i)
    for same in places.values():
        step = max(1, at_once // max(1, sizes[same[0]]))
        for start in range(0, len(same), step):
            yield same[start : start + step]
