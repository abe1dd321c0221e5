"""Text as a column: its options, what it says by hand, and what is refused."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

import tallybayes
from tallybayes import LazyNaiveBayes, NaiveBayes
from tallybayes.families import Gaussian, Text
from tallybayes.families.registry import family_of_name
from tallybayes.tokens import WORDS
from tallybayes.tokens.analyzer import Analyzer, KnownTerms

ROWS = [{"t": "good good film"}, {"t": "bad film"}, {"t": None}, {"t": "good"}]
LABELS = ["yes", "no", "no", "yes"]


def test_the_score_is_that_of_the_formula():
    model = NaiveBayes({"t": Text(ngram_range=(1, 1))}).fit(ROWS, LABELS)
    # no: bad 1, film 1; yes: film 1, good 2
    share, tau = np.array([2 / 5, 3 / 5]), 0.1
    counts = {"good": np.array([0.0, 2.0]), "film": np.array([1.0, 1.0])}
    tf = {"good": np.log(3.0), "film": np.log(2.0)}
    said = sum(
        tf[t] * np.log((counts[t] + tau) / (counts[t].sum() * share + tau))
        for t in ("good", "film")
    )
    said /= np.sqrt(max(sum(tf.values()), 1.0))
    found = model.explain([{"t": "good GOOD film unseen"}]).contributions[0, :, 0]
    assert found == pytest.approx(said - said.mean(), rel=1e-6)  # log(1 + n) is a float32


def test_a_missing_text_an_empty_one_and_unknown_words_say_nothing():
    model = NaiveBayes({"t": Text()}, missing="level").fit(ROWS, LABELS)
    asked = [{"t": None}, {"t": ""}, {"t": "unknown words"}, {}]
    prior = np.exp(model.class_log_prior_)
    assert model.predict_proba(asked) == pytest.approx(np.tile(prior, (4, 1)))


def test_a_class_without_texts_has_what_its_prior_says():
    model = NaiveBayes({"t": Text()}).fit([*ROWS, {"t": None}], [*LABELS, "other"])
    assert model.explain([{"t": None}]).contributions.any() == np.False_
    assert np.isfinite(model.predict_joint_log_proba(ROWS)).all()


def test_no_text_at_all_leaves_the_column_out():
    model = NaiveBayes({"t": Text()}).fit([{"t": None, "x": i} for i in range(4)], LABELS)
    assert next(iter(model.schema_["family"])) == "left out"
    assert next(iter(model.partial_fit(ROWS, LABELS).schema_["family"])) == "text, 6 terms"


@pytest.mark.parametrize(
    ("options", "terms"),
    [
        ({}, ["!", "it", "it '", "s"]),
        ({"ngram_range": (1, 1)}, ["!", "it"]),
        ({"analyzer": "word", "token_pattern": WORDS, "ngram_range": [1, 1]}, ["it", "naïve"]),
        ({"analyzer": "word", "token_pattern": "[a-z]+e", "ngram_range": [1, 1]}, ["ve"]),
        ({"lowercase": False, "ngram_range": (1, 1)}, ["It", "Naïve"]),
        ({"strip_accents": "ascii", "ngram_range": (1, 1)}, ["naive"]),
        ({"stop_words": ["it"], "ngram_range": (1, 1)}, ["naïve"]),
        ({"analyzer": "char", "ngram_range": (3, 3)}, ["naï", "'s "]),
        ({"ngram_range": (1, 1), "analyzer": "cjk"}, ["語", "学"]),
    ],
)
def test_options_mean_what_they_do_for_documents(options, terms):
    text = Text(**options)
    found, rows = text.terms.counted(["It's Naïve!", "語学"])
    assert set(terms) <= set(found.tolist())
    again = KnownTerms(text.terms, found).rows(["It's Naïve!", "語学"])
    assert np.array_equal(again.terms, rows.terms)
    assert np.array_equal(again.counts, rows.counts)
    if "stop_words" in options:
        assert "it" not in found.tolist()


def test_english_stop_words_are_those_of_scikit_learn():
    by_name, by_list = Text(stop_words="english"), Text(stop_words=list(ENGLISH_STOP_WORDS))
    assert by_name.terms == by_list.terms
    found, _ = by_name.terms.counted(["The cat and the hat"])
    assert found.tolist() == ["cat", "cat hat", "hat"]
    assert "English stop words" in by_name.terms.in_words
    assert "without hat" in Text(stop_words=["hat"]).terms.in_words


def test_a_model_without_english_stop_words_is_saved_and_adds_to_others_like_it(tmp_path):
    model = NaiveBayes({"t": Text(stop_words="english")}).fit(ROWS, LABELS)
    model.save(tmp_path / "m.tally")
    again = tallybayes.load(tmp_path / "m.tally")
    assert again == model
    assert (again + model).tally_.classes.count.sum() == 2 * len(LABELS)
    with pytest.raises(ValueError, match="English stop words"):
        again.merge(NaiveBayes({"t": Text()}).fit(ROWS, LABELS))


@pytest.mark.parametrize("strip_accents", [None, "ascii", "unicode"])
def test_terms_by_python_are_those_of_the_kernel(strip_accents):
    compiled = Analyzer("word", WORDS, (1, 3), strip_accents=strip_accents, stop_words=("the",))
    python = Analyzer(
        "word", r"(?u)\b(?:\w\w+)\b", (1, 3), strip_accents=strip_accents, stop_words=("the",)
    )
    documents = ["The naïve Straße, the END of THE end", "", "x", "ÀÉ àé end of the end"]
    (terms, rows), (others, same) = compiled.counted(documents), python.counted(documents)
    assert python.rules is None
    assert terms.tolist() == others.tolist()
    for name in ("indptr", "terms", "counts"):
        assert np.array_equal(getattr(rows, name), getattr(same, name))


def test_buckets_name_no_term():
    model = NaiveBayes({"t": Text(n_features=1024)}).fit(ROWS, LABELS)
    assert model.tally_.groups[0].held.terms.dtype == np.int64
    assert model.predict([{"t": "good"}]).tolist() == ["yes"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"analyzer": "words"}, "takes analyzer from 'auto', 'word'"),
        ({"ngram_range": (2, 1)}, "the smaller first"),
        ({"ngram_range": (0, 1)}, "from 1 on"),
        ({"ngram_range": 2}, "two whole numbers"),
        ({"token_pattern": "("}, "a regular expression"),
        ({"token_pattern": "[a-z]"}, "give analyzer='word'"),
        ({"analyzer": "word", "token_pattern": "[a-z]", "n_features": 8}, "compiled rules"),
        ({"n_features": 0}, "from 1 on"),
        ({"stop_words": "german"}, "or as 'english', got 'german'"),
        ({"strip_accents": "all"}, "strip_accents"),
        ({"lowercase": 1}, "True or False"),
        ({"alpha": 0.0}, "above 0"),
    ],
)
def test_options_that_have_no_meaning_are_refused(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Text(**options)


def test_the_command_line_and_model_files_know_it_by_name():
    assert family_of_name("text") is Text


def test_what_a_text_has_not_is_refused_by_its_name():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("duckdb")
    source = pandas.DataFrame(ROWS).assign(y=LABELS)
    model = NaiveBayes({"t": Text()}).fit(ROWS, LABELS)
    with pytest.raises(AttributeError, match="'t' is read as text"):
        _ = model.log_evidence_
    with pytest.raises(ValueError, match="'t' is read as text"):
        _ = model.class_conditional_
    with pytest.raises(ValueError, match="'t' is read as text"):
        model.predict_proba_interval(ROWS)
    with pytest.raises(ValueError, match=r"'t' the family Text\("):
        LazyNaiveBayes(source, "y", columns={"t": Text()}).predict([{"t": "good"}])


def test_another_way_to_count_terms_does_not_add():
    model = NaiveBayes({"t": Text()}).fit(ROWS, LABELS)
    other = NaiveBayes({"t": Text(ngram_range=(1, 1))}).fit(ROWS, LABELS)
    before = model.tally_
    with pytest.raises(ValueError, match="counted as other terms"):
        model.merge(other)
    with pytest.raises(ValueError, match="as text in one part"):
        model.merge(NaiveBayes().fit(ROWS, LABELS))
    with pytest.raises(ValueError, match="declared as"):
        model.merge(NaiveBayes({"t": Gaussian()}).fit([{"t": 1.0}, {"t": 2.0}], ["yes", "no"]))
    assert model.tally_ == before
