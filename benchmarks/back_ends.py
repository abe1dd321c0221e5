"""``python -m benchmarks back-ends``: models outside of this package, on the Adult table.

Every answer is compared with that of the model: labels on each row, probabilities to 1e-12.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd

import tallybayes
from benchmarks.accuracy.data import all_data_sets
from benchmarks.machine import machine_record
from benchmarks.pages import heading, recorded_command, write_page
from tallybayes import NaiveBayes, WeightedNaiveBayes

__all__ = ["main"]

RESULTS = Path(__file__).resolve().parent / "results" / "back-ends.md"
ROUNDS, TIMED = 25, 2000  # runs over the first rows
SIZE = 3.0  # the bars: times the model's size,
SPEED = {"Python": 20.0, "JavaScript": 5.0}  # and µs a row

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


def by_onnx(model: Any, x: pd.DataFrame, path: Path) -> Found:
    """onnxruntime on one thread, all rows at once."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options)
    feed = {}
    for put in session.get_inputs():
        column = x[put.name]
        text = column.fillna("").to_numpy(object) if "string" in put.type else None
        feed[put.name] = (column.to_numpy(float) if text is None else text)[:, None]
    labels, proba = session.run(None, feed)
    first = {name: column[:TIMED] for name, column in feed.items()}
    return best_of(lambda: session.run(None, first)), labels, proba


def by_python(model: Any, rows: list[dict[str, Any]], path: Path) -> Found:
    """The module in this process, row by row."""
    module: dict[str, Any] = {"__name__": "written"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module)
    predict, predict_proba = module["predict"], module["predict_proba"]
    seconds = best_of(lambda: [predict_proba(row) for row in rows[:TIMED]])
    proba = np.array([[*predict_proba(row).values()] for row in rows])
    return seconds, np.array([predict(row) for row in rows]), proba


def by_javascript(node: str, rows: list[dict[str, Any]], path: Path) -> Found:
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


def by_one_row(model: Any, rows: list[dict[str, Any]]) -> Found:
    """The model itself, row by row."""
    seconds = best_of(lambda: [model.predict_proba_one(row) for row in rows[:TIMED]])
    proba = np.array([[*model.predict_proba_one(row).values()] for row in rows])
    return seconds, np.array([model.predict_one(row) for row in rows]), proba


def measured(x: pd.DataFrame, y: Any, node: str) -> list[dict[str, Any]]:
    """A record for each model and back end."""
    tallybayes.set_num_threads(1)
    rows = [
        {name: None if value != value else value for name, value in row.items()}
        for row in x.astype(object).to_dict("records")
    ]
    found = []
    job = x["occupation"].fillna("unknown").to_numpy()
    for name, model, labels in (
        ("NaiveBayes", NaiveBayes(), y),
        ("NaiveBayes, 15 classes", NaiveBayes({"occupation": None}), job),
        ("WeightedNaiveBayes", WeightedNaiveBayes(), y),
    ):
        model.fit(x, labels)
        expected = model.predict(x), model.predict_proba(x)
        with tempfile.TemporaryDirectory() as folder:
            saved = Path(folder, "model.tally")
            model.save(saved)
            paths = {ending: Path(folder, f"model{ending}") for ending in (".onnx", ".py", ".mjs")}
            for path in paths.values():
                model.export(path)
            size = os.path.getsize(saved)
            for back_end, path, (seconds, said, proba) in (
                ("this package, a row", saved, by_one_row(model, rows)),
                ("onnxruntime", paths[".onnx"], by_onnx(model, x, paths[".onnx"])),
                ("Python", paths[".py"], by_python(model, rows, paths[".py"])),
                ("JavaScript", paths[".mjs"], by_javascript(node, rows, paths[".mjs"])),
            ):
                record = {
                    "model": name,
                    "back_end": back_end,
                    "rows": len(x),
                    "us": seconds / TIMED * 1e6,
                    "bytes": os.path.getsize(path),
                    "times": os.path.getsize(path) / size,
                    "labels": int((said != expected[0]).sum()),
                    "off": float(np.abs(proba - expected[1]).max()),
                }
                found.append(record)
    return found


def as_markdown(records: list[dict[str, Any]], command: str, machine: Any) -> str:
    """The page."""
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False)
    lines = [
        *heading("Models outside of this package", command, machine),
        f"- Versions: onnxruntime {onnxruntime.__version__}, Node {node.stdout.strip()}",
        "",
        f"The Adult table, one thread, the least CPU-seconds of {ROUNDS} runs over {TIMED:,} rows. "
        "onnxruntime has them at once, the others a row at a time; all rows are compared. "
        "The size is that of the file, and beside it how many times the model file that is.",
        "",
        "| model | back end | rows | µs a row | bar | kB | times (≤ 3) | other labels | largest "
        "difference of a probability |",
        "|" + " --- |" * 9,
    ]
    for r in records:
        bar = SPEED.get(r["back_end"])
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
        description="µs a row and sizes of models in ONNX, Python and JavaScript on the Adult "
        "table. The exit code is 1 if an answer was wrong.",
    )
    options.add_argument("--output", type=Path, default=RESULTS, metavar="FILE")
    asked = options.parse_args(argv)
    node = shutil.which("node")
    if node is None:
        print("node is not on the path", file=sys.stderr)
        return 2
    [data] = [d for d in all_data_sets() if d.name == "adult"]
    x, y = data.table
    machine = machine_record()
    records = measured(x.rename(columns=str), np.asarray(y), node)
    page = as_markdown(records, recorded_command("back-ends", argv), machine)
    print(page)
    write_page(asked.output, page, {"back_ends": records, "machine": machine})
    wrong = [r for r in records if r["labels"] or r["off"] > 1e-12]
    for r in wrong:
        print(f"{r['model']} in {r['back_end']} is wrong", file=sys.stderr)
    return 1 if wrong else 0
