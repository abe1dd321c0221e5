"""Many labels a row: each label is the two-class model of its rows, counted once for all."""

import copy
import io
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.metrics import f1_score

import tallybayes
from tallybayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultiLabel,
    MultinomialNB,
    NaiveBayes,
    TextNB,
    WeightedNaiveBayes,
)
from tallybayes.errors import (
    IncompatibleTallies,
    IndexOrderWarning,
    ModelFileError,
    NegativeTally,
    StaleWarning,
)
from tallybayes.labels.multi_label import largest
from tallybayes.testing.laws import exactly

N, D, L = 60, 5, 4
BASES = {
    "bernoulli": BernoulliNB(),
    "categorical": CategoricalNB(),
    "complement": ComplementNB(),
    "gaussian": GaussianNB(),
    "multinomial": MultinomialNB(),
    "table": NaiveBayes(),
    "documents": TextNB(model="multinomial"),
    "documents, complement": TextNB(model="complement", tf="log"),
    "documents, bernoulli": TextNB(model="bernoulli"),
}
EXACT = sorted(set(BASES) - {"gaussian", "table", "documents, complement"})
every_base = pytest.mark.parametrize("base", sorted(BASES))


def rows_of(base: str, seed: int = 0, n: int = N):
    """Rows that a classifier takes, and an indicator matrix of labels that depend on them."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, (n, D))
    y = (x[:, :L] + rng.integers(0, 3, (n, L)) > 3).astype(int)
    if base.startswith("documents"):
        words = [" ".join(f"w{j}v{v}" for j, v in enumerate(row) for _ in range(v)) for row in x]
        return np.array([w or "none" for w in words], dtype=object), y
    if base == "table":
        frame = pd.DataFrame({"a": x[:, 0] / 3.0, "b": x[:, 1].astype(str), "c": x[:, 2]})
        frame.loc[::7, "b"] = None
        return frame, y
    return x.astype(float), y


def some(x, rows):
    return x.iloc[rows].reset_index(drop=True) if hasattr(x, "iloc") else x[rows]


def as_lists(y):
    return [[f"l{k}" for k in np.flatnonzero(row)] for row in y]


def as_text(y):
    return [";".join(row) or None for row in as_lists(y)]


CONTAINERS = {
    "pandas lists": (pd.Series, as_lists),
    "polars lists": (pl.Series, as_lists),
    "arrow lists": (pa.array, as_lists),
    "arrow chunks": (lambda rows: pa.chunked_array([rows[:20], rows[20:]]), as_lists),
    "pandas text": (pd.Series, as_text),
    "polars text": (pl.Series, as_text),
    "arrow text": (pa.array, as_text),
}
FRAMES = {
    "pandas": lambda frame: frame,
    "pandas, nullable": lambda frame: frame.astype("boolean"),
    "polars": pl.from_pandas,
    "arrow": pa.Table.from_pandas,
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_labels_may_be_in_any_container(container):
    x, y = rows_of("table")
    hold, form = CONTAINERS[container]
    model = MultiLabel(NaiveBayes(), separator=";" if "text" in container else None)
    model.fit(x, hold(form(y)))
    assert model.classes_.tolist() == ["l0", "l1", "l2", "l3"]
    expected = MultiLabel(NaiveBayes()).fit(x, y).predict_proba(x)
    assert np.array_equal(model.predict_proba(x), expected)


@pytest.mark.parametrize("library", FRAMES)
def test_an_indicator_matrix_may_be_a_frame(library):
    x, y = rows_of("table")
    frame = FRAMES[library](pd.DataFrame(y == 1, columns=["a", "b", "c", "d"]))
    model = MultiLabel(NaiveBayes()).fit(x, frame)
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    assert np.array_equal(model.predict(x), MultiLabel(NaiveBayes()).fit(x, y).predict(x))


def test_a_missing_value_in_an_indicator_matrix_has_its_place():
    x, y = rows_of("table")
    frame = pd.DataFrame(y == 1).astype("boolean")
    frame.iloc[3, 2] = pd.NA
    with pytest.raises(ValueError, match="y holds nan in row 3, column 2"):
        MultiLabel(NaiveBayes()).fit(x, frame)


def test_labels_whose_index_has_another_order_are_warned_of():
    x, y = rows_of("table")
    labels = pd.Series(as_lists(y)).sample(frac=1.0, random_state=0)
    with pytest.warns(IndexOrderWarning, match=r"y\.loc"):
        MultiLabel(NaiveBayes()).fit(x, labels)


# ---- one label and its complement are the two-class model ----------------------------------------
@every_base
def test_each_label_is_the_two_class_model_bit_for_bit(base):
    x, y = rows_of(base)
    model = MultiLabel(BASES[base]).fit(x, y)
    found, labels = model.predict_proba(x), model.predict(x)
    for k in range(L):
        two = clone(BASES[base]).fit(x, y[:, k] == 1)
        if base == "documents, complement":  # it sums logarithms, in another order
            np.testing.assert_allclose(found[:, k], two.predict_proba(x)[:, 1], rtol=1e-12)
        else:
            assert np.array_equal(found[:, k], two.predict_proba(x)[:, 1])
        assert np.array_equal(labels[:, k] == 1, two.predict(x))
        assert np.array_equal(model.label(k).predict_proba(x)[:, 1], found[:, k])
        assert model.label(k).classes_.tolist() == [False, True]


@pytest.mark.parametrize("base", EXACT)
@given(seed=st.integers(0, 1000), n=st.integers(2, 20), weighted=st.booleans())
@settings(max_examples=20, deadline=None)
def test_it_is_so_for_few_rows_and_whole_weights(base, seed, n, weighted):
    x, y = rows_of(base, seed, n)
    weight = np.random.default_rng(seed).integers(1, 4, n).astype(float) if weighted else None
    model = MultiLabel(BASES[base]).fit(x, y, weight)
    found = model.predict_proba(x)
    for k in range(L):
        own = y[:, k] == 1
        if own.all() or not own.any():
            continue  # one class: there is no two-class model
        two = clone(BASES[base]).fit(x, own, weight)
        assert np.array_equal(found[:, k], two.predict_proba(x)[:, 1])


def test_a_label_of_all_rows_is_certain_and_one_of_none_impossible():
    x, y = rows_of("bernoulli")
    y[:, 0], y[:, 1] = 1, 0
    for base in ("bernoulli", "documents"):
        x, _ = rows_of(base)
        found = MultiLabel(BASES[base]).fit(x, y).predict_proba(x)
        assert (found[:, 0] == 1.0).all()
        assert (found[:, 1] == 0.0).all()


def test_the_tally_of_labels_is_sparse():
    n, labels, columns = 200, 10_000, 50_000
    rng = np.random.default_rng(0)
    x = sparse.csr_array(
        (np.ones(n * 5), (np.repeat(np.arange(n), 5), rng.integers(0, columns, n * 5))),
        shape=(n, columns),
    )
    y = [rng.integers(0, labels, 3).tolist() for _ in range(n)]
    model = MultiLabel(MultinomialNB()).fit(x, y)
    arrays = model._counts.positives.arrays().values()
    assert sum(array.nbytes for array in arrays) < 1 << 20  # a dense table would take 240 MB
    words = MultiLabel(TextNB(model="multinomial")).fit([f"a{i} b{i % 7}" for i in range(n)], y)
    assert sum(array.nbytes for array in words._counts.positives.arrays().values()) < 1 << 20


# ---- laws: parts, order, forgetting, merging -----------------------------------------------------
@every_base
@given(seed=st.integers(0, 50), cut=st.integers(1, 29))
@settings(max_examples=8, deadline=None)
def test_parts_forgetting_and_merging_are_exact(base, seed, cut):
    x, y = rows_of(base, seed, 30)
    first, rest = np.arange(cut), np.arange(cut, 30)
    whole = MultiLabel(BASES[base]).fit(x, y)
    parts = MultiLabel(BASES[base]).fit(some(x, first), y[first])
    before = copy.deepcopy(parts)
    parts.partial_fit(some(x, rest), y[rest])
    close = np.testing.assert_allclose
    close(parts.predict_proba(x), whole.predict_proba(x), rtol=1e-9, atol=1e-12)
    merged = copy.deepcopy(before).merge(MultiLabel(BASES[base]).fit(some(x, rest), y[rest]))
    close(merged.predict_proba(x), whole.predict_proba(x), rtol=1e-9, atol=1e-12)
    parts.forget(some(x, rest), y[rest])
    seen = some(x, first)
    close(parts.predict_proba(seen), before.predict_proba(seen), rtol=1e-9, atol=1e-12)
    if base in EXACT and base not in ("categorical", "documents, complement"):
        assert merged == whole
        assert parts == before


@every_base
def test_the_order_of_rows_does_not_matter(base):
    x, y = rows_of(base)
    mixed = np.random.default_rng(1).permutation(N)
    model = MultiLabel(BASES[base]).fit(x, y)
    other = MultiLabel(BASES[base]).fit(some(x, mixed), y[mixed])
    np.testing.assert_allclose(model.predict_proba(x), other.predict_proba(x), rtol=1e-9)


def test_new_labels_come_later_and_go_with_their_last_row():
    model = MultiLabel(TextNB(model="multinomial"), separator="|")
    model.fit(["a b", "c d"], ["x|y", "y"])
    model.partial_fit(["e f"], ["z"])
    assert model.classes_.tolist() == ["x", "y", "z"]
    assert model.label_count_.tolist() == [1.0, 2.0, 1.0]
    assert model.predict(["e f"]).tolist() == ["z"]
    model.forget(["a b"], ["y | x"])
    assert model.classes_.tolist() == ["y", "z"]
    assert model == MultiLabel(TextNB(model="multinomial"), separator="|").fit(
        ["c d", "e f"], ["y", "z"]
    )


@every_base
@pytest.mark.parametrize("form", ["matrix", "lists"])
def test_a_model_without_rows_says_so_and_learns_again(base, form):
    x, y = rows_of(base)
    labels = y if form == "matrix" else [np.flatnonzero(row).tolist() for row in y]
    model = MultiLabel(BASES[base]).fit(x, labels)
    before = model.predict_proba(x)
    model.forget(x, labels)
    for ask in (model.predict, model.predict_proba, model.top):
        with pytest.raises(ValueError, match="holds no"):
            ask(x)
    model.partial_fit(x, labels)
    np.testing.assert_allclose(model.predict_proba(x), before, rtol=1e-9, atol=1e-12)


@every_base
def test_a_batch_may_have_no_label_at_all(base):
    x, y = rows_of(base)
    lists = [np.flatnonzero(row).tolist() for row in y]
    none = [[] for _ in range(5)]
    model = MultiLabel(BASES[base]).fit(some(x, np.arange(5)), none).partial_fit(x, lists)
    model.partial_fit(some(x, np.arange(5)), none)
    rows = np.concatenate([np.arange(5), np.arange(N), np.arange(5)])
    whole = MultiLabel(BASES[base]).fit(some(x, rows), [*none, *lists, *none])
    np.testing.assert_allclose(model.predict_proba(x), whole.predict_proba(x), rtol=1e-9)


def test_declared_columns_of_a_matrix_stay():
    x, y = rows_of("bernoulli")
    y[:, 1] = 0
    y[1:, 2] = 0
    y[0, 2] = 1
    model = MultiLabel(BernoulliNB()).fit(x, y).forget(x[:1], y[:1])
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert model.predict(x).shape == (N, 4)


def test_rows_without_labels_count_for_all_labels():
    x, y = rows_of("bernoulli")
    some_rows = MultiLabel(BernoulliNB()).fit(x, y)
    more = MultiLabel(BernoulliNB()).fit(np.vstack([x, x]), np.vstack([y, np.zeros_like(y)]))
    for k in range(L):
        two = BernoulliNB().fit(np.vstack([x, x]), np.append(y[:, k] == 1, np.zeros(N, dtype=bool)))
        assert np.array_equal(more.predict_proba(x)[:, k], two.predict_proba(x)[:, 1])
    assert (more.predict_proba(x) < some_rows.predict_proba(x)).mean() > 0.9


# ---- forms of labels -----------------------------------------------------------------------------
def test_every_form_of_labels_gives_the_same_model_and_its_own_answers():
    x, y = rows_of("multinomial")
    names = np.array(list("dbca"))
    lists = [[str(names[k]) for k in np.flatnonzero(row)] for row in y]
    by_lists = MultiLabel(MultinomialNB()).fit(x, lists)
    text = [" ; ".join(row) if row else None for row in lists]
    by_text = MultiLabel(MultinomialNB(), separator=";").fit(x, pd.Series(text))
    by_frame = MultiLabel(MultinomialNB()).fit(x, pd.DataFrame(y, columns=names))
    by_sparse = MultiLabel(MultinomialNB()).fit(x, sparse.csr_matrix(y))
    by_sets = MultiLabel(MultinomialNB()).fit(x, [set(row) for row in lists])
    expected = by_lists.predict_proba(x)
    assert by_lists.classes_.tolist() == ["a", "b", "c", "d"]
    for model in (by_text, by_frame, by_sets):
        assert np.array_equal(model.predict_proba(x), expected)
    dense = MultiLabel(MultinomialNB()).fit(x, y)
    assert np.array_equal(by_sparse.predict_proba(x), dense.predict_proba(x))
    matrix = by_frame.predict(x)
    assert matrix.dtype == np.int64
    for i, row in enumerate(by_lists.predict(x)):
        assert row == [label for label, has in zip("abcd", matrix[i], strict=True) if has]
        assert by_text.predict(x)[i] == ";".join(row)
    answer = by_sparse.predict(x)
    assert sparse.issparse(answer)
    assert np.array_equal(answer.toarray(), dense.predict(x))
    for model, labels in (
        (by_text, text),
        (by_lists, lists),
        (by_frame, pd.DataFrame(y, columns=names)),
    ):
        assert model.score(x, labels) == pytest.approx(
            f1_score(y[:, np.argsort(names)], matrix, average="micro")
        )


# ---- choosing by leave-one-out -------------------------------------------------------------------
@pytest.mark.parametrize("base", ["bernoulli", "multinomial", "table", "documents"])
def test_thresholds_are_those_of_refits_without_each_row(base):
    x, y = rows_of(base, 3, 40)
    model = MultiLabel(BASES[base], threshold="f1").fit(x, y)
    for k in range(2):
        own = y[:, k] == 1
        odds = np.empty(len(own))
        for i in range(len(own)):
            others = np.delete(np.arange(len(own)), i)
            log_p = (
                clone(BASES[base])
                .fit(some(x, others), own[others])
                .predict_log_proba(some(x, np.array([i])))
            )
            odds[i] = log_p[0, 1] - log_p[0, 0]
        found = np.log(model.thresholds_[k]) - np.log1p(-model.thresholds_[k])
        candidates = np.unique(odds)
        best = max(f1_score(own, odds >= cut) for cut in candidates)
        if base in ("bernoulli", "multinomial"):  # of others, levels and terms stay as they are
            assert f1_score(own, odds > found) == pytest.approx(best)
        else:
            assert f1_score(own, odds > found) >= best - 0.1


def test_costs_move_the_thresholds():
    x, y = rows_of("bernoulli", n=400)
    few = MultiLabel(BernoulliNB(), threshold="cost", costs=(5.0, 1.0)).fit(x, y)
    many = MultiLabel(BernoulliNB(), threshold="cost", costs=(1.0, 5.0)).fit(x, y)
    even = MultiLabel(BernoulliNB(), threshold="cost").fit(x, y)
    assert few.predict(x).sum() < even.predict(x).sum() < many.predict(x).sum()

    def cost(model, alarm, miss):
        p = model.predict(x)
        return alarm * (p & ~(y == 1)).sum() + miss * ((p == 0) & (y == 1)).sum()

    assert cost(few, 5.0, 1.0) <= min(cost(even, 5.0, 1.0), cost(many, 5.0, 1.0))
    assert cost(many, 1.0, 5.0) <= min(cost(even, 1.0, 5.0), cost(few, 1.0, 5.0))


def test_smoothing_is_chosen_for_each_label():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (300, 40)).astype(float)
    y = np.stack([x[:, 0] == 1, rng.random(300) < 0.03], axis=1).astype(int)
    model = MultiLabel(BernoulliNB(), smoothing="auto").fit(x, y)
    assert model.alphas_[0] < model.alphas_[1]  # 9 rows and no pattern: smooth them
    assert model.label(1).alpha == model.alphas_[1]
    two = BernoulliNB(alpha=model.alphas_[0]).fit(x, y[:, 0] == 1)
    assert np.array_equal(model.predict_proba(x)[:, 0], two.predict_proba(x)[:, 1])
    assert model.thresholds_.tolist() == [0.5, 0.5]


def test_what_was_chosen_is_stale_after_learning_until_it_is_tuned_again():
    x, y = rows_of("bernoulli")
    model = MultiLabel(BernoulliNB(), threshold="f1", smoothing="auto").fit(x[:40], y[:40])
    kept = model.thresholds_
    model.partial_fit(x[40:], y[40:])
    assert np.array_equal(model.thresholds_, kept)
    with pytest.warns(StaleWarning, match="tune"):
        model.predict(x)
    model.tune(x, y)
    model.predict(x)
    assert model == MultiLabel(BernoulliNB(), threshold="f1", smoothing="auto").fit(x, y)


@pytest.mark.parametrize("base", [*EXACT, "table"])
def test_what_was_chosen_is_as_it_was_once_the_counts_are(base, tmp_path):
    x, y = rows_of(base)
    fitted = MultiLabel(BASES[base], threshold="f1", smoothing="auto").fit(x, y)
    more, labels = some(x, [1, 4]), y[[1, 4]]
    model = copy.copy(fitted).partial_fit(more, labels)
    model.save(tmp_path / "model.tally")
    for changed in (model, tallybayes.load(tmp_path / "model.tally")):
        with pytest.warns(StaleWarning):
            changed.predict(x)
        changed.forget(more, labels)
        changed.predict(x)
        assert changed == fitted


def test_what_went_with_a_label_stays_stale():
    x, y = rows_of("bernoulli")
    lists = [[f"l{k}" for k in np.flatnonzero(row)] or ["none"] for row in y]
    model = MultiLabel(BernoulliNB(), threshold="f1").fit(x, lists)
    alone = [i for i, labels in enumerate(lists) if "l0" in labels]
    those = some(x, alone), [lists[i] for i in alone]
    model.forget(*those).partial_fit(*those)
    with pytest.warns(StaleWarning):
        model.predict(x)


def test_only_what_predicts_can_be_stale():
    """Probabilities depend on the smoothing alone, and the k best labels on no threshold."""
    x, y = rows_of("bernoulli")
    options = {"threshold": "f1"}, {"smoothing": "auto"}, {"threshold": "f1", "k": 2}
    thresholds, smoothing, best = (
        MultiLabel(BernoulliNB(), **given).fit(x[:40], y[:40]).partial_fit(x[40:], y[40:])
        for given in options
    )
    for model in (thresholds, best):
        model.predict_proba(x), model.top(x), model.label(0)
    best.predict(x)
    with pytest.warns(StaleWarning, match="^thresholds were"):
        thresholds.predict(x)
    for ask in (smoothing.predict, smoothing.predict_proba, smoothing.top):
        with pytest.warns(StaleWarning, match="^smoothing was"):
            ask(x)
    with pytest.warns(StaleWarning, match="^smoothing was"):
        smoothing.label(0)


@pytest.mark.parametrize("base", ["multinomial", "gaussian", "table", "documents"])
def test_groups_are_left_out_together(base):
    x, y = rows_of(base, n=24)
    groups, weight = np.repeat(["b", "c", "a"], 8), np.repeat([1.0, 2.0], 12)
    model = MultiLabel(BASES[base], threshold="f1").fit(x, y, weight, groups=groups)
    for k in range(2):
        own, odds = y[:, k] == 1, np.empty(24)
        for g in "abc":
            others, part = np.flatnonzero(groups != g), np.flatnonzero(groups == g)
            two = clone(BASES[base]).fit(some(x, others), own[others], sample_weight=weight[others])
            odds[part] = np.diff(two.predict_log_proba(some(x, part)), axis=1)[:, 0]
        limit = np.log(model.thresholds_[k]) - np.log1p(-model.thresholds_[k])
        found, best = (f1_score(own, odds > cut, sample_weight=weight) for cut in (limit, -np.inf))
        best = max([best, *(f1_score(own, odds >= cut, sample_weight=weight) for cut in odds)])
        assert found == pytest.approx(best, abs=1e-9)
    again = MultiLabel(BASES[base], threshold="f1").fit(x, y, weight)
    assert again.tune(x, y, weight, groups=groups).thresholds_ == pytest.approx(model.thresholds_)


def test_copies_of_rows_in_a_group_do_not_vouch_for_each_other():
    y = np.random.default_rng(0).integers(0, 2, (60, 1))
    groups = np.tile(np.arange(60), 5)
    x, y = np.eye(60)[groups], y[groups]  # a column for each group, and labels by chance
    alone = MultiLabel(BernoulliNB(), smoothing="auto").fit(x, y)
    together = MultiLabel(BernoulliNB(), smoothing="auto").fit(x, y, groups=groups)
    assert alone.alphas_[0] == 2.0**-8
    assert together.alphas_[0] > alone.alphas_[0]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.zeros(60), "groups= has 1: give two groups or more"),
        (np.arange(59), "one value a row"),
        ([None, *range(59)], "missing value in row 0"),
    ],
)
def test_bad_groups_leave_the_model_as_it_was(groups, message):
    x, y = rows_of("bernoulli")
    model = MultiLabel(BernoulliNB(), threshold="f1").fit(x, y)
    before = copy.deepcopy(model)
    for learn in (model.fit, model.tune):
        with pytest.raises(ValueError, match=message):
            learn(x, y, groups=groups)
        assert model == before


def test_the_k_best_and_top():
    x, y = rows_of("bernoulli")
    model = MultiLabel(BernoulliNB(), k=2).fit(x, y)
    proba = model.predict_proba(x)
    assert (model.predict(x).sum(axis=1) == 2).all()
    labels, p = model.top(x, 3)
    best = np.argsort(-model.decision_function(x), axis=1, kind="stable")[:, :3]
    assert np.array_equal(labels, best)
    np.testing.assert_allclose(p, np.take_along_axis(proba, best, axis=1), rtol=1e-12)
    assert model.top(x, 99)[0].shape == (N, L)


def test_top_of_many_labels_is_made_of_few_at_a_time(monkeypatch):
    from tallybayes.labels import multi_label

    x, y = rows_of("bernoulli")
    model = MultiLabel(BernoulliNB()).fit(x, np.hstack([y, 1 - y, y[:, ::-1]]))
    whole = model.top(x, 2)
    monkeypatch.setattr(multi_label, "MAX_BLOCK_CELLS", 1)
    found = model.top(x, 2)
    assert np.array_equal(found[0], whole[0])
    assert np.array_equal(found[1], whole[1])


BY_SUMS = ("multinomial", "complement", "documents", "documents, complement", "documents, idf")


@pytest.mark.parametrize("base", BY_SUMS)
@given(seed=st.integers(0, 1000), n=st.integers(1, 25), kind=st.sampled_from(["", "w", "alpha"]))
@settings(max_examples=15, deadline=None)
def test_labels_that_are_read_together_are_those_that_are_read_one_by_one(base, seed, n, kind):
    x, y = rows_of(base, seed, n)
    y = np.hstack([y, 1 - y, np.ones((n, 1), int), np.zeros((n, 1), int)])
    if seed % 3 == 0:  # a label of rows without any word
        x[0], y[:, 0] = ("none" if base.startswith("documents") else 0.0), np.arange(n) == 0
    weight = np.random.default_rng(seed).choice([0.3, 1.0, 2.7], n) if kind == "w" else None
    inside = TextNB(model="multinomial", idf=True) if base == "documents, idf" else BASES[base]
    model = MultiLabel(inside, smoothing="auto" if kind == "alpha" else None).fit(x, y, weight)
    expected = model.decision_function(x)
    rows, _, found = next(model._odds_by_rows(model._to_predict(x)))
    assert rows.tolist() == list(range(n))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert np.array_equal(model.predict(x), expected > 0.0)
    assert model.top(x, 3)[1] == pytest.approx(-np.sort(-expit(expected), axis=1)[:, :3])


@given(seed=st.integers(0, 1000), n=st.integers(0, 5), labels=st.integers(1, 9))
@settings(max_examples=30, deadline=None)
def test_the_largest_are_the_first_of_a_stable_sort(seed, n, labels):
    values = np.random.default_rng(seed).choice([-np.inf, 0.0, 1.0, 2.0, np.inf], (n, labels))
    for k in range(labels + 1):
        order = np.argsort(-values, axis=1, kind="stable")[:, :k]
        assert np.array_equal(largest(values, k), order)


def test_explanations_are_those_of_the_label():
    x, y = rows_of("table")
    model = MultiLabel(NaiveBayes()).fit(x, y)
    found = model.explain(x[:3], label=1)
    two = NaiveBayes().fit(x, y[:, 1] == 1).explain(x[:3])
    assert np.array_equal(found.contributions, two.contributions)
    documents, _ = rows_of("documents")
    words = MultiLabel(TextNB(model="multinomial")).fit(documents, y)
    assert len(words.explain(documents[:2], label=0)) == 2
    with pytest.raises(ValueError, match="does not explain"):
        MultiLabel(BernoulliNB()).fit(*rows_of("bernoulli")).explain(x, label=0)


# ---- files, copies and pipelines -----------------------------------------------------------------
@every_base
def test_a_file_predicts_the_same_and_learns_on(base):
    x, y = rows_of(base)
    auto = {} if base == "gaussian" else {"smoothing": "auto"}
    model = MultiLabel(BASES[base], threshold="f1", **auto).fit(x[:50], y[:50])
    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    loaded = tallybayes.load(file)
    assert loaded == model
    assert np.array_equal(loaded.predict_proba(x), model.predict_proba(x))
    assert np.array_equal(loaded.predict(x), model.predict(x))
    assert np.array_equal(loaded.label(0).predict_proba(x), model.label(0).predict_proba(x))
    loaded.partial_fit(x[50:], y[50:])
    model.partial_fit(x[50:], y[50:])
    assert loaded == model


def test_a_file_holds_numbers_that_rows_with_a_label_lack():
    x = [{"a": value} for value in (1.0, 2.5, 7.25, 9.0)]
    model = MultiLabel(NaiveBayes()).fit(x, [["u"], ["u"], [], []])
    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    assert tallybayes.load(file) == model


def test_a_file_of_other_parts_is_refused():
    from tallybayes.estimators.saving import plain_of
    from tallybayes.persistence import write

    x, y = rows_of("multinomial")
    model = MultiLabel(MultinomialNB()).fit(x, y)
    for damage in ("labels", "every", "rows", "columns"):
        header, tree = plain_of(model)
        if damage == "labels":
            header["labels"] = np.arange(L + 1)
        if damage == "every":
            header["every"]["estimator"] = "WeightedNaiveBayes"
        if damage == "rows":
            tree["positives"]["class_count"] = np.full(L, 1e6)
        if damage == "columns":
            tree["positives"]["group0.indices"] = tree["positives"]["group0.indices"] + D
        file = io.BytesIO()
        write(file, header, tree)
        file.seek(0)
        with pytest.raises(ModelFileError):
            tallybayes.load(file)


def test_copies_clones_and_pickles():
    x, y = rows_of("bernoulli")
    model = MultiLabel(BernoulliNB(alpha=0.5), threshold=0.3).fit(x, y)
    again = pickle.loads(pickle.dumps(model))
    assert again == model
    twin = copy.copy(model)
    twin.partial_fit(x, y)
    assert again == model
    assert twin != model
    assert clone(model).get_params()["model__alpha"] == 0.5
    assert not hasattr(clone(model), "classes_")
    assert exactly(model._counts.total, again._counts.total)


def test_it_works_in_scikit_learn():
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import make_pipeline

    documents, y = rows_of("documents", n=300)
    pipeline = make_pipeline(CountVectorizer(), MultiLabel(MultinomialNB()))
    scores = cross_val_score(pipeline, documents, y, scoring="f1_micro", cv=3)
    assert (scores > f1_score(y, np.ones_like(y), average="micro")).all()
    search = GridSearchCV(
        pipeline, {"multilabel__model__alpha": [0.01, 1.0]}, scoring="f1_micro", cv=3
    ).fit(documents, y)
    assert search.best_score_ >= scores.mean() - 0.2


# ---- bad input: the rule, what arrived, what to do; the model stays as it was --------------------
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "indicator matrix"),
        ("a", "indicator matrix"),
        (["a", "b", "c"], "separator="),
        ([["a"], ["b"]], "X has 3 rows and y 2"),
        ([["a"], 3, ["b"]], r"row 1.*\[3\]"),
        ([["a"], ["b", None], []], "row 1 of y has a missing value"),
        ([["a"], [1], []], "types int, str"),
        (np.array([[0, 1], [2, 0], [0, 0]]), "holds 2 in row 1, column 0"),
        (np.array([[0.0, np.nan], [1, 0], [0, 0]]), "holds nan in row 0, column 1"),
        (np.zeros((2, 2)), "X has 3 rows and y 2"),
        (pd.DataFrame(np.zeros((3, 2)), columns=["a", "a"]), "name a label twice"),
    ],
)
def test_bad_labels_are_refused_and_nothing_changes(y, message):
    x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    model = MultiLabel(BernoulliNB()).fit(x, [["a"], ["b"], []])
    before = copy.deepcopy(model)
    for call in (model.fit, model.partial_fit, model.forget):
        with pytest.raises(ValueError, match=message):
            call(x, y)
        assert model == before


def test_a_label_that_holds_the_separator_is_refused():
    with pytest.raises(ValueError, match="holds the separator ';'"):
        MultiLabel(BernoulliNB(), separator=";").fit([[1.0], [0.0]], [["a;b"], []])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (WeightedNaiveBayes(), r"learns weights on the rows.*give it NaiveBayes\(\)"),
        (TextNB(), r"learns weights on the rows.*give it TextNB\(model='multinomial'\)"),
        (TextNB(model="multinomial", half_life=10.0), "half_life"),
        (NaiveBayes(alpha="auto"), "smoothing='auto'"),
        (NaiveBayes(calibrate="temperature"), "calibrate"),
        (BernoulliNB(class_prior=[0.5, 0.5]), "class_prior"),
        (BernoulliNB(class_weight="balanced"), "class_weight"),
    ],
)
def test_classifiers_that_cannot_be_inside_are_refused(model, message):
    with pytest.raises(ValueError, match=message):
        MultiLabel(model).fit(*rows_of("bernoulli"))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"threshold": 1.5}, "threshold"),
        ({"threshold": "f2"}, "threshold"),
        ({"costs": (1.0,)}, "two numbers above 0"),
        ({"costs": (1.0, -1.0)}, "two numbers above 0"),
        ({"k": 0}, "'k'"),
        ({"separator": ""}, "empty string"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        MultiLabel(BernoulliNB(), **parameters).fit(*rows_of("bernoulli"))


def test_more_cannot_be_forgotten_than_was_learned():
    x, y = rows_of("bernoulli")
    for base in ("bernoulli", "multinomial", "documents", "table"):
        x, y = rows_of(base)
        model = MultiLabel(BASES[base]).fit(some(x, np.arange(30)), y[:30])
        before = copy.deepcopy(model)
        with pytest.raises(NegativeTally):
            model.forget(some(x, np.arange(31)), y[:31])
        assert model == before
        with pytest.raises(NegativeTally):  # rows that were learned, with labels that were not
            model.forget(some(x, np.arange(30)), np.ones_like(y[:30]))
        assert model == before
    with pytest.raises(ValueError, match="weights of rows are from 0 on"):
        MultiLabel(BernoulliNB()).fit(*rows_of("bernoulli"), sample_weight=-np.ones(N))


def test_other_answers_that_teach():
    x, y = rows_of("bernoulli")
    model = MultiLabel(BernoulliNB())
    for ask in (model.predict, model.predict_proba, model.top):
        with pytest.raises(Exception, match="not fitted"):
            ask(x)
    model.fit(x, y)
    with pytest.raises(ValueError, match="9 is no label"):
        model.label(9)
    with pytest.raises(ValueError, match="nothing to choose"):
        model.tune(x, y)
    with pytest.raises(ValueError, match="from 1 on"):
        model.top(x, 0)
    with pytest.raises(ValueError, match="does not have"):
        MultiLabel(GaussianNB(), smoothing="auto").fit(x, y)
    with pytest.raises(IncompatibleTallies):
        model.merge(MultiLabel(MultinomialNB()).fit(x, y))
    with pytest.raises(ValueError, match="which no counted row has"):
        MultiLabel(BernoulliNB(), threshold="f1").fit(x, y).tune(x, np.hstack([y, y]))
