"""Several threads learn and read one model: no batch is lost, and no reader sees half of one."""

from __future__ import annotations

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from tallybayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    WeightedNaiveBayes,
)
from tallybayes.estimators.base import LOCK

ARRAYS = [GaussianNB, MultinomialNB, ComplementNB, BernoulliNB, CategoricalNB]
TABLES = [NaiveBayes, WeightedNaiveBayes]

pytestmark = pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")


def batch(n, seed, table=False):
    """As many rows of one class as of the other, and the same rows in both."""
    half = np.random.default_rng(seed).integers(0, 3, (n // 2, 4))
    x, y = np.repeat(half, 2, axis=0), np.tile([0, 1], n // 2)
    if not table:
        return x, y
    return pd.DataFrame({"a": x[:, 0], "b": np.array(list("uvw"))[x[:, 1]]}), y


@pytest.mark.parametrize("NB", [*ARRAYS, *TABLES])
def test_batches_from_several_threads_are_all_counted(NB):
    """Origin: partial_fit from two threads lost batches without a word."""
    batches = [batch(200, seed, NB in TABLES) for seed in range(24)]
    model = NB().partial_fit(*batches[0], classes=[0, 1])
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda b: model.partial_fit(*b), batches[1:]))
    assert model.class_count_.tolist() == [2400.0, 2400.0]
    alone = NB().partial_fit(*batches[0], classes=[0, 1])
    for more in batches[1:]:
        alone.partial_fit(*more)
    x = batches[0][0]
    np.testing.assert_allclose(model.predict_proba(x), alone.predict_proba(x), atol=1e-9)


@pytest.mark.parametrize("NB", [*ARRAYS, *TABLES])
def test_batches_are_forgotten_by_several_threads(NB):
    batches = [batch(200, seed, NB in TABLES) for seed in range(8)]
    model = NB()
    for b in batches:
        model.partial_fit(*b, classes=[0, 1])
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda b: model.forget(*b), batches[1:]))
    assert model.class_count_.tolist() == [100.0, 100.0]


def test_rows_one_by_one_from_several_threads_are_all_counted():
    model = NaiveBayes()
    rows = [({"a": i % 7, "b": "uvw"[i % 3]}, i % 2) for i in range(4_000)]

    def learn(part):
        for row, label in part:
            model.learn_one(row, label)
            if row["a"] == 6 and label:
                model.predict_proba_one(row)  # a reader merges the rows that wait

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(learn, [rows[i::4] for i in range(4)]))
    assert model.class_count_.sum() == 4_000.0


@pytest.mark.parametrize("NB", [*ARRAYS, NaiveBayes])
def test_a_reader_sees_whole_batches(NB):
    """A batch has each row in both classes: whatever was counted, no row distinguishes them."""
    x, y = batch(2_000, 0, NB in TABLES)
    model = NB().partial_fit(x, y, classes=[0, 1])
    done, seen = threading.Event(), []

    def read():
        while not done.is_set():
            seen.append(np.abs(model.predict_proba(x[:50]) - 0.5).max())

    reader = threading.Thread(target=read)
    reader.start()
    for seed in range(60):
        model.partial_fit(*batch(200 if seed % 2 else 20_000, seed, NB in TABLES))
    done.set()
    reader.join()
    assert max(seen) < 1e-9


@pytest.mark.parametrize("model", [NaiveBayes(calibrate="temperature"), WeightedNaiveBayes()])
def test_a_reader_of_a_model_that_is_fitted_again_sees_the_old_or_the_new(model):
    X = pd.DataFrame({"a": np.arange(400) % 20, "b": np.array(list("uvwx"))[np.arange(400) % 4]})
    y = (X.a > 9).to_numpy()
    either = [model.fit(X, y).predict_proba(X[:20]), model.fit(X, ~y).predict_proba(X[:20])]
    done, seen = threading.Event(), []

    def read():
        while not done.is_set():
            seen.append(model.predict_proba(X[:20]))

    reader = threading.Thread(target=read)
    reader.start()
    for i in range(6):
        model.fit(X, y if i % 2 else ~y)
    done.set()
    reader.join()
    assert all(any(np.allclose(p, q, atol=1e-12) for q in either) for p in seen)


def test_a_refused_batch_leaves_no_trace_for_a_reader():
    x, y = batch(200, 0)
    model = GaussianNB().fit(x, y)
    held = dict(vars(model))
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(x[:, :2], y)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((3, 2), np.nan), [0, 1, 0])
    assert {**vars(model), LOCK: None} == {**held, LOCK: None}


@pytest.mark.parametrize("NB", [GaussianNB, NaiveBayes])
def test_models_that_merge_each_other_at_once_do_not_wait_for_ever(NB):
    x, y = batch(200, 0)
    one, two = NB().fit(x, y), NB().fit(x, y)
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(one.merge, two), pool.submit(two.merge, one)]
        for job in jobs:
            job.result(timeout=60)
    assert {one.class_count_[0], two.class_count_[0]} <= {200.0, 300.0}


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, clone, lambda m: pickle.loads(pickle.dumps(m))]
)
@pytest.mark.parametrize("NB", [GaussianNB, NaiveBayes])
def test_a_copy_has_a_lock_of_its_own(NB, again):
    model = NB().fit(*batch(20, 0))
    twin = again(model)
    assert LOCK not in vars(twin)
    twin.fit(*batch(20, 1))
    assert vars(twin)[LOCK] is not vars(model)[LOCK]
