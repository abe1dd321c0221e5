"""What predicts as a model does without it, as tests ask it: each holds Arrow tables, and answers a
model and a table with labels and probabilities. Databases are the others of this kind."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["BACK_ENDS", "OneRow", "Onnx", "days"]


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


BACK_ENDS = (OneRow, Onnx)
