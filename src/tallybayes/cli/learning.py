"""What update and forget share: rows into, or out of, a model file."""

from __future__ import annotations

from typing import Literal

from rich.text import Text

from tallybayes.cli.console import document, progress, say
from tallybayes.cli.model_file import ModelFile, need_folder
from tallybayes.cli.options import Reading

__all__ = ["learn"]


def learn(
    action: Literal["update", "forget"],
    model: str,
    data: str,
    output: str | None,
    target: str | None,
    reading: Reading,
    json: bool,
) -> None:
    """Counts rows in addition, or takes them away; the file changes at the end, at once."""
    file = ModelFile.load(model)
    path = output or model
    need_folder(path)
    before = file.rows
    source = reading.open(data, file.gaps)
    with progress() as bar:
        what = "counting" if action == "update" else "forgetting"
        for rows in file.labelled(source, bar, what, target):
            with source.locating(rows.batch):
                labels = file.own_labels(rows.labels)
                if action == "update":
                    file.model.partial_fit(rows.batch.table, labels)
                else:
                    file.model.forget(rows.batch.table, labels)
    file.target = file.target or target
    file.save(path)
    changed = abs(file.rows - before)
    if json:
        content = {
            "model": path,
            "rows": changed,
            "rows_before": before,
            "rows_after": file.rows,
            "classes": dict(zip(file.classes, file.model.class_count_.tolist(), strict=True)),
        }
        document(action, content)
        return
    verb = "added" if action == "update" else "taken away"
    say(Text(f"{changed:,.10g} rows {verb}; {path} holds {file.rows:,.10g} now"))
