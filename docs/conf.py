"""Sphinx's settings for the site, for either language.

``tools/docs.py`` calls Sphinx with ``-D language=en`` or ``-D language=zh_CN`` on the pages that it
gathered in ``build/site/source/en`` and ``…/zh``; :func:`in_this_language` sets what depends on it.
Nothing here reaches the network: scripts, fonts and inventories are local, and so is MathJax.
"""

from __future__ import annotations

import os
import shutil
import zlib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from sphinx.application import Sphinx

import tallybayes

project = "tallybayes"
author = "the authors of tallybayes"
copyright = "the authors of tallybayes; licence BSD-3-Clause"
release = version = tallybayes.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx_design",
]
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_theme = "pydata_sphinx_theme"
html_show_sourcelink = False
html_use_index = False  # the search finds names; an index would stand before their pages
html_copy_source = False
html_permalinks_icon = "#"
html_context = {"default_mode": "auto"}
html_sidebars = {"**": ["sidebar-nav-bs"], "index": [], "search": [], "terms": []}
html_additional_pages = {"search": "search.html"}

# ---- warnings are errors, and all that is named has to be there ----------------------------------
nitpicky = True

# ---- pages: MyST markdown, whose cells run -------------------------------------------------------
myst_enable_extensions = ["amsmath", "attrs_block", "attrs_inline", "colon_fence", "deflist"]
myst_enable_extensions += ["dollarmath"]
myst_heading_anchors = 4
myst_dmath_double_inline = True
nb_execution_mode = "cache"
nb_execution_cache_path = os.environ.get("TALLYBAYES_DOCS_CELLS", "")
nb_execution_in_temp = True
nb_execution_timeout = 120
nb_merge_streams = True
nb_number_source_lines = False
nb_kernel_rgx_aliases = {".*": "python3"}
nb_ipywidgets_js: dict[str, Any] = {}
nb_mime_priority_overrides = [("html", "text/html", 0)]

# ---- the reference, from docstrings --------------------------------------------------------------
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
autodoc_inherit_docstrings = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False
add_module_names = False

HERE = Path(__file__).parent
WORK = Path(os.environ.get("TALLYBAYES_DOCS_WORK", HERE.parent / "build" / "site"))

LANGUAGES = {
    "en": {"title": "tallybayes", "search": "Search", "other": "zh", "switch": "中文"},
    "zh_CN": {"title": "tallybayes", "search": "搜索", "other": "en", "switch": "English"},
}
"""By Sphinx's name of a language, what the theme shows in it."""


def inventory(text: Path) -> str:
    """Sphinx's inventory made of the lines of a readable one, which has the same lines.

    A file in ``inventories`` lists the names of a project that our pages refer to. Its first line
    is the address of the project's documentation.
    """
    packed = WORK / "inventories" / f"{text.stem}.inv"
    packed.parent.mkdir(parents=True, exist_ok=True)
    head = f"# Sphinx inventory version 2\n# Project: {text.stem}\n# Version: \n"
    head += "# The remainder of this file is compressed using zlib.\n"
    _, _, names = text.read_text(encoding="utf-8").partition("\n")
    content = head.encode() + zlib.compress(names.encode(), 9)
    if not packed.exists() or packed.read_bytes() != content:
        packed.write_bytes(content)
    return str(packed)


intersphinx_mapping = {
    text.stem: (text.read_text(encoding="utf-8").split("\n", 1)[0], inventory(text))
    for text in sorted((HERE / "inventories").glob("*.txt"))
}
intersphinx_timeout = 1


def in_this_language(app: Sphinx, config: Any) -> None:
    """What the theme shows, in the language of this build."""
    words = LANGUAGES[config.language]
    config.html_title = words["title"]
    config.html_theme_options = {
        "logo": {"text": "tallybayes"},
        "navbar_end": ["language-switch", "theme-switcher"],
        "search_bar_text": words["search"],
        "secondary_sidebar_items": ["page-toc", "notebook"],
        "show_prev_next": True,
        "navigation_with_keys": False,
        "header_links_before_dropdown": 6,
        "footer_start": ["copyright"],
        "footer_end": ["sphinx-version"],
        "pygments_light_style": "a11y-high-contrast-light",
        "pygments_dark_style": "a11y-high-contrast-dark",
    }


def without_sphinx_search(app: Sphinx) -> None:
    """No index of Sphinx's own: its search fails in Chinese, and Pagefind indexes the pages."""
    app.builder.search = False  # type: ignore[attr-defined]


# ---- formulas: MathJax of a package, with its fonts, for its own address is on another host ------
MATHJAX = Path(find_spec("sphinx-mathjax-offline").origin).parent / "static" / "mathjax"
MATHJAX_FILES = ["tex-chtml.js", "output/chtml/fonts/woff-v2/*.woff"]
mathjax_path = "mathjax/tex-chtml.js"


