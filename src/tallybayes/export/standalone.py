"""P(c | x) of a naive Bayes model, which tallybayes wrote. It needs Python 3.10 or later alone.

``predict_proba(row)`` and ``predict(row)`` take a row as a dict of values by column name: numbers,
strings, booleans, dates. None, NaN and a key that is lacking are missing values. A value that the
model does not take raises ValueError. A model of documents takes a document as a string.
"""

from __future__ import annotations

import datetime
import json
import math
import re
import unicodedata
from array import array
from base64 import b64decode
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from numbers import Real
from sys import byteorder
from typing import Any

__all__ = ["Model"]

Value = float | str | None  # a value as the model has it
Entry = Callable[[Any], tuple[int, Value]]
Term = Callable[[Sequence[int], Sequence[Any]], Sequence[float]]

MIDNIGHT = datetime.datetime(1970, 1, 1)
WHOLE = 2.0**64  # below it a whole number is a level by its digits


def floats(packed: Any) -> Sequence[float]:
    if isinstance(packed, tuple):
        return packed
    found = array("d", b64decode(packed["b64"]))
    if byteorder == "big":
        found.byteswap()
    return found


def rows_of(packed: Any) -> list[tuple[float, ...]]:
    """The rows of a matrix."""
    if isinstance(packed, list):
        return packed
    flat, width = floats(packed), packed["shape"][-1]
    return [tuple(flat[i : i + width]) for i in range(0, len(flat), width)]


# ---- a value to its entry: -1 adds nothing -------------------------------------------------------
def plain(value: Any) -> Value:
    """A value of any type as a number, a string or a missing value: dates in days since 1970,
    durations and times of day in seconds."""
    kind = type(value).__name__
    if value is None or kind in ("NaTType", "NAType"):
        return None
    if hasattr(value, "item") and kind not in ("datetime64", "timedelta64"):  # a number of NumPy
        value = value.item()
    if isinstance(value, str | bool):
        return str(value)
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return float((value - MIDNIGHT).total_seconds() / 86400.0)
    if isinstance(value, datetime.date):
        return float(value.toordinal() - MIDNIGHT.toordinal())
    if isinstance(value, datetime.time):
        minutes = value.hour * 60.0 + value.minute
        return minutes * 60.0 + value.second + value.microsecond / 1e6
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, Real) or hasattr(value, "as_tuple"):  # a Decimal
        try:
            return None if value != value else float(value)
        except OverflowError:
            raise ValueError("a number is too large for float64") from None
    raise ValueError(f"{value!r} is no number, string, boolean, date or time")


def text_of(value: float, dates: bool) -> str:
    """A number, or days, as a level."""
    if dates:
        moment = MIDNIGHT + datetime.timedelta(days=value)
        text = moment.isoformat()
        return text[:10] if text.endswith("T00:00:00") else text
    return str(int(value)) if abs(value) < WHOLE and value == int(value) else repr(value)


def number_of(text: str, dates: bool) -> float | None:
    """The number that a string stands for, as True for 1, or a date in ISO 8601."""
    if text in ("True", "False") and not dates:
        return float(text == "True")
    try:
        number = plain(datetime.datetime.fromisoformat(text)) if dates else float(text)
    except ValueError:
        return None
    return number if isinstance(number, float) and math.isfinite(number) else None


def reader(column: Mapping[str, Any]) -> Entry:
    """What gives the entry of a value, and the value as a number or string."""
    missing, other, first, least = (
        column[name] for name in ("missing", "other", "firstNumber", "least")
    )
    at = dict(zip(column["levels"], column["entries"]))
    dates, codes, name = column["dates"], column.get("codes"), column["name"]
    starts = None if column["starts"] is None else floats(column["starts"])
    whole_line = None if codes is not None or least else starts  # of any finite number

    def refusal(value: Any) -> ValueError:
        return ValueError(f"column {name!r}: the model does not take {value!r}")

    def entry(given: Any) -> tuple[int, Value]:
        kind = given.__class__
        value: Any
        if kind is str:
            found = at.get(given, other)
            if found >= 0 and starts is None:
                return found, given
            value = given
        elif (kind is float and given == given) or (kind is int and -WHOLE < given < WHOLE):
            value = given * 1.0
            if whole_line and value - value == 0.0:
                return first + bisect_right(whole_line, value), value
        else:
            value = plain(given)
        if value is None:
            if missing == -2:
                raise refusal(given)
            return missing, None
        if starts is not None and (value.__class__ is not str or value not in at):
            value = number_of(value, dates) if value.__class__ is str else value
            if value is None or (isinstance(given, datetime.date) and not dates):
                if other == -2:
                    raise refusal(given)
                return other, None
            if value - value != 0.0 or (least and (value < 0.0 or (value == 0.0 and least > 1))):
                raise refusal(given)
            found = first + bisect_right(starts, value)
            if codes is not None:
                code = float(int(value)) if codes == "truncated" else value
                if code < 0.0 or code != int(code) or found == column["refusedFrom"]:
                    raise refusal(given)
            return found, value
        if kind is int:
            value = str(given) if abs(given) < WHOLE else repr(float(given))
        if value.__class__ is not str:
            value = text_of(value, dates or isinstance(given, datetime.date))
        found = at.get(value, other)
        if found == -2:
            raise refusal(given)
        return found, value

    return entry


