"""Models to files and back: parameters, how a table is read, and weights.

The classes that a file holds have its rules as annotations, here or where their values are, and
:func:`tallybayes.persistence.fit` holds the file to them. What has to fit between values is checked
where these are put together.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import families
from tallybayes.families.choice import ReadAs
from tallybayes.families.priors import ClassPrior
from tallybayes.families.registry import family_of_class, is_family, name_of_family
from tallybayes.models.array import ArrayModel, declared_levels
from tallybayes.models.base import Model
from tallybayes.models.calibration import Calibration, Isotonic, Temperature
from tallybayes.models.declarations import KINDS, Declared, Reading, need_family, need_two_levels
from tallybayes.models.rows import Names
from tallybayes.models.table import Chosen, TableModel
from tallybayes.models.weighted import WeightedModel
from tallybayes.models.weighting import Weighting
from tallybayes.persistence import (
    Ascending,
    Count,
    Distinct,
    Label,
    NonNegative,
    Shape,
    Sizes,
    Tree,
    Within,
    constructed,
    distinct,
    dtype_of,
    fit,
    joined,
    need,
    numbered,
)
from tallybayes.tally import CrossMoments, Moments, TableTally
from tallybayes.tally.saved import Labels, plain_arrays, plain_groups
from tallybayes.weighted.cells import ColumnCells
from tallybayes.weighted.learned import Averaged, Learned
from tallybayes.weighted.pairs import JointColumns, PairTerm, SmoothPair
from tallybayes.weighted.scores import Weights
from tallybayes.weighted.splines import SmoothTables

__all__ = [
    "field_values",
    "plain",
    "plain_model",
    "plain_weighting",
    "restored_model",
    "restored_parameters",
    "restored_weighting",
]


Array = NDArray[np.float64]

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
    if isinstance(value, dict):
        made = {restored(k, where): restored(v, f"{where}[{k!r}]") for k, v in value.items()}
        if FAMILY not in made:
            return made
        name = fit(str, made.pop(FAMILY), f"the family of {where}")
        family: Any = PRIORS.get(name) or family_of_class(name)
        need(family is not None, f"{where} names the family {name!r}, which is not known here")
        known = {field.name for field in fields(family)}
        for key in made:
            need(key in known, f"{where}: {name} has no {key!r}")
        return constructed(family, where, **made)
    if isinstance(value, list):
        return [restored(v, f"{where}[{i}]") for i, v in enumerate(value)]
    mark = value[0] if isinstance(value, tuple) and len(value) == 2 else None
    if isinstance(mark, str) and mark in (TYPE, DTYPE):
        name = fit(str, value[1], where)
        if mark == DTYPE:
            return constructed(np.dtype, where, name[:32])
        need(name in TYPES, f"{where} names the type {name!r}")
        return TYPES[name]
    return value


def restored_parameters(estimator_type: Any, given: Any) -> Any:
    """The estimator with its parameters, which are checked where they are used."""
    parameters = restored(given, "parameters")
    need(isinstance(parameters, dict), "parameters is a dict")
    known = estimator_type._get_param_names()
    for name in parameters:
        need(name in known, f"parameters has {str(name)[:100]!r}, which this version lacks")
    return constructed(estimator_type, "parameters", **parameters)


# ---- how the tally of a table is read ------------------------------------------------------------
CALIBRATIONS: dict[Any, Any] = {c.__name__: c for c in (Temperature, Isotonic)}


class _OfType(NamedTuple):
    kinds: list[str]
    family: Any


class _Chosen(NamedTuple):
    alpha: NonNegative | None
    stale: bool
    calibration: Literal["Temperature", "Isotonic"] | None
    held: Any
    counts: str | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class _Table:
    names: Distinct
    firm: Distinct | None = None
    families: dict[str, Any]
    groups: dict[Annotated[tuple[str, ...], distinct], Any]
    by_type: list[_OfType]
    reading: dict[str, Any]
    chosen: _Chosen
    with_strings: Distinct | None = None


def plain_table(model: TableModel) -> dict[str, Any]:
    """What a table's model has beside its tally, as plain values."""
    reading = model.reading._asdict()
    what = reading.pop("declared")
    calibration = model.chosen.calibration
    table = {
        "names": model.seen.seen,
        "firm": [name for name in model.seen.seen if name in model.seen.firm],
        "families": plain(what.families),
        "groups": plain(what.groups),
        "by_type": [[list(kinds), plain(family)] for kinds, family in what.by_type],
        "reading": reading,
        "chosen": {
            "alpha": model.chosen.alpha,
            "stale": model.chosen.stale,
            "calibration": None if calibration is None else type(calibration).__name__,
            "held": {} if calibration is None else field_values(calibration),
            **({} if model.chosen.counts is None else {"counts": model.chosen.counts}),
        },
    }
    return table | ({"with_strings": sorted(model.with_strings)} if model.with_strings else {})


