"""Learning again what is learned on rows, under the counts as they are."""

from __future__ import annotations

from tallybayes.cli.arguments.options import Reading
from tallybayes.cli.commands.sampling import WEIGHTED_SAMPLE, Sample
from tallybayes.cli.io.locking import alone
from tallybayes.cli.io.model_file import ModelFile
from tallybayes.cli.io.places import need_place
from tallybayes.cli.report.doubts import note_unlabelled
from tallybayes.cli.terminal.console import document, line, number_of, progress, say
from tallybayes.cli.terminal.failures import USAGE, Failure
from tallybayes.estimators.tables.calibrated import Calibrated
from tallybayes.estimators.tables.weighted import WeightedNaiveBayes

__all__ = ["reweight"]


def reweight(
    model: str,
    data: str,
    output: str | None,
    target: str | None,
    parts: int | str | None,
    reading: Reading,
    json: bool,
) -> None:
    """Learns again on rows that were counted, with as many parts as before unless they are given;
    the file changes at the end, at once."""
    path = output or model
    need_place(path)
    with alone(path):
        file = ModelFile.load(model)
        if not file.model.chooses_on_rows:
            raise Failure(
                f"{model} is a plain model without calibration: nothing in it is learned on rows "
                "but the counts, which are exact"
            )
        if parts is not None:
            if not isinstance(file.model, WeightedNaiveBayes):
                raise Failure(f"--parts is for weighted models, and {model} is a plain one", USAGE)
            file.model.set_params(parts=parts)
        sample = Sample(WEIGHTED_SAMPLE)
        source = reading.open(data, file)
        with progress() as bar:
            for rows in file.labelled(source, bar, "reading", target):
                sample.add(rows)
            table, labels = sample.rows()
            labels = file.own_labels(labels)
            with bar.during("learning weights"):
                if isinstance(file.model, WeightedNaiveBayes):
                    file.model.reweight(table, labels)
                elif isinstance(file.model, Calibrated):
                    file.model.recalibrate(table, labels)
        file.save(path)
    note_unlabelled(source)
    if json:
        document("reweight", {"model": path, "rows": len(labels), "rows_counted": file.rows})
        return
    say(
        line(
            f"learned on {number_of(len(labels), 'row')}; {path} holds {file.rows:,.10g} as before"
        )
    )
