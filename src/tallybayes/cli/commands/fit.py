"""``tallybayes fit``: train on a file, and estimate how good the model is on new rows."""

from __future__ import annotations

from typing import Annotated

import typer

from tallybayes.cli.arguments import options
from tallybayes.cli.arguments.completion import column_families_of, columns_of
from tallybayes.cli.arguments.fit_options import FitOptions
from tallybayes.cli.arguments.reading import Reading, reads_training

__all__ = ["run"]

PLAIN = "Plain naive Bayes (with --plain)"
TEXT = "Models of text"


@reads_training
def run(
    train: Annotated[
        list[str],
        typer.Argument(
            metavar="TRAIN…",
            help="Labelled rows; - is standard input. Or documents: a folder with a folder for "
            "each class, a mailbox (mbox) for each class, or one with the label in a header.",
        ),
    ],
    reading: Reading,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "-t",
            metavar="COL",
            autocompletion=columns_of,
            help="The label's column (required for rows), or its header in a mailbox.",
        ),
    ] = None,
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
            autocompletion=column_families_of,
            help="How to model a column: categorical, none to leave it out, or text, the documents "
            "of a model of text. With --plain also "
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
    group: options.Group = None,
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
    ridge: Annotated[
        bool | None,
        typer.Option(
            "--ridge/--no-ridge",
            metavar="",
            rich_help_panel=TEXT,
            help="Whether to learn a ridge on top of the counts (default: yes); without one, a "
            "model that is updated stays as good as new.",
            show_default=False,
        ),
    ] = None,
    analyzer: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel=TEXT,
            help="What documents are split into: word, char, char_wb (characters within words) or "
            "cjk; by default word, or char for Chinese, Japanese and Korean.",
        ),
    ] = None,
    ngrams: Annotated[
        str | None,
        typer.Option(
            metavar="SHORTEST-LONGEST",
            rich_help_panel=TEXT,
            help="How many of them a term has (default: 1-2).",
        ),
    ] = None,
    n_features: Annotated[
        int | None,
        typer.Option(
            "--n-features",
            metavar="NUMBER",
            min=1,
            max=2**31 - 1,
            rich_help_panel=TEXT,
            help="Hash the terms into so many buckets, which bounds memory and drops their names.",
        ),
    ] = None,
    max_terms: Annotated[
        int | None,
        typer.Option(
            "--max-terms",
            metavar="NUMBER",
            min=2,
            rich_help_panel=TEXT,
            help="Keep at most so many terms: when documents bring more, also with update, the "
            "rarest are dropped until half as many are left.",
        ),
    ] = None,
    unlabelled: Annotated[
        str | None,
        typer.Option(
            metavar="WEIGHT|auto",
            rich_help_panel=TEXT,
            help="Learn from documents without a label, too: those with an empty label, or files "
            "beside the folders of the classes. Each counts as this much of a labelled one, from "
            "0 to 1; auto chooses it by labelled documents that are held out.",
        ),
    ] = None,
    half_life: Annotated[
        float | None,
        typer.Option(
            "--half-life",
            metavar="NUMBER",
            rich_help_panel=TEXT,
            help="Let documents fade: after so many later ones, in the order in which they are "
            "read, a document has half its weight; here and in update.",
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
    page: options.Page = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Train a model on a file and measure it.

    The model is naive Bayes with weighted columns, and with pairs of columns where they help. Of
    documents it is one of text, with weighted terms.
    """
    given = FitOptions(
        train=train,
        target=target,
        output=output,
        column=column or [],
        test=test,
        estimate=estimate,
        json=json,
        interactions=interactions,
        parts=parts,
        plain=plain,
        alpha=alpha,
        calibrate=calibrate,
        missing=missing,
        class_weight=class_weight,
        ridge=ridge,
        analyzer=analyzer,
        ngrams=ngrams,
        n_features=n_features,
        max_terms=max_terms,
        unlabelled=unlabelled,
        half_life=half_life,
        page=page,
        force=force,
        group=group,
    )
    from tallybayes.cli.commands.training.fit_kind import fit_of_its_kind

    fit_of_its_kind(given, reading)
