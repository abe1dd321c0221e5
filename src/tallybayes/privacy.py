r"""Counts with noise that protects the people whose rows were counted, and how they are read.

A release is ε-differentially private, or (ε, δ): whether the rows of one person are counted or not
changes the probability of any set of results by a factor of at most e^ε, but for δ. Neighbours are
tallies that differ by the rows of one person, at most `rows_per_person` = r, added or removed.

A row is in one cell of each column, one of the levels or the cell of missing values, and in one
class count. So the rows of a person change d columns by r·d in sum and by r·√d in length, and the
class counts by r. Integer noise is added to every cell, of exact samplers (OpenDP):

    δ = 0:  P(z) ∝ exp(−|z| / b)      b_classes = r / (s·ε),  b_cells = r·d / ((1 − s)·ε)
    δ > 0:  P(z) ∝ exp(−z² / 2σ²)     σ_classes = r / √(2·s·ρ),  σ_cells = r·√d / √(2·(1 − s)·ρ)

with s the share of the class counts, and ρ the zero-concentrated privacy that (ε, δ) allows.

Whatever is made of released counts has the same guarantee. They are read with their noise in mind:
:meth:`NoisedTally.read`.

Dwork, McSherry, Nissim and Smith (2006); Canonne, Kamath and Steinke (2020), on discrete Gaussian
noise; Goryczka and Xiong (2017), on noise in shares; Hay, Rastogi, Miklau and Suciu (2010), on
counts that fit each other.
"""

from __future__ import annotations

import math
import os
import secrets
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from numbers import Integral, Real
from typing import Annotated, Any, BinaryIO, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, logsumexp

from tallybayes import persistence
from tallybayes.errors import IncompatibleTallies
from tallybayes.persistence import NonNegative, Positive, Tree, Unfit, Within, fit, need
from tallybayes.schema import Schema
from tallybayes.tally import ClassCounts, LevelCounts, TableTally
from tallybayes.tally.saved import restored_schema, tally_header
from tallybayes.tally.table import NOISED, split_vector

__all__ = ["Budget", "Guarantee", "NoisedTally", "noised_vector", "release"]

Array = NDArray[np.float64]
Counts = NDArray[np.int64] | NDArray[np.float64]

CLASS_SHARE = 0.35
"""The share of a release's budget that the class counts have: without them nothing is predicted,
and columns that noise covers are left out."""

MIN_EPSILON = 1e-6  # noise then stays within whole numbers that float64 holds


# ---- what is promised, and what was promised together --------------------------------------------
@dataclass(frozen=True)
class Guarantee:
    """What one release promises each person.

    Parameters
    ----------
    epsilon : float
        ε: the rows of a person change the logarithm of the probability of a result by ε at most.
    delta : float
        δ: but for results of this probability.
    rows_per_person : int
        How many rows a person has at most.
    mechanism : {"discrete Laplace", "discrete Gaussian"}
        The noise.
    """

    epsilon: Positive
    delta: Annotated[float, Within(0.0, 1.0)]
    rows_per_person: Annotated[int, Within(1, 2**31)]
    mechanism: Literal["discrete Laplace", "discrete Gaussian"]

    def __str__(self) -> str:
        rows = "1 row" if self.rows_per_person == 1 else f"{self.rows_per_person} rows"
        return (
            f"({self.epsilon:g}, {self.delta:g})-differential privacy of at most {rows} of a person"
            f", by {self.mechanism} noise"
        )


def _need_parameters(epsilon: Any, delta: Any, rows_per_person: Any) -> None:
    """Raises ValueError for what no guarantee has."""
    if not (isinstance(epsilon, Real) and 0.0 < float(epsilon) < math.inf):
        raise ValueError(
            f"epsilon is a number above 0, got {epsilon!r}: 1 is usual, and less protects more"
        )
    if not (isinstance(delta, Real) and 0.0 <= float(delta) < 1.0):
        raise ValueError(
            f"delta is a probability below 1, got {delta!r}: 0, or far less than one in the number "
            "of people, such as 1e-6"
        )
    whole = isinstance(rows_per_person, Integral) and not isinstance(rows_per_person, bool)
    if not whole or not 1 <= rows_per_person < 2**31:
        raise ValueError(
            f"rows_per_person is a whole number from 1 on, got {rows_per_person!r}: the most rows "
            "that one person has among those that were counted"
        )


