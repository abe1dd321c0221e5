"""τ, the class shares and the power of a document's length, by the leave-one-out log-loss."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.threads import get_num_threads
from tallybayes.families.text.ratios import GroupCounts, TermTable, length_factor
from tallybayes.progress import steps
from tallybayes.tokens.rows import Documents
from tallybayes.weighted.documents.bin_weights import BinWeights, learn_bin_weights

__all__ = ["POWERS", "SHARES", "TAUS", "Reading", "choose_reading"]

Array = NDArray[np.float64]

TAUS = (0.3, 0.1, 1.0, 3.0)
SHARES = ("mass", "docs")
POWERS = (0.0, 0.5, 1.0)
TOLERANCE = 1e-6  # of a comparison, in nats a document


class Reading(NamedTuple):
    """How ratios are read from counts.

    Parameters
    ----------
    tau : float
        Smoothing, in documents.
    share : str
        What the shares of the classes are of: all counts ("mass") or the documents ("docs").
    power : float
        Sums are multiplied by (length / mean length)^−power.
    mean_length : float
    """

    tau: float
    share: str
    power: float
    mean_length: float

    def left_out(
        self,
        table: TermTable,
        documents: Documents,
        tf: NDArray[np.float32],
        y: NDArray[np.int32],
        counted: Array | None = None,
        length: Array | None = None,
        groups: GroupCounts | None = None,
    ) -> Array:
        """The leave-one-out sums of documents that are counted, by these weights or else by 1,
        float64 (n_documents, n_classes, n_bins); `length` where they have not all of their terms,
        `groups` where each is left out with its group.
        """
        share, threads = table.share(self.share), get_num_threads()
        given = documents, tf, self.tau, share, y, counted
        sums = table.sums(*given, groups=groups, threads=threads)
        if length is None and groups is not None:
            length = table.length_without(documents, tf, groups)
        elif length is None:
            length = documents.length(tf)
        sums *= length_factor(length, self.mean_length, self.power)[:, None, None]
        return sums

    def factor(self, documents: Documents, tf: NDArray[np.float32]) -> Array:
        """The factor of each document's sums, by its length, float64 (n_documents,)."""
        return length_factor(documents.length(tf), self.mean_length, self.power)


def choose_reading(
    table: TermTable,
    documents: Documents,
    y: NDArray[np.int32],
    weight: Array,
    counted: Array | None = None,
    length: Array | None = None,
    groups: GroupCounts | None = None,
) -> tuple[Reading, BinWeights]:
    """The reading of the least penalised leave-one-out log-loss, and its weights.

    The shares are chosen at the first τ, then τ at these shares, the power each time.

    Parameters
    ----------
    table : TermTable
        Which counts these documents.
    documents : Documents
    y : int32 array (n_documents,)
    weight : float64 array (n_documents,)
        The weight of each document.
    counted : float64 array (n_documents,), optional
        What each was counted with; 1 by default.
    length : float64 array (n_documents,), optional
        Their lengths, where `documents` has not all of their terms.
    groups : GroupCounts, optional
        Each is left out with its group.
    """
    tf = documents.tf
    if length is None:
        length = documents.length(tf)
    mean_length = float(weight @ length / weight.sum())
    at = BinWeights.start(table.n_bins, table.n_classes)
    best = (np.inf, Reading(TAUS[0], SHARES[0], POWERS[0], mean_length), at)
    candidates = [(TAUS[0], share) for share in SHARES]
    with steps("ways to read terms", len(SHARES) + len(TAUS) - 1) as tick:
        for _ in range(2):
            for tau, share in candidates:
                of_class = table.share(share)
                given = documents, tf, tau, of_class, y, counted
                sums = table.sums(*given, groups=groups, threads=get_num_threads())
                for power in POWERS:
                    shrunk = sums * length_factor(length, mean_length, power)[:, None, None]
                    at, loss = learn_bin_weights(
                        shrunk, y, weight, at, tolerance=TOLERANCE, shares=True
                    )
                    if loss < best[0]:
                        best = (loss, Reading(tau, share, power, mean_length), at)
                tick()
            candidates = [(tau, best[1].share) for tau in TAUS[1:]]
    return best[1], best[2]
