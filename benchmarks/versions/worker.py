"""One version: times the calls that it is asked for, a line each."""

from __future__ import annotations

import gc
import json
import sys
import time

from benchmarks.versions.calls import calls

__all__ = ["main"]

BATCH = 20e-3  # seconds that a timed batch of a short call takes


def main() -> None:
    """Says the name of a call, then times it for each line of input until one says "next"."""
    out = sys.stdout
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    for name, call in calls():
        if only not in name:
            continue
        try:
            call()
            started = time.perf_counter()
            call()
            times = max(1, int(BATCH / max(time.perf_counter() - started, 1e-7)))
        except (AttributeError, TypeError) as missing:
            times = 0
            print(f"{name}: {missing}", file=sys.stderr)
        print(json.dumps({"name": name, "times": times}), file=out, flush=True)
        for line in sys.stdin:
            if line.strip() == "next":
                break
            repeated = int(line)
            gc.collect()
            gc.disable()
            started = time.perf_counter()
            for _ in range(repeated):
                call()
            seconds = (time.perf_counter() - started) / repeated
            gc.enable()
            print(json.dumps(seconds), file=out, flush=True)


if __name__ == "__main__":
    main()
