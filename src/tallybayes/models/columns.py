"""Columns of a table's tally as families read them: the family of each, and why."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.contract import Group
from tallybayes.engines.parts import KindsPart, LevelsPart, TextPart, part_of
from tallybayes.engines.tables import text_group
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
from tallybayes.families.text import Text
from tallybayes.models.data_warnings import IDENTIFIER_ROWS, is_identifier, warn_of_identifier
from tallybayes.models.declarations import ColumnReading, Reading
from tallybayes.models.rows import A_NUMBER
from tallybayes.schema import Columns, Schema
from tallybayes.tally import GridCounts, LevelCounts, Moments, TableTally, TextCounts
from tallybayes.tally.base import RESIDUE
from tallybayes.threads import get_num_threads, in_threads
from tallybayes.tokens.prose import are_prose

__all__ = [
    "PROSE",
    "ColumnReader",
    "TextTerms",
    "prose_as_terms",
    "prose_columns",
]

Array = NDArray[np.float64]


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

    def __init__(
        self,
        tally: TableTally,
        names: list[str],
        classes: Array,
        reading: Reading,
        warned: set[Hashable],
    ) -> None:
        self.names, self.warned = names, warned
        self.rows = tally.classes.count
        self.row_weights = tally.classes.row_weights
        self.classes = classes
        self.declared, alpha, self.estimate, self.unseen, self.missing, scale = reading
        self.criterion: Criterion | None = None
        if alpha in CRITERIA:
            self.criterion = alpha
        chosen = isinstance(alpha, str)
        self.alpha = self.row_weights.overall if chosen else float(alpha)
        self.alpha_of_bins = 1.0 if chosen else float(alpha)
        one = self.row_weights.overall
        self.context = Context(classes, self.alpha, self.alpha_of_bins, self.row_weights)
        self.undeclared_context = self.context
        self.declared_alpha = not chosen
        if not chosen:
            # no level of an undeclared column adds more than its effective rows support
            alpha = self.alpha * self.row_weights.at_least_one
            self.undeclared_context = self.context._replace(alpha=alpha)
        self.tuning = Tuning(self.criterion, scale, self.row_weights)
        self.plain = replace(UNDECLARED, ddof=one, pooled_rows=one, estimate=self.estimate)
        self.here = {c.key: (c, t) for c, t in zip(tally.schema.groups, tally.groups, strict=True)}
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
            if self.declared.left_out(name):
                read[name] = ColumnReading(name, "anything", "left out", "declared", None)
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
    for name, columns, group in _levels(tally):
        if name in declared:
            continue
        assert columns.levels is not None
        rows = group.counts.sum(axis=0)
        held = np.flatnonzero(rows > 0.0)
        if len(held) >= max(MIN_ROWS, MIN_DISTINCT_SHARE * float(rows.sum()) / row_weight):
            strings = [str(level) for level in columns.levels[0][held].tolist()]
            if are_prose(strings):
                found.append(name)
    return tuple(found)


def _levels(tally: TableTally) -> Iterator[tuple[str, Columns, LevelCounts]]:
    """The columns that hold nothing but levels, all of which are named."""
    of_numbers = {g.names for g in tally.schema.groups if g.kind != "levels"}
    for columns, group in zip(tally.schema.groups, tally.groups, strict=True):
        if not isinstance(group, LevelCounts) or columns.names in of_numbers:
            continue
        if columns.names is not None and columns.levels is not None and columns.n_all is None:
            yield columns.names[0], columns, group


def prose_as_terms(tally: TableTally, names: Container[str]) -> TableTally:
    """The same rows, the levels of some columns as the terms of documents."""
    as_terms = {name: _terms(name, tally, c, g) for name, c, g in _levels(tally) if name in names}
    groups: list[Group] = []
    for columns, group in zip(tally.schema.groups, tally.groups, strict=True):
        name = columns.names[0] if columns.names else ""
        groups += as_terms.get(name, [(columns, group)])
    schema = Schema(tally.schema.classes, tuple(c for c, _ in groups), by_name=True)
    return TableTally(schema, tally.classes, tuple(t for _, t in groups))


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
