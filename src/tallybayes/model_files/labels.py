"""A model of many labels a row, or of classes in a tree, with how its rows are read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import OptionError, SourceError, called
from tallybayes.estimators.naive_bayes import NaiveBayes
from tallybayes.estimators.read_by import ReadBy, remember
from tallybayes.estimators.saving import save
from tallybayes.estimators.table_base import TableClassifier
from tallybayes.labels.hierarchy import Hierarchy
from tallybayes.labels.multi_label import MultiLabel
from tallybayes.model_files.base import Replace
from tallybayes.model_files.tables import TableFile, kept_columns, strings_of, weights_of_rows
from tallybayes.progress import reading_shown
from tallybayes.sources.cells import Kind
from tallybayes.sources.contract import restarted
from tallybayes.sources.reading import Plan, Rows
from tallybayes.tables import Table
from tallybayes.tables.columns import as_text

__all__ = ["LabelFile"]


@dataclass(eq=False)
class LabelFile(TableFile):
    """A :class:`MultiLabel` or :class:`Hierarchy` of tables, and how data is read for it.

    It predicts, and shows what it holds; everything else is asked from Python.

    Parameters
    ----------
    model : NaiveBayes
        The one inside, which reads the rows.
    read_by : ReadBy
        As of a :class:`TableFile`.
    path : str
        Its file, for messages.
    counted : Counted, optional
        Not used.
    strays_before : dict
        Not used.
    labels : MultiLabel or Hierarchy
        Fitted.
    """

    labels: Any = None

    @classmethod
    def fit_labels(
        cls, rows: Rows, target: str, families: dict[str, Any], labels: MultiLabel | Hierarchy
    ) -> LabelFile:
        """Count rows, part by part.

        Parameters
        ----------
        rows : Rows
            Rows with labels; an empty cell is a row without a label.
        target : str
            The column of the labels.
        families : dict
            Declared families; None leaves the column out.
        labels : MultiLabel or Hierarchy
            With a NaiveBayes inside; it is fitted.
        """
        declared: dict[str, Kind | None] = {
            name: "number or date" if family.reads == "numbers" else "text"
            for name, family in families.items()
            if family is not None
        }
        left_out = [target, *(name for name, family in families.items() if family is None)]
        plan = Plan(
            "counting",
            keep=[target],
            kinds=declared,
            left_out=left_out,
            fitting=True,
            weight=rows.weight,
        )

        def count() -> int:
            for n, table in enumerate(rows.over(lambda part: part)):
                beside = target, plan.weight
                columns = {name: c for name, c in table.columns.items() if name not in beside}
                x = Table(columns, table.n_rows, True)
                y = np.array(strings_of(kept_columns(table, plan)[target]), dtype=object)
                learn = labels.partial_fit if n else labels.fit
                learn(x, y, weights_of_rows(table, plan))
            return rows.n_rows

        with reading_shown(""), rows.reading(plan):
            if not restarted(count):
                raise SourceError(f"{rows.name} has no rows: there is nothing to count")
        read_by = ReadBy(target, None, rows.weight, {}, rows.spelling, rows.flatten)
        file = cls(labels._every, read_by, labels=labels)
        for name in file.names:
            file.read_by.kinds[name] = declared.get(name)
            if name in file.table.counted:
                file.read_by.kinds[name] = rows.kind_of(name)
                file.read_by.kinds[name] = file._kind(name)
        return file

    @classmethod
    def of(cls, path: str, model: Any, extra: dict[str, Any]) -> LabelFile:
        inside = getattr(model, "_every", None)
        if not isinstance(inside, TableClassifier):
            raise SourceError(
                f"{path} holds a {type(model).__name__} around a {type(inside).__name__}; the "
                f"command line predicts with one around a {NaiveBayes.__name__}. Use this one from "
                "Python"
            )
        file = cls(inside, ReadBy.of(extra, path), path, labels=model)
        for name in file.table.counted:
            file.read_by.kinds[name] = file._kind(name)
        return file

    def save(self, path: str, replace: Replace = os.replace) -> None:
        remember(self.labels, self.read_by)
        save(self.labels, path, replace=replace)

    @property
    def classes(self) -> list[str]:
        return [as_text(label) for label in self.labels.classes_.tolist()]

    @property
    def class_rows(self) -> NDArray[np.float64]:
        """How many rows of each label were counted, (n_labels,)."""
        found: NDArray[np.float64] = self.labels.label_count_
        return found

    @property
    def rows(self) -> float:
        """How many rows were counted, those without a label too."""
        return float(self.model.class_count_.sum())

    @property
    def settings(self) -> dict[str, Any]:
        """The parameters, and those of the classifier inside, where they are not as usual."""
        return {k: v for k, v in self.labels.get_params(deep=False).items() if k != "model"}

    def decisions(self, costs: Any = None) -> None:
        if costs is not None:
            raise OptionError(
                f"{called('costs')} decides between classes that exclude each other, and "
                f"{self.path} has labels: leave it out"
            )

    def predicted(
        self, rows: Rows, keep: Sequence[str] = ()
    ) -> Iterator[tuple[dict[str, list[str]], NDArray[np.float64]]]:
        plan = self._plan(rows, "predicting", keep=keep)

        def of_part(table: Table) -> tuple[dict[str, list[str]], NDArray[np.float64]]:
            kept = {n: strings_of(column) for n, column in kept_columns(table, plan).items()}
            x = Table({n: table.columns[n] for n in plan.names or ()}, table.n_rows, True)
            return kept, self.labels.predict_proba(x)

        if isinstance(self.labels, MultiLabel):
            self.labels._warn_of_stale(decides=True)
        with rows.reading(plan):
            yield from rows.over(of_part)

    def named(self, proba: NDArray[np.float64]) -> list[str]:
        if isinstance(self.labels, Hierarchy):
            return super().named(proba)
        if self.labels.k is not None:
            order = np.argsort(-proba, axis=1, kind="stable")[:, : self.labels.k]
            above = np.zeros(proba.shape, dtype=bool)
            np.put_along_axis(above, order, True, axis=1)
        else:
            above = proba > self.labels.thresholds_
        names, between = self.classes, self.labels.separator or ";"
        return [between.join(names[k] for k in np.flatnonzero(row)) for row in above]
