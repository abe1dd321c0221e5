"""Columns of numbers that hold some strings, and keys that few rows have.

Numbers and strings of one column are counted side by side, and what the column mainly is is decided
when it is read: neither order, batches, merging nor forgetting matter.
"""

import copy
import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from tallybayes import GaussianNB, NaiveBayes, WeightedNaiveBayes, leave_one_out, load
from tallybayes.errors import (
    FamilyWarning,
    MixedColumnWarning,
    NegativeTally,
    UnseenLevel,
    UnseenWarning,
)
from tallybayes.families import Binned, Categorical, Gaussian, Poisson
from tallybayes.models.rows import A_NUMBER

RNG = np.random.default_rng(5)
N = 400
LABELS = ["yes" if i % 3 else "no" for i in range(N)]
AGES = [round(float(a), 1) for a in RNG.normal(40, 6, N) + [5 * (y == "yes") for y in LABELS]]
ROWS = [{"age": age, "job": "cook" if i % 2 else "judge"} for i, age in enumerate(AGES)]
UNKNOWN = {"age": "unknown", "job": "cook"}

quiet = pytest.mark.filterwarnings("ignore::tallybayes.errors.MixedColumnWarning")


def read(model, name="age"):
    return model.schema_.set_index("column").loc[name, ["holds", "family"]].tolist()


def counts(model):
    """What a model has counted, whatever the order of classes' levels, and its columns."""
    tally = model.tally_
    found = {}
    for columns, group in zip(tally.schema.groups, tally.groups, strict=True):
        if columns.kind == "levels":
            for level, count in zip(
                columns.levels[0].tolist(), group.counts.T.tolist(), strict=True
            ):
                if any(count):
                    found[columns.names, level] = count
        elif columns.kind == "grid" and group.counts.any():
            kept = group.counts.any(axis=0)
            found[columns.names] = group.keys[kept].tolist(), group.counts[:, kept].tolist()
    return tally.classes.count.tolist(), found, sorted(model.schema_["column"])


# ---- one odd value -------------------------------------------------------------------------------
@pytest.mark.parametrize("missing", ["ignore", "level"])
@quiet
def test_one_text_leaves_the_numbers_as_they_are(missing):
    plain = NaiveBayes(missing=missing).fit(ROWS, LABELS)
    model = copy.copy(plain).learn_one(UNKNOWN, "yes")
    holds, family = read(model)
    assert (holds, family) == ("numbers and strings", f"{read(plain)[1]}, 1 level beside")
    number = {"age": 41.5}
    change = np.log(list(model.predict_proba_one(number).values()))
    change -= np.log(list(plain.predict_proba_one(number).values()))
    assert np.abs(change).max() < 0.02
    shares = model.predict_proba_one({"age": "unknown"})
    assert shares["yes"] > plain.predict_proba_one({})["yes"]


@quiet
def test_forgetting_the_text_restores_the_column():
    model = NaiveBayes().fit(ROWS, LABELS)
    expected = model.predict_proba(ROWS)
    model.learn_one(UNKNOWN, "yes").forget_one(UNKNOWN, "yes")
    assert read(model)[0] == "numbers"
    assert np.array_equal(model.predict_proba(ROWS), expected)
    assert model.schema_.equals(NaiveBayes().fit(ROWS, LABELS).schema_)
    with pytest.raises(NegativeTally):
        model.forget_one({"age": "unknown", "job": "cook"}, "yes")


