"""A fitted model as distribution objects: which one each family becomes."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.parts import ALTERNATIVES
from tallybayes.models.array import ArrayModel
from tallybayes.models.base import Model
from tallybayes.tables.columns import FRAMES, date_of_days, frame

if TYPE_CHECKING:
    from tallybayes import distributions
    from tallybayes.models.table import TableModel

__all__ = ["class_conditional", "class_prior_distribution", "joint"]


Array = NDArray[np.float64]


# The objects are made of the model as it is; what it learns later does not change them.
def class_prior_distribution(estimator: Any) -> distributions.Categorical:
    """P(y), for the attribute ``class_prior_distribution_``."""
    from tallybayes.distributions import Categorical

    model = estimator._attribute("class_prior_distribution_")
    made: distributions.Categorical = model.once(
        "P(y)", lambda: Categorical(model.log_prior, model.schema.classes)
    )
    return made


def class_conditional(estimator: Any) -> distributions.ClassConditional:
    """p(x | y), for the attribute ``class_conditional_``."""
    model = estimator._attribute("class_conditional_")
    made: distributions.ClassConditional = model.once(
        "p(x | y)", lambda: _class_conditional(estimator, model)
    )
    return made


def joint(estimator: Any) -> distributions.Joint:
    """p(x, y), for the attribute ``joint_``."""
    from tallybayes.distributions import Joint

    model = estimator._attribute("joint_")
    parts = class_prior_distribution(estimator), class_conditional(estimator)
    return model.once("p(x, y)", lambda: Joint(*parts))  # type: ignore[no-any-return]


def _class_conditional(estimator: Any, model: Model) -> Any:
    from tallybayes.families.bernoulli import Bernoulli
    from tallybayes.families.categorical import Categorical
    from tallybayes.families.gaussian import Gaussian
    from tallybayes.families.multinomial import Multinomial

    if not isinstance(model, ArrayModel):
        return _table(estimator, cast("TableModel", model))
    makers: dict[type, Callable[[ArrayModel, list[Any]], Any]] = {
        Bernoulli: _bernoulli,
        Categorical: _categorical,
        Gaussian: _gaussian,
        Multinomial: _multinomial,
    }
    return makers[type(model.family)](model, estimator._feature_labels())


def _gaussian(model: ArrayModel, features: list[Any]) -> Any:
    from tallybayes.distributions import IndependentNormal

    mean, variance, _ = model.family.mean_variance(model.group)
    return IndependentNormal(mean, np.sqrt(variance), model.schema.classes, features)


def _multinomial(model: ArrayModel, features: list[Any]) -> Any:
    from tallybayes.distributions import Multinomial

    log_probs = model.family.log_probabilities(model.group)
    return Multinomial(log_probs, model.schema.classes, features)


def _bernoulli(model: ArrayModel, features: list[Any]) -> Any:
    from tallybayes.distributions import IndependentBernoulli

    present = model.family.log_probabilities(model.group, model.tally.classes)
    parameters: Any = model.parameters
    with np.errstate(invalid="ignore", divide="ignore"):
        # weights are log p − log(1 − p); where p is small, 1 − p is exact by itself
        absent = np.where(
            present < np.log(0.5), np.log1p(-np.exp(present)), present - parameters.weights
        )
    if parameters.required is not None:
        absent = np.where(parameters.required, -np.inf, absent)
    return IndependentBernoulli(
        present, absent, model.schema.classes, features, model.family.threshold
    )


def _categorical(model: ArrayModel, features: list[Any]) -> Any:
    from tallybayes.distributions import IndependentCategorical

    table = model.family.log_probabilities(model.group)
    start = model.group.start
    parameters: Any = model.parameters
    unseen = parameters.table[:, parameters.start[1:] - 1]
    if parameters.unseen == "error":
        unseen = np.full_like(unseen, -np.inf)
    return IndependentCategorical(
        [table[:, start[j] : start[j + 1]] for j in range(len(start) - 1)],
        unseen,
        model.schema.classes,
        features,
        model.columns.levels,
    )


# ---- tables of distributions ---------------------------------------------------------------------
class TableReader:
    """Rows as a model reads them now, whatever becomes of the model.

    Parameters
    ----------
    estimator : NaiveBayes
    """

    def __init__(self, estimator: Any) -> None:
        self.twin: Any = object.__new__(type(estimator))
        self.twin.__dict__.update(estimator.__dict__)

    def __call__(self, x: Any) -> Any:
        return self.twin._read_rows(x)


class TableWriter:
    """Columns as a table that a model reads: a frame, by the library that is installed, or a list
    of dicts.

    Parameters
    ----------
    names : list of str
        The model's columns. Those that are not given hold missing values.
    dates : set of str
        Those that hold dates; they are given as days since 1970.
    """

    def __init__(self, names: list[str], dates: set[str]) -> None:
        self.names: list[str] = list(names)
        self.dates = dates

    def __call__(self, columns: dict[str, list[Any]], n_rows: int) -> Any:
        whole = {name: columns.get(name, [None] * n_rows) for name in self.names}
        for name in self.dates & columns.keys():
            whole[name] = [None if d is None else date_of_days(d) for d in whole[name]]
        if any(importlib.util.find_spec(name) is not None for name in FRAMES):
            return frame(whole)
        return [dict(zip(whole, row, strict=True)) for row in zip(*whole.values(), strict=True)]


def _table(estimator: Any, model: TableModel) -> Any:
    from tallybayes.distributions import ProductOfColumns

    columns: dict[int, Any] = {}
    for reading in model.columns_read:
        if reading.part is not None and id(reading.part) not in columns:
            columns[id(reading.part)] = _distribution(model, reading.part, reading.family)
    return ProductOfColumns(
        list(columns.values()),
        model.schema.classes,
        TableReader(estimator),
        TableWriter(model.names, {n for n, held in model.holds.items() if held.dates}),
    )


def _distribution(model: TableModel, part: Any, what: str) -> Any:
    """The distribution of a column, or a group of columns, which is read as `what`."""
    from tallybayes.distributions import GroupOfCounts, GroupOfNumbers, LevelColumn, NumberColumn
    from tallybayes.distributions.table import BinsLaw, law_of

    classes, kind = model.schema.classes, part.kind
    if kind == "counts":
        return GroupOfCounts(part, classes)
    if kind == "triangular":
        return GroupOfNumbers(part, classes)
    if kind == "levels":
        return LevelColumn(part.name, what, part, classes)
    if kind == "density":
        return NumberColumn(part.name, what, part, classes, law_of(part.likelihood))
    if kind == "documents":
        raise ValueError(
            f"column {part.name!r} is read as text, and there is no distribution of documents: "
            f"{ALTERNATIVES}"
        )
    tally = model.tally_read
    grid: Any = tally.by_key[(part.name,), "grid"][1]
    law = BinsLaw(
        np.exp(part.law.log_prob()),
        part.edges,
        grid.values(),
        grid.counts.sum(axis=0),
        np.searchsorted(part.edges, grid.lower_edges(), side="right"),
    )
    return NumberColumn(part.name, what, part, classes, law)
