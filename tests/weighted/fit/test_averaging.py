"""Models averaged over fits without a part of the rows."""

import threading
from itertools import product

import numpy as np
import pandas as pd
import pytest

from reference.weighted import loss, proba
from tallybayes import get_num_threads, set_num_threads
from tallybayes.threads import in_threads, on_one_thread
from tallybayes.weighted import average, search
from tallybayes.weighted.average import learn
from tallybayes.weighted.rows import canonical
from tallybayes.weighted.scores import log_normalised
from tallybayes.weighted.search import FitOptions, RidgePath
from tallybayes.weighted.ways import Part, prior_share
from weighted.read import cells_of, codes_in, mixed


def weak_pairs(n, seed=0):
    """Yes/no columns and a label that many rules of two columns make together."""
    truth, rng = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    pairs = np.array([truth.choice(12, 2, replace=False) for _ in range(30)])
    effect = truth.normal(size=30)
    yes = np.where(rng.random((2 * n, 12)) < 0.5, 1.0, -1.0)
    score = (yes[:, pairs[:, 0]] * yes[:, pairs[:, 1]]) @ effect
    table = pd.DataFrame(np.where(yes > 0.0, "t", "f"), columns=[f"c{j}" for j in range(12)])
    y = (score > 0.0).astype(int)
    return (table[:n], y[:n]), (table[n:], y[n:])


def fresh_loss(learned, table, y):
    return loss(proba(learned, codes_in(learned.columns, table)), y)


def test_pairs_of_many_rounds_say_the_same_of_all_rows():
    """Each round's pairs say what the model before does not say, so that small changes of the first
    would grow from round to round if pairs were counted again one after the other."""
    (table, y), (test, fresh) = weak_pairs(1200)
    columns, rows, classes = cells_of(table, y)
    learned = learn(columns, rows, classes)
    assert len(learned.pairs) > 20
    assert all(np.abs(pair.full).max() < 3.0 for part in learned.parts for pair in part.pairs)
    single = learn(columns, rows, classes, FitOptions(parts=1))
    assert fresh_loss(learned, test, fresh) < fresh_loss(single, test, fresh)


def test_what_is_printed_is_about_what_fresh_rows_say():
    printed, found = [], []
    for seed in (0, 2, 4):
        (table, y), (test, fresh) = weak_pairs(1200, seed)
        columns, rows, classes = cells_of(table, y)
        learned = learn(columns, rows, classes)
        own = learned.log_proba[np.arange(len(learned.tested)), rows.y[learned.tested]]
        printed.append(-np.mean(own + learned.gained))
        found.append(fresh_loss(learned, test, fresh))
        assert (learned.gained >= -1e-9).all()
        assert len(learned.tested) == len(set(learned.tested.tolist())) == len(y)
    assert np.mean(printed) == pytest.approx(np.mean(found), rel=0.12)
    assert printed == pytest.approx(found, rel=0.3)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_scores_are_those_of_the_mean_as_if_no_fit_had_learned_the_row(n_classes):
    y, part = np.array([0, 1, 1, 0], dtype=np.int32), np.array([0, 1, 2, 0])
    odds = np.array([-3.0, 0.5, -60.0, -900.0])  # e⁻⁶⁰ is lost where it is taken from 1

    def log_proba(odds):  # of each row's own class against as many others, equally probable
        scores = np.repeat(odds[:, None] - np.log(n_classes - 1), n_classes, axis=1)
        scores[np.arange(len(y)), y] = 0.0
        return log_normalised(scores)

    alike, surer = log_proba(odds), log_proba(odds - 2.0)
    own = -np.logaddexp(0.0, odds)
    own[3] = -average.MIN_SCORE
    same = average._log_own(y, [alike] * 4, part, 0.5)
    assert same == pytest.approx(own, rel=1e-9, abs=0.0)
    found = average._log_own(y, [alike, alike, alike, surer], part, 0.5)
    expected = -np.logaddexp(0.0, odds - 1.0)
    assert found[:3] == pytest.approx(expected[:3], rel=1e-9, abs=0.0)
    one = average._log_own(y, [alike, surer], np.zeros(4, np.intp), 0.5)
    assert one == pytest.approx(own, rel=1e-9, abs=0.0)  # no other fit has learned the rows


