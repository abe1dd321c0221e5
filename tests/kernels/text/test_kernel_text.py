"""The text kernel against Python's re and str.lower, for every code point and for hostile text."""

import os
import re
import unicodedata
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import tokens as twin
from tallybayes import _kernels
from tallybayes.tokens import CJK, MARKS, WORDS, compiled_rules, count_hashed, count_vocabulary

PATTERNS = {"words": WORDS, "marks": MARKS, "cjk": CJK}
# what sanitizers look for is not another in each character
STEP = 16 if "SANITIZED_KERNELS" in os.environ else 1
EVERY = [chr(c) for c in range(0, 0x110000, STEP) if not 0xD800 <= c < 0xE000]
HOSTILE = "aZ_0 \0\x1c\x85\xa0'.:ΣσςİIıßẞȺÅé\u0301\u0345\u00ad\u200dK가一々ー𠀀😀🏽\U0010ffff ﷺﬁ"
DOCUMENTS = st.lists(
    st.text(st.sampled_from(HOSTILE) | st.characters(exclude_categories=["Cs"]), max_size=40)
    | st.integers(50, 200).map(lambda n: ("word " * n)[:n] + "é" + "b" * n),
    max_size=8,
)


def rules(pattern=WORDS, analyzer="word", lowercase=True, strip=None, ngrams=(1, 1)):
    analyzer = "cjk" if pattern == CJK else analyzer
    made = compiled_rules(
        analyzer, pattern, lowercase=lowercase, strip_accents=strip, ngram_range=ngrams
    )
    assert made is not None
    return made


def dense(rows, columns):
    pointers, indices, counts = rows
    out = np.zeros((len(pointers) - 1, columns), dtype=np.int64)
    for i in range(len(pointers) - 1):
        row = slice(pointers[i], pointers[i + 1])
        assert np.all(np.diff(indices[row]) > 0)
        out[i, indices[row]] = counts[row]
    return out.tolist()


def counted(documents, kernel_rules, **options):
    terms, rows = count_vocabulary(kernel_rules, documents, **options)
    return terms.strings(), dense(rows, len(terms))


def folded(texts, **options):
    return rules(**options).fold(_kernels.TextDocuments(texts))


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_every_code_point_is_in_a_word_where_re_says_so(pattern):
    # alone, and twice between letters, in separate documents: nothing around it can hide it
    texts = [
        "\n".join(f"{c} a{c}{c}b" for c in EVERY[i : i + 4096]) for i in range(0, len(EVERY), 4096)
    ]
    terms, rows = count_vocabulary(rules(pattern, lowercase=False), texts)
    found = Counter(token for text in texts for token in re.findall(pattern, text))
    assert terms.strings() == sorted(found)
    assert np.bincount(rows[1], rows[2]).tolist() == [found[term] for term in terms.strings()]


def test_lower_case_of_every_code_point_is_that_of_str_lower():
    assert folded(EVERY) == [c.lower() for c in EVERY]
    assert folded(EVERY, lowercase=False) == EVERY


def test_a_sigma_is_final_after_and_before_every_code_point_as_in_str_lower():
    shapes = ["{}Σ", "A{}Σ", "AΣ{}", "AΣ{}A", "A{}ΣA"]
    texts = ["\n".join(shape.format(c) for c in EVERY) for shape in shapes]
    assert folded(texts) == [text.lower() for text in texts]


@pytest.mark.parametrize("strip", ["ascii", "unicode"])
@pytest.mark.parametrize("lowercase", [True, False])
def test_accents_of_every_code_point_are_those_of_nfkd(strip, lowercase):
    def stripped(c):
        text = unicodedata.normalize("NFKD", c.lower() if lowercase else c)
        if strip == "ascii":
            return text.encode("ascii", "ignore").decode()
        return "".join(x for x in text if not unicodedata.combining(x))

    ours = folded(EVERY, strip=strip, lowercase=lowercase)
    assert ours == [stripped(c) for c in EVERY]


