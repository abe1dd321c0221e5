"""A model file of the command line: a model of a table, and how its data was read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.cli.console import Bar
from tallybayes.cli.interrupts import need_none, replacement_of
from tallybayes.cli.kinds import KnownClasses, digest_of
from tallybayes.cli.messages import USAGE, Failure, suggestion
from tallybayes.cli.options import ChosenRows
from tallybayes.cli.places import need_group, need_kept, need_target, need_weight
from tallybayes.cli.rows import Plan, Rows
from tallybayes.engines.contract import Sampler
from tallybayes.errors import ModelFileError, listed
from tallybayes.estimators.saving import save
from tallybayes.estimators.table_base import TableClassifier
from tallybayes.models.table import TableModel
from tallybayes.models.weighted import Term
from tallybayes.persistence import Unfit, constructed, fit
from tallybayes.sources.cells import Kind
from tallybayes.sources.contract import RowsKept
from tallybayes.sources.opening import header_hint
from tallybayes.sources.options import MISSING, DateOrder, Spelling
from tallybayes.tables import Column, Empty, Numbers, Table
from tallybayes.tables.columns import stacked, values_of
from tallybayes.validation import read_groups

__all__ = ["ModelFile", "state_of"]


Array = NDArray[np.float64]

Strings = list[str] | tuple[str, ...]


@dataclass(frozen=True)
class Kept:
    """What the command line keeps beside a model."""

    target: str | None = None
    made: str | None = None
    weight: str | None = None
    kinds: dict[str, Kind | None] = field(default_factory=dict)
    missing: Strings = MISSING
    missing_of: dict[str, Strings] = field(default_factory=dict)
    decimal: str = "."
    thousands: str | None = None
    dates: DateOrder = "ymd"
    flatten: bool = False


RENAMED = {"gaps": "missing", "gaps_of": "missing_of"}
"""What files of earlier versions call an entry, and what it is called now."""


def _renamed(own: Any) -> Any:
    """The command line's part of a file, its entries under the names that they have now."""
    if not isinstance(own, dict):
        return own
    return {RENAMED.get(name, name): value for name, value in own.items()}


def state_of(model: TableClassifier) -> TableModel:
    """What a model of a table holds."""
    state = model._fitted()
    assert isinstance(state, TableModel)
    return state


