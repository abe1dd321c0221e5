"""Weights of documents' bins: what they are chosen on, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve

from tallybayes import _kernels
from tallybayes.families.text import GroupCounts, TermTable, length_factor
from tallybayes.persistence import Within
from tallybayes.progress import steps
from tallybayes.threads import get_num_threads
from tallybayes.tokens.counting import Documents
from tallybayes.weighted.rows import GOLDEN, MAX_CHANCE_SHARE, Observations, observations, salted

__all__ = [
    "PENALTY",
    "SHARES",
    "BinWeights",
    "Reading",
    "choose_reading",
    "document_keys",
    "documents_without_copies",
    "learn_bin_weights",
    "probabilities_and_loss",
]


# ---- probabilities of classes from scores, and the log-loss of the true class --------------------
Array = NDArray[np.float64]


def probabilities_and_loss(scores: Array, y: NDArray[np.int32]) -> tuple[Array, Array]:
    """P = softmax(scores), and −log P of the own class in nats.

    Parameters
    ----------
    scores : float64 array (n_documents, n_classes)
        Overwritten by P.
    y : int32 array (n_documents,)
        The own classes.

    Returns
    -------
    P : float64 array (n_documents, n_classes)
    loss : float64 array (n_documents,)
    """
    highest = scores[:, 0].copy()
    for k in range(1, scores.shape[1]):  # of few classes faster than max(axis=1)
        np.maximum(highest, scores[:, k], out=highest)
    scores -= highest[:, None]
    own = scores[np.arange(len(y)), y]
    proba = np.exp(scores, out=scores)
    total = proba @ np.ones(proba.shape[1])
    proba /= total[:, None]
    return proba, np.log(total) - own


# ---- one weight for each bin of terms and one intercept for each class, by Newton's method -------
#     S_ik = b_k + Σ_g c_g Z_ikg
#     Σ_i w_i −log softmax(S_i)_{y_i} + ½ Σ_g (σ_g c_g)² + ω Σ_k (b_k − β_k)²,   c ≥ 0
#
# Z are leave-one-out sums, σ_g the root of their mean square. β are the logarithms of the class
# shares, or 0 where scores have them already: with many classes of few documents each, intercepts
# that are free fit the noise of the sample, as free weights do with a few documents in all.
#
# About twenty weights take the place of inverse document frequencies and of a temperature. They
# are not negative. With a document of class y taken out, a term that every document has makes y a
# little less probable, and a negative weight would turn that into evidence of the label.
PENALTY = 1.0
OFFSET, OFFSET_OF_SHARES = 1.0, 0.1  # ω where β is 0, and where it is the shares
INITIAL_WEIGHT = 0.3  # of a weight
MAX_STEPS, MAX_HALVINGS = 40, 30
BLOCK_SUMS = 1 << 18  # sums that a Hessian is added up of at once: a cache holds them


class BinWeights(NamedTuple):
    """Weights of bins and intercepts of classes.

    Parameters
    ----------
    weights : float64 array (n_bins,)
    intercept : float64 array (n_classes,)
    """

    weights: Array
    intercept: Array

    @classmethod
    def start(cls, n_bins: int, n_classes: int) -> BinWeights:
        """Where learning starts."""
        return cls(np.full(n_bins, INITIAL_WEIGHT), np.zeros(n_classes))

    def filled(self, sums: Array, of_an_order: int) -> BinWeights:
        """The same weights, but a bin that no document has gets that of the next one of its order
        below, or else above, that some document has.

        Parameters
        ----------
        sums : float64 array (n_documents, n_classes, n_bins)
            Of the documents that were learned on.
        of_an_order : int
            Bins of terms of one n-gram order, which stand side by side.
        """
        used = sums.any(axis=(0, 1)).reshape(-1, of_an_order)
        weights = self.weights.reshape(-1, of_an_order).copy()
        for row, known in zip(weights, used, strict=True):
            held = np.flatnonzero(known)
            if len(held):
                below = np.searchsorted(held, np.arange(of_an_order), side="right") - 1
                row[:] = row[held[np.maximum(below, 0)]]
        return BinWeights(weights.ravel(), self.intercept)

    def scores(self, sums: Array) -> Array:
        """S, float64 (n_documents, n_classes), of sums (n_documents, n_classes, n_bins)."""
        return sums @ self.weights + self.intercept


@dataclass(eq=False)
class _Loss:
    """The penalised loss at a point, with what its derivatives need; `omega` and `beta` are of the
    penalty of the intercepts."""

    sums: Array
    y: NDArray[np.int32]
    weight: Array
    ridge: Array
    omega: float
    beta: Array
    at: BinWeights

    def __post_init__(self) -> None:
        self.beyond = self.at.intercept - self.beta
        self.proba, loss = probabilities_and_loss(self.at.scores(self.sums), self.y)
        self.value = (
            float(self.weight @ loss)
            + 0.5 * float(self.ridge @ self.at.weights**2)
            + self.omega * float(self.beyond @ self.beyond)
        )

    def searched(self, step: Array, gradient: Array) -> _Loss | None:
        """The loss at a step that lowers it enough, with weights of at least 0; None where no
        length does."""
        n_bins, length = len(self.at.weights), 1.0
        for _ in range(MAX_HALVINGS):
            weights = np.maximum(self.at.weights + length * step[:n_bins], 0.0)
            intercept = self.at.intercept + length * step[n_bins:]
            moved = np.concatenate([weights - self.at.weights, intercept - self.at.intercept])
            at = BinWeights(weights, intercept)
            there = _Loss(self.sums, self.y, self.weight, self.ridge, self.omega, self.beta, at)
            if there.value <= self.value + 1e-4 * float(gradient @ moved):
                return there
            length *= 0.5
        return None

    def gradient(self) -> Array:
        rest = self.proba.copy()
        rest[np.arange(len(self.y)), self.y] -= 1.0
        rest *= self.weight[:, None]
        flat = self.sums.reshape(-1, self.sums.shape[2])
        in_weights = rest.ravel() @ flat + self.ridge * self.at.weights
        in_intercept = rest.sum(axis=0) + 2.0 * self.omega * self.beyond
        return np.concatenate([in_weights, in_intercept])

    def hessian(self) -> Array:
        """In float32: it sets the direction of a step, and the gradient decides where to stop. Sums
        are taken from their mean over the classes first, so that nothing large cancels."""
        n, k, g = self.sums.shape
        weighted = self.proba * self.weight[:, None]
        half = self.proba * np.sqrt(self.weight)[:, None]
        proba, root = self.proba.astype(np.float32), np.sqrt(weighted).astype(np.float32)
        found = np.zeros((g + k, g + k))
        step = max(1, BLOCK_SUMS // (k * g))
        for begin in range(0, n, step):
            rows = slice(begin, begin + step)
            apart = self.sums[rows].astype(np.float32)
            apart -= np.einsum("ik,ikg->ig", proba[rows], apart)[:, None, :]
            apart *= root[rows, :, None]
            flat = apart.reshape(-1, g)
            found[:g, :g] += flat.T @ flat
            found[:g, g:] += np.einsum("ik,ikg->gk", root[rows], apart)
        found[g:, :g] = found[:g, g:].T
        found[g:, g:] = np.diag(weighted.sum(axis=0)) - half.T @ half
        found[np.arange(g), np.arange(g)] += self.ridge
        found[np.arange(g, g + k), np.arange(g, g + k)] += 2.0 * self.omega
        return found

    def newton_step(self, hessian: Array, gradient: Array) -> Array:
        """−H⁻¹g; a weight of 0 whose gradient would lower it stays.

        Rows and columns are divided by the roots of the diagonal: where one document is far longer
        than the others, sums of bins differ by many orders of magnitude.
        """
        n_bins = len(self.at.weights)
        free = np.ones(len(gradient), dtype=bool)
        free[:n_bins] = (self.at.weights > 0.0) | (gradient[:n_bins] < 0.0)
        step, some = np.zeros_like(gradient), hessian[np.ix_(free, free)]
        size = np.sqrt(some.diagonal())
        found = solve(some / np.outer(size, size), gradient[free] / size, assume_a="pos")
        step[free] = -(found / size)
        return step


def learn_bin_weights(
    sums: Array,
    y: NDArray[np.int32],
    weight: Array,
    start: BinWeights,
    *,
    tolerance: float = 1e-8,
    penalty: float = PENALTY,
    shares: bool = False,
) -> tuple[BinWeights, float]:
    """The weights of the least penalised loss, and that loss over the weight of the documents.

    Parameters
    ----------
    sums : float64 array (n_documents, n_classes, n_bins)
        Leave-one-out sums.
    y : int32 array (n_documents,)
    weight : float64 array (n_documents,)
    start : BinWeights
    tolerance : float
        In nats a document: it stops when a step is expected to gain less.
    penalty : float
        Of the squares of the weights.
    shares : bool
        Whether β are the logarithms of the class shares, of one document more each; else 0.
    """
    total = float(weight.sum())
    squares = np.einsum("i,ikg,ikg->g", weight, sums, sums)
    scale = np.sqrt(squares / (total * sums.shape[1])) + 1e-3
    ridge = penalty * scale**2
    omega, beta = OFFSET, np.zeros(sums.shape[1])
    if shares:
        log_counts = np.log(np.bincount(y, weight, sums.shape[1]) + 1.0)
        omega, beta = OFFSET_OF_SHARES, log_counts - log_counts.mean()
    if not start.intercept.any():
        start = BinWeights(start.weights, beta)
    at = _Loss(sums, y, weight, ridge, omega, beta, start)
    hessian: Array | None = None
    for _ in range(MAX_STEPS):
        gradient = at.gradient()
        if hessian is not None:  # of the step before, which decides nearly as well when to stop
            step = at.newton_step(hessian, gradient)
            if -0.5 * float(gradient @ step) <= 0.5 * tolerance * total:
                break
        hessian = at.hessian()
        step = at.newton_step(hessian, gradient)
        if -0.5 * float(gradient @ step) <= tolerance * total:
            break
        there = at.searched(step, gradient)
        if there is None:
            break
        at = there
    return at.at, at.value / total


# ---- τ, the class shares and the power of a document's length, by the leave-one-out log-loss -----
TAUS = (0.3, 0.1, 1.0, 3.0)
SHARES: tuple[Literal["mass"], Literal["docs"]] = ("mass", "docs")
POWERS = (0.0, 0.5, 1.0)
TOLERANCE = 1e-6  # of a comparison, in nats a document


class Reading(NamedTuple):
    """How ratios are read from counts.

    Parameters
    ----------
    tau : float
        Smoothing, in documents.
    share : str
        What the shares of the classes are of: all counts ("mass") or the documents ("docs").
    power : float
        Sums are multiplied by (length / mean length)^−power.
    mean_length : float
    """

    tau: Annotated[float, Within(1e-9, 1e9)]
    share: Literal["mass", "docs"]
    power: Annotated[float, Within(0.0, 1.0)]
    mean_length: Annotated[float, Within(1e-3, 1e15)]

    def left_out(
        self,
        table: TermTable,
        documents: Documents,
        tf: NDArray[np.float32],
        y: NDArray[np.int32],
        counted: Array | None = None,
        length: Array | None = None,
        groups: GroupCounts | None = None,
    ) -> Array:
        """The leave-one-out sums of documents that are counted, by these weights or else by 1,
        float64 (n_documents, n_classes, n_bins); `length` where they have not all of their terms,
        `groups` where each is left out with its group.
        """
        share, threads = table.share(self.share), get_num_threads()
        given = documents, tf, self.tau, share, y, counted
        sums = table.sums(*given, groups=groups, threads=threads)
        if length is None and groups is not None:
            length = table.length_without(documents, tf, groups)
        elif length is None:
            length = documents.length(tf)
        sums *= length_factor(length, self.mean_length, self.power)[:, None, None]
        return sums

    def factor(self, documents: Documents, tf: NDArray[np.float32]) -> Array:
        """The factor of each document's sums, by its length, float64 (n_documents,)."""
        return length_factor(documents.length(tf), self.mean_length, self.power)


