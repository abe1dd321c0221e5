"""Reports and weights of a store are made beside the service, one at a time."""

from __future__ import annotations

import json
import sys
import threading
import time
from functools import partial
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from serve.conftest import PATIENCE, rows_of, table
from tallybayes import NaiveBayes, WeightedNaiveBayes, store
from tallybayes.errors import StoreError
from tallybayes.serve import jobs
from tallybayes.serve.bodies import Refused
from tallybayes.serve.served import OfStore
from tallybayes.text import TextNB

FRAME, LABELS = table(60, seed=3)
ROWS, LABELS = rows_of(FRAME), LABELS.tolist()
WORDS = [f"{'cheap pills' if i % 2 else 'see you'} {i % 7}" for i in range(60)]
KINDS = ["ham", "spam"] * 30


def teach(client, rows, labels, first=0):
    ids = [str(first + i) for i in range(len(rows))]
    answer = client.post("/v1/learn", {"rows": rows, "labels": labels, "ids": ids})
    assert answer.status == 200, answer.body
    wait(lambda: int(client.get("/v1/model").json["version"]) >= int(answer.json["version"]))


def wait(for_what):
    end = time.monotonic() + PATIENCE
    while not for_what():
        assert time.monotonic() < end
        time.sleep(0.02)


def audited(client):
    entries = Path(client.service._settings.audit).read_text().splitlines()
    return [(e["action"], e["state"]) for e in map(json.loads, entries)]


def headline(page):
    data = page.decode().partition('<script type="application/json" id="data">')[2]
    return json.loads(data.partition("</script>")[0])


def test_the_report_of_a_store_is_judged_on_its_rows(storing):
    """It is that of the model and its rows, made by a process that starts and ends."""
    with storing() as client:
        teach(client, ROWS, LABELS)
        answer = client.get("/v1/report?lang=zh")
        assert answer.status == 200, answer.body
        assert answer.headers["content-type"].startswith("text/html")
        assert "sandbox" in answer.headers["content-security-policy"]
        found = headline(answer.body)
        with store.open(client.service.source.store.url) as held:
            kept = held.rows()
        expected = kept.model.report(kept.rows, kept.labels, learned=True).data
        assert found["headline"] == json.loads(json.dumps(expected["headline"]))
        assert found["about"]["data"] == "60 / 60"
        assert audited(client)[-2:] == [("report", "asked"), ("report", "done")]
        assert client.get("/v1/report?lang=fr").status == 422


@pytest.mark.parametrize("model", [WeightedNaiveBayes(parts=1), TextNB()])
@pytest.mark.usefixtures("jobs_here")
def test_every_model_of_a_store_has_a_report(storing, model):
    documents = isinstance(model, TextNB)
    rows, labels = ([{"text": w} for w in WORDS], KINDS) if documents else (ROWS, LABELS)
    with storing(model) as client:
        teach(client, rows, labels)
        assert headline(client.get("/v1/report").body)["learned"]


@pytest.mark.usefixtures("jobs_here")
def test_what_has_no_rows_has_no_report(storing, client):
    refused = client.get("/v1/report")
    assert refused.status == 409
    assert "a model file keeps no rows" in refused.error
    with storing(ledger="ids") as ids, storing() as empty:
        teach(ids, ROWS[:2], LABELS[:2])
        for asked, said in ((ids, "ledger='ids' keeps no rows"), (empty, "learn rows first")):
            refused = asked.get("/v1/report")
            assert refused.status == 409
            assert said in refused.error


@pytest.mark.usefixtures("jobs_here")
def test_weights_that_are_learned_again_serve_every_service(storing):
    """Those of a service that asks, and of another one over the same store."""
    with (
        storing(TextNB(), reweight=0.0) as client,
        storing(url=client.service.source.store.url, reweight=0.0) as other,
    ):
        teach(client, [{"text": w} for w in WORDS[:10]], KINDS[:10])
        wait(lambda: client.get("/v1/model").json["staleness"] == 0.0)
        teach(client, [{"text": w} for w in WORDS[10:]], KINDS[10:], first=10)
        for each in (client, other):
            wait(lambda each=each: each.get("/v1/model").json["staleness"] == 5.0)
            assert 'weights_staleness{worker="0"} 5.0' in each.get("/metrics").body.decode()
        old = client.service.source.store.current().log_loss_
        answer = client.post("/v1/reweight", None)
        assert answer.status == 200, answer.body
        assert answer.json == {"version": "60"}
        assert audited(client)[-2:] == [("reweight", "asked"), ("reweight", "done")]
        for each in (client, other):
            wait(lambda each=each: each.get("/v1/model").json["staleness"] == 0.0)
            assert each.service.source.store.current().log_loss_ != old


