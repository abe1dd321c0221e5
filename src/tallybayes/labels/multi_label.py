"""Many labels a row: a classifier that is read once for each label, from one count of the rows."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions

from tallybayes.errors import StaleWarning, shown, warn_user
from tallybayes.estimators.base import learning
from tallybayes.labels.base import Form, GivenRows, LabelCounter, LabelSets, labels_by_row
from tallybayes.labels.counts import ColumnLabels, LabelledRows, TermLabels
from tallybayes.labels.inner import Inner
from tallybayes.persistence import digest_of
from tallybayes.schema import are_among, joined_labels
from tallybayes.tables.read import is_of
from tallybayes.tally.base import less
from tallybayes.validation import (
    as_rows,
    is_missing_label,
    label_array,
    labels_and_codes,
    rows_of,
)
from tallybayes.weighted.rows import group_folds

__all__ = ["MultiLabel"]

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Index = NDArray[np.intp]


# ---- the labels of rows, as people give them -----------------------------------------------------
def read_label_sets(y: Any, n_rows: int, separator: str | None, whose: str) -> LabelSets:
    """The labels of rows in any of the forms that they may have.

    Parameters
    ----------
    y : matrix (n_rows, n_labels), list of lists, or column of str (n_rows,)
        An indicator matrix holds 0 and 1; the labels of a frame are its columns, of others the
        numbers of the columns. A missing value, an empty list or an empty string is a row without a
        label.
    n_rows : int
    separator : str, optional
        What stands between the labels of a column of strings.
    whose : str
        The estimator, for messages.

    Raises
    ------
    ValueError
        For other forms and values, labels that are missing or have no order, or a label that holds
        the separator.
    """
    if y is None or isinstance(y, str | bytes):
        raise ValueError(
            f"{whose} takes y as an indicator matrix, a list of labels for each row, or a column "
            f"of strings with separator=; got {y!r}"
        )
    if sparse.issparse(y) or getattr(y, "ndim", 1) == 2:
        return _of_matrix(y, getattr(y, "columns", None), n_rows, whose)
    if is_of(y, "polars", "DataFrame") or hasattr(y, "column_names"):  # that of Arrow
        names = list(getattr(y, "column_names", None) or y.columns)
        columns = np.array([labels_by_row(y[name]) for name in names], dtype=object)
        return _of_matrix(columns.reshape(len(names), -1).T, names, n_rows, whose)
    rows = labels_by_row(y)
    if len(rows) != n_rows:
        raise ValueError(
            f"X has {n_rows} rows and y {len(rows)}: give the labels of each row, an empty list "
            "for a row without a label"
        )
    strings = any(isinstance(row, str) for row in rows)
    if strings and separator is None:
        row = next(i for i, labels in enumerate(rows) if isinstance(labels, str))
        raise ValueError(
            f"y holds the string {rows[row]!r} in row {row}: say what stands between the labels of "
            "a row with separator=, or give a list of labels for each row"
        )
    flat: list[Any] = []
    size = np.zeros(n_rows, dtype=np.int64)
    for i, given in enumerate(rows):
        labels = _labels_of(given, i, separator, whose)
        flat += labels
        size[i] = len(labels)
    start = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    if not flat:
        known, codes = np.array([], dtype=object), np.zeros(0, dtype=np.int32)
    else:
        named = label_array(flat)
        kinds = {type(label) for label in flat}
        if len(kinds) > 1:  # NumPy would make strings of numbers
            named = np.empty(len(flat), dtype=object)
            named[:] = flat
        known, codes = labels_and_codes(named)
    return LabelSets(LabelledRows(known, start, codes), "text" if strings else "lists")


def _labels_of(given: Any, row: int, separator: str | None, whose: str) -> list[Any]:
    """The distinct labels of a row."""
    if isinstance(given, str):
        assert separator is not None
        found = [label.strip() for label in given.split(separator)]
        return list(dict.fromkeys(label for label in found if label))
    if given is None or (not isinstance(given, Iterable) and is_missing_label(given)):
        return []
    if not isinstance(given, Iterable) or isinstance(given, bytes | Mapping):
        raise ValueError(
            f"y holds {shown(given)} in row {row}: {whose} takes a list of labels for each row, "
            f"such as [{shown(given)}]"
        )
    labels = list(dict.fromkeys(given.tolist() if isinstance(given, np.ndarray) else given))
    for label in labels:
        if is_missing_label(label):
            raise ValueError(
                f"row {row} of y has a missing value among its labels: leave it out; a row without "
                "a label has an empty list"
            )
        if separator is not None and isinstance(label, str) and separator in label:
            raise ValueError(
                f"row {row} of y has the label {shown(label)}, which holds the separator "
                f"{separator!r}: choose another separator, or rename the label"
            )
    return labels


def _of_matrix(y: Any, names: Any, n_rows: int, whose: str) -> LabelSets:
    """The labels of an indicator matrix."""
    form: Form = "sparse" if sparse.issparse(y) else "matrix"
    array = y if form == "sparse" else np.asarray(y)
    if array.dtype.kind == "O":  # with a missing value, perhaps
        numbers = [np.nan if is_missing_label(value) else value for value in array.ravel().tolist()]
        array = np.array(numbers, dtype=np.float64).reshape(array.shape)
    matrix = sparse.csr_array(array)
    if matrix.shape[0] != n_rows:
        raise ValueError(
            f"X has {n_rows} rows and y {matrix.shape[0]}: give the labels of each row"
        )
    matrix.sum_duplicates()
    values = matrix.data
    wrong = np.flatnonzero(~((values == 0) | (values == 1)))
    if len(wrong):
        rows, columns = matrix.tocoo().coords
        at = int(wrong[0])
        raise ValueError(
            f"an indicator matrix holds 0 and 1, 1 where the row has the label: y holds "
            f"{values[at].item()!r} in row {int(rows[at])}, column {int(columns[at])}"
        )
    matrix.eliminate_zeros()
    labels = np.arange(matrix.shape[1]) if names is None else np.asarray(list(names))
    known, rank = labels_and_codes(labels) if len(labels) else (labels, np.zeros(0, np.int32))
    if len(known) < len(labels):
        raise ValueError(f"the columns of y name a label twice: {labels.tolist()!r}")
    start = matrix.indptr.astype(np.int64)
    return LabelSets(LabelledRows(known, start, rank[matrix.indices]), form)


# ---- what is chosen for each label, on rows that are left out ------------------------------------
MAX_TUNING_ROWS = 1 << 13
"""Rows with, and rows without a label, on which something is chosen for it."""
SMOOTHINGS = 2.0 ** np.arange(-8, 3, 2)
"""What alpha is multiplied by, of which the one of the least log-loss is taken."""


FOLDS = 10
"""Parts that whole groups of rows are left out in."""


class Fold(NamedTuple):
    """Rows that are left out together.

    Parameters
    ----------
    rows : index array (n_in_fold,)
    x : rows, as the classifier reads them
    every : classifier
        With the counts of all other rows.
    counts : ColumnLabels or TermLabels
        Of the labels of all other rows.
    """

    rows: Index
    x: Any
    every: Any
    counts: Any


class Tuned(NamedTuple):
    """What was chosen for the labels.

    Parameters
    ----------
    log_odds : float64 array (n_labels,)
        A row has a label if its log-odds are above, in nats.
    alpha : float64 array (n_labels,), optional
        The smoothing of each; None for that of the classifier.
    stale : bool
        Whether the counts have changed since.
    counts : str, optional
        Once it is stale, a digest of the counts and of what was chosen with them: with the same
        counts it is as good as new.
    """

    log_odds: Array
    alpha: Array | None
    stale: bool = False
    counts: str | None = None

    def digest(self, counts: ColumnLabels | TermLabels) -> str:
        """Tells these counts, and what was chosen for their labels, from others."""
        chosen = [self.log_odds] if self.alpha is None else [self.log_odds, self.alpha]
        return digest_of(chosen, counts.digest())


def best_threshold(log_odds: Array, own: NDArray[np.bool_], weight: Array, gain: Any) -> float:
    """The threshold of the largest gain, halfway between two scores; infinite if all rows, or none,
    are best.

    Parameters
    ----------
    log_odds : float64 array (n_rows,)
    own : bool array (n_rows,)
        Whether the row has the label.
    weight : float64 array (n_rows,)
    gain : callable (hits, false alarms, misses)
        Of arrays of the weights of such rows.
    """
    order = np.argsort(-log_odds, kind="stable")
    score, has, w = log_odds[order], own[order], weight[order]
    hits = np.append(0.0, np.cumsum(np.where(has, w, 0.0)))
    alarms = np.append(0.0, np.cumsum(np.where(has, 0.0, w)))
    found = gain(hits, alarms, hits[-1] - hits)
    cuts = np.flatnonzero(np.append(np.append(True, score[1:] < score[:-1]), True))
    best = int(cuts[np.argmax(found[cuts])])
    if best == 0:
        return np.inf
    if best == len(score):
        return -np.inf
    above, below = float(score[best - 1]), float(score[best])
    if np.isinf(above) or np.isinf(below):
        return below if np.isinf(above) else np.nextafter(above, -np.inf)
    middle = 0.5 * above + 0.5 * below
    return middle if middle < above else below


def f1_gain(hits: Array, alarms: Array, misses: Array) -> Array:
    """F1 = 2 hits / (2 hits + false alarms + misses)."""
    total = 2.0 * hits + alarms + misses
    return np.divide(2.0 * hits, total, out=np.zeros_like(hits), where=total > 0.0)


def largest(values: Array, k: int) -> Index:
    """The places of the k largest values of each row, (n_rows, k), the largest first; of equals the
    first."""
    found = np.zeros((len(values), k), dtype=np.intp)
    if not k:
        return found
    limits = np.partition(values, values.shape[1] - k, axis=1)[:, -k]
    for row, limit, best in zip(values, limits, found, strict=True):
        few = np.flatnonzero(row >= limit)
        best[:] = few[np.argsort(-row[few], kind="stable")[:k]]
    return found


# ---- the classifier ------------------------------------------------------------------------------
MAX_BLOCK_CELLS = 1 << 22
"""Predictions that are made at a time, before they are reduced."""
NEAR = 1e-9
"""The share of log-odds by which they are near a threshold, and are computed label by label."""


class MultiLabel(LabelCounter):
    r"""Many labels a row: naive Bayes for each label, from one count of the rows.

    There is one tally of all rows, and a sparse one of the rows of each label. Rows without a label
    are the difference, so that the model of a label is the one that is fitted on its rows against
    all others, and a row is counted once and once more for each label that it has.

    .. math::

        \log\frac{P(l \mid x)}{P(\bar l \mid x)} = \log\frac{P(l)}{1 - P(l)}
            + \log\frac{p(x \mid N_l)}{p(x \mid N - N_l)}

    Parameters
    ----------
    model : classifier
        :class:`NaiveBayes`, :class:`TextNB` with a plain model, :class:`BernoulliNB`,
        :class:`CategoricalNB`, :class:`ComplementNB`, :class:`GaussianNB` or
        :class:`MultinomialNB`. It is not changed.
    threshold : float, "f1" or "cost", default=0.5
        A row has the labels whose probability is above. "f1" and "cost" choose a threshold for each
        label on the rows of :meth:`fit`, each left out of the counts: the one of the largest F1, or
        of the least `costs`.
    costs : tuple of (float, float), default=(1.0, 1.0)
        For "cost": what a label costs that is predicted and wrong, and one that is missed.
    k : int, optional
        Each row has the k most probable labels, whatever the threshold.
    smoothing : "auto" or None, default=None
        "auto" chooses a multiple of the classifier's alpha for each label, the one of the least
        log-loss of rows that are left out.
    separator : str, optional
        What stands between the labels of a row, where y is a column of strings.

    Attributes
    ----------
    classes_ : array (n_labels,)
        The labels, sorted.
    label_count_ : float64 array (n_labels,)
        Rows, or weight, of each label.
    thresholds_ : float64 array (n_labels,)
        Of the probability of each label.
    alphas_ : float64 array (n_labels,)
        The smoothing of each label, where the classifier has one.
    n_features_in_ : int
        Of arrays and tables.

    See Also
    --------
    Hierarchy : Labels in a tree.

    Notes
    -----
    A row without a label counts for all labels. The thresholds are of log-odds, which do not
    saturate as probabilities do.

    References
    ----------
    Yang, Y. (2001). A study of thresholding strategies for text categorization. SIGIR.

    Examples
    --------
    >>> from tallybayes import MultiLabel, TextNB
    >>> documents = ["cheap pills now", "cheap flights now", "lunch at noon", "flights at noon"]
    >>> model = MultiLabel(TextNB(model="multinomial"), separator=";")
    >>> model = model.fit(documents, ["ad", "ad;travel", "", "travel"])
    >>> model.predict(["cheap pills", "cheap flights", "lunch"]).tolist()
    ['ad', 'ad;travel', '']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "model": "no_validation",  # `inner_of` says what can be inside
        "threshold": [Interval(Real, 0, 1, closed="neither"), StrOptions({"f1", "cost"})],
        "costs": [tuple, list],
        "k": [Interval(Integral, 1, None, closed="left"), None],
        "smoothing": [StrOptions({"auto"}), None],
        "separator": [str, None],
    }
    _reads = "labels"

    def __init__(
        self,
        model: Any,
        *,
        threshold: float | Literal["f1", "cost"] = 0.5,
        costs: tuple[float, float] = (1.0, 1.0),
        k: int | None = None,
        smoothing: Literal["auto"] | None = None,
        separator: str | None = None,
    ) -> None:
        self.model = model
        self.threshold: float | Literal["f1", "cost"] = threshold
        self.costs = costs
        self.k = k
        self.smoothing: Literal["auto"] | None = smoothing
        self.separator = separator

    _tuned: Tuned | None

    def _sets(self, y: Any, n_rows: int) -> LabelSets:
        return read_label_sets(y, n_rows, self.separator, "MultiLabel")

    @learning
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Count the rows of X from scratch, and choose what is chosen on rows.

        Parameters
        ----------
        X : rows (n_rows, n_features)
            As the classifier takes them.
        y : matrix (n_rows, n_labels), list of lists, or column of str (n_rows,)
            Their labels.
        sample_weight : array-like (n_rows,), optional
            A row of weight w counts as w rows.
        groups : array-like (n_rows,), optional
            Rows that belong together, such as those of one customer, have one value. Thresholds and
            smoothing are then chosen on rows that are predicted without a tenth of the groups, in
            which theirs is.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        ValueError
            For bad parameters or data; the estimator is then as it was before.
        """
        self._fit(X, y, sample_weight, groups)
        return self

    def _learned(self, inner: Inner, X: Any, given: GivenRows) -> None:
        self._tuned = None
        if self._chooses:
            self._tuned = self._choose(inner, X, given)

    def _changed(self, before: ColumnLabels | TermLabels) -> None:
        """What was chosen for labels stays with them, and is stale unless the counts are again
        those that it was chosen with."""
        tuned = self._tuned
        if tuned is None:
            return
        made = tuned.counts if tuned.stale else tuned.digest(before)
        place = {label: k for k, label in enumerate(before.labels.tolist())}
        old = [place.get(label, len(place)) for label in self._counts.labels.tolist()]
        at = np.array(old, dtype=np.intp)
        usual = float(np.median(tuned.log_odds)) if place else self._fixed_log_odds
        alpha = tuned.alpha
        if alpha is not None:
            alpha = np.append(alpha, float(self.model.alpha))[at]
        now = Tuned(np.append(tuned.log_odds, usual)[at], alpha, stale=True, counts=made)
        back = now.digest(self._counts) == made
        self._tuned = now._replace(stale=False, counts=None) if back else now

    def _chosen(self) -> Any:
        return None if self._tuned is None else tuple(self._tuned)

    def _hold_tuned(
        self, log_odds: Array, alpha: Array | None, stale: bool, counts: str | None
    ) -> None:
        """Takes what a model file held."""
        self._tuned = Tuned(log_odds, alpha, stale, counts)

    def _validate(self) -> Inner:
        self._validate_params()
        inner = self._inner()
        costs = np.asarray(self.costs, dtype=np.float64)
        if costs.shape != (2,) or not (np.isfinite(costs).all() and (costs > 0.0).all()):
            raise ValueError(
                "costs= is what a wrong label costs and what a missed one does, two numbers above "
                f"0; got {self.costs!r}"
            )
        if self.smoothing == "auto" and not isinstance(getattr(self.model, "alpha", None), Real):
            raise ValueError(
                f"smoothing='auto' chooses multiples of alpha, which {self.model!r} does not have "
                "as a number: leave smoothing out"
            )
        if self.separator is not None and not self.separator:
            raise ValueError("separator= is what stands between labels, got an empty string")
        return inner

    @property
    def _chooses(self) -> bool:
        return isinstance(self.threshold, str) or self.smoothing is not None

    @learning
    def tune(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Choose thresholds and smoothing again, on rows that the model has counted.

        Parameters
        ----------
        X : rows (n_rows, n_features)
            Rows that were counted: all of them, or a fair sample.
        y : matrix (n_rows, n_labels), list of lists, or column of str (n_rows,)
            Their labels.
        sample_weight : array-like (n_rows,), optional
            What they were counted with.
        groups : array-like (n_rows,), optional
            Rows of a group are left out together; see :meth:`fit`.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        ValueError
            If nothing is chosen on rows, or a label is not one of the model.
        """
        counts, inner = self._held, self._validate()
        if not self._chooses:
            raise ValueError(
                "there is nothing to choose on rows: set threshold='f1' or 'cost', or "
                "smoothing='auto'"
            )
        n = inner.size(inner.to_predict(self._every, X))
        given = self._read(X, y, sample_weight, n, groups)
        labels = given.sets.held.labels
        unknown = labels[~are_among(labels, counts.labels)]
        if len(unknown):
            raise ValueError(
                f"y has the label {unknown.tolist()[0]!r}, which no counted row has: tune on rows "
                "that were counted, with the labels that they were counted with"
            )
        self._tuned = self._choose(inner, X, given)
        return self

    def _choose(self, inner: Inner, X: Any, given: GivenRows) -> Tuned:
        """Smoothing and threshold of each label, on rows that are left out of the counts."""
        x, labels = inner.to_predict(self._every, X), self._counts.labels
        n, rows = inner.size(x), given.sets.held.among(labels).by_label
        weight = np.ones(n) if given.weights is None else given.weights
        folds = self._folds(inner, X, given)
        mixed = np.random.default_rng(0).permutation(n)
        fixed = isinstance(self.threshold, Real)
        log_odds = np.full(len(labels), self._fixed_log_odds if fixed else np.inf)
        alpha = None
        if self.smoothing == "auto":
            alpha = np.full(len(labels), float(self.model.alpha))
        false_alarm, miss = self.costs

        def gain(hits: Array, alarms: Array, misses: Array) -> Array:
            if self.threshold == "f1":
                return f1_gain(hits, alarms, misses)
            return -(false_alarm * alarms + miss * misses)

        for k in range(len(labels)):
            own = np.zeros(n, dtype=bool)
            own[rows[k]] = True
            some, stands = _rows_to_choose_on(own, mixed, weight)
            if not own.any() or not stands.any():
                continue
            has = own[some]
            tried = [None] if alpha is None else (SMOOTHINGS * alpha[k]).tolist()
            best = None
            for smoothing in tried:
                if folds:
                    odds = np.empty(n)
                    for fold in folds:
                        two = self._reader(inner, fold.every, fold.counts.two(k), smoothing)
                        odds[fold.rows] = _difference(two, inner.joint(two, fold.x))
                    found = -np.logaddexp(0.0, np.stack([odds[some], -odds[some]], axis=1))
                else:
                    two = self._reader(inner, self._every, self._counts.two(k), smoothing)
                    found = _two_columns(inner, two, inner.some(x, some), has, weight[some])
                if best is None or len(tried) > 1:
                    loss = -float(stands @ np.maximum(found[np.arange(len(has)), has * 1], -700.0))
                    if best is None or loss < best[0]:
                        best = loss, smoothing, found[:, 1] - found[:, 0]
            assert best is not None
            if alpha is not None and best[1] is not None:
                alpha[k] = best[1]
            if not fixed:
                log_odds[k] = best_threshold(best[2], has, stands, gain)
        return Tuned(log_odds, alpha)

    def _folds(self, inner: Inner, X: Any, given: GivenRows) -> list[Fold]:
        """Rows by group, in ten parts, each with the counts of all other rows; none without
        groups."""
        if given.groups is None:
            return []
        n_groups = int(given.groups.max(initial=-1)) + 1
        if n_groups < 2:
            raise ValueError(
                "rows of a group are predicted by the counts of the other groups, and groups= has "
                f"{n_groups}: give two groups or more, or leave groups= out"
            )
        no_class = np.zeros(len(given.groups), dtype=np.int32)
        fold_of = group_folds(given.groups.astype(np.uint64), no_class, min(n_groups, FOLDS), 0)
        found, rows = [], as_rows(X)
        for fold in range(int(fold_of.max()) + 1):
            at = np.flatnonzero(fold_of == fold)
            part, every = rows_of(rows, at), copy.copy(self._every)
            weights = None if given.weights is None else given.weights[at]
            x = inner.to_forget(every, part)
            batch = inner.by_label(every, x, given.sets.held.take(at), weights)
            inner.forget(every, x, weights)
            total, labels = inner.counts(every, batch).total, self._counts.labels
            counts = self._counts.removed(total, batch, labels, "tune")
            found.append(Fold(at, inner.to_predict(every, part), every, counts))
        return found

    # ---- reading ---------------------------------------------------------------------------------
    def _reader(self, inner: Inner, every: Any, two: Any, alpha: float | None) -> Any:
        """The classifier of a label, from its counts and those of every row."""
        if alpha is not None:
            every = copy.copy(every).set_params(alpha=alpha)
        return inner.reading(every, two)

    def label(self, label: Any) -> Any:
        """The classifier of one label: False without it, True with it.

        Parameters
        ----------
        label : label
            One of ``classes_``.

        Returns
        -------
        classifier
            Of the type of `model`, fitted: it explains, is saved and is exported as any other.

        Raises
        ------
        ValueError
            For a label that the model does not have.
        """
        counts = self._with_rows()
        known = counts.labels.tolist()
        if label not in known:
            raise ValueError(
                f"{shown(label)} is no label of this model, which has {len(known)}: "
                f"{', '.join(map(repr, known[:10]))}{', …' if len(known) > 10 else ''}"
            )
        k = known.index(label)
        self._warn_of_stale(decides=False)
        return self._reader(self._inner(), self._every, counts.two(k), self._alpha_of(k))

    def _alpha_of(self, k: int) -> float | None:
        alpha = None if self._tuned is None else self._tuned.alpha
        return None if alpha is None else float(alpha[k])

    def _to_predict(self, X: Any, *, decides: bool = False) -> Any:
        """Rows as the classifier inside reads them; warns where what predicts is older than the
        counts: the smoothing, and the thresholds where it `decides`."""
        self._with_rows()
        self._warn_of_stale(decides=decides)
        return self._inner().to_predict(self._every, X)

    def _warn_of_stale(self, *, decides: bool) -> None:
        tuned = self._tuned
        if tuned is None or not tuned.stale:
            return
        older = ["thresholds"] * (decides and self.k is None and isinstance(self.threshold, str))
        older += ["smoothing"] * (tuned.alpha is not None)
        if older:
            was = "was" if older == ["smoothing"] else "were"
            warn_user(
                StaleWarning(
                    f"{' and '.join(older)} {was} chosen before the counts changed",
                    "tune(X, y) chooses again",
                    "load the model in Python, and tune(X, y) chooses again",
                ),
                StaleWarning,
            )

    def _joint(self, k: int, x: Any) -> tuple[Any, Array]:
        """The classifier of a label, and the joint log-likelihoods, (n_rows, n_classes)."""
        inner = self._inner()
        reader = self._reader(inner, self._every, self._counts.two(k), self._alpha_of(k))
        return reader, inner.joint(reader, x)

    def _odds_of(self, x: Any) -> Iterator[Array]:
        """The log-odds of one label after the other, (n_rows,)."""
        return (_difference(*self._joint(k, x)) for k in range(len(self._counts.labels)))

    def _odds_by_rows(self, x: Any) -> Iterator[tuple[Index, Any, Array]] | None:
        """The log-odds of all labels, of some rows at a time, where labels are read from few sums
        each: places of rows, the rows, and (n_some_rows, n_labels), which are those of
        :meth:`_odds_of` but for rounding. None where labels are read one by one."""
        inner, n_labels = self._inner(), len(self._counts.labels)
        parts = inner.parts(self._every, self._counts)
        if parts is None:
            return None
        of_labels = np.asarray(parts.sums.sum(axis=1))
        alone = (of_labels <= 0.0) | (less(parts.every.sum(), of_labels) <= 0.0)
        one_by_one = np.flatnonzero(alone & np.isfinite(parts.prior)).tolist()
        alpha = parts.alpha
        if self._tuned is not None and self._tuned.alpha is not None:
            alpha = self._tuned.alpha[:, None]

        def blocks() -> Iterator[tuple[Index, Any, Array]]:
            step = max(MAX_BLOCK_CELLS // max(n_labels, 1), 1)
            for begin in range(0, inner.size(x), step):
                rows = np.arange(begin, min(begin + step, inner.size(x)))
                some = inner.some(x, rows)
                values = inner.values(self._every, some)
                odds = parts.prior + parts.log_odds(values, alpha)
                odds[:, np.isinf(parts.prior)] = parts.prior[np.isinf(parts.prior)]
                for k in one_by_one:
                    odds[:, k] = _difference(*self._joint(k, some))
                yield rows, some, odds

        return blocks()

    def decision_function(self, X: Any) -> Array:
        """The log-odds of each label, in nats.

        Parameters
        ----------
        X : rows (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        float64 array (n_rows, n_labels)
            log P(l | x) − log P(not l | x).
        """
        x = self._to_predict(X)
        found = np.empty((self._inner().size(x), len(self._counts.labels)))
        for k, odds in enumerate(self._odds_of(x)):
            found[:, k] = odds
        return found

    def predict_proba(self, X: Any) -> Array:
        """P(l | x) of each label.

        Parameters
        ----------
        X : rows (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        float64 array (n_rows, n_labels)
            In the order of ``classes_``. Labels do not exclude each other: rows do not sum to 1.
        """
        return self._proba(self._to_predict(X))

    def _proba(self, x: Any) -> Array:
        """P(l | x) of rows that were read, (n_rows, n_labels)."""
        inner = self._inner()
        found = np.zeros((inner.size(x), len(self._counts.labels)))
        for k in range(found.shape[1]):
            reader, joint = self._joint(k, x)
            proba = inner.posterior(reader, joint)
            for at in np.flatnonzero(reader.classes_):
                found[:, k] = proba[:, at]
        return found

    def predict(self, X: Any) -> Any:
        """The labels of each row, in the form that :meth:`fit` was given.

        Parameters
        ----------
        X : rows (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        int64 array or sparse array (n_rows, n_labels), list of lists, or array of str (n_rows,)
            Labels in the order of ``classes_``.
        """
        x = self._to_predict(X, decides=True)
        n = self._inner().size(x)
        if self.k is not None:
            places = self._best(x, self.k)[0]
            pairs = np.repeat(np.arange(n), places.shape[1]), places.ravel()
        else:
            pairs = self._above(x)
        labels = self._counts.labels
        shape = n, len(labels)
        matrix = sparse.csr_array((np.ones(len(pairs[0]), dtype=np.int64), pairs), shape=shape)
        matrix.sort_indices()
        if self._form == "sparse":
            return matrix
        if self._form == "matrix":
            return matrix.toarray()
        names = labels.tolist()
        lists = [[names[k] for k in row] for row in np.split(matrix.indices, matrix.indptr[1:-1])]
        if self._form == "lists":
            return lists[:n]
        text = np.empty(n, dtype=object)
        text[:] = [(self.separator or "").join(row) for row in lists[:n]]
        return text

    def _limits(self) -> Array:
        """The log-odds above which a row has each label."""
        if self._tuned is not None:
            return self._tuned.log_odds
        return np.full(len(self._held.labels), self._fixed_log_odds)

    @property
    def _fixed_log_odds(self) -> float:
        """The log-odds of a threshold that is a number; 0 where it is chosen."""
        p = float(self.threshold) if not isinstance(self.threshold, str) else 0.5
        return float(np.log(p) - np.log1p(-p))

    def _above(self, x: Any) -> tuple[Index, Index]:
        """The row and the label of each pair above the threshold."""
        limits, blocks = self._limits(), self._odds_by_rows(x)
        rows, labels = [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype=np.intp)]
        if blocks is None:
            for k, odds in enumerate(self._odds_of(x)):
                rows.append(np.flatnonzero(odds > limits[k]))
                labels.append(np.full(len(rows[-1]), k))
            return np.concatenate(rows), np.concatenate(labels)
        for at, some, odds in blocks:
            with np.errstate(invalid="ignore"):  # two infinite ones
                near = np.abs(odds - limits) <= NEAR * (1.0 + np.abs(odds))
            for k in np.flatnonzero(near.any(axis=0)).tolist():  # so that rounding decides nothing
                odds[:, k] = _difference(*self._joint(k, some))
            above = np.nonzero(odds > limits)
            rows.append(at[above[0]])
            labels.append(above[1])
        return np.concatenate(rows), np.concatenate(labels)

    def _best(self, x: Any, k: int) -> tuple[Index, Array]:
        """The places of the k labels of the largest log-odds of each row, best first, and these."""
        n, n_labels = self._inner().size(x), len(self._counts.labels)
        k = min(k, n_labels)
        places, odds = np.zeros((n, k), dtype=np.intp), np.full((n, k), -np.inf)
        blocks = self._odds_by_rows(x)
        if blocks is not None:
            for rows, _, found in blocks:
                best = largest(found, k)
                places[rows], odds[rows] = best, np.take_along_axis(found, best, axis=1)
            return places, odds
        step, begin = max(k, MAX_BLOCK_CELLS // max(n, 1), 1), 0
        block: list[Array] = []
        for at, of_label in enumerate(self._odds_of(x)):
            block.append(of_label)
            if len(block) < step and at < n_labels - 1:
                continue
            so_far = min(begin, k)
            both = np.column_stack([odds[:, :so_far], *block])
            own = np.broadcast_to(np.arange(begin, at + 1), (n, len(block)))
            among = np.column_stack([places[:, :so_far], own])
            best = largest(both, min(k, at + 1))
            places[:, : best.shape[1]] = np.take_along_axis(among, best, axis=1)
            odds[:, : best.shape[1]] = np.take_along_axis(both, best, axis=1)
            block, begin = [], at + 1
        return places, odds

    def top(self, X: Any, k: int = 5) -> tuple[NDArray[Any], Array]:
        """The k most probable labels of each row.

        Parameters
        ----------
        X : rows (n_rows, n_features)
            Rows to predict.
        k : int, default=5
            How many; all, if there are fewer.

        Returns
        -------
        labels : array (n_rows, k)
            The most probable first; of equals the first of ``classes_``.
        probabilities : float64 array (n_rows, k)
            P(l | x).
        """
        if not isinstance(k, Integral) or k < 1:
            raise ValueError(f"k is a number of labels from 1 on, got {shown(k)}")
        places, odds = self._best(self._to_predict(X), int(k))
        return self._counts.labels[places], expit(odds)

    def explain(self, X: Any, label: Any) -> Any:
        """What each column, or term, adds to the scores of a label.

        Parameters
        ----------
        X : rows (n_rows, n_features)
            Rows to explain.
        label : label
            One of ``classes_``.

        Returns
        -------
        Explanation, or list of DocumentExplanation
            As the classifier's own: of the classes False and True.

        Raises
        ------
        ValueError
            For an unknown label, or a classifier of arrays, which explains nothing.
        """
        reader = self.label(label)
        if not hasattr(reader, "explain"):
            raise ValueError(
                f"a {type(reader).__name__} does not explain rows: use NaiveBayes or TextNB, or "
                "read the parameters of label(l)"
            )
        return reader.explain(X)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Micro-F1: hits among predicted and true labels, all rows and labels together.

        Parameters
        ----------
        X : rows (n_rows, n_features)
            Rows to predict.
        y : matrix (n_rows, n_labels), list of lists, or column of str (n_rows,)
            Their labels.
        sample_weight : array-like (n_rows,), optional
            How much each row counts; 1 by default.

        Returns
        -------
        float
            2 hits / (predicted + true labels), by weight; 1 if there are neither.
        """
        predicted = self.predict(X)
        n = predicted.shape[0] if hasattr(predicted, "shape") else len(predicted)
        sets, weights, _ = self._read(X, y, sample_weight, n)
        own = read_label_sets(predicted, n, self.separator, "MultiLabel").held
        if self._form in ("matrix", "sparse"):
            own = LabelledRows(self._counts.labels, own.start, own.codes)
        weight = np.ones(n) if weights is None else weights
        true = sets.held
        labels = joined_labels(own.labels, true.labels)
        mine, theirs = (rows.rows * len(labels) + rows.among(labels).codes for rows in (own, true))
        hits = weight[np.intersect1d(mine, theirs) // max(len(labels), 1)].sum()
        total = sum(weight[rows.rows].sum() for rows in (own, true))
        return float(2.0 * hits / total) if total > 0.0 else 1.0

    # ---- attributes ------------------------------------------------------------------------------
    @property
    def thresholds_(self) -> Array:
        """The probability above which a row has each label, float64 (n_labels,)."""
        found: Array = expit(self._limits())
        return found

    @property
    def alphas_(self) -> Array:
        """The smoothing of each label, float64 (n_labels,)."""
        n = len(self._held.labels)
        if self._tuned is not None and self._tuned.alpha is not None:
            return self._tuned.alpha.copy()
        return np.full(n, float(self.model.alpha))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        from sklearn.utils import ClassifierTags

        tags.classifier_tags = ClassifierTags(multi_class=False, multi_label=True)
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags


def _difference(reader: Any, joint: Array) -> Array:
    """The log-odds of a label, (n_rows,): of rows that both classes rule out, those of the
    shares."""
    if joint.shape[1] < 2:
        return np.full(len(joint), np.inf if reader.classes_[0] else -np.inf)
    nowhere = np.isneginf(joint[:, 0]) & np.isneginf(joint[:, 1])
    if nowhere.any():
        joint = np.where(nowhere.reshape(-1, 1), reader._model.log_prior, joint)
    return joint[:, 1] - joint[:, 0]


def _both_columns(reader: Any, log_proba: Array) -> Array:
    """The columns of both classes: −inf for one that no row has."""
    if log_proba.shape[1] == 2:
        return log_proba
    both = np.full((len(log_proba), 2), -np.inf)
    both[:, int(reader.classes_[0])] = 0.0
    return both


def _two_columns(inner: Inner, reader: Any, x: Any, own: NDArray[np.bool_], weight: Array) -> Array:
    """log P(not l | x) and log P(l | x) of counted rows, each left out."""
    classes = reader.classes_.tolist()
    codes = own.astype(np.int32) if len(classes) == 2 else np.zeros(len(own), dtype=np.int32)
    return _both_columns(reader, inner.left_out(reader, x, codes, weight))


def _rows_to_choose_on(own: NDArray[np.bool_], mixed: Index, weight: Array) -> tuple[Index, Array]:
    """Rows with a label and rows without it, as many as are needed, and the weight that each stands
    for."""
    kept, stands = [], []
    for has in (True, False):
        rows = mixed[own[mixed] == has]
        few = np.sort(rows[:MAX_TUNING_ROWS])
        kept.append(few)
        total = weight[few].sum()
        stands.append(weight[few] * (weight[rows].sum() / total if total > 0.0 else 0.0))
    return np.concatenate(kept), np.concatenate(stands)
