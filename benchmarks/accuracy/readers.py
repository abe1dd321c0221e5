"""Reading the files of the data sets: a frame of numbers and strings, and the class of each row."""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

__all__ = ["arff_with_class", "read"]

# fmt: off
ADULT = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week",
    "native-country", "income",
]
# fmt: on


def _csv(file: Any, gap: str, **options: Any) -> pd.DataFrame:
    """A delimited file in which exactly the string `gap` is a missing value."""
    return pd.read_csv(file, na_values=[gap], keep_default_na=False, **options)


def _split(frame: pd.DataFrame, target: Any) -> tuple[pd.DataFrame, Any]:
    y = frame[target].astype(str).to_numpy(dtype=object)
    X = frame.drop(columns=target)
    return X.rename(columns=str), y


def adult(paths: list[Path]) -> tuple[pd.DataFrame, Any]:
    options = {"header": None, "names": ADULT, "skipinitialspace": True}
    train, test = _csv(paths[0], "?", **options), _csv(paths[1], "?", skiprows=1, **options)
    frame = pd.concat([train, test], ignore_index=True)
    return _split(frame.assign(income=frame["income"].str.rstrip(".")), "income")


def class_first(paths: list[Path]) -> tuple[pd.DataFrame, Any]:
    return _split(_csv(paths[0], "?", header=None, dtype=str), 0)


def german(paths: list[Path]) -> tuple[pd.DataFrame, Any]:
    return _split(_csv(paths[0], "", header=None, sep=" "), 20)


def titanic(paths: list[Path]) -> tuple[pd.DataFrame, Any]:
    return _split(_csv(paths[0], ""), "Survived")


def titanic_usual(paths: list[Path]) -> tuple[pd.DataFrame, Any]:
    X, y = titanic(paths)
    return X.drop(columns=["PassengerId", "Name", "Ticket", "Cabin"]), y


def bank(member: str) -> Callable[[list[Path]], tuple[pd.DataFrame, Any]]:
    def reader(paths: list[Path]) -> tuple[pd.DataFrame, Any]:
        with zipfile.ZipFile(paths[0]) as archive, archive.open(member) as file:
            return _split(_csv(file, "", sep=";"), "y")

    return reader


def arff(path: Path, target: str) -> tuple[pd.DataFrame, Any]:
    """An ARFF file: nominal attributes as strings, the others as numbers, ``?`` as a missing
    value."""
    frame = _arff_frame(path)
    return _split(frame, frame.columns[0 if target == "first" else -1])


def arff_with_class(path: Path) -> tuple[pd.DataFrame, Any]:
    """An ARFF file whose target is the attribute named class, in any case, else the last."""
    frame = _arff_frame(path)
    named = [name for name in frame.columns if name.lower() == "class"]
    return _split(frame, named[0] if named else frame.columns[-1])


def _arff_frame(path: Path) -> pd.DataFrame:
    """All attributes of an ARFF file; lines with another number of values are skipped."""
    nominal: dict[str, bool] = {}
    lines = path.read_text(encoding="latin-1").splitlines()
    lines = [line.strip() for line in lines if line.strip() and line[0] != "%"]
    while (head := lines.pop(0)).lower() != "@data":
        keyword, _, rest = head.replace("\t", " ", 1).partition(" ")
        if keyword.lower() == "@attribute":
            quote = rest.strip()[0]
            name, _, domain = (
                rest.strip()[1:].partition(quote)
                if quote in "'\""
                else rest.strip().replace("\t", " ").partition(" ")
            )
            nominal[name] = domain.strip().startswith("{")
    rows = [
        row
        for row in csv.reader(lines, quotechar="'", skipinitialspace=True)
        if len(row) == len(nominal)
    ]
    frame = pd.DataFrame(rows, columns=list(nominal), dtype="str")
    frame = frame.apply(lambda column: column.str.strip().replace("?", None))
    numbers = [name for name, is_nominal in nominal.items() if not is_nominal]
    frame[numbers] = frame[numbers].apply(pd.to_numeric)
    return frame


READERS: dict[str, Callable[[list[Path]], tuple[pd.DataFrame, Any]]] = {
    "adult": adult,
    "mushroom": class_first,
    "titanic": titanic,
    "titanic-usual": titanic_usual,
    "bank-full": bank("bank-additional/bank-full.csv"),
    "bank-additional": bank("bank-additional/bank-additional-full.csv"),
    "german": german,
    "votes": class_first,
}


def read(name: str, paths: list[Path], target: str) -> tuple[pd.DataFrame, Any]:
    """The data set of this name from its files.

    Returns
    -------
    X : pandas.DataFrame
        Numbers, and strings of pandas' str type; missing values are NaN.
    y : object array (n_rows,)
        Classes as strings.
    """
    if paths[0].suffix == ".arff":
        return arff_with_class(paths[0]) if target == "class" else arff(paths[0], target)
    return READERS[name](paths)
