"""The model of a fitted :class:`NaiveBayes`: a tally by column names, and how it is read."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.parts import KindsPart, LevelsPart, TextPart, part_of
from tallybayes.engines.table_score import TableScore, row_scorer
from tallybayes.engines.tables import text_group
from tallybayes.errors import IncompatibleTallies
from tallybayes.families.categorical import Categorical
from tallybayes.families.choice import (
    UNDECLARED,
    ReadAs,
    can_read_as,
    choose,
    read_each_as,
)
from tallybayes.families.contract import (
    CRITERIA,
    Context,
    CountedLevels,
    Criterion,
    NumberCounts,
    Tuning,
)
from tallybayes.families.gaussian import Gaussian
from tallybayes.families.text import Text
from tallybayes.models.base import Model, kept, same
from tallybayes.models.calibration import Calibration
from tallybayes.models.data_warnings import (
    IDENTIFIER_ROWS,
    WRITTEN_INDEX,
    Watched,
    is_identifier,
    warn_of_identifier,
    warn_of_written_index,
)
from tallybayes.models.declarations import ColumnReading, Declared, Reading
from tallybayes.models.rows import (
    A_NUMBER,
    Held,
    Names,
    arranged,
    as_read,
    as_scored,
    held_values,
    kind_of,
    names_of_strings,
    values_of_columns,
)
from tallybayes.models.weighting import Weighting
from tallybayes.schema import Columns
from tallybayes.score import Correction, Formula
from tallybayes.tables import Table
from tallybayes.tally import GridCounts, LevelCounts, Moments, TableTally, TextCounts
from tallybayes.tally.base import RESIDUE, RowWeights
from tallybayes.tally.table import Group
from tallybayes.threads import get_num_threads, in_threads
from tallybayes.tokens.prose import are_prose

__all__ = [
    "PROSE",
    "Chosen",
    "ColumnReader",
    "Contributions",
    "TableModel",
    "TextTerms",
    "need_same_declarations",
]

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
    counts : str, optional
        A digest of the counts that they were made with, once they are stale: with the same counts
        they are as good as new. None where a choice is lacking.
    """

    alpha: float | None = None
    calibration: Calibration | None = None
    stale: bool = False
    weighting: Weighting | None = None
    counts: str | None = None

    @property
    def made(self) -> bool:
        """Whether anything was chosen."""
        return (self.alpha, self.calibration, self.weighting) != (None, None, None)

    def after_change(self, before: TableTally, after: TableTally) -> Chosen:
        """The choices after the counts have changed."""
        if not self.made:
            return self
        counts = self.counts if self.stale else before.digest()
        if counts is not None and counts == after.digest():
            return replace(self, stale=False, counts=None)
        return replace(self, stale=True, counts=counts)


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
            twin.chosen, twin.made = self.chosen.after_change(self.tally, tally), None
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
        rows = self._values
        bound = MIN_KEY_SHARE * float(self.tally.classes.count.sum())
        return [n for n in seen if n in firm or rows.get(n, 0.0) > bound or not rows.get(n)]

    @kept
    def required(self) -> list[str]:
        """The columns that a frame has to have: without keys of dicts that had no value so far."""
        seen, firm = self.seen
        if len(firm) == len(seen):
            return seen
        rows = self._values
        return [name for name in self.names if name in firm or rows.get(name)]

    @kept
    def _values(self) -> dict[str, float]:
        """The weight of the rows that have a value in each column."""
        return values_of_columns(self.tally)

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
    def _counted_as_read(self) -> dict[str, Held]:
        read = self.tally_read
        return self.counted if read is self.tally else held_values(read.schema)

    @kept
    def holds(self) -> dict[str, Held]:
        """What the tally, as it is read, holds of each column."""
        found = self._counted_as_read
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
        zones = [(name, held.zone) for name, held in self.holds.items()]
        zoned, local = ([n for n, zone in zones if zone == z] for z in ("with", "without"))
        return Watched(tuple(counts), tuple(booleans), tuple(zoned), tuple(local))

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
        holds = self._counted_as_read
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
        x = arranged(table, self.names, self.required, what, False)
        return self.score.joint(as_scored(x, self.holds, what))

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


# ---- how the tally of a table is read: the family of each column, and why ------------------------
MAX_COLUMNS_AT_ONCE = 128
"""Columns that are looked at together, so that what is computed of them stays small."""


