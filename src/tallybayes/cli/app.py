"""The typer application: its commands, their help pages, and one place for errors."""

from __future__ import annotations

import functools
import inspect
import os
import shutil
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Annotated, Any, Never

import typer
from typer.core import TyperCommand, TyperGroup

from tallybayes import on_progress
from tallybayes.cli import messages
from tallybayes.cli.messages import OUTPUT, as_option, naming_output
from tallybayes.errors import (
    LeftOutWarning,
    MixedColumnWarning,
    SourceWarning,
    StaleWarning,
    options_called,
)

__all__ = ["COMMANDS", "PlainGroup", "app"]


# ---- the help pages: plain text that fits terminals of any width ---------------------------------
MAX_WIDTH, MIN_WIDTH = 100, 30  # characters of a line
NAMES_WIDTH = 28  # characters of an option's names, beside its description
MIN_TWO_COLUMN_WIDTH = 70  # characters of a terminal, from which on there is room for that


class PlainCommand(TyperCommand):
    """A command whose help names each option as it is typed."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(_page(self, ctx, []))


class PlainGroup(TyperGroup):
    """The group of all commands."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        found = [(name, _first(command.help)) for name, command in commands if command is not None]
        formatter.write(_page(self, ctx, found))


def _first(text: str | None) -> str:
    """The first paragraph."""
    return " ".join((text or "").split("\n\n")[0].split())


def _page(command: Any, ctx: Any, commands: list[tuple[str, str]]) -> str:
    width = min(MAX_WIDTH, max(MIN_WIDTH, shutil.get_terminal_size().columns))
    arguments, panels = _parameters(command, ctx)
    needed = [_typed(p).split(", ")[-1] for p in command.get_params(ctx) if p.required]
    needed = [typed for typed in needed if typed.startswith("-")]
    words = [ctx.command_path, "[OPTIONS]", *needed, *(name for name, _ in arguments)]
    if commands:
        words.append("COMMAND …")
    parts = [textwrap.fill("Usage: " + " ".join(words), width, subsequent_indent=" " * 7)]
    parts += [textwrap.fill(" ".join(p.split()), width) for p in (command.help or "").split("\n\n")]
    parts.append(_section("Commands", commands, width))
    parts.append(_section("Arguments", arguments, width))
    parts += [_section(panel, options, width) for panel, options in panels.items()]
    if command.epilog:
        parts.append(_epilog(command.epilog, width))
    return "\n\n".join(part for part in parts if part) + "\n"


def _epilog(text: str, width: int) -> str:
    """A paragraph; or a heading, and below it a line each."""
    heading, *lines = text.splitlines()
    below = [
        textwrap.fill(
            line, width, initial_indent="  ", subsequent_indent="      ", break_on_hyphens=False
        )
        for line in lines
    ]
    return "\n".join([textwrap.fill(heading, width), *below])


def _parameters(
    command: Any, ctx: Any
) -> tuple[list[tuple[str, str]], dict[str, list[tuple[str, str]]]]:
    """Arguments, and options by panel: how each is typed, and its description."""
    arguments: list[tuple[str, str]] = []
    panels: dict[str, list[tuple[str, str]]] = {"Options": []}
    for parameter in command.get_params(ctx):
        if getattr(parameter, "hidden", False):
            continue
        text = getattr(parameter, "help", None) or ""
        if parameter.param_type_name == "argument":
            arguments.append((parameter.metavar or parameter.name.upper(), text))
            continue
        panel = getattr(parameter, "rich_help_panel", None) or "Options"
        panels.setdefault(panel, []).append((_typed(parameter), text + _remark(parameter)))
    return arguments, panels


def _typed(option: Any) -> str:
    """An option as it is typed: short name, long name, what follows it."""
    names = sorted([*option.opts, *option.secondary_opts], key=lambda name: name.startswith("--"))
    value = option.metavar if not getattr(option, "is_flag", False) else ""
    return ", ".join(names) + (f" {value}" if value else "")


def _remark(option: Any) -> str:
    if option.required:
        return " Required."
    default = option.default
    if isinstance(default, str) and default and option.show_default:
        return f" [default: {default}]"
    return ""


def _section(title: str, rows: Iterable[tuple[str, str]], width: int) -> str:
    rows, lines = list(rows), []
    left = min(NAMES_WIDTH, 2 + max((len(name) for name, _ in rows), default=0))
    for name, text in rows:
        if width < MIN_TWO_COLUMN_WIDTH:
            lines += [f"  {name}", *_wrapped(text, width, 6)]
        elif len(name) > left - 2:
            lines += [f"  {name}", *_wrapped(text, width, left + 2)]
        else:
            first, *rest = _wrapped(text, width, left + 2) or [""]
            lines += [f"  {name:{left}}{first.strip()}".rstrip(), *rest]
    return "\n".join([f"{title}:", *lines]) if lines else ""


