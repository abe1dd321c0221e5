"""The fold of events: counts at a version, and the model that they make.

Rows are counted by the estimators themselves, so a store counts what ``fit`` would. What is chosen
on rows (weights, pairs, calibration) stands beside the counts and is never part of the fold: the
fold depends on the events alone.
"""

from __future__ import annotations

import copy
import io
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import persistence
from tallybayes.errors import StoreError
from tallybayes.estimators.loading import load
from tallybayes.estimators.naive_bayes import NaiveBayes
from tallybayes.estimators.text import TextNB
from tallybayes.estimators.text_base import chosen_analyzer
from tallybayes.estimators.weighted import WeightedNaiveBayes
from tallybayes.models.base import same
from tallybayes.models.codec import plain, restored_parameters
from tallybayes.persistence import Unfit, need
from tallybayes.store.events import decoded_label, decoded_rows
from tallybayes.tally import CrossMoments, Moments

__all__ = ["CHUNK", "Declaration", "Fold", "Row"]

CHUNK = 4096  # rows that are decoded and counted at a time
DAY = 86400.0
MAX_HALVES = 200.0
"""Half-lives from t₀ to the newest event, at most: 2^200 squared is far from the end of float64."""

Row = tuple[bytes, str, float, float]
"""An encoded row, its label, its weight and its time."""

MODELS: dict[str, Any] = {cls.__name__: cls for cls in (NaiveBayes, WeightedNaiveBayes, TextNB)}


class Declaration:
    """What a store learns: an estimator that is not fitted, and how events age.

    Parameters
    ----------
    model : NaiveBayes, WeightedNaiveBayes or TextNB
        Its parameters are those of every model of the store.
    half_life : float or None
        Days after which an event counts half.
    """

    def __init__(self, model: Any, half_life: float | None) -> None:
        if type(model).__name__ not in MODELS or type(model) is not MODELS[type(model).__name__]:
            raise StoreError(
                "a store learns a NaiveBayes, a WeightedNaiveBayes or a TextNB, got "
                f"{type(model).__name__}: give create= one of them, with its parameters"
            )
        if getattr(model, "class_weight", None) is not None:
            raise StoreError(
                "class weights are applied when a model is read, and a store counts rows: leave "
                "class_weight out, and call with_class_weight on store.model()"
            )
        if model.half_life is not None:
            raise StoreError(
                "half_life of a model counts rows, and a store ages events by their time: leave it "
                "out, and give half_life= in days to tallybayes.store.open"
            )
        if isinstance(model, TextNB) and (model.unlabelled is not None or model.idf):
            raise StoreError(
                "idf and unlabelled documents are decided by the first documents, and a store "
                "counts events in any order: leave idf= and unlabelled= out"
            )
        prior = getattr(model, "class_prior", None)
        if prior is not None and model.classes is None:
            raise StoreError(
                "class_prior names a probability for each class, and rows may bring others: name "
                "the classes of the store with classes="
            )
        if half_life is not None and not (0.0 < half_life < math.inf):
            raise StoreError(f"half_life is a number of days above 0, got {half_life!r}")
        model._validate_params()
        self.model: Any = model
        self.half_life: float | None = half_life
        self.documents: bool = isinstance(model, TextNB)
        self.learns_on_rows: bool = (
            model.model == "weighted" if self.documents else bool(model.chooses_on_rows)
        )
        self.declares_families: bool = not self.documents and model.columns != "auto"

    @classmethod
    def restored(cls, data: bytes, half_life: float | None) -> Declaration:
        """The declaration that :meth:`saved` wrote.

        Parameters
        ----------
        data : bytes
            A model file without counts.
        half_life : float or None
            Days.
        """
        with persistence.opened(io.BytesIO(data), "declaration") as (header, _):
            need(isinstance(header, dict) and header.get("estimator") in MODELS, "it has a model")
            model = restored_parameters(MODELS[header["estimator"]], header["parameters"])
            return cls(model, half_life)

    def saved(self) -> bytes:
        """The estimator with its parameters as bytes."""
        file = io.BytesIO()
        parameters = plain(self.model.get_params(deep=False))
        name = type(self.model).__name__
        persistence.write(file, {"estimator": name, "parameters": parameters}, {})
        return file.getvalue()

    def equals(self, other: Declaration) -> bool:
        """Whether both declare the same model, aged alike."""
        mine, theirs = self.model, other.model
        return (
            type(mine) is type(theirs)
            and self.half_life == other.half_life
            and same(mine.get_params(deep=False), theirs.get_params(deep=False))
        )

    def counter(self, analyzer: str | None = None) -> Any:
        """A new estimator that counts events and chooses nothing on rows.

        Parameters
        ----------
        analyzer : str, optional
            That of documents, where the declaration leaves it open.
        """
        given = copy.deepcopy(self.model)
        if self.documents:
            if given.analyzer == "auto":
                given.set_params(analyzer=analyzer or "word")
            if given.model == "weighted":
                given.set_params(model="bernoulli")
            return given
        if isinstance(given, NaiveBayes) and not given.chooses_on_rows:
            return given
        kept = {"columns": given.columns, "classes": given.classes}
        return NaiveBayes(**kept, class_prior=given.class_prior)

    def facts(self, rows: Sequence[Any]) -> dict[str, str]:
        """What the first rows of a store decide for all of them, beside labels and columns.

        Parameters
        ----------
        rows : sequence
            Documents, or rows.
        """
        if self.documents and self.model.analyzer == "auto":
            return {"analyzer": chosen_analyzer(rows)}
        return {}


