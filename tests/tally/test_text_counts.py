"""The tally of a column of text: the group, classes by their places, and what is dropped."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reference.inputs import word_rows
from tallybayes.tally import TextCounts
from tallybayes.testing import laws

WORDS = ["", "a", "ab", "b", "straße", "語"]
documents = st.lists(st.tuples(st.sets(st.sampled_from(WORDS)), st.integers(0, 2)), max_size=8)
whole = st.integers(-3, 3).map(float)


def counted(some, n_classes=3):
    """The tally of documents that are pairs of a set of words and a class."""
    return TextCounts.counted(
        *word_rows([words for words, _ in some]),
        np.array([k for _, k in some], dtype=np.int32),
        n_classes,
    )


@st.composite
def tallies(draw, count):
    """Tallies with whole weights, negative ones among them."""
    return [draw(documents.map(counted)) - draw(documents.map(counted)) for _ in range(count)]


@given(tallies(3), whole, whole)
def test_the_laws_of_a_group_and_of_its_classes(abc, v, w):
    laws.check_every_law(*abc, v=v, w=w)
    laws.law_weighting(abc[0], np.array([1.0, v, w]))


@given(documents, st.permutations(range(3)))
def test_classes_move_with_their_documents(some, places):
    moved = counted(some).place(np.array(places), 5)
    assert moved == counted([(words, places[k]) for words, k in some], 5)


@given(documents)
def test_all_classes_pooled_hold_every_document(some):
    pooled = counted(some).pooled()
    assert pooled == counted([(words, 0) for words, _ in some], 1)


def test_more_than_was_counted_is_shown_with_its_term():
    rest = counted([({"a"}, 1), ({"b"}, 1)]) - counted([({"a", "b"}, 1)])
    assert rest.deficit() is None
    rest = rest - counted([({"a"}, 1)])
    assert rest.deficit() == (1, 0, "-1 documents that hold the term 'a'")
