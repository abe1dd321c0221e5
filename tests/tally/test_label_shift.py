"""Class shares of rows without labels, from the margins of their columns."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallybayes import NaiveBayes, WeightedNaiveBayes, collect
from tallybayes.errors import IncompatibleTallies, NegativeTally
from tallybayes.families import Gaussian, Text
from tallybayes.label_shift import class_prior_of_margins

CLASSES = ("a", "b", "c")


def table(n, seed, shares, *, within=0.0):
    """Rows with a column of each kind; columns are independent within classes."""
    rng = np.random.default_rng(seed)
    y = rng.choice(len(shares), n, p=shares)
    level = np.array(["u", "v", "w"], dtype=object)[
        (rng.random((n, 1)) > np.cumsum([[0.7, 0.2], [0.2, 0.5], [0.3, 0.1]], axis=1)[y]).sum(
            axis=1
        )
    ]
    level[rng.random(n) < 0.05 + 0.2 * (y == 1)] = None
    number = rng.normal(np.array([0.0, 1.0, 2.5])[y] + within, 1.0)
    words = np.array([["red", "blue"], ["blue", "green"], ["green", "red"]])
    said = [" ".join(three) for three in words[y[:, None], rng.integers(2, size=(n, 3))].tolist()]
    p, q = rng.normal(size=(2, n)) + np.array([[0.0, 0.5, 1.0], [1.0, 0.0, 0.0]])[:, y]
    frame = pd.DataFrame({"level": level, "number": number, "said": said, "p": p, "q": q + p})
    return frame.assign(y=np.array(CLASSES)[y])


COLUMNS = {
    "levels": ["level"],
    "grid": ["number"],
    "text": ["said"],
    "means": ["p", "q"],
    "all": ["level", "number", "said", "p", "q"],
}
DECLARED = {"said": Text(), ("p", "q"): Gaussian(covariance="full")}
LEARNED = (0.3, 0.4, 0.3)
MOVED = (0.6, 0.1, 0.3)


def declared(names):
    return {k: f for k, f in DECLARED.items() if set([k] if isinstance(k, str) else k) <= {*names}}


def model_of(frame, names, **options):
    return NaiveBayes(declared(names)).fit(frame[names], frame["y"], **options)


# ---- what is found -------------------------------------------------------------------------------
@pytest.mark.parametrize("names", COLUMNS.values(), ids=COLUMNS)
def test_shares_are_found_from_each_kind_of_counts(names):
    model = model_of(table(3000, 0, LEARNED), names)
    rows = table(3000, 1, MOVED)[names]
    for given_rows in (rows, collect(rows, columns=declared(names))):
        found = model.estimate_class_prior(given_rows)
        assert list(found) == list(CLASSES)
        assert sum(found.values()) == pytest.approx(1.0, abs=1e-12)
        for label, share in zip(CLASSES, MOVED, strict=True):
            low, high = found.intervals[label]
            assert low <= found[label] + 1e-3
            assert found[label] <= high + 1e-3
            assert abs(found[label] - share) <= 2.0 * (high - low)
        assert found.fits
        assert found.left_out == {}


def test_two_cells_give_the_share_that_solves_the_equation():
    learned = pd.DataFrame({"x": ["u"] * 800 + ["v"] * 200 + ["u"] * 100 + ["v"] * 900})
    model = NaiveBayes().fit(learned, np.repeat(["n", "y"], 1000))
    found = model.estimate_class_prior(collect(pd.DataFrame({"x": ["u"] * 590 + ["v"] * 410})))
    # .59 = .8·(1 − π) + .1·π, to what noise in the two shares of 1,000 rows corrects
    assert found["y"] == pytest.approx(0.3, abs=1e-3)
    low, high = found.intervals["y"]
    noise = 0.7 * 0.16 + 0.3 * 0.09  # within the classes, of the indicator of a cell
    learned_noise = 0.7**2 * 0.16 + 0.3**2 * 0.09
    error = np.sqrt(0.3 * 0.7 / 1000 + (noise + learned_noise) / 1000 / 0.7**2)
    assert (high - low) / 2 == pytest.approx(1.6449 * error, rel=0.01)
    assert found.dependence == pytest.approx(1.0)
    assert not found.measured


def test_intervals_hold_the_true_share_as_often_as_they_say():
    held = []
    for seed in range(40):
        shares = np.random.default_rng(seed).dirichlet([1.0, 1.0])
        learned = collect(table(600, seed, (0.5, 0.5))[["level", "number", "y"]], "y")
        rows = collect(table(400, seed + 500, shares)[["level", "number"]])
        low, high = class_prior_of_margins(learned, rows).intervals["a"]
        held.append(low <= shares[0] <= high)
    assert np.mean(held) >= 0.75  # of 40 intervals of 90 %, fewer have a probability of .001


def test_dependence_within_classes_is_measured_between_parts():
    def copies(frame):
        return pd.concat([frame["number"].rename(f"number{i}") for i in range(4)], axis=1)

    learned, rows = table(2000, 2, (0.5, 0.5)), table(2000, 3, (0.8, 0.2))
    model = NaiveBayes().fit(copies(learned), learned["y"])
    found = model.estimate_class_prior(copies(rows))
    alone = (
        NaiveBayes().fit(learned[["number"]], learned["y"]).estimate_class_prior(rows[["number"]])
    )
    assert found.measured
    assert found.dependence == pytest.approx(4.0, rel=0.5)  # four copies are one column
    width, expected = (np.ptp(f.intervals["a"]) for f in (found, alone))
    assert width == pytest.approx(expected, rel=0.3)
    parts = [collect(copies(rows.iloc[i::20])) for i in range(20)]
    assert 2.0 <= model.estimate_class_prior(parts).dependence <= 8.0  # 19 degrees of freedom
    calibrated = NaiveBayes(calibrate="temperature").fit(copies(learned), learned["y"])
    of_one = [m.estimate_class_prior(sum(parts)) for m in (model, calibrated)]
    assert [f.measured for f in of_one] == [False, True]
    assert of_one[1].dependence == pytest.approx(4.0, rel=0.2)


def test_what_class_shares_cannot_explain_is_said():
    names = ["level", "number"]
    model = model_of(table(2000, 4, LEARNED), names)
    found = model.estimate_class_prior(table(2000, 5, MOVED, within=-1.0)[names])
    assert not found.fits
    assert {*found.misfits} <= {*names}
    strange = table(2000, 6, MOVED)[names].assign(level="new")
    assert "level" in model.estimate_class_prior(strange).misfits


def test_predictions_take_the_shares():
    learned, rows = table(1500, 7, LEARNED), table(1500, 8, MOVED)
    for model in (
        NaiveBayes().fit(learned[["level", "number"]], learned["y"]),
        WeightedNaiveBayes(interactions=0).fit(learned[["level", "number"]], learned["y"]),
    ):
        found = model.estimate_class_prior(rows[["level", "number"]])
        losses = []
        for prior in (found, MOVED, LEARNED):
            proba = model.with_class_prior(prior).predict_log_proba(rows[["level", "number"]])
            own = np.searchsorted(model.classes_, rows["y"])
            losses.append(-proba[np.arange(len(own)), own].mean())
        assert losses[0] <= 1.05 * losses[1]
        assert losses[0] < losses[2]


# ---- laws ----------------------------------------------------------------------------------------
@settings(max_examples=6)
@given(st.integers(0, 1000), st.integers(1, 4), st.sampled_from([0.25, 1.0, 8.0]))
def test_order_parts_labels_and_a_common_weight_change_nothing(seed, parts, weight):
    names = ["level", "said"]
    learned, rows = table(150, seed, LEARNED), table(120, seed + 1, MOVED)
    model = model_of(learned, names)
    whole = model.estimate_class_prior(collect(rows[names], columns=declared(names)))
    order = np.array_split(np.random.default_rng(seed).permutation(len(rows)), parts)
    merged = sum(collect(rows.iloc[at][names], columns=declared(names)) for at in order)
    labelled = collect(rows[[*names, "y"]], "y", declared(names))  # whose labels are not read
    heavy = model_of(learned, names, sample_weight=np.full(len(learned), weight))
    asked = [model.estimate_class_prior(t) for t in (merged, weight * merged, labelled)]
    for found in (*asked, heavy.estimate_class_prior(merged)):
        assert list(found.values()) == pytest.approx(list(whole.values()), abs=1e-9)
        assert np.array(list(found.intervals.values())) == pytest.approx(
            np.array(list(whole.intervals.values())), abs=1e-9
        )
        assert found.rows == pytest.approx(120.0)


def test_a_file_and_its_rows_give_the_same(tmp_path):
    names = ["level", "number"]
    model, rows = model_of(table(900, 9, LEARNED), names), table(900, 10, MOVED)
    rows.to_parquet(tmp_path / "rows.parquet", row_group_size=200)
    of_file, of_frame = (
        model.estimate_class_prior(x) for x in (str(tmp_path / "rows.parquet"), rows[names])
    )
    assert list(of_file.values()) == pytest.approx(list(of_frame.values()), abs=1e-9)
    assert of_file.to_frame()["share"].tolist() == list(of_file.values())


def test_no_share_is_0_and_those_of_many_classes_are_the_most_probable():
    learned = pd.DataFrame({"x": ["u"] * 99 + ["v"] + ["v"] * 100, "y": ["a"] * 100 + ["b"] * 100})
    model = NaiveBayes().fit(learned[["x"]], learned["y"])
    for n, bound in ((100, 0.1), (10_000, 0.02)):
        found = model.estimate_class_prior(pd.DataFrame({"x": ["u"] * n}))
        low, high = found.intervals["b"]
        assert low == 0.0 < found["b"] < high <= bound
        assert found["b"] <= bound / 4


def test_columns_that_say_nothing_leave_every_share_possible():
    learned = pd.DataFrame({"x": ["u", "v"] * 100, "y": ["a", "a", "b", "b"] * 50})
    model = NaiveBayes().fit(learned[["x"]], learned["y"])
    found = model.estimate_class_prior(learned[["x"]])
    assert found.intervals == {"a": (0.0, 1.0), "b": (0.0, 1.0)}


def test_a_class_without_rows_has_no_share_and_one_class_has_all():
    learned = table(400, 11, (0.5, 0.5))[["level", "y"]]
    model = NaiveBayes(classes=["a", "b", "z"]).fit(learned[["level"]], learned["y"])
    found = model.estimate_class_prior(learned[["level"]])
    assert found["z"] == pytest.approx(0.5 / 400.5)
    assert found.intervals["z"] == (0.0, 0.0)
    one = NaiveBayes().fit(learned[["level"]], ["a"] * 400).estimate_class_prior(learned[["level"]])
    assert dict(one) == {"a": 1.0}


# ---- bad input -----------------------------------------------------------------------------------
def test_what_gives_no_shares_says_why():
    learned = table(200, 12, LEARNED)
    model = model_of(learned, ["level", "number"])
    before, tally = model.tally_, collect(learned[["level", "number"]])
    with pytest.raises(ValueError, match=r"confidence is .*between 0 and 1.*; got 95"):
        model.estimate_class_prior(tally, confidence=95)
    with pytest.raises(IncompatibleTallies, match="the tally without labels has no rows"):
        model.estimate_class_prior(tally - tally)
    with pytest.raises(NegativeTally):
        model.estimate_class_prior(-tally)
    with pytest.raises(IncompatibleTallies, match="none in common"):
        model.estimate_class_prior(collect(pd.DataFrame({"z": ["p", "q"] * 30})))
    with pytest.raises(ValueError, match="tallies of columns by name"):
        model.estimate_class_prior([tally, "june"])
    with pytest.raises(ValueError, match="number"):
        model.estimate_class_prior(learned[["level"]])
    short = model.estimate_class_prior(collect(learned[["level"]]))
    assert short.left_out == {"number": "the rows without labels do not have it"}
    assert model.tally_ == before
