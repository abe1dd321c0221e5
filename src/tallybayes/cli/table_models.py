"""Models of tables: what commands do for them, and training one."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes.cli.console import Bar, document, line, note, number_of, progress, say
from tallybayes.cli.counting import MAX_SAMPLE_ROWS, Counting
from tallybayes.cli.figures import Figures, figures_of, figures_of_fit, made_page
from tallybayes.cli.files import Output
from tallybayes.cli.kinds import Kind
from tallybayes.cli.messages import USAGE, Failure
from tallybayes.cli.model_file import ModelFile
from tallybayes.cli.notes import (
    need_finite,
    note_data_quality,
    note_stale,
    note_strays,
    note_unlabelled,
    strings_beside_numbers,
)
from tallybayes.cli.options import ChosenRows, ClassWeight
from tallybayes.cli.reading import Reading
from tallybayes.cli.rows import Rows
from tallybayes.cli.show import (
    MEASURE,
    Informative,
    class_table,
    columns_document,
    columns_table,
    informative_table,
    most_informative,
)
from tallybayes.cross_validation import held_out_predictions, usual_folds
from tallybayes.engines.contract import sampled_rows
from tallybayes.errors import TallyWarning
from tallybayes.estimators.naive_bayes import NaiveBayes
from tallybayes.estimators.weighted import WeightedNaiveBayes
from tallybayes.explain.importances import UNINFORMATIVE

__all__ = ["FitRequest", "TableModels", "fit", "held_out_figures"]


# ---- what commands do for them -------------------------------------------------------------------
UNDECIDED_KINDS: set[str | None] = {None, "number or date"}  # of columns without a value so far


class TableModels(Kind):
    """Models of tables."""

    def explain(self, file: ModelFile, source: Rows, rows: ChosenRows, json: bool) -> None:
        from tallybayes.cli.show import explain

        if not rows:
            raise Failure(
                "Missing option '--row': the number of the row, from 0 (or --key COL=VALUE)", USAGE
            )
        explain(file, source, rows, json)

    def show(self, file: ModelFile, path: str, tables: bool, show_all: bool, json: bool) -> None:
        from tallybayes.cli.show import show

        show(file, path, tables, show_all, json)

    def need_reweighting(self, file: ModelFile, path: str, parts: Any) -> None:
        if not file.model.chooses_on_rows:
            raise Failure(
                f"{path} is a plain model without calibration: nothing in it is learned on rows "
                "but the counts, which are exact"
            )
        if parts is not None and not isinstance(file.model, WeightedNaiveBayes):
            raise Failure(f"--parts is for weighted models, and {path} is a plain one", USAGE)

    def reweight(
        self, file: ModelFile, source: Rows, bar: Bar, target: str | None, parts: Any, group: Any
    ) -> int:
        if parts is not None:
            file.model.set_params(parts=parts)
        most = file.model.sample_size
        table, labels, weights, groups = file.sampled(source, bar, target, most, group)
        with bar.during("learning weights"):
            if isinstance(file.model, WeightedNaiveBayes):
                file.model.reweight(table, labels, weights, groups)
            elif isinstance(file.model, NaiveBayes):
                file.model.recalibrate(table, labels, weights, groups)
        return len(labels)

    def take_in(self, whole: ModelFile, first: str, part: ModelFile, path: str) -> None:
        if whole.target and part.target and whole.target != part.target:
            raise Failure(
                f"{first} predicts {whole.target!r} and {path} predicts {part.target!r}: only "
                "models of one target merge"
            )
        for name in whole.kinds.keys() & part.kinds.keys():
            kinds = {whole.kinds[name], part.kinds[name]}
            if "date" in kinds and len(kinds) > 1 and not kinds & UNDECIDED_KINDS:
                raise Failure(
                    f"column {name!r} holds {whole.holds(name)} in {first} and {part.holds(name)} "
                    f"in {path}: train both with --column {name}=categorical"
                )
        mine_set, theirs_set = whole.model.get_params(), part.model.get_params()
        if type(whole.model) is type(part.model) and str(mine_set) != str(theirs_set):
            note(f"note: {path} was trained with other options; those of {first} are kept")
        whole.model.merge(part.model)
        whole.target = whole.target or part.target
        for name, kind in part.kinds.items():
            mine = whole.kinds.get(name)
            if mine in UNDECIDED_KINDS or (mine != kind and kind not in UNDECIDED_KINDS):
                whole.kinds[name] = kind if mine in UNDECIDED_KINDS else "number or text"

    def before_learning(self, file: ModelFile) -> Any:
        return strings_beside_numbers(file.model)

    def need_sound(self, file: ModelFile, source: Rows) -> None:
        need_finite(file.model, source)

    def after_learning(self, file: ModelFile, source: Rows, before: Any) -> None:
        note_strays(file, source, known=before)

    def note_stale(self, file: ModelFile, path: str) -> None:
        note_stale(file, path)


# ---- training on a file, and an estimate of how good the model is on new rows --------------------
@dataclass(frozen=True)
class FitRequest:
    """The request of the command line for a fit.

    Parameters
    ----------
    target : str
    output : Output
        Where the model goes.
    page : Output or None
        Where a page goes.
    judged_on : list of str
        The rows that the page shows the model on.
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
    group : str, optional
        The column of groups of rows, which are left out together.
    """

    target: str
    output: Output
    page: Output | None
    judged_on: list[str]
    families: dict[str, Any]
    plain: bool
    settings: dict[str, Any]
    class_weight: ClassWeight
    test: str | None
    estimate: bool
    json: bool
    group: str | None = None


def fit(request: FitRequest, source: Rows, reading: Reading) -> None:
    """Trains, measures, saves, and reports. Files are written when nothing else can fail."""
    path = request.output.path
    request.output.need_as_made()
    counting = Counting(
        source,
        request.target,
        request.families,
        request.plain,
        request.settings,
        request.class_weight,
        request.group,
    )
    with progress() as bar:
        model = counting.run(bar)
        file = counting.model_file(model)
    informative = most_informative(file)
    figures = None
    with progress() as bar:
        if request.test is not None:
            test = reading.open([request.test], file)
            figures = figures_of(file, test, bar, f"test file {request.test}")
            note_unlabelled(test)
        elif request.estimate and not request.plain:
            figures = figures_of_fit(file, counting)
        elif request.estimate and file.rows > 1:
            figures = held_out_figures(file, counting, bar)
    if not request.json:
        _note_one_class(file, request.target)
    note_strays(file, source)
    note_data_quality(file, source)
    note_unlabelled(source)
    if figures is None:
        note(_no_estimate(file.rows, len(file.classes)))
    page = None
    if request.page is not None:
        page = made_page(
            file,
            reading.open_for(file, request.judged_on),
            None,
            model=path,
            data=request.judged_on,
            learned=request.test is None,
            group=request.group if request.test is None else None,
        )
    content = _content(request, source, file, figures, informative)
    shown = [*_model_tables(file, informative, request.target, path)]
    if figures is not None:
        shown += figures.tables()
    if informative:
        shown += informative_table(informative, MEASURE)
    if figures is not None:
        shown += [line(), line(figures.in_short(), "bold")]
    with request.output.alone() as save:
        save(file)
    if page is not None and request.page is not None:
        page.report.save(request.page.path)
        shown.append(page.shows(request.page.path, path))
    if request.json:
        document("fit", content)
    else:
        say(*shown)


def _content(
    request: FitRequest,
    source: Rows,
    file: ModelFile,
    figures: Figures | None,
    informative: list[Informative],
) -> dict[str, Any]:
    """What was learned, for machines."""
    return {
        "model": request.output.path,
        "target": request.target,
        "rows": file.rows,
        "rows_without_label": source.unlabelled,
        "classes": dict(zip(file.classes, file.class_rows.tolist(), strict=True)),
        "columns": columns_document(file),
        "estimate": None if figures is None else figures.document(),
        "informative": {"measure": MEASURE, "columns": [t._asdict() for t in informative]},
    }


def _model_tables(
    file: ModelFile, informative: list[Informative], target: str, path: str
) -> list[Any]:
    """What was counted, for people."""
    text = f"{number_of(file.rows, 'row')} counted; the model is in {path}"
    return [
        *columns_table(file, informative, False, path),
        class_table(file, target, False),
        line(text, "bold"),
        line(),
    ]


def _note_one_class(file: ModelFile, target: str) -> None:
    """Reports models that predict one class."""
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


# ---- how good a plain model is on new rows, estimated on a sample of the rows that it has learned
# The rows of each fold are taken out of the counts, and everything that is chosen (families, bins,
# smoothing, calibration) is chosen again without them. Other rows of the file stay counted.
# Weighted models do not need this: their fit leaves rows out and measures itself on them.
def held_out_figures(file: ModelFile, counting: Counting, bar: Bar) -> Figures:
    """The figures of rows of the sample, each predicted by a model that has not seen it."""
    sample = counting.sample
    chosen = sampled_rows(len(sample.labels), MAX_SAMPLE_ROWS)
    table, labels = sample.x.take(chosen), sample.labels[chosen]
    weights = None if sample.weights is None else sample.weights[chosen]
    groups = sample.groups_of(chosen)
    fold = usual_folds(labels, groups)
    n_folds = int(fold.max()) + 1
    how = "leave-one-out" if n_folds == len(labels) else f"{n_folds}-fold cross-validation"
    if groups is not None:
        how += " of whole groups"
    if not counting.whole or len(chosen) < len(sample.labels):
        how += f", a sample of {len(labels):,} rows"
    figures = Figures(file.classes, how)
    parts = held_out_predictions(file.model, table, labels, fold, weights, groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TallyWarning)  # the model itself has warned
        for i in range(n_folds):
            with bar.during(f"measuring, part {i + 1} of {n_folds}"):
                rows, log_proba = next(parts)
            some = None if weights is None else weights[rows]
            figures.add(file.codes(labels[rows]), np.exp(log_proba), some)
    return figures
