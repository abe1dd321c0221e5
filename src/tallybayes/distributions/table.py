"""Class conditional of a whole table: a product over its named columns."""

from __future__ import annotations

import itertools
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, gammaln, psi

from tallybayes.distributions.arrays import ArrayConditional, Multinomial, totals_of
from tallybayes.distributions.base import ClassConditional, Index, Levels, drawn, shown, stats
from tallybayes.engines.parts import CorrelatedPart, CountsPart, LevelsPart, Part
from tallybayes.families.normal import Transform
from tallybayes.families.priors import log_rising
from tallybayes.score import NumberDensity
from tallybayes.tables import Empty, Mixed, Numbers, Strings, Table, read_table
from tallybayes.tables.columns import strings_of

__all__ = [
    "BinsLaw",
    "Column",
    "GroupOfCounts",
    "GroupOfNumbers",
    "LevelColumn",
    "NumberColumn",
    "ProductOfColumns",
    "ScipyLaw",
    "TransformedLaw",
    "law_of",
]


# ---- the distribution of a column of numbers in each class ---------------------------------------
# The distribution of a column of numbers of a table in each class: draws, moments, entropy.
Array = NDArray[np.float64]

DISCRETE = {"poisson", "nbinom"}
MAX_COUNTS = 1 << 20  # that an entropy sums over
TAIL_PROBABILITY = 1e-15  # probability that a numerical integral leaves out on either side


class Law(ABC):
    """K one-dimensional distributions, one a class.

    Attributes
    ----------
    edges : float64 array (n_bins − 1,) or None
        Of bins.
    whole : bool
        Whether all values are whole numbers.
    """

    edges: Array | None = None
    whole = False

    @abstractmethod
    def draw(self, codes: Index, rng: Any) -> Array:
        """A number for each class index."""

    @abstractmethod
    def mean(self) -> Array:
        """float64 (n_classes,); NaN where there is none."""

    @abstractmethod
    def variance(self) -> Array:
        """float64 (n_classes,); NaN or infinite where there is none."""

    @abstractmethod
    def entropy(self) -> Array:
        """In nats, float64 (n_classes,)."""


class ScipyLaw(Law):
    """A distribution that scipy.stats has.

    Parameters
    ----------
    name : str
    parameters : float64 arrays (n_classes,)
        By scipy's names.

    Attributes
    ----------
    frozen : frozen distribution of scipy.stats
    """

    def __init__(self, name: str, **parameters: Array) -> None:
        self.distribution: Any = getattr(stats(), name)
        self.parameters = parameters
        self.frozen: Any = self.distribution(**parameters)
        self.whole: bool = name in DISCRETE

    def draw(self, codes: Index, rng: Any) -> Array:
        of_rows = {name: values[codes] for name, values in self.parameters.items()}
        drawn = self.distribution.rvs(**of_rows, size=len(codes), random_state=rng)
        return np.asarray(drawn, dtype=np.float64)

    def mean(self) -> Array:
        return np.asarray(self.frozen.mean())

    def variance(self) -> Array:
        return np.asarray(self.frozen.var())

    def entropy(self) -> Array:
        return np.asarray(self.frozen.entropy())


