"""Pairs of columns: the search for those that gain, and their tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Annotated, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.persistence import MAX_WEIGHT, Bounded, Count, Shape, Size, Within
from tallybayes.threads import get_num_threads
from tallybayes.weighted.cells import ColumnCells, coarse, spread
from tallybayes.weighted.rows import LearningRows

__all__ = [
    "CountedPair",
    "Found",
    "JoinedPair",
    "JointColumns",
    "PairTerm",
    "Pairs",
    "SmoothPair",
    "joined_pairs",
    "moved",
    "pair_values",
    "summed",
]


# ---- pairs as terms, and joined from several fits ------------------------------------------------
# Pairs of columns as terms: the values of a selected pair for rows, and the pairs of the same two
# columns from several fits, joined to one term.
#
# Each fit has its own cells for the columns of a pair. A cell of the joined pair lies in one cell
# of each fit, so the sum of their tables is one table over the joined cells.
Array = NDArray[np.float64]
Cells = NDArray[np.int32]
CoarserCells = Annotated[Cells, Shape(None), Within(0)]
MIN_POSITIVE = 1e-300  # counts of pairs are above 0: their logarithm is taken
Values = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class JointColumns:
    """Two or three columns and the cells that they have together.

    Parameters
    ----------
    columns : tuple of int
        Different ones, by place.
    maps : tuple of int32 arrays (n_cells,)
        The coarser cell of each cell of each column; −1 for none.
    sizes : tuple of int
        How many coarser cells there are of each column.
    """

    columns: tuple[Count, ...]
    maps: tuple[CoarserCells, ...]
    sizes: tuple[Size, ...]

    @property
    def n_cells(self) -> int:
        """The joint cells."""
        return prod(self.sizes)

    def codes(self, cells: Cells) -> Cells:
        """The joint cell of rows, of cells (n_columns, n_rows); −1 where one is. The cells of the
        last column are next to each other."""
        found: Cells = cells[self.columns[0]]
        for i, column in enumerate(self.columns[1:], 1):
            so_far = self.maps[0] if i == 1 else np.arange(prod(self.sizes[:i]), dtype=np.int32)
            both = np.empty(len(found), dtype=np.int32)
            _kernels.joint_cells(
                found, cells[column], so_far, self.maps[i], self.sizes[i], both, get_num_threads()
            )
            found = both
        return found


@dataclass(frozen=True, eq=False)
class PairTerm(JointColumns):
    """A pair, or three columns, that were taken.

    Parameters are those of :class:`JointColumns`, and besides:

    Parameters
    ----------
    counted, expected : float64 arrays (n_cells, n_classes)
        C + t and E + t.
    gain : float
        When it was taken, in nats.
    round : int
        In which it was taken, from 0.
    """

    counted: Annotated[Array, Shape(None, "n_classes"), Within(MIN_POSITIVE, MAX_WEIGHT)]
    expected: Annotated[Array, Shape(None, "n_classes"), Within(MIN_POSITIVE, MAX_WEIGHT)]
    gain: float
    round: Count

    @property
    def full(self) -> Array:
        """Log-ratios with every row, float64 (n_cells, n_classes), in nats."""
        return np.log(self.counted / self.expected)


@dataclass(frozen=True, eq=False)
class SmoothPair(JointColumns):
    """A smooth function of two columns.

    Parameters are those of :class:`JointColumns`, and besides:

    Parameters
    ----------
    table : float64 array (n_cells, n_classes)
        What it adds, in nats.
    """

    table: Annotated[Array, Shape(None, "n_classes"), Bounded]


Cut = TypeVar("Cut", bound=JointColumns)


def moved(cut: Cut, places: list[int]) -> Cut:
    """The same of columns that have other places."""
    return replace(cut, columns=tuple(places[j] for j in cut.columns))


@dataclass(frozen=True, eq=False)
class CountedPair:
    """A pair with the sums it is made of.

    Parameters
    ----------
    term : PairTerm
    C, E : float64 arrays (n_cells, n_classes)
    prior : float64 array (n_classes,)
        t, what is added to both.
    proba : float32 array (n_rows, n_classes)
        P of all rows, when it was taken.
    """

    term: PairTerm
    C: Array
    E: Array
    prior: Array
    proba: Values


def summed(cells: Cells, n_cells: int, rows: LearningRows, proba: Values) -> Array:
    """C, E, what of E is of the own class, and its squares, (4, n_cells, n_classes)."""
    sums = np.zeros((4, n_cells, rows.n_classes))
    _kernels.sum_pair(cells, rows.y, rows.weight, proba, sums)
    return sums


def pair_values(pair: CountedPair, rows: LearningRows, proba: Values) -> Values:
    """What a pair adds to rows, each taken out, centred over classes, float32 (n_classes, n_rows).

    Parameters
    ----------
    pair : CountedPair
    rows : LearningRows
        Rows that it has counted.
    proba : float32 array (n_rows, n_classes)
        P of these rows.
    """
    values = np.empty((rows.n_classes, rows.n), dtype=np.float32)
    _kernels.residual_values(
        pair.term.codes(rows.cells),
        rows.y,
        rows.removed,
        proba,
        pair.C,
        pair.E,
        pair.prior,
        values,
        get_num_threads(),
    )
    return values


class Member(NamedTuple):
    """A pair of one fit.

    Parameters
    ----------
    part : int
        The learning.
    place : int
        Of the pair among those of the fit.
    pair : PairTerm
    """

    part: int
    place: int
    pair: PairTerm


@dataclass(frozen=True, eq=False)
class JoinedPair(JointColumns):
    """Pairs of the same columns as one.

    Parameters are those of :class:`JointColumns`, and besides:

    Parameters
    ----------
    members : list of Member
    smooth : SmoothPair, optional
        The smooth function of the two columns, if there is one.
    within : list of tuples of int arrays (size,)
        For each member, and last for the smooth function: in which of its cells of each of
        `columns` the joined ones lie.
    """

    members: list[Member]
    smooth: SmoothPair | None
    within: list[tuple[NDArray[np.intp], ...]]

    def spread(self, member: int, table: Array) -> Array:
        """A table of one of the members (its cells, n_classes) over the joined cells."""
        return self._spread(self.members[member].pair, self.within[member], table)

    def spread_smooth(self, table: Array) -> Array:
        """A table of the smooth function (its cells, n_classes) over the joined cells."""
        assert self.smooth is not None
        return self._spread(self.smooth, self.within[-1], table)

    def _spread(
        self, one: JointColumns, within: tuple[NDArray[np.intp], ...], table: Array
    ) -> Array:
        entries = np.zeros(self.sizes, dtype=np.intp)
        for column, size in zip(one.columns, one.sizes, strict=True):
            axis = self.columns.index(column)
            along = [1] * len(self.sizes)
            along[axis] = -1
            entries = entries * size + within[axis].reshape(along)
        return table[entries.ravel()]


def joined_pairs(
    pairs: list[list[PairTerm]], order: list[int], smooth: Iterable[SmoothPair] = ()
) -> list[JoinedPair]:
    """The pairs of several fits, each two or three columns once.

    Parameters
    ----------
    pairs : list of lists of PairTerm
        By learning; of the same columns.
    order : list of int
        The fits in the order in which their pairs come.
    smooth : iterable of SmoothPair
        Smooth functions of pairs, each two columns at most once; they come last.
    """
    members: dict[frozenset[int], list[Member]] = {}
    for part in order:
        for place, pair in enumerate(pairs[part]):
            members.setdefault(frozenset(pair.columns), []).append(Member(part, place, pair))
    functions = {frozenset(pair.columns): pair for pair in smooth}
    both = dict.fromkeys([*members, *functions])
    return [_joined(members.get(key, []), functions.get(key)) for key in both]


def _joined(members: list[Member], smooth: SmoothPair | None) -> JoinedPair:
    each: list[JointColumns] = [member.pair for member in members]
    each += [] if smooth is None else [smooth]
    one = each[0]
    if len(each) == 1:
        own = tuple(np.arange(size) for size in one.sizes)
        return JoinedPair(one.columns, one.maps, one.sizes, members, smooth, [own])
    maps, within = [], []
    for column in one.columns:
        cut = np.stack([pair.maps[pair.columns.index(column)] for pair in each])
        cells, place = np.unique(cut, axis=1, return_inverse=True)
        maps.append(place.ravel().astype(np.int32))
        within.append(cells.astype(np.intp))
    sizes = tuple(cells.shape[1] for cells in within)
    together = list(zip(*within, strict=True))
    return JoinedPair(one.columns, tuple(maps), sizes, members, smooth, together)


# ---- pairs of columns as joint tables, for what the columns alone do not predict -----------------
# With P the present leave-one-out probabilities, the cells of a pair count C = Σ [y = k] and
# expect E = Σ P_ik; a cell adds log[(C_k + t_k) / (E_k + t_k)], t_k = τ·K·p_k, a row being taken
# out of both sums. What a pair gains is the exact rise of the leave-one-out log-likelihood. All
# pairs are screened with few cells a column; the best are tried with more cells and a kernel over
# neighbours.
STRENGTHS = (1.0, 4.0, 16.0)
SCREENING_STRENGTH = 1  # of the strengths, which pairs are screened with
WIDTHS = (1.0, 2.0, 4.0)
MAX_CELLS = 1500
MAX_ENTRIES = 300_000  # cells times classes
CANDIDATES_PER_PLACE = 2  # pairs for each place
MAX_RESCREENED = 1000  # pairs that are screened more than once
MAX_WORK = 1_000_000_000  # pairs times rows times classes
MAX_THOROUGH_WORK = 20_000  # rows times classes up to which every way is tried under every strength
ROWS_PER_CHANCE_PAIR = 300  # rows for which one pair may be taken by chance
MIN_GAIN = 1.0  # nats that a pair has to gain at least
COARSE_CELLS, FINE_CELLS = 4, 16  # 8 × 8 cells have too few rows of each of ten classes
FEW, MORE = 0, 1  # few cells of each column, and more of numbers
NO_CODE = 255  # the code of no cell


@dataclass(frozen=True)
class Found:
    """A pair and the best way to cut it: two columns of :class:`CoarseColumns`, in more cells or
    few, the strength τ, the width of the kernel; and its gain, in nats."""

    gain: float
    first: int
    second: int
    fine: bool
    strength: float
    width: float


class Pairs:
    """The pairs of columns, and which of them were taken.

    Parameters
    ----------
    columns : list of ColumnCells
    rows : LearningRows
        That pairs are chosen on.
    share : float64 array (n_classes,)
        p.
    among : index array
        The columns that may be in a pair.
    """

    def __init__(
        self,
        columns: list[ColumnCells],
        rows: LearningRows,
        share: Array,
        among: NDArray[np.intp],
    ) -> None:
        self.rows = rows
        self._among: list[int] = np.sort(among).tolist()
        self._joint: dict[tuple[int, ...], int] = {}  # pairs that are a column of their own
        self.names: list[str] = [column.name for column in columns]
        self.wanted: set[frozenset[str]] | None = None
        self.coarse: CoarseColumns = CoarseColumns(columns, rows, among)
        self.strengths: Array = np.outer(STRENGTHS, share * rows.n_classes)
        size = self.coarse.sizes[FEW]
        self.most_cells: int = max(100, min(MAX_CELLS, MAX_ENTRIES // rows.n_classes))
        first, second = (np.sort(among)[index] for index in np.triu_indices(len(among), 1))
        fits = (size[first] > 1) & (size[second] > 1)
        fits &= size[first] * size[second] <= self.most_cells
        self.open: NDArray[np.int32] = np.column_stack([first[fits], second[fits]]).astype(np.int32)
        self.count: int = len(self.open)

    def only(self, names: Iterable[tuple[str, ...]]) -> None:
        """Other pairs than these, by the names of their columns, are not taken."""
        self.wanted = {frozenset(columns) for columns in names}
        self.open = self._wanted(self.open)

    def _wanted(self, pairs: Cells) -> Cells:
        if self.wanted is None:
            return pairs
        members = self.coarse.members
        names = [{self.names[k] for k in (*members[i], *members[j])} for i, j in pairs.tolist()]
        kept: Cells = pairs[np.array([each in self.wanted for each in names], dtype=bool)]
        return kept

    def best(self, proba: Values, max_pairs: int, *, all_that_gain: bool = False) -> list[Found]:
        """The best pairs that are not taken yet, at most so many, each worth its place; they are
        taken.

        Parameters
        ----------
        proba : float32 array (n_rows, n_classes)
            P.
        max_pairs : int
        all_that_gain : bool
            Whether a pair is worth its place where it gains at all.
        """
        work = len(self.open) * self.rows.n * self.rows.n_classes
        step = int(-(-work // MAX_WORK))
        gains = self._screened(proba, step)
        if len(self.open) > MAX_RESCREENED:
            top = np.sort(np.argsort(-gains, kind="stable")[:MAX_RESCREENED])
            self.open = self.open[top]
            gains = self._screened(proba, 1) if step > 1 else gains[top]
        tried = max_pairs if all_that_gain else CANDIDATES_PER_PLACE * max_pairs
        order = np.argsort(-gains, kind="stable")[:tried]
        found = self._all_tried(self.open[order], proba)
        best = sorted(found, key=lambda f: -f.gain)[:max_pairs]
        kept = [
            f for f in best if f.gain > (0.0 if all_that_gain else self._least((f.first, f.second)))
        ]
        taken = {(f.first, f.second) for f in kept}
        left = [tuple(pair) not in taken for pair in self.open.tolist()]
        self.open = self.open[np.array(left, dtype=bool)]
        return kept

    @contextmanager
    def triples(self, taken: list[PairTerm], is_null: NDArray[np.bool_]) -> Iterator[None]:
        """Within this block the best are sought among three columns, of which two are one of the
        pairs that were taken; three that are taken are no longer open.

        Each of the three adds something by itself, or is in a pair that gains more than one would
        by chance: three columns of which one is noise distinguish rows.

        Parameters
        ----------
        taken : list of PairTerm
        is_null : bool array (n_columns,)
            The columns that add nothing by themselves.
        """
        pairs, heard = (self.open, self.count), ~is_null
        for pair in taken:
            if pair.gain > self._least(pair.columns):
                heard[list(pair.columns)] = True
        self.open, self.count = self._with_a_third(taken, heard)
        try:
            yield
        finally:
            self.open, self.count = pairs

    def _with_a_third(self, taken: list[PairTerm], heard: NDArray[np.bool_]) -> tuple[Cells, int]:
        """The triples to try, as pairs of a joint column and another, and how many there are."""
        size = self.coarse.sizes[FEW]
        are = {frozenset(pair.columns) for pair in taken}
        pairs = [(i, j) for i, j, *more in (pair.columns for pair in taken) if not more]
        pairs = [(i, j) for i, j in pairs if heard[[i, j]].all() and size[i] * size[j] < NO_CODE]
        new = [pair for pair in pairs if pair not in self._joint]
        self._joint |= zip(new, self.coarse.join(new).tolist(), strict=True)
        found: dict[frozenset[int], tuple[int, int]] = {}
        for pair in pairs:
            for j in (j for j in self._among if heard[j]):
                three = frozenset((*pair, j))
                fits = len(three) == 3 and 1 < size[j] <= self.most_cells // (
                    size[pair[0]] * size[pair[1]]
                )
                if fits and three not in are:
                    found.setdefault(three, (self._joint[pair], j))
        triples = np.array([*found.values()], dtype=np.int32).reshape(-1, 2)
        return self._wanted(triples), len(triples)

    def _least(self, columns: tuple[int, ...]) -> float:
        """What a pair has to gain, in nats: of so many pairs, tried in so many ways, about one for
        300 rows gains that by chance."""
        number = self.coarse.is_number[list(columns)].any()
        ways = self.count * (1 + len(WIDTHS) if number else 1)
        return max(
            MIN_GAIN,
            float(np.log(max(ROWS_PER_CHANCE_PAIR * ways, 1) / max(self.rows.weight.sum(), 1.0))),
        )

    def _screened(self, proba: Values, step: int) -> Array:
        """About what each open pair gains, by every so many rows."""
        gains = np.empty((len(self.open), 1))
        if len(gains):
            some = slice(None, None, max(step, 1))
            _kernels.screen_pairs(
                np.ascontiguousarray(self.coarse.codes[FEW][:, some]),
                self.coarse.sizes[FEW],
                self.open,
                np.ascontiguousarray(self.rows.y[some]),
                self.rows.weight[some].astype(np.float32),
                np.ascontiguousarray(proba[some]),
                self.strengths[SCREENING_STRENGTH : SCREENING_STRENGTH + 1],
                gains,
                get_num_threads(),
            )
        return gains[:, 0]

    def _all_tried(self, pairs: Cells, proba: Values) -> list[Found]:
        """Each of some pairs, with few cells and, where it has numbers, with more cells and
        kernels: the best of it. Of many rows the other strengths are tried only on what is best
        under the middle one; of two classes the sums of the cells then give the gain well enough.
        """
        rows, coarse = self.rows, self.coarse
        many = rows.n * rows.n_classes > MAX_THOROUGH_WORK
        gains = np.full((len(pairs), 1 + len(WIDTHS), len(STRENGTHS)), -np.inf)
        arguments = (
            coarse.codes_or_none(FEW),
            coarse.codes_or_none(MORE),
            coarse.sizes,
            coarse.numbers,
            coarse.is_number,
            self.most_cells,
            np.ascontiguousarray(pairs),
            rows.y,
            rows.weight,
            proba,
            self.strengths,
            np.array(WIDTHS),
            gains,
            get_num_threads(),
        )
        if many and rows.n_classes == 2 and coarse.complete:
            _kernels.try_pairs(*arguments)
        else:
            _kernels.exact_pair_gains(*arguments, SCREENING_STRENGTH, not many)
        found = []
        for (i, j), gain in zip(pairs.tolist(), gains, strict=True):
            way, s = divmod(int(np.argmax(gain)), len(STRENGTHS))
            width = WIDTHS[max(way - 1, 0)]
            found.append(Found(float(gain[way, s]), i, j, way > 0, STRENGTHS[s], width))
        return found

    def sums(self, f: Found, rows: LearningRows, proba: Values) -> Array:
        """What a pair sums to over rows and their P, as of `summed`."""
        joint = self.coarse.joint(f.first, f.second, f.fine)
        return summed(joint.codes(rows.cells), joint.n_cells, rows, proba)

    def counted(self, f: Found, sums: Array, proba: Values, round: int) -> CountedPair:
        """A pair with its counts.

        Parameters
        ----------
        f : one of what :meth:`best` found
        sums : float64 array (4, n_cells, n_classes)
            Of the rows that it counts.
        proba : float32 array (n_rows, n_classes)
            P that it keeps.
        round : int
        """
        i, j, fine = f.first, f.second, f.fine
        C, E = self.coarse.smoothed(i, j, fine, f.width, sums)
        t = self.strengths[STRENGTHS.index(f.strength)]
        cells = self.coarse.joint(i, j, fine)
        term = PairTerm(cells.columns, cells.maps, cells.sizes, C + t, E + t, f.gain, round)
        return CountedPair(term, np.ascontiguousarray(C), np.ascontiguousarray(E), t, proba)


class CoarseColumns:
    """Columns in few cells, and numbers in more ("fine").

    Parameters
    ----------
    columns : list of ColumnCells
    rows : LearningRows
    among : index array
        The columns that may be in a pair; the others have no codes.

    Attributes
    ----------
    sizes, numbers : int64 arrays (2, n_columns)
        The coarser cells of each column, few and more, and how many of them are of numbers.
    codes : uint8 array (2, n_columns, n_rows)
        The coarser cells of the rows.
    """

    is_number: NDArray[np.bool_]
    sizes: NDArray[np.int64]
    numbers: NDArray[np.int64]
    codes: NDArray[np.uint8]

    def __init__(
        self, columns: list[ColumnCells], rows: LearningRows, among: NDArray[np.intp]
    ) -> None:
        self.is_number = np.array([column.is_number for column in columns], dtype=bool)
        self.maps: list[list[Cells]] = [
            [coarse(column, n) for column in columns] for n in (COARSE_CELLS, FINE_CELLS)
        ]
        self.sizes, self.numbers = np.zeros((2, 2, len(columns)), dtype=np.int64)
        for fine, maps in enumerate(self.maps):
            for j, (cells, column) in enumerate(zip(maps, columns, strict=True)):
                self.sizes[fine, j] = cells.max() + 1
                self.numbers[fine, j] = cells[: column.n_numbers].max(initial=-1) + 1
        self.codes = np.zeros((2, len(columns), rows.n), dtype=np.uint8)
        for j in among:
            for fine, maps in enumerate(self.maps):
                same = fine and not self.is_number[j]
                self.codes[fine, j] = self.codes[FEW, j] if same else maps[j][rows.cells[j]]
        self.complete: bool = bool((rows.cells >= 0).all())
        self.lacks: NDArray[np.bool_] | None = None if self.complete else rows.cells < 0
        self.members: list[tuple[int, ...]] = [(j,) for j in range(len(columns))]
        """The columns that each is of."""

    def join(self, pairs: list[tuple[int, int]]) -> NDArray[np.intp]:
        """Each two columns, in few cells, as another column, which has no maps; their places."""
        places = np.arange(len(self.members), len(self.members) + len(pairs))
        self.members += pairs
        first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        few, codes = self.sizes[FEW], self.codes[FEW]
        joint = codes[first] * few[second].astype(np.uint8)[:, None] + codes[second]
        self.codes = np.concatenate([self.codes, np.stack([joint, joint])], axis=1)
        size, none = few[first] * few[second], np.zeros((2, len(pairs)), dtype=np.int64)
        self.sizes = np.concatenate([self.sizes, none + size], axis=1)
        self.numbers = np.concatenate([self.numbers, none], axis=1)
        self.is_number = np.append(self.is_number, none[FEW].astype(bool))
        if self.lacks is not None:
            self.lacks = np.concatenate([self.lacks, self.lacks[first] | self.lacks[second]])
        return places

    def joint(self, i: int, j: int, fine: bool) -> JointColumns:
        """The joint cells of two columns, of which the first may be of two itself."""
        members = self.members[i]
        each = [*((k, MORE if fine and len(members) == 1 else FEW) for k in members)]
        each.append((j, MORE if fine else FEW))
        return JointColumns(
            tuple(k for k, _ in each),
            tuple(self.maps[more][k] for k, more in each),
            tuple(int(self.sizes[more, k]) for k, more in each),
        )

    def codes_or_none(self, fine: int) -> NDArray[np.uint8]:
        """The coarser cell of each of the rows, (n_columns, n_rows), few or more; 255 where there
        is none."""
        codes = self.codes[fine]
        return codes if self.lacks is None else np.where(self.lacks, np.uint8(NO_CODE), codes)

    def smoothed(
        self, i: int, j: int, fine: bool, width: float, sums: Array
    ) -> tuple[Array, Array]:
        """C and E over neighbouring cells of numbers, each level and the missing value by
        itself."""
        cells = MORE if fine else FEW
        a, b = self.sizes[cells, [i, j]].tolist()
        of_a, of_b = self.numbers[cells, [i, j]].tolist()
        cube = sums[:2].reshape(2, a, b, -1)
        if width > 1.0 and self.is_number[i]:
            near = np.matmul(_kernel(a, of_a, width), cube.reshape(2, a, -1))
            cube = near.reshape(cube.shape)
        if width > 1.0 and self.is_number[j]:
            cube = np.matmul(_kernel(b, of_b, width), cube)
        flat = cube.reshape(2, a * b, -1)
        return flat[0], flat[1]


@lru_cache(maxsize=256)
def _kernel(n: int, n_numbers: int, width: float) -> Array:
    """Triangular weights between the n cells of a column, of which the first are of numbers; each
    other, a level or the missing value, is by itself."""
    kernel = np.eye(n)
    numbers = np.arange(n_numbers, dtype=np.float64)
    kernel[:n_numbers, :n_numbers] = spread(numbers, width)
    kernel.flags.writeable = False
    return kernel
