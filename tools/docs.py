"""Build the documentation site: ``make docs``.

    python tools/docs.py build [--docs FOLDER] [--output FOLDER]   build/docs/en and build/docs/zh
    python tools/docs.py serve [--port N]                          the built pages on 127.0.0.1
    python tools/docs.py links                                     every address outside

The pages of a language are gathered in ``build/site/source``: those of ``docs/en`` or ``docs/zh``
as they are, and for English the guides and decisions of ``docs``, and the reference that
`docs_reference` makes. Sphinx names files there; what it prints is printed with the names of the
originals. Cells are run once for both languages, and again when the package or the code of their
page changes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

import docs_parity

ROOT = Path(__file__).resolve().parents[1]
LANGUAGES = {"en": "en", "zh": "zh_CN"}
"""The folder of each language, and Sphinx's name of it."""

NEEDED = {
    "docs": [
        "sphinx",
        "myst_nb",
        "numpydoc",
        "pydata_sphinx_theme",
        "sphinx_design",
        "pagefind",
        "sphinx-mathjax-offline",
        "ipykernel",
        "jupyter_cache",
        "pandas",
        "polars",
        "onnxruntime",
        "skl2onnx",
    ],
    "cli": ["typer", "rich", "pyarrow"],
    "duckdb": ["duckdb"],
    "onnx": ["onnx"],
    "plots": ["matplotlib", "seaborn"],
    "report": ["jinja2"],
    "sql": ["sqlglot"],
}
"""Modules that a build imports: of the dependency group docs, and of the package's extras."""

GUIDES = {
    "docs/architecture.md": "why/architecture.md",
    "docs/column-types.md": "reference/column-types.md",
    "docs/command-line.md": "reference/shell.md",
    "docs/databases.md": "reference/databases.md",
    "docs/export.md": "reference/export.md",
    "docs/glossary.md": "why/glossary.md",
    "docs/install.md": "reference/install.md",
    "docs/origin.md": "why/origin.md",
    "docs/scale.md": "reference/scale.md",
    "docs/security.md": "reference/security.md",
    "docs/tour.md": "reference/tour.md",
    "docs/weighted.md": "reference/weighted.md",
    "CHANGELOG.md": "why/changes.md",
    "CONTRIBUTING.md": "why/contributing.md",
}
"""Pages of the repository that the site shows, and where."""

FOLDERS = {"docs/decisions": "why/decisions", "benchmarks/results": "why/results"}
"""Folders whose pages the site shows; a README.md is the index of its folder."""


def main() -> int:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["build", "serve", "links"])
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="conf.py, en and zh")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "docs")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "site")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--bare", action="store_true", help="the pages of en and zh, and no others")
    parser.add_argument("--jobs", default="2")
    asked = parser.parse_args()
    asked.docs, asked.output = asked.docs.resolve(), asked.output.resolve()
    asked.work = asked.work.resolve()
    if asked.what == "serve":
        return serve(asked.output, asked.port)
    if asked.what == "links":
        return links(asked.docs)
    return build(asked)


# ---- building ------------------------------------------------------------------------------------
def build(asked: argparse.Namespace) -> int:
    """The site of both languages and its index, or what is wrong with it."""
    start = time.monotonic()
    if lacking := missing_modules():
        print(lacking, file=sys.stderr)
        return 1
    found = list(docs_parity.faults(asked.docs))
    if found:
        print(*(short(line) for line in found), sep="\n", file=sys.stderr)
        return 1
    asked.work.mkdir(parents=True, exist_ok=True)
    origins = {language: gather(asked, language) for language in LANGUAGES}
    for language in LANGUAGES:
        if code := sphinx(asked, language, origins[language]):
            return code
        print(f"{language}: {time.monotonic() - start:.0f} s", flush=True)
    if found := broken_links(asked.output):
        print(*found, sep="\n", file=sys.stderr)
        return 1
    shutil.copy(asked.docs / "_static" / "languages.html", asked.output / "index.html")
    command = [sys.executable, "-m", "pagefind", "--site", str(asked.output), "--silent"]
    command += ["--root-selector", "article.bd-article", "--exclude-selectors", ".headerlink"]
    done = subprocess.run(command, check=False)
    print(f"{asked.output}: {time.monotonic() - start:.0f} s")
    return done.returncode


def missing_modules() -> str:
    """What to install for a build, where something is missing."""
    lacking = {of: [name for name in names if not find_spec(name)] for of, names in NEEDED.items()}
    names = [name for of in lacking.values() for name in of]
    if not names:
        return ""
    extras = ",".join(of for of, missing in lacking.items() if missing and of != "docs")
    todo = [f"pip install '.[{extras}]'"] if extras else []
    todo += ["pip install --group docs"] if lacking["docs"] else []
    return (
        f"The documentation needs {', '.join(names)}, which {sys.executable} lacks. "
        f"Run {' and '.join(todo)}, or `make docs`, which makes an environment that has all."
    )