class Budget:
    """What all releases about the same people may cost together.

    Releases add up: ε₁ + ε₂ and δ₁ + δ₂, in exact decimal arithmetic.

    Parameters
    ----------
    epsilon : float
        ε of all releases together.
    delta : float, default=0.0
        δ of all releases together.

    Attributes
    ----------
    spent : tuple of (float, float)
        ε and δ of the releases so far.

    Examples
    --------
    >>> from tallybayes.privacy import Budget
    >>> budget = Budget(1.0)
    >>> budget.spend(0.4)
    >>> budget.spent
    (0.4, 0.0)
    """

    def __init__(self, epsilon: float, delta: float = 0.0) -> None:
        _need_parameters(epsilon, delta, 1)
        self.epsilon: float = epsilon
        self.delta: float = delta
        self._spent = Fraction(0), Fraction(0)
        self._lock = threading.Lock()

    @property
    def spent(self) -> tuple[float, float]:
        epsilon, delta = self._spent
        return float(epsilon), float(delta)

    def spend(self, epsilon: float, delta: float = 0.0) -> None:
        """Take the cost of a release, which :func:`release` does by itself.

        Parameters
        ----------
        epsilon, delta : float
            The cost.

        Raises
        ------
        ValueError
            If less is left. Nothing is taken then.
        """
        _need_parameters(epsilon, delta, 1)
        with self._lock:
            after = self._spent[0] + _exact(epsilon), self._spent[1] + _exact(delta)
            if after[0] > _exact(self.epsilon) or after[1] > _exact(self.delta):
                raise ValueError(
                    f"a budget is spent once: of ({self.epsilon:g}, {self.delta:g}), "
                    f"({self.spent[0]:g}, {self.spent[1]:g}) is spent, and this release asks for "
                    f"({epsilon:g}, {delta:g}). Nothing was released: ask for less, or use what "
                    "was released before"
                )
            self._spent = after

    def __repr__(self) -> str:
        of = f"Budget({self.epsilon:g}, {self.delta:g})"
        return f"{of} of which ({self.spent[0]:g}, {self.spent[1]:g}) is spent"


def _exact(number: float) -> Fraction:
    """A number as it is written, so that ten times 0.1 is 1."""
    return Fraction(repr(float(number)))


# ---- the noise -----------------------------------------------------------------------------------
Add = Callable[[list[int]], list[int]]
"""Adds noise to counts."""


class _Noise(NamedTuple):
    """What adds noise to class counts and to other counts, and its variances.

    Parameters
    ----------
    to_classes, to_cells : callable
    variances : tuple of (float, float)
    """

    to_classes: Add
    to_cells: Add
    variances: tuple[float, float]


def _opendp() -> Any:
    """The parts of OpenDP that are used, which takes a second to import."""
    try:
        from opendp import combinators, domains, measurements, metrics, mod
    except ImportError as error:
        raise ImportError(
            "noise is drawn by OpenDP, which is not installed: pip install 'tallybayes[private]'"
        ) from error
    mod.enable_features("contrib")

    class OpenDP:
        counts = domains.vector_domain(domains.atom_domain(T="i64"))

        @classmethod
        def laplace(cls, scale: float) -> Any:
            return measurements.make_laplace(cls.counts, metrics.l1_distance(T="i64"), scale=scale)

        @classmethod
        def gaussian(cls, scale: float) -> Any:
            return measurements.make_gaussian(cls.counts, metrics.l2_distance(T="f64"), scale=scale)

        @classmethod
        def epsilon_of(cls, sigma: float, delta: float) -> float:
            """ε at δ of Gaussian noise of σ on counts that change by 1 in length."""
            approximate: Any = combinators.make_zCDP_to_approxDP(cls.gaussian(sigma))
            return float(approximate.map(1.0).epsilon(delta))

    return OpenDP


