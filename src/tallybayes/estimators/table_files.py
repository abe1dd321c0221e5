"""Models of tables in a model file: plain values for the header, and arrays, each checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes import families
from tallybayes.families.choice import ReadAs
from tallybayes.families.registry import family_of_class, is_family, name_of_family
from tallybayes.models.calibration import Calibration, Isotonic, Temperature
from tallybayes.models.declarations import (
    KINDS,
    Declared,
    Reading,
    need_family,
    need_two_levels,
)
from tallybayes.models.rows import Names
from tallybayes.models.table import Chosen, TableModel
from tallybayes.models.weighted import WeightedModel
from tallybayes.models.weighting import Weighting
from tallybayes.persistence import (
    Check,
    Unfit,
    anything,
    array,
    each,
    either,
    flag,
    mapping,
    need,
    number,
    one_of,
    optional,
    record,
    text,
    unique,
    whole,
)
from tallybayes.scoring import Figures
from tallybayes.tally.saved import labels
from tallybayes.weighted.average import TextWeights
from tallybayes.weighted.cells import ColumnCells
from tallybayes.weighted.learned import Averaged, Learned
from tallybayes.weighted.pairs import PairCells, PairTerm, SmoothPair
from tallybayes.weighted.scores import Weights
from tallybayes.weighted.splines import SmoothTables
from tallybayes.weighted.tables import TableChoice

__all__ = [
    "MAX_WEIGHT",
    "PREFIX",
    "SMOOTH",
    "SMOOTH_HEADER",
    "Arrays",
    "HeldArrays",
    "field_values",
    "pair_cells",
    "plain",
    "plain_choices",
    "plain_smooth",
    "plain_table",
    "plain_weighting",
    "restore_choices",
    "restore_table",
    "restored",
    "restored_smooth",
    "restored_weighting",
]


# ---- parameters: families, types and NumPy types by name -----------------------------------------
PRIORS = {
    prior.__name__: prior
    for prior in (
        families.Beta,
        families.Complement,
        families.Dirichlet,
        families.Gamma,
        families.NormalInverseGamma,
        families.NormalInverseWishart,
    )
}
"""What a file can name besides the families of columns; nothing else is looked up by a name."""

FAMILY = "tallybayes.family"  # the key that marks a family among parameters
TYPE = "tallybayes.type"  # marks a type among the keys of columns=
TYPES = {t.__name__: t for t in KINDS}
DTYPE = "tallybayes.dtype"  # marks a NumPy type among them


def field_values(value: Any) -> dict[str, Any]:
    """The fields of a dataclass by name, as they are."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def plain(value: Any) -> Any:
    """Parameters with each family as a dict of its name and fields."""
    if type(value) in PRIORS.values() or name_of_family(type(value)) is not None:
        return {FAMILY: type(value).__name__, **plain(field_values(value))}
    if is_family(value):
        raise TypeError(
            f"the family {type(value).__name__} has no name that a model file could hold: give it "
            "one with tallybayes.register_family, here and where the file is read"
        )
    if isinstance(value, dict):
        return {plain(key): plain(v) for key, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, type) and value in TYPES.values():
        return (TYPE, value.__name__)
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return (DTYPE, np.dtype(value).str)
    return value


def restored(value: Any, where: str) -> Any:
    """The inverse of :func:`plain`.

    Raises
    ------
    Unfit
        For a family, a type or a field that this version does not have.
    """
    if isinstance(value, dict) and FAMILY in value:
        return _family(value, where)
    if isinstance(value, dict):
        pairs = [(restored(k, where), restored(v, f"{where}[{k!r}]")) for k, v in value.items()]
        return dict(pairs)
    if isinstance(value, list):
        return [restored(v, f"{where}[{i}]") for i, v in enumerate(value)]
    if isinstance(value, tuple) and len(value) == 2 and value[0] == TYPE:
        need(text(value[1], where) in TYPES, f"{where} names the type {value[1]!r}")
        return TYPES[value[1]]
    if isinstance(value, tuple) and len(value) == 2 and value[0] == DTYPE:
        return constructed(np.dtype, where, text(value[1], where)[:32])
    return value


