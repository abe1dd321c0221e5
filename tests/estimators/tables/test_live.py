"""Learning, asking and forgetting one row in turn: the score follows each row as a fresh reading
would.
"""

import copy
import pickle
import random
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from tallybayes import NaiveBayes
from tallybayes.errors import NegativeTally, StaleWarning, UnseenLevel
from tallybayes.estimators.base import LIVE
from tallybayes.families import Bernoulli, Binned, Categorical, Dirichlet, Gaussian, Poisson, Smooth
from tallybayes.models import live
from tallybayes.models.live import FEW_ROWS, MAX_GROWTH, MAX_GROWTH_OF_MANY, MAX_UNASKED_ROWS

SETTLED = {  # nothing is chosen when the tally is read
    "levels": {"n": Categorical(), "m": Categorical(), "k": Categorical()},
    "alphas": {"n": Categorical(alpha=0.3), "m": Categorical(prior=Dirichlet(2.0)), "k": None},
    "gaussian": {"n": Gaussian(), "m": Gaussian(ddof=1.0, var_smoothing=1e-3), "k": Poisson()},
    "pooled": {"n": Gaussian(pooled_rows=1.0), "m": Gaussian(estimate="map"), "k": Categorical()},
    "yes or no": {"n": Gaussian(), "m": None, "k": None, "b": Bernoulli()},
}


def rows(n, seed=0, levels="uvwxyz", gaps=0.1):
    rng = random.Random(seed)
    found = []
    for _ in range(n):
        label = rng.random() < 0.4
        row = {
            "n": round(rng.gauss(2.0 * label, 1.0), 2),
            "m": float(rng.choice([1, 2, 3, 50 + label])),
            "k": int(rng.random() * (4 + 3 * label)),
            "t": rng.choice(levels[: 3 + label * 2]),
            "b": rng.random() < 0.5,
        }
        found.append(({k: v for k, v in row.items() if rng.random() >= gaps}, ["no", "yes"][label]))
    return found


class Stream:
    """A model that has learned rows and was asked since, and the rows that it knows."""

    def __init__(self, model, n=200, **options):
        self.model, self.known = model, [(row, label, 1.0) for row, label in rows(n, **options)]
        self.fitted(model).predict_one({})

    def fitted(self, model):
        found, labels, weights = zip(*self.known, strict=True)
        return model.fit(list(found), list(labels), sample_weight=weights)

    def learn(self, row, label, weight=1.0):
        self.known.append((row, label, weight))
        self.model.learn_one(row, label, weight)

    def agrees(self, *asked, rtol=1e-9):
        """Whether another model that learned the same rows at once gives the same answers."""
        fresh = self.fitted(clone(self.model))
        for row in asked:
            found, expected = self.model.predict_proba_one(row), fresh.predict_proba_one(row)
            assert found.keys() == expected.keys()
            np.testing.assert_allclose(
                list(found.values()), list(expected.values()), rtol=rtol, atol=1e-15
            )


def started(model, n=200, **options):
    return Stream(model, n, **options).model


def fresh(model):
    """The same counts, to be read again."""
    return pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize("columns", SETTLED.values(), ids=SETTLED)
@pytest.mark.parametrize("options", [{}, {"missing": "level"}, {"class_alpha": 0.0}], ids=str)
def test_where_nothing_is_chosen_each_answer_is_that_of_a_fresh_reading(columns, options):
    stream = Stream(NaiveBayes(columns, **options))
    for i, (row, label) in enumerate(rows(30, seed=1)):
        stream.learn(row, label, 1.0 + (i % 3))
        stream.agrees(row, rows(1, seed=i)[0][0])
        assert LIVE in vars(stream.model)


@pytest.mark.parametrize("width", [0, 1, 3])
def test_a_row_is_spread_over_the_bins_of_a_smooth_density(width):
    """Of few numbers each has a bin, in a fresh reading as well."""
    left_out = dict.fromkeys("nktb")
    stream = Stream(NaiveBayes({"m": Smooth(width=width, strength=4.0), **left_out}))
    for row, label in rows(20, seed=1, gaps=0.0):
        stream.learn(row, label)
        stream.agrees(row)
        assert LIVE in vars(stream.model)


