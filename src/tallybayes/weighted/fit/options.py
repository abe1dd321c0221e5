"""The options of fitting a weighted model."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FitOptions"]


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """How a weighted model is fitted.

    Parameters
    ----------
    interactions : int, optional
        The most pairs there may be; 0 for none. Unless given, as many as help.
    by_class : bool
        Whether weights may deviate by class, for more than two classes. They do not where they
        would be more than 4,000.
    polish : bool
        Whether ridge-penalised cell offsets are fitted at last.
    penalty : float, optional
        γ, the penalty of the weights; chosen by cross-validation unless given.
    parts : int, optional
        In how many parts the rows are cut. Each is left out of a fit that is averaged with the
        others and with one of all rows (see `averaged`); 1: the fit of all rows alone. Unless
        given, 5, of fewer than 20 rows 1; of more than 20,000 only the first of the five is left
        out.
    """

    interactions: int | None = None
    by_class: bool = True
    polish: bool = True
    penalty: float | None = None
    parts: int | None = None
