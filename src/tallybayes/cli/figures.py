"""How good a model is: figures of its predictions, and the page that shows them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.cli.console import Bar, line, number_of, progress, table
from tallybayes.cli.messages import Failure
from tallybayes.scoring import Figures as Measured

if TYPE_CHECKING:
    from tallybayes.cli.counting import Counting
    from tallybayes.cli.model_file import ModelFile

__all__ = ["Figures", "FiguresOfFit", "Page", "figures_of", "figures_of_fit", "made_page"]


# ---- figures: accuracy, log-loss, confusions, beside a baseline ----------------------------------
MAX_TABLE_CLASSES = 8  # classes that a confusion table shows; of more, the most frequent confusions
UNKNOWN = "(unknown)"


class Figures:
    """Sums over predicted rows.

    Parameters
    ----------
    classes : list of str
    measured_on : str
        What the rows are, for people.
    unit : str
        "row" or "document".
    """

    confusion: NDArray[np.float64]
    classes: list[str]
    unit: str
    rows: int

    def __init__(self, classes: list[str], measured_on: str, unit: str = "row") -> None:
        self.classes, self.unit = classes, unit
        self.measured_on = measured_on
        self.rows = 0
        self.confusion = np.zeros((len(classes) + 1, len(classes)))
        self.has_weights = False
        self._loss = self._squares = self._squared_weights = 0.0

    def add(
        self,
        actual: NDArray[np.intp],
        proba: NDArray[np.float64],
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        """Counts rows: the index of each one's class, −1 for a class unknown to the model."""
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
        return float(np.trace(self.confusion[:-1])) / self.weight

    @property
    def log_loss(self) -> float:
        """Mean −log p(actual class), in nats."""
        return self._loss / self.weight

    def _errors(self) -> tuple[float, float]:
        """Standard errors of accuracy and log-loss."""
        p, mean, rows = self.accuracy, self.log_loss, self.weight**2 / self._squared_weights
        spread = self._squares / self.weight - mean * mean if math.isfinite(mean) else math.inf
        return math.sqrt(p * (1 - p) / rows), math.sqrt(max(spread, 0.0) / rows)

    def _guess(self) -> tuple[str, float, float]:
        """The most frequent class, its share, and the log-loss of the classes' shares."""
        share = self.confusion.sum(axis=1) / self.weight
        top = int(share[:-1].argmax())  # of those that can be guessed
        some = share[share > 0.0]
        return self.classes[top], float(share[top]), float((some * -np.log(some)).sum())

    def _number(self, weight: float) -> float:
        """A number of rows, or their weight."""
        return float(weight) if self.has_weights else int(weight)

    def _confusions(self) -> list[tuple[str, str, float]]:
        names = [*self.classes, UNKNOWN]
        found = np.argwhere(self.confusion).tolist()
        return [(names[i], self.classes[j], self._number(self.confusion[i, j])) for i, j in found]

    def document(self) -> dict[str, Any]:
        """Everything, for machines; log-loss is null where it is infinite."""
        accuracy_error, loss_error = self._errors()
        name, share, entropy = self._guess()
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
                {"actual": a, "predicted": p, "rows": n} for a, p, n in self._confusions()
            ],
        }

    def in_short(self) -> str:
        """The accuracy in a sentence."""
        name, share, _ = self._guess()
        return (
            f"accuracy {self.accuracy:.2%} ± {self._errors()[0]:.2%} ({self.measured_on}); "
            f"always {name!r}: {share:.2%}"
        )

    def tables(self) -> list[Any]:
        """Everything, for people."""
        accuracy_error, loss_error = self._errors()
        name, share, entropy = self._guess()
        loss, plus = (
            (f"{self.log_loss:.4f}", f"± {loss_error:.4f}")
            if math.isfinite(self.log_loss)
            else ("infinite", "")
        )
        numbers = table(
            f"Quality ({self.measured_on}, {number_of(self.rows, self.unit)})",
            ["measure", ">this model", "std. error", f">always {name!r}"],
            [
                ["accuracy", f"{self.accuracy:.2%}", f"± {accuracy_error:.2%}", f"{share:.2%}"],
                ["log-loss (nats)", loss, plus, f"{entropy:.4f} *"],
            ],
        )
        remarks = [
            f"accuracy: the share of {self.unit}s whose most probable class is the true one",
            "log-loss: the mean of -ln(probability of the true class); 0 is perfect",
            f"* when each {self.unit} is given the shares of the classes as its probabilities",
        ]
        if self.unknown:
            remarks.append(
                f"{number_of(self.unknown, self.unit)} of a class that the model does not know: "
                "errors, and an infinite log-loss"
            )
        dim = [line(remark, "dim") for remark in remarks]
        return [numbers, *dim, line(), self._confusion_table()]

    def _confusion_table(self) -> Any:
        if len(self.classes) > MAX_TABLE_CLASSES:
            wrong = [c for c in self._confusions() if c[0] != c[1]]
            wrong.sort(key=lambda c: -c[2])
            found = [(a, p, f"{n:,.10g}") for a, p, n in wrong[:10]]
            return table("Most frequent errors", ["true", "predicted", f">{self.unit}s"], found)
        names = [*self.classes, UNKNOWN][: len(self.classes) + bool(self.unknown)]
        rows = []
        for i, name in enumerate(names):
            cells = [
                line(f"{n:,.10g}", "bold" if i == j else "")
                for j, n in enumerate(self.confusion[i].tolist())
            ]
            total = float(self.confusion[i].sum())
            right = f"{self.confusion[i, i] / total:.1%}" if i < len(self.classes) and total else ""
            rows.append([name, *cells, right])
        heads = ["true \\ predicted", *(f">{c}" for c in self.classes), ">correct"]
        what = f"{self.unit}s, by weight" if self.has_weights else f"{self.unit}s"
        return table(f"Confusion matrix ({what})", heads, rows)


