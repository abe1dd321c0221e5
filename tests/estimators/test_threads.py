"""Several threads learn and read one model, and may be forked meanwhile."""

import copy
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from estimators.cases import ALL as ARRAYS
from tallybayes import (
    GaussianNB,
    NaiveBayes,
    WeightedNaiveBayes,
)
from tallybayes.estimators.base import LOCK

TABLES = [NaiveBayes, WeightedNaiveBayes]

of_few_rows = pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")


def batch(n, seed, table=False):
    """As many rows of one class as of the other, and the same rows in both."""
    half = np.random.default_rng(seed).integers(0, 3, (n // 2, 4))
    x, y = np.repeat(half, 2, axis=0), np.tile([0, 1], n // 2)
    if not table:
        return x, y
    return pd.DataFrame({"a": x[:, 0], "b": np.array(list("uvw"))[x[:, 1]]}), y


@of_few_rows
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


@of_few_rows
@pytest.mark.parametrize("NB", [*ARRAYS, *TABLES])
def test_batches_are_forgotten_by_several_threads(NB):
    batches = [batch(200, seed, NB in TABLES) for seed in range(8)]
    model = NB()
    for b in batches:
        model.partial_fit(*b, classes=[0, 1])
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda b: model.forget(*b), batches[1:]))
    assert model.class_count_.tolist() == [100.0, 100.0]


@of_few_rows
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


@of_few_rows
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


@of_few_rows
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


@of_few_rows
def test_a_refused_batch_leaves_no_trace_for_a_reader():
    x, y = batch(200, 0)
    model = GaussianNB().fit(x, y)
    held = dict(vars(model))
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(x[:, :2], y)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((3, 2), np.nan), [0, 1, 0])
    assert {**vars(model), LOCK: None} == {**held, LOCK: None}


@of_few_rows
@pytest.mark.parametrize("NB", [GaussianNB, NaiveBayes])
def test_models_that_merge_each_other_at_once_do_not_wait_for_ever(NB):
    x, y = batch(200, 0)
    one, two = NB().fit(x, y), NB().fit(x, y)
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(one.merge, two), pool.submit(two.merge, one)]
        for job in jobs:
            job.result(timeout=60)
    assert {one.class_count_[0], two.class_count_[0]} <= {200.0, 300.0}


@of_few_rows
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


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

# A thread holds a lock for as long as the child lives, or for a tenth of a second; the child learns
# and predicts, or SIGALRM ends it.
SCRIPT = """
import os, signal, threading, time, warnings
import numpy as np
from tallybayes import GaussianNB, NaiveBayes, TextNB
from tallybayes.estimators.base import LIVE, lock_of

warnings.simplefilter("ignore")
x, y = np.array([[0.0], [1.0], [2.0], [4.0]]), np.array(["u", "v", "u", "v"])
rows = [{"a": float(value)} for value in x[:, 0]]
array, table = GaussianNB().fit(x, y), NaiveBayes().fit(rows, y)
table.predict_one(rows[0])
table.learn_one(rows[0], "u")
text = TextNB(model="multinomial").fit(["a b", "c d"], ["u", "v"]).learn_one("a c", "u")
locks = {
    "learning, array": lock_of(array),
    "learning, table": lock_of(table),
    "learning, documents": lock_of(text),
    "in place, array": array._model._changing,
    "in place, table": table._model._changing,
    "live": table.__dict__[LIVE].lock,
    "live, documents": text._live_documents.lock,
}
for name, lock in locks.items():
    held, done = threading.Event(), threading.Event()
    short = "learning" not in name

    def hold():
        with lock:
            held.set()
            if short:
                time.sleep(0.1)
                return
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if not child:
        signal.alarm(20)
        array.partial_fit(x, y).forget(x[:1], y[:1]).predict(x)
        table.learn_one(rows[1], "v").predict_one(rows[1])
        table.partial_fit(rows, y).forget(rows[:1], y[:1]).predict(rows)
        text.learn_one("b e", "v").forget_one("a c", "u").predict_one("e")
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if short:
        assert lock.acquire(timeout=20), f"{name}: the parent's lock is not free"
        lock.release()
    done.set()
    thread.join()
    assert status == 0, f"{name}: the child hung, or failed"
array.partial_fit(x, y).predict(x)
table.learn_one(rows[1], "v").predict_one(rows[1])
"""


@forks
def test_a_child_learns_whatever_locks_other_threads_held_when_it_was_forked():
    done = subprocess.run(
        [sys.executable, "-P", "-c", SCRIPT], capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr


STUCK = """
import os, signal, threading, time
import numpy as np
from tallybayes import threads
from tallybayes import GaussianNB

threads.PATIENCE = 0.1
x, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
models = [GaussianNB().fit(x, y) for _ in range(3)]
held, done = threading.Event(), threading.Event()


def hold():
    with models[1]._model._changing:
        held.set()
        done.wait()


thread = threading.Thread(target=hold)
thread.start()
held.wait()
child = os.fork()
if not child:
    signal.alarm(20)
    for model in models:
        model.partial_fit(x, y).predict(x)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
done.set()
thread.join()
for model in models:
    model.partial_fit(x, y).predict(x)
"""


@forks
def test_a_fork_does_not_wait_for_ever():
    done = subprocess.run(
        [sys.executable, "-P", "-c", STUCK], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


# Every document of y holds "a", so a child that finds fewer has half of one.
DOCUMENTS = """
import os, signal, threading
from tallybayes import NaiveBayes, TextNB
from tallybayes.families import Text

words = " ".join(f"w{i}" for i in range(300))
text = TextNB(model="multinomial", ngram_range=(1, 1)).fit(["a b", "c d"], ["y", "x"])
text.learn_one("a", "y")
table = NaiveBayes({"t": Text(ngram_range=(1, 1))}).fit([{"t": "a b"}, {"t": "c d"}], ["y", "x"])
table.predict_one({"t": "a"})
table.learn_one({"t": "a"}, "y")
done = threading.Event()


def whole(text, table):
    tally = text.tally_
    term = tally.terms.tolist().index("a")
    assert tally.counts[tally.start[term]] == tally.documents[1], "half a document"
    assert text.learn_one("b e", "x").forget_one("b e", "x").tally_ == tally
    one = table.predict_proba_one({"t": "a w7 c"})
    shares = table.predict_proba([{"t": "a w7 c"}])[0].tolist()
    assert abs(one["x"] - shares[0]) <= 1e-9 * shares[0], (one["x"], shares[0])


def learn():
    while not done.is_set():
        text.learn_one("a " + words, "y")
        table.learn_one({"t": "a " + words}, "y")


thread = threading.Thread(target=learn, daemon=True)
thread.start()
for _ in range(30):
    child = os.fork()
    if not child:
        signal.alarm(30)
        whole(text, table)
        table.learn_one({"t": "b e"}, "x").forget_one({"t": "b e"}, "x").predict_one({"t": "e"})
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, "the child hung, or failed"
done.set()
thread.join()
whole(text, table)
"""


@forks
def test_a_child_has_each_document_whole_that_another_thread_learned():
    done = subprocess.run(
        [sys.executable, "-P", "-c", DOCUMENTS], capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
