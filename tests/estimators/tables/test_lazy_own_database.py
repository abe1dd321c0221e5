"""The database in memory in which LazyNaiveBayes counts frames and files."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from tallybayes import LazyNaiveBayes

duckdb = pytest.importorskip("duckdb")

ROW = [{"a": "u", "b": 1.0}]


def frame(seed, n=200):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    a = np.array(list("uvw"))[np.minimum(rng.poisson(y), 2)]
    return pd.DataFrame({"a": a, "b": rng.normal(y), "y": np.array(["no", "yes"])[y]})


def expected(rows):
    """By a source of its own, which nothing was asked before."""
    return LazyNaiveBayes(rows, "y").predict_proba(ROW)


def test_it_is_opened_once(monkeypatch):
    opened = []
    connect = duckdb.connect
    monkeypatch.setattr(duckdb, "connect", lambda: opened.append(1) or connect())
    lazy = LazyNaiveBayes(frame(0), "y")
    for _ in range(3):
        lazy.predict_proba(ROW)
    assert len(opened) == 1


def test_rows_are_those_of_the_source_now(tmp_path):
    path = tmp_path / "rows.csv"
    lazy = None
    for seed in (1, 2):
        frame(seed).to_csv(path, index=False)
        lazy = lazy or LazyNaiveBayes(path, "y")
        np.testing.assert_allclose(lazy.predict_proba(ROW), expected(pd.read_csv(path)))
    path.unlink()
    with pytest.raises(ValueError, match=r"rows\.csv"):
        lazy.predict(ROW)


def test_several_threads_ask_several_sources():
    lazies = [LazyNaiveBayes(frame(seed), "y") for seed in range(3)]
    right = [expected(frame(seed)) for seed in range(3)]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda i: lazies[i % 3].predict_proba(ROW), range(60)))
    for i, proba in enumerate(found):
        np.testing.assert_allclose(proba, right[i % 3])


def test_a_refused_question_leaves_it_usable():
    lazy = LazyNaiveBayes(frame(4), "y")
    with pytest.raises(ValueError, match="DuckDB cannot count"):
        lazy.predict(ROW, where="nowhere > 1")
    np.testing.assert_allclose(lazy.predict_proba(ROW), expected(frame(4)))


FORKED = """
import os, sys
import pandas as pd
from tallybayes import LazyNaiveBayes

rows = pd.DataFrame({"a": ["u", "v", "u", "w"] * 50, "y": ["no", "yes", "no", "no"] * 50})
lazy = LazyNaiveBayes(rows, "y")
before = lazy.predict_proba([{"a": "u"}])
child = os.fork()
if not child:
    same = (lazy.predict_proba([{"a": "u"}]) == before).all()
    os._exit(0 if same else 1)
_, status = os.waitpid(child, 0)
assert (lazy.predict_proba([{"a": "u"}]) == before).all()
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no os.fork")
def test_a_child_of_a_fork_opens_its_own():
    done = subprocess.run([sys.executable, "-c", FORKED], timeout=60, capture_output=True)
    assert done.returncode == 0, done.stderr
