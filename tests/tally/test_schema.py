"""Schemas: which join, into what, and what their fingerprints tell apart."""

from __future__ import annotations

import numpy as np
import pytest

from tallybayes.errors import IncompatibleTallies
from tallybayes.schema import Columns, Schema

BASE = {"kind": "levels", "n_features": 2, "n_levels": np.array([2, 3])}
OTHERS = {
    "kind": {"kind": "sums", "n_features": 2},
    "number of features": {"kind": "levels", "n_features": 1, "n_levels": np.array([2])},
    "names": {**BASE, "names": ("a", "b")},
    "other names": {**BASE, "names": ("a", "c")},
    "number of levels": {**BASE, "n_levels": np.array([3, 2])},
    "levels": {**BASE, "levels": (np.array([1, 2]), np.array([1, 2, 3]))},
    "other levels": {**BASE, "levels": (np.array([1, 2]), np.array([1, 2, 4]))},
    "text levels": {**BASE, "levels": (np.array(["1", "2"]), np.array([1, 2, 3]))},
    "threshold": {"kind": "sums", "n_features": 2, "threshold": 0.0},
    "other threshold": {"kind": "sums", "n_features": 2, "threshold": 0.5},
    "non-negative": {"kind": "sums", "n_features": 2, "non_negative": True},
    "origin": {"kind": "moments", "n_features": 2, "origin": np.zeros(2)},
    "other origin": {"kind": "moments", "n_features": 2, "origin": np.array([0.0, 1.0])},
}


def schema(classes=(0, 1), **columns):
    return Schema(np.array(classes), (Columns(**(columns or BASE)),))


# ---- fingerprints --------------------------------------------------------------------------------
def test_equal_schemas_have_equal_fingerprints():
    for columns in (BASE, *OTHERS.values()):
        again = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in columns.items()}
        a, b = schema(**columns), schema(**again)
        assert a == b
        assert a.fingerprint() == b.fingerprint()
        assert hash(a) == hash(b)


def test_schemas_that_differ_in_anything_have_other_fingerprints():
    schemas = [schema(), *(schema(**columns) for columns in OTHERS.values())]
    schemas += [
        schema(classes)
        for classes in [(0, 2), (0,), (0, 1, 2), ("0", "1"), (0.5, 1.0), (False, True)]
    ]
    schemas.append(Schema(np.array([0, 1]), (Columns(**BASE), Columns(**BASE))))
    schemas.append(Schema(np.array([0, 1]), ()))
    assert len({s.fingerprint() for s in schemas}) == len(schemas)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"threshold": 0.5}, {"threshold": np.float64(0.5)}),
        ({"non_negative": True}, {"non_negative": np.True_}),
        ({"n_features": 2}, {"n_features": np.int64(2)}),
        ({"names": ("a", "b")}, {"names": tuple(np.array(["a", "b"]))}),
    ],
    ids=["threshold", "non_negative", "n_features", "names"],
)
def test_numbers_and_strings_of_numpy_count_as_those_of_python(a, b):
    sums = {"kind": "sums", "n_features": 2}
    assert schema(**{**sums, **a}) == schema(**{**sums, **b})


def test_an_origin_of_minus_zero_is_an_origin_of_zero():
    zero = schema(kind="moments", n_features=1, origin=np.array([0.0]))
    minus = schema(kind="moments", n_features=1, origin=np.array([-0.0]))
    assert zero == minus


def test_names_do_not_run_into_one_another():
    a = Columns(kind="sums", n_features=2, names=("a, b", "c"))
    b = Columns(kind="sums", n_features=2, names=("a", "b, c"))
    assert Schema(np.array([0]), (a,)) != Schema(np.array([0]), (b,))


# ---- joining -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("a", "b", "says"),
    [
        (BASE, OTHERS["kind"], "counted as levels and as sums"),
        (BASE, OTHERS["number of features"], "2 and 1 features"),
        (OTHERS["names"], OTHERS["other names"], "column 1 is 'b' in one model and 'c'"),
        (OTHERS["threshold"], OTHERS["other threshold"], "x > 0.0, the other x > 0.5"),
        (OTHERS["threshold"], OTHERS["kind"], "x > 0.0, the other x > None"),
        (BASE, OTHERS["levels"], "declare different levels"),
        (OTHERS["levels"], OTHERS["other levels"], "declare different levels"),
        (OTHERS["levels"], OTHERS["text levels"], "declare different levels"),
    ],
)
def test_columns_that_count_other_things_do_not_join(a, b, says):
    for left, right in ((a, b), (b, a)):
        with pytest.raises(IncompatibleTallies):
            Columns(**left).join(Columns(**right))
    with pytest.raises(IncompatibleTallies, match=says):
        Columns(**a).join(Columns(**b))


def test_columns_join_to_the_larger_number_of_levels():
    a, b = Columns(**BASE), Columns(**OTHERS["number of levels"])
    for joined in (a.join(b), b.join(a)):
        assert joined.n_levels.tolist() == [3, 3]
    assert a.n_levels.tolist() == [2, 3]


def test_columns_join_to_the_origin_of_the_first():
    a, b = Columns(**OTHERS["origin"]), Columns(**OTHERS["other origin"])
    assert a.join(b).origin.tolist() == [0.0, 0.0]
    assert b.join(a).origin.tolist() == [0.0, 1.0]


def test_columns_without_names_take_those_of_the_other():
    named, bare = Columns(**OTHERS["names"]), Columns(**BASE)
    assert named.join(bare).names == bare.join(named).names == ("a", "b")


@pytest.mark.parametrize(
    ("a", "b", "joined"),
    [
        ([0, 2], [1, 2], [0, 1, 2]),
        (["ham"], ["spam", "tea"], ["ham", "spam", "tea"]),
        ([0.5], [0.25], [0.25, 0.5]),
        ([False], [True], [False, True]),
        ([1, 2], [1.0, 2.5], [1.0, 2.0, 2.5]),
    ],
)
def test_classes_join_by_label(a, b, joined):
    for left, right in ((a, b), (b, a)):
        assert schema(left).join(schema(right)).classes.tolist() == joined


def test_classes_of_the_same_text_join_whatever_their_array_type():
    fixed, loose = np.array(["ham", "spam"]), np.array(["spam", "tea"], dtype=object)
    groups = schema().groups
    joined = Schema(fixed, groups).join(Schema(loose, groups))
    assert joined.classes.tolist() == ["ham", "spam", "tea"]


@pytest.mark.parametrize("number", [[1, 2], [0.5], [True]])
def test_numbers_and_text_do_not_join(number):
    for a, b in ((number, ["1", "2"]), (["1", "2"], number)):
        with pytest.raises(IncompatibleTallies, match="one type of label"):
            schema(a).join(schema(b))


def test_schemas_of_other_groups_do_not_join():
    one, two = schema(), Schema(np.array([0, 1]), (Columns(**BASE), Columns(**BASE)))
    with pytest.raises(IncompatibleTallies, match="groups"):
        one.join(two)


def test_a_schema_joined_with_itself_is_itself():
    for columns in (BASE, *OTHERS.values()):
        assert schema(**columns).join(schema(**columns)) == schema(**columns)


def test_joining_changes_neither_schema():
    a, b = schema((0, 1)), schema((1, 2), **OTHERS["number of levels"])
    before = a.fingerprint(), b.fingerprint()
    a.join(b)
    assert (a.fingerprint(), b.fingerprint()) == before


def test_a_column_is_called_by_number_and_name():
    assert Columns(**BASE).name_of(1) == "1"
    assert Columns(**OTHERS["names"]).name_of(1) == "1 ('b')"
