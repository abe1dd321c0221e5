"""Properties of an estimator, as functions that raise AssertionError.

Each takes an unfitted estimator, which is cloned and not changed, and rows to learn. An estimator
has the methods of the tallybayes classifiers: ``fit``, ``partial_fit``, ``forget``, ``merge``,
``predict`` and its kin, ``save``, and the fitted attribute ``tally_``.

    from tallybayes.testing.checks import check_every_property

    check_every_property(MyNB(), X, y)

Whole weights and whole numbers are held to bit-equal counts. Moments, and counts of fractions, are
rounded, and are held to a relative bound.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tallybayes.testing.checks.comparing import Rows
from tallybayes.testing.checks.counting import (
    check_fit_twice_is_fit_once,
    check_forget_undoes_learn,
    check_merge_equals_whole,
    check_more_than_counted_is_refused,
    check_split_and_order_do_not_matter,
    check_weights_are_repeats,
)
from tallybayes.testing.checks.predicting import (
    check_layout_does_not_matter,
    check_no_rows_kept,
    check_predictions_are_probabilities,
    check_refused_call_changes_nothing,
    check_saved_model_predicts_the_same,
    check_threads_do_not_matter,
)

__all__ = [
    "CHECKS",
    "check_every_property",
    "check_fit_twice_is_fit_once",
    "check_forget_undoes_learn",
    "check_layout_does_not_matter",
    "check_merge_equals_whole",
    "check_more_than_counted_is_refused",
    "check_no_rows_kept",
    "check_predictions_are_probabilities",
    "check_refused_call_changes_nothing",
    "check_saved_model_predicts_the_same",
    "check_split_and_order_do_not_matter",
    "check_threads_do_not_matter",
    "check_weights_are_repeats",
]

CHECKS: tuple[Callable[..., None], ...] = (
    check_forget_undoes_learn,
    check_more_than_counted_is_refused,
    check_merge_equals_whole,
    check_split_and_order_do_not_matter,
    check_fit_twice_is_fit_once,
    check_weights_are_repeats,
    check_refused_call_changes_nothing,
    check_threads_do_not_matter,
    check_layout_does_not_matter,
    check_predictions_are_probabilities,
    check_saved_model_predicts_the_same,
    check_no_rows_kept,
)


def check_every_property(estimator: Any, X: Rows, y: Rows) -> None:
    """Every one of these checks, without weights.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    X, y : arrays (n_rows, …)
        Two rows at least.

    Raises
    ------
    AssertionError
        From the first check that fails.
    """
    for check in CHECKS:
        check(estimator, X, y)
