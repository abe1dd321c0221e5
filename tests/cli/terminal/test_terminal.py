"""What a terminal shows: reports beside the progress bar, widths, and names that would steer it."""

import os
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.terminal.conftest import CONTROL, shown
from tallybayes.cli.messages import formula_safe, json_safe, one_line, visible
from tallybayes.sources.csv_files import CsvFile


def stripped(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_the_report_of_fit_is_whole_beside_the_bar(terminal, run, files, width, monkeypatch):
    words = ("fit", "comma.csv", "--target", "buys", "-o", "m.tally")
    sent = terminal(*words, width=width)
    assert "counting" in sent  # the bar was there
    lines = shown(sent, width)
    monkeypatch.setenv("COLUMNS", str(width))
    expected = stripped(run(*words).out)
    assert [line for line in lines if line] == [line for line in expected if line]


@pytest.fixture
def shown_at_once(monkeypatch):
    """Bars are drawn whenever they change."""
    from rich.progress import Progress

    update = Progress.update

    def drawn(progress, *args, **kwargs):
        update(progress, *args, **kwargs)
        progress.refresh()

    monkeypatch.setattr(Progress, "update", drawn)


def test_the_bar_tells_the_steps_of_learning_weights(
    terminal, run, files, shown_at_once, monkeypatch
):
    words = ("fit", "comma.csv", "--target", "buys", "-o", "m.tally")
    for command in (words, ("reweight", "m.tally", "comma.csv")):
        sent = CONTROL.sub("", terminal(*command, width=120))
        told = re.findall(r"learning weights: (\d) of 6 fits", sent)
        assert {"1", "5"} <= set(told)
        assert "learning weights: 1 of 7 smooth functions" in sent
    assert "learning" not in CONTROL.sub(
        "", terminal("fit", "-q", *words[1:], "--force", width=120)
    )
    monkeypatch.setenv("TALLYBAYES_PROGRESS", "0")
    assert "learning weights:" not in CONTROL.sub("", terminal(*words, "--force", width=120))
    assert run(*words, "--force").err == ""


def test_the_bar_tells_rows_speed_and_the_time_left(terminal, tmp_path, monkeypatch, shown_at_once):
    # more blocks than are read ahead of the threads that count them
    monkeypatch.setitem(CsvFile.__init__.__kwdefaults__, "block", 1 << 19)
    words = "some words that make the file longer"
    rows = "".join(f"{i % 97},{'ab'[i % 2]},{words}\n" for i in range(400))
    (tmp_path / "t.csv").write_text("x,y,words\n" + rows * 1000)
    for words in (
        ("count", "t.csv", "--target", "y", "-o", "t.tally"),
        ("predict", "t.tally", "t.csv", "-o", "p.csv"),
    ):
        sent = CONTROL.sub("", terminal(*words, width=120))
        found = re.findall(r"([\d,]+) rows, [\d,]+ MB/s.*?(\d:\d\d:\d\d|-:--:--)", sent)
        told = [int(rows.replace(",", "")) for rows, _ in found]
        assert len(told) > 4
        assert told[0] < told[-1] <= 400_000
        assert any(left != "-:--:--" for _, left in found)


def test_a_process_of_its_own_shows_the_same(process_in_a_terminal, process, files):
    words = ("fit", "comma.csv", "--target", "buys", "-o", "m.tally")
    sent = process_in_a_terminal(*words, width=60)
    assert "counting" in sent
    expected = stripped(process(*words, COLUMNS="60").out)
    assert [line for line in shown(sent, 60) if line] == [line for line in expected if line]


@pytest.mark.parametrize(
    "words",
    [("evaluate", "m.tally", "comma.csv"), ("explain", "m.tally", "comma.csv", "--row", 3)],
    ids=lambda words: words[0],
)
def test_other_reports_are_whole(terminal, run, files, words):
    run("fit", "comma.csv", "--target", "buys", "-o", "m.tally", "--no-estimate")
    expected = stripped(run(*words).out)
    assert [v for v in shown(terminal(*words), 80) if v] == [v for v in expected if v]


@pytest.mark.parametrize("width", [20, 40, 60])
def test_messages_end_their_lines_between_words(terminal, run, files, width):
    """On a terminal; for programs each is one line."""
    run("fit", "comma.csv", "--target", "buys", "-o", "m.tally", "--no-estimate")
    message = run("update", "m.tally", "comma.csv").err.rstrip()
    assert "\n" not in message
    run("fit", "comma.csv", "--target", "buys", "-o", "m.tally", "--no-estimate", "--force")
    lines = shown(terminal("update", "m.tally", "comma.csv", width=width), width)
    text = " ".join(line for line in lines if line)
    assert " ".join(message.split()) in text
    error = shown(terminal("predict", "m.tally", "nothing.csv", width=width, code=1), width)
    assert " ".join(error).strip() == run("predict", "m.tally", "nothing.csv", code=1).err.strip()


def test_predictions_stand_alone_on_a_terminal(terminal, run, files):
    run("fit", "comma.csv", "--target", "buys", "-o", "m.tally", "--no-estimate")
    sent = terminal("predict", "m.tally", "comma.csv")
    assert sent.replace("\r\n", "\n") == run("predict", "m.tally", "comma.csv").out


def test_there_is_no_bar_beside_what_reads_a_pipe(terminal, run, files, tmp_path):
    run("fit", "comma.csv", "--target", "buys", "-o", "m.tally", "--no-estimate")
    reads, writes = os.pipe()
    with open(reads), open(writes, "wb") as out:
        assert terminal("predict", "m.tally", "comma.csv", out=out) == ""
    with (tmp_path / "p.csv").open("wb") as out:
        assert "predicting" in terminal("predict", "m.tally", "comma.csv", out=out)


def test_a_report_sent_to_a_file_is_in_the_file(terminal, run, files, tmp_path):
    words = ("fit", "comma.csv", "--target", "buys", "-o", "m.tally")
    with (tmp_path / "report.txt").open("wb") as out:
        sent = terminal(*words, out=out)
    assert [line for line in shown(sent, 80) if line] == []
    assert "Confusion matrix" in (tmp_path / "report.txt").read_text()


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("name", [(), ("fit",), ("predict",), ("merge",), ("show",)])
def test_help_fits_the_terminal(run, monkeypatch, width, name):
    monkeypatch.setenv("COLUMNS", str(width))
    text = run(*name, "--help").out
    assert max(map(len, text.splitlines())) <= width
    assert "<" not in text
    assert "{" not in text
    words = " ".join(text.split())
    assert "Show this message and exit." in words
    if name == ("fit",):
        assert "Usage: tallybayes fit [OPTIONS] TRAIN…" in words
        assert "'age=binned(bins=16)'" in words


HOSTILE = {
    "colour": "\x1b[35mred",
    "bell": "ring\x07",
    "title": "\x1b]0;owned\x07",
    "c1": "a\x9b2Jb",
    "bidi": "a\u202eb\u2066c",
    "delete": "x\x7fy",
    "line": "one\u2028two",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hidden_characters_are_visible(text):
    seen = visible(text)
    assert seen.isprintable()
    assert visible(seen) == seen
    import json

    assert json_safe(json.dumps(text, ensure_ascii=False)).isprintable()
    assert json.loads(json_safe(json.dumps(text, ensure_ascii=False))) == text


def test_readable_text_is_left_alone():
    for text in ("工程师", "Ž é ß", "👩\u200d🔬", "[bold]x[/bold]", "\\x1b", "‘“–…×"):
        assert visible(text) == text
    assert one_line("a\n  b\tc") == "a b\\tc"


@pytest.fixture
def hostile(tmp_path, run):
    """A model whose column, levels and classes hold what steers a terminal."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, len(HOSTILE), 300)
    levels = list(HOSTILE.values())
    table = pa.table(
        {
            "\x1b[2Jcol\u202eumn": [levels[i] for i in x],
            "[bold]markup[/bold]": rng.normal(size=300) + x,
            "y": ["=\x1b[5mcmd\x07" if i % 2 else "[red]no" for i in x],
        }
    )
    pq.write_table(table, tmp_path / "h.parquet")
    run("fit", "h.parquet", "-t", "y", "-o", "h.tally", "--no-estimate")
    return table


COMMANDS = [
    ("fit", "h.parquet", "-t", "y", "-o", "g.tally"),
    ("evaluate", "h.tally", "h.parquet"),
    ("explain", "h.tally", "h.parquet", "--row", 0),
    ("explain", "h.tally", "h.parquet", "--row", 1, "--json"),
    ("show", "h.tally", "--tables"),
    ("show", "h.tally", "--tables", "--json"),
    ("predict", "h.tally", "h.parquet", "--proba"),
    ("predict", "h.tally", "h.parquet", "--json"),
    ("update", "h.tally", "h.parquet", "-o", "u.tally"),
]


@pytest.mark.parametrize("width", [40, 120])
def test_names_do_not_steer_the_terminal(terminal, run, hostile, width):
    for words in COMMANDS if width == 120 else COMMANDS[:5]:
        sent = CONTROL.sub(_allowed, terminal(*words, width=width).replace("\r\n", "\n"))
        sent = sent.replace("\r", "").replace("\n", "")
        assert sent.isprintable(), (words, [c for c in sent if not c.isprintable()])
        if words[0] == "show":
            assert "[bold]markup[/bold]" in sent
        if "--json" not in words and words[0] != "update":
            assert "\\x1b[5mcmd\\x07" in sent.replace(" ", "")


def _allowed(found: re.Match[str]) -> str:
    """What rich sends by itself: colours, the cursor, lines that are erased."""
    number, what = found[1], found[2]
    steers = (what == "m" and number in ("5", "35")) or (what == "J")
    return found[0] if steers else ""


def test_errors_and_notes_do_not_steer_the_terminal(run, hostile, tmp_path):
    for words in (
        ("predict", "h.tally", "no\x1b[2Jfile.csv"),
        ("fit", "h.parquet", "-t", "no\x1b[2Jcolumn"),
        ("fit", "h.parquet", "-t", "y", "-o", "no\x1b[2J/x.tally"),
    ):
        line = run(*words, code=1).line
        assert "\\x1b[2J" in line
        assert line.isprintable()
    line = run("fit", "h.parquet", "-t", "y", "--colu\x1b[2J", code=2).line
    assert line.isprintable()
    (tmp_path / "s\x1b[2J.csv").write_text("x,y\n1,a\n2,b\n")
    err = run("fit", "s\x1b[2J.csv", "-t", "y", "--no-estimate").err
    assert err.replace("\n", "").isprintable()


def test_machines_get_names_as_they_are(run, hostile, tmp_path):
    label = "=\x1b[5mcmd\x07"
    columns = run("show", "h.tally", "--json").document["columns"]
    assert [c["column"] for c in columns] == hostile.column_names[:2]
    assert label.encode() in run("predict", "h.tally", "h.parquet").out.encode()
    run("predict", "h.tally", "h.parquet", "-o", "p.csv")
    assert label in (tmp_path / "p.csv").read_text()


def test_predictions_that_a_spreadsheet_does_not_run(run, hostile, tmp_path):
    run("predict", "h.tally", "h.parquet", "-o", "p.csv", "--proba", "--safe-csv")
    lines = (tmp_path / "p.csv").read_text().splitlines()
    assert lines[0].startswith("prediction,p(=")
    assert not any(line.startswith("=") for line in lines)
    assert any(line.startswith("'=\x1b[5mcmd\x07,0.") for line in lines)
    assert "'=" in run("predict", "h.tally", "h.parquet", "--safe-csv").out
    words = ("predict", "h.tally", "h.parquet", "--safe-csv")
    assert "--safe-csv" in run(*words, "-o", "p.parquet", code=2).line
    assert "--safe-csv" in run(*words, "--json", code=2).line


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-x", "@sum", "\tx", "\r=1", "\t5", "-1-1"])
def test_formulas_are_guarded(text):
    assert formula_safe(text) == "'" + text


@pytest.mark.parametrize("text", ["-1", "+2.5", "-1e-9", "a=b", "", "'=1", " x", "-.5"])
def test_numbers_and_texts_are_not_guarded(text):
    assert formula_safe(text) == text


def test_only_the_console_draws():
    """So that nothing is printed that has not passed through `visible`."""
    from pathlib import Path

    import tallybayes.cli

    folder = Path(tallybayes.cli.__file__).parent
    using = {
        path.name
        for path in folder.rglob("*.py")
        if re.search(r"^\s*(from|import) rich", path.read_text("utf-8"), re.M)
    }
    assert using == {"console.py"}


def test_a_wide_table_prints_the_informative_columns(run, tmp_path):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 80)
    columns = {f"noise{i}": rng.normal(size=80) for i in range(100)}
    columns["signal"] = y + rng.normal(size=80) / 4
    pq.write_table(pa.table({**columns, "y": y}), tmp_path / "w.parquet")
    for words in (("--plain",), ()):
        out = run("fit", "w.parquet", "-t", "y", "--no-estimate", *words).out
        assert len(out.splitlines()) < 80
        assert "signal" in out
        assert "… and 81 more: tallybayes show w.tally --all" in out
        assert len(run("show", "w.tally", "--tables").out.splitlines()) < 700
        assert "noise99" in run("show", "w.tally", "--all").out


def test_many_classes_are_cut(run, tmp_path):
    rows = [f"{i % 7},c{i % 60}" for i in range(240)]
    (tmp_path / "t.csv").write_text("x,y\n" + "\n".join(rows) + "\n")
    out = run("fit", "--plain", "t.csv", "-t", "y", "--no-estimate").out
    assert "… and 40 more" in out
    assert "c59" in run("show", "t.tally", "--all").out


def test_weights_and_what_columns_add_are_numbers_for_machines(run, files):
    run("fit", "comma.csv", "--target", "buys", "-o", "m.tally", "--no-estimate")
    columns = run("show", "m.tally", "--json").document["columns"]
    for column in columns:
        assert isinstance(column["weight"], float) == column["used"]
        assert isinstance(column["adds"], float) == column["used"]
        if column["used"]:
            assert f"adds {column['adds']:.2f} nats" in column["family"]
    run("fit", "--plain", "comma.csv", "--target", "buys", "-o", "p.tally", "--no-estimate")
    columns = run("show", "p.tally", "--json").document["columns"]
    assert all(column["weight"] is column["adds"] is None for column in columns)
