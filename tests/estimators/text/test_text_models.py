"""The plain models of TextNB: textbook naive Bayes, of many documents, long ones and one by
itself.
"""

import copy
import io
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction import text as peer
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline

import tallybayes
from tallybayes import TextNB, load, set_num_threads
from tallybayes.errors import IncompatibleTallies, NegativeTally
from tallybayes.models import documents as models
from tallybayes.text import CountVectorizer, TermWeighting
from tallybayes.tokens import MARKS
from tallybayes.weighted import document_learning as learning
from tallybayes.weighted.ridge import DocumentFigures

WORDS = ["a", "b", "c", "d", "e"]
documents = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
cases = st.lists(st.tuples(documents, st.sampled_from("xyz")), min_size=2, max_size=9).filter(
    lambda some: any(document for document, _ in some)
)
PLAIN = {
    "multinomial": (MultinomialNB, tallybayes.MultinomialNB),
    "complement": (ComplementNB, tallybayes.ComplementNB),
    "bernoulli": (BernoulliNB, tallybayes.BernoulliNB),
}
TRANSFORMS = [
    {"tf": "log"},
    {"idf": True},
    {"length_normalize": True},
    {"tf": "log", "idf": True},
    {"tf": "log", "length_normalize": True},
    {"tf": "log", "idf": True, "length_normalize": True},
]
KINDS = [
    *({"model": model} for model in PLAIN),
    *({"model": model, **t} for model in ("multinomial", "complement") for t in TRANSFORMS),
]
EXACT = [kind for kind in KINDS if not (kind.get("idf") and kind.get("length_normalize"))]
WHOLE = [kind for kind in KINDS if not {"tf", "length_normalize"} & set(kind)]
law = settings(max_examples=2 * settings.default.max_examples)  # of all kinds together


def text_nb(**options):
    return TextNB(analyzer="word", ngram_range=(1, 1), **options)


def close(a, b, atol=1e-10):
    np.testing.assert_allclose(np.exp(a), np.exp(b), atol=atol, rtol=0.0)


def split(some):
    return [document for document, _ in some], [label for _, label in some]


# ---- laws ----------------------------------------------------------------------------------------
@law
@given(st.sampled_from(EXACT), cases, cases)
def test_learning_more_merging_and_forgetting_are_fitting_on_what_is_left(options, a, b):
    whole = text_nb(**options).fit(*split(a + b))
    first, second = (text_nb(**options).fit(*split(some)) for some in (a, b))
    asked = ["a b b c", "d e", "", "a a a a", "z"]
    expected = whole.predict_log_proba(asked)
    for model in (
        copy.deepcopy(first).partial_fit(*split(b)),
        copy.deepcopy(first).merge(second),
        copy.deepcopy(second).merge(first),
    ):
        close(model.predict_log_proba(asked), expected)
    model = whole.forget(*split(b))
    assert model.classes_.tolist() == first.classes_.tolist()
    close(model.predict_log_proba(asked), first.predict_log_proba(asked))
    if options in WHOLE:
        assert model.tally_ == first.tally_


@law
@given(
    st.sampled_from(EXACT),
    cases,
    st.lists(st.sampled_from([0.5, 1.0, 2.0, 3.25]), min_size=9, max_size=9),
)
def test_leave_one_out_is_fitting_on_the_others(options, some, weights):
    x, y = split(some)
    weights = np.array(weights[: len(x)])
    model = text_nb(alpha=0.7, **options).fit(x, y, sample_weight=weights)
    found = model.leave_one_out(x, y, sample_weight=weights)
    for i, document in enumerate(x):
        rest = np.arange(len(x)) != i
        others = text_nb(alpha=0.7, **options).fit(
            np.array(x)[rest], np.array(y)[rest], sample_weight=weights[rest]
        )
        expected = np.full(len(model.classes_), -np.inf)
        held = np.isin(model.classes_, others.classes_)
        expected[held] = others.predict_log_proba([document])[0]
        if options["model"] == "complement" and not held.all():
            continue  # a class without documents has a complement, which the others do not know
        close(found[i], expected)
    if options["model"] != "complement":
        own = found[np.arange(len(x)), np.searchsorted(model.classes_, y)]
        assert model.log_loss_ == pytest.approx(-(weights @ own) / weights.sum(), rel=1e-9)