# ---- what terms add to the score of each class ---------------------------------------------------
def cells(term: Mapping[str, Any]) -> Term:
    rows: list[tuple[float, ...]] = rows_of(term["table"])
    rows = [*rows, (0.0,) * len(rows[0])]  # the last of the entry −1
    j: int = term["columns"][0]
    return lambda entries, values: rows[entries[j]]


def joint(term: Mapping[str, Any]) -> Term:
    rows, stride = rows_of(term["table"]), 1
    rows.append((0.0,) * len(rows[0]))  # of no cell
    nowhere = -len(rows)  # far below 0, whatever is added to it
    steps = []
    for j, coarser, size in reversed(list(zip(term["columns"], term["maps"], term["sizes"]))):
        steps.append((j, [nowhere if a < 0 else a * stride for a in coarser]))
        stride *= size
    (a, of_a), (b, of_b) = steps[0], steps[-1]

    def of_pair(entries: Sequence[int], values: Sequence[Any]) -> Sequence[float]:
        place = of_a[entries[a]] + of_b[entries[b]]
        return rows[place if place >= 0 else -1]

    def added(entries: Sequence[int], values: Sequence[Any]) -> Sequence[float]:
        place = 0
        for j, step in steps:
            place += step[entries[j]]
        return rows[place if place >= 0 else -1]

    return of_pair if len(steps) == 2 else added


def law(term: Mapping[str, Any]) -> Term:
    """A density of a number by its formula, beside the table of what the kind of a value adds."""
    j: int = term["columns"][0]
    beside = rows_of(term["beside"])
    names = ("mean", "constant", "slope", "scale", "half", "size")
    nothing = [None] * len(beside[0])
    parameters = list(zip(*(floats(term[n]) if n in term else nothing for n in names)))
    density = {"counts": counts, "student": student, "quadratic": quadratic}[term["law"]]
    power, pooled = term.get("transform"), None
    if "pooled" in term:
        packed = term["pooled"]
        low, high, rest, shift = (floats(packed[n]) for n in ("low", "high", "rest", "shift"))
        atoms = rows_of(packed["atoms"]) if len(low) else []
        pooled = packed["share"]

    def added(entries: Sequence[int], values: Sequence[Any]) -> Sequence[float]:
        x, other = values[j], beside[entries[j]]
        if not isinstance(x, float):
            return other
        g, bend = (x, 0.0) if power is None else transformed(power, x)
        found = [density(g, *of_class) + bend for of_class in parameters]
        if pooled is not None:
            a = bisect_right(low, x) - 1
            if a >= 0 and x < high[a]:
                found = list(atoms[a])
            else:
                found = [mass + more for mass, more in zip(found, rest)]
            found = mixed(found, pooled, shift)
        return [a + b for a, b in zip(found, other)]

    return added


def single(term: Mapping[str, Any], k: int) -> list[Mapping[str, Any]]:
    """A run of terms, whose arrays are one, as the terms."""
    if term["kind"] != "run":
        return [term]
    if term["of"] == "cells":
        rows, ends = rows_of(term["table"]), accumulate(term["sizes"])
        tables = [rows[end - size : end] for end, size in zip(ends, term["sizes"])]
        pairs = zip(term["columns"], tables)
        return [{"kind": "cells", "columns": [j], "table": table} for j, table in pairs]
    names = ("mean", "constant", "slope", "scale")
    none = (0.0,) * k
    arrays = {n: rows_of(term[n]) if n in term else [none] * len(term["columns"]) for n in names}
    return [
        {"kind": "law", "law": term["of"], "columns": [j], "beside": [none, none]}
        | {name: arrays[name][i] for name in names}
        for i, j in enumerate(term["columns"])
    ]


