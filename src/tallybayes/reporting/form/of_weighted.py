"""Weighted models in the neutral form."""

from __future__ import annotations

import numpy as np

from tallybayes.models.weighted.model import WeightedModel
from tallybayes.models.weighted.terms import coarse_labels
from tallybayes.reporting.form.form import Form, Link
from tallybayes.reporting.form.readers import ColumnReader
from tallybayes.reporting.form.terms import CellTerm, PairTerm, Term
from tallybayes.weighted.cells import ColumnCells

__all__ = ["form_of_weighted"]


def form_of_weighted(model: WeightedModel) -> Form:
    """The form of a :class:`tallybayes.WeightedNaiveBayes`."""
    score = model.score
    columns = [_reader(column) for column in score.columns]
    terms: list[Term] = []
    for t in score.speaking:
        table = np.asarray(score.tables[t])
        if t < len(columns):
            terms.append(CellTerm((t,), table))
            continue
        pair = score.pairs[t - len(columns)]
        places = (pair.first, pair.second)
        one, other = (
            coarse_labels(score.columns[place], codes)
            for place, codes in zip(places, pair.maps, strict=True)
        )
        terms.append(PairTerm(places, pair.maps, pair.sizes, table, (one, other)))
    share = model.prior_share
    link = Link(model.log_prior.copy(), None, model.mixed_prior if share else None, share)
    return Form(score.offset.copy(), columns, terms, link, list(score.text_parts))


def _reader(column: ColumnCells) -> ColumnReader:
    return ColumnReader(
        name=column.name,
        missing=column.n_cells - 1,
        starts=column.starts if column.is_number else None,
        levels={level: column.n_numbers + i for i, level in enumerate(column.levels or ())},
    )
