"""What a model of text holds, and why a document got its class: for people and for machines."""

from __future__ import annotations

import sys
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

import numpy as np

from tallybayes.cli.console import cut, document, line, number_of, pieces, progress, say, table
from tallybayes.cli.figures import figures_tables

if TYPE_CHECKING:
    from tallybayes.model_files import ChosenRows, DocumentFile, Figures

__all__ = [
    "class_table",
    "content_of",
    "description",
    "evidence_bars",
    "explain",
    "marked_lines",
    "note_of_unlabelled",
    "say_prediction",
    "say_terms",
    "show",
    "terms_as_json",
    "top_terms_tables",
]


# ---- what a model of text holds ------------------------------------------------------------------
def content_of(
    file: DocumentFile, path: str, found: Figures | None, show_all: bool = False
) -> dict[str, Any]:
    """A model for machines."""
    return {
        "model": path,
        "target": file.target,
        "column": file.read_by.column,
        "rows": file.rows,
        "classes": file.rows_of_classes,
        "options": file.model.get_params(),
        "analyzer": file.model.analyzer_,
        "terms": file.model.tally_.n_terms,
        "penalty": file.model.penalty_,
        "unlabelled_weight": file.model.unlabelled_weight_,
        "estimate": None if found is None else found.document(),
        "top_terms": top_terms_document(file, show_all),
    }


def show(file: DocumentFile, path: str, show_all: bool, json: bool) -> None:
    """Shows vocabulary, classes, quality and top terms."""
    from tallybayes.model_files import estimate

    found = estimate(file)
    assert found is not None
    if json:
        document("show", content_of(file, path, found, show_all))
        return
    given = ", ".join(f"{k}={v!r}" for k, v in file.model.get_params().items() if v is not None)
    say(
        line(f"{path}: {number_of(file.rows, 'document')}, {description(file)}", "bold"),
        line(given, "dim"),
        line(),
        class_table(file, show_all),
    )
    say(*figures_tables(found), *top_terms_tables(file, show_all))


# ---- its classes, and what it knows of documents -------------------------------------------------
MAX_CLASSES = 20


def class_table(file: DocumentFile, show_all: bool) -> Any:
    """The classes and their documents."""
    count = file.class_rows
    order = np.arange(len(count))
    if not show_all and len(count) > MAX_CLASSES:
        order = np.argsort(-count, kind="stable")[:MAX_CLASSES]
    rows = [
        (file.classes[k], f"{count[k]:,.10g}", f"{count[k] / max(file.rows, 1e-300):.2%}")
        for k in order.tolist()
    ]
    if more := len(count) - len(order):
        rows.append((f"… and {more:,} more", "", ""))
    title = f"Classes ({file.target})" if file.target else "Classes"
    return table(title, ["class", ">documents", ">share"], rows)


def description(file: DocumentFile) -> str:
    """The vocabulary in words: how many terms, of what they are made, and whether hashed."""
    options = file.options
    shortest, longest = options["ngram_range"]
    of = {"char": "characters", "char_wb": "characters within words"}
    units = of.get(options["analyzer"], "words and marks")
    runs = f"{shortest}" if shortest == longest else f"{shortest} to {longest}"
    terms = number_of(file.model.tally_.n_terms, "term")
    hashed = options["n_features"]
    kept = f"{terms} in {hashed:,} buckets" if hashed else terms
    if pruned := file.model.tally_.pruned:
        kept += f", each of which may lack {pruned:,.10g} of its documents"
    ridge = file.model.penalty_
    learned = f"a ridge of penalty {ridge:.3g}" if ridge is not None else "no ridge"
    return cut(f"{kept}: n-grams of {runs} {units}; {learned}", 200)


def note_of_unlabelled(source: Any, model: Any) -> str:
    """What use was made of documents without a label."""
    if not source.unlabelled:
        return f"note: {source.name}: every document has a label, so --unlabelled had nothing to do"
    documents, weight = number_of(source.unlabelled, "document"), model.unlabelled_weight_
    if weight == 0.0:
        return (
            f"note: {source.name}: {documents} without a label not counted: with them, labelled "
            "documents that were held out are not predicted better beyond chance"
        )
    return (
        f"note: {source.name}: {documents} without a label counted by their probabilities, each as "
        f"{weight:g} of a document, after {number_of(model.n_iter_, 'iteration')}"
    )


# ---- the most informative terms of each class ----------------------------------------------------
SHOWN_TERMS, ALL_TERMS = 10, 50
MEASURE = (
    "What one occurrence in a document of mean length adds to the score of the class against all "
    "others, in nats, by the counts and without the ridge"
)


def _found(
    file: DocumentFile, n: int, names: list[str] | None = None
) -> dict[str, list[tuple[Any, float]]]:
    labels = dict(zip(file.classes, file.model.classes_.tolist(), strict=True))
    return {name: file.model.top_terms(labels[name], n) for name in names or file.classes}


def _is_hashed(file: DocumentFile) -> bool:
    return file.options["n_features"] is not None