def test_a_warning_names_the_texts_and_the_rows_once_a_fit():
    rows = [*ROWS, UNKNOWN, {"age": "?"}, UNKNOWN]
    words = r"column 'age' holds numbers in 400 rows and strings in 3: 'unknown', '\?'"
    with pytest.warns(MixedColumnWarning, match=words):
        model = NaiveBayes().fit(rows, [*LABELS, "yes", "no", "no"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(rows)
        model.partial_fit(rows, [*LABELS, "yes", "no", "no"]).learn_one(UNKNOWN, "no").predict(rows)
    with pytest.warns(MixedColumnWarning, match=words.replace("400", "2").replace("3:", "1:")[:45]):
        NaiveBayes().fit([{"age": 1}, {"age": 2}, {"age": "unknown"}], [0, 1, 1])


@quiet
def test_a_row_as_a_dict_is_as_in_a_table():
    rows = [*ROWS, UNKNOWN, {"age": "?"}, {"age": "12.5"}, {"age": True}, {"age": None}]
    labels = [*LABELS, "yes", "no", "yes", "no", "no"]
    asked = [*rows[-6:], {"age": "never"}, {"age": "7"}, {"age": False}, {"age": -3}]
    families = ["auto", {"age": Gaussian()}, {"age": Binned()}]
    for missing in ("ignore", "level"):
        for estimate in ("mean", "posterior"):
            model = NaiveBayes(missing=missing, estimate=estimate).fit(rows, labels)
            expected = model.predict_proba(asked)
            found = [list(model.predict_proba_one(row).values()) for row in asked]
            np.testing.assert_allclose(found, expected, rtol=1e-11)
            assert [model.predict_one(row) for row in asked] == model.predict(asked).tolist()
            explained = model.explain(asked)
            joint = explained.base + explained.contributions.sum(axis=2)
            np.testing.assert_allclose(joint, model.predict_joint_log_proba(asked), rtol=1e-11)
    for columns in families[1:]:
        with pytest.raises(ValueError, match="holds the string 'unknown'"):
            NaiveBayes(columns).fit(rows, labels)


@quiet
def test_every_frame_gives_the_same_model():
    values = [1, 2.5, "a", None, 4, "7", 9, True, 11, 12]
    labels = list("abababaabb")
    whole = NaiveBayes().fit([{"x": v} for v in values], labels)
    frames = [
        pd.DataFrame({"x": values}),
        pl.DataFrame({"x": pl.Series(values, dtype=pl.Object)}),
        np.array(values, dtype=object)[:, None],
    ]
    for frame in frames:
        model = NaiveBayes().fit(frame, labels)
        assert np.array_equal(
            model.predict_proba(frame), whole.predict_proba([{"x": v} for v in values])
        )


@quiet
@pytest.mark.parametrize("missing", ["ignore", "level"])
@pytest.mark.parametrize("estimate", ["mean", "posterior"])
def test_leave_one_out_is_fitting_the_others(missing, estimate):
    odd = [{"age": value} for value in ("unknown", "?", None, 35.5, "40.5")] * 3
    rows, labels = [*ROWS[:60], *odd], [*LABELS[:60], *["yes", "no", "no"] * 5]
    options = {"missing": missing, "estimate": estimate}
    model = NaiveBayes(**options).fit(rows, labels)
    found = leave_one_out(model, rows, labels)
    compared = []
    for i in range(60, 75):
        others = [j for j in range(75) if j != i]
        part = NaiveBayes(**options)
        part.fit([rows[j] for j in others], [labels[j] for j in others])
        family = part.schema_["family"][0]
        is_number = rows[i]["age"] not in ("unknown", "?", None)
        if family != model.schema_["family"][0] or (is_number and "Gaussian" not in family):
            continue  # other families, or bins, are chosen without the row
        compared.append(i)
        np.testing.assert_allclose(found[i], part.predict_log_proba([rows[i]])[0], rtol=1e-9)
    assert len(compared) >= 6


# ---- what a column mainly is ---------------------------------------------------------------------
@quiet
def test_the_heavier_of_numbers_and_texts_decides():
    strings = [{"x": v} for v in ("a", "b", "a")]
    numbers = [{"x": v} for v in (1, 2, 7)]
    level = NaiveBayes().fit([*strings, *numbers], list("ababab"))
    assert read(level, "x") == ["strings", "categorical, 5 levels"]  # a tie is for the strings
    number = NaiveBayes().fit([*strings, *numbers, {"x": 3}], list("abababa"))
    assert read(number, "x")[0] == "numbers and strings"
    weighted = NaiveBayes().fit([*strings, *numbers], list("ababab"), sample_weight=[1] * 5 + [1.5])
    assert read(weighted, "x")[0] == "numbers and strings"
    back = number.forget_one({"x": 3}, "a")
    assert read(back, "x") == ["strings", "categorical, 5 levels"]


@quiet
@pytest.mark.parametrize("NB", [NaiveBayes, WeightedNaiveBayes])
def test_a_text_of_weight_0_is_no_reason_to_refuse_the_rows(NB):
    rows = [{"x": v} for v in (1.0, "unknown", 2.5, 3.0, 4.0)]
    model = NB().fit(rows, list("ababb"), [1.0, 0.0, 1.0, 1.0, 1.0])
    assert model.class_count_.tolist() == [2.0, 2.0]


def only_zeros_held_a_string():
    X = pd.DataFrame({"age": [1.0, 2.5, "?", 3.0, 4.5, 7.0], "k": list("ababab")}, dtype=object)
    return X, [0, 1, 1, 0, 1, 0], np.array([1.0, 2.0, 0.0, 1.0, 1.0, 1.0])


@quiet
@pytest.mark.parametrize("missing", ["ignore", "level"])
def test_a_string_that_only_rows_of_weight_0_held_may_be_asked_about(missing, tmp_path):
    """Such rows hold nothing; to the model the string is one that it has not learned."""
    X, y, w = only_zeros_held_a_string()
    kept = w > 0.0
    options = {"missing": missing}
    model = NaiveBayes(**options).fit(X, y, w)
    without = NaiveBayes(**options).fit(X[kept], np.array(y)[kept], w[kept])
    with pytest.raises(ValueError, match="holds the string"):
        without.predict_proba(X)
    asked = model.predict_proba(X)
    np.testing.assert_array_equal(asked[kept], without.predict_proba(X[kept]))
    if missing == "ignore":
        gap = without.predict_proba(X.assign(age=X["age"].where(kept, None)))
        np.testing.assert_array_equal(asked, gap)
    rest = leave_one_out(model, X, y, w)
    np.testing.assert_array_equal(rest[2], np.log(asked[2]))
    np.testing.assert_array_equal(
        rest[kept], leave_one_out(without, X[kept], np.array(y)[kept], w[kept])
    )
    row = X.to_dict("records")[2]
    assert list(model.predict_proba_one(row).values()) == pytest.approx(asked[2])
    assert model.explain_one(row).row == row
    assert model.to_sql("t", "duckdb") == without.to_sql("t", "duckdb")
    model.save(tmp_path / "model.tally")
    others = [load(tmp_path / "model.tally"), copy.deepcopy(model)]
    others.append(NaiveBayes(**options).partial_fit(X, y, sample_weight=w))
    others.append(
        NaiveBayes(**options).fit(X[:3], y[:3], w[:3]).partial_fit(X[3:], y[3:], None, w[3:])
    )
    part = NaiveBayes(**options).fit(X[:2], y[:2], w[:2])
    others.append(part.merge(NaiveBayes(**options).fit(X[2:], y[2:], w[2:])))
    others.append(NaiveBayes(**options).fit(X, y, np.ones(6)).forget(X[2:3], y[2:3]))
    for other in others[:-1]:
        np.testing.assert_allclose(other.predict_proba(X), asked, rtol=1e-12)
    with pytest.raises(ValueError, match="holds the string"):
        others[-1].predict(X)


@quiet
def test_nor_does_it_stop_choices_on_rows_and_weighted_models():
    X, y, w = only_zeros_held_a_string()
    X, w = pd.concat([X] * 10, ignore_index=True), np.tile(w, 10)
    y = np.where(np.random.default_rng(0).random(60) < 0.3, np.tile([0, 1], 30), np.tile(y, 10))
    for model in (
        NaiveBayes(alpha="auto", calibrate="temperature"),
        NaiveBayes(class_weight={0: 1.0, 1: 2.0}),
        WeightedNaiveBayes(parts=1),
    ):
        assert np.isfinite(model.fit(X, y, w).predict_log_proba(X)).all()
        assert np.isfinite(leave_one_out(model, X, y, w)).all()


def test_among_texts_a_number_is_the_level_that_its_text_names():
    rows = [{"x": v} for v in ("3", "3", "a", "b", 3, 4.0)]
    model = NaiveBayes().fit(rows, list("abaabb"))
    assert read(model, "x") == ["strings", "categorical, 4 levels"]
    for one, same in ((3, "3"), (4, "4"), (4.0, "4")):
        assert model.predict_proba_one({"x": one}) == model.predict_proba_one({"x": same})
        proba = model.predict_proba([{"x": one}, {"x": same}])
        assert np.array_equal(proba[0], proba[1])


@quiet
def test_among_numbers_texts_that_are_numbers_are_numbers():
    rows = [{"x": v} for v in (1, 2, 3, 4, 5, 6)]
    labels = list("aaabbb")
    model = NaiveBayes().fit([*rows, {"x": "7"}, {"x": True}], [*labels, "b", "a"])
    same = NaiveBayes().fit([*rows, {"x": 7}, {"x": 1}], [*labels, "b", "a"])
    assert read(model, "x") == read(same, "x")
    np.testing.assert_allclose(model.predict_proba(rows), same.predict_proba(rows), rtol=1e-12)


def test_numbers_that_are_not_told_apart_are_one_level_among_texts():
    many = [{"x": float(v)} for v in RNG.normal(size=5000)]
    strings = [{"x": "abc"[i % 3]} for i in range(6000)]
    labels = list("ab") * 5500
    model = NaiveBayes().fit([*many, *strings], labels)
    assert read(model, "x") == ["strings", "categorical, 4 levels"]
    assert A_NUMBER in model.class_conditional_["x"].levels
    whole = NaiveBayes().fit([{"x": 2**60}, {"x": 2**60 + 1}, *strings[:3]], list("abaab"))
    assert read(whole, "x") == ["strings", "categorical, 4 levels"]
    for asked in (0.25, 2**60 + 5, "never"):
        for some in (model, whole):
            batch = some.predict_proba([{"x": asked}])[0]
            np.testing.assert_allclose(list(some.predict_proba_one({"x": asked}).values()), batch)
    assert np.array_equal(*model.predict_proba([{"x": 0.25}, {"x": -1e9}]))


def test_a_column_of_booleans_understands_0_and_1():
    rows = [{"x": True}, {"x": False}, {"x": False}, {"x": True}]
    model = NaiveBayes().fit(rows, list("abba"))
    for way in (pd.DataFrame, pl.DataFrame, list):
        asked = way([{"x": 1}, {"x": 0}]) if way is list else way({"x": [1, 0]})
        assert np.array_equal(model.predict_proba(asked), model.predict_proba(rows[:2]))
    for one, same in ((1, True), (0, False), (1.0, True), (np.int64(0), False)):
        assert model.predict_proba_one({"x": one}) == model.predict_proba_one({"x": same})
        assert model.predict_one({"x": one}) == model.predict_one({"x": same})
    both = NaiveBayes().fit([*rows, {"x": 1}, {"x": 0}], list("abbaba"))
    assert read(both, "x")[1] == "categorical, 2 levels"


@quiet
def test_unseen_texts_follow_unseen():
    rows, labels = [*ROWS, UNKNOWN], [*LABELS, "yes"]
    model = NaiveBayes(unseen="error").fit(rows, labels)
    for ask in (model.predict, model.predict_proba):
        with pytest.raises(UnseenLevel, match="column 'age' holds 'never'"):
            ask([{"age": "never"}])
    with pytest.raises(UnseenLevel, match="'age'"):
        model.predict_one({"age": "never"})
    ignored = NaiveBayes(unseen="ignore").fit(rows, labels)
    assert np.array_equal(*ignored.predict_proba([{"age": "never"}, {"age": None}]))
    plain = NaiveBayes().fit(ROWS, LABELS)
    with pytest.raises(ValueError, match="column 'age' holds the string 'never'"):
        plain.predict_one({"age": "never"})


# ---- other readers of the tally ------------------------------------------------------------------
@quiet
def test_a_file_keeps_numbers_and_texts(tmp_path):
    model = NaiveBayes().fit([*ROWS, UNKNOWN], [*LABELS, "no"])
    model.learn_one({"a ": 1}, "no").save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.schema_.equals(model.schema_)
    assert np.array_equal(
        again.predict_proba([*ROWS, UNKNOWN]), model.predict_proba([*ROWS, UNKNOWN])
    )
    assert counts(again.learn_one({"a ": 2}, "no")) == counts(model.learn_one({"a ": 2}, "no"))


@quiet
@pytest.mark.parametrize("missing", ["ignore", "level"])
def test_distributions_have_the_texts_too(missing):
    rows = [*ROWS, *[UNKNOWN] * 40, *[{"age": None}] * 40]
    labels = [*LABELS, *["yes"] * 70, *["no"] * 10]
    model = NaiveBayes({"job": None}, missing=missing).fit(rows, labels)
    column = model.class_conditional_["age"]
    asked = [{"age": 41.0}, {"age": "unknown"}, {"age": None}]
    values = np.array([41.0, "unknown", None], dtype=object)
    joint = column.log_prob(values) + model.class_log_prior_
    np.testing.assert_allclose(joint, model.predict_joint_log_proba(asked), rtol=1e-12)
    drawn = column.sample(20_000, random_state=1)
    share = np.array([[v == "unknown" for v in of] for of in drawn.T.tolist()]).mean(axis=1)
    np.testing.assert_allclose(share, np.exp(column.log_prob("unknown")), atol=0.01)
    assert np.isfinite(column.entropy()).all()
    lower, upper = model.predict_proba_interval(asked)
    proba = model.predict_proba(asked)
    assert ((lower <= proba + 0.02) & (proba <= upper + 0.02)).all()


@quiet
def test_the_weighted_model_has_cells_for_texts_beside_those_of_numbers(tmp_path):
    rows = [*ROWS, *[{"age": "unknown", "job": "cook"}] * 60, *[{"age": None}] * 20]
    labels = [*LABELS, *["no"] * 55, *["yes"] * 5, *["yes", "no"] * 10]
    model = WeightedNaiveBayes().fit(rows, labels)
    cells = model.tables_["age"]["age"].tolist()
    assert cells[-2:] == ["unknown", "(missing)"]
    shares = model.predict_proba([{"age": "unknown"}, {"age": 40.0}, {"age": None}])[:, 0]
    assert shares[0] > 0.7 > shares[1]
    assert model.schema_["holds"].tolist()[0] == "numbers and strings"
    assert np.isfinite(leave_one_out(model, rows, labels)).all()
    model.save(tmp_path / "m")
    assert np.array_equal(load(tmp_path / "m").predict_proba(rows), model.predict_proba(rows))


@quiet
@pytest.mark.filterwarnings("ignore::tallybayes.errors.StaleWarning")
def test_texts_that_come_after_the_weights_change_no_other_cell():
    x, y = RNG.integers(0, 9, (2, 600))
    labels = np.where((x > 4) ^ (y > 4), "odd", "even")
    rows = [
        {"x": None if i % 10 == 0 else int(a), "y": int(b)}
        for i, (a, b) in enumerate(zip(x, y, strict=True))
    ]
    model = WeightedNaiveBayes().fit(rows, labels)
    assert model.interactions_ == [("x", "y")]
    before = model.predict_joint_log_proba(rows)
    model.partial_fit([{"x": "new"}, {"x": "newer"}], ["odd", "even"])
    after = model.predict_joint_log_proba(rows)
    assert np.abs(after - before).max() < 0.1
    assert np.isfinite(model.predict_proba([{"x": "new", "y": 3}, {"x": "never", "y": 3}])).all()


@quiet
def test_tables_and_importances_have_the_texts_too():
    rows, labels = [*ROWS, *[UNKNOWN] * 30], [*LABELS, *["no"] * 30]
    for columns in ("auto", {"job": None}):
        model = NaiveBayes(columns).fit(rows, labels)
        table = model.tables_["age"]
        assert "unknown" in table["age"].tolist()
        assert np.isfinite(model.feature_importances_).all()
        assert model.feature_importances_[0] > 0.1


# ---- keys that few rows have ---------------------------------------------------------------------
def test_a_stray_key_is_no_column():
    plain = NaiveBayes().fit(pd.DataFrame(ROWS), LABELS)
    for way in ("learn_one", "partial_fit", "merge"):
        model = copy.copy(plain)
        stray = {"age": 30, "a ": 7}
        if way == "learn_one":
            model.learn_one(stray, "no")
        elif way == "partial_fit":
            model.partial_fit([stray], ["no"])
        else:
            model.merge(NaiveBayes().learn_one(stray, "no"))
        assert model.feature_names_in_.tolist() == ["age", "job"]
        assert model.n_features_in_ == 2
        assert model.explain(ROWS[:1]).contributions.shape[2] == 2
        model.partial_fit(pd.DataFrame(ROWS[:1]), ["no"]).predict(pd.DataFrame(ROWS))
        model.learn_one({"a ": 8}, "yes")
        for _ in range(3):  # 5 of 404 rows: more than 1 %
            model.learn_one({"a ": 9, "age": 3}, "yes")
        assert model.feature_names_in_.tolist() == ["age", "job", "a "]
        with pytest.raises(ValueError, match=r"lacks the column\(s\) \['a '\]"):
            model.predict(pd.DataFrame(ROWS))
        model.forget([stray], ["no"])
        assert model.feature_names_in_.tolist() == ["age", "job"]


def test_a_stray_key_vanishes_when_it_is_forgotten():
    few = [{"age": 1}, {"age": 2}, {"age": 4}]
    model = NaiveBayes().fit(few, list("aab")).learn_one({"age": 3, "a ": 7}, "b")
    assert model.feature_names_in_.tolist() == ["age", "a "]
    model.forget_one({"age": 3, "a ": 7}, "b")
    assert counts(model) == counts(NaiveBayes().fit(few, list("aab")))


def test_a_declared_key_and_a_column_of_a_frame_are_columns_however_few_rows_have_them():
    rows = [*ROWS, {"visits": 3}]
    model = NaiveBayes({"visits": Poisson()}).fit(rows, [*LABELS, "no"])
    assert "visits" in model.feature_names_in_
    assert "visits" in NaiveBayes().fit(pd.DataFrame(rows), [*LABELS, "no"]).feature_names_in_
    dicts = NaiveBayes().fit(rows, [*LABELS, "no"])
    assert "visits" not in dicts.feature_names_in_
    dicts.partial_fit(pd.DataFrame(rows), [*LABELS, "no"])
    assert "visits" in dicts.feature_names_in_


def test_n_features_in_follows_learn_one():
    model = NaiveBayes().learn_one({"a": 1}, 0)
    assert model.n_features_in_ == 1
    assert model.learn_one({"a": 1, "b": "x"}, 1).n_features_in_ == 2
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert not hasattr(NaiveBayes(), "n_features_in_")
    assert not hasattr(NaiveBayes().fit([[1.0], [2.0]], [0, 1]), "feature_names_in_")


@pytest.mark.parametrize("way", ["predict", "predict_proba", "predict_one", "predict_proba_one"])
def test_rows_without_a_known_key_are_warned_of(way):
    model = NaiveBayes().fit(ROWS, LABELS)
    row = {"Age": 3, "Job": "cook"}
    with pytest.warns(
        UnseenWarning, match="none of its keys is a column of the model, 'Age', 'Job'"
    ):
        getattr(model, way)(row if way.endswith("_one") else [ROWS[0], row])
    getattr(model, way)({} if way.endswith("_one") else [{}])  # nothing is known, and that is said


def test_a_row_of_weight_0_may_hold_what_a_batch_would_have_to_learn():
    model = NaiveBayes().fit([{"x": 1.0}, {"x": 2.0}], list("ab"))
    before = model.tally_
    model.learn_one({"x": "p"}, "a", 0.0)
    assert model.tally_ == before


# ---- any order -----------------------------------------------------------------------------------
VALUES = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([0.5, 1e6, -0.0, np.float32(2.5)]),
    st.sampled_from(["a", "b", "3", "0.5", "nan", "infinite", " 2 ", "True", A_NUMBER]),
    st.booleans(),
    st.none(),
)
ROW = st.fixed_dictionaries({}, optional={"x": VALUES, "y": VALUES, "x ": st.integers(0, 1)})
HISTORY = st.lists(
    st.tuples(
        ROW, st.sampled_from("ab"), st.sampled_from(["one", "batch", "merge"]), st.booleans()
    ),
    min_size=1,
    max_size=14,
)


@quiet
@settings(max_examples=60, deadline=None)
@given(HISTORY, st.randoms(use_true_random=False))
def test_any_history_gives_the_model_of_the_rows_that_are_left(history, random):
    """Rows come one by one, in batches and by merging; some are forgotten, in any order."""
    first = [{"x": 1, "y": "a"}, {"x": 2, "y": "b"}]
    model = NaiveBayes().fit(first, list("ab"))
    left, gone = [*first], []
    labels = list("ab")
    for row, label, way, forgotten in history:
        if way == "one":
            model.learn_one(row, label)
        elif way == "batch":
            model.partial_fit([row, {}], [label, label], sample_weight=[1.0, 0.0])
        else:
            model.merge(NaiveBayes().learn_one(row, label))
        if forgotten:
            gone.append((row, label))
        else:
            left.append(row)
            labels.append(label)
    random.shuffle(gone)
    for row, label in gone:
        model.forget_one(row, label)
    whole = NaiveBayes().fit(left, labels)
    mine, theirs = counts(model), counts(whole)
    assert mine[:2] == theirs[:2]
    asked = [*left, {"x": 7}, {"x": "never", "y": 2}, {"y": None}]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenWarning)
        same_or_refused(model, whole, asked)


