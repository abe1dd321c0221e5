"""The columns of a table as distributions, one for each class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, gammaln

from tallybayes.distributions.base import ClassConditional, Index, Levels, shown, stats
from tallybayes.distributions.counts import Multinomial, totals_of
from tallybayes.distributions.laws import Law
from tallybayes.engines.memory.scores.counts import CountsPart
from tallybayes.engines.memory.scores.part import LevelsPart, Part
from tallybayes.tables import Empty, Mixed, Numbers, Strings, Table, read_table
from tallybayes.tables.columns import strings_of

__all__ = ["Column", "GroupOfCounts", "LevelColumn", "NumberColumn", "names_of"]

Array = NDArray[np.float64]


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
        cumulative = np.cumsum(self.probs, axis=1)
        share = rng.uniform(size=len(codes)) * cumulative[codes, -1]
        level = (share[:, None] >= cumulative[codes, :-1]).sum(axis=1)
        drawn: NDArray[Any] = np.array(self.levels, dtype=object)[level]
        drawn[missing] = None
        return drawn

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

    Parameters are those of Column, and:

    part : BinsPart or DensityPart
    law : Law
        Of a value that is a number.

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
            self.strings = list(part.kinds.strings)
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
        transform = getattr(getattr(self.part, "density", None), "transform", None)
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
        cumulative = np.cumsum(self.kinds, axis=1)
        share = rng.uniform(size=len(codes)) * cumulative[codes, -1]
        kind = (share[:, None] >= cumulative[codes, :-1]).sum(axis=1)
        drawn = self.law.draw(codes, rng).astype(object)
        drawn[kind == 0] = None
        for i, text in enumerate(self.strings):
            drawn[kind == 2 + i] = text
        return drawn

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
