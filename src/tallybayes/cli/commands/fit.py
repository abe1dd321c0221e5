"""``tallybayes fit``: train on a file, and say honestly how good the model is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.text import Text

from tallybayes.cli import options
from tallybayes.cli.console import Bar, document, note, progress, say
from tallybayes.cli.counting import Counting
from tallybayes.cli.failures import USAGE, Failure
from tallybayes.cli.figures import Figures
from tallybayes.cli.model_file import ModelFile, need_folder
from tallybayes.cli.reading.source import BLOCK
from tallybayes.cli.schema_view import (
    class_table,
    columns_document,
    columns_table,
    telling_table,
)
from tallybayes.cli.scoring import figures_of
from tallybayes.cli.telling import MEASURE, most_telling

__all__ = ["run"]


def run(
    train: Annotated[
        str,
        typer.Argument(metavar="TRAIN", help="Rows with labels; - is standard input."),
    ],
    target: Annotated[
        str, typer.Option("--target", "-t", metavar="COL", help="The column with the label.")
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="MODEL", help="Else TRAIN's name with the suffix .tally."
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FAMILY",
            help="gaussian, categorical, bernoulli, poisson, binned, smooth or skip, for a column "
            "that is not to be decided for. May be repeated.",
        ),
    ] = None,
    alpha: Annotated[
        float, typer.Option(min=0.0, help="Smoothing of the counts of levels and bins, in rows.")
    ] = 1.0,
    missing: Annotated[
        str, typer.Option(metavar="ignore|level", help="Gaps say nothing, or are evidence.")
    ] = "ignore",
    test: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Measure on these rows, which training did not see."),
    ] = None,
    folds: Annotated[
        int,
        typer.Option(
            min=0, max=100, help="Folds of cross-validation, without --test; 0: no estimate."
        ),
    ] = 10,
    delimiter: options.Delimiter = None,
    format: options.FormatName = None,
    null: options.NullTexts = None,
    encoding: options.Encoding = "utf-8",
    block: options.Block = BLOCK,
    json: options.Json = False,
) -> None:
    """Train a model on a file."""
    if missing not in ("ignore", "level"):
        raise Failure(f"--missing {missing!r} is neither ignore nor level", USAGE)
    families = options.column_families(column, alpha)
    reading = options.Reading(delimiter, format, null, encoding, block)
    path = output or _default_output(train)
    need_folder(path)
    source = reading.open(train)
    if source.once or test is not None or folds == 1:
        folds = 0
    counting = Counting(
        source, target, families, {"alpha": alpha, "missing": missing}, max(folds, 1)
    )
    with progress() as bar:
        parts = counting.run(bar)
        file = counting.model_file(parts)
        file.save(path)
        if not json:
            _say_model(file, target, path)
        figures = None
        if test is not None:
            figures = figures_of(file, reading.open(test, file.gaps), bar, f"test file {test}")
        elif folds and len(parts) > 1:
            figures = _cross_validated(counting, parts, file, bar)
    telling = most_telling(file)
    if figures is None:
        note(_no_estimate(source.once))
    if json:
        content: dict[str, Any] = {
            "model": path,
            "target": target,
            "rows": file.rows,
            "classes": dict(zip(file.classes, file.model.class_count_.tolist(), strict=True)),
            "columns": columns_document(file),
            "estimate": None if figures is None else figures.document(),
            "telling": {"measure": MEASURE, "columns": [t._asdict() for t in telling]},
        }
        document("fit", content)
        return
    if figures is not None:
        say(*figures.tables())
    say(telling_table(telling))


def _default_output(train: str) -> str:
    if train == "-":
        raise Failure("from standard input the model needs a name: add -o MODEL", USAGE)
    path = train.removesuffix(".gz")
    return str(Path(path).with_suffix(".tally"))


def _say_model(file: ModelFile, target: str, path: str) -> None:
    say(columns_table(file), class_table(file, target))
    text = f"{file.rows:,.10g} rows counted; the model is in {path}"
    say(Text(text, style="bold"), Text())
    if len(file.classes) == 1:
        note(f"warning: {target!r} has one value only, so every prediction will be that")


def _no_estimate(once: bool) -> str:
    if once:
        return "no estimate of how good it is: standard input is read once; add --test FILE"
    return "no estimate of how good it is: add --test FILE, or --folds 10 where there are rows"


def _cross_validated(
    counting: Counting, parts: dict[int, Any], file: ModelFile, bar: Bar
) -> Figures:
    figures = Figures(file.classes, f"{len(parts)}-fold cross-validation")
    for labels, proba in counting.predictions(parts, np.asarray(file.model.classes_), bar):
        figures.add(file.codes(labels), proba)
    return figures