def restore_table(model: TableModel, given: Any) -> None:
    """The inverse of :func:`plain_table`: sets what the model has beside its tally.

    Raises
    ------
    Unfit
        Where it does not fit the tally.
    """
    held: _Table = fit(_Table, given, "table")

    def family_of(key: Any, plain: Any) -> Any:
        """The family of a column by itself, or of a group."""
        family = restored(plain, f"table, of {key!r}")
        constructed(need_family, "table", key, family)
        together = None if family is None else family.together
        group = isinstance(key, tuple)
        need((together is not None) == group, f"{key!r} has a family of groups or single columns")
        return family

    groups = {names: family_of(names, family) for names, family in held.groups.items()}
    for names, family in groups.items():
        constructed(family.check_group, f"the prior of {names!r}", len(names))
    declared = Declared(
        {name: family_of(name, family) for name, family in held.families.items()},
        groups,
        tuple([(tuple(kinds), family_of(str(kinds), family)) for kinds, family in held.by_type]),
    )
    firm = held.names if held.firm is None else held.firm  # files of 0.1.0 have columns only
    need(set(held.names).issuperset(firm), "firm names some of the columns")
    model.seen = Names(held.names, frozenset(firm))
    model.with_strings = frozenset(held.with_strings or ())
    model.reading = fit(Reading, {**held.reading, "declared": declared}, "table.reading")
    alpha, stale, kind, values, made_with = held.chosen
    calibration: Calibration | None = None
    if kind is not None:
        calibration = fit(CALIBRATIONS[kind], values, "calibration")
    if isinstance(calibration, Isotonic):
        k = len(model.schema.classes)
        lengths = [len(knots) for knots in calibration.knots]
        need(len(lengths) == (1 if k == 2 else k), "calibration has a curve for each class")
        same = lengths == [len(values) for values in calibration.values]
        need(same and 0 not in lengths, "calibration has a value at each knot")
    model.chosen = Chosen(alpha, calibration, stale, counts=made_with)
    _need_declared(model, declared)


def _need_declared(model: TableModel, what: Declared) -> None:
    """Raises where a column is counted as something that its family does not read."""
    known = set(model.seen.seen)
    for group, tally in model.tally.pairs:
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


# ---- the chosen families of columns of numbers: one array for each field -------------------------
# A file without them, such as one of 0.1.0, can be read: the choices are then made again, with the
# same result.
FAMILIES: tuple[Literal["gaussian", "atoms", "bins", "smooth", "counts"], ...]
FAMILIES = ("gaussian", "atoms", "bins", "smooth", "counts")

Whole = Annotated[NDArray[np.int64], Shape("n")]


class _Choices(NamedTuple):
    column: Annotated[Whole, Within(0), Ascending()]
    family: Annotated[Whole, Within(0, len(FAMILIES) - 1)]
    likelihood: Annotated[Array, Shape("n")]
    bins: Whole
    width: Whole
    strength: Annotated[Array, Shape("n")]


def plain_choices(model: TableModel) -> Tree:
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
    columns = zip(_Choices._fields, zip(*sorted(made), strict=True), strict=False)
    of_floats = ("likelihood", "strength")
    return {name: np.array(of, "f8" if name in of_floats else "i8") for name, of in columns}


