"""``python -m benchmarks decisions``: decisions by cost and prediction sets, against their bars."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.accuracy.data import DataSet, NoData, all_data_sets
from benchmarks.bayes.page import Page, options_of
from benchmarks.machine import machine_record
from benchmarks.pages import say, yes_or_no

__all__ = ["main"]

COVERAGES = (0.8, 0.9, 0.95)
LEVELS = np.linspace(0.7, 0.99, 59)  # coverages at which sizes are compared at equal coverage
MAX_ROWS = 1500
MIN_CLASS_ROWS = 50
LARGEST_MEAN, STANDARD_ERRORS = 0.01, 3.0
MAX_TIME = 1.5
MAX_DIFFERENCE = 1e-12
SPLITS = 10
FALSE_GOOD, FALSE_BAD = 5.0, 1.0  # of German credit, by those who published it

Array = NDArray[np.float64]
Make = Callable[[], Any]


def models() -> dict[str, Make]:
    """The models of tables that sets are made of."""
    from tallybayes import NaiveBayes, WeightedNaiveBayes

    return {"NaiveBayes": NaiveBayes, "WeightedNaiveBayes": WeightedNaiveBayes}


def folds(y: NDArray[Any], n: int, seed: int = 0) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Stratified folds."""
    from sklearn.model_selection import StratifiedKFold

    yield from StratifiedKFold(n, shuffle=True, random_state=seed).split(np.zeros(len(y)), y)


# ---- coverage, and the size of sets beside MAPIE -------------------------------------------------
class ByNumber:
    """A fitted model of some table that takes rows by number, as MAPIE takes arrays."""

    def __init__(self, model: Any, x: pd.DataFrame) -> None:
        self.model, self.x = model, x
        self.classes_ = model.classes_

    def fit(self, x: Any, y: Any) -> ByNumber:
        """It is fitted."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, numbers: Any) -> Any:
        """Labels."""
        return self.model.predict(self.x.iloc[np.asarray(numbers)[:, 0]])

    def predict_proba(self, numbers: Any) -> Any:
        """Probabilities."""
        return self.model.predict_proba(self.x.iloc[np.asarray(numbers)[:, 0]])


def mapie_sets(make: Make, x: pd.DataFrame, y: NDArray[Any], train: Any, test: Any) -> Any:
    """MAPIE's split sets over the same model, by coverage, (n_test, n_classes, n_coverages)."""
    from mapie.classification import SplitConformalClassifier
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.model_selection import train_test_split

    learn, judge = train_test_split(train, test_size=0.2, random_state=0, stratify=y[train])
    kind = type("Rows", (ClassifierMixin, ByNumber, BaseEstimator), {})
    model = kind(make().fit(x.iloc[learn], y[learn]), x)
    conformal = SplitConformalClassifier(model, confidence_level=list(COVERAGES), prefit=True)
    conformal.conformalize(judge[:, None], y[judge])
    return conformal.predict_set(test[:, None])[1], model.classes_


def coverage_of(data: DataSet, name: str, make: Make, n_folds: int) -> dict[str, Any] | None:
    """How often sets hold the class, by coverage, in all rows and in each class; their sizes beside
    MAPIE's."""
    from tallybayes.decisions import in_set

    x, y = data.rows(least=2 * n_folds, most=MAX_ROWS)
    labels, often = np.unique(y, return_counts=True)  # of the rows that were drawn
    if len(labels) < 2 or often.min() < 2 * n_folds:
        return None
    held = {within: np.zeros((len(y), len(COVERAGES)), bool) for within in ("all", "class")}
    sizes, peer_sizes = np.zeros((2, len(y), len(COVERAGES)))
    peer_held = np.zeros((len(y), len(COVERAGES)), bool)
    curve = np.zeros((2, len(LEVELS)))  # rows whose set holds the class, and classes in all sets
    for train, test in folds(y, n_folds):
        model = make().fit(x.iloc[train], y[train]).conformalize(x.iloc[train], y[train])
        own = np.searchsorted(model.classes_, y[test])
        for within, kept in held.items():
            asked = None if within == "all" else within
            for j, coverage in enumerate(COVERAGES):
                found = model.prediction_set(x.iloc[test], coverage, within=asked)
                kept[test, j] = found[np.arange(len(test)), own]
                if within == "all":
                    sizes[test, j] = found.sum(axis=1)
        sets = in_set(model.p_values(x.iloc[test])[:, :, None], LEVELS)
        curve += sets[np.arange(len(test)), own].sum(axis=0), sets.sum(axis=(0, 1))
        found, classes = mapie_sets(make, x, y, train, test)
        peer_sizes[test] = found.sum(axis=1)
        peer_held[test] = found[np.arange(len(test)), np.searchsorted(classes, y[test])]
    classes = []
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        if len(rows) >= MIN_CLASS_ROWS:
            classes.append((str(label), len(rows), held["class"][rows].mean(axis=0).tolist()))
    return {
        "set": data.name,
        "model": name,
        "rows": len(y),
        "classes": len(np.unique(y)),
        "covered": held["all"].mean(axis=0).tolist(),
        "covered in classes": classes,
        "size": sizes.mean(axis=0).tolist(),
        "size of MAPIE": peer_sizes.mean(axis=0).tolist(),
        "covered by MAPIE": peer_held.mean(axis=0).tolist(),
        "covered and size by level": curve / len(y),
    }


