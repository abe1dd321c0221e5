"""Random bytes, options and calls for the kernels of text and documents: whatever comes is counted
or refused by an exception, and ``make sanitize`` sees what a wrong read or write would do.

``FUZZ=100`` in the environment does a hundred times as much, ``FUZZ_SEED=7`` something else.
"""

import contextlib
import os
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from tallybayes import _kernels
from tallybayes.tokens import MARKS, WORDS, compiled_rules

LONGER, SEED = (int(os.environ.get(name, n)) for name, n in (("FUZZ", 1), ("FUZZ_SEED", 0)))
OPTIONS = list(
    product(
        [("word", WORDS), ("word", MARKS), ("cjk", None), ("char", None), ("char_wb", None)],
        [True, False],
        [None, "ascii", "unicode"],
        [(1, 1), (1, 2), (2, 3), (1, 7), (5, 2**31 - 1)],
    )
)
SPICE = (
    "aZ_0 \0\x1c\x85\xa0'.:ΣσςİIıßẞȺé\u0301\u00ad\u200dK가一々ー𠀀😀🏽\U0010ffff ﷺﬁ\n\t".encode()
)
REFUSED = (ValueError, IndexError, TypeError, AttributeError, MemoryError)
DTYPES = [np.int64, np.int32, np.float64, np.float32]


def some_bytes(rng):
    """A document: nothing, noise, words, hostile letters, or these with bytes exchanged or cut."""
    kind = rng.integers(6)
    if kind == 0:
        return b""
    if kind == 1:
        return rng.bytes(int(rng.integers(1, 80)))
    words = b" ".join(b"w%d" % i for i in rng.zipf(1.5, int(rng.integers(1, 60))))
    data = bytearray([words, SPICE, SPICE * 3, words + SPICE][rng.integers(4)])
    if kind > 3:
        for _ in range(rng.integers(1, 5)):
            data[rng.integers(len(data))] = rng.integers(256)
        data = data[: rng.integers(len(data) + 1)]
    return bytes(data)


def some_documents(rng, valid_only=False):
    found = [some_bytes(rng) for _ in range(rng.integers(0, 9))]
    if rng.random() < 0.7 or valid_only:
        found = [d.decode("utf-8", "ignore") for d in found]
    elif rng.random() < 0.2:
        found.append([None, 3, "\ud800", float("nan"), [b"x"]][rng.integers(5)])
    return found


def given_to_kernel(rng, documents):
    """Documents as a list, or sliced out of a column of Arrow with missing values."""
    if documents and all(isinstance(d, str) for d in documents) and rng.random() < 0.3:
        kind = [pa.string(), pa.large_string(), pa.string_view()][rng.integers(3)]
        column = pa.array(["before", None, *documents, "after"], kind)
        column = column[int(rng.integers(3)) :]
        return _kernels.TextDocuments.from_arrow(
            pa.chunked_array([column]).__arrow_c_stream__(None)
        )
    return _kernels.TextDocuments(documents)


def is_utf8(document):
    try:
        return isinstance(document, str) or bool(document.decode() or True)
    except UnicodeDecodeError:
        return False


def rows_of(counted, rng):
    end = counted.row_ends()
    indices = np.empty(end[-1], dtype=np.int32)
    counts = np.empty(end[-1], dtype=DTYPES[rng.integers(4)])
    counted.write(indices, counts, int(rng.integers(1, 4)))
    return end, indices, counts


def grow(rng, rules, stop_words):
    """A vocabulary of some batches, in the order of calls that is meant."""
    growing = _kernels.GrowingVocabulary(rules, stop_words)
    for _ in range(rng.integers(1, 4)):
        documents = [d for d in some_documents(rng) if isinstance(d, str | bytes)]
        documents = [d for d in documents if d != "\ud800"]
        fault = growing.add(_kernels.TextDocuments(documents), int(rng.integers(1, 4)))
        valid = [is_utf8(d) for d in documents]
        assert fault == (-1 if all(valid) else valid.index(False))
        if fault >= 0:
            with pytest.raises(ValueError, match="all read"):
                growing.sorted(1)
            return None
    text, end = growing.sorted(int(rng.integers(1, 4)))
    held, occurrences = growing.frequencies()
    terms = _kernels.decode_terms(text, end)
    assert terms == sorted(set(terms))
    strings = np.empty(len(terms), dtype=np.dtypes.StringDType())
    _kernels.write_terms(text, end, strings)
    assert strings.tolist() == terms
    column = np.arange(len(terms), dtype=np.int32)
    column[rng.random(len(terms)) < rng.random()] = -1
    ends = growing.row_ends(column, int(rng.integers(1, 4)))
    indices = np.empty(ends[-1], dtype=np.int32)
    counts = np.empty(ends[-1], dtype=np.int64)
    growing.write(ends, indices, counts, len(terms), int(rng.integers(1, 4)))
    kept = column >= 0
    assert np.bincount(indices, minlength=len(terms))[kept].tolist() == held[kept].tolist()
    assert counts.sum() == occurrences[kept].sum()
    return text, end


