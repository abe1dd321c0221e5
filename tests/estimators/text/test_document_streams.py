"""Documents that come and go one by one: in any order the model is that of what remains, whatever
interrupts.
"""

import _thread
import copy
import functools
import io
import pickle
import threading
import time
from contextlib import suppress
from itertools import count, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from tests.estimators.interrupts import interrupted

from tallybayes import NaiveBayes, TextNB, load
from tallybayes.errors import InvalidDocument, NegativeTally, StaleWarning
from tallybayes.estimators.text_base import LIVE_DOCUMENTS
from tallybayes.families import Text

WORDS = ["a", "b", "cc", "d", "é", "a longer word", "語"]
documents = st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join)
rows = st.tuples(documents, st.sampled_from("xyz"), st.sampled_from([1.0, 1.0, 2.0, 0.1, 0.7]))
ASKED = ["a b b cc", "d é", "", "a a a a", "zzz", "a longer word 語 longer", "語 語"]
TRANSFORMS = [
    {"tf": "log"},
    {"idf": True},
    {"length_normalize": True},
    {"tf": "log", "idf": True, "length_normalize": True},
]
PLAIN = [
    {"model": "multinomial"},
    {"model": "complement"},
    {"model": "bernoulli"},
    *({"model": "multinomial", **t} for t in TRANSFORMS),
    *({"model": "complement", **t} for t in TRANSFORMS),
    {"model": "multinomial", "n_features": 5},
    {"model": "bernoulli", "analyzer": "char_wb", "ngram_range": (2, 3)},
    {"model": "complement", "ngram_range": (2, 3), "stop_words": ["a"]},
]
WEIGHTED = [
    {"ridge": False},
    {"ridge": False, "n_features": 7},
    {"ridge": False, "analyzer": "char", "ngram_range": (1, 3)},
]
SOME = 2.05  # documents; no sum of the weights of rows, so that rounding decides nothing
BUCKETS = [options for options in [*PLAIN, *WEIGHTED] if "n_features" in options]
TERMS = [options for options in [*PLAIN, *WEIGHTED] if "n_features" not in options]
FIRST = [("a b cc", "x", 1.0), ("b d d", "y", 1.0), ("é", "x", 1.0), ("cc a", "z", 1.0)]


def columns(some):
    return [list(column) for column in zip(*some, strict=True)]


def fitted(options, some):
    texts, labels, weights = columns(some)
    return TextNB(**{"analyzer": "word", **options}).fit(texts, labels, sample_weight=weights)


def is_live(model):
    return LIVE_DOCUMENTS in model.__dict__


def need_same(model, other):
    """That two models give the same to 1e-12, in each way in which they can be asked."""
    assert model.classes_.tolist() == other.classes_.tolist()
    expected = other.predict_log_proba(ASKED)
    few, whole = model.predict_log_proba(ASKED), copy.deepcopy(model).predict_log_proba(ASKED)
    for found in (few, whole):
        np.testing.assert_allclose(np.exp(found), np.exp(expected), atol=1e-12, rtol=0.0)
    for document, row in zip(ASKED, few, strict=True):
        assert model.predict_proba_one(document) == pytest.approx(
            dict(zip(model.classes_.tolist(), np.exp(row).tolist(), strict=True)), abs=1e-14
        )
        best = np.flatnonzero(row >= row.max() - 1e-12)  # of equally probable classes any
        assert model.predict_one(document) in model.classes_[best]
    mine, theirs = model.tally_, other.tally_
    assert mine.terms.tolist() == theirs.terms.tolist()
    assert mine.classes.tolist() == theirs.classes.tolist()
    assert mine.start.tolist() == theirs.start.tolist()
    np.testing.assert_allclose(mine.counts, theirs.counts, rtol=1e-12)
    if theirs.sums is not None:
        np.testing.assert_allclose(mine.sums, theirs.sums, rtol=1e-12)


steps = st.lists(
    st.sampled_from(["one", "one", "one", "batch", "merge", "save", "pickle", "ask", "view"]),
    min_size=0,
    max_size=12,
)


