"""The corpora, from the folder that TALLYBAYES_DATA names, and generated text."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

__all__ = ["chinese_titles", "generated", "newsgroups", "sms"]


def _folder() -> Path:
    folder = os.environ.get("TALLYBAYES_DATA")
    if not folder:
        raise SystemExit("set TALLYBAYES_DATA to the folder of the corpora (text/, zh/)")
    return Path(folder)


def newsgroups() -> list[str]:
    """The training posts of 20 Newsgroups bydate, latin-1."""
    posts = []
    with tarfile.open(_folder() / "text" / "20news-bydate.tar.gz") as archive:
        for member in archive:
            file = archive.extractfile(member) if "-train/" in member.name else None
            if file is not None:
                posts.append(file.read().decode("latin-1"))
    return posts


def sms() -> list[str]:
    """The messages of the SMS Spam Collection."""
    lines = (_folder() / "text" / "SMSSpamCollection").read_text(encoding="utf-8").splitlines()
    return [line.partition("\t")[2] for line in lines]


def chinese_titles() -> list[str]:
    """The Chinese news titles, of the training file."""
    lines = (_folder() / "zh" / "train_subset.txt").read_text(encoding="utf-8").splitlines()
    return [line.rpartition("\t")[0] for line in lines]


def generated(megabytes: int, batch: int = 20) -> Iterator[list[str]]:
    """Text of Zipf-distributed words, a batch of so many megabytes at a time."""
    rng = np.random.default_rng(0)
    for _ in range(0, megabytes, batch):
        numbers = rng.zipf(1.2, size=batch * 150_000) % 10_000_000
        words = np.char.add("w", numbers.astype("U8")).tolist()
        text = " ".join(words)[: batch * 1_000_000]
        yield [text[i : i + 2000] for i in range(0, len(text), 2000)]
