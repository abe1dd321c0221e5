"""``python -m benchmarks privacy``: released counts, against their bars."""

from __future__ import annotations

import math
import os
import sys
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import beta, chisquare

from benchmarks.accuracy.data import NoData, all_data_sets
from benchmarks.bayes.page import Page, options_of
from benchmarks.machine import machine_record
from benchmarks.pages import say, yes_or_no

__all__ = ["main"]

DRAWS, PAIRS = 1_000_000, 10_000
EDGES = {
    "age": [25, 30, 35, 40, 45, 50, 60],
    "education-num": [9, 10, 11, 13, 14],
    "capital-gain": [1, 5000, 7000],
    "capital-loss": [1, 1500, 2000],
    "hours-per-week": [30, 40, 41, 50],
}
"""Where the numbers of Adult are cut, chosen without the rows; fnlwgt is left out."""
TESTED = 16_000  # rows of each draw that models are judged on
N_DRAWS = 10
MAX_LOSS, MAX_HARM, MAX_AT_LITTLE = 0.01, 0.01, 0.50

Array = NDArray[np.float64]


# ---- the noise, and an attack on it --------------------------------------------------------------
def tally_of_cells(n: int) -> Any:
    """A tally of one row, in a column of n levels."""
    from tallybayes import Schema, collect

    schema = Schema.declare({"a": [str(i) for i in range(n)]}, ["no"])
    return collect(pd.DataFrame({"a": ["0"], "t": ["no"]}), "t", schema)


def probabilities(z: NDArray[np.int64], scale: float, delta: float) -> Array:
    """The exact probabilities of the noise."""
    if delta == 0.0:
        q = math.exp(-1.0 / scale)
        return (1.0 - q) / (1.0 + q) * q ** np.abs(z)
    wide = np.arange(-int(40 * scale) - 1, int(40 * scale) + 2)
    return np.exp(-z * z / (2.0 * scale**2)) / np.exp(-wide * wide / (2.0 * scale**2)).sum()


def goodness_of_fit(draws: NDArray[np.int64], scale: float, delta: float) -> float:
    """The p-value of a χ² test of draws against their exact probabilities."""
    bound = int(4 * scale)
    z = np.arange(-bound, bound + 1)
    expected = probabilities(z, scale, delta) * len(draws)
    clipped = np.clip(draws, -bound - 1, bound + 1) + bound + 1
    seen = np.bincount(clipped, minlength=2 * bound + 3)
    tails = (len(draws) - expected.sum()) / 2.0
    return float(chisquare(seen, np.array([tails, *expected, tails])).pvalue)


def draws_of(how: str, n: int) -> dict[str, Any]:
    """Draws of the noise of cells, and how they fit."""
    from tallybayes.privacy import NoisedTally, noised_vector, release

    cells, delta = 20_000, 1e-6 if how == "discrete Gaussian" else 0.0
    tally = tally_of_cells(cells)
    found, noised = [], None
    for start in range(0, n, cells):
        if how == "in shares":
            total = sum(noised_vector(tally, 1.0, parties=3) for _ in range(3))
            noised = NoisedTally.from_vector(tally.schema, total, 1.0)
        else:
            noised = release(tally, 1.0, delta)
        found.append(noised.counts[0, 2 : 2 + min(cells - 1, n - start)])  # level 0 has a row
    assert noised is not None
    scale = math.sqrt(noised.variances[1]) if delta else 1.0 / 0.65 * (1.0 + 2.0**-40)
    drawn = np.concatenate(found)
    return {"noise": how, "draws": len(drawn), "p": goodness_of_fit(drawn, scale, delta)}


