"""Types and columns that come in any order: one model, or one refusal, from every way to learn."""

import datetime
import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tallybayes import NaiveBayes, load
from tallybayes.errors import IncompatibleTallies
from tallybayes.families import Bernoulli, Categorical, Gaussian, Poisson

DAY = datetime.date(2020, 1, 1)


def at_once(rows, labels, **options):
    return NaiveBayes(**options).fit(rows, labels)


def in_batches(rows, labels, **options):
    model = NaiveBayes(**options)
    for row, label in zip(rows, labels, strict=True):
        model.partial_fit([row], [label])
    return model


def one_by_one(rows, labels, **options):
    model = NaiveBayes(**options)
    for row, label in zip(rows, labels, strict=True):
        model.learn_one(row, label)
    return model


def merged(rows, labels, **options):
    parts = [NaiveBayes(**options).partial_fit([r], [y]) for r, y in zip(rows, labels, strict=True)]
    for part in parts[1:]:
        parts[0].merge(part)
    return parts[0]


def in_frames(rows, labels, **options):
    model = NaiveBayes(**options)
    for row, label in zip(rows, labels, strict=True):
        model.partial_fit(pd.DataFrame([row]), [label])
    return model


WAYS = [at_once, in_batches, one_by_one, merged]


def orders(rows):
    labels = ["ab"[i % 2] for i in range(len(rows))]
    for order in itertools.permutations(range(len(rows))):
        yield [rows[i] for i in order], [labels[i] for i in order]


def counted(model):
    """What a model is: the counts of each column, by class and level or cell."""
    table = {}
    tally = model.tally_
    both = {columns.names for columns in tally.schema.groups if columns.kind == "grid"}
    for columns, group in zip(tally.schema.groups, tally.groups, strict=True):
        if columns.kind == "levels":
            levels = columns.levels[0].tolist()
            order = np.argsort(levels)
            of_levels = [levels[i] for i in order], group.counts[:, order].tolist()
            beside = (*columns.names, "levels") if columns.names in both else columns.names
            table[beside] = of_levels
        elif columns.kind == "grid":
            table[columns.names] = group.keys.tolist(), group.counts.tolist(), columns.dates
    return tally.classes.count.tolist(), table, sorted(model.schema_["column"])


MIXED = {
    "numbers and strings that are numbers": [3, 4, "3", "4"],
    "numbers, booleans": [1, 0.0, True, False],
    "floats, strings, missing values": [1.5, 2, "1.5", None],
    "missing values and one string": [None, 2, "x"],
    "text and boolean": ["True", True, 1],
    "very large": [1e100, 2, "1e+100"],
}


@pytest.mark.parametrize("values", MIXED.values(), ids=MIXED)
@pytest.mark.filterwarnings("ignore::tallybayes.errors.MixedColumnWarning")
def test_numbers_and_texts_in_one_column_are_counted_side_by_side_in_any_order(values):
    rows = [{"x": value, "k": i} for i, value in enumerate(values)]
    expected = counted(at_once(rows, next(orders(rows))[1]))
    assert {("x",), ("x", "levels")} < set(expected[1])
    for some, labels in orders(rows):
        for way in WAYS:
            assert counted(way(some, labels)) == expected, (way.__name__, some)


def test_declared_numbers_are_parsed_in_any_order():
    rows = [{"x": value} for value in (3, "4", 3.5, True)]
    for some, labels in orders(rows):
        for way in WAYS:
            model = way(some, labels, columns={"x": Gaussian()})
            assert model.schema_["family"].tolist() == ["Gaussian"]
            assert sorted(counted(model)[1]) == [("x",)]


def test_texts_are_still_read_as_numbers_at_predict():
    model = NaiveBayes().fit([{"x": 1}, {"x": 2}, {"x": 8}, {"x": 9}], list("aabb"))
    numbers, strings = [{"x": 2}, {"x": 1}], [{"x": "2.0"}, {"x": True}]
    assert np.array_equal(model.predict_proba(strings), model.predict_proba(numbers))


def test_texts_that_are_numbers_are_forgotten_as_they_were_learned():
    rows = [{"x": 3}, {"x": "3"}, {"x": "4"}]
    model = NaiveBayes().fit(rows, list("aab")).forget(rows[1:], list("ab"))
    three = NaiveBayes().fit(rows[:1], ["a"])
    found = counted(model)[1]
    assert found[("x",)] == counted(three)[1][("x",)]
    assert not np.any(found.get(("x", "levels"), ([], []))[1])
    numbers = NaiveBayes().fit([{"x": 3}, {"x": 4}], list("ab"))
    numbers.forget_one({"x": "4"}, "b")  # the strings of numbers that were learned as numbers
    assert counted(numbers)[1][("x",)][1] == [[1.0]]


