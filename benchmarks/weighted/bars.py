"""A promise and whether it is met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Bar", "lines", "record"]


@dataclass(frozen=True)
class Bar:
    """A figure that must not be above, or not below, a limit.

    Parameters
    ----------
    what : str
    value : float or None
        None where it was not measured.
    limit : float or None
        None where it is a figure that was not measured.
    least : bool
        Whether the limit is the least that is promised, not the most.
    form : str
        How figures are written.
    strict : bool
        Whether the limit itself misses.
    """

    what: str
    value: float | None
    limit: float | None
    least: bool = False
    form: str = ".4f"
    strict: bool = False

    @property
    def met(self) -> bool | None:
        if self.value is None or self.limit is None:
            return None
        if self.value == self.limit:
            return not self.strict
        return (self.value > self.limit) == self.least

    @property
    def line(self) -> str:
        words = ("above", "below") if self.strict else ("at least", "at most")
        limit = "?" if self.limit is None else f"{self.limit:{self.form}}"
        value = "?" if self.value is None else f"{self.value:{self.form}}"
        verdict = {True: "met", False: "**missed**", None: "not measured"}[self.met]
        return f"- {self.what}: {value}, {words[not self.least]} {limit}: {verdict}"


def lines(bars: Sequence[Bar], notes: Sequence[str] = ()) -> list[str]:
    """The verdicts of a page: how many bars are met, each of them, and what has no bar."""
    measured = [bar for bar in bars if bar.met is not None]
    met = sum(bool(bar.met) for bar in measured)
    lacking = len(bars) - len(measured)
    also = f"; {lacking} not measured" if lacking else ""
    head = f"{met} of {len(measured)} bars met{also}."
    return [head, "", *(bar.line for bar in bars), *(f"- {text}" for text in notes)]


def record(bars: Sequence[Bar]) -> list[dict[str, Any]]:
    """The bars as JSON."""
    return [asdict(bar) | {"met": bar.met} for bar in bars]