def copy_mathjax(app: Sphinx) -> None:
    """Puts the few files of MathJax that pages load among the static files."""
    for path in [path for pattern in MATHJAX_FILES for path in MATHJAX.glob(pattern)]:
        to = Path(app.outdir) / "_static" / "mathjax" / path.relative_to(MATHJAX)
        to.parent.mkdir(parents=True, exist_ok=True)
        if not to.exists():
            shutil.copy(path, to)


# ---- the same page in the other language, and as a notebook --------------------------------------
def page_context(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Gives templates the address of the same page in the other language, and of its notebook.

    A page that exists in one language only leads to the nearest page above it that exists in both.
    """
    words = LANGUAGES[app.config.language]
    sources = Path(app.srcdir).parent / words["other"]
    other = page
    while other not in ("index", "search") and not (sources / f"{other}.md").exists():
        folder = other.removesuffix("/index").rpartition("/")[0]
        other = f"{folder}/index" if folder else "index"
    up = "../" * page.count("/")
    context["other_language"] = f"{up}../{words['other']}/{other}.html"
    context["other_language_name"] = words["switch"]
    context["other_language_code"] = "zh-CN" if words["other"] == "zh" else "en"
    context["pagefind"] = f"{up}../pagefind/"
    context["meta_language"] = app.config.language.replace("_", "-")
    notebook = Path(app.outdir) / "notebooks" / f"{page}.ipynb"
    context["notebook"] = f"{up}notebooks/{page}.ipynb" if notebook.exists() else None
    context["search_words"] = words
    if context.get("body"):  # pages to read come before measurements, decisions and lists
        low = page.startswith(("why/results/", "why/decisions/", "why/changes"))
        weight = 0.1 if low or page.endswith("index") else 0.3 if page == "terms" else 1
        context["body"] = f'<div data-pagefind-weight="{weight}">{context["body"]}</div>'


def write_notebook(app: Sphinx, page: str, source: list[str]) -> None:
    """Writes a page with cells as a notebook, beside the built pages, for readers to download."""
    if "```{code-cell}" not in source[0]:
        return
    from myst_nb.core.read import create_nb_reader

    path = app.env.doc2path(page)
    settings = app.env.myst_config, app.env.mystnb_config  # type: ignore[attr-defined]
    reader = create_nb_reader(str(path), *settings, source[0])
    if reader is None:  # a page without `file_format: mystnb`, of which docs_parity.py complains
        return
    notebook = Path(app.outdir) / "notebooks" / f"{page}.ipynb"
    notebook.parent.mkdir(parents=True, exist_ok=True)
    notebook.write_text(nbformat.writes(reader.read(source[0])), encoding="utf-8")


def name_pictures(app: Sphinx, tree: nodes.document) -> None:
    """Gives each picture that a cell has drawn the heading above it for those who do not see it."""
    word = "Picture" if app.config.language == "en" else "图"
    for image in tree.findall(nodes.image):
        section = image.parent
        while section is not None and not isinstance(section, nodes.section):
            section = section.parent
        if not image.get("alt") and section is not None:
            image["alt"] = f"{word}: {section.next_node(nodes.title).astext()}"


# ---- names within the package that are not public ------------------------------------------------
def internal_name(app: Sphinx, env: Any, node: Any, content: nodes.Node) -> nodes.Node | None:
    """Shows a name of tallybayes that has no page as code, if there is such a name.

    Docstrings refer to modules and functions that are not public. A name that does not exist stays
    a broken reference.
    """
    target = node.get("reftarget", "")
    if node.get("refdomain") != "py":
        return None
    module, cls = node.get("py:module"), node.get("py:class")
    names = target, f"{module}.{target}", f"{module}.{cls}.{target}", f"tallybayes.{target}"
    for name in dict.fromkeys(names):
        if name.startswith("tallybayes") and exists(name):
            return content
    return None


def exists(name: str) -> bool:
    """Whether a dotted name can be imported."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value: Any = import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            fields = getattr(value, "__annotations__", {})
            value = getattr(value, part, fields.get(part))
            if value is None:
                return False
        return True
    return False


def setup(app: Sphinx) -> dict[str, Any]:
    """Joins the above to Sphinx."""
    app.connect("config-inited", in_this_language, priority=100)
    app.connect("builder-inited", without_sphinx_search)
    app.connect("html-page-context", page_context)
    app.connect("builder-inited", copy_mathjax)
    app.connect("source-read", write_notebook)
    app.connect("doctree-read", name_pictures)
    app.connect("missing-reference", internal_name, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
