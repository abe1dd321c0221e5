"""Commands that ask a model file and leave it as it is: ``predict``, ``evaluate``, ``compare``,
``shares``, ``explain``, ``show``, ``sql``, ``export`` and ``report``.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from tallybayes import sql_dialects
from tallybayes.cli import options
from tallybayes.cli.messages import USAGE, Failure, need_output
from tallybayes.cli.options import columns_of
from tallybayes.cli.reading import Reading, reads, reads_labels

__all__ = ["compare", "evaluate", "explain", "predict", "report", "shares", "show", "sql"]


# ---- predict: the class of each row, and how probable each class is ------------------------------
@reads
def predict(
    model: options.Model,
    data: options.Data,
    reading: Reading,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="A .csv, .tsv, .jsonl, .parquet or .arrow file (default: CSV on standard output).",
        ),
    ] = "-",
    proba: Annotated[
        bool,
        typer.Option(
            "--proba",
            metavar="",
            help="Add a column p(label) for each class, with as many digits as it takes to read "
            "the same number back; --digits 3 rounds it.",
        ),
    ] = False,
    digits: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=17,
            help="Round probabilities to N significant digits.",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COL",
            autocompletion=columns_of,
            help="A column of DATA that stands beside the predictions, such as a key; may be "
            "repeated.",
            show_default=False,
        ),
    ] = None,
    costs: options.Costs = None,
    safe_csv: Annotated[
        bool,
        typer.Option(
            "--safe-csv",
            metavar="",
            help="In CSV, put ' before cells that begin with = + - or @, which a spreadsheet would "
            "run as formulas; numbers stay.",
        ),
    ] = False,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Predict the class of each row, in the order of the rows.

    Of text, the class of each document, beside its name where it has one.

    Examples:
        tallybayes predict sold.tally new.csv --proba --keep id -o predictions.csv
        tallybayes predict sold.tally new.csv --costs costs.csv
        cat new.csv | tallybayes predict sold.tally -
    """
    keep = list(dict.fromkeys(keep or []))
    if digits is not None and not proba:
        raise Failure("--digits rounds the probabilities of --proba: add --proba", USAGE)
    if output == "-":
        need_output(" or name a file with -o OUT")
    else:
        from tallybayes.cli.files import Output

        Output(output, "predictions", [model, *data], force=force)
    from collections import Counter

    from tallybayes.cli.console import document, note, progress
    from tallybayes.cli.files import loaded
    from tallybayes.cli.writing import rounded, writing

    file = loaded(model, labels=True)
    decisions = file.decisions(costs)
    source: Any = reading.open_for(file, data)
    classes = file.classes
    names = [*(["document"] if source.has_names else []), *keep]
    made = ["prediction", *(f"p({c})" for c in classes if proba)]
    for name in keep:
        if name in made:
            raise Failure(
                f"--keep {name}: predictions have a column of this name: rename it in the data",
                USAGE,
            )
    columns = [*names, *made]
    counts: Counter[str] = Counter()
    document_out = json and output == "-"
    with (
        progress(writes_output=output == "-"),
        writing(output, columns, len(names) + 1, document_out, safe=safe_csv) as out,
    ):
        for kept, p in file.predicted(source, keep):
            labels = file.named(p) if decisions is None else decisions.decide(p).decision.tolist()
            counts.update(labels)
            shown = p if digits is None else rounded(p, digits)
            out.write([*kept.values(), labels], shown if proba else None)
    if output == "-":
        return
    if json:
        content = {"rows": counts.total(), "output": output, "predicted": dict(counts)}
        document("predict", content)
    else:
        note(f"{counts.total():,} predictions are in {output}")


