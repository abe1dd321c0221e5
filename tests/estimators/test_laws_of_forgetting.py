"""The law of forgetting: whatever was learned, forgotten, merged, decayed and saved before, a model
is the one that is fitted on the rows that remain.

Columns lie 1 to 10¹² times their range away from 0, with whole and decimal values. No learned row
is refused, and joint log-likelihoods and leave-one-out agree to 10⁻⁹, or to what the rounding of
the values and weights to float64 leaves undetermined. That is computed in exact rational
arithmetic: each value is known to half of its last place, each weight as well once a decay has
multiplied it.
"""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from estimators.model_laws import assert_close, quietly, saved_and_loaded
from tallybayes import GaussianNB, NaiveBayes, leave_one_out
from tallybayes.families import Gaussian

pytestmark = pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")

LABELS = ("u", "v")
HALF_PLACE = Fraction(1, 2**53)
BOTH = ("d", "e")
MODELS = {
    "auto": lambda: NaiveBayes(classes=LABELS, class_alpha=0.5),
    "gaussian": lambda: NaiveBayes(
        {"d": Gaussian(), "e": Gaussian(var_smoothing=0.0)}, classes=LABELS, class_alpha=0.5
    ),
    "group": lambda: NaiveBayes(
        {BOTH: Gaussian(covariance="full")}, classes=LABELS, class_alpha=0.5
    ),
    "array": lambda: GaussianNB(class_alpha=0.5),
    "array, each feature": lambda: GaussianNB(var_smoothing_of="feature", class_alpha=0.5),
}
ARRAYS = ("array", "array, each feature")
WEIGHTS = {"none": (1.0,), "whole": (1.0, 2.0, 7.0), "fractional": (0.3, 1.7, 0.1, 1.0)}


@st.composite
def columns(draw):
    """Up to eight values of a column, as floats of short decimals: an offset and a whole number of
    steps of the range. Some may be a second group, up to 10⁵ ranges away."""
    span = draw(st.integers(-3, 3))
    offset = Decimal(1).scaleb(span + draw(st.integers(0, 12)))
    digits = draw(st.integers(1, 6))
    steps = draw(st.lists(st.integers(0, 10**digits), min_size=1, max_size=8))
    values = [offset + Decimal(step).scaleb(span - digits) for step in steps]
    away = draw(st.one_of(st.none(), st.integers(1, 5)))
    if away is not None and digits < 6:
        values[1::2] = [value + Decimal(1).scaleb(span + away) for value in values[1::2]]
    return [float(value) for value in values]


class Rows:
    """Rows with labels and weights, as they were learned."""

    def __init__(self):
        self.x, self.y, self.w = [], [], []

    def add(self, rows):
        for x, y, w in rows:
            self.x.append(x), self.y.append(y), self.w.append(w)

    def taken(self, where):
        some = Rows()
        some.add((self.x[i], self.y[i], self.w[i]) for i in where)
        return some

    def without(self, where):
        return self.taken([i for i in range(len(self.y)) if i not in set(where)])

    def data(self, name):
        """X and y as the model of this name takes them, and the weights."""
        rows = [dict(zip(BOTH, x, strict=True)) for x in self.x]
        x = np.array(self.x, dtype=np.float64).reshape(-1, 2) if name in ARRAYS else rows
        return x, np.array(self.y, dtype=object).astype("U1"), np.array(self.w)


def learned(name, rows):
    """A new model of the rows."""
    x, y, w = rows.data(name)
    model = MODELS[name]()
    options = {"classes": list(LABELS)} if name in ARRAYS else {}
    return quietly(lambda: model.partial_fit(x, y, sample_weight=w, **options))


def spread(rows, weight, values):
    """The exact mean of weighted values and the sum of squares about it."""
    n = sum(weight[i] for i in rows)
    mean = sum(weight[i] * values[i] for i in rows) / n
    return mean, sum(weight[i] * (values[i] - mean) ** 2 for i in rows)