def misuse(rng, rules):
    """Calls of a vocabulary in any order, with arrays of any size."""
    growing = _kernels.GrowingVocabulary(rules, [some_bytes(rng)])
    ends = np.zeros(1, dtype=np.int64)
    for call in rng.integers(0, 5, 6).tolist():
        size = int(rng.integers(0, 12))
        try:
            if call == 0:
                growing.add(given_to_kernel(rng, some_documents(rng)), 2)
            elif call == 1:
                growing.sorted(2)
            elif call == 2:
                column = rng.integers(-2, 99, size).astype(np.int32)
                ends = growing.row_ends(column, 2)
            elif call == 3:
                growing.frequencies()
            else:
                room = int(ends[-1]) if rng.random() < 0.5 else size
                shifted = ends + rng.integers(0, 2, len(ends))
                indices, counts = np.empty(room, np.int32), np.empty(room, np.float32)
                growing.write(shifted, indices, counts, size - 1, 2)
        except REFUSED:
            pass
    with contextlib.suppress(REFUSED):  # whatever was called, its terms are those that it read
        text, ends = growing.sorted(2)
        terms = _kernels.decode_terms(text, ends)
        assert terms == sorted(set(terms))
        held, occurrences = growing.frequencies()
        assert len(held) == len(occurrences) == len(terms)
        assert ((held >= 1) & (occurrences >= held)).all()


def rules_of(option):
    (analyzer, pattern), lower, strip, ngrams = option
    return compiled_rules(
        analyzer, pattern, lowercase=lower, strip_accents=strip, ngram_range=ngrams
    )


def text_round(rng, rules):
    stop_words = [some_bytes(rng)[:9] for _ in range(rng.integers(0, 4))]
    found = grow(rng, rules, stop_words)
    misuse(rng, rules)
    documents = some_documents(rng)
    try:
        texts = given_to_kernel(rng, documents)
        if texts.refused >= 0:
            return
        rules.fold(texts)
    except REFUSED:
        pass
    else:
        rows_of(_kernels.hash_documents(rules, stop_words, int(rng.integers(1, 50)), texts, 2), rng)
    text, end = found if found is not None else (np.zeros(0, np.uint8), np.zeros(1, np.int64))
    if rng.random() < 0.3:  # terms of any bytes, or outside them
        text = np.frombuffer(some_bytes(rng), np.uint8)
        end = rng.integers(-1, len(text) + 2, rng.integers(0, 7)).astype(np.int64)
        end = np.sort(end) if rng.random() < 0.8 else end
    with contextlib.suppress(REFUSED):
        _kernels.decode_terms(text, end)
    try:
        vocabulary = _kernels.GivenVocabulary(rules, stop_words, text, end)
        counted = vocabulary.count(given_to_kernel(rng, some_documents(rng)), 2)
        if counted.fault < 0:
            _, indices, _ = rows_of(counted, rng)
            assert (indices < max(1, len(end) - 1)).all()
    except REFUSED:
        pass


def bent(rng, array):
    """An array, now and then with one number changed, one more, or one less."""
    if rng.random() > 0.15:
        return array
    array = array.copy()
    flat = array.reshape(-1)
    if rng.random() < 0.5 and flat.size:
        flat[rng.integers(flat.size)] = rng.choice([-2, -1, 0, 1, 7, 100])
        return array
    return flat[:-1].copy() if rng.random() < 0.5 else np.append(flat, flat[:1])


