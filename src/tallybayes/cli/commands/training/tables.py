"""Training on a file, and an estimate of how good the model is on new rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tallybayes.cli.arguments.class_weights import ClassWeight
from tallybayes.cli.arguments.reading import Reading
from tallybayes.cli.commands.training.counting import Counting
from tallybayes.cli.commands.training.scoring import figures_of, figures_of_fit
from tallybayes.cli.io.locking import alone
from tallybayes.cli.io.model_file import ModelFile
from tallybayes.cli.io.rows import Rows
from tallybayes.cli.io.strays import note_strays
from tallybayes.cli.report.data_quality import note_data_quality, note_unlabelled
from tallybayes.cli.report.figures import Figures
from tallybayes.cli.report.informative_columns import Informative, measure_of, most_informative
from tallybayes.cli.report.schema_view import (
    class_table,
    columns_document,
    columns_table,
    informative_table,
)
from tallybayes.cli.terminal.console import document, line, note, number_of, progress, say
from tallybayes.inspection.weighted_summary import UNINFORMATIVE

__all__ = ["FitRequest", "fit"]


@dataclass(frozen=True)
class FitRequest:
    """The request of the command line for a fit.

    Parameters
    ----------
    target : str
    output : str
    families : dict
        Declared families by column; None leaves the column out.
    plain : bool
        Whether the model is a NaiveBayes, else a WeightedNaiveBayes.
    settings : dict
        Of that model.
    class_weight : dict, "balanced" or None
    test : str or None
        A file to measure on.
    estimate : bool
        Whether to measure how good the model is on rows left out, without a test file.
    json : bool
    """

    target: str
    output: str
    families: dict[str, Any]
    plain: bool
    settings: dict[str, Any]
    class_weight: ClassWeight
    test: str | None
    estimate: bool
    json: bool


def fit(request: FitRequest, source: Rows, reading: Reading) -> None:
    """Trains, saves, measures, and reports."""
    path = request.output
    counting = Counting(
        source,
        request.target,
        request.families,
        request.plain,
        request.settings,
        request.class_weight,
    )
    with progress() as bar:
        model = counting.run(bar)
        file = counting.model_file(model)
        with alone(path):
            file.save(path)
    informative = most_informative(file)
    if not request.json:
        _say_model(file, informative, request.target, path)
    figures = None
    with progress() as bar:
        if request.test is not None:
            test = reading.open([request.test], file)
            figures = figures_of(file, test, bar, f"test file {request.test}")
            note_unlabelled(test)
        elif request.estimate and not request.plain:
            figures = figures_of_fit(file, counting)
        elif request.estimate and file.rows > 1:
            from tallybayes.cli.commands.training.held_out import held_out_figures

            figures = held_out_figures(file, counting, bar)
    note_strays(file, source)
    note_data_quality(file, source)
    note_unlabelled(source)
    if figures is None:
        note(_no_estimate(file.rows, len(file.classes)))
    if request.json:
        _document(request, source, file, figures, informative)
        return
    if figures is not None:
        say(*figures.tables())
    if informative:
        say(*informative_table(informative, measure_of(file)))


def _document(
    request: FitRequest,
    source: Rows,
    file: ModelFile,
    figures: Figures | None,
    informative: list[Informative],
) -> None:
    content: dict[str, Any] = {
        "model": request.output,
        "target": request.target,
        "rows": file.rows,
        "rows_without_label": source.unlabelled,
        "classes": dict(zip(file.classes, file.class_rows.tolist(), strict=True)),
        "columns": columns_document(file),
        "estimate": None if figures is None else figures.document(),
        "informative": {"measure": measure_of(file), "columns": [t._asdict() for t in informative]},
    }
    document("fit", content)


def _say_model(file: ModelFile, informative: list[Informative], target: str, path: str) -> None:
    say(*columns_table(file, informative, False, path), class_table(file, target, False))
    text = f"{number_of(file.rows, 'row')} counted; the model is in {path}"
    say(line(text, "bold"), line())
    weighting = file.table.chosen.weighting
    if weighting is not None and not file.table.parts:
        note(
            f"warning: {UNINFORMATIVE}, so every prediction is the most frequent class; "
            "--plain uses all"
        )
    if len(file.classes) == 1:
        note(f"warning: {target!r} has only one value, so every prediction will be that value")


def _no_estimate(rows: float, n_classes: int) -> str:
    if rows > 1 and n_classes == 1:
        return "note: the quality was not measured: it takes rows of two classes, or --test FILE"
    if rows <= 1:
        return "note: the quality was not measured: it takes at least two rows, or --test FILE"
    return "note: the quality was not measured: add --test FILE, or leave out --no-estimate"