@lru_cache(64)
def _noise(epsilon: float, delta: float, rows: int, n_columns: int) -> _Noise:
    """The noise of a release.

    Raises
    ------
    ValueError
        For so small an ε that nothing would be left of any counts.
    """
    if epsilon < MIN_EPSILON:
        raise ValueError(
            f"epsilon={epsilon!r} is below {MIN_EPSILON:g}, and its noise leaves nothing of any "
            "counts: give more"
        )
    dp = _opendp()
    share = CLASS_SHARE if n_columns else 1.0
    up = 1.0 + 2.0**-40  # more than the rounding of the scales
    if delta == 0.0:
        make, allowed = dp.laplace, epsilon
        of_classes: float = up * rows / (share * epsilon)
        of_cells: float = up * rows * n_columns / ((1.0 - CLASS_SHARE) * epsilon)
        far: Any = rows, rows * n_columns
    else:
        make = dp.gaussian
        sigma = _sigma(dp, epsilon, delta)
        allowed = 0.5 / sigma**2
        of_classes = up * rows * sigma / math.sqrt(share)
        of_cells = up * rows * sigma * math.sqrt(n_columns / (1.0 - CLASS_SHARE))
        far = float(rows), math.nextafter(rows * n_columns**0.5, math.inf)
    to_classes, to_cells = make(of_classes), make(of_cells)
    cost = to_classes.map(far[0]) + (to_cells.map(far[1]) if n_columns else 0.0)
    if cost > allowed:  # by OpenDP's own account of the noise
        raise ArithmeticError(f"the noise would cost {cost!r}, more than {allowed!r}")
    variances = _variance(of_classes, delta), _variance(of_cells, delta)
    return _Noise(to_classes, to_cells, variances)


def _sigma(dp: Any, epsilon: float, delta: float) -> float:
    """The least σ, to 1e-6, of Gaussian noise that gives (ε, δ) to counts that change by 1."""
    low, high = 0.05, 0.05  # which allows ε in the hundreds
    while dp.epsilon_of(high, delta) > epsilon:
        low, high = high, 2.0 * high
    while high / low > 1.0 + 1e-6:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if dp.epsilon_of(middle, delta) > epsilon else (low, middle)
    return high


def _variance(scale: float, delta: float) -> float:
    """Of discrete Laplace noise, 2q / (1 − q)² with q = exp(−1/b); of discrete Gaussian noise it is
    at most σ², and nearly."""
    if delta > 0.0 or scale == 0.0:
        return scale * scale
    return 2.0 * math.exp(-1.0 / scale) / math.expm1(-1.0 / scale) ** 2


# ---- releases ------------------------------------------------------------------------------------
def release(
    tally: TableTally,
    epsilon: float = 1.0,
    delta: float = 0.0,
    rows_per_person: int = 1,
    *,
    budget: Budget | None = None,
) -> NoisedTally:
    """Add noise to counts, which may then be published: they reveal no person.

    Protected is whether a person's rows were counted, and so all that they hold. Not protected are
    the schema, which has to be public knowledge, facts about people in general that the counts
    teach, people with more rows than were declared, and releases that no budget added up.

    Parameters
    ----------
    tally : TableTally
        Of a schema that was declared (:meth:`tallybayes.Schema.declare`), whose columns are
        levels; of rows of weight 1.
    epsilon : float, default=1.0
        ε of the whole release, class counts and all columns together.
    delta : float, default=0.0
        With 0 the noise is discrete Laplace; above 0 it is discrete Gaussian, which is less where
        there are many columns.
    rows_per_person : int, default=1
        The most rows that one person has. Noise grows with it.
    budget : Budget, optional
        What the release is taken from.

    Returns
    -------
    NoisedTally
        :meth:`tallybayes.NaiveBayes.from_tally` makes a model of it.

    Raises
    ------
    ValueError
        For numbers that no guarantee has, a released tally, levels that were found in rows,
        columns that are not counted as levels (an IncompatibleTallies), rows of other weights
        than 1, or a budget that is spent. Nothing was drawn then, and no budget taken.
    ImportError
        Without OpenDP.

    Examples
    --------
    >>> from tallybayes import NaiveBayes, Schema, collect
    >>> from tallybayes.privacy import release
    >>> schema = Schema.declare({"rain": ["yes", "no"]}, classes=["late", "on time"])
    >>> rows = [{"rain": "yes", "bus": "late"}, {"rain": "no", "bus": "on time"}] * 500
    >>> noised = release(collect(rows, "bus", schema), epsilon=1.0)
    >>> NaiveBayes.from_tally(noised).predict([{"rain": "yes"}]).tolist()
    ['late']
    """
    _need_parameters(epsilon, delta, rows_per_person)
    counts = _counts(tally, "release")
    noise = _noise(float(epsilon), float(delta), int(rows_per_person), len(tally.groups))
    if budget is not None:
        budget.spend(epsilon, delta)
    noised = np.empty_like(counts)
    for part, add in ((slice(0, 1), noise.to_classes), (slice(1, None), noise.to_cells)):
        drawn = add(counts[:, part].ravel().tolist())
        noised[:, part] = np.array(drawn, dtype=np.int64).reshape(counts[:, part].shape)
    promise = Guarantee(
        float(epsilon),
        float(delta),
        int(rows_per_person),
        "discrete Gaussian" if delta else "discrete Laplace",
    )
    return NoisedTally(tally.schema, noised, noise.variances, (promise,))