def quadratic(x: float, mean: float, constant: float, slope: Any, scale: float, *_: Any) -> float:
    z = (x - mean) * scale
    return constant + (slope * x if slope and x else 0.0) - z * z


def student(
    x: float, mean: float, constant: float, _: Any, scale: float, half: float, __: Any
) -> float:
    z = (x - mean) * scale
    return constant - half * math.log1p(z * z)


def counts(x: float, mean: float, _: Any, __: Any, ___: Any, ____: Any, size: float) -> float:
    """The negative binomial."""
    if x < 0.0:
        return -math.inf
    found = log_rising(size, x) - math.lgamma(x + 1.0) - size * math.log1p(mean / size)
    if x == 0.0:
        return found
    return -math.inf if mean == 0.0 else found + x * math.log(mean / (size + mean))


def log_rising(a: float, k: float) -> float:
    """log Γ(a + k) − log Γ(a), of large numbers without their difference."""
    before = 0.0  # of a, a + 1, … up to 16
    while a < 16.0 and k >= 1.0:
        before, a, k = before + math.log(a), a + 1.0, k - 1.0
    if k == 0.0:
        return before
    if a < 16.0:
        return before + math.lgamma(a + k) - math.lgamma(a)
    end = a + k
    more = k * math.log(end) + (a - 0.5) * math.log1p(k / a) - k
    return before + more + stirling(end) - stirling(a)


def stirling(z: float) -> float:
    """What Stirling's formula lacks, from 16 on."""
    square = z * z
    tail = 1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / 1188.0 / square) / square
    return (1.0 / 12.0 - (1.0 / 360.0 - tail / square) / square) / z


def transformed(power: Mapping[str, Any], x: float) -> tuple[float, float]:
    """g(x) and log g'(x): the logarithm, or the power by Yeo and Johnson (2000)."""
    if power["kind"] == "log":
        return math.log(x), -math.log(x)
    ln, exponent = math.log1p(abs(x)), power["exponent"]
    e = exponent if x >= 0.0 else 2.0 - exponent
    try:
        g = ln if e == 0.0 else math.expm1(e * ln) / e
    except OverflowError:
        g = math.inf
    return math.copysign(g, x), math.copysign((exponent - 1.0) * ln, (exponent - 1.0) * x)


def mixed(masses: Sequence[float], share: float, shift: Sequence[float]) -> list[float]:
    """log(M_c + share·Σ M) − shift_c of all log M."""
    top = max(masses)
    if not math.isfinite(top):
        return [0.0] * len(masses)
    parts = [math.exp(mass - top) for mass in masses]
    pool = share * sum(parts)
    return [math.log(p + pool) + top - s if p + pool else -math.inf for p, s in zip(parts, shift)]


def group(term: Mapping[str, Any]) -> Term:
    """Numbers that are scored together: each given those before it that have a value."""
    places, every, mean = term["columns"], term["every"], rows_of(term["mean"])
    steps = [(rows_of(s["weights"]), rows_of(s["constants"])) for s in term["steps"]]
    freedom, k = term["freedom"] and floats(term["freedom"]), len(mean)

    def added(entries: Sequence[int], values: Sequence[Any]) -> Sequence[float]:
        x = [values[j] for j in places]
        held, found, squares = 0, [0.0] * k, [0.0] * k
        for j, own in enumerate(x):
            if own is None:
                continue
            step = 0 if every else held
            weights, constants = steps[j]
            for c in range(k):
                r = 0.0
                for w, m, v in zip(weights[step * k + c][: j + 1], mean[c], x):
                    if w:
                        r += w * (v - m)
                found[c] += constants[step][c]
                squares[c] += r * r
            held |= 1 << j
        if freedom is None:
            return [f - 0.5 * q for f, q in zip(found, squares)]
        n = held.bit_count()
        return [
            f - 0.5 * (nu + n) * math.log1p(q / nu) for f, q, nu in zip(found, squares, freedom)
        ]

    return added


TERMS = {"cells": cells, "joint": joint, "law": law, "group": group}


# ---- documents -----------------------------------------------------------------------------------
def wholes(packed: Mapping[str, Any]) -> list[int]:
    """Whole numbers, seven bits a byte."""
    found, value, shift = [], 0, 0
    for byte in b64decode(packed["whole"]):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            found.append(value)
            value, shift = 0, 0
    return found


