"""Class conditionals whose events are rows of an array."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr, gammaln

from tallybayes.distributions.base import ClassConditional, Index, Levels, shown, size_of, stats

__all__ = [
    "ArrayConditional",
    "IndependentBernoulli",
    "IndependentCategorical",
    "IndependentNormal",
    "Multinomial",
    "totals_of",
]


Array = NDArray[np.float64]

MAX_INTERMEDIATE = 1 << 20  # of the intermediate results of a block of rows


class ArrayConditional(ClassConditional):
    """A class conditional whose events are rows of an array.

    Rows are asked about in blocks, so that intermediate results stay small.
    """

    @abstractmethod
    def _log_prob(self, x: NDArray[Any]) -> Array:
        """(n_rows, n_classes) of rows (n_rows, n_features)."""

    def _cells_a_row(self, sparse: bool) -> int:
        """How large an intermediate result is for each row."""
        return len(self.features) * len(self.classes)

    def _log_prob_of_sparse(self, x: Any) -> Array:
        """The same of a block of rows in CSR format."""
        return self._log_prob(self._read(x.toarray()))

    def _read(self, x: Any) -> NDArray[Any]:
        return np.asarray(x, dtype=np.float64)

    def log_prob(self, x: Any) -> Array:
        """log p(x | c), in nats.

        Parameters
        ----------
        x : array-like (…, n_features), or sparse matrix (n_rows, n_features)
            Rows; every one is asked about in every class.

        Returns
        -------
        float64 array (…, n_classes)
            −inf for what cannot be.

        Raises
        ------
        ValueError
            For other columns than the distribution has.
        """
        return self._by_block(x)

    def _by_block(self, x: Any, **more: Any) -> Array:
        sparse = hasattr(x, "toarray")
        rows: Any = x.tocsr() if sparse else self._read(x)
        log_prob = self._log_prob_of_sparse if sparse else self._log_prob
        (d,) = self.event_shape
        if rows.ndim == 0 or rows.shape[-1] != d:
            raise ValueError(
                f"x has the shape {rows.shape}, but the last axis of events is {d} long: a row has "
                f"the columns {shown(self.features)}"
            )
        lead = rows.shape[:-1]
        rows = rows if sparse else rows.reshape(-1, d)
        out = np.empty((rows.shape[0], len(self.classes)))
        step = max(1, MAX_INTERMEDIATE // max(1, self._cells_a_row(sparse)))
        for start in range(0, len(out), step):
            out[start : start + step] = log_prob(rows[start : start + step], **more)
        return out.reshape(*lead, len(self.classes))

    def sample(self, n: int | None = None, random_state: Any = None, **more: Any) -> NDArray[Any]:
        """Draw events of every class.

        Parameters
        ----------
        n : int, optional
            Draws of each class; one, without an axis for it, by default.
        random_state : None, int, RandomState or Generator
            The seed, or the generator, of the draws.
        **more : Any
            Parameters of the class conditional.

        Returns
        -------
        array (n, n_classes, n_features), or (n_classes, n_features)
            Draws of each class; one draw without the first axis.
        """

        def put(drawn: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
            return drawn.reshape(*shape, *self.event_shape)

        return self._by_class(n, random_state, put, **more)  # type: ignore[no-any-return]


# ---- class conditional of counts that share a total, such as the words of a document -------------
def totals_of(total_count: Any) -> NDArray[np.int64]:
    """Totals of draws: a whole number, or one a draw."""
    total = np.asarray(total_count)
    if total.dtype.kind not in "iu" or (total < 0).any() or total.ndim > 1:
        raise ValueError(
            f"total_count is a whole number from 0 on, or one for each row, got {total_count!r}"
        )
    return total.astype(np.int64)


def _log_orders(total: Array, each: Array) -> Array:
    """log N! / Π x_j!, (n_rows, 1), of N and Σ_j log x_j!."""
    return np.asarray(gammaln(np.maximum(total, 0.0) + 1.0) - each)[:, None]


class Multinomial(ArrayConditional):
    """Counts x with Σx = N drawn one after the other by θ_c; N is given and not modelled.

    ``log_prob`` is that of one sequence with these counts, Σ_j x_j log θ_cj, which is what the
    model scores. With ``coefficient=True`` it is that of the counts in any order, log N! / Πx_j!
    more: the same for every class.

    Parameters
    ----------
    log_probs : float64 array (n_classes, n_features)
        log θ.
    classes : array (n_classes,)
        Labels of the classes.
    features : sequence
        Names of the features.

    Attributes
    ----------
    probs, log_probs : float64 arrays (n_classes, n_features)
    """

    dtype: np.dtype[Any] = np.dtype(np.int64)
    shares_total = True

    def column(self, name: Any) -> Multinomial:
        return self

    def __init__(self, log_probs: Array, classes: NDArray[Any], features: Sequence[Any]) -> None:
        super().__init__(classes, features)
        self.log_probs: Array = np.asarray(log_probs)
        self.probs: Array = np.exp(self.log_probs)

    def _marginal(self, index: list[int]) -> Multinomial:
        raise TypeError(
            f"the columns {shown(self.features)} are counts that share a total, which is given and "
            "not modelled: some of them alone have no distribution; take all of them"
        )

    def _cells_a_row(self, sparse: bool) -> int:
        return len(self.classes) if sparse else len(self.features) + len(self.classes)

    def _log_prob(self, x: NDArray[Any], coefficient: bool = False) -> Array:
        out = self._sequence(x)
        out[(x < 0.0).any(axis=1)] = -np.inf
        if coefficient:
            possible = np.maximum(x, 0.0)
            out += _log_orders(x.sum(axis=1), gammaln(possible + 1.0).sum(axis=1))
        return out

    def _log_prob_of_sparse(self, x: Any, coefficient: bool = False) -> Array:
        x = x.copy()
        x.sum_duplicates()
        row = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
        out = self._sequence(x)
        out[row[x.data < 0.0]] = -np.inf
        if coefficient:
            each = gammaln(np.maximum(x.data, 0.0) + 1.0)
            total = np.asarray(x.sum(axis=1)).ravel()
            together = np.bincount(row, weights=each, minlength=len(out)).astype(np.float64)
            out += _log_orders(total, together)
        return out

    def _sequence(self, x: Any) -> Array:
        """Σ_j x_j log θ_cj; 0 times −inf is 0: a word that does not occur."""
        none = np.isneginf(self.log_probs)
        out = np.asarray(x @ np.where(none, 0.0, self.log_probs).T, dtype=np.float64)
        if none.any():
            out[np.asarray((x > 0) @ none.T.astype(np.float64)) > 0.0] = -np.inf
        return out

    def log_prob(self, x: Any, *, coefficient: bool = False) -> Array:
        """log p(x | c) given Σx, in nats.

        Parameters
        ----------
        x : array-like (…, n_features), or sparse matrix (n_rows, n_features)
            Counts.
        coefficient : bool
            Counts in any order, rather than one sequence with these counts.

        Returns
        -------
        float64 array (…, n_classes)
            −inf for what cannot be, such as a negative count.

        Raises
        ------
        ValueError
            For other columns than the distribution has.
        """
        return self._by_block(x, coefficient=coefficient)

    def prob(self, x: Any, *, coefficient: bool = False) -> Array:
        """p(x | c), like :meth:`log_prob`."""
        return np.asarray(np.exp(self.log_prob(x, coefficient=coefficient)))

    def draw(
        self, codes: Index, rng: Any, total_count: ArrayLike = 1, **more: Any
    ) -> NDArray[np.int64]:
        totals = totals_of(total_count)
        if totals.ndim and len(totals) != len(codes):
            raise ValueError(f"total_count has {len(totals)} values for {len(codes)} draws")
        totals = np.broadcast_to(totals, (len(codes),))
        share = self.probs / self.probs.sum(axis=1, keepdims=True)
        x = np.empty((len(codes), share.shape[1]), dtype=np.int64)
        for i, (k, n) in enumerate(zip(codes, totals, strict=True)):
            x[i] = rng.multinomial(n, share[k])
        return x

    def sample(
        self,
        n: int | None = None,
        random_state: Any = None,
        *,
        total_count: ArrayLike = 1,
        **more: Any,
    ) -> NDArray[Any]:
        """Draw events of every class.

        Parameters
        ----------
        n : int, optional
            Draws of each class; one, without an axis for it, by default.
        random_state : None, int, RandomState or Generator
            The seed, or the generator, of the draws.
        total_count : int or array-like (n,)
            Σx, of all draws or of each.
        **more : Any
            Parameters of the class conditional.

        Returns
        -------
        int64 array (n, n_classes, n_features), or (n_classes, n_features)
            Draws of each class; one draw without the first axis.
        """
        totals = totals_of(total_count)
        if totals.ndim:
            if len(totals) != (count := size_of(n)):
                raise ValueError(f"total_count has {len(totals)} values for n={count} draws")
            totals = np.repeat(totals, len(self.classes))
        return super().sample(n, random_state, total_count=totals)

    def mean(self, total_count: float = 1) -> Array:
        """Nθ, float64 (n_classes, n_features).

        Parameters
        ----------
        total_count : float, optional
            The total of an event; see :meth:`log_prob`.
        """
        return total_count * self.probs

    def variance(self, total_count: float = 1) -> Array:
        """Nθ(1 − θ), float64 (n_classes, n_features).

        Parameters
        ----------
        total_count : float, optional
            The total of an event; see :meth:`log_prob`.
        """
        return total_count * self.probs * (1.0 - self.probs)

    def stddev(self, total_count: float = 1) -> Array:
        """√(Nθ(1 − θ)), float64 (n_classes, n_features).

        Parameters
        ----------
        total_count : float, optional
            The total of an event; see :meth:`log_prob`.
        """
        return np.sqrt(self.variance(total_count))

    def entropy(self, total_count: int = 1, *, coefficient: bool = False, **more: Any) -> Array:
        """Entropy of a sequence of N, or with ``coefficient=True`` of its counts, in nats, float64
        (n_classes,)."""
        n = int(totals_of(total_count))
        if not coefficient:
            return np.asarray(n * entr(self.probs).sum(axis=1))
        share = self.probs / self.probs.sum(axis=1, keepdims=True)
        return np.array([float(stats().multinomial.entropy(n, p)) for p in share])


# ---- class conditional of rows of categories -----------------------------------------------------
class IndependentCategorical(ArrayConditional):
    """x_j | c is level a with probability P(x_j = a | c), every column by itself.

    Levels are codes from 0 on, or, where they were declared, values.

    Parameters
    ----------
    log_probs : list of float64 arrays (n_classes, n_levels of the column)
        Log-probabilities of the levels.
    log_unseen : float64 array (n_classes, n_features)
        What the model gives a level that the column does not have, beside the levels' 1; 0 leaves
        the column out of the product, −inf rules it out.
    classes : array (n_classes,)
        Labels of the classes.
    features : sequence
        Names of the features.
    values : sequence of arrays (n_levels of the column,), optional
        The declared levels of each column.

    Attributes
    ----------
    probs : list of float64 arrays (n_classes, n_levels of the column)
    """

    values: list[list[Any]] | None

    def __init__(
        self,
        log_probs: Sequence[Array],
        log_unseen: Array,
        classes: NDArray[Any],
        features: Sequence[Any],
        values: Sequence[NDArray[Any]] | None = None,
    ) -> None:
        super().__init__(classes, features)
        self._tables = [
            np.concatenate([table, log_unseen[:, [j]]], axis=1) for j, table in enumerate(log_probs)
        ]
        self.probs: list[Array] = [np.exp(table) for table in log_probs]
        self.values = None if values is None else [v.tolist() for v in values]
        self.dtype: np.dtype[Any] = np.dtype(np.int64) if values is None else np.dtype(object)

    def as_levels(self) -> Levels | None:
        if len(self.features) > 1:
            return None
        values = list(range(self.probs[0].shape[1])) if self.values is None else self.values[0]
        return Levels(values, self.probs[0], values)

    def _marginal(self, index: list[int]) -> IndependentCategorical:
        tables = [self._tables[j] for j in index]
        return IndependentCategorical(
            [table[:, :-1] for table in tables],
            np.stack([table[:, -1] for table in tables], axis=1),
            self.classes,
            [self.features[j] for j in index],
            None if self.values is None else [np.array(self.values[j], object) for j in index],
        )

    def _read(self, x: Any) -> NDArray[Any]:
        return np.asarray(x, dtype=np.float64 if self.values is None else object)

    def _codes(self, column: NDArray[Any], j: int) -> Index:
        """Entries of column j's table; −1 for what is not a level at all."""
        last = self._tables[j].shape[1] - 1
        if self.values is not None:
            at = {level: i for i, level in enumerate(self.values[j])}
            return np.array([at.get(v, last) for v in column.tolist()], dtype=np.intp)
        whole = (column >= 0.0) & (column == np.floor(column)) & np.isfinite(column)
        return np.where(whole, np.minimum(np.where(whole, column, 0.0), last), -1).astype(np.intp)

    def _log_prob(self, x: NDArray[Any]) -> Array:
        out = np.zeros((len(x), len(self.classes)))
        for j, table in enumerate(self._tables):
            codes = self._codes(x[:, j], j)
            out += np.where(codes[:, None] < 0, -np.inf, table.T[codes])
        return out

    def draw(self, codes: Index, rng: Any, **more: Any) -> NDArray[Any]:
        x = np.empty((len(codes), len(self.features)), dtype=np.int64)
        for j, probs in enumerate(self.probs):
            cumulative = np.cumsum(probs, axis=1)
            u = rng.uniform(size=len(codes))
            x[:, j] = (u[:, None] >= cumulative[codes, :-1]).sum(axis=1)
        if self.values is None:
            return x
        drawn = np.empty(x.shape, dtype=object)
        for j, values in enumerate(self.values):
            drawn[:, j] = np.array(values, dtype=object)[x[:, j]]
        return drawn

    def mode(self) -> NDArray[Any]:
        """The most probable level of each column, (n_classes, n_features)."""
        best = np.stack([p.argmax(axis=1) for p in self.probs], axis=1)
        if self.values is None:
            return best
        shape = best.shape
        flat = [self.values[j][best[k, j]] for k in range(shape[0]) for j in range(shape[1])]
        out = np.empty(len(flat), dtype=object)
        out[:] = flat
        return out.reshape(shape)

    def entropy(self, **more: Any) -> Array:
        """−Σ_j Σ_a P(a | c) log P(a | c), in nats, float64 (n_classes,)."""
        return np.asarray(sum(entr(p).sum(axis=1) for p in self.probs))


