"""Children that are forked while another thread of the parent learns."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

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


def test_a_child_has_each_document_whole_that_another_thread_learned():
    done = subprocess.run(
        [sys.executable, "-P", "-c", DOCUMENTS], capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
