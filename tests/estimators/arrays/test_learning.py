"""Learning twice, in batches, in any type and layout, from merged parts, and forgetting."""

import numpy as np
import pandas as pd
import pytest

from estimators.cases import (
    ALL,
    LAYOUTS,
    PROMISED,
    assert_same_counts,
    assert_same_predictions,
    every,
    fit_parts,
    peer,
    refused,
    rows,
    state,
    unchanged,
)
from tallybayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from tallybayes.errors import IncompatibleTallies, NegativeTally


# ---- learning twice ----------------------------------------------------------------------------
@every()
def test_fitting_again_forgets_classes_columns_and_names(NB):
    import pandas as pd

    x, y = rows(d=3)
    model = NB().fit(pd.DataFrame(x, columns=["a", "b", "c"]), y.astype(str))
    other_x, other_y = rows(d=6, classes=(7, 8), seed=4)
    model.fit(other_x, other_y)
    fresh = NB().fit(other_x, other_y)
    assert state(model) == state(fresh)
    assert not hasattr(model, "feature_names_in_")


@every()
def test_questions_between_batches_change_no_answer(NB):
    x, y = rows(n=90)
    model = NB().partial_fit(x[:30], y[:30], classes=[0, 1, 2])
    for begin in (30, 60):
        model.predict_proba(x)
        part = slice(begin, begin + 30)
        model.partial_fit(x[part], y[part])
        fresh = NB().partial_fit(x[: begin + 30], y[: begin + 30], classes=[0, 1, 2])
        np.testing.assert_allclose(model.predict_proba(x), fresh.predict_proba(x), rtol=1e-9)


@every()
def test_a_large_batch_counts_as_its_rows_do(NB):
    """Beyond 8192 rows a batch is counted by another path than below."""
    x, y = rows(n=20_000, seed=2)
    large = NB().partial_fit(x[:3], y[:3], classes=[0, 1, 2]).partial_fit(x[3:], y[3:])
    small = fit_parts(
        NB, [(x[i : i + 500], y[i : i + 500]) for i in range(0, 20_000, 500)], [0, 1, 2]
    )
    assert_same_counts(large, small)


@every()
def test_hyperparameters_set_between_batches_are_used_from_the_next_batch_on(NB):
    """As in scikit-learn, whose partial_fit reads alpha, the prior and var_smoothing each time."""
    x, y = rows()
    changed = {"class_prior": [0.2, 0.3, 0.5], "alpha": 0.1}
    if NB is GaussianNB:
        changed = {"var_smoothing": 0.5}
    model = NB().fit(x, y).set_params(**changed).partial_fit(x, y)
    fresh = NB(**changed).fit(np.concatenate([x, x]), np.concatenate([y, y]))
    np.testing.assert_allclose(model.predict_proba(x), fresh.predict_proba(x), rtol=1e-9)
    theirs = peer(NB)().fit(x, y).set_params(**changed).partial_fit(x, y)
    if NB is GaussianNB:  # takes the new epsilon off variances that hold the old one
        assert np.abs(theirs.predict_proba(x) - fresh.predict_proba(x)).max() > 0.01
    else:
        np.testing.assert_allclose(model.predict_proba(x), theirs.predict_proba(x), rtol=1e-6)


# ---- counting ----------------------------------------------------------------------------------
@every()
def test_float32_input_counts_beyond_2_to_the_24(NB):
    """Origin: scikit-learn 1.9.1 keeps GaussianNB's counts in X's type; a float32 stops at 2^24."""
    x = np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    heavy = np.array([2.0**24, 2.0**24])
    model = NB().partial_fit(x, [0, 1], classes=[0, 1], sample_weight=heavy).partial_fit(x, [0, 1])
    assert model.class_count_.tolist() == [2.0**24 + 1] * 2
    if NB is GaussianNB:
        theirs = peer(NB)().partial_fit(x, [0, 1], classes=[0, 1], sample_weight=heavy)
        if PROMISED:  # older releases keep them in float64
            assert theirs.partial_fit(x, [0, 1]).class_count_.tolist() == [2.0**24] * 2
        assert model.tally_.groups[0].n.tolist() == [[2.0**24 + 1] * 2] * 2
    elif NB is CategoricalNB:
        assert model.category_count_[0].tolist() == [[0, 2.0**24 + 1], [2.0**24 + 1, 0]]
    else:
        assert model.feature_count_.tolist() == [[2.0**24 + 1, 0], [0, 2.0**24 + 1]]


