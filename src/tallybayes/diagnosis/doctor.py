"""``tallybayes.doctor``: what a source would be read as, what looks wrong, and how to fit it."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tallybayes.diagnosis.columns import (
    ColumnDiagnosis,
    Profile,
    Seen,
    column_of,
    compared,
    profile_of,
)
from tallybayes.diagnosis.findings import (
    NAMELESS,
    Finding,
    layout_of,
    of_labels,
    options_of,
    quoted,
)
from tallybayes.errors import SourceError, TallyWarning, ZoneWarning, listed
from tallybayes.readable import html_table
from tallybayes.sources.arrow import flatten_hint
from tallybayes.sources.contract import Source, is_nested
from tallybayes.sources.files import csv, files, files_of, source_of
from tallybayes.sources.opening import Stream, format_of, is_workbook, need_readable, read_once
from tallybayes.sources.options import Spelling
from tallybayes.sources.rows import Labelled

__all__ = ["doctor"]

TRIED_ROWS = 2_000
ORDER = (
    *(
        "sheet",
        "flatten",
        "union_by_name",
        "encoding",
        "delimiter",
        "skip",
        "header",
        "thousands",
        "decimal",
        "dates",
    ),
    *("missing", "missing_of", "columns"),
)
MAX_CLASSES = 50  # of a column that may be the target
MIN_LABEL_SHARE = 0.01  # rows of a label that is a spelling of missing
TARGETS = ("class", "target", "label", "y", "outcome")


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """What :func:`tallybayes.doctor` has found; notebooks show it as a table.

    Parameters
    ----------
    source : str
        What was looked at.
    n_rows : int
    target : str or None
    columns : list of ColumnDiagnosis
        Each column: its name, kind, reason, three examples, missing values and findings.
    findings : list of Finding
        What is odd about the file, and about columns beside each other.
    classes : dict
        Rows by label.
    command, call : str
        The command, and the lines of Python, that read the source as it is meant.
    tried : str
        What came of them on the first rows.
    sound : bool
        Whether they succeeded.
    """

    source: str
    n_rows: int
    target: str | None
    columns: list[ColumnDiagnosis]
    findings: list[Finding]
    classes: dict[str, int]
    command: str
    call: str
    tried: str
    sound: bool

    @property
    def all_findings(self) -> list[Finding]:
        """Those of the file, and those of each column."""
        return [*self.findings, *(f for column in self.columns for f in column.findings)]

    def to_dict(self) -> dict[str, Any]:
        """Everything, in the types of JSON.

        Returns
        -------
        dict
            Of strings, numbers, lists and dicts.
        """
        return {
            "source": self.source,
            "rows": self.n_rows,
            "target": self.target,
            "columns": [
                {
                    "column": c.name,
                    "read_as": c.kind,
                    "because": c.reason,
                    "examples": c.examples,
                    "missing": c.missing,
                }
                for c in self.columns
            ],
            "findings": [
                {"kind": f.kind, "column": f.column, "message": f.message}
                for f in self.all_findings
            ],
            "classes": self.classes,
            "command": self.command,
            "python": self.call,
            "tried": self.tried,
            "sound": self.sound,
        }

    def _rows(self) -> list[tuple[str, str, str, str]]:
        return [
            (c.name, f"{c.kind}: {c.reason}", _missing(c.missing), ", ".join(c.examples))
            for c in self.columns
        ]

    def __repr__(self) -> str:
        lines = [f"{self.source}: {self.n_rows:,} rows"]
        lines += [
            f"  {name}: {kind}; {missing + ' missing; ' if missing else ''}e.g. {examples}"
            for name, kind, missing, examples in self._rows()
        ]
        lines += [f"- {finding}" for finding in self.all_findings]
        return "\n".join([*lines, self.command, self.call, self.tried])

    def _repr_html_(self) -> str:
        heads = ("column", "read as", "missing", "examples")
        columns = html_table(heads, self._rows(), f"{self.source}: {self.n_rows:,} rows")
        found = [(f.column or "", f.message) for f in self.all_findings]
        shown = html_table(("column", "finding"), found) if found else ""
        how = html_table(("", ""), [("command", self.command), ("Python", self.call)], self.tried)
        return columns + shown + how


def _missing(missing: Mapping[str, int]) -> str:
    return ", ".join(f"{n:,} {text!r}" if text else f"{n:,} empty" for text, n in missing.items())


def doctor(
    source: Any,
    target: str | None = None,
    *,
    sql: str | None = None,
    table: str | None = None,
    sheet: str | None = None,
    flatten: bool = False,
    union_by_name: bool = False,
) -> Diagnosis:
    """Look at a source before anything is learned from it.

    One pass says for each column what it would be read as and why, counts missing values by their
    spelling, and finds what looks wrong: decimal commas, thousands, dates of another order, strings
    among numbers, leading zeros, identifiers, constants, near-copies, columns that give the label
    away, lines before the header, another encoding. The command and the call that it gives read the
    source as it is meant; both were tried on the first rows, and learn the same counts. The command
    keeps labels as they are written, as strings, and the call reads whole numbers as such; the call
    for rows of which some have no label says how many to leave out first.

    Parameters
    ----------
    source : path, list of paths, source of rows, or frame
        Whatever :meth:`NaiveBayes.fit` takes and that can be read again.
    target : str, optional
        The column of labels. By default one whose name says so, else the last or the first with few
        values.
    sql, table : str, optional
        The query or the table, where `source` is the path or URL of a database.
    sheet : str, optional
        The sheet of a workbook; by default the only one that has values.
    flatten : bool, default=False
        Whether keys of objects within rows are columns.
    union_by_name : bool, default=False
        Whether files may have other columns than the first.

    Returns
    -------
    Diagnosis
        What was found.

    Raises
    ------
    ValueError
        If the source cannot be read, or lacks the target.

    See Also
    --------
    csv : CSV of any layout, with the options that are found here.

    Examples
    --------
    >>> import pandas as pd
    >>> import tallybayes
    >>> frame = pd.DataFrame({"price": ["1,5", "2,5"] * 20, "sold": ["yes", "no"] * 20})
    >>> tallybayes.doctor(frame, "sold").columns[0].findings[0].kind
    'decimal comma'
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZoneWarning)  # it is a finding
        paths = _paths(source)
        if sql is not None or table is not None:
            [path] = paths or [source]
            call, text = ("sql", sql) if sql is not None else ("table", table)
            named = f"{quoted(path)} --{call} {quoted(str(text))}"
            rows = source_of(path, sql=sql, table=table)
            return _diagnosed(rows, target, named, f"tallybayes.{call}({text!r}, {path!r})", {})
        options = {"sheet": sheet, "flatten": flatten, "union_by_name": union_by_name}
        options = {name: value for name, value in options.items() if value}
        if not paths:
            return _diagnosed(source, target, "FILE", "source", options)
        given = paths[0] if len(paths) == 1 else paths
        return _diagnosed(source, target, " ".join(map(quoted, paths)), repr(given), options)


