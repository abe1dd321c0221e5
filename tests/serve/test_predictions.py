"""Predictions and explanations over HTTP are those of the model, in every form of a body."""

from __future__ import annotations

import json
import math
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from serve.conftest import ARROW, LINES, fitted, rows_of, stream_of, table

FRAME, LABELS = table(40, seed=5)
ROWS = rows_of(FRAME)

VALUES = {
    "age": st.none() | st.integers(-(10**18), 10**18) | st.floats(-1e300, 1e300),
    "city": st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    "member": st.none() | st.booleans(),
}
SOME_ROWS = st.lists(st.fixed_dictionaries({}, optional=VALUES), min_size=1, max_size=5)


def shares_of(answer, classes):
    """The probabilities of each row, as an array."""
    return np.array([[p["probabilities"][c] for c in classes] for p in answer])


@pytest.mark.parametrize("kind", ["plain", "weighted", "calibrated", "whole labels", "odd labels"])
@pytest.mark.parametrize("n_rows", [1, 40])
def test_predictions_are_those_of_the_model_bit_for_bit(serving, kind, n_rows):
    model = fitted(kind)
    with serving(kind) as client:
        answer = client.post("/v1/predict", {"rows": ROWS[:n_rows]})
        assert answer.status == 200, answer.body
        found = answer.json["predictions"]
        expected = [list(model.predict_proba_one(row).values()) for row in ROWS[:n_rows]]
        classes = [str(c) for c in model.classes_.tolist()]
        assert np.array_equal(shares_of(found, classes), expected)
        assert [p["label"] for p in found] == model.classes_[np.argmax(expected, axis=1)].tolist()