def below(covered: list[float], n: int, n_folds: int) -> float:
    """By how many standard errors the coverage is missed, at most; those of the rows that are
    tested and of the quantile of those that were learned."""
    worst = 0.0
    for coverage, found in zip(COVERAGES, covered, strict=True):
        error = np.sqrt(coverage * (1.0 - coverage) / n * (1.0 + 1.0 / (n_folds - 1)))
        worst = max(worst, (coverage - found) / error)
    return float(worst)


# ---- times, full sets, and costs -----------------------------------------------------------------
def times_of(data: DataSet) -> dict[str, Any]:
    """Seconds of leave-one-out, and of keeping its scores, the least of five."""
    from tallybayes import NaiveBayes, leave_one_out

    x, y = data.table
    model = NaiveBayes().fit(x, y)
    leave_one_out(model, x, y)
    spent: dict[str, float] = {}
    for _ in range(5):
        for name, do in (
            ("leave_one_out", lambda: leave_one_out(model, x, y)),
            ("conformalize", lambda: model.conformalize(x, y)),
            ("prediction_set", lambda: model.prediction_set(x)),
        ):
            start = time.perf_counter()
            do()
            spent[name] = min(spent.get(name, np.inf), time.perf_counter() - start)
    return {"set": data.name, "rows": len(y), **spent}


def full_differs(seed: int) -> float:
    """The largest difference of full p-values from those of n + 1 fits, on a small table."""
    from tallybayes import NaiveBayes
    from tallybayes.families import Categorical, Gaussian, Poisson

    rng = np.random.default_rng(seed)
    n, labels = 20, np.array(["a", "b", "c"])
    y = labels[np.arange(n + 2) % 3]
    code = np.searchsorted(labels, y)
    x = pd.DataFrame(
        {
            "x": rng.normal(code, 1.0),
            "n": rng.poisson(1.0 + code),
            "l": rng.choice(["u", "v"], n + 2),
        }
    )

    def make() -> Any:
        levels = Categorical(levels=["u", "v"])
        return NaiveBayes({"x": Gaussian(var_smoothing=1e-6), "n": Poisson(), "l": levels})

    model = make().fit(x.iloc[:n], y[:n])
    found = model.p_values(x.iloc[n:], method="full", learned=(x.iloc[:n], y[:n]))
    largest = 0.0
    for i, row in enumerate((n, n + 1)):
        for c, label in enumerate(labels):
            more = x.iloc[[*range(n), row]].reset_index(drop=True)
            given = np.append(y[:n], label)
            scores = []
            for r in range(n + 1):
                others = np.arange(n + 1) != r
                refitted = make().fit(more[others], given[others])
                own = int(np.searchsorted(labels, given[r]))
                scores.append(-refitted.predict_log_proba(more.iloc[[r]])[0, own])
            expected = np.mean(np.array(scores) >= scores[-1] - 1e-12)
            largest = max(largest, abs(found[i, c] - float(expected)))
    return largest


