"""One test for each line of the table in docs/security.md, named by the line's first cell."""

from __future__ import annotations

import gzip
import hmac
import json
import pickle
import re
import socket
import threading
import time
from types import SimpleNamespace

import pytest

from package.tree import ROOT
from serve.conftest import ARROW, stream_of, table
from tallybayes.errors import ModelFileError, OptionError
from tallybayes.serve import Limits, Service, Settings, Tokens, source_of
from tallybayes.serve.service import ROUTES

ROW = {"rows": [{"age": 40.0}]}
OPEN = {"/", "/healthz", "/readyz", "/v2/health/live", "/v2/health/ready"}


def filled(path, client):
    version = client.get("/v1/model").json["version"]
    return path.replace("{name}", "mail").replace("{version}", version)


def test_no_token(client):
    """Nothing but health, and the page without a model, answers to a request without a token."""
    for route in ROUTES:
        answer = client.ask(route.method, filled(route.path, client), b"{}", token="")
        if route.path in OPEN:
            assert answer.status == 200, route.path
            assert b"mail" not in answer.body
        else:
            assert answer.status == 401, route.path
            assert answer.headers["www-authenticate"] == "Bearer"
    for scheme in ("Basic", "bearer", "Bearer", "Token", ""):
        for given in ("", "x", client.token[:-1], "tb_00000000_x", "é"):
            header = f"{scheme} {given}".encode().decode("latin-1")
            answer = client.get("/v1/model", token="", Authorization=header)
            assert answer.status == 401


def test_wrong_scope(client):
    """Each route refuses every token that has all scopes but its own."""
    scopes = {route.scope for route in ROUTES} - {None, ""}
    others = {s: client.tokens.make(f"no {s}", sorted(scopes - {s})) for s in scopes}
    only = {s: client.tokens.make(f"only {s}", [s]) for s in scopes}
    for route in ROUTES:
        if route.scope:
            path = filled(route.path, client)
            refused = client.ask(route.method, path, b"{}", token=others[route.scope])
            assert refused.status == 403, route
            assert repr(route.scope) in refused.error
            assert client.ask(route.method, path, b"{}", token=only[route.scope]).status != 403


def test_revoked_token(client):
    given = client.tokens.make("soon gone", ["predict"])
    assert client.post("/v1/predict", ROW, token=given).status == 200
    client.tokens.revoke("soon gone")
    assert client.post("/v1/predict", ROW, token=given).status == 401


def test_replayed_request(storing):
    with storing() as client:
        for _ in range(3):
            body = {**ROW, "labels": ["no"]}
            answer = client.post("/v1/learn", body, Idempotency_Key="order-7")
        assert answer.json["new"] == []
        assert client.post("/v1/forget", {"ids": ["order-7/0"]}).json["rows"] == 1
        answer = client.post("/v1/learn", body, Idempotency_Key="order-7")
        assert (answer.json["new"], answer.json["forgotten"]) == ([], ["order-7/0"])


SQL = [
    "'; DROP TABLE tally_ledger; --",
    '" OR 1=1 --',
    "\\'); DELETE FROM x; --",
    "a\x00b",
    "%s {0}",
]


def test_sql_in_names_and_values(storing):
    with storing() as client:
        for i, text in enumerate(SQL):
            body = {"rows": [{text: text}], "labels": [text], "ids": [text], "subjects": [text]}
            answer = client.post("/v1/learn", body)
            assert answer.status in (200, 422), (text, answer.body)
            if answer.status == 200:
                assert client.post("/v1/relabel", {"ids": [text], "labels": ["b"]}).status == 200
                assert client.post("/v1/forget", {"subjects": [text]}).json["rows"] == 1, text
            keep = {"rows": [{"a": 1}], "labels": ["no"], "ids": [f"kept {i}"]}
            assert client.post("/v1/learn", keep).json["new"] == [f"kept {i}"]
        assert client.service.source.store.verify().rows == len(SQL)


def test_huge_body(serving):
    with serving(limits=Limits(body=100_000, rows=10, string=50, id=20, rate=1e6)) as client:
        assert client.post("/v1/predict", b"x" * 100_001).status == 413
        head = f"POST /v1/predict HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {client.token}\r\n"
        chunks = b"Transfer-Encoding: chunked\r\n\r\n" + b"8000\r\n" + b"x" * 0x8000 + b"\r\n"
        chunked = head.encode() + chunks + (b"8000\r\n" + b"x" * 0x8000 + b"\r\n") * 4
        assert client.raw(chunked).startswith(b"HTTP/1.1 413")
        for length in ("-1", "1e9", "99999999999999999999999"):
            lying = f"{head}Content-Length: {length}\r\n\r\n".encode()
            assert re.match(rb"HTTP/1.1 4\d\d", client.raw(lying))
        rows = [{"age": 1}] * 11
        assert client.post("/v1/predict", {"rows": rows}).status == 413
        assert client.post("/v1/predict", {"rows": [{"city": "a" * 51}]}).status == 422
        assert client.post("/v1/predict", {"rows": [{"a" * 21: 1}]}).status == 422


