"""The model of a fitted :class:`NaiveBayes`: a tally by column names, and how it is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.table_score import TableScore, row_scorer
from tallybayes.errors import IncompatibleTallies
from tallybayes.families.choice import ReadAs
from tallybayes.models.base import Model, kept, same
from tallybayes.models.calibration import Calibration
from tallybayes.models.columns import (
    ColumnReader,
    TextTerms,
    prose_as_terms,
    prose_columns,
)
from tallybayes.models.data_warnings import Watched
from tallybayes.models.declarations import ColumnReading, Declared, Reading
from tallybayes.models.rows import (
    Held,
    Names,
    as_read,
    held_values,
    kind_of,
    names_of_strings,
    rows_to_score,
    values_of_columns,
)
from tallybayes.models.weighting import Weighting
from tallybayes.score import Correction, Formula
from tallybayes.tables import Table
from tallybayes.tally import GridCounts, TableTally

__all__ = ["MIN_KEY_SHARE", "Chosen", "Contributions", "TableModel", "need_same_declarations"]


Array = NDArray[np.float64]

MIN_KEY_SHARE = 0.01
"""The share of the rows that a key of dicts has to have a value in, at least, to be a column."""


@dataclass(frozen=True)
class Chosen:
    """Choices made on rows, and whether the counts have changed since.

    Parameters
    ----------
    alpha : float, optional
    calibration : Calibration, optional
    stale : bool
    weighting : Weighting, optional
        Of a weighted model.
    """

    alpha: float | None = None
    calibration: Calibration | None = None
    stale: bool = False
    weighting: Weighting | None = None

    def after_change(self) -> Chosen:
        """The choices after the counts have changed."""
        made = (self.alpha, self.calibration, self.weighting) != (None, None, None)
        return replace(self, stale=True) if made else self


class MadeChoices(NamedTuple):
    """The chosen readings of columns, and what they depend on beside the tally."""

    choices: dict[str, ReadAs]
    basis: tuple[Array, Reading, tuple[str, ...]]


class Contributions(NamedTuple):
    """Contributions to the scores of rows, in nats.

    Parameters
    ----------
    base : float64 array (n_classes,)
        What every row has.
    of_terms : float64 array (n_rows, n_classes, n_terms)
    names : list of str
        Of the terms: columns, or pairs of them.
    """

    base: Array
    of_terms: Array
    names: list[str]


class TableModel(Model):
    """The state of a :class:`NaiveBayes`.

    Parameters are those of :class:`Model`, and besides:

    Attributes
    ----------
    seen : Names
        All columns that rows had, and which of them are columns of the model whatever they hold.
    has_names : bool
        Whether the columns' names are the data's own.
    reading : Reading
        How the tally is read.
    chosen : Chosen
        What was chosen on rows.
    with_strings : frozenset of str
        Columns that accept strings when predicting, although the tally holds only numbers of them:
        rows that are held out, or of weight 0, had the strings.
    reads_prose : bool
        Whether undeclared strings that are prose are read as text.
    made : MadeChoices or None
        The choices of families for this tally, which are kept in copies of the model and in files.
    """

    seen: Names
    reading: Reading
    has_names: bool = False
    chosen: Chosen = Chosen()
    with_strings: frozenset[str] = frozenset()
    reads_prose: bool = True
    made: MadeChoices | None = None

    def with_tally(self, tally: TableTally) -> Self:
        twin = super().with_tally(tally)
        if tally is not self.tally:
            twin.chosen, twin.made = self.chosen.after_change(), None
        return twin

    def equals(self, other: Model) -> bool:
        assert isinstance(other, TableModel)
        return (
            super().equals(other)
            and sorted(self.names) == sorted(other.names)
            and same(tuple(self.reading), tuple(other.reading))
            and same(self.chosen, other.chosen)
        )

    @kept
    def names(self) -> list[str]:
        """The model's columns: those that are declared or that a frame had, and the keys of dicts
        that have a value in more than :data:`MIN_KEY_SHARE` of the rows, or in none so far."""
        seen, firm = self.seen
        if len(firm) == len(seen):
            return seen
        rows = values_of_columns(self.tally)
        bound = MIN_KEY_SHARE * float(self.tally.classes.count.sum())
        return [n for n in seen if n in firm or rows.get(n, 0.0) > bound or not rows.get(n)]

    @kept
    def required(self) -> list[str]:
        """The columns that a frame has to have: without keys of dicts that had no value so far."""
        seen, firm = self.seen
        if len(firm) == len(seen):
            return seen
        rows = values_of_columns(self.tally)
        return [name for name in self.names if name in firm or rows.get(name)]

    @kept
    def tally_read(self) -> TableTally:
        """The tally with each column that holds numbers and strings, and each column of prose, as
        it is read."""
        mixed = self._one_kind_each
        return prose_as_terms(mixed, self.prose) if self.prose else mixed

    @kept
    def _one_kind_each(self) -> TableTally:
        """The tally with each column that holds numbers and strings as it is read."""
        return as_read(self.tally)

    @kept
    def prose(self) -> tuple[str, ...]:
        """The columns of strings that are read as text because they are prose."""
        if not self.reads_prose:
            return ()
        return prose_columns(self._one_kind_each, self.reading.declared.families)

    @kept
    def counted(self) -> dict[str, Held]:
        """What the tally holds of each column."""
        return held_values(self.schema)

    @kept
    def holds(self) -> dict[str, Held]:
        """What the tally, as it is read, holds of each column."""
        found = held_values(self.tally_read.schema)
        more = {n: h._replace(strings=True) for n, h in found.items() if n in self.with_strings}
        return found | more

    def note_strings(self, x: Table, weights: Array) -> None:
        """Lets columns of numbers accept the strings of counted rows of weight 0: a model predicts
        all rows of the table that it was fitted on."""
        if weights.all():
            return
        of_nothing = x.take(np.flatnonzero(weights == 0.0))
        numbers = {name for name, held in self.counted.items() if held.numbers}
        self.with_strings |= numbers.intersection(names_of_strings(of_nothing))

    @kept
    def row_scorer(self) -> Any:
        """The compiled score of one row as a dict; None where there is none."""
        return row_scorer(self.formula(), self.date_columns, self.watched.columns)

    @property
    def date_columns(self) -> list[str]:
        """The columns that hold dates."""
        return [name for name, held in self.holds.items() if held.dates]

    @kept
    def watched(self) -> Watched:
        """The columns with a warning of odd values in rows to predict."""
        families = self.reading.declared.families
        counts = [name for name, family in families.items() if family is not None and family.whole]
        booleans = [
            name
            for name, held in self.holds.items()
            if held.booleans and not held.numbers and name not in self.with_strings
            if (getattr(families.get(name), "unseen", None) or self.reading.unseen) != "error"
        ]
        return Watched(tuple(counts), tuple(booleans))

    @kept
    def columns_read(self) -> list[ColumnReading]:
        """Each column's family and parameters."""
        return self._reader.read(self.choices)

    @kept
    def _reader(self) -> ColumnReader:
        """What reads the columns. A declared class_alpha is in effective rows here, so that a
        common factor on all weights does not change what is chosen."""
        counts = self.tally.classes
        prior, unit = self.prior, counts.row_weights.overall
        log_prior = self.log_prior
        if prior.given is None and prior.alpha and unit != 1.0:
            log_prior = replace(prior, alpha=prior.alpha * unit).log(counts)
        classes = np.asarray(np.exp(log_prior) * (float(counts.count.sum()) or 1.0))
        return ColumnReader(self.tally_read, self.names, classes, self.reading, self.warned)

    @kept
    def choices(self) -> dict[str, ReadAs]:
        """What each column of numbers whose family is not declared is read as."""
        reader = self._reader
        basis = (reader.classes, self.reading._replace(scale=1.0), tuple(self.names))
        if self.made is None or not same(self.made.basis, basis):
            self.made = MadeChoices(reader.choose(reader.undeclared), basis)
        return self.made.choices

    def take_choices(self, choices: dict[str, ReadAs]) -> bool:
        """Takes over what :attr:`choices` were for the same counts; whether they can be these."""
        reader = self._reader
        if not reader.can_choose(choices):
            return False
        basis = (reader.classes, self.reading._replace(scale=1.0), tuple(self.names))
        self.made = MadeChoices(choices, basis)
        return True

    def changed(self) -> None:
        super().changed()
        self.made = None

    @property
    def parts(self) -> list[Any]:
        """What adds to the score, each once."""
        return list({id(r.part): r.part for r in self.columns_read if r.part is not None}.values())

    def formula(self) -> Formula:
        holds = held_values(self.tally_read.schema)
        return Formula(
            classes=self.schema.classes,
            offset=self.log_prior.copy(),
            terms=self.score.terms(),
            ruled_out=self.corrected(self.log_prior[None, :].copy())[0],
            fallback=int(np.argmax(self.log_prior)),
            kinds={name: kind_of(holds.get(name)) for name in self.names},
            least={name: self.reading.declared.least(name) for name in self.names},
            has_names=self.has_names,
            correction=self._correction(),
        )

    def _correction(self) -> Correction:
        calibration = self.chosen.calibration
        return Correction() if calibration is None else calibration.correction()

    @property
    def pairs(self) -> list[Any]:
        """The pairs of columns with a term of their own."""
        return []

    @kept
    def score(self) -> TableScore:
        return TableScore(self.parts, self.log_prior)

    def joint_of(self, table: Table) -> Array:
        """log P(c) + log p(x | c) of the rows of a table as it was read, (n_rows, n_classes)."""
        what = self.reading.declared
        x = rows_to_score(table, self.names, self.required, self.holds, what, records=False)
        return self.score.joint(x)

    def contributions(self, x: Table) -> Contributions:
        """What each column adds to the score of each class."""
        shares = self.score.contributions(x)
        contributions = np.zeros((x.n_rows, len(self.log_prior), len(self.names)))
        for j, name in enumerate(self.names):
            if name in shares:
                contributions[:, :, j] = shares[name]
        return Contributions(self.log_prior.copy(), contributions, list(self.names))

    @property
    def text_terms(self) -> dict[str, TextTerms]:
        """What the terms of each column of text add."""
        n = len(self.log_prior)
        text_terms = [part for part in self.score.parts if part.kind == "documents"]
        return {part.name: TextTerms(part, 1.0, np.arange(n), n) for part in text_terms}

    def corrected(self, log_proba: Array) -> Array:
        """P(c | x) as the model predicts it, (n_rows, n_classes), from the log-probabilities of its
        score."""
        calibration = self.chosen.calibration
        if calibration is not None:
            log_proba = calibration.apply(log_proba)
        return np.asarray(np.exp(log_proba))

    def rescale(self, scale: float) -> None:
        """Multiplies alpha in the columns that follow it, families and bins as they are."""
        columns = []
        for column in self.columns_read:
            part = column.part
            if part is not None and part.follows:
                alpha = None if column.alpha is None else column.alpha * scale
                column = replace(column, part=part.rescaled(scale), alpha=alpha)
            columns.append(column)
        log_prior, made = self.log_prior, self.made
        self.reading = self.reading._replace(scale=self.reading.scale * scale)
        self.changed()
        self.made = made
        self._read |= {"columns_read": columns, "log_prior": log_prior}

    def likelihood_without(self, x: Any, own: NDArray[np.int64], weight: Array) -> Array:
        return self.score.likelihood_without(x, own, weight)


