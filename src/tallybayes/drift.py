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
from tallybayes.tally import GridCounts, LevelCounts, TableTally

__all__ = ["UNLABELLED", "ColumnDrift", "Comparison", "compare"]

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
    q_moved: float = 1.0
    q_within: float | None = None
    log_loss_old: float | None = None
    log_loss_new: float | None = None


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
    counts = [_by_class(t.classes.count[:, None], t, labels)[:, 0] for t in (a, b)]
    units = [_unit(t) for t in (a, b)]
    found, left_out = [], dict[str, str]()
    mine, theirs = columns_of(a), columns_of(b)
    for name in dict.fromkeys([*mine, *theirs]):
        if name not in mine or name not in theirs:
            left_out[name] = f"only the {'new' if name in theirs else 'old'} counts have it"
            continue
        cells = cells_of(mine[name], theirs[name])
        if isinstance(cells, str):
            left_out[name] = cells
            continue
        titles, of_a, of_b, named = cells
        both = [_by_class(part, t, labels) for part, t in ((of_a, a), (of_b, b))]
        found.append(_drift(name, titles, both, counts, units, labelled, named))
    if not found:
        raise IncompatibleTallies(
            "two tallies are compared column by column, and these have no column of levels or "
            f"numbers in common: {list(mine)} and {list(theirs)}"
        )
    moved = q_values([c.p_moved for c in found])
    within: Sequence[float | None] = [None] * len(found)
    if labelled:
        within = q_values([c.p_within if c.p_within is not None else 1.0 for c in found])
    adjusted = [
        ColumnDrift(**{**vars(c), "q_moved": q, "q_within": w})
        for c, q, w in zip(found, moved, within, strict=True)
    ]
    shares = [count / count.sum() for count in counts]
    effective = [count / unit for count, unit in zip(counts, units, strict=True)]
    return Comparison(
        rows_old=float(counts[0].sum()),
        rows_new=float(counts[1].sum()),
        classes=dict(zip(labels, zip(*(s.tolist() for s in shares), strict=True), strict=True))
        if labelled
        else {},
        p_classes=_g_test([np.stack(effective)]) if labelled else None,
        columns=tuple(sorted(adjusted, key=lambda c: -c.psi)),
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


def cells_of(
    mine: dict[str, Any], theirs: dict[str, Any]
) -> tuple[list[str], Array, Array, bool] | str:
    """Names of the cells, their counts in both, and whether they are levels; or why there are
    none."""
    for kind, parts in (("terms", "text"), ("sums", "counts that share a total"), ("cross", "")):
        if kind in mine or kind in theirs:
            return f"{parts or 'numbers that are counted together'}: not compared by cells"
    titles: list[str] = []
    counts: list[list[Array]] = [[], []]
    named = False
    if "grid" in mine or "grid" in theirs:
        grids = [side["grid"][0] if "grid" in side else None for side in (mine, theirs)]
        bounds, binned = _bins(grids[0], grids[1], len(_any_class(mine)), len(_any_class(theirs)))
        titles += bounds
        for side, part in zip(counts, binned, strict=True):
            side.append(part)
    if "levels" in mine or "levels" in theirs:
        named = True
        sides = [side.get("levels") for side in (mine, theirs)]
        levels = list(dict.fromkeys(v for side in sides if side is not None for v in side[1] or ()))
        place = {level: i for i, level in enumerate(levels)}
        for of_side, held, where in zip(counts, sides, (mine, theirs), strict=True):
            cells = np.zeros((len(_any_class(where)), len(levels)))
            if held is not None:
                assert isinstance(held[0], LevelCounts)
                cells[:, [place[level] for level in held[1]]] = held[0].counts
            of_side.append(cells)
        titles += [str(level) for level in levels]
    return titles, np.hstack(counts[0]), np.hstack(counts[1]), named


def _any_class(side: dict[str, Any]) -> Array:
    """Something with a row for each class of a tally."""
    group = next(iter(side.values()))[0]
    return np.zeros(group.n_classes)


def _bins(
    a: GridCounts | None, b: GridCounts | None, n_a: int, n_b: int
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
    bins = np.minimum((middle / max(2.0 - 1e-9, 1e-300) * N_BINS).astype(np.intp), N_BINS - 1)
    first = np.flatnonzero(np.diff(bins, prepend=-1)) if len(keys) else np.empty(0, np.intp)
    edges = GridCounts(shift, keys, np.zeros((1, len(keys)))).lower_edges()[first].tolist()
    ends = [*map(text_of_number, edges[1:]), "∞"]
    starts = ["-∞", *map(text_of_number, edges[1:])]
    titles = [f"[{low}, {high})" for low, high in zip(starts, ends, strict=True)] if edges else []
    if not len(first):
        return [], [np.zeros((n, 0)) for n in (n_a, n_b)]
    return titles, [np.add.reduceat(part, first, axis=1) for part in wide]


# ---- figures of a column -------------------------------------------------------------------------
def _drift(
    name: str,
    titles: list[str],
    both: list[Array],
    counts: list[Array],
    units: list[float],
    labelled: bool,
    named: bool,
) -> ColumnDrift:
    """What moved in a column of counts (n_classes, n_cells)."""
    effective = [part / unit for part, unit in zip(both, units, strict=True)]
    whole = [part.sum(axis=0) for part in effective]
    missing = [
        np.maximum(count / unit - part.sum(axis=1), 0.0)
        for count, unit, part in zip(counts, units, effective, strict=True)
    ]
    shares = [part / max(float(part.sum()), 1e-300) for part in whole]
    smooth = [(part + ADDED) / (part.sum() + ADDED * len(part)) for part in whole]
    middle = 0.5 * (shares[0] + shares[1])
    with_missing = [np.column_stack([p, m]) for p, m in zip(effective, missing, strict=True)]
    log_loss: list[float | None] = [None, None]
    if labelled:
        learned = effective[0] + ADDED
        log_posterior = np.log(learned / learned.sum(axis=0))
        log_loss = [
            float(-(part * log_posterior).sum() / part.sum()) if part.sum() > 0.0 else None
            for part in effective
        ]
    there = [[t for t, n in zip(titles, part, strict=True) if n > 0.0] for part in whole]
    return ColumnDrift(
        name=name,
        cells=tuple(titles),
        old=tuple(shares[0].tolist()),
        new=tuple(shares[1].tolist()),
        psi=float(((smooth[1] - smooth[0]) * np.log(smooth[1] / smooth[0])).sum()),
        js=0.5 * sum(_divergence(share, middle) for share in shares),
        missing_old=_share(missing[0], counts[0] / units[0]),
        missing_new=_share(missing[1], counts[1] / units[1]),
        came=tuple(t for t in there[1] if t not in there[0]) if named else (),
        went=tuple(t for t in there[0] if t not in there[1]) if named else (),
        p_moved=_g_test([np.stack([part.sum(axis=0) for part in with_missing])]),
        p_within=_g_test([np.stack(rows) for rows in zip(*with_missing, strict=True)])
        if labelled
        else None,
        log_loss_old=log_loss[0],
        log_loss_new=log_loss[1],
    )


def _share(part: Array, whole: Array) -> float:
    return float(part.sum() / whole.sum())


def _divergence(p: Array, m: Array) -> float:
    """Σ p·ln(p / m), in nats."""
    some = p > 0.0
    return float((p[some] * np.log(p[some] / m[some])).sum())


def _g_test(tables: Sequence[Array]) -> float:
    """The p-value of no difference between the two rows of each table (2, n_cells), together.

    Cells with few rows expected are tested together; a table with nothing to compare is left out.
    """
    statistic, freedom = 0.0, 0
    for table in tables:
        rows = table.sum(axis=1)
        if not (rows > 0.0).all():
            continue
        few = table.sum(axis=0) * rows.min() / rows.sum() < MIN_EXPECTED
        cells = table[:, ~few]
        if few.any():
            cells = np.column_stack([cells, table[:, few].sum(axis=1)])
        cells = cells[:, cells.sum(axis=0) > 0.0]
        expected = rows[:, None] * cells.sum(axis=0) / rows.sum()
        some = cells > 0.0
        statistic += 2.0 * float((cells[some] * np.log(cells[some] / expected[some])).sum())
        freedom += cells.shape[1] - 1
    return float(chdtrc(freedom, max(statistic, 0.0))) if freedom else 1.0


def q_values(p_values: Sequence[float]) -> list[float]:
    """q-values: the least false discovery rate at which each would be found."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p)
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    found = np.empty(len(p))
    found[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return [float(q) for q in found]