def test_deep_json(client):
    for text in ("[" * 10**6, '{"rows":' * 10**5, '{"rows":[' + '{"a":' * 10**5):
        answer = client.post("/v1/predict", text.encode(), Content_Type="application/json")
        assert answer.status == 400
    many = json.dumps({"rows": [{f"c{i}": i for i in range(10_001)}]}).encode()
    assert client.post("/v1/predict", many).status == 422


def test_slow_requests(serving):
    """Headers and bodies that trickle in are cut off, and others are answered meanwhile."""
    with serving(limits=Limits(seconds=1.0, rate=1e6)) as client:
        head = f"POST /v1/predict HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {client.token}\r\n"
        slow_body = f"{head}Content-Length: 100\r\n\r\n{{".encode()
        found: dict[str, bytes] = {}

        def attack(name, sent):
            found[name] = client.raw(sent, wait=10.0)

        attacks = {"headers": b"GET / HTTP/1.1\r\nHost:", "body": slow_body, "nothing": b""}
        threads = [threading.Thread(target=attack, args=item) for item in attacks.items()]
        begin = time.monotonic()
        for thread in threads:
            thread.start()
        assert client.post("/v1/predict", ROW).status == 200
        for thread in threads:
            thread.join(20)
        assert time.monotonic() - begin < 9.0
        assert found["body"].startswith(b"HTTP/1.1 408")
        assert found["headers"] == found["nothing"] == b""
        again = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
        with socket.create_connection(("127.0.0.1", client.port), timeout=10) as sock:
            sock.sendall(again)
            first = b""
            while not first.endswith(b'{"status":"ok"}'):
                first += sock.recv(65_536)
            sock.sendall(b"GET /hea")  # the second request of a connection, too
            assert sock.recv(65_536) == b""


def test_path_traversal(client):
    paths = ["/../../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/etc/passwd", "//etc/passwd"]
    paths += [
        "/v2/models/../../etc/passwd",
        "/v2/models/..%2fmail",
        "/page.html",
        "/.%00",
        "/%c0%ae",
    ]
    for path in paths:
        answer = client.get(path)
        assert answer.status == 404, path
        assert b"root:" not in answer.body


