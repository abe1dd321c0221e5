"""Fitted attributes: classes, names of features, the tally and its tables."""

import contextlib

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tallybayes
import tallybayes.tables.columns
from estimators.cases import (
    ALL,
    DISCRETE,
    GENERATIVE,
    LAYOUTS,
    assert_same_counts,
    assert_same_predictions,
    assert_sane_posterior,
    counts,
    every,
    fit_parts,
    rows,
)
from tallybayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from tallybayes.errors import IncompatibleTallies


@every()
def test_attributes_are_missing_before_fitting_and_there_after_it(NB):
    attributes = ["classes_", "class_count_", "tally_", "probability_tables_", "n_features_in_"]
    attributes += {
        GaussianNB: ["theta_", "var_", "epsilon_", "class_prior_"],
        CategoricalNB: [
            "category_count_",
            "n_categories_",
            "feature_log_prob_",
            "class_log_prior_",
        ],
        ComplementNB: ["feature_all_", "feature_count_", "feature_log_prob_", "class_log_prior_"],
    }.get(NB, ["feature_count_", "feature_log_prob_", "class_log_prior_"])
    model = NB()
    for name in attributes:
        with pytest.raises(AttributeError, match=name):
            getattr(model, name)
    model.fit(*rows())
    for name in attributes:
        assert getattr(model, name) is not None


@pytest.mark.parametrize(
    ("NB", "name"),
    [(NB, name) for NB in ALL for name in ("class_count_", "classes_")]
    + [(NB, "feature_log_prob_") for NB in DISCRETE]
    + [(CategoricalNB, "category_count_"), (GaussianNB, "theta_"), (GaussianNB, "var_")],
)
def test_writing_into_an_attribute_does_not_change_the_model(NB, name):
    """An attribute is a reading of the tally, and there is nothing to set by it."""
    x, y = rows()
    model, untouched = NB().fit(x, y), NB().fit(x, y)
    value = getattr(model, name)
    for array in value if isinstance(value, list) else [value]:
        with contextlib.suppress(ValueError):  # read-only will do
            array[...] = 99
    for now, was in zip(getattr(model, name), getattr(untouched, name), strict=True):
        assert now.tolist() == was.tolist()
    assert_same_predictions(model, untouched, x)


def test_complement_offers_no_likelihood():
    model = ComplementNB().fit(*rows())
    assert not hasattr(model, "score_samples")
    assert not hasattr(model, "sample")


def test_bernoulli_is_about_presence_only():
    x, y = rows()
    assert np.array_equal(
        BernoulliNB().fit(x, y).feature_count_, BernoulliNB().fit(5 * x, y).feature_count_
    )


LABELS = {
    "int": [3, 1, 2],
    "negative": [-5, 0, 7],
    "wide": [10**12, -(10**12), 3],
    "uint64": np.array([2**63 + 5, 1, 2], dtype=np.uint64),
    "float": [1.0, -1.0, 2.0],
    "bool": [True, False],
    "str": ["tea", "coffee", "milk"],
    "object": np.array(["tea", "coffee", "milk"], dtype=object),
}


# ---- labels ------------------------------------------------------------------------------------
@every()
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_of_any_type_are_sorted_and_come_back(NB, labels):
    x, y = rows(n=90, classes=np.arange(len(labels)), d=5)
    labels = np.asarray(labels)
    model, plain = NB().fit(x, labels[y]), NB().fit(x, y)
    order = np.argsort(labels)
    assert model.classes_.tolist() == sorted(labels.tolist())
    assert model.classes_.dtype == labels.dtype
    assert np.array_equal(model.class_count_, plain.class_count_[order])
    np.testing.assert_allclose(model.predict_proba(x), plain.predict_proba(x)[:, order], rtol=1e-12)
    assert set(model.predict(x).tolist()) <= set(labels.tolist())
    assert model.predict(x).dtype == labels.dtype
    parts = fit_parts(NB, [(x[i : i + 1], labels[y[i : i + 1]]) for i in range(90)], labels)
    assert_same_counts(parts, model)


# ---- classes without rows ----------------------------------------------------------------------
@every()
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_class_declared_but_never_seen_has_no_probability(NB, layout):
    """Origin: the issue. Of no rows nothing is estimated: the pooled estimate stands in, and the
    prior of equation (9) is 0. No warning, no NaN."""
    x, y = rows()
    x = LAYOUTS[layout](x)
    model = NB().partial_fit(x, y, classes=[0, 1, 2, 9])
    assert model.class_count_[3] == 0.0
    assert_sane_posterior(model, x)
    if NB is not ComplementNB:  # whose scores do not depend on a prior
        assert (model.predict_proba(x)[:, 3] == 0.0).all()
        np.testing.assert_allclose(
            model.predict_proba(x)[:, :3], NB().fit(x, y).predict_proba(x), rtol=1e-12
        )
        assert np.array_equal(model.predict(x), NB().fit(x, y).predict(x))


