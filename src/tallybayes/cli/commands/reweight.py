"""``tallybayes reweight``: learn weights, pairs and calibration again, counting nothing."""

from __future__ import annotations

from tallybayes.cli import options

__all__ = ["run"]


@options.reads
def run(
    model: options.Model,
    data: options.Data,
    reading: options.Reading,
    output: options.Output = None,
    target: options.Target = None,
    json: options.Json = False,
) -> None:
    """Learn weights and pairs again, after update, forget or merge.

    DATA are rows that the model has counted, all or a fair sample of them; none is counted again.
    """
    from tallybayes.cli.reweighting import reweight

    reweight(model, data, output, target, reading, json)
