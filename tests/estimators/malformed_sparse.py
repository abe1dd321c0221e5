"""A program: what the estimators make of sparse matrices whose indices lie outside their shape.

The attempts run in a fork, because code that follows such an index ends the process; those that
come after run in the next one. Prints a JSON object: attempt → outcome.
"""

import json
import os
from collections.abc import Iterator

from estimators.cases import ALL, LAYOUTS, rows, state

METHODS = ("fit", "partial_fit", "forget", "predict", "predict_proba")
INDICES = (-1, 4_000, 400_000_000)
ATTEMPTS = [
    (NB.__name__, method, layout, index)
    for NB in ALL
    for method in METHODS
    for layout in ("csr", "csc")
    for index in INDICES
]


def attempt(name: str, method: str, layout: str, index: int) -> str:
    """What happens: "refused", or what went wrong."""
    NB = next(NB for NB in ALL if NB.__name__ == name)
    x, y = rows()
    model = NB().fit(x, y)
    before = state(model)
    broken = LAYOUTS[layout](x)
    broken.indices[3] = index
    try:
        getattr(model, method)(broken, *(() if "predict" in method else (y,)))
    except ValueError as error:
        words = str(error).lower()
        if "index" not in words and "indices" not in words:
            return f"said: {error}"
    except Exception as error:
        return f"raised {error!r}"
    else:
        return "took it"
    return "refused" if state(model) == before else "changed"


def in_a_fork(attempts: list[tuple[str, str, str, int]]) -> Iterator[str]:
    """What happens in each attempt, until one ends the process, which is the last that is told."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        for what in attempts:
            os.write(writing, (json.dumps(attempt(*what)[:1000]) + "\n").encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        yield from map(json.loads, pipe)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        yield f"ended by signal {os.WTERMSIG(status)}"


def outcomes(attempts: list[tuple[str, str, str, int]]) -> list[str]:
    found: list[str] = []
    while len(found) < len(attempts):
        found += in_a_fork(attempts[len(found) :])
    return found


if __name__ == "__main__":
    names = ["-".join(map(str, what)) for what in ATTEMPTS]
    print(json.dumps(dict(zip(names, outcomes(ATTEMPTS), strict=True))))
