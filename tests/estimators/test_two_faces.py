"""Classifiers of arrays and of tables share a face, and inherit nothing that they cancel."""

from __future__ import annotations

import inspect

import pytest

import tallybayes
from tallybayes.estimators.array_base import ArrayClassifier
from tallybayes.estimators.base import TallyClassifier
from tallybayes.estimators.table_base import TableClassifier
from tallybayes.models.array import ArrayModel
from tallybayes.models.table import TableModel

ARRAYS = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"]
TABLES = ["NaiveBayes", "WeightedNaiveBayes"]


@pytest.mark.parametrize("name", ARRAYS + TABLES)
def test_a_classifier_has_one_face(name):
    kind = getattr(tallybayes, name)
    assert issubclass(kind, TallyClassifier)
    assert issubclass(kind, ArrayClassifier) == (name in ARRAYS)
    assert issubclass(kind, TableClassifier) == (name in TABLES)


@pytest.mark.parametrize("name", ARRAYS + TABLES)
def test_no_classifier_cancels_what_it_inherits(name):
    """What it defines says something, and the face that it does not have is not there."""
    kind = getattr(tallybayes, name)
    for _, method in inspect.getmembers(kind, inspect.isfunction):
        if method.__module__.startswith("tallybayes"):
            assert "raise AssertionError" not in inspect.getsource(method)
            assert not getattr(method, "__isabstractmethod__", False), method
    assert hasattr(kind, "_family") == (name in ARRAYS)


def test_a_model_of_a_table_has_no_family_of_its_own():
    assert not issubclass(TableModel, ArrayModel)
    assert not hasattr(TableModel, "group")
