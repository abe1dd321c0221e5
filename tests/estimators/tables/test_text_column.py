"""A column of text in a model of a table, plain or weighted; and which columns are prose."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import tallybayes
from tallybayes import NaiveBayes, WeightedNaiveBayes, leave_one_out, load
from tallybayes.errors import ModelFileError, NegativeTally, StaleWarning
from tallybayes.estimators.base import LIVE
from tallybayes.families import Categorical, Text
from tallybayes.threads import set_num_threads
from tallybayes.weighted.average import learn_text_weights

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


def made(n=150, seed=0, apart=5):
    """Rows of three classes, whose words are `apart` from each other on the average."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    rows = []
    for k in y.tolist():
        words = rng.geometric(0.15, rng.integers(0, 10)) + apart * k
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


stale_or_not = pytest.mark.filterwarnings("ignore::tallybayes.errors.StaleWarning")


def weighted(rows, y, weight=None, **columns):
    return WeightedNaiveBayes({"body": Text(), **columns}).fit(rows, y, weight)


@pytest.fixture(scope="module")
def learned():
    rows, y = made(240, apart=4)
    return weighted(rows, y), rows, y


def loss(model, rows, y):
    log_proba = model.predict_log_proba(rows)
    return -log_proba[np.arange(len(y)), np.searchsorted(model.classes_, y)].mean()


@stale_or_not
def test_text_and_table_together_are_better_than_either(learned):
    model, rows, y = learned
    new, expected = made(400, seed=1, apart=4)
    table = weighted(rows, y, body=None)
    text = weighted(rows, y, size=None, kind=None)
    both = loss(model, new, expected)
    assert both < loss(table, new, expected)
    assert both < loss(text, new, expected)
    assert abs(model.log_loss_ - both) < 4.0 * model.log_loss_se_


@stale_or_not
def test_words_that_say_nothing_do_not_drown_the_columns():
    rows, y = made(240, apart=0)
    new, expected = made(400, seed=1, apart=0)
    with_text = loss(weighted(rows, y), new, expected)
    assert with_text < loss(weighted(rows, y, body=None), new, expected) + 0.02


@stale_or_not
def test_leave_one_out_is_what_forgetting_the_row_leaves(learned):
    model, rows, y = learned
    left = leave_one_out(model, rows, y)
    for i in (0, 17, 101, 239):
        rest = copy.deepcopy(model).forget([rows[i]], [y[i]])
        assert rest.predict_log_proba([rows[i]])[0] == pytest.approx(left[i], abs=1e-12)


@stale_or_not
def test_the_explanation_adds_up_and_names_the_text(learned):
    model, rows, _ = learned
    explained = model.explain(rows)
    assert explained.columns[-1] == "body"
    scores = explained.base + explained.contributions.sum(axis=2)
    assert scores == pytest.approx(model.predict_joint_log_proba(rows))
    weights = dict(zip(*(list(model.weights_[name]) for name in ("term", "weight")), strict=True))
    assert weights["body"] > 0.0
    assert model.feature_importances_[0] > 0.0
    assert "body: " in model.summary()
    assert next(iter(model.schema_["holds"])) == "text"


@stale_or_not
def test_a_missing_text_says_nothing(learned):
    model, rows, _ = learned
    with_none = [{**row, "body": None} for row in rows[:5]]
    without = [{k: v for k, v in row.items() if k != "body"} for row in rows[:5]]
    assert np.array_equal(model.predict_proba(with_none), model.predict_proba(without))
    assert not model.explain(with_none).contributions[:, :, -1].any()
    one = model.predict_proba_one(without[0])
    assert list(one.values()) == model.predict_proba(without[:1])[0].tolist()


@stale_or_not
def test_the_order_of_rows_a_common_factor_and_threads_change_nothing(learned):
    model, rows, y = learned
    order = np.random.default_rng(1).permutation(len(y))
    other = weighted([rows[i] for i in order], y[order])
    assert np.array_equal(other.predict_proba(rows), model.predict_proba(rows))
    heavy = weighted(rows, y, np.full(len(y), 4.0))
    assert np.array_equal(heavy.predict_proba(rows), model.predict_proba(rows))
    set_num_threads(3)
    try:
        assert np.array_equal(weighted(rows, y).predict_proba(rows), model.predict_proba(rows))
    finally:
        set_num_threads(None)


