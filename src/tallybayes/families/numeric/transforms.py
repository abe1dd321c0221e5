"""Transforms that make a column of numbers more Gaussian.

    log:          g(x) = log x, for x > 0
    Yeo–Johnson:  g(x) = ((x + 1)^λ − 1) / λ for x ≥ 0,  −((1 − x)^(2−λ) − 1) / (2 − λ) for x < 0

with log(x + 1) at λ = 0 and −log(1 − x) at λ = 2. The density of x is that of g(x) times g'(x).
Yeo and Johnson (2000), equations (2.1) and (3.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes.tally import GridCounts

__all__ = ["Transform", "class_moments", "transform_of"]

Array = NDArray[np.float64]
MIN_POSITIVE = 1e-300
IMPOSSIBLE = -1e300
MAX_ROUNDING = 2.0**-50
"""Deviations of less than this share of the values are rounding of their mean."""


@dataclass(frozen=True)
class Transform:
    """A fitted transform.

    Parameters
    ----------
    kind : {"log", "yeo-johnson"}
    exponent : float
        λ of Yeo–Johnson.
    """

    kind: Literal["log", "yeo-johnson"]
    exponent: float = 0.0

    def forward(self, x: Array) -> Array:
        """g(x), like x: NaN for the log of what is not positive, ±inf beyond float64."""
        if self.kind == "log":
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.where(x > 0.0, np.log(x), np.nan)
        up, down = np.maximum(x, 0.0), np.maximum(-x, 0.0)
        with np.errstate(over="ignore"):  # a power beyond float64 is infinite
            up, down = _power(up, self.exponent), _power(down, 2.0 - self.exponent)
        return np.where(x >= 0.0, up, -down)

    def backward(self, g: Array) -> Array:
        """x with g(x) = g, like g; for g within the bounds."""
        if self.kind == "log":
            return np.asarray(np.exp(g))
        up, down = np.maximum(g, 0.0), np.maximum(-g, 0.0)
        return np.where(g >= 0.0, _root(up, self.exponent), -_root(down, 2.0 - self.exponent))

    @property
    def bounds(self) -> tuple[float, float]:
        """Between what g(x) lies for all x: Yeo–Johnson is bounded for λ < 0 and λ > 2."""
        if self.kind == "log":
            return -np.inf, np.inf
        above = -1.0 / self.exponent if self.exponent < 0.0 else np.inf
        below = 1.0 / (2.0 - self.exponent) if self.exponent > 2.0 else -np.inf
        return below, above

    def log_slope(self, x: Array) -> Array:
        """log g'(x), like x."""
        if self.kind == "log":
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.where(x > 0.0, -np.log(x), np.nan)
        return np.asarray((self.exponent - 1.0) * np.sign(x) * np.log1p(np.abs(x)))

    def __str__(self) -> str:
        return "log" if self.kind == "log" else f"Yeo–Johnson, λ = {self.exponent:.3g}"


def _power(x: Array, exponent: float) -> Array:
    """((x + 1)^λ − 1) / λ, exact near λ = 0."""
    log = np.log1p(x)
    return log if exponent == 0.0 else np.asarray(np.expm1(exponent * log) / exponent)


def _root(power: Array, exponent: float) -> Array:
    """The x ≥ 0 with :func:`_power` of this value; +inf at the bound of a negative exponent."""
    with np.errstate(divide="ignore"):
        log = power if exponent == 0.0 else np.log1p(exponent * power) / exponent
    return np.asarray(np.expm1(log))


def class_moments(
    grid: GridCounts, transform: Transform | None = None
) -> tuple[Array, Array, Array]:
    """n, mean and sum of squares of g(x), or of x, in each class, float64 (n_classes,), from grid
    counts.

    They are exact where the column has no more different values than cells; else as fine as the
    cells, whose width is below 1/100 of a value where a column spans fewer than 40 octaves.
    """
    g = grid.values() if transform is None else transform.forward(grid.values())
    weight = np.ascontiguousarray(grid.counts)  # sums in one order, however the counts lie
    n = weight.sum(axis=1)
    some = np.where(n > 0.0, n, 1.0)
    mean = np.where(weight > 0.0, weight * g, 0.0).sum(axis=1) / some
    apart = np.abs(g[None, :] - mean[:, None])
    apart[apart <= MAX_ROUNDING * np.abs(g)] = 0.0
    return n, mean, np.where(weight > 0.0, weight * apart**2, 0.0).sum(axis=1)


def _log_likelihood(grid: GridCounts, exponent: float) -> float:
    """Profile log-likelihood of λ under a Gaussian in each class, up to a constant; −1e300 where
    there is none, or where squares of g(x) are beyond float64."""
    transform = Transform("yeo-johnson", exponent)
    with np.errstate(over="ignore", invalid="ignore"):
        n, _, squares = class_moments(grid, transform)
    used = (n > 1.0) & (squares > MIN_POSITIVE)
    if not np.isfinite(squares).all() or not used.any():
        return IMPOSSIBLE
    slope = transform.log_slope(grid.values())
    jacobian = (grid.counts[used] * slope).sum()
    return float(jacobian - 0.5 * (n[used] * np.log(squares[used] / n[used])).sum())


def transform_of(kind: Any, grid: GridCounts) -> Transform | None:
    """The transform that a family declares, λ fitted to the grid counts by maximum likelihood."""
    if kind is None:
        return None
    if kind == "log":
        return Transform("log")
    from scipy.optimize import minimize_scalar  # slow to import, and few need it

    best = minimize_scalar(
        lambda exponent: -_log_likelihood(grid, exponent), bounds=(-5.0, 7.0), method="bounded"
    )
    return Transform("yeo-johnson", float(best.x) if best.fun < -IMPOSSIBLE else 1.0)