def attack(epsilon: float, delta: float, n: int) -> dict[str, Any]:
    """n pairs of releases with and without a row, told apart by the likelihood ratio of all counts.

    Of the threshold that was best on half of the pairs, the rates on the other half bound ε from
    below, at 99 % by Clopper and Pearson.
    """
    from tallybayes import Schema, collect
    from tallybayes.privacy import release

    schema = Schema.declare({"a": ["x", "y"], "b": ["u", "v"]}, ["no", "yes"])
    row = pd.DataFrame({"a": ["x"], "b": ["u"], "t": ["no"]})
    with_it = collect(row, "t", schema)
    without = with_it - with_it
    zero = np.array([0, 0, 0, 0, 0, 0, 0])
    here = np.array([1, 1, 0, 0, 1, 0, 0])  # class, x, y, missing, u, v, missing
    variances = release(with_it, epsilon, delta).variances
    scales = np.sqrt(np.array([variances[0], *[variances[1]] * 6]))

    def statistic(tally: Any) -> Array:
        found = np.array([release(tally, epsilon, delta).counts[0] for _ in range(n)])
        if delta:
            return np.asarray((((found - zero) ** 2 - (found - here) ** 2) / scales**2).sum(axis=1))
        return np.asarray(((np.abs(found - zero) - np.abs(found - here)) / scales).sum(axis=1))

    inside, outside = statistic(with_it), statistic(without)
    half = n // 2

    def bound(a: Array, b: Array, threshold: float) -> float:
        """ε that the rates of alarms at this threshold show, at 99 %."""
        true, false = int((a >= threshold).sum()), int((b >= threshold).sum())
        low = float(beta.ppf(0.005, true, len(a) - true + 1)) if true else 0.0
        high = float(beta.ppf(0.995, false + 1, len(b) - false)) if false < len(b) else 1.0
        return math.log((low - delta) / high) if low > delta else -math.inf

    thresholds = np.unique(np.concatenate([inside[:half], outside[:half]]))
    thresholds = np.quantile(thresholds, np.linspace(0.0, 1.0, 200))
    best = max(thresholds, key=lambda t: bound(inside[:half], outside[:half], t))
    shown = bound(inside[half:], outside[half:], float(best))
    return {"epsilon": epsilon, "delta": delta, "pairs": n, "shown": shown}


# ---- Adult ---------------------------------------------------------------------------------------
def adult() -> pd.DataFrame:
    """All rows of Adult, numbers cut at the declared edges."""
    X, y = next(d for d in all_data_sets() if d.name == "adult").table
    frame = X.drop(columns="fnlwgt")
    for name, edges in EDGES.items():
        cut = np.searchsorted(edges, X[name].to_numpy(), side="right")
        frame[name] = np.array([f"bin {i}" for i in range(len(edges) + 1)])[cut]
    return frame.assign(income=y)


def declared(frame: pd.DataFrame) -> Any:
    """The schema, as the codebook of Adult has it."""
    from tallybayes import Schema

    columns = {c: sorted(frame[c].dropna().unique()) for c in frame.columns if c != "income"}
    return Schema.declare(columns, ["<=50K", ">50K"])


def log_loss(model: Any, test: pd.DataFrame) -> float:
    """Mean log-loss of a model, in nats a row."""
    proba = model.predict_log_proba(test.drop(columns="income"))
    own = np.searchsorted(model.classes_, test["income"])
    return float(-proba[np.arange(len(test)), own].mean())


def naive(noised: Any) -> Any:
    """The tally that takes released counts for counts: those below 0 are 0."""
    from tallybayes.tally import ClassCounts, LevelCounts, TableTally

    counts, groups, at = np.maximum(noised.counts, 0).astype(float), [], 1
    for columns in noised.schema.groups:
        n = int(columns.n_levels[0])
        groups.append(LevelCounts(np.array([0, n]), np.ascontiguousarray(counts[:, at : at + n])))
        at += n + 1
    return TableTally(noised.schema, ClassCounts(counts[:, 0].copy()), tuple(groups))


