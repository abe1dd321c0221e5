"""Learning a weighting on rows, and pruning one."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.parts import TakenOut
from tallybayes.models.data_warnings import (
    WRITTEN_INDEX,
    identifies_groups,
    is_identifier,
    warn_of_groups,
    warn_of_identifier,
    warn_of_written_index,
)
from tallybayes.models.weighted import TextColumns, WeightedModel
from tallybayes.models.weighting import (
    Weighting,
    WeightingNow,
    without_rows,
)
from tallybayes.schema import are_among
from tallybayes.scoring import Figures, posterior_without
from tallybayes.tables import Empty, Table
from tallybayes.weighted.average import TextWeights, learn, learn_text_weights
from tallybayes.weighted.cells import (
    Held,
    cells_of,
    held_columns,
    in_effective_rows,
)
from tallybayes.weighted.learned import Averaged, simplified
from tallybayes.weighted.rows import (
    LearningRows,
    Observations,
    canonical,
    of_groups,
    sampled,
    thinned,
    warn_of_copies,
    without_copies,
)
from tallybayes.weighted.search import FitOptions
from tallybayes.weighted.ways import mixed, prior_share

__all__ = ["LeftOutRows", "learned_weighting", "simplified_weighting"]


Array = NDArray[np.float64]
Index = NDArray[np.intp]

MAX_SAMPLE_ROWS = 4_000
MAX_PRUNING_ROWS = 25_000  # rows that a simplification looks at


class LeftOutRows(NamedTuple):
    """Predictions of the learning rows by fits that left them out.

    Parameters
    ----------
    rows : index array (n_rows,)
        Ascending places among the rows that were given.
    log_proba : float64 array (n_rows, n_learned)
        Of the classes that have rows.
    weight : float64 array (n_rows,)
    of_terms : float64 array (n_rows, n_learned)
        The same before the class prior is mixed in, the row's own class with what the mean of all
        fits gains over the one that left it out.
    """

    rows: Index
    log_proba: Array
    weight: Array
    of_terms: Array


def _log_prior(model: WeightedModel, prior_is_given: bool, present: Index) -> Array:
    """The log-prior that learned class offsets are relative to."""
    rows = model.tally.classes.count[present]
    return np.log(rows / rows.sum()) if prior_is_given else model.log_prior[present]


def learned_weighting(
    model: WeightedModel,
    options: FitOptions,
    x: Table,
    own: Index,
    weight: Array,
    groups: Index | None = None,
    *,
    prior_is_given: bool,
) -> tuple[Weighting, WeightingNow, LeftOutRows] | None:
    """The weighting fitted on rows, alone and under the model's counts, and how the fits predict
    the rows that they left out; None for rows of less than two classes.

    Parameters
    ----------
    model : WeightedModel
    options : FitOptions
    x : Table
        Rows that were counted.
    own : index array (n_rows,)
        The class of each row.
    weight : float64 array (n_rows,)
        Above 0.
    groups : index array (n_rows,), optional
        Rows of a group are left out together.
    prior_is_given : bool
        Whether the class prior is not that of the counts.
    """
    counts = model.tally.classes.count
    present = np.flatnonzero(counts > 0.0)
    if len(np.unique(own)) < 2:
        return None
    unit = model.tally.classes.pooled_row_weight
    out = _left_out(model, held_columns(model.tally_read, present, unit), counts.sum() / unit)
    found, given, together = _observations(_without(x, out), own, weight, groups), None, None
    if found is not None:
        given, together = found.rows, found.groups
        if groups is None:
            warn_of_copies(len(own), len(given), warned=model.warned)
        unit *= _mean_row_weight(found.weight) / _mean_row_weight(weight)
        x, own, weight = x.take(given), own[given], found.weight
    classes = in_effective_rows(counts[present], unit)
    held = held_columns(model.tally_read, present, unit)
    out = _left_out(model, held, float(classes.sum()))
    used = held.keys() - out
    if groups is None:
        identifying = {
            name: int((held[name].counts.sum(axis=0) > 0.0).sum())
            for name in model.names
            if name in used and identifies_groups(held[name].counts, held[name].numbers)
        }
        warn_of_groups(identifying, float(classes.sum()), model.warned)
    columns = [cells_of(name, held, classes) for name in model.names if name in used]
    codes = np.searchsorted(present, own).astype(np.int32)
    cells = np.empty((len(columns), x.n_rows), dtype=np.int32)
    for j, column in enumerate(columns):
        cells[j] = column.codes(x.columns.get(column.name, Empty(x.n_rows)))
    effective = in_effective_rows(weight, unit)
    rows, was = canonical(
        LearningRows(cells, codes, effective, len(present), None, together), columns
    )
    learned = learn(columns, rows, classes, options)
    text, offset, judged = None, learned.offset, learned
    if model.has_text:
        text, offset, judged = _text_learned(
            model.text_columns(unit), learned, rows, was, x, own, weight, present
        )
    mixed_in = prior_share(float(classes.sum()))
    figures, confused, log_proba = _figures(judged, rows, unit, classes, mixed_in)
    at = was[judged.tested] if given is None else given[was[judged.tested]]
    order = np.argsort(at)
    tested = judged.tested[order]
    weights = unit * rows.weight[tested]
    of_mean = judged.log_proba.copy()
    if judged.log_own is not None:  # own classes as near to 1 as the mean of all fits puts them
        of_mean[np.arange(len(of_mean)), rows.y[judged.tested]] = judged.log_own
    left_out = LeftOutRows(at[order], log_proba[order], weights, of_mean[order])
    weighting = Weighting(
        learned=without_rows(learned),
        classes=model.schema.classes[present],
        shift=offset - _log_prior(model, prior_is_given, present),
        apart=np.zeros(0),
        figures=figures,
        confused=confused,
        out=out,
        unit=unit,
        prior_share=mixed_in,
        text=text,
    )
    return *_measured(weighting, model, rows), left_out


def _observations(x: Table, own: Index, weight: Array, groups: Index | None) -> Observations | None:
    """Rows that stand for all, where rows belong together or repeat; else None."""
    if groups is None:
        return without_copies(x, own, weight)
    return of_groups(x, own, weight, np.unique(groups, return_inverse=True)[1])


def _mean_row_weight(weight: Array) -> float:
    """What rows weigh, averaged over their weight: Σw² / Σw."""
    return float(weight @ weight) / float(weight.sum())


def _without(x: Table, out: Container[str]) -> Table:
    """The columns but for some."""
    columns = {name: column for name, column in x.columns.items() if name not in out}
    return Table(columns, x.n_rows, x.named)


def _text_learned(
    text_columns: TextColumns,
    learned: Averaged,
    rows: LearningRows,
    was: Index,
    x: Table,
    own: Index,
    weight: Array,
    present: Index,
) -> tuple[TextWeights, Array, Averaged]:
    """The weights of columns of text beside the cells; the class offsets of both together; and what
    was learned, with the predictions of both. `was` are the places of `rows` among those of `x`,
    `own` and `weight`."""
    ranks = [rank[was] for rank in text_columns.ranks(x)]
    judges = was[np.lexsort((*ranks, rows.weight, rows.content()))][learned.tested]
    out = TakenOut(own, weight).take(judges)
    contributions = text_columns.contributions(x.take(judges), out)[:, present]
    y, effective = rows.y[learned.tested], rows.weight[learned.tested]
    names = list(text_columns.parts)
    text, more, log_proba = learn_text_weights(
        names, contributions, learned.log_proba, y, effective
    )
    judged = replace(learned, log_proba=log_proba, gained=np.zeros(len(log_proba)), log_own=None)
    return text, text.cells * learned.offset + more, judged


def simplified_weighting(
    model: WeightedModel,
    options: FitOptions,
    x: Table,
    own: Index,
    weight: Array,
    max_terms: int,
    groups: Index | None = None,
    *,
    prior_is_given: bool,
) -> tuple[Weighting, WeightingNow]:
    """A weighting of at most `max_terms` terms, alone and under the model's counts; the other
    parameters are those of :func:`learned_weighting`."""
    before, now = model.chosen.weighting, model.now
    assert before is not None
    assert now is not None
    if before.text is not None:
        raise ValueError(
            f"column {before.text.names[0]!r} is read as text, and simplify(…) weighs tables of "
            "cells against each other: leave the text out with columns={…: None}, or keep the model"
        )
    kept = np.flatnonzero(weight > 0.0)
    x, own, weight = x.take(kept), own[kept], weight[kept]
    groups = None if groups is None else groups[kept]
    found = _observations(_without(x, before.out), own, weight, groups)
    if found is not None:
        x, own, weight = x.take(found.rows), own[found.rows], found.weight
    known = np.flatnonzero(are_among(model.schema.classes, before.classes))
    if not np.array_equal(known, now.present):
        raise ValueError(
            "other classes have rows now than when the weights were learned: call reweight(X, y) "
            "before simplify"
        )
    cells, codes = now.score.cells(x), np.searchsorted(now.present, own).astype(np.int32)
    effective = in_effective_rows(weight, before.unit)
    rows, was = canonical(LearningRows(cells, codes, effective, len(now.present)), now.columns)
    some = thinned(rows.y, rows.n_classes, MAX_PRUNING_ROWS)
    rows, was = rows.take(some), was[some]
    classes = in_effective_rows(model.tally.classes.count[now.present], before.unit)
    x, own, weight = x.take(was), own[was], weight[was]
    left = model.likelihood_without(x, own, weight)
    full = posterior_without(left, own, model.log_prior_without(own, weight))[:, now.present]
    main, log_proba = simplified(
        replace(before.learned.main, columns=now.columns),
        rows,
        classes,
        max_terms,
        by_class=options.by_class,
        penalty=options.penalty,
    )
    learned = Averaged.of_one(main, np.arange(rows.n), log_proba, before.learned.duplicates)
    learned = replace(learned, nearly=before.learned.nearly)
    of_rows = rows, before.unit, classes, before.prior_share
    figures, confused, _ = _figures(learned, *of_rows)
    increase = figures.log_loss - _figures(replace(learned, log_proba=full), *of_rows)[0].log_loss
    weighting = replace(
        before,
        learned=without_rows(learned),
        shift=learned.offset - _log_prior(model, prior_is_given, now.present),
        figures=replace(figures, log_loss_increase=increase, left_out=False),
        confused=confused,
    )
    return _measured(weighting, model, rows)


def _measured(
    weighting: Weighting, model: WeightedModel, rows: LearningRows
) -> tuple[Weighting, WeightingNow]:
    """The weighting with how far each of its terms separates the classes, on average over the rows
    or a sample, in nats; and the same under the model's counts."""
    now = model.under_counts(weighting)
    some, weight = sampled(rows.y, rows.weight, rows.n_classes, MAX_SAMPLE_ROWS)
    cells = rows.cells if len(some) == rows.n else np.ascontiguousarray(rows.cells[:, some])
    total, apart = weight.sum(), np.zeros(len(now.score.tables))
    for t in now.score.speaking:
        n = len(now.columns)
        cell = cells[t] if t < n else now.score.pairs[t - n].codes(cells)
        table = now.score.tables[t][:, now.learned]
        spread = np.append(table.max(axis=1) - table.min(axis=1), 0.0)  # which −1 reads
        apart[t] = float(weight @ spread[cell]) / total
    return replace(weighting, apart=apart), now


