"""Scores that follow rows one by one, without reading the whole tally again."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from contextlib import AbstractContextManager
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.binned import spread_of
from tallybayes.families.cells import CellLaw
from tallybayes.families.priors import ClassPrior
from tallybayes.models.rows import A_NUMBER
from tallybayes.models.table import TableModel
from tallybayes.score import Unseen
from tallybayes.tables.columns import as_scalar, as_text
from tallybayes.tally import ClassCounts
from tallybayes.tally.base import RESIDUE
from tallybayes.tally.live_terms import LiveTermCounts
from tallybayes.threads import new_lock

__all__ = ["Outgrown", "live_score"]

Array = NDArray[np.float64]


# ---- the score -----------------------------------------------------------------------------------
# Families, bins, widths, strengths and sizes of negative binomials stay as they were chosen when
# the tally was last read; the counts of the cells of each row are updated. The tally is read
# again, and everything chosen again, when the rows have grown by a share or a row does not fit
# these choices.
#
# Where the tally has many levels, only the columns of numbers are read again, and the levels, for
# which nothing is chosen, go on following their rows: a question then never waits for all of them.
#
# The cells of all columns stand side by side: a row takes a handful of array operations, however
# many columns it has.
FEW_ROWS = 1000
MAX_GROWTH, MAX_GROWTH_OF_MANY = 0.25, 1.0
"""Rows learned since the tally was read, as a share of those it held, until it is read again: of up
to FEW_ROWS, and of more. The choices of many rows seldom change."""
MAX_CELLS_READ_AGAIN = 5_000
"""Levels and cells of all columns up to which everything is read again."""
MAX_UNASKED_ROWS = 64
"""Rows learned without a question in between after which following them no longer pays. Documents
are followed however many come: reading all of their terms again costs far more."""


class LiveScore:
    """The score of one row as a dict, under counts that change row by row.

    It answers as the compiled scorer of rows does: :meth:`best`, :meth:`posterior`, `found`, how
    many columns the last row had, and `doubtful`, whether there may be something to warn of in it.

    Parameters
    ----------
    model : TableModel
        As it was read; its tally does not change.
    fading : float
        What is left of the weight of each row after one more was learned.

    Attributes
    ----------
    kept : frozenset of str
        The columns that stay as they are when choices are made again; none where all are read.
    """

    prior: ClassPrior
    fallback: int
    lock: AbstractContextManager[bool]
    room: float
    max_unasked: float
    together: list[Together]

    def __init__(self, model: TableModel, fading: float) -> None:
        classes = model.tally.classes
        self.fading = fading
        self.prior = model.prior
        self.classes: ClassCounts = ClassCounts(
            classes.count.copy(), classes.squared_weights.copy()
        )
        self.rank: dict[Any, int] = {k: i for i, k in enumerate(model.schema.classes.tolist())}
        self.lock = new_lock(self, "lock", in_place=True)
        self.unasked, self.found = 0, 0
        self.cells: LiveCells = LiveCells(len(self.rank))
        self.row_weight: float = self.classes.row_weights.at_least_one
        self.kept: frozenset[str] = frozenset()
        self.columns: list[LevelsColumn | NumbersColumn | TextColumn] = []
        self._read(model)
        documents = [isinstance(column, TextColumn) for column in self.columns]
        self.max_unasked = np.inf if any(documents) else MAX_UNASKED_ROWS
        if all(documents):  # nothing is chosen by the counts
            self.room = np.inf
        chosen = not isinstance(model.reading.alpha, float) or model.chosen.calibration is not None
        few = self.cells.size <= MAX_CELLS_READ_AGAIN
        if not (few or chosen or fading != 1.0):
            levels = [c.name for c in self.columns if not isinstance(c, NumbersColumn)]
            self.kept = frozenset(levels)

    def _read(self, model: TableModel) -> None:
        """Reads the columns of a model, and how many rows can follow."""
        kept = [column for column in self.columns if column.name in self.kept]
        of_kind: dict[str, Any] = {"documents": TextColumn, "levels": LevelsColumn}
        parts = model.score.parts
        read = [of_kind.get(part.kind, NumbersColumn)(part, self.cells) for part in parts]
        self.columns = kept + read
        alike: dict[Any, list[NumbersColumn]] = {}
        for column in self.columns:
            if isinstance(column, NumbersColumn) and column.density is not None:
                alike.setdefault(column.density.side_by_side, []).append(column)
        self.together = [Together(some) for key, some in alike.items() if key is not None]
        self.fallback = int(np.argmax(model.log_prior))
        rows = float(model.tally.classes.effective_rows.sum())
        self.room = rows * (MAX_GROWTH if rows <= FEW_ROWS else MAX_GROWTH_OF_MANY)

    @property
    def choices_are_due(self) -> bool:
        """Whether columns should be read again before the next row is learned."""
        return self.room < 1.0 and bool(self.kept)

    def renew(self, model: TableModel) -> None:
        """Makes choices again.

        Parameters
        ----------
        model : TableModel
            Of all rows so far, without the columns that are kept.

        Raises
        ------
        Outgrown
            If a column cannot follow rows as it is read now.
        """
        if self.cells.growth != 1.0 or not all(part.follows_rows for part in model.score.parts):
            raise Outgrown
        self._read(model)

    doubtful = True  # it looks at no value

    # ---- learning --------------------------------------------------------------------------------
    def learn(self, row: Mapping[str, Any], label: Any, weight: float) -> None:
        """Counts one row; a weight below 0 removes one that was counted.

        Raises
        ------
        Outgrown
            The tally has to be read again; the scores of this object no longer hold.
        """
        self.room -= 1.0
        self.unasked += 1
        k = self.rank.get(label)
        if k is None or self.room < 0.0 or self.unasked > self.max_unasked:
            raise Outgrown
        row = _with_text_keys(row)
        with self.lock:
            if self.fading != 1.0:
                self._fade()
            if weight == 0.0:
                return
            if self.classes.count[k] + weight <= RESIDUE * abs(weight):
                raise Outgrown  # the class goes with its last row
            try:
                touched, values = self._touched(row, learning=True)
            except ValueError:
                raise Outgrown from None
            for column, value in values:
                column.learn(value, k, weight)
            for group in self.together:
                group.learn(k, weight)
            if weight > 0.0:
                self.cells.add(touched, k, weight)
            elif not self.cells.take_out(touched, k, -weight):
                raise Outgrown
            self.classes.count[k] += weight
            self.classes.squared_weights[k] += weight * abs(weight)
            if abs(weight) > 1.0 or self.row_weight > 1.0 or self.cells.growth > 1.0:
                self.cells.growth = self.classes.row_weights.at_least_one / self.row_weight

    def _touched(self, row: Mapping[str, Any], *, learning: bool) -> tuple[Touched, list[Any]]:
        """The cells that a row is in, and the columns that look at its values by themselves, with
        these values; raises KeyError and ValueError as :meth:`scores` does."""
        touched, values = Touched(), []
        for group in self.together:
            group.at, group.x = [], []
        for column in self.columns:
            value = column.touch(row.get(column.name), touched, learning=learning)
            if value is not None:
                values.append((column, value))
        return touched, values

    def _fade(self) -> None:
        """Takes from every row what it loses while one more is learned."""
        for column in self.columns:
            column.fade(self.fading)
        for group in self.together:
            group.fade(self.fading)
        self.cells.fade(self.fading)
        self.classes = self.classes * self.fading

    # ---- answering -------------------------------------------------------------------------------
    def scores(self, row: Mapping[str, Any]) -> Array:
        """log P(c) + log p(x | c), (n_classes,), in nats.

        Raises
        ------
        KeyError
            For a level that was not learned, in a column that refuses such; the column's name.
        ValueError
            For a value that has to be read as a table's: a string among numbers.
        """
        row = _with_text_keys(row)
        self.unasked = 0
        self.found = sum(column.name in row for column in self.columns)
        with self.lock:
            touched, values = self._touched(row, learning=False)
            scores = np.array(self.prior.log(self.classes))
            for column, value in values:
                scores += column.log_density(value)
            for group in self.together:
                group.ask(scores)
            scores += self.cells.log_prob(touched)
        return scores

    def best(self, row: Mapping[str, Any]) -> int:
        """The most probable class; −1 − fallback where every class rules the row out."""
        scores = self.scores(row)
        best = int(scores.argmax())
        return best if scores[best] > -np.inf else -1 - self.fallback

    def posterior(self, row: Mapping[str, Any]) -> list[float]:
        """P(c | x); empty where every class rules the row out."""
        scores = self.scores(row)
        top = scores.max()
        if top == -np.inf:
            return []
        shares = np.exp(scores - top)
        return (shares / shares.sum()).tolist()  # type: ignore[no-any-return]


def _with_text_keys(row: Mapping[Any, Any]) -> Mapping[str, Any]:
    if set(map(type, row)) == {str}:
        return row
    return {str(key): value for key, value in row.items()}


def live_score(model: TableModel, fading: float = 1.0) -> LiveScore | None:
    """A score that follows rows, by the counts alone: without a calibration. None where weights
    were learned, or where a part looks at several columns at once or cannot follow single rows;
    other parameters are those of :class:`LiveScore`."""
    if model.chosen.weighting is not None:
        return None
    parts = model.score.parts
    if not all(part.follows_rows for part in parts):
        return None
    if fading != 1.0 and any(part.kind == "documents" for part in parts):
        return None
    try:
        return LiveScore(model, fading)
    except Outgrown:  # a column of documents that cannot follow rows
        return None


# ---- one column: the cells of a row's value, and densities that follow the rows ------------------
class Outgrown(Exception):
    """A row for which the choices have no place."""


def _scalar(value: Any) -> Any:
    """A number, a string, or None for a missing value. Python's own come first: they are most."""
    kind = type(value)
    if kind is str or value is None:
        return value
    if kind is float:
        return value if value == value else None
    if kind is int:
        return float(value)
    scalar = as_scalar(value)
    return scalar[0] if isinstance(scalar, tuple) else scalar


