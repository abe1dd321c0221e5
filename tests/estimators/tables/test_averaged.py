"""The mean of several fits is one sum of tables: it is read, kept, updated and left from as
each of them is."""

import copy
import io
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from estimators.averaged_models import averaged, learnings
from estimators.cases import weights_in_a_file, weights_of_a_file
from tallybayes import NaiveBayes, WeightedNaiveBayes, leave_one_out, load
from tallybayes.models import weighted_fit as weighted_learning
from tallybayes.models.weighted_fit import _expected_variances
from tallybayes.persistence import Unfit
from tallybayes.weighted.average import learn

pytestmark = pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")
CLOSE = {"rtol": 1e-9, "atol": 1e-9}
SHARES = {1: [1.0], 2: [0.3, 0.7], 3: [0.25, 0.25, 0.5], 6: [0.1] * 5 + [0.5]}


def rows(n, n_classes, seed):
    """Numbers, strings and missing values; two columns tell by their pair, a third beside
    others."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    a = rng.integers(0, 3, n)
    b = np.where(rng.random(n) < 0.8, (a + y) % 3, a)
    x = pd.DataFrame(
        {
            "n": rng.normal(y, 1.0).round(2),
            "a": np.array(list("uvw"))[a],
            "b": np.array(list("pqr"))[b],
            "m": rng.normal(size=n) + (y == 1) * rng.choice([-2.0, 2.0], n),
            "k": rng.integers(0, 3, n),
        }
    )
    x.loc[rng.random(n) < 0.1, "n"] = np.nan
    x.loc[rng.random(n) < 0.1, "a"] = None
    return x, np.array(list("xyz"))[y]


@pytest.fixture(scope="module", params=[(1, 2), (2, 3), (3, 2), (6, 2), (6, 3)], ids=str)
def case(request):
    n_parts, n_classes = request.param
    x, y = rows(500, n_classes, 0)
    models, shares = learnings(n_parts, x, y), SHARES[n_parts]
    fresh, labels = rows(150, n_classes, 1)
    return SimpleNamespace(
        models=models, shares=shares, mean=averaged(models, shares), x=x, y=y, fresh=fresh,
        labels=labels,
    )  # fmt: skip


def mean_of(case, of, models=None):
    """What `of` gives of each model, times its share, in all."""
    some = zip(case.shares, case.models if models is None else models, strict=True)
    return sum(share * of(model) for share, model in some)


def odd_rows(x):
    """Rows with levels and numbers that training did not have, and missing values."""
    odd = x.head(20).copy()
    odd.loc[:4, "a"], odd.loc[5:9, "n"], odd.loc[10:12, "b"] = "never", 1e9, None
    return odd


def joint(x):
    return lambda model: model.predict_joint_log_proba(x)


def test_the_parts_differ(case):
    if len(case.models) > 1:
        assert len({tuple(m.interactions_) for m in case.models}) > 1
        told = np.stack([m.predict_proba(case.fresh) for m in case.models])
        assert np.ptp(told, axis=0).max() > 0.02


def test_its_score_is_the_mean_of_the_scores(case):
    for x in (case.x, case.fresh, odd_rows(case.fresh)):
        found = case.mean.predict_joint_log_proba(x)
        np.testing.assert_allclose(found, mean_of(case, joint(x)), **CLOSE)


def test_each_pair_of_columns_is_one_term(case):
    pairs = case.mean.interactions_
    assert len(pairs) == len({frozenset(pair) for pair in pairs})
    assert set(pairs) == {pair for m in case.models for pair in m.interactions_}
    assert pairs[: len(case.models[-1].interactions_)] == case.models[-1].interactions_
    assert list(case.mean.tables_) == [*case.x.columns, *pairs]
    assert "a × b" in case.mean.summary(max_display=50)
    assert case.mean.feature_importances_.shape == (5,)


def test_explanations_and_tables_add_up(case):
    x = odd_rows(case.fresh)
    told, found = case.mean.explain(x), case.mean.predict_joint_log_proba(x)
    np.testing.assert_allclose(told.base + told.contributions.sum(axis=2), found, **CLOSE)
    classes = case.mean.classes_.tolist()
    for t, (key, table) in enumerate(case.mean.tables_.items()):
        values = table[classes].to_numpy()
        shown = told.contributions[:, :, t]
        assert np.abs(shown[:, None] - np.append(values, [np.zeros(len(classes))], 0)).max(
            axis=2
        ).min(axis=1) == pytest.approx(0.0), key


def test_its_weights_are_the_mean_weights(case):
    found = case.mean.weights_.set_index("term")
    expected = pd.DataFrame(0.0, found.index, found.columns)
    for share, model in zip(case.shares, case.models, strict=True):
        expected = expected.add(share * model.weights_.set_index("term"), fill_value=0.0)
    adds = found.pop("adds")  # is measured on the scores of the mean
    pd.testing.assert_frame_equal(found, expected.loc[found.index, found.columns], **CLOSE)
    schema = case.mean.schema_.set_index("column")
    assert f"adds {adds['n']:.2f} nats" in schema.loc["n", "family"]


def test_a_file_gives_the_same_bits(case):
    files = [io.BytesIO(), io.BytesIO()]
    case.mean.save(files[0])
    files[0].seek(0)
    again = load(files[0])
    again.save(files[1])
    assert files[1].getvalue() == files[0].getvalue()
    assert again == case.mean
    assert (
        again.predict_proba(case.fresh).tobytes() == case.mean.predict_proba(case.fresh).tobytes()
    )
    assert again.summary() == case.mean.summary()
    assert again.weights_.equals(case.mean.weights_)


def cut_apart(header, arrays):
    """Two parts that cut a pair of numbers into n × 1 and 1 × n cells: together they have n²."""
    sizes = [len(arrays[f"weighting.edges{j}"]) + 2 for j in (0, 3)]
    for m in (0, 1):
        cut = [n if i == m else 1 for i, n in enumerate(sizes)]
        header["parts"][m] |= {"pairs": [[0, 3, *cut, 1.0, 0]], "corrected": False}
        for n, k, name in zip(sizes, cut, ("first", "second"), strict=True):
            arrays[f"weighting.part{m}.{name}0"] = np.arange(n, dtype=np.int32) % k
        for name in ("counted", "expected"):
            arrays[f"weighting.part{m}.{name}0"] = np.ones((cut[0] * cut[1], 2))


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (lambda h, a: h.update(parts=[]), "weighting has a part"),
        (lambda h, a: a.update({"weighting.shares": np.array([0.5, 0.6])}), "sum to 1"),
        (lambda h, a: a.update({"weighting.shares": np.array([1.0])}), "has the shape"),
        (lambda h, a: h["parts"][0]["choices"].pop(), "part0.choices has one for each column"),
        (lambda h, a: a.pop("weighting.part1.terms"), "part1 lacks 'terms'"),
        (lambda h, a: h["parts"][0].update(more=1), "'more', which this version does not know"),
        (lambda h, a: h["parts"][1]["pairs"].append(h["parts"][1]["pairs"][0]), "lacks|no pair tw"),
        (cut_apart, "similar cells"),
    ],
)
def test_a_file_whose_parts_do_not_fit_is_refused(what, message):
    x, y = rows(500, 2, 0)
    paired = averaged([learnings(1, x, y)[0]] * 2, [0.5, 0.5])
    header, arrays = weights_in_a_file(paired._model.chosen.weighting)
    header, arrays = copy.deepcopy(header), dict(arrays)
    assert weights_of_a_file(header, arrays).pairs == paired.interactions_
    what(header, arrays)
    with pytest.raises(Unfit, match=message):
        weights_of_a_file(header, arrays)


@pytest.mark.parametrize("change", ["partial_fit", "forget", "merge", "decay", "new"])
def test_it_follows_the_counts_as_each_part_does(case, change):
    x, y = case.fresh, case.labels

    def changed(model):
        model = copy.copy(model)
        if change == "partial_fit":
            model.partial_fit(x, y)
        elif change == "forget":
            model.forget(case.x[:100], case.y[:100])
        elif change == "merge":
            model.merge(copy.copy(model))
        elif change == "decay":
            model.decay(0.5)
        else:
            new = pd.DataFrame({"a": ["new"] * 5, "b": "new", "n": 7.5, "m": "word", "k": 9})
            model.partial_fit(new, ["q"] * 5)
        return model

    found, models = changed(case.mean), [changed(model) for model in case.models]
    for some in (case.x[:50], x, odd_rows(x)):
        told = found.predict_joint_log_proba(some)
        np.testing.assert_allclose(told, mean_of(case, joint(some), models), **CLOSE)
    if change == "decay":
        return
    kept = slice(100, 200)

    def left(model):
        own = np.searchsorted(model.classes_, case.y[kept])
        rows = model._read_rows(case.x[kept])
        return model._model.likelihood_without(rows, own, np.ones(100))

    np.testing.assert_allclose(left(found), mean_of(case, left, models), **CLOSE)


def test_leaving_out_is_forgetting(case):
    """Without pairs: of what they count, a row is taken out as well."""
    mean = averaged(learnings(len(case.models), case.x, case.y, interactions=0), case.shares)
    left = leave_one_out(mean, case.x, case.y)
    for i in (0, 7, 33):
        one = case.x.iloc[[i]]
        without = copy.copy(mean).forget(one, case.y[[i]]).predict_log_proba(one)
        np.testing.assert_allclose(left[[i]], without, **CLOSE)


def test_it_is_simplified_by_its_largest_part(case):
    short = case.mean.simplify(case.x, case.y, max_terms=2)
    largest = case.models[int(np.argmax(case.shares))].simplify(case.x, case.y, max_terms=2)
    np.testing.assert_allclose(
        short.predict_proba(case.fresh), largest.predict_proba(case.fresh), **CLOSE
    )
    assert len(short._model.chosen.weighting.learned.parts) == 1
    assert short.log_loss_increase_ > 0.0
    assert short.tally_ == case.mean.tally_


def test_reweighting_forgets_the_parts(case):
    again = copy.copy(case.mean).reweight(case.x, case.y)
    fresh = type(again)(**again.get_params()).count_from(
        NaiveBayes().fit(case.x, case.y), case.x, case.y
    )
    np.testing.assert_array_equal(again.predict_proba(case.x), fresh.predict_proba(case.x))


# ---- figures -------------------------------------------------------------------------------------
def figures_of(log_proba, y, p, weight, mixed_in, gained=0.0):
    """Log-loss and accuracy, their standard errors, of rows by effective rows."""
    own = (1.0 - mixed_in) * np.exp(log_proba[np.arange(len(y)), y] + gained) + mixed_in * p[y]
    right = ((1.0 - mixed_in) * np.exp(log_proba) + mixed_in * p).argmax(axis=1) == y
    n = weight.sum() ** 2 / (weight**2).sum()
    means = [np.average(values, weights=weight) for values in (-np.log(own), right)]
    spreads = [
        np.average((values - mean) ** 2, weights=weight) / n
        for values, mean in zip((-np.log(own), right), means, strict=True)
    ]
    return [means[0], means[1], *np.sqrt(spreads)]


@pytest.mark.parametrize("n_parts", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_figures_are_of_the_rows_that_learning_left_out(monkeypatch, n_parts, weighted):
    x, y = rows(300, 2, 0)
    weight = np.random.default_rng(0).choice([0.5, 2.0], 300) if weighted else np.ones(300)
    seen = []

    def learned_apart(columns, rows, classes, options):
        found = learn(columns, rows, classes, options)
        tested = np.arange(0, rows.n, 3)
        found = replace(
            found,
            parts=[found.main] * n_parts,
            shares=np.full(n_parts, 1.0 / n_parts),
            tested=tested,
            log_proba=3.0 * found.log_proba[tested],
            gained=np.full(len(tested), 0.25),
            log_own=None,
        )
        found.log_proba[:] -= np.log(np.exp(found.log_proba).sum(axis=1, keepdims=True))
        seen.append((found, rows, classes / classes.sum()))
        return found

    monkeypatch.setattr(weighted_learning, "learn", learned_apart)
    model = WeightedNaiveBayes(polish=False).fit(x, y, weight if weighted else None)
    ((found, of, p),) = seen
    tested = found.tested
    expected = figures_of(
        found.log_proba, of.y[tested], p, of.weight[tested], model._model.prior_share, 0.25
    )
    told = [model.log_loss_, model.accuracy_, model.log_loss_se_, model.accuracy_se_]
    np.testing.assert_allclose(told, expected, rtol=1e-9)
    text = model.summary()
    assert f"rows left out of the whole fit: {told[1]:.1%} ± {told[3]:.1%} right, log-loss " in text
    assert f"log-loss {told[0]:.4f} ± {told[2]:.4f} nats a row" in text
    confused = model._model.chosen.weighting.confused
    figures = model._model.chosen.weighting.figures
    assert confused[:, 2].sum() == pytest.approx(figures.rows)
    right = confused[confused[:, 0] == confused[:, 1], 2].sum()
    assert right / figures.rows == pytest.approx(model.accuracy_)


def test_a_file_of_before_standard_errors_has_none():
    old = load(
        Path(__file__).parents[1] / "persistence" / "files" / "one-learning" / "weighted.tally"
    )
    assert old.log_loss_ > 0.0
    assert "±" not in old.summary()
    for name in ("log_loss_se_", "accuracy_se_"):
        with pytest.raises(AttributeError, match="older than"):
            getattr(old, name)


# ---- parts ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(("given", "expected"), [("auto", None), (1, 1), (7, 7)])
def test_the_number_of_parts_is_asked_for(monkeypatch, tmp_path, given, expected):
    x, y = rows(60, 2, 0)
    asked = []

    def learned(columns, rows, classes, options):
        asked.append(options.parts)
        return learn(columns, rows, classes, replace(options, parts=1))

    monkeypatch.setattr(weighted_learning, "learn", learned)
    model = WeightedNaiveBayes(parts=given).fit(x, y)
    model.reweight(x, y)
    model.save(tmp_path / "m")
    load(tmp_path / "m").reweight(x, y)
    assert asked == [expected] * 3


@pytest.mark.parametrize("given", [0, -1, 1.5, "all", None])
def test_what_is_no_number_of_parts_is_refused(given):
    with pytest.raises(ValueError, match="The 'parts' parameter of WeightedNaiveBayes must be"):
        WeightedNaiveBayes(parts=given).fit(*rows(20, 2, 0))


def test_the_standard_error_counts_rows_that_are_rarely_seen():
    """No wrong prediction among some hundred rows does not show that there never is one."""
    rng = np.random.default_rng(0)
    y = np.arange(600) % 2
    table = pd.DataFrame({"x": np.where(y, "t", "f"), "other": rng.choice(["a", "b"], 600)})
    with pytest.warns(UserWarning, match="x"):
        model = WeightedNaiveBayes().fit(table, y)
    assert model.accuracy_ == 1.0
    assert 1.0 / 600 / 10 < model.accuracy_se_ < 3.0 / 600
    assert model.log_loss_ < model.log_loss_se_ < 10.0 / 600


def test_the_standard_error_is_by_the_spread_of_rows_where_probabilities_are_right():
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 400)
        table = pd.DataFrame({"x": rng.normal(y, 1.0), "other": rng.normal(size=400)})
        found.append(WeightedNaiveBayes().fit(table, y))
    accuracy, share = (np.array([getattr(m, n) for m in found]) for n in ("accuracy_", "log_loss_"))
    by_rows = np.sqrt(accuracy * (1.0 - accuracy) / 400)
    np.testing.assert_allclose([m.accuracy_se_ for m in found], by_rows, rtol=0.1)
    spread = np.std(share, ddof=1)
    assert 0.5 * spread < np.mean([m.log_loss_se_ for m in found]) < 2.0 * spread


def test_expected_variances():
    """Of one row by hand: the label is the likely one nine times in ten."""
    losses = -np.log([0.9, 0.1])
    expected = 0.09 * (losses[1] - losses[0]) ** 2
    for n in (1, 3):
        found = _expected_variances(np.tile([0.9, 0.1], (n, 1)), np.arange(1.0, n + 1.0))
        np.testing.assert_allclose(found, (expected, 0.09))
    certain = np.array([[1.0 - 1e-12, 1e-12], [0.5, 0.5]])
    of_loss, of_accuracy = _expected_variances(certain, np.ones(2))
    assert of_loss == pytest.approx(np.log(2.0) ** 2 / 4.0, rel=1e-6)
    assert of_accuracy == pytest.approx(0.75 * 0.25)


def test_rows_without_any_value_do_not_make_the_rest_useless():
    """Left out by label, they were predicted to have the other one for certain, and cost more than
    all columns gain."""
    rng = np.random.default_rng(0)
    y = rng.random(900) < 0.4
    x = pd.DataFrame({name: rng.normal(2.0 * y, 1.0) for name in "abc"})
    x["d"] = np.where(y ^ (rng.random(900) < 0.1), "ja", "nein")
    x[rng.random(900) < 0.1] = None
    model = WeightedNaiveBayes().fit(x, y)
    assert model.log_loss_ < 0.25
    assert model.predict_proba(x).std(axis=0).min() > 0.3
