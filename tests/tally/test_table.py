"""The tally of a whole model: its schema, joined and wider, and files."""

import io
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.files.kinds import TALLIES
from benchmarks.files.mutations import Parts
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes
from tallybayes import NaiveBayes, collect
from tallybayes.engines.arrays import collect_array
from tallybayes.errors import IncompatibleTallies, ModelFileError
from tallybayes.families import Poisson, Text
from tallybayes.schema import Columns, Schema
from tallybayes.tally import ClassCounts, FeatureSums, TableTally
from tallybayes.testing.edge_tables import edge_tables
from tallybayes.testing.laws import in_mean_and_squares
from tallybayes.testing.strategies import data_sets, table_tallies

KINDS = ("levels", "sums", "moments", "cross")
alike = in_mean_and_squares(2.0**-26)


def counted(kind, x, y):
    """A tally of these rows with the classes and levels that they happen to have."""
    classes, codes = np.unique(y, return_inverse=True)
    d = x.shape[1]
    columns = Columns(
        kind=kind,
        n_features=d,
        n_levels=np.zeros(d, dtype=np.int64) if kind == "levels" else None,
        origin=x[0].astype(float) if kind in ("moments", "cross") else None,
    )
    found = collect_array(columns, x, codes.astype(np.int32), len(classes), None, whose="a test")
    return TableTally(Schema(classes, (found.columns,)), found.classes, (found.tally,))


def aligned(*tables):
    schema = tables[0].schema
    for table in tables[1:]:
        schema = schema.join(table.schema)
    return tuple(table.aligned(schema) for table in tables)


@st.composite
def parts(draw, kind, count):
    """Tallies of the parts of one data set, and of all of it."""
    families = {"levels": "categorical", "sums": "multinomial"}
    family = families.get(kind, "gaussian")
    x, y, _ = draw(data_sets(family, min_rows=count, of_weights=("none",)))
    cuts = sorted(draw(st.lists(st.integers(1, len(x) - 1), min_size=count - 1, unique=True)))
    edges = [0, *cuts[: count - 1], len(x)]
    tables = [counted(kind, x[a:b], y[a:b]) for a, b in pairwise(edges)]
    return counted(kind, x, y), tables


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_parts_with_other_classes_levels_and_origins_merge_to_the_whole(kind, data):
    whole, (a, b, c) = data.draw(parts(kind, 3))
    for merged in (a.merged(b).merged(c), a.merged(b.merged(c)), c.merged(a).merged(b)):
        left, right = aligned(whole, merged)
        assert alike(left, right)


@pytest.mark.parametrize("kind", ["levels", "sums"])
@given(data=st.data())
def test_counts_merge_to_the_whole_bit_for_bit(kind, data):
    whole, (a, b) = data.draw(parts(kind, 2))
    assert a.merged(b) == whole
    assert b.merged(a) == whole


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_merging_changes_neither_part(kind, data):
    _, (a, b) = data.draw(parts(kind, 2))
    before = a.copy(), b.copy()
    merged = a.merged(b)
    for array in merged.arrays().values():
        array[...] = 7
    assert (a, b) == before


@pytest.mark.parametrize("kind", KINDS)
def test_aligning_puts_counts_at_their_class_and_leaves_the_rest_empty(kind):
    x = np.array([[1.0, 2.0], [3.0, 0.0], [1.0, 1.0]])
    y = np.array(["b", "d", "d"])
    table = counted(kind, x, y)
    schema = Schema(np.array(["a", "b", "c", "d"]), table.schema.groups)
    wide = table.aligned(schema)
    assert wide.schema == schema
    assert wide.classes.count.tolist() == [0.0, 1.0, 0.0, 2.0]
    (group,) = wide.groups
    assert group.take(np.array([1, 3])) == table.groups[0]
    assert group.take(np.array([0, 2])) == table.groups[0].zero()


