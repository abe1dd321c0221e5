"""Counts of terms: the group, joins by name and place, and what is dropped."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.inputs import word_rows
from tallybayes.errors import IncompatibleTallies, NegativeTally
from tallybayes.tally import TermCounts, TextCounts
from tallybayes.tally.terms import places_of_terms, term_array, terms_ascend, union_of_terms
from tallybayes.testing import laws

LONG = ["a term of more than 15 bytes", "a term of more than that", "語" * 9, "z" * 300]
WORDS = ["", "a", "ab", "b", "straße", "語", "\U0001f600", "a\0", "a\0b", "\0", "\0 \0", *LONG]
TERMS = st.text("aé\0 語", max_size=24)
documents = st.lists(
    st.tuples(st.sets(st.sampled_from(WORDS)), st.sampled_from(["x", "yy", "z"])), max_size=8
)
whole = st.integers(-3, 3).map(float)


def counted(some, weights=None, values=None):
    """The tally of documents that are pairs of a set of words and a label."""
    labels = sorted({label for _, label in some})
    terms, indptr, places = word_rows([words for words, _ in some])
    return TermCounts.counted(
        terms,
        np.array(labels, dtype="U2"),
        indptr,
        places,
        np.array([labels.index(label) for _, label in some], dtype=np.int32),
        weights,
        values,
    )


@st.composite
def tallies(draw, count):
    """Tallies with whole weights, negative ones among them."""
    return [draw(documents.map(counted)) - draw(documents.map(counted)) for _ in range(count)]


@given(tallies(3), whole, whole)
def test_the_laws_of_a_group(abc, v, w):
    laws.check_every_law(*abc, v=v, w=w)


@given(documents, st.integers(0, 8), st.randoms(use_true_random=False))
def test_parts_in_any_order_add_up_to_the_whole(some, cut, random):
    whole = counted(some)
    random.shuffle(some)
    assert counted(some[:cut]) + counted(some[cut:]) == whole


@given(documents)
def test_counts_are_those_of_a_loop(some):
    tally = counted(some)
    for t, term in enumerate(tally.terms.tolist()):
        for k, label in enumerate(tally.labels.tolist()):
            pairs = slice(tally.start[t], tally.start[t + 1])
            found = tally.counts[pairs][tally.classes[pairs] == k].sum()
            assert found == sum(term in words and label == own for words, own in some)
    assert dict(zip(tally.labels.tolist(), tally.documents.tolist(), strict=True)) == {
        label: float(sum(own == label for _, own in some)) for label in {own for _, own in some}
    }


def test_what_falls_to_zero_goes():
    rest = counted([({"a", "b"}, "x"), ({"b"}, "yy")]) - counted([({"a", "b"}, "x")])
    assert rest.terms.tolist() == ["b"]
    assert rest.labels.tolist() == ["yy"]
    assert rest == counted([({"b"}, "yy")])


def test_what_rounding_leaves_goes():
    one, three = counted([({"a"}, "x")]), counted([({"a"}, "x")] * 3)
    assert (0.1 * three - 0.1 * one - 0.1 * one - 0.1 * one).n_terms == 0


@pytest.mark.parametrize("taken", [({"a"}, "yy"), ({"c"}, "x")])
def test_more_than_was_counted_is_refused(taken):
    rest = counted([({"a", "b"}, "x"), ({"b"}, "x")]) - counted([taken])
    with pytest.raises(NegativeTally, match=r"forget.*than were counted"):
        rest.need_non_negative("forget")


def test_names_and_buckets_do_not_add():
    named = counted([({"a"}, "x")])
    hashed = TermCounts(np.array([3]), *list(named.arrays().values())[1:])
    laws.law_refuses(named, hashed)
    with pytest.raises(IncompatibleTallies, match="hash bucket"):
        _ = named + hashed


def test_memory_grows_with_the_pairs_that_were_seen():
    """200,000 terms and 1,000 classes: a dense table would take 1.6 GB."""
    n = 200_000
    tally = TermCounts.counted(
        np.arange(n),
        np.arange(1000),
        np.arange(n + 1),
        np.arange(n, dtype=np.int32),
        (np.arange(n) % 1000).astype(np.int32),
    )
    assert sum(array.nbytes for array in tally.arrays().values()) < 10_000_000
    assert (tally + tally).counts.tolist() == [2.0] * n


@given(st.sets(TERMS, max_size=200), st.sets(TERMS, max_size=200))
def test_terms_of_any_length_and_with_nul_are_found_and_joined(held, others):
    a, b = sorted(held), sorted(others)
    expected = [a.index(term) if term in held else -1 for term in b]
    assert places_of_terms(term_array(a), term_array(b)).tolist() == expected
    joined = union_of_terms(term_array(a), term_array(b))
    assert joined.tolist() == sorted(held | others)
    assert terms_ascend(joined)
    assert terms_ascend(joined[::-1]) == (len(joined) < 2)


def buckets(given):
    return np.array(given, dtype=np.int32)


@pytest.mark.parametrize(("array", "terms"), [(term_array, TERMS), (buckets, st.integers(0, 30))])
@given(st.data())
def test_terms_are_found_in_any_order_and_more_than_once(array, terms, data):
    held, asked = (data.draw(some(terms, max_size=20)) for some in (st.sets, st.lists))
    places = places_of_terms(array(sorted(held)), array(asked)).tolist()
    assert [sorted(held).index(t) if t in held else -1 for t in asked] == places


def test_few_terms_are_found_among_many():
    held = sorted(
        {f"{kind} {i}" for i in range(300) for kind in ("short", "of many letters\0", "\0")}
    )
    for place, term in enumerate(held):
        assert places_of_terms(term_array(held), term_array([term, term + "!"])).tolist() == [
            place,
            -1,
        ]


# ---- sums ----------------------------------------------------------------------------------------
@st.composite
def summed(draw, signed=False):
    """A tally with sums of whole values beside its counts."""
    some = draw(documents)
    values = draw(st.lists(st.integers(1, 4), min_size=200, max_size=200))
    n = sum(len(words) for words, _ in some)
    tally = counted(some, values=np.array(values[:n], dtype=np.float64))
    return tally - draw(summed()) if signed else tally


@given(summed(signed=True), summed(signed=True), summed(), whole, whole)
def test_sums_are_a_group_as_well(a, b, c, v, w):
    laws.check_every_law(a, b, c, v=v, w=w)


def test_tallies_with_and_without_sums_do_not_add():
    one = counted([({"a"}, "x")])
    with pytest.raises(IncompatibleTallies, match="sums of values"):
        _ = one + TermCounts(*list(one.arrays().values()), sums=np.array([2.0]))


# ---- pruning -------------------------------------------------------------------------------------
batches = st.lists(st.tuples(documents, st.sampled_from([0, 2, 3])), min_size=1, max_size=4)


def frequencies(tally):
    return dict(zip(tally.terms.tolist(), tally.frequency.tolist(), strict=True))


def need_bound(tally, exact):
    """What is counted is at most the truth, and at least the truth less the bound."""
    found, true = frequencies(tally), frequencies(exact)
    assert all(0.0 < n <= true[term] for term, n in found.items())
    assert all(n <= found.get(term, 0.0) + tally.pruned for term, n in true.items())
    assert (tally.counts > 0.0).all()
    held = dict(zip(exact.labels.tolist(), exact.documents.tolist(), strict=True))
    assert dict(zip(tally.labels.tolist(), tally.documents.tolist(), strict=True)) == held


@given(batches, st.randoms(use_true_random=False))
def test_pruned_and_merged_in_any_order_counts_are_within_the_bound(parts, random):
    exact, found = counted([]), counted([])
    for some, least in parts:
        exact, part = exact + counted(some), counted(some)
        if random.random() < 0.5:
            part, least = part.prune(least), 0
        found = (found + part if random.random() < 0.5 else part + found).prune(least)
        need_bound(found, exact)


@given(batches, st.randoms(use_true_random=False))
def test_documents_are_forgotten_whether_or_not_their_terms_were_pruned(parts, random):
    exact, found, all_of_them = counted([]), counted([]), []
    for some, least in parts:
        exact, found = exact + counted(some), (found + counted(some)).prune(least)
        all_of_them += some
    random.shuffle(all_of_them)
    for document in all_of_them:
        exact, found = exact - counted([document]), found.less(counted([document]), "forget")
        need_bound(found, exact)
    assert found.n_classes == 0


@given(st.integers(1, 6), st.lists(documents, min_size=1, max_size=6))
def test_pruning_by_2_after_each_batch_is_lossy_counting(repeat, parts):
    """Each term is counted at most one document short for each batch."""
    found = counted([])
    for some in parts:
        found = (found + counted(some)).prune(2)
    assert found.pruned <= len(parts)


def test_pruning_by_nothing_and_by_too_much():
    tally = counted([({"a", "b"}, "x"), ({"b"}, "yy")])
    assert tally.prune(1) is tally
    rest = tally.prune(100)
    assert rest.n_terms == 0
    assert rest.pruned == 2.0
    assert rest.documents.tolist() == [1.0, 1.0]
    assert tally.prune(2).terms.tolist() == ["b"]
    with pytest.raises(NegativeTally, match="more documents of class 'x'"):
        tally.prune(2).less(counted([({"a"}, "x")] * 2), "forget")
    held = counted([({"b"}, "x")] * 5 + [({"a"}, "x")]).prune(2)
    assert held.less(counted([({"c"}, "x")]), "forget").documents.tolist() == [5.0]
    with pytest.raises(NegativeTally, match="with the term 'c'"):
        held.less(counted([({"c"}, "x")] * 2), "forget")


FEW_WORDS = ["", "a", "ab", "b", "straße", "語"]
of_column = st.lists(st.tuples(st.sets(st.sampled_from(FEW_WORDS)), st.integers(0, 2)), max_size=8)


def counted_by_place(some, n_classes=3):
    """The tally of documents that are pairs of a set of words and a class."""
    return TextCounts.counted(
        *word_rows([words for words, _ in some]),
        np.array([k for _, k in some], dtype=np.int32),
        n_classes,
    )


@st.composite
def tallies_of_column(draw, count):
    """Tallies with whole weights, negative ones among them."""
    return [
        draw(of_column.map(counted_by_place)) - draw(of_column.map(counted_by_place))
        for _ in range(count)
    ]


@given(tallies_of_column(3), whole, whole)
def test_the_laws_of_a_group_and_of_its_classes(abc, v, w):
    laws.check_every_law(*abc, v=v, w=w)
    laws.law_weighting(abc[0], np.array([1.0, v, w]))


@given(of_column, st.permutations(range(3)))
def test_classes_move_with_their_documents(some, places):
    moved = counted_by_place(some).place(np.array(places), 5)
    assert moved == counted_by_place([(words, places[k]) for words, k in some], 5)


@given(of_column)
def test_all_classes_pooled_hold_every_document(some):
    pooled = counted_by_place(some).pooled()
    assert pooled == counted_by_place([(words, 0) for words, _ in some], 1)


def test_more_than_was_counted_is_shown_with_its_term():
    rest = counted_by_place([({"a"}, 1), ({"b"}, 1)]) - counted_by_place([({"a", "b"}, 1)])
    assert rest.deficit() is None
    rest = rest - counted_by_place([({"a"}, 1)])
    assert rest.deficit() == (1, 0, "-1 documents that hold the term 'a'")