class LevelsColumn:
    """A column of levels, or the kinds of the values of a column of numbers."""

    name: str
    unseen: Unseen
    has_missing: bool

    def __init__(self, part: Any, cells: LiveCells) -> None:
        self.name, self.unseen, self.has_missing = part.name, part.unseen, part.has_missing
        self.cells = cells
        self.law: int = cells.add_law(part.law, in_effective_rows=part.in_effective_rows)
        self.missing = cells.start[self.law]
        first = self.missing + part.has_missing
        self.place: dict[str, int] = {level: first + i for i, level in enumerate(part.levels)}
        self.other: int = first + len(part.levels)
        self.grows: bool = part.grows
        self.booleans: bool = set(part.levels) <= {"True", "False"}

    def fade(self, factor: float) -> None:
        """Nothing: cells lose their weight together."""

    def touch(self, value: Any, touched: Touched, *, learning: bool) -> None:
        """Notes the cell that a value is in; a new level has a new cell, if it is learned."""
        if type(value) is not str:
            if _scalar(value) is None:
                if self.has_missing:
                    self.cells.touch(self.law, self.missing, touched)
                return
            value = as_text(value)
            if self.booleans and value not in self.place:  # 1 is True there
                raise ValueError(f"column {self.name!r} holds {value}, which a table has to read")
        cell = self.place.get(value)
        if cell is None and learning:
            cell = self.cells.add_cell(self.law) if self.grows else None
            if cell is None:
                raise Outgrown
            self.place[value] = cell
        elif cell is None:
            if self.unseen == "error":
                raise KeyError(self.name)
            if self.unseen == "ignore":
                return
            cell = self.other
        self.cells.touch(self.law, cell, touched)