@every()
def test_counts_are_float64_whatever_x_is(NB):
    x, y = rows(dtype=np.float32)
    model = NB().fit(x, y)
    assert model.class_count_.dtype == np.float64
    for name in ("feature_count_", "feature_log_prob_", "class_log_prior_", "feature_all_"):
        if hasattr(model, name) and NB is not CategoricalNB:
            assert getattr(model, name).dtype == np.float64, name
    if NB is CategoricalNB:
        assert {a.dtype for a in (*model.category_count_, *model.feature_log_prob_)} == {
            np.dtype(np.float64)
        }


@every()
@pytest.mark.parametrize(
    "arranged",
    [
        lambda x: x.astype(x.dtype.newbyteorder()),
        lambda x: x.tolist(),
    ],
    ids=["other endian", "list"],
)
def test_the_layout_of_x_in_memory_does_not_matter(NB, arranged):
    x, y = rows()
    model, plain = NB().fit(arranged(x), y), NB().fit(x, y)
    assert_same_counts(model, plain)
    assert_same_predictions(model, plain, x)
    assert model.predict_proba(arranged(x)).tolist() == plain.predict_proba(x).tolist()


@every()
def test_neither_x_nor_y_nor_weights_are_changed(NB):
    x, y = rows()
    w = np.arange(len(y)) / 7.0
    for array in (x, y, w):
        array.flags.writeable = False
    model = NB().partial_fit(x, y, classes=[0, 1, 2], sample_weight=w)
    model.fit(x, y, w).partial_fit(x, y, sample_weight=w).forget(x, y, w)
    model.predict_proba(x)


@every()
def test_a_negative_weight_takes_a_row_away(NB):
    x, y = rows()
    signed = np.r_[np.ones(60), -np.ones(10)]
    model = NB().fit(np.r_[x, x[:10]], np.r_[y, y[:10]], sample_weight=signed)
    rest = NB().fit(x[10:], y[10:])
    assert_same_counts(model, rest)
    later = NB().fit(x, y).partial_fit(x[:10], y[:10], sample_weight=-np.ones(10))
    assert_same_counts(later, rest)


def close(a, b, x):
    """Two models have counted the same and predict alike."""
    assert_same_counts(a, b)
    np.testing.assert_allclose(a.predict_proba(x), b.predict_proba(x), rtol=1e-9)


@every()
def test_adding_leaves_both_as_they_were_and_merging_leaves_the_other(NB):
    x, y = rows()
    a, b = NB().fit(x[:30], y[:30]), NB().fit(x[30:], y[30:])
    with unchanged(a, b):
        total = a + b
    assert total is not a
    with unchanged(b):
        assert a.merge(b) is a
    close(a, total, x)
    held = state(b)
    a.partial_fit(x, y)
    total.partial_fit(x, y)
    assert state(b) == held


@every()
def test_a_model_merged_with_itself_has_every_count_twice(NB):
    x, y = rows()
    model = NB().fit(x, y)
    close(model.merge(model), NB().fit(np.concatenate([x, x]), np.concatenate([y, y])), x)


@every()
@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ((0, 1), (1, 2)),
        ((5, 9), (1, 7)),
        (("a", "b"), ("b", "cc")),
        ((False, True), (True, False)),
    ],
    ids=str,
)
def test_classes_are_joined_by_label(NB, mine, theirs):
    x, y = rows(n=80, classes=mine)
    other_x, other_y = rows(n=80, classes=theirs, seed=5)
    total = NB().fit(x, y) + NB().fit(other_x, other_y)
    both_x, both_y = np.concatenate([x, other_x]), np.concatenate([y, other_y])
    whole = NB().fit(both_x, both_y)
    assert total.classes_.tolist() == sorted(set(mine) | set(theirs))
    close(total, whole, both_x)


@every()
def test_labels_from_a_list_and_from_a_frame_are_the_same_labels(NB):
    """pandas hands strings over as objects, NumPy as fixed-width text."""
    x, y = rows(n=80, classes=("a", "b"))
    other_x, other_y = rows(n=80, classes=("b", "c"), seed=5)
    total = NB().fit(x, y) + NB().fit(other_x, pd.Series(other_y, dtype=object))
    assert total.classes_.tolist() == ["a", "b", "c"]
    total = NB().fit(x, pd.Series(y, dtype=object)) + NB().fit(other_x, other_y)
    assert total.classes_.tolist() == ["a", "b", "c"]