@pytest.mark.filterwarnings("ignore::tallybayes.errors.StaleWarning")
@pytest.mark.parametrize("models", [[*TERMS, {}], BUCKETS], ids=["terms", "buckets"])
@given(st.data(), st.lists(rows, max_size=8), steps)
def test_any_order_is_a_fit_on_what_remains(models, data, come, ways):
    options = data.draw(st.sampled_from(models))
    model = fitted(options, FIRST)
    weighted = options.get("model") is None
    if weighted:  # bits are those of a fit where no sum was rounded
        come = [(text, label, float(np.ceil(weight))) for text, label, weight in come]
    places = st.sampled_from(range(len(come))) if come else st.nothing()
    gone = [come[i] for i in data.draw(st.lists(places, unique=True))]
    if not (options.get("idf") and options.get("length_normalize")):
        gone = [*gone, *data.draw(st.lists(st.sampled_from(FIRST), unique=True))]
    waiting, held = [*come], [*FIRST]
    ways = iter(ways)
    while waiting or gone:
        way = next(ways, "one")
        if way == "save":
            model.save(file := io.BytesIO())
            file.seek(0)
            model = load(file)
        elif way == "pickle":
            model = pickle.loads(pickle.dumps(model))
        elif way == "ask":
            model.predict_proba(ASKED)
        elif way == "view":
            model.top_terms(model.classes_[0], 2)
        ready = [row for row in gone if row in held and len(held) > 1]
        if ready and (not waiting or data.draw(st.booleans())):
            row = ready[0]
            gone.remove(row)
            held.remove(row)
            if way == "batch":
                model.forget([row[0]], [row[1]], [row[2]])
            else:
                model.forget_one(*row)
            continue
        if not waiting:
            break  # the last document stays
        row = waiting.pop(0)
        held.append(row)
        if way == "batch":
            model.partial_fit([row[0]], [row[1]], sample_weight=[row[2]])
        elif way == "merge" and not (options.get("idf") and options.get("length_normalize")):
            model.merge(fitted(options, [row]))
        else:
            model.learn_one(*row)
    expected = fitted(options, held)
    if not weighted:
        if options.get("idf") and options.get("length_normalize"):
            return  # the idf is that of the first fit
        need_same(model, expected)
        need_same(model.prune(SOME), expected.prune(SOME))
        return
    texts, labels, weights = columns(held)
    assert model.reweight(texts, labels, weights) == expected
    model.prune(SOME).reweight(texts, labels, weights)
    assert model == expected.prune(SOME).reweight(texts, labels, weights)


def changed_as_a_batch(model, row, *, forget=False):
    """Counts a document, or takes it away, by adding or subtracting whole tallies."""
    before = model._held_model()
    tally, _ = model._counted(before, [row[0]], [row[1]], [row[2]])
    after = before.tally.less(tally, "forget") if forget else before.tally + tally
    model._hold(before.with_tally(after))


pruning_steps = st.lists(
    st.tuples(
        st.sampled_from(["learn", "learn", "batch", "merge", "forget", "forget", "save", "ask"]),
        st.sampled_from([None, None, 1.05, SOME]),
        st.integers(0, 20),
        rows,
    ),
    max_size=12,
)


@pytest.mark.parametrize("models", [TERMS, BUCKETS], ids=["terms", "buckets"])
@given(st.data(), pruning_steps)
def test_pruned_between_documents_it_is_a_fit_but_for_what_was_dropped(models, data, steps):
    """Terms that no prune has dropped are counted as by a fit on what remains; others lack at most
    the bound. Scores are those of the same counts made in batches, and what the weighted model
    learns on them is the same to the last bit."""
    options = data.draw(st.sampled_from(models))
    weighted = options.get("model") is None
    live, batch = fitted(options, FIRST), fitted(options, FIRST)
    held, dropped = [*FIRST], set()
    for way, min_df, at, row in steps:
        if weighted:  # bits are the same where no sum is rounded
            row = (*row[:2], float(np.ceil(row[2])))
        if way == "save":
            live.save(file := io.BytesIO())
            file.seek(0)
            live = load(file)
        elif way == "ask":
            live.predict_proba(ASKED)
        elif way == "forget":
            if len(held) == 1:
                continue
            row = held.pop(at % len(held))
            live.forget_one(*row)
            changed_as_a_batch(batch, row, forget=True)
        else:
            held.append(row)
            if way == "merge" and not (options.get("idf") and options.get("length_normalize")):
                live.merge(fitted(options, [row]))
            elif way == "batch":
                live.partial_fit([row[0]], [row[1]], sample_weight=[row[2]])
            else:
                live.learn_one(*row)
            changed_as_a_batch(batch, row)
        if min_df is not None:
            before = set(live.tally_.terms.tolist())
            live.prune(min_df)
            batch.prune(min_df)
            dropped |= before - set(live.tally_.terms.tolist())
    need_same(live, batch)
    mine, whole = live.tally_, fitted(options, held).tally_
    assert mine.labels.tolist() == whole.labels.tolist()
    np.testing.assert_allclose(mine.documents, whole.documents, rtol=1e-12)
    found, true = by_term(mine), by_term(whole)
    for term in true.keys() | found.keys():
        counts, exact = found.get(term, np.zeros(3)), true.get(term, np.zeros(3))
        if term not in dropped:
            np.testing.assert_allclose(counts, exact, rtol=1e-12)
        assert (counts <= exact + 1e-12).all()
        assert exact.sum() <= counts.sum() + mine.pruned + 1e-12
    if weighted:
        assert live.reweight(*columns(held)) == batch.reweight(*columns(held))


