"""How good a model is: figures of its predictions on new rows, or on rows left out of its fit."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.cross_validation import held_out_predictions, usual_folds
from tallybayes.decisions import CostFigures
from tallybayes.engines.contract import sampled_rows
from tallybayes.errors import OptionError, TallyWarning, called
from tallybayes.estimators.sources import Counted
from tallybayes.estimators.weighted import WeightedNaiveBayes
from tallybayes.model_files.base import MAX_SAMPLE_ROWS
from tallybayes.model_files.tables import TableFile
from tallybayes.progress import reading_shown
from tallybayes.scoring import Figures as Measured

if TYPE_CHECKING:
    from tallybayes.model_files.documents import DocumentFile

__all__ = ["UNKNOWN", "Figures", "estimate", "evaluate"]


# ---- figures: accuracy, log-loss, confusions, beside a baseline ----------------------------------
UNKNOWN = "(unknown)"


class Figures:
    """Sums over predicted rows.

    Parameters
    ----------
    classes : list of str
        Their labels.
    measured_on : str
        What the rows are, for people.
    unit : str
        "row" or "document".
    """

    confusion: NDArray[np.float64]
    classes: list[str]
    unit: str
    rows: int
    costs: CostFigures | None = None
    """What decisions have cost, where there are costs."""
    by: str | None = None
    """The column whose values `groups` are."""
    groups: dict[str, CostFigures]
    """The same for each value of a column, sorted."""

    def __init__(self, classes: list[str], measured_on: str, unit: str = "row") -> None:
        self.classes, self.unit = classes, unit
        self.measured_on = measured_on
        self.rows, self.groups = 0, {}
        self.confusion = np.zeros((len(classes) + 1, len(classes)))
        self.has_weights = self.stale = False
        self._loss = self._squares = self._squared_weights = 0.0

    def add(
        self,
        actual: NDArray[np.intp],
        proba: NDArray[np.float64],
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        """Count rows.

        Parameters
        ----------
        actual : intp array (n_rows,)
            The index of each one's class, −1 for a class unknown to the model.
        proba : float64 array (n_rows, n_classes)
            The probability of each class.
        weights : float64 array (n_rows,), optional
            How much each row counts; 1 by default.
        """
        self.has_weights |= weights is not None
        weights = np.ones(len(actual)) if weights is None else weights
        with np.errstate(divide="ignore"):
            loss = -np.log(proba[np.arange(len(actual)), actual])
        loss[actual < 0] = np.inf
        self.rows += len(actual)
        loss[weights == 0.0] = 0.0
        self._loss += float((weights * loss).sum())
        self._squares += float((weights * loss * loss).sum())
        self._squared_weights += float((weights * weights).sum())
        np.add.at(self.confusion, (actual, proba.argmax(axis=1)), weights)

    @property
    def weight(self) -> float:
        """How much the rows weigh: their number, where each weighs 1."""
        return float(self.confusion.sum())

    @property
    def unknown(self) -> float:
        """Rows of classes that the model does not know."""
        return self._number(self.confusion[-1].sum())

    @property
    def accuracy(self) -> float:
        """The share of rows whose most probable class is the true one."""
        return float(np.trace(self.confusion[:-1])) / self.weight

    @property
    def log_loss(self) -> float:
        """Mean −log p(actual class), in nats."""
        return self._loss / self.weight

    def errors(self) -> tuple[float, float]:
        """Standard errors of accuracy and log-loss."""
        p, mean, rows = self.accuracy, self.log_loss, self.weight**2 / self._squared_weights
        spread = self._squares / self.weight - mean * mean if math.isfinite(mean) else math.inf
        return math.sqrt(p * (1 - p) / rows), math.sqrt(max(spread, 0.0) / rows)

    def guess(self) -> tuple[str, float, float]:
        """The most frequent class, its share, and the log-loss of the classes' shares."""
        share = self.confusion.sum(axis=1) / self.weight
        top = int(share[:-1].argmax())  # of those that can be guessed
        some = share[share > 0.0]
        return self.classes[top], float(share[top]), float((some * -np.log(some)).sum())

    def _number(self, weight: float) -> float:
        """A number of rows, or their weight."""
        return float(weight) if self.has_weights else int(weight)

    def confusions(self) -> list[tuple[str, str, float]]:
        """How many rows of each class are taken for each, where there are any."""
        names = [*self.classes, UNKNOWN]
        found = np.argwhere(self.confusion).tolist()
        return [(names[i], self.classes[j], self._number(self.confusion[i, j])) for i, j in found]

    def document(self) -> dict[str, Any]:
        """Everything, for machines; log-loss is null where it is infinite."""
        accuracy_error, loss_error = self.errors()
        name, share, entropy = self.guess()
        return {
            "measured_on": self.measured_on,
            "rows": self.rows,
            "accuracy": self.accuracy,
            "accuracy_standard_error": accuracy_error,
            "log_loss": self.log_loss,
            "log_loss_standard_error": loss_error,
            "unknown_class_rows": self.unknown,
            "baseline": {"class": name, "accuracy": share, "log_loss": entropy},
            "confusion": [
                {"actual": a, "predicted": p, "rows": n} for a, p, n in self.confusions()
            ],
            **({} if self.costs is None else {"costs": self._costs_document(self.costs)}),
        }

    def _costs_document(self, costs: CostFigures) -> dict[str, Any]:
        groups = [{"value": text, **found.document()} for text, found in self.groups.items()]
        by = {} if self.by is None else {"by": {"column": self.by, "groups": groups}}
        return {**costs.document(), **by}

    def in_short(self) -> str:
        """The accuracy in a sentence."""
        name, share, _ = self.guess()
        return (
            f"accuracy {self.accuracy:.2%} ± {self.errors()[0]:.2%} ({self.measured_on}); "
            f"always {name!r}: {share:.2%}"
        )