class TransformedLaw(Law):
    """x such that g(x), a transform, has a law of scipy.stats.

    Where g is bounded, the law of g has some probability beyond the bound: of no x, so that it is
    left out of draws and moments. Means exist for sure only where the tails of x are no heavier
    than a log-normal's; otherwise they are NaN.

    Parameters
    ----------
    law : ScipyLaw
        Of g.
    transform : Transform
    light : bool
        Whether g is Gaussian, rather than Student-t.
    """

    frozen = None

    def __init__(self, law: ScipyLaw, transform: Transform, light: bool) -> None:
        self.law = law
        self.transform = transform
        self.light = light

    def _each(self) -> list[Any]:
        n = len(next(iter(self.law.parameters.values())))
        return [
            self.law.distribution(**{name: v[k] for name, v in self.law.parameters.items()})
            for k in range(n)
        ]

    def draw(self, codes: Index, rng: Any) -> Array:
        of_rows = {name: values[codes] for name, values in self.law.parameters.items()}
        frozen = self.law.distribution(**of_rows)
        low, high = (frozen.cdf(bound) for bound in self.transform.bounds)
        share = rng.uniform(size=len(codes))
        return self.transform.backward(np.asarray(frozen.ppf(low + share * (high - low))))

    def _expected(self, of: Any) -> Array:
        """E of(x, log p(x)) under each class's law of x, normalised, float64 (n_classes,)."""
        from scipy.integrate import quad

        below, above = self.transform.bounds
        found = []
        for one in self._each():
            mass = one.cdf(above) - one.cdf(below)
            low = max(one.ppf(TAIL_PROBABILITY), np.nextafter(below, np.inf))
            high = min(one.isf(TAIL_PROBABILITY), np.nextafter(above, -np.inf))

            def weighed(g: float, one: Any = one, mass: float = mass) -> float:
                x = self.transform.backward(np.asarray(g))
                log_density = one.logpdf(g) + self.transform.log_slope(x) - np.log(mass)
                return float(one.pdf(g) / mass * of(float(x), float(log_density)))

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of slow convergence
                middle = [one.ppf(q) for q in (0.001, 0.1, 0.5, 0.9, 0.999)]
                points = [low, *(m for m in middle if low < m < high), high]
                parts = itertools.pairwise(points)
                found.append(sum(quad(weighed, a, b, limit=200)[0] for a, b in parts))
        return np.array(found)

    def _has_moments(self) -> bool:
        return self.light and (
            self.transform.kind == "log" or 0.0 <= self.transform.exponent <= 2.0
        )

    def mean(self) -> Array:
        if not self._has_moments():
            return np.full(len(self._each()), np.nan)
        return self._expected(lambda x, _: x)

    def variance(self) -> Array:
        if not self._has_moments():
            return np.full(len(self._each()), np.nan)
        return self._expected(lambda x, _: x * x) - self.mean() ** 2

    def entropy(self) -> Array:
        return -self._expected(lambda _, log_density: log_density)


class MixtureLaw(Law):
    """Atoms beside a mixture of the classes' densities, or of their probabilities of counts.

    Parameters
    ----------
    law : ScipyLaw
        The densities, or probabilities.
    values : float64 array (n_atoms,)
    atoms : float64 array (n_classes, n_atoms)
        The probability of each atom.
    weights : float64 array (n_classes, n_classes)
        The probability of a draw from the density of each class.
    """

    frozen = None

    def __init__(self, law: ScipyLaw, values: Array, atoms: Array, weights: Array) -> None:
        self.law = law
        self.values = values
        self.atoms = atoms
        self.weights = weights
        self.whole: bool = law.whole

    def draw(self, codes: Index, rng: Any) -> Array:
        cell = drawn(np.concatenate([self.atoms, self.weights], axis=1), codes, rng)
        n = len(self.values)
        x = self.law.draw(np.maximum(cell - n, 0), rng)
        return np.where(cell < n, np.append(self.values, 0.0)[np.minimum(cell, n)], x)

    def mean(self) -> Array:
        return np.asarray(self.atoms @ self.values + self.weights @ self.law.mean())

    def variance(self) -> Array:
        mean = self.mean()[:, None]
        density = self.law.variance() + (self.law.mean() - mean) ** 2
        of_atoms = self.atoms * (self.values - mean) ** 2
        return np.asarray((self.weights * density).sum(axis=1) + of_atoms.sum(axis=1))

    def entropy(self) -> Array:
        """Of the atom, or the density beside them, by Gauss–Legendre quadrature between quantiles
        of the classes' densities; of counts the sum over them, but for their tails."""
        frozen = self.law.frozen
        if self.whole:
            most = min(float(np.max(frozen.isf(TAIL_PROBABILITY))), MAX_COUNTS)
            probs = np.asarray(frozen.pmf(np.arange(most + 1.0)[:, None])) @ self.weights.T
            return np.asarray(entr(self.atoms).sum(axis=1) + entr(probs).sum(axis=0))
        tails = np.array([10.0**-k for k in range(1, 16)])
        cuts = np.stack([frozen.ppf(0.5), *(f(t) for t in tails for f in (frozen.ppf, frozen.isf))])
        edges = np.unique(cuts)
        node, weight = np.polynomial.legendre.leggauss(16)
        half = 0.5 * np.diff(edges)[:, None]
        x = (edges[:-1, None] + half * (1.0 + node)).ravel()
        density = np.asarray(frozen.pdf(x[:, None])) @ self.weights.T
        return np.asarray(entr(self.atoms).sum(axis=1) + (half * weight).ravel() @ entr(density))


