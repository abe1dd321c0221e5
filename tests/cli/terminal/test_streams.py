"""Streams that the shell has closed."""

from __future__ import annotations

import sys

from tallybayes.cli import messages


def test_a_closed_standard_input_is_an_empty_one(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    messages.open_closed()
    with sys.stdin as stdin:
        assert stdin.buffer.read() == b""
        assert not stdin.isatty()
