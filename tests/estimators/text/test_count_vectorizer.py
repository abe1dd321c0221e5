"""CountVectorizer and the transformer of its counts beside scikit-learn's."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer as Peer
from sklearn.utils.estimator_checks import check_estimator

from tallybayes import set_num_threads
from tallybayes.errors import InvalidDocument, SlowTokensWarning
from tallybayes.text import CountVectorizer, TermWeighting

MARKS = r"(?u)\w+|[^\w\s]"
CORPUS = [
    "The Cat sat, on THE mat! isn't it? The cat…",
    "ΟΔΥΣΣΕΥΣ ΑΣ Σ ΑΣ. İstanbul STRASSE straße ẞ Ⱥb ﬁn",
    "naïve cafe\u0301 café 北京欢迎你 hello_世界 カタカナ 한국어 x\0y a\x1cb  \n\n c 😀🏽 ﷺ",
    "",
    "the cat the cat the cat sat on the mat. aa bb aa bb",
    "   ",
    "x",
]
CHARACTERS = st.sampled_from("aAbB _09.,!\n\t\0 ΣσİIßé\u0301\u0345'가北京ー😀\u200d\xa0ﬁ")
DOCUMENTS = st.lists(st.text(CHARACTERS, max_size=25) | st.text(max_size=10), max_size=6)
OPTIONS = [
    {"analyzer": a, "ngram_range": n, "token_pattern": p}
    for a in ("word", "char", "char_wb")
    for n in ((1, 1), (1, 2), (2, 2), (2, 4))
    for p in ((r"(?u)\b\w\w+\b", MARKS) if a == "word" else (r"(?u)\b\w\w+\b",))
]


def outcome(vectorizer, documents, others):
    """Vocabulary and matrices, or what was raised."""
    try:
        fitted = vectorizer.fit_transform(documents)
    except ValueError as error:
        return type(error), str(error)[:20]
    vocabulary = {term: int(i) for term, i in vectorizer.vocabulary_.items()}
    return vocabulary, fitted, vectorizer.transform(others)


def need_same(options, documents, others=("the cat", "AΣ É.", "")):
    ours = outcome(CountVectorizer(**options), documents, list(others))
    theirs = outcome(Peer(**options), documents, list(others))
    assert ours[0] == theirs[0]
    for x, y in zip(ours[1:], theirs[1:], strict=True):
        if isinstance(x, str):
            assert x == y
        else:
            assert type(x) is type(y)
            assert x.dtype == y.dtype
            assert x.shape == y.shape
            assert x.indices.dtype == y.indices.dtype
            assert (x != y).nnz == 0
            assert x.has_sorted_indices


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_tokens_are_those_of_scikit_learn(options):
    for k, strip in enumerate([None, "ascii", "unicode", str.casefold]):
        for lowercase in (True, False):
            set_num_threads(3 if lowercase == k % 2 else 1)
            need_same({**options, "strip_accents": strip, "lowercase": lowercase}, CORPUS)


@settings(max_examples=2 * settings.default.max_examples)  # of all options together
@given(
    options=st.sampled_from(OPTIONS),
    documents=DOCUMENTS,
    strip=st.sampled_from([None, "ascii", "unicode"]),
    lower=st.booleans(),
)
def test_any_text_is_counted_as_by_scikit_learn(options, documents, strip, lower):
    need_same({**options, "strip_accents": strip, "lowercase": lower}, documents)


CHOICES = st.fixed_dictionaries(
    {"ngram_range": st.sampled_from([(1, 1), (1, 2), (2, 3)])},
    optional={
        "min_df": st.sampled_from([1, 2, 0.2, 0.5]),
        "max_df": st.sampled_from([1, 3, 0.4, 0.9, 1.0]),
        "max_features": st.integers(1, 9),
        "stop_words": st.sampled_from([["aa", "é"], ["ss", "σ", "北京", "a"], "english"]),
        "binary": st.booleans(),
        "dtype": st.sampled_from([np.int64, np.int32, np.float32, np.uint8]),
        "vocabulary": st.sampled_from([["a", "b", "é"], {"σ": 1, "aa": 0}, ["i̇", "é b", "😀"]]),
        "token_pattern": st.just(MARKS),
        "analyzer": st.sampled_from(["word", "char", "char_wb"]),
        "strip_accents": st.sampled_from(["ascii", "unicode"]),
        "lowercase": st.booleans(),
    },
)


@pytest.mark.filterwarnings("ignore::UserWarning")  # of stop words and capitals, as there
@settings(max_examples=2 * settings.default.max_examples)
@given(options=CHOICES, documents=DOCUMENTS, copies=st.sampled_from([1, 400]))
def test_any_options_do_to_any_text_what_they_do_in_scikit_learn(options, documents, copies):
    for threads in (1, 3):  # which share out thousands of documents, and not a few
        set_num_threads(threads)
        need_same(options, documents * copies)
    set_num_threads(None)


@pytest.mark.parametrize(
    "options",
    [
        {"min_df": 2},
        {"min_df": 0.3, "max_df": 0.9},
        {"max_df": 1},
        {"max_features": 5},
        {"max_features": 5, "binary": True, "dtype": np.float32},
        {"max_features": 3, "dtype": np.uint8, "min_df": 2},
        {"binary": True},
        {"dtype": np.float64},
        {"dtype": np.int16},
        {"stop_words": ["the", "on", "missing"]},
        {"stop_words": "english", "ngram_range": (1, 3)},
        {"vocabulary": ["cat", "the", "sat on", "", "no"]},
        {"vocabulary": {"the": 1, "cat": 0}, "ngram_range": (1, 2), "stop_words": ["on"]},
        {"vocabulary": ["the cat", "cat the", "the  cat", " the"], "ngram_range": (2, 2)},
        {"vocabulary": [" the", "e c", "ca"], "analyzer": "char_wb", "ngram_range": (2, 4)},
        {"min_df": 7, "max_df": 2},
        {"min_df": 7},
        {"vocabulary": []},
        {"preprocessor": str.upper},
        {"tokenizer": str.split, "token_pattern": None},
        {"analyzer": str.split},
    ],
    ids=str,
)
def test_options_do_what_they_do_in_scikit_learn(options):
    need_same(options, CORPUS)


def test_another_token_pattern_is_python_s_and_says_so():
    with pytest.warns(SlowTokensWarning, match="no compiled kernel"):
        ours = CountVectorizer(token_pattern=r"[a-z]+").fit(CORPUS)
    assert ours.vocabulary_ == Peer(token_pattern=r"[a-z]+").fit(CORPUS).vocabulary_


def test_warnings_are_those_of_scikit_learn():
    for options in ({"stop_words": ["the"], "analyzer": "char"}, {"vocabulary": ["Cat"]}):
        with warnings.catch_warnings(record=True) as theirs:
            warnings.simplefilter("always")
            Peer(**options).fit(CORPUS)
        with warnings.catch_warnings(record=True) as ours:
            warnings.simplefilter("always")
            CountVectorizer(**options).fit(CORPUS)
        assert ours
        assert [str(w.message)[:50] for w in ours] == [str(w.message)[:50] for w in theirs]


def test_characters_of_scripts_without_spaces_are_tokens():
    ours = CountVectorizer(analyzer="cjk", ngram_range=(1, 2)).fit(["我love北京! ひと"])
    assert list(ours.get_feature_names_out()) == sorted(ours.vocabulary_)
    assert set(ours.vocabulary_) == {
        *("我", "love", "北", "京", "!", "ひ", "と"),
        *("我 love", "love 北", "北 京", "京 !", "! ひ", "ひ と"),
    }
    assert sorted(ours.build_analyzer()("我love北京! ひと")) == sorted(ours.vocabulary_)
    python = CountVectorizer(analyzer="cjk", ngram_range=(1, 2), preprocessor=str.lower)
    assert python.fit(["我love北京! ひと"]).vocabulary_ == ours.vocabulary_


COLUMNS = {
    "tuple": tuple,
    "iterator": iter,
    "object": lambda d: np.array(d, dtype=object),
    "fixed width": np.array,
    "StringDType": lambda d: np.array(d, dtype=np.dtypes.StringDType()),
    "pandas object": lambda d: pd.Series(d, dtype=object),
    "pandas str": lambda d: pd.Series(d, dtype="str"),
    "pandas python": lambda d: pd.Series(d, dtype=pd.StringDtype("python")),
    "pandas sliced": lambda d: pd.Series(["x", *d], dtype="str").iloc[1:],
    "polars": pl.Series,
    "polars chunks": lambda d: pl.concat([pl.Series(d[:2]), pl.Series(d[2:])], rechunk=False),
    "polars categories": lambda d: pl.Series(d, dtype=pl.Categorical),
    "polars enum": lambda d: pl.Series(d, dtype=pl.Enum(sorted(set(d)))),
    "arrow": pa.array,
    "arrow sliced": lambda d: pa.array(["x", *d, "y"]).slice(1, len(d)),
    "arrow large": lambda d: pa.array(d, pa.large_string()),
    "arrow view": lambda d: pa.array(d, pa.string_view()),
    "arrow chunks": lambda d: pa.chunked_array([d[:3], [], d[3:]]),
    "arrow dictionary": lambda d: pa.array(d).dictionary_encode(),
    "bytes": lambda d: [text.encode() for text in d],
}


@pytest.mark.parametrize("make", COLUMNS.values(), ids=COLUMNS)
def test_documents_may_come_in_any_column(make):
    texts = [t.replace("\0", "") for t in CORPUS]  # fixed-width strings end at NUL
    ours, expected = CountVectorizer(ngram_range=(1, 2)), Peer(ngram_range=(1, 2))
    x, y = ours.fit_transform(make(texts)), expected.fit_transform(texts)
    assert ours.vocabulary_ == expected.vocabulary_
    assert (x != y).nnz == 0
    assert (ours.transform(make(texts)) != y).nnz == 0
    assert CountVectorizer(n_features=9).transform(make(texts)).shape == (len(texts), 9)


def test_files_and_other_encodings_are_decoded(tmp_path):
    path = tmp_path / "one.txt"
    path.write_bytes("Café été".encode("latin-1"))
    options = {"input": "filename", "encoding": "latin-1"}
    assert set(CountVectorizer(**options).fit([path]).vocabulary_) == {"café", "été"}
    broken = [b"caf\xe9 good"]
    with pytest.raises(UnicodeDecodeError):
        CountVectorizer().fit(broken)
    for fix in ("ignore", "replace"):
        need_same({"decode_error": fix}, broken)


BAD = [None, np.nan, 3, 2.5, ["a"], "a\ud800b"]


@pytest.mark.parametrize("document", BAD, ids=repr)
def test_what_is_not_text_is_refused_and_nothing_changes(document):
    vectorizer = CountVectorizer().fit(["good day"])
    before = vectorizer.vocabulary_
    for call in (vectorizer.fit_transform, vectorizer.transform, CountVectorizer(n_features=8).fit):
        with pytest.raises(InvalidDocument, match="document 1 "):
            call(["fine text", document])
    assert vectorizer.vocabulary_ is before
    assert vectorizer.transform(["good good"]).toarray().tolist() == [[0, 2]]


def test_missing_values_of_columns_are_refused_by_row():
    for column in (pl.Series(["a", None]), pa.array(["a", None]), pd.Series(["a", None])):
        with pytest.raises(InvalidDocument, match="document 1 is a missing value"):
            CountVectorizer().fit(column)
    with pytest.raises(TypeError, match="a column of strings"):
        CountVectorizer().fit(pa.array([1, 2]))


@pytest.mark.parametrize(
    ("options", "documents", "message"),
    [
        ({}, "one string", "put a single document into a list"),
        ({}, [], "empty vocabulary"),
        ({}, ["", "a"], "empty vocabulary"),
        ({"ngram_range": (2, 1)}, ["a b"], "ngram_range=\\(2, 1\\)"),
        ({"ngram_range": (0, 1)}, ["a b"], "from 1 token on"),
        ({"analyzer": "words"}, ["a b"], "analyzer"),
        ({"n_features": 0}, ["a b"], "n_features"),
        ({"n_features": 8, "min_df": 2}, ["a b"], "min_df has no meaning"),
        ({"n_features": 8, "tokenizer": str.split, "token_pattern": None}, ["a b"], "compiled"),
        ({"max_df": 1, "min_df": 2}, ["aa b"], "max_df corresponds to < documents"),
        ({"min_df": 2}, ["aa b", "bb"], "no terms remain"),
    ],
    ids=str,
)
def test_bad_parameters_are_value_errors_that_teach(options, documents, message):
    vectorizer = CountVectorizer(**options)
    before = dict(vars(vectorizer))
    with pytest.raises(ValueError, match=message):
        vectorizer.fit(documents)
    assert vars(vectorizer) == before


def test_asking_before_fit_is_not_fitted():
    for ask in (lambda v: v.transform(["a"]), lambda v: v.get_feature_names_out()):
        with pytest.raises(NotFittedError):
            ask(CountVectorizer())
    assert not hasattr(CountVectorizer(), "vocabulary_")
    with pytest.raises(ValueError, match="omit n_features"):
        CountVectorizer(n_features=4).get_feature_names_out()


def test_it_is_cloned_pickled_and_inverted():
    ours, theirs = CountVectorizer().fit(CORPUS), Peer().fit(CORPUS)
    x = ours.transform(CORPUS)
    again = pickle.loads(pickle.dumps(ours))
    assert (again.transform(CORPUS) != x).nnz == 0
    assert again.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    for a, b in zip(ours.inverse_transform(x), theirs.inverse_transform(x), strict=True):
        assert a.tolist() == b.tolist()
    assert clone(ours).get_params() == ours.get_params()
    assert not hasattr(clone(ours), "vocabulary_")
    ours.vocabulary_ = {"cat": 0}
    assert ours.transform(["cat cat"]).toarray().tolist() == [[2]]


# ---- batches -------------------------------------------------------------------------------------
@given(st.lists(DOCUMENTS, min_size=1, max_size=4), st.sampled_from(OPTIONS))
def test_batches_know_the_terms_of_all_documents(batches, options):
    grown, so_far, before = CountVectorizer(**options), [], {}
    for batch in batches:
        if not before:
            try:
                CountVectorizer(**options).fit(batch)
            except ValueError:  # no terms yet
                with pytest.raises(ValueError, match="empty vocabulary"):
                    grown.partial_fit(batch)
                continue
        grown.partial_fit(batch)
        so_far += batch
        vocabulary = grown.vocabulary_
        assert before.items() <= vocabulary.items()  # columns stay
        new = sorted(vocabulary.keys() - before.keys())
        assert [vocabulary[term] for term in new] == list(range(len(before), len(vocabulary)))
        before = dict(vocabulary)
        whole = CountVectorizer(**options).fit(so_far)
        names = grown.get_feature_names_out()
        assert sorted(names) == whole.get_feature_names_out().tolist()
        columns = [whole.vocabulary_[term] for term in names]
        found = grown.transform(so_far)
        assert (found.toarray() == whole.transform(so_far).toarray()[:, columns]).all()
        assert found.has_sorted_indices


def test_batches_where_there_is_nothing_to_learn():
    hashed = CountVectorizer(n_features=8)
    assert hashed.partial_fit(["a bb"]).partial_fit(["cc"]).transform(["cc"]).shape == (1, 8)
    given_ = CountVectorizer(vocabulary=["bb", "aa"]).partial_fit(["cc"]).partial_fit(["dd"])
    assert given_.get_feature_names_out().tolist() == ["bb", "aa"]
    stop = CountVectorizer(stop_words=["bb"]).partial_fit(["aa"])
    assert stop.partial_fit(["bb", ""]).vocabulary_ == {"aa": 0}


@pytest.mark.parametrize("options", [{"min_df": 2}, {"max_df": 0.5}, {"max_features": 3}], ids=str)
def test_choices_among_all_terms_are_refused_of_batches(options):
    with pytest.raises(ValueError, match=r"partial_fit.*use fit"):
        CountVectorizer(**options).partial_fit(["aa bb"])


def test_a_refused_batch_changes_nothing():
    vectorizer = CountVectorizer().partial_fit(["aa bb"])
    for batch in (["cc", None], "cc", ["cc", b"\xff"]):
        with pytest.raises(ValueError, match=r"document|string"):
            vectorizer.partial_fit(batch)
        assert vectorizer.vocabulary_ == {"aa": 0, "bb": 1}


def test_importing_the_package_or_its_text_loads_no_scikit_learn():
    program = (
        "import sys, tallybayes, tallybayes.text, tallybayes.tokens; "
        "assert 'sklearn' not in sys.modules and 'pyarrow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


counts = arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.integers(1, 5)),
    elements=st.integers(0, 4).map(float),
)


def by_the_paper(d, tf, idf, length_normalize):
    """Steps 1 to 3 of table 4, written out; d has a row a document."""
    if tf:
        d = np.log(d + 1.0)
    if idf:
        holding = (d > 0.0).sum(axis=0)
        d = d * np.array([np.log(len(d) / n) if n else 0.0 for n in holding])
    if length_normalize:
        length = np.sqrt((d**2).sum(axis=1, keepdims=True))
        d = np.divide(d, length, out=np.zeros_like(d), where=length > 0.0)
    return d


@given(counts, st.sampled_from(["log", None]), st.booleans(), st.booleans())
def test_the_equations_of_the_paper(d, tf, idf, length_normalize):
    weighting = TermWeighting(tf=tf, idf=idf, length_normalize=length_normalize)
    expected = by_the_paper(d, tf, idf, length_normalize)
    before = d.copy()
    np.testing.assert_allclose(weighting.fit_transform(d), expected, atol=1e-12)
    assert (d == before).all()
    for kind in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array):
        found = weighting.fit(kind(d)).transform(kind(d))
        assert isinstance(found, sp.sparray) == issubclass(kind, sp.sparray)
        assert found.format == "csr"
        np.testing.assert_allclose(found.toarray(), expected, atol=1e-12)


def test_names_stay():
    names = np.array(["b", "a"], dtype=object)
    assert TermWeighting().fit([[1, 0], [0, 2]]).get_feature_names_out(names).tolist() == ["b", "a"]


@pytest.mark.parametrize(
    "options", [{}, {"tf": None, "idf": False}, {"length_normalize": False}], ids=str
)
def test_scikit_learns_checks(options):
    check_estimator(TermWeighting(**options), on_skip=None)


@pytest.mark.parametrize("wrong", [[[-1.0, 0.0]], [[np.nan, 1.0]], [[np.inf, 1.0]]], ids=str)
def test_what_is_no_count_is_refused(wrong):
    weighting = TermWeighting().fit([[1, 0], [0, 2]])
    for learn in (weighting.fit, weighting.transform):
        with pytest.raises(ValueError, match=r"[Nn]egative|NaN|infinity"):
            learn(wrong)
