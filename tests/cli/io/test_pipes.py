"""Named pipes and the shell's <(…), which are read once, as standard input is."""

from __future__ import annotations

import gzip
import os
import threading
import time

import pytest


@pytest.fixture
def pipe(tmp_path):
    """A named pipe that somebody writes these bytes to."""
    writers = []

    def pipe(data, name="pipe"):
        os.mkfifo(tmp_path / name)
        writer = threading.Thread(target=(tmp_path / name).write_bytes, args=(data,))
        writer.start()
        writers.append(writer)
        return name

    yield pipe
    for writer in writers:
        writer.join(timeout=10)
        assert not writer.is_alive()


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_pipe_is_read_as_a_file_is(run, files, tmp_path, pipe, pack):
    data = (tmp_path / "comma.csv").read_bytes()
    run("fit", "comma.csv", "-t", "buys", "-o", "file.tally", "--plain", "--no-estimate")
    made = run("fit", pipe(pack(data), "a"), "-t", "buys", "-o", "pipe.tally", "--plain")
    assert "10-fold cross-validation" in made.out  # of the rows kept while they were counted
    found = run("predict", "pipe.tally", pipe(pack(data), "b"), "--proba").out
    assert found == run("predict", "file.tally", "comma.csv", "--proba").out
    tested = run("fit", "comma.csv", "-t", "buys", "-o", "t.tally", "--test", pipe(data, "c"))
    assert "test file c" in tested.out


def test_what_is_wrong_in_a_pipe(run, files, pipe):
    run("fit", "comma.csv", "-t", "buys", "-o", "m.tally", "--plain", "--no-estimate")
    line = run("predict", "m.tally", pipe(b"age\n1\n", "a"), code=1).line
    assert "a lacks the column(s)" in line
    line = run("predict", "m.tally", pipe(b"", "b"), code=1).line
    assert "b is empty" in line
    line = run("predict", "m.tally", pipe(b"PAR1" + bytes(20) + b"PAR1", "c"), code=1).line
    assert "c can be read only once" in line


def test_ctrl_c_while_a_pipe_is_waited_for(process, files, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    job = process.start("fit", "--plain", "pipe", "-t", "buys", "-o", "m.tally")
    with (tmp_path / "pipe").open("wb", buffering=0) as writer:
        writer.write((tmp_path / "comma.csv").read_bytes())
        time.sleep(1.5)
        job.send_signal(2)
        assert job.wait(timeout=20) == 130
    job.communicate()
    assert not (tmp_path / "m.tally").exists()


def test_the_shells_substitution(process, run, files, tmp_path):
    run("fit", "--plain", "comma.csv", "-t", "buys", "-o", "m.tally", "--no-estimate")
    whole = run("predict", "m.tally", "comma.csv").out.splitlines()
    read, write = os.pipe()
    os.write(write, b"".join((tmp_path / "comma.csv").read_bytes().splitlines(keepends=True)[:5]))
    os.close(write)
    job = process.start("predict", "m.tally", f"/dev/fd/{read}", pass_fds=(read,))
    os.close(read)
    out, err = job.communicate(timeout=60)
    assert job.returncode == 0, err
    found = out.decode().splitlines()
    assert len(found) >= 3
    assert found == whole[: len(found)]