@pytest.mark.parametrize(
    "columns", ["auto", {"n": Binned(bins=4)}, {"n": Binned(bins=8, alpha=0.5)}]
)
def test_between_choices_the_counts_follow_and_a_batch_reads_everything(columns):
    model, more = started(NaiveBayes(columns), 400), rows(60, seed=2)
    before = model.predict_proba_one(more[0][0])
    for row, _ in more:
        model.learn_one(row, "yes")
        model.predict_one(row)
    assert LIVE in vars(model)
    assert model.predict_proba_one(more[0][0])["yes"] > before["yes"]
    known = rows(400) + [(row, "yes") for row, _ in more]
    together = NaiveBayes(columns).fit([row for row, _ in known], [label for _, label in known])
    asked = [row for row, _ in more]
    np.testing.assert_allclose(model.predict_proba(asked), together.predict_proba(asked), rtol=1e-9)
    assert LIVE not in vars(model)


@pytest.mark.parametrize(
    ("held", "room"),
    [(100, 100 * MAX_GROWTH), (FEW_ROWS + 10, (FEW_ROWS + 10) * MAX_GROWTH_OF_MANY)],
)
def test_after_so_many_more_rows_everything_is_chosen_again(held, room):
    stream = Stream(NaiveBayes(), held)
    for i, (row, label) in enumerate(rows(int(room) + 1, seed=3)):
        stream.learn(row, label)
        if i < room and (i < 3 or i > room - 3 or i % 50 == 0):
            stream.model.predict_one(row)
            assert LIVE in vars(stream.model)
    assert LIVE not in vars(stream.model)
    stream.agrees(row)


@pytest.fixture
def many_levels(monkeypatch):
    """Every table has so many levels that they are not read again."""
    monkeypatch.setattr(live, "MAX_CELLS_READ_AGAIN", 0)


@pytest.mark.usefixtures("many_levels")
@pytest.mark.filterwarnings("ignore::tallybayes.errors.MixedColumnWarning")
@pytest.mark.parametrize("columns", [*SETTLED.values(), "auto"], ids=[*SETTLED, "auto"])
@pytest.mark.parametrize("options", [{}, {"missing": "level"}], ids=str)
@pytest.mark.parametrize("forgotten", [False, True])
def test_columns_of_numbers_are_chosen_again_while_levels_follow(columns, options, forgotten):
    model = NaiveBayes(columns, **options)
    stream = Stream(model, 100)
    known, more = stream.known, rows(130, seed=3)
    more[40][0].update({"new": "a", "far": 1e3})
    if columns == "auto":  # others declare it as numbers
        more[60][0]["m"] = "x"
    renewed = 0
    for row, label in more:
        due = LIVE in vars(model) and vars(model)[LIVE].choices_are_due
        stream.learn(row, label)
        if due and LIVE in vars(model):
            renewed += 1
            assert not vars(model)[LIVE].choices_are_due
            twin = clone(model).fit([r for r, _, _ in known[:-1]], [c for _, c, _ in known[:-1]])
            twin.predict_one(row)
            twin.learn_one(row, label)
            assert LIVE in vars(twin)
            others = {"new": "a"}, {"far": 5.0}, {"m": row.get("m", 1.0)}, {"t": "?"}
            for asked in (row, {}, *({"n": 0.5, **other} for other in others)):
                expected = twin.predict_proba_one(asked)
                assert model.predict_proba_one(asked) == pytest.approx(expected, rel=1e-9)
        model.predict_one(row)
        if forgotten and renewed and "m" in row and row["m"] != "x":
            model.forget_one(*stream.known.pop())
            model.predict_one(row)
    assert renewed >= (1 if forgotten else 2)  # a level that goes with its row is read again
    answers = [model.predict_proba_one(row) for row, _ in more]
    fresh = stream.fitted(clone(model)).predict_proba([row for row, _ in more])
    if columns in (SETTLED["levels"], SETTLED["alphas"]):
        np.testing.assert_allclose([[*a.values()] for a in answers], fresh, rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba([row for row, _ in more]), fresh, rtol=1e-8)


@pytest.mark.usefixtures("many_levels")
@pytest.mark.filterwarnings("ignore::tallybayes.errors.StaleWarning")
@pytest.mark.parametrize("options", [{"alpha": "auto"}, {"half_life": 300.0}], ids=str)
def test_everything_is_read_again_where_levels_are_chosen_or_fade(options):
    stream = Stream(NaiveBayes(**options), 100)
    for row, label in rows(40, seed=3):
        stream.learn(row, label)
        if LIVE not in vars(stream.model):
            break
        assert not vars(stream.model)[LIVE].kept
        stream.model.predict_one(row)
    assert LIVE not in vars(stream.model)


