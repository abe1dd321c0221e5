"""The best class of a table's rows: that of the joint log-likelihood, however it is found."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tallybayes import NaiveBayes
from tallybayes.errors import RuledOutWarning
from tallybayes.families import Binned, Gaussian


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
