"""Cases of tables: strings, numbers and missing values, straight from a frame."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.speed import actions
from benchmarks.speed.case import Call, Case, Dataset, Options, Part, Recipe
from benchmarks.speed.checks import WrongAnswer, close
from benchmarks.speed.table_data import FORMATS, table
from benchmarks.speed.table_peers import PEERS
from tallybayes import NaiveBayes
from tallybayes.tables import read_table
from tallybayes.threads import get_num_threads

__all__ = ["cases"]

SAMPLE = 50_000  # rows on which the formats are compared
REACH = 0.02  # by how much the peer's accuracy may be better


def quietly(prepare: Callable[[Dataset], Call]) -> Callable[[Dataset], Call]:
    """The peer's call without its warnings, which would be printed in the midst of it."""

    def prepared(data: Dataset) -> Call:
        warnings.simplefilter("ignore")
        return prepare(data)

    return prepared


def reading(data: Dataset) -> Call:
    """Turning the frame into plain columns, strings into codes: a part of fit and of predict."""
    return partial(read_table, data.X, get_num_threads())


def fits_like(peer: type, rows: int) -> Callable[[Dataset], None]:
    """A check: ours says the same from every format, and is about as accurate as the peer."""

    def check(data: Dataset) -> None:
        sample = min(rows, SAMPLE)
        shares = {}
        for kind in FORMATS:
            some = table(sample, kind)
            shares[kind] = NaiveBayes().fit(some.X, some.y).predict_proba(some.X)
        for kind, share in shares.items():
            close(f"predict_proba from {kind}", shares["category"], share, 1e-12)
        warnings.simplefilter("ignore")
        right = [
            float(np.mean(data.fitted(who).predict(data.X) == data.y)) for who in (peer, NaiveBayes)
        ]
        if right[1] < right[0] - REACH:
            raise WrongAnswer(f"accuracy {right[1]:.4f}, the peer's {right[0]:.4f}")

    return check


def cases(options: Options) -> Iterator[Case]:
    """fit and predict, each format beside scikit-learn, one format beside the other peers."""
    rows = 50_000 if options.quick else 1_000_000
    for kind, (_, format_name) in FORMATS.items():
        recipe = Recipe(f"tables/{kind}", partial(table, rows, kind))
        for short, (peer, name, package, bar) in PEERS.items():
            if find_spec(package) is None or (package != "sklearn" and kind != "category"):
                continue
            common: dict[str, Any] = {
                "recipe": recipe,
                "peer_name": name,
                "check": fits_like(peer, rows),
                "bar": bar,
                "rows": rows,
                "part": Part("read the table", reading) if short == "ordinal" else None,
            }
            size = f"{rows:,} × 14, {format_name}"
            yield Case(
                name=f"tables/{kind}/fit/{short}",
                what=f"NaiveBayes fit, {size}",
                peer=quietly(actions.fit(peer)),
                ours=actions.fit(NaiveBayes),
                **common,
            )
            yield Case(
                name=f"tables/{kind}/predict/{short}",
                what=f"NaiveBayes predict, {size}",
                peer=quietly(actions.predict(peer)),
                ours=actions.predict(NaiveBayes),
                first=actions.first_predict(NaiveBayes) if short == "ordinal" else None,
                **common,
            )
