"""What a model with how its data is read can do, of either kind; and the rows that it takes."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import OptionError, SourceError, called, listed, suggestion
from tallybayes.progress import reading_shown
from tallybayes.sources.places import Named, need_group, need_target
from tallybayes.tables.columns import as_text

if TYPE_CHECKING:
    from tallybayes.decisions import Costs
    from tallybayes.estimators.sources import ReadBy

__all__ = [
    "MAX_SAMPLE_ROWS",
    "ChosenRows",
    "MeasuredRows",
    "ModelFile",
    "PredictingFile",
    "Replace",
    "need_columns",
]


MAX_SAMPLE_ROWS = 1 << 15  # rows that a model is judged on

Replace = Callable[[str, str], None]
"""Puts a file in the place of another one, as ``os.replace`` does."""


class MeasuredRows(NamedTuple):
    """Rows with labels, and what a model predicts of them.

    Parameters
    ----------
    codes : intp array (n_rows,)
        The index of each row's class, −1 for one that is unknown.
    proba : float64 array (n_rows, n_classes)
        The probability of each class.
    weights : float64 array (n_rows,), optional
        The weights of the rows, where they have some.
    kept : dict of str to list of str
        The columns that were asked for, as they are written.
    """

    codes: NDArray[np.intp]
    proba: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    kept: dict[str, list[str]]


class PredictingFile(ABC):
    """A model that predicts, with how its data is read; rows stand for documents, too."""

    model: Any
    read_by: ReadBy
    costs: Any = None
    """What decisions cost, of a file that a :class:`CostClassifier` has written."""
    unit: ClassVar[str]

    @property
    def target(self) -> str | None:
        """The column of the labels, or the header of messages that holds them."""
        return self.read_by.target

    @property
    @abstractmethod
    def class_rows(self) -> NDArray[np.float64]:
        """How many rows of each class were counted, class weights left aside, (n_classes,)."""

    @abstractmethod
    def save(self, path: str, replace: Replace = os.replace) -> None:
        """Write the file; one that is there is replaced whole or not at all.

        Parameters
        ----------
        path : str
            Where it goes.
        replace : callable (str, str), default=os.replace
            Puts the finished file in its place.
        """

    @abstractmethod
    def digest(self) -> str:
        """Tell these counts from others.

        Returns
        -------
        str
            A digest of all counts.
        """

    @abstractmethod
    def predicted(
        self, source: Any, keep: Sequence[str] = ()
    ) -> Iterator[tuple[dict[str, list[str]], NDArray[np.float64]]]:
        """Predict rows, part by part.

        Parameters
        ----------
        source : Rows or DocumentSource
            What is predicted.
        keep : sequence of str
            Columns that stay beside the predictions.

        Yields
        ------
        (dict of str to list of str, float64 array (n_rows, n_classes))
            These columns as they are written, or the names of documents where they have names; and
            the probability of each class.
        """

    def decisions(self, costs: Any = None) -> Costs | None:
        """Read what decisions cost.

        Parameters
        ----------
        costs : path, data frame, mapping or array-like, optional
            A file has the classes in its first column, and a column for each decision. Otherwise as
            ``decide`` of the model takes them; by default those of the model file.

        Returns
        -------
        Costs or None
            Classes and decisions as strings; None where there are no costs.

        Raises
        ------
        SourceError
            If a file cannot be read.
        ValueError
            For a class without costs, or a decision without a finite cost.
        """
        costs = self.costs if costs is None else costs
        if costs is None:
            return None
        # slow to import, where nothing is decided
        from tallybayes.decisions import Costs

        if isinstance(costs, str | os.PathLike):
            from tallybayes.estimators.sources import tables_of
            from tallybayes.sources.files import source_of
            from tallybayes.tables.columns import stacked

            source = source_of(costs)
            costs = stacked(list(tables_of(source, None, list(source.columns())[:1])))
        return Costs.read(costs, np.array(self.classes))

    @property
    def classes(self) -> list[str]:
        """The labels as strings."""
        return [as_text(c) for c in self.model.classes_.tolist()]

    @property
    def rows_of_classes(self) -> dict[str, float]:
        """By label, how many rows of the class were counted."""
        return dict(zip(self.classes, self.class_rows.tolist(), strict=True))

    def named(self, proba: NDArray[np.float64]) -> list[str]:
        """Name what is predicted of rows.

        Parameters
        ----------
        proba : float64 array (n_rows, n_classes)
            The probability of each class.

        Returns
        -------
        list of str
            The most probable class of each; of many labels a row, those above their thresholds.
        """
        classes = self.classes
        return [classes[k] for k in proba.argmax(axis=1).tolist()]


class ModelFile(PredictingFile):
    """A model with how its data is read, which learns and is judged."""

    @abstractmethod
    def measured(
        self, source: Any, target: str | None, keep: Sequence[str] = ()
    ) -> Iterator[MeasuredRows]:
        """Predict rows that have labels, part by part.

        Parameters
        ----------
        source : Rows or DocumentSource
            What is predicted.
        target : str or None
            The column of the labels, where it has another name than that of the fit.
        keep : sequence of str
            Columns whose values are asked for.

        Yields
        ------
        MeasuredRows
            Of each part.
        """

    @abstractmethod
    def sampled(self, source: Any, target: str | None, max_rows: int, group: str | None) -> Any:
        """Draw a fair sample of rows that have labels.

        Parameters
        ----------
        source : Rows or DocumentSource
            What is read.
        target : str or None
            The column of the labels, where it has another name than that of the fit.
        max_rows : int
            How many rows the sample has at most.
        group : str or None
            The column of groups.

        Returns
        -------
        tuple
            Rows, their labels as the model has them, their weights or None, and the number of each
            row's group or None.
        """

    @abstractmethod
    def chosen(self, source: Any, chosen: ChosenRows) -> Any:
        """Find some rows, in the order of the data.

        Parameters
        ----------
        source : Rows or DocumentSource
            What is read.
        chosen : ChosenRows
            Which rows.

        Returns
        -------
        list
            The documents, or of rows the number and the row.
        """

    @abstractmethod
    def learn(self, source: Any, target: str | None) -> int:
        """Count rows in addition.

        Parameters
        ----------
        source : Rows or DocumentSource
            What is learned.
        target : str or None
            The column of the labels, where it has another name than that of the fit.

        Returns
        -------
        int
            How many rows were read.
        """

    @abstractmethod
    def forget(self, source: Any, target: str | None) -> int:
        """Take rows away that were counted.

        Parameters
        ----------
        source : Rows or DocumentSource
            What is forgotten.
        target : str or None
            The column of the labels, where it has another name than that of the fit.

        Returns
        -------
        int
            How many rows were read.
        """

    @abstractmethod
    def need_reweighting(self, parts: Any) -> None:
        """Refuse to learn again where nothing is learned on rows.

        Parameters
        ----------
        parts : int, "auto" or None
            How many fits are averaged, of a weighted model.
        """

    @abstractmethod
    def reweight(self, source: Any, target: str | None, parts: Any, group: str | None) -> int:
        """Learn again what is learned on rows.

        Parameters
        ----------
        source : Rows or DocumentSource
            Rows that the model has counted.
        target : str or None
            The column of the labels, where it has another name than that of the fit.
        parts : int, "auto" or None
            How many fits are averaged; None is as before.
        group : str or None
            The column of groups of rows, which are left out together.

        Returns
        -------
        int
            How many rows were learned on.
        """

    @abstractmethod
    def merge(self, part: Any) -> bool:
        """Merge another model of the same kind into this one.

        Parameters
        ----------
        part : ModelFile
            The other one, which stays as it is.

        Returns
        -------
        bool
            Whether both were trained with the same options.
        """

    @property
    @abstractmethod
    def stale_part(self) -> str | None:
        """What was learned on other counts than the present ones; None where nothing was."""

    @abstractmethod
    def stray_notes(self, source: Any) -> list[str]:
        """Say where the first string is in each column of numbers that had none before.

        Parameters
        ----------
        source : Rows or DocumentSource
            What was learned.

        Returns
        -------
        list of str
            A sentence for each column.
        """

    @property
    def classifier(self) -> Any:
        """The model; where the file has costs, as a classifier that decides by them."""
        return self.model if self.costs is None else self.model.with_costs(self.costs)

    def codes(self, labels: NDArray[Any]) -> NDArray[np.intp]:
        """Find labels among the classes.

        Parameters
        ----------
        labels : array of str (n_rows,)
            Labels as strings.

        Returns
        -------
        intp array (n_rows,)
            The index of each one, −1 for one that the model does not know.
        """
        known = {label: i for i, label in enumerate(self.classes)}
        return np.fromiter((known.get(v, -1) for v in labels.tolist()), np.intp, len(labels))

    def own_labels(self, labels: NDArray[Any]) -> NDArray[Any]:
        """Give labels the type that the model has them in.

        Parameters
        ----------
        labels : array of str (n_rows,)
            Labels as strings.

        Returns
        -------
        array (n_rows,)
            Where the model has strings, new ones are as they come.
        """
        classes = self.model.classes_
        if classes.dtype.kind in "OUT":
            return labels
        known = dict(zip(self.classes, classes.tolist(), strict=True))
        for label in labels.tolist():
            if label not in known:
                raise SourceError(
                    f"the label {label!r} is new, and this model's labels are of the type "
                    f"{classes.dtype} ({listed(known)}): add it from Python"
                )
        return np.array([known[label] for label in labels.tolist()], dtype=classes.dtype)

    def report(
        self,
        source: Any,
        target: str | None = None,
        *,
        about: dict[str, str],
        lang: str = "en",
        learned: bool | None = None,
        group: str | None = None,
    ) -> Any:
        """Make the page of the model, judged on a fair sample of rows with labels.

        Parameters
        ----------
        source : Rows or DocumentSource
            What is predicted.
        target : str, optional
            The column of the labels, where it has another name than that of the fit.
        about : dict
            What the heading names, such as "model" and "data".
        lang : {"en", "zh"}, default="en"
            The language of the page.
        learned : bool, optional
            Whether the model has learned the rows; by default, whether it can have.
        group : str, optional
            The column of groups of rows, which are left out together.

        Returns
        -------
        Report
            Which `save` writes.
        """
        if name := target or self.target:
            about = {**about, "target": name}
        rows, labels, weights, groups = self.sampled(source, target, MAX_SAMPLE_ROWS, group)
        with reading_shown("making the report"):
            return self.classifier.report(
                rows,
                labels,
                sample_weight=weights,
                groups=groups,
                learned=learned,
                about=about,
                lang=lang,
            )


# ---- the rows that are taken out of data: by number, or by the value of a column -----------------
@dataclass(frozen=True)
class ChosenRows:
    """Rows by number and by key.

    Parameters
    ----------
    numbers : tuple of int
        From 0.
    keys : tuple of (str, str)
        Columns, and a value of each.
    """

    numbers: tuple[int, ...] = ()
    keys: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.numbers or self.keys)

    @property
    def columns(self) -> list[str]:
        """The columns of the keys."""
        return list(dict.fromkeys(column for column, _ in self.keys))

    @property
    def several(self) -> bool:
        """Whether there may be more than one."""
        return bool(self.keys) or len(self.numbers) > 1

    def last(self) -> int | None:
        """Say how far the data has to be read.

        Returns
        -------
        int or None
            The last row; None for all.
        """
        return None if self.keys else max(self.numbers, default=-1)

    def need_found(self, name: str, n_rows: int, unit: str, keys: set[tuple[str, str]]) -> None:
        """Refuse rows that are not there.

        Parameters
        ----------
        name : str
            Of the data.
        n_rows : int
            How many rows it has.
        unit : str
            "row" or "document".
        keys : set of (str, str)
            Those that were found.
        """
        beyond = [n for n in self.numbers if n >= n_rows]
        if beyond:
            rows = f"{n_rows:,} {unit}" + ("" if n_rows == 1 else "s")
            raise SourceError(
                f"{name} has {rows}, from 0 to {n_rows - 1:,}: there is no {unit} {beyond[0]}"
            )
        absent = [f"{column}={value}" for column, value in self.keys if (column, value) not in keys]
        if absent:
            raise SourceError(f"{name}: no {unit} has {listed(absent)}")


# ---- the columns that a fit needs ----------------------------------------------------------------
def need_columns(
    source: Named,
    target: str | None,
    families: dict[str, Any],
    weight: str | None = None,
    group: str | None = None,
) -> None:
    """Refuse training rows whose columns are not those that are named.

    Parameters
    ----------
    source : Rows
        What has a name and a header.
    target : str or None
        The column of the labels, if there is one.
    families : dict
        Declared families by column.
    weight : str, optional
        The column of weights.
    group : str, optional
        The column of groups of rows.
    """
    columns = source.header
    if target is not None:
        need_target(source, target, columns)
    for name in families:
        if name not in columns:
            from tallybayes.families.registry import family_names

            raise SourceError(
                f"{called('column')} names {name!r}, which {source.name} does not have; its "
                f"columns are {listed(columns)} (families: {listed(family_names())})."
                + suggestion(name, columns)
            )
    if target in families:
        raise SourceError(
            f"{called('column', target)} is the target, which has no family: leave it out"
        )
    if weight is not None and (weight == target or weight in families):
        what = "the target" if weight == target else f"given a family by {called('column')}"
        raise OptionError(
            f"{called('weight', weight)} is {what}: weights are a column of their own"
        )
    if len(columns) < 2 + (weight is not None):
        raise SourceError(
            f"{source.name} has no column beside {target!r} to learn from (is the "
            f"{called('delimiter')} another?)"
        )
    if group is not None:
        need_group(source, group, target, weight)
