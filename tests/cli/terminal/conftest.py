"""A terminal to run the command line in, and what it holds then."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
import unicodedata
from contextlib import contextmanager

import pytest

from tallybayes.cli.app import app

CONTROL = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])")


def shown(data: str, width: int) -> list[str]:
    """The lines that a terminal of this width holds after it was sent the data."""
    lines, row, column, i = [""], 0, 0, 0

    def put(text: str) -> None:
        nonlocal column, row
        for letter in text:
            wide = 2 if unicodedata.east_asian_width(letter) in "WF" else 1
            if column + wide > width:
                row, column = row + 1, 0
            while row >= len(lines):
                lines.append("")
            line = lines[row].ljust(column)
            lines[row] = line[:column] + letter + "\0" * (wide - 1) + line[column + wide :]
            column += wide

    while i < len(data):
        if found := CONTROL.match(data, i):
            number, what = found[1], found[2]
            if what == "A":
                row = max(0, row - int(number or 1))
            elif what == "K":
                lines[row] = ""
            else:
                assert what in "mhl", found[0]
            i = found.end()
            continue
        if data[i] == "\n":
            row += 1
            while row >= len(lines):
                lines.append("")
        elif data[i] == "\r":
            column = 0
        else:
            put(data[i])
        i += 1
    return [line.replace("\0", "").rstrip() for line in lines]


DROPPED = ("COLUMNS", "LINES", "NO_COLOR", "TTY_COMPATIBLE")


def _open_terminal(width):
    """The two ends of a new terminal of this width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    return ours, theirs


def _read_all(ours, pieces):
    try:
        while piece := os.read(ours, 1 << 16):
            pieces.append(piece)
    except OSError:  # the other end was closed
        pass


@contextmanager
def _standard_streams(ours, theirs, pieces):
    """Standard input, output and error are `theirs`; what `ours` receives goes to `pieces`."""
    kept = [os.dup(number) for number in range(3)]
    reader = threading.Thread(target=_read_all, args=(ours, pieces))
    reader.start()
    try:
        for number, descriptor in enumerate(theirs):
            os.dup2(descriptor, number)
        with (
            pytest.MonkeyPatch.context() as patch,
            open(0, closefd=False) as stdin,
            open(1, "w", encoding="utf-8", closefd=False) as stdout,
            open(2, "w", encoding="utf-8", closefd=False) as stderr,
        ):
            for name, stream in (("stdin", stdin), ("stdout", stdout), ("stderr", stderr)):
                patch.setattr(sys, name, stream)
            yield
    finally:
        for number, descriptor in enumerate(kept):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.close(theirs[2])
        reader.join()
        os.close(ours)


@pytest.fixture
def terminal(tmp_path, monkeypatch):
    """Runs the command line in this process, in a terminal of a width, with standard output there
    or in a file."""

    def run(*words, width=80, out=None, code=0):
        ours, theirs = _open_terminal(width)
        pieces = []
        with monkeypatch.context() as patch:
            patch.chdir(tmp_path)
            for name in DROPPED:
                patch.delenv(name, raising=False)
            patch.setenv("TERM", "xterm-256color")
            descriptors = (theirs, theirs if out is None else out.fileno(), theirs)
            with _standard_streams(ours, descriptors, pieces), pytest.raises(SystemExit) as done:
                app([str(word) for word in words])
        assert (done.value.code or 0) == code
        return b"".join(pieces).decode()

    return run


@pytest.fixture
def process_in_a_terminal(tmp_path, process):
    """Runs the command line as a process of its own, in a terminal of a width."""

    def run(*words, width):
        ours, theirs = _open_terminal(width)
        env = {k: v for k, v in os.environ.items() if k not in DROPPED} | {"TERM": "xterm-256color"}
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
        job = subprocess.Popen(process.command(*words), cwd=tmp_path, env=env, **streams)
        os.close(theirs)
        pieces = []
        _read_all(ours, pieces)
        os.close(ours)
        assert job.wait(60) == 0
        return b"".join(pieces).decode()

    return run