def _counts(tally: Any, action: str) -> NDArray[np.int64]:
    """The counts of a tally that may be released, each column with a cell of missing values after
    its levels: (n_classes, 1 + n_cells), class counts first."""
    if isinstance(tally, NoisedTally):
        raise ValueError(
            f"{action} takes counts without noise, and this tally is released: "
            f"{tally.guarantees[0]}. It may go anywhere as it is"
        )
    if not isinstance(tally, TableTally):
        raise ValueError(
            f"{action} takes a TableTally, such as tallybayes.collect gives: {tally!r}"
        )
    tally.schema.need_levels(action)
    if not tally.schema.public:
        names = ", ".join(repr(name) for name in tally.schema.names_of_groups)
        raise ValueError(
            f"{action} takes counts of declared classes and levels, because those that rows are "
            f"found to have tell of these rows; of {names} they were found. Declare them, from "
            "what is known without the rows: schema = Schema.declare({column: levels}, classes); "
            "collect(rows, target, schema), or tally.in_schema(schema)"
        )
    tally.need_rows_of_one(action)
    count = tally.classes.count[:, None]
    parts = [count]
    for group in tally.groups:
        assert isinstance(group, LevelCounts)
        parts += [group.counts, count - group.totals()]
    return np.concatenate(parts, axis=1).astype(np.int64)  # all are whole: need_rows_of_one


def _widths(schema: Schema) -> list[int]:
    """How many numbers a class has: its count, and of each column its levels and missing values."""
    return [1, *(int(c.n_levels[0]) + 1 for c in schema.groups if c.n_levels is not None)]


