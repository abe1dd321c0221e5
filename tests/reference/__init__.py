"""Slow, readable twins of the compiled kernels: what each of them is meant to compute.

Counts and moments are exact, in rational numbers (fractions.Fraction). Scores are float64, summed
in the order that the kernels promise, feature by feature, so that they can be compared bit for bit.
"""

from reference.bins import bin_entries
from reference.grid import count_grid
from reference.labels import count_classes, rank_labels
from reference.layouts import LAYOUTS
from reference.levels import count_levels, highest_codes
from reference.moments import (
    ExactMoments,
    add_moments,
    centre_moments,
    chunk_bounds,
    count_moments,
    rebase_moments,
    to_moments,
)
from reference.scores import (
    best_classes,
    normalise,
    score_codes,
    score_linear,
    score_quadratic,
    score_sparse,
)
from reference.strings import encode_strings
from reference.sums import count_sums, stored_rows

__all__ = [
    "LAYOUTS",
    "ExactMoments",
    "add_moments",
    "best_classes",
    "bin_entries",
    "centre_moments",
    "chunk_bounds",
    "count_classes",
    "count_grid",
    "count_levels",
    "count_moments",
    "count_sums",
    "encode_strings",
    "highest_codes",
    "normalise",
    "rank_labels",
    "rebase_moments",
    "score_codes",
    "score_linear",
    "score_quadratic",
    "score_sparse",
    "stored_rows",
    "to_moments",
]