# ---- class conditionals of rows of numbers: independent normals and yes/no features --------------
class IndependentNormal(ArrayConditional):
    """x_j | c ~ N(μ_cj, σ²_cj), every column by itself: a normal with a diagonal covariance.

    Parameters
    ----------
    mean, stddev : float64 arrays (n_classes, n_features)
        Means of the features in each class.
    classes : array (n_classes,)
        Labels of the classes.
    features : sequence
        Names of the features.

    Attributes
    ----------
    frozen : scipy.stats.norm(mean, stddev)
        The columns one by one, (n_classes, n_features): cdf, ppf, interval and the rest.

    Examples
    --------
    >>> from tallybayes import GaussianNB
    >>> model = GaussianNB().fit([[0.0], [2.0], [5.0], [9.0]], ["a", "a", "b", "b"])
    >>> model.class_conditional_
    <tallybayes.distributions.IndependentNormal batch_shape=[2] event_shape=[1] dtype=float64 \
classes=['a', 'b'] features=[0]>
    >>> model.class_conditional_.mean().tolist()
    [[1.0], [7.0]]
    """

    def __init__(
        self, mean: Array, stddev: Array, classes: NDArray[Any], features: Sequence[Any]
    ) -> None:
        super().__init__(classes, features)
        self._mean = np.asarray(mean)
        self._stddev = np.asarray(stddev)

    @cached_property
    def frozen(self) -> Any:
        """The columns one by one, as scipy.stats.norm."""
        return stats().norm(self._mean, self._stddev)

    def _marginal(self, index: list[int]) -> IndependentNormal:
        features = [self.features[j] for j in index]
        return IndependentNormal(
            self._mean[:, index], self._stddev[:, index], self.classes, features
        )

    def _log_prob(self, x: NDArray[Any]) -> Array:
        return np.asarray(self.frozen.logpdf(x[:, None, :]).sum(axis=2))

    def draw(self, codes: Index, rng: Any, **more: Any) -> Array:
        return rng.normal(self._mean[codes], self._stddev[codes])  # type: ignore[no-any-return]

    def mean(self) -> Array:
        """μ, float64 (n_classes, n_features)."""
        return self._mean.copy()

    def stddev(self) -> Array:
        """σ, float64 (n_classes, n_features)."""
        return self._stddev.copy()

    def variance(self) -> Array:
        """σ², float64 (n_classes, n_features)."""
        return self._stddev**2

    def entropy(self, **more: Any) -> Array:
        """Differential entropy Σ_j ½ log(2πe σ²_cj), in nats, float64 (n_classes,)."""
        return np.asarray(self.frozen.entropy().sum(axis=1))


