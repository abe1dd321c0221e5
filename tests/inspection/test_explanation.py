"""Explanations of rows and their terms, importances, and frames about a model."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_selection import RFE, SelectFromModel

from tallybayes import CategoricalNB, LazyNaiveBayes, NaiveBayes, TextNB, WeightedNaiveBayes
from tallybayes.families import Binned, Categorical, Gaussian, Multinomial, Poisson, Text

N = 400
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 12, N)
WIDE = pd.DataFrame({f"c{j}": RNG.normal(size=N) for j in range(30)})
WIDE["c3"] += Y
WIDE["day"] = pd.date_range("2020-01-01", periods=N)
WIDE["sky"] = RNG.choice(["grey", "blue"], N)
WIDE.loc[0, "c7"] = np.nan
MODELS = [NaiveBayes(), NaiveBayes(calibrate="temperature"), WeightedNaiveBayes()]
every = pytest.mark.parametrize("model", MODELS, ids=["plain", "calibrated", "weighted"])


@every
def test_probabilities_are_those_that_are_predicted(model):
    explanation = model.fit(WIDE, Y).explain(WIDE[:20])
    np.testing.assert_allclose(explanation.probabilities, model.predict_proba(WIDE[:20]), rtol=1e-9)
    scores = explanation.base + explanation.contributions.sum(axis=2)
    np.testing.assert_allclose(scores, model.predict_joint_log_proba(WIDE[:20]), rtol=1e-9)


@every
def test_it_holds_the_values_of_the_rows(model):
    explanation = model.fit(WIDE, Y).explain(WIDE[:3])
    assert explanation.row == explanation.values[0]
    assert len(explanation.values) == 3
    assert explanation.row["c7"] is None
    assert explanation.row["c3"] == WIDE["c3"][0]
    assert explanation.values[2]["day"] == "2020-01-03"
    assert explanation.values[1]["sky"] == WIDE["sky"][1]


def test_ten_columns_are_printed_most_telling_first():
    model = NaiveBayes().fit(WIDE, Y)
    explanation = model.explain(WIDE[:1])
    lines = str(explanation).splitlines()
    assert repr(explanation) == str(explanation)  # what a console or notebook shows
    told = [line.split()[0] for line in lines]
    assert told[:3] == ["nats", "(prior)", "c3"]
    assert len(lines) == 1 + 1 + 10 + 1 + 1 + 1 + 1
    assert lines[12].startswith("… and 22 more")
    assert f"c3 = {WIDE['c3'][0]:.6g}" in lines[2]
    assert lines[-1] == "7 less probable classes are not shown"
    assert max(map(len, lines)) < 100
    shown = [int(label) for label in lines[0].split()[1:]]
    probable = np.argsort(-model.predict_proba(WIDE[:1])[0])[:5]
    assert shown == sorted(probable.tolist())
    assert f"{100 * model.predict_proba(WIDE[:1])[0].max():.1f} %" in lines[-2]


def test_of_several_rows_it_says_which_one_it_shows():
    model = NaiveBayes().fit(WIDE, Y)
    several = model.explain(WIDE[:3])
    *lines, note = str(several).splitlines()
    assert lines == str(model.explain(WIDE[:1])).splitlines()[:-1]
    assert note == (
        "7 less probable classes are not shown; this is row 0 of 3: explain another one by itself, "
        "or see all in to_frame()"
    )
    assert "this is row 0 of 3" in several._repr_html_()
    assert "this is row" not in model.explain(WIDE[2:3])._repr_html_()


def test_the_rest_is_summed_so_that_the_lines_add_up():
    explanation = NaiveBayes().fit(WIDE, Y).explain(WIDE[:1])
    lines = str(explanation).splitlines()
    numbers = np.array([[float(v) for v in line.split()[-5:]] for line in lines[1:14]])
    np.testing.assert_allclose(numbers[:-1].sum(axis=0), numbers[-1], atol=1e-3)


def test_a_gap_a_pair_and_long_texts_are_shown_in_short():
    few = pd.DataFrame({"note": ["x" * 300, "b\nc"] * 20, "other": [None, "u"] * 20})
    text = str(NaiveBayes().fit(few, ["p", "q"] * 20).explain(few[:1]))
    assert "other (missing)" in text
    assert "…" in text
    assert max(map(len, text.splitlines())) < 120
    rows = [{"a": a, "b": b} for a in "xy" for b in "xy"] * 25
    pair = WeightedNaiveBayes().fit(rows, [r["a"] == r["b"] for r in rows])
    assert "a × b" in str(pair.explain_one({"a": "x", "b": "x"}))


def test_lazy_explanations_hold_them_too():
    source = pd.DataFrame({"sky": ["grey", "blue"] * 5, "rain": ["yes", "no"] * 5})
    lazy = LazyNaiveBayes(source, "rain")
    explanation = lazy.explain([{"sky": "grey"}])
    assert explanation.row == {"sky": "grey"}
    np.testing.assert_allclose(explanation.probabilities, lazy.predict_proba([{"sky": "grey"}]))


def test_a_row_that_is_ruled_out_gets_the_class_prior():
    rows = [{"a": "u", "b": "u"}, {"a": "v", "b": "v"}, {"a": "v", "b": "v"}]
    model = NaiveBayes(estimate="mle", class_alpha=0.0).fit(rows, ["p", "q", "q"])
    explanation = model.explain_one({"a": "u", "b": "v"})
    np.testing.assert_allclose(explanation.probabilities, [[1 / 3, 2 / 3]])
    assert "33.3 %" in str(explanation)


GOOD, BAD = (
    ["good film", "really good", "a good one, fine"],
    ["bad film", "so bad", "poor, bad one"],
)
ROWS = [{"t": text, "u": f"{i % 7} {text}", "n": i % 3} for i, text in enumerate((GOOD + BAD) * 20)]
LABELS = ["yes", "yes", "yes", "no", "no", "no"] * 20
COLUMNS = {"t": Text(), "u": Text()}
ASKED = [{"t": "good bad good unseen", "u": "fine film", "n": 1}, {"t": None, "u": "", "n": 0}]


@pytest.fixture(params=[NaiveBayes, WeightedNaiveBayes])
def model(request):
    return request.param(COLUMNS).fit(ROWS, LABELS, sample_weight=np.resize([1.0, 2.0], 120))


@pytest.mark.parametrize("column", ["t", "u"])
@pytest.mark.parametrize("row", [0, 1, -1])
def test_terms_add_up_to_what_the_column_adds(model, column, row):
    explanation = model.explain(ASKED)
    document = explanation.document(column, row)
    place = explanation.columns.index(column)
    said = document.contributions.sum(axis=0)
    assert said == pytest.approx(explanation.contributions[row, :, place], abs=1e-6)
    joint = model.predict_joint_log_proba(ASKED)[row]
    assert document.base + said == pytest.approx(joint, abs=1e-6)
    assert document.document == (ASKED[row][column] or "")
    assert np.all(np.diff(np.abs(document.for_label)) <= 0.0)


def test_terms_speak_for_the_predicted_class_against_the_next_one():
    rows = [{"t": text} for text in ("good film", "good fine film", "bad film")] * 10
    model = NaiveBayes({"t": Text()}).fit(rows, ["yes", "maybe", "no"] * 10)
    document = model.explain_one({"t": "good film"}).document("t")
    *_, following, best = np.argsort(document.base + document.contributions.sum(axis=0)).tolist()
    assert [document.classes[k] for k in (best, following)] == ["yes", "maybe"]
    apart = document.contributions[:, best] - document.contributions[:, following]
    assert document.for_label == pytest.approx(apart)


def test_classes_without_rows_are_told_nothing():
    model = WeightedNaiveBayes(COLUMNS, classes=["maybe", "no", "yes"]).fit(ROWS, LABELS)
    document = model.explain_one(ASKED[0]).document("t")
    assert document.contributions.shape[1] == 3
    assert not document.contributions[:, 0].any()


def test_the_telling_words_are_printed_below_their_column(model):
    lines = str(model.explain_one(ASKED[0])).splitlines()
    [place] = [i for i, line in enumerate(lines) if line.startswith("t = good bad")]
    below = [line.split("  ")[1] for line in lines[place + 1 : place + 5]]
    assert {"good", "bad"} <= set(below)


def test_top_terms_are_those_of_the_column(model):
    terms = model.top_terms("t", "yes", 3)
    assert terms[0][0] == "good"
    assert terms[0][1] == pytest.approx(
        model.explain_one({"t": "good"}).document("t").contributions[0, 1], rel=1e-6
    )
    with pytest.raises(ValueError, match="'n' is not read as text"):
        model.top_terms("n", "yes")
    with pytest.raises(ValueError, match="'maybe' is not a class"):
        model.top_terms("t", "maybe")


def test_what_is_no_text_is_refused(model):
    explanation = model.explain(ASKED)
    with pytest.raises(ValueError, match=r"columns of text are \['t', 'u'\]: name one"):
        explanation.document()
    with pytest.raises(ValueError, match="'n' is not read as text"):
        explanation.document("n")
    with pytest.raises(IndexError, match="there is no row 2"):
        explanation.document("t", 2)
    without = NaiveBayes({"t": None, "u": None}).fit(ROWS, LABELS).explain(ASKED)
    with pytest.raises(ValueError, match="there is none"):
        without.document()


HALF, WRITTEN = "a\ud800", "a\\ud800"  # half a surrogate pair has no UTF-8


def columns_of(tables):
    return [name for table in tables.values() for name in table.columns]


@pytest.mark.parametrize(
    "make", [NaiveBayes, lambda: WeightedNaiveBayes(parts=1)], ids=["plain", "weighted"]
)
def test_half_a_surrogate_pair_is_written_as_its_escape(make):
    rows = [{HALF: i % 3, "w": [HALF, "b"][i % 2]} for i in range(24)]
    model = make().fit(rows, [HALF, "b"] * 12)
    assert WRITTEN in model.schema_["column"].tolist()
    assert WRITTEN in model.tables_["w"]["w"].tolist()
    assert WRITTEN in columns_of(model.tables_)
    assert model.predict(rows[:1]).tolist() == [HALF]
    if hasattr(model, "weights_"):
        assert WRITTEN in model.weights_["term"].tolist()


def test_of_arrays_and_texts():
    model = CategoricalNB(levels=[[HALF, "b"]]).fit([[HALF], ["b"]], [HALF, "b"])
    tables = model.probability_tables_
    assert tables["prior"].iloc[:, 0].tolist() == [WRITTEN, "b"]
    texts = TextNB(ridge=False).fit(["a b", "b c", "a b", "c d"], [HALF, "b"] * 2)
    assert texts.explain_one("a b").label == HALF


OF_TABLE = np.random.default_rng(0)
N_ROWS = 300
CLASSES = OF_TABLE.choice(["p", "q", "r"], N_ROWS, p=[0.5, 0.3, 0.2])
CODE = np.searchsorted(["p", "q", "r"], CLASSES)
TABLE = pd.DataFrame(
    {
        "level": OF_TABLE.choice(list("uvwx"), N_ROWS),
        "tells": np.array(list("abc"))[
            np.where(OF_TABLE.random(N_ROWS) < 0.7, CODE, OF_TABLE.integers(0, 3, N_ROWS))
        ],
        "count": OF_TABLE.poisson(1 + CODE),
        "noise": OF_TABLE.integers(0, 40, N_ROWS) / 4.0,
    }
)
TABLE.loc[::7, "level"] = None


def by_refitting(columns, rows, labels, **parameters):
    """Mean of the largest less the smallest contribution, each row by a model without it."""
    found = np.zeros(rows.shape[1])
    for i in range(len(rows)):
        others = np.arange(len(rows)) != i
        model = NaiveBayes(columns=columns, classes=sorted(set(labels)), **parameters)
        model.fit(rows[others], labels[others])
        found += np.ptp(model.explain(rows[i : i + 1]).contributions[0], axis=0)
    return found / len(rows)


@pytest.mark.parametrize("missing", ["ignore", "level"])
def test_they_are_what_refitting_without_each_row_gives(missing):
    """Levels are declared: an undeclared one would be gone with its only row."""
    few, labels = TABLE[:80], CLASSES[:80]
    columns = {
        "level": Categorical(levels=list("uvwx")),
        "tells": Categorical(levels=list("abc")),
        "count": Poisson(),
        "noise": Gaussian(ddof=1.0),
    }
    model = NaiveBayes(columns=columns, missing=missing).fit(few, labels)
    np.testing.assert_allclose(
        model.feature_importances_, by_refitting(columns, few, labels, missing=missing), rtol=1e-6
    )


def test_a_column_of_noise_says_less_than_one_that_tells():
    for model in (NaiveBayes(), WeightedNaiveBayes()):
        found = model.fit(TABLE, CLASSES).feature_importances_
        assert found.shape == (model.n_features_in_,)
        assert (found >= 0.0).all()
        level, tells, count, noise = found
        assert min(tells, count) > 2 * max(level, noise)


def test_a_left_out_column_is_zero_and_copies_count_alike():
    rows = TABLE.assign(twin=TABLE["tells"], key=[f"k{i}" for i in range(N_ROWS)])
    model = NaiveBayes(columns={"key": None, "noise": None}).fit(rows, CLASSES)
    found = dict(zip(rows.columns, model.feature_importances_, strict=True))
    assert found["key"] == found["noise"] == 0.0
    assert found["twin"] == found["tells"] > 0.0


@given(st.integers(1, 5))
def test_they_do_not_depend_on_the_order_of_rows_or_on_later_questions(seed):
    order = np.random.default_rng(seed).permutation(N_ROWS)
    model = NaiveBayes().fit(TABLE, CLASSES)
    first = model.feature_importances_
    first[:] = -1.0  # a copy
    model.predict(TABLE)
    shuffled = NaiveBayes().fit(TABLE.iloc[order], CLASSES[order])
    np.testing.assert_allclose(shuffled.feature_importances_, model.feature_importances_, rtol=1e-9)


def test_they_follow_what_is_learned_and_forgotten():
    model = NaiveBayes().fit(TABLE, CLASSES)
    before = model.feature_importances_
    model.partial_fit(TABLE[:50], CLASSES[:50])
    assert not np.array_equal(model.feature_importances_, before)
    model.forget(TABLE[:50], CLASSES[:50])
    np.testing.assert_allclose(model.feature_importances_, before, rtol=1e-9)


def test_groups_and_unsmoothed_columns_have_finite_ones():
    numbers = pd.DataFrame(
        {"a": OF_TABLE.poisson(2, N_ROWS), "b": OF_TABLE.poisson(1 + CODE), "c": CODE + 0.5}
    )
    for columns in (
        {("a", "b"): Multinomial()},
        {("a", "b"): Gaussian(covariance="full")},
        {"a": Binned(), "b": Categorical(alpha=0.0)},
    ):
        model = NaiveBayes(columns=columns, estimate="mean").fit(numbers, CLASSES)
        assert np.isfinite(model.feature_importances_).all()
        assert (model.feature_importances_[:2] > 0.0).all()


@pytest.mark.parametrize("kind", [NaiveBayes, WeightedNaiveBayes])
def test_scikit_learn_selects_columns_by_them(kind):
    x = OF_TABLE.normal(size=(N_ROWS, 6))
    x[:, [1, 4]] += CODE[:, None] * [1.5, 2.0]
    assert RFE(kind(), n_features_to_select=2).fit(x, CLASSES).get_support().tolist() == [
        j in (1, 4) for j in range(6)
    ]
    chosen = SelectFromModel(kind(), threshold="1.5*mean").fit(x, CLASSES).get_support()
    assert chosen.tolist() == [j in (1, 4) for j in range(6)]


def test_before_fitting_there_are_none():
    for kind in (NaiveBayes, WeightedNaiveBayes):
        assert not hasattr(kind(), "feature_importances_")
        assert not hasattr(kind(), "tables_")


# ---- tables --------------------------------------------------------------------------------------
@pytest.mark.parametrize("missing", ["ignore", "level"])
def test_tables_hold_what_explanations_show(missing):
    columns = {"count": Binned(bins=4), "noise": Gaussian()}
    model = NaiveBayes(columns=columns, missing=missing).fit(TABLE, CLASSES)
    tables = model.tables_
    assert list(tables) == list(TABLE.columns)
    classes = list(model.classes_)
    for name in ("level", "tells"):
        table = tables[name].set_index(name)
        assert ("(missing)" in table.index) == (missing == "level")
        for level in sorted(set(TABLE[name].dropna())):
            shown = model.explain([{name: level}])
            j = shown.columns.index(name)
            np.testing.assert_allclose(table.loc[level, classes], shown.contributions[0, :, j])
        unseen = model.explain([{name: "never seen"}]).contributions[0, :, j]
        np.testing.assert_allclose(table.loc["(any other)", classes], unseen)
    table = tables["noise"]
    assert table["noise"].is_monotonic_increasing
    shown = model.explain([{"noise": value} for value in table["noise"]])
    j = shown.columns.index("noise")
    np.testing.assert_allclose(table[classes], shown.contributions[:, :, j])
    assert len(tables["count"]) == 4 + (missing == "level")


def test_tables_of_a_group_of_counts_hold_what_one_more_adds():
    counts = pd.DataFrame({"a": OF_TABLE.poisson(2, N_ROWS), "b": OF_TABLE.poisson(1 + CODE)})
    model = NaiveBayes(columns={("a", "b"): Multinomial()}).fit(counts, CLASSES)
    one = model.explain([{"a": 1, "b": 0}]).contributions[0, :, 0]
    np.testing.assert_allclose(model.tables_["a"][list(model.classes_)].iloc[0], one)