class BinsLaw(Law):
    """A number in bins. Within a bin the classes are alike: a value is drawn as it occurs in all
    classes together.

    Parameters
    ----------
    probs : float64 array (n_classes, n_bins)
    edges : float64 array (n_bins − 1,)
    values, weight : float64 arrays (n_values,)
        The values of the column, ascending, and how much of each was counted.
    bins : index array (n_values,)
        The bin that each is in, ascending.
    """

    last: Index
    frozen = None

    def __init__(
        self, probs: Array, edges: Array, values: Array, weight: Array, bins: Index
    ) -> None:
        self.probs = probs
        self.edges: Array = edges
        self.values = values
        self.bins = bins
        mass = np.bincount(bins, weights=weight, minlength=probs.shape[1])
        self.within: Array = weight / np.where(mass > 0.0, mass, 1.0)[bins]  # P(value | bin)
        self.last = np.cumsum(np.bincount(bins, minlength=probs.shape[1]))  # of each bin, one on

    def draw(self, codes: Index, rng: Any) -> Array:
        bins = drawn(self.probs, codes, rng)
        # the bins' values one after the other, each bin 1 wide
        place = self.bins + np.concatenate(
            [
                np.minimum(np.cumsum(self.within[self.bins == b]), 1.0)
                for b in range(self.probs.shape[1])
            ]
        )
        at = np.searchsorted(place, bins + rng.uniform(size=len(codes)), side="right")
        at = np.minimum(at, np.maximum(self.last[bins] - 1, 0))
        return self.values[at] if len(self.values) else np.full(len(codes), np.nan)

    def _moment(self, of_values: Array) -> Array:
        if not len(self.values):
            return np.full(len(self.probs), np.nan)
        each = np.bincount(
            self.bins, weights=self.within * of_values, minlength=self.probs.shape[1]
        )
        return np.asarray(self.probs @ each / self.probs.sum(axis=1))

    def mean(self) -> Array:
        return self._moment(self.values)

    def variance(self) -> Array:
        return np.array(
            [self._moment((self.values - m) ** 2)[k] for k, m in enumerate(self.mean())]
        )

    def entropy(self) -> Array:
        """Of the bin."""
        return np.asarray(entr(self.probs).sum(axis=1))


class _EveryLaw:
    """Makes the laws of this module; see :class:`tallybayes.score.Laws`."""

    scipy = ScipyLaw
    transformed = TransformedLaw
    beside_atoms = MixtureLaw


def law_of(density: NumberDensity) -> Law:
    """The law of a column that is read as a density.

    Raises
    ------
    TypeError
        For a density that has none.
    """
    law = density.distribution(_EveryLaw())
    assert isinstance(law, Law)
    return law


