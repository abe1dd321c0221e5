"""The command line on real input, then the library beside scikit-learn: make demo.

Every line that begins with "$" can be typed into a shell.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path

import library
from customers import write
from sklearn.datasets import load_wine


def title(text: str) -> None:
    """A heading."""
    print(f"\n\n=== {text} ===", flush=True)


def tallybayes(words: str, most: int | None = None) -> None:
    """Runs the command line, showing what is typed and (of many lines, the first) what comes."""
    print(
        f"\n$ tallybayes {words}"
        + (f" | head -{most}" if most else " > /dev/null" if most == 0 else ""),
        flush=True,
    )
    command = [sys.executable, "-m", "tallybayes", *shlex.split(words)]
    if most is None:
        subprocess.run(command, check=True)
        return
    done = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8")
    for line in done.stdout.splitlines()[:most]:
        print(line, flush=True)


def head(path: Path, lines: int) -> None:
    """The first lines of a file."""
    print(f"\n$ head -{lines} {path}")
    with path.open(encoding="utf-8") as file:
        print("".join(islice(file, lines)), end="", flush=True)


def customers() -> None:
    """A table with numbers, categories, a date and missing values."""
    title(
        "A table as it comes: numbers, categories, a date, missing values; no encoding, no options"
    )
    january, february = Path("january.csv"), Path("february.csv")
    write(january, 3000, seed=1)
    write(february, 1000, seed=2)
    head(january, 4)
    tallybayes("fit january.csv --target renews -o model.tally")

    title("What it says of new customers, and why")
    tallybayes("predict model.tally february.csv --proba", most=4)
    tallybayes("explain model.tally february.csv --row 1")

    title("The model is its counts: learn on, forget, merge")
    tallybayes("update model.tally february.csv")
    tallybayes("forget model.tally february.csv")
    tallybayes("fit february.csv --target renews --no-estimate -o february.tally", most=0)
    tallybayes("merge model.tally february.tally -o both.tally")


def wine() -> None:
    """scikit-learn's wines: 13 measurements, three growers."""
    title("178 wines, 13 measurements: which of three growers?")
    data = load_wine(as_frame=False)
    names = [*data.feature_names, "grower"]
    rows = [[*map(repr, x.tolist()), "ABC"[y]] for x, y in zip(data.data, data.target, strict=True)]
    Path("wine.csv").write_text("\n".join(",".join(row) for row in [names, *rows]) + "\n")
    tallybayes("fit wine.csv --target grower")


def main() -> None:
    """Everything, in a folder that is removed."""
    from contextlib import chdir

    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        customers()
        wine()
    title("The same counts in Python, beside scikit-learn")
    library.main()


if __name__ == "__main__":
    main()
