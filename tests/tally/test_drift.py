"""What moved between two tallies equals its computation from the rows."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, chi2_contingency, false_discovery_control

from tallybayes import NaiveBayes, collect, compare
from tallybayes.drift import UNLABELLED
from tallybayes.errors import IncompatibleTallies, NegativeTally


def table(n, seed, *, level=0.0, number=0.0, share=0.3, within=0.0):
    """Rows of two classes; what moves is named."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < share
    home = np.where(rng.random(n) < 0.5 + level + within * np.where(y, 1, -1), "A", "B")
    home = np.where(rng.random(n) < 0.2, "C", home).astype(object)
    home[rng.random(n) < 0.1] = None
    age = rng.normal(40.0 + 5.0 * y + number, 8.0).round(1)
    age[rng.random(n) < 0.05] = np.nan
    frame = pd.DataFrame({"home": home, "age": age, "still": rng.choice(["u", "v", "w"], n)})
    return frame.assign(y=np.where(y, "yes", "no"))


def by_name(found):
    return {column.name: column for column in found.columns}


def bins_of(column):
    """The upper bounds of the bins of a column of numbers, but for the last."""
    return [float(cell.split(", ")[1].rstrip(")")) for cell in column.cells[:-1]]


# ---- figures equal their computation from the rows -----------------------------------------------
@pytest.mark.parametrize("seed", range(4))
def test_figures_equal_those_of_the_rows(seed):
    a, b = table(400, seed), table(300, seed + 50, level=0.15, number=3.0, share=0.4)
    b.loc[:9, "home"] = "D"
    found = compare(collect(a, "y"), collect(b, "y"))
    columns = by_name(found)
    for name, column in columns.items():
        cells = [_cells_of(t[name], column) for t in (a, b)]
        counts = [np.array([np.sum(of == cell) for cell in column.cells], float) for of in cells]
        p, q = (n / n.sum() for n in counts)
        assert np.allclose(column.old, p, atol=1e-12)
        assert np.allclose(column.new, q, atol=1e-12)
        sp, sq = ((n + 0.5) / (n.sum() + 0.5 * len(n)) for n in counts)
        assert column.psi == pytest.approx(np.sum((sq - sp) * np.log(sq / sp)), abs=1e-12)
        m = (p + q) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            js = 0.5 * np.nansum(p * np.log(p / m)) + 0.5 * np.nansum(q * np.log(q / m))
        assert column.js == pytest.approx(js, abs=1e-12)
        assert column.missing_old == pytest.approx(a[name].isna().mean(), abs=1e-12)
        assert column.missing_new == pytest.approx(b[name].isna().mean(), abs=1e-12)
        loss_old, loss_new = (_log_loss(a, t, name, column) for t in (a, b))
        assert column.log_loss_old == pytest.approx(loss_old, abs=1e-12)
        assert column.log_loss_new == pytest.approx(loss_new, abs=1e-12)
    assert columns["home"].came == ("D",)
    assert columns["home"].went == ()
    shares = [t["y"].value_counts(normalize=True) for t in (a, b)]
    for label, (old, new) in found.classes.items():
        assert (old, new) == pytest.approx((shares[0][label], shares[1][label]), abs=1e-12)


def _cells_of(values, column):
    if values.name != "age":
        return values.astype(object).where(values.notna(), None).to_numpy()
    there = values.to_numpy()
    at = np.searchsorted(bins_of(column), there, side="right")
    found = np.array(column.cells, dtype=object)[at]
    return np.where(np.isnan(there), None, found)


def _log_loss(learned, asked, name, column):
    labels = ["no", "yes"]
    cells, of = _cells_of(learned[name], column), learned["y"].to_numpy()
    n = np.array([[np.sum((cells == v) & (of == c)) for v in column.cells] for c in labels]) + 0.5
    posterior = n / n.sum(axis=0)
    rows = zip(_cells_of(asked[name], column), asked["y"], strict=True)
    return np.mean(
        [
            -np.log(posterior[labels.index(c), column.cells.index(v)])
            for v, c in rows
            if v is not None
        ]
    )


