"""In a model file: how the tally of a table is read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.estimators.persistence.parameters import constructed, field_values, plain, restored
from tallybayes.models.calibration import Calibration, Isotonic, Temperature
from tallybayes.models.declarations import (
    Declared,
    Reading,
    need_family,
    need_two_levels,
)
from tallybayes.models.rows import Names
from tallybayes.models.table import Chosen, TableModel
from tallybayes.persistence import (
    anything,
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
)

__all__ = ["plain_table", "restore_table"]

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
            "values": each(_shares, of=tuple, length=n_curves),
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


def _shares(value: Any, where: str) -> NDArray[np.float64]:
    found = _curve(value, where)
    need(bool(((found > 0.0) & (found < 1.0)).all()), f"{where} are between 0 and 1")
    return found
