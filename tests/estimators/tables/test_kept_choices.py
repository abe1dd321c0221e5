"""What columns of numbers are read as is kept in copies and in files, until counts or parameters
change; the best class is that of the joint log-likelihood.
"""

import copy
import io
import pickle

import numpy as np
import pandas as pd
import pytest

import tallybayes
from tallybayes import NaiveBayes, persistence
from tallybayes.errors import ModelFileError, RuledOutWarning
from tallybayes.families import Binned, Gaussian
from tallybayes.models import table as table_reading


def table(n=400, seed=0):
    """Columns that are read in each of the five ways, one of strings, and the classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    columns = {
        "gaussian": rng.normal(size=n) + y,
        "smooth": rng.integers(0, 6, n) + y,
        "atoms": np.where(rng.random(n) < 0.4, 0.0, rng.normal(5.0, 1.0, n) + y),
        "bins": np.where(rng.random(n) < 0.5, 1.0 + y, rng.random(n) * 1e6),
        "texts": rng.choice(list("abc"), n),
        "counts": rng.negative_binomial(2.0, 2.0 / (4.0 + 5.0 * y)),
    }
    return pd.DataFrame(columns), y


def saved(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def loaded(data):
    return tallybayes.load(io.BytesIO(data))


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "file": lambda model: loaded(saved(model)),
}


@pytest.fixture
def chosen(monkeypatch):
    """The columns that something is chosen for."""
    names = []
    choose = table_reading.ColumnReader.choose
    monkeypatch.setattr(
        table_reading.ColumnReader, "choose", lambda self, n: names.extend(n) or choose(self, n)
    )
    return names


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("parameters", [{}, {"alpha": "auto"}, {"estimate": "posterior"}], ids=str)
def test_a_copy_says_the_same_bits_and_chooses_nothing(chosen, way, parameters):
    x, y = table()
    model = NaiveBayes(**parameters).fit(x, y)
    said, schema = model.predict_proba(x), model.schema_
    assert {c.family for c in model._fitted().choices.values()} == {
        "gaussian",
        "atoms",
        "smooth",
        "bins",
        "counts",
    }
    del chosen[:]
    twin = COPIES[way](model)
    np.testing.assert_array_equal(twin.predict_proba(x), said)
    assert twin.schema_.equals(schema)
    assert chosen == []


def test_what_was_chosen_is_no_part_of_what_is_equal_or_saved():
    x, y = table()
    asked, new = NaiveBayes().fit(x, y), NaiveBayes().fit(x, y)
    asked.predict(x)
    assert asked == new
    assert saved(asked) == saved(new)


def test_choices_are_made_again_after_the_counts_or_the_prior_change(chosen):
    x, y = table()
    more, labels = table(seed=1)
    twin = loaded(saved(NaiveBayes().fit(x, y)))
    twin.partial_fit(more, labels)
    del chosen[:]
    fresh = NaiveBayes().fit(pd.concat([x, more]), np.concatenate([y, labels]))
    np.testing.assert_array_equal(twin.predict_proba(x), fresh.predict_proba(x))
    assert len(chosen) == 10
    prior = [0.98, 0.01, 0.01]
    twin = loaded(saved(NaiveBayes().fit(x, y))).with_class_prior(prior)
    del chosen[:]
    fresh = NaiveBayes(class_prior=prior).fit(x, y)
    assert twin.schema_.equals(fresh.schema_)
    np.testing.assert_array_equal(twin.predict_proba(x), fresh.predict_proba(x))
    assert len(chosen) == 10


def altered(model, change):
    """The file of a model whose arrays of choices were changed."""
    file = io.BytesIO()
    with persistence.opened(io.BytesIO(saved(model)), "model") as (header, tree):
        choices = {name: array.copy() for name, array in tree["choices"].items()}
        change(choices)
        persistence.write(file, header, {**tree, "choices": choices})
    return file.getvalue()


def test_a_file_without_choices_is_read_as_before():
    twin = loaded(altered(NaiveBayes().fit(*table()), dict.clear))
    x, y = table()
    np.testing.assert_array_equal(twin.predict_proba(x), NaiveBayes().fit(x, y).predict_proba(x))


def put(name, place, value):
    def change(arrays):
        arrays[name][place] = value

    return change


NONSENSE = {
    "a column beyond the last": put("column", 3, 9),
    "a column of strings": put("column", 3, 4),
    "a column twice": put("column", 1, 0),
    "no family": put("family", 0, 7),
    "a negative family": put("family", 0, -1),
    "atoms where there are none": put("family", 0, 1),
    "bins without a number": put("family", 0, 2),
    "a Gaussian of some width": put("width", 0, 1),
    "bins that are not a candidate": put("bins", 3, 1 << 40),
    "no number": put("likelihood", 0, np.nan),
    "a strength that is not a candidate": put("strength", 1, -1.0),
    "a width that is not a candidate": put("width", 1, 1 << 40),
    "no widths": lambda arrays: arrays.pop("width"),
    "fewer widths": lambda arrays: arrays.update({"width": np.zeros(2, dtype=np.int64)}),
    "another type": lambda arrays: arrays.update({"bins": np.zeros(4)}),
}


@pytest.mark.parametrize("change", NONSENSE.values(), ids=NONSENSE)
def test_choices_that_no_model_makes_are_refused(change):
    data = altered(NaiveBayes().fit(*table()), change)
    with pytest.raises(ModelFileError, match="choices"):
        loaded(data)


def test_a_gaussian_of_a_class_that_is_nearly_one_value_is_refused():
    """As it is not a candidate of a fresh choice."""
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"fee": np.r_[np.zeros(199), 0.001, rng.normal(5.0, 1.0, 200)]})
    model = NaiveBayes().fit(x, np.repeat([0, 1], 200))
    assert model._fitted().choices["fee"].family != "gaussian"
    assert loaded(saved(model)) == model
    gaussian = altered(model, lambda arrays: [array.fill(0) for array in arrays.values()])
    with pytest.raises(ModelFileError, match="choices"):
        loaded(gaussian)


def drawn(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c"], n, p=[0.2, 0.5, 0.3])
    k = np.searchsorted(["a", "b", "c"], y)
    x = pd.DataFrame(
        {
            "job": np.array(["cook", "nurse", "clerk", "pilot"])[rng.integers(0, 2, n) + k],
            "age": rng.normal(40 + 4 * k, 9).round(),
            "size": rng.integers(0, 9, n) + k,
        }
    )
    x.loc[rng.random(n) < 0.1, "job"] = None
    x.loc[rng.random(n) < 0.1, "age"] = np.nan
    return x, y


@pytest.mark.parametrize("age", [Binned(), Gaussian()], ids=["look-ups only", "with a density"])
@pytest.mark.parametrize("rows", [1, 63, 3000])
def test_predict_says_the_best_class_of_the_joint_log_likelihood(age, rows):
    x, y = drawn()
    model = NaiveBayes({"age": age, "size": Binned()}).fit(x, y)
    best = model.predict_joint_log_proba(x[:rows]).argmax(axis=1)
    assert model.predict(x[:rows]).tolist() == model.classes_[best].tolist()


@pytest.mark.parametrize("age", [Binned(), Gaussian()], ids=["look-ups only", "with a density"])
def test_rows_that_every_class_rules_out_get_the_class_of_the_prior(age):
    x, y = drawn()
    model = NaiveBayes({"age": age, "size": Binned()}, alpha=0.0).fit(x, y)
    unseen = x[:7].assign(job="astronaut")
    query = pd.concat([x[:5], unseen], ignore_index=True)
    with pytest.warns(RuledOutWarning, match="probability 0 to 7 of 12 rows"):
        found = model.predict(query)
    assert found[5:].tolist() == ["b"] * 7
    assert found[:5].tolist() == model.predict(x[:5]).tolist()


def test_equally_probable_classes_give_the_first():
    model = NaiveBayes().fit(pd.DataFrame({"x": ["u", "v", "u", "v"]}), ["b", "b", "a", "a"])
    assert model.predict(pd.DataFrame({"x": ["u", "v", None, "w"]})).tolist() == ["a"] * 4


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_infinity_in_a_column_of_bins_is_named(kind):
    x, y = drawn()
    model = NaiveBayes({"age": Binned(), "size": Binned()}).fit(x, y)
    x["age"] = x["age"].astype(kind)
    x.loc[1234, "age"] = -np.inf
    with pytest.raises(ValueError, match="infinity: row 1234, column 'age' holds -inf"):
        model.predict(x)
