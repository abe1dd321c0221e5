"""``python -m benchmarks drift``: what moved between two tallies, and class shares, from counts."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.accuracy.data import FOLDER, NoData, all_data_sets
from benchmarks.bayes.page import Page, options_of
from benchmarks.machine import machine_record
from benchmarks.pages import say, yes_or_no

__all__ = ["main"]

Array = NDArray[np.float64]

MAX_DIFFERENCE = 1e-12
MAX_SECONDS = 0.050
TIMES = 25
SILENT, TOLERANCE = 0.95, 0.02
MIN_POWER = 0.90
MAX_ERROR, MAX_LOSS = 0.015, 1.02
CONFIDENCE, COVERED = 0.9, (0.85, 0.95)
HALVED_ROWS = 2_000
SHIFTED_ROWS = 4_000
EVIDENTLY = "TALLYBAYES_EVIDENTLY"
"""The variable that names a Python in which evidently is installed."""

LEVELS_AND_NUMBERS = (
    *("adult", "mushroom", "bank-full", "bank-additional", "german"),
    *("arff-letter", "arff-nursery", "arff-optdigits", "arff-diabetes", "arff-credit-g"),
)
SHIFTED = {
    **dict.fromkeys(("adult", "mushroom", "bank-full", "bank-additional"), "cells"),
    **dict.fromkeys(("arff-letter", "arff-nursery", "arff-optdigits"), "cells"),
    "adult, weighted": "weights",
    "arff-letter, moments": "moments",
    "sms": "text",
}
"""The largest sets, of which 4,000 rows can be drawn, and one each for weights, moments, text."""

COVERED_BY = {
    "covered": "from one tally, with an assumed dependence of columns",
    "covered by calibration": "from one tally, with the dependence that a calibration has found",
    "covered by parts": "from rows, with a measured one",
}
"""How intervals are made."""


def table_of(name: str) -> tuple[pd.DataFrame, NDArray[Any]]:
    """The rows and labels of a set."""
    if name == "sms":
        path = Path(os.environ.get(FOLDER, ""), "text", "SMSSpamCollection")
        if not path.exists():
            raise NoData(f"{path} is not there")
        lines = path.read_text(encoding="utf-8").splitlines()
        labels, texts = zip(*(line.split("\t", 1) for line in lines), strict=True)
        return pd.DataFrame({"text": texts}), np.array(labels, dtype=object)
    data = {d.name: d for d in all_data_sets()}[name.split(",")[0]]
    x, y = data.rows(least=60, most=None)
    return x, y


# ---- figures, from the rows ----------------------------------------------------------------------
def cells_of(values: pd.Series[Any], names: tuple[str, ...]) -> NDArray[Any]:
    """The cell of each row, -1 for a missing value."""
    found = np.full(len(values), -1)
    there = values.notna().to_numpy()
    if names and names[0].startswith("[-∞"):
        bounds = [float(name.split(", ")[1].rstrip(")")) for name in names[:-1]]
        found[there] = np.searchsorted(bounds, values[there].to_numpy(float), side="right")
        return found
    place = {name: i for i, name in enumerate(names)}
    found[there] = [place[str(value)] for value in values[there]]
    return found


def figures_differ(name: str) -> dict[str, Any]:
    """By how much the figures of two halves of a set differ from those of their rows."""
    from scipy.stats import chi2, chi2_contingency

    from tallybayes import collect, compare

    x, _ = table_of(name)
    order = np.random.default_rng(0).permutation(len(x))
    halves = [x.iloc[rows].reset_index(drop=True) for rows in np.array_split(order, 2)]
    worst = dict.fromkeys(("psi", "js", "missing", "p", "p of SciPy"), 0.0)
    found = compare(*(collect(half) for half in halves))
    for column in found.columns:
        n = len(column.cells)
        codes = [cells_of(half[column.name], column.cells) for half in halves]
        counts = np.array([np.bincount(c[c >= 0], minlength=n) for c in codes], float)
        missing = np.array([np.mean(c < 0) for c in codes])
        p, q = counts / counts.sum(axis=1, keepdims=True)
        smooth = (counts + 0.5) / (counts.sum(axis=1, keepdims=True) + 0.5 * n)
        m = (p + q) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            js = 0.5 * (np.nansum(p * np.log(p / m)) + np.nansum(q * np.log(q / m)))
        psi = ((smooth[1] - smooth[0]) * np.log(smooth[1] / smooth[0])).sum()
        table = np.column_stack([counts, missing * [len(half) for half in halves]])
        few = table.sum(axis=0) * table.sum(axis=1).min() / table.sum() < 5.0
        table = np.column_stack([table[:, ~few], table[:, few].sum(axis=1)])
        table = table[:, table.sum(axis=0) > 0.0]
        chance = 1.0
        if table.shape[1] > 1:
            n = table.astype(np.longdouble)  # SciPy's sum in float64 is off by up to 1e-11
            each = n * np.log(
                np.where(n > 0, n, 1) * n.sum() / n.sum(axis=0) / n.sum(axis=1)[:, None]
            )
            chance = chi2.sf(float(2 * each.sum()), table.shape[1] - 1)
            of_scipy = chi2_contingency(table, correction=False, lambda_="log-likelihood").pvalue
            worst["p of SciPy"] = max(worst["p of SciPy"], abs(of_scipy - chance))
        for key, a, b in (
            ("psi", column.psi, psi),
            ("js", column.js, js),
            ("missing", column.missing_old, missing[0]),
            ("missing", column.missing_new, missing[1]),
            ("p", column.p_moved, chance),
        ):
            worst[key] = max(worst[key], abs(float(a) - float(b)))
    return {"set": name, "rows": len(x), "columns": len(found.columns), **worst}


# ---- speed ---------------------------------------------------------------------------------------
def least_seconds(call: Any, times: int = TIMES) -> tuple[float, float]:
    """The least of some times, on the clock and of the processor."""
    found = []
    for _ in range(times):
        begin = time.perf_counter(), time.process_time()
        call()
        found.append((time.perf_counter() - begin[0], time.process_time() - begin[1]))
    clock, processor = zip(*found, strict=True)
    return min(clock), min(processor)


def speed() -> dict[str, tuple[float, float]]:
    """Seconds for 1,000 columns of 20 levels, with two classes and without labels."""
    from tallybayes import collect, compare

    rng = np.random.default_rng(0)
    names = np.array([f"v{i}" for i in range(20)])
    frames = []
    for _ in range(2):
        codes = rng.integers(20, size=(2_000, 1_000))
        frame = pd.DataFrame({f"x{j}": names[codes[:, j]] for j in range(1_000)})
        frames.append(frame.assign(y=rng.choice(["no", "yes"], 2_000)))
    labelled = [collect(frame, "y") for frame in frames]
    plain = [collect(frame.drop(columns="y")) for frame in frames]
    return {
        "with two classes": least_seconds(lambda: compare(*labelled)),
        "without labels": least_seconds(lambda: compare(*plain)),
    }


PEER = """
import json, sys, time
import pandas as pd
from evidently import Report
from evidently.presets import DataDriftPreset
old, new = (pd.read_parquet(path) for path in sys.argv[1:3])
times = []
for _ in range(3):
    begin = time.perf_counter()
    Report([DataDriftPreset()]).run(new, old)
    times.append(time.perf_counter() - begin)
