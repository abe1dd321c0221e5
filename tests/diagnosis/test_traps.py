"""Files with one trap each: the command and the call that the doctor gives read them as the rows
are without the trap."""

from __future__ import annotations

import gzip
import json
import shlex
import subprocess
import sys
from dataclasses import dataclass

import duckdb
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tallybayes
from tallybayes.cli.app import app

N = 60
LABELS = ["yes" if i % 7 < 3 else "no" for i in range(N)]
PRICE = [[1650.88, 971.5, 12300.25, 88.0, 2045.75, 560.5][i % 6] for i in range(N)]
WHOLE = [[1650, 971, 12300, 88, 2045][i % 5] for i in range(N)]
KIND = [["red", "green", "blue"][i % 3] for i in range(N)]
DAY = [pd.Timestamp("2020-01-05") + pd.Timedelta(days=11 * i) for i in range(N)]
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


SECONDS = [27_000.0 + 1800 * (i % 20) for i in range(N)]
CITY = [["Köln", "Málaga", "Genève"][i % 3] for i in range(N)]
CHINESE = [["苹果", "香蕉", "橙子"][i % 3] for i in range(N)]
REGION = [["NA", "EU", "AS"][i * i % 5 % 3] for i in range(N)]
CODES = [["01067", "04109", "80331", "99084"][i % 4] for i in range(N)]
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
        ["NaN" if i % 10 == 3 else f"h{i % 4}" for i in range(N)],
        [None if i % 10 == 3 else f"h{i % 4}" for i in range(N)],
        set(),
    ),
    "leading zeros": with_column("plz", CODES, CODES, {"leading zeros"}),
    "an identifier": with_column("row", list(range(1, N + 1)), None, {"identifier"}),
    "an identifier of letters": with_column(
        "code", [f"x{i * i}" for i in range(N)], None, {"identifier"}
    ),
    "a constant": with_column("unit", ["kg"] * N, None, {"constant"}),
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
        table({"": list(range(N)), **plain()}), PLAIN, {"column without a name"}
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
    assert found.n_rows == N


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
    labels = [[2, 10, 1, 10][i % 4] for i in range(N)]
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