def test_a_fit_that_rounds_a_probability_to_1_is_no_surer_than_its_scores_say():
    """Of all rows, learned by parts that are e⁻⁴⁰ from sure and a whole that is e⁻³⁰ from it."""
    y, part = np.zeros(3, dtype=np.int32), np.arange(3)
    sure, less = (log_normalised(np.array([[0.0, odds]] * 3)) for odds in (-40.0, -30.0))
    assert (sure[:, 0] == 0.0).all()
    found = average._log_own(y, [sure, sure, sure, less], part, 0.5)
    assert np.log(-found) == pytest.approx(np.full(3, -35.0), abs=1e-6)


def test_within_one_thread_there_is_one():
    before = get_num_threads()
    set_num_threads(3)
    try:
        with on_one_thread():
            with on_one_thread():
                assert get_num_threads() == 1
            assert in_threads(lambda _: threading.get_ident(), range(4)) == 4 * [
                threading.get_ident()
            ]
        assert get_num_threads() == 3
    finally:
        set_num_threads(before)


def test_no_more_pairs_than_asked_for_in_all_parts_together():
    (table, y), _ = weak_pairs(600)
    for most in (0, 1, 3):
        learned = learn(*cells_of(table, y), FitOptions(interactions=most))
        assert len({frozenset(p.columns) for p in learned.pairs}) == len(learned.pairs) <= most


@pytest.mark.parametrize("parts", [1, 2, 3, 5, 50])
def test_any_number_of_parts(parts):
    learned = learn(*cells_of(*mixed(120)), FitOptions(parts=parts))
    smooth = 0.0 if learned.smooth is None else learned.smooth.share
    assert learned.shares.sum() + smooth == pytest.approx(1.0)
    assert len(learned.parts) in (1, parts + 1)


def test_all_pairs_that_gain_are_not_tried_where_they_cannot_win(monkeypatch):
    """A model that is less than their price in nats away from telling every row has no use for
    them."""
    tried = []
    monkeypatch.setattr(average, "with_all_pairs", lambda before: tried.append(before) or [])
    rng = np.random.default_rng(0)
    for least, table in ((False, {"x": rng.normal(size=300)}), (True, {"x": np.arange(300) % 2})):
        y = (table["x"] > 0.5).astype(int) if least else rng.integers(0, 2, 300)
        other = rng.choice(["a", "b", "c"], 300)
        learn(*cells_of(pd.DataFrame(table | {"other": other, "more": other[::-1]}), y))
        assert bool(tried) is not least
        tried.clear()


def test_ridges_end_where_hardly_anything_is_left_to_gain(monkeypatch):
    followed, follow = [], RidgePath.follow
    monkeypatch.setattr(
        RidgePath,
        "follow",
        lambda path, ridge: followed.append(ridge) or follow(path, ridge),
    )
    rng = np.random.default_rng(0)
    x, other = np.arange(3000) % 2, rng.choice(["a", "b"], 3000)
    for noise, some in ((0.0, False), (0.3, True)):
        y = np.where(rng.random(3000) < noise, 1 - x, x)
        learn(*cells_of(pd.DataFrame({"x": x, "other": other}), y))
        assert bool(followed) is some
        followed.clear()


def test_corrections_gain_more_than_a_standard_error(monkeypatch):
    """A gain of a nat over few rows is chance as often as not, and costs more where it is."""
    found, correct = [], average.Way.correct

    def row_losses(way):
        return -way.judge.weight * way.log_proba[np.arange(len(way.judge.y)), way.judge.y]

    def noted(way, *, thoroughly):
        before, loss = row_losses(way), way.verdict.loss
        correct(way, thoroughly=thoroughly)
        change = row_losses(way) - before
        if way.ridges:
            found.append((loss - way.verdict.loss) / (change.std() * len(change) ** 0.5))

    monkeypatch.setattr(average.Way, "correct", noted)
    for seed in (2, 6):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 150)
        x = rng.normal(size=(150, 3)) + y[:, None]
        learn(*cells_of(pd.DataFrame(x, columns=list("abc")), y))
    assert found
    assert min(found) > 1.0


