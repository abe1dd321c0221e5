"""``tallybayes reweight``: learn weights, pairs and calibration again, counting nothing."""

from __future__ import annotations

from tallybayes.cli.arguments import options
from tallybayes.cli.arguments.reading import Reading, reads_labels

__all__ = ["run"]


@reads_labels
def run(
    model: options.Model,
    data: options.Data,
    reading: Reading,
    output: options.Output = None,
    target: options.Target = None,
    parts: options.Parts = None,
    force: options.Force = False,
    group: options.Group = None,
    json: options.Json = False,
) -> None:
    """Learn weights and pairs again after update, forget or merge.

    DATA holds rows that the model has counted: all, or a random sample. The counts do not change.
    """
    from tallybayes.cli.commands.reweighting import reweight
    from tallybayes.cli.io.outputs import Output

    n_parts = None if parts is None else options.number_or_auto("--parts", parts, minimum=1)
    out = Output(output or model, "model", data, [model], force=force)
    reweight(model, data, out, target, n_parts, reading, json, group)