def test_aligning_widens_levels_and_moves_origins():
    x, y = np.array([[1.0], [2.0]]), np.array([0, 1])
    levels = counted("levels", x.astype(int), y)
    wider = Columns(kind="levels", n_features=1, n_levels=np.array([5]))
    assert levels.aligned(Schema(y, (wider,))).groups[0].n_levels.tolist() == [5]
    moments = counted("moments", x, y)
    moved = Columns(kind="moments", n_features=1, origin=np.array([100.0]))
    (group,) = moments.aligned(Schema(y, (moved,))).groups
    assert group.origin.tolist() == [100.0]
    assert group.s1_hi.tolist() == [[-99.0], [-98.0]]
    assert group.mean_and_squares()[0].tolist() == [[1.0], [2.0]]


def test_aligning_changes_nothing_in_the_tally_that_is_aligned():
    x, y = np.array([[1.0], [2.0]]), np.array([0, 1])
    for kind in KINDS:
        table = counted(kind, x.astype(int), y)
        before = table.copy()
        table.aligned(counted(kind, x.astype(int) + 1, y + 1).schema.join(table.schema))
        assert table == before


@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_other_columns_do_not_merge(kind):
    x, y = np.ones((2, 2)), np.array([0, 1])
    a, b = counted(kind, x, y), counted(kind, x[:, :1], y)
    before = a.copy(), b.copy()
    with pytest.raises(IncompatibleTallies, match="features"):
        a.merged(b)
    assert (a, b) == before


def test_an_empty_part_changes_nothing():
    columns = Columns(kind="sums", n_features=2)
    schema = Schema(np.array([0, 1]), (columns,))
    empty = TableTally(schema, ClassCounts.zeros(2), (FeatureSums.zeros(2, 2),))
    full = TableTally(schema, ClassCounts(np.ones(2)), (FeatureSums(np.ones((2, 2))),))
    assert empty.merged(full) == full
    assert full.merged(empty) == full
    assert empty.merged(empty) == empty


def test_arrays_have_unique_names_and_hold_everything():
    columns = Columns(kind="sums", n_features=2)
    schema = Schema(np.array([0, 1]), (columns, columns))
    groups = (FeatureSums(np.ones((2, 2))), FeatureSums(np.full((2, 2), 2.0)))
    table = TableTally(schema, ClassCounts(np.array([3.0, 4.0])), groups)
    arrays = table.arrays()
    assert sorted(arrays) == ["class_count", "class_squared_weights", "group0.sums", "group1.sums"]
    assert [float(arrays[name].sum()) for name in sorted(arrays)] == [7.0, 7.0, 4.0, 8.0]


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
    levels = np.array(["blue", "grey"], dtype=object)
    sky = Columns(kind="levels", names=("sky",), levels=(levels,), open=True)
    table = Schema(np.array(["dry", "rain"]), (sky,), by_name=True)
    part = replace(table, groups=(replace(sky, levels=(levels[:1],)),))
    assert table.join(part) is table
    assert part.join(table) is not part


def test_joining_changes_neither_schema():
    a, b = schema((0, 1)), schema((1, 2), **OTHERS["number of levels"])
    before = a.fingerprint(), b.fingerprint()
    a.join(b)
    assert (a.fingerprint(), b.fingerprint()) == before


def test_a_column_is_called_by_number_and_name():
    assert Columns(**BASE).name_of(1) == "1"
    assert Columns(**OTHERS["names"]).name_of(1) == "1 ('b')"


def through_a_file(tally: TableTally) -> TableTally:
    file = io.BytesIO()
    tally.save(file)
    file.seek(0)
    return TableTally.load(file)


def bits(tally: TableTally) -> dict[str, Any]:
    return {name: (a.dtype, a.shape, a.tolist()) for name, a in tally.arrays().items()}