@law
@given(st.sampled_from(KINDS), cases, st.lists(st.integers(0, 3), min_size=9, max_size=9))
def test_a_document_of_weight_w_counts_as_w(options, some, weights):
    weights = np.array(weights[: len(some)])
    repeated = [each for each, w in zip(some, weights, strict=True) for _ in range(w)]
    if not any(document for document, _ in repeated):
        return
    x, y = split(some)
    model = text_nb(**options).fit(x, y, sample_weight=weights)
    again = text_nb(**options).fit(*split(repeated))
    close(model.predict_log_proba(x), again.predict_log_proba(x))
    if options in WHOLE:
        assert model.tally_ == again.tally_
    ones = text_nb(**options).fit(x, y, sample_weight=np.ones(len(x)))
    assert ones.tally_ == text_nb(**options).fit(x, y).tally_


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_files_explanations_and_top_terms(options):
    x = ["cheap pills", "cheap cheap cash", "lunch at noon", "noon at home", "cash"]
    y = [1, 1, 0, 0, 1]
    model = text_nb(**options).fit(x, y).partial_fit(["new words", "lunch"], [2, 0])
    buffer = io.BytesIO()
    model.save(buffer)
    buffer.seek(0)
    loaded = load(buffer)
    asked = [*x, "cheap noon noon new", ""]
    np.testing.assert_allclose(
        loaded.predict_proba(asked), model.predict_proba(asked), rtol=1e-12
    )  # it follows documents one by one, and sums terms in another order
    assert loaded.tally_ == model.tally_
    assert loaded.log_loss_ == model.log_loss_
    again = copy.deepcopy(loaded).partial_fit(["pills at home"], [0])
    assert again == model.partial_fit(["pills at home"], [0])
    np.testing.assert_allclose(again.predict_proba(asked), model.predict_proba(asked), rtol=1e-12)
    for document in asked:
        found = model.explain_one(document)
        total = found.base + found.contributions.sum(axis=0)
        np.testing.assert_allclose(total, model.predict_joint_log_proba([document])[0], rtol=1e-12)
    top = model.top_terms(1, 2)
    assert {term for term, _ in top} <= {"cheap", "pills", "cash"}
    one = model.explain_one(top[0][0])
    if not options.get("length_normalize"):
        gap = one.contributions[0, 1] - one.contributions[0].mean()
        assert top[0][1] == pytest.approx(gap, rel=1e-9)
    assert model.penalty_ is None


# ---- known answers -------------------------------------------------------------------------------
@law
@given(st.sampled_from([*PLAIN]), cases, st.sampled_from([1e-3, 0.3, 1.0, 10.0]))
def test_without_transforms_it_is_scikit_learns_on_counts(model, some, alpha):
    x, y = split(some)
    options = {"token_pattern": MARKS, "ngram_range": (1, 1)}
    found = text_nb(model=model, alpha=alpha).fit(x, y)
    asked = [*x, "a a b", "z", ""]
    blank = model == "multinomial" and {y for d, y in some if d} != set(y)
    for vectorizer, kind in zip((peer.CountVectorizer, CountVectorizer), PLAIN[model], strict=True):
        if blank and kind is MultinomialNB:
            continue  # a class without a word: docs/decisions/0004-differences-from-scikit-learn.md
        pipe = make_pipeline(vectorizer(**options), kind(alpha=alpha)).fit(x, y)
        joint = pipe[-1].predict_joint_log_proba(pipe[:-1].transform(asked))
        np.testing.assert_allclose(
            found.predict_joint_log_proba(asked), joint, rtol=1e-12, atol=1e-12
        )


@law
@given(st.sampled_from(["multinomial", "complement"]), st.sampled_from(TRANSFORMS), cases)
def test_with_transforms_it_is_the_pipeline_of_transformers(model, transforms, some):
    x, y = split(some)
    found = text_nb(model=model, **transforms).fit(x, y)
    weighting = TermWeighting(**{"tf": None, "idf": False, "length_normalize": False} | transforms)
    vectorizer = CountVectorizer(token_pattern=MARKS)
    pipe = make_pipeline(vectorizer, weighting, PLAIN[model][1]()).fit(x, y)
    asked = [*x, "a a b", "z", ""]
    joint = pipe[-1].predict_joint_log_proba(pipe[:-1].transform(asked))
    np.testing.assert_allclose(found.predict_joint_log_proba(asked), joint, rtol=1e-12, atol=1e-12)


def test_log_loss_is_that_of_documents_that_are_left_out():
    random = np.random.default_rng(0)
    x = [" ".join(random.choice(WORDS, 6)) for _ in range(60)]
    y = random.integers(0, 2, 60)
    for model in PLAIN:
        fitted = text_nb(model=model).fit(x, y)
        loss = -fitted.leave_one_out(x, y)[np.arange(60), y]
        assert fitted.log_loss_ == pytest.approx(loss.mean(), rel=1e-12)
        assert fitted.log_loss_se_ == pytest.approx(loss.std() / np.sqrt(59), rel=1e-9)
        seen = -fitted.predict_log_proba(x)[np.arange(60), y].mean()
        assert seen < fitted.log_loss_


