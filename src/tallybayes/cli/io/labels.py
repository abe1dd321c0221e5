"""Labels that were read as strings: whether they can be classes, and their conversion to the type
of a model's labels."""

from __future__ import annotations

import numpy as np

from tallybayes.cli.io.plan import Labels
from tallybayes.cli.terminal.failures import Failure
from tallybayes.tables import Column, Numbers, Strings

__all__ = ["as_own", "need_few"]

MIN_ROWS_TO_JUDGE = 100  # rows of a first part from which on labels must repeat


def need_few(labels: Strings, target: str) -> None:
    """Raises where the labels of the first rows are nearly all different."""
    different, rows = len(np.unique(labels.codes)), labels.n_rows
    if rows >= MIN_ROWS_TO_JUDGE and 2 * different > rows:
        raise Failure(
            f"{target!r} has {different:,} different values in the first "
            f"{rows:,} rows: a target has few labels. Choose another column, or group "
            "its values into classes"
        )


def as_own(labels: Strings, own: Labels) -> Column:
    """Labels in the type that a model has them in."""
    used, codes = np.unique(labels.codes, return_inverse=True)
    known = own(np.array([labels.levels[code] for code in used.tolist()], dtype=np.str_))
    if known.dtype.kind in "iuf":
        return Numbers(known[codes], "integer" if known.dtype.kind in "iu" else "float")
    if known.dtype.kind == "b":
        return Strings(known.astype(np.int32)[codes], ["False", "True"], "boolean")
    return labels