def _diagnosed(
    source: Any, target: str | None, named: str, given: str, options: Mapping[str, Any]
) -> Diagnosis:
    """The diagnosis of a source: the command calls it `named`, the lines of Python `given`. Paths
    are read with these options of :func:`tallybayes.files`."""
    paths = _paths(source)
    changes: dict[str, Any] = {}
    findings: list[Finding] = []
    format, head = _beginning(paths)
    if format == "csv":
        changes, findings = layout_of(head)
    changes |= options
    spelt = format in ("csv", "excel", "jsonl")  # whose options say how strings are read
    read = csv if format == "csv" else files if spelt or options else None
    rows = _opened(source, paths, changes, read)
    objects = [name for name, kind in _nested(rows).items() if flatten_hint(kind)]
    if objects and format is not None:
        changes["flatten"], read = True, files
        what = "holds objects: --flatten makes columns of their keys"
        findings += [Finding("objects", what, name, {"flatten": True}) for name in objects]
        rows = _opened(source, paths, changes, read)
    header = list(rows.columns()) if not hasattr(rows, "header") else list(rows.header)
    profile = profile_of(rows, header)
    if not profile.n_rows:
        raise SourceError(f"{rows.name} has no rows")
    target = _target(rows.name, header, profile, target)
    columns, changes = _read(profile, header, target, changes, spelt)
    columns = [_left_out(column, _nested(rows)) for column in columns]
    findings = [*findings, *compared(profile, target)]
    label = None if target is None else profile.columns[target]
    spelling = _spelling(changes)
    classes = {} if label is None else _classes(label, spelling.of(str(target)).missing)
    if target is not None and label is not None:
        findings += _of_labels(target, label, classes, changes, columns, spelt)
    changes = _with_columns(changes, [*findings, *(f for c in columns for f in c.findings)], target)
    if getattr(rows, "nameless", False):
        findings.append(NAMELESS)
    changes = {name: changes[name] for name in ORDER if name in changes}
    unlabelled = 0 if label is None else profile.n_rows - sum(classes.values())
    families = dict(changes.get("columns", {}))
    chosen = {k: v for k, v in changes.items() if k != "columns"}
    command = _command(named, target, changes, unlabelled)
    reader = "csv" if read is csv else "files"
    call = _call(given, target, reader, chosen, families, unlabelled)
    if target is None:
        tried, sound = "not tried: name the column of labels by target= or --target", False
    elif not columns:
        tried, sound = f"not tried: there is no column beside {target!r} to learn from", False
    else:
        tried, sound = _tried(_opened(source, paths, chosen, read), target, families)
    return Diagnosis(
        rows.name,
        profile.n_rows,
        target,
        columns,
        findings,
        classes,
        command,
        call,
        tried,
        sound,
    )


