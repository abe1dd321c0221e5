"""Cases of a stream: rows as dicts, learned and classified one at a time, beside river.

river has no naive Bayes for mixed columns, so that it gets ten columns of numbers; ours gets these,
and ten mixed columns as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.speed.case import Call, Case, Dataset, Options, Recipe
from benchmarks.speed.checks import WrongAnswer
from tallybayes import NaiveBayes

__all__ = ["cases"]

SEED = 20_240_506
NUMBERS, LEVELS = 10, 8
LEARNED_BAR, CLASSIFIED_BAR = 200_000.0, 100_000.0
IN_TURN_BAR = 3_333.0  # at most 0.3 ms a row
REACH = 0.02


class Stream(Dataset):
    """Rows for ours and for river: the same numbers, and in ours half of them as strings if mixed.

    Parameters
    ----------
    ours, numbers : list of dict
    labels : list of int
    note : str
    """

    def __init__(
        self, ours: list[dict[str, Any]], numbers: list[dict[str, Any]], labels: Any, note: str
    ) -> None:
        super().__init__(ours, labels, note)
        self.numbers = numbers


def stream(rows: int, mixed: bool) -> Stream:
    """Normal numbers in two classes; in mixed rows five columns are strings of eight levels."""
    rng = np.random.default_rng(SEED)
    y = rng.integers(0, 2, rows)
    values = rng.normal(0.0, 1.0, (rows, NUMBERS)) + 0.4 * y[:, None]
    names = [f"x{j}" for j in range(NUMBERS)]
    numbers = [dict(zip(names, row, strict=True)) for row in values.tolist()]
    if not mixed:
        return Stream(numbers, numbers, y.tolist(), f"{NUMBERS} normal numbers, as dicts")
    half = NUMBERS // 2
    level = np.clip(np.floor(values * 2.0) + LEVELS // 2, 0, LEVELS - 1).astype(int)
    strings = [f"level {k}" for k in range(LEVELS)]
    cells = [
        row[:half] + [strings[k] for k in codes]
        for row, codes in zip(values.tolist(), level[:, half:].tolist(), strict=True)
    ]
    ours = [dict(zip(names, row, strict=True)) for row in cells]
    note = (
        f"{half} normal numbers and {half} strings of {LEVELS} levels, as dicts; river: 10 numbers"
    )
    return Stream(ours, numbers, y.tolist(), note)


# ---- the calls ---------------------------------------------------------------------------------
def learned(kind: type, rows: list[dict[str, Any]], labels: list[int]) -> Any:
    """A new model that has learned every row by itself."""
    model = kind()
    for x, y in zip(rows, labels, strict=True):
        model.learn_one(x, y)
    return model


def classify(model: Any, rows: list[dict[str, Any]]) -> None:
    for x in rows:
        model.predict_proba_one(x)


def in_turn(model: Any, rows: list[dict[str, Any]], labels: list[int]) -> None:
    """Learns each row and asks about it, as a service does."""
    for x, y in zip(rows, labels, strict=True):
        model.learn_one(x, y)
        model.predict_proba_one(x)


def window(model: Any, rows: list[dict[str, Any]], labels: list[int]) -> None:
    """Learns each row, forgets it again, and asks after both."""
    for x, y in zip(rows, labels, strict=True):
        model.learn_one(x, y)
        model.predict_proba_one(x)
        model.forget_one(x, y)
        model.predict_proba_one(x)


def river_kind() -> type:
    from river.naive_bayes import GaussianNB

    kind: type = GaussianNB
    return kind


def first_answer(data: Stream) -> Call:
    """The first classified row after learning, in which ours reads its tally."""
    return partial(learned(NaiveBayes, data.X, data.y).predict_proba_one, data.X[0])


def about_as_accurate(data: Stream) -> None:
    """A check: ours is right about as often as river, and says what it says of a batch."""
    some = slice(0, 5_000)
    right = []
    for kind, rows in ((river_kind(), data.numbers), (NaiveBayes, data.X)):
        model = learned(kind, rows[some], data.y[some])
        said = [model.predict_one(x) for x in rows[some]]
        right.append(float(np.mean(np.array(said) == np.array(data.y[some]))))
    if right[1] < right[0] - REACH:
        raise WrongAnswer(f"accuracy {right[1]:.4f}, river's {right[0]:.4f}")
    batch = NaiveBayes().fit(data.X[some], data.y[some]).predict_proba(data.X[some])
    single = [list(model.predict_proba_one(x).values()) for x in data.X[some]]
    if not np.allclose(batch, single, rtol=1e-9, atol=1e-12):
        raise WrongAnswer("predict_proba_one differs from predict_proba of the batch")


# ---- the cases ---------------------------------------------------------------------------------
def cases(options: Options) -> Iterator[Case]:
    """learn_one and predict_proba_one, of mixed rows and of numbers."""
    if find_spec("river") is None:
        return
    rows = 10_000 if options.quick else 100_000
    peer = "river's GaussianNB"
    for name, mixed in (("mixed", True), ("numbers", False)):
        recipe = Recipe(f"one-by-one/{name}", partial(stream, rows, mixed))
        what = "5 numbers and 5 strings" if mixed else "10 numbers"
        calls: dict[str, tuple[str, Callable[[Any], Call], Callable[[Any], Call], float]] = {
            "learn": (
                f"learn_one of {rows:,} dicts, {what}",
                lambda data: partial(learned, river_kind(), data.numbers, data.y),
                lambda data: partial(learned, NaiveBayes, data.X, data.y),
                LEARNED_BAR,
            ),
            "classify": (
                f"predict_proba_one of {rows:,} dicts, {what}",
                lambda data: partial(
                    classify, learned(river_kind(), data.numbers, data.y), data.numbers
                ),
                lambda data: partial(classify, learned(NaiveBayes, data.X, data.y), data.X),
                CLASSIFIED_BAR,
            ),
        }
        for action, (described, theirs, mine, bar) in calls.items():
            yield Case(
                name=f"one-by-one/{name}/{action}",
                what=described,
                recipe=recipe,
                peer=theirs,
                ours=mine,
                check=about_as_accurate,
                bar=None,
                peer_name=peer,
                first=first_answer if action == "classify" else None,
                rows=rows,
                rows_bar=bar if mixed else None,  # promised of mixed rows
            )
        yield from _in_turn(recipe, what, options.quick, peer)


def _in_turn(recipe: Recipe, what: str, quick: bool, peer: str) -> Iterator[Case]:
    """Rows that change the model and are asked about in turn, after 10,000 in a batch; those of
    the peer are learned and asked."""
    rows = 100 if quick else 1_000
    ways: dict[str, tuple[str, Callable[..., None], dict[str, Any]]] = {
        "turn": ("learned and asked in turn", in_turn, {}),
        "half-life": ("learned and asked in turn, with a half-life", in_turn, {"half_life": 1e4}),
        "calibrated": ("learned and asked in turn", in_turn, {"calibrate": "temperature"}),
        "window": ("learned, asked, forgotten and asked", window, {}),
    }

    def ours(data: Stream, call: Callable[..., None], parameters: dict[str, Any]) -> Call:
        known = slice(0, 10_000)
        model = NaiveBayes(**parameters).fit(data.X[known], data.y[known])
        model.predict_proba_one(data.X[0])
        return partial(call, model, data.X[:rows], data.y[:rows])

    for name, (described, call, parameters) in ways.items():
        yield Case(
            name=f"{recipe.name}/{name}",
            what=f"{rows:,} dicts {described}, {what}",
            recipe=recipe,
            peer=lambda data: partial(in_turn, river_kind()(), data.numbers[:rows], data.y[:rows]),
            ours=partial(ours, call=call, parameters=parameters),
            check=about_as_accurate,
            bar=None,
            peer_name=peer,
            rows=rows,
            rows_bar={"turn": IN_TURN_BAR, "window": IN_TURN_BAR / 2.0}.get(name),  # two asked
        )
