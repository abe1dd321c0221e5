"""What commands do for models of text."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes.cli.commands.kinds.contract import Kind
from tallybayes.cli.commands.training.text_learning import DocumentSample
from tallybayes.cli.io.chosen_rows import ChosenRows
from tallybayes.cli.io.document_file import DocumentFile
from tallybayes.cli.io.documents.source import DocumentSource
from tallybayes.cli.terminal.console import Bar, note
from tallybayes.cli.terminal.failures import USAGE, Failure

__all__ = ["TextModels"]


class TextModels(Kind):
    """Models of text."""

    def explain(
        self, file: DocumentFile, source: DocumentSource, rows: ChosenRows, json: bool
    ) -> None:
        from tallybayes.cli.report.text.explaining import explain

        explain(file, source, rows, json)

    def show(self, file: DocumentFile, path: str, tables: bool, show_all: bool, json: bool) -> None:
        from tallybayes.cli.report.text.showing import show

        if tables:
            raise Failure(
                "--tables is for models of tables; a model of text shows the top terms of its "
                "classes, and more of them with --all",
                USAGE,
            )
        show(file, path, show_all, json)

    def need_reweighting(self, file: DocumentFile, path: str, parts: Any) -> None:
        if parts is not None:
            raise Failure(f"--parts is for models of tables, and {path} is one of text", USAGE)

    def reweight(
        self,
        file: DocumentFile,
        source: DocumentSource,
        bar: Bar,
        target: str | None,
        parts: Any,
        group: Any,
    ) -> int:
        source.keep_group(group)
        sample = DocumentSample()
        for batch in file.labelled(source, bar, "reading", target):
            sample.add(batch, grouped=group is not None)
        given = [label or "" for label in sample.labels]  # all have one
        labels = file.own_labels(np.array(given, dtype=np.str_))
        unknown = sorted(set(given) - set(file.classes))
        if unknown:
            raise Failure(
                f"{source.name}: the class {unknown[0]!r} is not in the model: reweight takes "
                "documents that the model has counted"
            )
        with bar.during("learning weights"):
            weights = sample.weights(file.model.half_life)
            file.model.reweight(sample.strings, labels, weights, sample.groups)
        return len(labels)

    def take_in(self, whole: DocumentFile, first: str, part: DocumentFile, path: str) -> None:
        mine, theirs = whole.model.get_params(), part.model.get_params()
        whole.model.merge(part.model)
        if mine != theirs:
            note(f"note: {path} was trained with other options; those of {first} are kept")
        whole.target = whole.target or part.target
        whole.column = whole.column or part.column

    def before_learning(self, file: DocumentFile) -> Any:
        return None

    def need_sound(self, file: DocumentFile, source: DocumentSource) -> None:
        pass

    def after_learning(self, file: DocumentFile, source: DocumentSource, before: Any) -> None:
        pass

    def note_stale(self, file: DocumentFile, path: str) -> None:
        if file.needs_reweighting:
            note(
                f"warning: the ridge was learned on other counts: tallybayes reweight {path} DATA "
                "learns it again, on documents that the model has counted"
            )