class IndependentBernoulli(ArrayConditional):
    """x_j | c is 1 with probability p_cj and 0 otherwise, every column by itself.

    Parameters
    ----------
    log_present, log_absent : float64 arrays (n_classes, n_features)
        log p and log(1 − p), each exact where the other is near 0.
    classes : array (n_classes,)
        Labels of the classes.
    features : sequence
        Names of the features.
    threshold : float, optional
        x is read as [x > threshold], as the model reads it. Without it x is 0 or 1, and anything
        else has probability 0.

    Attributes
    ----------
    probs : float64 array (n_classes, n_features)
        p.
    frozen : scipy.stats.bernoulli(p)
        The columns one by one.
    """

    dtype: np.dtype[Any] = np.dtype(np.int64)

    def __init__(
        self,
        log_present: Array,
        log_absent: Array,
        classes: NDArray[Any],
        features: Sequence[Any],
        threshold: float | None = None,
    ) -> None:
        super().__init__(classes, features)
        self._log_present = log_present
        self._log_absent = log_absent
        self.threshold = threshold
        self.probs: Array = np.exp(log_present)

    @cached_property
    def frozen(self) -> Any:
        """The columns one by one, as scipy.stats.bernoulli."""
        return stats().bernoulli(self.probs)

    def as_levels(self) -> Levels | None:
        if len(self.features) > 1:
            return None
        probs = np.stack([1.0 - self.probs[:, 0], self.probs[:, 0]], axis=1)
        at = self.threshold
        names = ["0", "1"] if at is None or at == 0.0 else [f"≤ {at:g}", f"> {at:g}"]
        values = (0.0, 1.0) if at is None else (at, np.nextafter(at, np.inf))
        return Levels(names, probs, values, at)

    def _marginal(self, index: list[int]) -> IndependentBernoulli:
        return IndependentBernoulli(
            self._log_present[:, index],
            self._log_absent[:, index],
            self.classes,
            [self.features[j] for j in index],
            self.threshold,
        )

    def _log_prob(self, x: NDArray[Any]) -> Array:
        if self.threshold is not None:
            x = np.where(np.isnan(x), np.nan, x > self.threshold)
        x = x[:, None, :]
        each = np.where(x == 1.0, self._log_present, np.where(x == 0.0, self._log_absent, -np.inf))
        return np.asarray(np.where(np.isnan(x), np.nan, each).sum(axis=2))

    def _log_prob_of_sparse(self, x: Any) -> Array:
        if self.threshold is not None and self.threshold < 0.0:
            return super()._log_prob_of_sparse(x)
        x = x.copy()
        x.sum_duplicates()
        wrong = np.isnan(x.data)
        if self.threshold is None:
            wrong |= (x.data != 0.0) & (x.data != 1.0)
        if wrong.any():
            return super()._log_prob_of_sparse(x)
        x.data = (x.data > (self.threshold or 0.0)).astype(np.float64)
        never, always = np.isneginf(self._log_present), np.isneginf(self._log_absent)
        absent = np.where(always, 0.0, self._log_absent)
        # all features absent, then the present ones in their place
        out = np.asarray(x @ (np.where(never, 0.0, self._log_present) - absent).T)
        out += absent.sum(axis=1)
        lacking = always.sum(axis=1) - x @ always.T.astype(np.float64)
        out[(x @ never.T.astype(np.float64) > 0.0) | (lacking > 0.0)] = -np.inf
        return out

    def _cells_a_row(self, sparse: bool) -> int:
        return len(self.classes) if sparse else super()._cells_a_row(sparse)

    def draw(self, codes: Index, rng: Any, **more: Any) -> NDArray[np.int64]:
        p = self.probs[codes]
        return (rng.uniform(size=p.shape) < p).astype(np.int64)  # type: ignore[no-any-return]

    def mean(self) -> Array:
        """p, float64 (n_classes, n_features)."""
        return self.probs.copy()

    def variance(self) -> Array:
        """p(1 − p), float64 (n_classes, n_features)."""
        return np.asarray(np.exp(self._log_present + self._log_absent))

    def stddev(self) -> Array:
        """√(p(1 − p)), float64 (n_classes, n_features)."""
        return np.sqrt(self.variance())

    def entropy(self, **more: Any) -> Array:
        """−Σ_j p log p + (1 − p) log(1 − p), in nats, float64 (n_classes,)."""
        absent = np.exp(self._log_absent)
        return np.asarray((entr(self.probs) + entr(absent)).sum(axis=1))
