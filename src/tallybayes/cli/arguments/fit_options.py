"""The options of ``tallybayes fit``, and their meaning for models of tables and of text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from glob import has_magic
from pathlib import Path
from typing import Any

from tallybayes.cli.arguments.options import number_or_auto
from tallybayes.cli.terminal.failures import USAGE, Failure, suggestion
from tallybayes.errors import listed
from tallybayes.sources.databases.names import is_url
from tallybayes.sources.opening import is_remote

__all__ = ["FitOptions"]

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