def draws_of_adult(frame: pd.DataFrame, n: int, epsilon: float, delta: float) -> dict[str, Any]:
    """Ten draws of n rows, released and read."""
    from tallybayes import NaiveBayes, collect
    from tallybayes.privacy import release

    schema = declared(frame)
    found: dict[str, list[float]] = {k: [] for k in ("exact", "shares", "read", "naive")}
    for seed in range(N_DRAWS):
        order = np.random.default_rng(seed).permutation(len(frame))
        train, test = frame.iloc[order[:n]], frame.iloc[order[-TESTED:]]
        tally = collect(train, "income", schema)
        noised = release(tally, epsilon, delta)
        found["exact"].append(log_loss(NaiveBayes.from_tally(tally), test))
        found["read"].append(log_loss(NaiveBayes.from_tally(noised), test))
        found["naive"].append(log_loss(NaiveBayes.from_tally(naive(noised)), test))
        shares = tally.classes.count / n
        own = (test["income"] == ">50K").to_numpy().astype(int)
        found["shares"].append(float(-np.log(shares)[own].mean()))
    return {"rows": n, "epsilon": epsilon, "delta": delta, **found}


def federated_differs(frame: pd.DataFrame, parties: int = 5) -> int:
    """How many counts differ between masked vectors of parties, summed, and all rows pooled."""
    from tallybayes import collect
    from tallybayes.tally import TableTally

    schema, rng = declared(frame), np.random.default_rng(0)
    parts = np.array_split(rng.permutation(len(frame)), parties)
    vectors = [
        collect(frame.iloc[part], "income", schema).to_vector().view(np.uint64) for part in parts
    ]
    for i in range(parties):  # masks of pairs, which one adds and the other takes away
        for j in range(i):
            mask = rng.integers(0, 2**64, len(vectors[0]), dtype=np.uint64)
            vectors[i] = vectors[i] + mask
            vectors[j] = vectors[j] - mask
    found = TableTally.from_vector(schema, np.sum(vectors, axis=0, dtype=np.uint64))
    pooled = collect(frame, "income", schema)
    return sum(
        int(a.tobytes() != b.tobytes())
        for a, b in zip(found.arrays().values(), pooled.arrays().values(), strict=True)
    )


def peer(frame: pd.DataFrame) -> dict[str, Any]:
    """diffprivlib's naive Bayes, which is Gaussian, on the levels as numbers from 0 to 1, or why it
    does not run. Without its forests, which scikit-learn 1.9 lets nobody import."""
    forests: Any = ModuleType("diffprivlib.models.forest")
    forests.RandomForestClassifier = forests.DecisionTreeClassifier = None
    sys.modules.setdefault(forests.__name__, forests)
    try:
        from diffprivlib.models import GaussianNB
    except Exception as why:
        return {"failed": f"{type(why).__name__}: {why}"}
    columns = frame.drop(columns="income")
    codes = columns.apply(lambda c: pd.factorize(c, sort=True)[0]).to_numpy(float)
    x, y = codes / codes.max(axis=0), (frame["income"] == ">50K").to_numpy().astype(int)
    x = np.maximum(x, 0.0)  # missing values
    bounds = (np.zeros(x.shape[1]), np.ones(x.shape[1]))
    losses: dict[str, list[float]] = {}
    for n in (22_000, 2000):
        for seed in range(N_DRAWS):
            order = np.random.default_rng(seed).permutation(len(frame))
            train, test = order[:n], order[-TESTED:]
            model = GaussianNB(epsilon=1.0, bounds=bounds, random_state=seed)
            proba = model.fit(x[train], y[train]).predict_proba(x[test])
            own = np.clip(proba[np.arange(len(test)), y[test]], 1e-15, 1.0)
            losses.setdefault(f"{n:,}", []).append(float(-np.log(own).mean()))
    return {"log-loss": losses}


