"""Arguments and options that commands share.

This module and those of the commands are imported for every ``--help``. Slow imports (NumPy, Arrow,
scikit-learn) follow when a command runs.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from glob import has_magic
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tallybayes.cli.messages import USAGE, Failure
from tallybayes.errors import listed, suggestion
from tallybayes.sources import is_remote, is_url

__all__ = [
    "ClassWeight",
    "Data",
    "FitOptions",
    "Force",
    "Json",
    "Model",
    "Output",
    "Page",
    "Parts",
    "Target",
    "class_weight_of",
    "column_families_of",
    "columns_of",
    "keys_of",
    "number_or_auto",
]


# ---- what a shell completes: the names of columns, read from the header of the data --------------
def columns_of(ctx: Any, incomplete: str) -> list[str]:
    """The columns of the data on the line so far that begin with what was typed."""
    from tallybayes import files
    from tallybayes.sources import header_of

    names: list[str] = []
    how = {"sheet": ctx.params.get("sheet"), "flatten": bool(ctx.params.get("flatten"))}
    given = [ctx.params.get("train"), ctx.params.get("data"), ctx.args]
    for path in [path for paths in given for path in paths or []]:
        if not os.path.exists(path):
            continue
        try:
            names += header_of(files(path, **how))
        except Exception:
            continue
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]


def column_families_of(ctx: Any, incomplete: str) -> list[str]:
    """NAME= for the columns, and NAME=FAMILY once a name is complete."""
    name, equals, _ = incomplete.rpartition("=")
    if not equals:
        return [f"{column}=" for column in columns_of(ctx, incomplete)]
    from tallybayes.cli.families import named_families

    return [f"{name}={family}" for family in named_families() if f"{name}={family}" != incomplete]


# ---- options that commands share -----------------------------------------------------------------
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model file, written by fit.")]
Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA…",
        help="CSV, JSON lines, Parquet or Arrow; - is standard input. A model of text also reads "
        "folders, mailboxes and files of one document each.",
    ),
]
Json = Annotated[
    bool, typer.Option("--json", metavar="", help="Print one JSON document, for programs.")
]
Force = Annotated[
    bool,
    typer.Option(
        "--force",
        metavar="",
        help="Overwrite a file that would be lost: one that tallybayes did not write, predictions, "
        "or a model with rows learned since it was made.",
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="MODEL",
        help="Write the new model here instead of replacing MODEL.",
    ),
]
Page = Annotated[
    str | None,
    typer.Option(
        "--report",
        metavar="PAGE",
        help="Write a page of HTML that shows the model and how good it is on the rows.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="COL",
        autocompletion=columns_of,
        help="The label's column, or header of mail, if its name differs from that in the model.",
    ),
]
Parts = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER|auto",
        help="How many fits, each without another part of the rows, are averaged with one of "
        "all rows; 1 is that one alone; auto is 5 up to 4,000 rows, 3 up to 20,000.",
        show_default=False,
    ),
]


Group = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="COLUMN",
        help="Rows with one value in this column belong together, such as those of one customer: "
        "they are left out together, and the column is not learned from.",
        show_default=False,
    ),
]


def number_or_auto(option: str, text: str, minimum: int = 0) -> int | str:
    """A whole number, or "auto".

    Raises
    ------
    Failure
        With the code for usage, for anything else.
    """
    if text == "auto" or (text.isdecimal() and int(text) >= minimum):
        return text if text == "auto" else int(text)
    raise Failure(f"{option} {text!r} is neither a whole number from {minimum} on nor auto", USAGE)


# ---- the value of ``--class-weight``: balanced, or a weight for each of some labels --------------
ClassWeight = dict[str, float] | Literal["balanced"] | None


def class_weight_of(given: list[str] | None) -> ClassWeight:
    """The parameter ``class_weight`` of a model.

    Raises
    ------
    Failure
        With the code for usage.
    """
    if not given:
        return None
    if "balanced" in given:
        if len(given) > 1:
            raise Failure(
                "--class-weight balanced weighs every class: leave out the other --class-weight",
                USAGE,
            )
        return "balanced"
    weights: dict[str, float] = {}
    for text in given:
        label, equals, number = text.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            weight = math.nan
        if not equals or not 0.0 <= weight < math.inf:
            raise Failure(
                f"--class-weight {text!r} is neither balanced nor LABEL=WEIGHT, with a weight from "
                "0 on",
                USAGE,
            )
        if label in weights:
            raise Failure(f"--class-weight names {label!r} twice: keep one", USAGE)
        weights[label] = weight
    return weights


# ---- the options of ``tallybayes fit``, and their meaning for models of tables and of text -------
ANALYZERS = ("auto", "word", "char", "char_wb", "cjk")


@dataclass(frozen=True)
class FitOptions:
    """The options of the command as they were given; None for one that was omitted."""

    train: list[str]
    target: str | None
    output: str | None
    column: list[str]
    test: str | None
    estimate: bool
    json: bool
    interactions: str
    parts: str | None
    plain: bool
    alpha: str | None
    calibrate: str | None
    missing: str | None
    class_weight: list[str] | None
    ridge: bool | None
    analyzer: str | None
    ngrams: str | None
    n_features: int | None
    max_terms: int | None
    unlabelled: str | None
    half_life: float | None
    page: str | None
    force: bool
    group: str | None

    @property
    def judged_on(self) -> list[str]:
        """The rows that a page shows the model on."""
        return self.train if self.test is None else [self.test]

    @property
    def model_path(self) -> str:
        """Where the model goes.

        Raises
        ------
        Failure
            With the code for usage, where it needs a name.
        """
        if self.output is not None:
            return self.output
        if self.train == ["-"]:
            raise Failure("from standard input the model needs a name: add -o MODEL", USAGE)
        if len(self.train) > 1:
            raise Failure("from several files the model needs a name: add -o MODEL", USAGE)
        path = Path(self.train[0])
        if is_url(self.train[0]):
            raise Failure("from a database the model needs a name: add -o MODEL", USAGE)
        if is_remote(self.train[0]):
            raise Failure("from a URL the model needs a name: add -o MODEL", USAGE)
        if has_magic(self.train[0]) and not path.exists():
            raise Failure("from a pattern the model needs a name: add -o MODEL", USAGE)
        if path.is_dir():
            name = path.name or path.resolve().name  # of "." as well
            return str(path.parent / f"{name}.tally")
        return str(Path(self.train[0].removesuffix(".gz")).with_suffix(".tally"))

    def table_settings(self) -> dict[str, Any]:
        """The parameters of a model of tables.

        Raises
        ------
        Failure
            With the code for usage, for options that are wrong or of models of text.
        """
        self._need_no_text()
        if not self.plain:
            _need_plain(alpha=self.alpha, calibrate=self.calibrate, missing=self.missing)
        elif self.interactions != "auto" or self.parts is not None:
            option = "--interactions" if self.interactions != "auto" else "--parts"
            raise Failure(f"{option} is for weighted models: omit --plain", USAGE)
        missing = self.missing or "ignore"
        if missing not in ("ignore", "level"):
            raise Failure(f"--missing {missing!r} is neither ignore nor level", USAGE)
        if self.calibrate not in (None, "temperature", "isotonic"):
            raise Failure(
                f"--calibrate {self.calibrate!r} is neither temperature nor isotonic", USAGE
            )
        if self.plain:
            alpha = _alpha(self.alpha or "1")
            return {"alpha": alpha, "missing": missing, "calibrate": self.calibrate}
        return {
            "interactions": number_or_auto("--interactions", self.interactions),
            "parts": number_or_auto("--parts", self.parts or "auto", minimum=1),
        }

    def text_settings(self) -> dict[str, Any]:
        """The parameters of a model of text.

        Raises
        ------
        Failure
            With the code for usage, for options that are wrong or of models of tables.
        """
        self._need_no_table()
        if self.half_life is not None and not 0.0 < self.half_life < float("inf"):
            raise Failure(f"--half-life {self.half_life:g} is not a number above 0", USAGE)
        if self.half_life is not None and self.unlabelled is not None:
            raise Failure(
                "--half-life weighs documents by their age, and --unlabelled all of them alike: "
                "give one of the two",
                USAGE,
            )
        analyzer = "auto" if self.analyzer is None else self.analyzer
        if analyzer not in ANALYZERS:
            raise Failure(
                f"--analyzer {analyzer!r} is not one of {listed(ANALYZERS)}."
                f"{suggestion(analyzer, ANALYZERS)}",
                USAGE,
            )
        return {
            "ridge": self.ridge is not False,
            "analyzer": analyzer,
            "ngram_range": _ngrams(self.ngrams or "1-2"),
            "n_features": self.n_features,
            "max_terms": self.max_terms,
            "unlabelled": None if self.unlabelled is None else _weight(self.unlabelled),
            "half_life": self.half_life,
        }

    def _need_no_text(self) -> None:
        for option, value in (
            ("--ridge" if self.ridge else "--no-ridge", self.ridge),
            ("--analyzer", self.analyzer),
            ("--ngrams", self.ngrams),
            ("--n-features", self.n_features),
            ("--max-terms", self.max_terms),
            ("--unlabelled", self.unlabelled),
            ("--half-life", self.half_life),
        ):
            if value is not None:
                raise Failure(
                    f"{option} is for models of text, and this is one of tables: omit it, or "
                    "declare the column of documents, as in --column body=text",
                    USAGE,
                )

    def _need_no_table(self) -> None:
        if self.plain:
            raise Failure(
                "--plain is for rows: for a model of a folder or mailbox that stays as good as new "
                "under update and forget, --no-ridge",
                USAGE,
            )
        for option, value in (
            ("--interactions", None if self.interactions == "auto" else self.interactions),
            ("--parts", self.parts),
            ("--alpha", self.alpha),
            ("--calibrate", self.calibrate),
            ("--missing", self.missing),
            ("--class-weight", self.class_weight),
        ):
            if value is not None:
                raise Failure(
                    f"{option} is for models of tables, and this is one of text: omit it", USAGE
                )


def _ngrams(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", text)
    shortest, longest = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= shortest <= longest:
        raise Failure(
            f"--ngrams {text!r} is not a range from 1 on, such as 1-2, with the shorter length "
            "first",
            USAGE,
        )
    return shortest, longest


def _weight(text: str) -> float | str:
    if text == "auto":
        return text
    try:
        weight = float(text)
        if not 0.0 < weight <= 1.0:
            raise ValueError
    except ValueError:
        raise Failure(
            f"--unlabelled {text!r} is neither a weight above 0, at most 1, nor auto", USAGE
        ) from None
    return weight


def _need_plain(**given: str | None) -> None:
    """Raises where an option sets what a weighted model chooses by itself."""
    for name, value in given.items():
        if value is not None:
            what = (
                "takes missing values as evidence"
                if name == "missing"
                else "chooses that by itself"
            )
            raise Failure(f"--{name} is for --plain: a weighted model {what}", USAGE)


def _alpha(text: str) -> float | str:
    if text == "auto":
        return text
    try:
        alpha = float(text)
        if not 0.0 <= alpha < float("inf"):
            raise ValueError
    except ValueError:
        raise Failure(f"--alpha {text!r} is neither a number from 0 on nor auto", USAGE) from None
    return alpha


# ---- the rows that a command takes out of its data: by number, or by the value of a column -------
def keys_of(keys: list[str]) -> tuple[tuple[str, str], ...]:
    """Columns, and a value of each, that --key names."""
    pairs = [key.partition("=") for key in keys]
    for given, (column, equals, _) in zip(keys, pairs, strict=True):
        if not column or not equals:
            raise Failure(f"--key {given!r} is not COL=VALUE, such as id=1007", USAGE)
    return tuple((column, value) for column, _, value in pairs)
