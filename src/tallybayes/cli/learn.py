"""Commands that change what a model file has counted or learned: ``update`` and ``forget``,
``count``, ``merge`` and ``release``, and ``reweight``.

A file changes at the end of a command, at once.
"""

from __future__ import annotations

import filecmp
import os
from collections.abc import Callable
from typing import Annotated, Any, Literal

import typer

from tallybayes.cli import options
from tallybayes.cli.messages import USAGE, Failure
from tallybayes.cli.quick_imports import import_estimators
from tallybayes.cli.reading import Reading, reads_labels, reads_training
from tallybayes.errors import NegativeTally, listed

__all__ = ["count", "forget", "merge", "release", "reweight", "update"]

Action = Literal["update", "forget"]


# ---- update and forget: rows into, or out of, a model file ---------------------------------------
def _command(action: Action, doc: str) -> Callable[..., None]:
    """The two commands differ in their name and in the sign of what they count."""

    @reads_labels
    def run(
        model: options.Model,
        data: options.Data,
        reading: Reading,
        output: options.Output = None,
        target: options.Target = None,
        force: options.Force = False,
        json: options.Json = False,
    ) -> None:
        from tallybayes.cli.files import Output

        out = Output(output or model, "model", data, [model], force=force)
        _learn(action, model, data, out, target, reading, json)

    run.__doc__ = doc
    return run


update: Callable[..., None] = _command(
    "update",
    """Add rows to a model: it becomes the model of all rows.

    Examples:
        tallybayes update sold.tally tuesday.csv
    """,
)
forget: Callable[..., None] = _command(
    "forget",
    """Remove rows from a model, as if it had never seen them.

    Examples:
        tallybayes forget sold.tally withdrawn.csv
    """,
)


def _learn(
    action: Action,
    model: str,
    data: list[str],
    output: Any,
    target: str | None,
    reading: Reading,
    json: bool,
) -> None:
    """Counts rows in addition, or takes them away."""
    from tallybayes.cli.console import document, line, note, number_of, say
    from tallybayes.cli.files import loaded, note_stale, note_unlabelled

    path = output.path
    with output.alone() as save:
        file = loaded(model)
        before = file.rows
        classes = file.classes
        source = reading.open_for(file, data)
        read = _count(action, file, source, target)
        note_unlabelled(source, file.unit)
        rows = file.rows_of_classes
        new = [f"{c!r} ({number_of(rows[c], file.unit)})" for c in rows if c not in classes]
        if new:
            what = "class is" if len(new) == 1 else "classes are"
            note(
                f"warning: the {what} new to the model: {listed(new, 10)}. Correct the data if "
                f"that is a misspelling: tallybayes forget takes the {file.unit}s away again"
            )
        for text in file.stray_notes(source):
            note(f"note: {text}")
        note_stale(file, path)
        save(file)
    fades = action == "update" and getattr(file.model, "half_life", None) is not None
    changed = read if fades else abs(file.rows - before)
    if json:
        content = {
            "model": path,
            "rows": changed,
            "rows_before": before,
            "rows_after": file.rows,
            "rows_without_label": source.unlabelled,
            "classes": file.rows_of_classes,
        }
        document(action, content)
        return
    verb = "added" if action == "update" else "removed"
    say(line(f"{number_of(changed, file.unit)} {verb}; {path} holds {file.rows:,.10g} now"))


def _count(action: Action, file: Any, source: Any, target: str | None) -> int:
    """Changes the counts; how many rows or documents were read."""
    from tallybayes.cli.console import progress

    with progress():
        if action == "update":
            return int(file.learn(source, target))
        try:
            return int(file.forget(source, target))
        except NegativeTally as error:
            where = "" if error.column is None else f"column {error.column!r}, "
            raise Failure(
                f"{source.name}: {where}class {error.label!r}: these {file.unit}s were not "
                f"counted. Nothing was changed: forget only {file.unit}s that the model has counted"
            ) from error


