"""What the doctor says of columns, labels and files, and how it is shown."""

from __future__ import annotations

import json
import os

import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import tallybayes
from tallybayes.cli.app import app
from tallybayes.diagnosis.findings import layout_of, options_of
from tallybayes.errors import SourceError

N = 80
Y = ["ab"[i * i % 7 % 2] for i in range(N)]


def findings(frame, target="y"):
    """By column, the kinds of findings."""
    found = tallybayes.doctor(frame, target).all_findings
    return {(f.column, f.kind) for f in found}


def written(tmp_path, columns, name="t.csv"):
    path = tmp_path / name
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def test_each_column_says_what_it_is_read_as_and_why(tmp_path):
    path = written(
        tmp_path,
        {
            "n": [i % 9 + 0.5 for i in range(N)],
            "k": [f"k{i % 5}" if i % 8 else None for i in range(N)],
            "d": [f"2020-01-{1 + i % 28:02}" for i in range(N)],
            "t": [f"{i % 24:02}:30" for i in range(N)],
            "m": ["unknown" if i in (5, 40) else i % 7 for i in range(N)],
            "e": [None] * N,
            "y": Y,
        },
    )
    found = tallybayes.doctor(path, "y")
    kinds = {c.name: c.kind for c in found.columns}
    assert kinds == {
        "n": "numbers",
        "k": "levels",
        "d": "dates",
        "t": "times of day",
        "m": "numbers",  # by the option that the doctor names
        "e": "nothing",
    }
    by_name = {c.name: c for c in found.columns}
    assert by_name["k"].missing == {"": 10}
    assert by_name["k"].examples == ["k1", "k2", "k3"]
    assert by_name["m"].missing == {"unknown": 2}
    [stray] = by_name["m"].findings
    assert "'unknown' (line 7, 2 rows) among numbers: --null m=unknown" in stray.message
    assert found.classes == {"a": Y.count("a"), "b": Y.count("b")}


def test_columns_are_compared_with_the_label_and_each_other(tmp_path):
    y = pd.Series(Y)
    columns = {
        "grade": [{"a": i % 2, "b": 2 + i % 2}[label] for i, label in enumerate(Y)],
        "code": [f"c{i % 6}" for i in range(N)],
        "name": [f"n{i % 6}" for i in range(N)],
        "rare": [int(i == 3) for i in range(N)],
        "seldom": [int(i == 4) for i in range(N)],
        "y": y,
    }
    assert findings(written(tmp_path, columns)) == {
        ("grade", "gives the label away"),
        ("code", "near-copy"),
    }


def test_zones_and_damaged_characters_and_spellings_are_found(tmp_path):
    columns = {
        "at": [f"2020-01-{1 + i % 28:02}T10:00:00{'Z' if i % 2 else ''}" for i in range(N)],
        "city": ["K\ufffdln" if i % 3 else f"Bonn{i % 2}" for i in range(N)],
        "size": [["small", "Small ", "large"][i % 3] for i in range(N)],
        "y": [label if i % 9 else label.upper() for i, label in enumerate(Y)],
    }
    assert findings(written(tmp_path, columns)) == {
        ("at", "mixed zones"),
        ("city", "damaged characters"),
        ("size", "spellings"),
        ("y", "spellings of a label"),
    }


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([str(i) for i in range(N)], "many labels"),
        ([i % 25 for i in range(N)], "numbers as labels"),
        (["a"] * N, "one label"),
        ([*Y[:-1], None], "rows without a label"),
    ],
)
def test_labels_are_looked_at(tmp_path, labels, kind):
    columns = {"x": [i % 4 for i in range(N)], "y": labels}
    assert ("y", kind) in findings(written(tmp_path, columns))


def test_a_clean_file_has_no_findings(tmp_path):
    path = written(tmp_path, {"x": [i * i % 11 for i in range(N)], "k": ["p", "q"] * 40, "y": Y})
    found = tallybayes.doctor(os.fspath(path))
    assert found.all_findings == []
    assert (found.target, found.sound) == ("y", True)
    assert found.command == f"tallybayes fit {path} --target y"
    assert found.call.splitlines()[1] == (
        f"model = tallybayes.WeightedNaiveBayes().fit({str(path)!r}, 'y')"
    )
    assert found.tried == f"tried on the first {N} rows: 2 classes, 2 columns"


def test_the_target_is_guessed_from_names_and_few_values(tmp_path):
    x = [i + 0.5 for i in range(N)]
    assert tallybayes.doctor(written(tmp_path, {"class": Y, "x": x, "z": Y})).target == "class"
    assert tallybayes.doctor(written(tmp_path, {"z": Y, "x": x})).target == "z"
    unknown = tallybayes.doctor(written(tmp_path, {"x": x, "w": x}))
    assert unknown.target is None
    assert not unknown.sound
    assert "--target COLUMN" in unknown.command


def test_frames_and_other_sources_are_looked_at():
    frame = pd.DataFrame({"x": [1.5, None] * 40, "k": pd.Categorical(Y), "id": range(N), "y": Y})
    for source in (frame, pa.Table.from_pandas(frame)):
        found = tallybayes.doctor(source, "y")
        assert {c.name: c.kind for c in found.columns} == {
            "x": "constant",
            "k": "levels",
            "id": "identifier",
        }
        assert found.call.endswith("fit(source, 'y')")