def test_the_g_test_is_that_of_scipy_and_splits_into_classes_and_columns_within_them():
    a, b = table(500, 1), table(500, 2, level=0.1, share=0.35)
    found = by_name(compare(collect(a, "y"), collect(b, "y")))["still"]
    counts = np.array([t["still"].value_counts().sort_index() for t in (a, b)])
    expected = chi2_contingency(counts, correction=False, lambda_="log-likelihood").pvalue
    assert found.p_moved == pytest.approx(expected, abs=1e-12)
    within = 0.0
    for label in ("no", "yes"):
        parts = [t[t["y"] == label]["still"].value_counts().sort_index() for t in (a, b)]
        within += chi2_contingency(np.array(parts), lambda_="log-likelihood").statistic
    assert found.p_within == pytest.approx(chi2.sf(within, 4), abs=1e-12)
    whole = compare(collect(a, "y"), collect(b, "y"))
    of_classes = np.array([t["y"].value_counts().sort_index() for t in (a, b)])
    g = chi2_contingency(of_classes, correction=False, lambda_="log-likelihood").pvalue
    assert whole.p_classes == pytest.approx(g, abs=1e-12)
    q = false_discovery_control([c.p_moved for c in whole.columns])
    assert [c.q_moved for c in whole.columns] == pytest.approx(q.tolist(), abs=1e-12)


# ---- laws ----------------------------------------------------------------------------------------
@given(st.integers(0, 1000), st.integers(1, 3))
def test_parts_in_any_order_and_a_common_weight_change_nothing(seed, parts):
    a, b = table(120, seed), table(90, seed + 1, level=0.1)
    whole = compare(collect(a, "y"), collect(b, "y"))
    places = np.array_split(np.random.default_rng(seed).permutation(len(b)), parts)
    merged = sum(collect(b.iloc[rows], "y") for rows in places)
    heavy = collect(b.assign(w=4.0), "y", sample_weight="w")
    for other in (compare(collect(a, "y"), merged), compare(collect(a, "y"), heavy)):
        mine = by_name(whole)
        for name, column in by_name(other).items():
            assert column.psi == pytest.approx(mine[name].psi, abs=1e-12)
            assert column.js == pytest.approx(mine[name].js, abs=1e-12)
            assert column.p_moved == pytest.approx(mine[name].p_moved, abs=1e-12)
            assert column.p_within == pytest.approx(mine[name].p_within, abs=1e-12)


def test_the_same_counts_have_not_moved():
    tally = collect(table(300, 0), "y")
    for other in (tally, 3.0 * tally):
        found = compare(tally, other)
        assert all(c.js == 0.0 and c.p_moved == c.p_within == 1.0 for c in found.columns)
        assert found.p_classes == 1.0
        assert found.moved() == []
        assert found.largest_psi < 1e-4


def test_js_is_symmetric_and_at_most_the_logarithm_of_2():
    a = collect(pd.DataFrame({"x": ["u"] * 50, "y": [0, 1] * 25}), "y")
    b = collect(pd.DataFrame({"x": ["v"] * 50, "y": [0, 1] * 25}), "y")
    (there,), (back,) = compare(a, b).columns, compare(b, a).columns
    assert there.js == back.js == pytest.approx(np.log(2.0))
    assert (there.came, there.went) == (("v",), ("u",))
    assert (back.came, back.went) == (("u",), ("v",))


def test_rows_without_labels_are_compared_column_by_column():
    a, b = table(400, 3), table(400, 4, level=0.2)
    labelled = compare(collect(a, "y"), collect(b, "y"))
    plain = collect(b.drop(columns="y"))
    assert plain.schema.classes.tolist() == [UNLABELLED]
    for found in (compare(collect(a, "y"), plain), compare(collect(a.drop(columns="y")), plain)):
        assert found.classes == {}
        assert found.p_classes is None
        mine = by_name(labelled)
        for name, column in by_name(found).items():
            assert column.p_moved == pytest.approx(mine[name].p_moved, abs=1e-12)
            assert column.psi == pytest.approx(mine[name].psi, abs=1e-12)
            assert (column.p_within, column.q_within, column.log_loss_new) == (None, None, None)
    weighted = collect(b.drop(columns="y").assign(w=2.0), sample_weight="w")
    assert weighted == 2.0 * plain or compare(weighted, plain).largest_psi < 1e-3