class Fold:
    """Counts of the events up to a version.

    Parameters
    ----------
    declaration : Declaration
        What is counted.
    analyzer : str, optional
        See :meth:`Declaration.counter`.

    Attributes
    ----------
    version : int
        The last event that is counted.
    epoch : int
        How often something was forgotten before.
    """

    def __init__(self, declaration: Declaration, analyzer: str | None = None) -> None:
        self.declaration: Declaration = declaration
        self.analyzer: str | None = analyzer
        self.counts: Any = None
        self.version: int = 0
        self.epoch: int = 0
        self.start: float | None = None  # t₀

    def twin(self) -> Fold:
        """Another fold of the same counts; a change of one does not change the other."""
        twin = copy.copy(self)
        if self.counts is not None:
            twin.counts = self._copy(self.counts)
        return twin

    def _copy(self, counts: Any) -> Any:
        if not self.declaration.documents:
            return copy.copy(counts)
        fresh = self.declaration.counter(self.analyzer)
        fresh._take(*counts._held())
        return fresh

    # ---- weights of events that age --------------------------------------------------------------
    def _weights(self, rows: Sequence[Row]) -> Any:
        """What rows count: w · 2^((t − t₀)/h); None where that is 1 for each."""
        half_life = self.declaration.half_life
        if half_life is None:
            weights = [row[2] for row in rows]
            return None if all(weight == 1.0 for weight in weights) else np.array(weights)
        newest = max(row[3] for row in rows)
        if self.start is None:
            self.start = newest - newest % (half_life * DAY)
        halves = (newest - self.start) / (half_life * DAY)
        if halves > MAX_HALVES:
            moved = math.floor(halves)
            self.start += moved * half_life * DAY
            if self.counts is not None:
                self.counts = self._scaled(self.counts, 2.0 ** -min(moved, 1000))
        ages = np.array([(row[3] - self.start) / (half_life * DAY) for row in rows])
        return np.array([row[2] for row in rows]) * np.exp2(np.maximum(ages, -500.0))

    def _scaled(self, counts: Any, factor: float) -> Any:
        """The same counts, each multiplied by a power of two."""
        if self.declaration.documents:
            model, options = counts._held()
            fresh = self.declaration.counter(self.analyzer)
            fresh._take(model.with_tally(model.tally * factor), options)
            return fresh
        fresh = copy.copy(counts)
        fresh._model = (model := fresh._fitted()).with_tally(model.tally * factor)
        return fresh

    # ---- events ----------------------------------------------------------------------------------
    def add(self, rows: Sequence[Row]) -> None:
        """Counts rows in addition.

        Parameters
        ----------
        rows : sequence of Row
            In any order.
        """
        self._change(rows, "partial_fit")

    def remove(self, rows: Sequence[Row]) -> None:
        """Takes rows away that were counted.

        Parameters
        ----------
        rows : sequence of Row
            In any order.
        """
        self._change(rows, "forget")

    def _change(self, rows: Sequence[Row], how: str) -> None:
        for i in range(0, len(rows), CHUNK):
            part = [row for row in rows[i : i + CHUNK] if row[2] > 0.0]
            if not part:
                continue
            weights = self._weights(part)
            if self.counts is None:
                if how == "forget":
                    raise StoreError("the store counts no rows that could be removed")
                self.counts = self.declaration.counter(self.analyzer)
            x, y = _decoded(part)
            getattr(self.counts, how)(x, np.array(y), sample_weight=weights)
            if how == "forget" and self.n_rows == 0.0:
                self.counts = self.start = None

    def merge(self, data: bytes, sign: int = 1) -> None:
        """Adds counts that have no rows, or takes them away.

        Parameters
        ----------
        data : bytes
            What :meth:`saved` gave.
        sign : int
            1 or −1.
        """
        part = Fold.restored(self.declaration, data, self.analyzer)
        if part.counts is None:
            return
        if self.counts is None:
            self.counts, self.start = part.counts, part.start
            return
        if self.start != part.start and self.start is not None and part.start is not None:
            halves = (part.start - self.start) / ((self.declaration.half_life or 1.0) * DAY)
            if halves > 0.0:
                self.counts, self.start = self._scaled(self.counts, 2.0**-halves), part.start
            else:
                part.counts = self._scaled(part.counts, 2.0**halves)
        self.counts.merge(part.counts)

    def take(self, model: Any, now: float) -> None:
        """Takes the counts of a fitted model.

        Parameters
        ----------
        model : estimator
            Of the declared kind.
        now : float
            The time of which the counts are.
        """
        declared = self.declaration.model
        tables = NaiveBayes | WeightedNaiveBayes
        if not isinstance(model, TextNB if self.declaration.documents else tables):
            raise StoreError(
                f"the store learns a {type(declared).__name__}, got a {type(model).__name__}"
            )
        counts = self.declaration.counter(self.analyzer)
        if self.declaration.documents:
            held, options = model._held()
            counter = counts._new_counter(["x"])
            if counter.options != options:
                raise StoreError("the model reads documents by another analyzer than the store")
            counts.partial_fit(["x"], ["x"])
            counts._take(counts._held()[0].with_tally(held.tally), options)
        else:
            tally: Any = model._fitted().tally
            counts = NaiveBayes.from_tally(tally, **counts.get_params(deep=False))
        self.counts = counts
        if (half_life := self.declaration.half_life) is not None:
            self.start = now - now % (half_life * DAY)
            self.counts = self._scaled(counts, 2.0 ** ((now - self.start) / (half_life * DAY)))

    @property
    def n_rows(self) -> float:
        """The weight of all rows."""
        if self.counts is None:
            return 0.0
        tally = self._tally()
        of_classes = tally.documents if self.declaration.documents else tally.classes.count
        return float(of_classes.sum())

    def weights(self) -> dict[Any, float]:
        """What the rows of each label weigh."""
        if self.counts is None:
            return {}
        return dict(
            zip(self.counts.classes_.tolist(), self.counts.class_count_.tolist(), strict=True)
        )

    def equals(self, other: Fold, *, whole: bool) -> bool:
        """Whether both hold the same counts.

        Parameters
        ----------
        other : Fold
            Of the same rows in another order, none of which were ever removed.
        whole : bool
            Whether all weights are whole. Then counts are equal bit for bit; sums of numbers and
            of squares are so to a share of ROUNDING, as everything is of other weights.
        """
        if self.counts is None or other.counts is None:
            return self.counts is other.counts
        if self.start is not None and other.start is not None and self.start != other.start:
            halves = (self.start - other.start) / ((self.declaration.half_life or 1.0) * DAY)
            other = other.twin()
            other.counts = other._scaled(other.counts, 2.0**-halves)
        mine, theirs = self._tally(), other._tally()
        return bool(mine == theirs) or _nearly_equal(mine, theirs, whole=whole)

    def _tally(self) -> Any:
        counts = self.counts
        held = counts._held_model() if self.declaration.documents else counts._fitted()
        return held.tally

    # ---- bytes -----------------------------------------------------------------------------------
    def saved(self) -> bytes:
        """The counts as a model file; nothing where there are none."""
        if self.counts is None:
            return b""
        file = io.BytesIO()
        if self.start is not None:
            file.write(np.float64(self.start).tobytes())
        self.counts.save(file)
        return file.getvalue()

    @classmethod
    def restored(cls, declaration: Declaration, data: bytes, analyzer: str | None) -> Fold:
        """The inverse of :meth:`saved`.

        Parameters
        ----------
        declaration : Declaration
            What is counted.
        data : bytes
            The counts.
        analyzer : str or None
            See :meth:`Declaration.counter`.
        """
        fold = cls(declaration, analyzer)
        if data:
            aged = declaration.half_life is not None
            fold.start = float(np.frombuffer(data[:8], np.float64)[0]) if aged else None
            try:
                fold.counts = load(io.BytesIO(data[8:] if aged else data))
            except Unfit as error:  # pragma: no cover - a ValueError that load words itself
                raise StoreError(str(error)) from error
        return fold

    # ---- the model -------------------------------------------------------------------------------
    def model(self, learned: Any, now: float) -> Any:
        """A model of the counts, which shares them until one of both changes.

        Parameters
        ----------
        learned : estimator or None
            A model of the store that was learned on rows, whose weights are kept.
        now : float
            The time at which events have aged.
        """
        counts = self._as_of(now)
        if learned is None:
            return self._published(counts)
        return with_counts(learned, counts, self.declaration.documents)

    def learned(self, sample: Sequence[Row], groups: NDArray[np.int64] | None, now: float) -> Any:
        """A model of the counts that learns weights, pairs or calibration on some of its rows.

        Parameters
        ----------
        sample : sequence of Row
            Rows that are counted.
        groups : int64 array (n_rows,) or None
            Rows of a group are left out together.
        now : float
            The time at which events have aged.
        """
        counts = self._as_of(now)
        rows, labels, weights = self.decoded(sample, now)
        how: dict[str, Any] = {"sample_weight": weights, "groups": groups}
        model = copy.deepcopy(self.declaration.model)
        if self.declaration.documents:
            model.set_params(analyzer=counts.analyzer)
            model.fit(rows, labels, **how)
            model = with_counts(model, counts, True)
            return model.reweight(rows, labels, **how)
        if isinstance(model, WeightedNaiveBayes):
            return model.count_from(counts, rows, labels, **how)
        model = NaiveBayes.from_tally(counts._fitted().tally, **model.get_params(deep=False))
        return model.recalibrate(rows, labels, **how)

    def decoded(
        self, sample: Sequence[Row], now: float
    ) -> tuple[list[Any], list[Any], NDArray[np.float64] | None]:
        """Rows as estimators take them, their labels, and what they weigh at a time; None where
        each weighs 1."""
        rows, labels = _decoded(sample)
        if self.start is None and all(row[2] == 1.0 for row in sample):
            return rows, labels, None
        days = (self.declaration.half_life or math.inf) * DAY
        return rows, labels, np.array([row[2] * 2.0 ** ((row[3] - now) / days) for row in sample])

    def _as_of(self, now: float) -> Any:
        """The counts as they weigh at a time."""
        if self.counts is None:
            raise StoreError("the store holds no rows, and a model needs some: learn rows first")
        if self.start is None:
            return self.counts
        halves = (now - self.start) / ((self.declaration.half_life or 1.0) * DAY)
        return self._scaled(self.counts, float(2.0**-halves))

    def _published(self, counts: Any) -> Any:
        """The counts as an estimator with the declared parameters."""
        if not self.declaration.documents:
            return copy.copy(counts)
        model = copy.deepcopy(self.declaration.model)
        model._take(*counts._held())
        return model


