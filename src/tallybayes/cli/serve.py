"""The command ``serve``: a model or a store as a service over HTTP."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from tallybayes.cli.messages import USAGE, Failure

__all__ = ["serve"]

TLS, LIMITS = "TLS", "Limits"


def serve(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A model file, for predictions alone; or a store: a file of SQLite, or "
            "postgresql://… without a password.",
        ),
    ],
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where to listen, or unix:PATH.")
    ] = "127.0.0.1:8000",
    tokens: Annotated[
        str | None,
        typer.Option(
            metavar="TOKENS",
            help="The file that tallybayes token make writes; by default MODEL.tokens.",
            show_default=False,
        ),
    ] = None,
    public: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SCOPE",
            help="Open predict or explain to anybody. Nothing but health is open otherwise. May be "
            "repeated.",
            show_default=False,
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(metavar="N", min=1, max=256, help="How many processes answer.")
    ] = 1,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What clients of the Open Inference Protocol call the model; by default the name "
            "of its file.",
            show_default=False,
        ),
    ] = None,
    audit: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Where to log who learned, relabelled and forgot; by default MODEL.audit for a "
            "store in a file, and standard error for another one.",
            show_default=False,
        ),
    ] = None,
    reweight: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            min=0.0,
            help="When to learn the weights of a store again: when so many rows came since, for "
            "each row that was counted then. 0 leaves it to POST /v1/reweight.",
        ),
    ] = 0.5,
    certificate: Annotated[
        str | None,
        typer.Option(metavar="PEM", help="A certificate: serve HTTPS.", rich_help_panel=TLS),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(metavar="PEM", help="Its key, if apart.", rich_help_panel=TLS),
    ] = None,
    max_body: Annotated[
        int, typer.Option(metavar="BYTES", min=1, help="Of a body.", rich_help_panel=LIMITS)
    ] = 16 << 20,
    max_rows: Annotated[
        int, typer.Option(metavar="N", min=1, help="Of a body.", rich_help_panel=LIMITS)
    ] = 10_000,
    max_string: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="Characters of a value.", rich_help_panel=LIMITS),
    ] = 1_000_000,
    rate: Annotated[
        float,
        typer.Option(
            metavar="N",
            min=0.001,
            help="Requests a second of a token without a rate of its own.",
            rich_help_panel=LIMITS,
        ),
    ] = 1_000.0,
    connections: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="Open at a worker.", rich_help_panel=LIMITS),
    ] = 1_000,
) -> None:
    """Serve a model over HTTP, with a page at / for people. SIGTERM finishes what was accepted.

    Examples:
        tallybayes serve mail.db --listen 127.0.0.1:8000
        tallybayes serve spam.tally --workers 2
    """
    if key is not None and certificate is None:
        raise Failure("--key belongs to a certificate: add --certificate", USAGE)
    try:
        from tallybayes.serve import Limits, Settings, is_store, listening, source_of
        from tallybayes.serve import serve as run
    except ModuleNotFoundError as error:
        if error.name not in ("fastapi", "uvicorn", "starlette"):
            raise
        raise Failure(f"serve needs {error.name}: pip install 'tallybayes[cli,serve]'") from error
    from tallybayes.cli.console import note

    source, is_file = source_of(model, name), os.path.isfile(model)
    tokens = tokens or (f"{model}.tokens" if is_file else None)
    if tokens is None or not os.path.isfile(tokens):
        if not public:
            raise Failure(
                f"there is no file of tokens ({tokens or '--tokens TOKENS'}): make a token with "
                "tallybayes token make, or open predictions to anybody with --public predict"
            )
        tokens = None
    if is_file and is_store(model):
        audit = audit or f"{model}.audit"
    limits = Limits(
        body=max_body, rows=max_rows, string=max_string, rate=rate, connections=connections
    )
    settings = Settings(
        source, tokens, tuple(public or ()), limits, audit, workers, reweight=reweight
    )
    sock = listening(listen)
    bound = sock.getsockname()
    where = listen if isinstance(bound, str) else f"{listen.rpartition(':')[0]}:{bound[1]}"
    scheme = "https" if certificate else "http"
    run(
        settings,
        sock,
        certificate=certificate,
        key=key,
        on_start=lambda: note(f"{model} is served on {scheme}://{where}"),
    )
