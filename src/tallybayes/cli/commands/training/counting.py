"""Counting a training file, and keeping a sample of its rows for what is chosen on rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from tallybayes.cli.arguments.class_weights import ClassWeight
from tallybayes.cli.commands.training.sampling import SAMPLE, WEIGHTED_SAMPLE, Sample
from tallybayes.cli.io.model_file import ModelFile, labels_of, need_labels
from tallybayes.cli.io.strays import need_finite
from tallybayes.cli.io.targets import need_columns
from tallybayes.cli.terminal.console import Bar, note
from tallybayes.cli.terminal.failures import Failure
from tallybayes.errors import StaleWarning
from tallybayes.estimators.tables.base import TableClassifier
from tallybayes.estimators.tables.naive_bayes import NaiveBayes
from tallybayes.estimators.tables.weighted import WeightedNaiveBayes
from tallybayes.sources.text_files.batch import Batch, Labelled, gathered
from tallybayes.sources.text_files.cells import Kind, Misfit
from tallybayes.sources.text_files.data_file import DataFile

__all__ = ["Counting"]

MANY = 100  # rows of a first batch from which on labels must repeat


@dataclass(eq=False)
class Counting:
    """Training on one file.

    Parameters
    ----------
    source : DataFile
    target : str
    families : dict
        Declared families; None leaves the column out.
    plain : bool
        Whether the model is a NaiveBayes, else a WeightedNaiveBayes.
    options : dict
        Of that model.
    class_weight : dict, "balanced" or None
        By which the counts of all rows are multiplied at the end.
    """

    source: DataFile
    target: str
    families: dict[str, Any]
    plain: bool
    options: dict[str, Any]
    class_weight: ClassWeight = None

    def __post_init__(self) -> None:
        self.kinds: dict[str, Kind | None] = {self.target: "text"}
        for name, family in self.families.items():
            if family is not None:
                self.kinds[name] = "number or date" if family.reads == "numbers" else "text"
        self.names: list[str] | None = None
        self.sample: Sample

    def run(self, bar: Bar) -> TableClassifier:
        """Counts the file.

        Where a later batch shows that a column of dates holds something else, or that there are
        more columns, the file is counted from scratch; what is read once cannot be, and that is an
        error.
        """
        try:
            return self._count(bar)
        except Misfit as misfit:
            if self.source.once or misfit.column in self.families:
                raise self._final(misfit) from None
        except _NewColumn as new:
            if self.source.once:
                raise Failure(
                    f"{self.source.name}, row {new.row}: the key {new.name!r} was not in the "
                    "rows at the beginning, and the input can be read only once: give a file, or "
                    "name the key in the first row, with null"
                ) from None
        self._survey(bar)
        return self._count(bar)

    def _final(self, misfit: Misfit) -> Failure:
        where = f"{self.source.name}, {self.source.where(misfit.row)}"
        holds = f"column {misfit.column!r} holds {misfit.value!r}, which is not a {misfit.kind}"
        if misfit.column in self.families:
            return Failure(f"{where}: {holds}: correct it, or declare {misfit.column}=categorical")
        return Failure(
            f"{where}: {holds}, unlike the rows at the beginning, and the input can be read only "
            f"once: add --column {misfit.column}=categorical, or give a file"
        )

    def _survey(self, bar: Bar) -> None:
        """Goes over the file once to learn each column's kind, and says which are not dates."""

        def widen(misfit: Misfit) -> None:
            if misfit.column in self.families:
                raise self._final(misfit)
            note(
                f"note: column {misfit.column!r} is not read as dates: "
                f"{self.source.where(misfit.row)} holds {misfit.value!r}"
            )

        names: dict[str, None] = {}
        for batch in bar.over(self.source.batches(self.kinds, self._wanted, widen), "looking"):
            names.update(dict.fromkeys(batch.table.column_names))
        self.names = list(names)

    def _wanted(self, name: str) -> bool:
        return name not in self.families or self.families[name] is not None

    def _batches(self, bar: Bar, what: str) -> Iterator[Labelled]:
        if self.source.header is not None:
            need_columns(self.source, self.target, self.families, self.source.header)
        n_rows = 0
        batches = gathered(self.source.batches(self.kinds, self._wanted))
        for batch in bar.over(batches, what):
            if self.names is None:
                self.names = batch.table.column_names
            known = set(self.names)
            for name in batch.table.column_names:
                if name not in known:
                    raise _NewColumn(name, batch.first)
            if not batch.first:
                need_columns(self.source, self.target, self.families, self.source.columns)
            labelled = self._labelled(batch)
            if len(labelled.labels):
                n_rows += len(labelled.labels)
                yield labelled
        need_labels(self.source, n_rows, self.target)

    def _labelled(self, batch: Batch) -> Labelled:
        table, rows = batch.table, batch.table.num_rows
        if self.target not in table.column_names:
            table = table.append_column(self.target, pa.nulls(rows, pa.string()))
        batch = replace(batch, table=table)
        batch, labels = labels_of(self.source, batch, self.target)
        table, rows = batch.table, len(labels)
        if not batch.first and rows >= MANY and 2 * len(set(labels.tolist())) > rows:
            raise Failure(
                f"{self.target!r} has {len(set(labels.tolist())):,} different values in the first "
                f"{rows:,} rows: a target has few labels. Choose another column, or group "
                "its values into classes"
            )
        assert self.names is not None
        columns = {
            n: table.column(n) if n in table.column_names else pa.nulls(rows)
            for n in self.names
            if n != self.target
        }
        columns |= {n: pa.nulls(rows) for n in self.families if not self._wanted(n)}
        return Labelled(replace(batch, table=pa.table(columns)), labels)

    def _count(self, bar: Bar) -> TableClassifier:
        columns: Any = dict(self.families) or "auto"
        model = NaiveBayes(columns, **(self.options if self.plain else {}))
        self.sample = sample = Sample(SAMPLE if self.plain else WEIGHTED_SAMPLE)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StaleWarning)  # what is chosen on rows comes last
            for rows in self._batches(bar, "counting"):
                with self.source.locating(rows.batch):
                    model.partial_fit(rows.batch.table, rows.labels)
                sample.add(rows)
            need_finite(model, self.source)
            if self.class_weight is not None:
                model = model.with_class_weight(self.class_weight)
            if not self.plain:
                with bar.during("learning weights"):
                    weighted = WeightedNaiveBayes(
                        columns, class_weight=model.class_weight, **self.options
                    )
                    return weighted.count_from(model, *sample.rows())
            if model.chooses_on_rows:
                model.recalibrate(*sample.rows())
        return model

    def model_file(self, model: TableClassifier) -> ModelFile:
        """The model with what its file holds besides."""
        kinds = {n: k for n, k in self.kinds.items() if n != self.target}
        spelling = self.source.spelling
        return ModelFile(
            model, self.target, kinds, spelling.missing, spelling.decimal, spelling.missing_of
        )


class _NewColumn(Exception):
    """A key of JSON lines that the first batch did not have."""

    def __init__(self, name: str, row: int) -> None:
        super().__init__(name)
        self.name, self.row = name, row
