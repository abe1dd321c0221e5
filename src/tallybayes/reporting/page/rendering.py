"""The page from its template, styles, scripts and words; the one file that imports Jinja2."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["SCRIPTS", "rendered"]

SCRIPTS = (
    "model/laws.js",
    "model/score.js",
    "model/text.js",
    "dom.js",
    "charts.js",
    "views/glance.js",
    "views/waterfall.js",
    "views/nomogram.js",
    "views/text_nomogram.js",
    "views/text_changes.js",
    "views/text_form.js",
    "views/changes.js",
    "views/rows.js",
    "views/columns.js",
    "views/quality.js",
    "start.js",
)
"""Below `scripts`, in the order in which they run; each adds to the one object that they share."""

LANG = {"en": "en", "zh": "zh-Hans"}


@cache
def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def _words(lang: str) -> dict[str, str]:
    words: dict[str, str] = json.loads(_resource(f"words/{lang}.json"))
    return words


@cache
def _script() -> str:
    parts = [_resource(f"scripts/{name}") for name in SCRIPTS]
    return '"use strict";\nconst R = {};\n' + "\n".join(f"{{\n{part}}}" for part in parts)


def _hash(text: str) -> str:
    """The source expression that lets this very text run."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _json(data: Any) -> str:
    """JSON that ends no script element and holds no character that HTML reads as markup."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in text)


@cache
def _template() -> Any:
    try:
        import jinja2
    except ImportError as error:
        raise ImportError(
            f"reports need Jinja2 ({error}): pip install 'tallybayes[report]'"
        ) from error
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(_resource("page.html.j2"))


def rendered(data: dict[str, Any], lang: str) -> str:
    """The page.

    Parameters
    ----------
    data : dict
        What it shows, as JSON.
    lang : {"en", "zh"}

    Raises
    ------
    ValueError
        For a language that there is not.
    ImportError
        Without Jinja2.
    """
    if lang not in LANG:
        raise ValueError(f"lang is one of {sorted(LANG)}, got {lang!r}")
    import markupsafe

    style, script, words = _resource("page.css"), _script(), _words(lang)
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    page: str = _template().render(
        lang=LANG[lang],
        words=words,
        data=data,
        policy=policy,
        style=markupsafe.Markup(style),
        script=markupsafe.Markup(script),
        payload=markupsafe.Markup(_json(data)),
        words_payload=markupsafe.Markup(_json(words)),
    )
    return page
