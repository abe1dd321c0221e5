"""One model of what several have counted."""

from __future__ import annotations

import filecmp
import os

from tallybayes.cli.io.locking import alone
from tallybayes.cli.io.model_file import ModelFile
from tallybayes.cli.report.doubts import note_stale
from tallybayes.cli.terminal.console import document, line, note, number_of, say
from tallybayes.cli.terminal.failures import Failure

__all__ = ["merge"]

OPEN = {None, "number or date"}  # kinds of columns without a value so far


def merge(models: list[str], output: str, json: bool) -> None:
    """Merges model files into a new one, or into one of them.

    Only the output is locked, so two commands never wait for each other. The other models are read
    as they are at that moment; a model file is replaced whole, so each is complete.
    """
    _note_copies(models)
    with alone(output):  # it may be one of the models, and change until the lock is taken
        whole = ModelFile.load(models[0])
        for path in models[1:]:
            _take_in(whole, models[0], ModelFile.load(path), path)
        whole.save(output)
    note_stale(whole, output)
    if json:
        content = {
            "model": output,
            "merged": models,
            "rows": whole.rows,
            "classes": dict(zip(whole.classes, whole.class_rows.tolist(), strict=True)),
        }
        document("merge", content)
        return
    say(line(f"{len(models)} models merged; {output} holds {number_of(whole.rows, 'row')}"))


def _note_copies(models: list[str]) -> None:
    """Says which models are the same, whose rows will then count twice."""
    for i, path in enumerate(models):
        for other in models[:i]:
            if os.path.samefile(path, other):
                note(f"warning: {path} is given twice: its rows count twice")
            elif filecmp.cmp(path, other, shallow=False):
                note(f"warning: {path} is a copy of {other}: its rows count twice")


def _take_in(whole: ModelFile, first: str, part: ModelFile, path: str) -> None:
    if whole.target and part.target and whole.target != part.target:
        raise Failure(
            f"{first} predicts {whole.target!r} and {path} predicts {part.target!r}: only models "
            "of one target merge"
        )
    for name in whole.kinds.keys() & part.kinds.keys():
        kinds = {whole.kinds[name], part.kinds[name]}
        if "date" in kinds and len(kinds) > 1 and not kinds & OPEN:
            raise Failure(
                f"column {name!r} holds {whole.holds(name)} in {first} and {part.holds(name)} in "
                f"{path}: train both with --column {name}=categorical"
            )
    mine_set, theirs_set = whole.model.get_params(), part.model.get_params()
    if type(whole.model) is type(part.model) and str(mine_set) != str(theirs_set):
        note(f"note: {path} was trained with other options; those of {first} are kept")
    whole.model.merge(part.model)
    whole.target = whole.target or part.target
    for name, kind in part.kinds.items():
        mine = whole.kinds.get(name)
        if mine in OPEN or (mine != kind and kind not in OPEN):
            whole.kinds[name] = kind if mine in OPEN else "number or text"