def restore_choices(model: TableModel, given: Any) -> None:
    """The inverse of :func:`plain_choices`.

    Raises
    ------
    Unfit
        For what no choice is, or that of no such column.
    """
    need(isinstance(given, dict), "choices are arrays")
    if not given:
        return
    need(not isinstance(model, WeightedModel), "a weighted model has no choices of families")
    held = fit(_Choices, given, "choices")
    names = model.seen.seen
    need(held.column.max(initial=-1) < len(names), "choices name the columns that there are")
    rows = zip(*(of.tolist() for of in held), strict=True)
    choices = {names[j]: ReadAs(FAMILIES[kind], *rest) for j, kind, *rest in rows}
    fits = len(model.schema.classes) > 0 and model.take_choices(choices)
    need(fits, "choices are what columns of numbers can be read as")


# ---- weights: to a file --------------------------------------------------------------------------
INCREASE = "log_loss_increase"  # which files call its price


def plain_weighting(weighting: Weighting) -> tuple[dict[str, Any], Tree]:
    """Header and arrays of a weighting."""
    learned, smooth = weighting.learned, weighting.learned.smooth
    parts = [_plain_part(part) for part in learned.parts]
    figures = asdict(weighting.figures).items()
    header: Tree = {
        "classes": weighting.classes,
        "figures": {"price" if name == INCREASE else name: value for name, value in figures},
        "out": weighting.out,
        "unit": weighting.unit,
        "prior_share": weighting.prior_share,
        "duplicates": learned.duplicates,
        "nearly": learned.nearly,
        "columns": [[column.name, column.levels] for column in learned.columns],
        "parts": [part for part, _ in parts],
    }
    tree: Tree = {
        "shares": learned.shares,
        "shift": weighting.shift,
        "apart": weighting.apart,
        "confused": weighting.confused,
        "edges": [column.edges for column in learned.columns],
        "part": [arrays for _, arrays in parts],
    }
    if smooth is not None:
        pairs = [[*p.columns, *p.sizes] for p in smooth.pairs]
        header["smooth"] = {"share": smooth.share, "pairs": pairs}
        of_pairs = {"pair": [p.table for p in smooth.pairs], **_maps(smooth.pairs)}
        tree["smooth"] = {"offset": smooth.offset, "column": smooth.columns, **of_pairs}
    if weighting.text is not None:
        held = asdict(weighting.text)
        header["text"] = {**held, **{name: held[name].tolist() for name in ("weights", "apart")}}
    return header, tree


def _plain_part(part: Learned) -> tuple[dict[str, Any], Tree]:
    """Header and arrays of what one fit gave."""
    header = {
        "scale": part.weights.scale,
        "round_scales": [then.scale for then in part.rounds],
        "corrected": part.corrections is not None,
        "choices": [asdict(choice) for choice in part.choices],
        "pairs": [[*p.columns, *p.sizes, p.gain, p.round] for p in part.pairs],
    }
    weights, *rounds = (
        {"terms": some.terms, "deviations": some.deviations, "offsets": some.offsets}
        for some in (part.weights, *part.rounds)
    )
    of_pairs = {
        "counted": [pair.counted for pair in part.pairs],
        "expected": [pair.expected for pair in part.pairs],
        **_maps(part.pairs),
    }
    more = {"round": rounds, "correction": part.corrections}
    return header, {"offset": part.offset, **weights, **of_pairs, **more}


def _maps(pairs: Sequence[JointColumns]) -> Tree:
    """The coarser cells of the columns of each pair, and of three columns."""
    third = {i: p.maps[2] for i, p in enumerate(pairs) if len(p.columns) > 2}
    maps = {"first": [p.maps[0] for p in pairs], "second": [p.maps[1] for p in pairs]}
    return {**maps, "third": third}


