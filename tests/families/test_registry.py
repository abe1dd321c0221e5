"""Families by name, and families of other packages."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import i0e, i1e

import tallybayes
from tallybayes import NaiveBayes
from tallybayes.families import (
    Gaussian,
    LevelFamily,
    NumberDensity,
    NumberFamily,
    NumberLaw,
    registry,
)
from tallybayes.families.contract import GroupFamily, GroupLikelihood, TunableDensity
from tallybayes.reporting.form import Form
from tallybayes.score import Description
from tallybayes.testing.families import check_number_family


@dataclass(frozen=True)
class VonMises(NumberFamily):
    """Angles in radians: log p(x | c) = κ cos(x − μ_c) − log 2πI₀(κ), of a known κ."""

    kappa: float = 2.0

    def likelihood(self, counts, context):
        values = counts.grid.values()
        waves = np.stack([np.cos(values), np.sin(values)], axis=1)
        return VonMisesDensity(self.kappa, counts.grid, counts.grid.counts @ waves)


@dataclass(frozen=True, eq=False)
class VonMisesDensity(NumberDensity):
    kappa: float
    grid: object
    sums: np.ndarray
    what = "von Mises"

    def _scores(self, x, sums):
        """Of sums (…, n_classes, 2)."""
        none = ~sums.any(axis=-1)
        mean = np.arctan2(sums[..., 1], sums[..., 0])
        score = self.kappa * (np.cos(x[:, None] - mean) - 1.0) - np.log(
            2.0 * np.pi * i0e(self.kappa)
        )
        return np.where(none, -np.log(2.0 * np.pi), score)

    def log_density(self, x):
        return self._scores(x, self.sums)

    def without(self, x, own, weight):
        on_grid = self.grid.value_of(x)
        sums = np.repeat(self.sums[None], len(x), axis=0)
        rows = np.arange(len(x))
        wave = np.stack([np.cos(on_grid), np.sin(on_grid)], axis=1)
        sums[rows, own] -= weight[:, None] * wave
        return self._scores(x, sums)

    def drawn(self, x, rng, n):
        precise = self.kappa * np.hypot(*self.sums.T) * i1e(self.kappa) / i0e(self.kappa)
        turn = rng.vonmises(0.0, precise, (n, len(self.sums)))
        mean = np.arctan2(self.sums[:, 1], self.sums[:, 0]) + turn
        apart = np.cos(x[None, :, None] - mean[:, None, :])
        return self.kappa * (apart - 1.0) - np.log(2.0 * np.pi * i0e(self.kappa))

    def described(self):
        mean = np.arctan2(self.sums[:, 1], self.sums[:, 0])
        return Description("von Mises", ["mean direction"], mean[:, None])


@dataclass(frozen=True)
class Exponential(NumberFamily):
    """Waiting times: log p(x | c) = log λ_c − λ_c x, λ_c = rows / sum of the class."""

    def likelihood(self, counts, context):
        counted = counts.grid.counts
        return ExponentialDensity(counts.grid, counted.sum(axis=1), counted @ counts.grid.values())


@dataclass(frozen=True, eq=False)
class ExponentialDensity(NumberDensity):
    grid: object
    n: np.ndarray
    total: np.ndarray
    what = "exponential"

    def _scores(self, x, n, total):
        rate = (n + 1e-9) / (total + 1e-9)
        return np.log(rate) - rate * x[:, None]

    def log_density(self, x):
        return self._scores(x, self.n, self.total)

    @property
    def law(self):
        rate = (self.n + 1e-9) / (self.total + 1e-9)
        return NumberLaw.of_slopes(-rate, np.log(rate))

    def without(self, x, own, weight):
        n, total = np.tile(self.n, (len(x), 1)), np.tile(self.total, (len(x), 1))
        rows = np.arange(len(x))
        n[rows, own] -= weight
        total[rows, own] -= weight * self.grid.value_of(x)
        return self._scores(x, n, total)

    def drawn(self, x, rng, n):
        rate = rng.gamma(self.n, 1.0, (n, len(self.n))) / self.total
        return np.log(rate)[:, None, :] - rate[:, None, :] * x[None, :, None]

    def described(self):
        return Description("exponential", ["rate"], (self.n / self.total)[:, None])


@pytest.fixture
def _own_registry(monkeypatch):
    monkeypatch.setattr(registry, "_FAMILIES", dict(registry._FAMILIES))


@pytest.mark.usefixtures("_own_registry")
def test_a_family_of_another_package_keeps_the_promises_of_a_table():
    tallybayes.register_family("von-mises", VonMises)
    rng = np.random.default_rng(0)
    y = np.repeat(["north", "south"], 40)
    x = rng.vonmises(np.where(y == "north", 0.5, 2.5), 2.0)
    check_number_family("von-mises", VonMises(), x, y)
    model = NaiveBayes({"x": VonMises()}).fit([{"x": v} for v in x.tolist()], y)
    assert model.predict([{"x": 0.5}, {"x": 0.5 + 2.0 * np.pi}]).tolist() == ["north"] * 2
    assert model.schema_.loc[0, "family"] == "von Mises"


@pytest.mark.usefixtures("_own_registry")
def test_a_family_that_states_its_law_is_in_sql_on_the_page_and_in_single_rows(tmp_path):
    """The classes above and one line are all that it takes; without it a file is refused."""
    tallybayes.register_family("exponential", Exponential)
    rng = np.random.default_rng(0)
    y = np.repeat(["slow", "fast"], 30)
    x = rng.exponential(np.where(y == "slow", 4.0, 1.0))
    check_number_family("exponential", Exponential(), x, y)
    rows = [{"x": v} for v in x.tolist()]
    model = NaiveBayes({"x": Exponential()}).fit(rows, y)
    proba = model.predict_proba(rows)
    one = [list(model.predict_proba_one(row).values()) for row in rows]
    np.testing.assert_allclose(one, proba, rtol=1e-12)
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE waits (x DOUBLE)")
        database.executemany("INSERT INTO waits VALUES (?)", [(v,) for v in x.tolist()])
        found = database.execute(model.to_sql("waits", "sqlite")).fetchall()
    np.testing.assert_allclose([row[1:] for row in found], proba, rtol=1e-9)
    [term] = Form(model._fitted()).document()["terms"]
    assert (term["kind"], term["law"]) == ("law", "quadratic")
    path = tmp_path / "model.tally"
    model.save(path)
    assert tallybayes.load(path).predict(rows).tolist() == model.predict(rows).tolist()
    del registry._FAMILIES["exponential"]
    with pytest.raises(
        tallybayes.errors.ModelFileError, match="the family 'Exponential', which is not known"
    ):
        tallybayes.load(path)


@pytest.mark.usefixtures("_own_registry")
def test_the_command_line_takes_a_registered_family():
    from tallybayes.cli.families import column_families

    tallybayes.register_family("von-mises", VonMises)
    assert column_families(["x=von-mises(kappa=3)"]) == {"x": VonMises(kappa=3)}


def test_an_unregistered_family_is_not_saved(tmp_path):
    model = NaiveBayes({"x": VonMises()}).fit([{"x": 0.1}, {"x": 0.2}], ["a", "b"])
    with pytest.raises(TypeError, match="register_family"):
        model.save(tmp_path / "model.tally")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("_own_registry")
def test_an_entry_point_is_a_family(monkeypatch):
    class Point:
        name = "von-mises"

        @staticmethod
        def load():
            return VonMises

    registry._others.cache_clear()
    monkeypatch.setattr(registry, "entry_points", lambda group: [Point()])
    try:
        assert registry.family_names()[-1] == "von-mises"
        assert registry.family_of_name("von-mises") is VonMises
        assert registry.name_of_family(VonMises) == "von-mises"
        assert registry.family_of_class("VonMises") is VonMises
    finally:
        registry._others.cache_clear()


class Loose(NumberFamily):
    """Not a dataclass."""


@dataclass(frozen=True)
class Named(Gaussian):
    """Registered under bad names."""


@dataclass(frozen=True)
class Poisson(LevelFamily):
    """A class that is called as another one."""


@pytest.mark.usefixtures("_own_registry")
@pytest.mark.parametrize(
    ("name", "family", "error", "message"),
    [
        ("gaussian", Named, ValueError, "is taken"),
        ("none", Named, ValueError, "is taken"),
        ("Named", Named, ValueError, "lower-case"),
        ("two words", Named, ValueError, "lower-case"),
        (7, Named, ValueError, "lower-case"),
        ("named", Named(), TypeError, "a class derived from"),
        ("named", dict, TypeError, "a class derived from"),
        ("loose", Loose, TypeError, "not a frozen dataclass"),
        ("events", Poisson, ValueError, "another family is called Poisson"),
    ],
)
def test_what_is_not_a_family_is_refused(name, family, error, message):
    before = dict(registry._FAMILIES)
    with pytest.raises(error, match=message):
        tallybayes.register_family(name, family)
    assert before == registry._FAMILIES


@pytest.mark.usefixtures("_own_registry")
def test_registering_twice_changes_nothing():
    assert tallybayes.register_family("gaussian", Gaussian) is Gaussian
    assert registry.family_names().count("gaussian") == 1


def test_the_names_of_columns_families():
    names = registry.family_names()
    assert names[:4] == ["gaussian", "categorical", "bernoulli", "poisson"]
    assert "negative-binomial" in names
    assert set(names) - set(registry.family_names(alone=True)) == {"multinomial"}


@pytest.mark.parametrize("made", [Loose, Poisson])
def test_a_family_without_a_likelihood_cannot_be_made(made):
    with pytest.raises(TypeError, match="likelihood"):
        made()


def test_a_density_whose_strength_is_chosen_has_what_the_choice_asks():
    class Half(TunableDensity):
        def under(self, strength):
            return self

    assert {"scaled", "log_evidence"} <= Half.__abstractmethods__
    assert "under" not in Half.__abstractmethods__


@dataclass(frozen=True)
class Totals(GroupFamily):
    """Columns of which only the total is read: x_1 + … + x_d ~ N(μ_c, 1)."""

    together = "sums"
    alone = False

    def likelihood_together(self, names, tally, context):
        return None if tally is None else TotalsLikelihood(tally.sums.sum(axis=1), context.classes)


@dataclass(frozen=True, eq=False)
class TotalsLikelihood(GroupLikelihood):
    score_kind = "counts"
    holds = "totals"
    in_schema = "total"
    sums: np.ndarray
    rows: np.ndarray

    def contributions(self, x):
        apart = x.sum(axis=1)[:, None] - self.sums / self.rows
        return np.repeat(-0.5 * apart[:, :, None] ** 2 / x.shape[1], x.shape[1], axis=2)

    def slopes(self):
        return None

    def without(self, x, own, weight):
        return self.contributions(x).sum(axis=2)

    def drawn(self, x, rng, n):
        return np.repeat(self.without(x, None, None)[None], n, axis=0)

    def log_evidence(self):
        return 0.0

    def described(self):
        return Description("total", ["mean"], (self.sums / self.rows)[:, None])


def test_a_family_of_groups_of_another_package_reads_them():
    rows = [{"a": 1.0, "b": 2.0}, {"a": 2.0, "b": 1.0}, {"a": 9.0, "b": 8.0}, {"a": 8.0, "b": 9.0}]
    model = NaiveBayes({("a", "b"): Totals()}).fit(rows, ["few", "few", "many", "many"])
    assert model.schema_["family"].tolist() == ["total", "total"]
    assert model.schema_["holds"].tolist() == ["totals", "totals"]
    assert model.predict([{"a": 0.0, "b": 3.0}, {"a": 17.0, "b": 0.0}]).tolist() == ["few", "many"]
    assert model.predict_one({"a": 0.0, "b": 3.0}) == "few"
    explained = model.explain([{"a": 0.0, "b": 3.0}])
    total = explained.base + explained.contributions.sum(axis=2)
    np.testing.assert_allclose(total, model.predict_joint_log_proba([{"a": 0.0, "b": 3.0}]))
