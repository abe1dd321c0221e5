"""WeightedNaiveBayes asked about one row as a dict: the answers for the row as a table."""

from __future__ import annotations

import datetime as dt
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallybayes import NaiveBayes, WeightedNaiveBayes
from tallybayes.errors import MixedColumnWarning, StaleWarning, TallyWarning, UnseenWarning
from tallybayes.families import Text

N = 300
DAYS = pd.date_range("2020-01-01", periods=50).to_pydatetime()


def table(seed, n=N, n_classes=3):
    """Numbers, strings, booleans, both in one column, dates, and two columns that tell together."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, n_classes, n), rng.integers(0, n_classes, n)
    y = np.where(rng.random(n) < 0.2, rng.integers(0, n_classes, n), (a + b) % n_classes)
    columns = {
        "number": np.where(rng.random(n) < 0.1, np.nan, rng.normal(y)),
        "count": rng.poisson(1.0 + y),
        "level": np.array(["u", "v", "w", None], dtype=object)[np.minimum(rng.poisson(y), 3)],
        "flag": rng.random(n) < 0.2 + 0.2 * y,
        "first": np.array(["p", "q", "r"])[a],
        "second": b + 0.5,
        "both": [float(x) if x < 3.0 else "many" for x in rng.poisson(1.0 + y).tolist()],
        "day": [DAYS[i] for i in np.minimum(rng.poisson(3.0 + y), 49)],
    }
    return pd.DataFrame(columns), np.array(["no", "perhaps", "yes"])[y]


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def model(request):
    return fitted(request.param, request.param, interactions=3)[0]


def fitted(seed, n_classes=3, **options):
    x, y = table(seed, n_classes=n_classes)
    with pytest.warns(MixedColumnWarning, match="'both'"):
        return WeightedNaiveBayes(**options).fit(x, y), x, y


def as_rows(x):
    """The rows as dicts of Python's own values."""
    return [
        {name: getattr(value, "item", lambda v=value: v)() for name, value in row.items()}
        for row in x.to_dict("records")
    ]


def need_the_same(model, row):
    """What is answered for one row is what is predicted for a table of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TallyWarning)
        proba = model.predict_proba([row])[0]
        shares = model.predict_proba_one(row)
        assert list(shares) == model.classes_.tolist()
        np.testing.assert_allclose(list(shares.values()), proba, rtol=1e-13)
        best = model.predict_one(row)
        assert best == model.predict([row])[0] or np.ptp(np.sort(proba)[-2:]) < 1e-13


def refusal(ask, rows):
    """The type and message of the error; None where there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TallyWarning)
        try:
            ask(rows)
        except ValueError as error:
            return type(error), str(error)
    return None


def test_it_is_compiled(model):
    """With its pairs; and rows are scored without a table, as the next tests compare."""
    assert model.interactions_ == [("first", "second")]
    assert model._fitted().row_scorer is not None


def test_rows_of_a_table(model):
    for row in as_rows(table(9)[0]):
        need_the_same(model, row)


VALUES = st.one_of(
    st.none(),
    st.floats(-1e9, 1e9),
    st.integers(-5, 10),
    st.booleans(),
    st.sampled_from(["u", "v", "p", "q", "many", "new", "True", "0", "1", "1.0", "", "nan"]),
    st.sampled_from([np.nan, np.float32(1.5), np.int64(2), np.bool_(True), pd.NA]),
    st.sampled_from([DAYS[3], DAYS[40].date(), np.datetime64("2020-02-01")]),
)
NAMES = ["number", "count", "level", "flag", "first", "second", "both", "day", "unknown", 7]


@settings(max_examples=300)
@given(row=st.dictionaries(st.sampled_from(NAMES), VALUES))
def test_any_row(model, row):
    """The same answer, or the same refusal."""
    refused = refusal(model.predict_proba, [row])
    if refused is None:
        need_the_same(model, row)
        return
    for ask in (model.predict_one, model.predict_proba_one):
        assert refusal(ask, row) == refused


