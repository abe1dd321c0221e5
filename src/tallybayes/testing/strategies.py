"""Hypothesis strategies: tallies of every kind, weights, and data sets for every family.

They reach the cases where unlawful code fails: no rows, one row, weights that are zero,
negative or cancel, columns whose scales differ by a hundred orders of magnitude, and a first row a
billion standard deviations away from all others. It imports Hypothesis.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from tallybayes.engines.arrays import collect_array
from tallybayes.schema import Columns, Schema
from tallybayes.tally import ClassCounts, TableTally, Tally

__all__ = [
    "FAMILIES",
    "KINDS",
    "Batch",
    "DataSet",
    "Family",
    "Frame",
    "KindOfTally",
    "batches",
    "columns",
    "data_sets",
    "far_first_row",
    "frames",
    "table_tallies",
    "tallies",
    "weights",
]

Array = NDArray[np.float64]
KindOfTally = Literal["classes", "levels", "sums", "moments", "cross"]
Family = Literal["gaussian", "categorical", "multinomial", "complement", "bernoulli"]

KINDS: tuple[KindOfTally, ...] = ("classes", "levels", "sums", "moments", "cross")
FAMILIES: tuple[Family, ...] = (
    "gaussian",
    "categorical",
    "multinomial",
    "complement",
    "bernoulli",
)

SCALES = (1.0, 1e-3, 1e9, 1e-100, 1e100)
OFFSETS = (0.0, 0.0, 0.0, 1.0, -1e3, 1e9)


class Frame(NamedTuple):
    """What the tallies of a family count."""

    columns: Columns
    n_classes: int


class Batch(NamedTuple):
    """Rows as an engine takes them."""

    x: NDArray[Any]
    codes: NDArray[np.int32]
    weights: Array | None


class DataSet(NamedTuple):
    """Rows as an estimator takes them."""

    X: NDArray[Any]
    y: NDArray[Any]
    sample_weight: Array | None


# ---- weights -------------------------------------------------------------------------------------
WEIGHTS = {
    "whole": st.integers(1, 5).map(float),
    "zero": st.sampled_from([0.0, 0.0, 1.0, 2.0]),
    "fractional": st.floats(0.01, 3.0),
    "negative": st.floats(-3.0, 3.0),
    "cancelling": st.sampled_from([-1.0, 1.0]),
}


@st.composite
def weights(
    draw: st.DrawFn,
    n_rows: int,
    *,
    of: tuple[str, ...] = ("none", "whole", "zero", "fractional", "negative", "cancelling"),
) -> Array | None:
    """Weights of rows, float64 (n_rows,), or None for weight 1.

    Parameters
    ----------
    n_rows : int
    of : tuple of {"none", "whole", "zero", "fractional", "negative", "cancelling"}
        The kinds to choose from; "zero" mixes zeros with whole weights.
    """
    kind = draw(st.sampled_from(of))
    if kind == "none":
        return None
    return draw(hnp.arrays(np.float64, n_rows, elements=WEIGHTS[kind], fill=st.nothing()))


# ---- tallies -------------------------------------------------------------------------------------
@st.composite
def columns(draw: st.DrawFn, kind: KindOfTally, *, whole: bool = False) -> Columns:
    """One to three columns counted as `kind`, which is not "classes"."""
    d = draw(st.integers(1, 3))
    if kind == "levels":
        n_levels = draw(hnp.arrays(np.int64, d, elements=st.integers(1, 4)))
        return Columns(kind="levels", n_features=d, n_levels=n_levels)
    if kind == "sums":
        threshold = draw(st.sampled_from([None, None, 0.5]))
        return Columns(kind="sums", n_features=d, threshold=threshold)
    if kind in ("moments", "cross"):
        nearby = st.sampled_from([0.0, 0.0, 1.0, -7.0])
        origins = nearby if whole else st.one_of(nearby, st.sampled_from([1e9, -1e-9, 0.1]))
        return Columns(
            kind=kind, n_features=d, origin=draw(hnp.arrays(np.float64, d, elements=origins))
        )
    raise ValueError(f"kind must be one of 'levels', 'sums', 'moments' and 'cross', got {kind!r}")


@st.composite
def frames(draw: st.DrawFn, kind: KindOfTally, *, whole: bool = False) -> Frame:
    """Columns and a number of classes; for "classes" the columns are a placeholder."""
    n_classes = draw(st.integers(1, 3))
    return Frame(draw(columns("sums" if kind == "classes" else kind, whole=whole)), n_classes)


def _cells(draw: st.DrawFn, of: Columns, n: int, whole: bool) -> NDArray[Any]:
    d = of.n_features
    if of.kind == "levels":
        assert of.n_levels is not None
        share = draw(hnp.arrays(np.float64, (n, d), elements=st.floats(0.0, 0.99)))
        return np.floor(share * of.n_levels).astype(np.int64)
    if whole:
        numbers = st.integers(-50, 50) if of.kind in ("moments", "cross") else st.integers(0, 50)
        return draw(hnp.arrays(np.float64, (n, d), elements=numbers.map(float)))
    unit = draw(hnp.arrays(np.float64, (n, d), elements=st.floats(-4.0, 4.0, width=32)))
    scale = draw(hnp.arrays(np.float64, d, elements=st.sampled_from(SCALES)))
    offset = draw(hnp.arrays(np.float64, d, elements=st.sampled_from(OFFSETS)))
    # what is below the smallest scale would vanish below 1e-308 when it is squared
    x: Array = np.where(np.abs(unit) < 1e-6, 0.0, unit) * scale
    return np.abs(x) if of.kind == "sums" else x + offset


@st.composite
def batches(draw: st.DrawFn, frame: Frame, *, max_rows: int = 8, whole: bool = False) -> Batch:
    """Rows that fit a frame: none, one, or a few.

    Parameters
    ----------
    frame : Frame
    max_rows : int
    whole : bool
        Whole numbers with whole weights of any sign: sums of them are exact.
    """
    n = draw(st.one_of(st.sampled_from([0, 1]), st.integers(2, max_rows)))
    kinds: tuple[str, ...] = ("none", "whole", "zero", "cancelling")
    if not whole:
        kinds += ("fractional", "negative")
    codes = draw(hnp.arrays(np.int32, n, elements=st.integers(0, frame.n_classes - 1)))
    return Batch(_cells(draw, frame.columns, n, whole), codes, draw(weights(n, of=kinds)))


def _counted(kind: KindOfTally, frame: Frame, batch: Batch) -> tuple[ClassCounts, Tally]:
    classes, tally = _collect(frame, batch)
    return classes, classes if kind == "classes" else tally


def _collect(frame: Frame, batch: Batch) -> tuple[ClassCounts, Tally]:
    counted = collect_array(
        frame.columns, batch.x, batch.codes, frame.n_classes, batch.weights, whose="a strategy"
    )
    return counted.classes, counted.tally


@st.composite
def tallies(
    draw: st.DrawFn, kind: KindOfTally, count: int = 1, *, whole: bool = False
) -> tuple[Tally, ...]:
    """Tallies of one kind that share a frame, some of no rows, some signed.

    Parameters
    ----------
    kind : {"classes", "levels", "sums", "moments", "cross"}
    count : int
        How many.
    whole : bool
        Whole numbers with whole weights: every law then holds exactly.
    """
    frame = draw(frames(kind, whole=whole))
    return tuple(_counted(kind, frame, draw(batches(frame, whole=whole)))[1] for _ in range(count))


@st.composite
def table_tallies(
    draw: st.DrawFn, count: int = 1, *, whole: bool = False
) -> tuple[TableTally, ...]:
    """Tallies of whole models that share a schema of one to three groups of columns."""
    n_classes = draw(st.integers(1, 3))
    kinds: list[KindOfTally] = draw(
        st.lists(st.sampled_from(("levels", "sums", "moments", "cross")), min_size=1, max_size=3)
    )
    groups = tuple(draw(columns(kind, whole=whole)) for kind in kinds)
    schema = Schema(np.arange(n_classes), groups)
    made = []
    for _ in range(count):
        first = draw(batches(Frame(groups[0], n_classes), whole=whole))
        n = len(first.codes)
        parts: list[Tally] = []
        classes = ClassCounts.zeros(n_classes)
        for i, group in enumerate(groups):
            x = first.x if i == 0 else _cells(draw, group, n, whole)
            frame, batch = Frame(group, n_classes), Batch(x, first.codes, first.weights)
            classes, tally = _collect(frame, batch)
            parts.append(tally)
        made.append(TableTally(schema, classes, tuple(parts)))
    return tuple(made)


# ---- data sets -----------------------------------------------------------------------------------
@st.composite
def data_sets(
    draw: st.DrawFn,
    family: Family,
    *,
    min_rows: int = 1,
    max_rows: int = 30,
    max_classes: int = 3,
    of_weights: tuple[str, ...] = ("none", "whole", "fractional"),
) -> DataSet:
    """Rows that an estimator of the family can be fitted to.

    Parameters
    ----------
    family : {"gaussian", "categorical", "multinomial", "complement", "bernoulli"}
    min_rows, max_rows : int
    max_classes : int
    of_weights : tuple of str
        As in :func:`weights`. With "zero", "negative" or "cancelling" a fit may be refused.

    Notes
    -----
    Labels are whole numbers or strings. Gaussian columns have a scale and an offset each; in some
    the first row is a billion standard deviations away.
    """
    n = draw(st.integers(min_rows, max_rows))
    d = draw(st.integers(1, 4))
    labels: NDArray[Any] = draw(
        st.sampled_from([np.array([3, 5, 8]), np.array(["no", "so", "yes"])])
    )
    y = labels[draw(hnp.arrays(np.intp, n, elements=st.integers(0, max_classes - 1)))]
    x: NDArray[Any]
    if family == "gaussian":
        x = draw(far_first_row(n, d)) if draw(st.booleans()) else draw(_reals(n, d))
    elif family == "categorical":
        x = draw(hnp.arrays(np.int64, (n, d), elements=st.integers(0, 4)))
    elif family == "bernoulli":
        x = draw(hnp.arrays(np.float64, (n, d), elements=st.sampled_from([0.0, 0.0, 1.0, 0.5])))
    elif family in ("multinomial", "complement"):
        x = draw(hnp.arrays(np.float64, (n, d), elements=st.integers(0, 9).map(float)))
    else:
        raise ValueError(f"family must be one of {FAMILIES}, got {family!r}")
    return DataSet(x, y, draw(weights(n, of=of_weights)))


@st.composite
def _reals(draw: st.DrawFn, n: int, d: int) -> Array:
    unit = draw(hnp.arrays(np.float64, (n, d), elements=st.floats(-4.0, 4.0, width=16)))
    scale = draw(hnp.arrays(np.float64, d, elements=st.sampled_from([1.0, 1e-6, 1e6])))
    offset = draw(hnp.arrays(np.float64, d, elements=st.sampled_from([0.0, 1.0, -1e3])))
    x: Array = unit * scale + offset * scale
    return x


@st.composite
def far_first_row(draw: st.DrawFn, n: int, d: int, *, deviations: float = 1e9) -> Array:
    """Rows whose first is `deviations` standard deviations of the others away, (n, d).

    What a method that takes its bearings from the first row has to survive.
    """
    seed = draw(st.integers(0, 2**16))
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    x[0] = deviations * draw(st.sampled_from([-1.0, 1.0]))
    scale: float = draw(st.sampled_from([1.0, 1e-30, 1e30]))
    return x * scale