@stale_or_not
def test_what_is_saved_or_pickled_says_the_same(learned, tmp_path):
    model, rows, y = learned
    model.save(tmp_path / "model")
    for other in (tallybayes.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert other == model
        assert np.array_equal(other.predict_proba(rows), model.predict_proba(rows))
        assert np.array_equal(leave_one_out(other, rows, y), leave_one_out(model, rows, y))
        assert list(other.weights_["weight"]) == list(model.weights_["weight"])


@stale_or_not
def test_a_file_with_other_weights_of_text_is_refused(learned, tmp_path, monkeypatch):
    model = copy.deepcopy(learned[0])
    held = model._model.chosen.weighting.text
    for name, value in (("names", ["size"]), ("weights", held.weights - 9.0), ("cells", 1e300)):
        before = getattr(held, name)
        object.__setattr__(held, name, value)
        model.save(tmp_path / "model")
        object.__setattr__(held, name, before)
        with pytest.raises(ModelFileError):
            tallybayes.load(tmp_path / "model")


@stale_or_not
def test_counts_that_change_keep_the_weights_until_they_are_learned_again(learned):
    model, rows, y = copy.deepcopy(learned[0]), *learned[1:]
    before = list(model.weights_["weight"])
    model.partial_fit([{"body": "w1 unheard", "size": 1.0}], ["new"])
    assert list(model.weights_["weight"]) == before
    assert np.isfinite(model.predict_log_proba(rows)).all()
    model.forget([{"body": "w1 unheard", "size": 1.0}], ["new"])
    model.reweight(rows, y)
    assert list(model.weights_["weight"]) == before
    counted = NaiveBayes({"body": Text()}).fit(rows, y)
    again = WeightedNaiveBayes({"body": Text()}).count_from(counted, rows, y)
    assert np.array_equal(again.predict_proba(rows), learned[0].predict_proba(rows))


@stale_or_not
def test_several_texts_have_a_weight_each():
    rows, y = made(240, apart=4)
    model = weighted(rows, y, kind=Text())
    assert list(model.weights_["term"]) == ["size", "body", "kind"]


@stale_or_not
def test_a_text_alone_and_a_text_without_values():
    rows, y = made(240, apart=4)
    alone = WeightedNaiveBayes({"body": Text()}).fit([{"body": row["body"]} for row in rows], y)
    assert alone.accuracy_ > 0.5
    none = weighted([{**row, "body": None} for row in rows], y)
    assert next(iter(none.schema_["why"])) == "no value was seen"
    assert np.isfinite(none.predict_log_proba(rows)).all()


@stale_or_not
def test_a_text_alone_in_many_rows():
    rows, y = made(1_200, apart=4)
    model = WeightedNaiveBayes({"body": Text(ngram_range=(1, 1))})
    model.fit([{"body": row["body"]} for row in rows], y)
    assert model.accuracy_ > 0.5


@stale_or_not
def test_simplify_is_refused_by_name(learned):
    model, rows, y = learned
    with pytest.raises(ValueError, match="'body' is read as text"):
        model.simplify(rows, y, 1)


@stale_or_not
def test_text_that_agrees_with_the_table_is_given_less_weight():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 500).astype(np.int32)
    said = np.where(y[:, None] == [0, 1], 1.0, -1.0) * rng.normal(0.5, 1.0, (500, 1))
    nothing = np.full((500, 2), -np.log(2.0))
    alone, _, _ = learn_text_weights(["t"], said[:, :, None], nothing, y, np.ones(500))
    beside, _, _ = learn_text_weights(["t"], said[:, :, None], said, y, np.ones(500))
    assert 0.9 < alone.weights[0] / (beside.weights[0] + beside.cells) < 1.1
    assert beside.weights[0] < alone.weights[0]


N = 90
SUBJECTS = ["parcel", "phone", "order", "shop", "driver", "letter", "screen", "price"]
OPINIONS = {"good": ["perfect", "wonderful", "quick"], "bad": ["broken", "late", "awful"]}


def _rows(n=N, seed=0):
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for i in range(n):
        label = str(rng.choice(["bad", "good"]))
        words = [*rng.choice(SUBJECTS, 3), *rng.choice(OPINIONS[label], 2), "and", "the"]
        body = " ".join(rng.permutation(words)) + f" {rng.integers(10**6)}"
        rows.append({"body": body, "size": str(rng.choice(["small", "large"])), "number": i % 7})
        labels.append(label)
    return rows, labels