@dataclass(eq=False, repr=False)
class NoisedTally:
    """Released counts, with what they promise and how large their noise is.

    They add and scale as other tallies do, under one schema. What was released cannot be taken
    back, so that there is no subtraction.

    Parameters
    ----------
    schema : Schema
        The declared classes and levels.
    counts : int64 array (n_classes, 1 + n_cells)
        Class counts, and of each column its levels and then its missing values. They may be
        negative. Of float64 where they were scaled by a fraction.
    variances : tuple of (float, float)
        The variance of the noise of each class count and of each other count, in rows².
    guarantees : tuple of Guarantee
        What each release that was added promises.
    """

    schema: Schema
    counts: Counts
    variances: tuple[float, float]
    guarantees: tuple[Guarantee, ...]

    @property
    def epsilon(self) -> float:
        """ε of all of it for a person who may be in every part; who is in one part has that of its
        release."""
        return float(sum(_exact(promise.epsilon) for promise in self.guarantees))

    @property
    def delta(self) -> float:
        """δ of all of it, as :attr:`epsilon`."""
        return float(sum(_exact(promise.delta) for promise in self.guarantees))

    def __repr__(self) -> str:
        n_columns, promises = len(self.schema.groups), "; ".join(map(str, self.guarantees))
        return (
            f"NoisedTally({len(self.schema.classes)} classes, {n_columns} columns of levels; "
            f"{promises})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NoisedTally):
            return NotImplemented
        return (
            self.schema == other.schema
            and np.array_equal(self.counts, other.counts)
            and self.variances == other.variances
            and sorted(map(str, self.guarantees)) == sorted(map(str, other.guarantees))
        )

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    # ---- arithmetic ------------------------------------------------------------------------------
    def __add__(self, other: NoisedTally) -> NoisedTally:
        """The counts of both parts; so are the variances of their noise."""
        if not isinstance(other, NoisedTally):
            if isinstance(other, TableTally):
                raise IncompatibleTallies(
                    "noised counts add to noised counts, and got a TableTally: release it first, "
                    "or make a model of each and merge them"
                )
            return NotImplemented
        if self.schema != other.schema:
            raise IncompatibleTallies(
                "noised counts add under one schema, and these were released under two: declare "
                "the same columns, levels and classes, in the same order, for all parts"
            )
        mine, theirs = self.variances, other.variances
        variances = mine[0] + theirs[0], mine[1] + theirs[1]
        promises = self.guarantees + other.guarantees
        return NoisedTally(self.schema, self.counts + other.counts, variances, promises)

    def __radd__(self, other: object) -> NoisedTally:
        """``0 + tally`` is the tally, so that ``sum(tallies)`` adds them."""
        return self if type(other) is int and other == 0 else NotImplemented

    def __mul__(self, weight: float) -> NoisedTally:
        """The counts of rows that weigh `weight` each, from 0 on; the variance grows by its
        square."""
        if not (isinstance(weight, Real) and 0.0 <= weight < math.inf):
            raise ValueError(
                f"noised counts are multiplied by a number from 0 on, got {weight!r}: rows cannot "
                "be taken out of what was released"
            )
        square = float(weight) ** 2
        variances = square * self.variances[0], square * self.variances[1]
        by: Any = int(weight) if float(weight).is_integer() else float(weight)
        return NoisedTally(self.schema, self.counts * by, variances, self.guarantees)

    __rmul__ = __mul__

    def __sub__(self, other: object) -> NoisedTally:
        raise IncompatibleTallies(
            "rows cannot be taken out of released counts: what was published stays, and their "
            "noise would be added once more. Count without those rows, and release that from what "
            "is left of the budget"
        )

    def forget(self, *rows: Any) -> NoisedTally:
        """Raise: what was released cannot forget.

        Parameters
        ----------
        *rows : object
            Anything.

        Raises
        ------
        IncompatibleTallies
            A ValueError.
        """
        return self - rows

    # ---- reading ---------------------------------------------------------------------------------
    def read(self) -> TableTally:
        r"""The counts that the released ones are likely to come from.

        It costs no privacy, because it uses what was released and nothing else. With N_j cells in
        column j, v the variance of the noise and y the released counts:

        - Each column's sum is one more measurement of a class count: they are averaged by inverse
          variance, v_classes and N_j·v. The rest is shared out among the cells of the column, so
          that all columns have the same class counts n_c.
        - y_ca ≈ n_c·p_a·(1 + r_ca): r_ca is what column j tells of the classes, with a variance
          τ_j² that the columns' own counts tell, beside a spike at 0 for columns that noise covers.
          r_ca is shrunk by the share of its variance that noise explains,
          v / (τ_j²·(n_c·p_a)² + v).
        - No count is negative: it is the mean of the posterior above 0.
        - What noise is left in the log-ratios of all columns, V nats² a row in all, makes
          probabilities overconfident. The log-ratios are multiplied by 1 / √(1 + π·V/8).

        Returns
        -------
        TableTally
            Counts above 0, not whole, of the same schema.

        References
        ----------
        MacKay (1992), on the last factor.
        """
        share, n = self._class_counts()
        cells = [_Cells.of(part, n, share, self._cell_variance) for part in self._columns()]
        posteriors = _posteriors(cells)
        moments = [c.posterior(weights) for c, weights in zip(cells, posteriors, strict=True)]
        total = sum(
            float((c.share_of_level * np.minimum(variance / mean**2, 1e9)).sum())
            for c, (mean, variance) in zip(cells, moments, strict=True)
        )
        trust = 1.0 / math.sqrt(1.0 + math.pi / 8.0 * total * 2.0 / len(n))
        groups = []
        for mean, _ in moments:
            p = mean / mean.sum(axis=1, keepdims=True)
            pooled = share @ p
            p = pooled * (p / pooled) ** trust
            counts = n[:, None] * p / p.sum(axis=1, keepdims=True)
            start = np.array([0, counts.shape[1] - 1], dtype=np.int64)
            groups.append(LevelCounts(start, np.ascontiguousarray(counts[:, :-1])))
        return TableTally(self.schema, ClassCounts(n), tuple(groups))

    @property
    def _cell_variance(self) -> float:
        return max(self.variances[1], 1e-9)  # where epsilon is so large that there is no noise

    def _columns(self) -> list[Array]:
        """The released counts of each column, missing values last, (n_classes, n_cells)."""
        ends = np.cumsum(_widths(self.schema))
        return [self.counts[:, low:high].astype(np.float64) for low, high in pairwise(ends)]

    def _class_counts(self) -> tuple[Array, Array]:
        """The shares of the classes and their counts, from all measurements of them."""
        precision = 1.0 / max(self.variances[0], 1e-9)
        total = precision * self.counts[:, 0]
        for part in self._columns():
            own = 1.0 / (self._cell_variance * part.shape[1])
            total, precision = total + own * part.sum(axis=1), precision + own
        n = _mean_above_0(total / precision, np.array(1.0 / precision))
        return n / n.sum(), n

    # ---- vectors and files -----------------------------------------------------------------------
    @classmethod
    def from_vector(
        cls, schema: Schema, vector: Any, epsilon: float, rows_per_person: int = 1
    ) -> Self:
        """The counts of all parties, from the sum of what :func:`noised_vector` gave each.

        Parameters
        ----------
        schema : Schema
            That of the parties.
        vector : array-like of whole numbers
            The sum modulo 2⁶⁴.
        epsilon : float
            As each party gave it.
        rows_per_person : int, default=1
            As each party gave it.

        Returns
        -------
        NoisedTally
            As :func:`release` of all rows at one place would give it.

        Raises
        ------
        ValueError
            For a vector of another length or type.
        """
        _need_parameters(epsilon, 0.0, rows_per_person)
        schema.need_levels("from_vector")
        parts = split_vector(vector, len(schema.classes), _widths(schema))
        counts = np.concatenate(parts, axis=1)
        noise = _noise(float(epsilon), 0.0, int(rows_per_person), len(schema.groups))
        promise = Guarantee(float(epsilon), 0.0, int(rows_per_person), "discrete Laplace")
        return cls(schema, counts, noise.variances, (promise,))

    def save(self, path: str | os.PathLike[str] | BinaryIO) -> None:
        """Write the released counts, with their guarantee, to a file that :meth:`load` reads.

        Commands and :func:`tallybayes.open_model` take the file as that of a plain model.

        Parameters
        ----------
        path : path-like or binary file
            The file.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        header = {
            **tally_header(self.schema),
            "tally": NOISED,
            "guarantees": [asdict(promise) for promise in self.guarantees],
            "variances": list(self.variances),
        }
        persistence.write(path, header, {"counts": self.counts})

    @classmethod
    def load(cls, path: str | os.PathLike[str] | BinaryIO) -> Self:
        """Read what :meth:`save` wrote.

        Parameters
        ----------
        path : path-like or binary file
            The file.

        Returns
        -------
        NoisedTally
            The counts, bit for bit, and their guarantee.

        Raises
        ------
        ModelFileError
            A ValueError: another kind of file, one that was cut off or altered, or a newer format.
        OSError
            If the file cannot be read.
        """
        with persistence.opened(path, "noised tally") as (header, tree):
            return cls.restored(header, tree)

    @classmethod
    def restored(cls, header: dict[str, Any], tree: Tree) -> Self:
        """The noised tally that a file holds, checked.

        Parameters
        ----------
        header, tree : dict
            As they were read.

        Raises
        ------
        Unfit
            For what :meth:`save` does not write.
        """
        need(isinstance(header, dict) and header.get("tally") == NOISED, "it holds no noise")
        schema = restored_schema(header)
        try:
            schema.need_levels("load")
        except IncompatibleTallies as error:
            raise Unfit(str(error)) from None
        given = {name: header.get(name) for name in ("guarantees", "variances")}
        held = fit(_Held, given, "the header")
        need(bool(held.guarantees), "it says what it promises")
        need(len(held.variances) == 2, "it has the variances of class counts and of others")
        counts, shape = tree.get("counts"), (len(schema.classes), sum(_widths(schema)))
        need(isinstance(counts, np.ndarray) and counts.shape == shape, f"counts have shape {shape}")
        assert isinstance(counts, np.ndarray)
        need(counts.dtype in (np.int64, np.float64), "counts are int64, or float64 where scaled")
        need(bool(np.isfinite(counts).all()), "counts are finite")
        return cls(schema, counts, (held.variances[0], held.variances[1]), tuple(held.guarantees))


class _Held(NamedTuple):
    guarantees: list[Guarantee]
    variances: list[NonNegative]


# ---- reading a column with its noise in mind -----------------------------------------------------
TAU_SQUARED = np.array([0.0, *(1e-3 * 2.0 ** np.arange(13))])
"""The variances τ² of relative differences between classes that a column may have."""

SILENT_COLUMNS = 60.0
"""How many columns without differences the prior of τ² is worth."""


def _mean_above_0(mean: NDArray[Any], variance: NDArray[Any]) -> Array:
    """The mean of a normal distribution that is cut off below 0."""
    sd = np.sqrt(np.maximum(variance, 1e-300))
    u = mean / sd
    return np.asarray(mean + sd * np.exp(-0.5 * u * u - 0.5 * math.log(2 * math.pi) - log_ndtr(u)))


@dataclass(frozen=True)
class _Cells:
    """A column: what its cells would hold if it were independent of the class, and what differs.

    Parameters
    ----------
    expected : float64 array (n_classes, n_cells)
        n_c·p_a, above 0.
    difference : float64 array (n_classes, n_cells)
        What was released, less that.
    rank : float64 array (n_classes, 1)
        The share of v that the noise of `difference` has, which is estimated together.
    variance : float
        v, of the noise.
    """

    expected: Array
    difference: Array
    rank: Array
    variance: float

    @classmethod
    def of(cls, released: Array, n: Array, share: Array, variance: float) -> _Cells:
        fitted = released + ((n - released.sum(axis=1)) / released.shape[1])[:, None]
        squares = float(share @ share)
        pooled = np.asarray(share @ fitted / squares)  # of least variance, were classes alike
        difference = fitted - share[:, None] * pooled
        pooled = _mean_above_0(pooled, np.array(variance / squares))
        pooled *= n.sum() / pooled.sum()
        rank = 1.0 - share[:, None] ** 2 / squares
        return cls(share[:, None] * pooled, difference, rank, variance)

    @property
    def share_of_level(self) -> Array:
        """p_a, (n_cells,)."""
        pooled = self.expected.sum(axis=0)
        return np.asarray(pooled / pooled.sum())

    def log_likelihood(self) -> Array:
        """Of the released counts at each τ², in nats, (n_variances,).

        The noise has the tails of a Laplace distribution, of scale b = √(v/2): a single count far
        off is then no evidence of a difference. With s = τ·n_c·p_a,

            p(u) = (1/2b)·exp(s²/2b²)·[exp(−u/b)·Φ(u/s − s/b) + exp(u/b)·Φ(−u/s − s/b)]
        """
        b = math.sqrt(0.5 * self.variance)
        u = np.abs(self.difference) / np.sqrt(np.maximum(self.rank, 1e-12))
        found = np.empty((len(TAU_SQUARED), *u.shape))
        found[0] = -u / b - math.log(2.0 * b)
        s = np.sqrt(TAU_SQUARED[1:, None, None]) * self.expected
        left, right = log_ndtr(u / s - s / b) - u / b, log_ndtr(-u / s - s / b) + u / b
        found[1:] = 0.5 * (s / b) ** 2 + np.logaddexp(left, right) - math.log(2.0 * b)
        return np.asarray((self.rank * found).sum(axis=(1, 2)))

    def posterior(self, weights: Array) -> tuple[Array, Array]:
        """Mean and variance of the counts, averaged over τ²: two arrays (n_classes, n_cells)."""
        signal = TAU_SQUARED[:, None, None] * self.expected**2
        kept = signal / (signal + self.variance)
        mean = self.expected + kept * self.difference
        spread = kept * self.variance
        found = np.where(kept > 0.0, _mean_above_0(mean, spread), self.expected)
        average = np.tensordot(weights, found, 1)
        second = np.tensordot(weights, mean * found + spread, 1)  # E[k²] of what is above 0
        return average, np.maximum(second - average**2, 0.0)


def _posteriors(columns: list[_Cells]) -> list[Array]:
    """The posterior of τ² of each column, under the distribution that all columns together have
    (by EM, from a uniform one)."""
    likelihood = np.array([column.log_likelihood() for column in columns])
    prior = np.full(len(TAU_SQUARED), 1.0 / len(TAU_SQUARED))
    silent = np.where(TAU_SQUARED == 0.0, SILENT_COLUMNS, 0.0)
    weights = np.zeros((0, len(TAU_SQUARED)))
    for _ in range(50 if columns else 0):
        log_weights = likelihood + np.log(prior + 1e-12)
        weights = np.exp(log_weights - logsumexp(log_weights, axis=1, keepdims=True))
        prior = weights.sum(axis=0) + silent
        prior /= prior.sum()
    return list(weights)


# ---- counts of several parties, whose noise is shared out ----------------------------------------
def noised_vector(
    tally: TableTally, epsilon: float = 1.0, *, parties: int, rows_per_person: int = 1
) -> NDArray[np.int64]:
    """A party's counts with its share of the noise, for secure aggregation.

    The difference of two negative binomial counts of 1/n each; the sum over n parties is discrete
    Laplace noise, exactly. A vector by itself is not protected: it is masked before it leaves the
    party, and only the sum is seen.

    Parameters
    ----------
    tally : TableTally
        As for :func:`release`, of the schema that all parties declared.
    epsilon : float, default=1.0
        ε of the sum, for a person whose rows one party or several have.
    parties : int
        How many parties add their share, at least. Parties that drop out, and parties that reveal
        their noise to whoever sees the sum, do not count.
    rows_per_person : int, default=1
        The most rows that a person has, with all parties together.

    Returns
    -------
    int64 array (n_classes · (1 + n_cells),)
        It adds modulo 2⁶⁴; :meth:`NoisedTally.from_vector` reads the sum.

    Raises
    ------
    ValueError
        As :func:`release`; and for fewer parties than one.
    """
    _need_parameters(epsilon, 0.0, rows_per_person)
    if not isinstance(parties, Integral) or isinstance(parties, bool) or parties < 1:
        raise ValueError(
            f"parties is a whole number from 1 on, got {parties!r}: how many add their share of "
            "the noise, whatever happens"
        )
    counts = _counts(tally, "noised_vector")
    noise = _noise(float(epsilon), 0.0, int(rows_per_person), len(tally.groups))
    for part, add in ((counts[:, :1], noise.to_classes), (counts[:, 1:], noise.to_cells)):
        drawn = _negative_binomial(add, int(parties), 2 * part.size)
        part += (drawn[: part.size] - drawn[part.size :]).reshape(part.shape)
    ends = np.cumsum(_widths(tally.schema))
    return np.concatenate([part.ravel() for part in np.split(counts, ends[:-1], axis=1)])


def _negative_binomial(add: Add, n: int, size: int) -> NDArray[np.int64]:
    """Counts k of probability ∝ q^k · Π_{i ≤ k} (1 + (i − 1)·n) / (i·n), q = exp(−1/b): the sum of
    n of them is geometric.

    Exact: a geometric count is what discrete Laplace noise is where it is not negative, and it is
    kept with the probability of the product, by whole random numbers.
    """
    found: list[int] = []
    while len(found) < size:
        for k in add([0] * (4 * (size - len(found)) + 16)):
            if k >= 0 and all(secrets.randbelow(i * n) <= (i - 1) * n for i in range(1, k + 1)):
                found.append(k)
    return np.array(found[:size], dtype=np.int64)