@law
@given(options=st.sampled_from(KINDS), some=cases, more=cases, weighted=st.booleans())
def test_figures_are_those_of_the_fit_whenever_they_are_asked_for(options, some, more, weighted):
    x, y = split(some)
    weights = np.arange(1.0, len(x) + 1.0) if weighted else None
    asked, later, sent = (text_nb(**options).fit(x, y, weights) for _ in range(3))
    expected = asked.log_loss_, asked.log_loss_se_, asked.accuracy_, asked.accuracy_se_
    later.partial_fit(*split(more), classes=list("xyz"))
    sent = pickle.loads(pickle.dumps(sent))
    for model in (asked, later, sent):
        found = model.log_loss_, model.log_loss_se_, model.accuracy_, model.accuracy_se_
        assert found == expected
        assert isinstance(model._fitted().judgement, DocumentFigures)  # the documents are let go
    back = text_nb(**options).fit(x[::-1], y[::-1], None if weights is None else weights[::-1])
    assert back.log_loss_ == pytest.approx(expected[0], rel=1e-12)


def test_of_many_documents_only_those_that_are_judged_are_held(monkeypatch):
    monkeypatch.setattr(models, "MAX_TEST_DOCUMENTS", 50)
    random = np.random.default_rng(0)
    x = [" ".join(random.choice(WORDS, 6)) for _ in range(200)]
    model = text_nb(model="multinomial").fit(x, random.integers(0, 2, 200))
    assert len(model._fitted().judgement.y) <= 60
    assert model.log_loss_ == pytest.approx(0.7, abs=0.2)


def test_the_only_document_of_a_class_has_probability_0_without_itself(tmp_path):
    model = text_nb(model="multinomial").fit(["a b", "a", "c"], [0, 0, 1])
    assert model.log_loss_ == np.inf
    assert model.log_loss_se_ == np.inf
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").log_loss_ == np.inf


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_documents_that_say_nothing(options):
    for x, y in ((["", "", ""], [0, 0, 1]), (["a"], [0]), (["a", "a"], [0, 1])):
        proba = text_nb(**options).fit(x, y).predict_proba(["", "a", "c"])
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)


def test_an_idf_that_is_read_from_the_counts_follows_them():
    model = text_nb(model="multinomial", idf=True).fit(["a b", "a", "b c"], [0, 0, 1])
    before = model.explain_one("c").contributions
    model.partial_fit(["c d", "c"], [1, 0])
    fresh = text_nb(model="multinomial", idf=True).fit(
        ["a b", "a", "b c", "c d", "c"], [0, 0, 1, 1, 0]
    )
    close(model.predict_log_proba(["c", "d"]), fresh.predict_log_proba(["c", "d"]), 1e-15)
    assert not np.allclose(model.explain_one("c").contributions, before)


# ---- bad input -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tf": "log"}, "'weighted' takes no tf='log'"),
        ({"model": "bernoulli", "idf": True}, "'bernoulli' takes no idf=True"),
        ({"alpha": 2.0}, "alpha=2.0"),
        ({"model": "multinomial", "alpha": 0.0}, "alpha"),
        ({"model": "gaussian"}, "model"),
        ({"model": "multinomial", "tf": "sqrt"}, "tf"),
    ],
)
def test_options_that_do_not_apply_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        text_nb(**options).fit(["a", "b"], [0, 1])


def test_what_cannot_be_done_is_refused_and_changes_nothing():
    model = text_nb(model="multinomial").fit(["a b b", "c"], [0, 1])
    before = model.tally_
    with pytest.raises(ValueError, match=r"no weights to learn.*model='weighted'"):
        model.reweight(["a b b"], [0])
    with pytest.raises(IncompatibleTallies, match="same kind of model"):
        model.merge(text_nb(model="complement").fit(["a"], [0]))
    with pytest.raises(IncompatibleTallies, match="same kind of model"):
        model.merge(text_nb().fit(["a"], [0]))
    with pytest.raises(IncompatibleTallies, match="weighted"):
        text_nb().fit(["a"], [0]).merge(model)
    with pytest.raises(NegativeTally, match="other numbers"):
        model.forget(["a b"], [0])  # b occurred twice
    with pytest.raises(NegativeTally, match="without the term"):
        text_nb(model="multinomial").fit(["a", "a b"], [0, 0]).forget([""], [0])
    with pytest.raises(NegativeTally, match="document 0 weighs 3"):
        model.leave_one_out(["c"], [1], sample_weight=[3.0])
    for weights, words in (([-1.0, 1.0], "0 or more"), ([0.0, 0.0], "non-zero|are 0")):
        with pytest.raises(ValueError, match=words):
            model.fit(["a", "b"], [0, 1], sample_weight=weights)
    assert model.tally_ is before
    fixed = {"model": "multinomial", "idf": True, "length_normalize": True}
    with pytest.raises(IncompatibleTallies, match="fixes the idf"):
        text_nb(**fixed).fit(["a b"], [0]).merge(text_nb(**fixed).fit(["a"], [0]))