class NumbersColumn:
    """A column of numbers in cells, or as a density; strings may stand beside the numbers."""

    kinds: LevelsColumn | None
    name: str
    cells: LiveCells
    start: int
    edges: list[float]

    def __init__(self, part: Any, cells: LiveCells) -> None:
        self.group: tuple[Together, int] | None = None  # and the column's number in it
        self.name, self.cells = part.name, cells
        self.kinds = None if part.kinds is None else LevelsColumn(part.kinds, cells)
        self.density: Any = part.likelihood
        if self.density is None:
            self.law: int = cells.add_law(part.law)
            self.start, self.edges = cells.start[self.law], part.edges.tolist()

    def touch(self, value: Any, touched: Touched, *, learning: bool) -> float | None:
        """Notes the cells that a value is in, or a number beside those of like columns; returns
        a number whose density follows rows by itself.

        Raises
        ------
        ValueError
            For a string that does not stand beside the numbers, and for infinity.
        """
        scalar = _scalar(value)
        if type(scalar) is float:
            wrong, kind = not isfinite(scalar), A_NUMBER
        else:
            kind = scalar
            wrong = kind is not None and (self.kinds is None or kind not in self.kinds.place)
        if wrong:
            raise ValueError(f"column {self.name!r} holds {value!r}")
        if self.kinds is not None:
            self.kinds.touch(kind, touched, learning=False)
        if type(scalar) is not float:
            return None
        if self.density is None:
            self.cells.touch(self.law, self.start + bisect_right(self.edges, scalar), touched)
            return None
        if self.group is not None:
            together, j = self.group
            together.at.append(j)
            together.x.append(scalar)
            return None
        return scalar

    def learn(self, x: float, k: int, weight: float) -> None:
        """Learns a number, or takes it out where the weight is below 0."""
        if not self.density.takes(x):
            raise Outgrown
        learned = weight > 0.0
        density = self.density.learned if learned else self.density.forgotten
        self._take(density(x, k, abs(weight)))

    def fade(self, factor: float) -> None:
        """Takes weight from every row, `factor` of it being left; cells lose theirs together."""
        if self.density is not None and self.group is None:
            self._take(self.density.faded(factor))

    def _take(self, density: Any) -> None:
        if density is None:
            raise Outgrown
        self.density = density

    def log_density(self, x: float) -> Array:
        """log p(x | c), (n_classes,), in nats."""
        return np.asarray(self.density.log_density(np.array([x]))[0])


