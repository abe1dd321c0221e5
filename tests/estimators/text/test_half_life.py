"""Documents that fade: each one that is learned takes a share of all weights before it."""

import copy
import io
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from tests.estimators.text.test_document_streams import (
    ASKED,
    FIRST,
    PLAIN,
    WEIGHTED,
    columns,
    is_live,
    rows,
)

from tallybayes import TextNB, load
from tallybayes.errors import InvalidDocument, NegativeTally
from tallybayes.models import documents
from tallybayes.tally.terms import FADED

READ = [o for o in PLAIN if not (o.get("idf") and o.get("length_normalize"))]
"""What reads its counts afresh: no idf stays that of the first documents."""


def saved(model):
    model.save(file := io.BytesIO())
    file.seek(0)
    return load(file)


def fitted(options, some):
    texts, labels, weights = columns(some)
    return TextNB(**{"analyzer": "word", **options}).fit(texts, labels, sample_weight=weights)


def need_same(model, other, rtol=1e-9):
    """That two models say the same, in each way in which they can be asked."""
    assert model.classes_.tolist() == other.classes_.tolist()
    expected = other.predict_proba(ASKED)
    one = [list(model.predict_proba_one(document).values()) for document in ASKED]
    for found in (one, model.predict_proba(ASKED), copy.deepcopy(model).predict_proba(ASKED)):
        np.testing.assert_allclose(found, expected, atol=1e-9, rtol=0.0)
    mine, theirs = model.tally_, other.tally_
    assert mine.terms.tolist() == theirs.terms.tolist()
    assert mine.classes.tolist() == theirs.classes.tolist()
    for name in ("documents", "counts", "sums"):
        found, expected = getattr(mine, name), getattr(theirs, name)
        if expected is not None:
            np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-14)


class Stream:
    """A model with a half-life, and what its documents weigh by now."""

    def __init__(self, options, half_life):
        self.options, self.half_life = options, half_life
        self.model = TextNB(**{"analyzer": "word", "half_life": half_life, **options})
        self.held = []

    def fade(self):
        share = 0.5 ** (1.0 / self.half_life)
        self.held = [(text, label, weight * share) for text, label, weight in self.held]

    def learn(self, some, one_by_one):
        if one_by_one:
            for row in some:
                self.model.learn_one(*row)
        else:
            texts, labels, weights = columns(some)
            self.model.partial_fit(texts, labels, sample_weight=weights)
        for row in some:
            self.fade()
            self.held += [row] if row[2] else []

    def forget(self, place):
        row = self.held.pop(place)
        self.model.forget_one(*row)

    def merge(self, row):
        self.model.merge(fitted({**self.options, "half_life": self.half_life}, [row]))
        self.held.append(row)

    def expected(self):
        if self.options not in WEIGHTED:
            return fitted(self.options, self.held)
        tally = fitted({**self.options, "ridge": True, "model": "bernoulli"}, self.held).tally_
        other = copy.deepcopy(self.model)  # with the weights that were learned at first
        other._hold(other._held_model().with_tally(tally))
        return other


ways = st.lists(
    st.sampled_from(["one", "one", "batch", "merge", "save", "pickle", "ask", "pass", "forget"]),
    max_size=10,
)


@settings(max_examples=2 * settings.default.max_examples)  # of all models together
@given(
    st.sampled_from([*READ, *WEIGHTED]),
    st.sampled_from([0.3, 0.5, 1.0, 2.7, 60.3]),
    st.data(),
    ways,
)
def test_any_split_is_a_fit_on_documents_that_weigh_less_by_age(options, half_life, data, ways):
    stream = Stream(options, half_life)
    stream.learn(FIRST, one_by_one=False)
    for way in ways:
        if way == "save":
            stream.model = saved(stream.model)
        elif way == "pickle":
            stream.model = pickle.loads(pickle.dumps(stream.model))
        elif way == "ask":
            stream.model.predict_proba(ASKED)
        elif way == "merge":
            stream.merge(data.draw(rows))
        elif way == "pass":
            stream.fade()
            stream.model.learn_one("nothing that is kept", "w", 0.0)
        elif way == "forget":
            if half_life > 2.0 and len(stream.held) > 2:  # what is left is no rounding
                stream.forget(data.draw(st.integers(0, len(stream.held) - 1)))
        else:
            some = data.draw(st.lists(rows, min_size=1, max_size=3))
            if way == "batch" and data.draw(st.booleans()):
                some = [*some, ("of no weight", "x", 0.0)]
            stream.learn(some, one_by_one=way == "one")
    need_same(stream.model, stream.expected())


