"""What files of models of all kinds share: classes as strings, a digest, chosen rows, a page."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import OptionError, SourceError, called, listed, suggestion
from tallybayes.progress import reading_shown
from tallybayes.sources.places import Named, need_group, need_target
from tallybayes.tables.values import as_text

if TYPE_CHECKING:
    from tallybayes.estimators.read_by import ReadBy

__all__ = ["MAX_SAMPLE_ROWS", "ChosenRows", "KnownClasses", "Replace", "digest_of", "need_columns"]


MAX_SAMPLE_ROWS = 1 << 15  # rows that a model is judged on

Replace = Callable[[str, str], None]
"""Puts a file in the place of another one, as ``os.replace`` does."""


class KnownClasses(ABC):
    """The labels that model files of all kinds know, and the page of the model."""

    model: Any
    read_by: ReadBy

    @property
    def target(self) -> str | None:
        """The column of the labels, or the header of messages that holds them."""
        return self.read_by.target

    @abstractmethod
    def sampled(self, source: Any, target: str | None, max_rows: int, group: str | None) -> Any:
        """A fair sample of rows or documents, their own labels, weights and groups."""

    @property
    def classes(self) -> list[str]:
        """The labels as strings."""
        return [as_text(c) for c in self.model.classes_.tolist()]

    def codes(self, labels: NDArray[Any]) -> NDArray[np.intp]:
        """The index of each label among the classes, −1 for one that the model does not know."""
        known = {label: i for i, label in enumerate(self.classes)}
        return np.fromiter((known.get(v, -1) for v in labels.tolist()), np.intp, len(labels))

    def own_labels(self, labels: NDArray[Any]) -> NDArray[Any]:
        """Labels in the type that the model has them in; new ones are as they come."""
        classes = self.model.classes_
        if classes.dtype.kind in "OUT":
            return labels
        known = dict(zip(self.classes, classes.tolist(), strict=True))
        for label in labels.tolist():
            if label not in known:
                raise SourceError(
                    f"the label {label!r} is new, and this model's labels are of the type "
                    f"{classes.dtype} ({listed(known)}): add it from Python"
                )
        return np.array([known[label] for label in labels.tolist()], dtype=classes.dtype)

    def report(
        self,
        source: Any,
        target: str | None = None,
        *,
        about: dict[str, str],
        lang: str = "en",
        learned: bool | None = None,
        group: str | None = None,
    ) -> Any:
        """The page of a model, judged on a fair sample of rows or documents with labels.

        Parameters
        ----------
        source : Rows or DocumentSource
        target : str, optional
            The column of the labels, where it has another name than that of the fit.
        about : dict
            What the heading names, such as "model" and "data".
        lang : {"en", "zh"}, default="en"
        learned : bool, optional
            Whether the model has learned the rows; by default, whether it can have.
        group : str, optional
            The column of groups of rows, which are left out together.
        """
        if name := target or self.target:
            about = {**about, "target": name}
        rows, labels, weights, groups = self.sampled(source, target, MAX_SAMPLE_ROWS, group)
        with reading_shown("making the report"):
            return self.model.report(
                rows,
                labels,
                sample_weight=weights,
                groups=groups,
                learned=learned,
                about=about,
                lang=lang,
            )


def digest_of(arrays: Iterable[NDArray[Any]]) -> str:
    """A digest of counts, which depends on the bytes of every array of numbers."""
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        if array.dtype.kind in "biuf":
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


# ---- the rows that are taken out of data: by number, or by the value of a column -----------------
@dataclass(frozen=True)
class ChosenRows:
    """Rows by number and by key.

    Parameters
    ----------
    numbers : tuple of int
        From 0.
    keys : tuple of (str, str)
        Columns, and a value of each.
    """

    numbers: tuple[int, ...] = ()
    keys: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.numbers or self.keys)

    @property
    def columns(self) -> list[str]:
        """The columns of the keys."""
        return list(dict.fromkeys(column for column, _ in self.keys))

    @property
    def several(self) -> bool:
        """Whether there may be more than one."""
        return bool(self.keys) or len(self.numbers) > 1

    def last(self) -> int | None:
        """The last row that has to be read; None for all."""
        return None if self.keys else max(self.numbers, default=-1)

    def need_found(self, name: str, n_rows: int, unit: str, keys: set[tuple[str, str]]) -> None:
        """Raises where a row is not there.

        Parameters
        ----------
        name : str
            Of the data.
        n_rows : int
            How many rows it has.
        unit : str
            "row" or "document".
        keys : set of (str, str)
            Those that were found.
        """
        beyond = [n for n in self.numbers if n >= n_rows]
        if beyond:
            rows = f"{n_rows:,} {unit}" + ("" if n_rows == 1 else "s")
            raise SourceError(
                f"{name} has {rows}, from 0 to {n_rows - 1:,}: there is no {unit} {beyond[0]}"
            )
        absent = [f"{column}={value}" for column, value in self.keys if (column, value) not in keys]
        if absent:
            raise SourceError(f"{name}: no {unit} has {listed(absent)}")


# ---- the columns that a fit needs ----------------------------------------------------------------
def need_columns(
    source: Named,
    target: str,
    families: dict[str, Any],
    weight: str | None = None,
    group: str | None = None,
) -> None:
    """Raises where the columns of the training rows are not those that are named.

    Parameters
    ----------
    source : Named
    target : str
    families : dict
        By the column's name.
    weight : str, optional
        The column of weights.
    group : str, optional
        The column of groups of rows.
    """
    columns = source.header
    need_target(source, target, columns)
    for name in families:
        if name not in columns:
            from tallybayes.families.registry import family_names

            raise SourceError(
                f"{called('column')} names {name!r}, which {source.name} does not have; its "
                f"columns are {listed(columns)} (families: {listed(family_names())})."
                + suggestion(name, columns)
            )
    if target in families:
        raise SourceError(
            f"{called('column', target)} is the target, which has no family: leave it out"
        )
    if weight is not None and (weight == target or weight in families):
        what = "the target" if weight == target else f"given a family by {called('column')}"
        raise OptionError(
            f"{called('weight', weight)} is {what}: weights are a column of their own"
        )
    if len(columns) < 2 + (weight is not None):
        raise SourceError(
            f"{source.name} has no column beside {target!r} to learn from (is the "
            f"{called('delimiter')} another?)"
        )
    if group is not None:
        need_group(source, group, target, weight)
