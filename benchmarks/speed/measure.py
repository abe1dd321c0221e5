"""Running the cases: data once for all that share them, the answer first, then the times."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace

from benchmarks.machine import OtherWork
from benchmarks.pages import say
from benchmarks.speed import categorical, gaussian, leaving_out, one_by_one, small, tables, text
from benchmarks.speed.case import Case, Dataset, Options, Outcome, Recipe
from benchmarks.speed.checks import WrongAnswer
from benchmarks.speed.processes import NotMeasured, ProcessCase, measure_apart
from benchmarks.timing import Effort, interleaved, once_each

__all__ = ["all_cases", "measure"]

# in an order in which cases that share data follow each other
FAMILIES = (gaussian, categorical, text, small, tables, one_by_one, leaving_out)


def all_cases(options: Options) -> Iterator[Case | ProcessCase]:
    """Every case of the benchmark."""
    for family in FAMILIES:
        yield from family.cases(options)


class Shelf:
    """Holds the data of one recipe, until another is asked for."""

    def __init__(self) -> None:
        self._name: str | None = None
        self._data: Dataset | None = None

    def clear(self) -> None:
        self._name = self._data = None
        gc.collect()

    def get(self, recipe: Recipe) -> Dataset:
        if self._data is None or self._name != recipe.name:
            self.clear()
            start = time.perf_counter()
            self._data = recipe.make()
            self._name = recipe.name
            say(f"        data of {recipe.name}: {self._data.note}", end="")
            say(f" ({time.perf_counter() - start:.1f} s)")
        return self._data


def measure_here(case: Case, data: Dataset, effort: Effort) -> Outcome:
    """Checks and times one case in this process.

    Raises
    ------
    WrongAnswer
    """
    case.check(data)
    peer, ours = interleaved(case.peer(data), case.ours(data), effort)
    first = None
    if case.first is not None:
        prepare = case.first
        first = once_each(lambda: prepare(data), effort)
    whole, part = None, None
    if case.part is not None:
        whole, part = interleaved(case.ours(data), case.part.call(data), effort)
    return Outcome(
        name=case.name,
        what=case.what,
        peer_name=case.peer_name,
        bar=case.bar,
        note=data.note,
        rows=case.rows,
        rows_bar=case.rows_bar,
        part=None if case.part is None else case.part.what,
        whole_times=whole,
        part_times=part,
        peer=peer,
        ours=ours,
        first=first,
        memory=case.memory,
    )


def measure(cases: Iterable[Case | ProcessCase], effort: Effort) -> list[Outcome]:
    """Measures the cases one after another.

    A wrong answer or a failed process is recorded in place of times, and the other cases are still
    measured.
    """
    shelf = Shelf()
    outcomes = []
    cases = list(cases)
    for i, case in enumerate(cases, 1):
        place = f"[{i:2}/{len(cases)}]"
        say(f"{place} {case.name}")
        start = time.perf_counter()
        work = OtherWork()
        try:
            if isinstance(case, ProcessCase):
                shelf.clear()  # the other processes need the memory
                outcome = measure_apart(case, effort)
            else:
                outcome = measure_here(case, shelf.get(case.recipe), effort)
        except WrongAnswer as wrong:
            outcome = Outcome(case.name, case.what, case.peer_name, case.bar, "", wrong=str(wrong))
            say(f"        WRONG ANSWER: {wrong}")
        except NotMeasured as why:
            outcome = Outcome(case.name, case.what, case.peer_name, case.bar, "", failed=str(why))
            say(f"        NOT MEASURED: {why}")
        else:
            verdict = "" if outcome.met else ", missed"
            bar = "none" if case.bar is None else f"{case.bar:g}"
            took = time.perf_counter() - start
            say(f"        {outcome.ratio:.2f} (bar {bar}{verdict}); took {took:.1f} s")
        outcomes.append(replace(outcome, others=work.cores()))
    return outcomes
