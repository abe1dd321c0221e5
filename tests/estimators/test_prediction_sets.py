"""Prediction sets hold the true class as often as asked, from scores of rows left out."""

import copy
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import datasets
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from estimators.cases import rows
from estimators.small_table import DATA, EVERY, Y
from tallybayes import (
    BernoulliNB,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    TextNB,
    WeightedNaiveBayes,
    decisions,
    leave_one_out,
    load,
)
from tallybayes.decisions import MAX_SCORES, Scores, in_set
from tallybayes.errors import ModelFileError, RareClassWarning, StaleWarning
from tallybayes.families import Categorical, Dirichlet, Gaussian, Poisson

X = pd.DataFrame(DATA)
LEVELS = ["clerk", "cook", "nurse"]


def kept_by(model, x=X, y=Y, **options):
    return copy.copy(model).conformalize(x, y, **options)


def by_counting(scores, weight, groups, new, group):
    """The p-value of one score, as the definition has it."""
    at_least = total = squares = 0.0
    for s, w, g in zip(scores, weight, groups, strict=True):
        if g == group if group is not None else True:
            total += w
            squares += w * w
            at_least += w if s >= new else 0.0
    one = squares / total if total else 1.0
    return (at_least + one) / (total + one)


# ---- laws ----------------------------------------------------------------------------------------
@given(st.data(), st.integers(1, 30), st.integers(2, 4), st.sampled_from([None, "class", "site"]))
def test_p_values_are_shares_of_rows_that_fit_no_better(data, n, k, within):
    draw = data.draw
    score = np.array(
        draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.5, 7.0]), min_size=n, max_size=n))
    )
    own = np.array(draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)))
    weight = np.array(draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=n, max_size=n)))
    site = draw(st.lists(st.sampled_from(["a", "b", None]), min_size=n, max_size=n))
    log_proba = np.full((n, k), -1.0)
    log_proba[np.arange(n), own] = -score
    classes = np.arange(k)
    made = Scores.of(classes, "", log_proba, own, weight, {"site": site})
    new = np.array([[0.0, 0.5, 0.7, 9.0][:k], [7.0, 2.5, 1.0, 0.0][:k]])
    asked = ["a", "z"]
    found = made.p_values(new, classes, within, asked)
    for i in range(2):
        for c in range(k):
            groups, group = [None] * n, None
            if within == "class":
                groups, group = own, c
            elif within == "site":
                groups, group = site, asked[i]
            expected = by_counting(score, weight, groups, new[i, c], group)
            assert found[i, c] == pytest.approx(expected, rel=1e-12)


@given(st.integers(0, 10_000))
def test_the_order_of_rows_and_a_common_factor_of_weights_change_nothing(seed):
    rng = np.random.default_rng(seed)
    order, weight = rng.permutation(len(X)), rng.integers(1, 4, len(X)).astype(float)
    model = NaiveBayes().fit(X, Y, weight)
    once = kept_by(model, sample_weight=weight, within="job")
    other = kept_by(model, X.iloc[order], Y[order], sample_weight=weight[order], within="job")
    scaled, made = copy.copy(once), once._scores
    scaled._scores = replace(made, weight=8.0 * made.weight)
    for within in (None, "class", "job"):
        p = once.p_values(X, within=within)
        assert other.p_values(X, within=within) == pytest.approx(p, abs=1e-12)
        assert scaled.p_values(X, within=within) == pytest.approx(p, abs=1e-12)


def test_sets_grow_with_the_coverage_and_hold_what_p_values_say():
    model = kept_by(NaiveBayes().fit(X, Y))
    p = model.p_values(X)
    assert ((p > 0.0) & (p <= 1.0)).all()
    before = np.zeros(p.shape, dtype=bool)
    for coverage in (0.3, 0.5, 0.8, 0.9):
        found = model.prediction_set(X, coverage)
        assert found.dtype == bool
        assert np.array_equal(found, p > 1.0 - coverage + 1e-12)
        assert (found | ~before).all()
        before = found
    assert (~model.prediction_set(X, 0.2).any(axis=1)).any()  # empty sets are allowed


