"""A column of text in a model of a table: learning, taking back, asking, saving."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import tallybayes
from tallybayes import NaiveBayes, leave_one_out
from tallybayes.errors import NegativeTally
from tallybayes.estimators.base import LIVE
from tallybayes.families import Text
from tallybayes.threads import set_num_threads

WORDS = ["a", "b", "ab", "b!", "語"]
rows_and_labels = st.lists(
    st.tuples(
        st.one_of(st.none(), st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)),
        st.sampled_from("xyz"),
        st.sampled_from([0.5, 1.0, 3.0]),
    ),
    min_size=3,
    max_size=14,
)


def made(n=150, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    rows = []
    for k in y.tolist():
        words = rng.geometric(0.15, rng.integers(0, 10)) + 5 * k
        text = None if rng.random() < 0.1 else " ".join(f"w{word}" for word in words)
        rows.append({"body": text, "size": float(rng.integers(0, 4) + k), "kind": "ab"[k % 2]})
    return rows, np.array(list("pqr"))[y]


def fitted(rows, y, weight=None, **options):
    return NaiveBayes({"body": Text()}, **options).fit(rows, y, weight)


@given(rows_and_labels)
def test_leave_one_out_is_what_a_fit_without_the_row_says(some):
    rows, y = [{"t": text} for text, _, _ in some], [label for _, label, _ in some]
    weight = [w for _, _, w in some]
    model = NaiveBayes({"t": Text()}, classes=list("xyz")).fit(rows, y, weight)
    left = leave_one_out(model, rows, y, weight)
    for i in range(len(rows)):
        rest = [j for j in range(len(rows)) if j != i]
        other = NaiveBayes({"t": Text()}, classes=list("xyz")).fit(
            [rows[j] for j in rest], [y[j] for j in rest], [weight[j] for j in rest]
        )
        assert other.predict_log_proba([rows[i]])[0] == pytest.approx(left[i], abs=1e-12)


def test_parts_merges_and_rows_one_by_one_are_one_fit():
    rows, y = made()
    whole = fitted(rows, y)
    parts = fitted(rows[:50], y[:50]).partial_fit(rows[50:], y[50:])
    assert parts == whole
    assert fitted(rows[:50], y[:50]).merge(fitted(rows[50:], y[50:])) == whole
    one_by_one = NaiveBayes({"body": Text()})
    for row, label in zip(rows, y, strict=True):
        one_by_one.learn_one(row, label)
    assert one_by_one == whole
    assert [one_by_one.predict_one(row) for row in rows[:20]] == whole.predict(rows[:20]).tolist()
    proba = one_by_one.predict_proba_one(rows[0])
    assert list(proba.values()) == pytest.approx(whole.predict_proba(rows[:1])[0])


@pytest.mark.parametrize(
    "family",
    [
        Text(),
        Text(ngram_range=(1, 1), stop_words=["a"]),
        Text(n_features=11),
        Text(analyzer="char"),
    ],
    ids=str,
)
def test_questions_between_rows_are_answered_in_place(family):
    rows, y = made(90)
    rows += [{"body": "new words"}, {"body": ""}, {"body": None}, {"body": "語 a"}, {"kind": "u"}]
    y = [*y, *y[:5]]
    model = NaiveBayes({"body": family}).fit(rows[:60], y[:60])
    model.predict_one(rows[0])
    for i in range(60, len(rows)):
        model.learn_one(rows[i], y[i])
        whole = NaiveBayes({"body": family}).fit(rows[: i + 1], y[: i + 1])
        live = model.__dict__.get(LIVE)
        for asked in ({"body": "a new text, of words"}, {"body": "zzz"}, {"body": ""}, {}):
            body = NaiveBayes({"body": family}).fit(
                [{"body": row.get("body")} for row in rows[: i + 1]], y[: i + 1]
            )
            found = model.predict_proba_one(rows[i] | asked)
            assert model.predict_one(rows[i] | asked) == max(found, key=found.get)
            assert set(found) == set(whole.classes_)
            if live is not None:  # the text by itself: other columns keep what was chosen
                column = next(c for c in live.columns if c.name == "body")
                scores = column.counts.scores_of(asked["body"]) if asked else np.zeros(len(found))
                expected = body.predict_joint_log_proba([asked])[0]
                gap = scores - (expected - body.predict_joint_log_proba([{}])[0])
                assert gap == pytest.approx(np.full(len(gap), gap[0]), abs=1e-12)
    assert LIVE in model.__dict__
    assert model == whole


def test_a_text_alone_is_read_in_place_as_in_a_fit():
    rows, y = made(80)
    rows = [{"body": row["body"]} for row in rows]
    model = NaiveBayes({"body": Text()}).fit(rows[:40], y[:40])
    model.predict_one(rows[0])
    for i in range(40, 49):
        model.learn_one(rows[i], y[i], 0.5)
        weights = [1.0] * 40 + [0.5] * (i - 39)
        whole = NaiveBayes({"body": Text()}).fit(rows[: i + 1], y[: i + 1], weights)
        for row in rows[:10]:
            expected = dict(zip(whole.classes_, whole.predict_proba([row])[0], strict=True))
            assert model.predict_proba_one(row) == pytest.approx(expected, abs=1e-12)
    assert LIVE in model.__dict__
    with pytest.raises(ValueError, match="surrogate"):
        model.predict_one({"body": "\ud800"})


def test_rows_that_are_forgotten_leave_nothing():
    rows, y = made()
    before = fitted(rows[:50], y[:50])
    model = fitted(rows, y).forget(rows[50:], y[50:])
    assert model == before
    assert model.forget_one(rows[0], y[0]).learn_one(rows[0], y[0]) == before
    with pytest.raises(NegativeTally, match="'body'"):
        model.forget([{"body": "never seen"}], ["p"])
    assert model == before


def test_decay_and_weights_scale_the_counts():
    rows, y = made()
    half = fitted(rows, y).decay(0.5)
    assert half.tally_.groups[0] == fitted(rows, y, np.full(len(y), 0.5)).tally_.groups[0]
    older = fitted(rows, y, half_life=20.0)
    assert older.tally_.groups[0].documents.sum() < 40.0


def test_text_helps_and_does_not_drown_the_other_columns():
    rows, y = made(600)
    new, expected = made(600, seed=1)

    def loss(keys):
        model = NaiveBayes({"body": Text()} if "body" in keys else {})
        model.fit([{k: row[k] for k in keys} for row in rows], y)
        log_proba = model.predict_log_proba([{k: row[k] for k in keys} for row in new])
        own = np.searchsorted(model.classes_, expected)
        return -log_proba[np.arange(len(own)), own].mean()

    table, text = loss(["size", "kind"]), loss(["body"])
    assert loss(["size", "kind", "body"]) < min(table, text)


def test_the_explanation_adds_up_and_tables_name_telling_terms():
    rows, y = made()
    model = fitted(rows, y)
    explained = model.explain(rows)
    scores = explained.base + explained.contributions.sum(axis=2)
    assert scores == pytest.approx(model.predict_joint_log_proba(rows))
    assert "body = w" in str(model.explain_one({"body": "w6 w7"}))
    terms = model.tables_["body"]["body"].tolist()
    assert set(terms) <= set(model.tally_.groups[0].held.terms.tolist())
    assert model.feature_importances_.min() > 0.0


def test_what_is_saved_pickled_or_cloned_says_the_same(tmp_path):
    rows, y = made()
    for text in (Text(), Text(n_features=32), Text(stop_words=["w1"], ngram_range=(1, 1))):
        model = NaiveBayes({"body": text}, calibrate="temperature").fit(rows, y)
        model.save(tmp_path / "model")
        for other in (
            tallybayes.load(tmp_path / "model"),
            pickle.loads(pickle.dumps(model)),
            clone(model).fit(rows, y),
        ):
            assert other == model
            assert np.array_equal(other.predict_proba(rows), model.predict_proba(rows))
        loaded = tallybayes.load(tmp_path / "model")
        assert loaded.partial_fit(rows, y) == model.partial_fit(rows, y)


def test_threads_change_nothing():
    rows, y = made(400)
    found = []
    for threads in (1, 3):
        set_num_threads(threads)
        try:
            model = fitted(rows, y)
            found.append((model.tally_, model.predict_proba(rows), leave_one_out(model, rows, y)))
        finally:
            set_num_threads(None)
    assert found[0][0] == found[1][0]
    assert np.array_equal(found[0][1], found[1][1])
    assert np.array_equal(found[0][2], found[1][2])


def test_numbers_and_frames_are_read_as_text():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"body": [1, 20, 1, 20], "other": ["x y", "y", None, "x"]})
    model = NaiveBayes({("body", "other"): Text()}).fit(frame, list("abab"))
    assert model.predict(pandas.DataFrame({"body": ["1", 20], "other": ["", None]})).tolist() == [
        "a",
        "b",
    ]
    assert NaiveBayes({str: Text()}).fit(frame, list("abab")).schema_["family"].tolist()[1] == (
        "text, 3 terms"
    )