# ---- the columns of a table as distributions, one for each class ---------------------------------
class Column(ClassConditional):
    """One column of a table: events are its values; a missing value is None or NaN.

    Parameters
    ----------
    name : str
        The name of the column.
    what : str
        The family.
    part : Part
        What the column adds to the score of each class.
    classes : array (n_classes,)
        Labels of the classes.
    missing : float64 array (n_classes,), optional
        P(missing | c), where missing values are evidence. Otherwise a missing value adds nothing,
        and none is drawn.
    """

    event_shape: tuple[Any, ...]

    def __init__(
        self, name: str, what: str, part: Part, classes: NDArray[Any], missing: Array | None
    ) -> None:
        super().__init__(classes, [name])
        self.event_shape = ()
        self.name = name
        self.what = what
        self.part = part
        self.missing = missing

    def _details(self) -> dict[str, str]:
        return {
            "classes": shown(self.classes.tolist()),
            "column": repr(self.name),
            "family": repr(self.what),
        }

    def _marginal(self, index: list[int]) -> Column:
        return self  # the only one

    @abstractmethod
    def _column(self, values: NDArray[Any]) -> Any:
        """Values (n,) as a column of a table."""

    def log_prob(self, x: Any) -> Array:
        """log p(x | c), in nats, (…, n_classes) of values x; a bin's log-probability for a number
        in bins."""
        values = np.asarray(x)
        flat = values.ravel()
        scores = np.zeros((0, len(self.classes)))
        if len(flat):
            table = Table({self.name: self._column(flat)}, len(flat), True)
            scores = self.part.contributions(table)[self.name]
        return scores.reshape(*values.shape, len(self.classes))

    def sample(self, n: int | None = None, random_state: Any = None) -> NDArray[Any]:
        """Draw events of every class, (n, n_classes); (n_classes,) by default.

        Parameters
        ----------
        n : int
            How many draws.
        random_state : int, Generator or None
            The seed, or the generator, of the draws.
        """
        return self._by_class(  # type: ignore[no-any-return]
            n, random_state, lambda drawn, shape: drawn.reshape(shape)
        )

    def _draw_missing(self, codes: Index, rng: Any) -> NDArray[np.bool_]:
        """Which draws are missing values."""
        if self.missing is None:
            return np.zeros(len(codes), dtype=bool)
        missing: NDArray[np.bool_] = rng.uniform(size=len(codes)) < self.missing[codes]
        return missing

    def _entropy_with_missing_values(self, of_values: Array) -> Array:
        if self.missing is None:
            return of_values
        there = 1.0 - self.missing
        return np.asarray(entr(self.missing) + entr(there) + there * of_values)

    def _read(self, values: NDArray[Any]) -> Any:
        return read_table([{self.name: v} for v in values.tolist()]).columns[self.name]


class LevelColumn(Column):
    """A column of levels.

    Parameters are those of Column, but:

    part : LevelsPart

    Parameters
    ----------
    name : str
        The name of the column.
    what : str
        What the distribution is, in words.
    part : LookupPart
        What the model reads the column by.
    classes : array (n_classes,)
        Labels of the classes.

    Attributes
    ----------
    levels : list of str
    probs : float64 array (n_classes, n_levels)
        P(level | c) of those that are known; where missing values are evidence, of rows without
        one.
    """

    dtype: np.dtype[Any] = np.dtype(object)

    def __init__(self, name: str, what: str, part: LevelsPart, classes: NDArray[Any]) -> None:
        missing = np.exp(part.table[:, 0]) if part.has_missing else None
        super().__init__(name, what, part, classes, missing)
        self.levels: list[str] = list(part.levels)
        probs = np.exp(part.table[:, 1 : 1 + len(self.levels)])
        total = probs.sum(axis=1, keepdims=True)
        self.probs: Array = probs / np.where(total > 0.0, total, 1.0) if part.has_missing else probs

    def _column(self, values: NDArray[Any]) -> Any:
        column = self._read(values)
        return strings_of(column) if isinstance(column, Numbers | Mixed) else column

    def draw(self, codes: Index, rng: Any, **more: Any) -> NDArray[Any]:
        missing = self._draw_missing(codes, rng)
        values: NDArray[Any] = np.array(self.levels, dtype=object)[drawn(self.probs, codes, rng)]
        values[missing] = None
        return values

    def as_levels(self) -> Levels:
        return Levels(self.levels, self.probs, self.levels)

    def mode(self) -> NDArray[Any]:
        """The most probable level, (n_classes,)."""
        best: NDArray[Any] = np.array(self.levels, dtype=object)[self.probs.argmax(axis=1)]
        return best

    def entropy(self, **more: Any) -> Array:
        return self._entropy_with_missing_values(entr(self.probs).sum(axis=1))