def test_of_n_rows_the_share_of_each_rank_is_exact():
    """With n scores the p-values of the same rows among the others take each of 1/(n+1), …."""
    n = 19
    log_proba = -np.arange(1.0, n + 1.0)[:, None] * [[1.0, 1.0]]
    made = Scores.of(np.array([0, 1]), "", log_proba, np.zeros(n, np.intp), np.ones(n), {})
    p = made.p_values(np.array([[0.5, 100.0]]), np.array([0, 1]), None, [])
    assert p.tolist() == [[1.0, 1.0 / 20.0]]
    assert in_set(p, 0.95).tolist() == [[True, False]]  # 1/20 is not above 0.05
    assert in_set(p, 0.96).tolist() == [[True, True]]


# ---- scores are those of rows left out -----------------------------------------------------------
@pytest.mark.parametrize(
    "model",
    [
        NaiveBayes(),
        NaiveBayes(calibrate="temperature"),
        NaiveBayes(alpha="auto", class_weight={"yes": 2.0}),
        NaiveBayes({"age": Gaussian(), "job": Categorical()}),
    ],
    ids=["plain", "calibrated", "weighted classes", "declared"],
)
@EVERY
def test_scores_of_a_table_are_exact_leave_one_out(model, frame):
    x = frame(DATA)
    model = clone(model).fit(x, Y).conformalize(x, Y, within="job")
    expected = -leave_one_out(model, x, Y)[np.arange(len(Y)), (Y == "yes").astype(int)]
    made = model._scores
    assert made.score.tolist() == expected.tolist()
    assert made.weight.tolist() == [1.0] * len(Y)
    assert [made.values[0][i] for i in made.places[0]] == DATA["job"]


@pytest.mark.parametrize("NB", [GaussianNB, MultinomialNB, BernoulliNB])
def test_scores_of_arrays_are_exact_leave_one_out(NB):
    x, y = rows()
    for form in (x, sparse.csr_array(x)) if NB is not GaussianNB else (x,):
        model = NB().fit(form, y).conformalize(form, y)
        expected = -leave_one_out(model, form, y)[np.arange(len(y)), y]
        assert model._scores.score.tolist() == pytest.approx(expected.tolist(), abs=1e-12)
    grouped = NB().fit(x, y).conformalize(x, y, within=["0"])
    assert grouped.prediction_set(x, 0.8, within="0").shape == (len(y), 3)


def test_scores_of_a_weighted_model_are_of_rows_left_out_of_its_fits():
    model = WeightedNaiveBayes().fit(X, Y)
    left = model._left_out(X, Y, None)
    made = kept_by(model)._scores
    own = np.searchsorted(model.classes_, Y[left.rows])
    share = model._fitted().prior_share
    prior = np.bincount(own, left.weight) / left.weight.sum()
    mixed = np.exp(left.log_proba[np.arange(len(own)), own])
    single = -np.log((mixed - share * prior[own]) / (1.0 - share))  # of the fit without the row
    assert (made.score > 0.0).all()
    assert 0.9 * single.mean() < made.score.mean() < single.mean()  # the mean predicts better
    assert made.weight.sum() == pytest.approx(len(Y))  # copies of a row are one
    inside = -leave_one_out(model, X, Y)[np.arange(len(Y)), np.searchsorted(model.classes_, Y)]
    assert made.score.mean() > inside.mean()
    simple = model.simplify(X, Y, 1)
    without, own, _ = simple._posterior_without(X, Y, None)
    assert kept_by(simple)._scores.score.tolist() == (-without[np.arange(len(Y)), own]).tolist()


