"""The report of a model: one page of HTML that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from collections.abc import Mapping
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from tallybayes.decisions import Costs
from tallybayes.export.javascript import evaluator
from tallybayes.replacing import replacing
from tallybayes.reporting.content import content_of
from tallybayes.reporting.document import document_of
from tallybayes.reporting.subjects import subject_of

__all__ = ["SCRIPTS", "Language", "Report", "rendered", "rendered_still", "report_of"]


# ---- a report: its content, and where the page goes ----------------------------------------------
Language = Literal["en", "zh"]

ABOUT = ("target", "model", "data")
"""What the heading of a page names, beside the day on which it was made."""

FRAME_HEIGHT = 800  # pixels of the frame in a notebook


class Report:
    """One page of HTML that shows a whole model.

    A report is made by the ``report`` method of a classifier. In a notebook it shows itself.

    Parameters
    ----------
    data : dict
        What the page shows, as JSON.
    lang : {"en", "zh"}
        The language of the page.

    Attributes
    ----------
    data : dict
        What the page shows, as JSON.
    lang : str
        The language of the page.
    """

    data: dict[str, Any]
    lang: Language

    def __init__(self, data: dict[str, Any], lang: Language = "en") -> None:
        self.data, self.lang = data, lang
        self._html = self._rendered()

    def _rendered(self) -> str:
        return rendered(self.data, self.lang)

    @property
    def html(self) -> str:
        """The page."""
        return self._html

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which is replaced whole or not at all.

        Parameters
        ----------
        path : str or path-like
            The file, ``report.html`` for example.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        with replacing(path) as file:
            file.write(self._html.encode("utf-8"))

    def _repr_html_(self) -> str:
        """The page in a frame of its own, whose scripts see nothing of the notebook."""
        page = html.escape(self._html, quote=True)
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" width="100%" height="{FRAME_HEIGHT}" '
            'style="border: 1px solid #8884; border-radius: 6px" title="tallybayes report">'
            "</iframe>"
        )

    def __repr__(self) -> str:
        return f"Report({self.data['model']}, {len(self._html) / 1e3:,.0f} kB of HTML)"


def report_of(
    model: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    learned: bool | None = None,
    about: Mapping[str, str] | None = None,
    lang: Language = "en",
    costs: Costs | None = None,
) -> Report:
    """The report of a fitted classifier; see the ``report`` method of the classifiers.

    Parameters
    ----------
    model : classifier
        A fitted classifier of tallybayes.
    X : rows (n_rows, n_features)
        Rows to judge the model by.
    y : array-like (n_rows,)
        Their labels.
    sample_weight : array-like (n_rows,), optional
        Weights of the rows.
    groups : array-like (n_rows,), optional
        Rows of a group are left out together.
    learned : bool, optional
        Whether the model has learned these rows.
    about : mapping, optional
        What the page is about: "target", "model" and "data" in words.
    lang : {"en", "zh"}, default="en"
        The language of the page.
    costs : Costs, optional
        What decisions cost, which the page then shows, too.

    Returns
    -------
    Report
        The page.
    """
    import numpy as np

    from tallybayes.validation import read_groups, warn_of_other_order

    warn_of_other_order(X, y, sample_weight, groups)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    together = None if groups is None else read_groups(groups, len(y))
    content = content_of(subject_of(model), X, y, weight, learned, together)
    return Report(document_of(content, _about(about or {}, y), costs), lang)


def _about(given: Mapping[str, str], y: Any) -> dict[str, str]:
    """What a page is about, with the name of the labels and the day.

    Raises
    ------
    ValueError
        For a key that there is not.
    """
    if unknown := given.keys() - set(ABOUT):
        raise ValueError(f"about= has the keys {', '.join(ABOUT)}; got {sorted(unknown)[0]!r}")
    name = getattr(y, "name", None)
    found = {"target": name} if isinstance(name, str) and name else {}
    found |= {key: str(text) for key, text in given.items()}
    order = {key: found[key] for key in ABOUT if key in found}
    return order | {"made": date.today().isoformat()}


# ---- the page, from its template, styles, scripts and words in `page/` ---------------------------
SCRIPTS = (
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
"""Below `scripts`, in the order in which they run, after those that evaluate a form; each adds to
the one object that they share."""

LANG = {"en": "en", "zh": "zh-Hans"}


@cache
def _resource(name: str) -> str:
    return files(__package__).joinpath("page", name).read_text(encoding="utf-8")


@cache
def _words(lang: str) -> dict[str, str]:
    if lang not in LANG:
        raise ValueError(f"lang is one of {sorted(LANG)}, got {lang!r}")
    words: dict[str, str] = json.loads(_resource(f"words/{lang}.json"))
    return words


@cache
def _script() -> str:
    parts = [*evaluator(), *(_resource(f"scripts/{name}") for name in SCRIPTS)]
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
def _template(name: str) -> Any:
    try:
        import jinja2
    except ImportError as error:
        raise ImportError(
            f"reports need Jinja2 ({error}): pip install 'tallybayes[report]'"
        ) from error
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(_resource(name))


def _page(template: str, words: Any, lang: str, *, script: str = "", **values: Any) -> str:
    """A page from its template, with the policy by which only its own style and script run."""
    page = _template(template)
    import markupsafe

    style = _resource("page.css")
    scripts = f"script-src {_hash(script)}; " if script else ""
    policy = (
        f"default-src 'none'; {scripts}style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    text: str = page.render(
        lang=LANG[lang],
        words=words,
        policy=policy,
        style=markupsafe.Markup(style),
        script=markupsafe.Markup(script),
        **values,
    )
    return text


def rendered_still(
    template: str, lang: str, *, lead: tuple[str, Mapping[str, Any]], **values: Any
) -> str:
    """A page without scripts.

    Parameters
    ----------
    template : str
        Its file.
    lang : {"en", "zh"}
    lead : (str, mapping)
        The key of the sentence that it begins with, and what its fields hold.
    **values
        Of the template.

    Raises
    ------
    ValueError
        For a language that there is not.
    ImportError
        Without Jinja2.
    """
    words, (key, held) = _words(lang), lead
    return _page(template, words, lang, lead=words[key].format(**held), **values)


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
    import markupsafe

    words = _words(lang)
    payloads = {
        "payload": markupsafe.Markup(_json(data)),
        "words_payload": markupsafe.Markup(_json(words)),
    }
    return _page("page.html.j2", words, lang, script=_script(), data=data, **payloads)
