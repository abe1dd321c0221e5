"""p(x | y) and p(x, y) of NaiveBayes: a product over the columns of a table."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.stats

from estimators.small_table import DATA, EVERY, Y
from tallybayes import NaiveBayes, load
from tallybayes.distributions import GroupOfCounts, LevelColumn, NumberColumn
from tallybayes.estimators import distributions as as_distributions
from tallybayes.families import Binned, Categorical, Gaussian, Multinomial, Poisson, Smooth

N = 400
FAMILIES = {
    "auto": "auto",
    "mean": {
        "age": Gaussian(),
        "visits": Poisson(),
        "income": Gaussian(transform="log"),
        "skew": Gaussian(transform="yeo-johnson"),
        "steps": Binned(bins=6),
        "weight": Smooth(),
        ("tea", "coffee"): Multinomial(),
        "code": Categorical(),
    },
    "posterior": {
        "age": Gaussian(estimate="posterior"),
        "visits": Poisson(estimate="posterior"),
        "income": Gaussian(transform="log", estimate="posterior"),
        "skew": Gaussian(transform="yeo-johnson", estimate="posterior"),
        ("tea", "coffee"): Multinomial(estimate="posterior"),
        "weight": None,
    },
}
EVERY_FAMILY = pytest.mark.parametrize("columns", FAMILIES.values(), ids=FAMILIES)
EVERY_MISSING = pytest.mark.parametrize("missing", ["ignore", "level"])


def table(seed=0, gaps=True):
    """A column of every kind, and labels they depend on."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["no", "yes"], N, p=[0.6, 0.4])
    yes = y == "yes"
    x = pd.DataFrame(
        {
            "age": rng.normal(40 + 5 * yes, 6).round(2),
            "visits": rng.poisson(2 + 2 * yes),
            "income": np.exp(rng.normal(1 + 0.5 * yes, 0.4)),
            "skew": rng.gamma(2, 1 + yes),
            "steps": rng.integers(0, 40, N) + 10 * yes,
            "weight": rng.normal(70 + 3 * yes, 9),
            "tea": rng.poisson(2 + yes),
            "coffee": rng.poisson(3, N),
            "job": rng.choice(["cook", "clerk", "nurse"], N),
            "flag": rng.random(N) < 0.3 + 0.4 * yes,
            "code": rng.integers(0, 3, N),
            "nothing": [None] * N,
        }
    )
    if gaps:
        x.loc[::7, "age"] = np.nan
        x.loc[3::9, "job"] = None
        x.loc[1::5, "income"] = np.nan
    return x, y


def made(columns="auto", gaps=True, **params):
    x, y = table(gaps=gaps)
    return NaiveBayes(columns, **params).fit(x, y), x, y


# ---- the whole -----------------------------------------------------------------------------------
@EVERY_FAMILY
@EVERY_MISSING
def test_the_joint_is_what_the_model_scores(columns, missing):
    model, x, y = made(columns, missing=missing)
    expected = model.predict_joint_log_proba(x)
    np.testing.assert_allclose(model.joint_.log_prob_of_classes(x), expected, rtol=1e-12)
    own = expected[np.arange(N), (y == "yes") * 1]
    np.testing.assert_allclose(model.joint_.log_prob(x, y), own, rtol=1e-12)
    evidence = np.logaddexp(*expected.T)
    np.testing.assert_allclose(model.joint_.marginal_log_prob(x), evidence, rtol=1e-12)
    row = x.iloc[5].to_dict()
    np.testing.assert_allclose(
        model.class_conditional_.log_prob(row), expected[5] - model.class_log_prior_, rtol=1e-11
    )


@pytest.mark.parametrize(
    "params",
    [
        {"calibrate": "temperature"},
        {"alpha": "auto"},
        {"alpha": "auto", "criterion": "loo_log_loss"},
    ],
    ids=str,
)
def test_chosen_smoothing_is_in_the_joint_and_calibration_is_not(params):
    model, x, _ = made(**params)
    expected = model.predict_joint_log_proba(x)
    np.testing.assert_allclose(model.joint_.log_prob_of_classes(x), expected, rtol=1e-12)


@EVERY_FAMILY
@EVERY_MISSING
def test_a_row_is_the_product_of_its_columns(columns, missing):
    model, x, _ = made(columns, missing=missing)
    conditional = model.class_conditional_
    total = np.zeros((N, 2))
    for column in conditional.columns:
        total += column.log_prob(x[column.features if len(column.features) > 1 else column.name])
    np.testing.assert_allclose(conditional.log_prob(x), total, rtol=1e-11)


@EVERY
def test_every_frame_is_read(frame):
    model = NaiveBayes().fit(frame(DATA), Y)
    np.testing.assert_allclose(
        model.joint_.log_prob_of_classes(frame(DATA)),
        model.predict_joint_log_proba(frame(DATA)),
        rtol=1e-13,
    )