def constructed(make: Callable[..., Any], where: str, *args: Any, **kwargs: Any) -> Any:
    """``make(...)``, which checks what it takes; a file that holds what it refuses is damaged."""
    try:
        return make(*args, **kwargs)
    except (TypeError, ValueError, OverflowError) as error:
        raise Unfit(f"{where}: {error}") from error


def _family(given: dict[str, Any], where: str) -> Any:
    held = dict(given)
    name = text(held.pop(FAMILY), f"the family of {where}")
    family: Any = PRIORS.get(name) or family_of_class(name)
    need(family is not None, f"{where} names the family {name!r}, which this version does not have")
    known = {field.name for field in fields(family)}
    for key in held:
        need(key in known, f"{where}: {name} has no {key!r}")
    values = {key: restored(v, f"{where}.{key}") for key, v in held.items()}
    return constructed(family, where, **values)


# ---- how the tally of a table is read ------------------------------------------------------------
CALIBRATIONS: dict[str, Any] = {c.__name__: c for c in (Temperature, Isotonic)}

UNSHRUNK = {"share": 1.0, "beta": 1.0}  # of an isotonic calibration in a file of 0.1.0

MODES = {
    "alpha": either(one_of("evidence", "loo_likelihood", "loo_log_loss"), number(0.0)),
    "estimate": one_of("mean", "map", "mle", "posterior"),
    "unseen": one_of("smooth", "ignore", "error"),
    "missing": one_of("ignore", "level"),
    "scale": number(0.0),
}
TABLE = record(
    {
        "names": unique(each(text)),
        "firm": optional(unique(each(text))),
        "families": mapping(text, anything),
        "groups": mapping(unique(each(text, of=tuple)), anything),
        "by_type": each(each(anything, length=2)),
        "reading": record(MODES, {"scale": 1.0}),
        "chosen": record(
            {
                "alpha": optional(number(0.0)),
                "stale": flag,
                "calibration": optional(one_of(*CALIBRATIONS)),
                "held": anything,
            }
        ),
        "with_strings": unique(each(text)),
    },
    {"firm": None, "with_strings": []},
)


def plain_table(model: TableModel) -> dict[str, Any]:
    """What a table's model has beside its tally, as plain values."""
    reading = model.reading._asdict()
    what = reading.pop("declared")
    return {
        "names": model.seen.seen,
        "firm": [name for name in model.seen.seen if name in model.seen.firm],
        "families": plain(what.families),
        "groups": plain(what.groups),
        "by_type": [[list(kinds), plain(family)] for kinds, family in what.by_type],
        "reading": reading,
        "chosen": _plain_choices(model.chosen),
    } | ({"with_strings": sorted(model.with_strings)} if model.with_strings else {})


def _plain_choices(chosen: Chosen) -> dict[str, Any]:
    calibration = chosen.calibration
    kind = None if calibration is None else type(calibration).__name__
    held = {} if calibration is None else field_values(calibration)
    return {"alpha": chosen.alpha, "stale": chosen.stale, "calibration": kind, "held": held}


def restore_table(model: TableModel, given: Any) -> None:
    """The inverse of :func:`plain_table`: sets what the model has beside its tally.

    Raises
    ------
    Unfit
        Where it does not fit the tally.
    """
    held = TABLE(given, "table")
    by_type = []
    for kinds, family in held["by_type"]:
        kinds = tuple(each(text)(kinds, "table.by_type"))
        by_type.append((kinds, _single(kinds, restored(family, "table.by_type"))))
    families = {
        name: _single(name, restored(family, f"table.families[{name!r}]"))
        for name, family in held["families"].items()
    }
    groups = {
        names: _together(names, restored(family, f"table.groups[{names!r}]"))
        for names, family in held["groups"].items()
    }
    what = Declared(families, groups, tuple(by_type))
    names, firm = held["names"], held["firm"]
    firm = names if firm is None else firm  # files of 0.1.0 have columns only
    need(set(names).issuperset(firm), "firm names some of the columns")
    model.seen = Names(names, frozenset(firm))
    model.with_strings = frozenset(held["with_strings"])
    model.reading = Reading(declared=what, **held["reading"])
    model.chosen = _restored_choices(held["chosen"], len(model.schema.classes))
    _need_declared(model, what)


