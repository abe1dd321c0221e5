"""The pages of the site's reference that are made from the package, for ``tools/docs.py``.

Every public name, by module; the families of columns; the commands; errors and warnings.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
from collections.abc import Iterator
from typing import Any

import check_docstrings

MODULES = [name for name in check_docstrings.PUBLIC if name != "tallybayes.testing"]
PAGES_OF_THEIR_OWN = ("tallybayes",)
"""Modules whose classes have a page each; those of others share the page of their module."""

ABOUT = {
    "tallybayes": "Models, sources, validation and settings.",
    "tallybayes.bayes": "Bayes' rule itself, for probabilities, odds and log-odds.",
    "tallybayes.distributions": "What a fitted model says as distributions: p(x | c) and p(x, c).",
    "tallybayes.errors": "Exceptions and warnings.",
    "tallybayes.families": "Families of columns, and priors.",
    "tallybayes.model_files": "Model files together with how their data is read.",
    "tallybayes.plots": "Displays. The gallery shows each with its code.",
    "tallybayes.privacy": "Counts released with noise, and how they are read.",
    "tallybayes.serve": "A model as a service over HTTP.",
    "tallybayes.sources": "Where rows come from.",
    "tallybayes.store": "Stores: events that processes share, counted once and forgotten by id.",
    "tallybayes.text": "Text as features.",
}

FAMILIES = {
    "gaussian": ("N(μ_c, σ²_c)", "moments", "normal-inverse-gamma", "quadratic"),
    "categorical": ("(n_ca + α) / (n_c + αN)", "counts of levels", "Dirichlet", "lookup"),
    "bernoulli": ("(n_c1 + α) / (n_c + 2α)", "counts of two levels", "Beta", "lookup"),
    "poisson": ("λ_cˣ e^(−λ_c) / x!", "moments", "Gamma", "linear"),
    "negative-binomial": ("mean m_c, variance m_c + m_c²/r_c", "values", "Gamma", "expression"),
    "binned": ("(n_cb + α) / (n_c + αB)", "counts on a grid", "Dirichlet", "lookup"),
    "smooth": ("bins, spread over their neighbours", "counts on a grid", "Dirichlet", "lookup"),
    "multinomial": ("Π θ_cj^(x_j), columns that share a total", "sums", "Dirichlet", "linear"),
    "text": ("terms of documents", "counts of terms", "Dirichlet", "linear"),
}
"""Of each family: its formula for a class c, what it counts, its prior, the kind of its score."""


def pages() -> dict[str, tuple[str, str]]:
    """By name, what each page is made of and its MyST text."""
    found = dict(module_pages())
    found["reference/families.md"] = ("tallybayes.families", families())
    found["reference/command-line.md"] = ("tallybayes.cli", command_line())
    found["reference/errors.md"] = ("tallybayes.errors", errors())
    return found


# ---- public names --------------------------------------------------------------------------------
def module_pages() -> Iterator[tuple[str, tuple[str, str]]]:
    """A page for each module and for each class of the first one, and their index."""
    seen: dict[int, str] = {}
    index = ["(api)=", "# Public names", "", "| module | what is in it |", "|---|---|"]
    entries = []
    for name in MODULES:
        module = importlib.import_module(name)
        short = name.removeprefix("tallybayes.")
        index.append(f"| [](#api-{short}) | {ABOUT[name]} |")
        entries.append(f"api/{short}")
        lines = [f"(api-{short})=", f"# {name}", "", ABOUT[name], ""]
        listed, own = [], []
        for public in sorted(module.__all__, key=str.lower):
            value = getattr(module, public)
            if not (inspect.isclass(value) or inspect.isroutine(value)):
                continue
            if id(value) in seen:
                lines += [f"`{public}` is {{py:obj}}`{seen[id(value)]}`.", ""]
                continue
            seen[id(value)] = f"{name}.{public}"
            text = documented(f"{name}.{public}", value)
            if inspect.isclass(value) and name in PAGES_OF_THEIR_OWN:
                page = [f"(api-class-{public})=", f"# {public}", "", text]
                own.append(public)
                yield f"reference/api/{public}.md", (name, "\n".join(page))
            else:
                listed.append(text)
        lines += [f"- {{py:obj}}`{name}.{public}`" for public in own]
        lines += ["", *listed]
        if own:
            lines += ["", "```{toctree}", ":hidden:", "", *own, "```"]
        yield f"reference/api/{short}.md", (name, "\n".join(lines) + "\n")
    index += ["", "```{toctree}", ":hidden:", "", *entries, "```", ""]
    yield "reference/api.md", ("public names", "\n".join(index))


def documented(name: str, value: Any) -> str:
    """The directive that documents a class or a function."""
    if not inspect.isclass(value):
        return f"```{{eval-rst}}\n.. autofunction:: {name}\n```\n"
    names = [own for dotted, (owner, own) in check_docstrings.methods(value) if ours(owner, own)]
    members = f"   :members: {', '.join(names)}\n" if names else ""
    return f"```{{eval-rst}}\n.. autoclass:: {name}\n{members}```\n"


def ours(owner: type, name: str) -> bool:
    """Whether a method is defined and documented in the package."""
    function = check_docstrings.function_of(vars(owner)[name])
    return owner.__module__.startswith("tallybayes") and bool(function.__doc__)


# ---- families ------------------------------------------------------------------------------------
def families() -> str:
    """The table of families, and what the module of each says."""
    from tallybayes.families.registry import family_names, family_of_name

    lines = ["(families)=", "# Families of columns", ""]
    lines += [
        "A family is the model of a column, or of columns that share something, within a class."
    ]
    lines += ["On the command line it is named as in the first column: `--column visits=poisson`."]
    lines += ['In Python, its class is the value: `NaiveBayes({"visits": Poisson()})`.', ""]
    lines += ["| name | p(x ∣ c) | counts | prior | score |", "|---|---|---|---|---|"]
    texts = []
    for name in family_names():
        family = family_of_name(name)
        assert family is not None
        public = f"tallybayes.families.{family.__name__}"
        lines.append("| " + " | ".join([f"[{name}](#family-{name})", *FAMILIES[name]]) + " |")
        module = inspect.getmodule(family)
        texts += ["", f"(family-{name})=", f"## {name}", "", markdown(module.__doc__ or "")]
        texts += [f"Class: {{py:class}}`{public}`.", ""]
    lines += [
        "",
        "The score kinds are those that every engine evaluates: a **lookup** in a table of",
    ]
    lines += [
        "log-probabilities, a **linear** function of counts, a **quadratic** one of numbers, and"
    ]
    lines += [
        "an **expression** of its own. A column without a declared family is counted on a grid,"
    ]
    lines += [
        "and the family with the best leave-one-out likelihood is taken when the model is read."
    ]
    return "\n".join([*lines, *texts]) + "\n"


def markdown(docstring: str) -> str:
    """A docstring of paragraphs and indented formulas as MyST."""
    parts = []
    for paragraph in inspect.cleandoc(docstring).split("\n\n"):
        if paragraph.startswith("    "):
            parts.append(f"```text\n{inspect.cleandoc(paragraph)}\n```")
            continue
        text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", paragraph).replace("``", "`")
        text = re.sub(r"(?<!`)([*<|_$])(?!`)", r"\\\1", text) if "`" not in text else text
        parts.append(text)
    return "\n\n".join(parts) + "\n"


# ---- the command line ----------------------------------------------------------------------------
def command_line() -> str:
    """The help page of each command."""
    from typer.main import get_command
    from typer.testing import CliRunner

    from tallybayes.cli.app import app

    runner, group = CliRunner(), get_command(app)
    kept = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "80"
    lines = ["(command-line)=", "# Command line", ""]
    lines += ["What `--help` prints, command by command. Exit codes: 0 success, 1 data or model"]
    lines += ["error, 2 usage error, 130 interrupted.", ""]
    try:
        for name in ["", *_names(group)]:
            said = runner.invoke(app, [*name.split(), "--help"], prog_name="tallybayes").output
            anchor = name.replace(" ", "-") or "all"
            lines += [f"(command-{anchor})=", f"## tallybayes {name}".rstrip(), ""]
            lines += ["```text", said.rstrip(), "```", ""]
    finally:
        os.environ.pop("COLUMNS")
        if kept is not None:
            os.environ["COLUMNS"] = kept
    return "\n".join(lines)


def _names(group: Any) -> Iterator[str]:
    """Each command of a group, and after it the commands of a group among them."""
    for name in group.list_commands(None):
        yield name
        command = group.get_command(None, name)
        if hasattr(command, "list_commands"):
            yield from (f"{name} {inner}" for inner in _names(command))


# ---- errors and warnings -------------------------------------------------------------------------
def errors() -> str:
    """Each exception and warning with its cause and cure, which its docstring states."""
    module = importlib.import_module("tallybayes.errors")
    classes = {name: getattr(module, name) for name in sorted(module.__all__)}
    classes = {name: value for name, value in classes.items() if inspect.isclass(value)}
    lines = ["(errors-and-warnings)=", "# Errors and warnings", ""]
    lines += [
        "Each exception is a `ValueError`, and each warning a `UserWarning`. A message gives the"
    ]
    lines += ["rule, what arrived, and what to do. To silence one cause:", "", "```python"]
    lines += ["import warnings", "from tallybayes.errors import LeftOutWarning", ""]
    lines += ['warnings.simplefilter("ignore", LeftOutWarning)', "```", ""]
    for heading, base in (("Exceptions", ValueError), ("Warnings", Warning)):
        lines += [f"({heading.lower()})=", f"## {heading}", "", "| name | cause | cure |"]
        lines += ["|---|---|---|"]
        for name, value in classes.items():
            if issubclass(value, base):
                cause, cure = cause_and_cure(value)
                lines.append(f"| {{py:class}}`~tallybayes.errors.{name}` | {cause} | {cure} |")
        lines.append("")
    return "\n".join(lines)


def cause_and_cure(error: type) -> tuple[str, str]:
    """The first paragraph of a docstring, and the one that begins with "Cure: "."""
    paragraphs = (inspect.getdoc(error) or "").split("\n\n")
    cure = [text.removeprefix("Cure: ") for text in paragraphs if text.startswith("Cure: ")]
    return markdown_cell(paragraphs[0]), markdown_cell(
        cure[0][0].upper() + cure[0][1:] if cure else ""
    )


def markdown_cell(text: str) -> str:
    """A paragraph of a docstring in a cell of a table."""
    return " ".join(markdown(text).split()).replace("|", "∣")