def test_a_source_is_counted_part_by_part_without_labels(tmp_path):
    frame = table(500, 5).drop(columns="y")
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=100)
    of_file, of_frame = collect(str(tmp_path / "rows.parquet")), collect(frame)
    assert compare(of_file, of_frame).largest_psi < 1e-6
    assert all(c.js == 0.0 for c in compare(of_file, of_frame).columns)


# ---- what is found, and what is not --------------------------------------------------------------
def test_what_moved_is_told_apart():
    a = collect(table(6000, 6), "y")
    classes = compare(a, collect(table(6000, 7, share=0.4), "y"))
    assert classes.p_classes < 1e-6
    assert all(c.q_within > 0.01 for c in classes.columns)  # given the class, nothing moved
    column = compare(a, collect(table(6000, 8, level=0.1), "y"))
    assert column.moved() == ["home"]
    assert by_name(column)["home"].q_within < 1e-6
    assert column.p_classes > 0.01
    within = by_name(compare(a, collect(table(6000, 9, within=0.2), "y")))["home"]
    assert within.q_within < 1e-6
    told = collect(table(6000, 6, within=0.2), "y")  # a column that tells the class
    turned = by_name(compare(told, collect(table(6000, 9, within=-0.2), "y")))["home"]
    assert turned.log_loss_new > turned.log_loss_old + 0.1


def test_random_halves_seldom_alarm_and_a_level_that_moves_by_5_points_is_found():
    rng = np.random.default_rng(0)
    alarms = found = 0
    whole = table(4000, 10)
    for _ in range(60):
        order = rng.permutation(len(whole))
        halves = [collect(whole.iloc[rows], "y") for rows in np.array_split(order, 2)]
        alarms += bool(compare(*halves).moved(0.05))
    assert alarms <= 8  # 5 % of 60 are 3; more than 8 have a probability of .003
    n = 5000
    for _ in range(20):
        a, b = (
            pd.DataFrame({"x": rng.choice(["u", "v", "w"], n, p=[s, 0.5 - s, 0.5])})
            for s in (0.2, 0.25)
        )
        found += compare(collect(a), collect(b)).moved() == ["x"]
    assert found >= 18


# ---- bad input -----------------------------------------------------------------------------------
def test_what_cannot_be_compared_says_why():
    a = collect(table(100, 0), "y")
    empty = a - a
    with pytest.raises(IncompatibleTallies, match="the new tally has no rows"):
        compare(a, empty)
    with pytest.raises(NegativeTally):
        compare(a, -a)
    with pytest.raises(
        IncompatibleTallies, match=r"two tallies of columns by name.*old one is a dict"
    ):
        compare({}, a)
    other = collect(pd.DataFrame({"z": ["p", "q"] * 10, "y": ["no", "yes"] * 10}), "y")
    with pytest.raises(IncompatibleTallies, match="no column of levels or numbers in common"):
        compare(a, other)
    some = collect(table(100, 1).drop(columns="still").assign(new=1.5), "y")
    found = compare(a, some)
    assert found.left_out == {
        "still": "only the old counts have it",
        "new": "only the new counts have it",
    }
    models = [NaiveBayes.from_tally(t) for t in (a, some)]
    assert compare(*models) == found


def test_a_column_of_missing_values_only_and_one_that_became_strings():
    a = table(200, 0)
    gone = a.assign(age=np.nan)
    found = by_name(compare(collect(a, "y"), collect(gone.assign(age=gone["age"]), "y")))
    assert "age" not in found or found["age"].missing_new == 1.0
    strings = a.assign(age=np.where(np.arange(200) % 2, "unknown", "41"))
    moved = by_name(compare(collect(a, "y"), collect(strings, "y")))["age"]
    assert moved.q_moved < 1e-6
    assert "unknown" in moved.came
