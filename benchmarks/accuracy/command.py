"""``python -m benchmarks accuracy``."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from benchmarks.accuracy.data import DataSet, NoData, all_data_sets
from benchmarks.accuracy.folds import cross_validate
from benchmarks.accuracy.models import MODELS, Model
from benchmarks.accuracy.report import as_json, as_markdown
from benchmarks.accuracy.verdict import Result
from benchmarks.machine import machine_record
from benchmarks.pages import RESULTS, recorded_command, say, write_page

__all__ = ["main"]

RESULT = RESULTS / "accuracy.md"
QUICK_FOLDS, QUICK_ROWS = 3, 2_000
PACKAGES = ("pandas", "mixed-naive-bayes", "wnb")


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    options = argparse.ArgumentParser(
        prog="python -m benchmarks accuracy",
        description="Log-loss and accuracy by cross-validation, beside other naive Bayes.",
        epilog="Data sets are looked for in the folder that TALLYBAYES_DATA names. A run of some "
        "of them, or of some models, is printed and not written, unless --output says where. The "
        "exit code is 1 if a data set is missing or a model fails; a missed bar is only reported.",
    )
    options.add_argument(
        "--only",
        metavar="PATTERN",
        help="data sets whose name has this in it; * and ? stand for anything: 'arff-*'",
    )
    options.add_argument(
        "--models",
        metavar="NAMES",
        help="models by name or pattern, separated by commas, on every data set",
    )
    options.add_argument("--quick", action="store_true", help="3 folds of at most 2,000 rows")
    options.add_argument("--folds", type=int, default=10, metavar="N", help="default: 10")
    options.add_argument(
        "--least-rows",
        type=int,
        default=0,
        metavar="N",
        help="leave out classes with fewer rows than this",
    )
    options.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="the page; all numbers beside it as .json (default: benchmarks/results/accuracy.md)",
    )
    options.add_argument("--list", action="store_true", help="name data sets and models and stop")
    return options


def measure(
    data: DataSet, models: Sequence[Model], folds: int, least: int, most: int | None
) -> Result:
    """Runs the models on one data set.

    Raises
    ------
    NoData
    """
    X, y = data.rows(least=least, most=most)
    scores = {}
    for model in models:
        start = time.perf_counter()
        done = scores[model.name] = cross_validate(model, X, y, folds)
        took = f"{time.perf_counter() - start:.1f} s"
        figures = done.failed or f"{done.mean('log_loss'):.4f}  {done.mean('accuracy'):.4f}"
        say(f"  {model.name:<26} {figures}  ({took})")
    n_rows, n_columns = X.shape
    what = data.what if data.paths else f"{data.what}; fetched from OpenML, number {data.openml}"
    return Result(data.name, data.group, what, n_rows, n_columns, len(set(y)), scores)


def chosen_models(asked: str | None) -> list[Model]:
    """The models of `asked`, or all; those whose package is not installed are left out, aloud."""
    chosen = list(MODELS)
    if asked is not None:
        patterns = [part.strip() for part in asked.split(",")]
        chosen = [m for m in MODELS if any(fnmatchcase(m.name, p) for p in patterns)]
        if not chosen:
            parser().error(f"--models {asked!r} names no model; see --list")
    for model in chosen:
        if not model.installed:
            say(f"left out: {model.name}, as {model.package} is not installed")
    return [model for model in chosen if model.installed]


def main(argv: list[str]) -> int:
    """Runs the command.

    Returns
    -------
    int
        0, or 1 if a data set was missing or a model failed.
    """
    asked = parser().parse_args(argv)
    if asked.list:
        print("\n".join(f"{data.name:<22} {data.what}" for data in all_data_sets()))
        print("\n".join(f"{model.name:<26} {model.what}" for model in MODELS))
        return 0
    sets = [d for d in all_data_sets() if fnmatchcase(d.name, f"*{asked.only or ''}*")]
    if not sets:
        parser().error(f"--only {asked.only!r} names no data set; see --list")
    if asked.folds < 2:
        parser().error(f"--folds must be at least 2, got {asked.folds}")
    models = chosen_models(asked.models)
    folds, most = (QUICK_FOLDS, QUICK_ROWS) if asked.quick else (asked.folds, None)

    command = recorded_command("accuracy", argv)
    machine = machine_record(PACKAGES)
    results, missing = [], []
    for data in sets:
        say(data.name)
        on_this = [m for m in models if asked.models is not None or data.group in m.groups]
        try:
            results.append(measure(data, on_this, folds, asked.least_rows, most))
        except NoData as why:
            missing.append(data.name)
            say(f"  NO DATA: {why}")
    partly = "Few folds of few rows (`--quick`)" if asked.quick else ""
    if missing:
        partly = "; ".join(filter(None, [partly, f"No data for {', '.join(missing)}"]))
    ran = [m for m in models if any(m.name in r.scores for r in results)]
    page = as_markdown(results, ran, command=command, machine=machine, folds=folds, partly=partly)
    print(page)

    whole = not (asked.only or asked.models or asked.quick or missing)
    output = asked.output or (RESULT if whole else None)
    if output is not None:
        record = as_json(results, ran, command=command, machine=machine, folds=folds)
        write_page(output, page, record)
    failed = [(r.name, s) for r in results for s in r.scores.values() if s.failed]
    for name, scores in failed:
        say(f"failed: {scores.model} on {name}: {scores.failed}")
    return 1 if missing or failed else 0