def test_levels_that_come_are_learned_and_smoothed():
    stream = Stream(NaiveBayes({"n": None, "m": None, "k": None}), levels="uuuuuu")
    for row, label in rows(40, seed=4, levels="uvwxyzabc"):
        stream.learn(row, label)
        stream.agrees(row, {"t": "never seen"}, {"t": None}, {})
    assert LIVE in vars(stream.model)


@pytest.mark.parametrize("family", [Categorical(prior=Dirichlet(2.0)), Bernoulli()])
def test_a_level_that_comes_takes_smoothing_from_the_others(family):
    """Under a prior of a given strength; the second level of two does so, too."""
    column = {"n": None, "m": None, "k": None, "t": family}
    stream = Stream(NaiveBayes(column), levels="uuuuuu")
    for level in "uvu":
        stream.learn({"t": level}, "yes")
        stream.agrees({"t": "u"}, {"t": "v"}, {"t": "never seen"}, {})


@pytest.mark.parametrize("unseen", ["smooth", "ignore", "error"])
def test_levels_never_learned(unseen):
    model = started(NaiveBayes(unseen=unseen))
    model.learn_one(*rows(1, seed=5)[0])
    if unseen == "error":
        with pytest.raises(UnseenLevel, match="'t'"):
            model.predict_one({"t": "never seen"})
    else:
        expected = fresh(model).predict_proba_one({"t": "never seen"})
        assert model.predict_proba_one({"t": "never seen"}) == pytest.approx(expected, rel=1e-2)


@pytest.mark.parametrize(
    ("row", "label"),
    [
        ({"n": 1.0}, "a new class"),
        ({"n": 1.0, "new column": 3}, "no"),
        ({"n": np.float64(1.5), "t": np.str_("u")}, "no"),
        ({"n": None, "t": float("nan")}, "no"),
        ({"b": 1}, "no"),
        ({}, "yes"),
    ],
)
def test_whatever_comes_no_answer_is_off(row, label):
    stream = Stream(NaiveBayes({"m": Gaussian(), "k": Poisson(), "n": Gaussian()}))
    stream.learn(*rows(1, seed=6)[0])
    stream.learn(row, label)
    stream.agrees(row, rows(1, seed=7)[0][0])


@pytest.mark.filterwarnings("ignore::tallybayes.errors.MixedColumnWarning")
def test_texts_among_numbers():
    stream = Stream(NaiveBayes({"m": None, "k": None}), 400)
    for row in ({"n": "unknown"}, {"n": 1.0}, {"n": "unknown"}, {"n": "other"}):
        stream.learn(row, "yes")
        stream.agrees({"n": "unknown"}, {"n": 1.0}, rtol=0.05)  # where "n" is cut may differ


@pytest.mark.parametrize("bad", [{"n": float("inf")}, {"m": "x"}])
def test_a_refused_row_leaves_the_score_as_it_was(bad):
    model = started(NaiveBayes({"m": Gaussian()}))
    model.learn_one(*rows(1, seed=6)[0])
    asked = rows(1, seed=7)[0][0]
    before = model.predict_proba_one(asked)
    with pytest.raises(ValueError, match="column"):
        model.learn_one(bad, "yes")
    assert model.predict_proba_one(asked) == pytest.approx(before, rel=1e-9)


def test_what_learns_otherwise_drops_it_and_copies_do_not_share_it():
    model = started(NaiveBayes())
    row, label = rows(1, seed=8)[0]
    for change in (
        lambda: model.partial_fit([row], [label]),
        lambda: model.forget([row], [label]),
        lambda: model.merge(fresh(model)),
        lambda: model.decay(0.5),
        lambda: model.tally_,
    ):
        model.predict_one(row)
        model.learn_one(row, label)
        assert LIVE in vars(model)
        twin = copy.copy(model)
        assert LIVE not in vars(twin)
        model.predict_one(row)
        model.learn_one(row, label)
        change()
        assert LIVE not in vars(model)
        assert model.predict_proba_one(row) == pytest.approx(fresh(model).predict_proba_one(row))


def test_a_shallow_copy_does_not_share_rows_that_wait():
    model = NaiveBayes().learn_one({"a": 1}, 0)
    twin = copy.copy(model)
    model.learn_one({"a": 2}, 1)
    assert twin.class_count_.tolist() == [1.0]
    assert model.class_count_.tolist() == [1.0, 1.0]


def test_a_stream_that_nobody_asks_is_not_followed():
    model = started(NaiveBayes(), 600)
    for row, label in rows(MAX_UNASKED_ROWS + 2, seed=9):
        model.learn_one(row, label)
    assert LIVE not in vars(model)


