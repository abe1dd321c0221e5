"""What the laws of models share: families for each kind of column, histories, and when two
predictions are the same."""

import io
import warnings

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from tallybayes import load
from tallybayes.families import (
    Bernoulli,
    Beta,
    Binned,
    Categorical,
    Dirichlet,
    Gamma,
    Gaussian,
    Multinomial,
    NormalInverseGamma,
    Poisson,
    Smooth,
)
from tallybayes.testing.edge_tables import NUMBERS

# Families under which nothing is chosen, in a unit of weight: with weights multiplied by u they are
# the same model if what is stated in rows is multiplied too.
OF_NUMBERS = (
    lambda u: Gaussian(),
    lambda u: Gaussian(relative_to="feature", var_smoothing=1e-3),
    lambda u: Gaussian(ddof=u),
    lambda u: Gaussian(var_smoothing=0.0, ddof=u, pooled_rows=u),
    lambda u: Gaussian(pooled_rows=2.0 * u, min_variance=0.01),
)
OF_NUMBERS_IN_ROWS = (  # degrees of freedom and priors have no unit of weight
    lambda u: Gaussian(estimate="posterior"),
    lambda u: Gaussian(prior=NormalInverseGamma(0.0, 1.0, 2.0, 1.0)),
    lambda u: Gaussian(prior=NormalInverseGamma(1.0, 0.5, 3.0, 2.0), estimate="posterior"),
    lambda u: Gaussian(prior=NormalInverseGamma(0.0, 1.0, 2.0, 1.0), estimate="map"),
)
OF_COUNTS = (lambda u: Poisson(), lambda u: Poisson(prior=Gamma(2.0 * u, u)))
OF_COUNTS_IN_ROWS = (
    lambda u: Poisson(prior=Gamma(2.0, 1.0), estimate="posterior"),
    lambda u: Poisson(prior=Gamma(2.0, 1.0), estimate="map"),
)
OF_LEVELS = (
    lambda u: Categorical(),
    lambda u: Categorical(alpha=0.3 * u),
    lambda u: Categorical(prior=Dirichlet(2.0 * u)),
)
OF_LEVELS_IN_ROWS = (lambda u: Categorical(prior=Dirichlet(3.0, "marginal")),)
OF_TWO = (lambda u: Bernoulli(), lambda u: Bernoulli(prior=Beta(2.0 * u, u)))
CHOSEN_ON_READING = (
    lambda u: Binned(bins=3, alpha=u),
    lambda u: Binned(),
    lambda u: Smooth(),
)
TRANSFORMED = (lambda u: Gaussian(transform="yeo-johnson"),)


def families_for(kind, *, scaling=False, fixed=True):
    """Families that a kind of column may be declared as."""
    found = list(OF_LEVELS if scaling else OF_LEVELS + OF_LEVELS_IN_ROWS)
    if kind in NUMBERS or kind in ("missing", "dates"):
        found += OF_NUMBERS if scaling else OF_NUMBERS + OF_NUMBERS_IN_ROWS
        if not fixed:
            found += CHOSEN_ON_READING
            # an exponent is hardly determined, so far from 0 or where a value is so far away
            found += () if kind in ("far", "huge", "1e9", "1e12", "vanishing") else TRANSFORMED
    if kind in ("whole", "missing"):
        found += OF_COUNTS if scaling else OF_COUNTS + OF_COUNTS_IN_ROWS
    if kind in ("booleans", "missing"):
        found += OF_TWO
    return found


def declarations(table, *, scaling=False, fixed=True):
    """Strategy: a family for each column and, of counts or numbers, perhaps one for a group; as a
    function of the unit of weight."""
    return st.tuples(
        st.fixed_dictionaries(
            {
                name: st.sampled_from(families_for(kind, scaling=scaling, fixed=fixed))
                for name, kind in table.kinds.items()
            }
        ),
        st.booleans(),
    ).map(lambda drawn: _with_group(table, *drawn, scaling))


def _with_group(table, families, grouped, scaling):
    whole = [name for name, kind in table.kinds.items() if kind == "whole"]
    numbers = [name for name, kind in table.kinds.items() if kind in ("numbers", "zeros", "999")]

    def of_unit(unit=1.0):
        found = {name: family(unit) for name, family in families.items()}
        if grouped and len(whole) > 1:
            found[tuple(whole)] = Multinomial(alpha=0.5 * unit)
        if grouped and len(numbers) > 1:
            found[tuple(numbers)] = Gaussian(covariance="full", var_smoothing=1e-2)
        for names in [key for key in found if isinstance(key, tuple)]:
            for name in names:
                found.pop(name)
        return found

    return of_unit


def with_levels(columns, table):
    """The same families, with all levels of the table declared: they stay where a row goes."""
    found = dict(columns)
    for name, family in columns.items():
        if not isinstance(family, Categorical):
            continue
        values = [value for value in table.columns[name] if value is not None]
        distinct = list(dict.fromkeys(values))
        if distinct:
            found[name] = Categorical(
                alpha=family.alpha, prior=family.prior, levels=sorted(distinct, key=str)
            )
    return found


def frame_of(table, rows=None):
    """The rows as a frame, whose columns have one type where they can."""
    records = table.records(rows)
    return pd.DataFrame(records, columns=list(table.columns))


