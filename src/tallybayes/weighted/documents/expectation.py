"""Soft labels by expectation maximisation, cross-fitted.

The labelled documents are divided into folds. A separate run for each fold, and one for all, starts
from the counts of the labelled documents without the fold, labels the unlabelled documents softly,
adds them with the weight λ, and repeats. In every iteration the weights of the bins are learned on
the documents of each fold, scored by the run without them. This calibrates the posteriors of the
runs, which plain naive Bayes would make overconfident. The label of a document influences the soft
labels that judge it only through these ten weights.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from tallybayes.families.text.ratios import BINS
from tallybayes.tokens.rows import Documents
from tallybayes.weighted.documents.bin_weights import BinWeights, learn_bin_weights
from tallybayes.weighted.documents.choice import Reading
from tallybayes.weighted.documents.dense_ratios import DenseRatios, Matrices
from tallybayes.weighted.documents.held_out import FOLDS
from tallybayes.weighted.documents.part_labelled import PartLabelled, SoftLabels

__all__ = ["PENALTY", "CrossFit", "Step", "expectation_maximisation"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

PENALTY = 5.0  # of the weights of bins, which few labelled documents have to carry
MAX_ITERATIONS = 5
TOLERANCE = 0.05  # of the posteriors of a document, summed over the classes: below it, it stops
STOP_RATIO = 1.1  # times the least log-loss so far: it stops above


class Step(NamedTuple):
    """One iteration.

    Parameters
    ----------
    weight : float
        λ.
    iterations : int
    soft : list of csr_array, optional
        R that is counted: of the run without each fold, and of the run with all. None where
        nothing is.
    loss : float64 array (n_rows,)
        −log P of each held-out document, by weights that were learned on the other folds.
    """

    weight: float
    iterations: int
    soft: list[SoftLabels] | None
    loss: Array


class CrossFit(NamedTuple):
    """Labelled documents in folds.

    Parameters
    ----------
    part : PartLabelled
    fold : index array (n_labelled,)
        −1 for documents that are in all runs.
    reading : Reading
    rows : index array (n_rows,)
        The documents that are judged: each is in a fold.
    weight : float64 array (n_rows,)
        What each stands for.
    """

    part: PartLabelled
    fold: Index
    reading: Reading
    rows: Index
    weight: Array

    @property
    def y(self) -> NDArray[np.int32]:
        """The classes of the documents that are judged."""
        return self.part.y[self.rows]

    def held_out(self, run: int) -> Index:
        """The places among `rows` of the documents of a fold."""
        return np.flatnonzero(self.fold[self.rows] == run)

    def of_fold(self, run: int) -> Documents:
        """The documents that are judged of a fold."""
        return self.part.labelled.take(self.rows[self.held_out(run)])

    def factor(self) -> Array:
        """What the sums of the judged documents are multiplied by for their length, (n_rows, 1,
        1)."""
        documents = self.part.labelled.take(self.rows)
        return self.reading.factor(documents, documents.tf)[:, None, None]

    def log_proba(self, sums: Array, start: BinWeights) -> Array:
        """log P of each judged document, by weights of the other folds, float64 (n_rows,
        n_classes)."""
        found, y = np.empty(sums.shape[:2]), self.y
        for run in range(FOLDS):
            out = self.fold[self.rows] == run
            if out.any():
                weights = start
                if not out.all():
                    rest = ~out
                    weights, _ = learn_bin_weights(
                        sums[rest], y[rest], self.weight[rest], start, penalty=PENALTY, shares=True
                    )
                found[out] = log_softmax(weights.scores(sums[out]), axis=1)
        return found


class _Runs(NamedTuple):
    """The runs after a count: the ratios of each, and how well documents are scored by them."""

    step: Step
    ratios: list[DenseRatios]
    weights: BinWeights
    full: BinWeights  # for bins that no judged document has as well

    def soft_labels(self, matrices: Matrices) -> list[SoftLabels]:
        return [ratios.soft_labels(matrices.tf, self.full) for ratios in self.ratios]


def _counted(fit: CrossFit, matrices: Matrices, step: Step, start: BinWeights) -> _Runs:
    sums = np.zeros((len(fit.rows), fit.part.n_classes, BINS))
    ratios = []
    for run in range(FOLDS + 1):
        soft = None if step.soft is None else step.soft[run]
        counts = matrices.counts(fit.fold != run, soft, step.weight)
        ratios.append(DenseRatios(*counts, fit.reading))
        at = fit.held_out(run)
        if len(at):
            sums[at] = ratios[-1].sums(fit.of_fold(run))
    sums *= fit.factor()
    weights, _ = learn_bin_weights(sums, fit.y, fit.weight, start, penalty=PENALTY, shares=True)
    log_proba = fit.log_proba(sums, weights)
    loss = -log_proba[np.arange(len(fit.y)), fit.y]
    return _Runs(step._replace(loss=loss), ratios, weights, weights.filled(sums, BINS))


def expectation_maximisation(fit: CrossFit, weights: tuple[float, ...]) -> list[Step]:
    """The iterations for each λ; the first step counts no unlabelled document.

    Parameters
    ----------
    fit : CrossFit
        With few terms, all of one order: soft labels need no others.
    weights : tuple of float
        λ, each above 0.
    """
    matrices = Matrices.of(fit.part, fit.reading)
    start = BinWeights.start(BINS, fit.part.n_classes)
    zero = _counted(fit, matrices, Step(0.0, 0, None, np.zeros(0)), start)
    steps, first = [zero.step], zero.soft_labels(matrices)
    for weight in weights:
        at, soft = zero, first
        losses = [float(fit.weight @ zero.step.loss)]
        for iteration in range(1, MAX_ITERATIONS + 1):
            at = _counted(fit, matrices, Step(weight, iteration, soft, np.zeros(0)), at.weights)
            steps.append(at.step)
            losses.append(float(fit.weight @ at.step.loss))
            if iteration == MAX_ITERATIONS or losses[-1] > STOP_RATIO * min(losses):
                break
            before, soft = soft, at.soft_labels(matrices)
            if abs(soft[-1] - before[-1]).sum() < TOLERANCE * len(fit.part.unlabelled):
                break
    return steps