def test_rows_of_an_easy_class_are_ranked_although_all_are_nearly_sure():
    """The class prior that is mixed in bounds every probability by the same number, nearly."""
    rng = np.random.default_rng(1)
    n = 900
    y = rng.choice(["easy", "hard", "other"], n, p=[0.6, 0.2, 0.2])
    frame = pd.DataFrame({"x": rng.normal(np.where(y == "easy", 30.0, 0.0), 1.0)})
    frame["z"] = rng.normal(np.where(y == "hard", 1.0, 0.0), 1.0)
    train, test = slice(0, 600), slice(600, None)
    model = WeightedNaiveBayes().fit(frame[train], y[train]).conformalize(frame[train], y[train])
    easy = np.flatnonzero(y[test] == "easy")
    for coverage in (0.5, 0.8, 0.9):
        held = model.prediction_set(frame[test], coverage, within="class")[easy, 0].mean()
        error = np.sqrt(coverage * (1.0 - coverage) * (1.0 / len(easy) + 1.0 / 360))
        assert held >= coverage - 3.0 * error


def test_documents_have_sets_too():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    words = [["sun", "day"], ["rain", "night"]]
    documents = [
        " ".join(rng.choice(words[k] if rng.random() < 0.7 else words[1 - k], 3)) for k in y
    ]
    for model in (TextNB(), TextNB(ridge=False), TextNB(model="multinomial")):
        model.fit(documents[:200], y[:200]).conformalize(documents[:200], y[:200])
        held = model.prediction_set(documents[200:], 0.9)[np.arange(100), y[200:]]
        assert 0.8 <= held.mean() <= 1.0
        with pytest.raises(ValueError, match="documents have no columns"):
            model.conformalize(documents, y, within="length")


def test_what_is_kept_is_bounded(monkeypatch):
    monkeypatch.setattr(decisions, "MAX_SCORES", 50)
    model = kept_by(NaiveBayes().fit(X, Y), within="job")
    whole = kept_by(NaiveBayes().fit(X, Y))
    assert len(model._scores.score) == 50
    assert len(model._scores.places[0]) == 50
    assert MAX_SCORES == 1 << 16
    monkeypatch.undo()
    whole = kept_by(whole)
    assert np.abs(model.p_values(X) - whole.p_values(X)).max() < 0.25


# ---- coverage ------------------------------------------------------------------------------------
def generated(seed):
    rng = np.random.default_rng(seed)
    n, k = 1200, 3
    y = rng.choice(k, n, p=[0.5, 0.3, 0.2])
    frame = pd.DataFrame({f"x{j}": rng.normal(0.8 * (y == j % k), 1.0) for j in range(4)})
    frame["copy"] = frame["x0"] + 0.2 * rng.normal(size=n)  # which naive Bayes counts twice
    frame["level"] = np.where(rng.random(n) < 0.5, y, rng.integers(0, 4, n)).astype(str)
    frame.loc[rng.random(n) < 0.2, "x1"] = np.nan
    return frame, y


SETS = {
    "iris": lambda: datasets.load_iris(return_X_y=True, as_frame=True),
    "wine": lambda: datasets.load_wine(return_X_y=True, as_frame=True),
    "cancer": lambda: datasets.load_breast_cancer(return_X_y=True, as_frame=True),
    "digits": lambda: datasets.load_digits(return_X_y=True, as_frame=True),
    "generated": lambda: generated(0),
    "small": lambda: (X, (Y == "yes").astype(int)),
}


