"""Fitting and predicting at once from Python threads, after a fork, and in spawned processes."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

import tallybayes
from tallybayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB

N, D, K = 40_000, 30, 5  # enough rows for several kernel threads a call


def rows(form):
    rng = np.random.default_rng(0)
    y = rng.integers(0, K, size=N)
    x = rng.normal(size=(N, D)) + y[:, None]
    if form == "reals":
        return x, y
    x = np.floor(np.abs(x))
    return (sparse.csr_array(x) if form == "csr" else x), y


CASES = {
    "GaussianNB": (GaussianNB, "reals"),
    "CategoricalNB": (CategoricalNB, "counts"),
    "MultinomialNB": (MultinomialNB, "counts"),
    "MultinomialNB, CSR": (MultinomialNB, "csr"),
    "ComplementNB": (ComplementNB, "counts"),
    "BernoulliNB, CSR": (BernoulliNB, "csr"),
}


def outputs(model, x):
    tally = [array.tobytes() for array in model.tally_.arrays().values()]
    return [*tally, model.predict(x).tobytes(), model.predict_proba(x).tobytes()]


@pytest.mark.parametrize("case", CASES)
def test_python_threads_that_fit_at_once_get_what_one_gets(case):
    estimator, form = CASES[case]
    x, y = rows(form)
    tallybayes.set_num_threads(3)
    alone = outputs(estimator().fit(x, y), x)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda _: outputs(estimator().fit(x, y), x), range(6)))
    assert all(found == alone for found in together)


@pytest.mark.parametrize("case", CASES)
def test_python_threads_that_ask_one_fresh_model_get_what_one_gets(case):
    estimator, form = CASES[case]
    x, y = rows(form)
    alone = estimator().fit(x, y).predict_proba(x).tobytes()
    for _ in range(3):  # what is read from a tally on first use is read by all at once
        model = estimator().fit(x, y)
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _, m=model: m.predict_proba(x).tobytes(), range(6)))
        assert all(one == alone for one in found)


FORK = """
import os
import numpy as np
import tallybayes
from tallybayes import GaussianNB

rng = np.random.default_rng(0)
x, y = rng.normal(size=(60_000, 20)), rng.integers(0, 4, size=60_000)
tallybayes.set_num_threads(4)
model = GaussianNB().fit(x, y)  # the parent has used threads
expected = model.predict_proba(x).tobytes()
for _ in range(3):
    child = os.fork()
    if not child:
        right = model.predict_proba(x).tobytes() == expected
        right &= GaussianNB().fit(x, y).predict_proba(x).tobytes() == expected
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "the child predicts otherwise"
assert model.predict_proba(x).tobytes() == expected
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_fits_and_predicts_after_its_parent_used_threads():
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error", "-c", FORK],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


SPAWN = """
import multiprocessing
import pickle
import numpy as np
import tallybayes
from tallybayes import GaussianNB


def predicted(model):
    x = np.random.default_rng(0).normal(size=(60_000, 20))
    tallybayes.set_num_threads(3)
    return model.predict_proba(x).tobytes()


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60_000, 20)), rng.integers(0, 4, size=60_000)
    model = GaussianNB().fit(x, y)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.map(predicted, [model] * 2)
    assert found == [predicted(model)] * 2, "a spawned process predicts otherwise"
"""


def test_spawned_processes_predict_the_same(tmp_path):
    script = tmp_path / "spawn.py"
    script.write_text(SPAWN)
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error", script], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