def german_costs(name: str, make: Make) -> dict[str, Any] | None:
    """The mean cost of German credit over ten splits, by decisions and by a tuned threshold."""
    from sklearn.metrics import make_scorer
    from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split

    data = {data.name: data for data in all_data_sets()}["german"]
    x, y = data.table
    bad = "2"
    costs = {"1": {"1": 0.0, "2": FALSE_BAD}, "2": {"1": FALSE_GOOD, "2": 0.0}}

    def cost(truth: Any, said: Any) -> float:
        missed = (truth == bad) & (said != bad)
        return float((FALSE_GOOD * missed + FALSE_BAD * ((truth != bad) & (said == bad))).mean())

    scorer = make_scorer(cost, greater_is_better=False)
    decided, tuned, plain = [], [], []
    for split in range(SPLITS):
        train, test = train_test_split(
            np.arange(len(y)), test_size=0.3, random_state=split, stratify=y
        )
        model = make().fit(x.iloc[train], y[train])
        decided.append(cost(y[test], model.with_costs(costs).predict(x.iloc[test])))
        plain.append(cost(y[test], model.predict(x.iloc[test])))
        other = TunedThresholdClassifierCV(make(), scoring=scorer, cv=5, random_state=split)
        other.fit(x.iloc[train], y[train])
        tuned.append(cost(y[test], other.predict(x.iloc[test])))
    return {"model": name, "decided": decided, "tuned": tuned, "most probable": plain}


def search_differs(n: int, seed: int = 0) -> int:
    """In how many of n random problems a decision is not that of a search over all."""
    from tallybayes.decisions import Costs

    rng, wrong = np.random.default_rng(seed), 0
    for _ in range(n):
        k, d = int(rng.integers(2, 7)), int(rng.integers(1, 9))
        costs = rng.normal(size=(k, d)) * 10.0 ** rng.integers(-2, 3)
        proba = rng.dirichlet(np.ones(k), size=5)
        labels = np.array([f"c{i}" for i in range(k)])
        table = {
            c: {f"d{j}": v for j, v in enumerate(row)} for c, row in zip(labels, costs, strict=True)
        }
        found = Costs.read(table, labels).decide(proba).decision
        for i, decision in enumerate(found.tolist()):
            each = [sum(proba[i, c] * costs[c, j] for c in range(k)) for j in range(d)]
            wrong += decision != f"d{each.index(min(each))}"
    return wrong