# ---- count: the counts of some rows alone, to be merged with those of others ---------------------
@reads_training
def count(
    data: Annotated[list[str], typer.Argument(metavar="PART…", help="Rows; - is standard input.")],
    reading: Reading,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="MODEL", help="The file of the counts.")
    ],
    target: Annotated[str | None, options.LABEL_COLUMN] = None,
    no_target: Annotated[
        bool,
        typer.Option(
            "--no-target",
            metavar="",
            help="Count rows without labels, for compare and shares, in place of -t.",
        ),
    ] = False,
    column: options.Columns = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Count a part of the rows: merge adds the counts of all parts to one model.

    The file is a plain model of its part, which every command takes. Nothing is measured. Rows
    without labels are of one class, and what moved between such counts and others is compared.

    Examples:
        tallybayes count monday.csv --target sold -o monday.tally
        tallybayes count june.csv --no-target -o june.tally
    """
    if no_target == (target is not None):
        raise Failure(
            "count takes the column of labels, --target COL, or counts rows without labels, "
            "--no-target: give one of the two",
            USAGE,
        )
    from tallybayes.cli.files import Output
    from tallybayes.model_files import need_columns

    out = Output(output, "model", data, force=force)
    families = {}
    if column:
        from tallybayes.cli.families import column_families

        families = column_families(column)
    rows = reading.open(
        data,
        left_out=[name for name, family in families.items() if family is None],
        need=lambda rows: need_columns(rows, target, families),
    )
    import_estimators()
    from tallybayes.cli.console import document, line, number_of, progress, say
    from tallybayes.cli.files import note_unlabelled
    from tallybayes.model_files import TableFile

    out.need_as_made()
    with progress():
        file = TableFile.fit(rows, target, families, plain=True)
    note_unlabelled(rows)
    with out.alone() as save:
        save(file)
    if json:
        content = {"rows": file.rows, "rows_without_label": rows.unlabelled}
        document("count", {"model": out.path, **content, "classes": file.rows_of_classes})
        return
    say(line(f"{number_of(file.rows, 'row')} counted; the counts are in {out.path}"))


# ---- merge: the counts of several models into one ------------------------------------------------
def merge(
    models: Annotated[list[str], typer.Argument(metavar="MODEL…", help="Two or more model files.")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="MODEL", help="The merged model.")
    ],
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Merge models into the model of all their rows.

    Examples:
        tallybayes merge monday.tally tuesday.tally -o week.tally
    """
    # Only the output is locked, so two commands never wait for each other. The other models are
    # read as they are at that moment; a model file is replaced whole, so each is complete.
    if len(models) < 2:
        raise Failure("merge needs two models or more: tallybayes merge A B -o C", USAGE)
    from tallybayes.cli.files import Output
    from tallybayes.sources import need_model

    for model in models:
        need_model(model)
    out = Output(output, "model", changes=models, force=force)
    from tallybayes.cli.console import document, line, note, number_of, say
    from tallybayes.cli.files import loaded, note_stale

    _note_copies(models)
    with out.alone() as save:  # it may be one of the models, and change until the lock is taken
        whole = loaded(models[0])
        for path in models[1:]:
            part = loaded(path)
            if part.unit != whole.unit:
                raise Failure(
                    f"{models[0]} counts {whole.unit}s and {path} counts {part.unit}s: only models "
                    "of one kind merge"
                )
            if not whole.merge(part):
                note(f"note: {path} was trained with other options; those of {models[0]} are kept")
        note_stale(whole, out.path)
        save(whole)
    if json:
        content = {
            "model": out.path,
            "merged": models,
            "rows": whole.rows,
            "classes": whole.rows_of_classes,
        }
        document("merge", content)
        return
    holds = number_of(whole.rows, whole.unit)
    say(line(f"{len(models)} models merged; {out.path} holds {holds}"))


def _note_copies(models: list[str]) -> None:
    """Reports models that are the same, whose rows will then count twice."""
    from tallybayes.cli.console import note

    for i, path in enumerate(models):
        for other in models[:i]:
            if os.path.samefile(path, other):
                note(f"warning: {path} is given twice: its rows count twice")
            elif filecmp.cmp(path, other, shallow=False):
                note(f"warning: {path} is a copy of {other}: its rows count twice")