def same_or_refused(model, whole, asked):
    for row in asked:
        try:
            expected = whole.predict_proba([row])[0]
        except ValueError:
            with pytest.raises(ValueError, match="column '"):
                model.predict_proba([row])
            continue
        np.testing.assert_allclose(model.predict_proba([row])[0], expected, rtol=1e-6)


# ---- dates ---------------------------------------------------------------------------------------
def test_dates_are_asked_as_dates_or_their_texts():
    days = [datetime.date(2020, 1, d) for d in range(1, 9)]
    model = NaiveBayes().fit([{"day": day} for day in days], list("aaaabbbb"))
    expected = model.predict_proba([{"day": days[2]}])
    assert np.array_equal(model.predict_proba([{"day": "2020-01-03"}]), expected)
    assert model.predict_one({"day": "2020-01-03"}) == model.predict_one({"day": days[2]})
    for wrong, words in ((18264, "holds the number 18264"), ("soon", "holds 'soon'")):
        for ask in (lambda v: model.predict([{"day": v}]), lambda v: model.predict_one({"day": v})):
            with pytest.raises(
                ValueError, match=rf"{words}(\.0)?, but the model has learned it as dates"
            ):
                ask(wrong)
    numbers = NaiveBayes().fit([{"day": i} for i in range(8)], list("aaaabbbb"))
    for ask in (numbers.predict, lambda rows: numbers.predict_one(rows[0])):
        with pytest.raises(
            ValueError, match="holds dates, but the model has learned it as numbers"
        ):
            ask([{"day": days[0]}])


