r"""Classes in a tree: an inner node is the sum of its leaves, and a node shrinks toward its parent.

The probabilities θ_c of a node c have the prior Dirichlet(m · θ_p), where p is its parent [1]_, and
those of the root a flat one of α. The posterior mean is that of counts to which m rows of the
parent were added:

.. math::

    N'_c = N_c + \frac{m_p}{|N'_p|} N'_p, \qquad N'_{root} = N_{root} + \alpha

with |N| the rows of a tally. It is a linear combination of leaves, so that every kind of tally can
be shrunk. The concentration m_p, in rows and at most all rows of the parent, is that of the largest
evidence of the counts of each child, given those of the other children: the Dirichlet-multinomial
of levels and terms, and for the means of numbers

.. math::

    \bar x_c \sim N(\bar x_p, \sigma^2_p (1 / n_c + 1 / m))

References
----------
.. [1] McCallum, A., Rosenfeld, R., Mitchell, T. and Ng, A. (1998). Improving text classification
   by shrinkage in a hierarchy of classes. ICML.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from tallybayes.labels.counts import ColumnLabels, TermLabels
from tallybayes.schema import places_among
from tallybayes.tally import (
    CrossMoments,
    FeatureSums,
    LevelCounts,
    Moments,
    TextCounts,
)
from tallybayes.tally.sparse import SparseSums

__all__ = ["Tree", "shrink"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

Evidence = Callable[[float], float]
"""log P(counts of the children of a node | m rows of it are added to them), in nats, of m."""

ROOT = ()
MIN_POWER = -6.0
"""Of two, from which on a concentration is searched, in rows."""
MIN_PARAMETER = 1e-10
"""What a parameter of a Dirichlet is at least."""


@dataclass(frozen=True)
class Tree:
    """The nodes above some leaves.

    Parameters
    ----------
    leaves : tuple of tuple of str
        The path of each leaf, in the order of its class.
    """

    leaves: tuple[tuple[str, ...], ...]

    @cached_property
    def nodes(self) -> list[tuple[str, ...]]:
        """All paths, parents before children, the root first."""
        found = {path[:n] for path in self.leaves for n in range(len(path) + 1)} | {ROOT}
        return sorted(found, key=lambda path: (len(path), path))

    @cached_property
    def place(self) -> dict[tuple[str, ...], int]:
        """The place of each node."""
        return {path: i for i, path in enumerate(self.nodes)}

    @cached_property
    def parent(self) -> Index:
        """The place of the parent of each node, (n_nodes,); −1 for the root."""
        return np.array([self.place[path[:-1]] if path else -1 for path in self.nodes])

    @cached_property
    def children(self) -> list[list[int]]:
        """The places of the children of each node."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for i, parent in enumerate(self.parent.tolist()):
            if parent >= 0:
                found[parent].append(i)
        return found

    @cached_property
    def sums(self) -> Any:
        """Which leaves are below each node, sparse float64 (n_nodes, n_leaves)."""
        pairs = [
            (self.place[path[:n]], leaf)
            for leaf, path in enumerate(self.leaves)
            for n in range(len(path) + 1)
        ]
        rows, columns = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        shape = len(self.nodes), len(self.leaves)
        return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)

    def level(self, depth: int) -> list[int]:
        """The nodes at a depth, and leaves above it, in the order of their paths."""
        own = {path[:depth] for path in self.leaves}
        return [self.place[path] for path in sorted(own)]

    @property
    def depth(self) -> int:
        """The length of the longest path."""
        return max(map(len, self.leaves), default=0)


class Shrunk(NamedTuple):
    """The nodes of a tree as sums of leaves.

    Parameters
    ----------
    concentration : float64 array (n_nodes,)
        The rows of each inner node that are added to its children.
    weights : float64 array (n_nodes, n_leaves)
        How often each leaf is in a node.
    alpha : float64 array (n_nodes,)
        The smoothing of each.
    """

    concentration: Array
    weights: Array
    alpha: Array


# ---- the evidence of the children of a node ------------------------------------------------------
class _Cells(NamedTuple):
    """Counts of cells by leaf, of which runs share a total.

    Parameters
    ----------
    counts : sparse array (n_leaves, n_cells)
    start : int64 array (n_runs + 1,)
    """

    counts: Any
    start: NDArray[np.int64]

    def evidence(self, tree: Tree, shrunk: Shrunk, rows: Array, node: int) -> Evidence:
        """log P(counts of the children | m rows of the others), as a function of m."""
        weights, alpha = shrunk.weights, float(shrunk.alpha[node])
        whole = self.counts.T @ weights[node]
        of_nodes = tree.sums[tree.children[node]] @ self.counts
        held = of_nodes.tocoo()
        child, cell = held.coords
        n: Array = held.data
        others = float(weights[node] @ rows) - tree.sums[tree.children[node]] @ rows
        share = np.divide(1.0, others, out=np.zeros_like(others), where=others > 0.0)
        rest = np.maximum(whole[cell] - n, 0.0)
        rest = (rest + alpha) * share[child]
        run = np.searchsorted(self.start, cell, side="right") - 1
        n_runs, n_children = len(self.start) - 1, len(others)
        at = child * n_runs + run
        totals = np.bincount(at, n, n_children * n_runs)
        every = np.add.reduceat(np.append(whole, 0.0), self.start[:-1]) * (np.diff(self.start) > 0)
        apart = np.maximum(every - totals.reshape(n_children, n_runs), 0.0)
        apart = (apart + alpha * np.diff(self.start)) * share[:, None]
        some = totals > 0.0
        totals, apart = totals[some], apart.ravel()[some]

        def log_evidence(m: float) -> float:
            a = np.maximum(m * rest, MIN_PARAMETER)
            total = np.maximum(m * apart, MIN_PARAMETER)
            found = (gammaln(a + n) - gammaln(a)).sum()
            return float(found + (gammaln(total) - gammaln(total + totals)).sum())

        return log_evidence


