"""An error is one line that says what to do, with an exit code; no file is left half-written."""

import signal
import time
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tallybayes import GaussianNB
from tallybayes.cli import interrupts
from tallybayes.cli.app import PlainGroup


@pytest.fixture
def write(tmp_path):
    def write(text, name="t.csv"):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return name

    return write


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["is empty", "header"]),
        ("a,y\n", ["no rows"]),
        ("a,b\n1,2\n", ["no column 'y'", "a, b"]),
        ("y2,a\n1,2\n", ["Did you mean 'y2'?"]),
        ("y\nu\nv\n", ["no column beside 'y'"]),
        ("a,a,y\n1,2,u\n", ["two columns are named 'a'"]),
        ('a,y\n"x\nx",u\n2\n3,v\n', ["line 4", "1 field(s)", "the header has 2"]),
        ('a,b,y\n1,"x,u\n2,z,v\n3,w,u\n', ["line 2: a quote opens", "is not closed"]),
        ('a,y\n"x\nx",u\n2,\n3,v\n', ["line 4", "no label in 'y'"]),
        ("a,y\n1,u\n-inf,v\n", ["line 3", "'a'", "infinite"]),
        (b"a,y\n\x00\x01\x02,u\n", ["binary file"]),
        (b"a,y\n\xff\xfe1,u\n", ["--encoding"]),
        ('{"a": 1, "y": "u"}\n{"a": 1,\n', ["line 2", "not valid JSON"]),
        ('{"a": 1, "y": "u"}\n[1]\n', ["line 2", "not a JSON object"]),
        ('{"a": [1], "y": "u"}\n', ["no column of single values", "'a'", "array", "unpack"]),
        ("a,y\n" + "".join(f"1,{i}.5\n" for i in range(200)), ["200 different values"]),
    ],
)
def test_bad_training_data(run, write, tmp_path, text, parts):
    line = run("fit", write(text), "--target", "y", code=1).line
    for part in parts:
        assert part in line
    assert not (tmp_path / "t.tally").exists()


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--alpha", "2"], ["--alpha is for --plain"]),
        (["--calibrate", "isotonic"], ["--calibrate is for --plain"]),
        (["--missing", "level"], ["--missing is for --plain", "missing values as evidence"]),
        (["--column", "age=gaussian"], ["'age=gaussian' is for --plain", "age=none"]),
        (["--interactions", "-1"], ["--interactions '-1'", "nor auto"]),
    ],
)
def test_what_a_weighted_model_decides_by_itself(run, files, words, parts):
    line = run("fit", "comma.csv", "--target", "buys", *words, code=2).line
    for part in parts:
        assert part in line


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ([], ["--target"]),
        (["--target", "buys", "--colum", "x"], ["--colum"]),
        (["--target", "buys", "--column", "age=gausian"], ["gaussian", "Did you mean"]),
        (["--target", "buys", "--column", "age"], ["NAME=FAMILY"]),
        (["--target", "buys", "--alpha", "x"], ["--alpha"]),
        (["--target", "buys", "--missing", "x"], ["ignore", "level"]),
        (["--target", "buys", "--interactions", "2"], ["omit --plain"]),
        (["--target", "buys", "--delimiter", "ab"], ["--delimiter"]),
        (["--target", "buys", "--format", "xls"], ["parquet"]),
        (["--target", "buys", "--encoding", "xls"], ["--encoding"]),
    ],
)
def test_usage(run, files, words, parts):
    line = run("fit", "--plain", "comma.csv", *words, code=2).line
    for part in parts:
        assert part in line


def test_more_usage(run, files, model, tmp_path):
    assert "No such command" in run("fitt", code=2).line
    assert "-o MODEL" in run("fit", "-", "--target", "y", stdin=b"a,y\n1,u\n", code=2).line
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "readme.md").write_text("a, b")
    line = run("fit", "notes", "--target", "y", "-o", "n.tally", code=2).line
    assert "notes has no files of rows" in line
    assert not (tmp_path / "n.tally").exists()
    assert "two models" in run("merge", model, "-o", "c.tally", code=2).line
    assert ".parquet" in run("predict", model, "comma.csv", "-o", "p.xls", code=2).line
    assert "Usage" in run(code=2).out
    assert "Usage" in run("fit", "--help").out