# ---- evaluate: figures of a model on rows with labels --------------------------------------------
@reads_labels
def evaluate(
    model: options.Model,
    data: options.Data,
    reading: Reading,
    target: options.Target = None,
    costs: options.Costs = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            autocompletion=columns_of,
            help="With --costs: state costs for each value of this column, too.",
            show_default=False,
        ),
    ] = None,
    page: options.Page = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Measure a model on rows, or documents, with labels.

    Examples:
        tallybayes evaluate sold.tally test.csv --report test.html
        tallybayes evaluate sold.tally test.csv --costs costs.csv --by region
    """
    need_output()
    beside = None
    if page is not None:
        from tallybayes.cli.files import page_beside

        beside = page_beside(page, data, [model, *data], force)
    from tallybayes.cli.console import document, progress, say
    from tallybayes.cli.figures import figures_tables
    from tallybayes.cli.files import loaded, note_unlabelled, saved_page

    file = loaded(model)
    from tallybayes.model_files import evaluate as measured

    source = reading.open_for(file, data)
    with progress():
        figures = measured(file, source, target, costs=costs, by=by)
    note_unlabelled(source, file.unit)
    if json:
        content = {"rows_without_label": source.unlabelled, "estimate": figures.document()}
        document("evaluate", {"model": model, **content})
    else:
        say(*figures_tables(figures))
    if beside is not None:
        about = {"model": model, "data": ", ".join(data)}
        with progress():
            page_of = file.report(reading.open_for(file, data), target, about=about, learned=False)
        page_of.save(beside.path)
        if not json:
            say(saved_page(page_of, beside.path, model, file.unit))


# ---- compare: what moved between the rows of two files -------------------------------------------
MOVED = 3
"""The exit code where a column moved further than --fail-over admits."""


def compare(
    old: Annotated[str, typer.Argument(metavar="OLD", help="A model, or a tally, of some rows.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The same of later rows.")],
    fail_over: Annotated[
        float | None,
        typer.Option(
            "--fail-over",
            metavar="PSI",
            min=0.0,
            help=f"Exit with {MOVED} if a column has a larger population stability index; 0.25 is "
            "usual.",
            show_default=False,
        ),
    ] = None,
    show_all: Annotated[
        bool, typer.Option("--all", metavar="", help="All columns, not those 20 that moved most.")
    ] = False,
    report: Annotated[
        str | None,
        typer.Option(
            "--report",
            metavar="PAGE",
            help="Write a page of HTML that shows what moved.",
            show_default=False,
        ),
    ] = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Compare two tallies: what moved, from the counts alone.

    Examples:
        tallybayes compare may.tally june.tally
        tallybayes compare sold.tally june.tally --fail-over 0.25
        tallybayes compare sold.tally june.tally --report june.html
    """
    need_output()
    from tallybayes.cli.files import Output

    page = Output(report, "page", [old, new], force=force, option="--report") if report else None
    from tallybayes import compare as compared
    from tallybayes.cli.console import document, say
    from tallybayes.cli.files import loaded
    from tallybayes.sources import is_model

    for path in (old, new):
        if os.path.isfile(path) and not is_model(path):
            raise Failure(
                f"{path} holds rows, and compare takes counts: tallybayes count {path} "
                "--no-target -o FILE counts them",
                USAGE,
            )
    files = [loaded(path) for path in (old, new)]
    for path, file in zip((old, new), files, strict=True):
        if file.unit == "document":
            raise Failure(f"{path} counts documents: compare takes tallies of tables")
    found = compared(*(file.model for file in files))
    if json:
        document("compare", {"old": old, "new": new, **found.document()})
    else:
        from tallybayes.cli.show import comparison_tables

        say(*comparison_tables(found, show_all))
    if page is not None:
        from tallybayes import comparison_report

        comparison_report(found, about={"old": old, "new": new}).save(page.path)
    if fail_over is not None and found.largest_psi > fail_over:
        raise typer.Exit(MOVED)


