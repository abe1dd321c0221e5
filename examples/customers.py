"""A made table as shops have them: numbers, categories, yes/no, a date, missing values; who will
renew?

    python examples/customers.py january.csv 3000 1

The truth is known: older and frequent customers renew, so do most with the plan "gold"; the city
and the customer's number say nothing.
"""

from __future__ import annotations

import csv
import random
import sys
from datetime import date, timedelta
from pathlib import Path

__all__ = ["write"]

COLUMNS = ["number", "age", "income", "plan", "city", "visits", "newsletter", "since", "renews"]
CITIES = ["Basel", "Bern", "Genève", "Zürich", "北京"]


def _row(rng: random.Random, number: int) -> list[object]:
    renews = rng.random() < 0.4
    age = round(rng.gauss(52 if renews else 41, 11))
    income = round(rng.lognormvariate(10.9 if renews else 10.7, 0.5), -2)
    plan = rng.choices(["basic", "plus", "gold"], [3, 4, 3] if renews else [6, 3, 1])[0]
    visits = sum(rng.random() < (0.6 if renews else 0.3) for _ in range(10))
    since = date(2015, 1, 1) + timedelta(days=rng.randrange(3000) - 400 * renews)
    return [
        f"C{number:06d}",
        age if rng.random() > 0.08 else "",
        f"{income:.0f}" if rng.random() > 0.2 else "",
        plan if rng.random() > 0.03 else "",
        rng.choice(CITIES),
        visits,
        "yes" if rng.random() < (0.7 if renews else 0.5) else "no",
        since,
        "yes" if renews else "no",
    ]


def write(path: Path, rows: int, seed: int) -> None:
    """Writes a CSV; the same seed gives the same rows."""
    rng = random.Random(seed)
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(COLUMNS)
        out.writerows(_row(rng, seed * 100_000 + i) for i in range(rows))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: python examples/customers.py FILE ROWS SEED")
    write(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