# ---- the page ------------------------------------------------------------------------------------
def page_of(record: dict[str, Any]) -> Page:
    """The page of all results."""
    verdicts, tables = [], []
    for drawn in record["draws"]:
        verdicts.append(
            f"- {drawn['noise']}: {drawn['draws']:,} draws beside the exact probabilities, χ² "
            f"p = {drawn['p']:.3f} (bar: above .001: {yes_or_no(drawn['p'] > 0.001)})."
        )
    for a in record["attacks"]:
        verdicts.append(
            f"- Attack on {a['pairs']:,} neighbouring pairs, ε = {a['epsilon']:g}, δ = "
            f"{a['delta']:g}: shows ε ≥ {a['shown']:.3f} at 99 % (bar: not more than promised: "
            f"{yes_or_no(a['shown'] <= a['epsilon'])})."
        )
    rows = []
    for d in record["adult"]:
        read, exact, shares = (np.array(d[key]) for key in ("read", "exact", "shares"))
        where = f"Adult, {d['rows']:,} rows, ε = {d['epsilon']:g}, δ = {d['delta']:g}"
        over = float((read - exact).mean())
        if d["epsilon"] == 1.0:
            verdicts.append(
                f"- {where}: {over:+.4f} nats of exact in the mean of {len(read)} draws, "
                f"{(read - exact).max():+.4f} in the worst (bar: mean within {MAX_LOSS}: "
                f"{yes_or_no(over <= MAX_LOSS)})."
            )
        elif d["rows"] > 10_000:
            verdicts.append(
                f"- {where}: log-loss {read.mean():.3f}, at most {read.max():.3f} (bar: "
                f"{MAX_AT_LITTLE}: {yes_or_no(float(read.max()) <= MAX_AT_LITTLE)})."
            )
        harm = float((read - shares).max())
        verdicts.append(
            f"- {where}: {harm:+.4f} nats of the class shares without noise in the worst draw "
            f"(bar: {MAX_HARM}: {yes_or_no(harm <= MAX_HARM)})."
        )
        shown = [f"{np.mean(d[k]):.3f}" for k in ("exact", "read", "naive", "shares")]
        ends = [f"{read.min():.3f} – {read.max():.3f}"]
        rows.append([f"{d['rows']:,}", f"{d['epsilon']:g}", f"{d['delta']:g}", *shown, *ends])
    head = ["rows", "ε", "δ", "exact", "read", "naive", "class shares", "read, all draws"]
    tables.append((f"Adult, log-loss in nats, mean of {N_DRAWS} draws", head, rows))
    differs = record["federated"]
    verdicts.append(
        f"- Adult in five parties, masked in pairs: {differs} arrays differ from pooled counts "
        f"(bar: 0: {yes_or_no(differs == 0)})."
    )
    other = record["peer"]
    verdicts.append(
        f"- diffprivlib does not run here: {other['failed']}"
        if "failed" in other
        else "- diffprivlib's GaussianNB on the levels as numbers, ε = 1: log-loss "
        + ", ".join(f"{np.mean(v):.3f} ({n} rows)" for n, v in other["log-loss"].items())
        + f" in the mean of {N_DRAWS} draws."
    )
    return Page("privacy", "Counts released with noise", verdicts, tables, record)


def main(argv: list[str]) -> int:
    """Runs it.

    Parameters
    ----------
    argv : list of str
        The options.

    Returns
    -------
    int
        0; 1 where data is missing.
    """
    options = options_of(
        "privacy",
        "The noise of released counts, an attack on it, and what is read of them.",
        "Adult is looked for in the folder that TALLYBAYES_DATA names.",
        "few draws",
    )
    given = options.parse_args(argv)
    machine = machine_record()
    warnings.simplefilter("ignore")
    n, pairs = (20_000, 200) if given.quick else (DRAWS, PAIRS)
    try:
        frame = adult()
    except NoData as why:
        say(f"NO DATA: {why} ({os.environ.get('TALLYBAYES_DATA')})")
        return 1
    cases = [(22_000, 1.0, 0.0), (2000, 1.0, 0.0), (22_000, 0.1, 0.0), (2000, 0.1, 0.0)]
    cases += [(2000, 1.0, 1e-6), (2000, 0.1, 1e-6)]
    record: dict[str, Any] = {"adult": []}
    for case in cases:
        say(f"  Adult {case}")
        record["adult"].append(draws_of_adult(frame, *case))
    record["federated"] = federated_differs(frame)
    record["peer"] = peer(frame)
    say("  attacks")
    record["attacks"] = [attack(1.0, delta, pairs) for delta in (0.0, 1e-6)]
    record["draws"] = []
    for how, share in (("discrete Laplace", 1), ("discrete Gaussian", 1), ("in shares", 50)):
        say(f"  draws: {how}")
        record["draws"].append(draws_of(how, n // share))
    page_of(record).publish_run(argv, given, machine)
    return 0
