"""The Open Inference Protocol, version 2 over REST: what its specification asks of a server.

https://github.com/kserve/open-inference-protocol/blob/main/specification/protocol/inference_rest.md
"""

from __future__ import annotations

import numpy as np
import pytest

from serve.conftest import fitted, rows_of, table

FRAME, _ = table(7, seed=9)
ROWS = rows_of(FRAME)


def tensor(name, datatype, values, shape=None, **more):
    return {
        "name": name,
        "shape": shape or [len(values)],
        "datatype": datatype,
        "data": values,
        **more,
    }


INPUTS = [
    tensor("age", "FP64", [row["age"] for row in ROWS]),
    tensor("city", "BYTES", [row["city"] for row in ROWS]),
    tensor("member", "BOOL", [row["member"] for row in ROWS]),
]


def infer(client, inputs, path="/v2/models/mail/infer", **more):
    return client.post(path, {"inputs": inputs, **more})


def test_health_needs_no_token(client):
    for path in ("/v2/health/live", "/v2/health/ready"):
        answer = client.get(path, token="")
        assert answer.status == 200
        assert set(answer.json.values()) == {True}


def test_the_server_describes_itself(client):
    found = client.get("/v2").json
    assert {type(found[key]) for key in ("name", "version")} == {str}
    assert isinstance(found["extensions"], list)


def test_the_model_describes_its_tensors(client):
    found = client.get("/v2/models/mail").json
    assert found["name"] == "mail"
    assert found["platform"] == "tallybayes"
    assert client.get(f"/v2/models/mail/versions/{found['versions'][0]}").json == found
    assert [(t["name"], t["datatype"], t["shape"]) for t in found["inputs"]] == [
        ("age", "FP64", [-1]),
        ("city", "BYTES", [-1]),
        ("member", "BOOL", [-1]),
    ]
    assert [(t["name"], t["datatype"], t["shape"]) for t in found["outputs"]] == [
        ("label", "BYTES", [-1]),
        ("probabilities", "FP64", [-1, 2]),
    ]


def test_readiness_of_the_model(client):
    found = client.get("/v2/models/mail/ready")
    assert (found.status, found.json) == (200, {"name": "mail", "ready": True})
    assert client.get("/v2/models/other/ready").status == 404


def test_an_inference_has_what_the_protocol_asks_for(client):
    answer = infer(client, INPUTS, id="call-7")
    assert answer.status == 200, answer.body
    found = answer.json
    assert (found["model_name"], found["id"]) == ("mail", "call-7")
    assert found["model_version"] == client.get("/v2/models/mail").json["versions"][0]
    label, shares = found["outputs"]
    one = fitted("plain").predict_proba_one
    expected = np.array([list(one(row).values()) for row in ROWS])
    assert shares["shape"] == list(expected.shape)
    assert np.array_equal(np.reshape(shares["data"], shares["shape"]), expected)
    assert shares["parameters"]["classes"] == ["no", "yes"]
    assert label["shape"] == [7]
    assert label["data"] == [["no", "yes"][k] for k in expected.argmax(axis=1)]
    for output in found["outputs"]:
        assert len(output["data"]) == np.prod(output["shape"])


def test_outputs_may_be_chosen_and_columns_may_lack(client):
    found = infer(client, INPUTS[1:], outputs=[{"name": "label"}]).json
    assert [output["name"] for output in found["outputs"]] == ["label"]
    rows = [{k: v for k, v in row.items() if k != "age"} for row in ROWS]
    answers = client.post("/v1/predict", {"rows": rows}).json["predictions"]
    assert found["outputs"][0]["data"] == [answer["label"] for answer in answers]


def test_tensors_may_have_a_second_dimension_and_nested_data(client):
    nested = [tensor(t["name"], t["datatype"], [[v] for v in t["data"]], [7, 1]) for t in INPUTS]
    assert infer(client, nested).json == infer(client, INPUTS).json


def test_a_single_tensor_may_hold_all_columns(serving):
    with serving("arrays") as client:
        one = infer(client, [tensor("predict", "FP32", [40.0, 30.0], [2, 1])])
        assert one.status == 400  # of a single column it has the column's name
        assert infer(client, [tensor("age", "FP32", [40.0, 30.0], [2, 1])]).status == 200


@pytest.mark.parametrize(
    ("kind", "datatype", "labels"),
    [("whole labels", "INT64", {3, 7}), ("codes", "BOOL", {True, False})],
)
def test_labels_have_their_own_datatype(serving, kind, datatype, labels):
    inputs = INPUTS if kind == "whole labels" else [tensor("0", "INT32", [0, 1])]
    with serving(kind) as client:
        found = infer(client, inputs).json["outputs"][0]
        assert found["datatype"] == datatype
        assert set(found["data"]) <= labels
        assert {type(v) for v in found["data"]} == {type(next(iter(labels)))}


BAD = [
    ([], "one tensor or more"),
    ([5], "inputs[0]"),
    ([{"name": "age"}], "needs a shape"),
    ([tensor("age", "FP64", [1.0], [-1])], "needs a shape"),
    ([tensor("age", "FP64", [1.0], [True])], "needs a shape"),
    ([tensor("age", "FP64", [1.0], [1, 1, 1])], "needs a shape"),
    ([tensor("age", "FP64", [1.0], [2])], "1 values"),
    ([tensor("age", "FP64", [], [0])], "0 rows"),
    ([tensor("age", "FP64", [], [10**9])], "1,000,000,000 rows"),
    ([tensor("age", "FLOAT", [1.0])], "datatype"),
    ([tensor("age", "FP64", ["1"])], "value 0"),
    ([tensor("age", "FP64", [True])], "value 0"),
    ([tensor("age", "INT8", [128])], "value 0"),
    ([tensor("age", "UINT8", [-1])], "value 0"),
    ([tensor("city", "BYTES", [1])], "value 0"),
    ([tensor("city", "BYTES", [[["a"]]], [1, 1])], "value 0"),
    ([tensor("other", "FP64", [1.0])], "'other'"),
    ([tensor("age", "FP64", [1.0]), tensor("age", "FP64", [1.0])], "two tensors"),
    ([tensor("age", "FP64", [1.0]), tensor("city", "BYTES", ["a", "b"])], "2 rows"),
    ([tensor("age", "FP64", [1.0] * 4, [2, 2])], "only one"),
    ([{"name": "age", "shape": [1], "datatype": "FP64"}], "'data'"),
    ([tensor("age", "FP64", [], [1], parameters={"binary_data_size": 8})], "binary"),
    ([tensor("age", "BYTES", ["old"])], "age"),
]


@pytest.mark.parametrize(("inputs", "message"), BAD)
def test_bad_tensors_are_refused_as_the_protocol_has_it(client, inputs, message):
    answer = infer(client, inputs)
    assert answer.status == 400, answer.body
    assert list(answer.json) == ["error"]
    assert message in answer.error


def test_other_bad_requests(client):
    assert infer(client, INPUTS, path="/v2/models/other/infer").status == 404
    assert infer(client, INPUTS, path="/v2/models/mail/versions/0/infer").status == 404
    assert infer(client, INPUTS, outputs=[{"name": "loss"}]).status == 400
    assert infer(client, INPUTS, outputs=5).status == 400
    assert (
        client.post("/v2/models/mail/infer", b"[]", Content_Type="application/json").status == 400
    )
    assert client.post("/v2/models/mail/infer", b"x", Content_Type="text/csv").status == 415