def test_shapes_names_and_repr():
    model, _, _ = made(FAMILIES["mean"])
    conditional = model.class_conditional_
    assert (conditional.batch_shape, conditional.event_shape) == ((2,), (11,))
    assert conditional.features[:3] == ["age", "visits", "income"]
    assert "nothing" not in conditional.features
    said = repr(conditional)
    assert "ProductOfColumns batch_shape=[2] event_shape=[11] dtype=object" in said
    assert "families=['Gaussian', 'Poisson', 'Gaussian after log'" in said
    assert "column='age' family='Gaussian'" in repr(conditional["age"])
    assert isinstance(conditional["tea"], GroupOfCounts)
    assert conditional["coffee"] is conditional["tea"]
    assert isinstance(conditional["flag"], LevelColumn)
    assert isinstance(conditional["steps"], NumberColumn)
    with pytest.raises(KeyError, match=r"'nothing' is not a column that counts.*schema_"):
        conditional["nothing"]


@EVERY_FAMILY
@EVERY_MISSING
def test_the_entropy_is_the_mean_of_minus_log_p(columns, missing):
    """A draw's own log p: bins, counts and missing values included."""
    model, _, _ = made(columns, missing=missing)
    x, y = model.joint_.sample(8_000, random_state=0, total_count=3)
    values = -model.joint_.log_prob(x, y)
    expected = model.joint_.entropy(total_count=3)
    assert abs(values.mean() - expected) < 5 * values.std() / np.sqrt(len(values))


# ---- draws ---------------------------------------------------------------------------------------
@EVERY_FAMILY
@EVERY_MISSING
def test_draws_can_be_read_and_learned(columns, missing):
    model, x, _ = made(columns, missing=missing)
    drawn, labels = model.joint_.sample(3_000, random_state=0, total_count=5)
    assert isinstance(drawn, pd.DataFrame)
    assert list(drawn.columns) == list(x.columns)
    assert drawn["nothing"].isna().all()  # what the model knows nothing of is a missing value
    assert ((drawn["tea"] + drawn["coffee"] == 5).all()) or columns == "auto"
    again = NaiveBayes(columns, missing=missing).fit(drawn, labels)
    inside = x.drop(columns=["tea", "coffee"]).assign(tea=2, coffee=3)
    old, new = model.predict_proba(inside), again.predict_proba(inside)
    assert np.abs(old - new).mean() < 0.06
    known = drawn[model.class_conditional_.features]
    assert known.isna().to_numpy().any() == (missing == "level")


def test_a_seed_makes_draws_repeatable():
    model, _, _ = made()
    one, two = (model.joint_.sample(20, random_state=3) for _ in range(2))
    pd.testing.assert_frame_equal(one[0], two[0])
    assert one[1].tolist() == two[1].tolist()
    assert not model.joint_.sample(20, random_state=4)[0].equals(one[0])


def test_one_draw_is_a_row_as_a_dict():
    model, _, _ = made()
    row, label = model.joint_.sample(random_state=1)
    assert sorted(row) == sorted(model.class_conditional_.features)
    assert label in ("no", "yes")
    model.predict_one(row)
    assert model.class_conditional_.log_prob(row).shape == (2,)


def test_draws_of_every_class_by_column():
    model, _, _ = made()
    drawn = model.class_conditional_.sample(7, random_state=0)
    assert set(drawn) == set(model.class_conditional_.features)
    assert {values.shape for values in drawn.values()} == {(7, 2)}
    assert model.class_conditional_.sample(random_state=0)["age"].shape == (2,)
    assert model.class_conditional_["age"].sample(4, random_state=0).shape == (4, 2)
    none, labels = model.joint_.sample(0)
    assert len(none) == len(labels) == 0


def test_without_a_frame_library_draws_are_dicts(monkeypatch):
    model, _, _ = made()
    expected, _ = model.joint_.sample(5, random_state=0)
    monkeypatch.setattr(as_distributions, "FRAMES", ("a_library_that_is_not_there",))
    rows, _ = model.joint_.sample(5, random_state=0)
    assert isinstance(rows, list)
    assert rows[2]["job"] == expected["job"][2]
    np.testing.assert_array_equal(model.predict(rows), model.predict(expected))


# ---- what becomes of them ------------------------------------------------------------------------
def test_later_learning_does_not_change_them():
    model, x, y = made()
    before = model.joint_
    score = before.log_prob_of_classes(x)
    assert model.joint_ is before
    model.partial_fit(x[:50], np.roll(y[:50], 1))
    np.testing.assert_array_equal(before.log_prob_of_classes(x), score)
    now = model.joint_.log_prob_of_classes(x)
    np.testing.assert_allclose(now, model.predict_joint_log_proba(x), rtol=1e-12)
    assert not np.array_equal(now, score)