# ---- weights: from a file ------------------------------------------------------------------------
def restored_weighting(header: Any, tree: Any) -> Weighting:
    """The inverse of :func:`plain_weighting`.

    Raises
    ------
    Unfit
        Where its parts do not fit each other.
    """
    given = joined(header, tree, "weighting")
    if "parts" not in given:  # of before models were averages; those of 0.1.0 took weights as rows
        given.pop("table", None)  # which followed from the counts
        part = {name: given.pop(name) for name in PART if name in given}
        given |= {"parts": [{}], "part": {0: part}, "shares": np.ones(1)}
        given["confused"] = np.zeros((0, 3))
    k = np.size(given.get("classes", ()))
    known, columns = {"n_classes": k}, []
    edges = fit(dict[int, Any], given.pop("edges", {}), "weighting.edges")
    rows = fit(list[_Column], given.pop("columns", None), "weighting.columns")
    for j, (name, levels) in enumerate(rows):
        cuts = edges.get(j)
        need(levels is not None or cuts is not None, f"the file lacks weighting.edges{j}")
        n_cells = len(levels or ()) + 1 + (0 if cuts is None else np.size(cuts) + 1)
        values = {"name": name, "levels": levels, "edges": cuts, "counts": np.zeros((n_cells, k))}
        columns.append(fit(ColumnCells, values, f"weighting.columns[{j}]"))
    need(len({c.name for c in columns}) == len(columns), "weighting.columns are distinct")
    sizes = [column.n_cells for column in columns]
    parts = fit(list[Any], given.pop("parts"), "weighting.parts")
    need(len(parts) > 0, "weighting has a part")
    for m, arrays in enumerate(numbered(given, "part", len(parts), "weighting")):
        where = f"weighting.part{m}"
        parts[m] = _learned(joined(parts[m], arrays, where), columns, known, where)
    smooth = fit(dict[str, Any] | None, given.pop("smooth", None), "weighting.smooth")
    if smooth is not None:
        tables = {"table": "pair"}
        smooth["pairs"] = _pairs(SmoothPair, smooth, tables, columns, known, "weighting.smooth")
        smooth["columns"] = numbered(smooth, "column", len(columns), "weighting.smooth")
        smooth = fit(SmoothTables, smooth, "weighting.smooth", known)
        need([len(of) for of in smooth.columns] == sizes, "weighting.smooth.column fits its cells")
        together = {frozenset(pair.columns) for pair in smooth.pairs}
        need(len(together) == len(smooth.pairs), "weighting.smooth.pairs has each two columns once")
    learned = {
        "columns": columns,
        "parts": parts,
        "smooth": smooth,
        "tested": np.arange(0),
        "log_proba": np.zeros((0, k)),
        "gained": np.zeros(0),
        **{name: given.pop(name) for name in ("shares", "duplicates", "nearly") if name in given},
    }
    averaged = fit(Averaged, learned, "weighting", {"n_parts": len(parts)})
    for key, other in (*averaged.duplicates.items(), *averaged.nearly.items()):
        need(max(key, other) < len(columns), "weighting names the columns that there are")
    total = float(averaged.shares.sum()) + (0.0 if smooth is None else smooth.share)
    need(abs(total - 1.0) < 1e-9, "weighting.shares sum to 1")
    _need_cells_alike(averaged)
    figures = fit(dict[str, Any], given.get("figures"), "weighting.figures").items()
    given["figures"] = {INCREASE if name == "price" else name: value for name, value in figures}
    given["learned"], n_terms = averaged, len(columns) + len(averaged.pairs)
    found: Weighting = fit(Weighting, given, "weighting", {**known, "n_terms": n_terms})
    cases, text = found.confused[:, :2], found.text
    fits = bool(((cases < k) & (cases % 1.0 == 0.0)).all())
    need(fits, "weighting.confused is of its classes")
    fits = text is None or len(text.names) == len(text.weights) > 0
    need(fits, "weighting.text has a weight for each column")
    return found


class _Column(NamedTuple):
    name: str
    levels: Distinct | None


PART = (
    *("scale", "round_scales", "corrected", "choices", "pairs", "offset", "terms", "deviations"),
    *("offsets", "round", "counted", "expected", "first", "second", "third", "correction"),
)
"""What a file has of one fit."""