@given(DOCUMENTS)
def test_lower_case_of_text_is_that_of_str_lower(texts):
    assert folded(texts) == [text.lower() for text in texts]


@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2), (2, 3), (3, 3)])
@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
@given(documents=DOCUMENTS)
def test_terms_and_counts_are_those_of_the_twin(pattern, ngrams, documents):
    expected = [twin.ngrams(twin.tokens(d, pattern), *ngrams) for d in documents]
    ours = counted(documents, rules(pattern, ngrams=ngrams))
    vocabulary, counts = twin.count_terms(expected)
    assert ours == (vocabulary, counts)


@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
@given(documents=DOCUMENTS, ngrams=st.sampled_from([(1, 2), (2, 3)]))
def test_frequencies_are_those_of_the_rows(analyzer, documents, ngrams):
    seen = []

    def all_of_them(frequencies, n_documents):
        assert n_documents == len(documents)
        seen.append(frequencies)
        return np.ones(len(frequencies.documents), dtype=bool)

    made = rules(MARKS, analyzer, ngrams=ngrams)
    terms, (_, indices, counts) = count_vocabulary(made, documents, choose=all_of_them)
    assert seen[0].documents.tolist() == np.bincount(indices, minlength=len(terms)).tolist()
    assert seen[0].occurrences.tolist() == np.bincount(indices, counts, len(terms)).tolist()


@given(DOCUMENTS, st.sampled_from([1, 7, 1000, 2**20]))
def test_hashed_columns_are_those_of_the_twin(documents, buckets):
    pointers, indices, counts = count_hashed(rules(MARKS, ngrams=(1, 2)), documents, buckets)
    for (i, j), document in zip(pairwise(pointers), documents, strict=True):
        found = twin.tokens(document, MARKS)
        grams = [[token] for token in found] + list(pairwise(found))
        expected = Counter(twin.bucket_of(twin.hash_of_gram(gram), buckets) for gram in grams)
        assert list(zip(indices[i:j], counts[i:j], strict=True)) == sorted(expected.items())


@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
@given(documents=st.lists(st.binary(max_size=200), max_size=6))
def test_any_bytes_are_counted_or_refused_by_number(analyzer, documents):
    growing = _kernels.GrowingVocabulary(rules(MARKS, analyzer, ngrams=(1, 3)), [])
    fault = growing.add(_kernels.TextDocuments(documents), 2)
    valid = []
    for document in documents:
        try:
            document.decode()
            valid.append(True)
        except UnicodeDecodeError:
            valid.append(False)
    assert fault == (-1 if all(valid) else valid.index(False))


def joined(terms):
    """Strings as one text and the end of each."""
    encoded = [term.encode() if isinstance(term, str) else term for term in terms]
    ends = np.cumsum([0, *map(len, encoded)])
    return np.frombuffer(b"".join(encoded), np.uint8), ends


@given(st.lists(st.text(max_size=40)))
def test_terms_become_numpys_strings(terms):
    found = np.empty(len(terms), dtype=np.dtypes.StringDType())
    _kernels.write_terms(*joined(terms), found)
    assert found.tolist() == terms
    copied = found.copy()
    del found
    assert copied.tolist() == terms
    assert np.sort(copied).tolist() == sorted(terms) or "\0" in "".join(terms)


@pytest.mark.parametrize("bad", [b"\xff", b"abc\xc3", b"\xed\xa0\x80", b"\xc3\xa9"[:1] + b"x"])
def test_terms_that_are_not_utf8_do_not_become_strings(bad):
    found = np.empty(2, dtype=np.dtypes.StringDType())
    with pytest.raises(ValueError, match="not UTF-8"):
        _kernels.write_terms(*joined(["good", bad]), found)


