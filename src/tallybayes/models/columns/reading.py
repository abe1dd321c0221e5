"""How a tally of columns is read, and the reading of each column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from tallybayes.families.contract import Criterion
from tallybayes.families.priors import Estimate
from tallybayes.models.columns.declarations import Declared
from tallybayes.parameters import Unseen

__all__ = ["ColumnReading", "Reading"]


class Reading(NamedTuple):
    """How a tally is read, beside the class prior.

    Parameters
    ----------
    declared : Declared
    alpha : float or {"evidence", "loo_likelihood", "loo_log_loss"}
        Smoothing: of declared families in rows of weight 1, of others and of bins in effective
        rows; or how it is chosen, for each column or, by "loo_log_loss", on rows. Then it begins at
        one effective row.
    estimate : {"mean", "map", "mle", "posterior"}
        For columns that are not declared.
    unseen : {"smooth", "ignore", "error"}
    missing : {"ignore", "level"}
    scale : float
        What alpha was multiplied by on rows, families and bins as they are.
    """

    declared: Declared
    alpha: float | Criterion | Literal["loo_log_loss"]
    estimate: Estimate
    unseen: Unseen
    missing: str
    scale: float = 1.0


@dataclass(frozen=True, eq=False)
class ColumnReading:
    """One column as the model reads it.

    Parameters
    ----------
    name : str
    holds : str
        "strings", "numbers", "numbers and strings", "counts" or "nothing yet".
    family : str
    why : str
    part : Part, CorrelatedPart or Term, optional
        None for a column that does not count; columns of a group share one.
    alpha : float or None
        The strength of smoothing, in rows of weight 1, where it follows the model's or was chosen.
    brief : str
        The family in fewer words, where `family` is long.
    is_usual : bool
        Whether `why` is the rule for such columns, and needs no remark.
    """

    name: str
    holds: str
    family: str
    why: str
    part: Any
    alpha: float | None = None
    brief: str = ""
    is_usual: bool = False
