"""Making the report of a model from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tallybayes.cli.arguments.reading import Reading
from tallybayes.cli.commands.kinds.files import loaded
from tallybayes.cli.commands.training.counting import SAMPLE
from tallybayes.cli.commands.training.text_learning import DocumentSample
from tallybayes.cli.io.places import is_model, need_folder
from tallybayes.cli.report.doubts import note_unlabelled
from tallybayes.cli.terminal.console import Bar, document, line, number_of, progress, say
from tallybayes.cli.terminal.failures import Failure

__all__ = ["report"]


def report(
    model: str,
    data: list[str],
    output: str,
    lang: Any,
    target: str | None,
    reading: Reading,
    json: bool,
) -> None:
    """Writes the page of a model, judged on a fair sample of the rows, which the page counts."""
    if Path(output).is_file() and is_model(output):
        raise Failure(f"{output} is a model: name the page with -o report.html")
    need_folder(output)
    file = loaded(model)
    source = file.open(data, reading)
    with progress() as bar:
        rows, labels = _sampled(file, source, bar, target)
        with bar.during("making the report"):
            try:
                made = file.model.report(rows, labels, lang=lang)
            except ImportError as error:
                raise Failure(str(error)) from error
    made.save(output)
    note_unlabelled(source, file.unit)
    if json:
        headline = made.data["headline"]
        document("report", {"output": output, "rows": len(labels), "headline": headline})
        return
    say(line(f"{output} shows {model}, judged on {number_of(len(labels), file.unit)}"))


def _sampled(file: Any, source: Any, bar: Bar, target: str | None) -> tuple[Any, Any]:
    """A fair sample of rows or documents, and their labels as the model has them."""
    if file.unit == "document":
        documents = DocumentSample()
        for batch in file.labelled(source, bar, "reading", target):
            documents.add(batch)
        labels = np.array(documents.labels, dtype=np.str_)
        return documents.strings, file.own_labels(labels)
    sampled: tuple[Any, Any] = file.sampled(source, bar, target, SAMPLE)
    return sampled