class _Means(NamedTuple):
    """Rows, sums and squares of numbers by leaf, (n_leaves, n_columns), about an origin."""

    n: Array
    s1: Array
    s2: Array

    def evidence(self, tree: Tree, shrunk: Shrunk, rows: Array, node: int) -> Evidence:
        """log P(means of the children | m rows of the others), as a function of m."""
        below = tree.sums[tree.children[node]]
        own = [below @ of_leaves for of_leaves in self]
        of_node = shrunk.weights[node]
        rest = [of_node @ of_leaves - of for of_leaves, of in zip(self, own, strict=True)]
        n, n_rest = own[0], rest[0]
        some = (n > 0.0) & (n_rest > 0.0)
        n, n_rest = n[some], n_rest[some]
        mean, of_rest = own[1][some] / n, rest[1][some] / n_rest
        variance = np.maximum(rest[2][some] / n_rest - of_rest**2, 0.0)
        kept = variance > 0.0
        n, apart, variance = n[kept], (mean - of_rest)[kept], variance[kept]

        def log_evidence(m: float) -> float:
            spread = variance * (1.0 / n + 1.0 / m)
            return float(-0.5 * (np.log(spread) + apart**2 / spread).sum())

        return log_evidence


def _counted(counts: ColumnLabels | TermLabels) -> list[_Cells | _Means]:
    """What the evidence is of: levels, sums and terms, and the means of numbers."""
    n = len(counts.labels)
    if isinstance(counts, TermLabels):
        own = counts.positives
        shape = own.n_classes, own.n_terms
        held = own.counts if own.sums is None else own.sums
        pairs = sparse.csc_array((held, own.classes, own.start), shape=shape).tocoo()
        at = places_among(own.labels, counts.labels)[pairs.coords[0]], pairs.coords[1]
        matrix = sparse.csr_array((pairs.data, at), shape=(n, own.n_terms))
        return [_Cells(matrix, np.array([0, own.n_terms]))]
    found: list[_Cells | _Means] = []
    for columns, part in counts.positives.pairs:
        if isinstance(part, LevelCounts):
            found.append(_Cells(sparse.csr_array(part.counts), part.start))
        elif isinstance(part, TextCounts):
            terms = part.of_all_classes()
            shape = n, terms.n_terms
            matrix = sparse.csc_array((terms.counts, terms.classes, terms.start), shape=shape)
            found.append(_Cells(matrix.tocsr(), np.array([0, terms.n_terms])))
        elif isinstance(part, SparseSums | FeatureSums):
            sums = sparse.csr_array(part.sums)
            start = np.array([0, columns.n_features])
            if columns.threshold is not None:  # a row has a feature or not
                without = counts.rows_of_labels[:, None] - sums.toarray()
                sums = sparse.csr_array(np.stack([sums.toarray(), without], axis=2).reshape(n, -1))
                start = np.arange(0, 2 * columns.n_features + 1, 2)
            found.append(_Cells(sums, start))
        elif isinstance(part, Moments | CrossMoments):
            held_moments = part.columns() if isinstance(part, CrossMoments) else part
            found.append(
                _Means(
                    held_moments.n,
                    held_moments.s1_hi + held_moments.s1_lo,
                    held_moments.s2_hi + held_moments.s2_lo,
                )
            )
    return found


# ---- shrinking, from the root down ---------------------------------------------------------------
def _best(evidence: Sequence[Evidence], rows: float) -> float:
    """The concentration of the largest evidence, at most as many rows as the parent has."""

    def loss(power: float) -> float:
        return -sum(each(2.0**power) for each in evidence)

    most = max(float(np.log2(rows)), MIN_POWER + 1.0)
    powers = np.linspace(MIN_POWER, most, int(most - MIN_POWER) // 2 + 2)
    best = float(powers[int(np.argmin([loss(power) for power in powers]))])
    bounds = max(best - 2.0, MIN_POWER), min(best + 2.0, most)
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 0.05})
    return float(2.0 ** float(found.x))


def shrink(
    tree: Tree, counts: ColumnLabels | TermLabels, alpha: float, given: float | None
) -> Shrunk:
    """Every node, shrunk toward its parent.

    Parameters
    ----------
    tree : Tree
    counts : ColumnLabels or TermLabels
        Of the leaves.
    alpha : float
        The smoothing of the root.
    given : float, optional
        One concentration for all nodes; by default the one of the largest evidence for each.
    """
    n, rows = len(tree.nodes), counts.rows_of_labels
    sums = tree.sums.toarray()
    found = Shrunk(np.zeros(n), sums, np.full(n, alpha))
    parts = _counted(counts) if given is None else []
    for node, children in enumerate(tree.children):
        if len(children) == 1:  # it is its parent
            found.weights[children], found.alpha[children] = found.weights[node], found.alpha[node]
        if len(children) < 2:
            continue
        m = given
        if m is None:
            parent = float(found.weights[node] @ rows)
            m = _best([part.evidence(tree, found, rows, node) for part in parts], parent)
        found.concentration[node] = m
        if m == 0.0:  # each node has the smoothing itself
            continue
        share = m / float(found.weights[node] @ rows)
        found.weights[children] += share * found.weights[node]
        found.alpha[children] = share * found.alpha[node]
    return found
