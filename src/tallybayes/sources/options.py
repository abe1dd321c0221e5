"""Options for the layout of text files, for Python and the command line."""

from __future__ import annotations

import codecs
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Literal

from tallybayes.errors import listed

__all__ = ["BLANKS", "MISSING", "DateOrder", "Layout", "Spelling", "need_apart"]


MISSING = (
    *("", "NA", "<NA>", "NaN", "nan", "-nan", "NaT", "null", "NULL"),
    "?",  # of the UCI repository and Weka
    *("#N/A", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"),  # of Excel
)
"""Missing values as pandas, polars, R, DuckDB and Excel write them."""

BLANKS = "blanks"
"""The delimiter of columns that stand below each other: any run of spaces and tabs."""

NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
THOUSANDS = {"space": " ", "apostrophe": "'", "point": ".", "comma": ","}

DateOrder = Literal["ymd", "dmy", "mdy"]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How the lines of a CSV file are laid out.

    Parameters
    ----------
    delimiter : str, optional
        One ASCII character, "tab", or "blanks": any run of spaces and tabs. By default it is found
        by a look at the first lines.
    encoding : str
        Of the text.
    header : bool
        Whether the first line has the names of the columns.
    names : tuple of str, optional
        The names of the columns, in place of those of the header. Without a header and names,
        columns are column1, column2 and so on.
    skip : int
        How many lines come before the header, or before the first row.

    Raises
    ------
    ValueError
        For an option that cannot be; its message begins with the option's name.
    """

    delimiter: str | None = None
    encoding: str = "utf-8"
    header: bool = True
    names: tuple[str, ...] | None = None
    skip: int = 0

    def __post_init__(self) -> None:
        if self.delimiter is not None:
            object.__setattr__(self, "delimiter", _delimiter(self.delimiter))
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            raise ValueError(f"encoding {self.encoding!r} is not known") from None
        if self.skip < 0:
            raise ValueError(f"skip {self.skip} is not a number of lines, from 0 on")
        if self.names is not None:
            object.__setattr__(self, "names", tuple(self.names))
            _need_distinct(self.names)

    @property
    def given(self) -> list[str]:
        """The options that are not as they are by default."""
        usual = Layout()
        return [name for name in vars(usual) if getattr(self, name) != getattr(usual, name)]


def _delimiter(given: str) -> str:
    """A delimiter as a user writes it: one character, or its name."""
    delimiter = NAMED.get(given.lower(), given)
    if delimiter.lower() in (BLANKS, "whitespace"):
        return BLANKS
    if len(delimiter) != 1 or ord(delimiter) > 127 or delimiter in '"\r\n':
        raise ValueError(f"delimiter {given!r} is not one ASCII character, tab or blanks")
    return delimiter


def _need_distinct(names: Collection[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if not name.strip() or name != name.strip():
            raise ValueError(f"names has {name!r}: a name is not empty, without space around it")
        if name in seen:
            raise ValueError(f"names has {name!r} twice: give each column a name of its own")
        seen.add(name)


@dataclass(frozen=True)
class Spelling:
    """How to read strings.

    Parameters
    ----------
    missing : tuple of str
        Strings that are missing values.
    decimal : {".", ","}
        The decimal sign; the other one has then no place in a number, but as sign of thousands.
    missing_of : dict
        More strings that are missing values, by column.
    thousands : {".", ",", "'", " "}, optional
        The sign between groups of three digits; " " is a no-break space, too. By default a number
        has none.
    dates : {"ymd", "dmy", "mdy"}
        The order of day, month and year in dates that are all digits and do not begin with the
        year, such as 31.12.2020 or 12/31/2020; under "ymd" these are strings.

    Raises
    ------
    ValueError
        For an option that cannot be; its message begins with the option's name.
    """

    missing: tuple[str, ...] = MISSING
    decimal: str = "."
    missing_of: dict[str, tuple[str, ...]] = field(default_factory=dict)
    thousands: str | None = None
    dates: DateOrder = "ymd"

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise ValueError(f"decimal {self.decimal!r} is neither . nor ,")
        if self.thousands is not None:
            sign = THOUSANDS.get(self.thousands, self.thousands)
            if sign not in THOUSANDS.values():
                raise ValueError(
                    f"thousands {self.thousands!r} is not one of {listed(THOUSANDS.values())}"
                )
            object.__setattr__(self, "thousands", sign)
        if self.thousands == self.decimal:
            raise ValueError(
                f"thousands {self.thousands!r} is the decimal sign, too: name another decimal sign"
            )
        if self.dates not in ("ymd", "dmy", "mdy"):
            raise ValueError(f"dates {self.dates!r} is not one of ymd, dmy, mdy")

    def of(self, column: str) -> Spelling:
        """Give the spelling of one column.

        Parameters
        ----------
        column : str
            Its name.

        Returns
        -------
        Spelling
            With what is missing there besides.
        """
        more = self.missing_of.get(column)
        return (
            self if more is None else replace(self, missing=(*self.missing, *more), missing_of={})
        )


def need_apart(layout: Layout, spelling: Spelling) -> None:
    """Refuse a decimal sign that is the delimiter, too.

    Parameters
    ----------
    layout : Layout
        Of the lines.
    spelling : Spelling
        Of numbers.

    Raises
    ------
    ValueError
        Where numbers are not written in quotes, and so cannot be distinguished.
    """
    if spelling.decimal == "," == layout.delimiter:
        raise ValueError("decimal , and the delimiter , cannot be distinguished")