def test_declared_levels_hold_numbers_as_before():
    model = NaiveBayes({"x": Categorical()}).fit([{"x": 1}, {"x": "a"}, {"x": 1.0}], list("aba"))
    assert read(model, "x") == ["strings", "categorical, 2 levels"]


# ---- what else is said ---------------------------------------------------------------------------
def poisson(rows, way):
    model = NaiveBayes({"x": Poisson()})
    if way == "fit":
        return model.fit(rows, list("aab"))
    if way == "merge":
        part = NaiveBayes({"x": Poisson()}).fit(rows[::2], list("ab"))
        return part.merge(part)
    for row, label in zip(rows, list("aab"), strict=True):
        model.learn_one(row, label)
    model.predict(rows)
    return model


@pytest.mark.parametrize("way", ["fit", "learn_one", "merge"])
def test_poisson_says_that_a_fraction_is_no_count(way):
    rows = [{"x": 1.5}, {"x": 1}, {"x": 3}]
    with pytest.warns(FamilyWarning, match="column 'x' is declared Poisson.* holds 1.5"):
        model = poisson(rows, way)
    model.predict(rows)  # says it once


@pytest.mark.parametrize("labels", [["a", 1], ("a", 1.5), ["a", True], [1, "a"]], ids=repr)
def test_labels_of_texts_and_numbers_are_refused(labels):
    for model, x in ((NaiveBayes(), [{"x": 1}, {"x": 2}]), (GaussianNB(), [[1.0], [2.0]])):
        with pytest.raises(ValueError, match="y mixes labels of the types"):
            model.fit(x, labels)


