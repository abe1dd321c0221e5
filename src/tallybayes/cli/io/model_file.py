"""A model file of the command line: a model of a table, and how its data was read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes.cli.io.known_classes import KnownClasses
from tallybayes.cli.io.targets import need_target
from tallybayes.cli.terminal.console import Bar
from tallybayes.cli.terminal.failures import USAGE, Failure, suggestion
from tallybayes.cli.terminal.interrupts import need_none, replacement_of
from tallybayes.errors import ModelFileError, listed
from tallybayes.estimators.persistence.model_files import save
from tallybayes.estimators.tables.base import TableClassifier
from tallybayes.models.table import TableModel
from tallybayes.models.weighted.terms import Term
from tallybayes.persistence.checks import (
    Unfit,
    each,
    either,
    mapping,
    one_of,
    optional,
    record,
    text,
)
from tallybayes.sources.opening.foreign import header_hint
from tallybayes.sources.text_files.batch import Batch, Labelled, gathered
from tallybayes.sources.text_files.cells import MISSING, Kind, Misfit
from tallybayes.sources.text_files.data_file import DataFile

if TYPE_CHECKING:
    from tallybayes.cli.arguments.reading import Reading

__all__ = ["ModelFile", "labels_of", "need_labels", "state_of"]


STRINGS = either(each(text), each(text, of=tuple))
OWN = record(
    {
        "target": optional(text),
        "kinds": mapping(text, optional(one_of(*get_args(Kind)))),
        "missing": STRINGS,
        "missing_of": mapping(text, STRINGS),
        "decimal": one_of(".", ","),
    },
    {"target": None, "kinds": {}, "missing": list(MISSING), "missing_of": {}, "decimal": "."},
)
"""What the command line keeps beside a model."""

RENAMED = {"gaps": "missing", "gaps_of": "missing_of"}
"""What files of earlier versions call an entry, and what it is called now."""


def _renamed(own: Any) -> Any:
    """The command line's part of a file, its entries under the names that they have now."""
    if not isinstance(own, dict):
        return own
    return {RENAMED.get(name, name): value for name, value in own.items()}


def labels_of(source: DataFile, batch: Batch, target: str) -> tuple[Batch, NDArray[Any]]:
    """The labels as strings, and the rows that have one; others are an error, or are left out."""
    column = batch.table.column(target).cast(pa.string())
    if column.null_count:
        known = column.is_valid().to_numpy()
        if not source.skip_unlabelled:
            row = batch.first + int(np.flatnonzero(~known)[0])
            raise Failure(
                f"{source.name}, {source.where(row)} has no label in {target!r}: fill it in, or "
                "leave such rows out with --skip-unlabelled"
            )
        source.unlabelled += column.null_count
        batch, column = batch.keep(known), column.filter(pa.array(known))
    return batch, np.array(column.to_pylist(), dtype=np.str_)


def need_labels(source: DataFile, n_rows: int, target: str) -> None:
    """Raises where no row had a label."""
    if not n_rows:
        raise Failure(f"{source.name}: none of its {source.unlabelled:,} rows has a {target!r}")


def state_of(model: TableClassifier) -> TableModel:
    """What a model of a table holds."""
    state = model._fitted()
    assert isinstance(state, TableModel)
    return state