@pytest.mark.parametrize("options", [*PLAIN, *WEIGHTED], ids=str)
def test_a_fit_is_any_split_of_itself(options):
    rng = np.random.default_rng(5)
    words = ["a", "b", "cc", "d", "é", "語", "longer"]
    texts = [" ".join(rng.choice(words, rng.integers(1, 7))) for _ in range(60)]
    labels = rng.choice(["x", "y", "z"], 60)
    make = {"analyzer": "word", "half_life": 17.0, **options}
    first = 40
    whole = TextNB(**make).fit(texts[:first], labels[:first])
    one, few = copy.deepcopy(whole), copy.deepcopy(whole)
    for text, label in zip(texts[first:], labels[first:], strict=True):
        one.learn_one(text, label)
    assert is_live(one)
    few.partial_fit(texts[first:50], labels[first:50]).partial_fit(texts[50:], labels[50:])
    before = whole._held_model()
    later, _ = whole._counted(before, texts[first:], labels[first:], None, half_life=17.0)
    whole._recount(before, before.tally.followed_by(later, 0.5 ** (20 / 17.0)))
    assert not is_live(whole)
    need_same(one, whole)
    need_same(few, whole)
    if options in WEIGHTED:  # documents that come in order need no weights
        need_same(one.reweight(texts, labels), TextNB(**make).fit(texts, labels))


@pytest.mark.parametrize("options", [*READ[:6], READ[-3], WEIGHTED[0]], ids=str)
@pytest.mark.parametrize("half_life", [0.5, 3.3])
def test_what_has_faded_long_ago_is_still_there(options, half_life):
    rng = np.random.default_rng(1)
    n = int(700 * half_life) + 600  # the scale of the counts is made anew on the way
    words = [[f"w{(i // 150) % 9 + j}" for j in range(5)] for i in range(n)]  # some come again
    texts = [" ".join(rng.choice(words[i], rng.integers(1, 6))) for i in range(n)]
    labels = ["xyz"[int(rng.integers(2))] if i > 20 else "z" for i in range(n)]
    make = TextNB(analyzer="word", half_life=half_life, **options)
    whole = clone(make).fit(texts, labels)
    one, parts = (clone(make).fit(texts[:3], labels[:3]) for _ in range(2))
    for i in range(3, n):
        one.learn_one(texts[i], labels[i])
        if i == n // 2:
            one = saved(one)
    for start in range(3, n, 290):
        for part in (slice(start, start + 280), slice(start + 280, start + 290)):
            if texts[part]:
                parts.partial_fit(texts[part], labels[part])
    for model in (one, parts):
        if options in WEIGHTED:
            model.reweight(texts, labels)
        need_same(model, whole)
        assert model.classes_.tolist() == ["x", "y", "z"]
        assert model.tally_.counts.min() == model.tally_.documents.min() == FADED
        assert saved(model) == model


def test_the_scale_is_that_of_the_newest_document():
    model = TextNB(model="multinomial", half_life=2.0).fit(["a", "b"], ["x", "y"])
    for _ in range(3000):
        model.learn_one("a", "x").learn_one("b", "y")
    held = dict(zip(model.classes_.tolist(), model.tally_.documents.tolist(), strict=True))
    assert held["y"] == pytest.approx(2.0, rel=1e-13)  # 1 + 1/2 + 1/4 …
    assert held["x"] == pytest.approx(2.0 * 0.5**0.5, rel=1e-13)


