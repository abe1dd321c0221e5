"""``python -m benchmarks back-ends``: models outside of this package, of a table and of messages.

Every answer is compared with that of the model: labels on each row, probabilities to 1e-12. It
needs the folder TALLYBAYES_DATA.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import onnx
import onnxruntime
import pandas as pd

import tallybayes
from benchmarks.accuracy.data import all_data_sets
from benchmarks.machine import machine_record
from benchmarks.pages import RESULTS, heading, recorded_command, write_page
from benchmarks.text.labelled import SETS
from tallybayes import NaiveBayes, TextNB, WeightedNaiveBayes
from tallybayes.tokens.analyzer import MARKS

__all__ = ["main"]

RESULT = RESULTS / "back-ends.md"
ROUNDS, TIMED = 25, 2000  # runs over the first rows
SPEED = {"Python": 20.0, "JavaScript": 5.0}
"""The bars for a row of the Adult table, in µs."""
TOLERANCE = 1e-12  # of a probability

NODE = """
import { readFileSync, writeFileSync } from "node:fs";
import { predict, predictProba } from "./model.mjs";
const rows = JSON.parse(readFileSync("rows.json"));
let best = Infinity;
const first = rows.slice(0, TIMED);
for (let round = 0; round < ROUNDS; round++) {
  const start = process.cpuUsage();
  for (const row of first) predictProba(row);
  const { user, system } = process.cpuUsage(start);
  best = Math.min(best, (user + system) / 1e6);
}
const found = { seconds: best, labels: rows.map(predict), proba: rows.map(predictProba) };
writeFileSync("found.json", JSON.stringify(found));
"""

Found = tuple[float, Any, Any]  # seconds, labels, probabilities


def best_of(call: Callable[[], Any]) -> float:
    """The least CPU-seconds of some runs."""
    found = []
    for _ in range(ROUNDS):
        start = time.process_time()
        call()
        found.append(time.process_time() - start)
    return min(found)


def by_onnx(feed: dict[str, Any], path: Path) -> Found:
    """onnxruntime on one thread, all rows at once."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options)
    found = [session.run(None, part) for part in batches(feed)]
    labels, proba = (np.concatenate(parts) for parts in zip(*found, strict=True))
    first = {name: column[:TIMED] for name, column in feed.items()}
    return best_of(lambda: session.run(None, first)), labels, proba