def top_terms_document(file: DocumentFile, show_all: bool) -> dict[str, Any]:
    """Terms and nats by class; None where terms are hashed and so have no names."""
    if _is_hashed(file):
        return {"measure": MEASURE, "classes": None}
    found = _found(file, ALL_TERMS if show_all else SHOWN_TERMS)
    named = {
        name: [{"term": term, "nats": nats} for term, nats in terms]
        for name, terms in found.items()
    }
    return {"measure": MEASURE, "classes": named}


def top_terms_tables(file: DocumentFile, show_all: bool) -> list[Any]:
    """A table of a row for each class, or with all terms a table for each class."""
    if _is_hashed(file):
        return [line("The terms are hashed, so they have no names to show.", "dim")]
    if show_all:
        found = _found(file, ALL_TERMS)
        return [_long(name, terms) for name, terms in found.items()] + [line(MEASURE, "dim")]
    shown = file.classes
    if len(shown) > MAX_CLASSES:
        most = np.argsort(-file.class_rows, kind="stable")[:MAX_CLASSES]
        shown = [shown[k] for k in sorted(most.tolist())]
    found = _found(file, SHOWN_TERMS, shown)
    rows = [
        (
            name,
            "  ".join(
                f"{cut(str(term), MAX_TERM_CHARACTERS)} {nats:+.2f}" for term, nats in found[name]
            ),
        )
        for name in shown
    ]
    cells = [(name, line(text)) for name, text in rows]
    return [table("Top terms of each class", ["class", "terms"], cells), line(MEASURE, "dim")]


def _long(name: str, terms: list[tuple[Any, float]]) -> Any:
    top = max((nats for _, nats in terms), default=0.0)
    rows = [
        (
            cut(str(term), MAX_TERM_CHARACTERS),
            f"{nats:+.3f}",
            "█" * round(24 * max(nats, 0.0) / (top or 1.0)),
        )
        for term, nats in terms
    ]
    return table(f"Top terms of {name}", ["term", ">nats", ""], rows, chart=True)


# ---- why a document got its class: its most informative words, marked in the text ----------------
MAX_SHOWN_TERMS = 15  # terms that are shown
MAX_TERM_CHARACTERS = 30  # characters of a term


def explain(file: DocumentFile, source: Any, chosen: ChosenRows, json: bool) -> None:
    """Explains documents, to people or to machines."""
    explained = []
    with progress():
        those = file.chosen(source, chosen)
    for i, found in enumerate(those):
        explanation = file.model.explain_one(found.text)
        if json:
            explained.append(_as_json(file, found, explanation))
            continue
        if i:
            say(line())
        _say(file, source.where(found), explanation)
    if json:
        document("explain", {"rows": explained} if chosen.several else explained[0])


def terms_as_json(explanation: Any, classes: list[str]) -> list[dict[str, Any]]:
    """What each term adds to each class."""
    by_class = [dict(zip(classes, c, strict=True)) for c in explanation.contributions.tolist()]
    return [
        {"term": term, "contribution": shares}
        for term, shares in zip(explanation.terms, by_class, strict=True)
    ]


def _as_json(file: DocumentFile, found: Any, explanation: Any) -> dict[str, Any]:
    """The explanation of a document, for machines."""
    classes = file.classes
    return {
        "document": found.name or None,
        "row": found.number,
        "prediction": classes[int(explanation.probabilities.argmax())],
        "probability": dict(zip(classes, explanation.probabilities.tolist(), strict=True)),
        "unit": "nats",
        "base": dict(zip(classes, explanation.base.tolist(), strict=True)),
        "terms": terms_as_json(explanation, classes),
    }


def _say(file: DocumentFile, where: str, explanation: Any) -> None:
    names, proba = file.classes, explanation.probabilities
    order = np.argsort(-proba, kind="stable").tolist()
    say_prediction(f"{where}: predicted {names[order[0]]}", names, proba, order)
    say_terms(explanation, names, order, "(intercept)")
    say(line("+1 nat multiplies the odds of the two classes by 2.7.", "dim"))


def say_prediction(predicted: str, names: list[str], proba: Any, order: list[int]) -> None:
    """Prints what was predicted, and the other classes, the most probable first."""
    say(line(f"{predicted}, probability {proba[order[0]]:.1%}", "bold"))
    if len(order) > 1:
        shown = ", ".join(f"{names[k]} {proba[k]:.1%}" for k in order[1:5])
        more = f" and {len(order) - 5} more" if len(order) > 5 else ""
        say(line(f"Other classes: {shown}{more}"))


def evidence_bars(nats: list[float]) -> list[Any]:
    """A bar for each number: to the right for the class, to the left against it."""
    widest = max((abs(value) for value in nats if np.isfinite(value)), default=0.0) or 1.0
    bars = []
    for value in nats:
        size = round(12 * min(abs(value), widest) / widest)
        bar = " " * 12 + "│" + "█" * size if value > 0 else " " * (12 - size) + "█" * size + "│"
        bars.append(line(bar, "green" if value > 0 else "red"))
    return bars


