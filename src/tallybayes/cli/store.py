"""``tallybayes store``: stores that count each event once and forget by id."""

from __future__ import annotations

import inspect
from typing import Annotated, Any, Literal

import typer

from tallybayes.cli import options
from tallybayes.cli.messages import USAGE, Failure
from tallybayes.cli.options import columns_of
from tallybayes.cli.reading import Reading, reads, reads_labels

__all__ = ["COMMANDS"]

Store = Annotated[
    str,
    typer.Argument(metavar="STORE", help="A file of SQLite, or postgresql://user@host/database."),
]
Id = Annotated[
    str | None,
    typer.Option(
        "--id-column", metavar="COL", autocompletion=columns_of, help="The column of the ids."
    ),
]
Subject = Annotated[
    str | None,
    typer.Option(
        "--subject-column",
        metavar="COL",
        autocompletion=columns_of,
        help="The column of those whom rows are about, who may ask to be forgotten.",
    ),
]


def _said(command: str, result: Any, json: bool, **more: Any) -> None:
    """Prints what a call has done: a result's fields, lists by their lengths."""
    from tallybayes.cli.console import document, say

    fields = [] if result is None else inspect.get_annotations(type(result))
    found = {name: getattr(result, name) for name in fields} | more
    found = {name: len(v) if isinstance(v, list) else v for name, v in found.items()}
    if json:
        document(f"store {command}", found)
    else:
        say(*(f"{name.replace('_', ' ')}: {value}" for name, value in found.items()))


def _opened(path: str) -> Any:
    from tallybayes import store

    return store.open(path)