def singles(packed: Mapping[str, Any]) -> Sequence[float]:
    if "single" not in packed:
        return floats(packed)
    found = array("f", b64decode(packed["single"]))
    if byteorder == "big":
        found.byteswap()
    return found


def splitter(rules: Mapping[str, Any]) -> Callable[[str], list[str]]:
    """What cuts a text into terms."""
    unit, stop, (shortest, longest) = rules["unit"], set(rules["stop"]), rules["ngrams"]
    tokens = re.compile(rules["pattern"]).findall

    def prepared(text: str) -> str:
        text = text.lower() if rules["lowercase"] else text
        if rules["accents"]:
            text = unicodedata.normalize("NFKD", text)
            if rules["accents"] == "ascii":
                return text.encode("ascii", "ignore").decode("ascii")
            text = "".join(c for c in text if not unicodedata.combining(c))
        return text

    def split(text: str) -> list[str]:
        text = prepared(text)
        if unit == "char_wb":
            return [term for word in text.split() for term in within(f" {word} ")]
        between = "" if unit == "char" else " "
        units: Sequence[str] = re.sub(r"\s\s+", " ", text)
        if unit != "char":
            units = [token for token in tokens(text) if token not in stop]
        return [
            between.join(units[i : i + n])
            for n in range(shortest, min(longest, len(units)) + 1)
            for i in range(len(units) - n + 1)
        ]

    def within(word: str) -> Iterator[str]:
        for n in range(shortest, longest + 1):
            yield from (word[i : i + n] for i in range(max(1, len(word) - n + 1)))
            if n >= len(word):  # a word that is shorter counts once
                return

    return split


def text(term: Mapping[str, Any]) -> Term:
    """What the terms of a text add: each sum is h · Σ x (common + pairs)."""
    j: int = term["columns"][0]
    split, before = splitter(term["split"]), ""
    nothing: Sequence[float] = (0.0,) * term["nClasses"]
    place: dict[str, int] = {}
    for shared, rest in zip(wholes(term["terms"]["shared"]), term["terms"]["rest"]):
        before = before[:shared] + rest
        place[before] = len(place)
    sums = [of_terms(packed, term["nClasses"]) for packed in term["sums"]]

    def added(entries: Sequence[int], values: Sequence[Any]) -> Sequence[float]:
        if values[j] is None:
            return nothing
        counts = sorted(Counter(place[t] for t in split(values[j]) if t in place).items())
        return [sum(each) for each in zip(*(of(counts) for of in sums))]

    return added


def of_terms(packed: Mapping[str, Any], k: int) -> Callable[[list[tuple[int, int]]], list[float]]:
    """What the counts of terms add to the score of each class, by one sum."""
    frequency, length, power = packed["frequency"], packed["length"], packed["power"]
    mean, shortest, cell = packed["mean"], packed["shortest"], wholes(packed["cell"])
    flat, width = singles(packed["common"]), 1 if packed["mirrored"] else k
    rows = [(0.0,) * k, *(tuple(flat[i : i + width]) for i in range(0, len(flat), width))]
    if packed["mirrored"]:
        rows[1:] = [(-row[0], row[0]) for row in rows[1:]]
    if packed["own"]:
        cell = [number * there for number, there in zip(accumulate(cell), cell)]
    by = None
    if "by" in packed:
        distinct = floats(packed["bys"])
        by = [distinct[i] for i in wholes(packed["by"])]
    start = [0] * (len(cell) + 1)
    classes: list[int] = []
    pairs: list[float] = []
    if "pairs" in packed:
        start, classes = [0, *accumulate(wholes(packed["pairs"]))], wholes(packed["classes"])
        distinct = floats(packed["values"])
        pairs = [distinct[i] for i in wholes(packed["value"])]
    known = singles(packed["tf"]) if "tf" in packed else ()

    def value(t: int, n: int) -> float:
        if frequency == "presence":
            x = 1.0
        elif frequency == "single":
            x = known[n] if n < len(known) else array("f", [math.log1p(n)])[0]
        else:
            x = math.log1p(n) if frequency == "log" else float(n)
        return x if by is None else x * by[t]

    def added(counts: list[tuple[int, int]]) -> list[float]:
        found, total, squares = [0.0] * k, 0.0, 0.0
        for t, n in counts:
            x = value(t, n)
            total, squares = total + x, squares + x * x
            found = [f + x * number for f, number in zip(found, rows[cell[t]])]
            for q in range(start[t], start[t + 1]):
                found[classes[q]] += x * pairs[q]
        h = 1.0
        if length == "squares" and squares:
            h = 1.0 / math.sqrt(squares)
        elif length == "sum" and max(total, shortest):
            h = (max(total, shortest) / mean) ** -power
        return [h * each for each in found]

    return added