def test_few_columns_whose_rows_are_alike_are_believed():
    """Rows of few columns are equal by chance: parts that held them together would be judged by
    rows whose like they have too few of."""
    rng = np.random.default_rng(0)
    level = rng.integers(0, 100, 6000)
    y = (rng.random(6000) < np.where(level < 50, 0.1, 0.9)).astype(int)
    table = pd.DataFrame({"level": [f"v{v}" for v in level]})
    learned = learn(*cells_of(table[:3000], y[:3000]))
    entropy = -0.1 * np.log(0.1) - 0.9 * np.log(0.9)
    assert fresh_loss(learned, table[3000:], y[3000:]) < entropy + 0.04


def test_of_many_rows_one_part_is_left_out(monkeypatch):
    monkeypatch.setattr("tallybayes.weighted.average.MAX_ROWS", 1000)
    columns, rows, classes = cells_of(*mixed(1500))
    learned = learn(columns, rows, classes)
    assert len(learned.parts) == 2
    assert len(learned.tested) == pytest.approx(300, abs=5)
    assert len(learn(columns, rows, classes, FitOptions(parts=3)).parts) == 4
    test, fresh = mixed(1500, seed=2)
    assert fresh_loss(learned, test, fresh) == pytest.approx(
        fresh_loss(learn(columns, rows, classes, FitOptions(parts=1)), test, fresh), abs=0.03
    )


def rule(noise):
    """All combinations of six columns of three levels, whose label follows a rule, and columns of
    noise; 500 rows, and the others."""
    level = np.array(list(product(range(3), repeat=6)))
    a, b, c, d, e, f = level.T
    y = ((a + b > 1) & (c * d > 0)).astype(int) + ((e > 0) & (f > 0) & (a > 0))
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    table = pd.DataFrame({f"c{j}": [f"v{v}" for v in level[order, j]] for j in range(6)})
    for j in range(noise):
        table[f"noise{j}"] = rng.normal(size=len(y))
    y = y[order]
    return (table[:500], y[:500]), (table[500:], y[500:])


@pytest.mark.parametrize("n", [1, 2])
def test_a_class_of_one_row_or_two_is_not_certain_for_others(n):
    """A part without a row of the class, or with one that leave-one-out takes out, would fit
    weights to a class without counts, and its tables would then be given those of all rows."""
    (table, y), (test, fresh) = rule(0)
    y = y.copy()
    y[:n] = 3
    columns, rows, classes = cells_of(table, y)
    learned = learn(columns, rows, classes)
    p = proba(learned, codes_in(columns, test))
    assert (p[:, 3] < 0.5).all()
    assert learned.tested.tolist() == list(range(len(y)))
    own = learned.log_proba[np.arange(len(y)), rows.y]
    prior, share = classes / classes.sum(), prior_share(len(y))  # mixed in, as the model does
    printed = (1.0 - share) * np.exp(own + learned.gained) + share * prior[rows.y]
    of_fresh = loss((1.0 - share) * p + share * prior, fresh)
    assert -np.log(printed).mean() == pytest.approx(of_fresh, rel=0.35)
    assert own[rows.y == 3].max() < np.log(0.5)


