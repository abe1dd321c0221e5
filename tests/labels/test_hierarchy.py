"""Classes in a tree: inner nodes are sums of leaves, and leaves shrink toward their parents."""

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
from scipy.special import gammaln
from sklearn.base import clone

import tallybayes
from tallybayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    Hierarchy,
    MultinomialNB,
    NaiveBayes,
    TextNB,
)
from tallybayes.errors import ModelFileError, NegativeTally

LEAVES = ["a/x", "a/y", "b/u/p", "b/u/q", "b/v", "c"]
BASES = {
    "bernoulli": BernoulliNB(),
    "categorical": CategoricalNB(min_categories=6),
    "gaussian": GaussianNB(),
    "multinomial": MultinomialNB(alpha=0.5),
    "table": NaiveBayes(),
    "documents": TextNB(model="multinomial"),
    "documents, bernoulli": TextNB(model="bernoulli"),
}
EXACT = ["bernoulli", "categorical", "multinomial", "documents", "documents, bernoulli"]
every_base = pytest.mark.parametrize("base", sorted(BASES))


def rows_of(base: str, seed: int = 0, n: int = 120):
    rng = np.random.default_rng(seed)
    leaf = np.concatenate([np.arange(len(LEAVES)), rng.integers(0, len(LEAVES), n - len(LEAVES))])
    y = np.array(LEAVES, dtype=object)[leaf]
    of_top = np.array([ord(label[0]) - ord("a") for label in LEAVES])[leaf]
    x = np.minimum(
        rng.poisson(1 + of_top[:, None] * [1, 0, 1, 0] + leaf[:, None] * [0, 0.5, 0, 0]), 5
    )
    if base.startswith("documents"):
        words = [" ".join(f"w{j}v{v}" for j, v in enumerate(row) for _ in range(v)) for row in x]
        return np.array([w or "none" for w in words], dtype=object), y
    if base == "table":
        return pd.DataFrame({"a": x[:, 0] / 3.0, "b": x[:, 1].astype(str), "c": x[:, 2]}), y
    return x.astype(float), y


def some(x, rows):
    return x.iloc[rows].reset_index(drop=True) if hasattr(x, "iloc") else x[rows]


# ---- inner nodes are sums of leaves --------------------------------------------------------------
@every_base
def test_inner_nodes_are_the_fit_on_relabelled_rows(base):
    x, y = rows_of(base)
    model = Hierarchy(BASES[base]).fit(x, y)
    for level in (1, 2, 3):
        above = np.array(["/".join(label.split("/")[:level]) for label in y], dtype=object)
        fit = clone(BASES[base]).fit(x, above)
        found = model.at(level)
        assert found.classes_.tolist() == fit.classes_.tolist() == model.nodes(level)
        if base in EXACT:
            assert np.array_equal(found.predict_proba(x), fit.predict_proba(x))
        else:
            np.testing.assert_allclose(found.predict_proba(x), fit.predict_proba(x), rtol=1e-9)


@every_base
@given(seed=st.integers(0, 100))
@settings(max_examples=5, deadline=None)
def test_children_sum_to_their_parent_and_levels_to_one(base, seed):
    x, y = rows_of(base, seed)
    model = Hierarchy(BASES[base]).fit(x, y)
    leaves = model.predict_proba(x)
    assert model.classes_.tolist() == LEAVES
    assert np.abs(leaves.sum(axis=1) - 1.0).max() <= 1e-12
    for level in (1, 2, 3):  # of paths of unequal length, too: hiclass issues 96 and 162
        proba = model.predict_proba(x, level=level)
        assert np.abs(proba.sum(axis=1) - 1.0).max() <= 1e-12
        for k, node in enumerate(model.nodes(level)):
            below = [i for i, path in enumerate(LEAVES) if f"{path}/".startswith(f"{node}/")]
            assert np.abs(leaves[:, below].sum(axis=1) - proba[:, k]).max() <= 1e-12


@every_base
def test_without_shrinkage_it_is_the_flat_model(base):
    x, y = rows_of(base)
    flat = clone(BASES[base]).fit(x, y).predict_proba(x)
    found = Hierarchy(BASES[base], concentration=0).fit(x, y).predict_proba(x)
    if base in EXACT:
        assert np.array_equal(found, flat)
    else:
        np.testing.assert_allclose(found, flat, rtol=1e-9, atol=1e-300)


