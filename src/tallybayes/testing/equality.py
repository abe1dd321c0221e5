"""Equality of two tallies: bit for bit, within a bound of rounding, or in mean and squares."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from tallybayes.tally import CrossMoments, Moments, Tally

__all__ = [
    "Equality",
    "exactly",
    "in_mean_and_squares",
    "parts_of",
    "rationals",
    "within",
    "without_squares",
]


class Equality(Protocol):
    """Whether two tallies that a law calls equal are."""

    def __call__(self, left: Any, right: Any, terms: Sequence[Any]) -> bool:
        """`terms` are the tallies that were added up; rounding is relative to them."""


def exactly(left: Any, right: Any, terms: Sequence[Any] = ()) -> bool:
    """Equal frames and bit-equal counts."""
    return bool(left == right)


def within(bound: float, **named: float) -> Equality:
    """Equal frames, and each sum equal up to `bound` times the sum of its terms' absolute values.

    Sums are compared as exact rationals; the halves hi and lo of a double-double are one number.

    Parameters
    ----------
    bound : float
    **named : float
        Another bound for an array of this name: ``within(2.0**-100, n=2.0**-51)``.

    Returns
    -------
    Equality
    """
    limits = {name: Fraction(value) for name, value in named.items()}

    def same(left: Any, right: Any, terms: Sequence[Any] = ()) -> bool:
        if not exactly(left.zero(), right.zero()):
            return False
        sides = (left, right, *(terms or (left, right)))
        for part in zip(*map(parts_of, sides), strict=True):
            try:
                columns = [rationals(tally) for tally in part]
            except (OverflowError, ValueError):  # an infinity or NaN equals nothing
                return False
            for name in columns[0]:
                limit = limits.get(name, Fraction(bound))
                for a, b, *scale in zip(*(column[name] for column in columns), strict=True):
                    if abs(a - b) > limit * sum(map(abs, scale)):
                        return False
        return True

    return same


def in_mean_and_squares(bound: float, *, counts: float = 0.0) -> Equality:
    """Equal to the eye: means and sums of squares agree up to `bound`, wherever the origin lies.

    Parameters
    ----------
    bound : float
        Means may differ by `bound` standard deviations, and sums of squares by `bound` times the
        largest of both sides and of the terms. A spread below 2⁻⁸⁸ of the column's sum of squares
        about the origin, all classes together, is rounding of double-doubles and is not compared;
        nor is a difference of means below 2⁻⁸⁸ of the distance to the origin. A sum of products of
        two columns may differ by the root of what their sums of squares may differ by.
    counts : float, default=0.0
        The relative bound for all else: n, class counts, level counts and feature sums.

    Returns
    -------
    Equality
    """
    others_same = within(counts)

    def same_moments(a: Moments, b: Moments, terms: Sequence[Moments]) -> bool:
        tallies = (a, b, *terms)
        n = np.max([np.abs(t.n) for t in tallies], axis=0)
        read = [t.mean_and_squares() for t in tallies]
        squares = np.max([np.abs(ss) for _, ss in read], axis=0)
        rounding = 2.0**-88 * np.max([np.abs(t.s2_hi).sum(axis=0) for t in tallies], axis=0)
        deviation = np.sqrt(squares / np.where(n > 0.0, n, 1.0))
        (mean, ss), (mean_b, ss_b) = read[:2]
        about = np.max([np.abs(t.s2_hi) for t in tallies], axis=0)
        distance = np.sqrt(about / np.where(n > 0.0, n, 1.0))
        slack = bound * deviation + 4.0 * np.spacing(np.abs(mean)) + 2.0**-88 * distance
        return bool(
            (np.abs(a.n - b.n) <= counts * n).all()
            and (np.abs(mean - mean_b) <= slack).all()
            and (np.abs(ss - ss_b) <= bound * squares + rounding).all()
        )

    def same_products(a: CrossMoments, b: CrossMoments, terms: Sequence[CrossMoments]) -> bool:
        scatter = [t.mean_and_scatter()[1] for t in (a, b, *terms)]
        about = [t.columns().s2_hi for t in (a, b, *terms)]
        squares = np.max([np.abs(np.einsum("kii->ki", s)) for s in scatter], axis=0)
        rounding = 2.0**-88 * np.max([np.abs(s2).sum(axis=0) for s2 in about], axis=0)
        size = np.sqrt(bound * squares + rounding)
        return bool((np.abs(scatter[0] - scatter[1]) <= size[:, :, None] * size[:, None, :]).all())

    def same(left: Any, right: Any, terms: Sequence[Any] = ()) -> bool:
        if not exactly(left.zero(), right.zero()):
            return False
        for a, b, *others in zip(*map(parts_of, (left, right, *terms)), strict=True):
            if isinstance(a, CrossMoments):
                columns = [t.columns() for t in (a, b, *others)]
                alike = same_moments(columns[0], columns[1], columns[2:])
                fine = alike and same_products(a, b, others)
            else:
                fine = (same_moments if isinstance(a, Moments) else others_same)(a, b, others)
            if not fine:
                return False
        return True

    return same


def parts_of(tally: Any) -> tuple[Tally, ...]:
    """The tallies of single kinds that a tally is made of: itself, or those of a whole model."""
    return tuple(getattr(tally, "parts", (tally,)))


def rationals(tally: Tally) -> dict[str, list[Fraction]]:
    """Every cell of every sum as an exact rational.

    The halves of a double-double, ``x`` or ``x_hi`` and ``x_lo``, are one sum, ``x``.

    Raises
    ------
    OverflowError, ValueError
        If a cell is infinite or NaN.
    """
    sums: dict[str, list[Fraction]] = {}
    for name in sorted(tally.additive, key=lambda name: name.endswith("_lo")):
        short = name.removesuffix("_hi").removesuffix("_lo")
        short = short if f"{short}_lo" in tally.additive else name
        cells = [Fraction(v) for v in getattr(tally, name).ravel().tolist()]
        if short in sums:
            cells = [hi + lo for hi, lo in zip(sums[short], cells, strict=True)]
        sums[short] = cells
    return sums


def without_squares(t: Any) -> Any:
    """A copy of a tally with the sums of squared weights at zero: what is linear in the weights."""
    bare = t.copy()
    for part in parts_of(bare):
        for name in part.squares:
            getattr(part, name)[:] = 0.0
    return bare