def _learned(given: Tree, columns: list[ColumnCells], known: Sizes, where: str) -> Learned:
    """What one fit gave."""
    tables = {"counted": "counted", "expected": "expected"}
    pairs = _pairs(PairTerm, given, tables, columns, known, where)
    scales = fit(list[Any], given.pop("round_scales", None), f"{where}.round_scales")
    rounds = []
    for r, held in enumerate(numbered(given, "round", len(scales), where)):
        there = len(columns) + sum(pair.round < r for pair in pairs)
        held = joined({"scale": scales[r]}, held, f"{where}.round{r}")
        rounds.append(fit(Weights, held, f"{where}.round{r}", {**known, "n_terms": there}))
    sizes = [cells.n_cells for cells in [*columns, *pairs]]
    names = ("terms", "deviations", "offsets", "scale")
    weights = {name: given.pop(name) for name in names if name in given}
    corrected = fit(bool, given.pop("corrected", None), f"{where}.corrected")
    corrections = numbered(given, "correction", len(sizes), where) if corrected else None
    given |= {
        "columns": columns,
        "pairs": pairs,
        "rounds": rounds,
        "weights": fit(Weights, weights, where, {**known, "n_terms": len(sizes)}),
        "corrections": corrections,
    }
    part: Learned = fit(Learned, given, where, known)
    need(len(part.choices) == len(columns), f"{where}.choices has one for each column")
    need(all(pair.round <= len(scales) for pair in pairs), f"{where}.pairs are of its rounds")
    fits = part.corrections is None or [len(table) for table in part.corrections] == sizes
    need(fits, f"{where}.correction has a row for each cell")
    return part


def _pairs(
    kind: Any,
    given: Tree,
    tables: dict[str, str],
    columns: list[ColumnCells],
    known: Sizes,
    where: str,
) -> list[Any]:
    """Pairs of columns, and three columns together, from rows in the header and arrays by number;
    `tables` are their fields and how files call them."""
    rows = fit(list[list[Any]], given.pop("pairs", None), f"{where}.pairs")
    names = {"first": "first", "second": "second", **tables}
    held = {field: numbered(given, name, len(rows), where) for field, name in names.items()}
    third = fit(dict[int, Any], given.pop("third", {}), f"{where}.third")
    more, most = (("gain", "round"), 3) if kind is PairTerm else ((), 2)
    pairs = []
    for i, row in enumerate(rows):
        at, n = f"{where}.pairs[{i}]", 2 + (i in third)
        fits = n <= most and len(row) == 2 * n + len(more)
        need(fits, f"{at} has {2 * min(n, most) + len(more)} elements, not {len(row)}")
        arrays = {field: of[i] for field, of in held.items()}
        maps = arrays.pop("first"), arrays.pop("second"), *([third[i]] if n > 2 else [])
        values = {"columns": tuple(row[:n]), "maps": maps, "sizes": tuple(row[n : 2 * n])}
        values |= dict(zip(more, row[2 * n :], strict=True)) | arrays
        pair = fit(kind, values, at, known)
        need(len({*pair.columns}) == n, f"{at} is of {'two' if n == 2 else 'three'} columns")
        need(max(pair.columns) < len(columns), f"{at} is of columns that there are")
        for j, cells, size in zip(pair.columns, pair.maps, pair.sizes, strict=True):
            fits = len(cells) == columns[j].n_cells and cells.max() < size <= len(cells)
            need(fits, f"{at} has coarser cells, {size} for each column")
        fits = all(len(getattr(pair, field)) == pair.n_cells for field in tables)
        need(fits, f"{at} has a row for each of its cells")
        pairs.append(pair)
    return pairs


def _need_cells_alike(averaged: Averaged) -> None:
    """Raises where pairs of the same columns cut them so differently that together they have far
    more cells than the file holds: parts that were learned of nearly the same rows do not."""
    for pair in averaged.pairs:
        each: list[JointColumns] = [member.pair for member in pair.members]
        each += [] if pair.smooth is None else [pair.smooth]
        held = sum(cells.n_cells for cells in each)
        parts = {m.part for m in pair.members}
        need(len(parts) == len(pair.members), "a part of weighting has no pair twice")
        need(
            pair.n_cells <= 2 * len(each) * held,
            "the parts of weighting cut the columns of a pair into similar cells",
        )


