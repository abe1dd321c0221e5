"""Files of one's own: kept, replaced whole, told about truly, and changed by two processes at
once.
"""

import os
import signal
import stat
import subprocess
import time

import pytest
from benchmarks.files.commands import kills, writers

from cli.conftest import command
from tallybayes.cli import files
from tallybayes.cli.files import alone
from tallybayes.sources.opening import Stream

ROW = b"30,20.5,cook,Bern,true,2020-01-01,ja\n"


@pytest.fixture
def model(run, files):
    run("fit", "half.csv", "--target", "buys", "-o", "m.tally", "--no-estimate", "--plain")
    return "m.tally"


def drafts(folder):
    return [p.name for p in folder.iterdir() if p.name.startswith(".")]


def _has_draft(folder, limit=30.0):
    end = time.monotonic() + limit
    while not drafts(folder) and time.monotonic() < end:
        time.sleep(0.02)
    assert drafts(folder)


COMMANDS = [
    ("update", "m.tally", "rest.csv"),
    ("forget", "m.tally", "half.csv"),
    ("merge", "m.tally", "copy.tally", "-o", "m.tally"),
    ("fit", "half.csv", "-t", "buys", "-o", "m.tally", "--plain", "--no-estimate"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_mode_and_link_are_kept(run, model, tmp_path, words):
    (tmp_path / "copy.tally").write_bytes((tmp_path / model).read_bytes())
    (tmp_path / model).rename(tmp_path / "real.tally")
    (tmp_path / "real.tally").chmod(0o640)
    (tmp_path / model).symlink_to("real.tally")
    before = (tmp_path / "real.tally").stat().st_ino
    run(*words)
    assert (tmp_path / model).is_symlink()
    after = (tmp_path / "real.tally").stat()
    assert after.st_ino != before
    assert stat.S_IMODE(after.st_mode) == 0o640


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "-", "-t", "buys", "-o", "/proc/m.tally"),
        ("update", "m.tally", "-", "-o", "/proc/m.tally"),
        ("merge", "m.tally", "m.tally", "-o", "/proc/m.tally"),
        ("predict", "m.tally", "-", "-o", "/proc/p.csv"),
    ],
    ids=lambda words: words[0],
)
def test_an_output_that_cannot_be_written_is_noticed_before_the_work(
    run, model, words, monkeypatch
):
    def read(self, path):
        raise AssertionError(f"{path} was read")

    monkeypatch.setattr(Stream, "__init__", read)
    assert "/proc/" in run(*words, code=1).line


def test_predictions_are_overwritten_on_demand_only(run, model, tmp_path):
    words = ("predict", model, "rest.csv", "-o", "p.csv")
    run(*words)
    (tmp_path / "p.csv").write_text("precious")
    line = run(*words, code=2).line
    assert "p.csv exists" in line
    assert "--force" in line
    assert (tmp_path / "p.csv").read_text() == "precious"
    run(*words, "--force")
    assert (tmp_path / "p.csv").read_text().startswith("prediction")
    (tmp_path / "p.csv").write_text("")  # as mktemp makes it
    run(*words)


@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"n\n", 1), (b"\n", 1)])
def test_a_person_is_asked(model, tmp_path, answer, code):
    (tmp_path / "p.csv").write_text("precious")
    ours, theirs = os.openpty()
    job = subprocess.Popen(
        command("predict", model, "rest.csv", "-o", "p.csv"),
        **dict.fromkeys(("stdin", "stdout", "stderr"), theirs),
        cwd=tmp_path,
    )
    os.close(theirs)
    said = b""
    while b"Overwrite it?" not in said:
        said += os.read(ours, 1000)
    os.write(ours, answer)
    assert job.wait(60) == code
    os.close(ours)
    assert ((tmp_path / "p.csv").read_text() == "precious") == bool(code)


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("p.parquet", signal.SIGINT),
        ("p.parquet", signal.SIGTERM),
        ("p.arrow", signal.SIGINT),
        ("p.csv", signal.SIGHUP),
    ],
)
def test_a_signal_removes_drafts_without_a_traceback(process, model, files, tmp_path, name, number):
    header = (tmp_path / "rest.csv").read_bytes().partition(b"\n")[0]

    def heed():  # the tests themselves may run under nohup
        signal.signal(number, signal.SIG_DFL)

    job = process.start("predict", model, "-", "-o", name, stdin=subprocess.PIPE, preexec_fn=heed)
    job.stdin.write(header + b"\n" + ROW * 5000)
    job.stdin.flush()
    _has_draft(tmp_path)
    time.sleep(0.3)
    job.send_signal(number)
    _, err = job.communicate(timeout=30)
    assert job.returncode == 128 + number
    what = "interrupted" if number == signal.SIGINT else "terminated"
    assert err.decode() == f"tallybayes: error: {what}; model files are as they were\n"
    assert drafts(tmp_path) == []
    assert not (tmp_path / name).exists()