def by_term(tally):
    """The counts of the classes x, y and z, by term."""
    found = {}
    for t, term in enumerate(tally.terms.tolist()):
        pairs = slice(tally.start[t], tally.start[t + 1])
        at = ["xyz".index(label) for label in tally.labels[tally.classes[pairs]].tolist()]
        found[term] = np.bincount(at, tally.counts[pairs], 3)
    return found


@functools.cache
def learned(*options):
    return fitted(dict(options), [*FIRST * 6, ("a é", "y", 1.0), ("b b cc", "x", 1.0)])


@pytest.mark.filterwarnings("ignore::tallybayes.errors.StaleWarning")
@given(st.sampled_from([*WEIGHTED, {}]), st.lists(rows, min_size=1, max_size=8), st.integers(0, 2))
def test_weights_stay_as_learned_while_counts_change(options, come, n_gone):
    live, batch = (copy.deepcopy(learned(*options.items())) for _ in range(2))
    for row in come:
        live.learn_one(*row)
        changed_as_a_batch(batch, row)
    for row in come[:n_gone]:
        live.forget_one(*row)
        changed_as_a_batch(batch, row, forget=True)
    assert is_live(live)
    assert not is_live(batch)
    need_same(live, batch)


@pytest.mark.parametrize("options", [*PLAIN, *WEIGHTED], ids=str)
def test_a_refused_document_changes_nothing(options):
    model = fitted(options, FIRST).learn_one("a new one", "x")
    before = copy.deepcopy(model)
    for document, label, weight in (("a b cc", "x", 9.0), ("a b", "w", 1.0), ("d d", "y", 1.5)):
        with pytest.raises(NegativeTally):
            model.forget_one(document, label, weight)
    for bad in (None, b"\xff", "\ud800", 3.5, ["a"]):
        with pytest.raises((InvalidDocument, UnicodeDecodeError)):
            model.learn_one(bad, "x")
        with pytest.raises((InvalidDocument, UnicodeDecodeError)):
            model.partial_fit(["fine and new", bad], ["x", "y"])
        with pytest.raises((InvalidDocument, UnicodeDecodeError)):
            model.forget(["a b cc", bad], ["x", "y"])
    with pytest.raises(NegativeTally):
        model.forget(["a b cc", "b d d"], ["x", "y"], [1.0, 2.0])
    assert is_live(model)
    assert model == before
    model.learn_one("and one more", "y")
    before.learn_one("and one more", "y")
    assert model == before


@pytest.mark.parametrize("model", ["multinomial", "complement", "bernoulli"])
def test_what_was_never_learned_is_not_forgotten(model):
    model = fitted({"model": model}, FIRST).learn_one("a new one", "x")
    before = copy.deepcopy(model)
    never = [("never seen", "x"), ("a b d", "x"), ("a", "y"), ("", "z"), ("cc a", "x")]
    for document, label in never:
        with pytest.raises(NegativeTally):
            model.forget_one(document, label)
        assert model == before
    assert is_live(model)