def restore_weighting(model: TableModel, weighting: Weighting) -> None:
    """Gives a model its weights; raises Unfit where they are not of what is counted."""
    need(isinstance(model, WeightedModel), "only a weighted model has weights")
    known = set(model.schema.classes.tolist())
    need(known.issuperset(weighting.classes.tolist()), "weights are of classes that there are")
    holds: dict[str, set[str]] = {}
    for group in model.schema.groups:
        for name in group.names or ():
            holds.setdefault(name, set()).add(group.kind)
    kinds = {c.name: "levels" if c.edges is None else "grid" for c in weighting.learned.columns}
    for name, kind in kinds.items():
        fits = name not in holds or bool({kind, "grid"} & holds[name])
        need(fits, f"weights of {name!r} are of what is counted of it")
    declared = model.reading.declared
    for name in () if weighting.text is None else weighting.text.names:
        kind = "terms" if name in declared.analyzers else "levels"  # of prose
        fits = kind == "terms" or name not in declared.families
        fits = fits and kind in holds.get(name, {kind})
        need(fits, f"weights of {name!r} are of what is counted of it")
    model.chosen = replace(model.chosen, weighting=weighting)


# ---- a model and its estimator -------------------------------------------------------------------
ARRAYS: dict[str, Any] = {
    "BernoulliNB": families.Bernoulli,
    "CategoricalNB": families.Categorical,
    "ComplementNB": families.Complement,
    "GaussianNB": families.Gaussian,
    "MultinomialNB": families.Multinomial,
}
"""The family by which those of arrays read their columns."""


class _Rounding(NamedTuple):
    """What bounds the rounding of rows that were forgotten before the model was saved."""

    decayed: NonNegative
    squares: list[Annotated[NDArray[np.float64], Shape(2, None), Within(0.0)] | None]


@dataclass(frozen=True, eq=False, kw_only=True)
class _Header:
    estimator: str
    parameters: Any
    n_features_in: Count
    classes: Any  # of the tally, with groups and by_name
    groups: Any
    by_name: Any
    names: Annotated[NDArray[np.object_], Shape(None)] | None
    family: Any
    prior: ClassPrior
    dtype: str
    taken: bool
    table: Any = None
    weighting: Any = None
    declared_classes: Labels | None = None
    class_weight: dict[Label, NonNegative] | None = None
    rounding: _Rounding | None = None
    noised: str = ""
    extra: dict[str, Any] | None = None


def plain_model(estimator: Any) -> tuple[dict[str, Any], Tree]:
    """Header and arrays of an estimator of arrays or tables."""
    model: Model = estimator._fitted()
    header = {
        "estimator": type(estimator).__name__,
        "parameters": plain(estimator.get_params(deep=False)),
        "n_features_in": estimator.n_features_in_,
        "classes": model.schema.classes,
        "groups": plain_groups(model.schema),
        "by_name": model.schema.by_name,
        "names": getattr(estimator, "feature_names_in_", None),
        "family": plain(model.family) if isinstance(model, ArrayModel) else None,
        "prior": field_values(model.prior),
        "dtype": model.dtype.str if isinstance(model, ArrayModel) else "<f8",
        "taken": model.taken is not None
        and all(map(operator.is_, model.taken, estimator._parameters())),
    }
    tree = plain_arrays(model.tally.arrays())
    if isinstance(model, TableModel):
        header["table"] = plain_table(model)
        tree["choices"] = plain_choices(model)
        if model.chosen.weighting is not None:
            header["weighting"], tree["weighting"] = plain_weighting(model.chosen.weighting)
    if model.declared_classes is not None:
        header["declared_classes"] = model.declared_classes
    if model.class_weight:
        header["class_weight"] = model.class_weight
    if model.noised:
        header["noised"] = model.noised
    bounds = [getattr(part, "largest", 0.0) for part in model.tally.groups]
    squares = [None if isinstance(bound, float) else bound for bound in bounds]
    if model.decayed or any(bound is not None for bound in squares):
        header["rounding"] = {"decayed": model.decayed, "squares": squares}
    return header, tree


