"""The score of a text in each class, from the counts of its terms alone.

    S_k = Σ_t tf_t T_tk / √max(Σ_t tf_t, 1),    tf = log(1 + occurrences)

T is the ratio of :mod:`tallybayes.families.text.ratios`, seen over expected, with the shares s of
all counts. Terms of a text depend on each other, and their plain sum would be overconfident:
divided by the root, n terms count as √n independent ones. Only terms that were learned count, also
in the length.

Without a row of class y, which holds t and n other terms, N_ty and N_t lose its weight w, the sum
of all counts w·n, and so do the shares.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.contract.document_family import DocumentLikelihood
from tallybayes.families.contract.family import less
from tallybayes.families.text.ratios import BINS, TermTable
from tallybayes.parameters import Description
from tallybayes.tally import TextCounts
from tallybayes.tally.live_terms import MAX_ORDERS, LiveTermCounts
from tallybayes.tokens.analyzer import Analyzer
from tallybayes.tokens.counting import Documents

__all__ = ["TermRatios", "term_table"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

MAX_INTERMEDIATE = 1 << 20  # entries times classes that are looked at together
MAX_SHOWN_TERMS = 100  # terms


def term_table(counts: TextCounts) -> TermTable:
    """The counts as ratios are read from them, all terms of one order."""
    held = counts.held
    classes = held.labels.astype(np.int32)[held.classes]
    order = np.zeros(held.n_terms, dtype=np.int8)
    return TermTable(held.start, classes, held.counts, counts.documents, order)


@dataclass(frozen=True, eq=False)
class TermRatios(DocumentLikelihood):
    """The ratios of the terms of a column, and the scores of its documents.

    Parameters
    ----------
    counts : TextCounts
    tau : float
        Smoothing, in documents.
    """

    counts: TextCounts
    tau: float

    @cached_property
    def table(self) -> TermTable:
        """The counts as ratios are read from them."""
        return term_table(self.counts)

    @cached_property
    def mass(self) -> Array:
        """Σ_t N_tk of each class, float64 (n_classes,)."""
        table = self.table
        return np.bincount(table.classes, table.counts, table.n_classes).astype(np.float64)

    @property
    def in_schema(self) -> str:
        return f"text, {self.counts.held.n_terms} terms"

    def described(self) -> Description:
        terms = self.most_informative(MAX_SHOWN_TERMS)
        what = "contributions of the most informative terms in a text of one term, in nats"
        names = [str(term) for term in self.counts.held.terms[terms].tolist()]
        return Description(what, names, np.log(2.0) * self.ratios_of(terms).T)

    def most_informative(self, max_terms: int) -> Index:
        """The places of the most informative terms, weighted by the number of documents that hold
        them, in descending order.

        Parameters
        ----------
        max_terms : int
            How many.
        """
        step = max(1, MAX_INTERMEDIATE // max(self.counts.n_classes, 1))
        apart = np.zeros(self.table.n_terms)
        for start in range(0, len(apart), step):
            terms = np.arange(start, min(start + step, len(apart)))
            apart[terms] = np.ptp(self.ratios_of(terms), axis=1)
        return np.argsort(-apart * np.sqrt(self.table.frequency), kind="stable")[:max_terms]

    def ratios_of(self, terms: Index) -> Array:
        """T of some terms, centred over classes, float64 (n_some, n_classes)."""
        share = _shares(self.mass)
        return self._ratios(self.counts_of(terms), self.table.frequency[terms], share)

    def _ratios(self, n: Array, frequency: Array, share: Array) -> Array:
        ratio = np.log((n + self.tau) / (frequency[:, None] * share + self.tau))
        ratio -= ratio.mean(axis=1, keepdims=True)
        return ratio

    def counts_of(self, terms: Index) -> Array:
        """N_tk of some terms, which may repeat, float64 (n_some, n_classes)."""
        table = self.table
        n_pairs = np.diff(table.start)[terms]
        ends = np.cumsum(n_pairs)
        pair = np.arange(ends[-1] if len(ends) else 0)
        pair += np.repeat(table.start[terms] - ends + n_pairs, n_pairs)
        dense = np.zeros((len(terms), table.n_classes))
        dense[np.repeat(np.arange(len(terms)), n_pairs), table.classes[pair]] = table.counts[pair]
        return dense

    def scores(self, documents: Documents, threads: int = 1) -> Array:
        table, tf = self.table, documents.tf
        if not table.n_terms:
            return np.zeros((len(documents), self.counts.n_classes))
        sums = table.sums(
            documents, tf, self.tau, _shares(self.mass), binned=False, threads=threads
        )
        length = np.maximum(documents.length(tf), 1.0)
        found: Array = sums[:, :, 0] / np.sqrt(length)[:, None]
        return found

    def contributions(self, documents: Documents) -> Array:
        terms, tf = documents.terms.astype(np.intp), documents.tf.astype(np.float64)
        length = np.maximum(documents.length(documents.tf), 1.0)
        factor = np.repeat(1.0 / np.sqrt(length), np.diff(documents.indptr))
        return (tf * factor)[:, None] * self.ratios_of(terms)

    def following(self, analyzer: Analyzer) -> LiveTermCounts | None:
        if analyzer.rules is None:
            return None
        n = self.counts.n_classes
        rules = analyzer.rules, analyzer.stop_words, analyzer.n_features
        live = LiveTermCounts(*rules, np.arange(n), keeps_classes=True)
        every = np.ones(BINS * MAX_ORDERS)  # of the bins: the ratios count as they are
        live.read_weighted(self.tau, "mass", 0.5, 1.0, every, np.zeros(n), min_length=1.0)
        live.load(self.counts.of_all_classes())
        return live

    def without(self, documents: Documents, own: Index, weight: Array) -> Array:
        n, k = len(documents), self.counts.n_classes
        found, size = np.zeros((n, k)), np.diff(documents.indptr)
        step = max(1, MAX_INTERMEDIATE // max(k * int(size.max(initial=1)), 1))
        for start in range(0, n, step):
            rows = np.arange(start, min(start + step, n))
            found[rows] = self._without(documents.take(rows), own[rows], weight[rows])
        return found

    def _without(self, documents: Documents, own: Index, weight: Array) -> Array:
        size = np.diff(documents.indptr)
        row, terms = np.repeat(np.arange(len(documents)), size), documents.terms.astype(np.intp)
        entry, mine, w = np.arange(len(terms)), own[row], weight[row]
        mass = np.tile(self.mass, (len(documents), 1))
        rows = np.arange(len(documents))
        mass[rows, own] = less(mass[rows, own], weight * size)
        n = self.counts_of(terms)
        n[entry, mine] = less(n[entry, mine], w)
        frequency = less(self.table.frequency[terms], w)
        tf = np.where(frequency > 0.0, documents.tf.astype(np.float64), 0.0)
        contributions = tf[:, None] * self._ratios(n, frequency, _shares(mass)[row])
        scores = np.zeros((len(documents), n.shape[1]))
        np.add.at(scores, row, contributions)
        length = np.maximum(np.bincount(row, tf, len(documents)), 1.0)
        found: Array = scores / np.sqrt(length)[:, None]
        return found

    def at_class_means(self, row_weight: Array) -> Array:
        """The mean contribution of the documents of each class, without their own counts, float64
        (n_classes, n_classes): a sum over terms, each as often as the class has it.

        Parameters
        ----------
        row_weight : float64 array (n_classes,)
            What a row of each class weighs.
        """
        table, k = self.table, self.counts.n_classes
        found, length = np.zeros((k, k)), np.zeros(k)
        pair_term, rows = self.counts.held.pair_terms, np.maximum(self.counts.documents, 1e-300)
        tf, step = np.log(2.0), max(1, MAX_INTERMEDIATE // max(k, 1))
        for start in range(0, len(pair_term), step):
            pair = np.arange(start, min(start + step, len(pair_term)))
            terms, mine = pair_term[pair], table.classes[pair]
            n, one = self.counts_of(terms), row_weight[mine]
            entry = np.arange(len(pair))
            n[entry, mine] = less(n[entry, mine], one)
            frequency = less(table.frequency[terms], one)
            often = np.where(frequency > 0.0, tf * table.counts[pair] / rows[mine], 0.0)
            np.add.at(found, mine, often[:, None] * self._ratios(n, frequency, _shares(self.mass)))
            length += np.bincount(mine, often, k)
        found /= np.sqrt(np.maximum(length, 1.0))[:, None]
        return found


def _shares(mass: Array) -> Array:
    """The share of each class, along the last axis; 0 where there is nothing."""
    total = mass.sum(axis=-1, keepdims=True)
    found: Array = mass / np.where(total > 0.0, total, 1.0)
    return found
