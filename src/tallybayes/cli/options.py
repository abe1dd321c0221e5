"""Arguments and options that commands share, and what they stand for."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping
from typing import Annotated, Any, cast

import typer

from tallybayes.cli.failures import USAGE, Failure, listed, suggestion
from tallybayes.cli.reading.cells import GAPS
from tallybayes.cli.reading.sniffing import Format, only_character
from tallybayes.cli.reading.source import BLOCK, Source
from tallybayes.families import Bernoulli, Binned, Categorical, Gaussian, Poisson, Smooth

__all__ = [
    "FAMILIES",
    "Block",
    "Data",
    "Delimiter",
    "Encoding",
    "FormatName",
    "Json",
    "Model",
    "NullTexts",
    "Reading",
    "Target",
    "column_families",
]

READING = "Reading data"

Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model file, made by fit.")]
Data = Annotated[
    str,
    typer.Argument(metavar="DATA", help="CSV, JSON lines, Parquet or Arrow; - is standard input."),
]
Json = Annotated[
    bool, typer.Option("--json", metavar="", help="Results as one JSON document, for machines.")
]
Target = Annotated[
    str | None,
    typer.Option("--target", metavar="COL", help="The label's column, where it has another name."),
]
Delimiter = Annotated[
    str | None,
    typer.Option(metavar="CHAR", rich_help_panel=READING, help="Of CSV; else found: , ; tab or |."),
]
FormatName = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        rich_help_panel=READING,
        help="csv, jsonl, parquet or arrow; else found by a look.",
    ),
]
NullTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--null",
        metavar="TEXT",
        rich_help_panel=READING,
        help="A text that is a gap, instead of nothing, NA, ?, nan, null. May be repeated.",
        show_default=False,
    ),
]
Encoding = Annotated[
    str, typer.Option(metavar="NAME", rich_help_panel=READING, help="Of CSV, such as gb18030.")
]
Block = Annotated[int, typer.Option("--block", min=64, hidden=True, help="Bytes of a batch.")]

FAMILIES: Mapping[str, Callable[[float], Any]] = {
    "gaussian": lambda alpha: Gaussian(),
    "categorical": lambda alpha: Categorical(alpha=alpha),
    "bernoulli": lambda alpha: Bernoulli(alpha=alpha),
    "poisson": lambda alpha: Poisson(),
    "binned": lambda alpha: Binned(),
    "smooth": lambda alpha: Smooth(),
    "skip": lambda alpha: None,
}
FORMATS = ("csv", "jsonl", "parquet", "arrow")


class Reading:
    """How files are read, as the options say.

    Raises
    ------
    Failure
        With the code for usage, for an option that cannot be.
    """

    def __init__(
        self,
        delimiter: str | None = None,
        format: str | None = None,
        null: list[str] | None = None,
        encoding: str = "utf-8",
        block: int = BLOCK,
    ) -> None:
        if format is not None and format not in FORMATS:
            raise Failure(f"--format {format!r} is not one of {listed(FORMATS)}", USAGE)
        try:
            codecs.lookup(encoding)
        except LookupError:
            raise Failure(f"--encoding {encoding!r} is not known", USAGE) from None
        self.delimiter = None if delimiter is None else only_character(delimiter)
        self.format = cast("Format | None", format)
        self.null = None if null is None else tuple(null)
        self.encoding, self.block = encoding, block

    def open(self, path: str, gaps: tuple[str, ...] = GAPS) -> Source:
        """A file with these options; `gaps` where --null is not given."""
        return Source(
            path,
            format=self.format,
            delimiter=self.delimiter,
            gaps=gaps if self.null is None else self.null,
            encoding=self.encoding,
            block=self.block,
        )


def column_families(given: list[str] | None, alpha: float) -> dict[str, Any]:
    """``--column NAME=FAMILY`` as families by name, smoothed by alpha."""
    families = {}
    for text in given or []:
        name, sign, family = text.rpartition("=")
        if not sign or not name or family.lower() not in FAMILIES:
            raise Failure(
                f"--column {text!r} is not NAME=FAMILY with a family of {listed(FAMILIES)}."
                + (suggestion(family, FAMILIES) if sign else ""),
                USAGE,
            )
        families[name] = FAMILIES[family.lower()](alpha)
    return families
