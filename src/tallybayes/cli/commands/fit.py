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
        str,
        typer.Option(
            metavar="NUMBER|auto",
            help="Smoothing of the counts of levels and bins, in rows; auto chooses it by "
            "leave-one-out.",
        ),
    ] = "1",
    calibrate: Annotated[
        str | None,
        typer.Option(
            metavar="temperature|isotonic",
            help="Correct the probabilities by leave-one-out predictions.",
        ),
    ] = None,
    missing: Annotated[
        str, typer.Option(metavar="ignore|level", help="Gaps say nothing, or are evidence.")
    ] = "ignore",
    test: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Measure on these rows, which training did not see."),
    ] = None,
    estimate: Annotated[
        bool,
        typer.Option(help="Measure by leave-one-out, without --test; it reads TRAIN again."),
    ] = True,
    json: options.Json = False,
) -> None:
    """Train a model on a file."""
    if missing not in ("ignore", "level"):
        raise Failure(f"--missing {missing!r} is neither ignore nor level", USAGE)
    if calibrate not in (None, "temperature", "isotonic"):
        raise Failure(f"--calibrate {calibrate!r} is neither temperature nor isotonic", USAGE)
    if train == "-" and output is None:
        raise Failure("from standard input the model needs a name: add -o MODEL", USAGE)
    if train == "-" and test == "-":
        raise Failure("standard input cannot be both TRAIN and --test: give a file", USAGE)
    from tallybayes.cli.families import column_families

    families = column_families(column)
    from tallybayes.cli.training import Wish, fit

    settings = {"alpha": _alpha(alpha), "missing": missing, "calibrate": calibrate}
    fit(Wish(train, target, output, families, settings, test, estimate, json), reading)


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