def _single(key: Any, family: Any) -> Any:
    """The family of a column by itself."""
    constructed(need_family, "table", key, family)
    need(family is None or family.together is None, f"{key!r} has a family of groups")
    return family


def _together(names: tuple[str, ...], family: Any) -> Any:
    """The family of a group."""
    constructed(need_family, "table", names, family)
    need(family is not None and family.together is not None, f"{names!r} has a family of groups")
    constructed(family.check_group, f"the prior of {names!r}", len(names))
    return family


def _need_declared(model: TableModel, what: Declared) -> None:
    """Raises where a column is counted as something that its family does not read."""
    known = set(model.seen.seen)
    for group, tally in zip(model.schema.groups, model.tally.groups, strict=True):
        names = group.names or ()
        need(known.issuperset(names), f"names has the columns that are counted, {names!r}")
        if group.kind in ("sums", "cross"):
            kind = what.together.get(names)
            need(kind == group.kind, f"{names!r} is counted as the group that is declared")
            continue
        name = names[0]
        family = what.families.get(name)
        counted = {"levels": "levels", "terms": "documents"}.get(group.kind, "numbers")
        reads = None if family is None else family.reads
        need(
            reads == counted if "documents" in (reads, counted) else reads in (None, counted),
            f"{name!r} is counted as what a {type(family).__name__} reads",
        )
        if counted == "documents":
            words = what.analyzers[name].in_words
            need(group.terms == words, f"{name!r} is counted as its terms are")
        declared = what.levels(name)
        if group.kind == "levels" and declared is not None:
            assert group.levels is not None
            need(
                set(declared).issuperset(group.levels[0].tolist()),
                f"{name!r} has the levels that are declared",
            )
        if group.kind == "grid" and what.least(name) > 0:
            values = tally.values()  # type: ignore[attr-defined]
            lowest = float(values.min(initial=np.inf))
            need(lowest >= 0.0, f"{name!r} has numbers that its family does not read")
    constructed(need_two_levels, "table", model.tally, what)


def _restored_choices(held: dict[str, Any], n_classes: int) -> Chosen:
    calibration = _calibration(held["calibration"], held["held"], n_classes)
    return Chosen(held["alpha"], calibration, held["stale"])


def _calibration(kind: str | None, held: Any, n_classes: int) -> Calibration | None:
    if kind is None:
        return None
    if kind == "Temperature":
        return Temperature(**record({"beta": number(0.0)})(held, "calibration"))
    n_curves = 1 if n_classes == 2 else n_classes
    curves = record(
        {
            "knots": each(_curve, of=tuple, length=n_curves),
            "values": each(_shares_between, of=tuple, length=n_curves),
            "share": number(0.0),
            "beta": number(0.0),
        }
    )({**UNSHRUNK, **held} if isinstance(held, dict) else held, "calibration")
    need(curves["share"] <= 1.0, "calibration has a share from 0 to 1")
    for knots, values in zip(curves["knots"], curves["values"], strict=True):
        need(len(knots) == len(values) > 0, "calibration has a value at each knot")
    return Isotonic(**curves)


def _curve(value: Any, where: str) -> NDArray[np.float64]:
    fits = isinstance(value, np.ndarray) and value.dtype == np.float64 and value.ndim == 1
    need(fits and bool(np.isfinite(value).all()), f"{where} is an array of numbers")
    need(bool((value[1:] >= value[:-1]).all()), f"{where} ascends")
    return value  # type: ignore[no-any-return]