@pytest.mark.parametrize("options", [PLAIN[0], PLAIN[2], WEIGHTED[0]], ids=str)
def test_classes_come_and_go(options):
    model = fitted(options, [("a b", 2, 1.0), ("b c", 5, 1.0)])
    model.learn_one("c d", 3).learn_one("d", 3).learn_one("e a", 1)
    assert model.classes_.tolist() == [1, 2, 3, 5]
    assert set(model.predict_proba_one("a")) == {1, 2, 3, 5}
    model.forget_one("c d", 3).forget_one("d", 3)
    assert model.classes_.tolist() == [1, 2, 5]
    with pytest.raises(NegativeTally):
        model.forget_one("d", 3)
    with pytest.raises(ValueError, match="cannot be joined"):
        model.learn_one("d", "three")
    model.learn_one("d", 3)
    assert model.classes_.tolist() == [1, 2, 3, 5]
    for label, document in ((1, "e a"), (2, "a b"), (3, "d"), (5, "b c")):
        model.forget_one(document, label)
    with pytest.raises(ValueError, match="all that it learned was removed"):
        model.predict_one("a")
    with pytest.raises(ValueError, match="all that it learned was removed"):
        model.forget_one("a", 1)
    assert model.learn_one("again", 7).predict_one("again") == 7


def test_a_ridge_goes_with_its_classes_and_says_so():
    model = fitted({}, FIRST * 8)
    model.learn_one("a b", "x")
    assert is_live(model)
    with pytest.warns(StaleWarning, match="learned before"):
        model.predict_one("a b")
    if model.penalty_ is not None:
        with pytest.warns(StaleWarning, match="'w' came"):
            model.learn_one("a b", "w")
    assert model.penalty_ is None


def test_documents_of_any_size():
    texts = [" ".join(f"w{i}" for i in range(20_000)), "again " * 30_000, ""]
    live = TextNB(model="multinomial").fit(["again w1", "other"], ["x", "y"])
    whole = copy.deepcopy(live).partial_fit(texts * 20, ["x", "y", "x"] * 20)
    for text, label in zip(texts, ["x", "y", "x"], strict=True):
        live.learn_one(text, label, 20.0)
    assert is_live(live)
    assert live.tally_ == whole.tally_
    for text in [*texts, "w7 again"]:
        np.testing.assert_allclose(
            live.predict_log_proba([text]), whole.predict_log_proba([text]), rtol=1e-9
        )


def test_terms_are_in_order_whenever_they_are_asked_for():
    model = TextNB(model="bernoulli", ngram_range=(1, 3)).fit(["m n o", "z"], ["x", "y"])
    texts = ["b a", "n m n", "m", "aa a", "m n o p", "語 a"]
    for i, text in enumerate(texts):
        model.learn_one(text, "xy"[i % 2])
        terms = model.tally_.terms.tolist()
        assert terms == sorted(terms)
        assert all(a < b for a, b in pairwise(terms))
    assert model == TextNB(model="bernoulli", ngram_range=(1, 3)).fit(
        ["m n o", "z", *texts], ["x", "y", *"xy" * 3]
    )


@pytest.mark.parametrize("options", [PLAIN[0], PLAIN[2], WEIGHTED[0], {"n_features": 400}], ids=str)
@pytest.mark.filterwarnings("ignore::tallybayes.errors.StaleWarning")
def test_memory_of_a_stream_is_bounded(options):
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{t}" for t in rng.zipf(1.3, 12) if t < 10**6) for _ in range(400)]
    labels = ["x", "y"] * 200
    whole = TextNB(analyzer="word", ngram_range=(1, 1), **options).fit(texts, labels)
    true = dict(zip(whole.tally_.terms.tolist(), whole.tally_.frequency.tolist(), strict=True))
    most = 150
    model = clone(whole).set_params(max_terms=most)
    for i in range(300):
        model.learn_one(texts[i], labels[i])
        if i % 50 == 0:
            assert model.tally_.n_terms <= most
    model.save(file := io.BytesIO())
    file.seek(0)
    model = load(file)
    assert model.max_terms == most
    model.partial_fit(texts[300:350], labels[300:350])
    model.merge(clone(model).fit(texts[350:], labels[350:]))
    tally = model.tally_
    assert most // 4 < tally.n_terms <= most
    assert tally.pruned > 0.0
    held = dict(zip(tally.terms.tolist(), tally.frequency.tolist(), strict=True))
    for term, frequency in true.items():
        assert held.get(term, 0.0) <= frequency <= held.get(term, 0.0) + tally.pruned
    assert np.isfinite(model.predict_proba(texts[:20])).all()
    model.learn_one("one more", "x").forget_one("one more", "x").forget_one(texts[3], labels[3])
    fitted = clone(model).fit(texts, labels).tally_
    assert fitted.n_terms <= most
    assert fitted == whole.prune(fitted.pruned + 1.0).tally_


