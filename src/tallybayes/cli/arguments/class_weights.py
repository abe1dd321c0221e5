"""The value of ``--class-weight``: balanced, or a weight for each of some labels."""

from __future__ import annotations

import math
from typing import Literal

from tallybayes.cli.terminal.failures import USAGE, Failure

__all__ = ["ClassWeight", "class_weight_of"]

ClassWeight = dict[str, float] | Literal["balanced"] | None


def class_weight_of(given: list[str] | None) -> ClassWeight:
    """The parameter ``class_weight`` of a model.

    Raises
    ------
    Failure
        With the code for usage.
    """
    if not given:
        return None
    if "balanced" in given:
        if len(given) > 1:
            raise Failure(
                "--class-weight balanced weighs every class: leave out the other --class-weight",
                USAGE,
            )
        return "balanced"
    weights: dict[str, float] = {}
    for text in given:
        label, equals, number = text.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            weight = math.nan
        if not equals or not 0.0 <= weight < math.inf:
            raise Failure(
                f"--class-weight {text!r} is neither balanced nor LABEL=WEIGHT, with a weight from "
                "0 on",
                USAGE,
            )
        if label in weights:
            raise Failure(f"--class-weight names {label!r} twice: keep one", USAGE)
        weights[label] = weight
    return weights
