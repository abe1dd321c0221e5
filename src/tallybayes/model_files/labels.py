"""A model of many labels a row, or of classes in a tree, with how its rows are read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import OptionError, SourceError, called
from tallybayes.estimators.naive_bayes import NaiveBayes
from tallybayes.estimators.saving import write
from tallybayes.estimators.sources import ReadBy, remember
from tallybayes.estimators.table_base import TableClassifier
from tallybayes.labels.hierarchy import Hierarchy
from tallybayes.labels.multi_label import MultiLabel
from tallybayes.model_files.base import PredictingFile, Replace
from tallybayes.model_files.tables import (
    TableFile,
    kept_columns,
    kinds_declared,
    strings_of,
    weights_of_rows,
)
from tallybayes.progress import reading_shown
from tallybayes.sources.contract import restarted
from tallybayes.sources.reading import Plan, Rows
from tallybayes.tables import Table

__all__ = ["LabelFile"]


@dataclass(eq=False)
class LabelFile(PredictingFile):
    """A :class:`MultiLabel` or :class:`Hierarchy` of tables, and how data is read for it.

    It predicts, and shows what it holds; everything else is asked from Python.

    Parameters
    ----------
    model : MultiLabel or Hierarchy
        Fitted.
    table : TableFile
        The classifier inside, which reads the rows.
    """

    model: MultiLabel | Hierarchy
    table: TableFile

    unit: ClassVar[str] = "row"

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
        declared = kinds_declared(families)
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
        table = TableFile(labels._every, read_by)
        table.read_by.kinds |= {name: declared.get(name) for name in table.names}
        table._take_kinds(rows.kind_of)
        return cls(labels, table)

    @classmethod
    def of(cls, path: str, model: Any, extra: dict[str, Any]) -> LabelFile:
        """Take a model that was loaded, and what its file holds beside it; see :class:`TableFile`.

        Parameters
        ----------
        path : str
            The file, for messages.
        model : MultiLabel or Hierarchy
            What it holds.
        extra : dict
            What it holds beside it.

        Raises
        ------
        SourceError, ModelFileError
        """
        inside = getattr(model, "_every", None)
        if not isinstance(inside, TableClassifier):
            raise SourceError(
                f"{path} holds a {type(model).__name__} around a {type(inside).__name__}; the "
                f"command line predicts with one around a {NaiveBayes.__name__}. Use this one from "
                "Python"
            )
        return cls(model, TableFile.of(path, inside, extra))

    @property
    def read_by(self) -> ReadBy:  # type: ignore[override]  # an attribute there
        """See :class:`TableFile`."""
        return self.table.read_by

    @property
    def columns_with_strings(self) -> list[str]:
        """See :class:`TableFile`."""
        return self.table.columns_with_strings

    def save(self, path: str, replace: Replace = os.replace) -> None:
        remember(self.model, self.read_by)
        write(self.model, path, replace=replace)

    def digest(self) -> str:
        return self.model._held.digest()

    @property
    def names(self) -> list[str]:
        """The columns, those that are left out too."""
        return self.table.names

    @property
    def class_rows(self) -> NDArray[np.float64]:
        """How many rows of each label were counted, (n_labels,)."""
        return self.model.label_count_

    @property
    def rows(self) -> float:
        """How many rows were counted, those without a label too."""
        return self.table.weight

    @property
    def settings(self) -> dict[str, Any]:
        """The parameters, but for the classifier inside."""
        return {k: v for k, v in self.model.get_params(deep=False).items() if k != "model"}

    def decisions(self, costs: Any = None) -> None:
        if costs is not None:
            raise OptionError(
                f"{called('costs')} decides between classes that exclude each other, and "
                f"{self.table.path} has labels: leave it out"
            )

    def predicted(
        self, rows: Rows, keep: Sequence[str] = ()
    ) -> Iterator[tuple[dict[str, list[str]], NDArray[np.float64]]]:
        plan = self.table._plan(rows, "predicting", keep=keep)

        def of_part(table: Table) -> tuple[dict[str, list[str]], NDArray[np.float64]]:
            kept = {n: strings_of(column) for n, column in kept_columns(table, plan).items()}
            x = Table({n: table.columns[n] for n in plan.names or ()}, table.n_rows, True)
            if isinstance(self.model, Hierarchy):
                return kept, self.model.predict_proba(x)
            # one warning says what of the probabilities and of the labels is older than the counts
            return kept, self.model._proba(self.model._to_predict(x, decides=True))

        with rows.reading(plan):
            yield from rows.over(of_part)

    def named(self, proba: NDArray[np.float64]) -> list[str]:
        if isinstance(self.model, Hierarchy):
            return super().named(proba)
        if self.model.k is not None:
            order = np.argsort(-proba, axis=1, kind="stable")[:, : self.model.k]
            above = np.zeros(proba.shape, dtype=bool)
            np.put_along_axis(above, order, True, axis=1)
        else:
            above = proba > self.model.thresholds_
        names, between = self.classes, self.model.separator or ";"
        return [between.join(names[k] for k in np.flatnonzero(row)) for row in above]