def test_an_unknown_column_lists_columns_and_families(run, files):
    words = ("fit", "--plain", "comma.csv", "--target", "buys", "--column", "agee=gaussian")
    line = run(*words, code=1).line
    for part in ("'agee'", "age, pay, job", "gaussian, categorical", "Did you mean 'age'?"):
        assert part in line


def test_a_declared_number_that_is_none_has_its_line(run, files, tmp_path):
    words = ("fit", "--plain", "comma.csv", "--target", "buys", "--column", "home=gaussian")
    assert "line 2: column 'home'" in run(*words, code=1).line


def test_missing_files_and_other_files(run, files, model, tmp_path):
    assert "nope.csv" in run("fit", "nope.csv", "--target", "y", code=1).line
    assert "nope.tally" in run("show", "nope.tally", code=1).line
    assert "not a tallybayes model" in run("show", "comma.csv", code=1).line
    assert "swap the arguments" in run("fit", model, "--target", "y", code=1).line
    assert "directory" in run("fit", "comma.csv", "-t", "buys", "-o", "no/m.tally", code=1).line
    GaussianNB().fit([[0.0], [1.0]], [0, 1]).save(tmp_path / "g.tally")
    assert "GaussianNB" in run("show", "g.tally", code=1).line


@pytest.mark.parametrize("command", ["fit", "count"])
def test_a_damaged_page_names_file_and_column_and_leaves_no_model(run, tmp_path, command):
    table = pa.table({"age": np.arange(4000.0), "y": ["yes", "no"] * 2000})
    for name in ("1", "2"):
        pq.write_table(table, tmp_path / f"{name}.parquet", use_dictionary=["y"])
    path = tmp_path / "2.parquet"
    at = pq.ParquetFile(path).metadata.row_group(0).column(0).data_page_offset
    content = bytearray(path.read_bytes())
    content[at : at + 12] = b"\xff" * 12
    path.write_bytes(content)
    line = run(command, "*.parquet", "-t", "y", "-o", "m.tally", code=1).line
    assert "2.parquet is a damaged" in line
    assert "column 'age' of row group 1 of 1" in line
    assert sorted(p.name for p in tmp_path.iterdir()) == ["1.parquet", "2.parquet"]


def test_a_damaged_model(run, model, tmp_path):
    data = bytearray((tmp_path / model).read_bytes())
    data[-1] ^= 1
    (tmp_path / "bad.tally").write_bytes(data)
    assert "damaged" in run("show", "bad.tally", code=1).line


def test_data_that_does_not_fit_the_model(run, model, write, tmp_path):
    lines = (tmp_path / "comma.csv").read_text(encoding="utf-8").splitlines()
    before = (tmp_path / model).read_bytes()
    line = run("predict", model, write("age,job\n1,cook\n"), code=1).line
    assert "lacks the column(s) pay, home, active, since" in line
    bad = "\n".join([lines[0], '1,2,"cook\ncook",Bern,true,2020-01-01,ja', "old,2,cook,,,,ja"])
    for command in ("predict", "evaluate"):
        line = run(command, model, write(bad), code=1).line
        assert "line 4" in line
        assert "'age' holds 'old'" in line
    line = run("forget", model, write(bad), code=1).line
    assert "class 'ja': these rows were not counted" in line
    assert "no column 'buys'" in run("evaluate", model, write("a\n1\n"), code=1).line
    two = write("\n".join(lines[:3]))
    for row in (2, 9):  # from 0
        assert f"no row {row}" in run("explain", model, two, "--row", row, code=1).line
    assert (tmp_path / model).read_bytes() == before