WITH_DATES = {
    "a number": 18262,
    "a string": "2020-01-01",
    "a boolean": True,
    "a NumPy number": np.float64(1.5),
}


@pytest.mark.parametrize("other", WITH_DATES.values(), ids=WITH_DATES)
@pytest.mark.parametrize("date", [DAY, np.datetime64("2020-01-01"), pd.Timestamp(DAY)], ids=type)
def test_dates_mix_with_nothing_else_in_any_order(date, other):
    rows = [{"x": date}, {"x": None}, {"x": other}]
    for some, labels in orders(rows):
        for way in WAYS:
            with pytest.raises(ValueError, match=r"column 'x' holds dates"):
                way(some, labels)


def test_a_date_is_refused_by_learn_one_itself():
    for first, second in itertools.permutations([DAY, "x", 3], 2):
        if DAY not in (first, second):
            continue
        model = NaiveBayes().learn_one({"x": first}, "a")
        with pytest.raises(ValueError, match="column 'x' holds dates"):
            model.learn_one({"x": second}, "b")
        assert model.classes_.tolist() == ["a"]
        model.learn_one({"x": first}, "b")
        assert model.class_count_.tolist() == [1.0, 1.0]


def test_frames_of_dates_and_of_numbers_are_not_merged():
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        dates, numbers = make({"x": [DAY, DAY]}), make({"x": [18262, 18263]})
        for a, b in ((dates, numbers), (numbers, dates)):
            model = NaiveBayes().fit(a, [0, 1])
            with pytest.raises(IncompatibleTallies, match="holds dates in one part and numbers"):
                model.partial_fit(b, [0, 1])
            with pytest.raises(IncompatibleTallies, match="holds dates in one part and numbers"):
                model.merge(NaiveBayes().fit(b, [0, 1]))
            assert model.class_count_.tolist() == [1.0, 1.0]


def test_dates_and_gaps_or_times_are_dates():
    rows = [{"x": value} for value in (DAY, None, datetime.datetime(2020, 1, 3, 12), float("nan"))]
    expected = counted(at_once(rows, list("abab")))
    assert expected[1][("x",)][2] is True
    for some, labels in orders(rows):
        for way in WAYS:
            assert counted(way(some, labels)) == expected


def test_declared_levels_may_be_dates_among_others():
    values = [DAY, "2020-01-01", 7, datetime.datetime(2020, 1, 1, 9, 30)]
    rows = [{"x": value} for value in values]
    expected = ["2020-01-01", "2020-01-01T09:30:00", "7"]
    for some, labels in orders(rows):
        for way in WAYS:
            model = way(some, labels, columns={"x": Categorical()})
            assert counted(model)[1][("x",)][0] == expected
    stamps = pd.DataFrame({"x": pd.to_datetime(["2020-01-01T00:00", "2020-01-01T09:30"])})
    assert np.array_equal(model.predict_proba(stamps), model.predict_proba([rows[0], rows[3]]))
    assert list(model.predict_proba_one({"x": DAY}).values()) == pytest.approx(
        model.predict_proba(stamps)[0].tolist(), rel=1e-14
    )


# ---- columns -------------------------------------------------------------------------------------
GROWING = [{"a": 1}, {"a": 2, "b": 3}, {"b": 4, "c": "x"}, {"d": None}]


def test_a_key_that_no_row_had_before_is_a_column():
    expected = counted(at_once(GROWING, list("abab")))
    assert expected[2] == ["a", "b", "c", "d"]
    for some, labels in orders(GROWING):
        for way in WAYS:
            model = way(some, labels)
            assert counted(model) == expected
            assert model.n_features_in_ == 4
            assert model.feature_names_in_.tolist() == model.schema_["column"].tolist()
            assert np.allclose(
                model.predict_proba(GROWING),
                at_once(GROWING, list("abab")).predict_proba(GROWING),
                rtol=1e-12,
            )


def test_a_column_that_a_frame_adds_is_learned_as_merging_would():
    rows, labels = [{"a": 1}, {"a": 2, "b": 3}, {"a": 5, "b": 4, "c": "x"}], list("aba")
    model = in_frames(rows, labels)
    assert counted(model) == counted(merged(rows, labels))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match=r"X lacks the column\(s\) \['b', 'c'\]"):
        model.partial_fit(pd.DataFrame([{"a": 1}]), ["a"])


def test_a_row_that_is_refused_adds_no_column():
    model = NaiveBayes().learn_one({"a": 1}, "a")
    for row in ({"a": 1, "new": np.inf}, {"new": 1, "a": np.inf}, {"new": "x", "other": [1]}):
        with pytest.raises(ValueError, match="column '"):
            model.learn_one(row, "a")
    assert model.learn_one({"a": 2}, "a").schema_["column"].tolist() == ["a"]