@every()
def test_labels_of_different_types_do_not_join(NB):
    x, y = rows()
    a, b = NB().fit(x, y), NB().fit(x, y.astype(str))
    with refused(IncompatibleTallies, "class labels.*one type of label", a, b):
        a.merge(b)


def test_categories_are_joined_by_code():
    a = CategoricalNB().fit([[0, 1], [1, 0]], [0, 1])
    b = CategoricalNB().fit([[3, 0], [0, 2]], [0, 1])
    whole = CategoricalNB().fit([[0, 1], [1, 0], [3, 0], [0, 2]], [0, 1, 0, 1])
    assert_same_counts(a + b, whole)
    assert_same_counts(b + a, whole)
    assert_same_predictions(a + b, whole, [[0, 0], [3, 2], [2, 1]])


@pytest.mark.parametrize("shift", [0.0, 1e3, 1e7])
def test_moments_about_different_origins_are_re_based(shift):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(400, 3)), np.arange(400) % 2
    x[200:] += shift
    a, b = GaussianNB().fit(x[:200], y[:200]), GaussianNB().fit(x[200:], y[200:])
    assert (a.tally_.groups[0].origin != b.tally_.groups[0].origin).all()
    whole = GaussianNB().fit(x, y)
    for total in (a + b, b + a):
        np.testing.assert_allclose(total.theta_, whole.theta_, rtol=1e-12)
        np.testing.assert_allclose(total.var_, whole.var_, rtol=1e-12)


def test_parts_of_float32_and_float64_give_a_float64_model():
    x, y = rows()
    total = GaussianNB().fit(x[:30].astype(np.float32), y[:30]) + GaussianNB().fit(x[30:], y[30:])
    assert total.theta_.dtype == np.float64


@every()
def test_a_part_with_names_names_the_whole(NB):
    x, y = rows()
    named, plain = NB().fit(pd.DataFrame(x, columns=list("abcd")), y), NB().fit(x, y)
    for total in (named + plain, plain + named):
        assert total.feature_names_in_.tolist() == list("abcd")
        total.predict(pd.DataFrame(x, columns=list("abcd")))
    assert not hasattr(plain, "feature_names_in_")


@every()
def test_an_empty_part_is_the_zero(NB):
    x, y = rows()
    params = {"min_categories": 5} if NB is CategoricalNB else {}
    model = NB(**params).fit(x, y)
    empty = NB(**params).fit(x, y).forget(x, y)
    close(model + empty, model, x)
    close(empty + model, model, x)


@every()
def test_hyperparameters_stay_those_of_the_model_that_takes_in(NB):
    x, y = rows()
    smoothing = "var_smoothing" if NB is GaussianNB else "alpha"
    a, b = NB(**{smoothing: 0.5}).fit(x, y), NB(**{smoothing: 0.125}).fit(x, y)
    total = a + b
    assert total.get_params()[smoothing] == 0.5
    whole = NB(**{smoothing: 0.5}).fit(np.concatenate([x, x]), np.concatenate([y, y]))
    close(total, whole, x)


@every()
def test_a_given_prior_stays_where_the_classes_stay(NB):
    x, y = rows()
    name = "priors" if NB is GaussianNB else "class_prior"
    prior = {name: [0.2, 0.3, 0.5]}
    a, b = NB(**prior).fit(x[:30], y[:30]), NB().fit(x[30:], y[30:])
    close(a + b, NB(**prior).fit(x, y), x)
    more = NB().fit(x, y + 1)
    with refused(ValueError, "Number of priors must match number of classes", a, more):
        a.merge(more)


# ---- what does not merge ------------------------------------------------------------------------
@pytest.mark.parametrize(("A", "B"), [(A, B) for A in ALL for B in ALL if A is not B])
def test_models_of_different_kinds_do_not_merge(A, B):
    x, y = rows()
    a, b = A().fit(x, y), B().fit(x, y)
    message = f"a {A.__name__} cannot take in a {B.__name__}: merge models of one kind"
    with refused(IncompatibleTallies, message, a, b):
        a.merge(b)
    with refused(IncompatibleTallies, message, a, b):
        a + b