TOGETHER = [f"a w{i} w{i % 7} é" for i in range(400)]


def together(begin, learn, forget, ask):
    """Two threads learn documents, one forgets some that were learned before, and two ask."""
    wrong: list[object] = []
    done = threading.Event()

    def read():
        while not done.is_set():
            try:
                wrong.extend(ask())
            except Exception as error:
                wrong.append(error)

    def write(change, some):
        for text in some:
            change(text, "y")

    for text in TOGETHER[:100]:
        begin(text, "y")
    readers = [threading.Thread(target=read) for _ in range(2)]
    writers = [
        threading.Thread(target=write, args=(learn, TOGETHER[100::2])),
        threading.Thread(target=write, args=(learn, TOGETHER[101::2])),
        threading.Thread(target=write, args=(forget, TOGETHER[:50])),
    ]
    for thread in [*readers, *writers]:
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    for thread in readers:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("options", [PLAIN[0], PLAIN[2]], ids=str)
def test_other_threads_read_while_documents_come_and_go(options):
    model = TextNB(**options).fit(["a b", "c d"], ["x", "y"]).learn_one("a", "x")

    def ask():
        shares, tally = model.predict_proba_one("a é w3"), model.tally_
        if (
            abs(sum(shares.values()) - 1.0) > 1e-12
            or abs(model.predict_proba(ASKED).sum() - 7) > 1e-9
        ):
            yield shares
        if tally.counts.min() <= 0.0 or by_term(tally)["é"][1] != tally.documents[1] - 1.0:
            yield tally  # all documents of y hold it, but for the first
        model.save(io.BytesIO())

    together(model.learn_one, model.learn_one, model.forget_one, ask)
    rest = TOGETHER[50:]
    whole = TextNB(**options).fit(["a b", "c d", "a", *rest], ["x", "y", "x"] + ["y"] * len(rest))
    assert model == whole
    need_same(model.learn_one("a", "x"), whole.learn_one("a", "x"))


def test_other_threads_read_while_rows_with_documents_come_and_go():
    first = [{"t": "a b"}, {"t": "c d"}]
    model = NaiveBayes({"t": Text(ngram_range=(1, 1))}).fit(first, ["x", "y"])
    model.predict_one({"t": "a"})

    def ask():
        shares = model.predict_proba_one({"t": "a é w3"})
        if abs(sum(shares.values()) - 1.0) > 1e-12 or model.predict_one({"t": "é"}) not in "xy":
            yield shares

    def learn(text, label):
        model.learn_one({"t": text}, label)

    def forget(text, label):
        model.forget_one({"t": text}, label)

    together(learn, learn, forget, ask)
    rows = [*first, *({"t": text} for text in TOGETHER[50:])]
    whole = NaiveBayes({"t": Text(ngram_range=(1, 1))}).fit(rows, ["x"] + ["y"] * (len(rows) - 1))
    for row in ({"t": "a é w3"}, {"t": "b w60"}):
        assert model.predict_proba_one(row) == pytest.approx(
            whole.predict_proba_one(row), abs=1e-12
        )
    assert model == whole


