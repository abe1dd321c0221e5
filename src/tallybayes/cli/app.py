"""The typer application: its commands, and one place for errors."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any, Never

import typer

from tallybayes.cli.commands.count import run as count
from tallybayes.cli.commands.doctor import run as doctor
from tallybayes.cli.commands.evaluate import run as evaluate
from tallybayes.cli.commands.explain import run as explain
from tallybayes.cli.commands.fit import run as fit
from tallybayes.cli.commands.merge import run as merge
from tallybayes.cli.commands.predict import run as predict
from tallybayes.cli.commands.report import run as report
from tallybayes.cli.commands.reweight import run as reweight
from tallybayes.cli.commands.show import run as show
from tallybayes.cli.commands.sql import run as sql
from tallybayes.cli.commands.update import forget, update
from tallybayes.cli.examples import EXAMPLES
from tallybayes.cli.terminal import failures
from tallybayes.cli.terminal.failures import OUTPUT, naming_output
from tallybayes.cli.terminal.help import PlainCommand, PlainGroup
from tallybayes.errors import LeftOutWarning, MixedColumnWarning, StaleWarning
from tallybayes.progress import without_bars

__all__ = ["app"]


class OneLine(PlainGroup):
    """A group whose errors are one line, each with the exit code that it stands for."""

    def main(self, *args: Any, **kwargs: Any) -> Never:
        kwargs["standalone_mode"] = False
        kwargs["prog_name"] = "tallybayes"  # also for python -m tallybayes
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            # the table of columns says so, or a note that names the line, and whoever predicts was
            # warned when training
            warnings.simplefilter("ignore", LeftOutWarning)
            warnings.simplefilter("ignore", MixedColumnWarning)
            # a file that Ctrl-C left open, which the end of the process closes
            warnings.simplefilter("ignore", ResourceWarning)
            warnings.showwarning = _show_warning
            with without_bars():
                code = self._code(args, kwargs)
            sys.exit(code)

    def _code(self, args: Any, kwargs: Any) -> int:
        try:
            try:
                code = super().main(*args, **kwargs)
                with naming_output():
                    sys.stdout.flush()
            except typer.Exit as done:
                code = done.exit_code
            except Exception as error:
                if type(error).__name__ != "NoArgsIsHelpError":
                    raise
                print(error.format_message())  # type: ignore[attr-defined]
                code = failures.USAGE
            if code == failures.INTERRUPTED:  # typer's word for Ctrl-C
                raise KeyboardInterrupt
            return code if isinstance(code, int) else 0
        except (BrokenPipeError, SystemExit):  # whoever read the output has had enough
            _drop_output()
            return 0
        except (Exception, KeyboardInterrupt) as error:
            if isinstance(error, OSError) and error.filename == OUTPUT:
                _drop_output()
            return failures.report(error)


def _drop_output() -> None:
    """Lets what is still to be written go nowhere: Python would try again at its end, and fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    from tallybayes.cli.terminal.console import note

    if isinstance(message, StaleWarning):  # its advice is for Python
        message = f"{message.state}: tallybayes reweight learns them again"
    note(f"warning: {message}")


app: typer.Typer = typer.Typer(
    cls=OneLine,
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Naive Bayes for tables: count the rows once, then predict, update, forget and merge."
        "\n\nData is CSV (any delimiter), JSON lines, Parquet or Arrow; - is standard input or "
        "output. A command's own options: tallybayes COMMAND --help."
    ),
    epilog="Exit codes: 0 success, 1 wrong data or model, 2 wrong usage, 130 interrupted.",
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(version("tallybayes"))
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", callback=_version, is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    pass


def _quietable(run: Callable[..., None]) -> Callable[..., None]:
    """A command with the option -q."""
    signature = inspect.signature(run, eval_str=True)
    option = typer.Option("--quiet", "-q", metavar="", help="Print errors and results only.")
    more = inspect.Parameter(
        "quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, option]
    )

    @functools.wraps(run)
    def command(quiet: bool, **given: Any) -> None:
        from tallybayes.cli.terminal.console import set_quiet

        set_quiet(quiet)
        try:
            run(**given)
        finally:
            set_quiet(False)

    parameters = [*signature.parameters.values(), more]
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    command.__dict__["__signature__"] = inspect.Signature(parameters)
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command


COMMANDS: dict[str, Callable[..., None]] = {
    "doctor": doctor,
    "fit": fit,
    "count": count,
    "predict": predict,
    "evaluate": evaluate,
    "explain": explain,
    "update": update,
    "forget": forget,
    "merge": merge,
    "reweight": reweight,
    "show": show,
    "sql": sql,
    "report": report,
}
for name, command in COMMANDS.items():
    app.command(name, cls=PlainCommand, epilog=EXAMPLES[name])(_quietable(command))
