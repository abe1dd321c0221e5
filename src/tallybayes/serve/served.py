"""The model that answers: read from a file or a store, at a version, and replaced while it answers.

A newer version is read and asked once beside the one that answers, and then takes its place in one
step: no request waits for it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from hashlib import sha256
from itertools import chain
from typing import Any, Protocol

import numpy as np

from tallybayes.errors import StoreError, listed, suggestion
from tallybayes.estimators.loading import load
from tallybayes.models.rows import held_values
from tallybayes.serve.bodies import Refused, as_json, finite
from tallybayes.store.store import open as open_store
from tallybayes.tables.columns import as_text

__all__ = ["ModelSource", "OfFile", "OfStore", "Served"]

TEXT = "text"  # the column of a model of documents


class Served:
    """A fitted model, and how rows are asked.

    Parameters
    ----------
    model : classifier
        Fitted. It does not change any more.
    name : str
        By which clients of the Open Inference Protocol call it.
    version : str
        Of its counts.
    """

    model: Any
    name: str
    version: str

    def __init__(self, model: Any, name: str, version: str) -> None:
        self.model, self.name, self.version = model, name, version
        self.since: float = time.time()
        self.labels: list[Any] = model.classes_.tolist()
        self.keys: list[str] = [as_text(label) for label in self.labels]
        labels = [as_json(label).decode() for label in self.labels]
        numbers = ",".join(as_json(key).decode().replace("%", "%%") + ":%r" for key in self.keys)
        self._bare: list[str] = [f'{{"label":{label}}}' for label in labels]
        self._frames: list[str] = [
            f'{{"label":{label.replace("%", "%%")},"probabilities":{{{numbers}}}}}'
            for label in labels
        ]
        self.columns = _columns_of(model)
        self._is_text: bool = list(self.columns) == [TEXT] and not hasattr(
            model, "feature_names_in_"
        )
        self._is_array: bool = not self._is_text and not hasattr(model, "predict_one")
        # to make a table of dicts takes longer than to score them; but dates are read as a table
        dates = any("dates" in holds for holds in self.columns.values())
        self._by_row: bool = not (self._is_text or self._is_array or dates)
        self.explains: bool = hasattr(model, "explain")
        if self._is_array:  # it reads columns by their places, and would warn that they lack names
            self.model = copy(model)
            self.model.__dict__.pop("feature_names_in_", None)
        if not self._is_array:  # the first question reads the counts, which may take long
            self.probabilities([{TEXT: ""} if self._is_text else {}])

    def probabilities(self, rows: Any) -> list[list[float]]:
        """Predict rows.

        Parameters
        ----------
        rows : list of dict, or pyarrow.Table
            Of columns of the model.

        Returns
        -------
        list of list of float
            P(c | x) of each row, in the order of :attr:`labels`.
        """
        if self._by_row and isinstance(rows, list):
            by_row: list[list[float]] = self.model._shares_of_rows(rows)
            return by_row
        found: list[list[float]] = self.model.predict_proba(self._given(rows)).tolist()
        return found

    def best(self, shares: Sequence[float]) -> Any:
        """The label of the highest probability, the first of equal ones."""
        return self.labels[shares.index(max(shares))]

    def written(self, shares: Sequence[Sequence[float]], between: str, *, bare: bool) -> str:
        """Write predictions. Only the numbers differ between rows, so the rest is encoded once.

        Parameters
        ----------
        shares : list of list of float
            As :meth:`probabilities` returns them.
        between : str
            What stands between rows; without "%".
        bare : bool
            Whether labels are written without probabilities.

        Returns
        -------
        str
            An object of JSON for each row.
        """
        frames = self._bare if bare else self._frames
        text = between.join([frames[row.index(max(row))] for row in shares])
        return text if bare else text % tuple(chain.from_iterable(shares))

    def _given(self, rows: Any) -> Any:
        """Rows as the model takes them."""
        if self._is_text:
            if not isinstance(rows, list):
                documents = rows.column(TEXT).to_pylist() if TEXT in rows.column_names else [None]
            else:
                documents = [row.get(TEXT) for row in rows]
            for i, text in enumerate(documents):
                if not isinstance(text, str):
                    raise Refused(
                        422, f"a row of this model has a string {TEXT!r}; row {i} has none"
                    )
            return documents
        if self._is_array:
            if isinstance(rows, list):
                table = [[row.get(name) for name in self.columns] for row in rows]
            else:
                lacking = [name for name in self.columns if name not in rows.column_names]
                if lacking:
                    raise Refused(422, f"rows lack {listed(map(repr, lacking))}: give all columns")
                lists = [rows.column(name).to_pylist() for name in self.columns]
                table = [list(row) for row in zip(*lists, strict=True)]
            for i, values in enumerate(table):
                for name, value in zip(self.columns, values, strict=True):
                    if not isinstance(value, int | float):
                        rule = "this model reads numbers and no missing values"
                        raise Refused(422, f"{rule}; row {i} has no number in column {name!r}")
            return np.array(table, dtype=np.float64)
        return rows

    def need_columns(self, rows: Any, *, ignore: bool) -> Any:
        """Refuse rows with columns that the model does not have.

        Parameters
        ----------
        rows : list of dict, or pyarrow.Table
            To predict.
        ignore : bool
            Whether such columns are left out instead.

        Returns
        -------
        list of dict, or pyarrow.Table
            The rows to ask the model with.

        Raises
        ------
        Refused
            422, naming the column, and one that may be meant.
        """
        known = self.columns
        if not isinstance(rows, list):
            unknown = [name for name in rows.column_names if name not in known]
            if unknown and ignore:
                return rows.drop_columns(unknown)
        elif ignore:
            return [{k: v for k, v in row.items() if k in known} for row in rows]
        else:
            unknown = sorted(set().union(*rows) - known.keys())
        if unknown:
            meant = suggestion(unknown[0], known)
            raise Refused(
                422,
                f"the model has the columns {listed(map(repr, known), 10)}, and not "
                f"{unknown[0][:100]!r}.{meant} Leave it out, or add ?unknown=ignore to the address",
            )
        return rows

    def explained(self, rows: Any) -> list[dict[str, Any]]:
        """Explain rows.

        Parameters
        ----------
        rows : list of dict, or pyarrow.Table
            Of columns of the model.

        Returns
        -------
        list of dict
            Of each row: the label, the probabilities, the prior in nats, and what each column, or
            each term of a document, adds to each class in nats; None is −∞.

        Raises
        ------
        Refused
            422 for a model that explains nothing.
        """
        if not self.explains:
            kind = type(self.model).__name__
            raise Refused(422, f"a {kind} has no explanations: serve a NaiveBayes, or predict")

        def by_label(values: Any) -> dict[str, float | None]:
            return dict(zip(self.keys, map(finite, values), strict=True))

        found = self.model.explain(self._given(rows))
        if self._is_text:
            return [
                {
                    "label": e.label,
                    "probabilities": by_label(e.probabilities.tolist()),
                    "prior": by_label(e.base.tolist()),
                    "terms": [
                        {"term": term, "nats": by_label(nats)}
                        for term, nats in zip(e.terms, e.contributions.tolist(), strict=True)
                    ],
                }
                for e in found
            ]
        answers = []
        cells = found.contributions.transpose(0, 2, 1).tolist()
        given = zip(found.probabilities.tolist(), found.values, cells, strict=True)
        for shares, values, contributions in given:
            parts = zip(found.columns, contributions, strict=True)
            answers.append(
                {
                    "label": self.best(shares),
                    "probabilities": by_label(shares),
                    "prior": by_label(found.base.tolist()),
                    "columns": [
                        {"column": name, "value": _plain(values.get(name)), "nats": by_label(nats)}
                        for name, nats in parts
                    ],
                }
            )
        return answers

    def report(self, rows: Any, labels: list[Any], weights: list[float] | None, lang: str) -> str:
        """Make the report of the model on rows with labels.

        Parameters
        ----------
        rows : list of dict, or pyarrow.Table
            Of columns of the model.
        labels : list
            One for each row.
        weights : list of float or None
            One for each row.
        lang : str
            The language of the page.

        Returns
        -------
        str
            A page of HTML.
        """
        given, about = self._given(rows), {"model": f"{self.name} {self.version}"}
        page = self.model.report(given, labels, sample_weight=weights, about=about, lang=lang)
        return str(page.html)

    def described(self) -> dict[str, Any]:
        """What the model is: its version, classes and columns.

        Returns
        -------
        dict
            As JSON.
        """
        weights = getattr(self.model, "class_count_", None)
        if weights is None:
            weights = self.model.tally_.documents
        pairs = zip(self.labels, weights.tolist(), strict=True)
        return {
            "name": self.name,
            "version": self.version,
            "kind": type(self.model).__name__,
            "rows": float(weights.sum()),
            "classes": [{"label": label, "weight": weight} for label, weight in pairs],
            "columns": [{"name": name, "holds": holds} for name, holds in self.columns.items()],
        }


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return finite(value)
    return value if isinstance(value, int | str | None) else str(value)


def _columns_of(model: Any) -> dict[str, list[str]]:
    """The columns, and what each holds."""
    if type(model).__name__ == "TextNB":
        return {TEXT: ["strings"]}
    if not hasattr(model, "predict_one"):
        given = getattr(model, "feature_names_in_", None)
        names = map(str, range(model.n_features_in_)) if given is None else given.tolist()
        return {name: ["numbers"] for name in names}
    held = held_values(model.tally_.schema)
    columns: dict[str, list[str]] = {}
    for name in model.feature_names_in_.tolist():
        found = held.get(name)
        if found is None:
            columns[name] = []
        elif found.dates:
            columns[name] = ["dates"]
        elif found.booleans:
            columns[name] = ["booleans"]
        else:
            kinds = {"numbers": found.numbers, "strings": found.strings}
            columns[name] = [kind for kind, holds in kinds.items() if holds]
    return columns


class ModelSource(Protocol):
    """Where the model comes from. Its methods may be called from any thread, one at a time."""

    name: str
    """By which clients call the model."""

    store: Any
    """Where rows are learned and forgotten; None where they cannot be."""

    def is_newer(self) -> bool:
        """Whether there is a later version than the one that was read last."""

    def read(self) -> Served | None:
        """The model as it is now; None for a store without rows."""

    def staleness(self) -> float:
        """Rows that came since weights were learned, for each row that was counted then."""

    def close(self) -> None:
        """Ends the use of it."""


class OfFile:
    """A model file, for predictions alone; a file that takes its place is served from then on.

    Parameters
    ----------
    path : str
        Of the file.
    name : str
        By which clients call the model.
    """

    path: str
    name: str
    store: Any = None

    def __init__(self, path: str, name: str) -> None:
        self.path, self.name = path, name
        self._seen: tuple[int, ...] | None = None

    def _state(self) -> tuple[int, ...]:
        found = os.stat(self.path)
        return found.st_mtime_ns, found.st_size, found.st_ino

    def is_newer(self) -> bool:
        return self._state() != self._seen

    def read(self) -> Served:
        state = self._state()
        with open(self.path, "rb") as file:
            digest = sha256(file.read()).hexdigest()[:16]
            file.seek(0)
            model = load(file)
        served = Served(model, self.name, digest)
        self._seen = state
        return served

    def staleness(self) -> float:
        return 0.0

    def close(self) -> None:
        pass


class OfStore:
    """A store, whose rows may be learned and forgotten.

    Parameters
    ----------
    url : str
        A file of SQLite, or ``postgresql://…``.
    name : str
        By which clients call the model.
    """

    name: str
    store: Any

    def __init__(self, url: str, name: str) -> None:
        self.name, self.store = name, open_store(url)

    def is_newer(self) -> bool:
        return bool(self.store.refresh())

    def read(self) -> Served | None:
        self.store.refresh()
        with suppress(StoreError):  # it holds no rows
            return Served(self.store.current(), self.name, str(self.store.version))
        return None

    def staleness(self) -> float:
        return float(self.store.staleness())

    def close(self) -> None:
        self.store.close()
