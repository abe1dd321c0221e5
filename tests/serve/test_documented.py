"""What OpenAPI says, and requests that Schemathesis makes of it: no answer is a failure of ours."""

from __future__ import annotations

import json

import pytest

from tallybayes.serve.service import ROUTES


def test_the_document_names_every_route_and_its_scope(client):
    document = client.get("/openapi.json").json
    found = {(m.upper(), p): o for p, ms in document["paths"].items() for m, o in ms.items()}
    assert found.keys() == {(route.method, route.path) for route in ROUTES}
    for route in ROUTES:
        operation = found[route.method, route.path]
        scopes = [] if route.scope is None else [{"token": [route.scope] if route.scope else []}]
        assert operation["security"] == scopes
        assert operation["summary"]
        has_body = route.method == "POST" and route.path != "/v1/reweight"
        assert ("requestBody" in operation) == has_body


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.usefixtures("jobs_here")
@pytest.mark.parametrize("over", ["file", "store"])
def test_no_request_fails_the_service(serving, storing, over):
    schemathesis = pytest.importorskip("schemathesis", reason="needs Schemathesis")
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import strategies as st

    with (serving if over == "file" else storing)() as client:
        if over == "store":
            body = {"rows": [{"age": 1.0}], "labels": ["no"], "ids": ["a"]}
            assert client.post("/v1/learn", body).status == 200
        schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json)
        operations = [found.ok() for found in schema.get_all_operations()]
        assert len(operations) == len(ROUTES)
        cases = st.one_of(*[operation.as_strategy() for operation in operations])

        @given(case=cases)
        @settings(
            max_examples=60 if over == "file" else 120,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def ask(case):
            path = f"http://127.0.0.1:{client.port}"
            answer = case.call(base_url=path, headers={"Authorization": f"Bearer {client.token}"})
            ready = case.operation.path in ("/readyz", "/v2/health/ready")
            assert answer.status_code < 500 or ready, (case.operation.path, answer.content)
            if answer.status_code >= 400:
                assert set(json.loads(answer.content)) == {"error"}

        ask()
