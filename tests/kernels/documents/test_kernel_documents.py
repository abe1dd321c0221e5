"""The kernels for documents, beside their slow twins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.documents import dense_counts, documents_of, hashes, ratio_sums, table_of, tfidf
from tallybayes import _kernels, set_num_threads
from tallybayes.weighted.ridge import Features, TfidfColumns


@st.composite
def cases(draw):
    """Counts of terms in documents, labels, n-gram orders; terms that nobody has among them."""
    n, d, k = draw(st.integers(1, 12)), draw(st.integers(1, 9)), draw(st.integers(1, 13))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    counts = random.poisson(draw(st.sampled_from([0.0, 0.3, 1.5])), (n, d))
    return counts, random.integers(0, k, n).astype(np.int32), k, random.integers(0, 2, d)


def counted(documents, y, k, threads=1):
    rows = documents.indptr, documents.terms, y, None, None
    return _kernels.count_terms(*rows, documents.n_terms, k, threads)[:3]


@given(cases())
def test_counts_are_those_of_a_dense_table(case):
    counts, y, k, _ = case
    start, classes, found = counted(documents_of(counts), y, k)
    dense = dense_counts(counts, y, k)
    terms = np.repeat(np.arange(counts.shape[1]), np.diff(start))
    assert (np.diff(terms * k + classes) > 0).all()
    assert found.tolist() == dense[terms, classes].tolist()
    assert found.sum() == dense.sum()


@given(cases(), st.integers(0, 2**64 - 1), st.sampled_from([1, 3]))
def test_hashes_are_those_of_pythons_whole_numbers(case, salt, threads):
    documents = documents_of(case[0] * 1000)
    found = np.empty(len(documents), dtype=np.uint64)
    rows = documents.indptr, documents.terms, documents.counts
    _kernels.document_hashes(*rows, salt, found, threads)
    assert found.tolist() == hashes(documents, salt)


@given(cases(), st.sampled_from([0.1, 3.0]))
def test_sums_are_those_of_dense_ratios(case, tau):
    counts, y, k, order = case
    N = dense_counts(counts, y, k)
    table = table_of(N, np.bincount(y, minlength=k).astype(float), order)
    share = np.full(k, 1.0 / k)
    documents = documents_of(counts)
    found = table.sums(documents, documents.tf, tau, share)
    expected = ratio_sums(counts, N, order, tau, share)
    np.testing.assert_allclose(found[:, :, : expected.shape[2]], expected, atol=1e-5)


@given(cases(), st.sampled_from([0.1, 3.0]))
def test_a_document_is_left_out_as_if_it_was_never_counted(case, tau):
    counts, y, k, order = case
    N = dense_counts(counts, y, k)
    table = table_of(N, np.bincount(y, minlength=k).astype(float), order)
    share = table.share("docs")
    documents = documents_of(counts)
    found = table.sums(documents, documents.tf, tau, share, y)
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        rest = dense_counts(counts[others], y[others], k)
        again = table_of(rest, table.documents, order)
        one = documents.take(np.array([i]))
        wide = np.zeros_like(found[0])
        sums = again.sums(one, one.tf, tau, share)[0]
        wide[:, : sums.shape[1]] = sums
        np.testing.assert_allclose(found[i], wide, rtol=0, atol=1e-12 * (1 + np.abs(wide).max()))


@given(cases(), st.sampled_from([0.1, 3.0]))
def test_terms_of_one_document_say_nothing_where_it_is_left_out(case, tau):
    counts, y, k, order = case
    N = dense_counts(counts, y, k)
    table = table_of(N, np.bincount(y, minlength=k).astype(float), order)
    documents = documents_of(counts)
    few, reduced = table.of_several(documents)
    assert few.n_terms == (N.sum(axis=1) > 1).sum()
    assert (np.diff(few.frequency) <= 0).all()
    for kind in ("docs", "mass"):
        share = table.share(kind)
        assert few.share(kind).tobytes() == share.tobytes()
        whole = table.sums(documents, documents.tf, tau, share, y)
        assert few.sums(reduced, reduced.tf, tau, share, y).tobytes() == whole.tobytes()


@given(cases(), st.integers(1, 13))
def test_the_product_with_the_gram_matrix(case, n):
    counts, *_ = case
    documents = documents_of(counts)
    features = Features.of((counts > 0).sum(axis=0).astype(float), len(counts), 100)
    columns = TfidfColumns.of(documents, documents.tf, features)
    X = tfidf(counts, features.column, features.idf)
    a = np.random.default_rng(0).normal(size=(len(counts), n)).astype(np.float32)
    np.testing.assert_allclose(columns.coefficients(a), X.T @ a, atol=1e-4)
    np.testing.assert_allclose(columns.gram(a), X @ (X.T @ a), atol=1e-4)


def scorer(case, u_classes):
    counts, y, k, _ = case
    random = np.random.default_rng(1)
    N = dense_counts(counts, y, k)
    table = table_of(N, np.bincount(y, minlength=k).astype(float), np.zeros(len(N)))
    column = np.where(random.random(len(N)) < 0.5, -1, 0)
    column[column == 0] = np.arange((column == 0).sum())
    parts = {
        "pair": random.normal(size=len(table.counts)),
        "expected": random.normal(size=(3, k)),
        "row": random.integers(0, 3, len(N)).astype(np.int32),
        "column": column.astype(np.int32),
        "idf": random.random(len(N)),
        "u": random.normal(size=(int(column.max()) + 1, u_classes)).astype(np.float32),
        "intercept": random.normal(size=k),
    }
    compiled = _kernels.DocumentScorer(
        table.start, table.classes, *parts.values(), mean_length=2.0, power=0.5
    )
    return table, parts, compiled


@given(cases())
def test_scores_and_what_they_are_made_of(case):
    counts, _, k, _ = case
    documents = documents_of(counts)
    table, parts, compiled = scorer(case, 1 if k == 2 else k)
    tf = np.log1p(counts)
    W = parts["expected"][parts["row"]].copy()
    np.add.at(W, (np.repeat(np.arange(len(W)), np.diff(table.start)), table.classes), parts["pair"])
    length = np.where(tf.sum(axis=1) > 0, tf.sum(axis=1), 2.0)
    u = parts["u"].astype(float)
    u = np.concatenate([-u / 2, u / 2], axis=1) if k == 2 else u
    expected = parts["intercept"] + (length / 2.0)[:, None] ** -0.5 * (tf @ W)
    expected += tfidf(counts, parts["column"], parts["idf"]) @ u
    found = np.empty((len(counts), k))
    compiled.joint(documents.indptr, documents.terms, documents.tf, found, 1)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    terms = np.empty((len(documents.terms), k))
    compiled.contributions(documents.indptr, documents.terms, documents.tf, terms)
    rows = np.repeat(np.arange(len(counts)), np.diff(documents.indptr))
    again = np.tile(parts["intercept"], (len(counts), 1))
    np.add.at(again, rows, terms)
    np.testing.assert_allclose(again, found, atol=1e-12)


@settings(max_examples=5)
@given(st.integers(0, 2**32 - 1))
def test_threads_change_no_bit(seed):
    random = np.random.default_rng(seed)
    counts = random.poisson(0.5, (700, 300))
    y = random.integers(0, 5, 700).astype(np.int32)
    documents = documents_of(counts)
    N = dense_counts(counts, y, 5)
    table = table_of(N, np.bincount(y).astype(float), np.zeros(300))
    features = Features.of(table.frequency, 700.0, 1000)
    columns = TfidfColumns.of(documents, documents.tf, features)
    a = random.normal(size=(700, 5)).astype(np.float32)
    found = []
    for threads in (1, 3):
        gram = np.empty_like(a)
        _kernels.gram_times(columns.start, columns.documents, columns.values, a, gram, threads)
        set_num_threads(threads)
        sums = table.sums(documents, documents.tf, 1.0, table.share("docs"), y)
        found.append((gram.tobytes(), sums.tobytes()))
    set_num_threads(None)
    assert found[0] == found[1]


@pytest.mark.parametrize("terms", [[0, 3], [-1, 0]])
def test_terms_out_of_range_are_refused(terms):
    indptr, y = np.array([0, 2]), np.zeros(1, dtype=np.int32)
    with pytest.raises((ValueError, IndexError), match="term is out of range"):
        _kernels.count_terms(indptr, np.array(terms, dtype=np.int32), y, None, None, 3, 1, 1)


@pytest.mark.parametrize("label", [-1, 3, 100])
@pytest.mark.parametrize("few", [False, True])  # classes of a term: pairs, or rows of all classes
def test_labels_out_of_range_are_refused(label, few):
    counts = np.array([[1], [0], [0]]) if few else np.ones((3, 1), dtype=int)
    documents, y = documents_of(counts), np.array([0, 1, 2], dtype=np.int32)
    N = dense_counts(counts, y, 3)
    table = table_of(N, np.ones(3), np.zeros(1))
    y[0] = label
    for weight in (None, np.ones(3)):
        with pytest.raises((ValueError, IndexError), match="label is out of range"):
            table.sums(documents, documents.tf, 1.0, table.share("docs"), y, weight)


@pytest.mark.parametrize("indptr", [[1, 2], [0, 3], [0, 2, 1, 2]])
def test_starts_that_are_none_are_refused(indptr):
    terms = np.zeros(2, dtype=np.int32)
    with pytest.raises(ValueError, match="starts"):
        _kernels.tfidf_columns(
            np.array(indptr), terms, np.ones(2, np.float32), np.zeros(1, np.int32), np.ones(1), 1
        )


@given(cases(), st.sampled_from([0.1, 3.0]), st.integers(0, 2**32 - 1), st.booleans())
def test_a_document_of_any_weight_is_left_out_whole(case, tau, seed, ones):
    counts, y, k, order = case
    random = np.random.default_rng(seed)
    weight = np.ones(len(y)) if ones else random.choice([0.25, 1.0, 2.5, 5.0], len(y))
    N = np.zeros((counts.shape[1], k))
    for i, own in enumerate(y):
        N[:, own] += weight[i] * (counts[i] > 0)
    table = table_of(N, np.bincount(y, weight, minlength=k), order)
    share = table.share("docs")
    documents = documents_of(counts)
    found = table.sums(documents, documents.tf, tau, share, y, weight)
    for i, own in enumerate(y):
        rest = N.copy()
        rest[:, own] -= weight[i] * (counts[i] > 0)
        expected = ratio_sums(counts[i : i + 1], rest, order, tau, share)
        np.testing.assert_allclose(found[i : i + 1, :, : expected.shape[2]], expected, atol=1e-5)
    if ones:
        plain = table.sums(documents, documents.tf, tau, share, y)
        np.testing.assert_allclose(found, plain, atol=1e-9)


@given(cases(), st.integers(0, 2**32 - 1), st.sampled_from([np.float64, np.int32]))
def test_sums_of_values_are_those_of_a_loop(case, seed, dtype):
    counts, y, k, _ = case
    random = np.random.default_rng(seed)
    weight = random.choice([0.5, 1.0, 3.0], len(y))
    documents = documents_of(counts)
    values = documents.counts.astype(dtype)
    rows, sizes = (documents.indptr, documents.terms, y), (counts.shape[1], k, 1)
    start, classes, weights, found = _kernels.count_terms(*rows, weight, values, *sizes)
    dense, held = np.zeros((2, counts.shape[1], k))
    for i, own in enumerate(y):
        dense[:, own] += weight[i] * counts[i]
        held[:, own] += weight[i] * (counts[i] > 0)
    terms = np.repeat(np.arange(counts.shape[1]), np.diff(start))
    assert found.tolist() == dense[terms, classes].tolist()
    assert weights.tolist() == held[terms, classes].tolist()
    plain = _kernels.count_terms(*rows, None, np.ones(len(values), dtype), *sizes)
    assert plain[3].tolist() == plain[2].tolist() == counted(documents, y, k)[2].tolist()


@pytest.mark.parametrize("ascending", [True, False])
def test_terms_of_many_blocks_are_counted_as_by_bincount(ascending):
    random = np.random.default_rng(5)
    n, d, k, size = 300, 200_000, 4, 400
    terms = np.stack([random.choice(d, size, replace=False) for _ in range(n)]).astype(np.int32)
    terms[:, :20] = np.arange(0, d, d // 20)  # held by every document
    terms = np.sort(terms, axis=1) if ascending else terms
    y, weight = random.integers(0, k, n).astype(np.int32), random.random(n)
    values = random.integers(1, 9, n * size).astype(np.int32)
    indptr = np.arange(0, n * size + 1, size)
    found = [
        _kernels.count_terms(indptr, terms.ravel(), y, weight, values, d, k, threads)
        for threads in (1, 3)
    ]
    for one, other in zip(*found, strict=True):
        assert one.tobytes() == other.tobytes()
    start, classes, counts, sums = found[0]
    cells = (terms * np.int64(k) + y[:, None]).ravel()
    held = np.unique(cells)
    assert np.array_equal(np.repeat(np.arange(d), np.diff(start)) * k + classes, held)
    by_class = np.argsort(np.repeat(y, size), kind="stable")  # the order in which they are added
    of_entries = np.repeat(weight, size)
    for got, added in ((counts, of_entries), (sums, of_entries * values)):
        expected = np.bincount(cells[by_class], added[by_class], d * k)[held]
        assert np.array_equal(got, expected)
