"""The page of what moved between two tallies: its figures, and how it is made."""

import numpy as np
import pandas as pd
import pytest

from reporting.conftest import NASTY
from reporting.test_in_browser import is_well_made
from tallybayes import collect, compare, comparison_report


def month(seed, online):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "channel": np.where(rng.random(500) < online, "web", "shop"),
            "age": rng.normal(44, 12, 500).round(),
            NASTY[0]: rng.choice([*NASTY[:5], *(f"level {i}" for i in range(40))], 500),
            "a column whose name is far longer than a narrow screen has room for": 1.0,
        }
    )
    return frame.assign(sold=rng.choice([NASTY[1], "no"], 500))


def compared(*, labels=True):
    rows = [month(1, 0.35), month(2, 0.6)]
    target = "sold" if labels else None
    return compare(*(collect(r if labels else r.drop(columns="sold"), target) for r in rows))


def test_the_page_has_the_figures_and_says_what_is_not_compared():
    found = compared()
    page = comparison_report(found, about={"old": "May", "new": "June"})
    for column in found.columns:
        assert f"PSI {column.psi:.4f}" in page.html
    assert "1 of 4 columns moved, of 500 rows before and 500 after." in page.html
    assert "May" in page.html
    assert NASTY[0] not in page.html  # but its letters
    assert "类别" in comparison_report(found, lang="zh").html
    assert page.data == found.document()
    assert "p-value that the class" not in comparison_report(compared(labels=False)).html
    with pytest.raises(ValueError, match="about= has the keys old, new; got 'model'"):
        comparison_report(found, about={"model": "x"})
    with pytest.raises(ValueError, match="lang is one of"):
        comparison_report(found, lang="fr")


@pytest.mark.parametrize(("lang", "scheme"), [("en", "light"), ("zh", "dark")])
def test_it_is_well_made(opened, lang, scheme):
    made = comparison_report(compared(), lang=lang).html
    is_well_made(opened(made, viewport={"width": 390, "height": 844}, color_scheme=scheme))
