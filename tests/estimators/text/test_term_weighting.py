"""The transformer of counts: equations of the paper, and what scikit-learn asks of one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.utils.estimator_checks import check_estimator

from tallybayes.text import TermWeighting

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