def undetermined(rows, ever, decays, left_out):
    """What the rounding of the values, and of weights after `decays` factors, leaves undetermined.

    None where that is half of a variance, or all of a column that is constant, or where weights
    leave it open whether a class that is left when a row is `left_out` is constant. Otherwise equal
    values are equal: they have a variance of 0, exactly.

    Returns
    -------
    share : float
        Of a variance, at most: of either class or all rows together, and either column.
    places : float
        Last places of a mean.
    smallest : float
        The smallest eigenvalue of the correlation of the columns, with a ridge of 10⁻⁹: inverting a
        covariance divides by it.
    """
    share, places, smallest = Fraction(0), Fraction(4), 1.0
    weight = [Fraction(w) for w in rows.w]
    x = [[Fraction(value) for value in row] for row in rows.x]
    for label in (None, *LABELS):
        own = [i for i, y in enumerate(rows.y) if label in (None, y)]
        if not own:
            continue
        n, unit = sum(weight[i] for i in own), []
        for j in range(2):
            values = [row[j] for row in x]
            mean, squares = spread(own, weight, values)
            away = [
                (Fraction(w), Fraction(row[j]) - mean)
                for row, y, w in zip(ever.x, ever.y, ever.w, strict=True)
                if label in (None, y)
            ]
            of_weights = decays * HALF_PLACE
            shift = of_weights * sum(w * abs(t) for w, t in away) / n
            lost = of_weights * sum(w * t**2 for w, t in away)
            places = max(places, shift / (abs(mean) * HALF_PLACE))
            if not squares:
                if lost and (left_out or label is None):
                    return None
                continue
            for i in own:
                rounded = HALF_PLACE * abs(values[i])
                lost += weight[i] * (2 * abs(values[i] - mean) * rounded + rounded**2)
            if 2 * lost >= squares:
                return None
            share = max(share, lost / squares)
            size = float(squares) ** 0.5
            unit.append([float(values[i] - mean) * float(weight[i]) ** 0.5 / size for i in own])
        if len(unit) == 2:
            correlation = np.array(unit) @ np.transpose(unit)
            smallest = min(smallest, float(np.linalg.eigvalsh(correlation)[0]))
    return float(share), float(places), max(smallest, 0.0) + 1e-9


def tolerance(name, model, rows, x, ever, decays, *, left_out=False):
    """By how many nats joint log-likelihoods of x may differ, (n, 1); None where the float64 values
    leave a variance undetermined."""
    found = undetermined(rows, ever, decays, left_out)
    if found is None:
        return None
    share, places, smallest = found
    if name == "group":
        share = (share + 2.0**-50) / smallest
    joint = quietly(model.predict_joint_log_proba, x)
    size = np.where(np.isfinite(joint), np.abs(joint), 0.0).max(axis=1, keepdims=True)
    apart = np.zeros_like(size)
    for sign in (-1.0, 1.0):  # of the values that are asked for, and so of the means
        other = moved(x, 1.0 + sign * places * 2.0**-52)
        with np.errstate(invalid="ignore"):
            step = np.abs(quietly(model.predict_joint_log_proba, other) - joint)
        step = np.where(np.isfinite(step), step, 0.0)
        apart = np.maximum(apart, step.max(axis=1, keepdims=True))
    return 1e-9 * (1.0 + size) + 4.0 * share * (50.0 + size) + 4.0 * apart


def moved(x, factor):
    if isinstance(x, np.ndarray):
        return x * factor
    return [{name: value * factor for name, value in row.items()} for row in x]


