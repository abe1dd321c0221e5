"""``python -m benchmarks weighted``."""

from __future__ import annotations

import argparse
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path

from benchmarks.accuracy.models import OURS, VARIANTS, WEIGHTED, Model
from benchmarks.machine import machine_record
from benchmarks.pages import RESULTS, recorded_command, say
from benchmarks.weighted.options import (
    BOOSTING,
    CATBOOST,
    EBM,
    FOREST,
    KHIOPS,
    LOGISTIC,
    Options,
    model_named,
)

__all__ = ["main"]

PARTS = (
    "sets",
    "more",
    "compared",
    "adult",
    "scale",
    "robust",
    "permuted",
    "honest",
    "reported",
    "degenerate",
)
MEASURED_ONCE = ("peers", "draws")  # parts that are slow, and run where --only names them
COMPARED = (WEIGHTED, KHIOPS, BOOSTING, LOGISTIC, EBM, OURS, VARIANTS[-1])
ONLY_NAMED = (FOREST, CATBOOST)  # models that are compared where --models names them
WITH_MODELS = ("sets", "more", "adult")  # parts that compare models
PACKAGES = ("pandas", "khiops", "interpret-core", "catboost")


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    options = argparse.ArgumentParser(
        prog="python -m benchmarks weighted",
        description="WeightedNaiveBayes against its bars: accuracy, calibration and time beside "
        "its peers, growth with rows, robustness, honest numbers, degenerate input.",
        epilog="Data sets are looked for in the folder that TALLYBAYES_DATA names. A run that is "
        "quick, or of some models or sets, is printed and not written, unless --output says where. "
        "The exit code is 1 if a data set is missing; a missed bar is only reported.",
    )
    options.add_argument(
        "--only",
        metavar="PARTS",
        help=f"some of {', '.join(PARTS)}, separated by commas; or {', '.join(MEASURED_ONCE)}, "
        "which are slow; peers replaces the committed figures of the models that --models names",
    )
    options.add_argument(
        "--models",
        metavar="NAMES",
        help=f"for {', '.join(WITH_MODELS)}: some of {', '.join(COMPARED)}; patterns, separated by "
        f"commas; {' and '.join(ONLY_NAMED)} only where they are named",
    )
    options.add_argument("--sets", metavar="PATTERN", help="data sets: 'arff-w*'")
    options.add_argument("--rounds", type=int, metavar="N", help="fits a time is the median of: 3")
    options.add_argument("--quick", action="store_true", help="few rows, two folds, one round")
    options.add_argument(
        "--output", type=Path, metavar="FOLDER", help="default: benchmarks/results"
    )
    return options


def chosen_models(asked: str | None) -> list[Model]:
    """The models of `asked`, or all; those whose package is not installed are left out, aloud."""
    if asked is None:
        return [model_named(name) for name in COMPARED]
    patterns, known = [part.strip() for part in asked.split(",")], (*COMPARED, *ONLY_NAMED)
    names = [name for name in known if any(fnmatchcase(name, p) for p in patterns)]
    if not names:
        parser().error(f"--models {asked!r} names none of {', '.join(known)}")
    return [model_named(name) for name in names]


def main(argv: list[str]) -> int:
    """Runs the command.

    Returns
    -------
    int
        0, or 1 if a data set was missing.
    """
    asked = parser().parse_args(argv)
    parts = PARTS if asked.only is None else [part.strip() for part in asked.only.split(",")]
    unknown = [part for part in parts if part not in (*PARTS, *MEASURED_ONCE)]
    if unknown:
        known = ", ".join((*PARTS, *MEASURED_ONCE))
        parser().error(f"--only: {unknown[0]!r} is not part of this benchmark; choose from {known}")
    if asked.models is None and "peers" in parts:
        parser().error("--only peers replaces figures of the models that --models names: name some")
    if asked.rounds is not None and asked.rounds < 1:
        parser().error(f"--rounds must be at least 1, got {asked.rounds}")
    command = recorded_command("weighted", argv)
    models = chosen_models(asked.models)
    lacking = [model.name for model in models if not model.installed]
    for name in lacking:
        say(f"left out: {name}, as {model_named(name).package} is not installed")
    options = Options(
        quick=asked.quick,
        models=[model for model in models if model.installed],
        sets=asked.sets or "*",
        rounds=asked.rounds or (1 if asked.quick else 3),
        folds=2 if asked.quick else 5,
    )
    for part in parts:
        say(part)
        machine = machine_record(PACKAGES)
        before = len(options.missing)
        page = import_module(f"benchmarks.weighted.{part}").run(options)
        if page is None:
            continue
        partly = [
            *(["Few rows and folds (`--quick`)"] if asked.quick else []),
            *([f"Only models `{asked.models}`"] if asked.models and part in WITH_MODELS else []),
            *([f"Only sets `{asked.sets}`"] if asked.sets and part not in MEASURED_ONCE else []),
            *(f"No data for {name}" for name in options.missing[before:]),
        ]
        if lacking and part in WITH_MODELS:
            page.verdicts.append(f"- left out, as not installed: {', '.join(lacking)}")
        said = "; ".join(partly)
        page.publish(asked.output or (None if partly else RESULTS), command, machine, said)
    return 1 if options.missing else 0