def choose_reading(
    table: TermTable,
    documents: Documents,
    y: NDArray[np.int32],
    weight: Array,
    counted: Array | None = None,
    length: Array | None = None,
    groups: GroupCounts | None = None,
) -> tuple[Reading, BinWeights]:
    """The reading of the least penalised leave-one-out log-loss, and its weights.

    The shares are chosen at the first τ, then τ at these shares, the power each time.

    Parameters
    ----------
    table : TermTable
        Which counts these documents.
    documents : Documents
    y : int32 array (n_documents,)
    weight : float64 array (n_documents,)
        The weight of each document.
    counted : float64 array (n_documents,), optional
        What each was counted with; 1 by default.
    length : float64 array (n_documents,), optional
        Their lengths, where `documents` has not all of their terms.
    groups : GroupCounts, optional
        Each is left out with its group.
    """
    tf = documents.tf
    if length is None:
        length = documents.length(tf)
    mean_length = float(weight @ length / weight.sum())
    at = BinWeights.start(table.n_bins, table.n_classes)
    best = (np.inf, Reading(TAUS[0], SHARES[0], POWERS[0], mean_length), at)
    candidates = [(TAUS[0], share) for share in SHARES]
    with steps("ways to read terms", len(SHARES) + len(TAUS) - 1) as tick:
        for _ in range(2):
            for tau, share in candidates:
                of_class = table.share(share)
                given = documents, tf, tau, of_class, y, counted
                sums = table.sums(*given, groups=groups, threads=get_num_threads())
                for power in POWERS:
                    shrunk = sums * length_factor(length, mean_length, power)[:, None, None]
                    at, loss = learn_bin_weights(
                        shrunk, y, weight, at, tolerance=TOLERANCE, shares=True
                    )
                    if loss < best[0]:
                        best = (loss, Reading(tau, share, power, mean_length), at)
                tick()
            candidates = [(tau, best[1].share) for tau in TAUS[1:]]
    return best[1], best[2]