# ---- which declarations let the counts of two models of tables be added --------------------------
UNDECLARED = "no family"


def need_same_declarations(mine: TableModel, theirs: TableModel) -> None:
    """Raises IncompatibleTallies where a column is declared in two ways, or where what one model
    has counted of it is not what the other declares.

    Two families of one type may differ in their hyperparameters: these are read, not counted.
    """
    here, there = mine.reading.declared, theirs.reading.declared
    names = dict.fromkeys([*_named(here), *_named(there)])
    for name in names:
        one, other = _family(here, name), _family(there, name)
        if one == UNDECLARED:
            wrong = _misfit(there, name, mine)
        elif other == UNDECLARED:
            wrong = _misfit(here, name, theirs)
        else:
            wrong = "" if _alike(here, there, name) else "declare the same columns= for all parts"
        if wrong:
            raise IncompatibleTallies(
                f"column {name!r} is declared as {_shown(one)} in one model and as "
                f"{_shown(other)} in the other: {wrong}. Nothing was changed"
            )


def _named(what: Declared) -> list[str]:
    return [*what.families, *(name for names in what.groups for name in names)]


def _family(what: Declared, name: str) -> Any:
    """The family that is declared for a column, by name; that of its type is not."""
    for names, family in what.groups.items():
        if name in names:
            return family
    if name not in what.families:
        return UNDECLARED
    family = what.families[name]
    by_type = any(repr(family) == repr(given) for _, given in what.by_type)
    return UNDECLARED if by_type else family