def with_counts(learned: Any, counts: Any, documents: bool) -> Any:
    """A copy of a model with other counts; what it has learned on rows stays.

    Parameters
    ----------
    learned : estimator
        Not changed.
    counts : estimator
        Whose counts it takes.
    documents : bool
        Whether both count documents.
    """
    if documents:
        model, options = learned._held()
        tally = counts._held()[0].tally
        fresh = copy.deepcopy(learned)
        fresh._take(model if model.tally == tally else model.with_tally(tally), options)
        return fresh
    theirs = counts._fitted()
    fresh = copy.copy(learned)
    mine = fresh._fitted()
    if mine.tally == theirs.tally:
        return fresh
    tally = theirs.tally.aligned(mine.schema.join(theirs.tally.schema))
    fresh._take_held(tally, theirs.seen, theirs.reading.declared)
    return fresh


ROUNDING = 1e-9
"""The share of a sum by which it may depend on the order of its terms."""


def _nearly_equal(mine: Any, theirs: Any, *, whole: bool) -> bool:
    """Whether two tallies differ by rounding alone."""
    parts = [(mine, mine - theirs)]
    if hasattr(mine, "parts"):
        parts = list(zip((mine + theirs.zero()).parts, (mine - theirs).parts, strict=True))
    for held, apart in parts:
        of_numbers = isinstance(held, Moments | CrossMoments)
        for name in getattr(held, "additive", ("documents", "counts")):
            exact = whole and not (of_numbers and name.startswith("s"))
            size = np.abs(getattr(held, name)).max(initial=0.0)
            most = np.abs(getattr(apart, name)).max(initial=0.0)
            if most > (0.0 if exact else ROUNDING * size) and not name.endswith("_lo"):
                return False
    return True


def _decoded(rows: Sequence[Row]) -> tuple[list[Any], list[Any]]:
    """Rows and labels of events, as estimators take them."""
    labels = [row[1] for row in rows]
    label_of = {label: decoded_label(label) for label in set(labels)}
    return decoded_rows([row[0] for row in rows]), [label_of[label] for label in labels]
