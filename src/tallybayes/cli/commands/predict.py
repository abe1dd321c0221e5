"""``tallybayes predict``: the class of each row, and how probable each class is."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tallybayes.cli.arguments import options
from tallybayes.cli.arguments.completion import columns_of
from tallybayes.cli.arguments.reading import Reading, reads
from tallybayes.cli.terminal.failures import USAGE, Failure
from tallybayes.cli.terminal.streams import need_output

__all__ = ["run"]


@reads
def run(
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
    """
    keep = list(dict.fromkeys(keep or []))
    if digits is not None and not proba:
        raise Failure("--digits rounds the probabilities of --proba: add --proba", USAGE)
    if output == "-":
        need_output(" or name a file with -o OUT")
    else:
        from tallybayes.cli.io.outputs import Output

        Output(output, "predictions", [model, *data], force=force)
    from collections import Counter

    from tallybayes.cli.io.loading import load
    from tallybayes.cli.io.writing import rounded, writing
    from tallybayes.cli.terminal.console import document, note, progress

    file: Any = load(model)
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
        progress(writes_output=output == "-") as bar,
        writing(output, columns, len(names) + 1, document_out, safe=safe_csv) as out,
    ):
        for kept, p in file.predicted(source, bar, keep):
            labels = [classes[k] for k in p.argmax(axis=1).tolist()]
            counts.update(labels)
            shown = p if digits is None else rounded(p, digits)
            out.write([*map(_strings, kept.values()), labels], shown if proba else None)
    if output == "-":
        return
    if json:
        content = {"rows": counts.total(), "output": output, "predicted": dict(counts)}
        document("predict", content)
    else:
        note(f"{counts.total():,} predictions are in {output}")


def _strings(column: Any) -> list[str]:
    """A column that is kept, as it is written."""
    from tallybayes.tables.columns import values_of
    from tallybayes.tables.values import as_text

    return ["" if value is None else as_text(value) for value in values_of(column)]
