"""What moved between two tallies: classes, columns, and columns within classes, from counts alone.

Of a column, p and q are the shares of its cells (levels, or bins of numbers) in the old and the new
counts:

    PSI = Σ_v (q_v − p_v)·ln(q_v / p_v)            half a row added to each cell
    JS  = ½ Σ_v p_v·ln(p_v / m_v) + ½ Σ_v q_v·ln(q_v / m_v),   m = ½ (p + q)
    G   = 2 Σ n·ln(n / E)                          χ² under no change

    G(class, cell) = G(class) + Σ_c G(cell | c)

which tells a change of the classes from one of a column within them. Numbers are
put into bins of about equal weight of both together. No row is needed.

Lin (1991), on JS. Benjamini and Hochberg (1995), on the false discovery rate over columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from tallybayes.errors import IncompatibleTallies
from tallybayes.schema import joined_labels
from tallybayes.tables.columns import frame, text_of_number
from tallybayes.tally import GridCounts, TableTally

__all__ = ["UNLABELLED", "Comparison", "compare"]

Array = NDArray[np.float64]

UNLABELLED = "(unlabelled)"
"""The only class of a tally of rows without labels."""
N_BINS = 10  # of numbers
MIN_EXPECTED = 5.0  # effective rows of a cell in each tally: cells of fewer are tested together
ADDED = 0.5  # effective rows, to each cell of a PSI and of a log-loss


@dataclass(frozen=True)
class ColumnDrift:
    """What moved in a column.

    Parameters
    ----------
    name : str
    cells : tuple of str
        Levels, or bins by their bounds: ``[low, high)``.
    old, new : tuple of float
        The share of each cell among the values.
    psi, js : float
        Population stability index, and Jensen–Shannon divergence in nats.
    missing_old, missing_new : float
        The share of rows without a value.
    came, went : tuple of str
        Levels that only the new, and only the old counts have.
    p_moved : float
        p-value of the G-test that nothing changed in the column, missing values included.
    p_within : float or None
        The same within the classes; None without labels.
    q_moved, q_within : float or None
        The same, adjusted for the number of columns (false discovery rate).
    log_loss_old, log_loss_new : float or None
        Of a model of the old counts that reads this column alone, in nats a row with a value: on
        the rows of the old counts, which it has learned, and of the new ones.
    """

    name: str
    cells: tuple[str, ...]
    old: tuple[float, ...]
    new: tuple[float, ...]
    psi: float
    js: float
    missing_old: float
    missing_new: float
    came: tuple[str, ...]
    went: tuple[str, ...]
    p_moved: float
    p_within: float | None
    q_moved: float
    q_within: float | None
    log_loss_old: float | None
    log_loss_new: float | None


@dataclass(frozen=True)
class Comparison:
    """What moved between two tallies.

    Parameters
    ----------
    rows_old, rows_new : float
        The weight of the rows.
    classes : dict of label to (float, float)
        The share of each class in the old and the new counts; empty without labels.
    p_classes : float or None
        p-value of the G-test that the class shares are the same; None without labels.
    columns : tuple of ColumnDrift
        Those that moved most first, by PSI.
    left_out : dict of str to str
        Columns that are not compared, and why.
    """

    rows_old: float
    rows_new: float
    classes: dict[Any, tuple[float, float]]
    p_classes: float | None
    columns: tuple[ColumnDrift, ...]
    left_out: dict[str, str]

    @property
    def largest_psi(self) -> float:
        """The largest population stability index of a column; 0.0 where there are none."""
        return max((column.psi for column in self.columns), default=0.0)

    def moved(self, rate: float = 0.05) -> list[str]:
        """The columns that moved.

        Parameters
        ----------
        rate : float, default=0.05
            The share of columns among them that have not moved, on average, at most.

        Returns
        -------
        list of str
            Their names, the largest PSI first.
        """
        return [column.name for column in self.columns if column.q_moved <= rate]

    def document(self) -> dict[str, Any]:
        """Everything, for machines.

        Returns
        -------
        dict
            Numbers, strings, lists and dicts.
        """
        shares = {str(label): list(of_both) for label, of_both in self.classes.items()}
        return {
            "rows_old": self.rows_old,
            "rows_new": self.rows_new,
            "classes": shares,
            "p_classes": self.p_classes,
            "columns": [asdict(column) for column in self.columns],
            "left_out": self.left_out,
        }

    def to_frame(self) -> Any:
        """The columns as a data frame.

        Returns
        -------
        frame
            A row a column: name, PSI, JS, missing values, q-values, and levels that came and went.
        """
        nan = float("nan")
        return frame(
            {
                "column": [c.name for c in self.columns],
                "psi": [c.psi for c in self.columns],
                "js": [c.js for c in self.columns],
                "missing_old": [c.missing_old for c in self.columns],
                "missing_new": [c.missing_new for c in self.columns],
                "q_moved": [c.q_moved for c in self.columns],
                "q_within": [nan if c.q_within is None else c.q_within for c in self.columns],
                "came": [", ".join(c.came) for c in self.columns],
                "went": [", ".join(c.went) for c in self.columns],
            }
        )


def compare(old: Any, new: Any) -> Comparison:
    """Compare two tallies: what moved between their rows, from the counts alone.

    Parameters
    ----------
    old, new : TableTally, or fitted classifier of tables
        Counts of earlier and of later rows, such as :func:`tallybayes.collect` gives. Without
        labels in either, columns are compared, and nothing within classes.

    Returns
    -------
    Comparison
        Of the classes, and of each column of levels or numbers that both have.

    Raises
    ------
    IncompatibleTallies
        A ValueError: a tally has no rows, or no column in common with the other, or is of arrays.
    NegativeTally
        If a count is negative.

    Examples
    --------
    >>> import pandas as pd
    >>> from tallybayes import collect, compare
    >>> june = pd.DataFrame({"pay": ["card", "cash"] * 50, "late": [0, 0, 1, 0] * 25})
    >>> july = pd.DataFrame({"pay": ["card"] * 90 + ["cash"] * 10, "late": [0, 0, 1, 0] * 25})
    >>> found = compare(collect(june, "late"), collect(july, "late"))
    >>> found.moved()
    ['pay']
    >>> round(found.columns[0].psi, 3)
    0.853
    """
    a, b = _tally_of(old, "old"), _tally_of(new, "new")
    labelled = not any(UNLABELLED in t.schema.classes.tolist() for t in (a, b))
    labels: list[Any] = [UNLABELLED]
    if labelled:
        labels = joined_labels(a.schema.classes, b.schema.classes).tolist()
    units = [_unit(t) for t in (a, b)]
    names, cells, left_out = list[str](), list[Cells](), dict[str, str]()
    mine, theirs = columns_of(a), columns_of(b)
    for name in dict.fromkeys([*mine, *theirs]):
        if name not in mine or name not in theirs:
            left_out[name] = f"only the {'new' if name in theirs else 'old'} counts have it"
            continue
        of_both = cells_of(mine[name], theirs[name])
        if isinstance(of_both, str):
            left_out[name] = of_both
            continue
        names.append(name)
        cells.append(of_both)
    if not names:
        raise IncompatibleTallies(
            "two tallies are compared column by column, and these have no column of levels or "
            f"numbers in common: {list(mine)} and {list(theirs)}"
        )
    counts = [_by_class(t.classes.count[:, None], t, labels)[:, 0] for t in (a, b)]
    effective = [count / unit for count, unit in zip(counts, units, strict=True)]
    sides = [
        _by_class(np.hstack(parts), t, labels) / unit
        for parts, t, unit in zip(
            zip(*(c[1:3] for c in cells), strict=True), (a, b), units, strict=True
        )
    ]
    found = _drifts(names, cells, sides, effective, labelled)
    shares = [count / count.sum() for count in counts]
    return Comparison(
        rows_old=float(counts[0].sum()),
        rows_new=float(counts[1].sum()),
        classes=dict(zip(labels, zip(*(s.tolist() for s in shares), strict=True), strict=True))
        if labelled
        else {},
        p_classes=float(_g_tests(np.stack(effective)[:, None], np.zeros(1, np.intp))[0])
        if labelled
        else None,
        columns=tuple(sorted(found, key=lambda c: -c.psi)),
        left_out=left_out,
    )


# ---- the cells of a column in both tallies -------------------------------------------------------
def _tally_of(given: Any, which: str) -> TableTally:
    tally = given if isinstance(given, TableTally) else getattr(given, "tally_", None)
    if not isinstance(tally, TableTally) or not tally.schema.by_name:
        raise IncompatibleTallies(
            "compare takes two tallies of columns by name, such as tallybayes.collect gives, or "
            f"models of tables; the {which} one is a {type(given).__name__}"
        )
    tally.need_non_negative("compare")
    if not tally.classes.count.sum() > 0.0:
        raise IncompatibleTallies(f"the {which} tally has no rows: there is nothing to compare")
    return tally


def _unit(tally: TableTally) -> float:
    """What an effective row weighs."""
    return float(tally.classes.count.sum()) / tally.classes.pooled_effective_rows


def _by_class(counts: Array, tally: TableTally, labels: list[Any]) -> Array:
    """Counts (n_classes, n_cells) of a tally by these labels; all together where these are none."""
    if labels == [UNLABELLED]:
        return np.asarray(counts.sum(axis=0, keepdims=True))
    place = {label: k for k, label in enumerate(labels)}
    found = np.zeros((len(labels), counts.shape[1]))
    found[[place[label] for label in tally.schema.classes.tolist()]] = counts
    return found


def columns_of(tally: TableTally) -> dict[str, dict[str, Any]]:
    """By name of the column, what was counted of it, by kind."""
    found: dict[str, dict[str, Any]] = {}
    for columns, group in tally.pairs:
        for name in columns.names or ():
            levels = None if columns.levels is None else columns.levels[0].tolist()
            found.setdefault(name, {})[columns.kind] = (group, levels)
    return found


Cells = tuple[list[str], Array, Array, bool]
"""Names of the cells of a column, their counts (n_classes, n_cells) in both tallies, and whether
they are levels."""


def cells_of(mine: dict[str, Any], theirs: dict[str, Any], n_bins: int = N_BINS) -> Cells | str:
    """The cells of a column in both tallies, numbers in so many bins at most; or why there are
    none."""
    for kind, parts in (("terms", "text"), ("sums", "counts that share a total"), ("cross", "")):
        if kind in mine or kind in theirs:
            return f"{parts or 'numbers that are counted together'}: not compared by cells"
    titles: list[str] = []
    counts: list[list[Array]] = [[], []]
    named = "levels" in mine or "levels" in theirs
    if "grid" in mine or "grid" in theirs:
        grids = [side["grid"][0] if "grid" in side else None for side in (mine, theirs)]
        sizes = (len(_any_class(mine)), len(_any_class(theirs)))
        titles, binned = _bins(grids[0], grids[1], *sizes, n_bins)
        counts = [[part] for part in binned]
    if named:
        nothing: tuple[Any, list[str]] = (None, [])
        sides = [side.get("levels", nothing) for side in (mine, theirs)]
        levels = sides[0][1]
        if sides[1][1] != levels:
            levels = list(dict.fromkeys([*levels, *sides[1][1]]))
        place = {level: i for i, level in enumerate(levels)}
        for of_side, (group, own), where in zip(counts, sides, (mine, theirs), strict=True):
            if own == levels and group is not None:
                of_side.append(group.counts)
                continue
            part = np.zeros((len(_any_class(where)), len(levels)))
            if group is not None:
                part[:, [place[level] for level in own]] = group.counts
            of_side.append(part)
        titles = titles + list(map(str, levels))
    if len(counts[0]) == 1:
        return titles, counts[0][0], counts[1][0], named
    return titles, np.hstack(counts[0]), np.hstack(counts[1]), named


def _any_class(side: dict[str, Any]) -> Array:
    """Something with a row for each class of a tally."""
    group = next(iter(side.values()))[0]
    return np.zeros(group.n_classes)


def _bins(
    a: GridCounts | None, b: GridCounts | None, n_a: int, n_b: int, n_bins: int
) -> tuple[list[str], list[Array]]:
    """The bounds of bins of about equal weight of the numbers of both, and the counts in them."""
    there = [grid for grid in (a, b) if grid is not None]
    shift = max(grid.shift for grid in there)
    there = [grid.coarsened(shift) for grid in there]
    while len({grid.shift for grid in there}) > 1:
        shift = max(grid.shift for grid in there)
        there = [grid.coarsened(shift) for grid in there]
    keys = np.unique(np.concatenate([grid.keys for grid in there]))
    wide: list[Array] = []
    rest = iter(there)
    for grid, n in ((a, n_a), (b, n_b)):
        part = np.zeros((n, len(keys)))
        if grid is not None:
            own = next(rest)
            part[:, np.searchsorted(keys, own.keys)] = own.counts
        wide.append(part)
    shares = [part.sum(axis=0) / max(float(part.sum()), 1e-300) for part in wide]
    middle = np.cumsum(shares[0] + shares[1]) - 0.5 * (shares[0] + shares[1])
    bins = np.minimum((middle / max(2.0 - 1e-9, 1e-300) * n_bins).astype(np.intp), n_bins - 1)
    first = np.flatnonzero(np.diff(bins, prepend=-1)) if len(keys) else np.empty(0, np.intp)
    edges = GridCounts(shift, keys, np.zeros((1, len(keys)))).lower_edges()[first].tolist()
    ends = [*map(text_of_number, edges[1:]), "∞"]
    starts = ["-∞", *map(text_of_number, edges[1:])]
    titles = [f"[{low}, {high})" for low, high in zip(starts, ends, strict=True)] if edges else []
    if not len(first):
        return [], [np.zeros((n, 0)) for n in (n_a, n_b)]
    return titles, [np.add.reduceat(part, first, axis=1) for part in wide]


FIGURES = (
    *("psi", "js", "missing_old", "missing_new", "p_moved", "p_within", "q_moved", "q_within"),
    *("log_loss_old", "log_loss_new"),
)
"""Fields of :class:`ColumnDrift`, in the order in which they are computed."""


# ---- figures of all columns, whose cells stand side by side --------------------------------------
def _drifts(
    names: list[str], cells: list[Cells], sides: list[Array], rows: list[Array], labelled: bool
) -> list[ColumnDrift]:
    """What moved in each column.

    Parameters
    ----------
    names : list of str
    cells : list of Cells
    sides : list of float64 arrays (n_classes, n_all_cells)
        The effective rows of each cell of the old and the new counts, column by column.
    rows : list of float64 arrays (n_classes,)
        All effective rows of both.
    labelled : bool
    """
    sizes = np.array([len(titles) for titles, *_ in cells])
    start = np.concatenate([[0], np.cumsum(sizes)])
    ends = start[1:] + np.arange(len(sizes))  # of each column, where its missing values stand
    real = np.ones(int(start[-1]) + len(sizes), dtype=bool)
    real[ends] = False
    first = start[:-1] + np.arange(len(sizes))  # the first cell of each column

    def by_column(of_cells: Array) -> Array:
        return np.asarray(np.add.reduceat(of_cells, first, axis=-1))

    full = np.zeros((2, len(rows[0]), len(real)))
    for of_all, side, n in zip(full, sides, rows, strict=True):
        of_all[:, real] = side
        of_all[:, ends] = np.maximum(n[:, None] - by_column(of_all), 0.0)
    both = np.asarray(full * real)  # without missing values
    whole = both.sum(axis=1)
    totals = by_column(whole)
    column = np.repeat(np.arange(len(sizes)), sizes + 1)
    shares = whole / np.maximum(totals, 1e-300)[:, column]
    smooth = (whole + ADDED) / (totals + ADDED * sizes)[:, column]
    psi = by_column((smooth[1] - smooth[0]) * np.log(smooth[1] / smooth[0]) * real)
    middle = shares.mean(axis=0)
    js = 0.5 * by_column(_times_log_ratio(shares, middle)).sum(axis=0)
    missing = full[:, :, ends].sum(axis=1) / np.array([n.sum() for n in rows])[:, None]
    moved = _g_tests(full.sum(axis=1, keepdims=True), first)
    within: list[Any] = [None] * len(sizes)
    q_within: list[Any] = within
    log_loss: list[list[Any]] = [within, within]
    if labelled:
        within = _g_tests(full, first).tolist()
        q_within = q_values(within)
        learned = both[0] + ADDED
        log_posterior = np.log(learned / learned.sum(axis=0))
        lost = by_column(-(both * log_posterior).sum(axis=1)) / np.maximum(totals, 1e-300)
        log_loss = [
            [v if n > 0.0 else None for v, n in zip(*of_side, strict=True)]
            for of_side in zip(lost.tolist(), totals.tolist(), strict=True)
        ]
    there = whole > 0.0
    changed = by_column(((there[0] != there[1]) & real).astype(np.float64)) > 0.0
    of_cells = shares[:, real].tolist()
    figures = zip(
        *(psi.tolist(), js.tolist(), *missing.tolist(), moved.tolist(), within),
        *(q_values(moved), q_within, *log_loss),
        strict=True,
    )
    found = []
    for j, of_column in enumerate(figures):
        titles, _, _, named = cells[j]
        at = slice(int(start[j]), int(start[j + 1]))
        came, went = list[str](), list[str]()
        if named and changed[j]:
            seen = there[:, first[j] : ends[j]].tolist()
            came = [t for t, old, new in zip(titles, *seen, strict=True) if new and not old]
            went = [t for t, old, new in zip(titles, *seen, strict=True) if old and not new]
        found.append(
            ColumnDrift(
                name=names[j],
                cells=tuple(titles),
                old=tuple(of_cells[0][at]),
                new=tuple(of_cells[1][at]),
                **dict(zip(FIGURES, of_column, strict=True)),
                came=tuple(came),
                went=tuple(went),
            )
        )
    return found


def _times_log_ratio(p: Array, m: Array) -> Array:
    """p·ln(p / m), 0 where p is."""
    ratio = np.divide(p, m, out=np.ones_like(p), where=p > 0.0)
    return np.asarray(p * np.log(ratio))


def _deviance(n: Array, expected: Array) -> Array:
    """Σ n·ln(n / E) − n + E over the first axis; the last two sum to 0 over all cells, and without
    them the rounding of E would count."""
    away = n - expected
    ratio = np.divide(away, expected, out=np.zeros_like(n), where=n > 0.0)
    return np.asarray((n * np.log1p(ratio) - away).sum(axis=0))


def _g_tests(tables: Array, first: NDArray[np.intp]) -> Array:
    """The p-values of no difference between two sides, of each column over all groups of rows.

    Cells with few rows expected are tested together; a group without rows on a side is left out.

    Parameters
    ----------
    tables : float64 array (2, n_groups, n_cells)
        Effective rows.
    first : intp array (n_columns,)
        The first cell of each column, in order.
    """
    column = np.repeat(np.arange(len(first)), np.diff(first, append=tables.shape[2]))
    rows = np.add.reduceat(tables, first, axis=2)
    used = (rows > 0.0).all(axis=0)
    of_side = rows / np.maximum(rows.sum(axis=0), 1e-300)
    total = tables.sum(axis=0)
    few = total * of_side.min(axis=0)[:, column] < MIN_EXPECTED
    cells = np.where(few, 0.0, tables)
    rest = np.add.reduceat(np.where(few, tables, 0.0), first, axis=2)
    statistic = np.add.reduceat(
        _deviance(cells, np.where(few, 0.0, total * of_side[:, :, column])), first, axis=1
    )
    statistic += _deviance(rest, rest.sum(axis=0) * of_side)
    freedom = np.add.reduceat((~few).astype(np.float64), first, axis=1)
    freedom += (rest.sum(axis=0) > 0.0) - 1.0
    statistic = 2.0 * (statistic * used).sum(axis=0)
    freedom = (np.maximum(freedom, 0.0) * used).sum(axis=0)
    p = chdtrc(np.maximum(freedom, 1.0), np.maximum(statistic, 0.0))
    return np.where(freedom > 0.0, p, 1.0)


def q_values(p_values: Sequence[float] | Array) -> list[float]:
    """q-values: the least false discovery rate at which each would be found."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p)
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    found = np.empty(len(p))
    found[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return [float(q) for q in found]
