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

from collections.abc import Iterator
from operator import add, sub
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import IncompatibleTallies
from tallybayes.tally import Tally
from tallybayes.testing.equality import (
    Equality,
    exactly,
    in_mean_and_squares,
    parts_of,
    rationals,
    within,
    without_squares,
)

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


# ---- what the laws look at -----------------------------------------------------------------------
def _arrays(tally: Any) -> Iterator[NDArray[np.float64]]:
    for part in parts_of(tally):
        for name in part.additive:
            yield getattr(part, name)


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