def test_declared_columns_may_come_later_in_a_stream():
    columns = {"b": Poisson(), "c": None}
    rows = [{"a": 1}, {"a": 2, "b": 3}, {"c": "x", "b": 2}]
    expected = counted(at_once(rows, list("aba"), columns=columns))
    for some, labels in orders(rows):
        for way in WAYS:
            model = way(some, labels, columns=columns)
            assert model.schema_.set_index("column").loc["b", "family"] == "Poisson"
            if some == rows:
                assert counted(model) == expected
    with pytest.raises(ValueError, match="columns= names 'z'"):
        NaiveBayes({"z": Poisson()}).fit(rows, list("aba"))


def test_keys_that_are_no_texts_are_named_by_their_text():
    rows = [{1: 2.0, "b": "x"}, {1: 3.0, "b": "y"}, {1: 9.0, 2: 4.0}]
    models = [way(rows, list("aab")) for way in WAYS]
    for model in models:
        assert counted(model) == counted(models[0])
        assert model.schema_["column"].tolist() == ["1", "b", "2"]
        assert list(model.predict_proba_one(rows[2]).values()) == pytest.approx(
            model.predict_proba(rows)[2].tolist(), rel=1e-12
        )
    for call in (
        lambda: model.learn_one({1: 1, "1": 2}, "a"),
        lambda: model.predict_one({1: 1, "1": 2}),
    ):
        with pytest.raises(ValueError, match="two keys"):
            call()


def refused(model, row, label, error, words):
    """The row is refused, and the model learns on and predicts as if it had not come."""
    with pytest.raises(error, match=words):
        model.learn_one(row, label)


WRONG_LABELS = {
    "a float": (1.5, ValueError, "continuous"),
    "a number": (1, IncompatibleTallies, "cannot be joined"),
    "a boolean": (True, IncompatibleTallies, "cannot be joined"),
    "bytes": (b"a", TypeError, "bytes"),
    "a tuple": (("a",), TypeError, "a label is"),
    "a list": (["a"], TypeError, "unhashable"),
}


@pytest.mark.parametrize("wrong", WRONG_LABELS.values(), ids=WRONG_LABELS)
@pytest.mark.parametrize("before", ["fitted", "waiting", "declared"])
def test_a_label_of_another_type(wrong, before):
    label, error, words = wrong
    if before == "declared":
        model = NaiveBayes(classes=["a", "b"])
    else:
        model = NaiveBayes().fit([{"x": 1.0}, {"x": 2.0}], ["a", "b"])
    if before == "waiting":
        model.learn_one({"x": 3.0}, "b")
    refused(model, {"x": 1}, label, error, words)
    model.learn_one({"x": 1}, "a")
    assert model.predict_one({"x": 1.0}) == "a"
    count = {"fitted": [2.0, 1.0], "waiting": [2.0, 2.0], "declared": [1.0, 0.0]}[before]
    assert model.class_count_.tolist() == count


def test_a_text_among_labels_that_are_numbers():
    model = NaiveBayes().learn_one({"x": 1}, 1).learn_one({"x": 2}, 2.0)
    refused(model, {"x": 1}, "a", IncompatibleTallies, "cannot be joined")
    assert model.learn_one({"x": 3}, np.int64(3)).classes_.tolist() == [1, 2, 3]


def test_a_class_beyond_a_prior_that_is_given():
    model = NaiveBayes(class_alpha=0, class_prior=[0.25, 0.75])
    model.learn_one({"x": 1}, "a").learn_one({"x": 1}, "b")
    refused(model, {"x": 1}, "c", ValueError, "Number of priors must match")
    assert list(model.predict_proba_one({"x": 1}).values()) == pytest.approx([0.25, 0.75])


@pytest.mark.parametrize("fitted", [False, True])
def test_a_third_level_of_a_bernoulli_column(fitted):
    model = NaiveBayes({"x": Bernoulli()})
    if fitted:
        model.fit([{"x": "no"}, {"x": "yes"}], ["a", "b"])
    else:
        model.learn_one({"x": "no"}, "a").learn_one({"x": "yes"}, "b")
    refused(model, {"x": "maybe"}, "a", ValueError, "declared Bernoulli")
    model.learn_one({"x": None}, "a").learn_one({"x": "yes"}, "b")
    assert model.class_count_.tolist() == [2.0, 2.0]
    assert model.predict_one({"x": "yes"}) == "b"


def test_a_level_of_a_refused_row_takes_no_place():
    model = NaiveBayes({"x": Bernoulli()}).learn_one({"x": "no", "y": 1}, "a")
    refused(model, {"x": "maybe", "y": np.inf}, "a", ValueError, "infinity")
    assert model.learn_one({"x": "yes", "y": 1}, "b").predict_one({"x": "yes"}) == "b"