MODULES = {
    "tallybayes.estimators.base",
    "tallybayes.estimators.text",
    "tallybayes.models.weighted_documents",
    "tallybayes.tally.live_terms",
}
TABLE_MODULES = {
    "tallybayes.engines.table_score",
    "tallybayes.estimators.base",
    "tallybayes.estimators.one_row",
    "tallybayes.models.live",
    "tallybayes.tally.live_terms",
}
TEXTS = ["a b cc", "b d d", "é", "cc a", "a b", "d"]
LABELS = ["x", "y", "x", "z", "x", "y"]
DOCUMENT = "a b é new"
CALLS = {
    "learn_one": lambda m: m.learn_one("a new one", "x"),
    "learn_one, a new class": lambda m: m.learn_one("a new one", "w"),
    "partial_fit, a new class": lambda m: m.partial_fit(["a new one", "a"], ["a", "x"]),
    "forget_one": lambda m: m.forget_one("b d d", "y"),
    "forget_one, a class": lambda m: m.forget_one("cc a", "z"),
    "forget": lambda m: m.forget(["d", "cc a"], ["y", "z"]),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_interrupt_at_any_place_leaves_the_documents_of_before_or_after(name):
    fitted = TextNB(model="multinomial").fit(TEXTS, LABELS)

    def made():
        return copy.deepcopy(fitted).learn_one("b a", "x").forget_one("b a", "x")

    before, after = made(), CALLS[name](made())
    seen = set()
    for place in count():
        model = made()
        if not interrupted(lambda m=model: CALLS[name](m), place, MODULES):
            break
        shares = model.predict_proba_one(DOCUMENT)
        expected = copy.deepcopy(before if model == before else after)
        seen.add(expected == before)
        assert model == expected, place
        assert shares == pytest.approx(expected.predict_proba_one(DOCUMENT), abs=1e-14)
        assert model.learn_one("more", "y") == expected.learn_one("more", "y")
        assert model.predict_one("more") == expected.predict_one("more")
    assert seen == {True, False}


ROWS = [
    ({"body": text, "c": "uvw"[i % 3]}, label)
    for i, (text, label) in enumerate(zip(TEXTS * 3, LABELS * 3, strict=True))
]
ASKED_ROW = {"body": "a b é", "c": "u"}
NEW = {"body": "a new one", "c": "u"}


def part(row, columns):
    return {key: row[key] for key in columns.split()}


ROW_CALLS = {
    "learn_one": lambda m, c: m.learn_one(part(NEW, c), "x"),
    "learn_one, a new level": lambda m, c: m.learn_one(part({**NEW, "c": "new"}, c), "x"),
    "learn_one, a new class": lambda m, c: m.learn_one(part(NEW, c), "w"),
    "forget_one": lambda m, c: m.forget_one(part(ROWS[1][0], c), ROWS[1][1]),
    "partial_fit": lambda m, c: m.partial_fit([part(ROWS[0][0], c)], ["y"]),
}


@pytest.mark.parametrize(
    ("columns", "name"), [*(("body c", name) for name in ROW_CALLS), ("body", "learn_one")]
)
def test_an_interrupt_at_any_place_leaves_the_rows_of_before_or_after(columns, name):
    rows = [(part(row, columns), label) for row, label in ROWS]
    asked = part(ASKED_ROW, columns)

    fitted = NaiveBayes({"body": Text()}).fit(*map(list, zip(*rows[2:], strict=True)))

    def made():
        model = copy.deepcopy(fitted)
        for row, label in rows[:2]:
            model.learn_one(row, label).predict_one(asked)
        return model

    models = [made(), ROW_CALLS[name](made(), columns)]
    ones = [model.predict_proba_one(asked) for model in models]
    counts = [model.class_count_.tolist() for model in models]
    tables = [dict(zip(m.classes_, m.predict_proba([asked])[0], strict=True)) for m in models]
    seen = set()
    for place in count():
        model = made()
        if not interrupted(lambda m=model: ROW_CALLS[name](m, columns), place, TABLE_MODULES):
            break
        one = model.predict_proba_one(asked)
        at = counts.index(model.class_count_.tolist())
        seen.add(at)
        assert one in (pytest.approx(ones[at]), pytest.approx(tables[at])), place
        assert model.predict_proba([asked])[0].tolist() == pytest.approx([*tables[at].values()])
    assert seen == {0, 1}


@pytest.mark.parametrize("name", ["learn_one", "partial_fit", "forget_one"])
def test_an_interrupt_in_a_long_document_leaves_it_whole_or_out(name):
    words = " ".join(f"w{i}" for i in range(60_000))
    model = TextNB(model="multinomial", ngram_range=(1, 1)).fit(["a w1", "b"], ["x", "y"])
    model.learn_one("a", "x")
    if name == "forget_one":
        model.learn_one(words, "z")
    calls = {
        "learn_one": lambda: model.learn_one(words, "z"),
        "partial_fit": lambda: model.partial_fit([words, "b"], ["z", "y"]),
        "forget_one": lambda: model.forget_one(words, "z"),
    }
    before = copy.deepcopy(model)
    with suppress(KeyboardInterrupt):
        threading.Timer(0.002, _thread.interrupt_main).start()
        calls[name]()
        for _ in range(1000):  # it was quick, or Python was where it ignores what is raised
            time.sleep(0.001)
    if model != before:
        model, done = before, model
        calls[name]()
        assert done == model
