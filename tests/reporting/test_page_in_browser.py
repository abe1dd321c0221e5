"""The page in a browser: it computes what Python computes, and is well made."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from reporting.conftest import NASTY, fitted, people, report, rows_of

PREDICT = "(rows) => rows.map((row) => tallybayes.predict(row))"


@pytest.mark.parametrize("name", ["plain", "temperature", "isotonic", "weighted", "arrays"])
def test_the_page_predicts_what_the_model_predicts(opened, name):
    model, X, _ = fitted(name)
    fresh = people(200, seed=9)[0][list(X.columns)]
    if name == "arrays":
        fresh = fresh.fillna(1.0)
    else:
        fresh.loc[3, "job"] = "never seen"
    found = opened(report(name).html).page.evaluate(PREDICT, rows_of(fresh))
    expected = model.predict_proba(fresh)
    np.testing.assert_allclose([row["proba"] for row in found], expected, rtol=0, atol=1e-9)
    scores = np.array([row["scores"] for row in found])
    wanted = model.predict_joint_log_proba(fresh)
    centred = [s - s.mean(axis=1, keepdims=True) for s in (scores, wanted)]
    np.testing.assert_allclose(centred[0], centred[1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["plain", "weighted"])
def test_contributions_of_the_page_are_those_of_explain(opened, name):
    model, X, _ = fitted(name)
    fresh = people(40, seed=10)[0][list(X.columns)]
    page = opened(report(name).html).page
    found = page.evaluate("(rows) => rows.map(tallybayes.contributions)", rows_of(fresh))
    names = page.evaluate(
        "tallybayes.model.terms.map("
        "(t) => t.columns.map((j) => tallybayes.model.columns[j].name).join(' × '))"
    )
    explained = model.explain(fresh)
    there = [explained.columns.index(name) for name in names]
    expected = explained.contributions[:, :, there].transpose(0, 2, 1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    silent = np.delete(explained.contributions, there, axis=2)
    assert not silent.any()


def test_a_pasted_row_is_predicted(opened):
    model, X, _ = fitted("plain")
    shown = opened(report("plain").html)
    row = {"age": 51, "income": 30000.5, "gain": 0, "city": "北京", "job": "chef"}
    shown.page.fill("#try textarea", json.dumps(row | {"since": "2020-05-05"}))
    shown.page.click("#try button:has-text('Fill in')")
    proba = model.predict_proba(X.iloc[:1].assign(**row, since=pd.Timestamp("2020-05-05")))
    wanted = f"{100 * proba[0].max():.1f}%"
    assert wanted in shown.page.inner_text("#try .proba li:first-child")
    shown.page.fill("#try textarea", "1,2")
    shown.page.click("#try button:has-text('Fill in')")
    assert "2 values" in shown.page.inner_text("#try .error")


def test_choosing_values_moves_the_nomogram_and_its_changes(opened):
    shown = opened(report("plain").html)
    line = shown.page.locator(".nomogram .line", has=shown.page.get_by_text("job", exact=True))
    before = shown.page.inner_text(".total .answer")
    line.locator("select").select_option("chef")
    shown.settle()
    chef = shown.page.inner_text(".total .answer")
    line.locator("select").select_option("clerk")
    shown.settle()
    assert shown.page.inner_text(".total .answer") != chef
    assert before
    found = shown.page.evaluate(
        "() => { const before = tallybayes.model.predict(R.state.values).proba;"
        " const all = R.smallestChanges(tallybayes.model, R.state.values, [0, 1, 2, 3, 4], "
        "   (m, j) => (m.columns[j].levels.map((l) => ({ label: l, value: l }))));"
        " return all.one.concat(all.two).map((c) => { const v = R.state.values.slice();"
        "   for (const { j, item } of c.changes) v[j] = item.value;"
        "   const p = tallybayes.model.predict(v).proba;"
        "   return [p.indexOf(Math.max(...p)) === c.to, c.to !== all.best]; }); }"
    )
    assert all(right and other for right, other in found)


@pytest.mark.parametrize("name", ["nasty", "nasty texts"])
def test_hostile_names_appear_as_text(opened, name):
    shown = opened(report(name).html, viewport={"width": 390, "height": 844})
    shown.page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    shown.settle()
    assert shown.page.locator("img").count() == 0
    text = shown.page.inner_text("body")
    for shown_name in NASTY[:3]:
        assert shown_name in text
    assert "(3 blanks)" in text
    assert "x" * 100 in text
    if name == "nasty":  # the page holds 4,000 letters of a document
        assert "x" * 400 not in text
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 390
    marks = (  # what turns the line is on its own within an element that turns nothing else
        "() => { const at = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);"
        " const found = []; while (at.nextNode()) { const e = at.currentNode.parentElement;"
        " if (/[\u202a-\u202e]/.test(at.currentNode.data)"
        "   && !e.closest('bdi, [dir=auto], option, script, svg, textarea'))"
        "   found.push(e.outerHTML); } return found.slice(0, 5); }"
    )
    assert shown.page.evaluate(marks) == []
    assert len(report(name).html) < 1_000_000