def test_shrunk_probabilities_are_those_of_nested_dirichlets():
    counts = np.array([[3.0, 1.0, 0.0], [0.0, 2.0, 2.0], [5.0, 0.0, 1.0]])
    labels = ["a/x", "a/y", "b"]
    rows = np.repeat(np.arange(3), 2)  # two rows a leaf
    x = counts[rows] / 2.0
    y = [labels[k] for k in rows]
    m, alpha = 4.0, 1.0
    model = Hierarchy(MultinomialNB(alpha=alpha), concentration=m).fit(x, y)
    of_root = m / 6.0
    a = counts[:2].sum(axis=0) + of_root * counts.sum(axis=0)
    of_a = m / (4.0 + of_root * 6.0)
    shrunk = np.stack(
        [counts[0] + of_a * a, counts[1] + of_a * a, counts[2] + of_root * counts.sum(axis=0)]
    )
    smoothing = alpha * np.exp(np.log([of_a * of_root, of_a * of_root, of_root]).mean())
    theta = (shrunk + smoothing) / (shrunk + smoothing).sum(axis=1, keepdims=True)
    score = x @ np.log(theta).T + np.log(1.0 / 3.0)
    expected = np.exp(score - np.logaddexp.reduce(score, axis=1)[:, None])
    np.testing.assert_allclose(model.predict_proba(x), expected, rtol=1e-12)
    assert model.concentrations_ == {"": m, "a": m}


def test_the_concentration_is_that_of_the_largest_evidence():
    rng = np.random.default_rng(0)
    x = rng.multinomial(8, [0.4, 0.3, 0.2, 0.1], 30).astype(float)
    x[10:20] = rng.multinomial(8, [0.1, 0.2, 0.3, 0.4], 10)
    y = np.repeat(["a", "b", "c"], 10)
    model = Hierarchy(MultinomialNB()).fit(x, y)
    counts = np.stack([x[y == k].sum(axis=0) for k in "abc"])

    def evidence(m):
        found = 0.0
        for k in range(3):
            rest = (np.delete(counts, k, axis=0).sum(axis=0) + 1.0) * m / 20.0
            n = counts[k]
            found += gammaln(rest.sum()) - gammaln((rest + n).sum())
            found += (gammaln(rest + n) - gammaln(rest)).sum()
        return found

    chosen = model.concentrations_[""]
    best = max(evidence(m) for m in 2.0 ** np.linspace(-6, np.log2(30.0), 400))
    assert evidence(chosen) == pytest.approx(best, abs=0.01)


def test_equal_children_borrow_at_most_the_rows_of_their_parent():
    x = np.tile([3.0, 2.0, 1.0], (8, 1))
    model = Hierarchy(MultinomialNB()).fit(x, ["a/x", "a/y", "b", "b"] * 2)
    assert 0.0 < model.concentrations_["a"] <= 2.0 * model.concentrations_[""] + 4.0
    assert model.concentrations_[""] <= 8.0 * (1.0 + 1e-9)


def test_it_finds_the_concentration_of_planted_trees_and_beats_the_flat_model():
    rng = np.random.default_rng(1)
    words, length = 400, 30
    base = rng.dirichlet(np.full(words, 0.5))
    theta, labels = [], []
    for i in range(4):
        p = rng.dirichlet(base * 300)
        for j in range(5):
            theta.append(rng.dirichlet(p * 240 + 1e-9))  # 8 rows of 30 words
            labels.append(f"{i}/{j}")
    for seed in range(2):
        draws = np.random.default_rng(seed)
        x, y, new, own = [], [], [], []
        for label, p in zip(labels, theta, strict=True):
            x.append(draws.multinomial(length, p, 10))
            new.append(draws.multinomial(length, p, 40))
            y += [label] * 10
            own += [label] * 40
        x, new = np.vstack(x).astype(float), np.vstack(new).astype(float)
        model, flat = Hierarchy(MultinomialNB()).fit(x, y), MultinomialNB().fit(x, y)
        at = np.arange(len(own)), np.searchsorted(model.classes_, own)
        loss = [-np.log(m.predict_proba(new)[at]).mean() for m in (model, flat)]
        assert loss[0] <= 0.95 * loss[1]
        inner = [m for node, m in model.concentrations_.items() if node]
        assert 4.0 < np.exp(np.mean(np.log(inner))) < 16.0


