"""The command line: ``tallybayes fit | count | predict | evaluate | explain | update | forget |
merge | show``. Nothing else imports this package; it needs the extra ``cli``."""

from __future__ import annotations

import contextlib
import os
import sys
from atexit import _run_exitfuncs
from collections.abc import Sequence
from io import TextIOWrapper
from itertools import pairwise
from os import _exit
from typing import Any, Never

from tallybayes.cli import messages

__all__ = ["command", "main"]

SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")


def command() -> Never:
    """The process ``tallybayes``: :func:`main`, without what only a longer process needs.

    It ends without shutting the interpreter down. A thread of Arrow that releases its input during
    the shutdown could abort the process, although the work is done.
    """
    # a thread of OpenBLAS waits for more work for 2**26 cycles: a fifth of a small command's time
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    from tallybayes.cli import quick_imports

    code: Any = 0
    try:
        quick_imports.allow()
        main()
    except SystemExit as done:
        code = done.code
    with contextlib.suppress(KeyboardInterrupt):  # the work is done
        _run_exitfuncs()
    _leave(code if isinstance(code, int) else int(code is not None))


def _name_shell(words: Sequence[str]) -> None:
    """Lets ``--show-completion zsh`` name the shell, which typer otherwise takes from the process
    that has started this one, and does not find under cron, in a container or in the background."""
    for option, shell in pairwise(words):
        if option in ("--show-completion", "--install-completion") and shell in SHELLS:
            os.environ["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"


def main() -> None:
    """Runs the command line and exits with 0 done, 1 data or model, 2 usage, 130 interrupted."""
    messages.open_closed()
    from tallybayes.cli import interrupts

    try:
        interrupts.install()
        for stream in (sys.stdout, sys.stderr):  # in a narrow locale "?" is better than no result
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="replace")
        _name_shell(sys.argv)
        from tallybayes.cli.app import app

        app()
    except SystemExit:
        if interrupts.happened():
            _leave(interrupts.exit_code())
        raise
    except ModuleNotFoundError as error:
        if error.name not in {"typer", "rich", "pyarrow"}:
            raise
        print(
            f"tallybayes: error: the command line needs {error.name}: "
            "pip install 'tallybayes[cli]'",
            file=sys.stderr,
        )
        sys.exit(1)
    except KeyboardInterrupt:
        from tallybayes.cli.messages import tell

        tell(f"tallybayes: error: {interrupts.message()}")
        _leave(interrupts.exit_code())


def _leave(code: int) -> Never:
    """Ends at once: a thread of Arrow may still wait for input, and would not end with Python."""
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    _exit(code)