def gather(asked: argparse.Namespace, language: str) -> dict[str, str]:
    """Writes the sources of a language's pages, and returns the original of each."""
    pages: dict[str, tuple[str, str | bytes]] = {}
    folder = asked.docs / language
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            pages[path.relative_to(folder).as_posix()] = (str(path), path.read_bytes())
    for path in sorted((asked.docs / "data").glob("*")):
        pages[f"data/{path.name}"] = (str(path), path.read_bytes())
    if language == "en" and not asked.bare:
        import docs_reference

        pages |= repository_pages()
        pages |= {name: (f"{of}", text) for name, (of, text) in docs_reference.pages().items()}
    source = asked.work / "source" / language
    for path in [path for path in source.rglob("*") if path.is_file()]:
        if path.relative_to(source).as_posix() not in pages:
            path.unlink()
    for name, (_, content) in pages.items():
        content = content if isinstance(content, bytes) else content.encode()
        path = source / name
        if not path.exists() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return {str(source / name): original for name, (original, _) in pages.items()}


def repository_pages() -> dict[str, tuple[str, str | bytes]]:
    """The pages of the repository that the site shows, with links that hold within the site."""
    places = dict(GUIDES)
    for folder, to in FOLDERS.items():
        for path in sorted((ROOT / folder).glob("*.md")):
            name = "index.md" if path.name == "README.md" else path.name
            places[f"{folder}/{path.name}"] = f"{to}/{name}"
    lists = {f"{to}/index.md" for to in FOLDERS.values()}
    found: dict[str, tuple[str, str | bytes]] = {}
    pictures: set[str] = set()
    for original, name in places.items():
        text = (ROOT / original).read_text(encoding="utf-8")
        text = relinked(text, PurePosixPath(original), PurePosixPath(name), places, pictures)
        if name in lists:
            text += "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"
        found[name] = (str(ROOT / original), text)
    for picture in pictures:
        found[f"why/{picture}"] = (str(ROOT / picture), (ROOT / picture).read_bytes())
    return found


LINK = re.compile(r"(?P<bang>!?)\[(?P<text>(?:[^][]|\[[^]]*\])*)\]\((?P<to>[^)\s]+)\)")


def relinked(
    text: str,
    original: PurePosixPath,
    name: PurePosixPath,
    places: dict[str, str],
    pictures: set[str],
) -> str:
    """A page of the repository with its links to pages of the site; other files are named only."""

    def link(match: re.Match[str]) -> str:
        to, _, anchor = match["to"].partition("#")
        if urlsplit(match["to"]).scheme or not to:
            return match[0]
        target = os.path.normpath(original.parent / to)
        if (ROOT / target).is_dir() and f"{target}/README.md" in places:
            target += "/README.md"
        if match["bang"]:
            pictures.add(target)
            to = os.path.relpath(f"why/{target}", name.parent)
        elif target in places:
            to = os.path.relpath(places[target], name.parent)
        else:
            if not (ROOT / target).exists():
                return match[0]  # Sphinx says that it is broken
            return match["text"] if target in match["text"] else f"{match['text']} (`{target}`)"
        return f"{match['bang']}[{match['text']}]({to}{'#' + anchor if anchor else ''})"

    outside = re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.MULTILINE)
    outside[::2] = [LINK.sub(link, part.replace("[^", "\\[^")) for part in outside[::2]]
    return "".join(outside)