# ---- learning ------------------------------------------------------------------------------------
@every_base
@given(cut=st.integers(1, 59))
@settings(max_examples=4, deadline=None)
def test_parts_forgetting_and_merging(base, cut):
    x, y = rows_of(base, n=60)
    first, rest = np.arange(cut), np.arange(cut, 60)
    whole = Hierarchy(BASES[base], concentration=2.0).fit(x, y)
    parts = Hierarchy(BASES[base], concentration=2.0).fit(some(x, first), y[first])
    before = copy.deepcopy(parts)
    parts.partial_fit(some(x, rest), y[rest])
    close = np.testing.assert_allclose
    close(parts.predict_proba(x), whole.predict_proba(x), rtol=1e-9, atol=1e-12)
    merged = copy.deepcopy(before).merge(
        Hierarchy(BASES[base], concentration=2.0).fit(some(x, rest), y[rest])
    )
    close(merged.predict_proba(x), whole.predict_proba(x), rtol=1e-9, atol=1e-12)
    parts.forget(some(x, rest), y[rest])
    seen = some(x, first)
    close(parts.predict_proba(seen), before.predict_proba(seen), rtol=1e-9, atol=1e-12)


def test_a_new_leaf_works_from_its_first_row():
    rng = np.random.default_rng(0)
    x = np.vstack(
        [rng.multinomial(20, p, 30) for p in ([0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.5, 0.3])]
    )
    y = ["animals/cat"] * 30 + ["plants/oak"] * 30
    model = Hierarchy(MultinomialNB()).fit(x, y)
    model.partial_fit([[10, 0, 0, 10]], ["animals/dog"])
    assert model.classes_.tolist() == ["animals/cat", "animals/dog", "plants/oak"]
    assert model.predict([[11, 1, 0, 9]]).tolist() == ["animals/dog"]
    assert model.predict_proba([[10, 6, 2, 2]], level=1)[0, 0] > 0.99
    model.forget([[10, 0, 0, 10]], ["animals/dog"])
    assert model == Hierarchy(MultinomialNB()).fit(x, y)


def test_predictions_go_down_as_far_as_they_are_sure():
    x, y = rows_of("multinomial")
    model = Hierarchy(MultinomialNB()).fit(x, y)
    leaves = model.predict_proba(x)
    for confidence in (0.3, 0.6, 0.9, 1.0):
        for i, path in enumerate(model.predict(x, confidence=confidence)):
            below = [
                k for k, leaf in enumerate(LEAVES) if not path or f"{leaf}/".startswith(f"{path}/")
            ]
            if path:
                assert leaves[i, below].sum() >= confidence
            depth = len(path.split("/")) if path else 0
            children = {"/".join(LEAVES[k].split("/")[: depth + 1]) for k in below} - {path}
            for child in children:
                inside = [k for k, leaf in enumerate(LEAVES) if f"{leaf}/".startswith(f"{child}/")]
                assert leaves[i, inside].sum() < confidence
    assert model.predict(x).tolist() == [LEAVES[k] for k in leaves.argmax(axis=1)]
    assert model.score(x, y) == np.mean(model.predict(x) == y)


def test_paths_in_every_form():
    x, y = rows_of("multinomial")
    expected = Hierarchy(MultinomialNB()).fit(x, y)
    lists = [label.split("/") for label in y]
    table = np.array([names + [""] * (3 - len(names)) for names in lists], dtype=object)
    of_table = pd.DataFrame(table).replace("", None)
    for form in (lists, [tuple(names) for names in lists], table, of_table, pd.Series(y)):
        model = Hierarchy(MultinomialNB()).fit(x, form)
        assert np.array_equal(model.predict_proba(x), expected.predict_proba(x))
    tree = {"x": "a", "y": "a", "p": "u", "q": "u", "u": "b", "v": "b", "c": "others"}
    by_tree = Hierarchy(MultinomialNB(), tree).fit(x, [names[-1] for names in lists])
    assert by_tree.classes_.tolist() == [*LEAVES[:-1], "others/c"]
    dots = Hierarchy(MultinomialNB(), separator=".").fit(x, [".".join(names) for names in lists])
    assert np.array_equal(dots.predict_proba(x), expected.predict_proba(x))


@every_base
def test_a_file_predicts_the_same(base):
    x, y = rows_of(base)
    model = Hierarchy(BASES[base]).fit(x, y)
    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    loaded = tallybayes.load(file)
    assert loaded == model == pickle.loads(pickle.dumps(model))
    assert np.array_equal(loaded.predict_proba(x), model.predict_proba(x))
    loaded.partial_fit(some(x, np.arange(5)), ["a/x"] * 5)
    assert loaded != model


def test_a_file_with_something_chosen_is_refused():
    from tallybayes.estimators.saving import plain_of
    from tallybayes.persistence import write

    header, tree = plain_of(Hierarchy(MultinomialNB()).fit(*rows_of("multinomial")))
    file = io.BytesIO()
    write(file, header | {"chosen": True}, tree)
    file.seek(0)
    with pytest.raises(ModelFileError, match="nothing chosen"):
        tallybayes.load(file)