def _shown(family: Any) -> str:
    return family if isinstance(family, str) else "left out" if family is None else repr(family)


def _group(what: Declared, name: str) -> tuple[str, ...]:
    return next((names for names in what.groups if name in names), ())


def _alike(here: Declared, there: Declared, name: str) -> bool:
    """Whether two declared families count, and read, the same thing."""
    one, other = _family(here, name), _family(there, name)
    return (
        type(one) is type(other)
        and _group(here, name) == _group(there, name)
        and here.levels(name) == there.levels(name)
        and here.least(name) == there.least(name)
    )


def _misfit(what: Declared, name: str, model: TableModel) -> str:
    """What a model that does not declare a column has counted of it that its family elsewhere
    cannot read; empty where there is nothing."""
    held = model.counted.get(name, Held())
    if not held.strings and not held.numbers:
        return ""
    if what.left_out(name):
        return "its values are counted in one of them only; leave it out of both"
    if _group(what, name):
        return "it is counted by itself in one of them; declare the group in both"
    if what.is_text(name):
        if held.numbers:
            return "numbers were learned as such, which are not levels"
        declared = what.levels(name)
        unknown = [] if declared is None else sorted(_levels(model, name) - set(declared))
        return f"{unknown[0]!r} was learned, which is not declared" if unknown else ""
    if held.strings:
        return "strings were learned, which are not numbers"
    lowest = _lowest(model, name)
    least = what.least(name)
    if least and (lowest < 0.0 or (least == 2 and lowest == 0.0)):
        return f"{lowest:.17g} was learned, which the family does not take"
    return ""


def _levels(model: TableModel, name: str) -> set[str]:
    found: set[str] = set()
    for group in model.schema.groups:
        if group.key == ((name,), "levels") and group.levels is not None:
            found = set(group.levels[0].tolist())
    return found


def _lowest(model: TableModel, name: str) -> float:
    """The lowest number of a column, or a little less."""
    for group, tally in zip(model.schema.groups, model.tally.groups, strict=True):
        if group.key == ((name,), "grid") and isinstance(tally, GridCounts):
            return float(tally.values().min(initial=np.inf))
    return np.inf