def documents_round(rng):
    n, d, k = (int(v) for v in rng.integers(0, 9, 3))
    sizes = rng.integers(0, 6, n) * (d > 0)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    terms = rng.integers(0, max(1, d), indptr[-1]).astype(np.int32)
    values = rng.random(len(terms)).astype(np.float32)
    y = rng.integers(0, max(1, k), n).astype(np.int32)

    def attempt(call, *arrays, into=None, right=True):
        """What the call returns or writes; None where it refuses, which needs a reason. What is
        computed of numbers that are right is a number."""
        given = [bent(rng, a) if isinstance(a, np.ndarray) else a for a in arrays]
        right = right and all(a is b for a, b in zip(arrays, given, strict=True))
        given += [] if into is None else [into, 2]
        try:
            found = call(*given)
        except REFUSED:
            assert not right, call
            return None
        if right and into is not None:
            assert np.isfinite(into).all(), call
        return found

    def empty(*shape, dtype=np.float64):
        return np.full(shape, np.nan if dtype != np.uint64 else 0, dtype=dtype)

    weights = rng.normal(size=n) if rng.random() < 0.5 else None
    some = [int(v) for v in (d + rng.integers(-1, 2), k + rng.integers(-1, 2))]
    summed = (None, values.astype(np.float64), np.ones(len(terms), dtype=np.int32))
    fits = min(some) >= 0 and (terms < some[0]).all() and (y < some[1]).all()
    for each in summed:
        found = attempt(_kernels.count_terms, indptr, terms, y, weights, each, *some, 2, right=fits)
        if found is not None and fits and weights is None:
            assert (found[2] >= 1.0).all()  # each pair of a term and a class was held
            assert len(found[1]) == len(found[2]) == found[0][-1]
    attempt(
        *(_kernels.document_hashes, indptr, terms, rng.integers(0, 9, len(terms)).astype(np.int32)),
        7,
        into=empty(n, dtype=np.uint64),
    )
    held = np.sort(rng.random((d, k)) < 0.5, axis=1)
    start = np.concatenate([[0], np.cumsum(held.sum(axis=1))]).astype(np.int64)
    classes = np.nonzero(held)[1].astype(np.int32)
    pair, own = rng.normal(size=(2, len(classes)))
    expected = rng.normal(size=(3, k))
    row = rng.integers(0, 3, d).astype(np.int32)
    bins = rng.integers(-1, 4, d).astype(np.int8)
    has = rng.random() < 0.5
    attempt(
        _kernels.document_sums,
        *(indptr, terms, values, y if has else None, start, classes, pair, own if has else None),
        *(expected, row, bins),
        into=empty(n, k, 4),
        right=not has or (y < k).all(),
    )
    of_an_order = int(rng.integers(0, 4))
    attempt(
        _kernels.document_sums_without,
        *(indptr, terms, values, y, rng.random(n), start, classes, np.abs(pair), rng.random(d)),
        *(np.abs(bins), rng.random(k), 0.1, of_an_order),
        into=empty(n, k, 4),
        right=(y < k).all() and of_an_order > 0 and (np.abs(bins) + of_an_order <= 4).all(),
    )
    column = rng.integers(-1, 3, d).astype(np.int32)
    idf, columns = rng.random(d), int(rng.integers(-1, 5))
    fits = columns >= 0 and (column < columns).all()
    found = attempt(_kernels.tfidf_columns, indptr, terms, values, column, idf, columns, right=fits)
    if found is not None:
        columns = len(found[0]) - 1
        D = rng.random((n, 2)).astype(np.float32)
        attempt(_kernels.gram_times, *found, D, into=empty(n, 2, dtype=np.float32), right=fits)
        into = empty(columns, 2, dtype=np.float32)
        attempt(_kernels.columns_times, *found, D, into=into, right=fits)
    u = rng.random((3, 1 if k == 2 and has else k)).astype(np.float32)
    scorer = attempt(
        _kernels.DocumentScorer,
        *(start, classes, pair, expected, row, column, idf, u, rng.normal(size=k)),
        *(float(rng.normal()), float(rng.random())),
    )
    if scorer is not None:
        attempt(scorer.joint, indptr, terms, values, into=empty(n, k), right=False)
        attempt(scorer.contributions, indptr, terms, values, np.empty((len(terms), k)))


@pytest.mark.parametrize("part", range(5))
def test_any_text_is_counted_or_refused(part):
    for number, option in enumerate(OPTIONS[part::5]):
        rng = np.random.default_rng([part, number, SEED])
        rules = rules_of(option)
        for _ in range(4 * LONGER):
            text_round(rng, rules)


@pytest.mark.parametrize("seed", range(4))
def test_any_arrays_of_documents_are_summed_or_refused(seed):
    rng = np.random.default_rng([seed, SEED])
    for _ in range(150 * LONGER):
        documents_round(rng)
