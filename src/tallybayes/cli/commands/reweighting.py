"""Learning weights, pairs and calibration again, under the present counts."""

from __future__ import annotations

from tallybayes.cli.arguments.reading import Reading
from tallybayes.cli.commands.kinds.files import kind_of, loaded
from tallybayes.cli.io.outputs import Output
from tallybayes.cli.terminal.console import document, line, number_of, progress, say

__all__ = ["reweight"]


def reweight(
    model: str,
    data: list[str],
    output: Output,
    target: str | None,
    parts: int | str | None,
    reading: Reading,
    json: bool,
    group: str | None = None,
) -> None:
    """Learns again on rows that were counted, with as many parts as before unless they are given;
    the file changes at the end, at once."""
    path = output.path
    with output.alone() as save:
        file = loaded(model)
        from tallybayes.cli.report.data_quality import note_unlabelled

        kind = kind_of(file)
        kind.need_reweighting(file, model, parts)
        source = reading.open_for(file, data)
        with progress() as bar:
            n_rows = kind.reweight(file, source, bar, target, parts, group)
        note_unlabelled(source, file.unit)
        save(file)
    if json:
        document("reweight", {"model": path, "rows": n_rows, "rows_counted": file.rows})
        return
    say(
        line(f"learned on {number_of(n_rows, file.unit)}; {path} holds {file.rows:,.10g} as before")
    )