@given(rows=SOME_ROWS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_json_lines_and_arrow_say_the_same(client, rows):
    """The law: one row after the other, all at once, and in each form, the answer is one."""
    document = client.post("/v1/predict", {"rows": rows}).json["predictions"]
    lines = b"\n".join(json.dumps(row).encode() for row in rows)
    by_line = client.post("/v1/predict", lines, Content_Type=LINES)
    assert [json.loads(line) for line in by_line.body.splitlines()] == document
    alone = [client.post("/v1/predict", {"rows": [row]}).json["predictions"][0] for row in rows]
    for one, other in zip(alone, document, strict=True):
        for label, share in one["probabilities"].items():
            assert math.isclose(share, other["probabilities"][label], rel_tol=1e-9, abs_tol=1e-12)


def test_an_arrow_stream_is_answered_by_one(client):
    answer = client.post("/v1/predict", stream_of(FRAME), Content_Type=ARROW)
    found = pa.ipc.open_stream(answer.body).read_all()
    assert found.column_names == ["label", "p(no)", "p(yes)"]
    expected = fitted("plain").predict_proba(FRAME)
    assert np.array_equal(np.column_stack([found["p(no)"], found["p(yes)"]]), expected)


def test_accept_chooses_the_form_of_the_answer(client):
    answer = client.post("/v1/predict", {"rows": ROWS}, Accept=f"text/html, {LINES};q=1")
    assert answer.headers["content-type"] == LINES
    assert len(answer.body.splitlines()) == len(ROWS)
    as_arrow = client.post("/v1/predict", {"rows": ROWS}, Accept=ARROW)
    assert pa.ipc.open_stream(as_arrow.body).read_all().num_rows == len(ROWS)


def test_labels_alone(client):
    answer = client.post("/v1/predict?probabilities=false", {"rows": ROWS[:2]})
    assert [set(p) for p in answer.json["predictions"]] == [{"label"}] * 2


def test_columns_that_the_model_lacks_are_refused_or_ignored(client):
    row = {**ROWS[0], "ages": 3}
    refused = client.post("/v1/predict", {"rows": [ROWS[1], row]})
    assert refused.status == 422
    assert "'ages'" in refused.error
    assert "Did you mean 'age'?" in refused.error
    ignored = client.post("/v1/predict?unknown=ignore", {"rows": [row]})
    assert ignored.json == client.post("/v1/predict", {"rows": [ROWS[0]]}).json
    frame = FRAME.assign(ages=3)
    assert client.post("/v1/predict", stream_of(frame), Content_Type=ARROW).status == 422
    path = "/v1/predict?unknown=ignore"
    assert client.post(path, stream_of(frame), Content_Type=ARROW).status == 200


def test_explanations_add_up_to_the_probabilities(client):
    found = client.post("/v1/explain", {"rows": ROWS}).json["explanations"]
    for explained in found:
        sums = {
            label: prior + sum(column["nats"][label] for column in explained["columns"])
            for label, prior in explained["prior"].items()
        }
        total = np.logaddexp.reduce(list(sums.values()))
        for label, share in explained["probabilities"].items():
            assert math.isclose(math.exp(sums[label] - total), share, rel_tol=1e-9)
    assert [e["label"] for e in found] == [
        p["label"] for p in client.post("/v1/predict", {"rows": ROWS}).json["predictions"]
    ]


def test_documents_are_predicted_and_explained(serving):
    model, text = fitted("text"), "a good offer in Bern"
    with serving("text") as client:
        [found] = client.post("/v1/predict", {"rows": [{"text": text}]}).json["predictions"]
        assert found["probabilities"] == model.predict_proba_one(text)
        [why] = client.post("/v1/explain", {"rows": [{"text": text}]}).json["explanations"]
        assert [t["term"] for t in why["terms"]] == model.explain_one(text).terms
        assert client.get("/v1/model").json["columns"] == [{"name": "text", "holds": ["strings"]}]
        refused = client.post("/v1/predict", {"rows": [{"text": text}, {"text": 5}]})
        assert refused.status == 422
        assert "row 1" in refused.error


@pytest.mark.parametrize(("kind", "row"), [("arrays", {"age": 41.5}), ("codes", {"0": 1})])
def test_models_of_arrays_are_predicted(serving, kind, row):
    model = fitted(kind)
    names = {"arrays": ["no", "yes"], "codes": ["False", "True"]}[kind]
    with serving(kind) as client:
        [found] = client.post("/v1/predict", {"rows": [row]}).json["predictions"]
        asked = pd.DataFrame([row]) if kind == "arrays" else [list(row.values())]
        [expected] = model.predict_proba(asked).tolist()
        assert list(found["probabilities"].values()) == expected
        assert list(found["probabilities"]) == names
        assert found["label"] in model.classes_.tolist()
        for bad in ({}, dict.fromkeys(row), dict.fromkeys(row, "x")):
            refused = client.post("/v1/predict", {"rows": [bad]})
            assert refused.status == 422, refused.body
        assert client.post("/v1/explain", {"rows": [row]}).status == 422


def test_the_model_is_described(client):
    found = client.get("/v1/model").json
    assert found["name"] == "mail"
    assert found["kind"] == "NaiveBayes"
    assert found["rows"] == 300.0
    assert found["columns"] == [
        {"name": "age", "holds": ["numbers"]},
        {"name": "city", "holds": ["strings"]},
        {"name": "member", "holds": ["booleans"]},
    ]
    assert not found["learns"]


def test_the_report_is_judged_on_the_rows_that_are_sent(client):
    body = {"rows": ROWS, "labels": LABELS.tolist(), "weights": [2.0] * len(ROWS)}
    answer = client.post("/v1/report", body)
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"].startswith("text/html")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert b"mail" in answer.body


def test_a_file_that_is_replaced_is_served_from_then_on(serving):
    with serving() as client:
        before = client.get("/v1/model").json["version"]
        other = fitted("weighted")
        other.save(client.service.source.path)
        expected = list(other.predict_proba_one(ROWS[0]).values())
        begin = time.monotonic()
        while True:
            answer = client.post("/v1/predict", {"rows": [ROWS[0]]})
            assert answer.status == 200
            if answer.json["model"]["version"] != before:
                break
            assert time.monotonic() - begin < 60.0, "the new file is not served"
        [found] = answer.json["predictions"]
        assert list(found["probabilities"].values()) == expected


def test_a_broken_file_does_not_take_the_place_of_a_model(serving, caplog):
    with serving() as client:
        before = client.get("/v1/model").json
        with open(client.service.source.path, "r+b") as file:
            file.truncate(100)
        for _ in range(20):
            assert client.post("/v1/predict", {"rows": [ROWS[0]]}).status == 200
        metrics = ""
        while 'failures_total{worker="0"} 0' in (metrics := client.get("/metrics").body.decode()):
            pass
        assert "tallybayes_refresh_failures_total" in metrics
        assert client.get("/v1/model").json == before
    assert "could not be read again" in caplog.text


BAD = [
    (b"", 400, "no JSON document"),
    (b"{", 400, "line 1"),
    (b"\xff", 400, "UTF-8"),
    (b'{"rows": [{"age": NaN}]}', 400, "NaN"),
    (b'{"rows": [{"age": -Infinity}]}', 400, "Infinity"),
    (b'{"rows": [{"age": 1e400}]}', 422, "row 0, column 'age'"),
    (b'{"rows": [{"age": 1' + b"0" * 400 + b"}]}", 422, "row 0, column 'age'"),
    (b'{"rows": [{"age": 1' + b"0" * 5000 + b"}]}", 400, "4,300 digits"),
    (b'{"rows": [{"city": "\\ud800"}]}', 422, "surrogate"),
    (b'{"rows": [{"\\ud800": 1}]}', 422, "surrogate"),
    (b'{"rows": [{"age": [1]}]}', 422, "a list"),
    (b'{"rows": [{"age": {"a": 1}}]}', 422, "an object"),
    (b'{"rows": [{"age": "old"}]}', 422, "column 'age'"),
    (b'{"rows": [5]}', 422, "row 0 is 5"),
    (b'{"rows": []}', 422, "is empty"),
    (b'{"rows": null}', 422, "has none"),
    (b'{"rows": {}}', 422, "rows is a list"),
    (b'{"row": [{}]}', 422, "'rows'"),
    (b'{"rows": [{}], "labels": ["a"]}', 422, "'labels'"),
    (b"[]", 422, "an object with 'rows'"),
    (b"null", 422, "an object with 'rows'"),
    (b'{"rows": ' + b"[" * 100_000, 400, "nested"),
]


@pytest.mark.parametrize(("body", "status", "message"), BAD)
@pytest.mark.parametrize("path", ["/v1/predict", "/v1/explain"])
def test_bad_bodies_are_refused_with_the_rule(client, path, body, status, message):
    answer = client.post(path, body, Content_Type="application/json")
    assert answer.status == status, answer.body
    assert message in answer.error
    assert len(answer.error) < 500


@pytest.mark.parametrize(
    ("query", "message"),
    [("unknown=maybe", "refuse or ignore"), ("probabilities=1", "true or false")],
)
def test_bad_parameters_are_refused(client, query, message):
    answer = client.post(f"/v1/predict?{query}", {"rows": [{}]})
    assert answer.status == 422
    assert message in answer.error


def test_bad_lines_are_named(client):
    answer = client.post("/v1/predict", b'{"age": 1}\n\n{"age": }\n', Content_Type=LINES)
    assert answer.status == 400
    assert "line 2" in answer.error  # the empty one is none


def test_bad_arrow_is_refused(client):
    def refusal(body):
        answer = client.post("/v1/predict", body, Content_Type=ARROW)
        assert answer.status in (400, 413, 415, 422), answer.body
        return answer.error

    whole = stream_of(FRAME)
    assert "Arrow" in refusal(b"no stream at all")
    assert "Arrow" in refusal(whole[: len(whole) // 2])
    assert "compressed" in refusal(stream_of(FRAME, compression="zstd"))
    assert "compressed" in refusal(stream_of(FRAME, compression="lz4"))
    assert "list" in refusal(stream_of(pa.table({"age": [[1.0]]})))
    nulls = pa.table({"age": pa.nulls(10**9)})
    assert "10,000 rows" in refusal(stream_of(nulls))
    twice = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], ["age", "age"])
    assert "different names" in refusal(stream_of(twice))


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_arrow_with_altered_bytes_never_fails_the_service(client, data):
    body = bytearray(stream_of(FRAME[:5]))
    for at in data.draw(st.lists(st.integers(0, len(body) - 1), min_size=1, max_size=4)):
        body[at] = data.draw(st.integers(0, 255))
    assert client.post("/v1/predict", bytes(body), Content_Type=ARROW).status < 500


@pytest.mark.parametrize("kind", ["text/csv", "multipart/form-data; boundary=x", "a" * 1000])
def test_other_types_are_refused(client, kind):
    answer = client.post("/v1/predict", b"{}", Content_Type=kind)
    assert answer.status == 415
    assert "application/json" in answer.error


def test_unknown_paths_and_methods_are_refused_in_json(client):
    for method, path, status in [("GET", "/v1", 404), ("PUT", "/v1/predict", 405)]:
        answer = client.ask(method, path, b"")
        assert answer.status == status
        assert "openapi" in answer.error
    assert client.ask("GET", "/v1/predict").headers["allow"] == "POST"