def test_an_ignored_signal_stays_ignored(process, model, tmp_path):
    """As nohup makes it."""
    header = (tmp_path / "rest.csv").read_bytes().partition(b"\n")[0]

    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    job = process.start("update", model, "-", stdin=subprocess.PIPE, preexec_fn=ignore)
    job.stdin.write(header + b"\n" + ROW * 4000)
    job.stdin.flush()  # more than a pipe holds: it is being read, so that signals are seen to
    job.send_signal(signal.SIGHUP)
    _, err = job.communicate(timeout=30)
    assert job.returncode == 0, err


WHEN_REPLACED = """
import os, signal
from tallybayes.cli import command
replace = os.replace
def replaced(*names):
    {before}
    replace(*names)
    {after}
os.replace = replaced
command()
"""
KILL = "os.kill(os.getpid(), signal.SIGINT)"


@pytest.mark.parametrize("after", [False, True])
def test_ctrl_c_says_whether_the_model_was_replaced(model, tmp_path, after):
    """The signal comes within the replacement, before or after the file has its name."""
    import sys

    before = (tmp_path / model).read_bytes()
    code = WHEN_REPLACED.format(before="pass" if after else KILL, after=KILL if after else "pass")
    job = subprocess.run(
        [sys.executable, "-c", code, "update", model, "rest.csv"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert job.returncode == 130
    assert "Traceback" not in job.stderr
    assert (tmp_path / model).read_bytes() != before
    assert f"after {model} had been written" in job.stderr
    assert "as they were" not in job.stderr
    assert drafts(tmp_path) == []


def _shell(words, tmp_path):
    import shlex

    line = shlex.join(command(*words[0])) + words[1]
    return subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_closed_streams(model, tmp_path, closed):
    job = _shell((("update", model, "rest.csv"), " " + closed), tmp_path)
    assert job.returncode == 0
    assert job.stderr == ""


@pytest.mark.parametrize(
    "words",
    [("predict", "m", "rest.csv"), ("show", "m")],
)
def test_results_are_not_lost_in_a_closed_standard_output(model, tmp_path, words):
    words = tuple(model if word == "m" else word for word in words)
    job = _shell((words, " >&-"), tmp_path)
    assert job.returncode == 1
    assert job.stderr.startswith("tallybayes: error: standard output is closed")
    assert ("-o OUT" in job.stderr) == (words[0] == "predict")
    if words[0] == "predict":
        job = _shell(((*words, "-o", "p.csv"), " >&-"), tmp_path)
        assert job.returncode == 0
        assert (tmp_path / "p.csv").stat().st_size


def test_a_reader_that_stops_early_is_no_error(model, tmp_path):
    many = (tmp_path / "rest.csv").read_text().splitlines(keepends=True)
    (tmp_path / "many.csv").write_text(many[0] + "".join(many[1:]) * 300)
    job = _shell((("predict", model, "many.csv"), " | head -1; exit ${PIPESTATUS[0]}"), tmp_path)
    assert (job.returncode, job.stdout, job.stderr) == (0, "prediction\n", "")


def test_a_full_disk_under_standard_output_is_named(model, tmp_path):
    for words in (("predict", model, "rest.csv"), ("show", model)):
        job = _shell((words, " > /dev/full"), tmp_path)
        assert job.returncode == 1
        assert job.stderr == "tallybayes: error: standard output: No space left on device\n"


@pytest.mark.parametrize(
    "part",
    [
        {"missing": 3},
        {"gaps": 3},
        {"kinds": {"age": "x"}},
        {"kinds": []},
        {"decimal": ";"},
        {"target": 1},
        {"more": 1},
    ],
)
def test_what_the_command_line_keeps_beside_a_model_is_checked(run, model, tmp_path, part):
    import tallybayes
    from tallybayes.estimators.saving import write

    loaded = tallybayes.load(tmp_path / model)
    write(loaded, tmp_path / "odd.tally", extra={"cli": part})
    assert "odd.tally" in run("show", "odd.tally", code=1).line


def test_a_file_of_an_earlier_version_keeps_its_strings_for_missing_values(model, tmp_path):
    import tallybayes
    from tallybayes import open_model
    from tallybayes.estimators.saving import write

    old = {"gaps": ["", "-"], "gaps_of": {"age": ["?"]}}
    write(tallybayes.load(tmp_path / model), tmp_path / "old.tally", extra={"cli": old})
    file = open_model(str(tmp_path / "old.tally"))
    assert (file.read_by.spelling.missing, file.read_by.spelling.missing_of) == (
        ("", "-"),
        {"age": ("?",)},
    )
    file.save(str(tmp_path / "new.tally"))
    again = open_model(str(tmp_path / "new.tally"))
    assert again.read_by.spelling == file.read_by.spelling


HEADER = b"age,pay,job,home,active,since,buys\n"


@pytest.fixture
def learned(run, files):
    run("fit", "half.csv", "--target", "buys", "-o", "m.tally", "--no-estimate")
    return "m.tally"


@pytest.fixture
def busy(process, learned):
    """An update that holds the model until its input ends."""
    job = process.start("update", learned, "-", stdin=-1)
    job.stdin.write(HEADER + ROW)
    job.stdin.flush()
    yield job
    job.kill()
    job.communicate()


def _wait_for_the_note(job):
    line = job.stderr.readline().decode()
    assert "is being changed by another tallybayes" in line
    assert "Ctrl-C" in line


def _start_second(process, learned, busy):
    """A second update, started when the first holds the model."""
    _wait_until_locked(learned)
    second = process.start("update", learned, "rest.csv")
    _wait_for_the_note(second)
    return second


def _wait_until_locked(path):
    import fcntl

    limit = time.monotonic() + 30
    while time.monotonic() < limit:
        with open(path, "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
        time.sleep(0.02)
    raise AssertionError("the first update does not hold the model")


def test_two_updates_are_both_counted(process, run, learned, busy):
    second = _start_second(process, learned, busy)
    busy.stdin.close()
    busy.stdin = None
    assert busy.wait(30) == 0
    second.communicate(timeout=30)
    assert second.returncode == 0
    assert run("show", learned, "--json").document["rows"] == 120 + 1 + 120


@pytest.mark.parametrize("models", [("m.tally", "r.tally"), ("r.tally", "m.tally")])
def test_a_merge_into_one_of_its_models_sees_what_was_added_while_it_waited(
    process, run, learned, busy, models
):
    run("fit", "rest.csv", "--target", "buys", "-o", "r.tally", "--no-estimate")
    _wait_until_locked(learned)
    second = process.start("merge", *models, "-o", learned)
    _wait_for_the_note(second)
    busy.stdin.close()
    busy.stdin = None
    assert busy.wait(30) == 0
    second.communicate(timeout=30)
    assert second.returncode == 0
    assert run("show", learned, "--json").document["rows"] == 120 + 1 + 120


def test_a_killed_update_lets_the_next_go_on(process, run, learned, busy):
    second = _start_second(process, learned, busy)
    busy.kill()
    second.communicate(timeout=30)
    assert second.returncode == 0
    assert run("show", learned, "--json").document["rows"] == 240


def test_ctrl_c_gives_up_waiting(process, run, learned, busy, tmp_path):
    before = (tmp_path / learned).read_bytes()
    second = _start_second(process, learned, busy)
    second.send_signal(signal.SIGINT)
    _, err = second.communicate(timeout=30)
    assert second.returncode == 130
    assert err.decode() == "tallybayes: error: interrupted; model files are as they were\n"
    assert (tmp_path / learned).read_bytes() == before


def test_a_replaced_file_is_locked_afresh(tmp_path):
    """The lock is on the file that the name stands for at the end of the wait."""
    path = tmp_path / "m"
    path.write_text("old")
    with alone(str(path)):
        (tmp_path / "new").write_text("new")
        (tmp_path / "new").replace(path)
        with alone(str(path)):  # another file by now
            assert path.read_text() == "new"


def test_a_file_that_is_not_there_is_not_made(tmp_path):
    with alone(str(tmp_path / "m")):
        pass
    assert list(tmp_path.iterdir()) == []


def test_where_files_cannot_be_locked(tmp_path, monkeypatch, capsys):
    import errno

    def flock(*_):
        raise OSError(errno.EOPNOTSUPP, "no locks here")

    (tmp_path / "m").write_text("x")
    monkeypatch.setattr(files.fcntl, "flock", flock)
    with alone(str(tmp_path / "m")):
        pass
    assert "do not change it twice at a time" in capsys.readouterr().err


measured = pytest.mark.filterwarnings("ignore::UserWarning")


@measured
def test_a_kill_leaves_what_was_acknowledged():
    verdict = kills(4, seed=1)
    assert verdict.wrong == []
    assert sum(verdict.counts.values()) == 4


@measured
def test_writers_at_once_leave_what_was_acknowledged():
    verdict = writers(1, seed=0)
    assert verdict.wrong == []
    assert verdict.counts == {"acknowledged": 8, "refused": 0}