def sphinx(asked: argparse.Namespace, language: str, origins: dict[str, str]) -> int:
    """Builds the pages of a language; its messages name the originals."""
    source, output = asked.work / "source" / language, asked.output / language
    doctrees, reports = asked.work / "doctrees" / language, output / "reports"
    shutil.rmtree(reports, ignore_errors=True)
    environment = os.environ | {
        "TALLYBAYES_DOCS_CELLS": str(asked.work / f"cells-{state(asked.docs)}"),
        "TALLYBAYES_DOCS_WORK": str(asked.work),
        "TALLYBAYES_PROGRESS": "0",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "IPYTHONDIR": str(startup(asked)),
        "COLUMNS": "76",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    environment.pop("MPLBACKEND", None)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", "-j", asked.jobs]
    command += ["-D", f"language={LANGUAGES[language]}", "-c", str(asked.docs)]
    command += ["-d", str(doctrees), str(source), str(output)]
    done = subprocess.run(
        command, env=environment, text=True, encoding="utf-8", capture_output=True, check=False
    )
    for line in (done.stdout + done.stderr).splitlines():
        for staged, original in origins.items():
            if line.startswith(staged):
                line = original + line.removeprefix(staged)
        print(short(line), file=sys.stderr)
    for line in broken_cells(reports, source, origins):
        print(short(line), file=sys.stderr)
    if done.returncode:  # what failed is read again next time
        shutil.rmtree(doctrees, ignore_errors=True)
    return done.returncode


def short(line: str) -> str:
    """A message with paths from the folder of the repository."""
    return line.replace(f"{ROOT}/", "")


def broken_cells(reports: Path, source: Path, origins: dict[str, str]) -> list[str]:
    """The lines of cells that failed, from the reports that MyST-NB leaves of them."""
    found = []
    for report in sorted(reports.rglob("*.log")):
        page = source / report.relative_to(reports).with_name(
            report.name.removesuffix(".err.log").removesuffix(".log") + ".md"
        )
        text = re.sub(r"\x1b\[[\d;]*m", "", report.read_text(encoding="utf-8"))
        cell = re.search(r"^-{10,}\n(.*?)\n-{10,}$", text, re.DOTALL | re.MULTILINE)
        original = Path(origins.get(str(page), str(page)))
        at = original.read_text(encoding="utf-8").find(cell[1]) if cell else -1
        line = original.read_text(encoding="utf-8")[: max(at, 0)].count("\n") + 1
        if within := re.search(r"^Cell In *\[\d+\], line (\d+)", text, re.MULTILINE):
            line += int(within[1]) - 1
        said = [x for x in text.splitlines() if re.match(r"\w[\w.]*(Error|Exception|Warning)", x)]
        found.append(f"{original}:{line}: this cell fails: {said[-1] if said else text[-200:]}")
    return found


def state(docs: Path) -> str:
    """A name of what cells depend on beside their code: the package, data and other libraries."""
    digest = hashlib.sha256()
    package = Path(find_spec("tallybayes").origin).parent  # type: ignore[union-attr, arg-type]
    files = [path for path in package.rglob("*") if path.suffix in {".py", ".so", ".js", ".css"}]
    for path in sorted([*files, *(docs / "data").glob("*")]):
        digest.update(f"{path.name} ".encode() + path.read_bytes())
    for name in ("numpy", "pandas", "polars", "matplotlib", "scikit-learn", "duckdb", "ipykernel"):
        digest.update(f"{name} {version(name)} ".encode())
    digest.update((docs / "_startup.py").read_bytes())
    return digest.hexdigest()[:16]


def startup(asked: argparse.Namespace) -> Path:
    """A folder of settings for IPython, by which each page finds the data and draws alike."""
    profile = asked.work / "ipython" / "profile_default" / "startup"
    profile.mkdir(parents=True, exist_ok=True)
    code = (asked.docs / "_startup.py").read_text(encoding="utf-8")
    (profile / "00-site.py").write_text(f"DATA = {str(asked.docs / 'data')!r}\n{code}")
    (profile.parent / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 'ERROR'\n")
    return asked.work / "ipython"


# ---- links ---------------------------------------------------------------------------------------
class Page(HTMLParser):
    """The anchors of a page, and what it refers to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.targets: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes what a tag names and where it leads."""
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            if value and name in ("href", "src") and tag in ("a", "img", "script", "link"):
                self.targets.append(value)


def broken_links(output: Path) -> list[str]:
    """Links of the built pages to pages, anchors or files that there are not."""
    pages = {
        path.resolve(): Page(path.read_text(encoding="utf-8"))
        for language in LANGUAGES
        for path in (output / language).rglob("*.html")
        if "_static" not in path.parts
    }
    found = []
    for path, page in pages.items():
        for target in dict.fromkeys(page.targets):
            parts = urlsplit(target)
            if parts.scheme or target.startswith(("//", "data:")):
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if "pagefind" in to.parts:
                continue
            where = path.relative_to(output.resolve())
            if not to.exists():
                found.append(f"{where}: broken link {target}")
            elif to in pages and unquote(parts.fragment) not in {"", *pages[to].anchors}:
                found.append(f"{where}: no such anchor {target}")
    return found


def links(docs: Path) -> int:
    """Prints each address outside the site, with the files and lines that name it."""
    found: dict[str, list[str]] = {}
    places = [*docs.rglob("*.md"), *docs.glob("inventories/*.txt"), *ROOT.glob("*.md")]
    for path in sorted([*places, *(ROOT / "src").rglob("*.py")]):
        for i, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for address in re.findall(r"https?://[^\s)>\"'`\]}]+", line):
                found.setdefault(address.rstrip(".,;:"), []).append(f"{short(str(path))}:{i}")
    for address, where in sorted(found.items()):
        print(address, *where, sep="\n    ")
    return 0


# ---- serving -------------------------------------------------------------------------------------
def server(folder: Path, port: int = 0) -> ThreadingHTTPServer:
    """A server of the built pages on the loopback address."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    return ThreadingHTTPServer(("127.0.0.1", port), partial(Quiet, directory=str(folder)))


def serve(folder: Path, port: int) -> int:
    """Serves the built pages until interrupted."""
    if not (folder / "index.html").exists():
        print(f"{folder} has no pages yet; run `make docs`", file=sys.stderr)
        return 1
    with server(folder, port) as running:
        print(f"http://127.0.0.1:{running.server_address[1]}/ (Ctrl+C ends it)", flush=True)
        try:
            running.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