# ---- opening the data ----------------------------------------------------------------------------
def _paths(source: Any) -> list[str]:
    given = [source] if isinstance(source, str | os.PathLike) else source
    if isinstance(given, list | tuple) and all(isinstance(p, str | os.PathLike) for p in given):
        return [os.fspath(path) for path in given]
    return []


def _beginning(paths: Sequence[str]) -> tuple[str | None, bytes]:
    """The format of the first file, and its first bytes; None where they are not files."""
    from tallybayes.sources.databases import is_file, is_url

    if not paths or is_url(paths[0]) or is_file(paths[0]):
        return None, b""
    first = files_of(paths[0])[0]
    if read_once(first):
        raise SourceError(f"{first} can be read only once, and is looked at twice: save it first")
    try:
        stream = Stream(first)
    except OSError as error:
        raise SourceError(f"{first}: {error.strerror}") from None
    try:
        if not is_workbook(first, stream.head):
            need_readable(first, stream.head)
        format = format_of(first, stream.head)
        is_text = format == "csv"
        return format, stream.look(lambda head: head.count(b"\n") > 1) if is_text else b""
    finally:
        stream.close()


def _opened(
    source: Any,
    paths: Sequence[str],
    options: Mapping[str, Any],
    read: Callable[..., Source] | None,
) -> Any:
    if read is not None:
        return read(list(paths), **options)
    from tallybayes.estimators.sources import rows_of

    rows = rows_of(source)
    if rows.once:
        raise SourceError(
            f"{rows.name} can be read only once, and is looked at twice: save it first"
        )
    return rows


def _nested(rows: Any) -> dict[str, str]:
    """The columns that hold more than single values, and what they hold."""
    return {name: column.type for name, column in rows.columns().items() if is_nested(column)}


def _left_out(column: ColumnDiagnosis, nested: Mapping[str, str]) -> ColumnDiagnosis:
    """A column that is not read, where it holds more than single values."""
    kind = nested.get(column.name)
    if kind is None:
        return column
    return replace(column, kind="left out", reason=f"it holds {kind}", missing={})