@every()
@pytest.mark.parametrize("other", [0, 1.5, "model", None, [1]], ids=repr)
def test_only_models_can_be_added(NB, other):
    model = NB().fit(*rows())
    with unchanged(model), pytest.raises(TypeError, match="unsupported operand"):
        model + other


@every()
@pytest.mark.parametrize("other", [0, "model", None], ids=repr)
def test_only_models_can_be_merged(NB, other):
    model = NB().fit(*rows())
    with refused((TypeError, ValueError), f"{NB.__name__} cannot take in a", model):
        model.merge(other)


@every()
def test_other_columns_do_not_merge(NB):
    x, y = rows()
    model = NB().fit(x, y)
    with refused(IncompatibleTallies, "4 and 3 features", model, other := NB().fit(x[:, :3], y)):
        model.merge(other)


@every()
def test_other_names_do_not_merge(NB):
    x, y = rows()
    a = NB().fit(pd.DataFrame(x, columns=list("abcd")), y)
    b = NB().fit(pd.DataFrame(x, columns=list("abdc")), y)
    with refused(IncompatibleTallies, "feature names differ: column 2 is 'c'.*'d'.*order", a, b):
        a.merge(b)


def test_other_thresholds_do_not_merge():
    x, y = rows()
    a, b = BernoulliNB(binarize=1.0).fit(x, y), BernoulliNB(binarize=2.0).fit(x, y)
    with refused(IncompatibleTallies, "x > 1.0, the other x > 2.0", a, b):
        a.merge(b)


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ([["a", "b"]], [["b", "a"]]),
        ([["a", "b"]], [["a", "b", "c"]]),
        ([["a", "b"]], None),
    ],
    ids=["other order", "other values", "codes"],
)
def test_other_declared_levels_do_not_merge(mine, theirs):
    a = CategoricalNB(levels=mine).fit([["a"], ["b"]], [0, 1])
    x = [[0], [1]] if theirs is None else [["a"], ["b"]]
    b = CategoricalNB(levels=theirs).fit(x, [0, 1])
    with refused(IncompatibleTallies, "declare.*levels", a, b):
        a.merge(b)
    with refused(IncompatibleTallies, "declare.*levels", a, b):
        b.merge(a)


CLASSES = [0, 1, 2]


def with_all_levels(NB):
    """A first model that knows every level, so that later rows bring none."""
    return NB(min_categories=5) if NB is CategoricalNB else NB()


# ---- more than was counted ----------------------------------------------------------------------
@every()
@pytest.mark.parametrize("layout", LAYOUTS)
def test_forgetting_more_rows_of_a_class_than_were_learned_is_refused(NB, layout):
    x, y = rows()
    model = with_all_levels(NB).fit(x, y)
    twice = np.concatenate([x[y == 1], x[y == 1]])
    message = r"forget would remove more than was counted: class 1 would be left with -20\."
    with refused(NegativeTally, message + " Nothing was changed", model):
        model.forget(LAYOUTS[layout](twice), np.ones(len(twice), dtype=int))


@every(MultinomialNB, CategoricalNB)
def test_forgetting_other_values_than_were_learned_names_class_and_feature(NB):
    import pandas as pd

    x = pd.DataFrame({"a": [1, 0, 0], "b": [1, 2, 0]})
    model = NB().fit(x, ["yes", "yes", "no"])
    other = pd.DataFrame({"a": [0], "b": [2]})
    message = r"class 'no', feature 1 \('b'\) would be left with -[12]\. Nothing was changed"
    with refused(NegativeTally, message, model):
        model.forget(other, ["no"])


def test_a_level_that_was_never_seen_cannot_be_forgotten():
    model = CategoricalNB().fit([[0], [1]], [0, 1])
    with refused(NegativeTally, "class 0, feature 0 would be left with -1", model):
        model.forget([[4]], [0])
    assert model.n_categories_.tolist() == [2]


def test_gaussian_rows_that_would_leave_a_negative_sum_of_squares_are_refused():
    model = GaussianNB().fit([[1.0, 0.0], [1.1, 0.1], [5.0, 2.0]], [0, 0, 1])
    with refused(NegativeTally, "class 0, feature 0 would be left with.*sum of squares", model):
        model.forget([[50.0, 0.0]], [0])