ROWS, LABELS = _rows()


def _same(a, b, rows=ROWS):
    return np.array_equal(a.predict_joint_log_proba(rows), b.predict_joint_log_proba(rows))


def _why(model):
    return dict(zip(model.schema_["column"], model.schema_["why"], strict=True))["body"]


@pytest.mark.parametrize("kind", [NaiveBayes, WeightedNaiveBayes])
def test_prose_is_read_as_declared_text(kind):
    model = kind().fit(ROWS, LABELS)
    assert "its strings are prose" in _why(model)
    assert _same(model, kind({"body": Text()}).fit(ROWS, LABELS))


@given(st.permutations(range(N)), st.integers(1, N - 1))
@settings(max_examples=10)
def test_order_batches_and_merging_do_not_matter(order, cut):
    whole = NaiveBayes().fit(ROWS, LABELS)
    rows, labels = [ROWS[i] for i in order], [LABELS[i] for i in order]
    parts = NaiveBayes().partial_fit(rows[:cut], labels[:cut])
    parts.partial_fit(rows[cut:], labels[cut:])
    assert _same(whole, parts)
    one, two = NaiveBayes().fit(rows[:cut], labels[:cut]), NaiveBayes()
    assert _same(whole, one.merge(two.fit(rows[cut:], labels[cut:])))


def test_rows_learned_one_by_one_and_forgotten():
    model = NaiveBayes()
    more, more_labels = _rows(40, seed=1)
    for row, label in zip(ROWS + more, LABELS + more_labels, strict=True):
        model.learn_one(row, label)
    model.forget(more, more_labels)
    assert _same(model, NaiveBayes().fit(ROWS, LABELS))
    model.forget(ROWS[45:], LABELS[45:])
    assert _why(model) == "strings are levels"  # of 45 rows


def test_a_declared_family_is_kept():
    model = NaiveBayes({"body": Categorical()}).fit(ROWS, LABELS)
    assert _why(model) == "declared"
    assert _same(model, NaiveBayes({str: Categorical()}).fit(ROWS, LABELS))


def test_calibration_leaves_rows_out_of_its_terms():
    found = NaiveBayes(calibrate="temperature").fit(ROWS, LABELS)
    declared = NaiveBayes({"body": Text()}, calibrate="temperature").fit(ROWS, LABELS)
    assert np.array_equal(found.predict_proba(ROWS), declared.predict_proba(ROWS))


def test_missing_values_numbers_and_weights():
    rows = [{**row, "body": None} if i % 9 == 0 else row for i, row in enumerate(ROWS)]
    rows[1] = {**rows[1], "body": 17}
    weight = np.resize([0.5, 2.0, 1.0], N)
    model = NaiveBayes().fit(rows, LABELS, sample_weight=weight)
    declared = NaiveBayes({"body": Text()}).fit(rows, LABELS, sample_weight=weight)
    assert _why(model) == "its strings are prose"
    assert model.predict_joint_log_proba(rows) == pytest.approx(
        declared.predict_joint_log_proba(rows), abs=1e-12
    )


@pytest.mark.parametrize("kind", [NaiveBayes, WeightedNaiveBayes])
def test_a_file_keeps_it(kind, tmp_path):
    model = kind().fit(ROWS, LABELS)
    model.save(tmp_path / "model")
    found = load(tmp_path / "model")
    assert _same(model, found)
    assert _why(found) == _why(model)


def test_repeated_strings_stay_levels():
    rows = [ROWS[i % 60] for i in range(N)]
    assert _why(NaiveBayes().fit(rows, LABELS)) == "strings are levels"


def test_weights_keep_what_they_were_learned_for_until_they_are_learned_again():
    model = WeightedNaiveBayes().fit(ROWS, LABELS)
    few = [{**row, "body": "same"} for row in ROWS * 3]
    model.partial_fit(few, LABELS * 3)
    with pytest.warns(StaleWarning):
        model.predict(ROWS)
    assert "its strings are prose" in _why(model)
    model.reweight(few, LABELS * 3)
    assert "prose" not in _why(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(ROWS)
