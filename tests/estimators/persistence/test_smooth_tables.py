"""Smooth functions in a model file: read back as they were, and refused where they do not fit."""

import copy

import numpy as np
import pytest

from estimators.cases import weights_in_a_file, weights_of_a_file
from tallybayes import WeightedNaiveBayes
from tallybayes.persistence import Unfit


@pytest.fixture(scope="module")
def held():
    """Header and arrays of a model with functions of pairs: six clouds of points, three labels."""
    rng = np.random.default_rng(0)
    centres, own = 2.0 * rng.normal(size=(24, 4)), rng.integers(0, 24, 600)
    X = centres[own] + 0.5 * rng.normal(size=(600, 4))
    weighting = WeightedNaiveBayes().fit(X, own % 3)._model.chosen.weighting
    assert len(weighting.learned.smooth.pairs) == 6
    return weights_in_a_file(weighting)


@pytest.fixture
def copied(held):
    header, arrays = held
    return copy.deepcopy(header), dict(arrays)


def test_functions_are_read_as_they_were_written(held):
    again = weights_in_a_file(weights_of_a_file(*held))
    assert again[0] == held[0]
    assert again[1].keys() == held[1].keys()
    assert all(np.array_equal(again[1][name], array) for name, array in held[1].items())


def test_files_without_functions_have_none(copied):
    header, arrays = copied
    header["parts"], kept = header["parts"][-1:], f"part{len(header['parts']) - 1}."
    del header["smooth"]
    arrays = {name.replace(kept, "part0."): a for name, a in arrays.items() if "smooth" not in name}
    arrays["weighting.shares"] = np.ones(1)
    arrays["weighting.apart"] = arrays["weighting.apart"][: 4 + len(header["parts"][0]["pairs"])]
    assert weights_of_a_file(header, arrays).learned.smooth is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda smooth: smooth.update(share=0.1), "shares sum to 1"),
        (lambda smooth: smooth.update(share=-0.4), "share"),
        (lambda smooth: smooth.update(pairs=3), "pairs"),
        (lambda smooth: smooth["pairs"][0].pop(), "pairs"),
        (lambda smooth: smooth["pairs"][0].__setitem__(0, 1), "of two columns"),
        (lambda smooth: smooth["pairs"][0].__setitem__(0, 99), "pairs"),
        (lambda smooth: smooth["pairs"][0].__setitem__(2, 0), "pairs"),
        (lambda smooth: smooth["pairs"][0].__setitem__(2, 3), "smooth"),
        (lambda smooth: smooth["pairs"].append(smooth["pairs"][0]), "smooth"),
        (lambda smooth: smooth.pop("share"), "share"),
    ],
)
def test_headers_that_do_not_fit_are_refused(copied, change, said):
    header, arrays = copied
    change(header["smooth"])
    with pytest.raises(Unfit, match=said):
        weights_of_a_file(header, arrays)


def test_functions_are_never_all_of_a_model(copied):
    header, arrays = copied
    header["smooth"]["share"] = 1.0
    arrays["weighting.shares"] = np.zeros(len(header["parts"]))
    with pytest.raises(Unfit, match="share is below 1"):
        weights_of_a_file(header, arrays)


def test_a_pair_that_stands_twice_is_refused(copied):
    header, arrays = copied
    header["smooth"]["pairs"][1] = header["smooth"]["pairs"][0]
    for name in ("pair", "first", "second"):
        arrays[f"weighting.smooth.{name}1"] = arrays[f"weighting.smooth.{name}0"]
    with pytest.raises(Unfit, match="each two columns once"):
        weights_of_a_file(header, arrays)


@pytest.mark.parametrize("name", ["offset", "column2", "pair3", "first0", "second5"])
def test_arrays_that_are_missing_or_odd_are_refused(copied, name):
    header, arrays = copied
    key = f"weighting.smooth.{name}"
    whole = arrays.pop(key)
    for array in (None, whole[:-1], np.full_like(whole, 10**6), whole.astype("f4")):
        some = arrays if array is None else {**arrays, key: array}
        if name in {"offset", "column2", "pair3"} and array is not None and array.max() == 10**6:
            continue  # a number of nats that a file may hold
        with pytest.raises(Unfit, match="smooth"):
            weights_of_a_file(header, some)
    if whole.dtype == np.float64:
        with pytest.raises(Unfit, match="smooth"):
            weights_of_a_file(header, {**arrays, key: np.full_like(whole, np.nan)})
