"""The help pages: plain text that fits terminals of any width."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable
from typing import Any

from typer.core import TyperCommand, TyperGroup

__all__ = ["PlainCommand", "PlainGroup"]

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
