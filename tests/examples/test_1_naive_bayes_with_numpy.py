"""The numbers and pictures of examples/1_naive_bayes_with_numpy.py."""

import subprocess
import sys

import numpy as np
import pytest

from examples.conftest import EXAMPLES

NUMBER = 1


def test_the_articles_accuracy(ran):
    assert ran["accuracy"] == 68 / 75
    assert f"{ran['accuracy']:.1f}" == "0.9"
    assert f"{ran['accuracy']:.4f}" == "0.9067"


def test_equations_3_and_6(ran):
    model, flower = ran["model"], ran["flower"]
    np.testing.assert_allclose(ran["posterior"], model.predict_proba(flower)[0], rtol=1e-12)
    assert ran["evidence"] == pytest.approx(np.exp(model.score_samples(flower)[0]), rel=1e-12)
    counts = np.bincount(ran["y_train"])
    np.testing.assert_allclose(ran["prior"], (counts + 1) / 78, rtol=1e-14)


def test_three_ways_give_one_answer(ran):
    assert set(ran["answers"]) == {
        "lookup table",
        "incremental, row by row",
        "lazy, one SQL statement",
    }
    for probabilities in ran["answers"].values():
        np.testing.assert_allclose(probabilities, ran["answers"]["lookup table"], rtol=1e-12)
        assert (probabilities.argmax(axis=1) != ran["y_test"]).sum() == 7


def test_where_the_product_underflows(ran):
    """From the logarithms: half of the least float64 rounds to 0."""
    logs = np.cumsum(np.log(np.tile(ran["each"], (250, 1, 1))), axis=0)
    first = int((logs < np.log(5e-324)).any(axis=(1, 2)).argmax()) + 1
    assert abs(ran["first_zero"] - first) <= 4
    assert ran["first_zero"] < ran["all_zero"] < 1000
    assert ran["wide"].score(ran["wide_test"], ran["y_test"]) == ran["accuracy"]
    assert np.isfinite(ran["log_joint"]).all()


def test_a_true_zero(ran):
    assert (ran["zeros"], ran["ruled_out"]) == (75, 40)
    assert ran["told"][0].category.__name__ == "RuledOutWarning"


def test_fitting_twice(ran):
    counts = ran["n"]
    assert ran["once"].sum() == pytest.approx(1.0)
    assert ran["twice_in_place"].sum() == pytest.approx(
        (1 + counts.sum() + len(counts)) / (2 * counts.sum() + len(counts))
    )
    expected = (2 * counts + 1) / (2 * counts.sum() + len(counts))
    np.testing.assert_allclose(ran["twice_right"], expected, rtol=1e-13)
    assert ran["again"].tally_ == ran["model"].tally_


def test_the_errors(ran):
    assert set(ran["messages"]) == {
        "lengths differ",
        "never declared, training",
        "never declared, asked",
    }
    assert "[75, 70]" in ran["messages"]["lengths differ"]
    assert "9.9" in ran["messages"]["never declared, asked"]


def test_levels_of_the_training_rows(ran):
    assert ran["new"] == 31
    assert ran["honest"] == {"smooth": 68 / 75, "ignore": 68 / 75}
    np.testing.assert_allclose(ran["counted"], ran["prior"], rtol=1e-14)


def test_the_pictures(ran):
    assert sorted(p.name for p in ran["pictures"].iterdir()) == [
        "1_lookup_table.png",
        "1_underflow.png",
    ]
    sums, product, floor = ran["underflow_figure"].axes[0].lines
    np.testing.assert_allclose(sums.get_ydata(), ran["logarithms"])
    drawn = np.asarray(product.get_ydata())
    assert np.isfinite(drawn).all()
    assert len(drawn) == (ran["product"] > 0).sum() < 1000
    np.testing.assert_allclose(drawn[:150], ran["logarithms"][:150], rtol=1e-12)
    assert floor.get_ydata()[0] == np.log10(5e-324)
    (image,) = ran["lookup_figure"].axes[0].images
    np.testing.assert_allclose(image.get_array(), np.exp(ran["model"].feature_log_prob_[2]))


def test_without_duckdb_the_lazy_way_is_left_out(tmp_path):
    (script,) = EXAMPLES.glob("1_*.py")
    program = f"""
import runpy, sys
sys.modules["duckdb"] = None
sys.path.insert(0, {str(EXAMPLES)!r})
sys.argv = ["1", {str(tmp_path)!r}]
print(list(runpy.run_path({str(script)!r})["answers"]))
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "['lookup table', 'incremental, row by row']"
    assert "lazy learning is left out: pip install" in done.stdout
