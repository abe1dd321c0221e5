"""One pass over a source: the values of each column, and how often each occurs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tallybayes.sources.written import files_of, written_values

__all__ = ["Profile", "Seen", "profile_of"]

MAX_VALUES = 20_000  # different values of a column that are counted each
SAMPLE_ROWS = 5_000  # first rows in which columns are compared
MAX_RARE = 5  # values whose first rows are kept


@dataclass
class Seen:
    """The values of a column.

    Parameters
    ----------
    counts : dict
        Rows by value; of the first :data:`MAX_VALUES` different ones.
    first : dict
        By value, the first row that holds it: the number of its file, and that of the row there.
    n_missing : int
        Rows without a value.
    more : bool
        Whether there are more different values.
    what : str
        "text" where values have no type; else their type.
    sample : list
        The values of the first rows, None where there is none.
    """

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, tuple[int, int]] = field(default_factory=dict)
    n_missing: int = 0
    more: bool = False
    what: str = "null"
    sample: list[str | None] = field(default_factory=list)


@dataclass
class Profile:
    """All columns.

    Parameters
    ----------
    columns : dict of str to Seen
    n_rows : int
    files : list
        The files, in the order of their numbers.
    """

    columns: dict[str, Seen]
    n_rows: int
    files: list[Any]

    def place(self, at: tuple[int, int]) -> str:
        """A row as people find it."""
        number, row = at
        place = getattr(self.files[number], "place", None)
        where = place(row) if place is not None else f"row {row:,}"
        return where if len(self.files) == 1 else f"{self.files[number].name}, {where}"


def profile_of(source: Any, names: Collection[str]) -> Profile:
    """The values of a source that can be read again."""
    seen = {name: Seen() for name in names}
    files, total = files_of(source), 0
    for number, file in enumerate(files):
        row = 0
        for values in written_values(file, names):
            n = max((len(found.codes) for found in values.values()), default=0)
            _add(seen, values, number, row, n, total)
            row += n
            total += n
    for name in getattr(files[0], "levels", ()):
        if name in seen:
            seen[name].what = "nominal"
    return Profile(seen, total, files)


def _add(
    seen: Mapping[str, Seen], values: Mapping[str, Any], number: int, row: int, n: int, total: int
) -> None:
    wanted = max(0, SAMPLE_ROWS - total)
    for name, column in seen.items():
        if name not in values:
            column.n_missing += n
            column.sample += [None] * min(n, wanted)
            continue
        codes, levels, what = values[name]
        codes = np.asarray(codes)
        if what != "null":
            column.what = what if column.what in ("null", what) else "mixed"
        column.n_missing += int((codes < 0).sum())
        used, first, counts = np.unique(codes, return_index=True, return_counts=True)
        for code, at, count in zip(used.tolist(), first.tolist(), counts.tolist(), strict=True):
            if code < 0:
                continue
            level = levels[code]
            if level not in column.counts:
                if len(column.counts) >= MAX_VALUES:
                    column.more = True
                    continue
                column.first[level] = number, row + at
            column.counts[level] += count
        column.sample += [levels[c] if c >= 0 else None for c in codes[:wanted].tolist()]