@every(*GENERATIVE)
def test_with_class_alpha_a_class_never_seen_is_like_all_classes_together(NB):
    x, y = rows()
    model = NB(class_alpha=1.0).partial_fit(x, y, classes=[0, 1, 2, 9])
    prior = np.array([21, 21, 21, 1]) / 64
    joint = model.predict_joint_log_proba(x)
    pooled = NB().fit(x, np.zeros(len(x), dtype=int)).predict_joint_log_proba(x)[:, 0]
    np.testing.assert_allclose(joint[:, 3], np.log(prior[3]) + pooled, rtol=1e-12)
    assert_sane_posterior(model, x)
    assert (model.predict_proba(x)[:, 3] > 0.0).all()


@every()
def test_a_class_can_be_seen_later(NB):
    x, y = rows()
    model = NB().partial_fit(x, y, classes=[0, 1, 2, 9])
    model.partial_fit(x[:5], [9] * 5)
    both = NB().fit(np.concatenate([x, x[:5]]), np.concatenate([y, [9] * 5]))
    assert_same_counts(model, both)
    assert_same_predictions(model, both, x)


@every()
def test_rows_of_weight_zero_leave_their_class_as_if_it_were_never_seen(NB):
    x, y = rows()
    model = NB().fit(x, y, sample_weight=(y != 1).astype(float))
    never = NB().partial_fit(x[y != 1], y[y != 1], classes=[0, 1, 2])
    if NB is CategoricalNB:  # levels that only class 1 has are known to one and not to the other
        model = NB(min_categories=5).fit(x, y, sample_weight=(y != 1).astype(float))
        never = NB(min_categories=5).partial_fit(x[y != 1], y[y != 1], classes=[0, 1, 2])
    assert_same_counts(model, never)
    assert_sane_posterior(model, x)


# ---- one class ---------------------------------------------------------------------------------
@every()
@pytest.mark.parametrize("label", [5, "only", True, -1.0], ids=repr)
@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_one_class_alone_is_certain(NB, label, learn):
    x, _ = rows(n=7)
    classes = {"classes": [label]} if learn == "partial_fit" else {}
    model = getattr(NB(), learn)(x, [label] * 7, **classes)
    assert model.predict(x).tolist() == [label] * 7
    assert model.predict_proba(x).tolist() == [[1.0]] * 7
    assert model.predict_log_proba(x).tolist() == [[0.0]] * 7
    assert np.isfinite(model.predict_joint_log_proba(x)).all()


NAMES = ["long", "wide", "high", "deep"]
FRAMES = {
    "pandas": lambda x: pd.DataFrame(x, columns=NAMES),
    "polars": lambda x: pl.DataFrame(x, schema=NAMES, orient="row"),
    "pyarrow": lambda x: pa.table({name: x[:, j] for j, name in enumerate(NAMES)}),
}


@every()
def test_a_categorical_series_of_labels_is_read_as_its_values(NB):
    x, y = rows(classes=("a", "b", "c"))
    series = pd.Series(pd.Categorical(y, categories=["c", "b", "a", "never"]))
    model = NB().fit(x, series)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.predict_proba(x).tolist() == NB().fit(x, y).predict_proba(x).tolist()


@every()
@pytest.mark.parametrize("library", FRAMES)
def test_names_are_learned_and_libraries_can_be_mixed(NB, library):
    x, y = rows()
    model = NB().fit(FRAMES[library](x), y)
    assert model.feature_names_in_.tolist() == NAMES
    assert model.feature_names_in_.dtype == object
    assert model.n_features_in_ == 4
    expected = NB().fit(x, y).predict_proba(x).tolist()
    for other in FRAMES.values():
        assert model.predict_proba(other(x)).tolist() == expected


