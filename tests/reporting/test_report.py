"""What a report shows is what the model says, asserted from the page's data."""

import copy
import html
import itertools
import json
import re
import sys
from datetime import date
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import average_precision_score, confusion_matrix, log_loss, roc_auc_score

import tallybayes
from reporting.conftest import NASTY, fitted, people, report
from tallybayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    MultinomialNB,
    NaiveBayes,
    WeightedNaiveBayes,
    cross_validate,
    leave_one_out,
)
from tallybayes.cross_validation import usual_folds
from tallybayes.reporting.report import rendered
from tallybayes.text import TextNB

CLOSE = {"rtol": 1e-6, "atol": 1e-9}


def payload(page: str) -> dict:
    """The data in a page."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(found[1])


def test_the_page_holds_the_data_of_the_report():
    assert payload(report("plain").html) == report("plain").data


@cache
def left_out():
    """Rows of the plain model, each by a model that has not seen it."""
    model, X, y = fitted("plain")
    return cross_validate(model, X, y, usual_folds(y))


def test_figures_of_learned_rows_are_of_cross_validation():
    model, _, y = fitted("plain")
    log_proba = left_out()
    own = np.searchsorted(model.classes_, y)
    head = report("plain").data["headline"]
    assert head["by"] == "folds"
    np.testing.assert_allclose(
        head["accuracy"][0], (log_proba.argmax(axis=1) == own).mean(), **CLOSE
    )
    np.testing.assert_allclose(head["logLoss"][0], log_loss(y, np.exp(log_proba)), **CLOSE)
    shares = np.bincount(own) / len(own)
    np.testing.assert_allclose(head["largestShare"], shares.max(), **CLOSE)
    np.testing.assert_allclose(head["shareLoss"], -(shares @ np.log(shares)), **CLOSE)
    low, high = head["accuracy"][1:]
    assert low < head["accuracy"][0] < high


def test_figures_of_new_rows_are_of_predictions():
    model, X, _ = fitted("plain")
    fresh, y = people(150, seed=5)
    found = model.report(fresh[list(X.columns)], y).data
    assert found["headline"]["by"] == "new"
    assert not found["learned"]
    proba = model.predict_proba(fresh[list(X.columns)])
    np.testing.assert_allclose(found["headline"]["logLoss"][0], log_loss(y, proba), **CLOSE)
    expected = confusion_matrix(y, model.predict(fresh[list(X.columns)]))
    np.testing.assert_array_equal(found["confusion"]["matrix"], expected)


def test_a_weighted_model_states_the_figures_of_rows_left_out_of_all_learning():
    model, _, _ = fitted("weighted")
    head = report("weighted").data["headline"]
    assert head["by"] == "stated"
    np.testing.assert_allclose(head["logLoss"][0], model.log_loss_, **CLOSE)
    np.testing.assert_allclose(head["accuracy"][0], model.accuracy_, **CLOSE)
    half = (head["logLoss"][2] - head["logLoss"][1]) / 2
    np.testing.assert_allclose(half, 1.959964 * model.log_loss_se_, rtol=1e-4)


@pytest.mark.parametrize("name", ["plain", "weighted", "arrays", "temperature"])
def test_charts_and_rows_are_of_the_predictions_that_the_figures_are_of(name):
    data = report(name).data
    matrix = np.array(data["confusion"]["matrix"])
    n, right = data["headline"]["rows"], data["headline"]["accuracy"][0]
    assert matrix.sum() == n
    assert np.trace(matrix) / n == pytest.approx(right, rel=1e-6)
    for k in (0, 1):
        curve = data["ranking"][str(k)]
        assert (curve["positives"], curve["negatives"]) == (matrix[k].sum(), matrix[1 - k].sum())
        r = data["reliability"][str(k)]
        assert np.dot(r["observed"], r["weight"]) == pytest.approx(matrix[k].sum(), rel=1e-5)
    shown = [r for r in data["rows"] if r["kind"] == "mistake"]
    assert len(shown) <= n - np.trace(matrix)


def trades(telling):
    """Texts of two classes, whose words are those of their class in a share `telling` of them."""
    rng = np.random.default_rng(7)
    y = rng.choice(["buy", "sell"], 160)
    words = {"buy": ["gain", "hold", "rise", "now"], "sell": ["loss", "fall", "drop", "now"]}
    own = (words[k] if rng.random() < telling else words["buy"] for k in y)
    return np.array([" ".join(rng.choice(some, 6)) for some in own]), y


@pytest.mark.parametrize("options", [{}, {"ridge": False}, {"model": "multinomial"}])
def test_charts_of_documents_are_of_the_predictions_that_the_figures_are_of(options):
    texts, y = trades(0.6)
    model = TextNB(**options).fit(texts, y)
    data = model.report(texts, y).data
    matrix = np.array(data["confusion"]["matrix"])
    assert matrix.sum() == data["headline"]["rows"] == 160
    assert np.trace(matrix) / 160 == pytest.approx(model.accuracy_, rel=1e-6)
    assert data["headline"]["logLoss"][0] == pytest.approx(model.log_loss_, rel=1e-6)
    assert data["headline"]["by"] == ("leave_one_out" if "model" in options else "stated")


@pytest.mark.filterwarnings("ignore::tallybayes.errors.DependentRowsWarning")
def test_of_copies_one_row_is_predicted_for_all():
    _, X, y = fitted("weighted")
    X, y = X[:200], y[:200]
    X, y = pd.concat([X] * 3, ignore_index=True), np.tile(y, 3)
    model = WeightedNaiveBayes().fit(X, y)
    data = model.report(X, y).data
    assert np.trace(data["confusion"]["matrix"]) / 600 == pytest.approx(model.accuracy_, rel=1e-6)
    assert data["headline"]["rows"] == 600


def test_class_weights_do_not_multiply_the_rows_of_the_matrix():
    _, X, y = fitted("weighted")
    model = WeightedNaiveBayes(class_weight={"yes": 5.0}).fit(X, y)
    data = model.report(X, y).data
    assert np.sum(data["confusion"]["matrix"], axis=1).tolist() == [
        (y == k).sum() for k in ("no", "yes")
    ]
    assert data["headline"]["accuracy"][0] == pytest.approx(model.accuracy_, rel=1e-6)


def test_one_measure_says_what_a_column_or_pair_adds():
    model, _, _ = fitted("weighted")
    data = report("weighted").data
    adds = dict(zip(model.weights_["term"], model.weights_["adds"], strict=True))
    found = dict(data["terms"])
    assert found == {name: pytest.approx(adds[name], rel=1e-6) for name in found}
    assert {" × ".join(pair) for pair in data["pairs"]} <= set(found)
    for column in data["columns"]:
        assert column["importance"] == pytest.approx(adds.get(column["name"], 0.0), rel=1e-6)


def test_plain_models_have_the_same_measure_on_the_page_as_elsewhere():
    model, _, _ = fitted("plain")
    importances = dict(zip(model.feature_names_in_, model.feature_importances_, strict=True))
    for column in report("plain").data["columns"]:
        assert column["importance"] == pytest.approx(importances[column["name"]], rel=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_models_of_arrays_have_the_same_measure(n_classes):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (200, 2)), rng.integers(0, n_classes, 200)
    model = CategoricalNB().fit(X, y)
    for column in model.report(X, y).data["columns"]:
        j = int(column["name"][1:])
        apart = np.ptp(model.feature_log_prob_[j][:, X[:, j]], axis=0)
        assert column["importance"] == pytest.approx(apart.mean(), rel=1e-6)


def test_the_heading_names_what_the_model_is_of():
    model, X, y = fitted("plain")
    made = model.report(X, pd.Series(y, name="renews"), about={"data": "<b>rows</b>.csv"})
    assert made.data["about"] == {
        "target": "renews",
        "data": "<b>rows</b>.csv",
        "made": date.today().isoformat(),
    }
    assert "<bdi>&lt;b&gt;rows&lt;/b&gt;.csv</bdi>" in made.html
    with pytest.raises(ValueError, match="about= has the keys target, model, data; got 'file'"):
        model.report(X, y, about={"file": "x"})


def test_counts_are_whole():
    X, y = people(40)
    X = X.drop(columns="mixed")
    many = NaiveBayes().fit(X, y, sample_weight=np.where(y == "yes", 1_234_567.0, 1.0))
    rows = many.report(X, y, sample_weight=np.where(y == "yes", 1_234_567.0, 1.0)).data
    assert rows["classRows"] == [(y == "no").sum(), 1_234_567 * (y == "yes").sum()]


def test_curves_are_those_of_scikit_learn():
    _, _, y = fitted("plain")
    p = np.exp(left_out()[:, 1])
    found, yes = report("plain").data["ranking"]["1"], y == "yes"
    np.testing.assert_allclose(found["auc"], roc_auc_score(yes, p), **CLOSE)
    np.testing.assert_allclose(found["averagePrecision"], average_precision_score(yes, p), **CLOSE)
    for threshold, hits, alarms in zip(
        found["threshold"], found["hits"], found["alarms"], strict=True
    ):
        taken = p >= threshold
        assert (hits, alarms) == ((taken & yes).sum(), (taken & ~yes).sum())


def test_each_step_of_the_threshold_slider_is_exact():
    _, _, y = fitted("plain")
    p = np.exp(left_out()[:, 1])
    found = report("plain").data["ranking"]["1"]
    for threshold in np.linspace(0.0, 1.0, 201):
        at = np.flatnonzero(np.array(found["threshold"]) >= threshold)
        hits = found["hits"][at[-1]] if len(at) else 0
        assert hits == (p[y == "yes"] >= threshold).sum()


def test_reliability_is_the_share_of_the_class_in_each_group():
    r = report("plain").data["reliability"]["1"]
    y = fitted("plain")[2]
    assert sum(r["weight"]) == len(y)
    np.testing.assert_allclose(np.dot(r["observed"], r["weight"]), (y == "yes").sum(), rtol=1e-6)
    assert all(a <= b <= c for a, b, c in zip(r["low"], r["observed"], r["high"], strict=True))
    assert sorted(r["predicted"]) == r["predicted"]


def test_bins_of_columns_hold_all_rows_of_each_class():
    model, X, y = fitted("plain")
    columns = {c["name"]: c for c in report("plain").data["columns"]}
    assert set(columns) == set(X.columns)
    for name, column in columns.items():
        total = np.sum([b["counts"] for b in column["bins"]], axis=0)
        np.testing.assert_array_equal(total, model.class_count_)
        np.testing.assert_allclose(column["missing"], X[name].isna().mean(), **CLOSE)
        of_missing = [b["rows"] for b in column["bins"] if b["missing"]]
        assert sum(of_missing) == X[name].isna().sum()
    jobs = {b["label"]: b["counts"] for b in columns["job"]["bins"]}
    for level, counts in jobs.items():
        assert counts == [((X["job"] == level) & (y == k)).sum() for k in ("no", "yes")]


@pytest.mark.parametrize("name", ["plain", "weighted"])
def test_what_a_bin_adds_is_what_explain_says_of_its_value(name):
    model, X, _ = fitted(name)
    for column in report(name).data["columns"]:
        if "nats" not in column:
            continue
        for b, nats in zip(column["bins"], column["nats"], strict=True):
            value = None if b["missing"] else b["value"] if b["number"] else b["label"]
            row = X.iloc[:1].copy().astype({column["name"]: object})
            row[column["name"]] = [np.nan if value is None and column["name"] == "age" else value]
            if column.get("dates"):
                row["since"] = pd.Timestamp("1970-01-01") + pd.to_timedelta([value], unit="D")
            elif b["number"]:
                row[column["name"]] = row[column["name"]].astype(float)
            said = model.explain(row)
            no, yes = said.contributions[0, :, said.columns.index(column["name"])]
            np.testing.assert_allclose(nats, [no - yes, yes - no], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["plain", "weighted", "arrays", "nasty"])
def test_the_steps_of_a_waterfall_add_up_to_the_scores(name):
    model, X, y = fitted(name)
    rows = report(name).data["rows"]
    assert {row["kind"] for row in rows} == {"mistake", "uncertain", "typical"}
    scores = model.predict_joint_log_proba(X)
    for row in rows:
        total = row["base"] + sum(nats for _, _, nats in row["steps"]) + row["rest"]
        joint = scores[row["number"]]
        assert total == pytest.approx(
            joint[row["predicted"]] - joint[row["against"]], rel=1e-6, abs=1e-5
        )
        assert model.classes_[row["own"]] == y[row["number"]]


def test_mistakes_are_the_most_confident_ones():
    model, _, y = fitted("plain")
    log_proba, own = left_out(), np.searchsorted(model.classes_, y)
    of_own = log_proba[np.arange(len(y)), own]
    wrong = log_proba.argmax(axis=1) != own
    shown = [r for r in report("plain").data["rows"] if r["kind"] == "mistake"]
    expected = np.sort(of_own[wrong])[: len(shown)]
    np.testing.assert_allclose([r["ofOwn"] for r in shown], np.exp(expected), rtol=1e-6)


def test_what_terms_are_worth_is_the_log_loss_without_them():
    model, X, _ = fitted("plain")
    fresh, labels = people(200, seed=6)
    fresh = fresh[list(X.columns)]
    found = dict(model.report(fresh, labels, learned=False).data["worth"])
    whole = log_loss(labels, model.predict_proba(fresh))
    for name in X.columns:
        without = copy.deepcopy(fresh)
        numbers = name in ("age", "income", "gain")
        without[name] = pd.NaT if name == "since" else np.nan if numbers else None
        loss = log_loss(labels, model.predict_proba(without))
        assert found[name] == pytest.approx(loss - whole, abs=1e-6)


def test_what_terms_are_worth_to_learned_rows_leaves_each_row_out():
    model, X, y = fitted("plain")
    found = dict(report("plain").data["worth"])
    own = np.searchsorted(model.classes_, y)

    def loss(model):
        return -leave_one_out(model, X, y)[np.arange(len(y)), own].mean()

    for name in X.columns:
        without = NaiveBayes(columns={name: None}).fit(X, y)
        assert found[name] == pytest.approx(loss(without) - loss(model), abs=1e-6)


def test_the_learning_curve_predicts_each_part_before_it_learns_it():
    _, X, y = fitted("plain")
    curve = report("plain").data["learning"]
    assert not curve["refitted"]
    order = np.random.default_rng(0).permutation(len(y))
    classes, own = np.unique(y, return_inverse=True)
    ends = [*curve["rows"], len(y)]
    first = order[: ends[0]]
    model = NaiveBayes().partial_fit(X.iloc[first], y[first], classes=classes)
    for i, some in enumerate(order[a:b] for a, b in itertools.pairwise(ends)):
        log_proba = model.predict_log_proba(X.iloc[some])
        loss = -log_proba[np.arange(len(some)), own[some]].mean()
        np.testing.assert_allclose(curve["logLoss"][i], loss, rtol=1e-6)
        rate = (log_proba.argmax(axis=1) == own[some]).mean()
        np.testing.assert_allclose(curve["accuracy"][i], rate, rtol=1e-6)
        model.partial_fit(X.iloc[some], y[some])


@pytest.mark.parametrize(
    "model", [WeightedNaiveBayes(), TextNB(), TextNB(ridge=False), TextNB(model="multinomial")]
)
def test_the_learning_curve_of_what_is_refitted_is_of_fits_on_prefixes(model):
    if isinstance(model, WeightedNaiveBayes):
        _, x, y = fitted("weighted")
        x = x.reset_index(drop=True)
    else:
        texts, y = trades(0.8)
        x = pd.Series(texts)
    curve = model.fit(x, y).report(x, y).data["learning"]
    own = np.searchsorted(np.unique(y), y)
    order = np.random.default_rng(0).permutation(len(y))
    firsts = sorted(int(np.flatnonzero(own[order] == k)[0]) for k in (0, 1))
    if curve["refitted"]:
        order = np.concatenate([order[firsts], np.delete(order, firsts)])
    start = curve["rows"][-1]
    known, some = order[:start], order[start:]
    log_proba = clone(model).fit(x.iloc[known], y[known]).predict_log_proba(x.iloc[some])
    loss = -log_proba[np.arange(len(some)), own[some]].mean()
    np.testing.assert_allclose(curve["logLoss"][-1], loss, rtol=1e-6)
    rate = (log_proba.argmax(axis=1) == own[some]).mean()
    np.testing.assert_allclose(curve["accuracy"][-1], rate, rtol=1e-6)
    assert curve["refitted"] or isinstance(model, TextNB)


@pytest.mark.parametrize("kind", [MultinomialNB, ComplementNB, BernoulliNB, CategoricalNB])
def test_classifiers_of_arrays_have_reports(kind):
    X, y = load_digits(return_X_y=True)
    X, y = X[:300].astype(int), y[:300]
    model = kind().fit(X, y)
    data = model.report(X, y).data
    assert data["headline"]["by"] == "leave_one_out"
    log_proba = leave_one_out(model, X, y)
    right = (log_proba.argmax(axis=1) == y).mean()
    np.testing.assert_allclose(data["headline"]["accuracy"][0], right, **CLOSE)
    assert len(data["columns"]) == 64
    assert len(data["classes"]) == 10


def test_a_classifier_of_documents_has_a_report_in_chinese():
    documents = ["苹果 很 好吃", "香蕉 很 甜", "股票 上涨", "银行 利率"] * 10
    labels = ["水果", "水果", "财经", "财经"] * 10
    model = TextNB(model="multinomial").fit(documents, labels)
    made = model.report(documents, labels, lang="zh")
    assert '<html lang="zh-Hans">' in made.html
    assert made.data["classes"] == ["水果", "财经"]
    np.testing.assert_allclose(made.data["headline"]["accuracy"][0], model.accuracy_, **CLOSE)
    terms = {(label, term) for label, term, _ in made.data["columns"][0]["terms"]}
    assert {("水果", term) for term, _ in model.top_terms("水果", 3)} <= terms


def test_a_column_of_text_is_named_as_the_reason_for_no_form():
    words = ["good fine lovely day out here", "bad awful rainy grey day inside"]
    X = pd.DataFrame(
        {"note": [words[i % 2] + f" {i % 7} visits" for i in range(80)], "n": range(80)}
    )
    y = np.array(["sun", "rain"] * 40)
    model = NaiveBayes(columns={"note": tallybayes_text()}).fit(X, y)
    data = model.report(X, y).data
    assert data["form"] is None
    assert data["noForm"] == "text"
    assert next(c for c in data["columns"] if c["name"] == "note")["terms"]


def tallybayes_text():
    """The family of a column of text."""
    from tallybayes.families import Text

    return Text()


def test_findings_name_leaks_rare_classes_missing_values_and_identifiers():
    X, y = people(300)
    y = y.astype(object)
    y[:3] = "maybe"
    X["leak"] = np.where(y == "yes", "y", "n")
    X["code"] = [f"id{i}" for i in range(300)]
    X["copy of job"] = X["job"].str.upper()
    X["empty"] = np.where(np.arange(300) < 60, 1.0, np.nan)
    X = X.drop(columns="mixed")
    model = NaiveBayes().fit(X, y)
    with pytest.warns(tallybayes.errors.LeftOutWarning):
        model.predict(X[:1])
    findings = model.report(X, y).data["findings"]
    found = {(d["kind"], d["about"]) for d in findings}
    assert ("rare", "maybe") in found
    assert ("leak", "leak") in found
    assert ("missing", "empty") in found
    assert ("left_out", "code") in found
    pairs = [{d["about"], d["value"]} for d in findings if d["kind"] == "copy"]
    assert pairs == [{"job", "copy of job"}]


def test_a_stale_model_says_so():
    X, y = people(200)
    X = X.drop(columns="mixed")
    model = WeightedNaiveBayes(parts=1).fit(X, y)
    model.partial_fit(X[:10], y[:10])
    with pytest.warns(tallybayes.errors.StaleWarning):
        model.predict(X[:1])
    assert model.report(X, y).data["findings"][0]["kind"] == "stale"


def test_more_rows_than_are_read_are_sampled_and_the_page_says_so(monkeypatch):
    monkeypatch.setattr("tallybayes.reporting.content.MAX_ROWS", 100)
    model, X, y = fitted("plain")
    data = model.report(X, y).data
    assert (data["rowsGiven"], data["rowsRead"]) == (600, 100)
    assert data["headline"]["rows"] == 100
    assert all(0 <= row["number"] < 600 for row in data["rows"])


def test_weights_of_rows_count():
    X, y = people(200)
    X, weight = X.drop(columns="mixed"), np.where(y == "yes", 2.0, 1.0)
    model = NaiveBayes().fit(X, y, sample_weight=weight)
    data = model.report(X, y, sample_weight=weight).data
    assert data["headline"]["by"] == "folds"
    right = cross_validate(model, X, y, usual_folds(y), weight).argmax(axis=1) == np.searchsorted(
        ["no", "yes"], y
    )
    np.testing.assert_allclose(
        data["headline"]["accuracy"][0], weight @ right / weight.sum(), **CLOSE
    )


def test_hostile_names_end_no_element():
    page = report("nasty").html
    for name in NASTY[:2]:
        assert name not in page
    assert payload(page)["classes"][0] in [*NASTY, "x" * 299 + "…"]
    assert page.count("<script") == 3
    policy = html.unescape(re.search(r'Policy" content="([^"]*)"', page)[1])
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy


def test_saving_and_showing_in_a_notebook(tmp_path):
    made = report("plain")
    made.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == made.html
    shown = made._repr_html_()
    source = re.search(r'srcdoc="([^"]*)"', shown)[1]
    assert html.unescape(source) == made.html
    assert len(made.html) < 500_000


def test_bad_input_is_named():
    model, X, y = fitted("plain")
    with pytest.raises(ValueError, match="lang is one of"):
        model.report(X, y, lang="fr")
    with pytest.raises(ValueError, match="'maybe'"):
        model.report(X[:1], ["maybe"])
    with pytest.raises(TypeError, match="fitted classifier of tallybayes"):
        NaiveBayes().report(X, y)


def test_without_jinja2_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    from tallybayes.reporting.report import _template

    _template.cache_clear()
    try:
        with pytest.raises(ImportError, match=r"tallybayes\[report\]"):
            rendered(report("plain").data, "en")
    finally:
        _template.cache_clear()


def test_both_languages_have_the_same_words():
    from tallybayes.reporting.report import _words

    assert _words("en").keys() == _words("zh").keys()
    for key, text in _words("en").items():
        assert set(re.findall(r"\{\w+\}", text)) >= set(
            re.findall(r"\{\w+\}", _words("zh")[key])
        ), key