def test_a_column_of_the_model_is_no_label(run, model):
    for command in ("evaluate", "update", "forget", "reweight"):
        line = run(command, model, "comma.csv", "--target", "age", code=2).line
        assert "--target 'age' is a column that the model predicts from" in line
        assert "the label is 'buys'" in line


def test_forgetting_what_was_not_learned_changes_nothing(run, files, model, tmp_path):
    run("fit", "half.csv", "--target", "buys", "-o", "h.tally", "--no-estimate")
    before = (tmp_path / "h.tally").read_bytes()
    line = run("forget", "h.tally", "comma.csv", code=1).line
    assert "class '" in line
    assert "these rows were not counted" in line
    lines = (tmp_path / "half.csv").read_text("utf-8").splitlines()
    (tmp_path / "one.csv").write_text(f"{lines[0]}\n99,1,new job,Bern,true,2020-01-01,ja\n")
    line = run("forget", "h.tally", "one.csv", code=1).line
    assert "one.csv: column 'age', class 'ja': these rows were not counted" in line
    assert (tmp_path / "h.tally").read_bytes() == before


def test_models_that_do_not_merge(run, files, model, write):
    run("fit", write("age,y\n1,a\n2,b\n"), "--target", "y", "-o", "o.tally")
    assert "'buys'" in run("merge", model, "o.tally", "-o", "c.tally", code=1).line
    dates = "age,buys\n2020-01-01,ja\n2021-01-01,nein\n"
    run("fit", write(dates), "--target", "buys", "-o", "o.tally")
    assert "age=categorical" in run("merge", model, "o.tally", "-o", "c.tally", code=1).line


def test_tracebacks_are_for_those_who_ask(run, monkeypatch):
    run("show", "nope.tally", code=1)
    monkeypatch.setenv("TALLYBAYES_DEBUG", "1")
    assert "Traceback" in run("show", "nope.tally", code=1).err


def test_the_process_pipes_and_ends_with_the_code(process, files, tmp_path):
    data = (tmp_path / "comma.csv").read_bytes()
    found = process("fit", "--plain", "-", "-t", "buys", "-o", "m.tally", "--json", stdin=data)
    assert found.document["estimate"]["rows"] == 240
    assert found.err == ""
    found = process("predict", "m.tally", "-", stdin=data)
    assert found.out.count("\n") == 241


