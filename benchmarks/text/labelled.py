"""Labelled corpora with their folds, from the folder that TALLYBAYES_DATA names."""

from __future__ import annotations

import gzip
import os
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold

__all__ = ["SETS", "Fold", "LabelledSet"]


class Fold(NamedTuple):
    """Documents and labels to learn, and those to predict."""

    train: list[str]
    y: list[str]
    test: list[str]
    expected: list[str]


class LabelledSet(NamedTuple):
    """A corpus with its folds, and its bars: accuracy and log-loss, with the ridge
    and without."""

    name: str
    folds: Callable[[], Iterator[Fold]]
    bars: tuple[float, float, float, float]
    characters: bool = False


Labelled = tuple[list[str], list[str]]


def _folder() -> Path:
    folder = os.environ.get("TALLYBAYES_DATA")
    if not folder:
        raise SystemExit("set TALLYBAYES_DATA to the folder of the corpora (text/, zh/)")
    return Path(folder)


def _tabbed(content: str) -> Labelled:
    lines = [line.partition("\t") for line in content.split("\n") if "\t" in line]
    return [text for _, _, text in lines], [label for label, _, _ in lines]


def _members(archive: str, pattern: str) -> Iterator[tuple[str, str]]:
    """Names and contents, latin-1, of the files of an archive, sorted by name."""
    with tarfile.open(_folder() / "text" / archive) as tar:
        chosen = [m for m in tar.getmembers() if m.isfile() and re.search(pattern, m.name)]
        for member in sorted(chosen, key=lambda m: m.name):
            file = tar.extractfile(member)
            assert file is not None
            yield member.name, file.read().decode("latin-1")


def _newsgroups() -> Iterator[Fold]:
    parts: dict[bool, Labelled] = {True: ([], []), False: ([], [])}
    for name, text in _members("20news-bydate.tar.gz", "-train/|-test/"):
        documents, labels = parts["-train/" in name]
        documents.append(text)
        labels.append(name.split("/")[-2])
    yield Fold(*parts[True], *parts[False])


def _r8() -> Iterator[Fold]:
    parts = []
    for part in ("train", "test"):
        path = next((_folder() / "text").glob(f"r8-{part}*"))
        with gzip.open(path, "rt", encoding="utf-8") as file:
            parts.append(_tabbed(file.read()))
    yield Fold(*parts[0], *parts[1])


def _split(documents: list[str], labels: list[str], fold: np.ndarray) -> Iterator[Fold]:
    for f in np.unique(fold):
        train, test = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        yield Fold(
            [documents[i] for i in train],
            [labels[i] for i in train],
            [documents[i] for i in test],
            [labels[i] for i in test],
        )


def _stratified(read: Callable[[], Labelled], n: int) -> Iterator[Fold]:
    documents, labels = read()
    fold = np.empty(len(labels), dtype=int)
    splitter = StratifiedKFold(n, shuffle=True, random_state=0)
    for f, (_, test) in enumerate(splitter.split(documents, labels)):
        fold[test] = f
    yield from _split(documents, labels, fold)


def _sms() -> Labelled:
    return _tabbed((_folder() / "text" / "SMSSpamCollection").read_text(encoding="utf-8"))


def _subjectivity() -> Labelled:
    documents, labels = [], []
    with zipfile.ZipFile(_folder() / "text" / "subjectivity.zip") as archive:
        for name in sorted(n for n in archive.namelist() if "5000" in n):
            lines = [line for line in archive.read(name).decode("latin-1").split("\n") if line]
            documents += lines
            labels += ["objective" if "plot" in name else "subjective"] * len(lines)
    return documents, labels


def _polarity() -> Iterator[Fold]:
    found = list(_members("review_polarity.tar.gz", "/cv"))
    fold = np.array([int(name.rpartition("/cv")[2][0]) for name, _ in found])
    labels = [name.split("/")[-2] for name, _ in found]
    yield from _split([text for _, text in found], labels, fold)


def _enron() -> Labelled:
    found = list(_members("enron1.tar.gz", "/(ham|spam)/"))
    return [text for _, text in found], [name.split("/")[-2] for name, _ in found]


def _chinese() -> Iterator[Fold]:
    def read(name: str) -> Labelled:
        lines = (_folder() / "zh" / name).read_text(encoding="utf-8").split("\n")
        pairs = [line.rpartition("\t") for line in lines if "\t" in line]
        return [title for title, _, _ in pairs], [label for _, _, label in pairs]

    held = {*read("dev.txt")[0], *read("test.txt")[0]}
    kept = [pair for pair in zip(*read("train_subset.txt"), strict=True) if pair[0] not in held]
    yield Fold([t for t, _ in kept], [label for _, label in kept], *read("test.txt"))


SETS = [
    LabelledSet("20 Newsgroups", _newsgroups, (0.868, 0.50, 0.852, 0.545)),
    LabelledSet("R8", _r8, (0.971, 0.098, 0.965, 0.117)),
    LabelledSet("SMS", lambda: _stratified(_sms, 10), (0.993, 0.027, 0.993, 0.027)),
    LabelledSet("polarity v2", _polarity, (0.880, 0.300, 0.853, 0.350)),
    LabelledSet(
        "subjectivity", lambda: _stratified(_subjectivity, 10), (0.940, 0.153, 0.936, 0.165)
    ),
    LabelledSet("enron1", lambda: _stratified(_enron, 5), (0.992, 0.022, 0.990, 0.027)),
    LabelledSet("Chinese titles", _chinese, (0.907, 0.297, 0.888, 0.355), characters=True),
]