def _shares_between(value: Any, where: str) -> NDArray[np.float64]:
    found = _curve(value, where)
    need(bool(((found > 0.0) & (found < 1.0)).all()), f"{where} are between 0 and 1")
    return found


# ---- the chosen families of columns of numbers: one array for each field -------------------------
# A file without them, such as one of 0.1.0, can be read: the choices are then made again, with the
# same result.
FAMILIES: tuple[Literal["gaussian", "atoms", "bins", "smooth", "counts"], ...]
FAMILIES = ("gaussian", "atoms", "bins", "smooth", "counts")
CHOICES = "choices."
CHOICE_TYPES = {
    "column": "i8",
    "family": "i8",
    "likelihood": "f8",
    "bins": "i8",
    "width": "i8",
    "strength": "f8",
}


def plain_choices(model: TableModel) -> dict[str, NDArray[Any]]:
    """The choices of a table's model as arrays: the place of each column among all, and what it is
    read as."""
    if isinstance(model, WeightedModel) or not len(model.schema.classes):
        return {}
    place = {name: i for i, name in enumerate(model.seen.seen)}
    made = [
        (place[name], FAMILIES.index(c.family), c.likelihood, c.bins, c.width, c.strength)
        for name, c in model.choices.items()
        if np.isfinite(c.likelihood)
    ]
    made.sort()
    return {
        CHOICES + name: np.array([one[i] for one in made], dtype=kind)
        for i, (name, kind) in enumerate(CHOICE_TYPES.items())
        if made
    }


def restore_choices(model: TableModel, arrays: dict[str, Any]) -> None:
    """The inverse of :func:`plain_choices`.

    Raises
    ------
    Unfit
        For what no choice is, or that of no such column.
    """
    held = {name.removeprefix(CHOICES): a for name, a in arrays.items() if name.startswith(CHOICES)}
    if not held:
        return
    need(not isinstance(model, WeightedModel), "a weighted model has no choices of families")
    need(held.keys() == CHOICE_TYPES.keys(), "choices have a value of each kind")
    n = len(
        array("i8", -1, minimum=0, maximum=len(model.seen.seen) - 1)(
            held["column"], "choices.column"
        )
    )
    for name, kind in CHOICE_TYPES.items():
        array(kind, n)(held[name], CHOICES + name)
    column, family = held["column"], held["family"]
    need(bool((column[1:] > column[:-1]).all()), "choices name each column once, in order")
    array("i8", n, minimum=0, maximum=len(FAMILIES) - 1)(family, "choices.family")
    choices = {
        model.seen.seen[j]: ReadAs(FAMILIES[kind], *rest)
        for j, kind, *rest in zip(*(held[name].tolist() for name in CHOICE_TYPES), strict=True)
    }
    fits = len(model.schema.classes) > 0 and model.take_choices(choices)
    need(fits, "choices are what columns of numbers can be read as")


# ---- the arrays of a weighting, each checked as it is taken --------------------------------------
Arrays = dict[str, NDArray[Any]]

PREFIX = "weighting."  # of the names of its arrays
MAX_WEIGHT = 1e100
"""Weights, offsets and counts of a weighting beyond this are damage; products stay finite."""
FINITE = float(np.finfo(np.float64).max)


