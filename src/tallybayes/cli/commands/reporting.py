"""Making the report of a model from files."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tallybayes.cli.arguments.reading import Reading
from tallybayes.cli.io.places import is_model, need_folder
from tallybayes.cli.terminal.console import Bar, document, line, number_of, progress, say
from tallybayes.cli.terminal.failures import USAGE, Failure

__all__ = ["add_page", "need_page", "report"]


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
    _need_place(output)
    from tallybayes.cli.commands.kinds.files import loaded

    file = loaded(model)
    from tallybayes.cli.report.data_quality import note_unlabelled

    source = file.open(data, reading)
    made, n = _written(file, source, output, target, lang)
    note_unlabelled(source, file.unit)
    if json:
        document("report", {"output": output, "rows": n, "headline": made.data["headline"]})
        return
    say(_shows(output, model, n, file.unit))


def need_page(path: str, data: list[str], model: str | None = None) -> None:
    """Raises where a page cannot be written beside other work, before that work.

    Parameters
    ----------
    path : str
        Where it goes.
    data : list of str
        What the model is judged on, which is read again.
    model : str, optional
        Where a model goes.
    """
    if "-" in data:
        raise Failure(
            "--report reads the rows a second time, and standard input is read once: give a file",
            USAGE,
        )
    if model is not None and Path(path).resolve() == Path(model).resolve():
        raise Failure(f"--report {path!r} is where the model goes: name another file", USAGE)
    _need_place(path)
    if find_spec("jinja2") is None:
        raise Failure("--report needs Jinja2: pip install 'tallybayes[report]'")


def add_page(
    file: Any,
    model: str,
    data: list[str],
    output: str,
    target: str | None,
    reading: Reading,
    json: bool,
) -> None:
    """Writes the page of a model that a command has made or measured, and prints its path."""
    n = _written(file, file.open(data, reading), output, target, "en")[1]
    if not json:
        say(_shows(output, model, n, file.unit))


def _need_place(output: str) -> None:
    if Path(output).is_file() and is_model(output):
        raise Failure(f"{output} is a model: choose another name for the page, such as report.html")
    need_folder(output)


def _written(file: Any, source: Any, output: str, target: str | None, lang: Any) -> tuple[Any, int]:
    """The report, which is saved, and how many rows it is judged on."""
    with progress() as bar:
        rows, labels = _sampled(file, source, bar, target)
        with bar.during("making the report"):
            try:
                made = file.model.report(rows, labels, lang=lang)
            except ImportError as error:
                raise Failure(str(error)) from error
    made.save(output)
    return made, len(labels)


def _shows(output: str, model: str, n: int, unit: str) -> Any:
    return line(f"{output} shows {model}, judged on {number_of(n, unit)}")


def _sampled(file: Any, source: Any, bar: Bar, target: str | None) -> tuple[Any, Any]:
    """A fair sample of rows or documents, and their labels as the model has them."""
    if file.unit == "document":
        import numpy as np

        from tallybayes.cli.commands.training.text_learning import DocumentSample

        documents = DocumentSample()
        for batch in file.labelled(source, bar, "reading", target):
            documents.add(batch)
        labels = np.array(documents.labels, dtype=np.str_)
        return documents.strings, file.own_labels(labels)
    from tallybayes.cli.commands.training.counting import MAX_SAMPLE_ROWS

    sampled: tuple[Any, Any] = file.sampled(source, bar, target, MAX_SAMPLE_ROWS)
    return sampled