# ---- histories -----------------------------------------------------------------------------------
WAYS = ("batch", "frame", "rows", "merge")


@st.composite
def parts_of(draw, rows):
    """Rows in any order, in parts of any size, each with a way to learn or forget it."""
    order = draw(st.permutations(list(rows)))
    cuts = sorted(draw(st.sets(st.integers(1, max(len(order) - 1, 1)), max_size=4)))
    parts = [part for part in np.split(np.array(order, dtype=int), cuts) if len(part)]
    return [(part, draw(st.sampled_from(WAYS))) for part in parts]


def _all_zero(weight):
    """Whether a batch would be refused: scikit-learn wants a weight that is not 0."""
    return weight is not None and not weight.any()


def learn(model, table, parts, new):
    """Learns parts of a table in their ways; `new` makes a model to merge."""
    for part, way in parts:
        rows, labels, weight = table.records(part), table.labels[part], table.weight(part)
        if way == "rows" or _all_zero(weight):
            for i, (row, label) in enumerate(zip(rows, labels.tolist(), strict=True)):
                model.learn_one(row, label, 1.0 if weight is None else float(weight[i]))
        elif way == "merge" and model.__sklearn_is_fitted__():
            model.merge(new().partial_fit(rows, labels, sample_weight=weight))
        else:
            x = frame_of(table, part) if way == "frame" else rows
            model.partial_fit(x, labels, sample_weight=weight)
    return model


def forget(model, table, parts):
    """Forgets parts of a table in their ways."""
    for part, way in parts:
        rows, labels, weight = table.records(part), table.labels[part], table.weight(part)
        if way == "rows" or _all_zero(weight):
            for i, (row, label) in enumerate(zip(rows, labels.tolist(), strict=True)):
                model.forget_one(row, label, 1.0 if weight is None else float(weight[i]))
        else:
            x = frame_of(table, part) if way == "frame" else rows
            model.forget(x, labels, sample_weight=weight)
    return model


def weighs_in_each_class(table):
    """Whether each class has a row of a weight above 0. Otherwise its name stays until one of its
    rows is forgotten."""
    if table.weights is None:
        return True
    return all(table.weights[table.labels == label].any() for label in set(table.labels.tolist()))


# ---- when predictions are the same ---------------------------------------------------------------
def quietly(call, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*args)


def moved(rows, places=4.0):
    """Rows whose numbers are greater by some last places of a float64."""

    def other(value):
        plain = isinstance(value, float) and not isinstance(value, bool)
        return value * (1.0 + places * 2.0**-52) if plain else value

    return [{name: other(value) for name, value in row.items()} for row in rows]


def rounding(model, rows, lost=0.0):
    """What the rounding of numbers can do to joint log-likelihoods: some last places of each number
    are worth this many nats, and so are those of the means, and a share `lost` of variances."""
    joint = quietly(model.predict_joint_log_proba, rows)
    further = quietly(model.predict_joint_log_proba, moved(rows))
    size = np.where(np.isfinite(joint), np.abs(joint), 0.0).max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        apart = np.abs(further - joint)
    apart = np.where(np.isfinite(apart), apart, 0.0)
    return (1e-9 + lost) * (1.0 + size) + 8.0 * apart.max(axis=1, keepdims=True)


def lost_digits(table, gone):
    """Of what the other rows of a column have for squares, the share that double-doubles may lose
    when the rows `gone` are taken out: 2⁻¹⁰⁰ of the squares with them. 0 where the others have
    none."""
    weight = np.ones(len(table)) if table.weights is None else table.weights
    out, lost = np.isin(np.arange(len(table)), list(gone)), 0.0
    for name, kind in table.kinds.items():
        if kind not in NUMBERS:
            continue
        x = np.array(table.columns[name], dtype=np.float64)
        counted = ~np.isnan(x) & (weight > 0.0)
        for label in (None, *np.unique(table.labels[out])):
            of_class = counted if label is None else counted & (table.labels == label)
            kept, away = of_class & ~out, of_class & out
            if kept.any() and away.any():
                centre = np.average(x[kept], weights=weight[kept])
                squares = float(weight[kept] @ (x[kept] - centre) ** 2)
                whole = squares + float(weight[away] @ (x[away] - centre) ** 2)
                lost = max(lost, 2.0**-100 * whole / squares if squares > 0.0 else 0.0)
    return lost


def assert_close(found, expected, tolerance):
    """Log-probabilities within a tolerance (n_rows, 1) in nats; −inf only beside −inf or beside
    what is no more than 1e-300."""
    there = expected > -690.0
    with np.errstate(invalid="ignore"):
        apart = np.where(there, np.abs(found - expected), np.where(found < -600.0, 0.0, np.inf))
    wrong = np.flatnonzero(~(apart <= tolerance).all(axis=1))
    if len(wrong):
        i = wrong[0]
        raise AssertionError(f"row {i}: {found[i]} for {expected[i]}, beyond {tolerance[i]}")


def assert_same_predictions(model, other, rows, lost=0.0):
    """To rounding, and what a share `lost` of variances is worth; `other` is the one that is
    right."""
    assert model.classes_.tolist() == other.classes_.tolist()
    found, expected = (quietly(m.predict_log_proba, rows) for m in (model, other))
    assert_close(found, expected, rounding(other, rows, lost))


def saved_and_loaded(model):
    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    return load(file)