def test_numbers_too_far_apart_for_their_squares():
    far = [1e153, 1e154, -1e154]
    model = NaiveBayes().learn_one({"x": far[0]}, "a").learn_one({"x": far[1]}, "a")
    refused(model, {"x": far[2]}, "a", ValueError, "column 'x' is too large")
    model.learn_one({"x": 2e153}, "b")
    assert model.class_count_.tolist() == [2.0, 1.0]
    batches = NaiveBayes().partial_fit([[1e154]], ["a"])
    with pytest.raises(ValueError, match="column '0' is too large"):
        batches.partial_fit([[-1.2e154]], ["a"])
    with pytest.raises(ValueError, match="column '0' is too large"):
        batches.merge(NaiveBayes().fit([[-1.2e154]], ["a"]))
    assert batches.class_count_.tolist() == [1.0]


# ---- families by type ----------------------------------------------------------------------------
BY_TYPE = {int: Poisson(), str: Categorical(alpha=2.0), float: None, "size": Gaussian()}
ROWS = [
    {"visits": None, "job": "cook", "gain": 1.5, "size": 3},
    {"visits": 2, "job": None, "gain": None, "size": 4},
    {"visits": 0, "job": "nurse", "gain": 2.5, "rooms": 2},
    {"visits": 1, "rooms": 3, "gain": 7},
]
LABELS = list("abab")


def families(model):
    return dict(zip(model.schema_["column"], model.schema_["family"], strict=True))


@pytest.mark.parametrize("way", ["fit", "partial_fit", "learn_one", "merge", "load"])
def test_keys_by_type_are_settled_by_the_first_value_of_a_column(way, tmp_path):
    model = NaiveBayes(BY_TYPE)
    if way == "fit":
        model.fit(ROWS, LABELS)
    elif way == "merge":
        model.partial_fit(ROWS[:1], LABELS[:1])
        model.merge(NaiveBayes(BY_TYPE).partial_fit(ROWS[1:], LABELS[1:]))
    else:
        for i, (row, label) in enumerate(zip(ROWS, LABELS, strict=True)):
            if way == "partial_fit":
                model.partial_fit([row], [label])
            else:
                model.learn_one(row, label)
            if way == "load" and i < 3:
                model.save(tmp_path / "model.tally")
                model = load(tmp_path / "model.tally")
    assert families(model) == {
        "visits": "Poisson",
        "job": "categorical, 2 levels",
        "gain": "left out",
        "size": "Gaussian",
        "rooms": "Poisson",
    }
    expected = NaiveBayes(BY_TYPE).fit(ROWS, LABELS).predict_proba(ROWS)
    np.testing.assert_allclose(model.predict_proba(ROWS), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="not negative"):
        model.learn_one({"visits": -1}, "a")


def test_what_was_not_declared_by_its_first_type_stays_so():
    model = NaiveBayes({int: Poisson()}).partial_fit([{"x": 1.5}], ["a"])
    model.partial_fit([{"x": 2}], ["b"]).learn_one({"x": -3}, "b")
    assert families(model)["x"] != "Poisson"


def test_a_given_prior_and_classes_on_the_first_call():
    model = NaiveBayes(class_alpha=0, class_prior=[0.5, 0.5])
    model.partial_fit([[1.0], [2.0], [4.0]], [0, 0, 0], classes=[0, 1])
    assert model.classes_.tolist() == [0, 1]
    assert np.exp(model.class_log_prior_).tolist() == [0.5, 0.5]
    model.partial_fit([[9.0]], [1]).set_params(class_prior=[0.2, 0.3, 0.5])
    model.partial_fit([[9.0]], [1], classes=[2])
    assert np.exp(model.class_log_prior_) == pytest.approx([0.2, 0.3, 0.5])


@pytest.mark.parametrize("use", ["learn_one", "predict_one", "forget_one"])
@pytest.mark.parametrize("before", ["fitted", "waiting"])
def test_a_value_that_uses_the_model_which_learns_it(use, before):
    """Neither its row nor what it asks for is counted, and the model learns on."""

    class Using(Fraction):
        def __float__(self):
            row = {"x": 5.0}
            getattr(model, use)(*([row] if use == "predict_one" else [row, "a"]))
            return 2.0

    model = NaiveBayes().fit([{"x": 1.0}, {"x": 2.0}], ["a", "b"])
    if before == "waiting":
        model.learn_one({"x": 3.0}, "b")
    expected = [1.0, 1.0 if before == "fitted" else 2.0]
    with pytest.raises(RuntimeError, match="it must not"):
        model.learn_one({"x": Using(2)}, "b")
    assert model.class_count_.tolist() == expected
    model.learn_one({"x": 4.0}, "a")
    assert model.class_count_.tolist() == [2.0, expected[1]]
    assert model.predict_one({"x": 4.0}) in ("a", "b")