def held_in_folds(model, x, y, coverages, within=None):
    """Whether the set of each row that a fold leaves out holds its class, by coverage."""
    y = np.asarray(y)
    held = {coverage: np.zeros(len(y), dtype=bool) for coverage in coverages}
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(x, y):
        made = clone(model).fit(x.iloc[train], y[train]).conformalize(x.iloc[train], y[train])
        p = made.p_values(x.iloc[test], within=within)
        own = p[np.arange(len(test)), np.searchsorted(made.classes_, y[test])]
        for coverage in coverages:
            held[coverage][test] = in_set(own, coverage)
    return held


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("within", [None, "class"])
def test_sets_cover_what_is_asked(within):
    """No set below by more than three standard errors; the mean over sets within .01."""
    over: dict[float, list[float]] = {}
    for name, read in SETS.items():
        x, y = read()
        y = np.asarray(y)
        for coverage, held in held_in_folds(NaiveBayes(), x, y, (0.8, 0.9, 0.95), within).items():
            groups = [np.flatnonzero(y == c) for c in np.unique(y)] if within else []
            for some in [np.arange(len(y)), *(g for g in groups if len(g) >= 50)]:
                error = np.sqrt(coverage * (1.0 - coverage) / len(some))
                # a quantile of few scores errs as much as the rows that are tested
                assert held[some].mean() >= coverage - 3.0 * error * np.sqrt(1.25), (name, coverage)
            over.setdefault(coverage, []).append(held.mean() - coverage)
    if within is None:
        for coverage, found in over.items():
            assert abs(np.mean(found)) <= 0.01, coverage


# ---- full conformal ------------------------------------------------------------------------------
FAMILIES = {
    "age": Gaussian(var_smoothing=1e-6),
    "visits": Poisson(),
    "job": Categorical(levels=LEVELS),
}


@pytest.mark.parametrize("within", [None, "class", "job"])
@pytest.mark.parametrize(
    "make",
    [lambda: NaiveBayes(FAMILIES), lambda: NaiveBayes(FAMILIES, class_alpha=0.5, alpha=0.3)],
)
def test_full_sets_equal_refitting_with_each_row_in_turn(make, within):
    """n + 1 fits for each row and class: of all rows but one, which is predicted."""
    n = 24
    x, y, asked = X.iloc[:n], Y[:n], X.iloc[60:64]
    model = make().fit(x, y)
    found = model.p_values(asked, within=within, method="full", learned=(x, y))
    for i in range(len(asked)):
        for c, label in enumerate(model.classes_):
            more = pd.concat([x, asked.iloc[[i]]], ignore_index=True)
            labels = np.append(y, label)
            scores = np.empty(n + 1)
            for r in range(n + 1):
                others = np.arange(n + 1) != r
                refitted = make().fit(more[others], labels[others])
                own = int(np.flatnonzero(refitted.classes_ == labels[r])[0])
                scores[r] = -refitted.predict_log_proba(more.iloc[[r]])[0, own]
            same = np.ones(n + 1, dtype=bool)
            if within == "class":
                same = labels == label
            elif within == "job":
                same = (more["job"] == more["job"].iloc[-1]).to_numpy()
            expected = np.mean(scores[same] >= scores[-1] - 1e-12)
            assert found[i, c] == pytest.approx(expected, abs=1e-12)
    sets = model.prediction_set(asked, 0.9, within=within, method="full", learned=(x, y))
    assert np.array_equal(sets, in_set(found, 0.9))


def test_full_sets_of_exchangeable_rows_are_covered_exactly():
    """Over all rows of a table left out in turn, the p-values are uniform where none are tied."""
    rng = np.random.default_rng(3)
    n = 40
    x, y = rng.normal(size=(n, 2)), np.arange(n) % 2
    x[y == 1] += 0.7
    ranks = []
    for i in range(n):
        others = np.arange(n) != i
        model = GaussianNB().fit(x[others], y[others])
        learned = (x[others], y[others])
        p = model.p_values(x[i : i + 1], method="full", learned=learned)[0, y[i]]
        ranks.append(round(p * n))
    assert sorted(ranks) == list(range(1, n + 1))