@dataclass(eq=False)
class ModelFile(KnownClasses):
    """A model of tables, and how data is read for it.

    Parameters
    ----------
    model : NaiveBayes or WeightedNaiveBayes
    target : str or None
        The label's column; None for a model that was not saved by the command line.
    kinds : dict
        The kind of each column.
    spelling : Spelling
        Of strings: missing values, numbers and dates.
    made : str or None
        The digest of the counts that the file was made with; those that it has now may be others.
    weight_column : str or None
        The column of weights that rows were learned with.
    flatten : bool
        Whether objects within rows were flattened.
    """

    model: TableClassifier
    target: str | None
    kinds: dict[str, Kind | None] = field(default_factory=dict)
    spelling: Spelling = Spelling()  # noqa: RUF009  # frozen
    made: str | None = None
    weight_column: str | None = None
    flatten: bool = False

    unit: ClassVar[str] = "row"

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
        where = "the command line's part"
        try:
            mine: Kept = fit(Kept, _renamed(extra.get("cli", {})), where)
            missing_of = {name: tuple(strings) for name, strings in mine.missing_of.items()}
            marks = mine.decimal, missing_of, mine.thousands, mine.dates
            spelling = constructed(Spelling, where, tuple(mine.missing), *marks)
        except Unfit as error:
            raise ModelFileError(f"{path} is whole, but no model file: {error}") from error
        file = cls(
            model,
            mine.target,
            mine.kinds,
            spelling,
            mine.made,
            weight_column=mine.weight,
            flatten=mine.flatten,
        )
        for name in file.table.counted:  # Python may have taught it more since
            file.kinds[name] = file.kind(name)
        return file

    @property
    def columns_with_strings(self) -> list[str]:
        """The columns whose cells are numbers or strings each by itself, and never dates or
        times."""
        counted = self.table.counted
        return [
            name
            for name, kind in self.kinds.items()
            if kind == "number or text" and (name not in counted or counted[name].strings)
        ]

    def kind(self, name: str) -> Kind:
        """The kind of a column that has values."""
        held, declared = self.table.counted[name], self.table.reading.declared
        known = self.kinds.get(name)
        if declared.is_text(name):
            return "text"
        if held.dates or (known == "date" and not held.strings):
            return "date"
        if known == "time" and not held.strings:
            return "time"
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
            "made": self.made,
            "weight": self.weight_column,
            "kinds": self.kinds,
            "missing": self.spelling.missing,
            "missing_of": self.spelling.missing_of,
            "decimal": self.spelling.decimal,
            "thousands": self.spelling.thousands,
            "dates": self.spelling.dates,
            "flatten": self.flatten,
        }
        save(self.model, path, extra={"cli": own}, replace=replacement_of(path))
        need_none()

    @property
    def table(self) -> TableModel:
        return state_of(self.model)

    @property
    def pairs(self) -> list[Term]:
        """The pairs of columns with a term of their own."""
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

    def digest(self) -> str:
        """What tells these counts from others."""
        return digest_of(self.table.tally.arrays().values())

    def holds(self, name: str) -> str:
        """What a column's values are: dates, numbers, strings, or numbers and strings."""
        held = self.table.counted[name]
        numbers = ["dates" if self.kinds.get(name) == "date" else "numbers"] * held.numbers
        return " and ".join([*numbers, *["strings"] * held.strings])

    def predicted(
        self, rows: Rows, bar: Bar, keep: Sequence[str] = ()
    ) -> Iterator[tuple[dict[str, Column], Array]]:
        """Columns that are kept, and the probability of each class (n_rows, n_classes), part by
        part."""
        plan = self._plan(rows, bar, "predicting", keep=keep)

        def of_part(table: Table) -> tuple[dict[str, Column], Array]:
            assert isinstance(table, RowsKept)
            return table.kept, self.model.predict_proba(_of_model(table, plan))

        with rows.reading(plan):
            yield from rows.over(of_part)

    def measured(
        self, rows: Rows, bar: Bar, target: str | None
    ) -> Iterator[tuple[NDArray[np.intp], Array, Array | None]]:
        """The class of each row, −1 for one that is unknown, the probability of each class, and
        weights."""
        plan = self._plan(rows, bar, "measuring", self._target(target))

        def of_part(table: Table) -> tuple[NDArray[np.intp], Array, Array | None]:
            codes = self.codes(_labels(table, plan))
            return codes, self.model.predict_proba(_of_model(table, plan)), _weights(table, plan)

        with rows.reading(plan):
            yield from rows.over(of_part)

    def sampled(
        self, rows: Rows, bar: Bar, target: str | None, max_rows: int, group: str | None = None
    ) -> tuple[Table, NDArray[Any], Array | None, NDArray[np.intp] | None]:
        """A fair sample of the rows, their labels as the model has them, their weights, and the
        number of each row's group, where a column has them."""
        plan = self._plan(rows, bar, "reading", self._target(target), group=group)
        sampler: Sampler[Table] = Sampler(max_rows)
        with rows.reading(plan):
            for table in rows.over(lambda table: table):
                sampler.add(table, table.n_rows)
        table = stacked(sampler.parts())
        labels = self.own_labels(_labels(table, plan))
        return _of_model(table, plan), labels, _weights(table, plan), _groups(table, plan)

    def chosen(self, rows: Rows, bar: Bar, chosen: ChosenRows) -> list[tuple[int, Table]]:
        """Some rows, each with its number, in the order of the data."""
        plan = self._plan(rows, bar, "looking for the row", keep=chosen.columns)
        found: list[tuple[int, Table]] = []
        keys: set[tuple[str, str]] = set()
        seen, last = 0, chosen.last()
        with rows.reading(plan):
            for table in rows.over(lambda table: table):
                assert isinstance(table, RowsKept)
                places = {n - seen for n in chosen.numbers if 0 <= n - seen < table.n_rows}
                for column, value in chosen.keys:
                    strings = map(str, values_of(table.kept[column]))
                    those = {i for i, text in enumerate(strings) if text.strip() == value.strip()}
                    keys |= {(column, value)} if those else set()
                    places |= those
                of_model = _of_model(table, plan)
                found += [(seen + i, of_model.take(np.array([i]))) for i in sorted(places)]
                seen += table.n_rows
                if last is not None and last < seen:
                    break
        if len(found) < len(chosen.numbers) or chosen.keys:
            chosen.need_found(rows.name, seen, self.unit, keys)
        return found

    def learn(self, rows: Rows, bar: Bar, target: str | None) -> int:
        """Counts rows in addition; how many."""
        plan = self._plan(rows, bar, "counting", self._target(target), learning=True)
        with rows.reading(plan):
            self.model.partial_fit(rows, plan.target, sample_weight=plan.weight)
        self._take_kinds(rows, plan)
        return rows.n_rows - rows.unlabelled

    def forget(self, rows: Rows, bar: Bar, target: str | None) -> int:
        """Takes rows away that were counted; how many."""
        plan = self._plan(rows, bar, "forgetting", self._target(target), learning=True)
        with rows.reading(plan):
            self.model.forget(rows, plan.target, plan.weight)
        return rows.n_rows - rows.unlabelled

    def _target(self, target: str | None) -> str:
        """The column of labels."""
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
        return target

    def _take_kinds(self, rows: Rows, plan: Plan) -> None:
        """Columns that had no value before have kinds now."""
        for name, kind in plan.kinds.items():
            if kind is None and name in self.table.counted:
                self.kinds[name] = rows.kind_of(name)
                self.kinds[name] = self.kind(name)

    def _plan(
        self,
        rows: Rows,
        bar: Bar,
        doing: str,
        target: str | None = None,
        *,
        keep: Sequence[str] = (),
        learning: bool = False,
        group: str | None = None,
    ) -> Plan:
        """What is read of rows: the columns of the model, and the labels.

        Where nothing is learned, a column that adds nothing (an identifier, say) may be lacking.
        """
        left_out = [n for n in self.names if self.table.reading.declared.left_out(n)]
        read = [name for name in self.names if name not in left_out]
        idle = set() if learning else {r.name for r in self.table.columns_read if r.part is None}
        have = rows.header
        lacking = [n for n in read if n not in idle and n not in have]
        if target is not None and target not in have and not rows.keyed:
            need_target(rows, target, have)
        need_kept(rows, keep)
        if lacking and rows.keyed:
            self._need_no_other_spelling(rows, lacking)
        elif lacking:
            raise Failure(
                f"{rows.name} lacks the column(s) {listed(lacking)} that the model was "
                f"trained with; it has {listed(have)}. Add them, empty "
                f"where nothing is known.{self._renamed_hint(lacking, have)}{header_hint(have)}"
            )
        kinds = {name: self._kind_asked(name, learning) for name in read}
        labels = self.own_labels if learning else None
        weight = rows.weight if target is not None else None
        if weight is not None:
            need_weight(rows, weight)
            if weight in self.names or weight == target:
                raise Failure(
                    f"--weight {weight!r} is a column that the model predicts from, or the label",
                    USAGE,
                )
        if group is not None and target is not None:
            need_group(rows, group, target, weight)
            if group in read:
                raise Failure(
                    f"--group {group!r} is a column that the model predicts from, and a column of "
                    "groups is not learned from: fit the model with --group",
                    USAGE,
                )
        return Plan(
            bar,
            doing,
            target,
            self.names,
            keep,
            kinds,
            left_out,
            labels=labels,
            weight=weight,
            group=group,
        )

    def _kind_asked(self, name: str, learning: bool) -> Kind | None:
        """The kind that rows are read as: only learning may bring the first text of a column."""
        kind, held = self.kinds.get(name), self.table.counted.get(name)
        if not learning and kind == "number or text" and held is not None and not held.strings:
            return "number"
        return kind

    def _renamed_hint(self, lacking: list[str], have: list[str]) -> str:
        """What a column that data lacks may be called there."""
        unknown = [name for name in have if name not in self.names and name != self.target]
        for name in lacking:
            if hint := suggestion(name, unknown):
                return f"{hint} Rename it to {name!r}."
        return ""

    def _need_no_other_spelling(self, rows: Rows, lacking: list[str]) -> None:
        """Raises where keys that rows lack stand there in another spelling."""
        unknown = [key for key in rows.header if key not in self.names and key != self.target]
        for name in lacking:
            if hint := suggestion(name, unknown):
                raise Failure(
                    f"{rows.name}: no row has the key {name!r} that the model was trained with; "
                    f"unknown keys are {listed(unknown)}.{hint} Rename it to {name!r}"
                )


def _of_model(table: Table, plan: Plan) -> Table:
    """The columns that the model reads."""
    columns = {name: table.columns[name] for name in plan.names or ()}
    if plan.group in columns:  # which a model made with it leaves out
        columns[plan.group] = Empty(table.n_rows)
    return Table(columns, table.n_rows, True)


def _labels(table: Table, plan: Plan) -> NDArray[Any]:
    """The labels as strings."""
    assert plan.target is not None
    return np.array(values_of(table.columns[plan.target]), dtype=np.str_)


def _weights(table: Table, plan: Plan) -> Array | None:
    """The weights of rows; None where each weighs 1."""
    if plan.weight is None:
        return None
    column = table.columns[plan.weight]
    assert isinstance(column, Numbers)
    return column.values.astype(np.float64)


def _groups(table: Table, plan: Plan) -> NDArray[np.intp] | None:
    """The number of each row's group; None where there are no groups."""
    if plan.group is None:
        return None
    return read_groups(np.array(values_of(table.columns[plan.group]), dtype=object), table)
