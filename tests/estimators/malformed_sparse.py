"""A program: what the estimators make of sparse matrices whose indices lie outside their shape.

Each attempt runs in a fork of its own, because code that follows such an index ends the process.
Prints a JSON object: attempt → outcome.
"""

from __future__ import annotations

import json
import os

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


def in_a_fork(*what: str | int) -> str:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, attempt(*what).encode()[:1000])
        os._exit(0)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    return f"ended by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else said


if __name__ == "__main__":
    print(json.dumps({"-".join(map(str, what)): in_a_fork(*what) for what in ATTEMPTS}))
