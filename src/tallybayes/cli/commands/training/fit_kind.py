"""Which kind of model ``fit`` makes: a text model of documents, a table model of rows.

Errors of options and files are raised here, before anything slow is imported.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from tallybayes.cli.arguments.class_weights import class_weight_of
from tallybayes.cli.arguments.fit_options import FitOptions
from tallybayes.cli.arguments.reading import TEXT_FORMATS, Reading
from tallybayes.cli.commands.training.page import page_beside
from tallybayes.cli.io.documents.opening import Wanted, kind_of_input
from tallybayes.cli.io.outputs import Output
from tallybayes.cli.io.places import need_data
from tallybayes.cli.terminal.failures import USAGE, Failure
from tallybayes.cli.terminal.quick_imports import import_estimators

if TYPE_CHECKING:
    from tallybayes.cli.commands.training.text import TextFit
    from tallybayes.cli.io.rows import Rows

__all__ = ["fit_of_its_kind"]


def fit_of_its_kind(given: FitOptions, reading: Reading) -> None:
    """Trains a model of text or of tables."""
    if given.unlabelled is not None and reading.skip_unlabelled:
        raise Failure(
            "--unlabelled learns from documents without a label, and --skip-unlabelled leaves them "
            "out: give one of the two",
            USAGE,
        )
    if "-" in given.train and given.test == "-":
        raise Failure("standard input cannot be both TRAIN and --test: give a file", USAGE)
    kinds = {_kind_of(path, given.target, reading.format) for path in given.train}
    if kinds & {"folder", "mailbox"} or reading.format in TEXT_FORMATS:
        _fit_documents(given, reading)
    else:
        _fit_rows(given, reading)


def _kind_of(path: str, target: str | None, format: str | None) -> str:
    """What an input is; a folder is one of rows where a column is named and it holds data."""
    kind = kind_of_input(path, Wanted(format=format))
    if kind == "folder" and target is not None:
        from tallybayes.sources.files import holds_data

        return "rows" if holds_data(path) else kind
    return kind


class Outputs(NamedTuple):
    """The files that a fit writes."""

    model: Output
    page: Output | None


def _outputs(given: FitOptions) -> Outputs:
    """Where the files go; raises for data that is not there, and where a file cannot be written."""
    reads = [*given.train, *([given.test] if given.test else [])]
    path = given.model_path
    page = None
    if given.page is not None:
        page = page_beside(given.page, given.judged_on, reads, given.force)
    for data in reads:
        need_data(data)
    model = Output(path, "model", reads, force=given.force)
    if page is not None:
        page.need_apart(model)
    return Outputs(model, page)


def _fit_rows(given: FitOptions, reading: Reading) -> None:
    """Trains on rows: on a column of documents, or on a table."""
    families: dict[str, Any] = {}
    text_columns: list[str] = []
    if given.column:
        from tallybayes.cli.arguments.families import column_families, is_text

        families = column_families(given.column)
        text_columns = [name for name, family in families.items() if is_text(family)]
    settings = {} if text_columns else given.table_settings()
    weights = None if text_columns else class_weight_of(given.class_weight)
    if not given.plain:
        _need_levels(given.column, families)
    outputs = _outputs(given)
    from tallybayes.cli.io.targets import Header, missing_target, need_columns, need_group
    from tallybayes.sources.opening import read_once

    target, group = given.target, given.group

    def need(header: Header) -> None:
        if target is None:
            missing_target(header)
        need_columns(header, target, families)
        if group is not None:
            need_group(header, group, target, reading.weight)

    left_out = [name for name, family in families.items() if family is None and name != group]
    source = reading.open(given.train, left_out=left_out, need=need)
    if target is None:
        missing_target(source)
    table = given.plain or any(_has_parameters(text) for text in given.column)
    beside = families if group is None else {**families, group: None}
    if text_columns and not table and _is_alone(source, text_columns, target, beside):
        _fit_column(
            given,
            outputs,
            reading,
            source,
            text_columns[0],
            [n for n in beside if beside[n] is None],
        )
        return
    if text_columns:  # a column of text beside others is one family among them
        settings, weights = given.table_settings(), class_weight_of(given.class_weight)
    if given.test is not None and not read_once(given.test):
        reading.open([given.test])
    import_estimators()
    from tallybayes.cli.commands.training.tables import FitRequest, fit

    request = FitRequest(
        target,
        outputs.model,
        outputs.page,
        given.judged_on,
        families,
        given.plain,
        settings,
        weights,
        given.test,
        given.estimate,
        given.json,
        given.group,
    )
    fit(request, source, reading)


def _fit_documents(given: FitOptions, reading: Reading) -> None:
    """Trains on a folder or on mailboxes."""
    settings = given.text_settings()
    if given.column:
        raise Failure("--column is for rows, and this is a folder or a mailbox: omit it", USAGE)
    outputs = _outputs(given)
    source = reading.open_documents(given.train, target=given.target)
    if given.target is not None and not source.takes_target:
        raise Failure(
            f"--target is for rows and mailboxes, and {source.name} has no files of rows (Parquet, "
            "CSV, JSON lines, Arrow): the classes of a folder of documents are its folders",
            USAGE,
        )
    import_estimators()
    from tallybayes.cli.commands.training.text import fit

    fit(_text_fit(given, outputs, None, settings), source, reading)


def _text_fit(
    given: FitOptions, outputs: Outputs, column: str | None, settings: dict[str, Any]
) -> TextFit:
    from tallybayes.cli.commands.training.text import TextFit

    return TextFit(
        outputs.model,
        outputs.page,
        given.judged_on,
        given.target,
        column,
        settings,
        given.test,
        given.estimate,
        given.json,
        given.group,
    )


def _fit_column(
    given: FitOptions,
    outputs: Outputs,
    reading: Reading,
    rows: Rows,
    column: str,
    left_out: list[str],
) -> None:
    """Trains on a column of documents."""
    settings = given.text_settings()
    import_estimators()
    from tallybayes.cli.commands.training.text import fit

    documents = reading.open_column(given.train, rows, column, given.target, left_out)
    fit(_text_fit(given, outputs, column, settings), documents, reading)


def _has_parameters(column: str) -> bool:
    """Whether a column is declared as text with parameters, which are those of the family of
    tables."""
    return re.search(r"=\s*text\s*\(", column) is not None


def _is_alone(source: Rows, text_columns: list[str], target: str, families: dict[str, Any]) -> bool:
    """Whether a column of text is the only one that is read."""
    columns = source.header
    known = (target, text_columns[0])
    return all(name in known or families.get(name, "auto") is None for name in columns)


def _need_levels(column: list[str], families: dict[str, Any]) -> None:
    """Raises where a column is declared as something that a weighted model does not read."""
    if not families:
        return
    from tallybayes.families import Bernoulli, Categorical

    for text, (name, family) in zip(column, families.items(), strict=True):
        plain = family in (None, Categorical(levels=getattr(family, "levels", None)), Bernoulli())
        if not plain and getattr(family, "reads", "") != "documents":
            raise Failure(
                f"--column {text!r} is for --plain: a weighted model reads numbers as cells and "
                f"smooths levels as it sees fit; it takes {name}=categorical, {name}=text "
                f"and {name}=none",
                USAGE,
            )