def _expected_variances(proba: Array, weight: Array) -> tuple[float, float]:
    """The variance over rows of the log-loss and of the accuracy, if labels were drawn from the
    predicted probabilities.

    Losses have a heavy tail: where predictions are nearly certain, a few rows decide the mean, and
    it is likely that n rows hold none of them. Their own spread is then much too small, 0 in the
    extreme; the probabilities count such rows, too.

    Parameters
    ----------
    proba : float64 array (n_rows, n_classes)
        Above 0.
    weight : float64 array (n_rows,)
    """
    total, logs = max(float(weight.sum()), 1e-300), np.log(proba)
    mean, square, right = (
        float(weight @ each) / total
        for each in (
            -np.einsum("ik,ik->i", proba, logs),
            np.einsum("ik,ik,ik->i", proba, logs, logs),
            proba.max(axis=1),
        )
    )
    return max(square - mean**2, 0.0), max(right * (1.0 - right), 0.0)


def _figures(
    learned: Averaged, rows: LearningRows, unit: float, classes: Array, mixed_in: float
) -> tuple[Figures, Array, Array]:
    """How well the rows are predicted that what was learned predicts, with so much of the class
    prior mixed in; the weight of the rows of each class that are taken for each, as of
    :class:`Weighting`; and log P of these rows."""
    y, weight = rows.y[learned.tested], rows.weight[learned.tested]
    n, total, p = np.arange(len(y)), float(weight.sum()), classes / classes.sum()
    own = learned.log_proba[n, y] + learned.gained
    loss = -np.log((1.0 - mixed_in) * np.exp(own) + mixed_in * p[y])
    proba = mixed(np.exp(learned.log_proba), p, mixed_in)
    best = proba.argmax(axis=1)
    log_loss, accuracy = (float(weight @ each) / total for each in (loss, best == y))
    spread = float(weight @ (loss - log_loss) ** 2) / total
    of_loss, of_accuracy = _expected_variances(proba, weight)
    of_loss = max(of_loss, spread)
    of_accuracy = max(of_accuracy, accuracy * (1.0 - accuracy))
    effective = total**2 / float(weight @ weight)
    figures = Figures(
        rows=total * unit,
        log_loss=log_loss,
        accuracy=accuracy,
        prior_log_loss=float(-(weight @ np.log(p)[y]) / total),
        log_loss_se=float(np.sqrt(of_loss / effective)),
        accuracy_se=float(np.sqrt(of_accuracy / effective)),
        left_out=True,
    )
    n_classes = np.intp(len(p))
    cases, of = np.unique(y * n_classes + best, return_inverse=True)
    actual, predicted = np.divmod(cases, n_classes)
    confused = np.column_stack([actual, predicted, np.bincount(of, weight * unit, len(cases))])
    return figures, confused, np.log(proba)


def _left_out(model: WeightedModel, held: Held, rows: float) -> dict[str, str]:
    """The columns that are not learned from, and why.

    Parameters
    ----------
    model : WeightedModel
    held : dict
        What is counted of each column, in effective rows.
    rows : float
        All effective rows.
    """
    out: dict[str, str] = {}
    for name in model.names:
        if name in model.reading.declared.columns_left_out:
            out[name] = "declared"
        elif model.reading.declared.is_written_index(name):
            out[name] = WRITTEN_INDEX
            warn_of_written_index(name, model.warned)
        elif name in model.reading.declared.analyzers or name in model.prose:
            continue
        elif name not in held:
            out[name] = "no value was seen"
        else:
            levels, strings, numbers = held[name]
            counts = held[name].counts
            if float(counts.sum(axis=0).max(initial=0.0)) == rows:
                out[name] = "the same in every row"
                continue
            declared = name in model.reading.declared.families
            only_strings = strings is not None and numbers is None and not declared
            if only_strings and is_identifier(counts, len(levels), len(levels)):
                out[name] = "all strings are different"
                warn_of_identifier(name, counts, model.warned)
    return out