# ---- rows that go, fade, or were chosen on -------------------------------------------------------
@pytest.mark.parametrize("columns", SETTLED.values(), ids=SETTLED)
@pytest.mark.parametrize("options", [{}, {"missing": "level"}], ids=str)
def test_a_row_that_is_forgotten_was_never_seen_by_the_score_that_follows(columns, options):
    stream = Stream(NaiveBayes(columns, **options))
    followed = 0
    for i, (row, label) in enumerate(rows(10, seed=1)):
        stream.learn(row, label, 1.0 + (i % 3))
        stream.model.predict_one(row)
        gone = stream.known.pop(7 * i % len(stream.known))
        stream.model.forget_one(*gone)
        followed += LIVE in vars(stream.model)
        stream.agrees(row, gone[0], {})
    if isinstance(columns["n"], Gaussian):  # what went with its last row is read again
        assert followed > 3


def test_what_goes_with_its_last_row_is_gone():
    columns = {"n": Gaussian(), "m": None, "k": None}
    for row, label in (
        ({"t": "a new level"}, "no"),
        ({"n": 1e12}, "no"),
        ({"n": 1.5}, "a new class"),
        ({"n": 1.5, "new": 3.0}, "no"),
    ):
        stream = Stream(NaiveBayes(columns))
        for _ in range(3):
            stream.learn(row, label)
            stream.model.predict_one(row)
            stream.model.forget_one(*stream.known.pop())
            stream.agrees(rows(1, seed=3)[0][0], {"t": "a new level"}, rtol=1e-8)


def test_more_than_was_learned_is_refused_while_the_score_follows():
    stream = Stream(NaiveBayes({"n": Gaussian(), "m": None, "k": None}))
    stream.learn({"n": 1.0, "t": "u"}, "no")
    stream.model.predict_one({})
    with pytest.raises(NegativeTally):
        stream.model.forget_one({"n": 1.0, "t": "never seen"}, "no")
    with pytest.raises(NegativeTally):
        stream.model.forget_one({"t": "u"}, "no", 1e6)
    stream.agrees({"n": 1.0, "t": "u"}, {"t": "never seen"})


@pytest.mark.parametrize("columns", SETTLED.values(), ids=SETTLED)
def test_with_a_half_life_the_score_fades_as_the_counts_do(columns):
    model = NaiveBayes(columns, half_life=50.0)
    stream = Stream(model)
    for i, (row, label) in enumerate(rows(12, seed=1)):
        stream.learn(row, label, float(i % 3))  # a row of weight 0 passes, too
        found = model.predict_proba_one(row)
        assert LIVE in vars(model)
        assert found == pytest.approx(fresh(model).predict_proba_one(row), rel=1e-9)
        model.predict_one({})  # a copy ends the score; the next row finds another to follow
    stream.agrees(row, {})


@pytest.mark.filterwarnings("ignore::tallybayes.errors.StaleWarning")
@pytest.mark.parametrize(
    "options",
    [{"calibrate": "temperature"}, {"calibrate": "isotonic"}, {"alpha": "auto"}],
    ids=str,
)
def test_what_was_chosen_on_rows_stays_while_the_score_follows(options):
    known = rows(200)
    table = pd.DataFrame([row for row, _ in known])
    model = NaiveBayes(SETTLED["gaussian"], **options)
    model.fit(table, [label for _, label in known]).predict_one(known[0][0])
    for row, label in rows(8, seed=2):
        model.learn_one(row, label)
        found, best = model.predict_proba_one(row), model.predict_one(row)
        assert LIVE in vars(model)
        assert found == pytest.approx(fresh(model).predict_proba_one(row), rel=1e-9)
        assert found[best] == max(found.values())
        model.predict_one(row)


