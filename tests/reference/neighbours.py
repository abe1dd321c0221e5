"""Counts over neighbouring cells, by running sums as the kernel takes them."""

import numpy as np

__all__ = ["neighbour_sums"]


def neighbour_sums(counts, at, width):
    """Sums by a triangular kernel of each width over the first cells, which lie at `at`."""
    n, width = len(at), width[:, None]
    sums = np.zeros((n + 1, 2, counts.shape[1]))  # of rows, and of where they lie
    np.cumsum(np.stack([counts[:n], at[:, None] * counts[:n]], axis=1), axis=0, out=sums[1:])
    begin = np.searchsorted(at, at - width)
    end = np.searchsorted(at, at + width, side="right")
    upto = sums[1:]
    left, right = upto - sums[begin], sums[end] - upto
    here = (at / width)[:, :, None]
    apart = (right[:, :, 1] - left[:, :, 1]) / width[:, :, None]
    found = np.tile(counts, (len(width), 1, 1))
    found[:, :n] = (1.0 - here) * left[:, :, 0] + (1.0 + here) * right[:, :, 0] - apart
    return found