@pytest.mark.parametrize(
    "out",
    [
        np.empty(2, dtype=object),
        np.empty(2, dtype="U9"),
        np.empty(3, dtype=np.dtypes.StringDType()),
        np.empty((2, 1), dtype=np.dtypes.StringDType()),
        np.empty(4, dtype=np.dtypes.StringDType())[::2],
        ["", ""],
    ],
    ids=["object", "U", "longer", "table", "strided", "list"],
)
def test_terms_are_written_to_new_arrays_of_strings_only(out):
    with pytest.raises((TypeError, ValueError), match="out must be"):
        _kernels.write_terms(*joined(["one", "two"]), out)


@given(st.integers(0, 2**32 - 1))
def test_mutated_utf8_is_refused_exactly_where_python_refuses_it(seed):
    rng = np.random.default_rng(seed)
    data = bytearray(HOSTILE.encode() * 4)
    for _ in range(rng.integers(1, 4)):
        data[rng.integers(len(data))] = rng.integers(256)
    document = bytes(data[: rng.integers(len(data))])
    fault = _kernels.GrowingVocabulary(rules(), []).add(_kernels.TextDocuments([document]), 1)
    try:
        document.decode()
    except UnicodeDecodeError:
        assert fault == 0
    else:
        assert fault == -1


@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
def test_the_number_of_threads_leaves_no_trace(analyzer):
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}é" if i % 3 else f"long_word_{i}" for i in range(3000)])
    documents = [" ".join(words[rng.zipf(1.3, 400) % 3000]) for _ in range(400)]
    made = rules(MARKS, analyzer, ngrams=(1, 2))
    results = []
    for threads in (1, 3):
        terms, rows = count_vocabulary(made, documents, threads=threads)
        results.append([terms.text, terms.end, *rows])
        results[-1] += count_hashed(made, documents, 1000, threads=threads)
    for one, three in zip(*results, strict=True):
        assert one.dtype == three.dtype
        assert np.array_equal(one, three)


def test_words_of_all_sizes_are_kept_apart():
    # keys are exact up to 7 bytes, and hashes from there on
    ends = ["", "a", "b", "é", "語"]
    documents = ["x" * n + end for n in range(1, 40) for end in ends]
    expected = twin.count_terms([twin.tokens(d, MARKS) for d in documents])
    assert counted(documents, rules(MARKS)) == tuple(expected)


def test_stop_words_are_left_out_before_pairs_are_made():
    documents = ["the cat and the extraordinary dog"]
    ours = counted(documents, rules(ngrams=(1, 2)), stop_words=["the", "extraordinary", ""])
    assert ours[0] == ["and", "and dog", "cat", "cat and", "dog"]


def test_batches_of_an_iterator_are_one_set_of_documents():
    documents = [f"word{i % 97} other{i % 11}" for i in range(10_000)]
    assert counted(iter(documents), rules(), threads=3) == counted(documents, rules())


@pytest.mark.parametrize("end", [[], [0, 2, 1], [-1, 1], [0, 9]])
def test_ends_of_terms_beyond_the_bytes_are_refused(end):
    text, ends = np.frombuffer(b"abc", np.uint8), np.array(end, dtype=np.int64)
    with pytest.raises(ValueError, match="terms"):
        _kernels.terms_ascend(text, ends)
    with pytest.raises(ValueError, match="terms"):
        _kernels.term_places(text, ends, text, np.array([0, 3]))


def test_terms_are_read_from_arrays_of_strings_alone():
    for wrong in (np.array(["a"]), np.array([1]), np.zeros((1, 1), np.dtypes.StringDType())):
        with pytest.raises(ValueError, match="StringDType"):
            _kernels.read_terms(wrong)
    with pytest.raises(TypeError):
        _kernels.read_terms(["a"])
    missing = np.array(["a", None], dtype=np.dtypes.StringDType(na_object=None))
    with pytest.raises(ValueError, match="missing"):
        _kernels.read_terms(missing)
