"""``python -m tallybayes``: the command line without its script."""

from __future__ import annotations

from tallybayes.cli import command

if __name__ == "__main__":
    command()
