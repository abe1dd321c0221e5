"""The laws of a tally: an additive commutative group, with scaling by a real weight.

A law is a function of tallies that returns nothing, or raises AssertionError with both sides. Which
sides count as equal is a parameter: :func:`exactly`, the default, for counts of whole weights;
:func:`within` for rounded sums, compared as exact rationals; :func:`in_mean_and_squares` for what
can be seen of moments.

    from tallybayes.testing.laws import law_associativity, within

    law_associativity(a, b, c, same=within(2.0**-51))

The laws hold for every kind of tally and for the tally of a whole model. Those of placing and
taking classes are for the kinds only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from operator import add, sub
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tallybayes.errors import IncompatibleTallies
from tallybayes.tally import CrossMoments, Moments, Tally

__all__ = [
    "Equality",
    "check_every_law",
    "exactly",
    "in_mean_and_squares",
    "law_accumulate",
    "law_associativity",
    "law_commutativity",
    "law_copy_is_independent",
    "law_difference",
    "law_doubling",
    "law_inverse",
    "law_operands_stay",
    "law_place_adds",
    "law_place_take",
    "law_put_take",
    "law_refuses",
    "law_scaling_by_a_sum",
    "law_scaling_of_a_sum",
    "law_scaling_of_squares",
    "law_scaling_twice",
    "law_unit",
    "law_weighting",
    "law_zero",
    "parts_of",
    "rationals",
    "within",
    "without_squares",
]


TINY = 4 * Fraction(5e-324)
"""By how much sums of numbers near the least one may differ, which are rounded to 0 or up."""


# ---- equality of two tallies: bit for bit, within a bound of rounding, or in mean and squares ----
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
                    if abs(a - b) > limit * sum(map(abs, scale)) + TINY:
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


# ---- what the laws look at -----------------------------------------------------------------------
def _arrays(tally: Any) -> Iterator[NDArray[np.float64]]:
    for part in parts_of(tally):
        for name in part.additive:
            array = getattr(part, name)
            yield array.data if sparse.issparse(array) else array


def _snapshot(*tallies: Any) -> list[NDArray[np.float64]]:
    """What the tallies hold now; their own ``copy`` is not trusted with it."""
    return [np.array(array) for tally in tallies for array in _arrays(tally)]


def _need_unchanged(what: str, before: list[NDArray[np.float64]], *tallies: Any) -> None:
    after = _snapshot(*tallies)
    same = len(before) == len(after) and all(map(np.array_equal, before, after))
    if not same:
        raise AssertionError(f"{what} changed a tally:\n  before: {before}\n  after:  {after}")


def _hold(holds: bool, law: str, left: Any, right: Any) -> None:
    if not holds:
        raise AssertionError(
            f"{law} does not hold:\n  left:  {left.arrays()}\n  right: {right.arrays()}"
        )


# ---- the group -----------------------------------------------------------------------------------
def law_zero(t: Any, *, same: Equality = exactly) -> None:
    """t + 0 = 0 + t = t, and 0 holds nothing."""
    nothing = t.zero()
    for array in _arrays(nothing):
        if array.any():
            raise AssertionError("zero() holds counts")
    _hold(same(t + nothing, t, (t,)), "t + 0 = t", t + nothing, t)
    _hold(same(nothing + t, t, (t,)), "0 + t = t", nothing + t, t)
    _hold(same(t - nothing, t, (t,)), "t - 0 = t", t - nothing, t)


def law_commutativity(a: Any, b: Any, *, same: Equality = exactly) -> None:
    """a + b = b + a."""
    _hold(same(a + b, b + a, (a, b)), "a + b = b + a", a + b, b + a)


def law_associativity(a: Any, b: Any, c: Any, *, same: Equality = exactly) -> None:
    """(a + b) + c = a + (b + c)."""
    left, right = (a + b) + c, a + (b + c)
    _hold(same(left, right, (a, b, c)), "(a + b) + c = a + (b + c)", left, right)


def law_inverse(t: Any, *, same: Equality = exactly) -> None:
    """t + (−t) = t − t = 0, and −(−t) = t."""
    nothing = t.zero()
    _hold(same(t + (-t), nothing, (t, t)), "t + (-t) = 0", t + (-t), nothing)
    _hold(same(t - t, nothing, (t, t)), "t - t = 0", t - t, nothing)
    back = (-t) * -1.0
    _hold(same(back, t, (t,)), "-(-t) = t", back, t)


def law_difference(a: Any, b: Any, *, same: Equality = exactly) -> None:
    """(a + b) − b = a, and a − b = a + (−b)."""
    left = (a + b) - b
    _hold(same(left, a, (a, b, b)), "(a + b) - b = a", left, a)
    _hold(same(a - b, a + (-b), (a, b)), "a - b = a + (-b)", a - b, a + (-b))


# ---- scaling -------------------------------------------------------------------------------------
def law_unit(t: Any, *, same: Equality = exactly) -> None:
    """1·t = t, 0·t = 0 and w·t = t·w."""
    _hold(same(1.0 * t, t, (t,)), "1·t = t", 1.0 * t, t)
    _hold(same(0.0 * t, t.zero(), (t,)), "0·t = 0", 0.0 * t, t.zero())
    _hold(same(0.75 * t, t * 0.75, (t,)), "w·t = t·w", 0.75 * t, t * 0.75)


def law_doubling(t: Any, *, same: Equality = exactly) -> None:
    """2·t = t + t, but for squared weights: the rows of 2·t weigh twice as much, t + t has twice as
    many."""
    left, right, term = map(without_squares, (2.0 * t, t + t, t))
    _hold(same(left, right, (term, term)), "2·t = t + t", left, right)


def law_scaling_by_a_sum(t: Any, v: float, w: float, *, same: Equality = exactly) -> None:
    """(v + w)·t = v·t + w·t, but for squared weights."""
    left, terms = without_squares((v + w) * t), [without_squares(v * t), without_squares(w * t)]
    right = terms[0] + terms[1]
    _hold(same(left, right, terms), f"({v} + {w})·t = {v}·t + {w}·t", left, right)


def law_scaling_of_a_sum(w: float, a: Any, b: Any, *, same: Equality = exactly) -> None:
    """w·(a + b) = w·a + w·b."""
    left, terms = w * (a + b), (w * a, w * b)
    right = terms[0] + terms[1]
    _hold(same(left, right, terms), f"{w}·(a + b) = {w}·a + {w}·b", left, right)


def law_scaling_twice(t: Any, v: float, w: float, *, same: Equality = exactly) -> None:
    """v·(w·t) = (v·w)·t, squared weights included."""
    left, right = v * (w * t), (v * w) * t
    _hold(same(left, right, (right,)), f"{v}·({w}·t) = ({v}·{w})·t", left, right)


def law_weighting(t: Any, by_class: Any, *, same: Equality = exactly) -> None:
    """``t.weighted(w)`` holds of class k what w_k·t holds, squared weights included."""
    for before, after in zip(parts_of(t), parts_of(t.weighted(by_class)), strict=True):
        for k, w in enumerate(by_class.tolist()):
            mine, expected = after.take(np.array([k])), w * before.take(np.array([k]))
            _hold(same(mine, expected, (expected,)), f"class {k} weighs {w}", mine, expected)


def law_scaling_of_squares(t: Any, w: float) -> None:
    """w·t multiplies squared weights by w·|w|, and so keeps every effective number of rows."""
    for before, after in zip(parts_of(t), parts_of(w * t), strict=True):
        for name in before.squares:
            expected = w * abs(w) * getattr(before, name)
            if not np.array_equal(getattr(after, name), expected):
                raise AssertionError(
                    f"{w}·t does not scale {name} by {w}·|{w}|: {getattr(after, name)}, not "
                    f"{expected}"
                )


# ---- values --------------------------------------------------------------------------------------
def law_copy_is_independent(t: Any) -> None:
    """A change of a copy, or of any result, does not change t."""
    before = _snapshot(t)
    for name, made in {
        "copy()": t.copy(),
        "zero()": t.zero(),
        "t + t": t + t,
        "t - t": t - t,
        "1·t": 1.0 * t,
        "-t": -t,
    }.items():
        for array in _arrays(made):
            array += 1.0
        _need_unchanged(f"writing into {name}", before, t)


def law_operands_stay(a: Any, b: Any) -> None:
    """Arithmetic changes no operand."""
    before = _snapshot(a, b)
    _ = a + b, a - b, -a, 3.0 * a, a.zero()
    _need_unchanged("arithmetic", before, a, b)


def law_refuses(a: Any, b: Any) -> None:
    """Tallies of different frames do not add, and trying changes neither."""
    before = _snapshot(a, b)
    for sign, combine in (("+", add), ("-", sub)):
        try:
            combine(a, b)
        except IncompatibleTallies as error:
            if not str(error):
                raise AssertionError(f"a {sign} b is refused without a word") from error
        else:
            raise AssertionError(f"a {sign} b was not refused, although the frames differ")
    _need_unchanged("a refused sum", before, a, b)


# ---- classes -------------------------------------------------------------------------------------
def _spread(t: Tally) -> tuple[NDArray[np.intp], int]:
    """Places for the classes of t among twice as many, in another order."""
    n = t.n_classes
    return (2 * np.arange(n)[::-1] + 1).astype(np.intp), 2 * n + 1


def law_place_take(t: Tally) -> None:
    """place(rows) then take(rows) = t; the other classes hold nothing."""
    rows, n = _spread(t)
    placed = t.place(rows, n)
    _hold(exactly(placed.take(rows), t), "take(place(t)) = t", placed.take(rows), t)
    others = placed.take(np.setdiff1d(np.arange(n), rows))
    _hold(exactly(others, others.zero()), "place(t) is 0 elsewhere", others, others.zero())


def law_place_adds(a: Tally, b: Tally, *, same: Equality = exactly) -> None:
    """place(a + b) = place(a) + place(b)."""
    rows, n = _spread(a)
    left, right = (a + b).place(rows, n), a.place(rows, n) + b.place(rows, n)
    terms = (a.place(rows, n), b.place(rows, n))
    _hold(same(left, right, terms), "place(a + b) = place(a) + place(b)", left, right)


def law_put_take(a: Tally, b: Tally) -> None:
    """put(rows, b) then take(rows) = b; a copy of a keeps the other classes."""
    rows, n = _spread(a)
    changed = a.place(rows, n)
    changed.put(rows, b)
    _hold(exactly(changed, b.place(rows, n)), "put(rows, b) = b there", changed, b.place(rows, n))


def law_accumulate(a: Tally, b: Tally, w: float, *, same: Equality = exactly) -> None:
    """Adding w·b in place, to all classes or to some, = a + w·b."""
    right, terms = a + w * b, (a, w * b)
    left = a.copy()
    left.accumulate(b, w)
    _hold(same(left, right, terms), f"a += {w}·b", left, right)
    rows, n = _spread(a)
    wide = a.place(rows, n)
    wide.accumulate(b, w, rows)
    expected = right.place(rows, n)
    placed = tuple(term.place(rows, n) for term in terms)
    _hold(same(wide, expected, placed), f"a[rows] += {w}·b", wide, expected)


def check_every_law(
    a: Any,
    b: Any,
    c: Any,
    *,
    v: float = 2.0,
    w: float = 0.5,
    same: Equality = exactly,
    scaled: Equality = exactly,
) -> None:
    """Every law, for three tallies of one frame.

    Parameters
    ----------
    a, b, c : Tally or TableTally
    v, w : float
        Weights to scale by.
    same : Equality
        For sums.
    scaled : Equality
        For scaled sums.

    Raises
    ------
    AssertionError
        Naming the law that does not hold, and showing both sides.
    """
    law_zero(a, same=same)
    law_commutativity(a, b, same=same)
    law_associativity(a, b, c, same=same)
    law_inverse(a, same=same)
    law_difference(a, b, same=same)
    law_unit(a, same=scaled)
    law_doubling(a, same=scaled)
    law_scaling_by_a_sum(a, v, w, same=scaled)
    law_scaling_of_a_sum(w, a, b, same=scaled)
    law_scaling_twice(a, v, w, same=scaled)
    law_scaling_of_squares(a, w)
    law_copy_is_independent(a)
    law_operands_stay(a, b)
    if isinstance(a, Tally):
        law_place_take(a)
        law_place_adds(a, b, same=same)
        law_put_take(a, b)
        law_accumulate(a, b, w, same=scaled)
