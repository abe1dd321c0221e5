"""Errors in the content of a file, as one error that names the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tallybayes.errors import ModelFileError
from tallybayes.persistence.checks import Unfit

__all__ = ["refusing"]


@contextmanager
def refusing(name: str, what: str) -> Iterator[None]:
    """Whatever the content of a file leads to is a ModelFileError with the file's name.

    Parameters
    ----------
    name : str
        What messages call the file.
    what : str
        What it should hold, such as "model".
    """
    problem = f"{name} is whole, but is not a {what} of tallybayes as this version writes it"
    try:
        yield
    except Unfit as error:
        raise ModelFileError(f"{problem}: {error}. Save the {what} again") from error
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{problem} ({type(error).__name__}: {error}): save the {what} again"
        ) from error
