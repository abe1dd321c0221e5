"""WeightedNaiveBayes: what is learned, what stays exact, and what it tells."""

import copy
import datetime
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from tallybayes import GaussianNB, NaiveBayes, WeightedNaiveBayes, leave_one_out, load
from tallybayes.errors import IncompatibleTallies, NegativeTally, StaleWarning
from tallybayes.families import Bernoulli, Categorical, Gaussian
from tallybayes.plots import NomogramDisplay, TermDisplay
from tallybayes.weighted.ways import mixed, prior_share


def table(n, seed, n_classes=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    text = np.array(list("uvw"))[(y + (rng.random(n) < 0.3)) % 3].astype(object)
    text[rng.random(n) < 0.1] = None
    number = rng.normal(y, 1.0)
    number[rng.random(n) < 0.05] = np.nan
    x = pd.DataFrame({"a": number, "b": text, "noise": rng.normal(size=n)})
    return x, np.array(list("xyz"))[y]


def exclusive(n, seed):
    """Two columns that tell by their pair alone."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, n), rng.integers(0, 2, n)
    y = np.where(rng.random(n) < 0.9, a ^ b, 1 - (a ^ b))
    x = pd.DataFrame({"a": np.array(["n", "y"])[a], "b": np.array(["n", "y"])[b]})
    return x, y


def counts_of(tally):
    """What is counted exactly: classes, levels, and the grid of numbers."""
    held = {"classes": tally.classes.count.tolist()}
    for columns, group in zip(tally.schema.groups, tally.groups, strict=True):
        if columns.kind == "grid":
            held[columns.names] = (group.shift, group.keys.tolist(), group.counts.tolist())
        elif columns.kind == "levels":
            by_level = zip(columns.levels[0].tolist(), group.counts.T.tolist(), strict=True)
            held[columns.names] = dict(by_level)
    return held


def log_loss(log_proba, y, classes):
    return -log_proba[np.arange(len(y)), np.searchsorted(classes, y)].mean()


BY_DESIGN = {
    "check_sample_weight_equivalence_on_dense_data": "the counts are the same, but a row of weight "
    "2 is left out whole where something is chosen, and one of two equal rows is not",
}
X, Y = table(500, 1)
MORE, MORE_Y = table(200, 2)


@pytest.fixture(scope="module")
def model():
    return WeightedNaiveBayes().fit(X, Y)


@pytest.fixture(scope="module")
def paired():
    x, y = exclusive(400, 0)
    return WeightedNaiveBayes().fit(x, y)


# ---- what is learned -----------------------------------------------------------------------------
def test_it_is_about_as_good_where_columns_are_independent(model):
    plain = NaiveBayes().fit(X, Y).predict_log_proba(MORE)
    weighted = model.predict_log_proba(MORE)
    classes = model.classes_
    assert log_loss(weighted, MORE_Y, classes) <= log_loss(plain, MORE_Y, classes) + 0.03
    np.testing.assert_allclose(np.exp(weighted).sum(axis=1), 1.0, rtol=1e-12)


def test_a_copied_column_is_not_counted_twice(model):
    twice = X.assign(**{f"b{i}": X["b"] for i in range(5)})
    more = MORE.assign(**{f"b{i}": MORE["b"] for i in range(5)})
    classes = model.classes_
    alone = log_loss(model.predict_log_proba(MORE), MORE_Y, classes)
    plain = log_loss(NaiveBayes().fit(twice, Y).predict_log_proba(more), MORE_Y, classes)
    copied = log_loss(WeightedNaiveBayes().fit(twice, Y).predict_log_proba(more), MORE_Y, classes)
    assert plain > 1.5 * alone
    assert abs(copied / alone - 1.0) < 0.03


def test_a_pair_is_found(paired):
    assert paired.interactions_ == [("a", "b")]
    x, y = exclusive(400, 1)
    assert paired.score(x, y) > 0.85
    assert NaiveBayes().fit(*exclusive(400, 0)).score(x, y) < 0.65


def test_interactions_can_be_left_out():
    x, y = exclusive(400, 0)
    with pytest.warns(UserWarning, match="no column of 2 predicts the class better"):
        assert WeightedNaiveBayes(interactions=0).fit(x, y).interactions_ == []
    wide = pd.concat([x, exclusive(400, 5)[0].add_suffix("2")], axis=1)
    assert len(WeightedNaiveBayes(interactions=1).fit(wide, y).interactions_) == 1


def test_weights_are_not_negative_and_by_class_where_asked(model):
    weights = model.weights_
    assert weights["term"].tolist()[:3] == ["a", "b", "noise"]
    assert (weights["weight"] >= 0.0).all()
    assert list(weights.columns) == ["term", "weight", "adds", "x", "y", "z"]
    assert (weights[["x", "y", "z"]].std(axis=1) > 0.0).any()
    shared = WeightedNaiveBayes(weights="column").fit(X, Y).weights_
    for name in "xyz":
        assert shared[name].tolist() == shared["weight"].tolist()


def test_two_classes_have_one_weight_a_term():
    x, y = table(300, 0, 2)
    assert list(WeightedNaiveBayes().fit(x, y).weights_.columns) == ["term", "weight", "adds"]


def test_strong_regularization_holds_weights_near_its_centre():
    """But for the temperature, which multiplies all of them."""
    model = WeightedNaiveBayes(regularization=1e6, interactions=0, parts=1, polish=False)
    weight = model.fit(X, Y).weights_["weight"]
    np.testing.assert_allclose(weight / weight.mean(), 1.0, atol=1e-3)


def test_polish_can_be_left_out():
    x, y = table(1500, 3)
    plain = WeightedNaiveBayes(polish=False).fit(x, y)
    assert plain._model.chosen.weighting.learned.main.corrections is None


# ---- what stays exact ----------------------------------------------------------------------------
def test_its_tally_is_that_of_the_unweighted(model):
    assert model.tally_ == NaiveBayes().fit(X, Y).tally_


def test_counts_are_exact_under_the_present_weights(model):
    grown = copy.copy(model).partial_fit(MORE, MORE_Y)
    both, labels = pd.concat([X, MORE]), np.concatenate([Y, MORE_Y])
    assert counts_of(grown.tally_) == counts_of(NaiveBayes().fit(both, labels).tally_)
    assert grown.weights_.equals(model.weights_)
    with pytest.warns(StaleWarning, match="reweight"):
        changed = grown.predict_proba(MORE)
    assert np.abs(changed - model.predict_proba(MORE)).max() > 1e-3  # the tables follow the counts
    grown.forget(MORE, MORE_Y)  # still stale, and has said so
    np.testing.assert_array_equal(grown.predict_proba(MORE), model.predict_proba(MORE))


def test_reweighting_on_all_rows_is_fitting(model):
    part = WeightedNaiveBayes().fit(X[:300], Y[:300])
    part.partial_fit(X[300:], Y[300:]).reweight(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # not stale any more
        np.testing.assert_array_equal(part.predict_proba(MORE), model.predict_proba(MORE))


def test_counts_of_a_plain_model_can_be_weighted(model):
    plain = NaiveBayes().fit(X, Y)
    twin = WeightedNaiveBayes().count_from(plain, X, Y)
    np.testing.assert_array_equal(twin.predict_proba(MORE), model.predict_proba(MORE))
    twin.partial_fit(MORE, MORE_Y)
    assert plain.tally_ == model.tally_  # it keeps its own
    with pytest.raises(TypeError, match="takes a NaiveBayes, got a GaussianNB"):
        WeightedNaiveBayes().count_from(GaussianNB(), X, Y)


def test_parts_merge(model):
    merged = WeightedNaiveBayes().fit(X[:250], Y[:250])
    merged += WeightedNaiveBayes().fit(X[250:], Y[250:])
    assert counts_of(merged.tally_) == counts_of(model.tally_)
    with pytest.warns(StaleWarning):
        merged.predict(MORE)
    with pytest.raises(IncompatibleTallies, match="cannot take in a NaiveBayes"):
        merged.merge(NaiveBayes().fit(X, Y))


def test_new_classes_and_levels(model):
    grown = copy.copy(model)
    grown.partial_fit(pd.DataFrame({"a": [0.0, 1.0], "b": ["new", None], "noise": 0.0}), ["q", "q"])
    assert grown.classes_.tolist() == ["q", "x", "y", "z"]
    with pytest.warns(StaleWarning):
        proba = grown.predict_proba(MORE)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert (proba[:, 0] < 0.1).mean() > 0.9
    assert "new" in grown.tables_["b"]["b"].tolist()


def test_rows_one_by_one(model):
    grown = copy.copy(model)
    rows = MORE.to_dict("records")
    for row, label in zip(rows, MORE_Y.tolist(), strict=True):
        grown.learn_one(row, label)
    plain = NaiveBayes().fit(X, Y).partial_fit(MORE, MORE_Y)
    assert counts_of(grown.tally_) == counts_of(plain.tally_)
    with pytest.warns(StaleWarning):
        assert grown.predict_one(rows[0]) == grown.predict(MORE[:1])[0]
    shares = grown.predict_proba_one(rows[0])
    assert sum(shares.values()) == pytest.approx(1.0)
    grown.forget_one(rows[0], MORE_Y[0])


def test_leaving_a_row_out_is_what_learning_looked_at():
    few = {"interactions": 0, "polish": False}
    model = WeightedNaiveBayes(**few).fit(X, Y)
    left = leave_one_out(model, X, Y)
    assert log_loss(left, Y, model.classes_) == pytest.approx(model.log_loss_, abs=5e-3)
    # the columns' counts without the row, everything else as learned
    for i in (0, 7):
        one = copy.copy(model).forget(X[i : i + 1], Y[i : i + 1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StaleWarning)
            without = one.predict_log_proba(X[i : i + 1])[0]
        np.testing.assert_allclose(left[i], without, atol=0.02)


# ---- what it tells -------------------------------------------------------------------------------
def test_tables_are_what_is_added(paired):
    tables, rows = paired.tables_, exclusive(50, 3)[0]
    joint = np.tile(paired.offsets_, (len(rows), 1))
    for key, values in tables.items():
        names = [key] if isinstance(key, str) else list(key)
        found = rows[names].merge(values, on=names, how="left")
        joint += found[["0", "1"]].to_numpy()
    np.testing.assert_allclose(joint, paired.predict_joint_log_proba(rows), rtol=1e-12)


def test_an_unseen_level_says_nothing_and_a_gap_is_evidence():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    x = pd.DataFrame({"a": np.where(rng.random(400) < np.where(y, 0.8, 0.1), None, "here")})
    model = WeightedNaiveBayes().fit(x, y)
    told = model.explain(pd.DataFrame({"a": ["never", None]})).contributions
    assert not told[0].any()
    assert told[1, 1, 0] > 0.3


def test_the_summary_is_readable(model, paired):
    text = model.summary(max_display=1)
    assert text.startswith("3 classes (x, y, z), predicted from ")
    assert "On 500 rows left out of the whole fit:" in text
    assert "\n  1. b: " in text
    assert "more." in text
    assert "a × b" in paired.summary()


def test_the_schema_says_what_was_decided():
    x = X.assign(id=[f"row {i}" for i in range(len(X))], empty=None, out=1.0)
    with pytest.warns(UserWarning, match="column 'id' is left out: its 500 strings are all differ"):
        model = WeightedNaiveBayes({"out": None}).fit(x, Y)
    schema = model.schema_.set_index("column")
    assert schema.loc["a", "holds"] == "numbers"
    assert "by leave-one-out" in schema.loc["a", "why"]
    assert schema.loc["id", ["family", "why"]].tolist() == ["left out", "all strings are different"]
    assert schema.loc["empty", ["family", "why"]].tolist() == ["left out", "no value was seen"]
    assert schema.loc["out", ["family", "why"]].tolist() == ["left out", "declared"]
    assert model.predict_proba(x).shape == (500, 3)


def test_copies_are_told_and_kept_in_files(tmp_path):
    x = X.assign(twin=X["a"])
    model = WeightedNaiveBayes().fit(x, Y)
    model.save(tmp_path / "model.tally")
    for one in (model, load(tmp_path / "model.tally"), model.simplify(x, Y, max_terms=2)):
        schema = one.schema_.set_index("column")
        assert schema.loc["twin", ["family", "why"]].tolist() == ["left out", "the same as 'a'"]
        assert "twin (the same as 'a')" in one.summary()
        assert one.weights_.set_index("term")["weight"].get("twin", 0.0) == 0.0
        assert "twin" not in {name for pair in one.interactions_ for name in pair}


def test_a_pruned_model_states_the_increase_of_its_log_loss(model, paired):
    short = model.simplify(X, Y, max_terms=1)
    assert short._model.score.speaking == [1]
    assert short.weights_["weight"].tolist()[0] == 0.0
    assert short.log_loss_increase_ > 0.02
    assert short.tally_ == model.tally_
    assert f"log-loss is {short.log_loss_increase_:.4f} nats a row higher" in short.summary()
    told = short.explain(MORE)
    joint = short.predict_joint_log_proba(MORE)
    np.testing.assert_allclose(told.base + told.contributions.sum(axis=2), joint, rtol=1e-12)
    x, y = exclusive(400, 0)
    pair = paired.simplify(x, y, max_terms=1)
    assert pair.interactions_ == [("a", "b")]
    assert abs(pair.log_loss_increase_) < 0.02
    assert pair.score(*exclusive(400, 1)) > 0.85
    assert abs(model.simplify(X, Y, max_terms=100).log_loss_increase_) < 0.02
    with pytest.raises(ValueError, match="whole number from 1 on, got 0"):
        model.simplify(X, Y, max_terms=0)
    with pytest.raises(NegativeTally):
        model.simplify(pd.concat([X, X]), np.concatenate([Y, Y]), max_terms=2)
    with pytest.raises(ValueError, match="weights from 0 on"):
        model.simplify(X, Y, 2, sample_weight=np.where(np.arange(len(Y)), 1.0, -1.0))
    assert not hasattr(model, "log_loss_increase_")
    assert not hasattr(model, "price_")
    assert short.price_ == short.log_loss_increase_  # its former name


# ---- priors --------------------------------------------------------------------------------------
def test_another_class_prior_moves_the_odds(model):
    other = model.with_class_prior([0.8, 0.1, 0.1])
    moved = other.predict_joint_log_proba(MORE) - model.predict_joint_log_proba(MORE)
    shift = np.log([0.8, 0.1, 0.1]) - model.class_log_prior_
    np.testing.assert_allclose(moved, np.tile(shift, (len(MORE), 1)), atol=1e-9)


def test_a_class_that_may_occur():
    model = WeightedNaiveBayes(classes=["x", "y", "z", "never"]).fit(X, Y)
    proba = model.predict_proba(MORE)
    assert proba.shape == (200, 4)
    assert (proba[:, 0] > 0.0).all()
    assert (proba[:, 0] < 0.5).all()


# ---- degenerate and bad input --------------------------------------------------------------------
def test_one_class_only():
    model = WeightedNaiveBayes().fit(X, np.zeros(len(X), dtype=int))
    assert model.predict(MORE).tolist() == [0] * len(MORE)
    np.testing.assert_array_equal(model.predict_proba(MORE), 1.0)
    with pytest.raises(AttributeError, match="no weights_ yet: weights are learned on rows of two"):
        _ = model.weights_


def test_a_column_that_tells_everything():
    x = pd.DataFrame({"a": np.repeat(["u", "v"], 50), "n": np.repeat([0.0, 1.0], 50)})
    with pytest.warns(
        UserWarning, match="columns 'a', 'n' alone determines the class of all 100 rows"
    ):
        model = WeightedNaiveBayes().fit(x, np.repeat([0, 1], 50))
    proba = model.predict_proba(x)
    assert (proba[:50, 0] > 0.97).all()
    assert (proba[50:, 1] > 0.97).all()


def test_columns_that_never_change_are_left_out_and_told():
    x = pd.DataFrame({"a": ["u"] * 60, "n": np.ones(60), "gap": [None] * 60})
    with pytest.warns(UserWarning, match="no column of 3 predicts the class better"):
        model = WeightedNaiveBayes().fit(x, np.arange(60) % 3 == 0)
    assert model.schema_["why"].tolist() == ["the same in every row"] * 2 + ["no value was seen"]
    np.testing.assert_allclose(model.predict_proba(x[:1]), [[2 / 3, 1 / 3]], atol=0.01)
    gaps = pd.DataFrame({"n": [1.0, None, 1.0, None, 1.0, 1.0] * 10})
    told = WeightedNaiveBayes().fit(gaps, [0, 1, 0, 1, 0, 1] * 10).schema_
    assert told["why"][0] != "the same in every row"  # a missing value is evidence


def test_a_class_with_hardly_a_row_is_told():
    x, y = X.copy(), np.array(Y, dtype=object)
    y[:2] = "rare"
    with pytest.warns(UserWarning, match=r"fewer than 5 rows: rare \(2\)"):
        WeightedNaiveBayes().fit(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        WeightedNaiveBayes().fit(x[:20], y[:20])  # of few rows a person knows


def test_check_estimator_passes():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # identifiers of the checks' data
        check_estimator(WeightedNaiveBayes(), expected_failed_checks=BY_DESIGN)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": Gaussian()}, "columns= gives 'a' the family Gaussian"),
        ({"b": Categorical(alpha=2.0)}, "levels whose smoothing it chooses"),
    ],
)
def test_families_that_it_does_not_take(columns, message):
    with pytest.raises(ValueError, match=message):
        WeightedNaiveBayes(columns).fit(X, Y)


def test_families_that_it_takes():
    rows = X.assign(yes=np.where(X["a"] > 0, "yes", "no"))
    columns = {"yes": Bernoulli(), "b": Categorical(levels=["u", "v", "w", "x"]), "noise": None}
    assert WeightedNaiveBayes(columns).fit(rows, Y).score(rows, Y) > 0.7


@pytest.mark.parametrize(
    "wrong",
    [
        {"interactions": -1},
        {"interactions": "many"},
        {"weights": "row"},
        {"regularization": 0.0},
        {"polish": "no"},
    ],
)
def test_bad_parameters(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        WeightedNaiveBayes(**wrong).fit(X, Y)


def test_a_refused_call_changes_nothing(model):
    twin = copy.copy(model)
    before = twin.predict_proba(MORE)
    with pytest.raises(NegativeTally, match="more than the"):
        twin.reweight(pd.concat([X, MORE]), np.concatenate([Y, MORE_Y]))
    with pytest.raises(ValueError, match="weights from 0 on"):
        twin.reweight(X, Y, sample_weight=np.where(np.arange(len(Y)), 1.0, -1.0))
    with pytest.raises(ValueError, match="infinity"):
        twin.partial_fit(X.assign(a=np.inf), Y)
    np.testing.assert_array_equal(twin.predict_proba(MORE), before)


def test_before_fitting():
    with pytest.raises(NotFittedError):
        WeightedNaiveBayes().predict(X)
    with pytest.raises(ValueError, match="begin with fit or partial_fit"):
        WeightedNaiveBayes().learn_one({"a": 1.0}, "x")
    assert not hasattr(WeightedNaiveBayes(), "weights_")


@pytest.mark.parametrize("call", ["predict", "predict_proba", "explain"])
@pytest.mark.parametrize("endless", [np.inf, -np.inf])
def test_infinity_is_refused_when_predicting_as_when_learning(call, endless):
    x = pd.DataFrame({"a": np.arange(40.0), "b": np.arange(40) % 3})
    model = WeightedNaiveBayes().fit(x, np.arange(40) >= 20)
    x.loc[3, "a"] = endless
    with pytest.raises(ValueError, match=r"infinity: row 3, column 'a'"):
        getattr(model, call)(x)
    with pytest.raises(ValueError, match=r"infinity: row 3, column 'a'"):
        WeightedNaiveBayes().fit(x, np.arange(40) >= 20)


def test_what_a_term_adds_counts_all_its_parts():
    """The largest less the smallest entry of its whole table, on average over the rows."""
    x, y = table(300, 0, 2)
    model = WeightedNaiveBayes().fit(x, y)
    weights = model.weights_.set_index("term")
    explained = model.explain(x)
    for t, name in enumerate(explained.columns):
        found = np.ptp(explained.contributions[:, :, t], axis=1).mean()
        assert weights["adds"][name] == pytest.approx(found, abs=1e-9)
        if name in model.schema_["column"].tolist() and found > 0.0:
            said = model.schema_.set_index("column")["family"][name]
            assert said.endswith(f", adds {found:.2f} nats")
            assert model.schema_.set_index("column")["why"][name] != "no better than chance"


END = "up to |above | to "


@pytest.mark.parametrize("step", [datetime.timedelta(days=1), datetime.timedelta(minutes=7)])
def test_cells_of_dates_are_dates(step):
    start, rng, n = datetime.datetime(2024, 2, 1), np.random.default_rng(0), 400
    rows = [{"when": start + i * step, "kind": "ab"[rng.integers(2)]} for i in range(n)]
    late = np.array([(i > 200) != (row["kind"] == "a") for i, row in enumerate(rows)])
    y = late ^ (rng.random(n) < 0.1)
    model = WeightedNaiveBayes().fit(rows, y)
    frames = [model.tables_["when"], model.tables_[model.interactions_[0]]]
    edges = {edge for frame in frames for cell in frame["when"] for edge in re.split(END, cell)}
    edges -= {"", "(missing)"}
    assert len(edges) > 3
    for edge in edges:
        assert start - step <= datetime.datetime.fromisoformat(edge) <= start + n * step, edge
    strongest = next(line for line in model.summary().splitlines() if " × " in line)
    assert " 2024-" in strongest


of_few_rows = pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")


def separable(n):
    """Columns of which each alone tells the class."""
    y = np.arange(n) % 2
    return pd.DataFrame({f"c{j}": np.where(y, "u", "v") for j in range(4)}).assign(z=y * 1e6), y


@of_few_rows
@pytest.mark.parametrize("n", [4, 60, 5000])
@pytest.mark.parametrize("weight", [None, 1e6, 1e-6])
def test_no_probability_is_0_or_1(n, weight):
    x, y = separable(n)
    w = None if weight is None else np.full(n, weight)
    model = WeightedNaiveBayes().fit(x, y, w)
    proba = np.concatenate([model.predict_proba(x), np.exp(leave_one_out(model, x, y, w))])
    assert (proba > 0.0).all()
    assert (proba < 1.0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert (model.predict_log_proba(x) < 0.0).all()
    np.testing.assert_allclose(np.exp(model.predict_log_proba(x)), model.predict_proba(x))


@of_few_rows
def test_it_is_the_mean_of_the_posterior_and_the_prior():
    x, y = separable(60)
    y[:5] = 1 - y[:5]
    model = WeightedNaiveBayes().fit(x, y)
    share = 0.5 / 60.5
    joint = model.predict_joint_log_proba(x)
    expected = (1.0 - share) * softmax(joint, axis=1) + share * np.exp(model.class_log_prior_)
    np.testing.assert_allclose(model.predict_proba(x), expected, rtol=1e-12)
    told = model.explain(x)
    np.testing.assert_allclose(told.probabilities, expected, rtol=1e-12)
    np.testing.assert_allclose(told.base + told.contributions.sum(axis=2), joint, rtol=1e-12)
    one = model.predict_proba_one(x.iloc[0].to_dict())
    np.testing.assert_allclose(list(one.values()), expected[0], rtol=1e-12)


@of_few_rows
def test_the_rows_are_effective_rows_when_weights_were_learned():
    x, y = separable(60)
    weight = np.where(np.arange(60) < 30, 4.0, 1.0)
    model = WeightedNaiveBayes().fit(x, y, weight)
    n = weight.sum() ** 2 / (weight**2).sum()
    assert model._model.prior_share == pytest.approx(0.5 / (n + 0.5), rel=1e-6)
    grown = copy.copy(model).partial_fit(x, y)
    assert grown._model.prior_share == model._model.prior_share
    again = copy.copy(grown).reweight(x, y)
    assert again._model.prior_share < model._model.prior_share


@of_few_rows
def test_the_label_is_the_most_probable_one():
    """Where a rare class is ahead by a hair, the share of the prior decides."""
    rng = np.random.default_rng(0)
    y = (rng.random(50) < 0.1).astype(int)
    x = pd.DataFrame({"a": np.where(rng.random(50) < 0.5, "u", "v")})
    model = WeightedNaiveBayes(class_prior=[0.5, 0.5]).fit(x, y)
    for prior in (0.3, 0.5, 0.51):
        other = model.with_class_prior([prior, 1.0 - prior])
        proba = other.predict_proba(x)
        np.testing.assert_array_equal(other.predict(x), proba.argmax(axis=1))


@of_few_rows
@pytest.mark.parametrize("given", [[1.0, 0.0], [0.0, 1.0]])
def test_a_prior_of_0_rules_a_class_out(given):
    x, y = separable(60)
    model = WeightedNaiveBayes(class_prior=given).fit(x, y)
    np.testing.assert_allclose(model.predict_proba(x), np.tile(given, (60, 1)), atol=1e-15)
    assert np.isneginf(model.predict_log_proba(x)[:, given.index(0.0)]).all()
    assert np.isneginf(leave_one_out(model, x, y)[:, given.index(0.0)]).all()
    assert set(model.predict(x)) == {given.index(1.0)}


@of_few_rows
def test_of_one_class_nothing_is_mixed():
    model = WeightedNaiveBayes().fit(pd.DataFrame({"a": ["u", "v"]}), [3, 3])
    assert model.predict_proba(pd.DataFrame({"a": ["u"]})).tolist() == [[1.0]]


@of_few_rows
def test_mixing_by_itself():
    p = np.array([0.9, 0.1])
    assert prior_share(0.0) == 1.0
    found = mixed(np.array([[1.0, 0.0], [0.0, 1.0], [0.25, 0.75]]), p, 0.1)
    np.testing.assert_allclose(found, [[0.99, 0.01], [0.09, 0.91], [0.315, 0.685]])
    assert (mixed(np.array([[1.0, 0.0]]), p, 1e-18) < 1.0).all()


NAMES = ["a", "b", "c", "d"]


def rows_of_a_rule(n=900, seed=0):
    """A number, and levels of which three decide the label nine times in ten, where pairs say
    less; some are missing."""
    rng = np.random.default_rng(seed)
    yes = rng.integers(0, 2, (n, 4))
    table = pd.DataFrame(np.where(yes, "yes", "no"), columns=NAMES).astype(object)
    table = table.mask(rng.random(table.shape) < 0.02)
    table["x"] = rng.normal(size=n)
    y = np.where(yes[:, :3].all(axis=1) | (yes[:, 3] & (table["x"] > 1.0)), "all", "not all")
    swapped = rng.random(n) < 0.02
    return table, np.where(swapped, "not all", y)


@pytest.fixture(scope="module")
def triples():
    return rows_of_a_rule(), rows_of_a_rule(seed=1)


@pytest.fixture(scope="module")
def of_triples(triples):
    (X, y), _ = triples
    return WeightedNaiveBayes().fit(X, y)


def of_three(of_triples):
    return [columns for columns in of_triples.interactions_ if len(columns) == 3]


def test_three_columns_have_a_table(triples, of_triples):
    _, (fresh, labels) = triples
    assert {frozenset(columns) for columns in of_three(of_triples)} >= {frozenset("abc")}
    assert of_triples.score(fresh, labels) > 0.96
    columns = of_three(of_triples)[0]
    table = of_triples.tables_[columns]
    assert list(table.columns) == [*columns, "all", "not all"]
    yes = (table[list(columns)] == "yes").all(axis=1)
    assert table.loc[yes, "all"].item() == table["all"].max() > 0.0


def test_all_ways_to_predict_say_the_same(triples, of_triples):
    _, (fresh, _) = triples
    expected = of_triples.predict_proba(fresh)
    explained = of_triples.explain(fresh)
    total = explained.base + explained.contributions.sum(axis=2)
    np.testing.assert_allclose(total, of_triples.predict_joint_log_proba(fresh))
    for i in range(40):
        row = {k: v for k, v in fresh.iloc[i].to_dict().items() if v == v}
        one = of_triples.predict_proba_one(row)
        np.testing.assert_allclose([one[c] for c in of_triples.classes_], expected[i], atol=1e-12)
    for other in (pickle.loads(pickle.dumps(of_triples)), copy.deepcopy(of_triples)):
        np.testing.assert_array_equal(other.predict_proba(fresh), expected)


def test_a_file_holds_them(triples, of_triples, tmp_path):
    _, (fresh, _) = triples
    of_triples.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(fresh), of_triples.predict_proba(fresh))
    assert again.interactions_ == of_triples.interactions_


def test_rows_that_come_and_go_leave_no_trace(triples):
    (X, y), (fresh, labels) = triples
    of_triples = WeightedNaiveBayes().fit(X, y)
    said = of_triples.predict_joint_log_proba(fresh)
    new = fresh[:30].assign(a=fresh["a"][:30].where(np.arange(30) % 2 == 0, "perhaps"))
    of_triples.partial_fit(new, labels[:30])
    with pytest.warns(StaleWarning):
        assert np.isfinite(of_triples.predict_joint_log_proba(new)).all()
    of_triples.forget(new, labels[:30])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StaleWarning)
        np.testing.assert_allclose(of_triples.predict_joint_log_proba(fresh), said)
        without = leave_one_out(of_triples, X[:50], y[:50])
    np.testing.assert_allclose(np.exp(without).sum(axis=1), 1.0)


def test_the_order_of_rows_and_columns_does_not_matter(triples, of_triples):
    (X, y), (fresh, _) = triples
    order = np.random.default_rng(0).permutation(len(y))
    other = WeightedNaiveBayes().fit(X.iloc[order, ::-1], y[order])
    said = other.predict_proba(fresh[X.columns[::-1]])
    np.testing.assert_allclose(said, of_triples.predict_proba(fresh), rtol=1e-12)


def test_none_where_no_interactions_are_asked_for(triples):
    (X, y), _ = triples
    assert WeightedNaiveBayes(interactions=0).fit(X, y).interactions_ == []
    for most in (1, 2):
        assert len(WeightedNaiveBayes(interactions=most).fit(X, y).interactions_) <= most


def test_they_are_shown(triples, of_triples):
    (X, y), _ = triples
    columns = of_three(of_triples)[0]
    assert "triple" in of_triples.summary()
    display = TermDisplay.from_estimator(of_triples, columns[::-1], label="all")
    assert display.columns == (columns[2], " × ".join(columns[1::-1]))
    table = of_triples.tables_[columns]
    [cell] = np.flatnonzero((table[list(columns)] == "yes").all(axis=1))
    across = display.cells[1].index("yes × yes")
    nats = display.nats[display.cells[0].index("yes"), across]
    assert nats == pytest.approx(table["all"].iloc[cell] - table["not all"].iloc[cell])
    NomogramDisplay.from_estimator(of_triples, X)
    assert list(columns) in of_triples.report(X, y).data["pairs"]


def test_what_a_column_adds_has_a_third_of_it(of_triples):
    adds = dict(zip([*NAMES, "x"], of_triples.feature_importances_, strict=True))
    assert min(adds[name] for name in "abc") > 0.0
