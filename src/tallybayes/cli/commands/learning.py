"""What update and forget share: rows into, or out of, a model file."""

from __future__ import annotations

from typing import Any, Literal

from tallybayes.cli.arguments.reading import Reading
from tallybayes.cli.commands.kinds.files import kind_of, loaded
from tallybayes.cli.io.outputs import Output
from tallybayes.cli.terminal.console import document, line, number_of, progress, say
from tallybayes.cli.terminal.failures import Failure
from tallybayes.errors import NegativeTally

__all__ = ["learn"]

Action = Literal["update", "forget"]


def learn(
    action: Action,
    model: str,
    data: list[str],
    output: Output,
    target: str | None,
    reading: Reading,
    json: bool,
) -> None:
    """Counts rows in addition, or takes them away; the file changes at the end, at once."""
    path = output.path
    with output.alone() as save:
        file = loaded(model)
        from tallybayes.cli.report.data_quality import note_new_classes, note_unlabelled

        kind = kind_of(file)
        before = file.rows
        classes = file.classes
        source = reading.open_for(file, data)
        known = kind.before_learning(file)
        read = _count(action, file, source, target)
        kind.need_sound(file, source)
        file.target = file.target or target
        note_unlabelled(source, file.unit)
        note_new_classes(file, classes)
        kind.after_learning(file, source, known)
        kind.note_stale(file, path)
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
            "classes": dict(zip(file.classes, file.class_rows.tolist(), strict=True)),
        }
        document(action, content)
        return
    verb = "added" if action == "update" else "removed"
    say(line(f"{number_of(changed, file.unit)} {verb}; {path} holds {file.rows:,.10g} now"))


def _count(action: Action, file: Any, source: Any, target: str | None) -> int:
    """Changes the counts; how many rows or documents were read."""
    with progress() as bar:
        if action == "update":
            return int(file.learn(source, bar, target))
        try:
            return int(file.forget(source, bar, target))
        except NegativeTally as error:
            where = "" if error.column is None else f"column {error.column!r}, "
            raise Failure(
                f"{source.name}: {where}class {error.label!r}: these {file.unit}s were not "
                f"counted. Nothing was changed: forget only {file.unit}s that the model has counted"
            ) from error