@pytest.mark.parametrize(
    ("alpha", "half_life", "classes"),
    [(1.0, 300.0, "xy"), (1e-3, 40.0, "xyz"), (1e-12, 1.5, "xy"), (30.0, 1e6, "xyyyz")],
)
def test_terms_that_a_document_lacks_are_those_of_a_fit(alpha, half_life, classes):
    rng = np.random.default_rng(3)
    words = np.minimum(rng.zipf(1.2, (900, 25)), 2000)  # held by few documents, and by all of them
    texts = [" ".join(f"w{t}" for t in row) for row in words]
    labels = ["z" if i < 10 else rng.choice(list(classes)) for i in range(900)]
    make = {"model": "bernoulli", "alpha": alpha, "half_life": half_life, "ngram_range": (1, 1)}
    model = TextNB(analyzer="word", **make).fit(texts[:20], labels[:20])
    for i in range(20, 900):
        model.learn_one(texts[i], labels[i])
        if i % 5 == 0:
            model.predict_proba_one(texts[i])
        if i % 9 == 0:
            model.forget_one(texts[i], labels[i])
        if i % 200 == 0:
            few = model.predict_joint_log_proba(texts[:50])
            whole = copy.deepcopy(model).predict_joint_log_proba(texts[:50])
            some = slice(2, None) if alpha == 1e-12 else slice(None)  # N_k − N_tk is rounded
            np.testing.assert_allclose(few[:, some], whole[:, some], atol=1e-9, rtol=1e-12)
        if i == 600:  # more than half of a class goes
            for j in range(i - 3, i):
                weight = 0.5 ** ((i - j) / half_life)
                model.forget_one(texts[j], labels[j], weight)


@pytest.mark.parametrize("alpha", [1.0, 1e-5, 20.0])
def test_many_documents_are_left_out_as_few(monkeypatch, alpha):
    rng = np.random.default_rng(3)
    texts = [" ".join(f"w{t}" for t in row) for row in np.minimum(rng.zipf(1.3, (150, 12)), 400)]
    labels = ["z", *rng.choice(["x", "y"], 149)]
    model = TextNB(model="bernoulli", alpha=alpha, half_life=70.0).fit(texts, labels)
    expected = model.leave_one_out(texts, labels)
    monkeypatch.setattr(documents, "MAX_INTERMEDIATE", 1000)
    found = model.leave_one_out(texts, labels)
    np.testing.assert_allclose(np.exp(found), np.exp(expected), atol=1e-12)
    np.testing.assert_allclose(found[expected > -200.0], expected[expected > -200.0], atol=1e-9)


@pytest.mark.parametrize("options", [PLAIN[0], PLAIN[2], WEIGHTED[0]], ids=str)
def test_a_refused_document_fades_nothing(options):
    model = fitted({"half_life": 3.0, **options}, FIRST).learn_one("a new one", "x")
    before = copy.deepcopy(model)
    for bad in (None, b"\xff", "\ud800", 3.5):
        with pytest.raises((InvalidDocument, UnicodeDecodeError)):
            model.learn_one(bad, "x")
        with pytest.raises((InvalidDocument, UnicodeDecodeError)):
            model.partial_fit(["fine and new", bad], ["x", "y"])
    for document, label, weight in (
        ("a new one", "x", 1.5),
        ("a new", "w", 1.0),
        ("d d", "y", 1.0),
    ):
        with pytest.raises(NegativeTally):
            model.forget_one(document, label, weight)
    assert is_live(model)
    assert model == before
    model.learn_one("and one more", "y")
    need_same(model, before.learn_one("and one more", "y"))


@pytest.mark.parametrize("options", [*PLAIN[:4], PLAIN[5], WEIGHTED[0]], ids=str)
@pytest.mark.parametrize("text", ["t rep u", "rep v"])
def test_what_is_new_is_forgotten_whatever_has_faded(options, text):
    rng = np.random.default_rng(2)
    for gap in [3, *range(20, 46), 120]:  # on both sides of what is nothing beside a document
        first = [("a", "y", 1.0), ("b", "y", 1.0), ("t u rep", "x", 1.0)]
        half_life = float(rng.choice([1.0, 1.3]))
        model = fitted({"half_life": half_life, "ngram_range": (1, 1), **options}, first)
        for weight in rng.choice([1.0, 0.7, 0.1], 3).tolist():
            model.learn_one("t u u u " + "rep " * int(rng.integers(1, 60)), "x", weight)
        for _ in range(gap):
            model.learn_one("a b", "y")
        new = (text, "x", float(rng.choice([1.0, 0.3])))
        held = model.learn_one(*new).tally_.documents[0] - new[2]
        tally = model.forget_one(*new).tally_
        if model.classes_.tolist() == ["x", "y"]:
            assert tally.documents[0] == pytest.approx(held, rel=1e-6)
        else:
            assert held < 2.0**-29
        assert (tally.counts <= tally.documents[tally.classes] * (1.0 + 2.0**-30)).all()
        model.learn_one("t", "x").forget_one("t", "x")
        with pytest.raises(NegativeTally):
            model.forget_one("a b", "x")


