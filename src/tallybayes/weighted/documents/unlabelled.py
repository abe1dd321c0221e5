"""Learning on partly labelled documents: λ is chosen by held-out labelled documents.

λ = 0, which counts no unlabelled document, stays unless another λ predicts labelled documents
better by more than two standard errors of the difference. The choice for the documents of a fold is
made on the other folds, with soft labels from neither of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from tallybayes.engines.threads import get_num_threads
from tallybayes.families.text.ratios import TermTable
from tallybayes.weighted.documents.bin_weights import BinWeights, learn_bin_weights
from tallybayes.weighted.documents.choice import choose_reading
from tallybayes.weighted.documents.expectation import (
    PENALTY,
    CrossFit,
    Step,
    expectation_maximisation,
)
from tallybayes.weighted.documents.held_out import FOLDS, LearningDocuments
from tallybayes.weighted.documents.learning import LearnedDocuments, finished, some_documents
from tallybayes.weighted.documents.part_labelled import Expanded, PartLabelled
from tallybayes.weighted.documents.rows import document_keys
from tallybayes.weighted.rows import twin_folds

__all__ = ["WEIGHTS", "SoftlyCounted", "Unlabelled", "choose_weight"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

WEIGHTS = (1.0, 0.125)  # λ that are tried
SALT = 11  # of the folds: those that weights are learned in
MAX_TEST_DOCUMENTS, MAX_TEST_ENTRIES = 12_000, 2_500_000  # labelled documents, and their entries
MIN_STANDARD_ERRORS = 2.0  # standard errors by which a gain exceeds chance, of the best of some ten
MIN_DOCUMENTS = 2  # documents that have a term by which soft labels are found
MAX_RATIOS = 1 << 24


class Unlabelled(NamedTuple):
    """How unlabelled documents were used.

    Parameters
    ----------
    weight : float
        λ; 0 where they are not counted.
    iterations : int
    path : float64 array (n_steps, 3)
        λ, iteration and held-out log-loss of all that was tried.
    """

    weight: float
    iterations: int
    path: Array


class SoftlyCounted(NamedTuple):
    """A λ, and the soft labels for it.

    Parameters
    ----------
    part : PartLabelled
        With all terms, in canonical order.
    fit : CrossFit
        Without those that soft labels do not need.
    step : Step
        The chosen one.
    of_fold : list of Step
        The one that the other folds choose for each.
    unlabelled : Unlabelled
    """

    part: PartLabelled
    fit: CrossFit
    step: Step
    of_fold: list[Step]
    unlabelled: Unlabelled

    @property
    def counted(self) -> Expanded:
        """What the tally counts."""
        soft = None if self.step.soft is None else self.step.soft[-1]
        return self.part.expanded(np.ones(len(self.part.y), bool), soft, self.step.weight)

    def learned(
        self, table: TermTable, kept: NDArray[np.bool_], *, ridge: bool
    ) -> LearnedDocuments:
        """Weights, and a ridge, of the counts with soft labels, learned on held-out documents.

        Parameters
        ----------
        table : TermTable
            The counts of `counted`.
        kept : bool array (n_terms,)
            The terms of the part that the table has.
        ridge : bool
        """
        with threadpool_limits(1, user_api="blas"):
            part = self.part.with_terms(kept)
            fit = self.fit._replace(part=part)
            sums = self._sums(fit, table.n_bins)
            start = BinWeights.start(table.n_bins, part.n_classes)
            weights, _ = learn_bin_weights(
                sums, fit.y, fit.weight, start, penalty=PENALTY, shares=True
            )
            documents = part.labelled.take(fit.rows)
            keys = document_keys(documents, fit.y)
            learning = LearningDocuments(documents, sums, fit.y, fit.weight, keys, PENALTY)
            return finished(table, fit.reading, learning, weights, ridge)[0]

    def _sums(self, fit: CrossFit, n_bins: int) -> Array:
        """The sums of held-out documents, by the counts without their fold; those of terms that no
        document of the fold has are not made."""
        part = fit.part
        sums = np.zeros((len(fit.rows), part.n_classes, n_bins))
        for run, step in enumerate(self.of_fold):
            at = fit.held_out(run)
            if not len(at):
                continue
            soft = None if step.soft is None else step.soft[run]
            counted = fit.fold != run
            here = np.zeros(len(part.order), dtype=bool)
            here[part.labelled.take(fit.rows[at]).terms] = True
            few = part.with_terms(here)
            table = few.table(counted, soft, step.weight)
            share = part.share(fit.reading.share, counted, soft, step.weight)
            documents = few.labelled.take(fit.rows[at])
            threads = get_num_threads()
            sums[at, :, : table.n_bins] = table.sums(
                documents, documents.tf, fit.reading.tau, share, threads=threads
            )
        sums *= fit.factor()
        return sums


def _in_canonical_order(part: PartLabelled) -> PartLabelled:
    order = np.argsort(document_keys(part.labelled, part.y), kind="stable")
    none = np.zeros(len(part.unlabelled), dtype=np.int32)
    others = np.argsort(document_keys(part.unlabelled, none), kind="stable")
    return part._replace(
        labelled=part.labelled.take(order),
        y=part.y[order],
        unlabelled=part.unlabelled.take(others),
    )


def _for_soft_labels(part: PartLabelled, orders: int) -> PartLabelled:
    """With the shortest n-grams, of so many orders, that more than one document has; the rarest of
    them not, where there are too many."""
    found = np.zeros(len(part.order), dtype=np.int64)
    for documents in (part.labelled, part.unlabelled):
        found += np.bincount(documents.terms, minlength=len(part.order))
    found[part.order >= part.order.min(initial=11) + orders] = 0
    least = MIN_DOCUMENTS
    while (found >= least).sum() * part.n_classes > MAX_RATIOS:
        least += 1
    return part.with_terms(found >= least)


def choose_weight(
    part: PartLabelled,
    weights: tuple[float, ...] = WEIGHTS,
    *,
    orders: int = 1,
    forced: bool = False,
) -> SoftlyCounted | None:
    """The λ that predicts held-out labelled documents best; None for λ = 0.

    Parameters
    ----------
    part : PartLabelled
    weights : tuple of float
        λ that are tried.
    orders : int
        Of the n-grams by which soft labels are found: the shortest.
    forced : bool
        Whether λ = 0 is none of them.
    """
    y, n_classes = part.y, part.n_classes
    several = np.bincount(y, minlength=n_classes)[y] > 1
    if n_classes < 2 or not several.any() or not len(part.unlabelled):
        return None
    with threadpool_limits(1, user_api="blas"):
        part = _in_canonical_order(part)
        fit = _cross_fit(part, orders)
        steps = expectation_maximisation(fit, weights)
        every = np.ones(len(fit.rows), dtype=bool)
        chosen = _chosen(steps, fit.weight, every, forced)
        if not chosen.iterations:
            return None
        fold = fit.fold[fit.rows]
        of_fold = [_chosen(steps, fit.weight, fold != run, forced) for run in range(FOLDS)]
        path = [(s.weight, s.iterations, fit.weight @ s.loss / fit.weight.sum()) for s in steps]
        documents = part.labelled
        mean_length = float(documents.length(documents.tf).mean())
        whole = fit._replace(reading=fit.reading._replace(mean_length=mean_length))
        done = Unlabelled(chosen.weight, chosen.iterations, np.array(path))
        return SoftlyCounted(part, whole, chosen, of_fold, done)


def _cross_fit(part: PartLabelled, orders: int) -> CrossFit:
    few = _for_soft_labels(part, orders)
    y, k, n = part.y, part.n_classes, len(part.y)
    every = np.ones(n, dtype=bool)
    most = min(MAX_TEST_DOCUMENTS, n * MAX_TEST_ENTRIES // (len(few.labelled.terms) + 1))
    rows, weight = some_documents(few.labelled, y, k, most)
    table = few.table(every, None, 0.0)
    reading, _ = choose_reading(table, few.labelled.take(rows), y[rows], weight)
    fold = twin_folds(document_keys(part.labelled, y), y, k, FOLDS, SALT)
    fold[np.bincount(y, minlength=k)[y] < 2] = -1
    judged = fold[rows] >= 0
    return CrossFit(few, fold, reading, rows[judged], weight[judged])


def _chosen(steps: list[Step], weight: Array, of: NDArray[np.bool_], forced: bool) -> Step:
    """The step of the least log-loss on some documents; the first where it does not gain more than
    two standard errors."""
    if not of.any():
        of = np.ones_like(of)
    w = weight[of] / weight[of].sum()
    if forced:
        return min(steps[1:], key=lambda step: float(w @ step.loss[of]))
    best = min(steps, key=lambda step: float(w @ step.loss[of]))
    gain = steps[0].loss[of] - best.loss[of]
    mean = float(w @ gain)
    error = float((w**2 @ (gain - mean) ** 2) ** 0.5)
    return best if mean > MIN_STANDARD_ERRORS * error else steps[0]