def say_terms(explanation: Any, names: list[str], order: list[int], rest: str) -> None:
    """Prints a document with its most informative words marked, and its terms in a table.

    Parameters
    ----------
    explanation : Any
    names : list of str
        Of the classes.
    order : list of int
        The classes, the most probable first.
    rest : str
        What else the score consists of.
    """
    best, other = names[order[0]], names[order[min(1, len(order) - 1)]]
    colours = sys.stdout.isatty()
    words = explanation.words()
    say(line(), *marked_lines(explanation.document, words, colours), line())
    say(line(_legend(best, other, colours), "dim"), line())
    evidence = _evidence(explanation, order, rest)
    say(table(f"Evidence for {best} over {other}", *evidence, chart=True))
    hidden = len(explanation.terms) - MAX_SHOWN_TERMS
    if hidden > 0:
        say(line(f"{hidden:,} terms with less influence are summed (--json has all)", "dim"))


def _legend(best: str, other: str, colours: bool) -> str:
    if colours:
        return f"green: for {best}; red: for {other}; the bolder, the more"
    return f"[+nats] for {best}, [-nats] for {other}; a term's nats are divided among its words"


def _evidence(explanation: Any, order: list[int], rest: str) -> tuple[list[str], list[list[Any]]]:
    """The head and the rows of the table of terms."""
    best, other = order[0], order[min(1, len(order) - 1)]
    values = explanation.for_label.tolist()
    prior = float(explanation.base[best] - explanation.base[other])
    rows = [(rest, prior)]
    rows += [
        (str(t), v)
        for t, v in zip(explanation.terms[:MAX_SHOWN_TERMS], values[:MAX_SHOWN_TERMS], strict=True)
    ]
    if len(values) > MAX_SHOWN_TERMS:
        rows.append(
            (f"{len(values) - MAX_SHOWN_TERMS:,} more terms", sum(values[MAX_SHOWN_TERMS:]))
        )
    bars = evidence_bars([nats for _, nats in rows])
    lines: list[list[Any]] = [
        [cut(term, MAX_TERM_CHARACTERS), f"{nats:+.3f}", bar]
        for (term, nats), bar in zip(rows, bars, strict=True)
    ]
    lines.append(["sum", f"{prior + sum(values):+.3f}", ""])
    return ["term", ">nats", ""], lines


# ---- a document with its most informative words marked: in colour, else by numbers in brackets ---
MIN_SHARE = 0.05  # of the strongest word's nats, from which on a word is marked
SHADES = ("", "bold ", "bold reverse ")  # of the strength of a word
SHADE_SHARES = (0.2, 0.6)  # of the strongest word's nats, from which on the next shade is taken
LINE_ENDS = "\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"
MAX_LINES = 40  # of a document that are shown
MAX_LINE_CHARACTERS = 2_000  # characters of a line that are shown


def marked_lines(text: str, words: list[Any], colours: bool) -> list[Any]:
    """The lines of a document; of a long one those with the strongest words, and "…" between.

    Parameters
    ----------
    text : str
    words : list of Word
        In their order.
    colours : bool
        Whether words are marked by colour, else by numbers.
    """
    strongest = max((abs(word.nats) for word in words), default=0.0)
    lines: list[list[tuple[str, str]]] = []
    weights: list[float] = []
    at = i = 0
    for piece in text.splitlines(keepends=True):
        place, end = at, at + min(len(piece), MAX_LINE_CHARACTERS)
        line, weight = [], 0.0
        while i < len(words) and words[i].begin < at + len(piece):
            word, i = words[i], i + 1
            if word.end > end or abs(word.nats) < max(MIN_SHARE * strongest, 1e-9):
                continue
            line.append((_plain(text[place : word.begin]), ""))
            line.append(_marked(text[word.begin : word.end], word.nats, strongest, colours))
            weight, place = max(weight, abs(word.nats)), word.end
        line.append((_plain(text[place:end]) + " …" * (len(piece) > MAX_LINE_CHARACTERS), ""))
        lines.append(line)
        weights.append(weight)
        at += len(piece)
    return [pieces(line) for line in _cut(lines, weights)]


def _plain(text: str) -> str:
    """Text between the words, without line ends; tabs are spaces."""
    return text.rstrip(LINE_ENDS).replace("\t", "    ")


def _marked(text: str, nats: float, strongest: float, colours: bool) -> tuple[str, str]:
    if not colours:
        return f"{text}[{nats:+.2f}]", ""
    shade = SHADES[bisect_right(SHADE_SHARES, abs(nats) / strongest)]
    return text, f"{shade}{'green' if nats > 0 else 'red'}"


def _cut(lines: list[list[tuple[str, str]]], weights: list[float]) -> list[list[tuple[str, str]]]:
    """At most so many lines: the ones with the strongest words, in their order."""
    order = sorted(range(len(lines)), key=lambda i: (-weights[i], i))
    shown = []
    last = -1
    for i in sorted(order[:MAX_LINES]):
        shown += [[("…", "dim")]] * (i != last + 1)
        shown.append(lines[i])
        last = i
    return shown + [[("…", "dim")]] * (last != len(lines) - 1)