class Forgetting(RuleBasedStateMachine):
    """Learns and forgets rows in any way and order."""

    data = st.data()

    @initialize(
        name=st.sampled_from(sorted(MODELS)), d=columns(), e=columns(),
        weights=st.sampled_from(sorted(WEIGHTS)), data=st.data(),
    )  # fmt: skip
    def start(self, name, d, e, weights, data):
        self.name, self.values, self.weights = name, (d, e), WEIGHTS[weights]
        self.rows, self.ever, self.decays = Rows(), Rows(), 0
        batch = self.batch(data)
        self.model = learned(name, batch)
        self.keep(batch)

    def batch(self, data):
        """One to twelve rows."""
        row = st.tuples(
            st.tuples(*(st.sampled_from(values) for values in self.values)),
            st.sampled_from(LABELS), st.sampled_from(self.weights),
        )  # fmt: skip
        batch = Rows()
        batch.add(data.draw(st.lists(row, min_size=1, max_size=12)))
        return batch

    def keep(self, batch):
        for rows in (self.rows, self.ever):
            rows.add(zip(batch.x, batch.y, batch.w, strict=True))

    @rule(data=st.data(), way=st.sampled_from(["batch", "rows", "merge"]))
    def learn(self, data, way):
        batch = self.batch(data)
        x, y, w = batch.data(self.name)
        if way == "merge":
            self.model.merge(learned(self.name, batch))
        elif way == "rows" and self.name not in ARRAYS:
            for row, label, weight in zip(x, batch.y, batch.w, strict=True):
                self.model.learn_one(row, label, weight)
        else:
            quietly(lambda: self.model.partial_fit(x, y, sample_weight=w))
        self.keep(batch)

    @precondition(lambda self: len(self.rows.y) > 1)
    @rule(data=st.data(), way=st.sampled_from(["batch", "rows"]), most=st.booleans())
    def forget(self, data, way, most):
        n = len(self.rows.y)
        where = data.draw(st.lists(st.integers(0, n - 1), min_size=1, unique=True))
        if most:  # few rows remain
            where = [i for i in range(n) if i not in where[:3]]
        if len(where) in (0, n):
            return
        gone = self.rows.taken(where)
        x, y, w = gone.data(self.name)
        if way == "rows" and self.name not in ARRAYS:
            for row, label, weight in zip(x, gone.y, gone.w, strict=True):
                self.model.forget_one(row, label, weight)
        elif way == "rows":
            for i in range(len(y)):
                self.model.forget(x[i : i + 1], y[i : i + 1], w[i : i + 1])
        else:
            self.model.forget(x, y, w)
        self.rows = self.rows.without(where)

    @precondition(lambda self: self.name not in ARRAYS and self.decays < 4)
    @rule(factor=st.sampled_from([0.5, 0.9, 1 / 3]))
    def decay(self, factor):
        self.model.decay(factor)
        self.decays += factor != 0.5
        for rows in (self.rows, self.ever):
            rows.w = [weight * factor for weight in rows.w]

    @rule()
    def save(self):
        self.model = saved_and_loaded(self.model)

    @rule()
    def predictions_are_those_of_the_rows_that_remain(self):
        fresh = learned(self.name, self.rows)
        x, _, _ = self.rows.data(self.name)
        found, expected = (quietly(m.predict_joint_log_proba, x) for m in (self.model, fresh))
        bound = tolerance(self.name, fresh, self.rows, x, self.ever, self.decays)
        if bound is not None:
            assert_close(found, expected, bound)

    @precondition(lambda self: self.name != "auto" and len(self.rows.y) > 1)
    @rule(data=st.data())
    def leaving_a_row_out_is_fitting_the_others(self, data):
        i = data.draw(st.integers(0, len(self.rows.y) - 1))
        others = self.rows.without([i])
        fresh = learned(self.name, others)
        x, y, w = self.rows.data(self.name)
        found = quietly(lambda: leave_one_out(self.model, x, y, w))[[i]]
        row = x[i : i + 1]
        expected = quietly(fresh.predict_log_proba, row)
        bound = tolerance(self.name, fresh, others, row, self.ever, self.decays, left_out=True)
        if bound is not None:
            assert_close(found, expected, 2.0 * bound)

    def teardown(self):
        if hasattr(self, "model"):
            self.predictions_are_those_of_the_rows_that_remain()


TestForgetting = Forgetting.TestCase
TestForgetting.settings = settings(
    settings.default,
    stateful_step_count=8,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
)


def test_a_choice_does_not_hang_on_what_rounding_leaves_of_a_class():
    """Without its only row a class has nothing, not a share of 1e-16, whatever came and went."""
    row, other = {"d": 1.0, "e": 1.0}, {"d": 1.0, "e": 1.1}
    model = NaiveBayes().fit([row, row], ["u", "u"])
    model.partial_fit([row, other], ["u", "u"]).decay(0.5)
    model.partial_fit([row] * 6, ["u"] * 5 + ["v"]).decay(0.9)
    model.forget([row] * 7, ["u"] * 7, [0.45] * 2 + [0.9] * 5)
    fresh = NaiveBayes().fit([row, other, row], ["u", "u", "v"], [0.45, 0.45, 0.9])
    found, expected = (m.predict_joint_log_proba([row, other]) for m in (model, fresh))
    np.testing.assert_allclose(found, expected, rtol=1e-9)
