"""Numbers with strings among them: each cell is a number or a string by itself, wherever it
stands."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tallybayes import NaiveBayes, WeightedNaiveBayes, load
from tallybayes.sources.cells import cells, value_of
from tallybayes.sources.options import Spelling

ROWS = 600
PLACES = {"first": 0, "middle": 311, "last": ROWS - 1}


def table(strays):
    """Rows of a column of numbers, of which some hold a string."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, ROWS)
    age = np.round(rng.normal(40 + 9 * y, 10), 3).tolist()
    for row, text in strays.items():
        age[row] = text
    job = np.array(["cook", "nurse", "7"])[(rng.random(ROWS) * (1 + y) * 1.5).astype(int)]
    return pd.DataFrame({"age": age, "job": job, "y": np.where(y, "yes", "no")}).astype(object)


def written(tmp_path, strays, name="t.csv"):
    frame = table(strays)
    frame.to_csv(tmp_path / name, index=False)
    return name


def content(run, name):
    """What a model answers to anything."""
    show = run("show", name, "--tables", "--all", "--json").document
    return [show[key] for key in ("columns", "classes", "tables")]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("options", [(), ("--plain",)])
def test_blocks_and_the_place_of_a_text_do_not_matter(run, tmp_path, place, options):
    name, row = written(tmp_path, {PLACES[place]: "unknown"}), PLACES[place]
    words = ("fit", name, "-t", "y", "--no-estimate", *options)
    found = []
    for block in (200, 3000, 1 << 20):
        err = run(*words, "-o", f"{block}.tally", "--block", block).err
        assert f"column 'age': line {row + 2} holds 'unknown'; strings are levels beside" in err
        assert err.count("unknown") == 2  # once as what it holds, once in the option to add
        found.append((content(run, f"{block}.tally"), load(f"{block}.tally")))
    assert found[0] == found[1] == found[2]
    (age, job), _, _ = found[0][0]
    assert (age["holds"], job["holds"]) == ("numbers and strings", "strings")
    assert age["missing"] == 0.0


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet", "pipe"])
def test_any_format_is_the_library_on_objects(run, tmp_path, name):
    frame = table({5: "unknown", 100: "unknown", 599: "more than 90"})
    frame["job"] = frame["job"].replace("7", "clerk")
    data = None
    if name == "t.parquet":  # where a column has one type
        strings = frame.astype(str)
        pq.write_table(pa.Table.from_pandas(strings, preserve_index=False), tmp_path / name)
    elif name == "t.jsonl":
        rows = [json.dumps(row) for row in frame.to_dict("records")]
        (tmp_path / name).write_text("\n".join(rows))
    else:
        frame.to_csv(tmp_path / "t.csv", index=False)
        data = (tmp_path / "t.csv").read_bytes() if name == "pipe" else None
    given = "-" if name == "pipe" else name
    words = ("-t", "y", "-o", "m.tally", "--plain", "--no-estimate", "--block", 500)
    assert "holds 'unknown'" in run("fit", given, *words, stdin=data).err
    with pytest.warns(UserWarning, match="The numbers stay numbers"):
        expected = NaiveBayes().fit(frame[["age", "job"]], frame["y"])
    assert load("m.tally") == expected


def test_a_column_of_numbers_may_get_texts_and_lose_them(run, tmp_path):
    numbers, strings = written(tmp_path, {}), written(tmp_path, {300: "unknown"}, "u.csv")
    run("fit", numbers, "-t", "y", "-o", "m.tally", "--plain", "--no-estimate")
    before = load("m.tally")
    line = run("predict", "m.tally", strings, code=1).line
    assert "line 302: column 'age' holds 'unknown', which is not a number" in line
    line = run("evaluate", "m.tally", strings, code=1).line
    assert "line 302: column 'age' holds 'unknown'" in line
    assert "column 'age': line 302 holds 'unknown'" in run("update", "m.tally", strings).err
    assert "unknown" not in run("update", "m.tally", strings).err  # it is not news any more
    assert run("predict", "m.tally", strings).out.count("\n") == ROWS + 1
    run("evaluate", "m.tally", strings)
    found = run("explain", "m.tally", strings, "--row", 300, "--json").document
    assert {c["column"]: c["value"] for c in found["columns"]}["age"] == "unknown"
    for _ in range(2):
        run("forget", "m.tally", strings)
    after, x = load("m.tally"), table({}).drop(columns="y")
    np.testing.assert_allclose(after.predict_log_proba(x), before.predict_log_proba(x), atol=1e-9)
    assert "line 302" in run("predict", "m.tally", strings, code=1).line


def test_forgetting_the_row_of_the_text_leaves_numbers(run, tmp_path):
    lines = (tmp_path / written(tmp_path, {300: "unknown"})).read_text().splitlines()
    (tmp_path / "one.csv").write_text(f"{lines[0]}\n{lines[301]}\n")
    (tmp_path / "rest.csv").write_text("\n".join(lines[:301] + lines[302:]) + "\n")
    for name in ("t", "rest"):
        run("fit", f"{name}.csv", "-t", "y", "--plain", "--no-estimate")
    run("forget", "t.tally", "one.csv")
    assert load("t.tally") == load("rest.tally")
    line = run("forget", "t.tally", "one.csv", code=1).line
    assert "these rows were not counted" in line