class FiguresOfFit(Figures):
    """Figures that the fit of a weighted model measured.

    Parameters
    ----------
    classes : list of str
    measured_on : str
    measured : scoring.Figures
    confused : float64 array (n_classes, n_classes)
        The weight of the rows of each class that are taken for each.
    class_weight : float64 array (n_classes,)
        The weight of a row of each class.
    has_weights : bool
        Whether rows have weights besides.
    """

    rows: int

    def __init__(
        self,
        classes: list[str],
        measured_on: str,
        measured: Measured,
        confused: NDArray[np.float64],
        class_weight: NDArray[np.float64],
        *,
        has_weights: bool,
    ) -> None:
        super().__init__(classes, measured_on)
        self._measured, self._weight = measured, confused.sum(axis=1)
        rows = confused / np.where(class_weight > 0.0, class_weight, 1.0)[:, None]
        self.has_weights = has_weights
        self.confusion[:-1] = rows if has_weights else np.round(rows)
        self.rows = round(float(self.confusion.sum()))

    @property
    def accuracy(self) -> float:
        return self._measured.accuracy

    @property
    def log_loss(self) -> float:
        return self._measured.log_loss

    def errors(self) -> tuple[float, float]:
        accuracy, loss = self._measured.accuracy_se, self._measured.log_loss_se
        assert accuracy is not None
        assert loss is not None
        return accuracy, loss

    def guess(self) -> tuple[str, float, float]:
        top = int(self._weight.argmax())
        share = float(self._weight[top] / self._weight.sum())
        return self.classes[top], share, self._measured.prior_log_loss


class FiguresOfText(Figures):
    """Figures that the learning of a model of text measured, without confusions.

    Parameters
    ----------
    file : DocumentFile
    """

    def __init__(self, file: DocumentFile) -> None:
        super().__init__(file.classes, "each document left out", "document")
        self._model, self.stale = file.model, file.stale
        self._share = file.class_rows / max(file.rows, 1e-300)

    @property
    def accuracy(self) -> float:
        return float(self._model.accuracy_)

    @property
    def log_loss(self) -> float:
        return float(self._model.log_loss_)

    def errors(self) -> tuple[float, float]:
        return self._model.accuracy_se_, self._model.log_loss_se_

    def guess(self) -> tuple[str, float, float]:
        some = self._share[self._share > 0.0]
        top = int(self._share.argmax())
        return self.classes[top], float(self._share[top]), float((some * -np.log(some)).sum())

    def document(self) -> dict[str, Any]:
        """Everything, for machines."""
        found = super().document()
        for name in ("rows", "unknown_class_rows", "confusion"):
            del found[name]
        return {"counts_changed_since": self.stale, **found}


