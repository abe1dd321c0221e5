"""A model of a table with how its rows are read: fitted, saved, asked and changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.diagnosis.findings import of_labels
from tallybayes.engines.contract import Sampler
from tallybayes.errors import (
    OptionError,
    SourceError,
    called,
    listed,
    suggestion,
)
from tallybayes.estimators.naive_bayes import NaiveBayes, collect
from tallybayes.estimators.saving import write
from tallybayes.estimators.sources import Counted, ReadBy, remember
from tallybayes.estimators.table_base import TableClassifier
from tallybayes.estimators.weighted import WeightedNaiveBayes
from tallybayes.explain.importances import terms_apart
from tallybayes.model_files.base import (
    MAX_SAMPLE_ROWS,
    ChosenRows,
    MeasuredRows,
    ModelFile,
    Replace,
    need_columns,
)
from tallybayes.model_files.findings import (
    need_finite,
    notes_of,
    state_of,
    strays,
    strings_beside_numbers,
)
from tallybayes.models.rows import values_of_columns
from tallybayes.models.table import TableModel
from tallybayes.models.weighted import Term, weights_of
from tallybayes.persistence import digest_of
from tallybayes.progress import reading_shown
from tallybayes.sources.cells import Kind
from tallybayes.sources.contract import RowsKept
from tallybayes.sources.opening import header_hint
from tallybayes.sources.places import need_group, need_kept, need_target
from tallybayes.sources.reading import Plan, Rows
from tallybayes.tables import Column, Empty, Numbers, Table, arrow
from tallybayes.tables.columns import as_text, stacked, values_of
from tallybayes.validation import read_groups

if TYPE_CHECKING:
    from tallybayes.label_shift import ClassPriorEstimate

__all__ = ["TableFile", "kept_columns", "kinds_declared", "strings_of", "weights_of_rows"]


Array = NDArray[np.float64]

UNDECIDED_KINDS: set[str | None] = {None, "number or date"}  # of columns without a value so far


@dataclass(eq=False)
class TableFile(ModelFile):
    """A model of tables, and how data is read for it.

    Parameters
    ----------
    model : NaiveBayes or WeightedNaiveBayes
        Fitted.
    read_by : ReadBy
        The columns of labels and weights, the kinds of the others, and the spelling of values.
    path : str
        Its file, for messages.
    counted : Counted, optional
        The rows that were counted, where it was just fitted.
    strays_before : dict
        The strings beside numbers that it held before rows were learned.
    """

    model: TableClassifier
    read_by: ReadBy
    path: str = ""
    counted: Counted | None = field(default=None, repr=False)
    strays_before: dict[str, list[str]] = field(default_factory=dict, repr=False)

    unit: ClassVar[str] = "row"
    learned_on_rows: ClassVar[str] = "weights and pairs"

    # ---- made by a fit, or from a file -----------------------------------------------------------
    @classmethod
    def fit(
        cls,
        rows: Rows,
        target: str | None,
        families: dict[str, Any],
        *,
        plain: bool = False,
        class_weight: Any = None,
        group: str | None = None,
        **options: Any,
    ) -> TableFile:
        """Count rows, and learn what is learned on some of them.

        Where a later row shows that a column of dates holds something else, the source is counted
        from scratch; what is read once cannot be, and that is an error.

        Parameters
        ----------
        rows : Rows
            Rows with labels, or without.
        target : str or None
            The column of the labels. None: all rows are of one class, ``"(unlabelled)"``, and the
            model is plain.
        families : dict
            Declared families; None leaves the column out.
        plain : bool
            Whether the model is a NaiveBayes, else a WeightedNaiveBayes.
        class_weight : dict, "balanced" or None
            By which the counts of all rows are multiplied at the end.
        group : str, optional
            The column of groups, which is not learned from, now or later.
        **options
            Of that model.
        """
        weight = rows.weight
        need_columns(rows, target, families, weight)
        declared = kinds_declared(families)
        left_out = [n for n, family in families.items() if family is None and n != group]
        columns: Any = {**families, group: None} if group is not None else dict(families)
        make = NaiveBayes if plain else WeightedNaiveBayes
        model = make(columns or "auto", class_weight=class_weight, **options)
        plan = Plan(
            "counting",
            target,
            kinds=declared,
            left_out=left_out,
            fitting=True,
            weight=weight,
            group=group,
        )
        counted = None
        with reading_shown("" if plain else "learning weights"), rows.reading(plan):
            if target is None:
                tally = collect(rows, None, columns or "auto", sample_weight=weight)
                model = NaiveBayes.from_tally(tally, columns=columns or "auto")
            else:
                counted = model._fit_source(
                    rows, target, weight, at_least=MAX_SAMPLE_ROWS, groups=group
                )
        if class_weight is not None:  # later rows have the weights that these have
            model.set_params(class_weight=dict(model.class_weight_))
        read_by = ReadBy(target, None, weight, {}, rows.spelling, rows.flatten)
        file = cls(model, read_by, counted=counted)
        file.read_by.kinds |= {name: declared.get(name) for name in file.names}
        file._take_kinds(rows.kind_of)
        return file

    @classmethod
    def of(cls, path: str, model: Any, extra: dict[str, Any]) -> TableFile:
        """Take a model that was loaded, and what its file holds beside it.

        Parameters
        ----------
        path : str
            The file, for messages.
        model : NaiveBayes or WeightedNaiveBayes
            What it holds.
        extra : dict
            What it holds beside it.

        Raises
        ------
        SourceError, ModelFileError
        """
        if not isinstance(model, TableClassifier):
            raise SourceError(
                f"{path} holds a {type(model).__name__}; the command line works with models of "
                "tables and of text, such as tallybayes fit makes. Use this one from Python"
            )
        file = cls(model, ReadBy.of(extra, path), path)
        file._take_kinds(file.read_by.kinds.get)  # Python may have taught it more since
        return file

    def _take_kinds(
        self, kind_of: Callable[[str], Kind | None], names: Iterable[str] | None = None
    ) -> None:
        """Takes the kinds of the columns that have values, or of some of them, as they were read
        and counted."""
        for name in self.table.counted if names is None else names:
            self.read_by.kinds[name] = kind_of(name)
            self.read_by.kinds[name] = self._kind(name)

    @property
    def columns_with_strings(self) -> list[str]:
        """The columns whose cells are numbers or strings each by itself, and never dates or
        times."""
        counted = self.table.counted
        return [
            name
            for name, kind in self.read_by.kinds.items()
            if kind == "number or text" and (name not in counted or counted[name].strings)
        ]

    def _kind(self, name: str) -> Kind:
        """The kind of a column that has values."""
        held, declared = self.table.counted[name], self.table.reading.declared
        known = self.read_by.kinds.get(name)
        if declared.is_text(name):
            return "text"
        if held.dates or (known == "date" and not held.strings):
            return "date"
        if known == "time" and not held.strings:
            return "time"
        if declared.reads.get(name) == "numbers":
            return "number"
        if not held.numbers and known != "number or text":
            return "text"  # so it was learned, by other formats or in Python
        return "number or text"

    def save(self, path: str, replace: Replace = os.replace) -> None:
        remember(self.model, self.read_by)
        write(self.model, path, replace=replace, costs=self.costs)

    @property
    def table(self) -> TableModel:
        """What the model holds."""
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
        return digest_of(self.table.tally.arrays().values())

    def _holds(self, name: str) -> str:
        """What a column's values are: dates, numbers, strings, or numbers and strings."""
        held = self.table.counted[name]
        numbers = ["dates" if self.read_by.kinds.get(name) == "date" else "numbers"] * held.numbers
        return " and ".join([*numbers, *["strings"] * held.strings])

    def predicted(
        self, rows: Rows, keep: Sequence[str] = ()
    ) -> Iterator[tuple[dict[str, list[str]], Array]]:
        plan = self._plan(rows, "predicting", keep=keep)

        def of_part(table: Table) -> tuple[dict[str, list[str]], Array]:
            kept = {n: strings_of(column) for n, column in kept_columns(table, plan).items()}
            return kept, self.model.predict_proba(_of_model(table, plan))

        with rows.reading(plan):
            yield from rows.over(of_part)

    def measured(
        self, rows: Rows, target: str | None, keep: Sequence[str] = ()
    ) -> Iterator[MeasuredRows]:
        need_kept(rows, keep, "by")
        plan = self._plan(rows, "measuring", self._target(target), keep=keep)

        def of_part(table: Table) -> MeasuredRows:
            codes = self.codes(_labels(table, plan))
            proba = self.model.predict_proba(_of_model(table, plan))
            kept = kept_columns(table, plan) if keep else {}
            strings = {name: strings_of(column) for name, column in kept.items()}
            return MeasuredRows(codes, proba, weights_of_rows(table, plan), strings)

        with rows.reading(plan):
            yield from rows.over(of_part)

    def class_prior(self, rows: Rows, confidence: float) -> ClassPriorEstimate:
        """Estimate the class shares of rows without labels.

        Parameters
        ----------
        rows : Rows
            Labels and weights among them are not read.
        confidence : float
            The share of intervals that hold the true share.

        Returns
        -------
        ClassPriorEstimate
            The shares, with their intervals.
        """
        with rows.reading(self._plan(rows, "estimating class shares")):
            return self.model.estimate_class_prior(rows, confidence)

    def sampled(
        self, rows: Rows, target: str | None, max_rows: int, group: str | None = None
    ) -> tuple[Table, NDArray[Any], Array | None, NDArray[np.intp] | None]:
        plan = self._plan(rows, "reading", self._target(target), group=group)
        sampler: Sampler[Table] = Sampler(max_rows)
        with rows.reading(plan):
            for table in rows.over(lambda table: table):
                sampler.add(table, table.n_rows)
        table = stacked(sampler.parts())
        labels = self.own_labels(_labels(table, plan))
        return _of_model(table, plan), labels, weights_of_rows(table, plan), _groups(table, plan)

    def chosen(self, rows: Rows, chosen: ChosenRows) -> list[tuple[int, Table]]:
        plan = self._plan(rows, "looking for the row", keep=chosen.columns)
        found: list[tuple[int, Table]] = []
        keys: set[tuple[str, str]] = set()
        seen, last = 0, chosen.last()
        with rows.reading(plan):
            for table in rows.over(lambda table: table):
                kept = kept_columns(table, plan)
                places = {n - seen for n in chosen.numbers if 0 <= n - seen < table.n_rows}
                for column, value in chosen.keys:
                    strings = map(str, values_of(kept[column]))
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

    def learn(self, rows: Rows, target: str | None) -> int:
        plan = self._plan(rows, "counting", self._target(target), learning=True)
        self.strays_before = strings_beside_numbers(self.model)
        with rows.reading(plan):
            self.model.partial_fit(rows, plan.target, sample_weight=plan.weight)
        counted = self.table.counted  # columns that had no value before have kinds now
        new = [name for name, kind in plan.kinds.items() if kind is None and name in counted]
        self._take_kinds(rows.kind_of, new)
        need_finite(self.model, rows)
        self.read_by.target = self.target or target
        return rows.n_rows - rows.unlabelled

    def forget(self, rows: Rows, target: str | None) -> int:
        plan = self._plan(rows, "forgetting", self._target(target), learning=True)
        self.strays_before = strings_beside_numbers(self.model)
        with rows.reading(plan):
            self.model.forget(rows, plan.target, plan.weight)
        need_finite(self.model, rows)
        self.read_by.target = self.target or target
        return rows.n_rows - rows.unlabelled

    def _target(self, target: str | None) -> str:
        """The column of labels."""
        target = target or self.target
        if target is None:
            raise OptionError(
                "this model was saved from Python and does not say which column holds the label: "
                f"name it by {called('target')}"
            )
        if target in self.names:
            raise OptionError(
                f"{called('target')} {target!r} is a column that the model predicts from"
                + (f"; the label is {self.target!r}" if self.target else "")
            )
        return target

    def need_reweighting(self, parts: Any) -> None:
        if not self.model.chooses_on_rows:
            raise SourceError(
                f"{self.path} is a plain model without calibration: nothing in it is learned on "
                "rows but the counts, which are exact"
            )
        if parts is not None and not isinstance(self.model, WeightedNaiveBayes):
            raise OptionError(
                f"{called('parts')} is for weighted models, and {self.path} is a plain one"
            )

    def reweight(self, rows: Rows, target: str | None, parts: Any, group: str | None) -> int:
        if parts is not None:
            self.model.set_params(parts=parts)
        table, labels, weights, groups = self.sampled(rows, target, self.model.sample_size, group)
        with reading_shown("learning weights"):
            if isinstance(self.model, WeightedNaiveBayes):
                self.model.reweight(table, labels, weights, groups)
            elif isinstance(self.model, NaiveBayes):
                self.model.recalibrate(table, labels, weights, groups)
        return len(labels)

    def merge(self, part: TableFile) -> bool:
        if self.target and part.target and self.target != part.target:
            raise SourceError(
                f"{self.path} predicts {self.target!r} and {part.path} predicts {part.target!r}: "
                "only models of one target merge"
            )
        for name in self.read_by.kinds.keys() & part.read_by.kinds.keys():
            kinds = {self.read_by.kinds[name], part.read_by.kinds[name]}
            if "date" in kinds and len(kinds) > 1 and not kinds & UNDECIDED_KINDS:
                raise SourceError(
                    f"column {name!r} holds {self._holds(name)} in {self.path} and "
                    f"{part._holds(name)} in {part.path}: train both with "
                    f"{called('column', f'{name}=categorical')}"
                )
        same = type(self.model) is not type(part.model) or str(self.model.get_params()) == str(
            part.model.get_params()
        )
        self.model.merge(part.model)
        self.read_by.target = self.target or part.target
        for name, kind in part.read_by.kinds.items():
            mine = self.read_by.kinds.get(name)
            if mine in UNDECIDED_KINDS or (mine != kind and kind not in UNDECIDED_KINDS):
                self.read_by.kinds[name] = kind if mine in UNDECIDED_KINDS else "number or text"
        return same

    # ---- what it holds, and what is odd about it -------------------------------------------------
    @property
    def stale_part(self) -> str | None:
        if not self.stale:
            return None
        return (
            "calibration was" if self.table.chosen.weighting is None else "weights and pairs were"
        )

    @staticmethod
    def value(row: Table, name: str) -> Any:
        """Say what a single row holds in a column.

        Parameters
        ----------
        row : Table
            Of one row.
        name : str
            The column.

        Returns
        -------
        str, float, int or None
            None for a missing value; dates are strings.
        """
        return values_of(row.columns[name])[0]

    def notes(self, rows: Rows) -> list[str]:
        """Say what may mean something other than what was read, after a fit.

        Parameters
        ----------
        rows : Rows
            What it was fitted on.

        Returns
        -------
        list of str
            A sentence for each finding.
        """
        numbers = of_labels(self.classes)
        of_target = [f"{self.target!r} {numbers.message}"] if numbers else []
        return [*self.stray_notes(rows), *notes_of(self.model, rows), *of_target]

    def stray_notes(self, rows: Rows) -> list[str]:
        return strays(self.model, rows, self.strays_before)

    def missing_shares(self) -> dict[str, float]:
        """The share of rows without a value, by column."""
        n_rows = max(self.weight, 1e-300)
        there = values_of_columns(self.table.tally)
        return {name: max(0.0, 1.0 - weight / n_rows) for name, weight in there.items()}

    def informative(self) -> list[tuple[str, float]]:
        """The columns in use, and the pairs of a weighted model, with how far each moves the scores
        of the classes apart, in nats; the most informative first."""
        found = [term for term in terms_apart(self.table).items() if term[1] > 0.0]
        return sorted(found, key=lambda term: -term[1])

    def columns(self) -> list[dict[str, Any]]:
        """Each column: what it holds, its family and why, the weight of its table, what it adds in
        nats, and the share of missing values."""
        weighting = self.table.chosen.weighting
        missing, weights = self.missing_shares(), weights_of(weighting)
        adds = {} if weighting is None else weighting.adds
        dates = {name for name, kind in self.read_by.kinds.items() if kind == "date"}
        return [
            {
                "column": r.name,
                "holds": "dates" if r.holds == "numbers" and r.name in dates else r.holds,
                "family": r.family,
                "weight": weights.get(r.name) if r.part is not None else None,
                "adds": adds.get(r.name) if r.part is not None else None,
                "why": r.why,
                "missing": missing.get(r.name),
                "used": r.part is not None,
            }
            for r in self.table.columns_read
        ]

    # ---- what is read of rows --------------------------------------------------------------------
    def _plan(
        self,
        rows: Rows,
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
        left_out = [n for n in self.names if n in self.table.reading.declared.columns_left_out]
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
            raise SourceError(
                f"{rows.name} lacks the column(s) {listed(lacking)} that the model was "
                f"trained with; it has {listed(have)}. Add them, empty "
                f"where nothing is known.{self._renamed_hint(lacking, have)}{header_hint(have)}"
            )
        kinds = {name: self._kind_asked(name, learning) for name in read}
        labels = self.own_labels if learning else None
        weight = rows.weight if target is not None else None
        if weight is not None:
            rows.need_weights()
            if weight in self.names or weight == target:
                raise OptionError(
                    f"{called('weight')} {weight!r} is a column that the model predicts from, or "
                    "the label"
                )
        if group is not None and target is not None:
            need_group(rows, group, target, weight)
            if group in read:
                raise OptionError(
                    f"{called('group')} {group!r} is a column that the model predicts from, and a "
                    f"column of groups is not learned from: fit the model with {called('group')}"
                )
        return Plan(
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
        kind, held = self.read_by.kinds.get(name), self.table.counted.get(name)
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
                raise SourceError(
                    f"{rows.name}: no row has the key {name!r} that the model was trained with; "
                    f"unknown keys are {listed(unknown)}.{hint} Rename it to {name!r}"
                )


def kinds_declared(families: Mapping[str, Any]) -> dict[str, Kind | None]:
    """What the columns of declared families are read as."""
    return {
        name: "number or date" if family.reads == "numbers" else "text"
        for name, family in families.items()
        if family is not None
    }


def _of_model(table: Table, plan: Plan) -> Table:
    """The columns that the model reads."""
    columns = {name: table.columns[name] for name in plan.names or ()}
    if plan.group in columns:  # which a model made with it leaves out
        columns[plan.group] = Empty(table.n_rows)
    return Table(columns, table.n_rows, True)


def kept_columns(table: Table, plan: Plan) -> dict[str, Column]:
    """The columns that the plan keeps."""
    assert isinstance(table, RowsKept)
    found = arrow.read(table.kept).columns
    return {name: found.get(name, Empty(table.n_rows)) for name in plan.keep}


def strings_of(column: Column) -> list[str]:
    """A column as it is written."""
    return ["" if value is None else as_text(value) for value in values_of(column)]


def _labels(table: Table, plan: Plan) -> NDArray[Any]:
    """The labels as strings."""
    assert plan.target is not None
    return np.array(values_of(table.columns[plan.target]), dtype=np.str_)


def weights_of_rows(table: Table, plan: Plan) -> Array | None:
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
    groups = np.array(values_of(table.columns[plan.group]), dtype=object)
    return read_groups(groups, table.n_rows)