import evidently
print(json.dumps({"version": evidently.__version__, "seconds": min(times)}))
"""


def beside_evidently() -> dict[str, Any]:
    """Seconds on the halves of Adult: from counts, counting included, and by evidently."""
    from tallybayes import collect, compare

    x, _ = table_of("adult")
    order = np.random.default_rng(0).permutation(len(x))
    halves = [x.iloc[rows].reset_index(drop=True) for rows in np.array_split(order, 2)]
    tallies = [collect(half) for half in halves]
    found: dict[str, Any] = {
        "rows": len(x),
        "compare": least_seconds(lambda: compare(*tallies))[0],
        "collect and compare": least_seconds(lambda: compare(*map(collect, halves)), 3)[0],
    }
    if python := os.environ.get(EVIDENTLY):
        with tempfile.TemporaryDirectory() as folder:
            paths = [str(Path(folder, f"{i}.parquet")) for i in range(2)]
            for half, path in zip(halves, paths, strict=True):
                half.to_parquet(path)
            done = subprocess.run(
                [python, "-W", "ignore", "-c", PEER, *paths],
                capture_output=True,
                text=True,
                check=False,
            )
        if done.returncode == 0:
            found["evidently"] = json.loads(done.stdout.splitlines()[-1])
        else:
            say(f"  evidently: {done.stderr[-500:]}")
    return found


# ---- alarms --------------------------------------------------------------------------------------
def silence(name: str, draws: int) -> dict[str, Any]:
    """How often random halves of a set give no alarm."""
    from tallybayes import collect, compare

    x, _ = table_of(name)
    rng = np.random.default_rng(1)
    if len(x) > HALVED_ROWS:
        x = x.iloc[np.sort(rng.choice(len(x), HALVED_ROWS, replace=False))]
    silent = 0
    for _ in range(draws):
        halves = np.array_split(rng.permutation(len(x)), 2)
        silent += not compare(*(collect(x.iloc[rows]) for rows in halves)).moved(0.05)
    return {"set": name, "rows": len(x), "columns": x.shape[1], "silent": silent / draws}


def power(draws: int, columns: int) -> float:
    """How often a level that moves from 20 % to 25 % of 5,000 rows is found among columns."""
    from tallybayes import collect, compare

    rng, found = np.random.default_rng(2), 0
    for _ in range(draws):
        tallies = []
        for share in (0.2, 0.25):
            frame = {f"x{j}": rng.choice(["u", "v", "w"], 5_000) for j in range(1, columns)}
            moved = rng.choice(["u", "v", "w"], 5_000, p=[share, 0.5 - share, 0.5])
            tallies.append(collect(pd.DataFrame({"x0": moved, **frame})))
        found += "x0" in compare(*tallies).moved()
    return found / draws


# ---- class shares --------------------------------------------------------------------------------
def expectation_maximisation(proba: Array, prior: Array) -> Array:
    """The shares by the rows' probabilities (Saerens, Latinne and Decaestecker 2002)."""
    pi = prior.copy()
    for _ in range(500):
        weighted = proba * (pi / prior)
        before, pi = pi, (weighted / weighted.sum(axis=1, keepdims=True)).mean(axis=0)
        if np.abs(pi - before).max() < 1e-9:
            break
    return pi