@every()
def test_numbers_without_names_after_names_are_read_with_scikit_learns_warning(NB):
    x, y = rows()
    model = NB().fit(FRAMES["pandas"](x), y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict(x)
    plain = NB().fit(x, y)
    with pytest.warns(UserWarning, match=r"X has feature names, but \w+ was fitted without"):
        plain.predict(FRAMES["pandas"](x))


@every()
def test_names_survive_saving(NB, tmp_path):
    x, y = rows()
    model = NB().fit(FRAMES["polars"](x), y)
    model.save(tmp_path / "model")
    loaded = tallybayes.load(tmp_path / "model")
    assert loaded.feature_names_in_.tolist() == NAMES
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(FRAMES["pandas"](x).rename(columns={"wide": "broad"}))


@every()
def test_columns_that_are_numbered_have_no_names(NB):
    x, y = rows()
    assert not hasattr(NB().fit(pd.DataFrame(x), y), "feature_names_in_")


@every()
def test_a_frame_of_sparse_columns_is_read(NB):
    x, y = rows()
    frame = pd.DataFrame(
        {n: pd.arrays.SparseArray(x[:, j], fill_value=0.0) for j, n in enumerate(NAMES)}
    )
    model = NB().fit(frame, y)
    assert model.predict(frame).tolist() == NB().fit(x, y).predict(x).tolist()
    assert model.feature_names_in_.tolist() == NAMES


# ---- tally_ ------------------------------------------------------------------------------------
CHANGES = {
    "partial_fit of few rows": lambda m, x, y: m.partial_fit(x[:1], y[:1]),
    "partial_fit of many rows": lambda m, x, y: m.partial_fit(
        np.tile(x, (200, 1)), np.tile(y, 200)
    ),
    "negative weights": lambda m, x, y: m.partial_fit(x[:1], y[:1], sample_weight=[-0.5]),
    "forget": lambda m, x, y: m.forget(x[:5], y[:5]),
    "merge": lambda m, x, y: m.merge(type(m)().fit(x, y)),
    "fit": lambda m, x, y: m.fit(x[:9], y[:9]),
}


@every()
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_tally_taken_before_a_change_does_not_change(NB, change):
    x, y = rows()
    model = NB().fit(x, y)
    tally = model.tally_
    before = {name: array.copy() for name, array in tally.arrays().items()}
    change(model, x, y)
    for name, array in tally.arrays().items():
        assert array.tobytes() == before[name].tobytes(), name
    now = counts(model)
    assert any(not np.array_equal(now[name], before[name]) for name in before)


@every()
def test_the_tally_is_the_same_one_until_the_model_changes(NB):
    x, y = rows()
    model = NB().fit(x, y)
    assert model.tally_ is model.tally_
    taken = model.tally_
    model.partial_fit(x, y)
    assert model.tally_ is not taken
    assert model.tally_ != taken


@every()
def test_tallies_of_parts_that_share_a_schema_add_and_subtract(NB):
    x, y = rows()
    params = {"min_categories": 5} if NB is CategoricalNB else {}
    whole = NB(**params).fit(x, y)
    less = NB(**params).fit(x, y).forget(x[:20], y[:20])
    gone = whole.tally_ - less.tally_
    assert (gone.classes.count == np.bincount(y[:20], minlength=3)).all()
    assert less.tally_ + gone == whole.tally_
    double, twice = whole.tally_ * 2.0, whole.tally_ + whole.tally_
    assert double.groups == twice.groups
    assert (double.classes.count == twice.classes.count).all()
    assert (2.0 * double.classes.effective_rows == twice.classes.effective_rows).all()
    assert -whole.tally_ + whole.tally_ == whole.tally_.zero()


def test_tallies_of_other_columns_do_not_add():
    x, y = rows()
    a, b = MultinomialNB().fit(x, y).tally_, MultinomialNB().fit(x[:, :2], y).tally_
    with pytest.raises(IncompatibleTallies, match=r"schemas.*merged"):
        a + b


# ---- probability_tables_ -----------------------------------------------------------------------
LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}


def read(frame):
    """A frame of any library as a dict of lists."""
    if isinstance(frame, pa.Table):
        return frame.to_pydict()
    if isinstance(frame, pl.DataFrame):
        return frame.to_dict(as_series=False)
    return {name: frame[name].tolist() for name in frame.columns}


@pytest.fixture(params=LIBRARIES)
def library(request, monkeypatch):
    """Makes one library the only one that frames are made by."""
    monkeypatch.setattr(tallybayes.tables.columns, "FRAMES", (request.param,))
    return request.param


def test_tables_are_frames_of_the_library_at_hand(library):
    tables = MultinomialNB().fit(*rows()).probability_tables_
    assert {type(table) for table in tables.values()} == {LIBRARIES[library]}


def test_without_any_frame_library_the_tables_say_what_to_install(monkeypatch):
    monkeypatch.setattr(tallybayes.tables.columns, "FRAMES", ("no_such_library",))
    model = MultinomialNB().fit(*rows())
    with pytest.raises(ImportError, match="install one of pandas, polars and pyarrow"):
        _ = model.probability_tables_


