"""Weights of classes: the factor of a row's weight, by its label.

A model holds the weights other than 1, by label. They are resolved once, when the first rows are
counted, and stay: a row is forgotten or left out with the weight that it was counted with.

scikit-learn's ``compute_class_weight`` gives the same weights. It is not called, because it reads
the labels "0" and "1" as numbers, takes no sample weights in older versions, and needs the labels
of all rows instead of their counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import IncompatibleTallies, shown

__all__ = [
    "ChangedWeights",
    "ClassWeights",
    "balanced",
    "by_class",
    "by_label",
    "changed",
    "learnable",
    "need_known_labels",
    "need_same_class_weights",
    "resolved",
    "weighted",
]

Array = NDArray[np.float64]
ClassWeights = dict[Any, float]

PARTIAL = (
    "class_weight 'balanced' is not supported for partial_fit and learn_one. In order to use "
    "'balanced' weights, use compute_class_weight('balanced', classes=classes, y=y), where y are "
    "the labels of all rows, and pass the resulting weights as the class_weight parameter, by "
    "label; or learn without class weights and call with_class_weight('balanced') at the end."
)


def by_label(given: Any) -> ClassWeights:
    """The weights that are not 1, from a dict as a user gives it, or None.

    Raises
    ------
    ValueError
        For a weight that is not a finite number from 0 on.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ValueError(
            f"class_weight is None, 'balanced' or a dict of labels and weights, got {given!r}"
        )
    weights = {}
    for label, weight in given.items():
        try:
            number = float(weight)
        except (TypeError, ValueError):
            number = np.nan
        if not 0.0 <= number < np.inf:
            raise ValueError(
                f"class_weight gives the class {shown(label)} the weight {shown(weight)}: a weight "
                "is a finite number from 0 on"
            )
        if number != 1.0:
            weights[label.item() if isinstance(label, np.generic) else label] = number
    return weights


def by_class(weights: Mapping[Any, float], classes: NDArray[Any]) -> Array:
    """The weight of each class, (n_classes,)."""
    return np.array([weights.get(label, 1.0) for label in classes.tolist()], dtype=np.float64)


def need_known_labels(given: Any, known: Iterable[Any]) -> None:
    """Raises ValueError where a dict names a label that is not a class and leaves out one that is.

    A dict that gives every class a weight may name more, as in scikit-learn: a fold may lack a rare
    class.
    """
    if not isinstance(given, Mapping):
        return
    known = list(known)
    unknown = set(given) - set(known)
    without = [label for label in known if label not in given]
    if unknown and without:
        raise ValueError(
            f"class_weight names {_listed(unknown)}, which no row has as its label; the classes "
            f"{_listed(without)} are not in class_weight. Name classes, as they are in y"
        )


def _listed(labels: Iterable[Any]) -> str:
    return ", ".join(sorted(map(shown, labels)))


def balanced(classes: NDArray[Any], count: Array) -> ClassWeights:
    """Weights that give all classes of which there are rows the same count, and do not change the
    count of all together: Σ count / (n_classes · count)."""
    there = count > 0.0
    weight = np.ones(len(count))
    weight[there] = count[there].sum() / (there.sum() * count[there])
    return by_label(dict(zip(classes.tolist(), weight.tolist(), strict=True)))


def resolved(
    given: Any, classes: NDArray[Any], count: Array, declared: Iterable[Any] = ()
) -> ClassWeights:
    """The weights that the parameter `class_weight` stands for.

    Parameters
    ----------
    given : None, "balanced" or dict
    classes : array (n_classes,)
    count : float64 array (n_classes,)
        Rows, or weight, of each class, before class weights.
    declared : iterable of labels
        Classes that may occur besides.

    Raises
    ------
    ValueError
        For a weight that is not a weight, or labels that are not classes.
    """
    if isinstance(given, str) and given == "balanced":
        return balanced(classes, count)
    need_known_labels(given, [*classes.tolist(), *declared])
    return by_label(given)


def weighted(
    sample_weight: Array | None,
    weights: ClassWeights,
    classes: NDArray[Any],
    codes: NDArray[np.integer[Any]],
) -> Array | None:
    """What rows of the labels ``classes[codes]`` are counted with, (n_rows,); None for weight 1."""
    if not weights:
        return sample_weight
    of_row: Array = by_class(weights, classes)[codes]
    return of_row if sample_weight is None else of_row * sample_weight


class ChangedWeights(NamedTuple):
    """Other class weights than those that rows were counted with.

    Parameters
    ----------
    weights : dict
        By label, those that are not 1.
    by_class : float64 array (n_classes,)
        Of every class.
    factor : float64 array (n_classes,)
        What the counts of a class are multiplied by.
    """

    weights: ClassWeights
    by_class: Array
    factor: Array


def changed(
    before: ClassWeights, given: Any, classes: NDArray[Any], count: Array
) -> ChangedWeights:
    """The class weights that the parameter `class_weight` stands for, in place of others.

    Parameters
    ----------
    before : dict
        By label, the weights that rows were counted with.
    given : None, "balanced" or dict
    classes : array (n_classes,)
    count : float64 array (n_classes,)
        Counts of the classes under the weights before.

    Raises
    ------
    ValueError
        For a class that was counted with weight 0, whose rows are lost.
    """
    old = by_class(before, classes)
    lost = old == 0.0
    unweighted = np.where(lost, 1.0, old)
    weights = resolved(given, classes, count / unweighted)
    new = by_class(weights, classes)
    if (new[lost] > 0.0).any():
        raise ValueError(
            f"the rows of class {classes[lost & (new > 0.0)].tolist()[0]!r} were counted with "
            "weight 0, so that nothing is known of them: fit with other class weights"
        )
    return ChangedWeights(weights, new, new / unweighted)


def learnable(given: Any, held: ClassWeights | None) -> ClassWeights:
    """The weights that more rows are counted with, under the parameter `class_weight` as it is now.

    Parameters
    ----------
    given : None, "balanced" or dict
    held : dict, optional
        What rows before were counted with; None if there are none.

    Raises
    ------
    ValueError
        For "balanced", for a weight that is not a weight, or for others than those of the rows
        before.
    """
    if given is None and not held:
        return {}
    if isinstance(given, str) and given == "balanced":
        raise ValueError(PARTIAL)
    now = by_label(given)
    if held is not None and now != held:
        raise ValueError(
            f"class_weight is {now or None} by now, but rows were counted with {held or None}: "
            "set class_weight to class_weight_, the weights that rows were counted with, or weigh "
            "the rows anew with with_class_weight"
        )
    return now


def need_same_class_weights(mine: ClassWeights, theirs: ClassWeights) -> None:
    """Raises IncompatibleTallies where two models have counted with other class weights."""
    differing = [
        f"{label!r} {mine.get(label, 1.0):.6g} here and {theirs.get(label, 1.0):.6g} there"
        for label in sorted({*mine, *theirs}, key=repr)
        if mine.get(label, 1.0) != theirs.get(label, 1.0)
    ]
    if differing:
        raise IncompatibleTallies(
            f"the models have counted with different class weights: {', '.join(differing)}. Bring "
            "one of them to the weights of the other first: with_class_weight(other.class_weight_)"
        )