# ---- the page ------------------------------------------------------------------------------------
def page_of(record: dict[str, Any], n_folds: int) -> Page:
    """The page of all results."""
    verdicts, tables = [], []
    for name in models():
        sets = [s for s in record["coverage"] if s["model"] == name]
        for j, coverage in enumerate(COVERAGES):
            mean = float(np.mean([s["covered"][j] for s in sets])) - coverage
            met = abs(mean) <= LARGEST_MEAN
            verdicts.append(
                f"- {name}, coverage {coverage}: {coverage + mean:.4f} in the mean of {len(sets)} "
                f"sets (bar: within {LARGEST_MEAN}: {yes_or_no(met)})."
            )
        worst = max(sets, key=lambda s: below(s["covered"], s["rows"], n_folds))
        error = below(worst["covered"], worst["rows"], n_folds)
        met = error <= STANDARD_ERRORS
        verdicts.append(
            f"- {name}: the set that misses most, {worst['set']}, by {error:.1f} standard errors "
            f"(bar: {STANDARD_ERRORS:g}: {yes_or_no(met)})."
        )
        groups = [
            (below(covered, n, n_folds), f"{s['set']} {label}")
            for s in sets
            for label, n, covered in s["covered in classes"]
        ]
        error, which = max(groups)
        met = error <= STANDARD_ERRORS
        verdicts.append(
            f'- {name}, within="class": of {len(groups)} classes of {MIN_CLASS_ROWS} rows or more '
            f"{which} misses most, by {error:.1f} (bar: {STANDARD_ERRORS:g}: {yes_or_no(met)})."
        )
        mine, other = (np.mean([s[key] for s in sets], axis=0) for key in ("size", "size of MAPIE"))
        met = bool((mine <= other).all())
        numbers = ", ".join(f"{a:.3f} and {b:.3f}" for a, b in zip(mine, other, strict=True))
        verdicts.append(
            f"- {name}: sets have {numbers} classes, ours and those of MAPIE's split "
            f"(bar: not more: {yes_or_no(met)})."
        )
        covers = np.mean([s["covered by MAPIE"] for s in sets], axis=0)
        alike = np.interp(covers, *record["covered and size by level"][name])
        verdicts.append(
            f"- {name}: MAPIE's sets cover {', '.join(f'{share:.4f}' for share in covers)} in the "
            f"mean; asked to cover as much, ours have {', '.join(f'{size:.3f}' for size in alike)} "
            "classes."
        )
        rows = [
            [
                s["set"],
                f"{s['rows']:,}",
                str(s["classes"]),
                *(
                    f"{a:.3f} / {b:.3f}"
                    for a, b in zip(s["covered"], s["covered by MAPIE"], strict=True)
                ),
                *(f"{a:.2f} / {b:.2f}" for a, b in zip(s["size"], s["size of MAPIE"], strict=True)),
            ]
            for s in sets
        ]
        head = ["set", "rows", "classes"]
        head += [f"{what} at {c}, ours / MAPIE" for what in ("covered", "size") for c in COVERAGES]
        tables.append((f"{name}, {n_folds} folds", head, rows))
    slow = max(record["times"], key=lambda t: t["conformalize"] / t["leave_one_out"])
    ratio = slow["conformalize"] / slow["leave_one_out"]
    verdicts.append(
        f"- Keeping scores takes at most {ratio:.2f} × leave_one_out ({slow['set']}, "
        f"{slow['rows']:,} rows; bar: {MAX_TIME}: {yes_or_no(ratio <= MAX_TIME)})."
    )
    tables.append(
        (
            "Seconds, the least of five",
            ["set", "rows", "leave_one_out", "conformalize", "prediction_set of all rows"],
            [
                [
                    t["set"],
                    f"{t['rows']:,}",
                    *(f"{t[k]:.4f}" for k in ("leave_one_out", "conformalize", "prediction_set")),
                ]
                for t in record["times"]
            ],
        )
    )
    verdicts.append(
        f"- Full p-values differ from n + 1 fits by {record['full']:.1e} at most (bar: "
        f"{MAX_DIFFERENCE:g}: {yes_or_no(record['full'] <= MAX_DIFFERENCE)})."
    )
    for g in record["german"]:
        means = {key: float(np.mean(g[key])) for key in ("decided", "tuned", "most probable")}
        met = means["decided"] <= means["tuned"]
        verdicts.append(
            f"- German credit, {g['model']}, {SPLITS} splits: a row costs {means['decided']:.4f} "
            f"by decide, {means['tuned']:.4f} by TunedThresholdClassifierCV, "
            f"{means['most probable']:.4f} by the most probable class (bar: not more than the "
            f"threshold: {yes_or_no(met)})."
        )
    verdicts.append(
        f"- Of {record['problems']:,} random problems of five rows, decisions differ from a search "
        f"in {record['search']} (bar: 0: {yes_or_no(record['search'] == 0)})."
    )
    title = "Decisions by cost, and prediction sets"
    return Page("decisions", title, verdicts, tables, record)


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
        "decisions",
        "Coverage and size of prediction sets, and the cost of decisions.",
        "Data sets are looked for in the folder that TALLYBAYES_DATA names.",
        "four sets",
    )
    given = options.parse_args(argv)
    machine = machine_record()
    warnings.simplefilter("ignore")
    missing = []
    found: list[dict[str, Any]] = []
    times: list[dict[str, Any]] = []
    n_folds = 5
    sets = all_data_sets()
    if given.quick:
        sets = [data for data in sets if data.name in ("german", "votes", "arff-iris", "arff-car")]
    for data in sets:
        say(f"  {data.name}")
        try:
            found += filter(None, [coverage_of(data, *m, n_folds) for m in models().items()])
            if len(data.table[1]) >= 1000:
                times.append(times_of(data))
        except NoData as why:
            missing.append(data.name)
            say(f"  NO DATA: {why}")
    if not times:
        return 1
    problems = 20_000
    curves = {}
    for name in models():
        each = [s.pop("covered and size by level") for s in found if s["model"] == name]
        curves[name] = np.mean(each, axis=0).round(6).tolist()
    record = {
        "coverage": found,
        "covered and size by level": curves,
        "times": times,
        "full": max(full_differs(seed) for seed in range(3)),
        "german": [] if "german" in missing else [german_costs(*m) for m in models().items()],
        "search": search_differs(problems),
        "problems": problems,
    }
    page = page_of(record, n_folds)
    page.publish_run(argv, given, machine)
    return 1 if missing else 0