# ---- measured on rows, or by the fit itself ------------------------------------------------------
def evaluate(
    file: TableFile | DocumentFile,
    source: Any,
    target: str | None = None,
    *,
    name: str | None = None,
    costs: Any = None,
    by: str | None = None,
) -> Figures:
    """Measure a model on rows, or documents, with labels.

    Parameters
    ----------
    file : TableFile or DocumentFile
        The model, and how its data is read.
    source : Rows or DocumentSource
        What it predicts.
    target : str, optional
        The column of the labels, where it has another name than that of the fit.
    name : str, optional
        What the rows are, for people; by default the name of the source.
    costs : path, data frame, mapping or array-like, optional
        What decisions cost; by default those of the model file, if it has some.
    by : str, optional
        A column of the rows: costs are stated for each of its values, too.

    Returns
    -------
    Figures
        Accuracy and log-loss with their standard errors, confusions, and what decisions cost: the
        mean, the share that is referred, and the error of the rest.

    Raises
    ------
    SourceError
        If a column is lacking, or `by` is given and there are no costs.
    """
    decisions = file.decisions(costs)
    if by is not None and decisions is None:
        raise OptionError(
            f"{called('by')} states costs by the values of a column: name the costs by "
            f"{called('costs')}"
        )
    figures = Figures(file.classes, name or source.name, file.unit)
    groups: dict[str, CostFigures] = {}
    if decisions is not None:
        figures.costs, figures.by = CostFigures(decisions), by
    for codes, proba, weights, kept in file.measured(source, target, [] if by is None else [by]):
        figures.add(codes, proba, weights)
        if figures.costs is None or decisions is None:
            continue
        figures.costs.add(codes, proba, weights)
        values = np.array(kept.get(by or "", []), dtype=object)
        for text in dict.fromkeys(values.tolist()):
            rows = np.flatnonzero(values == text)
            of_rows = None if weights is None else weights[rows]
            group = groups.setdefault(text, CostFigures(decisions))
            group.add(codes[rows], proba[rows], of_rows)
    figures.groups = dict(sorted(groups.items()))
    return figures


def estimate(file: TableFile | DocumentFile) -> Figures | None:
    """Estimate how good a model that was just fitted is on new rows.

    Of a weighted model, and of one of text, these are the figures that its fit has measured on rows
    left out. Of a plain model, rows of a sample are predicted by models that have not seen them:
    the rows of each fold are taken out of the counts, and everything that is chosen (families,
    bins, smoothing, calibration) is chosen again without them. Other rows stay counted.

    Parameters
    ----------
    file : TableFile or DocumentFile
        As its method `fit` returns it.

    Returns
    -------
    Figures or None
        None where there was nothing to learn.
    """
    if not isinstance(file, TableFile):
        return FiguresOfText(file)
    assert file.counted is not None
    if not isinstance(file.model, WeightedNaiveBayes):
        return _held_out(file, file.counted) if file.rows > 1 else None
    weighting = file.table.chosen.weighting
    if weighting is None:
        return None
    how = "left out of the whole fit" if weighting.figures.left_out else "leave-one-out"
    sample = len(file.counted.sample.labels)
    if sample != file.counted.n_rows:
        how += f", of a sample of {sample:,} rows"
    class_weight = np.array(list(file.model.class_weight_.values()))
    if (class_weight != 1.0).any():
        how += ", weighted by class"
    place = np.searchsorted(file.model.classes_, weighting.classes)
    confused = np.zeros((len(file.classes), len(file.classes)))
    actual, predicted = place[weighting.confused[:, :2].astype(np.intp)].T
    confused[actual, predicted] = weighting.confused[:, 2]
    if file.read_by.weight is not None:
        how += f", weighted by {file.read_by.weight}"
    return FiguresOfFit(
        file.classes,
        how,
        weighting.figures,
        confused,
        class_weight,
        has_weights=file.read_by.weight is not None,
    )


def _held_out(file: TableFile, counted: Counted) -> Figures:
    """The figures of rows of the sample, each predicted by a model that has not seen it."""
    sample = counted.sample
    chosen = sampled_rows(len(sample.labels), MAX_SAMPLE_ROWS)
    table, labels = sample.x.take(chosen), sample.labels[chosen]
    weights = None if sample.weights is None else sample.weights[chosen]
    groups = sample.groups_of(chosen)
    fold = usual_folds(labels, groups)
    n_folds = int(fold.max()) + 1
    how = "leave-one-out" if n_folds == len(labels) else f"{n_folds}-fold cross-validation"
    if groups is not None:
        how += " of whole groups"
    if len(chosen) < counted.n_rows:
        how += f", a sample of {len(labels):,} rows"
    figures = Figures(file.classes, how)
    parts = held_out_predictions(file.model, table, labels, fold, weights, groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TallyWarning)  # the model itself has warned
        for i in range(n_folds):
            with reading_shown(f"measuring, part {i + 1} of {n_folds}"):
                rows, log_proba = next(parts)
            some = None if weights is None else weights[rows]
            figures.add(file.codes(labels[rows]), np.exp(log_proba), some)
    return figures
