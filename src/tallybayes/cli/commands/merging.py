"""Merging the counts of several models into one."""

from __future__ import annotations

import filecmp
import os

from tallybayes.cli.commands.kinds.files import kind_of, loaded
from tallybayes.cli.io.outputs import Output
from tallybayes.cli.terminal.console import document, line, note, number_of, say

__all__ = ["merge"]


def merge(models: list[str], output: Output, json: bool) -> None:
    """Merges model files into a new one, or into one of them.

    Only the output is locked, so two commands never wait for each other. The other models are read
    as they are at that moment; a model file is replaced whole, so each is complete.
    """
    _note_copies(models)
    with output.alone() as save:  # it may be one of the models, and change until the lock is taken
        whole = loaded(models[0])
        kind = kind_of(whole)
        for path in models[1:]:
            kind.take_in(whole, models[0], loaded(path, like=whole, first=models[0]), path)
        kind.note_stale(whole, output.path)
        save(whole)
    if json:
        content = {
            "model": output.path,
            "merged": models,
            "rows": whole.rows,
            "classes": dict(zip(whole.classes, whole.class_rows.tolist(), strict=True)),
        }
        document("merge", content)
        return
    holds = number_of(whole.rows, whole.unit)
    say(line(f"{len(models)} models merged; {output.path} holds {holds}"))


def _note_copies(models: list[str]) -> None:
    """Reports models that are the same, whose rows will then count twice."""
    for i, path in enumerate(models):
        for other in models[:i]:
            if os.path.samefile(path, other):
                note(f"warning: {path} is given twice: its rows count twice")
            elif filecmp.cmp(path, other, shallow=False):
                note(f"warning: {path} is a copy of {other}: its rows count twice")
