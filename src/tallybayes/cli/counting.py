"""Counting a training file, in parts that estimate by cross-validation how good the model is."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes.cli.console import Bar, note
from tallybayes.cli.failures import Failure, listed, suggestion
from tallybayes.cli.families import FAMILIES
from tallybayes.cli.model_file import Labelled, ModelFile, labels_of, need_target
from tallybayes.cli.reading.batch import Batch, gathered
from tallybayes.cli.reading.cells import Kind, Misfit
from tallybayes.cli.reading.source import Source
from tallybayes.estimators.naive_bayes import NaiveBayes
from tallybayes.families import Bernoulli, Categorical

__all__ = ["Counting", "left_out"]

MANY = 100  # rows of a first batch from which on labels must repeat


@dataclass(eq=False)
class Counting:
    """Training on one file.

    Parameters
    ----------
    source : Source
    target : str
    families : dict
        Declared families; None leaves the column out.
    options : dict
        Of NaiveBayes.
    folds : int
        Each row counts in one of so many parts; all parts together are the model.
    """

    source: Source
    target: str
    families: dict[str, Any]
    options: dict[str, Any]
    folds: int

    def __post_init__(self) -> None:
        self.kinds: dict[str, Kind | None] = {self.target: "text"}
        for name, family in self.families.items():
            if family is not None:
                is_text = isinstance(family, Categorical | Bernoulli)
                self.kinds[name] = "text" if is_text else "number or date"
        self.names: list[str] | None = None

    def run(self, bar: Bar) -> dict[int, NaiveBayes]:
        """Counts the file; the parts that have rows, by number.

        Where a later batch shows that a column holds texts after all, or that there are more
        columns, the file is counted afresh; standard input cannot be, and that is an error.
        """
        try:
            return self._count(bar)
        except Misfit as misfit:
            if self.source.once or misfit.column in self.families:
                raise self._final(misfit) from None
        except _NewColumn as new:
            if self.source.once:
                raise Failure(
                    f"standard input, row {new.row}: the key {new.name!r} was not in the rows at "
                    "the beginning, which tell the columns: give a file, or null in the first row"
                ) from None
        self._survey(bar)
        return self._count(bar)

    def _final(self, misfit: Misfit) -> Failure:
        where = f"{self.source.name}, {self.source.where(misfit.row)}"
        holds = f"column {misfit.column!r} holds {misfit.value!r}, which is no {misfit.kind}"
        if misfit.column in self.families:
            return Failure(f"{where}: {holds}: correct it, or declare {misfit.column}=categorical")
        return Failure(
            f"{where}: {holds}, but the rows at the beginning were, and standard input is read "
            f"once: add --column {misfit.column}=categorical, or give a file"
        )

    def _survey(self, bar: Bar) -> None:
        """Goes over the file once to learn each column's kind, and says which became texts."""

        def widen(misfit: Misfit) -> None:
            if misfit.column in self.families:
                raise self._final(misfit)
            note(
                f"column {misfit.column!r} is read as text: "
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
            self._check(self.source.header)
        batches = gathered(self.source.batches(self.kinds, self._wanted))
        for batch in bar.over(batches, what):
            if self.names is None:
                self.names = batch.table.column_names
            known = set(self.names)
            for name in batch.table.column_names:
                if name not in known:
                    raise _NewColumn(name, batch.first)
            if not batch.first:
                self._check(self.source.columns)
            yield self._labelled(batch)

    def _check(self, columns: list[str]) -> None:
        need_target(self.source, self.target, columns)
        for name in self.families:
            if name not in columns:
                raise Failure(
                    f"--column names {name!r}, which {self.source.name} does not have; its columns "
                    f"are {listed(columns)} (families: {listed(FAMILIES)})."
                    + suggestion(name, columns)
                )
        if self.target in self.families:
            raise Failure(f"--column {self.target} is the target, which has no family: leave it")
        if len(columns) < 2:
            raise Failure(
                f"{self.source.name} has no column beside {self.target!r} to learn from (is the "
                "--delimiter another?)"
            )

    def _labelled(self, batch: Batch) -> Labelled:
        table, rows = batch.table, batch.table.num_rows
        if self.target not in table.column_names:
            table = table.append_column(self.target, pa.nulls(rows, pa.string()))
        batch = Batch(table, batch.first, batch.done)
        labels = labels_of(self.source, batch, self.target)
        if not batch.first and rows >= MANY and 2 * len(set(labels.tolist())) > rows:
            raise Failure(
                f"{self.target!r} has {len(set(labels.tolist())):,} different values in the first "
                f"{rows:,} rows: a target has few labels. Choose another, or put it into classes"
            )
        assert self.names is not None
        columns = {
            n: table.column(n) if n in table.column_names else pa.nulls(rows)
            for n in self.names
            if n != self.target
        }
        columns |= {n: pa.nulls(rows) for n in self.families if not self._wanted(n)}
        return Labelled(Batch(pa.table(columns), batch.first, batch.done), labels)

    def _new(self) -> NaiveBayes:
        return NaiveBayes(columns=dict(self.families) or "auto", **self.options)

    def _count(self, bar: Bar) -> dict[int, NaiveBayes]:
        parts: dict[int, NaiveBayes] = {}
        for rows in self._batches(bar, "counting"):
            with self.source.locating(rows.batch):
                for i, own in _shares(rows, self.folds):
                    x, y = rows.batch.table, rows.labels
                    if self.folds > 1:
                        x, y = x.take(own), y[own]
                    parts.setdefault(i, self._new()).partial_fit(x, y)
        return dict(sorted(parts.items()))

    def model_file(self, parts: dict[int, NaiveBayes]) -> ModelFile:
        """All parts together."""
        first, *others = parts.values()
        model = copy.copy(first)
        for part in others:
            model.merge(part)
        kinds = {n: k for n, k in self.kinds.items() if n != self.target}
        spelling = self.source.spelling
        return ModelFile(model, self.target, kinds, spelling.gaps, spelling.decimal)

    def predictions(
        self, parts: dict[int, NaiveBayes], classes: NDArray[Any], bar: Bar
    ) -> Iterator[tuple[NDArray[Any], NDArray[np.float64]]]:
        """Labels, and probabilities by the merge of all parts but the row's own."""
        models: dict[int, NaiveBayes] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the model itself has warned
            for rows in self._batches(bar, "cross-validating"):
                if not models:
                    gaps = pa.table({n: pa.nulls(1) for n in rows.batch.table.column_names})
                    rest = left_out(list(parts.values()))
                    models = {
                        i: _with_classes(m, classes, gaps) for i, m in zip(parts, rest, strict=True)
                    }
                for i, own in _shares(rows, self.folds):
                    x = rows.batch.table.take(own)
                    yield rows.labels[own], models[i].predict_proba(x)


class _NewColumn(Exception):
    """A key of JSON lines that the first batch did not have."""

    def __init__(self, name: str, row: int) -> None:
        super().__init__(name)
        self.name, self.row = name, row


def _shares(rows: Labelled, folds: int) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """The rows of a batch that belong to each part: chosen by a hash of the row's number, so that
    batches do not matter, nor any period in the data."""
    part = _hashed(rows.batch.first + np.arange(len(rows.labels), dtype=np.uint64)) % folds
    for i in range(folds):
        own = np.flatnonzero(part == i)
        if len(own):
            yield i, own


def _hashed(numbers: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The finalizer of SplitMix64, without its sign."""
    z = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(1)).astype(np.int64)


def left_out(parts: list[NaiveBayes]) -> list[NaiveBayes]:
    """For each part the merge of all others."""
    n = len(parts)
    before: list[NaiveBayes | None] = [None] * n  # of the parts before i
    after: list[NaiveBayes | None] = [None] * n
    for i in range(1, n):
        b, a = before[i - 1], after[n - i]
        before[i] = parts[i - 1] if b is None else b + parts[i - 1]
        after[n - 1 - i] = parts[n - i] if a is None else parts[n - i] + a
    merged = []
    for b, a in zip(before, after, strict=True):
        if b is None or a is None:
            assert b is not None or a is not None
            merged.append(b if a is None else a)
        else:
            merged.append(b + a)
    return merged  # type: ignore[return-value]


def _with_classes(model: NaiveBayes, classes: NDArray[Any], gaps: Any) -> NaiveBayes:
    """The model with the classes that its parts lack: a row of gaps comes and goes with them."""
    if len(model.classes_) == len(classes):
        return model
    one = classes[:1]
    return copy.copy(model).partial_fit(gaps, one, classes=classes).forget(gaps, one)