# ---- shares: how often each class occurs among rows without labels -------------------------------
@reads
def shares(
    model: options.Model,
    rows: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA…",
            help="Rows as predict takes them; or files of counts, as count --no-target writes.",
        ),
    ],
    reading: Reading,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="MODEL",
            help="Write the model with these shares as its class prior.",
            show_default=False,
        ),
    ] = None,
    confidence: Annotated[
        float,
        typer.Option(metavar="P", help="The share of intervals that hold the true share. [0.9]"),
    ] = 0.9,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Estimate how often each class occurs among rows without labels.

    No row is predicted: the shares of levels and of bins of numbers are those of the classes,
    mixed, if only the classes moved. Columns of which that is not true are named. Ten files of
    counts or more, of parts that were drawn alike, tell how far columns depend on each other.

    Examples:
        tallybayes shares sold.tally july.csv
        tallybayes shares sold.tally july.tally -o july-prior.tally
    """
    need_output()
    from tallybayes.cli.files import Output

    out = Output(output, "model", rows, [model], force=force) if output else None
    from tallybayes.cli.console import document, progress, say
    from tallybayes.cli.files import loaded
    from tallybayes.sources import is_model, need_data

    counts = [path for path in rows if os.path.isfile(path) and is_model(path)]
    if counts and len(counts) < len(rows):
        other = next(path for path in rows if path not in counts)
        raise Failure(f"{counts[0]} holds counts and {other} rows: give either", USAGE)
    for path in [] if counts else rows:
        need_data(path)
    with nullcontext() if out is None else out.alone() as save:
        file, *parts = [loaded(path) for path in (model, *counts)]
        for path, part in zip((model, *counts), (file, *parts), strict=True):
            if part.unit == "document":
                raise Failure(f"{path} counts documents: shares takes models of tables")
        with progress():
            if parts:
                tallies = [part.model.tally_ for part in parts]
                found = file.model.estimate_class_prior(tallies, confidence)
            else:
                found = file.class_prior(reading.open_for(file, rows), confidence)
        if save is not None:
            file.model = file.model.with_class_prior(found)
            save(file)
    if json:
        document("shares", {"model": model, "output": output, **found.document()})
        return
    from tallybayes.cli.show import shares_tables

    say(*shares_tables(found))


# ---- explain: why a row got its class ------------------------------------------------------------
@reads
def explain(
    model: options.Model,
    data: options.Data,
    reading: Reading,
    row: Annotated[
        list[int] | None,
        typer.Option(
            min=0,
            metavar="N",
            help="The number of the row or document, from 0; a single document needs none. May be "
            "repeated.",
            show_default=False,
        ),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COL=VALUE",
            help="The rows that hold a value in a column, such as --key id=1007. May be repeated.",
            show_default=False,
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Explain rows: what each column adds for and against their class.

    Of text, one document: which of its words tell the class, marked in the text.

    Examples:
        tallybayes explain sold.tally new.csv --row 3
    """
    need_output()
    keys = options.keys_of(key or [])
    from tallybayes.cli.files import loaded
    from tallybayes.model_files import ChosenRows

    chosen = ChosenRows(tuple(dict.fromkeys(row or [])), keys)
    file = loaded(model)
    source = reading.open_for(file, data)
    if file.unit == "document":
        from tallybayes.cli.show_text import explain as of_text

        of_text(file, source, chosen, json)
    else:
        from tallybayes.cli.show import explain as of_rows

        of_rows(file, source, chosen, json)


# ---- show: what a model file holds ---------------------------------------------------------------
def show(
    model: options.Model,
    tables: Annotated[
        bool,
        typer.Option("--tables", metavar="", help="Also print each column's parameters by class."),
    ] = False,
    show_all: Annotated[
        bool,
        typer.Option(
            "--all",
            metavar="",
            help="All columns, classes and tables, not 20 of each; of text 50 terms of each class.",
        ),
    ] = False,
    json: options.Json = False,
) -> None:
    """Show a model: its columns, classes, options, and with --tables its parameters.

    Of a model of text: its vocabulary, how good it is, and the top terms of each class.

    Examples:
        tallybayes show sold.tally --tables
    """
    need_output()
    from tallybayes.cli.files import loaded

    file = loaded(model, labels=True)
    if file.unit != "document":
        from tallybayes.cli.show import show as show_table
        from tallybayes.cli.show import show_labels
        from tallybayes.model_files import TableFile

        if not isinstance(file, TableFile):
            show_labels(file, model, show_all, json)
            return
        show_table(file, model, tables, show_all, json)
        return
    if tables:
        raise Failure(
            "--tables is for models of tables; a model of text shows the top terms of its "
            "classes, and more of them with --all",
            USAGE,
        )
    from tallybayes.cli.show_text import show as show_documents

    show_documents(file, model, show_all, json)


