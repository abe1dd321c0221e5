"""Writes a model of each kind, with its answers, for the tests of later versions.

    PYTHONPATH=tests python -P tests/golden/make.py VERSION [FOLDER]

runs with the package of that version installed, and writes ``tests/golden/VERSION.zip``: for each
kind, or those of a folder, the model file, and as JSON the rows, labels and answers. A zip is never
written again.
"""

import datetime
import io
import json
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from golden.kinds import COMMANDS, KINDS, TALLIES, Command, Kind

__all__ = ["answers", "cases", "decoded"]

FOLDER = Path(__file__).parent
ANSWERS = ("predict_joint_log_proba", "predict_proba", "predict")
EPOCH = (1980, 1, 1, 0, 0, 0)  # of the entries, so that the same models give the same bytes


def encoded(values: Any) -> Any:
    """Rows or labels as plain values: a frame by column, an array, or documents as they are."""
    if isinstance(values, pd.DataFrame):
        return {"frame": {name: encoded(values[name].to_numpy()) for name in values}}
    if isinstance(values, np.ndarray):
        plain = values.tolist()
        if any(isinstance(value, datetime.date) for value in plain if values.dtype == object):
            dates = [None if value is None else value.isoformat() for value in plain]
            return {"dtype": "date", "values": dates}
        return {"dtype": values.dtype.str, "values": plain}
    return values


def decoded(plain: Any) -> Any:
    """What :func:`encoded` was given."""
    if isinstance(plain, list):
        return plain
    if "frame" in plain:
        return pd.DataFrame({name: pd.Series(decoded(v)) for name, v in plain["frame"].items()})
    if plain["dtype"] == "date":
        dates = [value and datetime.date.fromisoformat(value) for value in plain["values"]]
        return np.array(dates, dtype=object)
    return np.array(plain["values"], dtype=plain["dtype"])


def answers(model: Any, x: Any) -> dict[str, np.ndarray]:
    """Every answer of a model that is kept."""
    asked = [name for name in ANSWERS if hasattr(model, name)]
    asked += ["p_values"] * ("_scores" in vars(model))
    return {name: np.asarray(getattr(model, name)(x)) for name in asked}


def cases(version: str) -> Iterator[tuple[str, bytes, Any]]:
    """Names, model files, and what is known of them."""
    with zipfile.ZipFile(FOLDER / f"{version}.zip") as archive:
        for name in archive.namelist():
            if name.endswith(".json"):
                kind = name.removesuffix(".json")
                yield kind, archive.read(f"{kind}.tally"), json.loads(archive.read(name))


def of_estimator(kind: Kind, *, counts_only: bool = False) -> tuple[bytes, dict[str, Any]]:
    """The file of a model, or of its counts, and what is known of it."""
    file = io.BytesIO()
    (kind.model.tally_ if counts_only else kind.model).save(file)
    known = {
        "classes": encoded(kind.model.classes_),
        "class_count": np.asarray(getattr(kind.model, "class_count_", [])).tolist(),
        "asked": encoded(kind.asked),
        "answers": {k: encoded(v) for k, v in answers(kind.model, kind.asked).items()},
        "x": encoded(kind.x),
        "y": encoded(np.asarray(kind.y)),
    }
    return file.getvalue(), known


def of_command(command: Command) -> tuple[bytes, dict[str, Any]]:
    """The file that ``tallybayes fit`` writes, and what ``tallybayes predict`` prints."""
    start = [sys.executable, "-P", "-m", "tallybayes"]
    with tempfile.TemporaryDirectory() as folder:
        for name in ("train", "asked"):
            Path(folder, f"{name}.csv").write_text(getattr(command, name), encoding="utf-8")
        fit = [*start, "fit", "train.csv", "-o", "a.tally", *command.fit]
        subprocess.run(fit, cwd=folder, check=True, stdout=subprocess.PIPE)
        predict = [*start, "predict", "a.tally", "asked.csv", *command.predict]
        done = subprocess.run(predict, cwd=folder, check=True, stdout=subprocess.PIPE)
        content = Path(folder, "a.tally").read_bytes()
    return content, {**command._asdict(), "printed": done.stdout.decode()}


def main(version: str, folder: str = "") -> None:
    warnings.simplefilter("ignore")

    def some(kinds: Mapping[str, Any]) -> list[tuple[str, Any]]:
        return [(name, make()) for name, make in kinds.items() if name.startswith(folder)]

    made = {name: of_estimator(kind) for name, kind in some(KINDS)}
    made |= {name: of_estimator(kind, counts_only=True) for name, kind in some(TALLIES)}
    made |= {name: of_command(command) for name, command in some(COMMANDS)}
    path = FOLDER / f"{version}.zip"
    with zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, (file, known) in made.items():
            plain = json.dumps(known, ensure_ascii=False, separators=(",", ":"))
            for ending, content in ((".tally", file), (".json", plain)):
                entry = zipfile.ZipInfo(name + ending, EPOCH)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, content)
    print(f"{path}: {len(made)} kinds, {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main(*sys.argv[1:])