def _wrapped(text: str, width: int, indent: int) -> list[str]:
    space = " " * indent
    return textwrap.wrap(
        text, width, initial_indent=space, subsequent_indent=space, break_on_hyphens=False
    )


# ---- the application -----------------------------------------------------------------------------
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
            with options_called(as_option), on_progress(_ignored):
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
                code = messages.USAGE
            if code == messages.INTERRUPTED:  # typer's word for Ctrl-C
                raise KeyboardInterrupt
            return code if isinstance(code, int) else 0
        except (BrokenPipeError, SystemExit):  # whoever read the output has had enough
            _drop_output()
            return 0
        except (Exception, KeyboardInterrupt) as error:
            if isinstance(error, OSError) and error.filename == OUTPUT:
                _drop_output()
            return messages.report(error)


def _ignored(_: Any) -> None:
    pass


def _drop_output() -> None:
    """Lets what is still to be written go nowhere: Python would try again at its end, and fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    from tallybayes.cli.console import note

    if isinstance(message, StaleWarning):  # its advice is for Python
        message = f"{message.state}: {message.command}"
    kind = "note" if isinstance(message, SourceWarning) else "warning"
    note(f"{kind}: {message}")


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
    epilog="Exit codes: 0 success, 1 wrong data or model, 2 wrong usage, 3 moved further than "
    "compare --fail-over admits, 130 interrupted.",
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


def _add(name: str, run: Callable[..., None], group: typer.Typer = app) -> None:
    """Makes a function a command, with the option -q."""
    signature = inspect.signature(run, eval_str=True)
    option = typer.Option("--quiet", "-q", metavar="", help="Print errors and results only.")
    more = inspect.Parameter(
        "quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, option]
    )

    @functools.wraps(run)
    def command(quiet: bool, **given: Any) -> None:
        from tallybayes.cli.console import set_quiet

        set_quiet(quiet)
        try:
            run(**given)
        finally:
            set_quiet(False)

    parameters = [*signature.parameters.values(), more]
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    command.__dict__["__signature__"] = inspect.Signature(parameters)
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    text, _, examples = inspect.cleandoc(run.__doc__ or "").partition("\n\nExamples:\n")
    epilog = f"Examples:\n{inspect.cleandoc(examples)}" if examples else None
    group.command(name, cls=PlainCommand, help=text, epilog=epilog)(command)


COMMANDS = {
    "doctor": "tallybayes.cli.doctor",
    "fit": "tallybayes.cli.fit",
    "count": "tallybayes.cli.learn",
    "predict": "tallybayes.cli.ask",
    "evaluate": "tallybayes.cli.ask",
    "compare": "tallybayes.cli.ask",
    "shares": "tallybayes.cli.ask",
    "explain": "tallybayes.cli.ask",
    "update": "tallybayes.cli.learn",
    "forget": "tallybayes.cli.learn",
    "merge": "tallybayes.cli.learn",
    "release": "tallybayes.cli.learn",
    "reweight": "tallybayes.cli.learn",
    "show": "tallybayes.cli.ask",
    "sql": "tallybayes.cli.ask",
    "export": "tallybayes.cli.ask",
    "report": "tallybayes.cli.ask",
    "serve": "tallybayes.cli.serve",
}
"""By name, where each command is: a function of that name, whose docstring is its help page and has
examples at its end. A command is a file and a line here."""

for name, module in COMMANDS.items():
    _add(name, getattr(import_module(module), name))

GROUPS = {
    "store": (
        "Stores: events that processes share, counted once and forgotten by id.",
        "Examples:\ntallybayes store init mail.db --model text",
    ),
    "token": (
        "Tokens of a service: who may predict, explain, learn, forget and see metrics.",
        "Examples:\ntallybayes token make tokens.json filter --scope predict",
    ),
}
"""Groups of commands, each in the file of its name: what they are for, and an example."""

for name, (text, example) in GROUPS.items():
    group = typer.Typer(
        cls=PlainGroup,
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
        help=text,
        epilog=example,
    )
    for run in import_module(f"tallybayes.cli.{name}").COMMANDS:
        _add(run.__name__, run, group)
    app.add_typer(group, name=name)
