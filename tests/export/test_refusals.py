"""What every back end refuses, by the same words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError

from tallybayes import GaussianNB, NaiveBayes
from tallybayes.export import BACK_ENDS, ENDINGS, writer
from tallybayes.families import Dirichlet, Multinomial, Text
from tallybayes.score import NumberTerm
from tallybayes.text import TextNB

pytestmark = pytest.mark.parametrize("name", BACK_ENDS)
ROWS = pa.table({"number": [0.0, 1.0, 0.5, 2.0], "word": ["a", "b", "a", None]})
Y = ["no", "yes", "no", "yes"]


def written(model, name, **options):
    table = ["rows"] if name == "sql" else []
    return getattr(model, f"to_{name}")(*table, **options)


def test_a_model_that_is_not_fitted(name):
    with pytest.raises(NotFittedError):
        written(NaiveBayes(), name)


def test_columns_of_text(name):
    rows = pa.table({"words": ["good day", "bad night"] * 4})
    model = NaiveBayes(columns={"words": Text(n_features=64)}).fit(rows, ["a", "b"] * 4)
    rule = "column 'words' is read as text" if name == "sql" else "'words' are hashed into buckets"
    with pytest.raises(ValueError, match=rule):
        written(model, name)


def test_terms_that_a_function_makes(name):
    model = TextNB(analyzer=str.split).fit(["good day", "bad night"] * 4, ["a", "b"] * 4)
    if name == "sql":
        assert not hasattr(model, "to_sql")
        return
    with pytest.raises(ValueError, match="the terms of 'document' are made by a function"):
        written(model, name)


def test_counts_under_a_dirichlet_prior(name):
    rng = np.random.default_rng(0)
    counts = pa.table({"u": rng.poisson(2.0, 90), "v": rng.poisson(2.0, 90)})
    words = Multinomial(prior=Dirichlet(1.0), estimate="posterior")
    model = NaiveBayes(columns={("u", "v"): words}).fit(counts, rng.integers(0, 2, 90))
    with pytest.raises(ValueError, match=r"\['u', 'v'\] are read together as"):
        written(model, name)


class WithoutLaw:
    """A density of another package."""

    what = "numbers of another package"

    def log_density(self, x):
        return np.zeros((len(x), 2))


def test_a_density_without_a_law(name):
    formula = NaiveBayes().fit(ROWS, Y)._fitted().formula()
    formula = replace(formula, terms=[NumberTerm("number", None, WithoutLaw())])
    table = ["rows"] if name == "sql" else []
    with pytest.raises(ValueError, match="'number' is read as numbers of another package, which"):
        writer(name)(formula, *table)


def test_labels_that_are_no_literals(name):
    formula = NaiveBayes().fit(ROWS, Y)._fitted().formula()
    labels = np.empty(2, dtype=object)
    labels[:] = [("no", 1), ("yes", 2)]
    table = ["rows"] if name == "sql" else []
    with pytest.raises(ValueError, match=r"the label \('no', 1\) is a tuple: strings, numbers"):
        writer(name)(replace(formula, classes=labels), *table)


def test_names_of_columns(name):
    model = NaiveBayes().fit(ROWS, Y)
    with pytest.raises(ValueError, match="names= names 'colour', which is not a column"):
        written(model, name, names={"colour": "c"})
    with pytest.raises(ValueError, match="names= has the names of all 2 columns"):
        written(model, name, names=["c"])


def test_columns_without_names(name):
    model = GaussianNB().fit(np.eye(3), [0, 1, 1])
    assert written(model, name, names=["a", "b", "c"])


def test_a_file_is_written_by_its_ending(name, tmp_path):
    model = NaiveBayes().fit(ROWS, Y)
    endings = [ending for ending, of in ENDINGS.items() if of == name]
    assert bool(endings) == (name != "sql")
    for ending in endings:
        first, *others = model.export(tmp_path / f"model{ending}")
        assert first == str(tmp_path / f"model{ending}")
        assert all((tmp_path / path).stat().st_size for path in (first, *others))
    with pytest.raises(ValueError, match="the ending of a file says what is written, one of"):
        model.export(tmp_path / "model.txt")
