"""``tallybayes fit``: train on a file, and say honestly how good the model is."""

from __future__ import annotations

from typing import Annotated

import typer

from tallybayes.cli import options
from tallybayes.cli.failures import USAGE, Failure

__all__ = ["run"]


@options.reads
def run(
    train: Annotated[
        str,
        typer.Argument(metavar="TRAIN", help="Rows with labels; - is standard input."),
    ],
    target: Annotated[
        str, typer.Option("--target", "-t", metavar="COL", help="The column with the label.")
    ],
    reading: options.Reading,
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
            help="gaussian, categorical, bernoulli, poisson, binned or smooth, with parameters as "
            "in 'age=binned(bins=16)', or none to leave it out; for a column that is not to be "
            "decided for. May be repeated.",
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
    json: options.Json = False,
) -> None:
    """Train a model on a file."""
    if missing not in ("ignore", "level"):
        raise Failure(f"--missing {missing!r} is neither ignore nor level", USAGE)
    if train == "-" and output is None:
        raise Failure("from standard input the model needs a name: add -o MODEL", USAGE)
    if train == "-" and test == "-":
        raise Failure("standard input cannot be both TRAIN and --test: give a file", USAGE)
    from tallybayes.cli.families import column_families

    families = column_families(column)
    from tallybayes.cli.training import Wish, fit

    settings = {"alpha": alpha, "missing": missing}
    fit(Wish(train, target, output, families, settings, test, folds, json), reading)
