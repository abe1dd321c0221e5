"""The error of questions that need a proper prior."""

from __future__ import annotations

__all__ = ["ImproperPrior"]


class ImproperPrior(Exception):
    """A column has no proper prior, which the question needs.

    Parameters
    ----------
    what : str
        How the column is read, as the end of a sentence: "is read as Poisson without a prior".
    instead : str
        What to declare.
    """

    what: str
    instead: str

    def __init__(self, what: str, instead: str) -> None:
        super().__init__(f"{what}: {instead}")
        self.what, self.instead = what, instead