HAM = ["lunch at noon?", "see you at noon", "ok, see you", "Is lunch at one?", "語 at home"]
SPAM = ["cheap pills now", "buy cheap pills!", "win cash now!!!", "cheap cash", "", "Straße"]
DOCUMENTS, LABELS = (HAM + SPAM) * 9, (["ham"] * 5 + ["spam"] * 6) * 9
MODELS = [
    TextNB(**options).fit(DOCUMENTS, LABELS)
    for options in (
        {},
        {"ridge": False, "stop_words": ["at"]},
        {"n_features": 23, "stop_words": "english"},
        {"analyzer": "char_wb", "ngram_range": (2, 4), "strip_accents": "unicode"},
    )
]
MODELS.append(TextNB().fit(DOCUMENTS, np.arange(99) % 5))
some = st.lists(
    st.one_of(st.sampled_from([*HAM, *SPAM, "now you see lunch", "\0"]), st.text(max_size=9)),
    min_size=1,
    max_size=8,
)


@pytest.mark.parametrize("model", MODELS, ids=str)
@settings(deadline=None, max_examples=20)
@given(some)
def test_the_bits_of_the_batch(model, documents):
    for ask in (model.predict_proba, model.predict_log_proba, model.predict_joint_log_proba):
        set_num_threads(3)
        whole = ask(documents)
        set_num_threads(1)
        assert np.concatenate([ask([d]) for d in documents]).tobytes() == whole.tobytes()
        assert ask(tuple(documents)).tobytes() == whole.tobytes()
        assert ask([d.encode() for d in documents]).tobytes() == whole.tobytes()
    set_num_threads(None)
    assert [model.predict([d])[0] for d in documents] == model.predict(documents).tolist()


@pytest.mark.parametrize("model", MODELS, ids=str)
@settings(deadline=None, max_examples=20)
@given(some)
def test_the_counts_of_the_vectorizer(model, documents):
    tally, counter = model.tally_, model._counter
    rows = counter.rows(documents, tally)
    vectorizer = CountVectorizer(**counter.options)
    if model.n_features is None:
        expected = vectorizer.set_params(vocabulary=tally.terms.tolist()).transform(documents)
    else:
        expected = vectorizer.transform(documents)[:, tally.terms]
    found = np.zeros((len(documents), tally.n_terms), dtype=int)
    row = np.repeat(np.arange(len(documents)), np.diff(rows.indptr))
    found[row, rows.terms] = rows.counts
    assert found.tolist() == expected.toarray().tolist()
    assert (rows.counts > 0).all()


def test_probabilities_are_those_of_the_scores():
    for model in MODELS:
        scores = model.predict_joint_log_proba(DOCUMENTS[:11])
        expected = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
        np.testing.assert_allclose(model.predict_log_proba(DOCUMENTS[:11]), expected, atol=1e-12)
        np.testing.assert_allclose(model.predict_proba(DOCUMENTS[:11]), np.exp(expected))


def test_methods_for_one_document_are_those_for_several():
    for model in MODELS:
        for document, explained in zip(DOCUMENTS[:11], model.explain(DOCUMENTS[:11]), strict=True):
            assert model.predict_one(document) == model.predict([document])[0]
            shares = model.predict_proba([document])[0]
            assert model.predict_proba_one(document) == dict(
                zip(model.classes_.tolist(), shares.tolist(), strict=True)
            )
            assert str(explained) == repr(explained) == str(model.explain_one(document))
            assert explained.document == document


