"""The rows that a command takes out of its data: by number, or by the value of a column."""

from __future__ import annotations

from dataclasses import dataclass

from tallybayes.cli.terminal.failures import USAGE, Failure
from tallybayes.errors import listed

__all__ = ["ChosenRows"]


@dataclass(frozen=True)
class ChosenRows:
    """Rows by number and by key.

    Parameters
    ----------
    numbers : tuple of int
        From 0.
    keys : tuple of (str, str)
        Columns, and a value of each.
    """

    numbers: tuple[int, ...]
    keys: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, numbers: list[int], keys: list[str]) -> ChosenRows:
        """Those that options name.

        Raises
        ------
        Failure
            With the code for usage, for a key without a column.
        """
        pairs = [tuple(key.partition("=")[::2]) for key in keys]
        for given, (column, _) in zip(keys, pairs, strict=True):
            if not column or "=" not in given:
                raise Failure(f"--key {given!r} is not COL=VALUE, such as id=1007", USAGE)
        return cls(tuple(dict.fromkeys(numbers)), tuple((c, v) for c, v in pairs))

    def __bool__(self) -> bool:
        return bool(self.numbers or self.keys)

    @property
    def columns(self) -> list[str]:
        """The columns of the keys."""
        return list(dict.fromkeys(column for column, _ in self.keys))

    @property
    def several(self) -> bool:
        """Whether there may be more than one."""
        return bool(self.keys) or len(self.numbers) > 1

    def last(self) -> int | None:
        """The last row that has to be read; None for all."""
        return None if self.keys else max(self.numbers, default=-1)

    def need_found(self, name: str, n_rows: int, unit: str, keys: set[tuple[str, str]]) -> None:
        """Raises where a row is not there.

        Parameters
        ----------
        name : str
            Of the data.
        n_rows : int
            How many rows it has.
        unit : str
            "row" or "document".
        keys : set of (str, str)
            Those that were found.
        """
        beyond = [n for n in self.numbers if n >= n_rows]
        if beyond:
            rows = f"{n_rows:,} {unit}" + ("" if n_rows == 1 else "s")
            raise Failure(
                f"{name} has {rows}, from 0 to {n_rows - 1:,}: there is no {unit} {beyond[0]}"
            )
        absent = [f"{column}={value}" for column, value in self.keys if (column, value) not in keys]
        if absent:
            raise Failure(f"{name}: no {unit} has {listed(absent)}")