# ---- infinite numbers as strings -----------------------------------------------------------------
FINITE = pd.DataFrame({"x": [1.5, 2.5, 3.5, 4.5] * 5, "z": list("abab") * 5})
OWN_OF_FINITE = np.array(["p", "n"] * 10)


def with_string(text):
    rows = FINITE.iloc[:4].astype({"x": object})
    rows.loc[2, "x"] = text
    return rows


REFUSED = {
    "fit": lambda model, rows, y: model.fit(rows, y),
    "partial_fit": lambda model, rows, y: model.partial_fit(rows, y),
    "first partial_fit": lambda model, rows, y: clone(model).partial_fit(rows, y),
    "partial_fit of a source": lambda model, rows, y: model.partial_fit(rows.assign(y=y), "y"),
    "learn_one": lambda model, rows, y: model.learn_one(rows.iloc[2].to_dict(), y[2]),
    "forget": lambda model, rows, y: model.forget(rows, y),
    "forget_one": lambda model, rows, y: model.forget_one(rows.iloc[2].to_dict(), y[2]),
    "predict_one": lambda model, rows, y: model.predict_one(rows.iloc[2].to_dict()),
    "predict": lambda model, rows, y: model.predict(rows),
    "leave_one_out": lambda model, rows, y: leave_one_out(model, rows, y),
}