def test_full_sets_need_families_that_no_count_chooses():
    learned = (X, Y)
    for model, message in (
        (NaiveBayes(), "a declared family for each column.*column 'age' has none"),
        (NaiveBayes(FAMILIES, alpha="auto"), "alpha='auto' would be chosen again"),
        (NaiveBayes(FAMILIES, calibrate="temperature"), "calibrate='temperature'"),
        (NaiveBayes(FAMILIES, half_life=50.0), "half_life=50.0"),
        (WeightedNaiveBayes(), "a WeightedNaiveBayes learns more than counts"),
    ):
        fitted = clone(model).fit(X, Y)
        with pytest.raises(ValueError, match=message):
            fitted.prediction_set(X.iloc[:2], method="full", learned=learned)
    declared = NaiveBayes(FAMILIES).fit(X, Y)
    with pytest.raises(ValueError, match=r"give them as learned=\(X, y\)"):
        declared.prediction_set(X.iloc[:2], method="full")
    with pytest.raises(ValueError, match="learned= gives method='full' its rows"):
        kept_by(declared).prediction_set(X.iloc[:2], learned=learned)
    with pytest.raises(ValueError, match="method is 'scores' or 'full', got 'half'"):
        declared.prediction_set(X.iloc[:2], method="half")


def test_full_sets_hold_priors_and_pairs_of_levels():
    families = {"age": None, "visits": Poisson(), "job": Categorical(prior=Dirichlet(2.0))}
    x = X.assign(job=X["job"])
    model = NaiveBayes({**families, "job": Categorical(levels=LEVELS)}).fit(x, Y)
    p = model.p_values(x.iloc[:5], method="full", learned=(x, Y))
    assert ((p > 0.0) & (p <= 1.0)).all()


# ---- stale scores --------------------------------------------------------------------------------
def changes():
    more, labels = X.iloc[:3], Y[:3]
    return {
        "partial_fit": lambda m: m.partial_fit(more, labels),
        "forget": lambda m: m.forget(more, labels),
        "merge": lambda m: m.merge(NaiveBayes().fit(more, labels)),
        "decay": lambda m: m.decay(0.5),
        "learn_one": lambda m: m.learn_one({"age": 30.0, "visits": 1, "job": "cook"}, "no"),
        "class prior": lambda m: m.with_class_prior([0.5, 0.5]),
        "class weight": lambda m: m.with_class_weight("balanced"),
        "addition": lambda m: m + m,
    }


@pytest.mark.parametrize("change", changes())
def test_scores_are_stale_when_counts_change_and_fresh_when_they_are_as_they_were(change):
    model = kept_by(NaiveBayes().fit(X, Y))
    changed = changes()[change](copy.copy(model))
    changed = model if changed is None else changed
    with pytest.warns(StaleWarning, match=r"call conformalize\(X, y\)") as warned:
        changed.prediction_set(X)
    assert len(warned) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.prediction_set(X)
        if change == "partial_fit":
            changed.forget(X.iloc[:3], Y[:3]).prediction_set(X)


def test_what_is_learned_again_has_no_scores():
    for model, again in (
        (NaiveBayes(), lambda m: m.fit(X, Y)),
        (NaiveBayes(calibrate="temperature"), lambda m: m.recalibrate(X, Y)),
        (WeightedNaiveBayes(), lambda m: m.reweight(X, Y)),
    ):
        made = clone(model).fit(X, Y).conformalize(X, Y)
        again(made)
        with pytest.raises(ValueError, match="keeps none: call conformalize"):
            made.prediction_set(X)
    documents = ["good day", "bad day"] * 20
    text = TextNB().fit(documents, [0, 1] * 20).conformalize(documents, [0, 1] * 20)
    text.partial_fit(["good night"], [0])
    with pytest.warns(StaleWarning):
        text.prediction_set(documents, 0.5)


