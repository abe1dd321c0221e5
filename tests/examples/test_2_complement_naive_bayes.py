"""The numbers and the picture of examples/2_complement_naive_bayes.py."""

import numpy as np
import pytest

NUMBER = 2


def test_the_six_steps(ran):
    assert ran["model"].feature_all_.tolist() == [35, 41, 47, 53]
    assert ran["sums"].tolist() == [[14, 18, 22, 26], [21, 23, 25, 27]]
    assert ran["complement"].tolist() == [[22, 24, 26, 28], [15, 19, 23, 27]]
    np.testing.assert_allclose(ran["share"][0], [0.22, 0.24, 0.26, 0.28], rtol=1e-15)
    np.testing.assert_allclose(-ran["log_share"], ran["weights"], rtol=1e-14)
    printed = [[f"{weight:.5f}" for weight in row] for row in ran["weights"]]
    assert printed == ran["printed"]


def test_the_scores_and_the_label(ran):
    assert [f"{score:.4f}" for score in ran["scores"]] == ["41.3079", "41.3186"]
    assert ran["label"] == 1


def test_why_the_article_expected_the_other(ran):
    assert ran["asked"][0] in ran["X"][ran["y"] == 0].tolist()
    first, second = ran["weights"].sum(axis=1)
    assert second > first
    assert (ran["normed_label"], ran["multinomial_label"]) == (0, 0)


def test_multinomial_fails_the_small_class_and_complement_does_not(ran):
    found = ran["found"]
    assert found["multinomial"][0] < 0.3 < 0.7 < found["complement"][0]
    assert found["complement"].mean() > found["multinomial"].mean() + 0.1
    assert ran["same"]
    assert found["complement"].tolist() == found["multinomial, uniform prior"].tolist()


def test_the_corrections_one_after_the_other(ran):
    mean = {name: recall.mean() for name, recall in ran["steps"].items()}
    assert mean["+ log(1 + f)"] > mean["complement"] + 0.1  # its reason is in the data
    assert mean["+ rare words"] < mean["+ log(1 + f)"]  # its reason is not
    assert list(mean) == [
        "multinomial",
        "complement",
        "+ log(1 + f)",
        "+ rare words",
        "+ equal length",
        "+ norm=True",
    ]


def test_the_picture(ran):
    assert [p.name for p in ran["pictures"].iterdir()] == ["2_complement.png"]
    weights, recall = ran["figure"].axes
    heights = [[bar.get_height() for bar in bars] for bars in weights.containers]
    np.testing.assert_allclose(heights, ran["weights"])
    heights = [[bar.get_height() for bar in bars] for bars in recall.containers]
    assert heights == pytest.approx(np.array(list(ran["found"].values())).T)
    assert [text.get_text() for text in weights.get_legend().get_texts()] == ["class 0", "class 1"]