class NumberColumn(Column):
    """A column of numbers, perhaps with strings beside them.

    Parameters
    ----------
    name : str
        The name of the column.
    what : str
        What the distribution is, in words.
    part : Part
        What the model reads the column by.
    classes : array (n_classes,)
        Labels of the classes.
    law : Law, optional
        The distribution of a number.

    Attributes
    ----------
    frozen : frozen distribution of scipy.stats, or None
        Gaussian, Student-t, log-normal, Poisson or negative binomial, (n_classes,); None for
        numbers in bins and for the Yeo–Johnson transform.
    strings : list of str
        The strings beside the numbers.
    kinds : float64 array (n_classes, 2 + n_strings)
        P(missing | c), P(number | c) and P(string | c); a missing value has 0 where missing values
        add nothing.
    """

    strings: list[str]

    def __init__(self, name: str, what: str, part: Any, classes: NDArray[Any], law: Law) -> None:
        kinds = np.tile([0.0, 1.0], (len(classes), 1))
        missing, self.strings = None, []
        if part.kinds is not None:
            self.strings = list(part.strings)
            kinds = np.exp(part.kinds.table[:, : 2 + len(self.strings)])
            if part.kinds.has_missing:
                missing = kinds[:, 0]
            else:
                kinds[:, 0] = 0.0
        super().__init__(name, what, part, classes, missing)
        self.kinds = kinds
        self.law = law
        self.frozen: Any = getattr(law, "frozen", None)

    @property
    def edges(self) -> Array | None:
        """The edges of the bins; None for other distributions."""
        return self.law.edges

    @property
    def whole(self) -> bool:
        """Whether all values are whole numbers."""
        return self.law.whole

    @property
    def positive(self) -> bool:
        """Whether all values are above 0."""
        transform = getattr(getattr(self.part, "likelihood", None), "transform", None)
        return transform is not None and transform.kind == "log"

    def _column(self, values: NDArray[Any]) -> Any:
        if values.dtype.kind in "iuf":
            return Numbers(values, "float")
        column = self._read(values)
        if isinstance(column, Empty):
            return column
        if isinstance(column, Numbers):
            return Numbers(column.values, "float")
        if not self.strings:
            raise ValueError(f"column {self.name!r} holds numbers, got {shown(values.tolist())}")
        if isinstance(column, Strings):
            nothing = np.full(column.n_rows, np.nan)
            return Mixed(Numbers(nothing, "float"), column)
        return column

    def draw(self, codes: Index, rng: Any, **more: Any) -> NDArray[Any]:
        if not self.strings:
            missing = self._draw_missing(codes, rng)
            return np.where(missing, np.nan, self.law.draw(codes, rng))
        kind = drawn(self.kinds, codes, rng)
        values = self.law.draw(codes, rng).astype(object)
        values[kind == 0] = None
        for i, text in enumerate(self.strings):
            values[kind == 2 + i] = text
        return values

    def mean(self) -> Array:
        """E x of rows that have a number, float64 (n_classes,); NaN where it may not exist."""
        return self.law.mean()

    def variance(self) -> Array:
        """Var x of rows that have a number, float64 (n_classes,)."""
        return self.law.variance()

    def stddev(self) -> Array:
        """The root of :meth:`variance`, float64 (n_classes,)."""
        return np.sqrt(self.variance())

    def entropy(self, **more: Any) -> Array:
        """In nats, float64 (n_classes,): differential of a density, of the bin of a number in
        bins."""
        return np.asarray(entr(self.kinds).sum(axis=1) + self.kinds[:, 1] * self.law.entropy())


class GroupOfCounts(Multinomial):
    """Columns of a table that count together: multinomial, or Dirichlet-multinomial where the
    probabilities are integrated out.

    Parameters
    ----------
    part : CountsPart
        What the model reads the column by.
    classes : array (n_classes,)
        Labels of the classes.
    """

    def __init__(self, part: CountsPart, classes: NDArray[Any]) -> None:
        self.part = part
        self.what: str = part.likelihood.what  # type: ignore[attr-defined]
        concentration = part.likelihood.concentration  # type: ignore[attr-defined]
        self.concentration: Array | None = concentration
        if concentration is None:
            log_probs = part.likelihood.slopes()
            assert log_probs is not None
        else:
            total = concentration.sum(axis=1, keepdims=True)
            with np.errstate(divide="ignore"):
                log_probs = np.log(concentration) - np.log(total)
        super().__init__(log_probs, classes, part.columns)

    def _sequence(self, x: Any) -> Array:
        if self.concentration is None:
            return super()._sequence(x)
        dense = x.toarray() if hasattr(x, "toarray") else x
        return np.asarray(self.part.likelihood.contributions(np.maximum(dense, 0.0)).sum(axis=2))

    def _cells_a_row(self, sparse: bool) -> int:
        return len(self.features) * len(self.classes)

    def draw(self, codes: Index, rng: Any, total_count: Any = 1, **more: Any) -> NDArray[np.int64]:
        if self.concentration is None:
            return super().draw(codes, rng, total_count=total_count)
        totals = np.broadcast_to(totals_of(total_count), (len(codes),))
        x = np.empty((len(codes), len(self.features)), dtype=np.int64)
        for i, (k, n) in enumerate(zip(codes, totals, strict=True)):
            x[i] = rng.multinomial(n, rng.dirichlet(self.concentration[k]))
        return x

    def variance(self, total_count: float = 1) -> Array:
        """Var x_j, float64 (n_classes, n_columns)."""
        plain = super().variance(total_count)
        if self.concentration is None:
            return plain
        total = self.concentration.sum(axis=1, keepdims=True)
        return np.asarray(plain * (total_count + total) / (1.0 + total))

    def entropy(self, total_count: int = 1, *, coefficient: bool = False, **more: Any) -> Array:
        if self.concentration is None:
            return super().entropy(total_count, coefficient=coefficient)
        if coefficient:
            raise ValueError("the entropy of a Dirichlet-multinomial is that of a sequence here")
        return np.array([_polya_entropy(a, int(total_count)) for a in self.concentration])