def test_scores_travel_with_the_model(tmp_path):
    path = tmp_path / "model.tally"
    x = X.assign(job=X["job"].where(X["age"] > 35, None))
    for model in (NaiveBayes(), WeightedNaiveBayes()):
        made = clone(model).fit(x, Y).conformalize(x, Y, within=["job"])
        made.save(path)
        for again in (load(path), copy.copy(made), pickle.loads(pickle.dumps(made))):
            assert again == made
            for within in (None, "class", "job"):
                assert np.array_equal(
                    again.p_values(x, within=within), made.p_values(x, within=within)
                )
    array, y = rows()
    gaussian = GaussianNB().fit(array, y).conformalize(array, y)
    gaussian.save(path)
    assert load(path) == gaussian
    assert gaussian != GaussianNB().fit(array, y)
    documents = ["good day", "bad day"] * 20
    text = TextNB().fit(documents, [0, 1] * 20).conformalize(documents, [0, 1] * 20)
    text.save(path)
    assert np.array_equal(load(path).p_values(documents), text.p_values(documents))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda h, t: t.pop("own"), "lacks 'own'"),
        (lambda h, t: t["own"].__setitem__(0, 9), "of classes that there are"),
        (lambda h, t: t["weight"].__setitem__(0, -1.0), "is above 0"),
        (lambda h, t: t["score"].__setitem__(0, np.nan), "is finite"),
        (lambda h, t: t.__setitem__("score", t["score"][:-1]), "has the shape"),
        (lambda h, t: t["place"][0].__setitem__(0, 77), "of values that there are"),
        (lambda h, t: h.__setitem__("columns", ["a", "b"]), "place1"),
        (lambda h, t: h["values"].__setitem__(0, ["a", "a", "a"]), "values of scores differ"),
    ],
)
def test_scores_that_a_file_cannot_have_are_found(tmp_path, monkeypatch, spoil, message):
    made = kept_by(NaiveBayes().fit(X, Y), within="job")
    plain = Scores.plain

    def spoiled(self):
        header, tree = plain(self)
        tree = {name: copy.deepcopy(value) for name, value in tree.items()}
        header = copy.deepcopy(header)
        spoil(header, tree)
        return header, tree

    monkeypatch.setattr(Scores, "plain", spoiled)
    made.save(tmp_path / "model.tally")
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "model.tally")


# ---- bad input -----------------------------------------------------------------------------------
@pytest.mark.parametrize("coverage", [0, 1, -0.1, 1.5, np.nan, None, "all"])
def test_a_coverage_is_between_0_and_1(coverage):
    with pytest.raises(ValueError, match="coverage is a share of rows between 0 and 1"):
        kept_by(NaiveBayes().fit(X, Y)).prediction_set(X, coverage)


def test_a_column_is_named_before_sets_are_made_within_it():
    model = NaiveBayes().fit(X, Y)
    with pytest.raises(ValueError, match="keeps none: call conformalize"):
        model.p_values(X)
    with pytest.raises(ValueError, match="within= names 'town', which X does not have"):
        model.conformalize(X, Y, within="town")
    assert "_scores" not in vars(model)
    kept = kept_by(model, within="job")
    with pytest.raises(ValueError, match=r"got 'age'; conformalize was given 'job'"):
        kept.prediction_set(X, within="age")
    with pytest.raises(ValueError, match="within= names 'job', which X does not have"):
        kept.prediction_set([{"age": 3.0}], within="job")
    with pytest.raises(ValueError, match="maybe"):
        model.conformalize(X, np.where(Y == "no", "maybe", Y))


def test_a_value_that_no_row_had_gets_every_class():
    model = kept_by(NaiveBayes().fit(X, Y), within="job")
    assert model.prediction_set(X.iloc[:3].assign(job="pilot"), 0.5, within="job").all()


def test_a_class_of_two_rows_says_that_nothing_excludes_it():
    y = np.where(np.arange(len(Y)) < 2, "rare", Y)
    model = kept_by(NaiveBayes().fit(X, y), X, y)
    with pytest.warns(RareClassWarning, match="the class 'rare' has 2 rows.*fewer than 19"):
        found = model.prediction_set(X, 0.95, within="class")
    assert found[:, 1].all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.prediction_set(X, 0.6, within="class")
        model.prediction_set(X, 0.95)