# ---- release: counts with noise, which may leave the house ---------------------------------------
def release(
    counts: Annotated[
        str, typer.Argument(metavar="COUNTS", help="A plain model or tally, written by count.")
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="MODEL", help="The file of the noised counts.")
    ],
    schema: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="What is public: JSON of classes and of columns with their levels. Other columns "
            "are left out. A tally that was counted by a declared schema needs none.",
            show_default=False,
        ),
    ] = None,
    epsilon: Annotated[
        float, typer.Option(metavar="NUMBER", help="ε of the whole release; less protects more.")
    ] = 1.0,
    delta: Annotated[
        float, typer.Option(metavar="NUMBER", help="δ; above 0 the noise is Gaussian.")
    ] = 0.0,
    rows_per_person: Annotated[
        int, typer.Option(metavar="N", help="The most rows that one person has.")
    ] = 1,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Add noise to counts, so that they tell of no person.

    The file is a plain model of the noised counts, which predict, show and merge take. Releases of
    the same rows add up: keep the sum of their ε in mind.

    Examples:
        tallybayes release sold.tally -o public.tally --schema public.json --epsilon 1
    """
    from importlib.util import find_spec

    from tallybayes.cli.files import Output
    from tallybayes.sources import need_model

    need_model(counts)
    out = Output(output, "model", [counts], force=force)
    if find_spec("opendp") is None:
        raise Failure("release needs OpenDP: pip install 'tallybayes[private]'")
    out.need_as_made()
    from tallybayes import privacy
    from tallybayes.cli.console import document, line, say
    from tallybayes.tally import TableTally

    tally = TableTally.load(counts)
    if schema is not None:
        tally = tally.in_schema(_declared(schema))
    noised = privacy.release(tally, epsilon, delta, rows_per_person)
    noised.save(out.path)
    if json:
        columns = {
            group.names[0]: group.levels[0].tolist()
            for group in noised.schema.groups
            if group.names is not None and group.levels is not None
        }
        promise = {"epsilon": epsilon, "delta": delta, "rows_per_person": rows_per_person}
        document("release", {"model": out.path, **promise, "columns": columns})
        return
    say(line(f"counts of {len(noised.schema.groups)} columns released; {out.path} has {noised}"))


def _declared(path: str) -> Any:
    """The schema that a file of JSON declares."""
    from json import JSONDecodeError, load

    from tallybayes import Schema

    rule = f"{path} declares what is public, as"
    example = '{"classes": ["no", "yes"], "columns": {"job": ["nurse", "clerk"]}}'
    try:
        with open(path, encoding="utf-8") as file:
            found = load(file)
    except (JSONDecodeError, UnicodeDecodeError) as error:
        raise Failure(f"{rule} {example}; it is not JSON: {error}") from error
    fits = isinstance(found, dict) and found.keys() == {"classes", "columns"}
    if not fits or not isinstance(found["columns"], dict):
        raise Failure(f"{rule} {example}; it holds something else: write it like this")
    return Schema.declare(found["columns"], found["classes"])


# ---- reweight: weights, pairs and calibration learned again, under the present counts ------------
@reads_labels
def reweight(
    model: options.Model,
    data: options.Data,
    reading: Reading,
    output: options.Output = None,
    target: options.Target = None,
    parts: options.Parts = None,
    force: options.Force = False,
    group: options.Group = None,
    json: options.Json = False,
) -> None:
    """Learn weights and pairs again after update, forget or merge.

    DATA holds rows that the model has counted: all, or a random sample. The counts do not change.

    Examples:
        tallybayes reweight sold.tally train.csv
    """
    from tallybayes.cli.files import Output

    # as many parts as before, unless they are given
    n_parts = None if parts is None else options.number_or_auto("--parts", parts, minimum=1)
    out = Output(output or model, "model", data, [model], force=force)
    from tallybayes.cli.console import document, line, number_of, progress, say
    from tallybayes.cli.files import loaded, note_unlabelled

    with out.alone() as save:
        file = loaded(model)
        file.need_reweighting(n_parts)
        source = reading.open_for(file, data)
        with progress():
            n_rows = file.reweight(source, target, n_parts, group)
        note_unlabelled(source, file.unit)
        save(file)
    if json:
        document("reweight", {"model": out.path, "rows": n_rows, "rows_counted": file.rows})
        return
    learned = number_of(n_rows, file.unit)
    say(line(f"learned on {learned}; {out.path} holds {file.rows:,.10g} as before"))
