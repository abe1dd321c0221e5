"""The rules of a file are annotations: what fits each, and in which words anything else is
refused."""

import sys
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from tallybayes.persistence import (
    Ascending,
    Distinct,
    Shape,
    Unfit,
    Within,
    fit,
    flat,
    joined,
    nested,
    numbered,
)

Array = NDArray[np.float64]
SHARES = Annotated[Array, Shape("n", 2), Within(0.0, 1.0)]
EDGES = Annotated[Array, Shape(None), Ascending()]


@dataclass(frozen=True)
class Written:
    name: str
    size: Annotated[int, Within(1, 9)]
    kind: Literal["a", "b"] = "a"


class Row(NamedTuple):
    first: int
    second: float | None


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.12 has statements ``type``")
def test_an_alias_by_the_statement_type_stands_for_its_value():
    made: dict[str, Any] = {}
    exec("type Counts = list[int]\ntype Of[T] = dict[str, list[T]]", made)
    assert fit(made["Counts"], [1, 2], "it") == [1, 2]
    assert fit(made["Of"][float], {"a": [0.5]}, "it") == {"a": [0.5]}
    with pytest.raises(Unfit, match=r"it\['a'\]\[0\] is a whole number"):
        fit(made["Of"][int], {"a": [0.5]}, "it")


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (Any, object),
        (str, "a"),
        (bool, False),
        (int, -3),
        (float, 3),
        (float, 3.5),
        (float | None, None),
        (Literal["a"] | float, "a"),
        (Literal["a"] | float, 0.5),
        (list[int], []),
        (tuple[int, ...], (1, 2, 3)),
        (tuple[int, str], (1, "a")),
        (dict[str, list[int]], {"a": [1]}),
        (Distinct, ["a", "b"]),
        (Annotated[float, Within(above=0.0, below=1.0)], 0.5),
        (SHARES, np.array([[0.0, 1.0]])),
        (EDGES, np.array([-1.0, 0.0, 2.0])),
        (NDArray[Any], np.array(["a", None], dtype=object)),
    ],
)
def test_what_fits_comes_back(hint, value):
    found = fit(hint, value, "it", {"n": 1})
    assert type(found) is type(value)
    assert np.array_equal(found, value) if isinstance(value, np.ndarray) else found == value


@pytest.mark.parametrize(
    ("hint", "value", "message"),
    [
        (str, 3, r"it is a string, got 3"),
        (bool, 1, r"it is true or false, got 1"),
        (int, True, r"it is a whole number, got True"),
        (float, np.nan, r"it is a finite number, got nan"),
        (float, 10**400, r"it is a finite number"),
        (float | None, "a", r"it is a finite number, got 'a'"),
        (Literal["a", "b"], "c", r"it is one of a, b, got 'c'"),
        (list[int], (1,), r"it is a list, got tuple"),
        (list[int], [1, "a"], r"it\[1\] is a whole number, got 'a'"),
        (tuple[int, str], (1,), r"it has 2 elements, got 1"),
        (dict[str, int], {1: 1}, r"a key of it is a string, got 1"),
        (dict[str, int], {"a": "b"}, r"it\['a'\] is a whole number, got 'b'"),
        (Distinct, ["a", "a"], r"it names nothing twice"),
        (Annotated[int, Within(1, 9)], 10**30, r"it is from 1 to 9, got 10000"),
        (Annotated[float, Within(0.0)], -1.0, r"it is from 0 on, got -1.0"),
        (Annotated[float, Within(above=0.0)], 0.0, r"it is above 0, got 0.0"),
        (Annotated[float, Within(below=1.0)], 1.0, r"it is below 1, got 1.0"),
        (SHARES, np.zeros(2), r"it has the shape \(1, 2\), got '\(2,\)'"),
        (SHARES, np.zeros((1, 2), dtype="i8"), r"it is an array of float64, got 'int64'"),
        (SHARES, np.array([[0.5, 2.0]]), r"it is from 0 to 1, got 2.0"),
        (SHARES, np.array([[0.5, np.inf]]), r"it is finite"),
        (SHARES, None, r"it is an array of float64, got 'None'"),
        (EDGES, np.array([0.0, 0.0]), r"it ascends"),
        (Written, 3, r"it is a dict, got 3"),
        (Written, {"name": "a"}, r"it lacks 'size'"),
        (Written, {"name": "a", "size": 0}, r"it.size is from 1 to 9, got 0"),
        (Written, {"name": "a", "size": 1, "more": 1}, r"it has 'more', which this version"),
        (Row, [1], r"it has 2 elements, got 1"),
        (list[Row], [[1, None], [1, "a"]], r"it\[1\].second is a finite number, got 'a'"),
    ],
)
def test_anything_else_is_refused_by_place_and_rule(hint, value, message):
    with pytest.raises(Unfit, match=f"^{message}"):
        fit(hint, value, "it", {"n": 1})


def test_a_class_takes_a_dict_or_a_list_of_its_parameters():
    assert fit(Written, {"name": "a", "size": 2}, "it") == Written("a", 2, "a")
    assert fit(Row, [3, None], "it") == Row(3, None)
    made = Written("a", 2)
    assert fit(Written, made, "it") is made


def test_what_a_class_itself_refuses_is_refused():
    @dataclass
    class Even:
        half: int

        def __post_init__(self):
            if self.half > 3:
                raise ValueError("too large")

    assert fit(Even, {"half": 3}, "it").half == 3
    with pytest.raises(Unfit, match="it: too large"):
        fit(Even, {"half": 4}, "it")


# ---- arrays by their names -----------------------------------------------------------------------
def test_arrays_are_a_tree_by_the_parts_of_their_names():
    one = np.zeros(1)
    arrays = {"a.first0": one, "a.first12": one, "part1.b.c": one, "s1_hi": one}
    tree = nested(arrays)
    assert tree == {"a": {"first": {0: one, 12: one}}, "part": {1: {"b": {"c": one}}}, "s1_hi": one}
    assert flat(tree) == arrays
    assert flat({"a": [one, None, {"b": one}]}) == {"a0": one, "a2.b": one}
    assert numbered({"a": {0: 5, 1: 6, 2: 7}}, "a", 2, "it") == [5, 6]
    with pytest.raises(Unfit, match=r"lacks it\.a1"):
        numbered({"a": {0: 5}}, "a", 2, "it")


@pytest.mark.parametrize("names", [["a", "a.b"], ["a.b", "a"], ["a0", "a00"]])
def test_names_that_are_in_each_others_place_are_refused(names):
    with pytest.raises(Unfit):
        nested(dict.fromkeys(names, np.zeros(1)))


def test_arrays_join_a_header():
    assert joined({"a": {"b": 1}, "c": 2}, {"a": {"d": 3}}, "it") == {"a": {"b": 1, "d": 3}, "c": 2}
    for header, tree in (({"a": 1}, {"a": 2}), ({"a": 1}, {"a": {"b": 2}}), (3, {}), ({}, 3)):
        with pytest.raises(Unfit):
            joined(header, tree, "it")