# ---- sql: a model as one SELECT ------------------------------------------------------------------
def sql(
    model: options.Model,
    table: Annotated[
        str, typer.Option("--table", "-t", metavar="TABLE", help="The table whose rows are scored.")
    ],
    schema: Annotated[
        str | None, typer.Option(metavar="SCHEMA", help="The schema that the table is in.")
    ] = None,
    dialect: Annotated[
        str,
        typer.Option(
            metavar="DIALECT",
            help=f"{', '.join(sql_dialects())}.",
        ),
    ] = "duckdb",
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COL", help="A column of the table that the result has, too; may be repeated."
        ),
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="COL=TYPE",
            help="What a column holds in the table, where the model learned another: text, number, "
            "integer, decimal, boolean or date; may be repeated.",
        ),
    ] = None,
) -> None:
    """Print a model as one SELECT, which predicts rows in a database as predict does.

    The result has the label, prediction, and a column p(label) for each class.

    Examples:
        tallybayes sql sold.tally --table new --keep id --dialect postgres > score.sql
    """
    need_output()
    if dialect not in sql_dialects():
        raise Failure(f"--dialect {dialect!r} is not one of {', '.join(sql_dialects())}", USAGE)
    if find_spec("sqlglot") is None:
        raise Failure("SQL is written by sqlglot: pip install 'tallybayes[sql]'")
    from tallybayes.cli.files import loaded

    found = loaded(model).classifier
    if not hasattr(found, "to_sql"):
        raise Failure(f"{model} is a model of documents, which SQL cannot express: use predict")
    kinds = dict(_pair(given) for given in types or [])
    name = table if schema is None else [schema, table]
    print(found.to_sql(name, dialect, types=kinds, keep=keep or []))


def _pair(given: str) -> tuple[str, str]:
    """A column and its type."""
    column, equals, kind = given.rpartition("=")
    if not equals:
        raise Failure(f"--type takes COL=TYPE, as in --type code=integer, got {given!r}", USAGE)
    return column, kind


# ---- export: a model as ONNX, Python or JavaScript -----------------------------------------------
def export(
    model: options.Model,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The file to write; its ending says what: .onnx, .py, .mjs or .js.",
        ),
    ],
    force: options.Force = False,
) -> None:
    """Write a model as a file that predicts without tallybayes: ONNX, Python or JavaScript.

    A module of JavaScript has its types for TypeScript beside it.

    Examples:
        tallybayes export sold.tally -o sold.onnx
        tallybayes export sold.tally -o sold.mjs
    """
    from tallybayes.cli.console import say
    from tallybayes.cli.files import Output, loaded

    out = Output(output, "export", [model], force=force)
    start, ending = os.path.splitext(output)
    if ending.lower() in (".mjs", ".js"):  # beside which the types are
        Output(f"{start}.d.{ending[1:].replace('js', 'ts')}", "export", [model], force=force)
    file = loaded(model)
    if file.costs is not None:
        raise Failure(f"{model} decides by costs, which sql writes: such a file would not")
    say(f"Saved {' and '.join(file.model.export(out.path))}")


# ---- report: one page of HTML that shows a model and how good it is ------------------------------
LANGUAGES = ("en", "zh")


@reads_labels
def report(
    model: options.Model,
    data: options.Data,
    reading: Reading,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="PAGE", help="The page to write.")
    ] = "report.html",
    lang: Annotated[
        str, typer.Option("--lang", metavar="en|zh", help="The language of the page.")
    ] = "en",
    target: options.Target = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Write a page that shows a model, judged on rows or documents with labels.

    DATA holds new rows, or rows that the model has counted: each of those is predicted without
    itself. The page is one file that needs no network.

    Examples:
        tallybayes report sold.tally test.csv -o sold.html
    """
    if lang not in LANGUAGES:
        raise Failure(f"--lang {lang!r}: the languages are {' and '.join(LANGUAGES)}", USAGE)
    from tallybayes.cli.files import Output

    out = Output(output, "page", [model, *data], force=force)
    from tallybayes.cli.console import document, progress, say
    from tallybayes.cli.files import loaded, note_unlabelled, saved_page

    file = loaded(model)
    source = reading.open_for(file, data)
    about = {"model": model, "data": ", ".join(data)}
    with progress():
        page = file.report(source, target, about=about, lang=lang)
    note_unlabelled(source, file.unit)
    page.save(out.path)
    if json:
        headline = page.data["headline"]
        document("report", {"output": out.path, "rows": headline["rows"], "headline": headline})
        return
    say(saved_page(page, out.path, model, file.unit))