class HeldArrays:
    """The arrays of a weighting, each checked as it is taken."""

    def __init__(self, arrays: Arrays, prefix: str = PREFIX) -> None:
        self.prefix = prefix
        self._arrays = {
            k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)
        }

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def take(self, name: str, *shape: int, minimum: float = -MAX_WEIGHT) -> NDArray[Any]:
        """Float64 of this shape, within what exponentials and products bear."""
        return self._checked(array("f8", *shape, minimum=minimum, maximum=MAX_WEIGHT), name)

    def edges(self, name: str) -> NDArray[Any]:
        """Edges of cells: any finite numbers that ascend, as those of the column are only
        compared with them."""
        edges = self._checked(array("f8", -1, minimum=-FINITE, maximum=FINITE), name)
        need(bool((edges[1:] > edges[:-1]).all()), f"{self.prefix}{name} ascends")
        return edges

    def cells(self, name: str, n_cells: int, size: int) -> NDArray[Any]:
        """int32 (n_cells,): of each cell, a coarser one below `size`."""
        return self._checked(array("i4", n_cells, minimum=0, maximum=size - 1), name)

    def _checked(self, check: Check, name: str) -> NDArray[Any]:
        need(name in self._arrays, f"the file lacks {self.prefix}{name}")
        return check(self._arrays[name], f"{self.prefix}{name}")  # type: ignore[no-any-return]


def pair_cells(
    held: HeldArrays,
    i: int,
    columns: list[ColumnCells],
    first: Any,
    second: Any,
    sizes: Sequence[Any],
) -> PairCells:
    """Two columns and their cells."""
    where, (rows, cols) = f"{held.prefix}pairs[{i}]", sizes
    for column in (first, second):
        whole(0, len(columns) - 1)(column, where)
    need(first != second, f"{where} is of two columns")
    a, b = columns[first].n_cells, columns[second].n_cells
    whole(1, a)(rows, where), whole(1, b)(cols, where)
    maps = held.cells(f"first{i}", a, rows), held.cells(f"second{i}", b, cols)
    return PairCells(first, second, maps, (rows, cols))


# ---- the smooth functions of a weighted model ----------------------------------------------------
SMOOTH = f"{PREFIX}smooth."  # of the names of its arrays
SMOOTH_HEADER = {"share": number(0.0), "pairs": each(anything)}


def plain_smooth(smooth: SmoothTables) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of the smooth functions."""
    arrays: Arrays = {f"{SMOOTH}offset": smooth.offset}
    for j, table in enumerate(smooth.columns):
        arrays[f"{SMOOTH}column{j}"] = table
    for i, pair in enumerate(smooth.pairs):
        arrays[f"{SMOOTH}pair{i}"] = pair.table
        arrays[f"{SMOOTH}first{i}"], arrays[f"{SMOOTH}second{i}"] = pair.maps
    pairs = [[p.first, p.second, *p.sizes] for p in smooth.pairs]
    return {"share": smooth.share, "pairs": pairs}, arrays


def restored_smooth(
    given: dict[str, Any] | None, held: HeldArrays, columns: list[ColumnCells], n_classes: int
) -> SmoothTables | None:
    """The smooth functions, where the file has some."""
    if given is None:
        return None
    need(given["share"] < 1.0, "weighting.smooth.share is below 1")
    pairs = []
    for i, pair in enumerate(given["pairs"]):
        first, second, *sizes = each(anything, length=4)(pair, f"{SMOOTH}pairs[{i}]")
        cells = pair_cells(held, i, columns, first, second, sizes)
        table = held.take(f"pair{i}", cells.n_cells, n_classes)
        pairs.append(SmoothPair(first, second, cells.maps, cells.sizes, table))
    together = {frozenset((pair.first, pair.second)) for pair in pairs}
    need(len(together) == len(pairs), f"{SMOOTH}pairs has each two columns once")
    return SmoothTables(
        given["share"],
        held.take("offset", n_classes),
        [held.take(f"column{j}", column.n_cells, n_classes) for j, column in enumerate(columns)],
        pairs,
    )


# ---- a weighting ---------------------------------------------------------------------------------
MIN_POSITIVE = 1e-300
"""Counts of a pair are above 0: their logarithm is taken."""


def plain_weighting(weighting: Weighting) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a weighting."""
    learned = weighting.learned
    arrays: Arrays = {
        "weighting.shares": learned.shares,
        "weighting.shift": weighting.shift,
        "weighting.apart": weighting.apart,
        "weighting.confused": weighting.confused,
    }
    for j, column in enumerate(learned.columns):
        if column.edges is not None:
            arrays[f"weighting.edges{j}"] = column.edges
    parts = []
    for m, part in enumerate(learned.parts):
        plain, more = _plain_part(part, f"{PREFIX}part{m}.")
        parts.append(plain)
        arrays |= more
    header = {
        "classes": weighting.classes,
        "figures": _figures(weighting.figures),
        "out": weighting.out,
        "unit": weighting.unit,
        "prior_share": weighting.prior_share,
        "duplicates": learned.duplicates,
        "nearly": learned.nearly,
        "columns": [[column.name, column.levels] for column in learned.columns],
        "parts": parts,
    }
    if learned.smooth is not None:
        header["smooth"], more = plain_smooth(learned.smooth)
        arrays |= more
    if weighting.text is not None:
        held = asdict(weighting.text)
        header["text"] = {**held, **{name: held[name].tolist() for name in ("weights", "apart")}}
    return header, arrays


