"""Learning and forgetting over HTTP is that of the store, and the model soon has it."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from serve.conftest import ARROW, LINES, caught_up, rows_of, stream_of, table
from tallybayes import NaiveBayes, store
from tallybayes.text import TextNB

FRAME, LABELS = table(60, seed=3)
ROWS, LABELS = rows_of(FRAME), LABELS.tolist()
IDS = [f"m{i}" for i in range(len(ROWS))]


@pytest.fixture
def learned(storing):
    """A service that has learned all rows."""
    with storing() as client:
        answer = client.post("/v1/learn", {"rows": ROWS, "labels": LABELS, "ids": IDS})
        assert answer.status == 200, answer.body
        assert answer.json["new"] == IDS
        caught_up(client, answer.json["version"])
        yield client


def expected(rows, labels):
    return NaiveBayes().fit(FRAME.iloc[rows], np.array(labels)[rows])


def answers_of(model):
    return [list(model.predict_proba_one(row).values()) for row in ROWS]


def shares(client):
    answer = client.post("/v1/predict", {"rows": ROWS})
    return [list(p["probabilities"].values()) for p in answer.json["predictions"]]


def test_what_is_learned_is_predicted_as_by_a_fit(learned):
    assert shares(learned) == answers_of(expected(slice(None), LABELS))


def test_a_repeated_request_counts_once(learned):
    body = {"rows": ROWS[:3], "labels": LABELS[:3], "ids": [*IDS[:2], "new"]}
    first, again = learned.post("/v1/learn", body).json, learned.post("/v1/learn", body).json
    assert (first["new"], first["repeated"]) == (["new"], IDS[:2])
    assert (again["new"], again["repeated"]) == ([], [*IDS[:2], "new"])
    assert caught_up(learned, again["version"])["rows"] == 61.0


def test_an_idempotency_key_names_rows_without_ids(learned):
    body = {"rows": ROWS[:2], "labels": LABELS[:2]}
    answers = [learned.post("/v1/learn", body, Idempotency_Key="k7").json for _ in range(2)]
    assert (answers[0]["new"], answers[1]["new"]) == (["k7/0", "k7/1"], [])
    refused = learned.post("/v1/learn", body)
    assert refused.status == 422
    assert "Idempotency-Key" in refused.error
    for bad in ("", "x" * 256, "\x7f"):
        assert learned.post("/v1/learn", body, Idempotency_Key=bad).status == 422
    assert learned.post("/v1/forget", {"ids": ["k7/0"]}).json["rows"] == 1


def test_a_key_belongs_to_one_request(learned):
    """With ids or without; a request that was refused leaves its key free."""
    body = {"rows": ROWS[:2], "labels": LABELS[:2]}
    assert learned.post("/v1/learn", body, Idempotency_Key="k8").json["new"] == ["k8/0", "k8/1"]
    others = (
        {**body, "labels": ["no", "yes"]},
        {**body, "ids": ["a", "b"]},
        {**body, "rows": ROWS[2:4]},
    )
    for other in others:
        refused = learned.post("/v1/learn", other, Idempotency_Key="k8")
        assert refused.status == 422
        assert "other content" in refused.error
    assert learned.post("/v1/learn", body, Idempotency_Key="k8").json["repeated"] == [
        "k8/0",
        "k8/1",
    ]
    wrong = {**body, "rows": [{"age": "old"}, {}], "times": [1.0, -1.0]}
    assert learned.post("/v1/learn", wrong, Idempotency_Key="k9").status == 422
    conflict = {**body, "ids": [IDS[0], "c"], "labels": ["no" if LABELS[0] == "yes" else "yes"] * 2}
    assert learned.post("/v1/learn", conflict, Idempotency_Key="k9").status == 409
    assert learned.post("/v1/learn", body, Idempotency_Key="k9").json["new"] == ["k9/0", "k9/1"]


def test_another_label_is_a_conflict_that_relabel_solves(learned):
    other = "yes" if LABELS[0] == "no" else "no"
    body = {"rows": ROWS[:1], "labels": [other], "ids": IDS[:1]}
    conflict = learned.post("/v1/learn", body)
    assert conflict.status == 409
    assert "'yes'" in conflict.error
    assert "'no'" in conflict.error
    changed = learned.post("/v1/relabel", {"ids": IDS[:1], "labels": [other]}).json
    assert changed["changed"] == IDS[:1]
    caught_up(learned, changed["version"])
    assert shares(learned) == answers_of(expected(slice(None), [other, *LABELS[1:]]))


def test_what_is_forgotten_leaves_no_trace_in_the_model(learned):
    forgotten = learned.post("/v1/forget", {"ids": [*IDS[:20], "nobody"]}).json
    assert (forgotten["rows"], forgotten["unknown"]) == (20, ["nobody"])
    caught_up(learned, forgotten["version"])
    assert shares(learned) == answers_of(expected(slice(20, None), LABELS))


def test_subjects_are_forgotten_together(storing):
    with storing() as client:
        subjects = ["ann" if i % 3 else "bob" for i in range(60)]
        body = {"rows": ROWS, "labels": LABELS, "ids": IDS, "subjects": subjects}
        client.post("/v1/learn", {**body, "weights": [2] * 60, "times": [1.7e9] * 60})
        assert client.post("/v1/forget", {"subjects": ["ann"]}).json["rows"] == 40


def test_lines_and_arrow_teach_the_same(storing):
    with storing() as by_line, storing() as by_arrow:
        parts = zip(ROWS, LABELS, IDS, strict=True)
        lines = [json.dumps({"row": r, "label": y, "id": i}) for r, y, i in parts]
        answer = by_line.post("/v1/learn", "\n".join(lines).encode(), Content_Type=LINES)
        assert answer.json["new"] == IDS
        frame = FRAME.assign(outcome=LABELS, number=IDS)
        path = "/v1/learn?label=outcome&id=number"
        answer = by_arrow.post(path, stream_of(frame), Content_Type=ARROW)
        assert answer.json["new"] == IDS, answer.body
        for client in (by_line, by_arrow):
            caught_up(client, 1)
            assert shares(client) == answers_of(expected(slice(None), LABELS))


def test_documents_are_learned(storing):
    with storing(TextNB(model="multinomial")) as client:
        words = ["good offer", "see you on monday"] * 10
        body = {
            "rows": [{"text": w} for w in words],
            "labels": ["spam", "ham"] * 10,
            "ids": IDS[:20],
        }
        answer = client.post("/v1/learn", body)
        assert answer.status == 200, answer.body
        caught_up(client, answer.json["version"])
        [found] = client.post("/v1/predict", {"rows": [{"text": "an offer"}]}).json["predictions"]
        assert found["label"] == "spam"
        refused = client.post("/v1/learn", {**body, "rows": [{"words": w} for w in words]})
        assert refused.status == 422


def test_a_store_of_ids_takes_the_row_to_forget(storing):
    with storing(ledger="ids") as client:
        client.post("/v1/learn", {"rows": ROWS, "labels": LABELS, "ids": IDS})
        assert client.post("/v1/forget", {"ids": IDS[:1]}).status == 422
        forgotten = client.post("/v1/forget", {"ids": IDS[:1], "rows": ROWS[:1]})
        assert forgotten.json["rows"] == 1, forgotten.body


def test_an_empty_store_says_that_it_has_no_model(storing):
    with storing() as client:
        assert client.get("/healthz", token="").status == 200
        assert client.get("/readyz", token="").status == 503
        assert client.get("/v1/model").json["kind"] is None
        for path in ("/v1/predict", "/v1/explain"):
            answer = client.post(path, {"rows": [{}]})
            assert answer.status == 409
            assert "learn rows first" in answer.error


def test_a_model_file_learns_nothing(client):
    for path, body in [
        ("learn", {"rows": ROWS[:1], "labels": ["no"], "ids": ["a"]}),
        ("forget", {"ids": ["a"]}),
        ("relabel", {"ids": ["a"], "labels": ["no"]}),
    ]:
        answer = client.post(f"/v1/{path}", body)
        assert answer.status == 409
        assert "store" in answer.error


BAD = [
    ({"rows": ROWS[:2], "labels": ["no"], "ids": ["a", "b"]}, "2 rows"),
    ({"rows": ROWS[:1], "labels": ["no"], "ids": ["a", "b"]}, "1 rows"),
    ({"rows": [], "labels": [], "ids": []}, "is empty"),
    ({"rows": ROWS[:1], "ids": ["a"]}, "labels"),
    ({"rows": ROWS[:1], "labels": ["no"], "ids": ["a" * 1_000_000]}, "1,000,000 characters"),
    ({"rows": ROWS[:1], "labels": ["no"], "ids": [""]}, "is empty"),
    ({"rows": ROWS[:1], "labels": ["no"], "ids": [5]}, "not a string"),
    ({"rows": ROWS[:1], "labels": [None], "ids": ["a"]}, "label 0"),
    ({"rows": ROWS[:1], "labels": [["no"]], "ids": ["a"]}, "a list"),
    ({"rows": ROWS[:1], "labels": [7], "ids": ["a"]}, "label"),
    ({"rows": ROWS[:1], "labels": ["no"], "ids": ["a"], "weights": [-1]}, "from 0 on"),
    ({"rows": ROWS[:1], "labels": ["no"], "ids": ["a"], "weights": [True]}, "from 0 on"),
    ({"rows": ROWS[:1], "labels": ["no"], "ids": ["a"], "times": [1e300]}, "1970"),
    ({"rows": [{"age": [1]}], "labels": ["no"], "ids": ["a"]}, "age"),
    ({"rows": ROWS[:1], "labels": ["no"], "ids": ["a"], "who": []}, "'who'"),
]


@pytest.mark.parametrize(("body", "message"), BAD)
def test_bad_rows_are_refused_and_nothing_is_learned(learned, body, message):
    before = learned.get("/v1/model").json
    answer = learned.post("/v1/learn", body)
    assert answer.status == 422, answer.body
    assert message in answer.error
    assert learned.get("/v1/model").json == before


@pytest.mark.parametrize(
    "body", [{}, {"ids": []}, {"ids": ["a"], "subjects": ["b"]}, {"ids": None}, {"id": ["a"]}]
)
def test_bad_requests_to_forget(learned, body):
    assert learned.post("/v1/forget", body).status == 422


def test_the_audit_log_names_who_and_what_and_no_content(learned):
    secret = "a very secret value"
    body = {"rows": [{"city": secret}], "labels": ["no"], "ids": ["letter-77"]}
    assert learned.post("/v1/learn", body).status == 200
    assert learned.post("/v1/forget", {"ids": ["letter-77"]}).status == 200
    path = learned.service._settings.audit
    text = Path(path).read_text()
    entries = [json.loads(line) for line in text.splitlines()][-4:]
    states = [(e["action"], e["state"]) for e in entries]
    assert states == [(a, s) for a in ("learn", "forget") for s in ("asked", "done")]
    assert entries[0]["ids"] == entries[2]["ids"] == [learned.tokens.hashed("letter-77")]
    assert {e["name"] for e in entries} == {"test"}
    assert {e["token"] for e in entries} == {learned.token.split("_")[1]}
    for content in (secret, "letter-77", "city", learned.token, learned.token.split("_")[2]):
        assert content not in text
    assert os.stat(path).st_mode & 0o077 == 0


def test_what_cannot_be_logged_is_not_done(storing):
    with storing(audit="/dev/full") as client:
        answer = client.post("/v1/learn", {"rows": ROWS[:1], "labels": ["no"], "ids": ["a"]})
        assert answer.status == 503
        assert "nothing was done" in answer.error
        with store.open(client.service.source.store.url) as held:
            assert held.version == 0


def test_a_store_that_cannot_be_written_is_no_error_of_the_request(storing):
    with storing() as client:
        body = {"rows": ROWS[:1], "labels": ["no"], "ids": ["a"]}
        assert client.post("/v1/learn", body).status == 200
        url = client.service.source.store.url
        holder = sqlite3.connect(url, isolation_level=None)
        holder.execute("DROP TABLE tally_ledger")
        holder.close()
        answer = client.post("/v1/learn", {**body, "ids": ["b"]})
        assert answer.status == 503, answer.body
        assert answer.headers["retry-after"]
