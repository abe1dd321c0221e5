"""Services over one PostgreSQL: what one learns and forgets, the others have, too."""

from __future__ import annotations

import time
from contextlib import ExitStack

import numpy as np
import psycopg
import pytest

from serve.conftest import PATIENCE, caught_up, rows_of, table
from tallybayes import NaiveBayes, store

FRAME, LABELS = table(60, seed=3)
ROWS, LABELS = rows_of(FRAME), LABELS.tolist()
IDS = [f"m{i}" for i in range(len(ROWS))]
END_CONNECTIONS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
)


@pytest.fixture
def pair(storing, postgres_url):
    """Two services, as of two machines, with files of their own."""
    store.open(postgres_url, create=NaiveBayes()).close()
    with ExitStack() as stack:
        yield [stack.enter_context(storing(url=postgres_url)) for _ in range(2)]


def test_services_share_a_database(pair):
    one, other = pair
    body = {"rows": ROWS, "labels": LABELS, "ids": IDS}
    version = one.post("/v1/learn", body).json["version"]
    assert caught_up(other, version)["rows"] == 60.0
    assert other.post("/v1/learn", body).json["repeated"] == IDS
    forgotten = other.post("/v1/forget", {"ids": IDS[:20]}).json
    assert forgotten["rows"] == 20
    for client in pair:
        caught_up(client, forgotten["version"])
    model = NaiveBayes().fit(FRAME.iloc[20:], np.array(LABELS)[20:])
    expected = [list(model.predict_proba_one(row).values()) for row in ROWS]
    for client in pair:
        found = client.post("/v1/predict", {"rows": ROWS}).json["predictions"]
        assert [list(p["probabilities"].values()) for p in found] == expected
    keyed = {"rows": ROWS[:1], "labels": LABELS[:1]}
    answers = [client.post("/v1/learn", keyed, Idempotency_Key="k").json["new"] for client in pair]
    assert answers == [["k/0"], []]
    refused = other.post("/v1/learn", {**keyed, "rows": ROWS[1:2]}, Idempotency_Key="k")
    assert (refused.status, "other content" in refused.error) == (422, True)


def test_a_connection_that_ends_loses_and_doubles_nothing(pair, postgres_url):
    """A request is answered, or refused as one to try again; the old model answers meanwhile."""
    one, other = pair
    for at in range(0, 60, 20):
        rows = slice(at, at + 20)
        body = {"rows": ROWS[rows], "labels": LABELS[rows], "ids": IDS[rows]}
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(END_CONNECTIONS)
        end = time.monotonic() + PATIENCE
        while (answer := one.post("/v1/learn", body)).status == 503:
            assert "retry-after" in answer.headers
            assert time.monotonic() < end, answer.error
        assert answer.status == 200, answer.error
        caught_up(one, answer.json["version"])
        assert one.post("/v1/predict", {"rows": ROWS[:1]}).status == 200
    assert caught_up(other, answer.json["version"])["rows"] == 60.0
    with store.open(postgres_url) as held:
        assert held.verify().rows == 60