def frame(n: int = 40, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    late = rng.integers(0, 2, n)
    return pd.DataFrame(
        {
            "rain": np.array(["no", "yes", "snow", "雨"])[rng.integers(0, 3, n) + late],
            "wind": rng.normal(late, 1.0),
            "trips": rng.poisson(1.0 + late),
            "said": np.array(["on time", "stuck in snow", "a train"])[rng.integers(0, 3, n)],
            "late": np.array(["no", "yes"])[late],
        }
    )


# ---- laws --------------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")
@settings(max_examples=60)
@given(table=edge_tables(min_rows=2, max_rows=20, of_weights=("none", "whole")))
def test_a_tally_of_any_table_comes_back_bit_for_bit(table):
    tally = NaiveBayes().fit(table.records(), table.labels, table.weights).tally_
    back = through_a_file(tally)
    assert back == tally
    assert back.schema == tally.schema
    assert bits(back) == bits(tally)


@settings(max_examples=30)
@given(parts=table_tallies(2, whole=True))
def test_saving_commutes_with_adding(parts):
    a, b = parts
    if len(a.groups) != 1:  # groups by number are one, in a file
        return
    assert bits(through_a_file(a) + through_a_file(b)) == bits(through_a_file(a + b))


def test_parts_of_several_machines_make_the_model_of_all_rows():
    rows = frame()
    columns = {"said": Text(), "trips": Poisson()}
    parts = [through_a_file(collect(part, "late", columns)) for part in (rows[:15], rows[15:])]
    whole = NaiveBayes(columns).fit(rows, "late")
    assert sum(parts) == whole.tally_
    assert NaiveBayes.from_tally(sum(parts), columns=columns) == whole
    assert through_a_file(sum(parts) - parts[0]) == parts[1]


# ---- files -------------------------------------------------------------------------------------
def test_a_path_and_an_open_file_hold_the_same_bytes(tmp_path):
    tally, file = collect(frame(), "late"), io.BytesIO()
    tally.save(tmp_path / "t.tally")
    tally.save(file)
    assert (tmp_path / "t.tally").read_bytes() == file.getvalue()
    assert TableTally.load(str(tmp_path / "t.tally")) == tally
    with pytest.raises(TypeError, match="opened in the mode 'wb', got a StringIO"):
        tally.save(io.StringIO())


def test_an_old_file_stays_where_a_tally_cannot_be_saved(tmp_path):
    tally = collect(frame(), "late")
    tally.save(tmp_path / "t.tally")
    with pytest.raises(ModelFileError, match="no rows have these counts"):
        (tally - (tally + tally)).save(tmp_path / "t.tally")
    assert TableTally.load(tmp_path / "t.tally") == tally


def test_the_tally_of_a_saved_model_is_read(tmp_path):
    model = NaiveBayes().fit(frame(), "late")
    model.save(tmp_path / "m.tally")
    assert TableTally.load(tmp_path / "m.tally") == model.tally_


def test_a_tally_is_no_model_and_says_so(tmp_path):
    collect(frame(), "late").save(tmp_path / "t.tally")
    with pytest.raises(ModelFileError, match=r"TableTally\.load.*NaiveBayes\.from_tally"):
        tallybayes.load(tmp_path / "t.tally")


def test_models_without_counts_of_columns_are_refused(tmp_path):
    model = tallybayes.TextNB().fit(["a b", "b c"], ["x", "y"])
    model.save(tmp_path / "m.tally")
    with pytest.raises(ModelFileError, match=r"m\.tally is whole.*no counts of columns"):
        TableTally.load(tmp_path / "m.tally")


@pytest.mark.parametrize("kind", TALLIES)
def test_every_array_is_checked(kind):
    """What is not counted, or is no count, is named; the rest is in the fuzz of model files."""
    file = io.BytesIO()
    TALLIES[kind]().model.save(file)
    for name, tensor in Parts.of(file.getvalue()).tensors.items():
        if tensor["dtype"] != "F64":
            continue
        parts = Parts.of(file.getvalue())
        start = tensor["data_offsets"][0]
        parts.data[start : start + 8] = np.float64(np.nan).tobytes()
        with pytest.raises(ModelFileError, match=name.split(".")[0]):
            TableTally.load(io.BytesIO(parts.joined()))
        parts = Parts.of(file.getvalue())
        del parts.tensors[name]
        with pytest.raises(ModelFileError):
            TableTally.load(io.BytesIO(parts.joined()))


def test_a_damaged_file_is_refused(tmp_path):
    collect(frame(), "late").save(tmp_path / "t.tally")
    data = (tmp_path / "t.tally").read_bytes()
    for damaged in (data[:-1], data[:100], b"", data[:300] + b"x" + data[301:]):
        (tmp_path / "t.tally").write_bytes(damaged)
        with pytest.raises(ModelFileError, match=r"t\.tally"):
            TableTally.load(tmp_path / "t.tally")