@pytest.mark.parametrize("options", [PLAIN[0], PLAIN[1], PLAIN[2], WEIGHTED[0]], ids=str)
def test_the_newest_document_of_a_class_is_forgotten_after_the_older_ones_faded(options):
    model = fitted({"half_life": 1.0, **options}, [*FIRST, ("old one", "z", 1.0)])
    for _ in range(40):
        model.learn_one("a b", "x").learn_one("b", "y")
    for label in ("z", "new"):
        model.learn_one("cc new", label)
        model.forget_one("cc new", label)
        assert model.classes_.tolist() == ["x", "y"]
    assert "old" not in model.tally_.terms.tolist()
    with pytest.raises(NegativeTally):
        model.forget_one("a b", "x")
    model.learn_one("a b", "x").forget_one("a b", "x")
    assert np.isfinite(model.predict_proba(ASKED)).all()


def test_other_threads_ask_while_one_learns_what_fades():
    make = {"model": "bernoulli", "analyzer": "word", "half_life": 30.0}
    model, alone = (TextNB(**make).fit(["a b", "c d"], ["x", "y"]) for _ in range(2))
    texts = [f"a w{i} w{i % 7} é" for i in range(300)]
    wrong: list[object] = []
    done = threading.Event()

    def ask():
        while not done.is_set():
            shares = model.predict_proba_one("a é w3")
            if abs(sum(shares.values()) - 1.0) > 1e-12:
                wrong.append(shares)

    readers = [threading.Thread(target=ask) for _ in range(2)]
    for thread in readers:
        thread.start()
    for i, text in enumerate(texts):
        model.learn_one(text, "xy"[i % 2])
        alone.learn_one(text, "xy"[i % 2])
    done.set()
    for thread in readers:
        thread.join()
    assert not wrong
    assert model == alone
    need_same(model, alone)


def test_a_half_life_is_a_parameter_as_any_other():
    model = TextNB(model="multinomial", half_life=4.0).fit(["a b", "c"], ["x", "y"])
    assert clone(model).half_life == saved(model).half_life == 4.0
    assert model.set_params(half_life=8.0).learn_one("c", "y").tally_.documents.tolist() == (
        pytest.approx([0.5**0.25 * 0.5**0.125, 1.0 + 0.5**0.125])
    )
    held = model.tally_.documents.sum()
    model.set_params(half_life=None).learn_one("c", "y")
    assert model.tally_.documents.sum() == held + 1.0
    other = saved(model).set_params(half_life=8.0)
    assert other != model
    assert other.set_params(half_life=None) == model
    for bad in (0.0, -1.0, np.nan, "long"):
        with pytest.raises(ValueError, match="half_life"):
            TextNB(half_life=bad).fit(["a", "b"], ["x", "y"])
        broken = copy.deepcopy(model).set_params(half_life=bad)
        with pytest.raises(ValueError, match="half_life"):
            broken.learn_one("c", "y")
        with pytest.raises(ValueError, match="half_life"):
            broken.partial_fit(["c"] * 300, ["y"] * 300)
        assert broken.set_params(half_life=None) == model
    with pytest.raises(ValueError, match="half_life is not for documents"):
        TextNB(unlabelled="auto", half_life=4.0).fit(["a", "b", "c"], ["x", "y", None])


def test_a_file_without_a_half_life_does_not_name_it():
    model = TextNB(model="multinomial").fit(["a b", "c"], ["x", "y"])
    model.save(file := io.BytesIO())
    assert b"half_life" not in file.getvalue()


@pytest.mark.parametrize("options", [PLAIN[0], PLAIN[2], WEIGHTED[0]], ids=str)
def test_what_has_faded_most_is_dropped_first(options):
    model = TextNB(
        analyzer="word", ngram_range=(1, 1), half_life=20.0, max_terms=60, **options
    ).fit(["always w0", "always w1"], ["x", "y"])
    for i in range(400):
        model.learn_one(f"always w{i} w{i + 1}", "xy"[i % 2])
        assert model._live().n_terms <= 60
    tally = model.tally_
    terms = set(tally.terms.tolist())
    assert terms == {"always", *(f"w{i}" for i in range(400 - len(terms) + 2, 401))}
    weight = 2.0 * 0.5 ** (len(terms) / 20.0)  # of the newest term that was dropped
    assert 0.0 < tally.pruned < 4.0 * weight + 0.5
