"""Checks of the hyperparameters of families: alpha, a prior, and the estimate."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Estimate",
    "cannot_estimate",
    "check_estimate",
    "count_numbers",
    "hold",
    "hold_choice",
    "number",
    "smoothing_number",
    "whole_number",
]

Array = NDArray[np.float64]
Estimate = Literal["mean", "map", "mle", "posterior"]


def number(rule: str, value: Any) -> float:
    """A finite float64.

    Raises
    ------
    TypeError, ValueError
        With the rule, for what is not a number, or not finite.
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if not isinstance(value, Real):
        raise TypeError(f"{rule}, got {value!r}: give a number")
    if not np.isfinite(float(value)):
        raise ValueError(f"{rule}, got {value!r}")
    return float(value)


def hold(prior: Any, rule: str, above: float | None, *names: str) -> None:
    """Makes these fields of a frozen value float64, or refuses what is not finite and `above`."""
    for name in names:
        what = f"{type(prior).__name__} takes a finite {name} {rule}".rstrip()
        value = number(what, getattr(prior, name))
        if above is not None and not value > above:
            raise ValueError(f"{what}, got {value!r}")
        object.__setattr__(prior, name, value)


def count_numbers(owner: str, values: ArrayLike) -> Array:
    """Counts as float64, or refused."""
    counts = np.asarray(values, dtype=np.float64)
    bad = ~((counts >= 0.0) & (counts < np.inf))
    if bad.any():
        raise ValueError(f"{owner} takes finite counts from 0 on, got {counts[bad][0].item()!r}")
    return counts


def whole_number(rule: str, value: Any, minimum: int, maximum: float = math.inf) -> int:
    """An int from `minimum` to `maximum`.

    Raises
    ------
    TypeError, ValueError
        With the rule, for what is not a whole number, too small or too large.
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{rule}, got {value!r}")
    if not minimum <= int(value) <= maximum:
        raise ValueError(f"{rule}, got {value!r}")
    return int(value)


def hold_choice(family: Any, name: str, choices: Any) -> None:
    """Raises ValueError where a field of a family is none of the choices of its Literal type."""
    value = getattr(family, name)
    if not isinstance(value, str) or value not in get_args(choices):
        named = ", ".join(map(repr, get_args(choices)))
        raise ValueError(f"{type(family).__name__} takes {name} from {named}, got {value!r}")


def smoothing_number(owner: str, value: Any) -> float:
    """alpha as float64, from 0 on."""
    rule = f"{owner} takes a finite alpha from 0 on, in rows"
    alpha = number(rule, value)
    if alpha < 0.0:
        raise ValueError(f"{rule}, got {alpha!r}; 0 is allowed and means no smoothing")
    return alpha


def check_estimate(family: Any, kind: type, *, each: bool = False) -> None:
    """Checks estimate, alpha and prior of a frozen family, and makes alpha float64.

    Parameters
    ----------
    family : dataclass
    kind : type
        The prior's.
    each : bool
        Whether alpha may be an array, a value a feature.

    Raises
    ------
    TypeError, ValueError
    """
    owner = type(family).__name__
    if family.estimate not in get_args(Estimate):
        raise ValueError(
            f"estimate is 'mean', 'map', 'mle' or 'posterior', got {family.estimate!r}"
        )
    given = [name for name in ("alpha", "prior") if getattr(family, name, None) is not None]
    if len(given) == 2 or (given and family.estimate == "mle"):
        raise ValueError(
            f"{owner} got {' and '.join([*given, f'estimate={family.estimate!r}'])}: give "
            "alpha or a prior, and neither with estimate='mle'"
        )
    if family.prior is not None and not isinstance(family.prior, kind):
        raise TypeError(f"{owner} takes a {kind.__name__} as prior, got {family.prior!r}")
    alpha = getattr(family, "alpha", None)
    if alpha is None:
        return
    if each and np.ndim(alpha):
        values = np.array(alpha, dtype=np.float64)
        for value in values[~((values >= 0.0) & (values < np.inf))].tolist():
            smoothing_number(owner, value)
        object.__setattr__(family, "alpha", values)
    else:
        object.__setattr__(family, "alpha", smoothing_number(owner, alpha))


def cannot_estimate(family: Any, where: str) -> ValueError:
    """The error of maximum likelihood where nothing was counted: 0/0 is not an estimate."""
    return ValueError(
        f"{type(family).__name__}(estimate='mle') cannot estimate {where}: nothing was counted "
        "there in any class, and 0/0 is not a probability. Learn some rows with values, or give a "
        "prior with estimate='mean' or 'map', which is then the estimate"
    )