class TextColumn:
    """A column of documents, whose terms are counted in place."""

    name: str

    def __init__(self, part: Any, cells: LiveCells) -> None:
        self.name = part.name
        counts = part.likelihood.following(part.analyzer)
        if counts is None:
            raise Outgrown
        self.counts: LiveTermCounts = counts

    def touch(self, value: Any, touched: Touched, *, learning: bool) -> Any:
        """The text; None for a missing one."""
        return _scalar(value)

    def learn(self, text: Any, k: int, weight: float) -> None:
        """Learns a document, or takes it out where the weight is below 0."""
        if type(text) is not str or not self.counts.change(text, k, weight):
            raise Outgrown

    def fade(self, factor: float) -> None:
        """Takes weight from every row, which would be a pass over all terms."""
        raise Outgrown

    def log_density(self, text: Any) -> Array:
        """What a document adds, (n_classes,), in nats."""
        found = self.counts.scores_of(text) if type(text) is str else None
        if found is None:
            raise ValueError(f"column {self.name!r} holds {text!r}, which a table has to read")
        return found


class Together:
    """Columns of numbers whose densities follow rows side by side.

    Parameters
    ----------
    columns : list of NumbersColumn

    Attributes
    ----------
    at : list of int
        The columns that have a value in the present row.
    x : list of float
        The values.
    """

    def __init__(self, columns: list[NumbersColumn]) -> None:
        densities = [column.density for column in columns]
        self.following: Any = densities[0].following(densities)
        self.at: list[int] = []
        self.x: list[float] = []
        for j, column in enumerate(columns):
            column.group = self, j

    def learn(self, k: int, weight: float) -> None:
        """Learns the present row, or takes it out where the weight is below 0."""
        if not self.at:
            return
        if weight > 0.0:
            self.following.learn(self.at, self.x, k, weight)
        elif not self.following.forget(self.at, self.x, k, -weight):
            raise Outgrown

    def fade(self, factor: float) -> None:
        """Takes weight from every row, `factor` of it being left."""
        self.following.fade(factor)

    def ask(self, scores: Array) -> None:
        """Adds what the present row has here to its scores."""
        if self.at:
            scores += self.following.log_density(self.at, self.x)


# ---- the cells of many columns side by side, whose counts change row by row ----------------------
class Touched:
    """The cells that a row is in, with the number of the law of each.

    Laws whose base measure is the shares of the rows (marginal) are apart from those whose base
    measure is fixed.
    """

    def __init__(self) -> None:
        self.laws: list[int] = []
        self.cells: list[int] = []
        self.marginal_laws: list[int] = []
        self.marginal_cells: list[int] = []


