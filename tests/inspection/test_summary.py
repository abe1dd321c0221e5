"""summary(): every model in words, by the figures that its attributes give."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from tallybayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    Hierarchy,
    LazyNaiveBayes,
    MultiLabel,
    MultinomialNB,
    NaiveBayes,
    TextNB,
    WeightedNaiveBayes,
)

rng = np.random.default_rng(0)
COUNTS = rng.poisson(2.0, (80, 4)).astype(float)
OWN = np.where(COUNTS[:, 1] + rng.integers(0, 2, 80) > 2, "much", "little")
TABLE = pd.DataFrame(COUNTS[:, :2], columns=["noise", "signal"]).assign(
    sort=np.where(OWN == "much", "a", "b"), id=[f"x{i:03}" for i in range(80)]
)
TEXTS, LABELS = ["good day sun", "bad day rain"] * 8, ["fair", "foul"] * 8
ARRAYS = [GaussianNB(), MultinomialNB(), ComplementNB(), BernoulliNB(binarize=2.0), CategoricalNB()]


def places(summary):
    """The names of the entries, in order."""
    return [line.split(". ")[1].split(":")[0] for line in summary.splitlines() if line[0] == " "]


def test_columns_of_a_table_come_by_their_importance():
    model = NaiveBayes({"id": None}).fit(TABLE, OWN)
    summary, order = model.summary(), np.argsort(-model.feature_importances_)
    assert places(summary) == model.feature_names_in_[order][:3].tolist()
    assert f"1. sort: {model.feature_importances_.max():.2f}. strings: categorical" in summary
    share = (OWN == "much").mean()
    assert summary.startswith("2 classes of 80 rows: ")
    assert f"much {share:.1%}" in summary
    assert "Predicted from 3 of 4 columns." in summary
    assert "left out: id (" in summary
    assert "… and 2 more." in model.summary(1)


@pytest.mark.parametrize("model", ARRAYS, ids=lambda model: type(model).__name__)
def test_columns_of_an_array_come_by_how_far_they_separate_the_classes(model):
    summary = model.fit(COUNTS, OWN).summary()
    assert places(summary)[0] == "x1"
    assert sorted(places(summary)) == ["x0", "x1", "x2", "x3"]


def test_levels_are_measured_as_a_table_measures_them_but_for_leaving_rows_out():
    model = CategoricalNB(alpha=1e-9).fit(COUNTS[:, :1], OWN)
    apart = np.ptp(np.clip(model.feature_log_prob_[0], -700.0, 700.0), axis=0)
    expected = apart[COUNTS[:, 0].astype(int)].mean()
    assert f"x0: {expected:.2f}" in model.summary()


def test_names_of_columns_are_shown():
    model = GaussianNB().fit(TABLE[["noise", "signal"]], OWN)
    assert places(model.summary()) == ["signal", "noise"]


@pytest.mark.parametrize("kind", ["weighted", "multinomial"])
def test_text_has_its_figures_and_the_terms_of_each_class(kind):
    model = TextNB(model=kind).fit(TEXTS, LABELS)
    summary = model.summary()
    assert "2 classes of 16 documents: fair 50.0%, foul 50.0%." in summary
    assert f"log-loss {model.log_loss_:.4f}" in summary
    best, nats = model.top_terms("foul", 1)[0]
    assert f"foul: {best} {nats:+.2f}" in summary
    hashed = TextNB(model=kind, n_features=64).fit(TEXTS, LABELS).summary()
    assert "buckets of hashed terms" in hashed
    assert not places(hashed)


def test_what_is_stale_is_said():
    model = NaiveBayes(calibrate="temperature").fit(TABLE[["sort"]], OWN)
    assert "calibrated" in model.summary()
    assert "recalibrate" not in model.summary()
    model.partial_fit(TABLE[["sort"]][:1], OWN[:1])
    assert "recalibrate(X, y)" in model.summary()


def test_labels_come_by_their_rows_with_their_thresholds():
    rows = TABLE[["noise", "signal"]]
    lists = [["many"] if own == "much" else ["few", "quiet"] for own in OWN]
    model = MultiLabel(NaiveBayes(), threshold="f1").fit(rows, lists)
    summary = model.summary()
    assert f"3 labels, 80 rows, {np.mean([len(labels) for labels in lists]):.2f} labels" in summary
    assert f"predicted above {model.thresholds_[0]:.1%}" in summary
    tree = Hierarchy(GaussianNB()).fit(rows, [f"all/{own}" for own in OWN])
    assert "Hierarchy of GaussianNB: 2 labels, 80 rows" in tree.summary()
    assert "above" not in tree.summary()


def test_costs_name_their_decisions():
    model = NaiveBayes().fit(TABLE[["sort"]], OWN)
    costs = {"much": {"act": 0, "wait": 3}, "little": {"act": 1, "wait": 0}}
    assert model.with_costs(costs).summary() == f"{model.summary()}\nDecides by costs: act, wait."


def test_a_lazy_model_tells_of_the_last_question():
    model = LazyNaiveBayes(TABLE[["noise", "sort"]].assign(own=OWN), "own")
    with pytest.raises(AttributeError, match="none has been asked"):
        model.summary()
    model.predict([{"sort": "a"}])
    assert "2 classes of 80 rows" in model.summary()
    assert places(model.summary())[-1] == "sort"


def test_one_class_and_no_rows():
    one = TABLE[["sort"]]
    for model in (NaiveBayes(), WeightedNaiveBayes()):
        model.fit(one, ["same"] * 80)
        assert "1 class of 80 rows: same 100.0%." in model.summary()
    with pytest.raises(ValueError, match="holds no rows"):
        NaiveBayes().fit(one, OWN).forget(one, OWN).summary()
    for model in (NaiveBayes(), GaussianNB(), TextNB(), MultiLabel(NaiveBayes())):
        with pytest.raises(NotFittedError):
            model.summary()