def test_header_injection(client):
    injected = "%0d%0aSet-Cookie:%20a=b"
    for path in (f"/v1/{injected}", f"/v2/models/{injected}", f"/v1/model?a={injected}"):
        assert "set-cookie" not in client.get(path).headers
    raw = client.raw(b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", wait=3.0)
    assert raw == b"" or raw.startswith((b"HTTP/1.1 400", b"HTTP/1.1 200"))
    both = (
        b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n"
    )
    smuggled = client.raw(b"POST /v1/predict HTTP/1.1\r\nHost: a\r\n" + both, wait=3.0)
    assert smuggled.count(b"HTTP/1.1 200") == 0


def test_compression_bomb(client):
    bomb = gzip.compress(b" " * 10**7)
    for coding in ("gzip", "deflate", "br", "identity, gzip"):
        answer = client.post("/v1/predict", bomb, Content_Encoding=coding)
        assert answer.status == 415
    frame, _ = table(5000)
    for codec in ("zstd", "lz4"):
        body = stream_of(frame, compression=codec)
        assert client.post("/v1/predict", body, Content_Type=ARROW).status == 415


def test_strangers_model(tmp_path):
    """A pickle is not executed, nor is any other file taken for a model or a store."""
    trap = tmp_path / "trap"

    class Trap:
        def __reduce__(self):
            return (open, (str(trap), "w"))

    for content in (pickle.dumps(Trap()), b"", b"SQLite format 3\x00", b"\x00" * 5000, b"{}"):
        path = tmp_path / "model.tally"
        path.write_bytes(content)
        with pytest.raises(ValueError) as error:  # noqa: PT011  # ModelFileError or StoreError
            Service(Settings(source_of(str(path))))
        assert isinstance(error.value, ModelFileError) or "store" in str(error.value)
    assert not trap.exists()


def test_timing_of_comparison(tmp_path, monkeypatch):
    """A token with a wrong secret, of an unknown id, or none at all costs one hash and one
    comparison in constant time."""
    tokens = Tokens(tmp_path / "t")
    known = tokens.make("a", ["predict"])
    compared: list[tuple[int, int]] = []

    def compare(a, b):
        compared.append((len(a), len(b)))
        return hmac.compare_digest(a, b)

    monkeypatch.setattr("tallybayes.serve.tokens.hmac", SimpleNamespace(compare_digest=compare))
    for given in (known[:-8] + "xxxxxxxx", "tb_ffffffff_" + known.split("_", 2)[2], "nothing", ""):
        assert tokens.check(given) is None
        assert compared == [(64, 64)]
        compared.clear()
    assert tokens.check(known) is not None
    assert compared == [(64, 64)]


def test_secrets_in_logs_and_errors(client, caplog):
    """No token, id or value of a row is logged, whatever fails; nor does an error name a token."""
    caplog.set_level(0)
    value = "the patient's name"
    for path in ("/v1/predict", "/v1/explain", "/v1/learn"):
        answer = client.post(path, {"rows": [{"nome": value}], "labels": [value], "ids": [value]})
        assert client.token not in answer.body.decode()
    served = client.service.served
    broken = type("Broken", (), {"explain": lambda *_: 1 / 0})()
    whole, served.model = served.model, broken
    try:
        answer = client.post("/v1/explain", {"rows": [{"city": value}]})
    finally:
        served.model = whole
    assert answer.status == 500
    assert re.fullmatch(r"unexpected error, reference [0-9a-f]{12}", answer.error)
    assert answer.error.rpartition(" ")[2] in caplog.text
    for secret in (value, client.token, client.token.split("_", 2)[2]):
        assert secret not in caplog.text


def test_secrets_in_ps():
    for url in ("postgresql://me:pw@host/db", "postgresql://host/db?password=pw"):
        with pytest.raises(OptionError, match="PGPASSWORD") as error:
            source_of(url)
        assert "pw" not in str(error.value).replace("PGPASSWORD", "").replace("pgpass", "")


def test_too_many_requests(serving):
    with serving(limits=Limits(rate=5.0)) as client:
        answers = [client.post("/v1/predict", ROW) for _ in range(12)]
        states = [answer.status for answer in answers]
        assert states[:5] == [200] * 5
        assert 429 in states
        assert int(next(a for a in answers if a.status == 429).headers["retry-after"]) >= 1
        other = client.tokens.make("other", ["predict"], rate=1000.0)
        assert client.post("/v1/predict", ROW, token=other).status == 200
        time.sleep(0.5)
        assert client.post("/v1/predict", ROW).status == 200


def test_too_much_at_once(serving):
    """Beyond what may wait, requests are refused with 503, and all others are answered."""
    with serving(limits=Limits(waiting=2, rate=1e6)) as client:
        gate, served = threading.Event(), client.service.served
        whole = served.explained
        served.explained = lambda rows: (gate.wait(20), whole(rows))[1]
        states = []
        threads = [
            threading.Thread(target=lambda: states.append(client.post("/v1/explain", ROW).status))
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        while len(states) < 4:
            time.sleep(0.01)
        refused = client.post("/v1/predict", ROW)
        assert refused.status == 503
        assert refused.headers["retry-after"] == "1"
        assert client.get("/healthz").status == 200
        gate.set()
        for thread in threads:
            thread.join(20)
        assert sorted(states) == [200, 200, 503, 503, 503, 503]


def test_page_of_another_site(client):
    """No browser lets another site read or send anything for a user: there are no cookies and no
    leave for other origins, and the page may load and be framed by nobody."""
    answer = client.get("/", Origin="https://evil.example")
    assert not [name for name in answer.headers if name.startswith("access-control")]
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert not re.search(rb'(src|href)\s*=\s*"(?!#)', answer.body)
    options = client.ask("OPTIONS", "/v1/predict", Origin="https://evil.example")
    assert options.status == 405


def test_learning_by_strangers(tmp_path):
    """Learning and forgetting cannot be opened to everybody."""
    for scope in ("learn", "forget", "admin"):
        with pytest.raises(ValueError, match="only predict, explain"):
            Service(Settings(lambda: None, public=(scope,)))


def test_public_predictions_need_no_token(serving):
    with serving(public=("predict",)) as client:
        assert client.post("/v1/predict", ROW, token="").status == 200
        assert client.get("/v1/model", token="").json["scopes"] == ["predict"]
        assert client.post("/v1/explain", ROW, token="").status == 401
        assert client.post("/v1/predict", ROW, token="tb_x_y").status == 401


def test_each_line_of_the_table_has_its_test():
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", text))
    here = {name for name in globals() if name.startswith("test_")}
    besides = {"test_each_line_of_the_table_has_its_test", "test_public_predictions_need_no_token"}
    assert named == here - besides