@dataclass(eq=False)
class ModelFile(KnownClasses):
    """A model of tables and what has to be known to read data for it.

    Parameters
    ----------
    model : NaiveBayes or WeightedNaiveBayes
    target : str or None
        The label's column; None for a model that was not saved by the command line.
    kinds : dict
        The kind of each column.
    missing : tuple of str
        Strings that are missing values.
    decimal : {".", ","}
        Of numbers in CSV.
    missing_of : dict
        More strings that are missing values, by column.
    """

    model: TableClassifier
    target: str | None
    kinds: dict[str, Kind | None] = field(default_factory=dict)
    missing: tuple[str, ...] = MISSING
    decimal: str = "."
    missing_of: dict[str, tuple[str, ...]] = field(default_factory=dict)

    unit: ClassVar = "row"

    @classmethod
    def of(cls, path: str, model: Any, extra: dict[str, Any]) -> ModelFile:
        """The model of a file, and what the file holds beside it.

        Raises
        ------
        Failure, ModelFileError
        """
        if not isinstance(model, TableClassifier):
            raise Failure(
                f"{path} holds a {type(model).__name__}; the command line works with models of "
                "tables and of text, such as tallybayes fit makes. Use this one from Python"
            )
        try:
            mine = OWN(_renamed(extra.get("cli", {})), "the command line's part")
        except Unfit as error:
            raise ModelFileError(f"{path} is whole, but no model file: {error}") from error
        missing = tuple(mine["missing"])
        missing_of = {name: tuple(strings) for name, strings in mine["missing_of"].items()}
        file = cls(model, mine["target"], mine["kinds"], missing, mine["decimal"], missing_of)
        for name in file.table.counted:  # Python may have taught it more since
            file.kinds[name] = file._kind(name)
        return file

    def _kind(self, name: str) -> Kind:
        """The kind of a column that has values."""
        held, declared = self.table.counted[name], self.table.reading.declared
        known = self.kinds.get(name)
        if declared.is_text(name):
            return "text"
        if held.dates or (known == "date" and not held.strings):
            return "date"
        if declared.is_number(name):
            return "number"
        if not held.numbers and known != "number or text":
            return "text"  # so it was learned, by other formats or in Python
        return "number or text"

    def save(self, path: str) -> None:
        """Writes the file; one that is there is replaced whole or not at all."""
        need_none()
        own = {
            "target": self.target,
            "kinds": self.kinds,
            "missing": self.missing,
            "decimal": self.decimal,
            "missing_of": self.missing_of,
        }
        save(self.model, path, extra={"cli": own}, replace=replacement_of(path))
        need_none()

    @property
    def table(self) -> TableModel:
        return state_of(self.model)

    @property
    def pairs(self) -> list[Term]:
        """The pairs of columns that say something of their own."""
        return self.table.pairs

    @property
    def stale(self) -> bool:
        """Whether weights, or a calibration, are older than the counts."""
        return self.table.chosen.stale

    @property
    def names(self) -> list[str]:
        """The columns, those that are left out too."""
        return self.table.names

    @property
    def class_rows(self) -> NDArray[np.float64]:
        """How many rows of each class were counted, class weights left aside, (n_classes,)."""
        count: NDArray[np.float64] = self.model.class_count_
        weights = np.array(list(self.model.class_weight_.values()))
        if (weights == 1.0).all():
            return count
        return np.round(count / np.where(weights > 0.0, weights, 1.0), 9)

    @property
    def rows(self) -> float:
        """How many rows were counted."""
        return float(self.class_rows.sum())

    @property
    def weight(self) -> float:
        """How much the rows weigh."""
        return float(self.model.class_count_.sum())

    def holds(self, name: str) -> str:
        """What a column's values are: dates, numbers, strings, or numbers and strings."""
        held = self.table.counted[name]
        numbers = ["dates" if self.kinds.get(name) == "date" else "numbers"] * held.numbers
        return " and ".join([*numbers, *["strings"] * held.strings])

    def open(self, paths: list[str], reading: Reading) -> DataFile:
        """Rows for this model."""
        return reading.open(paths, self)

    def proba(self, batch: Batch) -> NDArray[np.float64]:
        """The probability of each class, (n_rows, n_classes)."""
        found: NDArray[np.float64] = self.model.predict_proba(batch.table)
        return found

    def learn(self, rows: Labelled) -> None:
        """Counts rows in addition."""
        self.model.partial_fit(rows.batch.table, self.own_labels(rows.labels))

    def forget(self, rows: Labelled) -> None:
        """Takes rows away that were counted."""
        self.model.forget(rows.batch.table, self.own_labels(rows.labels))

    def batches(
        self, source: DataFile, bar: Bar, what: str, also: str | None, learning: bool = False
    ) -> Iterator[Batch]:
        """Batches with the model's columns, and with the column `also`.

        Without labels the batches are small, so that predictions come soon. Where nothing is
        learned, a column that adds nothing (an identifier, say) may be lacking.
        """
        names = [name for name in self.names if name != also]
        read = {n for n in names if not self.table.reading.declared.left_out(n)}
        idle = set() if learning else {r.name for r in self.table.columns_read if r.part is None}
        kinds = {n: self._kind_asked(n, learning) for n in read}
        if also is not None:
            read.add(also)
            kinds[also] = "text"

        def wanted(name: str) -> bool:
            return name in read

        try:
            batches = source.batches(kinds, wanted)
            for batch in bar.over(batches if also is None else gathered(batches), what):
                have = batch.table.column_names
                lacking = [n for n in names if n in read - idle and n not in have]
                if also is not None and also not in have:
                    need_target(source, also, source.columns)
                if lacking and source.format == "jsonl":
                    self._need_no_other_spelling(source, lacking)
                elif lacking:
                    raise Failure(
                        f"{source.name} lacks the column(s) {listed(lacking)} that the model was "
                        f"trained with; it has {listed(source.columns)}. Add them, empty "
                        f"where nothing is known.{header_hint(source.columns)}"
                    )
                yield _filled(batch, [*names, also] if also is not None else names)
        except Misfit as misfit:
            raise source.misfit(misfit) from None
        self.kinds.update(
            {n: k for n, k in kinds.items() if n != also and n not in self.table.counted}
        )

    def _kind_asked(self, name: str, learning: bool) -> Kind | None:
        """The kind that rows are read as: only learning may bring the first text of a column."""
        kind, held = self.kinds.get(name), self.table.counted.get(name)
        if not learning and kind == "number or text" and held is not None and not held.strings:
            return "number"
        return kind

    def _need_no_other_spelling(self, source: DataFile, lacking: list[str]) -> None:
        """Raises where keys that rows lack stand there in another spelling."""
        unknown = [key for key in source.columns if key not in self.names and key != self.target]
        for name in lacking:
            if hint := suggestion(name, unknown):
                raise Failure(
                    f"{source.name}: no row has the key {name!r} that the model was trained with; "
                    f"unknown keys are {listed(unknown)}.{hint} Rename it to {name!r}"
                )

    def labelled(
        self, source: DataFile, bar: Bar, what: str, target: str | None, learning: bool = False
    ) -> Iterator[Labelled]:
        """Batches and their labels."""
        target = target or self.target
        if target is None:
            raise Failure(
                "this model was saved from Python and does not say which column holds the label: "
                "name it by --target",
                USAGE,
            )
        if target in self.names:
            raise Failure(
                f"--target {target!r} is a column that the model predicts from"
                + (f"; the label is {self.target!r}" if self.target else ""),
                USAGE,
            )
        n_rows = 0
        for batch in self.batches(source, bar, what, target, learning):
            batch, labels = labels_of(source, batch, target)
            if len(labels):
                n_rows += len(labels)
                yield Labelled(replace(batch, table=batch.table.drop_columns([target])), labels)
        need_labels(source, n_rows, target)


def _filled(batch: Batch, names: list[str]) -> Batch:
    """The columns `names`; those that the batch lacks are empty."""
    table, rows = batch.table, batch.table.num_rows
    here = set(table.column_names)
    columns = {n: table.column(n) if n in here else pa.nulls(rows) for n in names}
    return replace(batch, table=pa.table(columns))
