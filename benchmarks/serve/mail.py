"""Mail that is learned and classified: by the service, and by bogofilter in hundreds as well."""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.bayes.page import Page
from benchmarks.serve.load import ask, free_port, process
from benchmarks.stream.bogofilter import installed_bogofilter
from benchmarks.text.labelled import SETS, Fold
from tallybayes import TextNB, store
from tallybayes.serve import SCOPES, Settings, Tokens

__all__ = ["mail_page"]

NAMES = ("SMS", "enron1")
PATIENCE = 60.0  # seconds
REWEIGHT = Settings.reweight
STEP = 100  # messages of a call, or of a process of bogofilter
CODES = {"S": "spam", "H": "ham", "U": "ham"}  # bogofilter's verdicts; U is unsure
TALLYBAYES, BOGOFILTER = "tallybayes serve", "bogofilter"


class Found(NamedTuple):
    """Of the messages that were not learned, the share that is right; messages a second; and the
    share that is right after the weights of terms were learned again on all messages."""

    accuracy: float
    learned: float
    predicted: float
    reweighted: float | None = None


def by_service(fold: Fold) -> Found:
    """A service over a store, which has synchronised each hundred when it answers."""
    with tempfile.TemporaryDirectory() as folder:
        url, port = str(Path(folder, "mail.db")), free_port()
        store.open(url, create=TextNB()).close()
        token = Tokens(f"{url}.tokens").make("mail", SCOPES, rate=1e6)
        with process(port, "-m", "tallybayes", "serve", url, "--listen", f"127.0.0.1:{port}"):
            begin = time.perf_counter()
            for at in range(0, len(fold.y), STEP):
                rows = [{"text": text} for text in fold.train[at : at + STEP]]
                ids = [str(at + i) for i in range(len(rows))]
                body = {"rows": rows, "labels": fold.y[at : at + STEP], "ids": ids}
                version = ask(port, "/v1/learn", body, token)["version"]
            learned = len(fold.y) / (time.perf_counter() - begin)

            def wait_for(version: str, staleness: float) -> None:
                end = time.monotonic() + PATIENCE
                while time.monotonic() < end:
                    model = ask(port, "/v1/model", token=token)
                    if model["version"] == version and model["staleness"] <= staleness:
                        return
                    time.sleep(0.05)
                raise RuntimeError(f"the service has not read version {version}")

            def said() -> list[Any]:
                answers: list[Any] = []
                for at in range(0, len(fold.test), STEP):
                    rows = [{"text": text} for text in fold.test[at : at + STEP]]
                    answers += ask(port, "/v1/predict", {"rows": rows}, token)["predictions"]
                return answers

            wait_for(version, REWEIGHT)
            begin = time.perf_counter()
            served = said()
            predicted = len(served) / (time.perf_counter() - begin)
            ask(port, "/v1/reweight", {}, token)
            wait_for(version, 0.0)
            again = said()
    right = [
        np.mean([a["label"] == y for a, y in zip(said, fold.expected, strict=True)])
        for said in (served, again)
    ]
    return Found(float(right[0]), learned, predicted, float(right[1]))


def as_mbox(messages: list[str]) -> bytes:
    """Messages one after the other, as bogofilter reads many."""
    parts = []
    for message in messages:
        subject, _, body = message.partition("\n")
        whole = f"{subject}\n\n{body}" if subject.startswith("Subject:") else f"\n{message}"
        lines = (f">{line}" if line.startswith("From ") else line for line in whole.split("\n"))
        parts.append("From a@b Thu Jan  1 00:00:00 2026\n" + "\n".join(lines) + "\n\n")
    return "".join(parts).encode()


def by_bogofilter(fold: Fold) -> Found:
    """A process for each hundred messages, by its own settings."""

    def run(messages: list[str], *options: str) -> str:
        words = ["bogofilter", "-C", "-d", folder, "-M", *options]
        done = subprocess.run(words, input=as_mbox(messages), capture_output=True, check=False)
        if done.returncode > 2:  # up to 2 it is the verdict
            raise RuntimeError(f"bogofilter failed: {done.stderr.decode()}")
        return done.stdout.decode()

    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        for at in range(0, len(fold.y), STEP):
            pairs = list(zip(fold.train[at : at + STEP], fold.y[at : at + STEP], strict=True))
            for label, option in (("spam", "-s"), ("ham", "-n")):
                run([text for text, found in pairs if found == label], option)
        learned = len(fold.y) / (time.perf_counter() - begin)
        said: list[str] = []
        begin = time.perf_counter()
        for at in range(0, len(fold.test), STEP):
            lines = run(fold.test[at : at + STEP], "-T").splitlines()
            said += [CODES[line[0]] for line in lines]
        predicted = len(said) / (time.perf_counter() - begin)
    if len(said) != len(fold.test):
        raise RuntimeError(f"bogofilter read {len(said)} messages of {len(fold.test)}")
    return Found(float(np.mean(np.array(said) == fold.expected)), learned, predicted)


def mail_page() -> Page:
    """Both, on one fold of each corpus."""
    program = installed_bogofilter()
    if program is None:
        raise SystemExit("install bogofilter: its package has this name")
    rows, record, verdicts = [], {}, []
    for name in NAMES:
        fold = next(next(held for held in SETS if held.name == name).folds())
        found = {TALLYBAYES: by_service(fold), BOGOFILTER: by_bogofilter(fold)}
        for who, of in found.items():
            n = f"{len(fold.y):,}", f"{len(fold.test):,}"
            rows.append([name, *n, who, f"{of.accuracy:.4f}", f"{of.learned:,.0f}"])
            reweighted = "" if of.reweighted is None else f"{of.reweighted:.4f}"
            rows[-1] += [f"{of.predicted:,.0f}", reweighted]
        mine, theirs = found[TALLYBAYES].accuracy, found[BOGOFILTER].accuracy
        kept = "met" if mine >= theirs else "missed"
        verdicts.append(f"- {kept}: {name}, accuracy {mine:.4f} (≥ {theirs:.4f}, bogofilter)")
        record[name] = {who: of._asdict() for who, of in found.items()}
    about = (
        f"Messages in hundreds: a request each, which is synchronised to the disk before its "
        f"answer, or a process of {program.version} for the spam and one for the ham of a hundred. "
        "What bogofilter is unsure of counts as ham. Messages a second of the clock. The service "
        f"learns the weights of terms again by itself, once {REWEIGHT:g} times as many messages "
        "came as there were, which runs beside the learning; the last column is after POST "
        "/v1/reweight, when all messages were learned"
    )
    head = ["corpus", "learned", "predicted", "by", "accuracy", "learned a second"]
    table = (about, [*head, "predicted a second", "reweighted"], rows)
    return Page("serve-mail", "Mail by a service", verdicts, [table], {"runs": record})