def shifted(name: str, kind: str, draws: int) -> dict[str, Any]:
    """Shares of rows whose classes were drawn anew, of halves that were not learned."""
    from tallybayes import NaiveBayes, collect
    from tallybayes.families import Gaussian, Text

    x, y = table_of(name)
    labels, often = np.unique(y, return_counts=True)
    columns: Any = "auto"
    if kind == "text":
        columns = {"text": Text()}
    if kind == "moments":
        columns = {tuple(x.columns): Gaussian(covariance="full")}
    found: dict[str, list[Any]] = {
        key: []
        for key in ("rows", "error", "rows' error", *COVERED_BY, "fits", "loss", "true loss")
    } | {"dependence": [], "dependence by calibration": []}
    for draw in range(draws):
        rng = np.random.default_rng([draw, 7])
        learned, rest = np.array_split(rng.permutation(len(y)), 2)
        there = np.array([(y[rest] == label).sum() for label in labels])
        pi = rng.dirichlet(np.ones(len(labels)))
        if (there / pi).min() < 500:  # classes that are too rare to be drawn so often
            pi = 0.5 * pi + 0.5 * there / there.sum()
        n = int(min(SHIFTED_ROWS, 0.85 * (there / pi).min()))
        own = np.minimum(rng.multinomial(n, pi), there)
        rows = np.concatenate(
            [
                rng.choice(rest[y[rest] == label], m, False)
                for label, m in zip(labels, own, strict=True)
            ]
        )
        weight = rng.choice([1.0, 2.0, 4.0], len(y)) if kind == "weights" else None
        old, new = x.iloc[learned].reset_index(drop=True), x.iloc[rows].reset_index(drop=True)
        model, calibrated = NaiveBayes(columns), NaiveBayes(columns, calibrate="temperature")
        for made in (model, calibrated):
            made.fit(old, y[learned], sample_weight=None if weight is None else weight[learned])
        if weight is None:
            tally, asked = collect(new, columns=columns), new
        else:
            tally = collect(new.assign(w_=weight[rows]), sample_weight="w_")
            asked = None
        one = model.estimate_class_prior(tally, CONFIDENCE)
        by_calibration = calibrated.estimate_class_prior(tally, CONFIDENCE)
        given = one
        if asked is not None:
            given = model.estimate_class_prior(asked, CONFIDENCE)
        proba = model.predict_proba(new)
        shares = np.array([one[label] for label in labels])
        of_rows = expectation_maximisation(proba, often / often.sum())
        code = np.searchsorted(labels, y[rows])
        found["rows"].append(len(rows))
        found["error"].append(np.abs(shares - pi).mean())
        found["rows' error"].append(np.abs(of_rows - pi).mean())
        for key, estimate in zip(COVERED_BY, (one, by_calibration, given), strict=True):
            ends = np.array(list(estimate.intervals.values()))
            found[key].append(np.mean((ends[:, 0] <= pi) & (pi <= ends[:, 1])))
        found["dependence"].append(given.dependence)
        found["dependence by calibration"].append(by_calibration.dependence)
        found["fits"].append(one.fits)
        for key, prior in (("loss", one), ("true loss", pi)):
            log_proba = model.with_class_prior(prior).predict_log_proba(new)
            found[key].append(-log_proba[np.arange(len(code)), code].mean())
    means = {key: float(np.mean(values)) for key, values in found.items()}
    return {
        "set": name,
        "counts": kind,
        "classes": len(labels),
        **means,
        "by parts": kind != "weights",
        "ratio": means["loss"] / means["true loss"],
    }