def test_categorical_tables_are_the_lookup_table_of_the_algorithm(library):
    """P_λ(x_j = a | c) for every a in A_j and every c, and P_λ(c): equations 11 and 12."""
    levels = [["sun", "rain", "snow"], [10, 20]]
    frame = pd.DataFrame({"sky": ["sun", "rain", "rain"], "wind": [10, 20, 10]})
    model = CategoricalNB(levels=levels, class_alpha=1.0).fit(frame, ["out", "in", "in"])
    tables = {name: read(table) for name, table in model.probability_tables_.items()}
    assert list(tables) == ["prior", "sky", "wind"]
    assert tables["prior"]["class"] == ["in", "out"]
    assert tables["prior"]["count"] == [2.0, 1.0]
    assert tables["prior"]["probability"] == pytest.approx([3 / 5, 2 / 5], rel=1e-15)
    assert list(tables["sky"]) == ["level", "in", "out"]
    assert tables["sky"]["level"] == ["sun", "rain", "snow"]
    assert tables["sky"]["in"] == pytest.approx([1 / 5, 3 / 5, 1 / 5], rel=1e-15)
    assert tables["sky"]["out"] == pytest.approx([2 / 4, 1 / 4, 1 / 4], rel=1e-15)
    assert tables["wind"]["level"] == [10, 20]
    assert tables["wind"]["in"] == pytest.approx([2 / 4, 2 / 4], rel=1e-15)


def test_levels_without_declaration_are_called_by_their_codes():
    tables = CategoricalNB().fit([[0, 2], [1, 0]], [0, 1]).probability_tables_
    assert read(tables["0"])["level"] == [0, 1]
    assert read(tables["1"])["level"] == [0, 1, 2]


@every(MultinomialNB, BernoulliNB, ComplementNB)
def test_tables_of_sums_have_a_row_a_feature_and_a_column_a_class(NB, library):
    x, y = rows(classes=("a", "b", "c"))
    model = NB().fit(pd.DataFrame(x, columns=list("wxyz")), y)
    tables = {name: read(table) for name, table in model.probability_tables_.items()}
    assert list(tables) == ["prior", "weights" if NB is ComplementNB else "features"]
    table = tables.popitem()[1]
    values = model.feature_log_prob_ if NB is ComplementNB else np.exp(model.feature_log_prob_)
    assert list(table) == ["feature", "a", "b", "c"]
    assert table["feature"] == list("wxyz")
    for k, c in enumerate("abc"):
        assert table[c] == pytest.approx(values[k], rel=1e-15)


def test_gaussian_tables_are_means_and_variances(library):
    x, y = rows()
    model = GaussianNB().fit(x, y)
    tables = {name: read(table) for name, table in model.probability_tables_.items()}
    assert list(tables) == ["prior", "mean", "variance"]
    assert tables["prior"]["probability"] == pytest.approx([1 / 3] * 3)
    for k in range(3):
        assert tables["mean"][str(k)] == pytest.approx(model.theta_[k], rel=1e-15)
        assert tables["variance"][str(k)] == pytest.approx(model.var_[k], rel=1e-15)


@every()
def test_the_table_of_the_prior_has_every_class(NB):
    x, y = rows()
    model = NB().partial_fit(x, y, classes=[0, 1, 2, 3])
    prior = read(model.probability_tables_["prior"])
    assert prior["class"] == [0, 1, 2, 3]
    assert prior["count"] == [20.0, 20.0, 20.0, 0.0]
    assert prior["probability"] == pytest.approx([1 / 3] * 3 + [0.0])


@every(*DISCRETE, GaussianNB)
@pytest.mark.parametrize("label", ["level", "feature"])
def test_a_class_called_as_the_first_column_does_not_displace_it(NB, label):
    x, y = rows(classes=(label, "other"))
    model = NB().fit(x, y)
    for name, table in model.probability_tables_.items():
        if name != "prior":
            first, *classes = read(table).values()
            assert len(classes) == 2, name
            assert not all(isinstance(value, float) for value in first), name


def test_a_feature_called_prior_does_not_displace_the_prior():
    frame = pd.DataFrame({"prior": [0, 1, 1], "other": [1, 0, 1]})
    model = CategoricalNB().fit(frame, ["a", "b", "b"])
    tables = model.probability_tables_
    assert len(tables) == 3
    assert any("probability" in read(table) for table in tables.values())


@every()
def test_tables_follow_the_model(NB):
    x, y = rows()
    model = NB().fit(x, y)
    first = {k: read(t) for k, t in model.probability_tables_.items()}
    model.partial_fit(x[:30] * 0 + 1, y[:30])
    second = {k: read(t) for k, t in model.probability_tables_.items()}
    assert all(first[name] != second[name] for name in first)
    fresh = NB().fit(np.concatenate([x, x[:30] * 0 + 1]), np.concatenate([y, y[:30]]))
    assert_same_counts(model, fresh)