class ColumnReader:
    """Reads the columns of one tally.

    Parameters
    ----------
    tally : TableTally
        With a schema that joins by name.
    names : list of str
        All columns, those without a value too.
    classes : float64 array (n_classes,)
        Class counts, smoothed as the class prior is.
    reading : Reading
    warned : set
        What the model has warned of already; see :func:`~tallybayes.errors.warn_user`.

    Attributes
    ----------
    undeclared : list of str
        The columns of numbers whose family is not declared.
    """

    undeclared: list[str]
    names: list[str]
    warned: set[Hashable]
    classes: Array
    declared: Declared

    def __init__(
        self,
        tally: TableTally,
        names: list[str],
        classes: Array,
        reading: Reading,
        warned: set[Hashable],
    ) -> None:
        self.names, self.warned = names, warned
        self.rows: Array = tally.classes.count
        self.row_weights: RowWeights = tally.classes.row_weights
        self.classes = classes
        self.declared, alpha, self.estimate, self.unseen, self.missing, scale = reading
        self.criterion: Criterion | None = None
        if alpha in CRITERIA:
            self.criterion = alpha
        chosen = isinstance(alpha, str)
        self.alpha: float = self.row_weights.overall if chosen else float(alpha)
        self.alpha_of_bins: float = 1.0 if chosen else float(alpha)
        one = self.row_weights.overall
        self.context: Context = Context(classes, self.alpha, self.alpha_of_bins, self.row_weights)
        self.undeclared_context: Context = self.context
        self.declared_alpha: bool = not chosen
        if not chosen:
            # no level of an undeclared column adds more than its effective rows support
            alpha = self.alpha * self.row_weights.at_least_one
            self.undeclared_context = self.context._replace(alpha=alpha)
        self.tuning: Tuning = Tuning(self.criterion, scale, self.row_weights)
        self.plain: Gaussian = replace(
            UNDECLARED, ddof=one, pooled_rows=one, estimate=self.estimate
        )
        self.here = tally.by_key
        settled = self.declared.reads.keys() | self.declared.columns_left_out
        self.undeclared = [
            name for name in names if ((name,), "moments") in self.here and name not in settled
        ]

    def choose(self, names: list[str]) -> dict[str, ReadAs]:
        """What columns of numbers whose family is not declared are best read as."""
        columns = [self._counted_numbers(name) for name in names]
        alpha, weights, plain = self.alpha_of_bins, self.row_weights, self.plain
        n = len(columns)
        step = max(1, min(MAX_COLUMNS_AT_ONCE, -(-n // get_num_threads())))
        found = in_threads(
            lambda some: choose(columns[some], self.classes, alpha, plain, weights),
            [slice(start, start + step) for start in range(0, n, step)],
        )
        return dict(zip(names, [choice for part in found for choice in part], strict=True))

    def can_choose(self, choices: Mapping[str, ReadAs]) -> bool:
        """Whether :meth:`choose` can find these."""
        unit = self.row_weights.overall
        return choices.keys() <= set(self.undeclared) and all(
            can_read_as(choice, self._counted_numbers(name)[1], unit)
            for name, choice in choices.items()
        )

    def read(self, choices: Mapping[str, ReadAs]) -> list[ColumnReading]:
        """Each column's family and parameters, in the order of the names; `choices` are what
        :meth:`choose` found, by column."""
        read: dict[str, ColumnReading] = {}
        for members, family in self.declared.groups.items():
            read |= self._group(members, family)
        missing = [name for name in self.undeclared if name not in choices]
        choices = {**choices, **self.choose(missing)} if missing else choices
        given = [choices[name] for name in self.undeclared]
        columns = [self._counted_numbers(name) for name in self.undeclared]
        alpha, weights, plain = self.alpha_of_bins, self.row_weights, self.plain
        starts = range(0, len(columns), MAX_COLUMNS_AT_ONCE)
        found = in_threads(
            lambda some: read_each_as(given[some], columns[some], alpha, plain, weights),
            [slice(start, start + MAX_COLUMNS_AT_ONCE) for start in starts],
        )
        as_chosen = dict(zip(self.undeclared, [one for part in found for one in part], strict=True))
        for name in self.names:
            if name in read:
                continue
            if name in self.declared.columns_left_out:
                read[name] = ColumnReading(name, "anything", "left out", "declared", None)
            elif self.declared.is_written_index(name):
                warn_of_written_index(name, self.warned)
                read[name] = ColumnReading(name, "anything", "left out", WRITTEN_INDEX, None)
            elif ((name,), "moments") in self.here:  # with levels beside them, perhaps
                read[name] = self._numbers(name, as_chosen.get(name), choices.get(name))
            elif ((name,), "levels") in self.here or self.declared.levels(name):
                read[name] = self._levels(name)
            elif ((name,), "terms") in self.here:
                read[name] = self._text(name)
            else:
                why = "no value was seen"
                read[name] = ColumnReading(name, "nothing yet", "left out", why, None)
        return [read[name] for name in self.names]

    def _context(self, name: str) -> tuple[Context, bool]:
        """What a column is read with, and whether its smoothing grows with the weight of an
        effective row: the model's alpha is in rows of weight 1 where its family is declared, else
        in effective rows where these weigh more than 1."""
        if self.declared.families.get(name) is not None and name not in self.declared.assumed:
            return self.context, False
        return self.undeclared_context, self.declared_alpha

    # ---- strings ---------------------------------------------------------------------------------
    def _levels(self, name: str) -> ColumnReading:
        levels, counts = self._counted_levels(name)
        columns, _ = self.here.get(((name,), "levels"), (None, None))
        n_levels = len(levels)  # those declared or found, named or not
        if columns is not None and columns.n_all is not None:
            n_levels = columns.n_all
        family = self.declared.families.get(name)
        if family is None and is_identifier(
            counts, len(levels), n_levels, self.row_weights.overall
        ):
            warn_of_identifier(name, counts, self.warned)
            return ColumnReading(name, "strings", "left out", "all strings are different", None)
        family = family or Categorical(estimate=self.estimate)
        context, in_effective_rows = self._context(name)
        counted = CountedLevels(levels, counts, n_levels, self._missing(counts))
        levels, law, what, grows = family.likelihood(counted, context)
        law, alpha = self.tuning.of_law(law, context.alpha if family.follows else None)
        part = LevelsPart(
            columns=(name,),
            n_classes=len(self.rows),
            law=law,
            levels=levels,
            has_missing=self.missing == "level",
            unseen=getattr(family, "unseen", None) or self.unseen,
            follows=family.follows,
            grows=grows,
            in_effective_rows=family.follows and in_effective_rows,
        )
        why = "declared" if name in self.declared.families else "strings are levels"
        what, is_usual = what + self._chosen_alpha(alpha), name not in self.declared.families
        return ColumnReading(name, "strings", what, why, part, alpha, is_usual=is_usual)

    def _chosen_alpha(self, alpha: float | None) -> str:
        """The smoothing that was chosen for a column, as the schema gives it."""
        return "" if alpha is None or self.criterion is None else f", α = {alpha:.3g}"

    def _counted_levels(self, name: str) -> tuple[list[str], Array]:
        """Levels and their counts (n_classes, n_levels): those declared, or those found."""
        declared = self.declared.levels(name)
        found: list[str] = []
        counts = np.zeros((len(self.rows), 0))
        if ((name,), "levels") in self.here:
            columns, tally = self.here[(name,), "levels"]
            assert isinstance(tally, LevelCounts)
            assert columns.levels is not None
            found, counts = columns.levels[0].tolist(), tally.counts
        if declared is None:
            return found, counts
        wide = np.zeros((len(self.rows), len(declared)))
        at = {level: i for i, level in enumerate(declared)}
        wide[:, [at[level] for level in found]] = counts
        return declared, wide

    def _missing(self, counts: Array) -> Array | None:
        """The weight of missing values in each class, where they are a level; `counts` are those
        of all values."""
        if self.missing != "level":
            return None
        missing = self.rows - counts.sum(axis=1)
        missing[missing <= RESIDUE * self.rows] = 0.0
        return np.asarray(missing)

    # ---- numbers ---------------------------------------------------------------------------------
    def _kinds(self, name: str, counted: NumberCounts) -> KindsPart | None:
        """The scores of a missing value, of any number and of each string beside the numbers; None
        where there are only numbers, and missing values are not evidence."""
        strings, counts = self._counted_levels(name)
        if self.missing == "ignore" and not strings:
            return None
        moments, grid = counted
        only_moments = ((name,), "grid") not in self.here
        there = moments.n[:, 0] if only_moments else grid.counts.sum(axis=1)
        counts = np.concatenate([there[:, None], counts], axis=1)
        levels = [A_NUMBER, *strings]
        kinds = CountedLevels(levels, counts, len(levels), self._missing(counts))
        context, in_effective_rows = self._context(name)
        law = Categorical().likelihood(kinds, context).law
        return KindsPart(
            columns=(name,),
            n_classes=len(self.rows),
            law=law,
            levels=levels,
            has_missing=self.missing == "level",
            unseen=self.unseen,
            in_effective_rows=in_effective_rows,
        )

    def _counted_numbers(self, name: str) -> NumberCounts:
        moments = self.here[(name,), "moments"][1]
        assert isinstance(moments, Moments)
        if ((name,), "grid") not in self.here:
            return NumberCounts(moments, GridCounts.zeros(len(self.rows)))
        grid = self.here[(name,), "grid"][1]
        assert isinstance(grid, GridCounts)
        return NumberCounts(moments, grid)

    def _numbers(self, name: str, reading: Any, choice: ReadAs | None) -> ColumnReading:
        """A column of numbers by a choice, and what that makes of the counts; by its declared
        family where nothing was chosen."""
        counted, why = self._counted_numbers(name), "declared"
        if reading is None or choice is None:
            assumed = name in self.declared.assumed
            family = self.plain if assumed else self.declared.families[name]
            reading = family.likelihood(counted, self.context)
        else:
            per_row = choice.likelihood / max(float(counted.grid.counts.sum()), 1e-300)
            why = f"best by leave-one-out ({per_row:.4f} nats a row)"
        kinds = self._kinds(name, counted)
        reading, alpha = reading.tuned(self.tuning, counted.grid)
        part = part_of((name,), reading, len(self.rows), kinds)
        what = reading.what + self._chosen_alpha(alpha)
        holds = "numbers"
        if part.strings:
            n = len(part.strings)
            holds, what = "numbers and strings", f"{what}, {n} level{'s'[: n != 1]} beside"
        is_usual = why != "declared"
        return ColumnReading(name, holds, what, why, part, alpha, reading.brief, is_usual=is_usual)

    # ---- text ------------------------------------------------------------------------------------
    def _text(self, name: str) -> ColumnReading:
        tally = self.here[(name,), "terms"][1]
        assert isinstance(tally, TextCounts)
        family = self.declared.families.get(name, PROSE)
        likelihood = family.likelihood(tally, self.context)
        part = TextPart(
            columns=(name,), n_classes=len(self.rows), likelihood=likelihood, analyzer=family.terms
        )
        why = "declared" if name in self.declared.families else "its strings are prose"
        return ColumnReading(name, "text", likelihood.in_schema, why, part)

    # ---- groups ----------------------------------------------------------------------------------
    def _group(self, names: tuple[str, ...], family: Any) -> dict[str, ColumnReading]:
        """The columns of a group, by name."""
        _, tally = self.here.get((names, family.together), (None, None))
        group = family.likelihood_together(names, tally, self.context)
        if group is None:
            why = "no row was seen that has all columns of the group"
            return {n: ColumnReading(n, "nothing yet", "left out", why, None) for n in names}
        group, alpha = group.tuned(self.tuning)
        part = part_of(names, group, len(self.rows))
        what = group.in_schema + self._chosen_alpha(alpha)
        return {n: ColumnReading(n, group.holds, what, "declared", part, alpha) for n in names}


# ---- columns of strings that are read as text because they are prose -----------------------------
# The tally counts them as levels, like all undeclared strings, so order and batches do not matter
# and forgetting restores the column. When the tally is read, a column is prose if nearly all rows
# have different strings, and the strings are sentences whose words recur (see
# :mod:`tallybayes.tokens.prose`). Its levels then become terms, as if it were declared `Text()`.
PROSE = Text()
"""What a column of prose is read as."""

MIN_ROWS = IDENTIFIER_ROWS
MIN_DISTINCT_SHARE = 0.75  # strings of each row


def prose_columns(tally: TableTally, declared: Container[str]) -> tuple[str, ...]:
    """The columns of levels that are prose, of those that are not declared.

    Parameters
    ----------
    tally : TableTally
        Its mixed columns are already read as levels or numbers.
    declared : container of str
    """
    row_weight = tally.classes.row_weights.overall * (1.0 + 1e-9)
    found = []
    for name, columns, group in _level_columns(tally):
        if name in declared or group.counts.shape[1] < MIN_ROWS:
            continue
        assert columns.levels is not None
        rows = group.counts.sum(axis=0)
        held = np.flatnonzero(rows > 0.0)
        if len(held) >= max(MIN_ROWS, MIN_DISTINCT_SHARE * float(rows.sum()) / row_weight):
            strings = [str(level) for level in columns.levels[0][held].tolist()]
            if are_prose(strings):
                found.append(name)
    return tuple(found)


def _level_columns(tally: TableTally) -> Iterator[tuple[str, Columns, LevelCounts]]:
    """The columns that hold nothing but levels, all of which are named."""
    of_numbers = {g.names for g in tally.schema.groups if g.kind != "levels"}
    for columns, group in tally.pairs:
        if not isinstance(group, LevelCounts) or columns.names in of_numbers:
            continue
        if columns.names is not None and columns.levels is not None and columns.n_all is None:
            yield columns.names[0], columns, group


def prose_as_terms(tally: TableTally, names: Container[str]) -> TableTally:
    """The same rows, the levels of some columns as the terms of documents."""
    as_terms = {
        name: _terms(name, tally, c, g) for name, c, g in _level_columns(tally) if name in names
    }
    groups: list[Group] = []
    for columns, group in tally.pairs:
        name = columns.names[0] if columns.names else ""
        groups += as_terms.get(name, [(columns, group)])
    return tally.with_pairs(groups)


def _terms(name: str, tally: TableTally, columns: Columns, group: LevelCounts) -> list[Group]:
    assert columns.levels is not None
    held = np.flatnonzero(group.counts.any(axis=0))
    documents = [str(level) for level in columns.levels[0][held].tolist()]
    of_row, codes = np.nonzero(group.counts[:, held].T)
    weights = np.ascontiguousarray(group.counts[codes, held[of_row]])
    n_classes = len(tally.schema.classes)
    return text_group(
        name, documents, of_row, PROSE.terms, codes.astype(np.int32), n_classes, weights
    )


# ---- log-ratios of the terms of a column of text -------------------------------------------------
ONE = np.log(2.0)  # tf of a term that occurs once


@dataclass(frozen=True, eq=False)
class TextTerms:
    """Contributions of the terms of a column of text to the score of each class, in nats.

    Parameters
    ----------
    part : Part
        The column, of the classes `present`.
    weight : float
        The weight that multiplies what the text adds.
    present : index array (n_present,)
    n_classes : int
    """

    part: Any
    weight: float
    present: NDArray[np.intp]
    n_classes: int

    def of_document(self, document: str) -> tuple[list[Any], Array]:
        """The terms of a document that were counted, and what each adds, float64
        (n_terms, n_classes). Their sum is what the document adds."""
        terms, contributions = self.part.of_terms(document)
        return terms, self._of_all_classes(contributions)

    def of_one_occurrence(self) -> tuple[list[Any], Array]:
        """All terms, and what each adds in a text of this one term, float64
        (n_terms, n_classes)."""
        likelihood = self.part.likelihood
        terms = likelihood.counts.held.terms.tolist()
        return terms, self._of_all_classes(ONE * likelihood.ratios_of(np.arange(len(terms))))

    def _of_all_classes(self, contributions: Array) -> Array:
        found = np.zeros((len(contributions), self.n_classes))
        found[:, self.present] = self.weight * contributions
        return found


# ---- which declarations let the counts of two models of tables be added --------------------------
NO_FAMILY = "no family"


def need_same_declarations(mine: TableModel, theirs: TableModel) -> None:
    """Raises IncompatibleTallies where a column is declared in two ways, or where what one model
    has counted of it is not what the other declares.

    Two families of one type may differ in their hyperparameters: these are read, not counted.
    """
    here, there = mine.reading.declared, theirs.reading.declared
    names = dict.fromkeys([*_named(here), *_named(there)])
    for name in names:
        one, other = _family(here, name), _family(there, name)
        if one == NO_FAMILY:
            wrong = _misfit(there, name, mine)
        elif other == NO_FAMILY:
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
        return NO_FAMILY
    family = what.families[name]
    by_type = any(repr(family) == repr(given) for _, given in what.by_type)
    return NO_FAMILY if by_type else family


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
    if name in what.columns_left_out:
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
    columns, _ = model.tally.by_key.get(((name,), "levels"), (None, None))
    return set() if columns is None or columns.levels is None else {*columns.levels[0].tolist()}


def _lowest(model: TableModel, name: str) -> float:
    """The lowest number of a column, or a little less."""
    _, grid = model.tally.by_key.get(((name,), "grid"), (None, None))
    return float(grid.values().min(initial=np.inf)) if isinstance(grid, GridCounts) else np.inf