def init(
    store: Store,
    model: Annotated[
        Literal["naive-bayes", "weighted", "text"],
        typer.Option("--model", help="What is learned: plain, with weights, or documents."),
    ] = "naive-bayes",
    column: options.Columns = None,
    ledger: Annotated[
        Literal["rows", "ids"],
        typer.Option("--ledger", help="ids: keep no rows; forget takes the row again."),
    ] = "rows",
    half_life: Annotated[
        float | None,
        typer.Option(metavar="DAYS", help="Days after which an event counts half."),
    ] = None,
    keep_days: Annotated[
        float | None,
        typer.Option(metavar="DAYS", help="Days after which compact forgets a row."),
    ] = None,
    keep_ids: Annotated[
        float | None,
        typer.Option(metavar="DAYS", help="Days for which ids of forgotten rows are refused."),
    ] = None,
    subject_keys: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Encrypt rows by subject, with keys in this file, which forgetting destroys.",
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Make a store.

    Examples:
        tallybayes store init mail.db --model text
    """
    import os

    from tallybayes import NaiveBayes, TextNB, WeightedNaiveBayes
    from tallybayes import store as stores
    from tallybayes.cli.families import column_families

    if os.path.exists(store):
        raise Failure(f"{store} exists: name another file, or use the store that it is", USAGE)
    columns: Any = column_families(column) if column else "auto"
    if model == "text" and column:
        raise Failure("--column is for rows, and --model text learns documents: omit it", USAGE)
    kinds: Any = {"naive-bayes": NaiveBayes, "weighted": WeightedNaiveBayes}
    made = TextNB() if model == "text" else kinds[model](columns)
    stores.open(
        store,
        create=made,
        ledger=ledger,
        half_life=half_life,
        keep_days=keep_days,
        keep_ids=keep_ids,
        subject_keys=subject_keys or False,
    ).close()
    _said("init", None, json, store=store, model=model, ledger=ledger)


@reads_labels
def learn(
    store: Store,
    data: options.Data,
    reading: Reading,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "-t",
            metavar="COL",
            autocompletion=columns_of,
            help="The label's column, or header of mail; folders of documents have none.",
        ),
    ] = None,
    id_column: Id = None,
    subject_column: Subject = None,
    time_column: Annotated[
        str | None,
        typer.Option(
            "--time-column", metavar="COL", help="When each event was, ISO 8601 or seconds."
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Count rows, each id once: all of them, or none.

    Examples:
        tallybayes store learn mail.db monday.csv -t spam --id-column message
    """
    with _opened(store) as mail:
        if target is None and not mail.learns_documents:
            raise Failure("Missing option '--target' / '-t': the label's column", USAGE)
        documents = mail.learns_documents
        rows = reading.open_documents(data, None, target) if documents else reading.open(data)
        beside = {"subject": subject_column, "time": time_column, "weight": reading.weight}
        _said("learn", mail.learn_from(rows, target, id=id_column, **beside), json)


@reads
def forget(
    store: Store,
    reading: Reading,
    data: Annotated[
        list[str] | None, typer.Argument(metavar="[DATA…]", help="Files with a column of ids.")
    ] = None,
    id: Annotated[
        list[str] | None, typer.Option("--id", metavar="ID", help="An id. May be repeated.")
    ] = None,
    subject: Annotated[
        list[str] | None,
        typer.Option("--subject", metavar="NAME", help="Whose rows. May be repeated."),
    ] = None,
    id_column: Id = None,
    subject_column: Subject = None,
    json: options.Json = False,
) -> None:
    """Forget rows: the files of the store hold nothing of them afterwards.

    Examples:
        tallybayes store forget mail.db --subject ann@example.org
    """
    if sum(map(bool, (id, subject, data))) != 1:
        raise Failure("name what to forget by --id, --subject, or DATA with --id-column", USAGE)
    with _opened(store) as mail:
        if data:
            rows = reading.open(data)
            found = mail.forget_from(rows, id=id_column, subject=subject_column)
            _said("forget", found, json)
        else:
            _said("forget", mail.forget(ids=id or None, subjects=subject or None), json)


@reads_labels
def relabel(
    store: Store,
    data: options.Data,
    target: Annotated[str, options.LABEL_COLUMN],
    reading: Reading,
    id_column: Id = None,
    json: options.Json = False,
) -> None:
    """Give rows that were learned other labels.

    Examples:
        tallybayes store relabel mail.db corrected.csv -t spam --id-column message
    """
    if id_column is None:
        raise Failure("Missing option '--id-column': the column of the ids", USAGE)
    with _opened(store) as mail:
        rows = reading.open(data)
        _said("relabel", mail.relabel_from(rows, target, id=id_column), json)


def show(store: Store, json: options.Json = False) -> None:
    """Say what a store holds.

    Examples:
        tallybayes store show mail.db
    """
    with _opened(store) as mail:
        _said("show", None, json, **mail.summary())


def reweight(store: Store, json: options.Json = False) -> None:
    """Learn weights, pairs or calibration again, on a sample of the rows of now.

    Services that are open use them within a second.

    Examples:
        tallybayes store reweight mail.db
    """
    with _opened(store) as mail:
        mail.reweight()
        _said("reweight", None, json, rows=mail.summary()["rows"])


def verify(store: Store, json: options.Json = False) -> None:
    """Count the ledger again, and compare it with the counts.

    Examples:
        tallybayes store verify mail.db
    """
    with _opened(store) as mail:
        _said("verify", mail.verify(), json)


def backup(
    store: Store,
    path: Annotated[str, typer.Argument(metavar="FILE", help="A file that is not there yet.")],
    json: options.Json = False,
) -> None:
    """Copy a store to a file; names older copies that still hold what was forgotten.

    Examples:
        tallybayes store backup mail.db monday.db
    """
    from tallybayes.cli.console import note

    with _opened(store) as mail:
        found = mail.backup(path)
    for old in found.stale:
        note(
            f"note: {old} may hold rows that were forgotten since: delete it, or forget them there"
        )
    _said("backup", found, json)


def compact(store: Store, json: options.Json = False) -> None:
    """Forget what is too old, count the ledger again, and give free space back.

    Examples:
        tallybayes store compact mail.db
    """
    with _opened(store) as mail:
        _said("compact", None, json, rows_too_old=mail.compact())


def export(
    store: Store,
    output: Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="The model file.")],
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Write the model as of now to a file that every command takes.

    Examples:
        tallybayes store export mail.db -o mail.tally
    """
    from tallybayes.cli.files import Output, loaded

    out = Output(output, "model", force=force)
    with _opened(store) as mail, out.alone() as save:
        mail.export(out.path)
        save(loaded(out.path))  # with a note of its counts, so that the next export replaces it
    _said("export", None, json, model=out.path)


COMMANDS = [init, learn, forget, relabel, reweight, show, verify, backup, compact, export]
