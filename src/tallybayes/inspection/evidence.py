"""The evidence of a table: log P(labels) + Σ_j log p(column j | labels), parameters integrated out.

Every term has a closed form: the Dirichlet-multinomial (class counts, levels, bins, groups of
counts), Gamma-Poisson and normal-inverse-gamma. By the chain rule it is the sum of the logarithms
with which each row, in turn, is predicted by the rows before it. MacKay (2003), chapter 28.
"""

from __future__ import annotations

from scipy.special import xlogy

from tallybayes.families.contract.density import class_evidence
from tallybayes.models.table import TableModel
from tallybayes.parameters import ImproperPrior
from tallybayes.tally import GridCounts

__all__ = ["table_evidence"]


def table_evidence(model: TableModel) -> float:
    """log P of everything that was counted, in nats.

    Raises
    ------
    AttributeError
        If a column, or the class prior, has no proper prior.
    """
    if not len(model.schema.classes):  # everything was forgotten: nothing is to be explained
        return 0.0
    total = _of_classes(model)
    for part in model.parts:
        try:
            for evidence in part.log_evidence(_grid(part.columns, model)):
                total += evidence
        except ImproperPrior as error:
            columns = part.columns
            who = f"the group {columns!r}" if len(columns) > 1 else f"column {columns[0]!r}"
            raise _improper(f"{who} {error.what}", error.instead) from None
    return total


def _improper(what: str, instead: str) -> AttributeError:
    return AttributeError(
        f"log_evidence_ needs a proper prior of every column, but {what}: {instead}"
    )


def _of_classes(model: TableModel) -> float:
    count = model.tally.classes.count
    if model.prior.given is not None:
        return float(xlogy(count, model.prior.given).sum())
    alpha = model.prior.strength(model.tally.classes)
    if alpha == 0.0:
        raise _improper("the class prior is not smoothed", "give class_alpha above 0")
    return class_evidence(count, alpha)


def _grid(columns: tuple[str, ...], model: TableModel) -> GridCounts | None:
    """The values of a column of numbers."""
    for group, tally in zip(model.tally_read.schema.groups, model.tally_read.groups, strict=True):
        if group.key == (columns, "grid"):
            assert isinstance(tally, GridCounts)
            return tally
    return None