# ---- the page ------------------------------------------------------------------------------------
def page_of(record: dict[str, Any]) -> Page:
    """The page of all results."""
    worst = {key: max(f[key] for f in record["figures"]) for key in ("psi", "js", "missing", "p")}
    most = max(worst.values())
    verdicts = [
        f"- Figures of {len(record['figures'])} sets differ from those of the rows, by NumPy and "
        f"SciPy, by {most:.1e} at most (bar: {MAX_DIFFERENCE:g}: "
        f"{yes_or_no(most <= MAX_DIFFERENCE)})."
    ]
    for what, (seconds, of_cpu) in record["speed"].items():
        verdicts.append(
            f"- 1,000 columns of 20 levels {what}: {1e3 * seconds:.1f} ms, {1e3 * of_cpu:.1f} ms "
            f"of the processor, each the least of {TIMES} (bar: {1e3 * MAX_SECONDS:.0f} ms: "
            f"{yes_or_no(seconds <= MAX_SECONDS)}, of the processor "
            f"{yes_or_no(of_cpu <= MAX_SECONDS)})."
        )
    beside = record["beside"]
    peer = beside.get("evidently")
    told = (
        f"evidently {peer['version']} takes {peer['seconds']:.2f} s"
        if peer
        else (f"evidently was not measured: {EVIDENTLY} names no Python that runs it")
    )
    verdicts.append(
        f"- The halves of Adult, {beside['rows']:,} rows: {1e3 * beside['compare']:.1f} ms to "
        f"compare, {beside['collect and compare']:.2f} s with counting; {told}."
    )
    for s in record["silence"]:
        met = abs(s["silent"] - SILENT) <= TOLERANCE
        verdicts.append(
            f"- {s['set']}: {100 * s['silent']:.1f} % of {record['draws']:,} random halves give no "
            f"alarm (bar: 95 % ± 2: {yes_or_no(met)})."
        )
    for columns, share in record["power"].items():
        verdicts.append(
            f"- A level that moves from 20 % to 25 % of 5,000 rows is found in {100 * share:.1f} % "
            f"of {record['draws']:,} draws, among {columns} (bar: 90 %: "
            f"{yes_or_no(share >= MIN_POWER)})."
        )
    sets = record["shares"]
    error, losses = (float(np.mean([s[key] for s in sets])) for key in ("error", "ratio"))
    verdicts += [
        f"- Shares differ from the true ones by {error:.4f} in the mean of {len(sets)} sets, by "
        f"{max(s['error'] for s in sets):.4f} at most (bar: {MAX_ERROR}: "
        f"{yes_or_no(error <= MAX_ERROR)} in the mean, "
        f"{yes_or_no(max(s['error'] for s in sets) <= MAX_ERROR)} for each).",
        f"- Log-loss with the shares found is {losses:.4f} × that with the true ones in the mean, "
        f"{max(s['ratio'] for s in sets):.4f} × at most (bar: {MAX_LOSS}: "
        f"{yes_or_no(losses <= MAX_LOSS)} in the mean, "
        f"{yes_or_no(max(s['ratio'] for s in sets) <= MAX_LOSS)} for each).",
    ]
    for key, what in COVERED_BY.items():
        some = [s[key] for s in sets if key != "covered by parts" or s["by parts"]]
        inside = sum(COVERED[0] <= value <= COVERED[1] for value in some)
        verdicts.append(
            f"- Intervals of 90 % {what}: {100 * float(np.mean(some)):.1f} % hold the share (bar: "
            f"85 to 95 %: {yes_or_no(COVERED[0] <= float(np.mean(some)) <= COVERED[1])} in the "
            f"mean, {inside} of {len(some)} sets)."
        )
    about = (
        f"Shares of {record['share draws']} draws: half of the rows are learned; of the others up "
        f"to {SHIFTED_ROWS:,} are drawn with shares from a flat Dirichlet distribution. Errors are "
        "means of absolute errors of classes. The peer reads the rows' probabilities: expectation "
        "maximisation by Saerens, Latinne and Decaestecker (2002), for the same model."
    )
    head = ["set", "counts", "classes", "rows", "error", "error of the peer", "covered, one tally"]
    head += [
        "calibrated",
        "parts",
        "dependence by calibration",
        "by parts",
        "fits",
        "log-loss",
        "with true shares",
        "ratio",
    ]
    shares = [
        [
            s["set"],
            s["counts"],
            str(s["classes"]),
            f"{s['rows']:.0f}",
            *(f"{s[key]:.4f}" for key in ("error", "rows' error")),
            f"{s['covered']:.3f}",
            f"{s['covered by calibration']:.3f}",
            f"{s['covered by parts']:.3f}" if s["by parts"] else "",
            f"{s['dependence by calibration']:.2f}",
            f"{s['dependence']:.2f}" if s["by parts"] else "",
            f"{s['fits']:.2f}",
            *(f"{s[key]:.4f}" for key in ("loss", "true loss", "ratio")),
        ]
        for s in sets
    ]
    figures = [
        [
            f["set"],
            f"{f['rows']:,}",
            str(f["columns"]),
            *(f"{f[k]:.1e}" for k in (*worst, "p of SciPy")),
        ]
        for f in record["figures"]
    ]
    tables = [
        (about, head, shares),
        (
            "The largest difference to figures of the rows: p from a sum in extended precision, "
            "from which SciPy's own differs by the last column",
            ["set", "rows", "columns", "PSI", "JS", "missing", "p", "p of SciPy"],
            figures,
        ),
    ]
    return Page("drift", "Drift and class shares, from counts", verdicts, tables, record)