# ---- the canonical order in which documents are learned from -------------------------------------
LABEL_SALT = 1 << 32  # the salt of labels


def document_keys(documents: Documents, y: NDArray[np.int32]) -> NDArray[np.uint64]:
    """A 64-bit hash of the terms, counts and label of each document, uint64 (n_documents,).

    Parameters
    ----------
    documents : Documents
    y : int32 array (n_documents,)
        Labels.
    """
    keys = np.empty(len(documents), dtype=np.uint64)
    counts = documents.counts.astype(np.int32, copy=False)
    rows = documents.indptr, documents.terms, counts
    _kernels.document_hashes(*rows, GOLDEN, keys, get_num_threads())
    return salted(keys + salted(y.astype(np.uint64), LABEL_SALT), 2)


def documents_without_copies(
    documents: Documents, y: NDArray[np.int32], weights: NDArray[np.float64] | None
) -> Observations | None:
    """The documents that others are copies of, with the weight of all copies; None where documents
    do not repeat. See :mod:`tallybayes.weighted.rows`.

    Equal ones are usual where documents are short: D documents whose terms had nothing to do with
    each other would be equal as often as −Σ log P(term), on average, is below log D.
    """

    def alike_by_chance(rows: NDArray[np.intp]) -> bool:
        distinct = documents.take(rows)
        frequency = np.bincount(distinct.terms, minlength=1)[distinct.terms]
        information = float(-np.log(frequency / len(rows)).sum()) / len(rows)
        return information < float(np.log(len(rows) / MAX_CHANCE_SHARE))

    weight = np.ones(len(y)) if weights is None else weights
    keys = document_keys(documents, np.zeros_like(y))
    return observations(keys, y, weight, alike_by_chance)