def test_a_stale_calibration_is_warned_of_once_while_the_score_follows():
    known = rows(200)
    table = pd.DataFrame([row for row, _ in known])
    model = NaiveBayes(calibrate="temperature").fit(table, [label for _, label in known])
    model.predict_one(known[0][0])
    model.learn_one(*known[1])
    assert LIVE in vars(model)
    with pytest.warns(StaleWarning):
        model.predict_one(known[0][0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict_proba_one(known[0][0])
        model.predict_proba([known[0][0]])


VALUES = st.fixed_dictionaries(
    {},
    optional={
        "n": st.sampled_from([0.0, 1.0, 1.5, -2.25, 1e6, 7]),
        "t": st.sampled_from(["u", "v", "w"]),
        "b": st.booleans(),
        "mixed": st.sampled_from([1, 2.5, "x"]),
    },
)
ROWS = st.lists(
    st.tuples(VALUES, st.sampled_from("pq"), st.sampled_from([1.0, 2.0, 0.5])),
    min_size=1,
    max_size=12,
)
COLUMNS = {"n": Gaussian(ddof=1.0), "mixed": Categorical()}

of_few_rows = pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")


def learned(rows, columns):
    model = NaiveBayes(columns)
    for row, label, weight in rows:
        model.learn_one(row, label, weight)
    return model


def same(model, expected, asked):
    assert model.classes_.tolist() == expected.classes_.tolist()
    assert model.tally_.schema == expected.tally_.schema
    np.testing.assert_allclose(
        model.predict_proba(asked), expected.predict_proba(asked), rtol=1e-9, atol=1e-12
    )


@of_few_rows
@settings(max_examples=60, deadline=None, derandomize=True)
@given(kept=ROWS, gone=ROWS, columns=st.sampled_from(["auto", COLUMNS]), rng=st.randoms())
def test_it_is_never_having_seen_the_rows(kept, gone, columns, rng):
    both = [*kept, *gone]
    rng.shuffle(both)
    model = learned(both, columns)
    for i, (row, label, weight) in enumerate(gone):
        model.forget_one(row, label, weight)
        if i == 1:
            model.learn_one({"t": "z", "new": 1}, "r")
            model.forget_one({"t": "z", "new": 1}, "r")
    in_batch = learned(both, columns)
    rows, labels, weights = zip(*gone, strict=True)
    in_batch.forget(list(rows), list(labels), list(weights))
    same(model, in_batch, [row for row, _, _ in kept])


@of_few_rows
def test_many_rows_are_forgotten_in_turn_with_learning():
    rng = random.Random(0)
    rows = [
        ({"n": rng.gauss(0, 1), "t": rng.choice("uvw"), "k": rng.randrange(5)}, rng.random() < 0.5)
        for _ in range(600)
    ]
    model = NaiveBayes().fit([row for row, _ in rows[:300]], [y for _, y in rows[:300]])
    for i in range(300):  # a window of 300 rows
        model.learn_one(*rows[300 + i])
        model.forget_one(*rows[i])
    last = NaiveBayes().fit([row for row, _ in rows[300:]], [y for _, y in rows[300:]])
    asked = [row for row, _ in rows]
    np.testing.assert_allclose(model.predict_proba(asked), last.predict_proba(asked), rtol=1e-9)
    assert model.class_count_.tolist() == last.class_count_.tolist()


@of_few_rows
@pytest.mark.parametrize("far", [1e8, 1e12])
def test_a_far_row_leaves_nothing_behind(far):
    rng = np.random.default_rng(0)
    rows = [{"n": v} for v in rng.normal(size=40).tolist()]
    labels = [i % 2 for i in range(40)]
    model = NaiveBayes({"n": Gaussian()}).fit(rows, labels)
    expected = model.predict_proba(rows)
    for _ in range(3):
        model.learn_one({"n": far}, 1).forget_one({"n": far}, 1)
    np.testing.assert_allclose(model.predict_proba(rows), expected, atol=1e-9)


@of_few_rows
@pytest.mark.parametrize(
    ("row", "label", "weight"),
    [
        ({"n": 1.0, "t": "u"}, "p", 5.0),
        ({"n": 1.0, "t": "never"}, "p", 1.0),
        ({"n": 9.0}, "p", 1.0),
        ({"n": 1.0}, "never", 1.0),
    ],
)
def test_what_was_not_learned_is_refused_and_changes_nothing(row, label, weight):
    rows = [({"n": float(i), "t": "uv"[i % 2]}, "pq"[i % 2], 1.0) for i in range(8)]
    model = learned(rows, "auto")
    model.forget_one(*rows[3])
    before = learned(rows, "auto").forget_one(*rows[3]).tally_
    with pytest.raises(ValueError, match=r"remove more|does not|never|holds") as info:
        model.forget_one(row, label, weight)
    assert weight == 1.0 or isinstance(info.value, NegativeTally)
    assert model.tally_ == before


@of_few_rows
def test_everything_forgotten_is_an_empty_model_that_learns_again():
    rows = [({"n": 1.0, "t": "u"}, "p", 1.0), ({"n": 2.0}, "q", 1.0)]
    model = learned(rows, "auto")
    for row in rows:
        model.forget_one(*row)
    assert model.class_count_.sum() == 0.0
    model.learn_one({"n": 3.0}, "p")
    assert model.class_count_.tolist() == [1.0]
