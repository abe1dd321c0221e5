"""The effective number of rows, and the weight of one of them, are known from the tally alone."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallybayes as tb
import tallybayes.families
from tallybayes import persistence
from tallybayes.engines.arrays import class_counts
from tallybayes.estimators import loading as files
from tallybayes.tally import ClassCounts, effective_row_weight, effective_rows
from tallybayes.testing.strategies import Frame, batches, columns, frames
from tallybayes.testing.strategies import weights as weights_of

ROWS = [{"a": "x", "b": 1.0}, {"a": "y", "b": 2.0}, {"a": "x", "b": 4.0}, {"a": "y", "b": 3.0}]
LABELS = ["no", "yes", "no", "no"]
WEIGHTS = [2.0, 3.0, 0.5, 1.0]


def counted(weights, codes, n_classes):
    return class_counts(np.asarray(codes, dtype=np.int32), n_classes, weights)


def positive(data, n):
    return data.draw(weights_of(n, of=("none", "whole", "fractional")))


# ---- the two numbers -----------------------------------------------------------------------------
def test_kish_by_hand():
    # Kish 1965, 11.7: (1 + 2 + 3)² / (1 + 4 + 9) rows
    classes = counted(np.array([1.0, 2.0, 3.0]), [0, 0, 0], 1)
    assert classes.effective_rows == pytest.approx([36 / 14], rel=1e-15)
    assert classes.row_weight == pytest.approx([14 / 6], rel=1e-15)


@given(st.integers(1, 50), st.floats(1e-6, 1e6))
def test_rows_of_one_weight_are_as_many_effective_rows(n, w):
    classes = counted(np.full(n, w), [0] * n, 1)
    assert classes.effective_rows == pytest.approx([n], rel=1e-12)
    assert classes.row_weight == pytest.approx([w], rel=1e-12)


@given(st.data(), st.floats(1e-6, 1e6))
def test_a_common_factor_changes_no_effective_number_of_rows(data, factor):
    n = data.draw(st.integers(1, 20))
    weights = positive(data, n)
    weights = np.ones(n) if weights is None else weights
    codes = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    once, scaled = counted(weights, codes, 3), counted(factor * weights, codes, 3)
    assert scaled.effective_rows == pytest.approx(once.effective_rows, rel=1e-9)
    assert scaled.pooled_effective_rows == pytest.approx(once.pooled_effective_rows, rel=1e-9)
    assert scaled.row_weight == pytest.approx(factor * once.row_weight, rel=1e-9)
    assert (once * factor).effective_rows == pytest.approx(once.effective_rows, rel=1e-9)


@given(st.data())
def test_effective_rows_are_between_one_and_the_rows(data):
    n = data.draw(st.integers(1, 20))
    weights = positive(data, n)
    found = counted(weights, [0] * n, 1).effective_rows[0]
    assert 1.0 <= found <= n * (1.0 + 1e-12)


def test_rows_without_weights_are_their_own_effective_rows():
    classes = counted(None, [0, 1, 1], 3)
    assert classes.squared_weights.tolist() == classes.count.tolist() == [1.0, 2.0, 0.0]
    assert classes.effective_rows.tolist() == [1.0, 2.0, 0.0]


def test_repeated_rows_and_one_weight_give_the_same_counts_and_other_effective_rows():
    repeated, heavy = counted(None, [0] * 6, 1), counted(np.full(2, 3.0), [0, 0], 1)
    assert repeated.count.tolist() == heavy.count.tolist() == [6.0]
    assert repeated.effective_rows.tolist() == [6.0]
    assert heavy.effective_rows.tolist() == [2.0]


def test_a_class_without_rows_has_the_row_weight_of_all():
    classes = counted(np.array([4.0, 4.0]), [0, 0], 2)
    assert classes.row_weight.tolist() == [4.0, 4.0]
    assert ClassCounts.zeros(2).row_weight.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("count", "squares"),
    [(0.0, 0.0), (-1.0, 1.0), (3.0, 0.0), (3.0, -1.0), (3.0, np.inf), (3.0, np.nan), (3.0, 5e-324)],
)
def test_what_no_rows_can_have_left_gives_a_finite_row_weight(count, squares):
    arrays = np.array([count]), np.array([squares])
    weight, rows = effective_row_weight(*arrays), effective_rows(*arrays)
    assert np.isfinite(weight).all()
    assert (weight > 0.0).all()
    assert np.isfinite(rows).all()
    assert (rows >= 0.0).all()


def test_weights_beyond_the_root_of_float64_do_not_warn():
    classes = counted(np.array([1e200, 1e200]), [0, 0], 1)
    assert np.isfinite(classes.row_weight).all()


# ---- forgetting ----------------------------------------------------------------------------------
@given(st.data())
def test_forgetting_leaves_the_effective_rows_of_the_others(data):
    n = data.draw(st.integers(2, 12))
    weights = data.draw(st.lists(st.integers(1, 1000).map(float), min_size=n, max_size=n))
    gone = data.draw(st.integers(1, n))
    codes = [i % 2 for i in range(n)]
    w = np.array(weights)
    before = counted(w, codes, 2)
    rest = before - counted(w[:gone], codes[:gone], 2)
    rest.settle(before)
    assert rest == counted(w[gone:], codes[gone:], 2)


def test_rows_taken_away_with_other_weights_leave_rows_as_heavy_as_before():
    before = counted(np.full(4, 1.0), [0] * 4, 1)
    rest = before - counted(np.full(1, 2.0), [0], 1)  # one row of weight 2 for two of weight 1
    rest.settle(before)
    assert rest.count.tolist() == [2.0]
    assert rest.row_weight.tolist() == [1.0]
    rest.settle(before)
    assert rest.deficit() is None


@pytest.mark.parametrize("heavy", [1e8, 1e9 + 1.0, 1e12])
def test_rows_so_heavy_that_nothing_is_known_of_the_others_leave_rows_of_weight_1(heavy):
    before = counted(np.r_[np.full(50, heavy), np.ones(250)], [0] * 300, 1)
    rest = before - counted(np.full(50, heavy), [0] * 50, 1)
    rest.settle(before)
    assert rest.count.tolist() == [250.0]
    assert rest.row_weight == pytest.approx([1.0], rel=0.02)


def test_squared_weights_alone_are_no_deficit():
    assert ClassCounts(np.array([1.0]), np.array([-5.0])).deficit() is None
    assert ClassCounts(np.array([1.0, -1.0])).deficit() == (1, -1, "-1")


# ---- models --------------------------------------------------------------------------------------
def squares_of(model):
    return dict(
        zip(model.classes_.tolist(), model._fitted().tally.classes.squared_weights, strict=True)
    )


EXPECTED = {"no": 4.0 + 0.25 + 1.0, "yes": 9.0}


def test_every_way_to_learn_counts_the_squares_of_weights():
    at_once = tb.NaiveBayes().fit(ROWS, LABELS, sample_weight=WEIGHTS)
    in_parts = tb.NaiveBayes()
    one_by_one = tb.NaiveBayes()
    for row, label, w in zip(ROWS, LABELS, WEIGHTS, strict=True):
        in_parts.partial_fit([row], [label], classes=["no", "yes"], sample_weight=[w])
        one_by_one.learn_one(row, label, w)
    half = tb.NaiveBayes().fit(ROWS[:2], LABELS[:2], sample_weight=WEIGHTS[:2])
    half.merge(tb.NaiveBayes().fit(ROWS[2:], LABELS[2:], sample_weight=WEIGHTS[2:]))
    for model in (at_once, in_parts, one_by_one, half):
        assert squares_of(model) == EXPECTED
    one_by_one.forget_one(ROWS[0], "no", 2.0)
    assert squares_of(one_by_one) == {"no": 1.25, "yes": 9.0}


ARRAYS = {
    "gaussian": (tb.GaussianNB, [[1.0], [2.0], [4.0], [3.0]]),
    "multinomial": (tb.MultinomialNB, [[1.0], [2.0], [4.0], [3.0]]),
    "categorical": (tb.CategoricalNB, [[0], [1], [0], [1]]),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_count_the_squares_of_weights(name):
    kind, x = ARRAYS[name]
    assert squares_of(kind().fit(x, LABELS, sample_weight=WEIGHTS)) == EXPECTED
    in_parts = kind()
    for row, label, w in zip(x, LABELS, WEIGHTS, strict=True):
        in_parts.partial_fit([row], [label], classes=["no", "yes"], sample_weight=[w])
    assert squares_of(in_parts) == EXPECTED


def test_decay_keeps_the_effective_rows():
    model = tb.NaiveBayes().fit(ROWS, LABELS, sample_weight=WEIGHTS)
    before = model._fitted().tally.classes.effective_rows
    model.decay(0.25)
    assert model._fitted().tally.classes.effective_rows.tolist() == before.tolist()


def test_files_keep_the_squares_of_weights(tmp_path):
    model = tb.NaiveBayes().fit(ROWS, LABELS, sample_weight=WEIGHTS)
    model.save(tmp_path / "m.tally")
    assert squares_of(tb.load(tmp_path / "m.tally")) == EXPECTED


def test_a_file_without_squares_is_read_as_rows_of_weight_one(tmp_path, monkeypatch):
    model = tb.NaiveBayes().fit(ROWS, LABELS, sample_weight=WEIGHTS)
    write = persistence.write

    def as_written_by_0_1_0(path, header, arrays, **how):
        del arrays["class_squared_weights"]
        write(path, header, arrays, **how)

    monkeypatch.setattr(files.persistence, "write", as_written_by_0_1_0)
    model.save(tmp_path / "m.tally")
    old = tb.load(tmp_path / "m.tally")
    assert squares_of(old) == {"no": 3.5, "yes": 3.0}
    assert old.predict(ROWS).tolist() == model.predict(ROWS).tolist()


@given(st.data())
def test_batches_and_one_count_have_the_same_squares(data):
    frame = data.draw(frames("classes"))
    batch = data.draw(batches(Frame(data.draw(columns("sums")), frame.n_classes), whole=True))
    whole = counted(batch.weights, batch.codes, frame.n_classes)
    parts = ClassCounts.zeros(frame.n_classes)
    for i in range(len(batch.codes)):
        w = None if batch.weights is None else batch.weights[i : i + 1]
        parts = parts + counted(w, batch.codes[i : i + 1], frame.n_classes)
    assert parts == whole


@pytest.mark.parametrize("declared", [True, False])
def test_a_table_of_frequencies_has_the_counts_of_its_rows(declared):
    """What is declared is read alike; what is chosen takes a cell for one observation."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"s": rng.choice(["m", "f"], 500), "c": rng.choice(list("123"), 500)})
    rows["y"] = np.where((rows["s"] == "f") ^ (rng.random(500) < 0.25), "y", "n")
    cells = rows.groupby(["s", "c", "y"]).size().reset_index(name="n")
    columns = (
        {"s": tb.families.Categorical(), "c": tb.families.Categorical()} if declared else "auto"
    )
    one = tb.NaiveBayes(columns).fit(cells, "y", "n")
    other = tb.NaiveBayes(columns).fit(rows, "y")
    assert one.tally_.groups == other.tally_.groups
    np.testing.assert_array_equal(one.class_count_, other.class_count_)
    same = np.array_equal(one.predict_proba(cells), other.predict_proba(cells))
    assert same == declared
    written_out = cells.loc[cells.index.repeat(cells["n"])].drop(columns="n")
    np.testing.assert_array_equal(
        tb.NaiveBayes(columns).fit(written_out, "y").predict_proba(cells),
        other.predict_proba(cells),
    )