def main(argv: list[str]) -> int:
    """Runs it.

    Parameters
    ----------
    argv : list of str
        The options.

    Returns
    -------
    int
        0; 1 where data is missing or a figure is wrong.
    """
    options = options_of(
        "drift",
        "Figures of drift against rows, alarms, power, and class shares from margins.",
        f"Data sets are looked for in the folder that {FOLDER} names. {EVIDENTLY} names a "
        "Python that has evidently.",
        "two sets",
    )
    options.add_argument("--draws", type=int, default=1000, metavar="N", help="random halves")
    options.add_argument("--share-draws", type=int, default=100, metavar="N", help="of shares")
    given = options.parse_args(argv)
    machine = machine_record()
    warnings.simplefilter("ignore")
    missing: list[str] = []
    record: dict[str, Any] = {"draws": given.draws, "share draws": given.share_draws}
    names = [n for n in LEVELS_AND_NUMBERS if not given.quick or n in ("german", "mushroom")]
    chosen = {n: k for n, k in SHIFTED.items() if not given.quick or n in ("mushroom", "sms")}

    def each(what: str, asked: Any, measure: Any) -> list[Any]:
        found = []
        for name in asked:
            say(f"  {what}: {name}")
            try:
                found.append(measure(name))
            except NoData as why:
                missing.append(name)
                say(f"  NO DATA: {why}")
        return found

    record["speed"] = speed()
    record["figures"] = each("figures", names, figures_differ)
    record["shares"] = each("shares", chosen, lambda n: shifted(n, chosen[n], given.share_draws))
    say("  power")
    record["power"] = {f"{n} columns": power(given.draws, n) for n in (1, 10)}
    record["silence"] = each("halves", names, lambda n: silence(n, given.draws))
    say("  Adult, beside evidently")
    record["beside"] = beside_evidently()
    page_of(record).publish_run(argv, given, machine)
    wrong = any(f[k] > MAX_DIFFERENCE for f in record["figures"] for k in ("psi", "js", "p"))
    return 1 if missing or wrong else 0
