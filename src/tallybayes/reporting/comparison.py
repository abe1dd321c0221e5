"""The page that shows what moved between two tallies: tables and bars, without a script."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from tallybayes.drift import Comparison
from tallybayes.reporting.report import Language, Report, rendered_still

__all__ = ["comparison_report"]

ABOUT = ("old", "new")
MAX_CELLS = 30  # of a column: those that differ most


class ComparisonReport(Report):
    """One page of HTML that shows a :class:`Comparison`.

    In a notebook it shows itself.

    Parameters
    ----------
    found : Comparison
    about : dict of str to str
        What "old" and "new" are, in words.
    lang : {"en", "zh"}
    """

    def __init__(self, found: Comparison, about: dict[str, str], lang: Language = "en") -> None:
        self.found: Comparison = found
        self.about: dict[str, str] = about
        super().__init__(found.document(), lang)

    def _rendered(self) -> str:
        found = self.found
        shown = {}
        for column in found.columns:
            cells = list(zip(column.cells, column.old, column.new, strict=True))
            if len(cells) > MAX_CELLS:
                largest = sorted(cells, key=lambda cell: -abs(cell[2] - cell[1]))[:MAX_CELLS]
                cells = [cell for cell in cells if cell in largest][:MAX_CELLS]
            shown[column.name] = cells
        figures = {
            "moved": len(found.moved()),
            "columns": len(found.columns),
            "old": f"{found.rows_old:,.10g}",
            "new": f"{found.rows_new:,.10g}",
        }
        return rendered_still(
            "comparison.html.j2",
            self.lang,
            lead=("moved_lead", figures),
            found=found,
            shown=shown,
            about=self.about | {"made": date.today().isoformat()},
        )

    def __repr__(self) -> str:
        return (
            f"ComparisonReport({len(self.found.columns)} columns, {len(self.html) / 1e3:,.0f} kB)"
        )


def comparison_report(
    found: Comparison, *, about: Mapping[str, str] | None = None, lang: Language = "en"
) -> ComparisonReport:
    """Make a page of what moved between two tallies.

    It is one file that needs no network and runs no script.

    Parameters
    ----------
    found : Comparison
        Such as :func:`tallybayes.compare` gives.
    about : mapping, optional
        What "old" and "new" are, in words.
    lang : {"en", "zh"}, default="en"
        The language of the page.

    Returns
    -------
    Report
        The page; ``save(path)`` writes it.

    Raises
    ------
    ValueError
        For a language, or a key of about, that there is not.
    ImportError
        Without Jinja2.

    Examples
    --------
    >>> import pandas as pd
    >>> from tallybayes import collect, compare, comparison_report
    >>> june = pd.DataFrame({"pay": ["card", "cash"] * 50})
    >>> july = pd.DataFrame({"pay": ["card"] * 90 + ["cash"] * 10})
    >>> page = comparison_report(compare(collect(june), collect(july)))
    >>> "PSI 0.85" in page.html
    True
    """
    given = {key: str(text) for key, text in (about or {}).items()}
    if unknown := given.keys() - set(ABOUT):
        raise ValueError(f"about= has the keys {', '.join(ABOUT)}; got {sorted(unknown)[0]!r}")
    return ComparisonReport(found, given, lang)
