"""Equal answers: ours against the peer's, before a time is reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.speed.case import Dataset

__all__ = ["WrongAnswer", "close", "same_fit", "same_labels", "same_predict"]

BLOCK = 1 << 23  # cells compared at a time: some models hold 10⁸ numbers

# what a model has learned, by the name of its class
LEARNED = {
    "GaussianNB": ("class_count_", "class_prior_", "theta_", "var_"),
    "MultinomialNB": ("class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_"),
    "ComplementNB": ("class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_"),
    "BernoulliNB": ("class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_"),
    "CategoricalNB": ("class_count_", "class_log_prior_", "category_count_", "feature_log_prob_"),
}


class WrongAnswer(Exception):
    """Our answer is not the peer's."""


def close(name: str, theirs: Any, ours: Any, rtol: float) -> None:
    """Compares two arrays, or two lists of arrays.

    Parameters
    ----------
    name : str
        What the numbers are, for the message.
    theirs, ours : array or list of arrays
    rtol : float
        Largest relative difference; as much is allowed absolutely, beside numbers around 1.

    Raises
    ------
    WrongAnswer
        If they differ in shape, or in a number.
    """
    if isinstance(theirs, list):
        if len(theirs) != len(ours):
            raise WrongAnswer(f"{name}: {len(ours)} columns instead of {len(theirs)}")
        for j, (their, our) in enumerate(zip(theirs, ours, strict=True)):
            close(f"{name}[{j}]", their, our, rtol)
        return
    theirs, ours = np.asarray(theirs), np.asarray(ours)
    if theirs.shape != ours.shape:
        raise WrongAnswer(f"{name}: shape {ours.shape} instead of {theirs.shape}")
    step = max(1, BLOCK // max(1, theirs[:1].size))
    for i in range(0, len(theirs), step):
        their, our = theirs[i : i + step], ours[i : i + step]
        wrong = ~np.isclose(our, their, rtol=rtol, atol=rtol)
        if wrong.any():
            at = tuple(int(k) for k in np.argwhere(wrong)[0])
            place = (at[0] + i, *at[1:])
            raise WrongAnswer(f"{name}{list(place)}: {our[at]} instead of {their[at]}")


def same_models(theirs: Any, ours: Any, rtol: float) -> None:
    """Compares what two models have learned: classes, counts and log-probabilities.

    Raises
    ------
    WrongAnswer
    """
    if not np.array_equal(theirs.classes_, ours.classes_):
        raise WrongAnswer("classes_ differ")
    for name in LEARNED[type(ours).__name__]:
        close(name, getattr(theirs, name), getattr(ours, name), rtol)


def same_labels(theirs: Any, ours: Any, X: Any, rtol: float) -> None:
    """Compares predictions. A row may differ where the peer's own scores of both labels are equal.

    Parameters
    ----------
    theirs, ours : fitted models
    X : array or sparse matrix (n_rows, n_features)
    rtol : float
        Relative difference of joint log-likelihoods up to which two classes are equal.

    Raises
    ------
    WrongAnswer
    """
    expected, got = theirs.predict(X), ours.predict(X)
    if expected.shape != got.shape:
        raise WrongAnswer(f"predict: shape {got.shape} instead of {expected.shape}")
    rows = np.flatnonzero(expected != got)
    if not len(rows):
        return
    scores = theirs.predict_joint_log_proba(X[rows[:1000]])
    for row, score in zip(rows, scores, strict=False):
        best = score[np.searchsorted(theirs.classes_, expected[row])]
        other = score[np.searchsorted(theirs.classes_, got[row])]
        if not np.isclose(best, other, rtol=rtol, atol=rtol):
            raise WrongAnswer(
                f"predict, row {row}: {got[row]} instead of {expected[row]}, whose "
                f"log-likelihoods are {other} and {best}; {len(rows)} rows differ"
            )


def same_fit(peer: type, ours: type, rtol: float = 1e-9) -> Callable[[Dataset], None]:
    """A check: both learn the same from the data."""

    def check(data: Dataset) -> None:
        same_models(data.fitted(peer), data.fitted(ours), rtol)

    return check


def same_predict(peer: type, ours: type, rtol: float = 1e-9) -> Callable[[Dataset], None]:
    """A check: both predict the same labels for the training rows."""

    def check(data: Dataset) -> None:
        same_labels(data.fitted(peer), data.fitted(ours), data.X, rtol)

    return check
