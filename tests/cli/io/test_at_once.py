"""Two processes that change one model: neither change is lost, and nobody is blocked for good."""

from __future__ import annotations

import signal
import time

import pytest

from tallybayes.cli import files
from tallybayes.cli.files import alone

HEADER = b"age,pay,job,home,active,since,buys\n"
ROW = b"30,20.5,cook,Bern,true,2020-01-01,ja\n"


@pytest.fixture
def model(run, files):
    run("fit", "half.csv", "--target", "buys", "-o", "m.tally", "--no-estimate")
    return "m.tally"


@pytest.fixture
def busy(process, model):
    """An update that holds the model until its input ends."""
    job = process.start("update", model, "-", stdin=-1)
    job.stdin.write(HEADER + ROW)
    job.stdin.flush()
    yield job
    job.kill()
    job.communicate()


def _wait_for_the_note(job):
    line = job.stderr.readline().decode()
    assert "is being changed by another tallybayes" in line
    assert "Ctrl-C" in line


def _start_second(process, model, busy):
    """A second update, started when the first holds the model."""
    _wait_until_locked(model)
    second = process.start("update", model, "rest.csv")
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


def test_two_updates_are_both_counted(process, run, model, busy):
    second = _start_second(process, model, busy)
    busy.stdin.close()
    busy.stdin = None
    assert busy.wait(30) == 0
    second.communicate(timeout=30)
    assert second.returncode == 0
    assert run("show", model, "--json").document["rows"] == 120 + 1 + 120


@pytest.mark.parametrize("models", [("m.tally", "r.tally"), ("r.tally", "m.tally")])
def test_a_merge_into_one_of_its_models_sees_what_was_added_while_it_waited(
    process, run, model, busy, models
):
    run("fit", "rest.csv", "--target", "buys", "-o", "r.tally", "--no-estimate")
    _wait_until_locked(model)
    second = process.start("merge", *models, "-o", model)
    _wait_for_the_note(second)
    busy.stdin.close()
    busy.stdin = None
    assert busy.wait(30) == 0
    second.communicate(timeout=30)
    assert second.returncode == 0
    assert run("show", model, "--json").document["rows"] == 120 + 1 + 120


def test_a_killed_update_lets_the_next_go_on(process, run, model, busy):
    second = _start_second(process, model, busy)
    busy.kill()
    second.communicate(timeout=30)
    assert second.returncode == 0
    assert run("show", model, "--json").document["rows"] == 240


def test_ctrl_c_gives_up_waiting(process, run, model, busy, tmp_path):
    before = (tmp_path / model).read_bytes()
    second = _start_second(process, model, busy)
    second.send_signal(signal.SIGINT)
    _, err = second.communicate(timeout=30)
    assert second.returncode == 130
    assert err.decode() == "tallybayes: error: interrupted; model files are as they were\n"
    assert (tmp_path / model).read_bytes() == before


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
