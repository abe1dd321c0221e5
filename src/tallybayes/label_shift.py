r"""Class shares of rows without labels, from the margins of their columns alone.

If only the classes moved, each margin of the new rows is a mixture of those of the classes:

    q = Σ_c π_c·p_c        q: shares of the cells of a column, or means a row
    Q(π) = Σ_j rⱼᵀ Wⱼ⁻¹ rⱼ − Σ_c π_c²·b_c     rⱼ = qⱼ − Σ_c π_c·p_cj
    Wⱼ = Σ_c (π_c/n + π_c²/n_c)·S_cj        noise of the new rows, and of those that were learned
    b_c = Σ_j tr(Wⱼ⁻¹ S_cj)/n_c             what noise in p_c adds to the squares
    minimise Q(π)/2φ − ½ Σ_c ln π_c         over Σ_c π_c = 1
    Var(π̂) = Γ/n + (M/φ + ½ diag(π)⁻²)⁻¹    Γ = diag(π) − ππᵀ, inverted where Σ_c π_c = 1

S_cj is the covariance of a row's cells in class c, and M is half the second derivative of Q. The
covariance of all columns has blocks on its diagonal if columns are independent within classes, as
the model says. Where they are not, margins tell less than it says, by the factor φ: the slope by
which log-odds of the same columns are too extreme. The logarithms are Jeffreys' prior of shares, as
a density of log-ratios: no share is 0.

Saerens, Latinne and Decaestecker (2002), on shifted priors. Fuller (1987), section 2.3, on errors
in p_c. Jeffreys (1961), section 3.22.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtri, rel_entr, stdtrit

from tallybayes.drift import MIN_EXPECTED, cells_of, columns_of, q_values
from tallybayes.errors import IncompatibleTallies
from tallybayes.tables.columns import as_text, frame
from tallybayes.tally import TableTally
from tallybayes.tally.terms import places_of_terms, union_of_terms

__all__ = ["UNLABELLED_PARTS", "ClassPriorEstimate", "class_prior_of_margins", "in_parts"]

Array = NDArray[np.float64]

MAX_CELLS = 200  # of a column; the rarest of more are one
N_STEPS = 20  # of the weights of columns, which depend on the shares
TOLERANCE = 1e-7  # of shares between two steps
MAX_STEPS, MIN_GAIN = 200, 1e-18  # of Newton's method
UNLABELLED_PARTS = 40  # of rows without labels that a model counts
MIN_PARTS = 10  # from which dependence is measured
DEPENDENCE = 0.1  # mean correlation of two columns within classes, where it is not measured
MIN_BETA = 0.01  # of a calibration; 1 / β is the dependence that it has found
OF_TERMS = 0.02  # the same of two terms of a text
MIN_DOCUMENTS = 2.0 * MIN_EXPECTED  # of a term, expected in both
SURE = 0.01  # the q-value below which a column does not fit
MIN_BINS, MAX_BINS, ROWS_OF_BIN = 10, 40, 40.0  # of numbers; noise of small bins biases weights
ADDED = 0.5  # effective rows, to a class that was never learned; and the exponent of the prior
MIN_INFORMATION = 1.0  # of a share, 1 / variance, below which margins do not determine it
SINGULAR = 1e-6  # of a variance, added where means of columns may depend linearly on each other
MAX_PRODUCTS = 400  # twice the products of columns that are counted together
FEW = "no two of its values are in enough rows of both"


@dataclass(frozen=True, eq=False)
class ClassPriorEstimate(Mapping[Any, float]):
    """The class shares of rows without labels: a mapping of labels to shares.

    Parameters
    ----------
    shares : dict of label to float
        They sum to 1, and none is 0. A class without learned rows gets half an effective row.
    intervals : dict of label to (float, float)
        Of the share of each class in the population of the rows.
    confidence : float
        The share of such intervals that hold the true share.
    rows : float
        Effective rows without labels.
    columns : dict of str to float
        By column, the q-value that its margin is a mixture of those of the classes.
    left_out : dict of str to str
        Columns that are not used, and why.
    dependence : float
        By what factor dependence of the columns within classes increases the variance, 1 at least.
    measured : bool
        Whether that factor was measured, between parts of the rows or by the calibration of the
        model, or is assumed.
    """

    shares: dict[Any, float]
    intervals: dict[Any, tuple[float, float]]
    confidence: float
    rows: float
    columns: dict[str, float]
    left_out: dict[str, str]
    dependence: float
    measured: bool

    def __getitem__(self, label: Any) -> float:
        return self.shares[label]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.shares)

    def __len__(self) -> int:
        return len(self.shares)

    @property
    def misfits(self) -> list[str]:
        """The columns whose margins no class shares explain, with q below 0.01: more than the
        classes moved there."""
        return [name for name, q in self.columns.items() if q < SURE]

    @property
    def fits(self) -> bool:
        """Whether the margins of all columns are mixtures of those of the classes."""
        return not self.misfits

    def document(self) -> dict[str, Any]:
        """Everything, for machines.

        Returns
        -------
        dict
            Numbers, strings, lists and dicts.
        """
        return {
            "rows": self.rows,
            "confidence": self.confidence,
            "classes": [
                {"class": as_text(label), "share": share, "interval": list(self.intervals[label])}
                for label, share in self.shares.items()
            ],
            "columns": self.columns,
            "misfits": self.misfits,
            "left_out": self.left_out,
            "dependence": self.dependence,
            "measured": self.measured,
        }

    def to_frame(self) -> Any:
        """The shares as a data frame.

        Returns
        -------
        frame
            A row a class: label, share, and the ends of its interval.
        """
        return frame(
            {
                "class": list(self.shares),
                "share": list(self.shares.values()),
                "low": [low for low, _ in self.intervals.values()],
                "high": [high for _, high in self.intervals.values()],
            }
        )


# ---- rows without labels, in parts ---------------------------------------------------------------
def in_parts(tallies: Sequence[TableTally]) -> TableTally:
    """Tallies of parts of the rows as one, in which a class is a part; their labels are not read.

    Parameters
    ----------
    tallies : sequence of TableTally
        One at least, with columns by name.
    """
    parts = []
    for i, tally in enumerate(tallies):
        schema = replace(tally.schema, classes=np.array([i]))
        groups = tuple(group.pooled() for group in tally.groups)
        parts.append(TableTally(schema, tally.classes.pooled(), groups))
    return sum(parts[1:], parts[0])


# ---- margins: of each column, the mean of some figures of a row, by class ------------------------
@dataclass(frozen=True)
class _Margin:
    """Figures of a row that a column gives, in blocks that are independent within classes.

    Parameters
    ----------
    mean : float64 array (n_classes, n_blocks, n_figures)
        Of the rows of each class.
    spread : float64 array (n_classes, n_blocks, n_figures, n_figures)
        S_c: their covariance in one row.
    seen : float64 array (n_parts, n_blocks, n_figures)
        Their means over the rows without labels, of each part.
    tested : int, optional
        How many of the figures show whether the margin fits; None: all, which are shares of cells.
    """

    mean: Array
    spread: Array
    seen: Array
    tested: int | None = None

    def fitted(self, pi: Array, rows: Array, sizes: Array) -> _Margin:
        """The same with the covariance of the cell shares that both sides tell of, with the classes
        mixed so: with that of the learned rows alone, cells that few of them have by chance would
        weigh too much."""
        if self.tested is not None:
            return self
        scatter = np.einsum("c,cbvw->bvw", pi / sizes.sum() + pi * pi / rows, self.spread)
        away = np.einsum("p,pbv->bv", sizes / sizes.sum(), self.seen)
        away -= np.einsum("c,cbv->bv", pi, self.mean)
        pull = np.linalg.solve(scatter, away[:, :, None])[:, :, 0]
        shares = self.mean + np.einsum("c,cbvw,bw->cbv", pi / rows, self.spread, pull)
        return replace(self, spread=_spread_of_cells(shares, rows))


def _spread_of_cells(shares: Array, rows: Array) -> Array:
    """The covariance of the cells of a row, by their shares (n_classes, n_blocks, n_cells), one
    cell aside."""
    p, n = np.maximum(shares, 0.0), rows[:, None, None]
    p = p / np.maximum(p.sum(axis=2, keepdims=True), 1.0)
    p = (p * n + ADDED) / (n + ADDED * (p.shape[2] + 1))
    return np.asarray(p[..., None] * (np.eye(p.shape[2]) - p[..., None, :]))


def _of_cells(learned: Array, seen: Array, rows: Array, parts: Array) -> _Margin | None:
    """The margin of cells (n_classes, n_cells) and (n_parts, n_cells), in effective rows; the rest
    of the rows have no value."""
    missing = np.maximum(rows - learned.sum(axis=1), 0.0), np.maximum(parts - seen.sum(axis=1), 0.0)
    learned = np.column_stack([learned, missing[0]])
    seen = np.column_stack([seen, missing[1]])
    both, sizes = learned.sum(axis=0) + seen.sum(axis=0), (rows.sum(), parts.sum())
    few = both * min(sizes) / sum(sizes) < MIN_EXPECTED
    if (~few).sum() > MAX_CELLS:
        few[np.argsort(both)[:-MAX_CELLS]] = True
    rest = [cells[:, few].sum(axis=1) for cells in (learned, seen)]
    learned = np.column_stack([learned[:, ~few], rest[0]])
    seen = np.column_stack([seen[:, ~few], rest[1]])
    both = learned.sum(axis=0) + seen.sum(axis=0)
    kept = np.flatnonzero(both > 0.0)
    kept = kept[kept != np.argmax(both)]  # shares sum to 1, so one cell is redundant
    if not len(kept):
        return None
    mean = (learned[:, kept] / rows[:, None])[:, None]
    return _Margin(mean, _spread_of_cells(mean, rows), (seen[:, kept] / parts[:, None])[:, None])


def _of_means(
    mine: Any, theirs: Any, rows: Array, parts: Array, weight: Array, weight_of_parts: Array
) -> _Margin:
    """The margin of columns that are counted together: having values, their means, and those of
    their products, or of their squares where products are many.

    Values are in standard deviations from the mean of all. The covariance of products is that of a
    normal distribution, so that means alone are tested.
    """
    theirs, d = theirs.rebased(mine.origin), len(mine.origin)
    centre, scatter = (a[0] for a in mine.pooled().mean_and_scatter())
    scale = np.sqrt(np.diagonal(scatter) / max(float(mine.n.sum()), 1e-300))
    scale = np.where(scale > 0.0, scale, 1.0)
    i, j = np.tril_indices(d) if d * (d + 1) <= MAX_PRODUCTS else (np.arange(d), np.arange(d))
    sides = []
    for tally, of_all in ((mine, weight), (theirs, weight_of_parts)):
        mean, scatter = tally.mean_and_scatter()
        n, mu = np.maximum(tally.n, 1e-300)[:, None, None], (mean - centre) / scale
        cov = scatter / n / scale / scale[:, None]
        figures = np.column_stack([np.ones(len(mu)), mu, cov[:, i, j] + mu[:, i] * mu[:, j]])
        sides.append((np.minimum(tally.n / of_all, 1.0), figures, mu, cov))
    (there, figures, mu, cov), (seen_there, seen, _, _) = sides
    joint = np.zeros((len(rows), figures.shape[1], figures.shape[1]))
    joint[:, 1 : d + 1, 1 : d + 1] = cov
    joint[:, 1 : d + 1, d + 1 :] = mu[:, None, j] * cov[:, :, i] + mu[:, None, i] * cov[:, :, j]
    joint[:, d + 1 :, 1 : d + 1] = joint[:, 1 : d + 1, d + 1 :].transpose(0, 2, 1)
    for a, b in ((i, j), (j, i)):  # Isserlis (1918)
        joint[:, d + 1 :, d + 1 :] += cov[:, i[:, None], a] * cov[:, j[:, None], b]
        for c, e in ((i, j), (j, i)):
            products = mu[:, c][:, :, None] * mu[:, None, a]
            joint[:, d + 1 :, d + 1 :] += products * cov[:, e[:, None], b]
    outer = figures[:, :, None] * figures[:, None, :]
    spread = there[:, None, None] * (joint + (1.0 - there)[:, None, None] * outer)
    spread += SINGULAR * np.eye(spread.shape[1])  # columns may be sums of others
    used = slice(0 if min(there.min(), seen_there.min()) < 1.0 else 1, None)
    return _Margin(
        (there[:, None] * figures)[:, None, used],
        spread[:, None, used, used],
        (seen_there[:, None] * seen)[:, None, used],
        tested=d + 1 - used.start,
    )


def _of_terms(
    mine: Any, theirs: Any, rows: Array, parts: Array, weight: Array, weight_of_parts: Array
) -> _Margin | None:
    """The margin of the documents that hold each term; a term is a block."""
    held = mine.of_all_classes(), theirs.of_all_classes()
    terms = union_of_terms(held[0].terms, held[1].terms)
    shares = []
    for tally, size in zip(held, (weight, weight_of_parts), strict=True):
        counts = np.zeros((len(size), len(terms)))
        counts[tally.classes, places_of_terms(terms, tally.terms)[tally.pair_terms]] = tally.counts
        shares.append(counts / size[:, None])
    both = shares[0].T @ rows + shares[1].T @ parts
    kept = both * min(rows.sum(), parts.sum()) >= MIN_DOCUMENTS * (rows.sum() + parts.sum())
    if not kept.any():
        return None
    learned, seen = (part[:, kept, None] for part in shares)
    return _Margin(learned, _spread_of_cells(learned, rows), seen)


def _margins(
    learned: TableTally, new: TableTally, rows: Array, parts: Array
) -> tuple[dict[str, _Margin], dict[str, str]]:
    """By column, or group of columns, its margin; and those that have none, and why. Rows are
    effective ones."""
    found, left_out = dict[str, _Margin](), dict[str, str]()
    weight = learned.classes.count, new.classes.count
    units = [w / n for w, n in zip(weight, (rows, parts), strict=True)]
    theirs = new.by_key
    apart = set[str]()
    for (names, kind), (columns, group) in learned.by_key.items():
        if kind not in ("terms", "cross"):
            continue
        title = ", ".join(names or ())
        apart |= {*(names or ())}
        other, counted = theirs.get((names, kind), (None, None))
        margin: _Margin | None
        if other is None or other.terms != columns.terms:
            left_out[title] = "the rows without labels were not counted in the same way"
            continue
        if kind == "terms":
            margin = _of_terms(group, counted, rows, parts, *weight)
        else:
            margin = _of_means(group, counted, rows, parts, *weight)
        if margin is None:
            left_out[title] = FEW
        else:
            found[title] = margin
    mine, others = columns_of(learned), columns_of(new)
    n_bins = int(np.clip(min(rows.sum(), parts.sum()) / ROWS_OF_BIN, MIN_BINS, MAX_BINS))
    for name in (name for name in mine if name not in apart):
        if name not in others:
            left_out[name] = "the rows without labels do not have it"
            continue
        cells = cells_of(mine[name], others[name], n_bins)
        if isinstance(cells, str):
            left_out[name] = cells
            continue
        of_both = [part / u[:, None] for part, u in zip(cells[1:3], units, strict=True)]
        margin = _of_cells(of_both[0], of_both[1], rows, parts)
        if margin is None:
            left_out[name] = FEW
        else:
            found[name] = margin
    return found, left_out


# ---- the estimate --------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Equations:
    """The normal equations of the shares π, (n_classes, n_classes) but for what is said otherwise.

    Parameters
    ----------
    matrix, uncorrected : float64 arrays
        P W⁻¹ Pᵀ − diag(b), and P W⁻¹ Pᵀ.
    right : float64 array (n_classes,)
        P W⁻¹ q.
    of_new : float64 array
        The covariance of P W⁻¹ r that comes from the new rows.
    columns : list of float64 arrays (n_blocks, n_classes, n_classes)
        What each block of each column adds to P W⁻¹ Pᵀ.
    parts : float64 array (n_parts, n_classes)
        P W⁻¹ q of each part of the new rows.
    """

    matrix: Array
    uncorrected: Array
    right: Array
    of_new: Array
    columns: list[Array]
    parts: Array


def _equations(margins: Sequence[_Margin], pi: Array, rows: Array, sizes: Array) -> _Equations:
    """The equations with the weights that are the best at these shares."""
    k, n = len(pi), sizes.sum()
    new, old = pi / n, pi * pi / rows
    of_new, noise = np.zeros((k, k)), np.zeros(k)
    parts, columns = np.zeros((len(sizes), k)), list[Array]()
    for margin in margins:
        scatter, of_learned = (np.einsum("c,cbvw->bvw", by, margin.spread) for by in (new, old))
        inverse = np.linalg.inv(scatter + of_learned)
        weighted = np.einsum("cbv,bvw->cbw", margin.mean, inverse)
        columns.append(np.einsum("cbw,dbw->bcd", weighted, margin.mean))
        parts += np.einsum("pbv,cbv->pc", margin.seen, weighted)
        noise += np.einsum("bvw,cbwv->c", inverse, margin.spread) / rows
        of_new += np.einsum("cbv,bvw,dbw->cd", weighted, scatter, weighted)
    right = parts.T @ sizes / n
    whole = sum(blocks.sum(axis=0) for blocks in columns)
    matrix = whole - np.diag(noise)
    return _Equations(matrix, whole, right, of_new, columns, parts)


def _shares(precision: Array, right: Array, tangent: Array, start: Array) -> Array:
    """The π at which ½ πᵀKπ − hᵀπ − ½ Σ ln π is least, of those that sum to 1, by Newton's method.

    Parameters
    ----------
    precision : float64 array (n_classes, n_classes)
        K.
    right : float64 array (n_classes,)
        h.
    tangent : float64 array (n_classes, n_classes - 1)
        An orthonormal basis of changes that sum to 0.
    start : float64 array (n_classes,)
        Positive shares.
    """

    def cost(pi: Array) -> float:
        return float(0.5 * pi @ precision @ pi - right @ pi - ADDED * np.log(pi).sum())

    pi = start
    for _ in range(MAX_STEPS):
        slope = precision @ pi - right - ADDED / pi
        bend = precision + np.diag(ADDED / pi**2)
        step = -tangent @ np.linalg.solve(tangent.T @ bend @ tangent, tangent.T @ slope)
        gain = -float(slope @ step)
        size = min(1.0, 0.99 / max(float((-step / pi).max(initial=0.0)), 1e-300))  # stays positive
        if gain <= MIN_GAIN:
            break
        while size > MIN_GAIN and cost(pi + size * step) > cost(pi) - 0.25 * size * gain:
            size *= 0.5
        pi = pi + size * step
        pi /= pi.sum()
    return pi


def class_prior_of_margins(
    learned: TableTally,
    new: TableTally,
    confidence: float = 0.9,
    dependence: float | None = None,
) -> ClassPriorEstimate:
    """The class shares of rows without labels, from the margins of their columns.

    Parameters
    ----------
    learned : TableTally
        Counts of rows with labels.
    new : TableTally
        Counts of the rows without; a class is a part of them, such as :func:`in_parts` gives, and
        from 10 parts on, dependence of columns within classes is measured between them.
    confidence : float, default=0.9
        The share of intervals that hold the true share.
    dependence : float, optional
        By what factor dependence of the columns within classes increases the variance, where the
        model knows it; parts of the rows tell better.

    Returns
    -------
    ClassPriorEstimate

    Raises
    ------
    IncompatibleTallies
        A ValueError: no rows, or no column in common.
    NegativeTally
        If a count is negative.
    """
    for which, tally in (("model", learned), ("tally without labels", new)):
        tally.need_non_negative("estimate_class_prior")
        if not tally.classes.count.any():
            raise IncompatibleTallies(f"the {which} has no rows: there are no margins to compare")
    labels = learned.schema.classes.tolist()
    there = np.flatnonzero(learned.classes.effective_rows > 0.0)
    learned, new = _some(learned, there), _some(new, np.flatnonzero(new.classes.count > 0.0))
    rows, sizes = learned.classes.effective_rows, new.classes.count / new.classes.pooled_row_weight
    margins, left_out = _margins(learned, new, rows, sizes)
    if not margins:
        raise IncompatibleTallies(
            "class shares are estimated from the columns that both tallies have, and these have "
            f"none in common: {left_out}"
        )
    n, k = float(sizes.sum()), len(rows)
    pi, tangent = np.full(k, 1.0 / k), np.linalg.qr(np.eye(k) - 1.0 / k)[0][:, : k - 1]
    of_margins = list(margins.values())
    for _ in range(N_STEPS):
        at = np.maximum(pi, 1.0 / n)
        found = _equations([m.fitted(at, rows, sizes) for m in of_margins], at, rows, sizes)
        matrix = found.matrix
        if k > 1 and np.linalg.eigvalsh(tangent.T @ matrix @ tangent)[0] <= 0.0:
            matrix = found.uncorrected
        before, pi = pi, _shares(matrix, found.right, tangent, pi)
        if np.abs(pi - before).max() < TOLERANCE:
            break
    information, directions = np.linalg.eigh(tangent.T @ matrix @ tangent)
    informative = information > MIN_INFORMATION
    directions = tangent @ directions
    project = (directions[:, informative] / information[informative]) @ directions[:, informative].T
    measured = len(sizes) >= MIN_PARTS
    quantile = float(ndtri(0.5 + 0.5 * confidence))
    if measured:
        within = _between_parts(found, project, sizes) - tangent @ tangent.T @ _sampling(pi, n)
        of_new = np.trace(project @ found.of_new @ project)
        factor = max(float(np.trace(within) / max(of_new, 1e-300)), 1.0)
        quantile = float(stdtrit(len(sizes) - 1, 0.5 + 0.5 * confidence))
    elif dependence is not None:
        factor, measured = max(dependence, 1.0), True
    else:
        factor = _assumed_dependence(found.columns, project)
    pi = _shares(matrix / factor, found.right / factor, tangent, pi)
    bend = tangent.T @ (matrix / factor + np.diag(ADDED / pi**2)) @ tangent
    sampling = _sampling(pi, n)
    error = quantile * np.sqrt(np.diag(sampling + tangent @ np.linalg.inv(bend) @ tangent.T))
    error[np.abs(directions[:, ~informative]).sum(axis=1) > TOLERANCE] = 1.0  # any share fits
    p_values = {name: _p_of_fit(m, pi, sampling, rows, sizes) for name, m in margins.items()}
    shares, low, high = np.zeros(len(labels)), np.zeros(len(labels)), np.zeros(len(labels))
    shares[there] = pi
    low[there], high[there] = np.maximum(pi - error, 0.0), np.minimum(pi + error, 1.0)
    unknown = np.ones(len(labels))
    unknown[there] = 0.0
    used = (n * shares + ADDED * unknown) / (n + ADDED * unknown.sum())
    return ClassPriorEstimate(
        shares=dict(zip(labels, used.tolist(), strict=True)),
        intervals=dict(zip(labels, zip(low.tolist(), high.tolist(), strict=True), strict=True)),
        confidence=confidence,
        rows=n,
        columns=dict(zip(p_values, q_values(list(p_values.values())), strict=True)),
        left_out=left_out,
        dependence=factor,
        measured=measured,
    )


def _sampling(pi: Array, n: float) -> Array:
    """The covariance of the class shares of n rows."""
    return np.asarray((np.diag(pi) - np.outer(pi, pi)) / n)


def _between_parts(found: _Equations, project: Array, sizes: Array) -> Array:
    """The variance of the shares that comes from the new rows, from the differences between their
    parts."""
    share = sizes / sizes.sum()
    away = (found.parts - found.parts.T @ share) @ project
    n_parts = len(sizes)
    return np.asarray((away * (share**2)[:, None]).T @ away * n_parts / (n_parts - 1.0))


def _assumed_dependence(columns: Sequence[Array], project: Array) -> float:
    """By what factor the variance is larger than with independent columns, if their correlations
    within classes are as they usually are."""
    whole, of_columns = 0.0, []
    for blocks in columns:
        share = np.maximum(np.einsum("ij,bji->b", project, blocks), 0.0)
        variance = float((1.0 - OF_TERMS) * share.sum() + OF_TERMS * np.sqrt(share).sum() ** 2)
        whole += float(share.sum())
        of_columns.append(variance)
    of_each = np.array(of_columns)
    together = (1.0 - DEPENDENCE) * of_each.sum() + DEPENDENCE * np.sqrt(of_each).sum() ** 2
    return float(together / whole) if whole > 0.0 else 1.0


def _p_of_fit(margin: _Margin, pi: Array, sampling: Array, rows: Array, sizes: Array) -> float:
    """The p-value that a margin is the mixture of those of the classes with these shares; of
    blocks that are tested one by one, Bonferroni's."""
    t, n = margin.tested, sizes.sum()
    mean = margin.mean[:, :, :t]
    expected = np.einsum("c,cbv->bv", pi, mean)
    seen = np.einsum("p,pbv->bv", sizes / n, margin.seen[:, :, :t])
    spread = np.einsum("c,cbvw->bvw", pi / n + pi * pi / rows, margin.spread[:, :, :t, :t])
    spread = spread + np.einsum("cbv,cd,dbw->bvw", mean, sampling, mean)
    if spread.shape[1] > 1:  # terms, many of them rare: the deviance, whose tails are those of χ²
        few = ADDED / n
        q, s = np.clip(expected[:, 0], few, 1.0 - few), np.clip(seen[:, 0], 0.0, 1.0)
        statistic = (
            2.0 * q * (1.0 - q) / spread[:, 0, 0] * (rel_entr(s, q) + rel_entr(1 - s, 1 - q))
        )
    else:
        away = seen - expected
        statistic = np.einsum("bv,bvw,bw->b", away, np.linalg.inv(spread), away)
    p = chdtrc(spread.shape[2], np.maximum(statistic, 0.0))
    return min(1.0, float(p.min()) * len(p))


def _some(tally: TableTally, classes: NDArray[np.intp]) -> TableTally:
    """The counts of some classes."""
    schema = replace(tally.schema, classes=tally.schema.classes[classes])
    groups = tuple(group.take(classes) for group in tally.groups)
    return TableTally(schema, tally.classes.take(classes), groups)