def _polya_entropy(a: Array, n: int) -> float:
    """Entropy of a sequence of n from Pólya's urn: every count is beta-binomial by itself."""
    a = a[a > 0.0]
    total, x = a.sum(), np.arange(n + 1.0)
    if len(a) < 2:
        return 0.0
    expected = 0.0
    for one in a:
        share = stats().betabinom.pmf(x, n, one, total - one)
        expected += float((share * (gammaln(one + x) - gammaln(one))).sum())
    return float(gammaln(total + n) - gammaln(total) - expected)


def names_of(columns: Sequence[ClassConditional]) -> list[str]:
    """The columns' names; those of a group one by one."""
    return [name for column in columns for name in column.features]


# ---- A group of correlated columns of a table as a distribution, one for each class --------------
class GroupOfNumbers(ArrayConditional):
    """x | c ~ N(μ_c, Σ_c), or a multivariate Student-t if the parameters are integrated out; events
    are rows of the group's columns. A missing value, NaN, is left out: the other columns have their
    marginal distribution.

    Parameters
    ----------
    part : CorrelatedPart
        What the model reads the column by.
    classes : array (n_classes,)
        Labels of the classes.

    Attributes
    ----------
    what : str
        The family.
    frozen : list of scipy.stats.multivariate_normal or multivariate_t
        One a class.
    """

    part: CorrelatedPart

    def __init__(self, part: CorrelatedPart, classes: NDArray[Any]) -> None:
        super().__init__(classes, part.columns)
        self.part = part
        self.what: str = part.likelihood.what  # type: ignore[attr-defined]
        shape = part.likelihood.shape  # type: ignore[attr-defined]
        self._centre: Array = shape.centre
        self._root: Array = shape.deviation[:, :, None] * shape.factor
        self._scale: Array = shape.covariance
        self._log_det: Array = shape.log_det
        self.freedom: Array | None = shape.freedom

    def _marginal(self, index: list[int]) -> GroupOfNumbers:
        twin = copy(self)
        twin.__dict__.pop("frozen", None)
        ArrayConditional.__init__(twin, self.classes, [self.features[j] for j in index])
        twin._centre = self._centre[:, index]
        twin._scale = self._scale[:, index][:, :, index]
        twin._root = np.asarray(np.linalg.cholesky(twin._scale), dtype=np.float64)
        twin._log_det = np.linalg.slogdet(twin._scale).logabsdet
        return twin

    @cached_property
    def frozen(self) -> list[Any]:
        """The classes one by one, of scipy.stats."""
        each = zip(self._centre, self._scale, strict=True)
        if self.freedom is None:
            return [stats().multivariate_normal(mean, cov) for mean, cov in each]
        return [
            stats().multivariate_t(mean, cov, df=nu)
            for (mean, cov), nu in zip(each, self.freedom, strict=True)
        ]

    def _log_prob(self, x: NDArray[Any]) -> Array:
        infinite = np.isinf(x)
        wide = np.full((len(x), len(self.part.columns)), np.nan)  # others of the group are missing
        wide[:, [self.part.columns.index(name) for name in self.features]] = x
        wide[np.isinf(wide)] = 0.0
        scores = self.part.scored(wide)
        scores[infinite.any(axis=1)] = -np.inf
        return scores

    def draw(self, codes: Index, rng: Any, **more: Any) -> Array:
        z = rng.standard_normal((len(codes), len(self.features)))
        if self.freedom is not None:
            nu = self.freedom[codes]
            z = z * np.sqrt(nu / rng.chisquare(nu))[:, None]
        return np.asarray(self._centre[codes] + np.einsum("nij,nj->ni", self._root[codes], z))

    def mean(self) -> Array:
        """E x, float64 (n_classes, n_columns); NaN where it does not exist."""
        if self.freedom is None:
            return self._centre.copy()
        return np.where(self.freedom[:, None] > 1.0, self._centre, np.nan)

    def covariance(self) -> Array:
        """Cov x, float64 (n_classes, n_columns, n_columns); of a Student-t NaN where it does not
        exist."""
        if self.freedom is None:
            return self._scale.copy()
        nu = self.freedom[:, None, None]
        exists = nu > 2.0
        return np.where(exists, self._scale * nu / np.where(exists, nu - 2.0, 1.0), np.nan)

    def variance(self) -> Array:
        """Var x of each column, float64 (n_classes, n_columns)."""
        return np.array(np.einsum("kjj->kj", self.covariance()))

    def stddev(self) -> Array:
        """The roots of :meth:`variance`."""
        return np.sqrt(self.variance())

    def entropy(self, **more: Any) -> Array:
        """Differential entropy, in nats, float64 (n_classes,)."""
        d = len(self.features)
        if self.freedom is None:
            return np.asarray(0.5 * (d * (1.0 + np.log(2.0 * np.pi)) + self._log_det))
        half, nu = 0.5 * (self.freedom + d), self.freedom
        constant = 0.5 * (d * np.log(nu * np.pi) + self._log_det) - log_rising(0.5 * nu, 0.5 * d)
        return np.asarray(constant + half * (psi(half) - psi(0.5 * nu)))


