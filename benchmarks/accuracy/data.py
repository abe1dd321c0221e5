"""Finding the data sets of ``datasets.toml``: in the folder TALLYBAYES_DATA, or from OpenML."""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.accuracy.readers import read

__all__ = ["DataSet", "NoData", "all_data_sets", "more_data_sets"]

DECLARED = Path(__file__).resolve().parents[1] / "datasets.toml"
FOLDER = "TALLYBAYES_DATA"
MORE = "arff-more"


class NoData(Exception):
    """A data set is neither in the folder nor to be had from OpenML."""


@dataclass(frozen=True)
class DataSet:
    """A table and its classes, read when they are first asked for.

    Parameters
    ----------
    name : str
    group : {"tables", "arff", "arff-more"}
        Which comparison the set belongs to.
    what, licence : str
    files : dict of str to str
        SHA-256 checksums by path in the folder.
    openml : int, optional
        Its number there.
    target : {"last", "first", "class"}
        The column of the class, in an ARFF file; "class" is the attribute of that name, else the
        last.
    """

    name: str
    group: str
    what: str
    licence: str
    files: dict[str, str]
    openml: int | None = None
    target: str = "last"

    @property
    def paths(self) -> list[Path]:
        """The files in the folder; none if one is lacking."""
        folder = os.environ.get(FOLDER)
        paths = [Path(folder, name) for name in self.files] if folder else []
        return paths if all(path.exists() for path in paths) else []

    @cached_property
    def table(self) -> tuple[Any, Any]:
        """X, a pandas frame of numbers and strings with missing values as NaN, and y, an array of
        strings.

        Raises
        ------
        NoData
        """
        paths = self.paths
        if paths:
            for path, checksum in zip(paths, self.files.values(), strict=True):
                if hashlib.sha256(path.read_bytes()).hexdigest() != checksum:
                    raise NoData(f"{path.name} is not the file that datasets.toml names")
            return read(self.name, paths, self.target)
        return self._from_openml()

    def _from_openml(self) -> tuple[Any, Any]:
        if self.openml is None:
            raise NoData(
                f"{', '.join(self.files)} is not in the folder that {FOLDER} names, and OpenML "
                "does not have it"
            )
        from sklearn.datasets import fetch_openml

        try:
            X, y = fetch_openml(data_id=self.openml, as_frame=True, return_X_y=True)
        except OSError as why:
            raise NoData(
                f"put {', '.join(self.files)} into a folder and name it in {FOLDER}; "
                f"OpenML cannot be reached ({why})"
            ) from why
        strings = X.select_dtypes(["category", "object", "string"]).columns
        return X.astype(dict.fromkeys(strings, "str")), y.astype(str).to_numpy(dtype=object)

    def rows(self, *, least: int, most: int | None) -> tuple[Any, Any]:
        """The table without classes of fewer than `least` rows, and at most `most` of its rows."""
        X, y = self.table
        often = Counter(y)
        keep = [i for i, label in enumerate(y) if often[label] >= least]
        if most is not None and len(keep) > most:
            keep = keep[:: len(keep) // most][:most]
        return X.iloc[keep].reset_index(drop=True), y[keep]


def _declared() -> list[DataSet]:
    declared = tomllib.loads(DECLARED.read_text(encoding="utf-8"))
    return [DataSet(name=name, **what) for name, what in declared.items()]


def all_data_sets() -> list[DataSet]:
    """The sets that every comparison uses, in the order of ``datasets.toml``."""
    return [data for data in _declared() if data.group != MORE]


def more_data_sets() -> list[DataSet]:
    """The further sets of ``python -m benchmarks weighted``."""
    return [data for data in _declared() if data.group == MORE]
