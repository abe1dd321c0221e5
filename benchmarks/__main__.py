"""The command line: one subcommand a kind of benchmark."""

from __future__ import annotations

import sys
from importlib import import_module

__all__ = ["COMMANDS", "main"]

# name: (module whose main(argv) runs it, what it measures)
COMMANDS = {
    "speed": ("benchmarks.speed.command", "times and memory beside scikit-learn"),
    "accuracy": ("benchmarks.accuracy.command", "log-loss and accuracy beside other naive Bayes"),
    "bayes": ("benchmarks.bayes.command", "chosen smoothing, calibration and intervals"),
    "weighted": ("benchmarks.weighted.command", "WeightedNaiveBayes against its bars and peers"),
    "lazy": ("benchmarks.lazy.command", "counting when asked, beside a fitted model"),
    "labels": ("benchmarks.labels", "many labels beside one-vs-rest, and classes in a tree"),
    "text": ("benchmarks.text.command", "counting text beside scikit-learn"),
    "stream": ("benchmarks.stream.command", "documents predicted and learned one by one"),
    "scale": ("benchmarks.scale.command", "peak memory and speed on a CSV of 3 GB"),
    "sources": ("benchmarks.scale.sources", "learning from Parquet and CSV beside decoding them"),
    "readers": ("benchmarks.readers", "which files other readers read as ours, and how fast"),
    "sql": ("benchmarks.sql.command", "scoring in SQL beside predict and nested CASE"),
    "drift": ("benchmarks.drift", "what moved, and class shares, from counts"),
    "decisions": ("benchmarks.decisions", "prediction sets beside MAPIE, and decisions by cost"),
    "privacy": ("benchmarks.privacy", "counts released with noise: fit, attack and log-loss"),
    "back-ends": ("benchmarks.back_ends", "models in ONNX, Python, JavaScript and SQL"),
    "start": ("benchmarks.start.command", "how soon the command line has answered"),
    "first": ("benchmarks.first.command", "the first prediction of 3,000 columns and 500 classes"),
    "report": ("benchmarks.report.command", "reports by time, size and loading, and pictures"),
    "unchanged": ("benchmarks.unchanged.command", "whether two versions say the same, bit for bit"),
    "versions": ("benchmarks.versions.command", "whether this version is slower than another"),
    "files": ("benchmarks.files.command", "mutated model files, killed and concurrent commands"),
    "serve": ("benchmarks.serve.command", "a service under load, beside an empty handler"),
    "store": ("benchmarks.store.command", "stores beside a bare INSERT, and killed processes"),
}


def usage() -> str:
    """What can be asked for."""
    lines = ["usage: python -m benchmarks COMMAND [options]", "", "commands:"]
    lines += [f"  {name:<10} {what}" for name, (_, what) in COMMANDS.items()]
    lines += ["", "python -m benchmarks COMMAND --help lists the options of a command."]
    return "\n".join(lines)


def main(argv: list[str]) -> int:
    """Runs one command.

    Parameters
    ----------
    argv : list of str
        The name of the command and its options.

    Returns
    -------
    int
        The exit code: 0, 1 where an answer was wrong, 2 for a bad command line.
    """
    if not argv or argv[0] in ("-h", "--help"):
        print(usage())
        return 0 if argv else 2
    if argv[0] not in COMMANDS:
        print(f"there is no command {argv[0]!r}\n\n{usage()}", file=sys.stderr)
        return 2
    module, _ = COMMANDS[argv[0]]
    code: int = import_module(module).main(argv[1:])
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
