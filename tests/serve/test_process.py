"""The process: workers that share a store, its end, and what refuses to start."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from serve.conftest import ALL, Client, fitted, rows_of, table
from tallybayes import NaiveBayes, store
from tallybayes.serve import Tokens, listening

FRAME, LABELS = table(50, seed=1)
ROWS, LABELS = rows_of(FRAME), LABELS.tolist()
START_SECONDS = 90  # on a machine that does other things as well


@contextmanager
def process(folder, *words):
    """``tallybayes serve``, until the end of the block; the client of it, and the process."""
    log = folder / "log"
    with open(log, "wb") as output:
        running = subprocess.Popen(
            [sys.executable, "-m", "tallybayes", "serve", *words, "--listen", "127.0.0.1:0"],
            cwd=folder,
            stdout=output,
            stderr=output,
        )
    try:
        end = time.monotonic() + START_SECONDS
        while "http" not in (said := log.read_text()):
            assert running.poll() is None, said
            assert time.monotonic() < end, said
            time.sleep(0.05)
        client = Client(int(said.split()[-1].rpartition(":")[2]))
        while True:
            try:
                socket.create_connection(("127.0.0.1", client.port), timeout=20).close()
                break
            except OSError:
                assert time.monotonic() < end
                time.sleep(0.05)
        yield client, running
    finally:
        if running.poll() is None:
            running.terminate()
        running.wait(60)


def children(running):
    """The workers."""
    path = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    found = []
    for pid in path.read_text().split():
        if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
            found.append(int(pid))
    return found


@pytest.mark.skipif(not os.path.exists("/proc/self/cmdline"), reason="reads Linux's /proc")
def test_workers_share_a_store_and_are_replaced(tmp_path):
    store.open(tmp_path / "mail.db", create=NaiveBayes()).close()
    token = Tokens(tmp_path / "mail.db.tokens").make("test", ALL)
    with process(tmp_path, "mail.db", "--workers", "2") as (client, running):
        client.token = token
        body = {"rows": ROWS, "labels": LABELS, "ids": [str(i) for i in range(50)]}
        version = client.post("/v1/learn", body).json["version"]

        def versions():
            text = client.get("/metrics").body.decode()
            lines = [line for line in text.splitlines() if line.startswith("tallybayes_model_ver")]
            return sorted(float(line.split()[-1]) for line in lines)

        begin = time.monotonic()
        while versions() != [float(version)] * 2:
            assert time.monotonic() < begin + 30, versions()
            time.sleep(0.05)
        first = children(running)
        assert len(first) == 2
        for secret in (token, token.split("_", 2)[2]):
            for pid in (running.pid, *first):
                assert secret.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
                assert secret.encode() not in Path(f"/proc/{pid}/environ").read_bytes()
        os.kill(first[0], signal.SIGKILL)
        end = time.monotonic() + START_SECONDS
        while len(set(children(running)) - set(first[:1])) < 2:
            assert time.monotonic() < end
            time.sleep(0.1)
        for _ in range(20):
            assert client.post("/v1/predict", {"rows": ROWS[:1]}).status == 200
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 0
    with store.open(tmp_path / "mail.db") as held:
        assert held.verify().rows == 50
    assert (tmp_path / "mail.db.audit").read_text().count('"state":"done"') == 1


def test_the_end_finishes_what_was_accepted(tmp_path):
    fitted("plain").save(tmp_path / "m.tally")
    token = Tokens(tmp_path / "m.tally.tokens").make("test", ALL)
    with process(tmp_path, "m.tally") as (client, running):
        body = json.dumps({"rows": ROWS}).encode()
        head = (
            f"POST /v1/predict HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", client.port), timeout=20) as sock:
            sock.sendall(head.encode() + body[:100])
            time.sleep(0.3)
            running.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            sock.sendall(body[100:])
            answer = http.client.HTTPResponse(sock)
            answer.begin()
            assert answer.status == 200
            assert len(json.loads(answer.read())["predictions"]) == 50
        assert running.wait(60) == 0
        with pytest.raises(OSError, match=r"refused|reset"):
            client.get("/healthz")


def test_tls(tmp_path):
    files = ["-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=localhost"]
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words = ["openssl", "req", "-x509", *kind, *files]
    made = subprocess.run(words, cwd=tmp_path, capture_output=True)
    if made.returncode:
        pytest.skip("needs openssl to make a certificate")
    fitted("plain").save(tmp_path / "m.tally")
    given = ("m.tally", "--public", "predict", "--certificate", "cert.pem", "--key", "key.pem")
    with process(tmp_path, *given) as (client, _):
        trust = ssl.create_default_context(cafile=tmp_path / "cert.pem")
        trust.check_hostname = False
        address = ("127.0.0.1", client.port)
        connection = http.client.HTTPSConnection(*address, timeout=20, context=trust)
        connection.request("GET", "/healthz")
        assert connection.getresponse().status == 200
        connection.close()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["none.tally"], 1, "No such file"),
        (["m.tally"], 1, "there is no file of tokens"),
        (["m.tally", "--public", "learn"], 1, "only predict, explain"),
        (["m.tally", "--tokens", "m.tally"], 1, "not a file of tokens"),
        (["m.tally", "--public", "predict", "--key", "k"], 2, "--certificate"),
        (["m.tally", "--public", "predict", "--listen", "8000"], 2, "HOST:PORT"),
        (["m.tally", "--public", "predict", "--listen", "127.0.0.1:99999"], 2, "HOST:PORT"),
        (["m.tally", "--public", "predict", "--certificate", "m.tally"], 1, ""),
        (["other.tally", "--public", "predict"], 1, "model"),
        (["postgresql://a:b@h/d", "--public", "predict"], 2, "PGPASSWORD"),
    ],
)
def test_what_does_not_start_says_why(run, tmp_path, words, code, message):
    fitted("plain").save(tmp_path / "m.tally")
    (tmp_path / "other.tally").write_bytes(b"something else")
    done = run("serve", *words)
    assert done.exit_code == code, done.stderr
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_an_address_that_is_taken():
    first = listening("127.0.0.1:0")
    first.listen()
    with pytest.raises(OSError, match=r"127\.0\.0\.1"):
        listening(f"127.0.0.1:{first.getsockname()[1]}")
    first.close()


def test_old_predictions_answer_until_the_new_model_is_there(storing):
    """Reading a newer version takes long here: predictions of the old one go on, none waits."""
    with storing() as client:
        ids = [str(i) for i in range(50)]
        client.post("/v1/learn", {"rows": ROWS, "labels": LABELS, "ids": ids})
        while client.get("/readyz").status != 200:
            time.sleep(0.02)
        gate, reading, source = threading.Event(), threading.Event(), client.service.source
        whole = source.read
        source.read = lambda: (reading.set(), gate.wait(20), whole())[2]
        before = client.get("/v1/model").json["version"]
        client.post("/v1/learn", {"rows": ROWS[:1], "labels": LABELS[:1], "ids": ["new"]})
        assert reading.wait(20)
        for _ in range(5):
            answer = client.post("/v1/predict", {"rows": ROWS[:1]})
            assert answer.json["model"]["version"] == before
        gate.set()
        while client.get("/v1/model").json["version"] == before:
            time.sleep(0.02)