def test_rows_learned_one_by_one_are_in_them():
    model = NaiveBayes()
    model.learn_one({"sky": "sun", "degrees": 25.0}, "out")
    assert model.class_prior_distribution_.classes.tolist() == ["out"]
    model.learn_one({"sky": "rain", "degrees": 11.0}, "in")
    assert model.class_conditional_["sky"].levels == ["sun", "rain"]
    assert model.class_prior_distribution_.probs.tolist() == pytest.approx([0.5, 0.5])


def test_they_can_be_pickled_and_come_with_a_loaded_model(tmp_path):
    model, x, _ = made(FAMILIES["mean"])
    joint = model.joint_
    score = joint.log_prob_of_classes(x)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(joint)).log_prob_of_classes(x), score)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").joint_.log_prob_of_classes(x), score)


def test_an_array_has_numbered_columns():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(80, 3)), rng.integers(0, 2, 80)
    model = NaiveBayes().fit(x, y)
    assert model.class_conditional_.features == ["0", "1", "2"]
    np.testing.assert_allclose(
        model.joint_.log_prob_of_classes(x), model.predict_joint_log_proba(x), rtol=1e-13
    )


def test_a_class_and_a_column_without_a_row():
    x, y = table()
    model = NaiveBayes(classes=["never", "no", "yes"]).fit(x, y)
    scores = model.joint_.log_prob_of_classes(x)
    np.testing.assert_allclose(scores, model.predict_joint_log_proba(x), rtol=1e-12)
    drawn = model.class_conditional_.sample(50, random_state=0)
    assert np.isfinite(drawn["age"]).all()
    assert np.isfinite(model.class_conditional_.entropy()).all()


def test_polars_rows_with_a_level_never_seen():
    model, x, _ = made(unseen="smooth", gaps=False)
    strange = pl.DataFrame(x.drop(columns="nothing").assign(job="pilot", nothing=None))
    with pytest.warns(UserWarning, match="none of its levels in 400 rows was seen"):
        joint = model.joint_.log_prob_of_classes(strange)
    expected = model.predict_joint_log_proba(strange)  # of one fit, it is said once
    np.testing.assert_allclose(joint, expected, rtol=1e-12)


def test_rows_that_the_model_does_not_read_are_refused():
    model, x, _ = made()
    with pytest.raises(ValueError, match="lacks the column"):
        model.class_conditional_.log_prob(x.drop(columns="age"))
    with pytest.raises(ValueError, match="holds the string 'old'"):
        model.class_conditional_.log_prob(x.assign(age="old"))
    with pytest.raises(ValueError, match=r"column 'age' holds numbers, got \['old'\]"):
        model.class_conditional_["age"].log_prob(["old"])


# ---- column by column ----------------------------------------------------------------------------
def test_gaps_are_drawn_by_their_share_where_they_are_evidence():
    model, x, y = made(FAMILIES["mean"], missing="level")
    for name in ("age", "job"):
        column = model.class_conditional_[name]
        share = [(x[name][y == c].isna().sum() + 1) / ((y == c).sum() + 4) for c in ("no", "yes")]
        np.testing.assert_allclose(column.missing, share, atol=0.01)
        drawn = column.sample(20_000, random_state=0)
        np.testing.assert_allclose(pd.isna(drawn).mean(axis=0), column.missing, atol=0.02)
        np.testing.assert_allclose(
            column.log_prob([None]), np.log(column.missing)[None], rtol=1e-12
        )
    job = model.class_conditional_["job"]
    np.testing.assert_allclose(job.probs.sum(axis=1), 1.0, rtol=1e-13)
    np.testing.assert_allclose(
        job.log_prob(job.levels).T, np.log(job.probs * (1 - job.missing)[:, None]), rtol=1e-12
    )


def test_levels_sum_to_1_and_have_a_mode():
    model, _, _ = made()
    job = model.class_conditional_["job"]
    np.testing.assert_allclose(job.probs.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(job.prob(job.levels).T, job.probs, rtol=1e-13)
    assert job.mode().tolist() == [job.levels[i] for i in job.probs.argmax(axis=1)]
    np.testing.assert_allclose(
        job.entropy(), [scipy.stats.entropy(p) for p in job.probs], rtol=1e-13
    )
    assert job.log_prob("cook").shape == (2,)
    assert job.log_prob([["cook", "clerk"]]).shape == (1, 2, 2)
    assert job.log_prob([]).shape == (0, 2)
    flag = model.class_conditional_["flag"]
    np.testing.assert_array_equal(flag.log_prob([True]), flag.log_prob(["True"]))