@pytest.mark.parametrize(("rows_of_class", "parts"), [(1, None), (2, None), (2, 2), (3, 2)])
def test_where_no_class_has_rows_to_spare_each_row_is_predicted(rows_of_class, parts):
    y = np.repeat(np.arange(24 // rows_of_class), rows_of_class)
    table = pd.DataFrame({"x": np.arange(24.0), "s": [f"v{k}" for k in y]})
    columns, rows, classes = cells_of(table, y)
    learned = learn(columns, rows, classes, FitOptions(parts=parts))
    assert learned.tested.tolist() == list(range(24))
    assert np.isfinite(learned.log_proba).all()


def used(learned):
    """The columns that have a weight or a pair in any part."""
    names = [column.name for column in learned.columns]
    weights, d = learned.weights.terms, len(names)
    of_pairs = {names[j] for pair in learned.pairs for j in pair.columns}
    return {name for name, w in zip(names, weights[:d], strict=True) if w > 0.0} | of_pairs


@pytest.mark.parametrize("noise", [1, 3])
def test_noise_beside_a_rule_is_not_used(noise, monkeypatch):
    """Pairs with noise, and the corrections of its cells, would cost more than what is left. With
    three columns together so little is left that rows left out cannot tell."""
    monkeypatch.setattr(search, "MAX_ROWS_OF_TRIPLES", 0)
    (table, y), (test, fresh) = rule(noise)
    learned = learn(*cells_of(table, y))
    assert used(learned) == {f"c{j}" for j in range(6)}
    monkeypatch.setattr(average, "_without_noise", lambda search, found: found)
    assert fresh_loss(learned, test, fresh) < 0.8 * fresh_loss(
        learn(*cells_of(table, y)), test, fresh
    )


def test_columns_that_say_little_alone_stay_where_they_say_much_together():
    rng = np.random.default_rng(0)
    yes = rng.integers(0, 2, (400, 4))
    table = pd.DataFrame(np.where(yes, "t", "f"), columns=list("abcd"))
    y = (yes[:, 0] ^ yes[:, 1]) + 2 * (yes[:, 2] ^ yes[:, 3])
    assert used(learn(*cells_of(table, y))) == set("abcd")


def test_the_terms_of_all_columns_make_the_scores():
    """Without pairs a score is the offset, and what each column and its corrections add."""
    table, y = mixed(300)
    columns, rows, classes = cells_of(table, y)
    rows, _ = canonical(rows, columns)
    kept = rows.folds(3, 1) != 0
    part = Part(columns, rows, kept, classes / classes.sum(), FitOptions(interactions=0))
    fit = part.fit()
    path = fit.path()
    path.follow(1.0)
    for one in (fit, fit.corrected(path)):
        scores = one.scores_of(part.tested)
        said = sum(scores - one.scores_without(j) for j in range(len(columns)))
        centred = scores - one.learned.offset - said
        np.testing.assert_allclose(centred, 0.0, atol=1e-9)
    assert (np.abs(fit.corrected(path).scores_of(part.tested) - scores) < 1e-12).all()


def test_values_that_were_given_up_are_made_again():
    """A fit frees what terms say of the rows; the next one of the same part needs the same."""
    (table, y), _ = weak_pairs(600)
    columns, rows, classes = cells_of(table, y)
    rows, _ = canonical(rows, columns)
    p = classes / classes.sum()
    rounds = Part(columns, rows, rows.folds(3, 1) != 0, p, FitOptions()).rounds
    rounds.add_pairs()
    before = rounds.terms
    assert len(before) > len(columns)
    rounds.give_up_values()
    assert rounds.terms is not before
    assert rounds.terms.pair == before.pair
    np.testing.assert_array_equal(rounds.terms.values, before.values)


def test_a_pair_is_a_term_of_both_its_columns():
    (table, _), _ = weak_pairs(400)
    columns, rows, classes = cells_of(table[["c0", "c1"]], (table["c0"] == table["c1"]).astype(int))
    rows, _ = canonical(rows, columns)
    part = Part(columns, rows, rows.folds(3, 1) != 0, classes / classes.sum(), FitOptions())
    fit = part.fit()
    assert len(fit.learned.pairs) == 1
    without = fit.scores_without(0)
    assert np.ptp(without - without.mean(axis=1, keepdims=True), axis=0).max() < 0.5
    assert np.ptp(fit.scores_of(part.tested), axis=0).max() > 2.0
