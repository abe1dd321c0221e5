"""Making the page of a model, judged on rows or documents with labels."""

from __future__ import annotations

from collections.abc import Collection
from importlib.util import find_spec
from typing import Any, NamedTuple

from tallybayes.cli.io.outputs import Output
from tallybayes.cli.terminal.console import Bar, line, number_of, progress
from tallybayes.cli.terminal.failures import USAGE, Failure

__all__ = ["Page", "made_page", "page_beside"]


class Page(NamedTuple):
    """A page that is made, and not written so far.

    Parameters
    ----------
    report : Report
    rows : float
        How much the rows or documents weigh that the model is judged on.
    unit : str
        "row" or "document".
    """

    report: Any
    rows: float
    unit: str

    def shows(self, output: str, model: str) -> Any:
        """What the page is, once it is in the file `output`."""
        return line(f"{output} shows {model}, judged on {number_of(self.rows, self.unit)}")


def made_page(
    file: Any,
    source: Any,
    target: str | None,
    lang: Any = "en",
    *,
    model: str,
    data: list[str],
    learned: bool | None = None,
    group: str | None = None,
) -> Page:
    """The page of a model, judged on a fair sample of the rows.

    Parameters
    ----------
    file : ModelFile or TextModelFile
    source : Rows or documents
    target : str or None
    lang : {"en", "zh"}, default="en"
    model : str
        The file of the model, which the heading names.
    data : list of str
        Those of the rows, likewise.
    learned : bool, optional
        Whether the model has learned the rows; by default, whether it can have.
    group : str, optional
        The column of groups of rows, which are left out together.
    """
    name = target or file.target
    about = {"model": model, "data": ", ".join(data)} | ({"target": name} if name else {})
    with progress() as bar:
        rows, labels, weights, groups = _sampled(file, source, bar, target, group)
        with bar.during("making the report"):
            try:
                report = file.model.report(
                    rows,
                    labels,
                    sample_weight=weights,
                    groups=groups,
                    learned=learned,
                    about=about,
                    lang=lang,
                )
            except ImportError as error:
                raise Failure(str(error)) from error
    return Page(report, report.data["headline"]["rows"], file.unit)


def _sampled(
    file: Any, source: Any, bar: Bar, target: str | None, group: str | None
) -> tuple[Any, Any, Any, Any]:
    """A fair sample of rows or documents, their own labels, weights and groups."""
    if file.unit == "document":
        import numpy as np

        from tallybayes.cli.commands.training.text_learning import DocumentSample

        source.keep_group(group)
        documents = DocumentSample()
        for batch in file.labelled(source, bar, "reading", target):
            documents.add(batch, grouped=group is not None)
        labels = np.array(documents.labels, dtype=np.str_)
        return documents.strings, file.own_labels(labels), None, documents.groups
    from tallybayes.cli.commands.training.counting import MAX_SAMPLE_ROWS

    sampled: tuple[Any, Any, Any, Any] = file.sampled(source, bar, target, MAX_SAMPLE_ROWS, group)
    return sampled


def page_beside(path: str, data: list[str], reads: Collection[str], force: bool) -> Output:
    """The page that a command writes beside other work, checked before that work.

    Parameters
    ----------
    path : str
        Where it goes.
    data : list of str
        What the model is judged on, which is read again.
    reads : collection of str
        Whatever the command reads.
    force : bool
    """
    if "-" in data:
        raise Failure(
            "--report reads the rows a second time, and standard input is read once: give a file",
            USAGE,
        )
    output = Output(path, "page", reads, force=force, option="--report")
    if find_spec("jinja2") is None:
        raise Failure("--report needs Jinja2: pip install 'tallybayes[report]'")
    return output