def _plain_part(part: Learned, prefix: str) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of what one fit gave."""
    arrays: Arrays = {f"{prefix}offset": part.offset}
    weights = [("", part.weights), *((f"round{r}.", then) for r, then in enumerate(part.rounds))]
    for name, some in weights:
        arrays[f"{prefix}{name}terms"] = some.terms
        arrays[f"{prefix}{name}deviations"] = some.deviations
        arrays[f"{prefix}{name}offsets"] = some.offsets
    for i, pair in enumerate(part.pairs):
        arrays[f"{prefix}counted{i}"] = pair.counted
        arrays[f"{prefix}expected{i}"] = pair.expected
        arrays[f"{prefix}first{i}"], arrays[f"{prefix}second{i}"] = pair.maps
    for t, more in enumerate(part.corrections or []):
        arrays[f"{prefix}correction{t}"] = more
    header = {
        "scale": part.weights.scale,
        "round_scales": [then.scale for then in part.rounds],
        "corrected": part.corrections is not None,
        "choices": [asdict(choice) for choice in part.choices],
        "pairs": [[p.first, p.second, *p.sizes, p.gain, p.round] for p in part.pairs],
    }
    return header, arrays


def _figures(figures: Figures) -> dict[str, Any]:
    """The figures as a file holds them, which calls the increase of the log-loss its price."""
    held = asdict(figures)
    return {"price" if name == INCREASE else name: value for name, value in held.items()}


def _figures_of(held: dict[str, Any]) -> Figures:
    return Figures(**{INCREASE if name == "price" else name: held[name] for name in held})


INCREASE = "log_loss_increase"
FIGURES = record(
    {
        "rows": number(0.0),
        "log_loss": number(),
        "accuracy": number(),
        "prior_log_loss": number(),
        "price": optional(number()),
        "log_loss_se": optional(number(0.0)),
        "accuracy_se": optional(number(0.0)),
        "left_out": flag,
    },
    {"log_loss_se": None, "accuracy_se": None, "left_out": False},
)
CHOICE = record(
    {
        "kernel": one_of("none", "cells", "rank"),
        "width": number(above=0.0),
        "strength": number(above=0.0),
    }
)


PART: dict[str, Check] = {
    "scale": number(),
    "round_scales": each(number()),
    "corrected": flag,
    "choices": each(CHOICE),
    "pairs": each(anything),
}
TEXT = {
    "names": unique(each(text)),
    "weights": each(number(0.0)),
    "cells": number(0.0),
    "apart": each(number(0.0)),
}
WHOLE: dict[str, Check] = {
    "classes": labels,
    "figures": FIGURES,
    "out": mapping(text, text),
    "unit": number(above=0.0),
    "prior_share": number(0.0),
    "text": optional(record(TEXT)),
    "smooth": optional(record(SMOOTH_HEADER)),
    "duplicates": mapping(whole(), whole()),
    "nearly": mapping(whole(), whole()),
    "columns": each(anything),
}
LATER = {"text": None, "smooth": None}
HEADER = record({**WHOLE, "parts": each(record(PART))}, LATER)
ONE_LEARNING = record({**WHOLE, **PART}, {"unit": 1.0, "prior_share": 0.0, **LATER})
"""Of files before models were averages; those of 0.1.0 had no unit, and took weights as rows."""


def _column(given: Any, held: HeldArrays, j: int, n_classes: int) -> ColumnCells:
    where = f"weighting.columns[{j}]"
    name, levels = each(anything, length=2)(given, where)
    text(name, where)
    edges = None
    if levels is None or f"edges{j}" in held:
        edges = held.edges(f"edges{j}")
    optional(unique(each(text)))(levels, where)
    n_cells = len(levels or []) + (0 if edges is None else len(edges) + 1) + 1
    counts = np.zeros((n_cells, n_classes))
    return ColumnCells(name=name, counts=counts, edges=edges, levels=levels)


def _text(held: dict[str, Any] | None) -> TextWeights | None:
    """The weights of columns of text."""
    if held is None:
        return None
    weights, apart = (np.array(held[name], dtype=np.float64) for name in ("weights", "apart"))
    need(
        len(held["names"]) == len(weights) == len(apart) > 0,
        "weighting.text has a weight for each column",
    )
    for values in (weights, apart, np.array([held["cells"]])):
        need(bool((values <= MAX_WEIGHT).all()), "weighting.text has weights that a fit can give")
    return TextWeights(names=held["names"], weights=weights, cells=held["cells"], apart=apart)


def _pair(
    given: Any, held: HeldArrays, i: int, columns: list[ColumnCells], rounds: int, n_classes: int
) -> PairTerm:
    where = f"{held.prefix}pairs[{i}]"
    first, second, rows, cols, gain, round = each(anything, length=6)(given, where)
    cells = pair_cells(held, i, columns, first, second, (rows, cols))
    number()(gain, where), whole(0, rounds)(round, where)
    return PairTerm(
        first,
        second,
        cells.maps,
        cells.sizes,
        held.take(f"counted{i}", rows * cols, n_classes, minimum=MIN_POSITIVE),
        held.take(f"expected{i}", rows * cols, n_classes, minimum=MIN_POSITIVE),
        gain,
        round,
    )


def _weights(held: HeldArrays, prefix: str, n_terms: int, n_classes: int, scale: float) -> Weights:
    return Weights(
        held.take(f"{prefix}terms", n_terms),
        held.take(f"{prefix}deviations", n_classes, -1 if n_terms < 0 else n_terms),
        held.take(f"{prefix}offsets", n_classes),
        scale,
    )


def restored_weighting(given: Any, arrays: Arrays) -> Weighting:
    """The inverse of :func:`plain_weighting`.

    Raises
    ------
    Unfit
        Where its parts do not fit each other.
    """
    header, held = _header(given), HeldArrays(arrays)
    n_classes = len(header["classes"])
    need(header["prior_share"] < 1.0, "weighting.prior_share is below 1")
    columns = [_column(c, held, j, n_classes) for j, c in enumerate(header["columns"])]
    names = [column.name for column in columns]
    need(len(set(names)) == len(names), "weighting.columns names no column twice")
    for key, other in (*header["duplicates"].items(), *header["nearly"].items()):
        need(max(key, other) < len(columns), "weighting names the columns that there are")
    averaged = Averaged(
        columns=columns,
        parts=[
            _part(part, HeldArrays(arrays, prefix), columns, n_classes)
            for part, prefix in zip(header["parts"], header["prefixes"], strict=True)
        ],
        shares=_shares(header, held),
        tested=np.arange(0),
        log_proba=np.zeros((0, n_classes)),
        gained=np.zeros(0),
        duplicates=header["duplicates"],
        nearly=header["nearly"],
        smooth=restored_smooth(header["smooth"], HeldArrays(arrays, SMOOTH), columns, n_classes),
    )
    _need_cells_alike(averaged)
    return Weighting(
        learned=averaged,
        classes=header["classes"],
        shift=held.take("shift", n_classes),
        apart=held.take("apart", len(columns) + len(averaged.pairs)),
        figures=_figures_of(header["figures"]),
        confused=_confused(header, held),
        out=header["out"],
        unit=header["unit"],
        prior_share=header["prior_share"],
        text=_text(header["text"]),
    )


def _header(given: Any) -> dict[str, Any]:
    """The header with its parts, and the prefix of the arrays of each."""
    if isinstance(given, dict) and "parts" not in given:
        found: dict[str, Any] = ONE_LEARNING(given, "weighting")
        return found | {"parts": [{key: found[key] for key in PART}], "prefixes": [PREFIX]}
    found = HEADER(given, "weighting")
    return found | {"prefixes": [f"{PREFIX}part{m}." for m in range(len(found["parts"]))]}


def _shares(header: dict[str, Any], held: HeldArrays) -> NDArray[Any]:
    n_parts = len(header["parts"])
    need(n_parts > 0, "weighting has a part")
    if header["prefixes"] == [PREFIX]:
        return np.ones(1)
    shares = held.take("shares", n_parts, minimum=0.0)
    smooth = 0.0 if header["smooth"] is None else header["smooth"]["share"]
    need(abs(float(shares.sum()) + smooth - 1.0) < 1e-9, "weighting.shares sum to 1")
    return shares


def _confused(header: dict[str, Any], held: HeldArrays) -> NDArray[Any]:
    if header["prefixes"] == [PREFIX]:
        return np.zeros((0, 3))
    confused = held.take("confused", -1, 3, minimum=0.0)
    classes = confused[:, :2]
    known = (classes < len(header["classes"])) & (classes % 1.0 == 0.0)
    need(bool(known.all()), "weighting.confused is of its classes")
    return confused


def _part(
    header: dict[str, Any], held: HeldArrays, columns: list[ColumnCells], n_classes: int
) -> Learned:
    n_rounds = len(header["round_scales"])
    need(len(header["choices"]) == len(columns), f"{held.prefix}choices has one for each column")
    pairs = [_pair(p, held, i, columns, n_rounds, n_classes) for i, p in enumerate(header["pairs"])]
    sizes = [column.n_cells for column in columns] + [p.sizes[0] * p.sizes[1] for p in pairs]
    corrections = None
    if header["corrected"]:
        corrections = [held.take(f"correction{t}", size, n_classes) for t, size in enumerate(sizes)]
    rounds = []
    for r, scale in enumerate(header["round_scales"]):
        taken = len(columns) + sum(pair.round < r for pair in pairs)
        rounds.append(_weights(held, f"round{r}.", taken, n_classes, scale))
    return Learned(
        columns=columns,
        choices=[TableChoice(**choice) for choice in header["choices"]],
        pairs=pairs,
        rounds=rounds,
        weights=_weights(held, "", len(sizes), n_classes, header["scale"]),
        corrections=corrections,
        offset=held.take("offset", n_classes),
        tested=np.arange(0),
        log_proba=np.zeros((0, n_classes)),
    )


def _need_cells_alike(averaged: Averaged) -> None:
    """Raises where pairs of the same columns cut them so differently that together they have far
    more cells than the file holds: parts that were learned of nearly the same rows do not."""
    for pair in averaged.pairs:
        each: list[PairCells] = [member.pair for member in pair.members]
        each += [] if pair.smooth is None else [pair.smooth]
        held = sum(cells.n_cells for cells in each)
        parts = {m.part for m in pair.members}
        need(len(parts) == len(pair.members), "a part of weighting has no pair twice")
        need(
            pair.n_cells <= 2 * len(each) * held,
            "the parts of weighting cut the columns of a pair into similar cells",
        )