def batches(feed: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows in parts: of documents, a part is as wide as the longest."""
    n_rows = len(next(iter(feed.values())))
    for start in range(0, n_rows, TIMED):
        yield {name: column[start : start + TIMED] for name, column in feed.items()}


def columns_of(model: Any, x: pd.DataFrame) -> dict[str, Any]:
    """The inputs of a table: (n, 1) strings, or numbers."""
    feed = {}
    for put in model.to_onnx().graph.input:
        column = x[put.name]
        if put.type.tensor_type.elem_type == onnx.TensorProto.STRING:
            feed[put.name] = column.fillna("").to_numpy(object)[:, None]
        else:
            feed[put.name] = column.to_numpy(float)[:, None]
    return feed


def tokens_of(texts: list[str]) -> dict[str, Any]:
    """The input of documents: (n, most tokens), filled up with ""."""
    rows = [re.findall(MARKS, text.lower()) for text in texts]
    tokens = np.full((len(rows), max(map(len, rows))), "", dtype=object)
    for place, row in zip(tokens, rows, strict=True):
        place[: len(row)] = row
    return {"document": tokens}


def by_duckdb(model: Any, x: pd.DataFrame, path: Path) -> Found:
    """A statement in DuckDB, on one thread, all rows at once."""
    path.write_text(model.to_sql("adult"), encoding="utf-8")
    connection = duckdb.connect(config={"threads": 1})
    connection.register("given", x.assign(row=np.arange(len(x))))
    connection.execute("CREATE TABLE adult AS SELECT * FROM given")
    statement = model.to_sql("adult", keep=["row"])
    found = connection.sql(f"SELECT * FROM ({statement}) ORDER BY row").fetchnumpy()
    labels = np.asarray(found["prediction"], dtype=object)
    proba = np.stack([found[f"p({label})"] for label in model.classes_.tolist()], axis=1)
    connection.execute(f"DELETE FROM adult WHERE row >= {TIMED}")
    seconds = best_of(lambda: connection.sql(statement).fetchnumpy())
    return seconds, labels, proba


def by_python(rows: list[Any], path: Path) -> Found:
    """The module in this process, row by row."""
    module: dict[str, Any] = {"__name__": "written"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module)
    predict, predict_proba = module["predict"], module["predict_proba"]
    seconds = best_of(lambda: [predict_proba(row) for row in rows[:TIMED]])
    proba = np.array([[*predict_proba(row).values()] for row in rows])
    return seconds, np.array([predict(row) for row in rows]), proba


def by_javascript(node: str, rows: list[Any], path: Path) -> Found:
    """The module in Node, row by row."""
    folder = path.parent
    script = folder / "run.mjs"
    script.write_text(
        NODE.replace("ROUNDS", str(ROUNDS)).replace("TIMED", str(TIMED)), encoding="utf-8"
    )
    (folder / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    subprocess.run([node, script.name], cwd=folder, check=True)
    found = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    return found["seconds"], np.array(found["labels"]), np.array(found["proba"])


def by_one_row(model: Any, rows: list[Any]) -> Found:
    """The model itself, row by row."""
    seconds = best_of(lambda: [model.predict_proba_one(row) for row in rows[:TIMED]])
    proba = np.array([[*model.predict_proba_one(row).values()] for row in rows])
    return seconds, np.array([model.predict_one(row) for row in rows]), proba


def measured(name: str, model: Any, x: Any, y: Any, node: str) -> list[dict[str, Any]]:
    """A record for each back end of a model of a table, or of documents in a list."""
    model.fit(x, y)
    if isinstance(x, list):
        rows, feed = x, tokens_of(x)
    else:
        rows, feed = (
            x.astype(object).where(x.notna(), None).to_dict("records"),
            columns_of(model, x),
        )
    expected = model.predict(x), model.predict_proba(x)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        endings = ("tally", "onnx", "py", "mjs", "sql")
        saved, graph, module, script, statement = (Path(folder, f"model.{e}") for e in endings)
        model.save(saved)
        for path in (graph, module, script):
            model.export(path)
        runs: list[tuple[str, Path, Callable[[], Found]]] = [
            ("this package, a row", saved, lambda: by_one_row(model, rows)),
            ("onnxruntime", graph, lambda: by_onnx(feed, graph)),
            ("Python", module, lambda: by_python(rows, module)),
            ("JavaScript", script, lambda: by_javascript(node, rows, script)),
        ]
        if isinstance(x, pd.DataFrame):
            runs.append(("DuckDB", statement, lambda: by_duckdb(model, x, statement)))
        for back_end, path, run in runs:
            seconds, said, proba = run()
            of_table = isinstance(x, pd.DataFrame)
            found.append(
                {
                    "model": name,
                    "back_end": back_end,
                    "rows": len(rows),
                    "us": seconds / TIMED * 1e6,
                    "bar": SPEED.get(back_end) if of_table else None,
                    "bytes": path.stat().st_size,
                    "times": path.stat().st_size / saved.stat().st_size,
                    "labels": int((said != expected[0]).sum()),
                    "off": float(np.abs(proba - expected[1]).max()),
                }
            )
    return found


def as_markdown(records: list[dict[str, Any]], command: str, machine: Any) -> str:
    """The page."""
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False)
    lines = [
        *heading("Models outside of this package", command, machine),
        f"- Versions: onnxruntime {onnxruntime.__version__}, Node {node.stdout.strip()}",
        "",
        f"The Adult table, and the messages of the SMS Spam Collection; one thread, the least "
        f"CPU-seconds of {ROUNDS} runs over {TIMED:,} rows. onnxruntime and DuckDB have them at "
        "once, the others a row at a time; all rows are compared. onnxruntime gets tokens of "
        "messages, the others the messages. The size is that of the file, and beside it how many "
        "times the model file that is: at most 3 for Python and JavaScript.",
        "",
        "| model | back end | rows | µs a row | bar | kB | times | other labels | largest "
        "difference of a probability |",
        "|" + " --- |" * 9,
    ]
    for r in records:
        bar = r["bar"]
        cells = [
            r["model"],
            r["back_end"],
            f"{r['rows']:,}",
            f"{r['us']:.2f}",
            "" if bar is None else f"≤ {bar:g}",
            f"{r['bytes'] / 1e3:,.0f}",
            f"{r['times']:.2f}",
            str(r["labels"]),
            f"{r['off']:.1e}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main(argv: list[str]) -> int:
    """Runs the command.

    Returns
    -------
    int
        0, or 1 if a label was another or a probability off by more than 1e-12.
    """
    options = argparse.ArgumentParser(
        prog="python -m benchmarks back-ends",
        description="µs a row and sizes of models in ONNX, Python, JavaScript and SQL, on the "
        "Adult table and on messages. The exit code is 1 if an answer was wrong.",
    )
    options.add_argument("--output", type=Path, default=RESULT, metavar="FILE")
    asked = options.parse_args(argv)
    node = shutil.which("node")
    if node is None:
        print("node is not on the path", file=sys.stderr)
        return 2
    [data] = [d for d in all_data_sets() if d.name == "adult"]
    x, y = data.table
    x, y = x.rename(columns=str), np.asarray(y)
    job = x["occupation"].fillna("unknown").to_numpy()
    [messages] = [each for each in SETS if each.name == "SMS"]
    fold = next(messages.folds())
    texts, spam = [*fold.train, *fold.test], [*fold.y, *fold.expected]
    machine = machine_record()
    tallybayes.set_num_threads(1)
    records = [
        *measured("NaiveBayes", NaiveBayes(), x, y, node),
        *measured("NaiveBayes, 15 classes", NaiveBayes({"occupation": None}), x, job, node),
        *measured("WeightedNaiveBayes", WeightedNaiveBayes(), x, y, node),
        *measured("TextNB, multinomial", TextNB(model="multinomial"), texts, spam, node),
        *measured("TextNB", TextNB(), texts, spam, node),
    ]
    page = as_markdown(records, recorded_command("back-ends", argv), machine)
    print(page)
    write_page(asked.output, page, {"back_ends": records, "machine": machine})
    wrong = [r for r in records if r["labels"] or r["off"] > TOLERANCE]
    for r in wrong:
        print(f"{r['model']} in {r['back_end']} is wrong", file=sys.stderr)
    return 1 if wrong else 0
