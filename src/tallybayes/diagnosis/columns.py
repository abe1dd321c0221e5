"""What each column would be read as and why, and what looks wrong in it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from tallybayes.diagnosis.findings import (
    Finding,
    means_missing,
    null_options,
    numbers_as_written,
    options_of,
    strings_as_read,
)
from tallybayes.models.rows import is_infinite
from tallybayes.sources.options import Spelling
from tallybayes.sources.rows import files_of, read_as, written_values
from tallybayes.tokens.prose import are_prose

__all__ = ["ColumnDiagnosis", "Profile", "Seen", "column_of", "compared", "profile_of"]


# ---- one pass over a source: the values of each column, and how often each occurs ----------------
MAX_VALUES = 20_000  # different values of a column that are counted each
SAMPLE_ROWS = 5_000  # first rows in which columns are compared


@dataclass
class Seen:
    """The values of a column.

    Parameters
    ----------
    counts : dict
        Rows by value; of the first :data:`MAX_VALUES` different ones.
    first : dict
        By value, the first row that holds it: the number of its file, and that of the row there.
    n_missing : int
        Rows without a value.
    more : bool
        Whether there are more different values.
    what : str
        "text" where values have no type; else their type.
    sample : list
        The values of the first rows, None where there is none.
    """

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, tuple[int, int]] = field(default_factory=dict)
    n_missing: int = 0
    more: bool = False
    what: str = "null"
    sample: list[str | None] = field(default_factory=list)


@dataclass
class Profile:
    """All columns.

    Parameters
    ----------
    columns : dict of str to Seen
    n_rows : int
    files : list
        The files, in the order of their numbers.
    """

    columns: dict[str, Seen]
    n_rows: int
    files: list[Any]

    def place(self, at: tuple[int, int]) -> str:
        """A row as people find it."""
        number, row = at
        place = getattr(self.files[number], "place", None)
        where = place(row) if place is not None else f"row {row:,}"
        return where if len(self.files) == 1 else f"{self.files[number].name}, {where}"


def profile_of(source: Any, names: Collection[str]) -> Profile:
    """The values of a source that can be read again."""
    seen = {name: Seen() for name in names}
    files, total = files_of(source), 0
    for number, file in enumerate(files):
        row = 0
        for values in written_values(file, names):
            n = max((len(found.codes) for found in values.values()), default=0)
            _add(seen, values, number, row, n, total)
            row += n
            total += n
    for name in getattr(files[0], "levels", ()):
        if name in seen:
            seen[name].what = "nominal"
    return Profile(seen, total, files)


def _add(
    seen: Mapping[str, Seen], values: Mapping[str, Any], number: int, row: int, n: int, total: int
) -> None:
    wanted = max(0, SAMPLE_ROWS - total)
    for name, column in seen.items():
        if name not in values:
            column.n_missing += n
            column.sample += [None] * min(n, wanted)
            continue
        found = values[name]
        codes, levels, what = found.codes, found.levels, found.what
        if what != "null":
            column.what = what if column.what in ("null", what) else "mixed"
        column.n_missing += int((codes < 0).sum())
        used, first, counts = np.unique(codes, return_index=True, return_counts=True)
        for code, at, count in zip(used.tolist(), first.tolist(), counts.tolist(), strict=True):
            if code < 0:
                continue
            level = levels[code]
            if level not in column.counts:
                if len(column.counts) >= MAX_VALUES:
                    column.more = True
                    continue
                column.first[level] = number, row + at
            column.counts[level] += count
        column.sample += [levels[c] if c >= 0 else None for c in codes[:wanted].tolist()]


# ---- what looks wrong in a column ----------------------------------------------------------------
MAX_EXAMPLES = 3
MIN_ROWS = 50  # with fewer, different values in each row are no sign
MAX_LISTED_STRAYS = 20  # strings among numbers that are looked at
MIN_SHARED = 0.95  # of the rows share their value with another one
MIN_UNLIKE = 10  # rows besides those of the most frequent value
MAX_WRONG = 0.02  # of these rows in which near-copies differ
MAX_OPEN = 0.1  # of the values of a column that go over several lines, where few do
MAX_COMPARED = 60  # columns
IDENTIFIER = re.compile(r"(^|[^a-z])(id|key|uuid|guid|index|nr|no|number|row)($|[^a-z])|ID$|Id$")
ZONED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?")
DAMAGED = re.compile("[\ud800-\udfff\ufffd]")


@dataclass(frozen=True)
class ColumnDiagnosis:
    """A column.

    Parameters
    ----------
    name : str
    kind : str
        What it is read as: "numbers", "levels", "numbers and levels", "dates", "times of day",
        "text", "identifier", "constant", "nothing", or "left out" where it holds objects or arrays.
    reason : str
        Why.
    examples : list of str
        Three values.
    missing : dict
        Rows without a value, by the spelling; "" is an empty cell.
    findings : list of Finding
    """

    name: str
    kind: str
    reason: str
    examples: list[str]
    missing: dict[str, int]
    findings: list[Finding] = field(default_factory=list)


def column_of(name: str, seen: Seen, profile: Profile, spelling: Spelling) -> ColumnDiagnosis:
    """What a column is read as, and what is odd about it."""
    missing = {text: n for text, n in seen.counts.items() if text in spelling.of(name).missing}
    if seen.n_missing:
        missing[""] = missing.get("", 0) + seen.n_missing
    counts = Counter({v: n for v, n in seen.counts.items() if v not in missing})
    examples = list(islice((v for v in seen.counts if v not in missing), MAX_EXAMPLES))
    made: dict[str, Any] = {"examples": examples, "missing": missing}
    n = sum(counts.values())
    if not counts:
        return ColumnDiagnosis(name, "nothing", "it holds no value", findings=[], **made)
    findings = [*_odd_characters(name, counts), *_open_quotes(name, counts, seen, profile)]
    if len(counts) == 1 and not seen.more:
        changes = {"columns": {name: None}}
        message = f"holds {examples[0]!r} in every row: {options_of(changes)} leaves it out"
        findings.append(Finding("constant", message, name, changes))
        return ColumnDiagnosis(name, "constant", "all values are equal", findings=findings, **made)
    if seen.what not in ("text", "mixed"):
        return _typed(name, seen, counts, findings, made)
    kind, numbers, strings = read_as(counts, name, spelling)
    if kind in ("date", "time"):
        findings += _zones(name, counts)
        what = "dates" if kind == "date" else "times of day"
        return ColumnDiagnosis(name, what, f"all values are {what}", findings=findings, **made)
    n_numbers = sum(counts[v] for v in numbers)
    mainly_numbers = n_numbers > n - n_numbers
    looks = strings_as_read(
        name,
        strings,
        spelling,
        n_numbers=None if mainly_numbers else len(numbers),
        numbers=numbers,
    )
    if looks is not None:
        read = "holds strings beside its numbers" if mainly_numbers else "is read as strings"
        findings.append(Finding(looks.kind, f"{read} {looks.message}", name, looks.changes))
    elif mainly_numbers and strings:
        findings.append(_strays(name, strings, counts, seen, profile))
    if mainly_numbers:
        if written := numbers_as_written(name, numbers, spelling):
            findings.append(written)
        elif not strings and (identifier := _identifier(name, counts, seen, n)):
            findings.append(identifier)
            return ColumnDiagnosis(
                name, "identifier", "its numbers are all different", findings=findings, **made
            )
        what = "numbers and levels" if strings else "numbers"
        reason = f"{n_numbers:,} of {n:,} values are numbers" if strings else "all are numbers"
        return ColumnDiagnosis(name, what, reason, findings=findings, **made)
    return _strings(name, counts, seen, n, findings, made)


def _typed(
    name: str, seen: Seen, counts: Counter[str], findings: list[Finding], made: Mapping[str, Any]
) -> ColumnDiagnosis:
    """A column whose source says what it is."""
    what = {"date": "dates", "integer": "numbers", "float": "numbers"}.get(seen.what, "levels")
    if what == "numbers" and (found := _identifier(name, counts, seen, sum(counts.values()))):
        findings.append(found)
        what = "identifier"
    reason = f"its type is {seen.what}"
    return ColumnDiagnosis(name, what, reason, findings=findings, **made)


def _strings(
    name: str,
    counts: Counter[str],
    seen: Seen,
    n: int,
    findings: list[Finding],
    made: Mapping[str, Any],
) -> ColumnDiagnosis:
    different = len(counts)
    if n >= MIN_ROWS and (seen.more or different >= 0.75 * n):
        if are_prose(list(counts)):
            return ColumnDiagnosis(name, "text", "its strings are prose", findings=findings, **made)
        if different == n:
            changes = {"columns": {name: None}}
            findings.append(
                Finding(
                    "identifier",
                    f"holds another string in every row, as an identifier does: "
                    f"{options_of(changes)} leaves it out",
                    name,
                    changes,
                )
            )
            return ColumnDiagnosis(
                name, "identifier", "its strings are all different", findings=findings, **made
            )
    spelt: defaultdict[str, list[str]] = defaultdict(list)
    for value in counts:
        spelt[" ".join(value.lower().split())].append(value)
    twice = [values for values in spelt.values() if len(values) > 1]
    if twice:
        pair = " and ".join(map(repr, twice[0][:2]))
        findings.append(
            Finding("spellings", f"has {pair}, which are different levels: spell them alike", name)
        )
    reason = f"{different:,} different strings"
    return ColumnDiagnosis(name, "levels", reason, findings=findings, **made)


def _strays(
    name: str, strings: Sequence[str], counts: Counter[str], seen: Seen, profile: Profile
) -> Finding:
    """Strings among numbers, with the lines of the first ones."""
    shown = [
        f"{text!r} ({profile.place(seen.first[text])}"
        + (f", {counts[text]:,} rows)" if counts[text] > 1 else ")")
        for text in strings[:3]
    ]
    more = f" and {len(strings) - 3:,} more" if len(strings) > 3 else ""
    all_missing = len(strings) <= MAX_LISTED_STRAYS and all(
        means_missing(text) or is_infinite(text) for text in strings
    )
    changes = {"missing_of": {name: list(strings)}} if all_missing else {}
    advice = (
        f"{null_options(name, strings)} reads that as missing"
        if all_missing
        else "each string is a level beside the numbers"
    )
    message = f"holds {', '.join(shown)}{more} among numbers: {advice}"
    return Finding("strings among numbers", message, name, changes)


def _identifier(name: str, counts: Counter[str], seen: Seen, n: int) -> Finding | None:
    """Whole numbers that are all different, and count rows, or are called so."""
    if seen.more or len(counts) < n or n < MIN_ROWS or not all(map(_is_whole, counts)):
        return None
    values = sorted(map(int, counts))
    consecutive = values[-1] - values[0] == n - 1
    if not consecutive and not IDENTIFIER.search(name):
        return None
    changes = {"columns": {name: None}}
    message = (
        "holds another whole number in every row, as an identifier does: "
        f"{options_of(changes)} leaves it out"
    )
    return Finding("identifier", message, name, changes)


def _is_whole(text: str) -> bool:
    return text.isascii() and text.lstrip("+-").isdigit()


def _odd_characters(name: str, counts: Counter[str]) -> list[Finding]:
    damaged = next((v for v in counts if DAMAGED.search(v)), None)
    if damaged is None:
        return []
    message = f"holds damaged characters, such as {damaged!a}: was it written in another encoding?"
    return [Finding("damaged characters", message, name)]


def _open_quotes(name: str, counts: Counter[str], seen: Seen, profile: Profile) -> list[Finding]:
    """Few values that go over several lines, as where a quote is not closed."""
    over = [value for value in counts if "\n" in value]
    if not over or len(over) > MAX_OPEN * len(counts):
        return []
    where = profile.place(seen.first[over[0]])
    message = (
        f"holds {len(over):,} value{'s' * (len(over) > 1)} of several lines, the first in {where}: "
        "is a quote not closed?"
    )
    return [Finding("values of several lines", message, name)]


def _zones(name: str, counts: Counter[str]) -> list[Finding]:
    matches = [m for v in counts if (m := ZONED.fullmatch(v))]
    zoned = sum(m["zone"] is not None for m in matches)
    if not 0 < zoned < len(matches):
        return []
    message = "holds times with a zone and times without one: those without are taken for UTC"
    return [Finding("mixed zones", message, name)]


# ---- columns beside each other -------------------------------------------------------------------
def compared(profile: Profile, target: str | None) -> list[Finding]:
    """Columns that give the label away, and near-copies, by the first rows."""
    samples = {n: s.sample for n, s in profile.columns.items() if len(set(s.sample) - {None}) > 1}
    found: list[Finding] = []
    labels = samples.pop(target, None) if target is not None else None
    names = list(samples)[:MAX_COMPARED]
    if labels is not None and len(labels) >= MIN_ROWS:
        found += [
            f for name in names if (f := _gives_away(name, samples[name], labels, str(target)))
        ]
    for i, name in enumerate(names):
        for other in names[i + 1 :]:
            if _near_copies(samples[name], samples[other]):
                message = f"is nearly a copy of {other!r}: one of them is enough"
                found.append(Finding("near-copy", message, name))
    return found


def _gives_away(
    name: str, values: Sequence[str | None], labels: Sequence[str | None], target: str
) -> Finding | None:
    pairs = Counter((v, y) for v, y in zip(values, labels, strict=False) if v and y)
    rows = Counter(v for v, _ in pairs.elements())
    classes: defaultdict[str, set[str]] = defaultdict(set)
    for value, label in pairs:
        classes[str(value)].add(str(label))
    shared = sum(n for n in rows.values() if n > 1)
    if len(rows) < 2 or any(len(c) > 1 for c in classes.values()):
        return None
    if shared < MIN_SHARED * sum(rows.values()) or len({y for _, y in pairs}) < 2:
        return None
    one_each = len(rows) == len({y for _, y in pairs})
    changes = {"columns": {name: None}} if one_each else {}
    what = f"is {target!r} by another name" if one_each else f"alone determines {target!r}"
    message = (
        f"{what}: if it is known only afterwards, leave it out by "
        f"{options_of({'columns': {name: None}})}"
    )
    return Finding("gives the label away", message, name, changes)


def _near_copies(a: Sequence[str | None], b: Sequence[str | None]) -> bool:
    """Whether each column's value tells the other's, but in few of the rows that are not all
    alike."""
    both = Counter((x, y) for x, y in zip(a, b, strict=False) if x is not None and y is not None)
    n = sum(both.values())
    for side in (0, 1):
        rows: Counter[Any] = Counter()
        best: Counter[Any] = Counter()
        for pair, count in both.items():
            rows[pair[side]] += count
            best[pair[side]] = max(best[pair[side]], count)
        unlike = n - max(rows.values(), default=0)
        wrong = n - sum(best.values())
        if unlike < MIN_UNLIKE or 2 * len(rows) > n or wrong > MAX_WRONG * unlike:
            return False
    return True
