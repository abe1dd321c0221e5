"""A column of text, read as the terms that its documents hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.families.contract import Context, DocumentFamily, DocumentLikelihood
from tallybayes.families.priors import hold_choice, smoothing_number, whole_number
from tallybayes.schema import Kind
from tallybayes.score import Description, TermSums
from tallybayes.tally import TextCounts
from tallybayes.tally.base import less
from tallybayes.tally.live_terms import MAX_ORDERS, LiveTermCounts
from tallybayes.tally.terms import SLACK
from tallybayes.tokens import MARKS, WORDS
from tallybayes.tokens.analyzer import ENGLISH, Analyzer, words_left_out
from tallybayes.tokens.counting import Documents

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["BINS", "GroupCounts", "TermTable", "Text", "length_factor", "term_table"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


# ---- the family: how documents become terms, and how their ratios are read -----------------------
AnalyzerName = Literal["auto", "word", "char", "char_wb", "cjk"]


@dataclass(frozen=True)
class Text(DocumentFamily):
    """Free text: which terms are more frequent in a class than expected.

    A text of n terms adds as much as √n independent ones: words of a text depend on each other. A
    missing text adds nothing. In a weighted model the text has a learned weight. Plain naive Bayes
    adds the text to the other columns as if all were independent: beside columns that depend on
    each other it can predict worse than by the text alone. There, use WeightedNaiveBayes, or
    ``calibrate="temperature"``.

    Parameters
    ----------
    analyzer : {"auto", "word", "char", "char_wb", "cjk"}
        What n-grams are made of. "auto", like "cjk": characters of Han, kana and Hangul, which are
        written without spaces, and words and marks by `token_pattern` of other scripts.
    ngram_range : (int, int)
        The shortest and the longest n-grams.
    token_pattern : str
        A regular expression of the tokens, for the analyzer "word"; by default words, and every
        mark by itself.
    lowercase : bool
        Whether capitals count as small letters.
    strip_accents : {"ascii", "unicode"}, optional
        Whether accents are dropped.
    stop_words : list of str or "english", optional
        Tokens that are left out; "english" is scikit-learn's list.
    n_features : int, optional
        Buckets by which terms are hashed, so that the tally is bounded and names no term.
    alpha : float
        Smoothing of seen and expected, in documents, above 0.
    """

    kind: ClassVar[Kind] = "terms"
    analyzer: AnalyzerName = "auto"
    ngram_range: Sequence[int] = (1, 2)
    token_pattern: str = MARKS
    lowercase: bool = True
    strip_accents: Literal["ascii", "unicode"] | None = None
    stop_words: Sequence[str] | Literal["english"] | None = None
    n_features: int | None = None
    alpha: float = 0.1

    def __post_init__(self) -> None:
        hold_choice(self, "analyzer", AnalyzerName)
        self._hold_ngrams()
        self._hold_pattern()
        if self.strip_accents is not None:
            hold_choice(self, "strip_accents", Literal["ascii", "unicode"])
        for name in ("lowercase",):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"Text takes {name} True or False, got {getattr(self, name)!r}")
        words = self.stop_words
        if words is not None and words != ENGLISH:
            if isinstance(words, str) or not all(isinstance(word, str) for word in words):
                raise TypeError(
                    f"Text takes stop_words as a list of strings or as 'english', got {words!r}: "
                    "give the words themselves for other languages"
                )
            object.__setattr__(self, "stop_words", list(words))
        alpha = smoothing_number("Text", self.alpha)
        if alpha == 0.0:
            raise ValueError("Text takes a finite alpha above 0, in documents, got 0.0")
        object.__setattr__(self, "alpha", alpha)

    def _hold_ngrams(self) -> None:
        rule = "Text takes ngram_range as two whole numbers from 1 on, the smaller first"
        given: Any = self.ngram_range
        if isinstance(given, str) or not hasattr(given, "__len__") or len(given) != 2:
            raise ValueError(f"{rule}, got {given!r}")
        if not all(isinstance(n, Integral) and int(n) >= 1 for n in given) or given[0] > given[1]:
            raise ValueError(f"{rule}, got {given!r}")
        least, most = map(int, given)
        object.__setattr__(self, "ngram_range", (least, most))

    def _hold_pattern(self) -> None:
        pattern: Any = self.token_pattern
        try:
            fits = isinstance(pattern, str) and re.compile(pattern).groups < 2
        except re.error:
            fits = False
        if not fits:
            raise ValueError(
                "Text takes a token_pattern that is a regular expression with at most one group, "
                f"got {pattern!r}"
            )
        if self.analyzer != "word" and pattern != MARKS:
            raise ValueError(
                f"Text(token_pattern=…) is for analyzer='word', and the analyzer is "
                f"{self.analyzer!r}: give analyzer='word', or leave the pattern out"
            )
        if self.n_features is None:
            return
        rule = "Text takes n_features, a number of buckets from 1 on"
        object.__setattr__(self, "n_features", whole_number(rule, self.n_features, 1))
        if self.analyzer == "word" and pattern not in (MARKS, WORDS):
            raise ValueError(
                f"Text(n_features=…) hashes terms of compiled rules, which token_pattern "
                f"{pattern!r} has not: use {MARKS!r} or {WORDS!r}, or leave n_features out"
            )

    @cached_property
    def terms(self) -> Analyzer:
        """How documents become terms."""
        least, most = self.ngram_range
        return Analyzer(
            "cjk" if self.analyzer == "auto" else self.analyzer,
            self.token_pattern,
            (least, most),
            self.lowercase,
            self.strip_accents,
            words_left_out(self.stop_words),
            self.n_features,
        )

    def likelihood(self, counts: TextCounts, context: Context) -> TermRatios:
        return TermRatios(counts, self.alpha)


# ---- the log-ratio of a term for each class: the logarithm of seen over expected documents -------
#     T_tk = log (N_tk + τ) / (N_t s_k + τ)
#
# N_tk is the number of training documents of class k that hold term t, N_t their sum over the
# classes, s the shares of the classes. A term that was never seen adds 0. Without one document of
# class y that holds t, N_t and N_ty are lower by one, and the shares stay:
#
#     T'_tk = log (N_tk − [k = y] + τ) / ((N_t − 1) s_k + τ)
#
# Few classes hold a term, so the table is sparse: log(1 + N_tk/τ) for the pairs that were seen,
# and a row of −log(N_t s_k + τ) that all terms of one frequency share.
BINS = 10  # of the frequencies of terms of one n-gram order
MAX_INTERMEDIATE = 1 << 21  # numbers of terms and classes that are held at a time


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """What groups of documents were counted with, to be left out together.

    Parameters
    ----------
    keys : int64 array (n_held,)
        Ascending: the number of a group times the number of terms, plus a term that it holds.
    counts : sparse array (n_held, n_classes)
        The weight of the documents of the group that hold the term.
    of : index array (n_documents,)
        The group of each document whose sums are asked for.
    """

    keys: NDArray[np.int64]
    counts: sp.csr_array
    of: Index

    @classmethod
    def counted(
        cls,
        documents: Documents,
        y: NDArray[np.int32],
        weights: Array,
        groups: Index,
        n_classes: int,
    ) -> GroupCounts:
        """Of whole groups of documents.

        Parameters
        ----------
        documents : Documents
        y : int32 array (n_documents,)
        weights : float64 array (n_documents,)
            What each was counted with.
        groups : index array (n_documents,)
            The number of each one's group.
        n_classes : int
        """
        import scipy.sparse as sp  # slow to import, and few models have groups

        size = np.diff(documents.indptr)
        each = np.repeat(groups, size) * documents.n_terms + documents.terms
        keys, place = np.unique(each, return_inverse=True)
        entries = np.repeat(weights, size), (place, np.repeat(y, size))
        counts = sp.coo_array(entries, shape=(len(keys), n_classes)).tocsr()
        return cls(keys, counts, groups)

    def take(self, rows: Index) -> GroupCounts:
        """The same counts, for some of the documents."""
        return replace(self, of=self.of[rows])

    def places(self, row: Index, terms: NDArray[np.int32], n_terms: int) -> Index:
        """The place of entries among `keys`; `row` is the document of each entry."""
        return np.searchsorted(self.keys, self.of[row] * n_terms + terms)


@dataclass(frozen=True, eq=False)
class TermTable:
    """The counts of terms in the classes that have documents.

    Parameters
    ----------
    start : int64 array (n_terms + 1,)
        Term t has the pairs ``start[t] … start[t+1] − 1``, by class.
    classes : int32 array (n_pairs,)
    counts : float64 array (n_pairs,)
        N_tk, above 0.
    documents : float64 array (n_classes,)
        Weight of the documents of each class.
    order : int8 array (n_terms,)
        Of the n-gram: 0 for the shortest.
    whole : TermTable, optional
        The table of all terms, where this one has some of them: bins and shares are of that.
    """

    start: NDArray[np.int64]
    classes: NDArray[np.int32]
    counts: Array
    documents: Array
    order: NDArray[np.int8]
    whole: TermTable | None = None

    @property
    def n_terms(self) -> int:
        return len(self.start) - 1

    @property
    def n_classes(self) -> int:
        return len(self.documents)

    @property
    def n_bins(self) -> int:
        """Bins of terms, by order and frequency."""
        if self.whole is not None:
            return self.whole.n_bins
        return BINS * (int(self.order.max(initial=0)) + 1)

    @cached_property
    def frequency(self) -> Array:
        """N_t, float64 (n_terms,)."""
        held = np.append(self.counts, 0.0)
        found = np.add.reduceat(held, self.start[:-1]) if self.n_terms else np.zeros(0)
        return np.where(np.diff(self.start) > 0, found, 0.0)

    @cached_property
    def _frequencies(self) -> tuple[Array, NDArray[np.int32]]:
        """The distinct frequencies, and that of each term among them."""
        distinct, row = np.unique(self.frequency, return_inverse=True)
        return distinct, row.astype(np.int32)

    @property
    def row(self) -> NDArray[np.int32]:
        """The place of each term's frequency among the distinct ones, int32 (n_terms,)."""
        return self._frequencies[1]

    def share(self, kind: str) -> Array:
        """s, float64 (n_classes,): of the documents ("docs") or of all counts ("mass")."""
        if self.whole is not None:
            return self.whole.share(kind)
        sums: Array = self.documents
        if kind == "mass" and len(self.counts):
            sums = np.bincount(self.classes, self.counts, self.n_classes).astype(np.float64)
        found: Array = sums / sums.sum()
        return found

    def of_several(self, documents: Documents) -> tuple[TermTable, Documents]:
        """The table and documents, which it counts, without the terms of a single document.

        Where documents are left out of the counts, those terms add nothing. The other terms come by
        falling frequency, so that those which most documents hold lie side by side; those of a
        document keep their order.
        """
        ids = np.flatnonzero(self.frequency - 1.0 > 0.0)
        ids = ids[np.argsort(-self.frequency[ids], kind="stable")]
        size = np.diff(self.start)[ids]
        start = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        pairs = np.repeat(self.start[ids] - start[:-1], size) + np.arange(start[-1])
        few = TermTable(
            start,
            self.classes[pairs],
            self.counts[pairs],
            self.documents,
            self.order[ids],
            self,
        )
        place = np.full(self.n_terms, -1, dtype=np.int32)
        place[ids] = np.arange(len(ids), dtype=np.int32)
        return few, documents.among(place, len(ids))

    def expected(self, tau: float, share: Array, less: float = 0.0) -> Array:
        """log((N − less) s_k + τ) for each distinct frequency N, (n_frequencies, n_classes)."""
        n = np.maximum(self._frequencies[0] - less, 0.0)
        return np.log(n[:, None] * share + tau)

    def pair_ratios(self, tau: float, less: float = 0.0) -> Array:
        """log(1 + (N_tk − less)/τ) of each pair, float64 (n_pairs,)."""
        if self._whole is None:
            return np.log1p(np.maximum(self.counts - less, 0.0) / tau)
        most = int(self._whole.max(initial=0))
        return np.log1p(np.maximum(np.arange(most + 1.0) - less, 0.0) / tau)[self._whole]

    @cached_property
    def _whole(self) -> NDArray[np.int32] | None:
        """The counts as whole numbers, of which few are different; None where they are not."""
        if len(self.counts) and not self.counts.max() < len(self.counts):
            return None
        whole = self.counts.astype(np.int32)
        return whole if np.array_equal(whole, self.counts) else None

    def bins(self, less: float = 0.0) -> NDArray[np.int8]:
        """The bin of each term at frequency N_t − less, int8 (n_terms,); −1 where that is 0."""
        n = self.frequency - less
        size = np.minimum(np.log2(np.maximum(n, 1.0)), BINS - 1).astype(np.int8)
        return np.where(n > 0.0, size + BINS * self.order, -1).astype(np.int8)

    def sums(
        self,
        documents: Documents,
        tf: NDArray[np.float32],
        tau: float,
        share: Array,
        y: NDArray[np.int32] | None = None,
        counted: Array | None = None,
        *,
        groups: GroupCounts | None = None,
        binned: bool = True,
        threads: int = 1,
    ) -> Array:
        """Σ tf·T over the terms of each document in each bin, less its mean over the classes,
        float64 (n_documents, n_classes, n_bins).

        Parameters
        ----------
        documents : Documents
        tf : float32 array (n_entries,)
        tau : float
        share : float64 array (n_classes,)
        y : int32 array (n_documents,), optional
            The classes of documents that are counted: each is left out of its own sum.
        counted : float64 array (n_documents,), optional
            What each was counted with; 1 by default.
        groups : GroupCounts, optional
            Of the documents' groups: each is left out with its whole group.
        binned : bool
            Whether terms have bins; else all are in one.
        threads : int
            How many; the result does not depend on it.
        """
        if groups is not None:
            return self._sums_without_groups(documents, tf, tau, share, groups)
        if y is not None and counted is not None:
            return self._sums_without(documents, tf, tau, share, y, counted, threads)
        less = 0.0 if y is None else 1.0
        bins = self.bins(less) if binned else np.zeros(self.n_terms, dtype=np.int8)
        n_bins = self.n_bins if binned else 1
        found = np.empty((len(documents), self.n_classes, n_bins))
        _kernels.document_sums(
            documents.indptr,
            documents.terms,
            tf,
            y,
            self.start,
            self.classes,
            self.pair_ratios(tau),
            None if y is None else self.pair_ratios(tau, 1.0),
            self.expected(tau, share, less),
            self.row,
            bins,
            found,
            threads,
        )
        return found

    def _sums_without(
        self,
        documents: Documents,
        tf: NDArray[np.float32],
        tau: float,
        share: Array,
        y: NDArray[np.int32],
        counted: Array,
        threads: int,
    ) -> Array:
        """As :meth:`sums`, of documents that were counted with any weights."""
        found = np.empty((len(documents), self.n_classes, self.n_bins))
        _kernels.document_sums_without(
            documents.indptr,
            documents.terms,
            tf,
            y,
            counted,
            self.start,
            self.classes,
            self.counts,
            self.frequency,
            (BINS * self.order).astype(np.int8),
            share,
            tau,
            BINS,
            found,
            threads,
        )
        return found

    def length_without(
        self, documents: Documents, tf: NDArray[np.float32], groups: GroupCounts
    ) -> Array:
        """The length of each document in the terms that others than its group hold, which are those
        that a model without the group knows, float64 (n_documents,); 1 without any."""
        row = np.repeat(np.arange(len(documents)), np.diff(documents.indptr))
        before = self.frequency[documents.terms]
        of_group = groups.counts.sum(axis=1)[groups.places(row, documents.terms, self.n_terms)]
        known = np.where(before - of_group > SLACK * before, tf, 0.0)
        found = np.bincount(row, known, len(documents))
        return np.where(found > 0.0, found, 1.0)

    def _sums_without_groups(
        self,
        documents: Documents,
        tf: NDArray[np.float32],
        tau: float,
        share: Array,
        groups: GroupCounts,
    ) -> Array:
        """As :meth:`sums`, each document without its whole group."""
        import scipy.sparse as sp

        n_bins, shape = self.n_bins, (self.n_terms, self.n_classes)
        table = sp.csr_array((self.counts, self.classes, self.start), shape=shape)
        found = np.zeros((len(documents), self.n_classes, n_bins))
        for rows, entries in _blocks(documents.indptr, MAX_INTERMEDIATE // self.n_classes):
            size = np.diff(documents.indptr[rows.start : rows.stop + 1])
            row = np.repeat(np.arange(len(size)), size)
            each = groups.places(row + rows.start, documents.terms[entries], self.n_terms)
            places, entry = np.unique(each, return_inverse=True)
            terms = groups.keys[places] % self.n_terms
            before = table[terms].toarray()
            left = before - groups.counts[places].toarray()
            left[left <= SLACK * before] = 0.0
            frequency = left.sum(axis=1)
            ratio = np.log(left + tau) - np.log(frequency[:, None] * share + tau)
            ratio -= ratio.mean(axis=1, keepdims=True)
            ratio[frequency == 0.0] = 0.0
            octave = np.minimum(np.log2(np.maximum(frequency, 1.0)), BINS - 1).astype(np.intp)
            cell = row * n_bins + (octave + BINS * self.order[terms].astype(np.intp))[entry]
            for k in range(self.n_classes):
                sums = np.bincount(cell, tf[entries] * ratio[entry, k], len(size) * n_bins)
                found[rows, k] = sums.reshape(-1, n_bins)
        return found


def _blocks(indptr: NDArray[np.int64], most: int) -> Iterator[tuple[slice, slice]]:
    """Rows of about so many entries at a time, and their entries."""
    begin, n = 0, len(indptr) - 1
    while begin < n:
        end = int(np.searchsorted(indptr, indptr[begin] + most, side="right")) - 1
        end = min(max(end, begin + 1), n)
        yield slice(begin, end), slice(int(indptr[begin]), int(indptr[end]))
        begin = end


def length_factor(length: Array, mean_length: float, power: float) -> Array:
    """What the sums of a document are multiplied by: (length / mean)^−power."""
    return (length / mean_length) ** -power


# ---- the score of a text in each class, from the counts of its terms alone -----------------------
#     S_k = Σ_t tf_t T_tk / √max(Σ_t tf_t, 1),    tf = log(1 + occurrences)
#
# T is the ratio above, seen over expected, with the shares s
# of all counts. Terms of a text depend on each other, and their plain sum would be overconfident:
# divided by the root, n terms count as √n independent ones. Only terms that were learned count,
# also in the length.
#
# Without a row of class y, which holds t and n other terms, N_ty and N_t lose its weight w, the
# sum of all counts w·n, and so do the shares.
MAX_ENTRIES = 1 << 20  # entries times classes that are looked at together
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
        step = max(1, MAX_ENTRIES // max(self.counts.n_classes, 1))
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
        return sums[:, :, 0] / np.sqrt(length)[:, None]

    def sums(self) -> list[TermSums]:
        table = self.table
        return [
            TermSums(
                frequency="single",
                length="sum",
                power=0.5,
                shortest=1.0,
                cell=table.row,
                common=-table.expected(self.tau, _shares(self.mass)),
                start=table.start,
                classes=table.classes,
                pair=table.pair_ratios(self.tau),
            )
        ]

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
        step = max(1, MAX_ENTRIES // max(k * int(size.max(initial=1)), 1))
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
        return scores / np.sqrt(length)[:, None]

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
        tf, step = np.log(2.0), max(1, MAX_ENTRIES // max(k, 1))
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
    return mass / np.where(total > 0.0, total, 1.0)
