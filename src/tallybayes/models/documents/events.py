"""Event models of documents: the log-probabilities of a tally of terms in each class.

All are linear in the values x of the terms of a document, with a number for each class, each term,
and each pair of a term and a class that was seen:

    score_ik = base_k + Σ_{t in i} x_it (each_k + read_k row_t + pair_tk)

S_tk are the sums of a tally, N_tk its documents, and V the number of its terms:

    multinomial  log (S_tk + α) / (S_k + αV)
    complement  −log (Σ_{j≠k} S_tj + α) / (Σ_{j≠k} S_j + αV)
    Bernoulli    log p_tk of a term that is there, log(1 − p_tk) of one that is not,
                 p_tk = (N_tk + α) / (N_k + 2α)

For the multinomial, a class without any term uses the counts of all classes together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tallybayes.models.documents.left_out import LeftOut

__all__ = ["Bernoulli", "Coefficients", "Complement", "Event", "Multinomial", "Sums"]

Array = NDArray[np.float64]


class Sums(NamedTuple):
    """The sums of a tally that an event model reads.

    Parameters
    ----------
    pair : float64 array (n_pairs,)
        S_tk, or N_tk, of the pairs of a term and a class.
    term : int array (n_pairs,)
        The term of each pair.
    classes : int32 array (n_pairs,)
        The class of each pair.
    documents : float64 array (n_classes,)
        N_k.
    n_terms : int
    """

    pair: Array
    term: NDArray[np.intp]
    classes: NDArray[np.int32]
    documents: Array
    n_terms: int

    @property
    def of_classes(self) -> Array:
        """Σ_t, float64 (n_classes,)."""
        return np.bincount(self.classes, self.pair, len(self.documents)).astype(np.float64)

    @property
    def of_terms(self) -> Array:
        """Σ_k, float64 (n_terms,)."""
        return np.bincount(self.term, self.pair, self.n_terms).astype(np.float64)


class Coefficients(NamedTuple):
    """The numbers of a score that is linear in the values of terms, in nats.

    Parameters
    ----------
    base, each : float64 arrays (n_classes,)
        Without the class prior.
    row : float64 array (n_terms,)
    read : float64 array (n_classes,)
        1 for the classes that `row` concerns, else 0.
    pair : float64 array (n_pairs,)
    """

    base: Array
    each: Array
    row: Array
    read: Array
    pair: Array


class Event(Protocol):
    """An event model of documents."""

    counts_values: bool
    """Whether values are summed; otherwise a term is there or not."""
    has_prior: bool
    """Whether the class prior is part of the score."""

    def coefficients(self, sums: Sums) -> Coefficients:
        """The numbers of the score."""

    def left_out(self, rest: LeftOut) -> Array:
        """The score of documents that are left out, without the prior, float64 (n_documents,
        n_classes)."""


@dataclass(frozen=True)
class Multinomial:
    """Each occurrence of a term is drawn from the terms of the class.

    Parameters
    ----------
    alpha : float
        Above 0.
    """

    alpha: float
    counts_values = True
    has_prior = True

    def coefficients(self, sums: Sums) -> Coefficients:
        """The numbers of the score."""
        alpha, of_classes = self.alpha, sums.of_classes
        blank = of_classes == 0.0
        total = np.where(blank, of_classes.sum(), of_classes)
        each = np.log(alpha) - _log_total(total + alpha * sums.n_terms)
        row = np.log1p(sums.of_terms / alpha)
        pair = np.log1p(sums.pair / alpha)
        return Coefficients(np.zeros(len(each)), each, row, blank.astype(np.float64), pair)

    def left_out(self, rest: LeftOut) -> Array:
        """The score of documents that are left out."""
        alpha, of_classes = self.alpha, rest.of_classes
        blank = of_classes <= rest.nothing
        total = np.where(blank, of_classes.sum(axis=1, keepdims=True), of_classes)
        each = np.log(alpha) - _log_total(total + alpha * rest.n_terms[:, None])
        of_pairs = rest.by_class(rest.x[rest.entry] * np.log1p(rest.pair / alpha))
        row = rest.of_documents(rest.x * np.log1p(rest.of_entries(rest.pair) / alpha))
        found: Array = rest.length[:, None] * each + np.where(blank, row[:, None], of_pairs)
        return found


@dataclass(frozen=True)
class Complement:
    """As multinomial, but by the counts of the other classes: their terms count against the class.

    Parameters
    ----------
    alpha : float
        Above 0.
    """

    alpha: float
    counts_values = True
    has_prior = False

    def coefficients(self, sums: Sums) -> Coefficients:
        """The numbers of the score."""
        alpha, of_classes, of_terms = self.alpha, sums.of_classes, sums.of_terms
        each = _log_total(of_classes.sum() - of_classes + alpha * sums.n_terms)
        row = -np.log(of_terms + alpha)
        others = np.maximum(of_terms[sums.term] - sums.pair, 0.0)
        pair = -row[sums.term] - np.log(others + alpha)
        return Coefficients(np.zeros(len(each)), each, row, np.ones(len(each)), pair)

    def left_out(self, rest: LeftOut) -> Array:
        """The score of documents that are left out."""
        alpha, of_classes = self.alpha, rest.of_classes
        others = of_classes.sum(axis=1, keepdims=True) - of_classes
        each = _log_total(np.maximum(others, 0.0) + alpha * rest.n_terms[:, None])
        of_terms = rest.of_entries(rest.pair)
        of_all = np.log(of_terms + alpha)
        of_others = np.log(np.maximum(of_terms[rest.entry] - rest.pair, 0.0) + alpha)
        of_pairs = rest.x[rest.entry] * (of_all[rest.entry] - of_others)
        row = rest.of_documents(rest.x * of_all)
        found: Array = rest.length[:, None] * each - row[:, None] + rest.by_class(of_pairs)
        return found


@dataclass(frozen=True)
class Bernoulli:
    """A document holds each term or does not.

    Parameters
    ----------
    alpha : float
        Above 0.
    """

    alpha: float
    counts_values = False
    has_prior = True

    def coefficients(self, sums: Sums) -> Coefficients:
        """The numbers of the score."""
        alpha, documents = self.alpha, sums.documents
        none = np.log(documents + alpha)  # of documents without a term that no document holds
        without = np.log(_rest(documents[sums.classes], sums.pair) + alpha)
        base = sums.n_terms * (none - np.log(documents + 2.0 * alpha))
        base += np.bincount(sums.classes, without - none[sums.classes], len(documents))
        pair = np.log1p(sums.pair / alpha) - without + none[sums.classes]
        each, row = np.log(alpha) - none, np.zeros(sums.n_terms)
        return Coefficients(base, each, row, np.zeros(len(each)), pair)

    def left_out(self, rest: LeftOut) -> Array:
        """The score of documents that are left out."""
        alpha, documents = self.alpha, rest.documents
        none = np.log(documents + alpha)
        found: Array = rest.n_terms[:, None] * (none - np.log(documents + 2.0 * alpha))
        found += rest.of_all_pairs(alpha) - none * rest.pairs_held
        in_class = documents[rest.document[rest.entry], rest.classes]
        without = np.log(_rest(in_class, rest.pair) + alpha)
        of_pairs = np.log1p(rest.pair / alpha) - without + np.log(in_class + alpha)
        found += rest.by_class(rest.x[rest.entry] * of_pairs)
        found += rest.length[:, None] * (np.log(alpha) - none)
        return found


def _rest(documents: Array, holding: Array) -> Array:
    """Documents that do not hold a term; rounding of weights does not make them negative."""
    found: Array = np.maximum(documents - holding, 0.0)
    return found


def _log_total(total: Array) -> Array:
    """log, or 0 of nothing, which no value multiplies."""
    found: Array = np.log(np.where(total > 0.0, total, 1.0))
    return found