# ---- the distribution of whole rows --------------------------------------------------------------
class ProductOfColumns(ClassConditional):
    """p(x | c) = Π_j p(x_j | c) over the columns of a table; events are rows.

    Missing values are left out of the product, which then is the probability of what the row has;
    where the model takes missing values for evidence, they are values. ``distribution["age"]`` is
    one column's.

    Parameters
    ----------
    columns : sequence of Column, GroupOfCounts and GroupOfNumbers
        Those that count.
    classes : array (n_classes,)
        Labels of the classes.
    read : callable
        Rows as the model reads them: a Table.
    write : callable
        A dict of columns, and the number of rows, as a table that the model reads.

    Attributes
    ----------
    columns : list of Column, GroupOfCounts and GroupOfNumbers
    features : list of str

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> rows = [{"sky": "sun", "degrees": 25.0}, {"sky": "rain", "degrees": 11.0}]
    >>> model = NaiveBayes().fit(rows, ["out", "in"])
    >>> model.class_conditional_["sky"].probs.round(3).tolist()
    [[0.333, 0.667], [0.667, 0.333]]
    >>> x, y = model.joint_.sample(random_state=0)
    >>> sorted(x)
    ['degrees', 'sky']
    """

    dtype: np.dtype[Any] = np.dtype(object)

    def __init__(
        self,
        columns: Sequence[Column | GroupOfCounts | GroupOfNumbers],
        classes: NDArray[Any],
        read: Callable[[Any], Table],
        write: Callable[[dict[str, Any], int], Any],
    ) -> None:
        super().__init__(classes, names_of(columns))
        self.columns: list[Column | GroupOfCounts | GroupOfNumbers] = list(columns)
        self._read = read
        self._write = write

    def __getitem__(self, name: str) -> Column | GroupOfCounts | GroupOfNumbers:
        for column in self.columns:
            if name in column.features:
                return column
        raise KeyError(
            f"{name!r} is not a column that counts; those are {shown(self.features)} (schema_ says "
            "what became of the others)"
        )

    def column(self, name: str) -> Column | GroupOfCounts | GroupOfNumbers:
        """The same as ``distribution[name]``."""
        return self[name]

    def events(self, values: dict[Any, NDArray[Any]]) -> Any:
        return self.as_rows(values, len(next(iter(values.values()))))

    def _marginal(self, index: list[int]) -> ProductOfColumns:
        features = [self.features[j] for j in index]
        columns: list[Column | GroupOfCounts | GroupOfNumbers] = []
        taken: list[Column | GroupOfCounts | GroupOfNumbers] = []
        for name in features:
            column = self[name]
            if any(column is c for c in taken):
                continue
            taken.append(column)
            if len(column.features) > 1 and not set(column.features) <= set(features):
                wanted = [n for n in column.features if n in features]
                column = column.marginal(wanted)  # type: ignore[assignment]
            columns.append(column)
        return ProductOfColumns(columns, self.classes, self._read, self._write)

    def _details(self) -> dict[str, str]:
        families = [column.what for column in self.columns for _ in column.features]
        return {**super()._details(), "families": shown(families)}

    def log_prob(self, x: Any) -> Array:
        """log p(x | c), in nats.

        Parameters
        ----------
        x : table (n_rows, n_columns), or one row as a dict
            Events: rows, or values of a column.

        Returns
        -------
        float64 array (n_rows, n_classes), or (n_classes,) for a dict
            In nats.

        Raises
        ------
        ValueError
            For rows that the model does not read.
        """
        if isinstance(x, Mapping):
            return self.log_prob([dict(x)])[0]  # type: ignore[no-any-return]
        table = self._read(x)
        scores = np.zeros((table.n_rows, len(self.classes)))
        for column in self.columns:
            # of a group in part, the other columns are missing values
            own = {name: table.columns[name] for name in column.features if name in table.columns}
            some = Table(own, table.n_rows, table.named)
            for share in column.part.contributions(some).values():
                scores += share
        return scores

    def draw(self, codes: Index, rng: Any, **more: Any) -> dict[str, NDArray[Any]]:
        drawn: dict[str, NDArray[Any]] = {}
        for column in self.columns:
            values = column.draw(codes, rng, **more)
            if isinstance(column, Column):
                drawn[column.name] = values
            else:
                drawn |= {name: values[:, j] for j, name in enumerate(column.features)}
        return drawn

    def sample(
        self, n: int | None = None, random_state: Any = None, **more: Any
    ) -> dict[str, NDArray[Any]]:
        """Draw events of every class, column by column.

        Parameters
        ----------
        n : int, optional
            Draws of each class; one, without an axis for it, by default.
        random_state : None, int, RandomState or Generator
            The seed, or the generator, of the draws.
        **more
            ``total_count``, the sum of each group of counts; 1 by default.

        Returns
        -------
        dict of arrays (n, n_classes), or (n_classes,)
            By column name; a missing value is None among strings and NaN among numbers, a date is a
            number of days since 1970. For rows to give to a model, see ``joint_.sample``.
        """
        return self._by_class(  # type: ignore[no-any-return]
            n,
            random_state,
            lambda drawn, shape: {name: v.reshape(shape) for name, v in drawn.items()},
            **more,
        )

    def as_rows(self, drawn: dict[str, NDArray[Any]], n: int) -> Any:
        return self._write({name: values.tolist() for name, values in drawn.items()}, n)

    def as_row(self, drawn: dict[str, NDArray[Any]]) -> dict[str, Any]:
        return {name: values.tolist()[0] for name, values in drawn.items()}

    def _numbers(self, of: str) -> dict[str, Array]:
        found: dict[str, Array] = {}
        for column in self.columns:
            if isinstance(column, NumberColumn):
                found[column.name] = getattr(column, of)()
            elif isinstance(column, GroupOfNumbers):
                found |= dict(zip(column.features, getattr(column, of)().T, strict=True))
        return found

    def mean(self) -> dict[str, Array]:
        """E x of each column of numbers, (n_classes,), by name; groups of counts have one given
        their sum only."""
        return self._numbers("mean")

    def variance(self) -> dict[str, Array]:
        """Var x of each column of numbers, (n_classes,), by name."""
        return self._numbers("variance")

    def stddev(self) -> dict[str, Array]:
        """The roots of :meth:`variance`."""
        return self._numbers("stddev")

    def entropy(self, **more: Any) -> Array:
        """The sum of the columns' entropies, in nats, float64 (n_classes,).

        Those of levels, bins and counts are of probabilities, those of densities differential, in
        the unit of the column.
        """
        each = [column.entropy(**more) for column in self.columns]
        return np.asarray(sum(each, start=np.zeros(len(self.classes))))