@pytest.mark.usefixtures("jobs_here")
def test_weights_are_learned_again_when_enough_rows_came(storing):
    with storing(TextNB(), reweight=1.0) as client:
        teach(client, [{"text": w} for w in WORDS[:20]], KINDS[:20])
        teach(client, [{"text": w} for w in WORDS[20:39]], KINDS[20:39], first=20)
        assert client.get("/v1/model").json["staleness"] == 0.95
        teach(client, [{"text": w} for w in WORDS[39:]], KINDS[39:], first=39)
        wait(lambda: client.get("/v1/model").json["staleness"] == 0.0)


@pytest.mark.usefixtures("jobs_here")
def test_what_learns_nothing_on_rows_is_not_reweighted(storing, client):
    with storing() as counts, storing(TextNB()) as empty:
        teach(counts, ROWS[:2], LABELS[:2])
        for asked, said in (
            (client, "a model file"),
            (counts, "learns nothing on rows"),
            (empty, "learn rows first"),
        ):
            refused = asked.post("/v1/reweight", None)
            assert refused.status == 409, refused.body
            assert said in refused.error


def test_one_job_runs_at_a_time_and_predictions_are_answered(storing, monkeypatch):
    begun, gate = threading.Event(), threading.Event()
    monkeypatch.setattr(jobs.Jobs, "_asked", lambda *_: (begun.set(), gate.wait(20), ("", None))[2])
    with storing() as client:
        teach(client, ROWS, LABELS)
        states = []
        first = threading.Thread(target=lambda: states.append(client.get("/v1/report").status))
        first.start()
        assert begun.wait(20)
        refused = client.get("/v1/report")
        assert (refused.status, refused.headers["retry-after"]) == (503, "10")
        assert "one at a time" in refused.error
        assert client.post("/v1/predict", {"rows": ROWS[:1]}).status == 200
        gate.set()
        first.join(20)
        assert states == [200]


def test_a_job_that_ends_otherwise_says_how(tmp_path, monkeypatch, capfd):
    """With the store's words; never with those of an unexpected error, which may name values."""
    working = jobs.Jobs()
    with pytest.raises(StoreError, match="there is no store") as error:
        working.run(jobs.reweighted, partial(OfStore, str(tmp_path / "none.db"), "none"))
    assert error.value.__cause__ is not None  # 503, and not 422
    with pytest.raises(RuntimeError, match="int failed"):
        working.run(int, "a value")
    said = capfd.readouterr().err
    assert "int failed: ValueError" in said
    assert "a value" not in said
    monkeypatch.setattr(jobs, "MAX_SECONDS", 0.01)
    with pytest.raises(Refused, match="more than"):
        working.run(time.sleep, 60)
    monkeypatch.setattr(jobs, "MAX_SECONDS", 60.0)
    threading.Timer(0.2, working.close).start()  # as the end of the service does
    for _ in range(2):
        with pytest.raises(Refused, match="was ended"):
            working.run(time.sleep, 60)


WORKER = """
import threading, time
from tallybayes.serve.jobs import Jobs
jobs = Jobs()
threading.Thread(target=jobs.run, args=(time.sleep, 600), daemon=True).start()
while jobs._process is None:
    time.sleep(0.01)
print("begun", flush=True)
time.sleep(600)
"""


def test_a_job_ends_with_a_service_that_is_killed():
    """Its process holds the output open as long as it lives."""
    service = Popen([sys.executable, "-P", "-c", WORKER], stdout=PIPE)
    assert service.stdout.readline() == b"begun\n"
    service.kill()
    assert service.communicate(timeout=PATIENCE)[0] == b""


def test_the_model_of_counts_is_never_stale(storing):
    with storing(NaiveBayes()) as client:
        teach(client, ROWS, LABELS)
        assert client.get("/v1/model").json["staleness"] == 0.0