def test_the_last_row_of_a_class_must_be_the_one_that_is_left():
    """n would be 0, but the sums would not."""
    model = GaussianNB().fit([[1.0], [2.0], [3.0]], [0, 1, 1])
    with refused(NegativeTally, "class 0, feature 0 would be left with n = 0 but", model):
        model.forget([[7.0]], [0])
    model.forget([[1.0]], [0])
    assert model.class_count_.tolist() == [2]


@every()
def test_a_heavier_weight_than_was_learned_is_refused(NB):
    x, y = rows()
    model = with_all_levels(NB).fit(x, y, sample_weight=np.full(60, 0.5))
    with refused(NegativeTally, "class 0 would be left with -0.5", model):
        model.forget(x[y == 0], y[y == 0], sample_weight=np.r_[np.full(19, 0.5), 1.0])


@every()
@pytest.mark.parametrize(("size", "n"), [(1, 300), (7, 1_000), (100, 1_000)])
def test_every_row_can_be_forgotten_whatever_its_weight_and_however_many_there_were(NB, size, n):
    """The rounding of many additions is larger than a bound relative to the little that is left."""
    x, y = rows(n=n, d=2)
    w = np.random.default_rng(0).uniform(size=n)
    model = with_all_levels(NB).partial_fit(x, y, classes=CLASSES, sample_weight=w)
    for i in range(0, n, size):
        model.forget(x[i : i + size], y[i : i + size], w[i : i + size])
    assert model.class_count_.tolist() == [0, 0, 0]


@every()
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("weighted", [False, True], ids=["whole", "fractional"])
def test_forgetting_what_was_learned_is_never_refused(NB, layout, weighted):
    """What is left of a sum of squares is next to nothing here, and may round below it."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 8))
        x, y = rng.integers(0, 5, size=(n, 2)).astype(float), rng.integers(0, 2, n)
        if NB is GaussianNB and not weighted:
            x = rng.normal(size=(n, 2))
        w = rng.integers(1, 4, n) / 3 + 0.01 if weighted else np.ones(n)
        again = rng.permutation(n)[: int(rng.integers(1, 3))]
        model = with_all_levels(NB).partial_fit(x, y, classes=[0, 1], sample_weight=w)
        model.partial_fit(LAYOUTS[layout](x[again]), y[again], sample_weight=w[again])
        model.forget(LAYOUTS[layout](x), y, w)
        left = np.bincount(y[again], w[again], minlength=2)
        np.testing.assert_allclose(model.class_count_, left, rtol=1e-9, atol=1e-12)


def test_a_feature_of_every_row_is_certain_whatever_the_weights_were():
    """Present and all rows are summed apart; their difference is rounding, not an absence, and
    without smoothing its logarithm would be NaN or, wrongly, finite."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 8))
        with_it, without = np.ones((n, 1)), np.zeros((n, 1))
        w, other = rng.uniform(size=n), rng.uniform(size=n)
        model = BernoulliNB(alpha=0.0).fit(np.r_[without, with_it], [0] * 2 * n, np.r_[other, w])
        model.forget(without, [0] * n, other)
        absent, present = model.predict_joint_log_proba([[0], [1]]).ravel()
        assert absent == -np.inf
        assert present == pytest.approx(0.0, abs=1e-12)


@every()
def test_a_small_weight_beside_large_ones_is_no_rounding(NB):
    """The bound is 2⁻⁴⁰ of what the cell held: a real rest of that size would be lost."""
    x, y = np.ones((2, 2)), [0, 1]
    model = with_all_levels(NB).fit(x, y, sample_weight=[1.0, 1.0])
    model.partial_fit(x, y, sample_weight=[1e-9, 1e-9]).forget(x, y)
    assert model.class_count_ == pytest.approx([1e-9, 1e-9], rel=1e-6)


# ---- state --------------------------------------------------------------------------------------
@every()
def test_forget_keeps_hyperparameters_classes_and_names(NB):
    import pandas as pd

    x, y = rows()
    frame = pd.DataFrame(x, columns=list("abcd"))
    model = NB().fit(frame, y)
    held = state(model)
    assert model.forget(frame[:10], y[:10]) is model
    now = state(model)
    assert {k: v for k, v in now.items() if k != "counts"} == {
        k: v for k, v in held.items() if k != "counts"
    }