CHANGES = [("update", "m.tally", "-"), ("fit", "--plain", "-", "-t", "buys", "-o", "m.tally")]


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("words", CHANGES, ids=lambda words: words[0])
def test_ctrl_c_and_kill_leave_the_model(process, model, tmp_path, words, end):
    before = (tmp_path / model).read_bytes()
    job = process.start(*words, stdin=-1)
    job.stdin.write((tmp_path / "comma.csv").read_bytes())
    job.stdin.flush()
    _wait_until_it_reads(job)
    job.send_signal(end)
    _, err = job.communicate(timeout=20)
    assert (tmp_path / model).read_bytes() == before
    if end == signal.SIGINT:
        assert job.returncode == 130, err
        assert err.decode() == "tallybayes: error: interrupted; model files are as they were\n"
        assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def _wait_until_it_reads(job):
    """Until the pipe, which the process fills itself from, takes more than a pipe holds."""
    import os

    os.set_blocking(job.stdin.fileno(), False)
    more, limit = b"30,20.5,cook,Bern,true,2020-01-01,ja\n" * 1000, time.monotonic() + 20
    taken = 0
    while taken < 1 << 20 and time.monotonic() < limit:
        try:
            taken += os.write(job.stdin.fileno(), more[taken % len(more) :])  # whole rows
        except BlockingIOError:
            time.sleep(0.02)
    assert taken >= 1 << 20


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["fit", "folder"], ["folder has no documents", "a folder for each class"]),
        (["predict", "m.tally", "folder"], ["folder is a directory"]),
        (["show", "folder"], ["folder is a directory"]),
        (["fit", "comma.csv", "-t", "BUYS"], ["Did you mean 'buys'?"]),
        (["fit", "comma.csv", "-t", "buys", "--delimiter", ";"], ["Is the --delimiter another?"]),
        (["fit", "junk.csv", "-t", "y", "--encoding", "latin-1"], ["binary file"]),
        (["fit", "cr.csv", "-t", "y"], ["header line"]),
        (["predict", "comma.csv", "m.tally"], ["not a tallybayes model", "before the data"]),
        (["show", "junk.csv"], ["not a tallybayes model"]),
        (["fit", "cut.csv.gz", "-t", "buys"], ["incomplete gzip file"]),
        (["fit", "comma.csv", "-t", "buys", "--test", "nope.csv"], ["nope.csv: No such file"]),
    ],
)
def test_first_stumbles(run, files, model, tmp_path, words, parts):
    import gzip

    (tmp_path / "folder").mkdir()
    (tmp_path / "junk.csv").write_bytes(bytes(i * 37 % 256 for i in range(3000)) + b"a\rb")
    (tmp_path / "cr.csv").write_bytes(b"a\rb\rc,y\n1,2\n")
    packed = gzip.compress((tmp_path / "comma.csv").read_bytes())
    (tmp_path / "cut.csv.gz").write_bytes(packed[: len(packed) // 2])
    result = run(*words, code=1)
    for part in parts:
        assert part in result.line
    assert result.out == ""


def test_json_lines_that_are_arrays_are_no_rows(run, write):
    line = run("fit", write('{"a": 1, "y": "u"}\n[1, 2]\n', "t.json"), "-t", "y", code=1).line
    assert "line 2 is not a JSON object: each line has to be one" in line


def test_standard_input_is_one_file(run):
    line = run("fit", "-", "-t", "y", "-o", "m.tally", "--test", "-", stdin=b"", code=2).line
    assert "cannot be both" in line


def test_whoever_reads_only_the_beginning(process, run, files, model, tmp_path):
    """`| head -1` ends the command without an error."""
    lines = (tmp_path / "comma.csv").read_bytes().splitlines(keepends=True)
    (tmp_path / "long.csv").write_bytes(lines[0] + lines[1] * 60_000)
    job = process.start("predict", model, "long.csv", "--proba")
    assert job.stdout.readline().startswith(b"prediction,")
    job.stdout.close()
    assert job.wait(60) == 0
    assert job.stderr.read() == b""
    job.stderr.close()


def test_a_locale_without_the_letters(process, run, files, model):
    narrow = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    words = ("show", model, "--tables")
    assert "cook" in process(*words, **narrow).out
    found = process(*words, "--json", **narrow)
    assert found.out.isascii()
    assert found.document == run(*words, "--json").document


def test_tables_in_terminals_of_any_width(run, files, model, monkeypatch):
    for columns, widest in ((20, 30), (40, 40), (70, 70), (300, 300)):
        monkeypatch.setenv("COLUMNS", str(columns))
        text = run("show", model, "--tables").out
        assert max(map(len, text.splitlines())) <= widest
        for word in ("numbers", "levels", "Classes"):
            assert word in text


def test_columns_that_tell_nothing_are_said(run, tmp_path):
    bits = np.random.default_rng(0).integers(0, 2, (16, 4)).tolist()
    lines = [f"{a},{'uv'[b]},{c},{'xy'[k]}" for a, b, c, k in bits]
    (tmp_path / "noise.csv").write_text("\n".join(["a,b,c,y", *lines]) + "\n")
    assert "better than chance" in run("fit", "noise.csv", "-t", "y").err
    assert "better than chance" not in run("fit", "noise.csv", "-t", "y", "--plain").err


def test_a_file_that_an_interrupt_left_open_is_not_warned_of(run, monkeypatch):
    def main(*_, **__):
        warnings.warn("unclosed file", ResourceWarning, stacklevel=1)
        raise KeyboardInterrupt

    monkeypatch.setattr(interrupts, "_replaced", [])  # other tests have written files here
    monkeypatch.setattr(PlainGroup, "main", main)
    found = run("fit", code=130)
    assert found.line == "tallybayes: error: interrupted; model files are as they were"