def restored_model(estimator_type: Any, header: dict[str, Any], tree: Tree) -> tuple[Any, Any]:
    """The inverse of :func:`plain_model`: an estimator with its model, and what was kept beside
    them.

    Raises
    ------
    Unfit
        Where parts do not fit each other.
    """
    k = np.size(header.get("classes", ()))
    file: _Header = fit(_Header, header, "the header", {"n_classes": k})
    tally = TableTally.restored(header, tree)
    name, names, d = file.estimator, file.names, file.n_features_in
    estimator = restored_parameters(estimator_type, file.parameters)
    if names is not None:
        need(len(fit(list[str], names.tolist(), "names")) == d, "names has a name for each column")
    given = file.prior.given
    need(given is None or abs(float(given.sum()) - 1.0) < 1e-6, "prior.given sums to 1")
    family = restored(file.family, "family")
    model: Model
    if name in ARRAYS:
        dtype = dtype_of(file.dtype)
        _need_array(name, tally, family, d, getattr(estimator, "levels", None))
        model = ArrayModel(tally, family, file.prior, dtype, name)
        estimator.n_features_in_ = d
        if names is not None:
            estimator.feature_names_in_ = names
        need(file.table is None and file.weighting is None, f"a {name} is no model of a table")
    else:
        need(tally.schema.by_name and family is None, "a table has columns by name")
        table: TableModel = estimator._model_type(tally, file.prior, name)
        restore_table(table, file.table)
        table.has_names = names is not None
        if file.weighting is not None:
            restore_weighting(table, restored_weighting(file.weighting, tree.get("weighting", {})))
        model = table
    model.declared_classes = file.declared_classes
    model.class_weight = file.class_weight or {}
    model.noised = file.noised
    if file.rounding is not None:
        model.decayed, squares = file.rounding
        need(len(squares) == len(tally.groups), "rounding is of each group of columns")
        for columns, group, bounds in zip(tally.schema.groups, tally.groups, squares, strict=True):
            if isinstance(group, Moments | CrossMoments) and bounds is not None:
                fits = bounds.shape[1] == columns.n_features
                need(fits, "rounding.squares are of each column of a group")
                group.take_bounds(bounds)
            else:
                need(bounds is None, "rounding.squares are of columns with moments")
    if file.taken:
        model.taken = estimator._parameters()
    estimator._model = model
    if isinstance(model, TableModel):
        restore_choices(model, tree.get("choices", {}))
    return estimator, file.extra


def _need_array(name: str, tally: TableTally, family: Any, d: int, levels: Any) -> None:
    """Raises where tally and family are not what the estimator has."""
    need(not tally.schema.by_name, "a model of an array has its columns by number")
    columns, own = tally.schema.groups[0], ARRAYS[name]
    need(columns.kind == own.kind, f"a {name} counts {own.kind}")
    need(columns.n_features == d, "n_features_in is the number of columns")
    need(not columns.open and not columns.dates, "columns of an array are closed, and no dates")
    threshold = columns.threshold is not None
    need(threshold == (name == "BernoulliNB"), "BernoulliNB alone has a threshold")
    need(type(family) is own, f"the family is a {own.__name__}")
    if columns.kind == "levels":
        need((levels is None) == (columns.levels is None), "levels are declared, or are not")
        if columns.levels is not None:
            found = constructed(declared_levels, "parameters.levels", levels, d)
            same = all(a.tolist() == b.tolist() for a, b in zip(found, columns.levels, strict=True))
            need(same, "parameters.levels are the levels that were counted")
    alpha: Any = getattr(family, "alpha", None)
    fits = np.ndim(alpha) == 0 or np.shape(alpha) == (d,)
    need(fits, "alpha is a number, or one for each column")
