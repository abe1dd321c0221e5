"""What a weighted model does not depend on: the unit of weights, the order of its rows, their
copies, and whether they are asked for one by one.
"""

import datetime as dt
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.class_weight import compute_sample_weight

from estimators.cases import weights_in_a_file, weights_of_a_file
from tallybayes import (
    NaiveBayes,
    WeightedNaiveBayes,
    get_num_threads,
    leave_one_out,
    load,
    set_num_threads,
)
from tallybayes.errors import (
    DependentRowsWarning,
    MixedColumnWarning,
    StaleWarning,
    TallyWarning,
    UnseenWarning,
)
from tallybayes.families import Text
from tallybayes.tables import read_table
from tallybayes.weighted.rows import row_contents, without_copies

few_columns = pytest.mark.filterwarnings("ignore:.*(no column|alone|fewer than|left out)")

FILES = Path(__file__).parents[1] / "persistence" / "files"


def mixed(n, seed=0, n_classes=2):
    """Numbers, strings, missing values, a pair, a column of few values, and twins."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    a = rng.integers(0, 3, n)
    x = pd.DataFrame(
        {
            "number": np.round(rng.normal(y, 1.0), 2),
            "a": np.array(list("uvw"))[a],
            "b": np.array(list("pqr"))[np.where(rng.random(n) < 0.8, (a + y) % 3, a)],
            "few": rng.integers(0, 3, n),
            "noise": rng.normal(size=n),
        }
    )
    x.loc[rng.random(n) < 0.1, "number"] = np.nan
    x.loc[rng.random(n) < 0.1, "a"] = None
    again = rng.integers(0, n, n // 10)
    return pd.concat([x, x.iloc[again]], ignore_index=True), np.append(y, y[again])


X, Y = mixed(900)
MORE, MORE_Y = mixed(300, 1)


def log_loss(model, x, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StaleWarning)
        log_proba = model.predict_log_proba(x)
    return -log_proba[np.arange(len(y)), np.searchsorted(model.classes_, y)].mean()


def same_model(one, other):
    """Whether two models are the same to the last bit."""
    np.testing.assert_array_equal(one.predict_log_proba(MORE), other.predict_log_proba(MORE))
    a, b = one._model.chosen.weighting, other._model.chosen.weighting
    if a is None:  # of one class there is nothing to learn
        assert b is None
        return
    tables = zip(one._model.score.tables, other._model.score.tables, strict=True)
    assert all(s.tobytes() == t.tobytes() for s, t in tables)
    assert a.shift.tobytes() == b.shift.tobytes()
    assert a.apart.tobytes() == b.apart.tobytes()
    assert (a.figures, a.names, a.unit) == (b.figures, b.names, b.unit)


# ---- the unit of weights -------------------------------------------------------------------------
@few_columns
@pytest.mark.parametrize("factor", [2.0, 10.0, 1000.0, 0.001])
def test_a_common_factor_of_all_weights_changes_nothing(factor):
    model = WeightedNaiveBayes().fit(X, Y)
    other = WeightedNaiveBayes().fit(X, Y, sample_weight=np.full(len(Y), factor))
    assert other.log_loss_ == model.log_loss_
    np.testing.assert_array_equal(other.predict_log_proba(MORE), model.predict_log_proba(MORE))
    np.testing.assert_allclose(other.class_count_, factor * model.class_count_)
    assert other._model.chosen.weighting.figures.rows == pytest.approx(factor * len(Y))


@few_columns
def test_weights_that_say_nothing_cost_little():
    """As survey weights do: they vary, and have nothing to do with the class."""
    model = WeightedNaiveBayes().fit(X, Y)
    weight = 1e5 * np.random.default_rng(0).lognormal(sigma=0.6, size=len(Y))
    other = WeightedNaiveBayes().fit(X, Y, sample_weight=weight)
    assert log_loss(other, MORE, MORE_Y) < log_loss(model, MORE, MORE_Y) + 0.02
    assert other.log_loss_ > log_loss(other, MORE, MORE_Y) - 0.1  # and no figure is too good


@few_columns
@pytest.mark.parametrize("seed", [0, 2, 5])
def test_balanced_weights_suit_a_rare_class(seed):
    x, y = make_classification(4000, 8, weights=[0.95], random_state=seed)
    x, other_x, y, other_y = train_test_split(x, y, train_size=1000, random_state=0, stratify=y)
    weight = compute_sample_weight("balanced", y)
    ours = WeightedNaiveBayes().fit(x, y, sample_weight=weight).predict(other_x)
    theirs = GaussianNB().fit(x, y, sample_weight=weight).predict(other_x)
    plain = WeightedNaiveBayes().fit(x, y).predict(other_x)
    found = [balanced_accuracy_score(other_y, p) for p in (ours, theirs, plain)]
    assert found[0] >= max(found[1:])


@few_columns
def test_rows_of_weight_0_are_no_rows():
    kept = np.arange(len(Y)) % 3 > 0
    some = WeightedNaiveBayes().fit(X, Y, sample_weight=kept.astype(float))
    same_columns = X[kept].reset_index(drop=True)
    apart = WeightedNaiveBayes().fit(same_columns, Y[kept])
    np.testing.assert_allclose(some.predict_proba(MORE), apart.predict_proba(MORE), atol=1e-12)
    assert some.log_loss_ == pytest.approx(apart.log_loss_, abs=1e-12)


@few_columns
def test_the_unit_is_kept_by_updates_and_files(tmp_path):
    """Rows of weight 1000 learned later are rows, and so are those taken out; `class_alpha` is in
    units of the weights, and so a little less to them."""
    one = WeightedNaiveBayes().fit(X, Y)
    heavy = WeightedNaiveBayes().fit(X, Y, sample_weight=np.full(len(Y), 1000.0))
    heavy.save(tmp_path / "heavy.tally")
    heavy = load(tmp_path / "heavy.tally")
    weight = np.full(len(MORE_Y), 1000.0)
    found = leave_one_out(heavy, X, Y, np.full(len(Y), 1000.0))
    np.testing.assert_allclose(found, leave_one_out(one, X, Y), atol=1e-4)
    one.partial_fit(MORE, MORE_Y)
    heavy.partial_fit(MORE, MORE_Y, sample_weight=weight)
    assert log_loss(heavy, MORE, MORE_Y) == pytest.approx(log_loss(one, MORE, MORE_Y), abs=1e-3)
    both, labels = pd.concat([X, MORE]), np.append(Y, MORE_Y)
    one.reweight(both, labels)
    heavy.reweight(both, labels, np.full(len(labels), 1000.0))
    np.testing.assert_array_equal(heavy.predict_log_proba(MORE), one.predict_log_proba(MORE))
    heavy.forget(X, Y, np.full(len(Y), 1000.0))
    one.forget(X, Y)
    assert log_loss(heavy, MORE, MORE_Y) == pytest.approx(log_loss(one, MORE, MORE_Y), abs=1e-3)


@few_columns
def test_a_shorter_model_does_not_depend_on_the_unit():
    weight = np.full(len(Y), 40.0)
    one = WeightedNaiveBayes().fit(X, Y).simplify(X, Y, 2)
    heavy = WeightedNaiveBayes().fit(X, Y, sample_weight=weight).simplify(X, Y, 2, weight)
    np.testing.assert_array_equal(heavy.predict_log_proba(MORE), one.predict_log_proba(MORE))
    assert heavy.log_loss_increase_ == pytest.approx(
        one.log_loss_increase_, abs=1e-4
    )  # by class_alpha


# ---- the order of rows ---------------------------------------------------------------------------
@few_columns
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), n=st.integers(2, 400), n_classes=st.integers(1, 4))
def test_the_order_of_rows_changes_no_bit(seed, n, n_classes):
    x, y = mixed(n, seed, n_classes)
    order = np.random.default_rng(seed).permutation(len(y))
    one = WeightedNaiveBayes().fit(x, y)
    same_model(WeightedNaiveBayes().fit(x.iloc[order], y[order]), one)


@few_columns
@pytest.mark.parametrize("n", [900, 16_000, 40_000])
def test_order_parts_and_threads_change_no_bit(n):
    """Of many rows weights are learned on a sample: on the same rows. Of fewer than 15,000 one
    thread learns."""
    x, y = mixed(n, 3)
    before = get_num_threads()
    set_num_threads(3)
    one = WeightedNaiveBayes().fit(x, y)
    order = np.random.default_rng(0).permutation(len(y))
    x, y = x.iloc[order].reset_index(drop=True), y[order]
    parts = np.array_split(np.arange(len(y)), [10, len(y) // 2])
    counted = NaiveBayes().fit(x.iloc[parts[0]], y[parts[0]])
    for part in parts[1:]:
        counted.partial_fit(x.iloc[part], y[part])
    try:
        set_num_threads(1)
        same_model(WeightedNaiveBayes().count_from(counted, x, y), one)
    finally:
        set_num_threads(before)


@few_columns
def test_the_order_of_columns_changes_rounding_only():
    columns = ["noise", "b", "few", "a", "number"]
    one = WeightedNaiveBayes().fit(X, Y)
    other = WeightedNaiveBayes().fit(X[columns], Y)
    assert other.log_loss_ == one.log_loss_
    np.testing.assert_allclose(other.predict_proba(MORE), one.predict_proba(MORE), atol=1e-12)


@few_columns
def test_a_shorter_model_does_not_depend_on_the_order():
    order = np.random.default_rng(0).permutation(len(Y))
    model = WeightedNaiveBayes().fit(X, Y)
    same_model(model.simplify(X.iloc[order], Y[order], 2), model.simplify(X, Y, 2))


# ---- leave-one-out -------------------------------------------------------------------------------
@few_columns
def test_a_file_keeps_the_unit_and_one_of_0_1_0_took_weights_as_rows():
    model = WeightedNaiveBayes().fit(X, Y, sample_weight=np.full(len(Y), 4.0))
    header, arrays = weights_in_a_file(model._model.chosen.weighting)
    assert weights_of_a_file(header, arrays).unit == 4.0
    old = load(FILES / "0.1.0" / "weighted.tally")
    assert old._model.chosen.weighting.unit == 1.0


FEW, FEW_Y = mixed(120, 2)

repeated = pytest.mark.filterwarnings("ignore::tallybayes.errors.DependentRowsWarning")


def times(x, y, n):
    return pd.concat([x] * n, ignore_index=True), np.tile(y, n)


def observations(x, y, weight=None):
    weight = np.ones(len(y)) if weight is None else weight
    return without_copies(read_table(x, 1), np.unique(y, return_inverse=True)[1], weight)


def same_predictions(one, other):
    assert one.log_loss_ == other.log_loss_
    np.testing.assert_array_equal(one.predict_proba(MORE), other.predict_proba(MORE))


@few_columns
@repeated
@pytest.mark.parametrize(("n", "options"), [(2, {}), (36, {}), (10, {"parts": 1})])
def test_copies_of_a_table_give_the_model_of_the_table(n, options):
    """The table has twins itself, so some contents occur twice as often as others."""
    model = WeightedNaiveBayes(**options).fit(*times(X, Y, n))
    same_predictions(model, WeightedNaiveBayes(**options).fit(X, Y))
    assert model.class_count_.sum() == n * len(Y)


@few_columns
@repeated
def test_an_over_sampled_class_is_one_of_more_weight():
    rare = np.flatnonzero(Y == 1)[:60]
    few = np.sort(np.append(np.flatnonzero(Y == 0), rare))
    x, y = X.iloc[few], Y[few]
    again = np.append(np.arange(len(y)), np.repeat(np.flatnonzero(y == 1), 9))
    model = WeightedNaiveBayes().fit(x.iloc[again], y[again])
    same_predictions(model, WeightedNaiveBayes().fit(x, y, np.where(y == 1, 10.0, 1.0)))


@few_columns
@repeated
@pytest.mark.parametrize("copies", ["drawn", "a part"])
def test_irregular_copies_predict_fresh_rows_about_as_well_as_the_table(copies):
    rng = np.random.default_rng(0)
    rows = np.tile(np.arange(len(Y)), 36)
    some = rng.permutation(rows)[: 8 * len(rows) // 10]
    some = rng.integers(0, len(Y), 10 * len(Y)) if copies == "drawn" else some
    model = WeightedNaiveBayes().fit(X.iloc[some], Y[some])
    table = WeightedNaiveBayes().fit(X, Y)
    assert log_loss(model, MORE, MORE_Y) < 1.03 * log_loss(table, MORE, MORE_Y)
    assert abs(model.log_loss_ - table.log_loss_) < 2.0 * table.log_loss_se_


@few_columns
@repeated
@pytest.mark.parametrize("kind", ["identifier", "text"])
def test_columns_of_identifiers_and_of_text_are_read_as_in_the_table(kind):
    x, columns = X.copy(), {}
    if kind == "identifier":
        x["id"] = [f"p{i}" for i in range(len(x))]
    else:
        words = np.random.default_rng(0).choice(["fine", "late", "kind"], (len(Y), 9))
        heard = np.random.default_rng(1).random(len(Y)) < 0.3
        ends = np.where(heard & (Y == 1), "good", "new")
        x["note"] = [" ".join([*row, end]) for row, end in zip(words, ends, strict=True)]
        columns = {"note": Text()}
    ours = WeightedNaiveBayes(columns or "auto").fit(*times(x, Y, 10))
    theirs = WeightedNaiveBayes(columns or "auto").fit(x, Y)
    assert ours.log_loss_ == pytest.approx(theirs.log_loss_, rel=1e-6)
    assert ours.schema_.family.tolist() == theirs.schema_.family.tolist()


@few_columns
@repeated
def test_weights_that_are_learned_again_and_pruned_leave_copies_out_together():
    model, table = WeightedNaiveBayes().fit(*times(X, Y, 10)), WeightedNaiveBayes().fit(X, Y)
    same_predictions(model.simplify(*times(X, Y, 10), 2), table.simplify(X, Y, 2))
    same_predictions(model.reweight(*times(X, Y, 10)), table)


@few_columns
def test_repetition_is_named():
    said = "copies of 132 observations, about 10 times.*sample_weight"
    with pytest.warns(DependentRowsWarning, match=said):
        WeightedNaiveBayes().fit(*times(FEW, FEW_Y, 10))


@few_columns
def test_copies_of_different_weights_weigh_what_they_do_together():
    x, y = times(FEW, FEW_Y, 4)
    weight = np.random.default_rng(0).random(len(y))
    found = observations(x, y, weight)
    assert found is not None
    of_rows = pd.Series(weight).groupby(pd.util.hash_pandas_object(x, index=False).values).sum()
    of_observations = (
        pd.Series(found.weight)
        .groupby(pd.util.hash_pandas_object(x.iloc[found.rows], index=False).values)
        .sum()
    )
    pd.testing.assert_series_equal(of_rows, of_observations)


@few_columns
def test_large_whole_numbers_are_told_apart_and_equal_whatever_their_type():
    big = np.array([2**60, 2**60 + 1, -(2**60) - 1, 5])
    contents = row_contents(read_table(pd.DataFrame({"a": big}), 1))
    assert len(set(contents.tolist())) == 4
    as_float = row_contents(read_table(pd.DataFrame({"a": [5.0, 2.0**60]}), 1))
    assert contents[[3, 0]].tolist() == as_float.tolist()


def many(rng, n):
    """Rows of which some are looked at first."""
    return pd.DataFrame({"a": rng.normal(size=n), "b": rng.integers(0, 9, n)}), rng.integers(
        0, 2, n
    )


@few_columns
@pytest.mark.parametrize("n", [1, 10])
def test_copies_are_found_among_many_rows(n):
    x, y = many(np.random.default_rng(0), 7_000)
    found = observations(*times(x, y, n))
    assert (found is None) if n == 1 else (len(found.rows) == 7_000)


@few_columns
@pytest.mark.parametrize(
    "kind", ["few levels", "labels vary", "other counts", "twins", "templates"]
)
def test_equal_rows_that_are_usual_are_not_copies(kind):
    """Of few levels, with any label, of very different frequencies, few, or of few contents."""
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.integers(0, 3, (3000, 3)), columns=list("abc"))
    y = (x.a + x.b).to_numpy() % 2
    if kind == "labels vary":
        x, y = pd.concat([X] * 10, ignore_index=True), rng.integers(0, 2, 10 * len(X))
    elif kind == "other counts":
        often = rng.geometric(0.02, len(Y))
        x, y = X.loc[np.repeat(X.index, often)].reset_index(drop=True), np.repeat(Y, often)
    elif kind == "twins":
        x, y = X, Y
    elif kind == "templates":
        x, y = times(X[:8], Y[:8], 25)
    assert observations(x, y) is None


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


@settings(max_examples=100)
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
