"""Which estimators a model file can hold, and the methods by which they write a file, a page or a
summary.

Loading is in :mod:`tallybayes.estimators.loading`, which imports the estimators; they import this
module.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from numpy.typing import ArrayLike

from tallybayes import persistence
from tallybayes.decisions import Costs, Scores, costs_by_name
from tallybayes.errors import ModelFileError
from tallybayes.persistence import Tree
from tallybayes.replacing import Replace

if TYPE_CHECKING:
    from tallybayes.reporting import Language, Report

__all__ = ["EXTRA", "HOMES", "SCORES", "plain_of", "report", "save", "summary", "write"]


SCORES = "_scores"  # the attribute that holds scores of learned rows, for prediction sets
EXTRA = "_extra"  # the attribute of a loaded estimator that holds what the file had beside it

HOMES = {
    "BernoulliNB": "estimators.arrays",
    "CategoricalNB": "estimators.arrays",
    "ComplementNB": "estimators.arrays",
    "GaussianNB": "estimators.arrays",
    "Hierarchy": "labels.hierarchy",
    "MultiLabel": "labels.multi_label",
    "MultinomialNB": "estimators.arrays",
    "NaiveBayes": "estimators.naive_bayes",
    "TextNB": "estimators.text",
    "WeightedNaiveBayes": "estimators.weighted",
}
"""The estimators that a file can hold: of each class the module of ``tallybayes``."""


def plain_of(estimator: Any) -> tuple[dict[str, Any], Tree]:
    """Header and arrays of a fitted estimator."""
    name = type(estimator).__name__
    if type(estimator).__module__ != f"tallybayes.{HOMES.get(name)}":  # or a subclass
        raise ModelFileError(
            f"a model file cannot hold a {name}, a class that tallybayes does not have: save an "
            "estimator of tallybayes itself, or pickle the model"
        )
    if hasattr(estimator, "_plain"):  # one that holds another
        return estimator._plain(plain_of)  # type: ignore[no-any-return]
    if name == "TextNB":
        from tallybayes.models import document_codec

        return document_codec.plain_model(estimator)
    from tallybayes.models import codec

    return codec.plain_model(estimator)


def write(
    estimator: Any,
    path: str | os.PathLike[str] | BinaryIO,
    extra: dict[str, Any] | None = None,
    replace: Replace | None = None,
    costs: Any = None,
) -> None:
    """Writes a fitted estimator; see :func:`save`.

    `extra` is kept beside the model, for :func:`load_with_extra`; by default what the model was
    loaded with. `replace` puts the new file in the old one's place, ``os.replace`` by default. With
    `costs`, the file holds a :class:`CostClassifier`.
    """
    header, tree = plain_of(estimator)
    extra = estimator.__dict__.get(EXTRA) if extra is None else extra
    if extra is not None:
        header["extra"] = extra
    if costs is not None:
        header["costs"] = costs_by_name(costs, estimator.classes_)
    scores: Scores | None = estimator.__dict__.get(SCORES)
    if scores is not None:
        header["scores"], tree["scores"] = scores.plain()
    persistence.write(path, header, tree, replace=replace)


# ---- methods of classifiers of rows, and of those that hold one ----------------------------------
def _with_its_costs(classifier: Any) -> tuple[Any, Any]:
    """The classifier that is written, and what its decisions cost, if they have costs."""
    if hasattr(type(classifier), "decisions_"):
        return classifier._fitted(), classifier.costs
    return classifier, None


def save(self: Any, path: str | os.PathLike[str] | BinaryIO) -> None:
    """Write the model to a file that :func:`tallybayes.load` reads.

    The file is a safetensors file with a checksum. It holds counts, terms of text, parameters,
    costs and what was learned, no rows and no code; an existing file is replaced whole or not
    at all. A file opened for writing bytes may be given in place of a path.

    Parameters
    ----------
    path : str or path-like
        The file to write.

    Raises
    ------
    ModelFileError
        A ValueError: labels, decisions, parameters or an analyzer that a file cannot hold.
    OSError
        If the file cannot be written.
    """
    estimator, costs = _with_its_costs(self)
    write(estimator, path, costs=costs)


def report(
    self: Any,
    X: Any,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    learned: bool | None = None,
    about: Mapping[str, str] | None = None,
    lang: Language = "en",
) -> Report:
    """One page of HTML that shows the model and how good it is on these rows.

    The page needs no network and no other file: figures with intervals, a nomogram, rows with
    the reasons for their classes, each column with what its values add, curves, and what
    decisions cost where they have costs. Of more than 50,000 rows a random sample is predicted.
    It needs the extra ``report`` (Jinja2).

    Parameters
    ----------
    X : rows (n_rows, n_features)
        Rows to judge the model by: new ones, or those that it has learned.
    y : array-like (n_rows,)
        Their labels.
    sample_weight : array-like (n_rows,), optional
        Weights of the rows; of learned rows, those that they were learned with.
    groups : array-like (n_rows,), optional
        Rows of a group are left out together; see :meth:`fit`.
    learned : bool, optional
        Whether the model has learned these rows. Then each is predicted by what is learned
        without it: a table is cross-validated, and weights are learned again, which gives the
        figures that the fit states. By default, whether the model's counts can hold these rows;
        of arrays and documents, whether the classes weigh what they weigh in the model.
    about : mapping, optional
        What the heading names: the "target", by default the name of y, the file of the "model"
        and the "data".
    lang : {"en", "zh"}, default="en"
        The language of the page.

    Returns
    -------
    Report
        Shows itself in a notebook; ``save("report.html")`` writes the page.

    Raises
    ------
    ImportError
        Without Jinja2.
    ValueError
        For bad rows or labels, or a language that there is not.
    """
    from tallybayes.reporting import report_of

    estimator, costs = _with_its_costs(self)
    return report_of(
        estimator,
        X,
        y,
        sample_weight=sample_weight,
        groups=groups,
        learned=learned,
        about=about,
        lang=lang,
        costs=None if costs is None else Costs.read(costs, estimator.classes_),
    )


def summary(self: Any, max_display: int = 10) -> str:
    """The model in words: its classes, what it goes by, and what it leaves out.

    Columns, or pairs of them, are listed by how far they separate the classes, in nats; of text
    the terms that add most to each class. Figures of quality are those of the fit, of models that
    measure them: weighted ones, and models of text.

    Parameters
    ----------
    max_display : int, default=10
        How many columns, pairs or classes are listed.

    Returns
    -------
    str
        Some lines of text.

    Raises
    ------
    NotFittedError
        Before the model is fitted.
    """
    from tallybayes.explain.summary import summary_of

    estimator, costs = _with_its_costs(self)
    text = summary_of(estimator._fitted(), max_display)
    if costs is None:
        return text
    decisions = Costs.read(costs, estimator.classes_).decisions
    return f"{text}\nDecides by costs: {', '.join(map(str, decisions))}."