TERMS["text"] = text


# ---- scores to probabilities ---------------------------------------------------------------------
def log_odds(log_p: Sequence[float], c: int) -> float:
    """log p(c) − log Σ of the others, within ±1e4."""
    others = [max(v, -1e5) for j, v in enumerate(log_p) if j != c]
    top = max(others)
    rest = top + math.log(sum(math.exp(v - top) for v in others))
    return min(1e4, max(-1e4, max(log_p[c], -1e5) - rest))


def interpolated(x: float, knots: Sequence[float], values: Sequence[float]) -> float:
    if x <= knots[0] or x >= knots[-1]:
        return values[0 if x <= knots[0] else -1]
    i = bisect_right(knots, x)
    share = (x - knots[i - 1]) / (knots[i] - knots[i - 1])
    return values[i - 1] + share * (values[i] - values[i - 1])


class Model:
    """A form that is evaluated; the form and the labels are JSON."""

    def __init__(self, document: str, labels: str) -> None:
        form = json.loads(document)
        self.classes: list[Any] = json.loads(labels)
        self.base: tuple[float, ...] = tuple(floats(form["base"]))
        columns = [form["common"] | column for column in form["columns"]]
        self.columns: list[tuple[str, Entry]] = [
            (column["name"], reader(column)) for column in columns
        ]
        terms = [part for term in form["terms"] for part in single(term, len(self.base))]
        self.terms: list[Term] = [TERMS[term["kind"]](term) for term in terms]
        self.link: dict[str, Any] = {
            name: floats(value) if isinstance(value, dict) else value
            for name, value in form["link"].items()
        }
        steps = zip(form["link"]["knots"], form["link"]["values"])
        self.steps: list[tuple[Sequence[float], Sequence[float]]] = [
            (floats(knots), floats(values)) for knots, values in steps
        ]

    def scores(self, row: Mapping[str, Any] | str) -> list[float]:
        """The score of each class, in nats."""
        if isinstance(row, str):  # a document of a model that reads nothing else
            [(name, _)] = self.columns
            row = {name: row}
        get = row.get
        read = [entry(get(name)) for name, entry in self.columns]
        entries, values = zip(*read) if read else ((), ())
        added = [term(entries, values) for term in self.terms]
        return [sum(each) for each in zip(self.base, *added)]

    def probabilities(self, scores: Sequence[float]) -> list[float]:
        link, top = self.link, max(scores)
        if top == -math.inf:
            return list(link["ruledOut"])
        beta = link["beta"]
        shares = [math.exp(beta * (score - top)) for score in scores]
        total = sum(shares)
        found = [share / total for share in shares]
        if self.steps:
            part, ln = link["share"], math.log(sum(math.exp(score - top) for score in scores)) + top
            log_p = [score - ln for score in scores]
            if len(self.steps) == 1 and len(scores) == 2:
                second = interpolated(log_odds(log_p, 1), *self.steps[0])
                rising = [1.0 - second, second]
            else:
                odds = (log_odds(log_p, c) for c in range(len(scores)))
                each = [interpolated(z, *step) for z, step in zip(odds, self.steps)]
                total = sum(each)
                rising = [p / total for p in each]
            found = [part * a + (1.0 - part) * b for a, b in zip(rising, found)]
        share = link["priorShare"]
        if share:
            most = link["most"]
            pairs = zip(found, link["prior"])
            found = [min((1.0 - share) * p + share * prior, most) for p, prior in pairs]
        return found

    def predict_proba(self, row: Mapping[str, Any] | str) -> dict[Any, float]:
        """P(c | x) of a row, by label."""
        return dict(zip(self.classes, self.probabilities(self.scores(row))))

    def predict(self, row: Mapping[str, Any] | str) -> Any:
        """The most probable label of a row; of equal ones the first."""
        scores = self.scores(row)
        if self.steps or self.link["priorShare"]:
            scores = self.probabilities(scores)
        top = max(scores)
        best = self.link["fallback"] if top == -math.inf else scores.index(top)
        return self.classes[best]