@pytest.mark.parametrize("analyzer", ["char", "char_wb"])
@pytest.mark.parametrize("ridge", [True, False])
def test_terms_may_end_in_nul(ridge, analyzer, tmp_path):
    ends = ["win\0", "\0", "see\0\0 you", "w\0in", "noon\0\0"] * 4
    documents, labels = [*DOCUMENTS, *ends], [*LABELS, *["spam", "ham"] * 10]
    options = {"analyzer": analyzer, "ngram_range": (1, 3), "ridge": ridge}
    model = TextNB(**options).fit(documents[:-8], labels[:-8])
    weighted = copy.deepcopy(model)
    for document, label in zip(documents[-8:], labels[-8:], strict=True):
        model.learn_one(document, label)
    live = np.array([list(model.predict_proba_one(d).values()) for d in documents])
    model.save(tmp_path / "m.tally")
    saved = tallybayes.load(tmp_path / "m.tally").predict_proba(documents)
    np.testing.assert_allclose(live, saved, atol=1e-12)
    batch = weighted.partial_fit(documents[-8:], labels[-8:]).predict_proba(documents)
    np.testing.assert_allclose(live, batch, atol=1e-12)


@pytest.mark.parametrize(
    ("document", "label", "weight", "message"),
    [
        ("a b", None, 1.0, "a label and a finite weight"),
        ("a b", float("nan"), 1.0, "a label and a finite weight"),
        ("a b", "spam", -1.0, "forget_one takes documents away"),
        ("a b", "spam", float("inf"), "finite weight"),
        (["a", "b"], "spam", 1.0, "document 0 is list"),
        (None, "spam", 1.0, "document 0 is a missing value"),
        ("a b", 3, 1.0, "cannot be joined"),
    ],
)
def test_a_document_that_cannot_be_learned_changes_nothing(document, label, weight, message):
    model = TextNB(model="multinomial").fit(DOCUMENTS, LABELS)
    before = copy.deepcopy(model)
    with pytest.raises(ValueError, match=message):
        model.learn_one(document, label, weight)
    assert model == before
    with pytest.raises(NegativeTally):
        model.forget_one("never seen", "ham", 1e3)
    assert model == before


def test_models_compare_by_content():
    assert clone(TextNB()) == TextNB() != TextNB(ridge=False)
    assert hash(TextNB()) == hash(MODELS[0])
    assert TextNB() != MODELS[0] != MODELS[1]
    for model in MODELS:
        again = copy.deepcopy(model)
        assert again == model == pickle.loads(pickle.dumps(model))
        assert again.partial_fit(["one more"], model.classes_[:1]) != model


def test_a_document_of_100_mb_is_counted():
    times = 100_000_000 // len("tea with milk ") + 1
    counter = CountVectorizer()
    found = counter.fit_transform(["tea with milk " * times, "coffee"])
    assert counter.get_feature_names_out().tolist() == ["coffee", "milk", "tea", "with"]
    assert found.toarray().tolist() == [[0, times, times, times], [1, 0, 0, 0]]


@pytest.mark.parametrize("model", ["multinomial", "complement", "bernoulli"])
def test_a_thousand_classes_need_no_dense_table(model):
    classes, words = 1000, 100_000
    draw = np.random.default_rng(0).integers(0, words, (2 * classes, 40))
    documents = [" ".join(f"w{word}" for word in row) for row in draw]
    labels = np.arange(len(documents)) % classes
    tracemalloc.start()
    fitted = TextNB(model=model, ngram_range=(1, 1)).fit(documents, labels)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    seen = {(word, label) for row, label in zip(draw, labels, strict=True) for word in row}
    assert len(fitted.tally_.counts) == len(seen)
    assert 2 * peak < classes * len(fitted.tally_.terms) * 8


def test_weights_of_many_classes_are_learned_on_so_many_sums_at_most(monkeypatch):
    for name in ("MAX_CHOICE_SUMS", "MAX_SUMS"):
        monkeypatch.setattr(learning, name, 1 << 20)
    classes, words = 200, 100_000
    draw = np.random.default_rng(0).integers(0, words, (20 * classes, 30))
    documents = [" ".join(f"w{word}" for word in row) for row in draw]
    labels = np.arange(len(documents)) % classes
    tracemalloc.start()
    fitted = TextNB(ngram_range=(1, 1), ridge=False).fit(documents, labels)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert fitted.tally_.documents.tolist() == [20.0] * classes
    assert 2 * peak < classes * len(fitted.tally_.terms) * 8


@pytest.mark.parametrize("call", ["fit", "reweight"])
def test_an_interrupted_fit_leaves_the_model_as_it_was(call, monkeypatch):
    documents, labels = ["good tea", "bad tea", "good milk", "bad milk"] * 3, [1, 0] * 6
    model = TextNB().fit(documents, labels)
    before = model.predict_proba(documents)

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(learning, "choose_reading", interrupted)
    with pytest.raises(KeyboardInterrupt):
        getattr(model, call)([f"{text} or coffee" for text in documents], labels)
    assert model.predict_proba(documents).tobytes() == before.tobytes()
    assert "coffee" not in model.tally_.terms