# ---- groups of rows ------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")
def test_rows_of_a_group_are_left_out_together():
    model = NaiveBayes().fit(X, Y)
    alone = kept_by(model, groups=np.arange(len(Y)))
    one_by_one = kept_by(model).p_values(X)  # which differ where scores are equal but for rounding
    np.testing.assert_allclose(alone.p_values(X), one_by_one, atol=3.0 / len(Y))
    groups = np.arange(len(Y)) // 5
    assert not np.array_equal(kept_by(model, groups=groups).p_values(X), alone.p_values(X))
    weighted = WeightedNaiveBayes().fit(X, Y, groups=groups)
    sets = kept_by(weighted, groups=groups).prediction_set(X, 0.8)
    assert sets.shape == (len(Y), len(model.classes_))
    with pytest.raises(ValueError, match="groups is one value a row"):
        kept_by(model, groups=groups[:-1])


# ---- sources of rows -----------------------------------------------------------------------------
SHOWN = X.assign(label=Y, heavy=1.0 + np.arange(len(Y)) % 2, site=np.arange(len(Y)) % 6 // 2)


@pytest.mark.parametrize("kind", [NaiveBayes, WeightedNaiveBayes])
def test_rows_of_a_source_are_compared_as_those_in_memory_are(kind, tmp_path):
    x, weight = SHOWN.drop(columns=["label", "heavy"]), SHOWN["heavy"]
    model = kind().fit(X, Y, sample_weight=weight)
    expected = kept_by(model, x, sample_weight=weight, within="site")
    sources = {"frame": SHOWN, "csv": tmp_path / "rows.csv", "parquet": tmp_path / "rows.parquet"}
    SHOWN.to_csv(sources["csv"], index=False)
    SHOWN.to_parquet(sources["parquet"])
    for source in sources.values():
        found = kept_by(model, source, "label", sample_weight="heavy", within=["class", "site"])
        for within in (None, "class", "site"):
            p_values = expected.p_values(x, within=within)
            assert found.p_values(source, within=within) == pytest.approx(p_values, rel=1e-9)
    groups = kept_by(model, SHOWN, "label", sample_weight="heavy", groups="site")
    by_array = kept_by(model, sample_weight=weight, groups=SHOWN["site"])
    assert groups.p_values(X) == pytest.approx(by_array.p_values(X), rel=1e-9)


def test_rows_of_a_large_source_are_drawn(tmp_path, monkeypatch):
    from tallybayes.estimators import table_base

    SHOWN.to_csv(tmp_path / "rows.csv", index=False)
    monkeypatch.setattr(table_base, "MAX_SCORES", 50)
    model = NaiveBayes().fit(X, Y)
    found = kept_by(model, tmp_path / "rows.csv", "label").__dict__["_scores"].score
    every = kept_by(model).__dict__["_scores"].score
    assert len(found) == 50
    assert all(np.isclose(every, score, rtol=1e-9).any() for score in found)
    assert len(set(found.round(9))) > 25


@pytest.mark.parametrize(
    ("x", "y", "more", "message"),
    [
        ("rows.csv", Y, {}, "give the column's name as y"),
        ("rows.csv", "label", {"sample_weight": np.ones(len(Y))}, "name of a column where y is"),
        ("rows.csv", "label", {"groups": np.ones(len(Y))}, "name of a column where y is"),
        ("rows.csv", "lable", {}, "lable"),
        ("rows.csv", "label", {"within": "place"}, "place"),
    ],
)
def test_sources_that_cannot_be_compared_say_why(x, y, more, message, tmp_path):
    SHOWN.to_csv(tmp_path / "rows.csv", index=False)
    model = NaiveBayes().fit(X, Y)
    with pytest.raises(ValueError, match=message):
        model.conformalize(tmp_path / x, y, **more)
    assert "_scores" not in vars(model)


def test_models_whose_rows_are_in_memory_take_no_name_of_a_column():
    for model, x in ((GaussianNB(), np.eye(4)), (TextNB(model="bernoulli"), list("abab"))):
        model.fit(x, [0, 1, 0, 1])
        with pytest.raises(ValueError, match=r"y='label' names a column.*give rows in memory"):
            model.conformalize(x, "label")