def test_a_column_of_texts_counts_numbers_as_numbers(run, tmp_path):
    """So the order of files does not matter either."""
    rows = [f"{'x' if i < 9 else i},{'ab'[i % 2]}" for i in range(60)]
    for name, part in {"texts": rows[:9], "numbers": rows[9:], "all": rows}.items():
        (tmp_path / f"{name}.csv").write_text("x,y\n" + "\n".join(part) + "\n")
    for name in ("texts", "numbers", "all"):
        run("fit", f"{name}.csv", "-t", "y", "--plain", "--no-estimate")
    for one, other in (("texts", "numbers"), ("numbers", "texts")):
        run("update", f"{one}.tally", f"{other}.csv", "-o", "u.tally")
        assert load("u.tally") == load("all.tally")
        run("merge", f"{one}.tally", f"{other}.tally", "-o", "u.tally")
        assert load("u.tally") == load("all.tally")


def test_declared_columns_are_read_as_declared(run, tmp_path):
    name = written(tmp_path, {300: "unknown"})
    words = ("fit", name, "-t", "y", "--plain", "--no-estimate", "--block", 500, "--column")
    line = run(*words, "age=gaussian", code=1).line
    assert "line 302: column 'age' holds 'unknown', which is not a number" in line
    run(*words, "age=categorical")
    (age, _), _, _ = content(run, "t.tally")
    assert age["holds"] == "strings"


def test_a_text_that_only_one_fold_has_is_asked_as_a_text_never_seen(run, tmp_path):
    name = written(tmp_path, {300: "unknown"})
    for options in (("--plain",), ("--plain", "--calibrate", "temperature"), ()):
        made = run("fit", name, "-t", "y", *options, "--json")
        assert made.document["estimate"]["rows"] == ROWS


@pytest.mark.parametrize("model", [NaiveBayes, WeightedNaiveBayes])
def test_both_kinds_may_come_as_a_struct(model):
    frame = table({5: "unknown", 100: "unknown", 599: "more than 90"})
    numbers = pd.to_numeric(frame["age"], errors="coerce")
    strings = frame["age"].where(numbers.isna(), None)
    for kind in (pa.string(), pa.dictionary(pa.int32(), pa.string())):
        parts = [
            pa.array(numbers, pa.float64(), from_pandas=True),
            pa.array(strings, pa.string(), from_pandas=True).cast(kind),
        ]
        both = pa.StructArray.from_arrays(parts, ["number", "text"])
        x = pa.table({"age": both, "job": pa.array(frame["job"], pa.string())})
        with pytest.warns(UserWarning, match="The numbers stay numbers"):
            found = model().fit(x, frame["y"])
        with pytest.warns(UserWarning, match="The numbers stay numbers"):
            expected = model().fit(frame[["age", "job"]], frame["y"])
        assert found == expected
        assert np.array_equal(found.predict_proba(x), expected.predict_proba(frame))


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([{"number": 1.0, "text": "a"}], "the number 1.0 and the string 'a': a row has one"),
        ([{"number": "1", "text": "a"}], "its field 'number' has to hold numbers"),
    ],
)
def test_structs_that_are_no_column(cells, said):
    with pytest.raises(ValueError, match=said):
        NaiveBayes().fit(pa.table({"x": cells}), ["a"])


SPELT = {
    "1": 1.0,
    " +1.50 ": 1.5,
    "-.5": -0.5,
    "5.": 5.0,
    "007": 7.0,
    "1e3": 1000.0,
    "1e-400": 0.0,
    "1e999": "1e999",
    "1_000": "1_000",
    "0x10": "0x10",
    "1,5": "1,5",
    "12:30": "12:30",
    "2020-01-01": "2020-01-01",
    "TRUE": "True",
    "-": "-",
    "NA": None,
    "": None,
}


def test_each_cell_is_a_number_or_a_text_by_itself():
    column = pa.array([*SPELT, *SPELT])
    whole = cells(column, "number or text", "x", Spelling())
    assert [value_of(cell) for cell in whole] == [*SPELT.values()] * 2
    parts = (
        cells(column.slice(i, 1), "number or text", "x", Spelling()) for i in range(len(column))
    )
    assert [value_of(part[0]) for part in parts] == [value_of(cell) for cell in whole]


def test_numbers_with_a_decimal_comma():
    column = pa.array(["1,5", "1.5", "3", ",5"])
    found = cells(column, "number or text", "x", Spelling(decimal=","))
    assert [value_of(cell) for cell in found] == [1.5, "1.5", 3.0, 0.5]


@pytest.mark.parametrize("block", [64, 1 << 20])
def test_infinity_is_a_text_among_texts_only(run, tmp_path, block):
    lines = ["x,y", *(f"{['1', 'inf', '3'][i % 3]},{'ab'[i % 2]}" for i in range(60))]
    words = ("fit", "--plain", "t.csv", "-t", "y", "--no-estimate", "--block", block)
    (tmp_path / "t.csv").write_text("\n".join(lines))
    assert "line 3: column 'x' is infinite" in run(*words, code=1).line
    assert not (tmp_path / "t.tally").exists()
    (tmp_path / "t.csv").write_text("\n".join([*lines, "sup,a"]))
    assert "line 3 holds 'inf'" in run(*words).err
