"""The command line: ``tallybayes fit | predict | evaluate | explain | update | forget | merge |
show``. Nothing else imports this package; it needs the extra ``cli``."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Runs the command line and exits with 0 done, 1 data or model, 2 usage, 130 interrupted."""
    try:
        from tallybayes.cli import interrupts

        interrupts.install()
        from tallybayes.cli.app import app

        app()
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
        print("tallybayes: error: interrupted; model files are as they were", file=sys.stderr)
        sys.exit(130)