@pytest.mark.parametrize("kind", [NaiveBayes, WeightedNaiveBayes])
@pytest.mark.parametrize("value", [0, 1, 1.0, np.int8(0), 2, "0", "1", "True", "yes", True, None])
def test_values_among_booleans(kind, value):
    """The number 0 is False, its digit as a string is another level."""
    x, y = table(8)
    model = kind().fit(x[["flag", "number"]], y)
    assert model._fitted().row_scorer is not None
    need_the_same(model, {"flag": value})


@pytest.mark.parametrize("kind", [NaiveBayes, WeightedNaiveBayes])
def test_a_row_in_the_middle_of_another(kind):
    """A value that asks the model while it is read, as another thread may."""
    x, y = table(8)
    model = kind().fit(x[["number", "level", "count"]], y)
    inner, found = {"number": -3.0, "level": "w"}, []

    class Asking(Fraction):
        def __float__(self):
            found.append((model.predict_one(inner), model.predict_proba_one(inner)))
            return 2.0

    outer = {"level": "u", "number": Asking(2), "count": 5}
    plain = outer | {"number": 2.0}
    assert model.predict_proba_one(outer) == model.predict_proba_one(plain)
    assert model.predict_one(outer) == model.predict_one(plain)
    right = model.predict_one(inner), model.predict_proba_one(inner)
    assert found
    assert all(one == right for one in found)


def test_the_share_of_the_class_prior_is_mixed_in(model):
    held = model._fitted()
    assert held.prior_share > 0.0
    row = as_rows(table(9)[0])[0]
    for shares in (model.predict_proba_one(row), model.predict_proba_one({"level": "u"})):
        floor = held.prior_share * held.mixed_prior
        assert (np.array(list(shares.values())) >= floor).all()


def test_a_class_prior_may_rule_a_class_out():
    model, x, _ = fitted(3, interactions=2, class_prior=[0.5, 0.0, 0.5])
    for row in as_rows(x[:40]):
        need_the_same(model, row)
        assert model.predict_proba_one(row)["perhaps"] == 0.0


def test_weights_without_rows_of_the_model():
    """What nothing could be learned of has the class prior."""
    model = WeightedNaiveBayes().fit(pd.DataFrame({"a": ["u", "u"]}), ["x", "x"])
    need_the_same(model, {"a": "u"})
    need_the_same(model, {})


def test_rows_counted_later_change_the_answers(model):
    model, x, _ = fitted(5, interactions=2)
    row = as_rows(x)[0]
    before = model.predict_proba_one(row)
    for _ in range(30):
        model.learn_one(row, "no")
    with pytest.warns(StaleWarning):
        after = model.predict_proba_one(row)
    assert after["no"] > before["no"]
    need_the_same(model, row)


def test_columns_that_hold_other_values_by_now():
    """Their cells no longer fit, and the row is read as a table."""
    x, y = table(2)
    x = x[["number", "first", "second"]]
    model = WeightedNaiveBayes(interactions=1).fit(x, y)
    assert model.interactions_ == [("first", "second")]
    assert model._fitted().row_scorer is not None
    more = pd.DataFrame({"second": np.array(["s", "t"] * 1500)})
    model.partial_fit(more.assign(number=0.5, first="p"), np.array(["no", "yes"] * 1500))
    assert model._fitted().row_scorer is None
    for row in as_rows(x[:10]) + as_rows(more[:4]):
        need_the_same(model, row)


def test_columns_of_text_are_read_as_a_table():
    x, y = table(6)
    x = x[["number"]].assign(words=[f"{label} and {i % 7}" for i, label in enumerate(y)])
    model = WeightedNaiveBayes({"words": Text()}).fit(x, y)
    assert model._fitted().row_scorer is None
    for row in as_rows(x[:5]):
        need_the_same(model, row)


def test_odd_values_are_warned_of_once():
    model, _, _ = fitted(7)
    with pytest.warns(UnseenWarning, match="training had only True and False"):
        model.predict_one({"flag": "perhaps"})
    with pytest.warns(UnseenWarning, match="colour"):
        model.predict_one({"colour": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict_one({"flag": "perhaps"})
        model.predict_one({"count": 2.5, "day": dt.date(2020, 3, 1)})