class LiveCells:
    """Laws of cells side by side.

    Parameters
    ----------
    n_classes : int
    """

    def __init__(self, n_classes: int) -> None:
        self.size: int = 0
        self.counts: Array = np.zeros((64, n_classes))
        self.rows: Array = np.zeros(64)
        self.pseudo: Array = np.zeros(64)  # S·q, where q is not a share of the rows
        self.total: Array = np.zeros((0, n_classes))
        self.n_cells: Array = np.zeros(0)
        self.strength: Array = np.zeros(0)
        self.start: list[int] = []
        self.marginal: list[bool] = []
        self.width: list[int] = []
        self.row: Array = np.zeros(0)
        self.share: list[float | None] = []  # S·q of every cell, where it is the same
        self.in_effective_rows: list[bool] = []
        self.growth: float = 1.0  # of the strength of those laws since they were read

    def add_law(self, law: CellLaw, *, in_effective_rows: bool = False) -> int:
        """Adds a law and returns its number. Its cells stand in order from ``start`` on.

        Parameters
        ----------
        law : CellLaw
        in_effective_rows : bool
            Whether its strength is multiplied by ``growth``.
        """
        self.in_effective_rows.append(in_effective_rows)
        n = law.counts.shape[1]
        self.start.append(self._room(n))
        cells = slice(self.start[-1], self.start[-1] + n)
        self.counts[cells] = law.counts.T
        self.rows[cells] = law.counts.sum(axis=0) if law.rows is None else law.rows
        strength = float(law.strength)
        even = None
        if law.base is not None:
            self.pseudo[cells] = strength * law.base
            even = float(self.pseudo[cells.start]) if np.ptp(law.base) == 0.0 else None
        self.marginal.append(law.base is None)
        self.width.append(law.width)
        self.share.append(even)
        self.total = np.concatenate([self.total, law.total.T])
        self.n_cells = np.append(self.n_cells, law.n_cells)
        self.strength = np.append(self.strength, strength)
        self.row = np.append(self.row, law.row)
        return len(self.start) - 1

    def _room(self, n: int) -> int:
        """The first of n new cells."""
        first, self.size = self.size, self.size + n
        if self.size > len(self.rows):
            more = max(self.size, 2 * len(self.rows)) - len(self.rows)
            self.counts = np.pad(self.counts, ((0, more), (0, 0)))
            self.rows, self.pseudo = np.pad(self.rows, (0, more)), np.pad(self.pseudo, (0, more))
        return first

    def add_cell(self, law: int) -> int | None:
        """A new cell of a law, one level more; None where its base measure does not define one."""
        share = self.share[law]
        if share is None:
            return None
        cell = self._room(1)
        self.pseudo[cell] = share
        self.n_cells[law] += 1
        self.strength[law] += share
        return cell

    def touch(self, law: int, cell: int, touched: Touched) -> None:
        """Notes that a row is in a cell."""
        if self.marginal[law]:
            touched.marginal_laws.append(law)
            touched.marginal_cells.append(cell)
        else:
            touched.laws.append(law)
            touched.cells.append(cell)

    def add(self, touched: Touched, k: int, weight: float) -> None:
        """Counts a row of class k in the cells that it touches."""
        if touched.cells:
            cells = np.array(touched.cells)
            self.counts[cells, k] += weight
            self.rows[cells] += weight
            self.total[touched.laws, k] += weight
        for law, cell in zip(touched.marginal_laws, touched.marginal_cells, strict=True):
            self.rows[cell] += weight
            self.total[law, k] += weight
            if not self.width[law]:
                self.counts[cell, k] += weight
                continue
            start, n = self.start[law], int(self.n_cells[law])
            spread = spread_of(cell - start, n, self.width[law])
            self.counts[start : start + n, k] += weight * spread

    def take_out(self, touched: Touched, k: int, weight: float) -> bool:
        """Takes such a row out; whether each cell has other rows left. Otherwise cells and columns
        may be gone with it, and everything has to be read again."""
        cells = touched.cells + touched.marginal_cells
        laws = touched.laws + touched.marginal_laws
        left = self.counts[touched.cells, k] >= (1.0 - RESIDUE) * weight
        others = self.rows[cells] > (1.0 + RESIDUE) * weight
        columns = self.total[laws, k] > (1.0 + RESIDUE) * weight
        if not (left.all() and others.all() and columns.all()):
            return False
        self.add(touched, k, -weight)
        changed = [*touched.cells]
        for law in touched.marginal_laws:
            changed += range(self.start[law], self.start[law] + int(self.n_cells[law]))
        rest = self.counts[changed, k]
        self.counts[changed, k] = np.where(rest > RESIDUE * weight, rest, 0.0)
        return True

    def fade(self, factor: float) -> None:
        """Multiplies the weight of every row by `factor`."""
        self.counts *= factor
        self.rows *= factor
        self.total *= factor

    def log_prob(self, touched: Touched) -> Array:
        """Σ log P(cell | c), (n_classes,), in nats."""
        scores: Array = np.zeros(self.counts.shape[1])
        for laws_touched, cells_touched, marginal in (
            (touched.laws, touched.cells, False),
            (touched.marginal_laws, touched.marginal_cells, True),
        ):
            if not cells_touched:
                continue
            laws, cells = np.array(laws_touched), np.array(cells_touched)
            strength, base = self.strength[laws], None
            if not marginal:
                nothing = np.zeros(len(cells))
                base = np.divide(self.pseudo[cells], strength, out=nothing, where=strength > 0.0)
            if self.growth != 1.0:
                grown = [self.in_effective_rows[law] for law in laws_touched]
                strength = np.where(grown, self.growth * strength, strength)
            law = CellLaw(
                counts=self.counts[cells].T,
                total=self.total[laws].T,
                n_cells=self.n_cells[laws],
                strength=strength,
                base=base,
                rows=self.rows[cells] if marginal else None,
                row=self.row[laws] if marginal else 1.0,
            )
            scores += law.log_prob().sum(axis=1)
        return scores