def test_what_cannot_be_looked_at_is_refused(tmp_path):
    path = written(tmp_path, {"x": [1, 2], "y": ["a", "b"]})
    with pytest.raises(SourceError, match="has no column 'z', the target; its columns are x, y"):
        tallybayes.doctor(path, "z")
    with pytest.raises(SourceError, match=r"[Nn]o such file"):
        tallybayes.doctor(tmp_path / "none.csv")
    batches = pa.table({"x": [1.0]}).to_batches()
    with pytest.raises(SourceError, match="only once"):
        tallybayes.doctor(iter(batches), "x")


def test_a_command_that_fails_says_so(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{(i % 9 - 4) * 1e200},{y}\n" for i, y in enumerate(Y)))
    found = tallybayes.doctor(path, "y")
    assert not found.sound
    assert found.tried.startswith("tried on the first rows: ")
    assert "column 'x' is too large" in found.tried


def test_a_label_alone_is_not_tried(tmp_path):
    found = tallybayes.doctor(written(tmp_path, {"y": Y}), "y")
    assert not found.sound
    assert "no column beside 'y'" in found.tried


def test_a_quote_that_is_not_closed_is_found(tmp_path):
    rows = [f"word{i % 30} and word{i % 7}\t{y}" for i, y in enumerate(Y)]
    rows[10], rows[12] = f'"open\t{Y[10]}', f'closed"\t{Y[12]}'
    path = tmp_path / "t.tsv"
    path.write_text("\n".join(["text\ty", *rows]))
    found = tallybayes.doctor(path, "y")
    assert found.n_rows == N - 2
    [finding] = [f for f in found.all_findings if f.kind == "values of several lines"]
    assert "1 value of several lines, the first in line 12: is a quote not closed?" in str(finding)


def test_infinite_numbers_are_read_as_missing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{'inf' if i == 7 else i % 9},{Y[i]}\n" for i in range(N)))
    found = tallybayes.doctor(path, "y")
    assert found.sound
    assert "'inf' (line 9) among numbers: --null x=inf" in found.all_findings[0].message


# ---- layout --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("a,b,c\n1,2,x\n3,4,y\n5,6,x\n", {}),
        ("2019,2020,2021\n1,2,3\n3,4,5\n5,6,7\n", {}),  # years
        ("1,2,x\n3,4,y\n5,6,x\n7,8,y\n", {"header": False}),
        ("u,x\nv,y\nu,x\nv,y\nv,x\n", {"header": False}),
        ("a  b   c\n1  2  x\n3 4    y\n5 6 x\n", {"delimiter": "blanks"}),
        ("# one\n# two, three\na;b\n1;2\n3;4\n", {"skip": 2}),
        ("Report\n\na,b,c\n1,2,x\n3,4,y\n5,6,x\n", {"skip": 2}),
        ('a,b\n"x, y\nz",1\n"u, v",2\nw,3\n', {}),
        ("text\ta\nsome, with commas, words\tx\nnone\ty\n", {}),
    ],
)
def test_layouts_are_guessed(text, changes):
    assert layout_of(text.encode())[0] == changes


def test_options_are_those_of_the_command_line():
    changes = {
        "delimiter": "\t",
        "names": ["a b", "c"],
        "thousands": "'",
        "decimal": ",",
        "missing": ["", "it's"],
        "missing_of": {"x y": ["-"]},
        "columns": {"id": None, "plz": "categorical"},
    }
    assert options_of(changes) == (
        "--delimiter tab --names 'a b,c' --thousands apostrophe --decimal , --only-null "
        "--null 'it'\\''s' --null 'x y=-' --column id=none --column plz=categorical"
    )


# ---- as it is shown ------------------------------------------------------------------------------
@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_it_fits_terminals(tmp_path, monkeypatch, width):
    columns = {
        "a rather long name of a column": ["1,5", "2,5"] * 40,
        "<b>": [f"v{i}" for i in range(N)],
    }
    path = written(tmp_path, {**columns, "y": Y})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", str(width))
    result = CliRunner().invoke(app, ["doctor", path.name, "-t", "y"])
    assert result.exit_code == 0
    shown, _, commands = result.stdout.partition("\nCommand\n")
    assert max(map(len, shown.splitlines())) <= width
    lines = commands.splitlines()
    assert lines[0] == "tallybayes fit t.csv --target y --decimal , --column '<b>=none'"
    assert "tried on the first 80 rows" in commands
    document = json.loads(CliRunner().invoke(app, ["doctor", path.name, "--json"]).stdout)
    assert document["command"] == lines[0]
    assert document["rows"] == N
    assert [c["read_as"] for c in document["columns"]] == ["numbers", "identifier"]
    assert {f["kind"] for f in document["findings"]} == {"decimal comma", "identifier"}


def test_notebooks_show_escaped_tables(tmp_path):
    path = written(tmp_path, {"<b>": ["<i>", "x"] * 40, "y": Y})
    found = tallybayes.doctor(path, "y")
    html = found._repr_html_()
    assert "<b>" not in html.replace("<bdi>", "")
    assert "&lt;b&gt;" in html
    assert "tallybayes fit" in html
    assert repr(found).splitlines()[-1] == found.tried