# ---- the spelling that reads most of it ----------------------------------------------------------
def _spelling(changes: Mapping[str, Any]) -> Spelling:
    usual = Spelling()
    return Spelling(
        tuple(changes.get("missing", usual.missing)),
        changes.get("decimal", usual.decimal),
        {name: tuple(strings) for name, strings in changes.get("missing_of", {}).items()},
        changes.get("thousands"),
        changes.get("dates", usual.dates),
    )


def _read(
    profile: Profile, header: Sequence[str], target: str | None, changes: dict[str, Any], text: bool
) -> tuple[list[ColumnDiagnosis], dict[str, Any]]:
    """The columns by the spelling that reads most of them, and the options of that spelling."""
    columns: list[ColumnDiagnosis] = []
    shown: dict[str, list[Finding]] = {}
    for _ in range(4):  # one sign of numbers or order of dates shows the next
        spelling = _spelling(changes)
        columns = [
            column_of(name, profile.columns[name], profile, spelling)
            for name in header
            if name != target
        ]
        wanted: Counter[tuple[str, Any]] = Counter()
        for column in columns:
            for found in column.findings:
                own = {
                    k: v for k, v in found.changes.items() if k in ("decimal", "thousands", "dates")
                }
                if own and text:
                    shown.setdefault(column.name, []).append(found)
                wanted.update(own.items())
        new = {k: v for (k, v), _ in reversed(wanted.most_common()) if changes.get(k) != v}
        if not text or not new:
            break
        changes = {**changes, **new}
    for column in columns:
        earlier = [f for f in shown.get(column.name, []) if f not in column.findings]
        column.findings[:0] = earlier[:1]
    missing_of = {
        name: strings
        for column in columns
        for found in column.findings
        for name, strings in found.changes.get("missing_of", {}).items()
    }
    if missing_of and text:
        changes = {**changes, "missing_of": missing_of}
        columns = [
            ColumnDiagnosis(
                again.name, again.kind, again.reason, again.examples, again.missing, old.findings
            )
            if old.name in missing_of
            else old
            for old in columns
            for again in [
                column_of(old.name, profile.columns[old.name], profile, _spelling(changes))
            ]
        ]
    return columns, changes


def _with_columns(
    changes: dict[str, Any], findings: Sequence[Finding], target: str | None
) -> dict[str, Any]:
    """With the families that findings ask for."""
    families: dict[str, Any] = {}
    for found in findings:
        families |= found.changes.get("columns", {})
    families.pop(str(target), None)
    return {**changes, "columns": families} if families else changes


# ---- labels and classes --------------------------------------------------------------------------
def _target(where: str, header: Sequence[str], profile: Profile, target: str | None) -> str | None:
    if target is not None:
        if target not in header:
            raise SourceError(
                f"{where} has no column {target!r}, the target; its columns are {listed(header)}"
            )
        return target
    few = [
        name
        for name in header
        if not profile.columns[name].more and 2 <= len(profile.columns[name].counts) <= MAX_CLASSES
    ]
    named = [name for name in few if name.lower() in TARGETS]
    if named:
        return named[0]
    ends = [name for name in (header[-1], header[0]) if name in few]
    usual = [word for word in Spelling().missing if word]
    whole = [n for n in ends if not any(word in profile.columns[n].counts for word in usual)]
    return next(iter([*whole, *ends]), None)


def _classes(label: Seen, missing: Collection[str]) -> dict[str, int]:
    return {text: n for text, n in sorted(label.counts.items()) if text not in missing}


