"""What the doctor says of columns, labels and files; and files with one trap each."""

import gzip
import json
import os
import shlex
import subprocess
import sys
from dataclasses import dataclass

import duckdb
import numpy as np
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


N_ROWS = 60
LABELS = ["yes" if i % 7 < 3 else "no" for i in range(N_ROWS)]
PRICE = [[1650.88, 971.5, 12300.25, 88.0, 2045.75, 560.5][i % 6] for i in range(N_ROWS)]
WHOLE = [[1650, 971, 12300, 88, 2045][i % 5] for i in range(N_ROWS)]
KIND = [["red", "green", "blue"][i % 3] for i in range(N_ROWS)]
DAY = [pd.Timestamp("2020-01-05") + pd.Timedelta(days=11 * i) for i in range(N_ROWS)]
PLAIN = pd.DataFrame({"price": PRICE, "kind": KIND, "y": LABELS})


@dataclass
class Trap:
    """A file, the rows as they are meant, and what the doctor finds."""

    data: bytes
    meant: pd.DataFrame
    kinds: set[str]
    name: str = "t.csv"


def table(columns, delimiter=",", header=True, encoding="utf-8"):
    lines = [delimiter.join(columns)] if header else []
    lines += [delimiter.join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    return ("\n".join(lines) + "\n").encode(encoding)


def with_column(name, cells, meant, kinds, delimiter=";"):
    """A trap in one column."""
    text = {name: cells, "kind": KIND, "y": LABELS}
    frame = {} if meant is None else {name: meant}
    return Trap(table(text, delimiter), pd.DataFrame({**frame, "kind": KIND, "y": LABELS}), kinds)


def german(value, thousands="."):
    return f"{value:,.2f}".replace(",", "_").replace(".", ",").replace("_", thousands)


def strays(*texts):
    """Numbers among which these strings mean missing, and the numbers."""
    cells = [texts[i // 10 % len(texts)] if i % 10 == 3 else p for i, p in enumerate(PRICE)]
    return cells, [np.nan if i % 10 == 3 else p for i, p in enumerate(PRICE)]


def plain(**changed):
    """The columns without a trap as they are written, but for these."""
    return {"price": PRICE, "kind": KIND, "y": LABELS, **changed}


SECONDS = [27_000.0 + 1800 * (i % 20) for i in range(N_ROWS)]
CITY = [["Köln", "Málaga", "Genève"][i % 3] for i in range(N_ROWS)]
CHINESE = [["苹果", "香蕉", "橙子"][i % 3] for i in range(N_ROWS)]
REGION = [["NA", "EU", "AS"][i * i % 5 % 3] for i in range(N_ROWS)]
CODES = [["01067", "04109", "80331", "99084"][i % 4] for i in range(N_ROWS)]
HOLES = ["" if i % 9 == 4 else y for i, y in enumerate(LABELS)]
HALF_CLOCK = [
    f"{(int(s) // 3600 - 1) % 12 + 1}:{int(s) // 60 % 60:02} {'AM' if s < 43200 else 'PM'}"
    for s in SECONDS
]
ARFF = "% made by x\n@relation r\n@attribute price real\n@attribute kind {red,green,blue}\n" + (
    "@attribute y {yes,no}\n@data\n"
)

TRAPS = {
    "decimal comma": with_column(
        "price", [f"{p:.2f}".replace(".", ",") for p in PRICE], PRICE, {"decimal comma"}
    ),
    "thousands, whole": with_column("price", [f"{w:,}" for w in WHOLE], WHOLE, {"thousands"}),
    "thousands, American": with_column("price", [f"{p:,.2f}" for p in PRICE], PRICE, {"thousands"}),
    "thousands, German": with_column("price", list(map(german, PRICE)), PRICE, {"thousands"}),
    "thousands, French": with_column(
        "price", [german(p, "\u202f") for p in PRICE], PRICE, {"thousands"}
    ),
    "thousands, blanks": with_column(
        "price", [german(p, " ") for p in PRICE], PRICE, {"thousands"}
    ),
    "thousands, Swiss": with_column(
        "price", [f"{p:,.2f}".replace(",", "’") for p in PRICE], PRICE, {"thousands"}
    ),
    "points between thousands": with_column(
        "price", [f"{w:,}".replace(",", ".") for w in WHOLE], WHOLE, {"thousands"}
    ),
    "dates, day first": with_column("day", [f"{d:%d.%m.%Y}" for d in DAY], DAY, {"dates"}),
    "dates, month first": with_column("day", [f"{d:%m/%d/%Y}" for d in DAY], DAY, {"dates"}),
    "dates, short years": with_column("day", [f"{d:%d/%m/%y}" for d in DAY], DAY, {"dates"}),
    "dates in words": with_column("day", [f"{d:%d-%b-%y}" for d in DAY], DAY, set()),
    "dates of mail": with_column(
        "day", [f"{d:%a, %d %b %Y} 00:00:00 +0000" for d in DAY], DAY, set(), "\t"
    ),
    "times of day": with_column("at", HALF_CLOCK, SECONDS, set()),
    "a dash": with_column("price", *strays("-"), {"strings among numbers"}),
    "words for missing": with_column(
        "price", *strays("n/a", "unknown", "--"), {"strings among numbers"}
    ),
    "errors of Excel": with_column("price", *strays("#N/A", "#DIV/0!"), set()),
    "NaN of polars": with_column(
        "hue",
        ["NaN" if i % 10 == 3 else f"h{i % 4}" for i in range(N_ROWS)],
        [None if i % 10 == 3 else f"h{i % 4}" for i in range(N_ROWS)],
        set(),
    ),
    "leading zeros": with_column("plz", CODES, CODES, {"leading zeros"}),
    "an identifier": with_column("row", list(range(1, N_ROWS + 1)), None, {"identifier"}),
    "an identifier of letters": with_column(
        "code", [f"x{i * i}" for i in range(N_ROWS)], None, {"identifier"}
    ),
    "a constant": with_column("unit", ["kg"] * N_ROWS, None, {"constant"}),
    "the label by another name": with_column(
        "paid", [{"yes": "1", "no": "0"}[y] for y in LABELS], None, {"gives the label away"}
    ),
    "a label NA": Trap(
        table(plain(y=REGION, price=strays("NA")[0])),
        PLAIN.assign(y=REGION, price=strays("NA")[1]),
        {"label that means missing"},
    ),
    "rows without a label": Trap(
        table(plain(y=HOLES)), PLAIN[[bool(y) for y in HOLES]], {"rows without a label"}
    ),
    "comments": Trap(
        b"# made by x\n# on 2020-01-31, at noon\n" + table(plain()),
        PLAIN,
        {"lines before the header"},
    ),
    "a title": Trap(b"Sales of 2020\n\n" + table(plain()), PLAIN, {"lines before the header"}),
    "sep=": Trap(b"sep=;\n" + table(plain(), ";"), PLAIN, {"lines before the header"}),
    "a byte-order mark": Trap(b"\xef\xbb\xbf" + table(plain()), PLAIN, {"byte-order mark"}),
    "no header": Trap(
        table(plain(), header=False),
        PLAIN.set_axis(["column1", "column2", "column3"], axis=1),
        {"no header"},
    ),
    "blanks": Trap(table(plain(), "   "), PLAIN, {"delimiter"}),
    "tabs, and commas in text": Trap(
        table(plain(kind=[f"{k}, dark" for k in KIND]), "\t"),
        PLAIN.assign(kind=[f"{k}, dark" for k in KIND]),
        set(),
    ),
    "latin-1": Trap(
        table(plain(kind=CITY), encoding="latin-1"), PLAIN.assign(kind=CITY), {"encoding"}
    ),
    "UTF-16": Trap(
        table(plain(kind=CITY), encoding="utf-16"), PLAIN.assign(kind=CITY), {"encoding"}
    ),
    "GB 18030": Trap(
        table(plain(kind=CHINESE), encoding="gb18030"), PLAIN.assign(kind=CHINESE), {"encoding"}
    ),
    "a written index": Trap(
        table({"": list(range(N_ROWS)), **plain()}), PLAIN, {"column without a name"}
    ),
    "packed": Trap(gzip.compress(table(plain(), "|")), PLAIN, set(), "t.csv.gz"),
    "ARFF": Trap(ARFF.encode() + table(plain(), header=False), PLAIN, {"ARFF"}, "t.arff"),
    "JSON lines": Trap(
        pd.DataFrame(plain()).to_json(orient="records", lines=True).encode(),
        PLAIN,
        set(),
        "it's a t.jsonl",
    ),
}


def tally_of_call(call):
    """The tally of the model that the lines of Python make, without the weights."""
    names: dict[str, object] = {}
    exec(call.replace("WeightedNaiveBayes", "NaiveBayes"), names)
    return names["model"].tally_


@pytest.mark.parametrize("trap", TRAPS)
@pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")
def test_the_command_reads_the_rows_as_they_are_meant(tmp_path, monkeypatch, trap):
    given = TRAPS[trap]
    monkeypatch.chdir(tmp_path)
    (tmp_path / given.name).write_bytes(given.data)
    target = given.meant.columns[-1]
    found = tallybayes.doctor(given.name, target)
    assert {f.kind for f in found.all_findings} == given.kinds, found.all_findings
    assert found.sound, found.tried
    expected = tallybayes.collect(given.meant, target)
    program, *words = shlex.split(found.command)
    assert program == "tallybayes"
    words += ["--plain", "--no-estimate", "-o", "m.tally"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert tallybayes.load("m.tally").tally_ == expected
    assert tally_of_call(found.call) == expected
    assert sum(found.classes.values()) == len(given.meant)
    assert found.n_rows == N_ROWS


def test_a_table_of_a_database(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("shop.duckdb") as db:
        db.execute("CREATE TABLE sales AS SELECT * REPLACE (price AS price) FROM PLAIN")
    expected = tallybayes.collect(PLAIN, "y")
    for words in (["--table", "sales"], ["--sql", "SELECT * FROM sales"]):
        result = CliRunner().invoke(app, ["doctor", "shop.duckdb", *words, "-t", "y", "--json"])
        found = json.loads(result.stdout)
        command = shlex.split(found["command"])
        assert command[2:5] == ["shop.duckdb", *words]
        fit = CliRunner().invoke(app, [*command[1:], "--plain", "--no-estimate", "-o", "m.tally"])
        assert fit.exit_code == 0, fit.output
        assert tallybayes.load("m.tally").tally_ == expected
        assert tally_of_call(found["python"]) == expected


def test_the_command_is_found_in_a_process_of_its_own(tmp_path):
    (tmp_path / "t.csv").write_bytes(TRAPS["thousands, German"].data)
    program = "from tallybayes.cli import command; command()"
    done = subprocess.run(
        [sys.executable, "-c", program, "doctor", "t.csv"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "tallybayes fit t.csv --target y --thousands . --decimal ," in done.stdout.splitlines()


def test_whole_numbers_as_labels_have_the_same_counts_as_strings_and_as_numbers(
    tmp_path, monkeypatch
):
    """The command keeps them as they are written; Python reads them as numbers."""
    monkeypatch.chdir(tmp_path)
    labels = [[2, 10, 1, 10][i % 4] for i in range(N_ROWS)]
    (tmp_path / "t.csv").write_bytes(table({"price": PRICE, "kind": KIND, "y": labels}))
    found = tallybayes.doctor("t.csv", "y")
    words = [*shlex.split(found.command)[1:], "--plain", "--no-estimate", "-o", "m.tally"]
    assert CliRunner().invoke(app, words).exit_code == 0
    one, other = tallybayes.load("m.tally"), tallybayes.NaiveBayes().fit("t.csv", "y")
    assert one.classes_.tolist() == ["1", "10", "2"]
    assert other.classes_.tolist() == [1, 2, 10]
    places = [other.classes_.tolist().index(int(label)) for label in one.classes_]
    np.testing.assert_array_equal(one.class_count_, other.class_count_[places])
    np.testing.assert_allclose(
        one.predict_proba("t.csv"), other.predict_proba("t.csv")[:, places], rtol=1e-12
    )
