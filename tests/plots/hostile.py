"""Names that would break a picture that took them for markup."""

HOSTILE = [
    "<script>alert(1)</script>",
    "$x_1^2$ costs $5",
    "\\frac{a}{b}_",
    "\u202eright to left\u202c",
    "   ",
    "two\nlines",
    "中文名称",
    "x" * 10_000,
]


def texts_fit(figure) -> bool:
    """Whether everything is drawn, and no text is longer than a picture is wide."""
    from matplotlib.text import Text

    figure.canvas.draw()
    return all(len(text.get_text()) < 200 for text in figure.findobj(Text))
