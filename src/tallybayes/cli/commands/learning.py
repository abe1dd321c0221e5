"""What update and forget share: rows into, or out of, a model file."""

from __future__ import annotations

from typing import Any, Literal

from tallybayes.cli.arguments.options import Reading
from tallybayes.cli.io.locking import alone
from tallybayes.cli.io.model_file import ModelFile
from tallybayes.cli.io.places import need_place
from tallybayes.cli.io.source import Source
from tallybayes.cli.io.strays import need_finite, note_strays, strings_beside_numbers
from tallybayes.cli.report.doubts import note_new_classes, note_stale, note_unlabelled
from tallybayes.cli.terminal.console import document, line, number_of, progress, say
from tallybayes.cli.terminal.failures import Failure
from tallybayes.errors import NegativeTally

__all__ = ["learn"]

Action = Literal["update", "forget"]


def learn(
    action: Action,
    model: str,
    data: str,
    output: str | None,
    target: str | None,
    reading: Reading,
    json: bool,
) -> None:
    """Counts rows in addition, or takes them away; the file changes at the end, at once."""
    path = output or model
    need_place(path)
    with alone(path):
        file = ModelFile.load(model)
        before = file.rows
        classes = file.classes
        source = reading.open(data, file)
        stray = strings_beside_numbers(file.model)
        _count(action, file, source, target)
        need_finite(file.model, source)
        file.target = file.target or target
        file.save(path)
    changed = abs(file.rows - before)
    note_unlabelled(source)
    note_new_classes(file, classes)
    note_strays(file, source, known=stray)
    note_stale(file, path)
    if json:
        content = {
            "model": path,
            "rows": changed,
            "rows_before": before,
            "rows_after": file.rows,
            "rows_without_label": source.unlabelled,
            "classes": dict(zip(file.classes, file.class_rows.tolist(), strict=True)),
        }
        document(action, content)
        return
    verb = "added" if action == "update" else "removed"
    say(line(f"{number_of(changed, 'row')} {verb}; {path} holds {file.rows:,.10g} now"))


def _forget(file: ModelFile, source: Source, table: Any, labels: Any) -> None:
    try:
        file.model.forget(table, labels)
    except NegativeTally as error:
        where = "" if error.column is None else f"column {error.column!r}, "
        raise Failure(
            f"{source.name}: {where}class {error.label!r}: these rows were not counted. Nothing "
            "was changed: forget only rows that the model has counted"
        ) from error


def _count(action: Action, file: ModelFile, source: Source, target: str | None) -> None:
    update = action == "update"
    with progress() as bar:
        what = "counting" if update else "forgetting"
        for rows in file.labelled(source, bar, what, target, learning=True):
            with source.locating(rows.batch):
                labels = file.own_labels(rows.labels)
                if update:
                    file.model.partial_fit(rows.batch.table, labels)
                else:
                    _forget(file, source, rows.batch.table, labels)
