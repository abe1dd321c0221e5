"""The picture of ``docs/architecture.md``: run this file to write the SVG beside it."""

from __future__ import annotations

from html import escape
from pathlib import Path

WIDTH, HEIGHT = 1000, 470
BOX_WIDTH, BOX_HEIGHT = 168, 70
COLUMNS = [16, 216, 416, 616, 816]
ROWS = [52, 182, 342]

# name, what it is, folder, column, row
BOXES = {
    "source": ("Source", "frame, array, dict, relation", "tables/", 0, 0),
    "collect": ("Engine: collect", "counts where the data is", "engines/", 1, 0),
    "tally": ("Tally", "sufficient statistics", "tally/", 2, 0),
    "learned": ("Learned on rows", "weights, pairs, calibration", "weighted/", 3, 0),
    "family": ("Family", "one way to model a column", "families/", 2, 1),
    "likelihood": ("Likelihood", "what the counts say of it", "families/", 3, 1),
    "model": ("Model", "tally + how it is read", "models/", 4, 1),
    "answer": ("Answer", "label, probability, reasons", "estimators/, explain/", 0, 2),
    "joint": ("Joint log-likelihood", "one score a class, in nats", "scoring", 1, 2),
    "score": ("Engine: score", "evaluates each score kind", "engines/", 2, 2),
    "kind": ("Score kind", "lookup, linear, quadratic, …", "score", 3, 2),
    "rows": ("Rows to predict", "frame, array, dict", "tables/", 4, 2),
}
STYLE = """
text { font-family: system-ui, 'DejaVu Sans', sans-serif; font-size: 11px; fill: #1f2933; }
.name, .what, .folder { text-anchor: middle; }
.name { font-weight: 600; font-size: 14px; }
.folder { font-family: ui-monospace, 'DejaVu Sans Mono', monospace; fill: #486581; }
.box { fill: #f0f4f8; stroke: #486581; stroke-width: 1.2; }
.line { stroke: #486581; stroke-width: 1.4; fill: none; marker-end: url(#tip); }
.note { font-style: italic; fill: #486581; }
"""


def corner(name: str) -> tuple[int, int]:
    """The upper left corner of a box."""
    *_, column, row = BOXES[name]
    return COLUMNS[column], ROWS[row]


def side(name: str, where: str) -> tuple[int, int]:
    """The middle of a side of a box: "left", "right", "top" or "bottom"."""
    x, y = corner(name)
    return {
        "left": (x, y + BOX_HEIGHT // 2),
        "right": (x + BOX_WIDTH, y + BOX_HEIGHT // 2),
        "top": (x + BOX_WIDTH // 2, y),
        "bottom": (x + BOX_WIDTH // 2, y + BOX_HEIGHT),
    }[where]


def box(name: str) -> str:
    title, what, folder, *_ = BOXES[name]
    x, y = corner(name)
    middle = x + BOX_WIDTH // 2
    return "\n".join(
        [
            f'<rect class="box" x="{x}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6"/>',
            f'<text class="name" x="{middle}" y="{y + 22}">{escape(title)}</text>',
            f'<text class="what" x="{middle}" y="{y + 41}">{escape(what)}</text>',
            f'<text class="folder" x="{middle}" y="{y + 60}">{folder}</text>',
        ]
    )


def arrow(*points: tuple[int, int]) -> str:
    path = " L".join(f"{x},{y}" for x, y in points)
    return f'<path class="line" d="M{path}"/>'


def note(x: int, y: int, text: str) -> str:
    return f'<text class="note" x="{x}" y="{y}">{escape(text)}</text>'


def bent(start: tuple[int, int], end: tuple[int, int]) -> str:
    """An arrow that leaves sideways and arrives from above or below."""
    return arrow(start, (end[0], start[1]), end)


def picture() -> str:
    arrows = [
        arrow(side("source", "right"), side("collect", "left")),
        arrow(side("collect", "right"), side("tally", "left")),
        arrow(side("tally", "right"), side("learned", "left")),
        arrow(side("tally", "bottom"), side("family", "top")),
        arrow(side("family", "right"), side("likelihood", "left")),
        arrow(side("likelihood", "right"), side("model", "left")),
        bent(side("learned", "right"), side("model", "top")),
        arrow(side("likelihood", "bottom"), side("kind", "top")),
        arrow(side("kind", "left"), side("score", "right")),
        arrow(side("score", "left"), side("joint", "right")),
        arrow(side("joint", "left"), side("answer", "right")),
    ]
    x, y = side("rows", "bottom")
    to_x, to_y = side("score", "bottom")
    arrows.append(arrow((x, y), (x, y + 26), (to_x, y + 26), (to_x, to_y)))
    notes = [
        note(16, 34, "fit: rows become counts, and are forgotten"),
        note(508, 150, "read when it is needed"),
        note(16, 324, "predict: scores become probabilities"),
        note(COLUMNS[3], 455, "each row, where it lies"),
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'aria-label="From a source through the tally to a model, and from rows to an answer">',
            f"<style>{STYLE}</style>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" '
            'markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#486581"/></marker>'
            "</defs>",
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
            *map(box, BOXES),
            *arrows,
            *notes,
            "</svg>",
            "",
        ]
    )


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(picture(), encoding="utf-8")