class FiguresOfFit(Figures):
    """Figures that the fit of a weighted model measured.

    Parameters
    ----------
    classes : list of str
    measured_on : str
    measured : estimators.weighting.Figures
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

    def _errors(self) -> tuple[float, float]:
        accuracy, loss = self._measured.accuracy_se, self._measured.log_loss_se
        assert accuracy is not None
        assert loss is not None
        return accuracy, loss

    def _guess(self) -> tuple[str, float, float]:
        top = int(self._weight.argmax())
        share = float(self._weight[top] / self._weight.sum())
        return self.classes[top], share, self._measured.prior_log_loss


# ---- measured on a file, or by the fit itself ----------------------------------------------------
def figures_of(
    file: Any, source: Any, bar: Bar, measured_on: str, target: str | None = None
) -> Figures:
    """The figures of a model on labelled rows or documents."""
    figures = Figures(file.classes, measured_on, file.unit)
    for codes, proba, weights in file.measured(source, bar, target):
        figures.add(codes, proba, weights)
    return figures


def figures_of_fit(file: ModelFile, counting: Counting) -> FiguresOfFit | None:
    """The figures of a weighted model, of rows that its learning left out. None where there was
    nothing to learn."""
    weighting = file.table.chosen.weighting
    if weighting is None:
        return None
    how = "left out of the whole fit" if weighting.figures.left_out else "leave-one-out"
    if not counting.whole:
        how += f", of a sample of {len(counting.sample.labels):,} rows"
    class_weight = np.array(list(file.model.class_weight_.values()))
    if (class_weight != 1.0).any():
        how += ", weighted by class"
    place = np.searchsorted(file.model.classes_, weighting.classes)
    confused = np.zeros((len(file.classes), len(file.classes)))
    actual, predicted = place[weighting.confused[:, :2].astype(np.intp)].T
    confused[actual, predicted] = weighting.confused[:, 2]
    if counting.rows.weight is not None:
        how += f", weighted by {counting.rows.weight}"
    return FiguresOfFit(
        file.classes,
        how,
        weighting.figures,
        confused,
        class_weight,
        has_weights=counting.rows.weight is not None,
    )


# ---- the page of a model, judged on rows or documents with labels --------------------------------
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

        from tallybayes.cli.text_learning import DocumentSample

        source.keep_group(group)
        documents = DocumentSample()
        for batch in file.labelled(source, bar, "reading", target):
            documents.add(batch, grouped=group is not None)
        labels = np.array(documents.labels, dtype=np.str_)
        return documents.strings, file.own_labels(labels), None, documents.groups
    from tallybayes.cli.counting import MAX_SAMPLE_ROWS

    sampled: tuple[Any, Any, Any, Any] = file.sampled(source, bar, target, MAX_SAMPLE_ROWS, group)
    return sampled