def test_explanations_are_of_the_shrunk_leaves():
    x, y = rows_of("table")
    found = Hierarchy(NaiveBayes()).fit(x, y).explain(x[:3])
    assert found.contributions.shape[:2] == (3, len(LEAVES))
    documents, y = rows_of("documents")
    assert len(Hierarchy(TextNB(model="multinomial")).fit(documents, y).explain(documents[:2])) == 2
    with pytest.raises(ValueError, match="does not explain"):
        Hierarchy(BernoulliNB()).fit(*rows_of("bernoulli")).explain(x)


@pytest.mark.parametrize(
    "hold", [pd.Series, pl.Series, pa.array], ids=["pandas", "polars", "arrow"]
)
@pytest.mark.parametrize("form", [str, lambda path: path.split("/")], ids=["paths", "names"])
def test_paths_may_be_in_any_container(hold, form):
    x, y = rows_of("bernoulli")
    paths = [str(path) for path in y]
    expected = Hierarchy(BernoulliNB()).fit(x, paths)
    assert Hierarchy(BernoulliNB()).fit(x, hold([form(path) for path in paths])) == expected


# ---- bad input -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "one label a row"),
        (["a/x", "a", "b"], "'a', which is the parent of 'a/x'"),
        (["a/x", "a//y", "b"], "row 1 of y has the label 'a//y'"),
        (["a/x", "", "b"], "none of them empty"),
        (["a/x", None, "b"], "row 1 of y has no label"),
        (["a/x", "b", float("nan")], "row 2 of y has no label"),
        (["a/x", 3, "b"], "row 1 of y has the label 3"),
        ([["a", "x"], ["a", "y/z"], ["b"]], "holds the separator '/'"),
        ([["a", "x"], ["a", None, "y"], ["b"]], "row 1"),
        (["a/x", "b"], "X has 3 rows and y 2"),
    ],
)
def test_bad_paths_are_refused_and_nothing_changes(y, message):
    x = np.eye(3)
    model = Hierarchy(MultinomialNB()).fit(x, ["a/x", "a/y", "b"])
    before = copy.deepcopy(model)
    for call in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=message):
            call(x, y)
        assert model == before


@pytest.mark.parametrize(
    ("tree", "y", "message"),
    [
        ({"a": "b", "b": "a"}, ["a"], "cycle: 'a' → 'b' → 'a'|cycle: 'b' → 'a' → 'b'"),
        ({"a": "a"}, ["a"], "cycle"),
        ({"a": "b"}, ["b"], "parent of 'a'"),
        ({"a": "b"}, ["c"], "does not name"),
        ({"a": "b/c"}, ["a"], "do not hold the separator"),
        ({"a": 3}, ["a"], "names are strings"),
        ({"a": "b"}, [["b", "a"]], "a label is the path"),
    ],
)
def test_bad_trees(tree, y, message):
    with pytest.raises(ValueError, match=message):
        Hierarchy(MultinomialNB(), tree).fit([[1.0]], y)


def test_an_inner_node_does_not_become_a_leaf_later():
    model = Hierarchy(MultinomialNB()).fit(np.eye(2), ["a/x", "b"])
    for label in ("a", "b/y"):
        with pytest.raises(ValueError, match="rows belong to leaves"):
            model.partial_fit([[1.0, 0.0]], [label])


def test_other_answers_that_teach():
    x, y = rows_of("multinomial")
    with pytest.raises(ValueError, match="complement"):
        Hierarchy(ComplementNB()).fit(x, y)
    flat = ComplementNB().fit(x, y).predict_proba(x)
    assert np.array_equal(
        Hierarchy(ComplementNB(), concentration=0).fit(x, y).predict_proba(x), flat
    )
    with pytest.raises(ValueError, match="complement"):
        Hierarchy(TextNB(model="complement")).fit(*rows_of("documents"))
    for concentration in (-1.0, np.inf, np.nan, "auto"):
        with pytest.raises(ValueError, match="concentration"):
            Hierarchy(MultinomialNB(), concentration=concentration).fit(x, y)
    model = Hierarchy(MultinomialNB()).fit(x, y)
    for level in (0, 4, "a"):
        with pytest.raises(ValueError, match="from 1 to 3"):
            model.predict_proba(x, level=level)
    for confidence in (0.0, 1.5, "a"):
        with pytest.raises(ValueError, match="above 0 and at most 1"):
            model.predict(x, confidence=confidence)
    with pytest.raises(NegativeTally):
        model.forget(np.vstack([x, x]), np.concatenate([y, y]))
    model.forget(x, y)
    with pytest.raises(ValueError, match="holds no rows|no rows"):  # noqa: RUF043
        model.predict(x)