def _of_labels(
    target: str,
    label: Seen,
    classes: dict[str, int],
    changes: dict[str, Any],
    columns: Sequence[ColumnDiagnosis],
    is_text: bool,
) -> list[Finding]:
    """What is odd about the labels; `classes` and `changes` are changed where a label is a spelling
    of missing."""
    found: list[Finding] = []
    total = sum(label.counts.values())
    spelt = {
        word: n
        for word, n in label.counts.items()
        if word.isalpha() and word in Spelling().missing and n >= MIN_LABEL_SHARE * total
    }
    if spelt and classes and is_text:
        missing_of = dict(changes.get("missing_of", {}))
        for column in columns:
            strings = [word for word in column.missing if word]
            if strings:
                missing_of[column.name] = list(
                    dict.fromkeys([*missing_of.get(column.name, ()), *strings])
                )
        changes["missing"] = [""]
        if missing_of:
            changes["missing_of"] = missing_of
        classes |= spelt
        shown = listed(map(repr, spelt))
        message = f"holds {shown}, which would be missing labels: --only-null takes them as labels"
        found.append(Finding("label that means missing", message, target))
    empty = total + label.n_missing - sum(classes.values())
    if empty:
        message = f"has no label in {empty:,} rows: --skip-unlabelled leaves them out"
        found.append(Finding("rows without a label", message, target))
    if label.more or 2 * len(classes) > sum(classes.values()):
        message = "has nearly as many labels as rows: choose another target"
        found.append(Finding("many labels", message, target))
    elif numbers := of_labels(classes):
        found.append(replace(numbers, column=target))
    alike = Counter(" ".join(word.lower().split()) for word in classes)
    if twice := [word for word, n in alike.items() if n > 1]:
        message = f"spells a label in several ways, {twice[0]!r} with other letters: spell it alike"
        found.append(Finding("spellings of a label", message, target))
    if len(classes) == 1:
        found.append(Finding("one label", "has one label only: there is nothing to learn", target))
    return found


# ---- the command and the call --------------------------------------------------------------------
def _command(shown: str, target: str | None, changes: Mapping[str, Any], unlabelled: int) -> str:
    parts = ["tallybayes fit", shown, f"--target {'COLUMN' if target is None else quoted(target)}"]
    if changes:
        parts.append(options_of(changes))
    if unlabelled:
        parts.append("--skip-unlabelled")
    return " ".join(parts)


def _call(
    given: str,
    target: str | None,
    reader: str,
    options: Mapping[str, Any],
    families: Mapping[str, Any],
    unlabelled: int,
) -> str:
    lines = ["import tallybayes"]
    if "categorical" in families.values():
        lines.append("from tallybayes.families import Categorical")
    if options:
        written = ", ".join([given, *(f"{key}={value!r}" for key, value in options.items())])
        lines.append(f"rows = tallybayes.{reader}({written})")
        given = "rows"
    if unlabelled and target is not None:  # fit refuses them
        lines.append(f"rows = tallybayes.labelled({given}, {target!r})")
        given = "rows"
    declared = ", ".join(
        f"{column!r}: {'None' if family is None else 'Categorical()'}"
        for column, family in families.items()
    )
    columns = f"{{{declared}}}" if declared else ""
    label = "TARGET" if target is None else repr(target)
    lines.append(f"model = tallybayes.WeightedNaiveBayes({columns}).fit({given}, {label})")
    return "\n".join(lines)


def _tried(source: Any, target: str, families: Mapping[str, Any]) -> tuple[str, bool]:
    """What comes of a fit to the first rows, and whether it succeeds."""
    from tallybayes.estimators.naive_bayes import NaiveBayes
    from tallybayes.families import Categorical

    columns = {n: None if family is None else Categorical() for n, family in families.items()}
    rows = Labelled(source, target, TRIED_ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TallyWarning)
        try:
            model = NaiveBayes(columns or "auto").fit(rows, target)
            model.predict(rows)
        except ValueError as error:
            return f"tried on the first rows: {error}", False
    n = model.class_count_.sum()
    return (
        f"tried on the first {n:,.0f} rows: {len(model.classes_)} classes, "
        f"{model.n_features_in_ - sum(f is None for f in columns.values())} columns",
        True,
    )
