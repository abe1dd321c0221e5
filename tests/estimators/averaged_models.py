"""Weighted models that are means of several fits, put together by hand."""

import copy
from dataclasses import replace

import numpy as np

from tallybayes import WeightedNaiveBayes
from tallybayes.weighted.learned import Averaged

__all__ = ["averaged", "learnings"]

ASKED = (
    {"regularization": 0.3},
    {"interactions": 1, "polish": False},
    {"weights": "column"},
    {"interactions": 0},
    {"regularization": 5.0, "interactions": 3},
    {},
)


def learnings(n_parts, x, y, **of_all):
    """Models of the same counts whose weights, pairs and corrections differ: each learned without
    some of the rows and asked for something else; the last of all rows."""
    counted = WeightedNaiveBayes(parts=1, interactions=0, polish=False).fit(x, y)
    found = []
    for m, asked in enumerate(ASKED[len(ASKED) - n_parts :]):
        model = WeightedNaiveBayes(**{"parts": 1, **asked, **of_all})
        model.__dict__["_model"] = copy.copy(counted)._model
        kept = np.arange(len(y)) % 5 != m if m < n_parts - 1 else np.full(len(y), True)
        found.append(_of_tables(model.reweight(x[kept], y[kept])))
    return found


def _of_tables(model):
    """The same without smooth functions."""
    weighting = model._model.chosen.weighting
    learned = replace(weighting.learned, smooth=None, shares=np.ones(1))
    shift = weighting.shift + learned.offset - weighting.learned.offset
    model._model.chosen = replace(
        model._model.chosen, weighting=replace(weighting, learned=learned, shift=shift)
    )
    model._model.changed()
    return model


def averaged(models, shares):
    """The mean of models of the same counts."""
    weightings = [model._model.chosen.weighting for model in models]
    last = weightings[-1]
    learned = Averaged(
        columns=last.learned.columns,
        parts=[weighting.learned.main for weighting in weightings],
        shares=np.array(shares),
        tested=last.learned.tested,
        log_proba=last.learned.log_proba,
        gained=last.learned.gained,
        duplicates=last.learned.duplicates,
    )
    shift = sum(share * w.shift for share, w in zip(shares, weightings, strict=True))
    apart = np.zeros(len(learned.columns) + len(learned.pairs))
    apart[: len(last.apart)] = last.apart
    mean = copy.copy(models[-1])
    mean._model.chosen = replace(
        mean._model.chosen, weighting=replace(last, learned=learned, shift=shift, apart=apart)
    )
    mean._model.changed()
    return mean