@pytest.mark.filterwarnings("ignore::tallybayes.errors.LeakWarning")
@pytest.mark.parametrize("kind", [NaiveBayes, WeightedNaiveBayes])
def test_an_infinite_string_among_numbers_is_refused_in_every_call(kind):
    fitted = kind().fit(FINITE, OWN_OF_FINITE)
    named = ("fit", "partial_fit", "forget", "predict") if kind is NaiveBayes else ()
    for name, call in REFUSED.items():
        row = "row 2: " if name in named else ""
        for text in ("inf", "-Infinity", "1e400"):
            model = copy.copy(fitted)
            with pytest.raises(ValueError, match=f"{row}column 'x' is infinite") as caught:
                call(model, with_string(text), OWN_OF_FINITE[:4])
            assert f"[{text!r}]" in str(caught.value)
            assert model.tally_ == fitted.tally_


@pytest.mark.filterwarnings("ignore::tallybayes.errors.MixedColumnWarning")
def test_an_infinite_string_is_a_level_among_other_strings():
    """And then it is learned, forgotten and predicted."""
    rows, y = with_string("unknown"), OWN_OF_FINITE[:4]
    model = NaiveBayes().fit(FINITE, OWN_OF_FINITE).partial_fit(rows, y)
    before = model.tally_
    model.partial_fit(with_string("inf"), y)
    assert model.predict(with_string("inf")).shape == (4,)
    assert model.forget(with_string("inf"), y).tally_ == before
    model.partial_fit(with_string("inf"), y).forget(rows, y)  # nothing learned is refused
    model.partial_fit(FINITE, OWN_OF_FINITE)
    model.forget(with_string("inf"), y)
