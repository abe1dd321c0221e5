"""``tallybayes fit``: train on a file, and say honestly how good the model is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tallybayes.cli.arguments import options
from tallybayes.cli.arguments.class_weights import class_weight_of
from tallybayes.cli.terminal.failures import USAGE, Failure

__all__ = ["run"]

PLAIN = "Plain naive Bayes (with --plain)"


@options.reads_labels
def run(
    train: Annotated[
        str,
        typer.Argument(metavar="TRAIN", help="Labelled rows; - is standard input."),
    ],
    target: Annotated[str, typer.Option("--target", "-t", metavar="COL", help="The label column.")],
    reading: options.Reading,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="MODEL",
            help="The model file (default: TRAIN with .tally as suffix).",
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FAMILY",
            help="How to model a column: categorical, or none to leave it out. With --plain also "
            "other families, such as gaussian or negative-binomial, with parameters as in "
            "'age=binned(bins=16)'; an unknown name lists them. May be repeated.",
        ),
    ] = None,
    interactions: Annotated[
        str,
        typer.Option(
            metavar="NUMBER|auto",
            help="The largest number of column pairs; auto chooses it by leave-one-out.",
        ),
    ] = "auto",
    parts: options.Parts = None,
    plain: Annotated[
        bool,
        typer.Option(
            "--plain",
            metavar="",
            help="Naive Bayes without weights and pairs.",
        ),
    ] = False,
    alpha: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|auto",
            rich_help_panel=PLAIN,
            help="Pseudo-count added to each level and bin (default: 1); auto chooses it by "
            "leave-one-out.",
        ),
    ] = None,
    calibrate: Annotated[
        str | None,
        typer.Option(
            metavar="temperature|isotonic",
            rich_help_panel=PLAIN,
            help="Calibrate the probabilities on leave-one-out predictions.",
        ),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(
            metavar="ignore|level",
            rich_help_panel=PLAIN,
            help="Ignore missing values (the default), or treat them as a level.",
        ),
    ] = None,
    class_weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="balanced|LABEL=WEIGHT",
            help="Weigh rows by their label: balanced gives the classes equal weight; a label that "
            "is not named weighs 1. May be repeated.",
        ),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Measure the model on these rows instead of on those left out."
        ),
    ] = None,
    estimate: Annotated[
        bool,
        typer.Option(metavar="", help="Without --test, measure on rows held out of the whole fit."),
    ] = True,
    json: options.Json = False,
) -> None:
    """Train a model on a file and measure it.

    The model is naive Bayes with weighted columns, and with pairs of columns where they help.
    """
    if not plain:
        _need_plain(alpha=alpha, calibrate=calibrate, missing=missing)
    elif interactions != "auto" or parts is not None:
        option = "--interactions" if interactions != "auto" else "--parts"
        raise Failure(f"{option} is for weighted models: omit --plain", USAGE)
    missing = missing or "ignore"
    if missing not in ("ignore", "level"):
        raise Failure(f"--missing {missing!r} is neither ignore nor level", USAGE)
    if calibrate not in (None, "temperature", "isotonic"):
        raise Failure(f"--calibrate {calibrate!r} is neither temperature nor isotonic", USAGE)
    if train == "-" and output is None:
        raise Failure("from standard input the model needs a name: add -o MODEL", USAGE)
    if train == "-" and test == "-":
        raise Failure("standard input cannot be both TRAIN and --test: give a file", USAGE)
    weights = class_weight_of(class_weight)
    families: dict[str, Any] = {}
    if column:
        from tallybayes.cli.arguments.families import column_families

        families = column_families(column)
    settings: dict[str, Any]
    if plain:
        settings = {"alpha": _alpha(alpha or "1"), "missing": missing, "calibrate": calibrate}
    else:
        if column:
            _need_levels(column, families)
        settings = {
            "interactions": options.number_or_auto("--interactions", interactions),
            "parts": options.number_or_auto("--parts", parts or "auto", least=1),
        }
    # what is wrong with the files is known before what is slow is imported, and before the work
    from tallybayes.cli.io.places import need_data, need_place
    from tallybayes.cli.io.stream import read_once
    from tallybayes.cli.io.targets import need_columns

    output = output or str(Path(train.removesuffix(".gz")).with_suffix(".tally"))
    need_data(train)
    need_place(output)
    if test is not None:
        need_data(test)
    source = reading.open(train)
    if source.header is not None:
        need_columns(source, target, families, source.header)
    if test is not None and not read_once(test):
        reading.open(test)
    from tallybayes.cli.commands.training import FitRequest, fit

    request = FitRequest(target, output, families, plain, settings, weights, test, estimate, json)
    fit(request, source, reading)


def _need_plain(**given: str | None) -> None:
    """Raises where something is asked for that a weighted model chooses by itself."""
    for name, value in given.items():
        if value is not None:
            what = (
                "takes missing values as evidence"
                if name == "missing"
                else "chooses that by itself"
            )
            raise Failure(f"--{name} is for --plain: a weighted model {what}", USAGE)


def _need_levels(column: list[str], families: dict[str, Any]) -> None:
    """Raises where a column is declared as something that a weighted model does not read."""
    from tallybayes.families import Bernoulli, Categorical

    for text, (name, family) in zip(column, families.items(), strict=True):
        plain = family in (None, Categorical(levels=getattr(family, "levels", None)), Bernoulli())
        if not plain:
            raise Failure(
                f"--column {text!r} is for --plain: a weighted model reads numbers as cells and "
                f"smooths levels as it sees fit; it takes {name}=categorical and {name}=none",
                USAGE,
            )


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
