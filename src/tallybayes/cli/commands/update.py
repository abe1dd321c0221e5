"""``tallybayes update`` and ``tallybayes forget``: count more rows in a model file, or fewer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from tallybayes.cli.arguments import options
from tallybayes.cli.arguments.reading import Reading, reads_labels

__all__ = ["forget", "update"]


def _command(action: Literal["update", "forget"], doc: str) -> Callable[..., None]:
    """The two commands differ in their name and in the sign of what they count."""

    @reads_labels
    def run(
        model: options.Model,
        data: options.Data,
        reading: Reading,
        output: options.Output = None,
        target: options.Target = None,
        force: options.Force = False,
        json: options.Json = False,
    ) -> None:
        from tallybayes.cli.commands.learning import learn
        from tallybayes.cli.io.outputs import Output

        out = Output(output or model, "model", data, [model], force=force)
        learn(action, model, data, out, target, reading, json)

    run.__doc__ = doc
    return run


update: Callable[..., None] = _command(
    "update", "Add rows to a model: it becomes the model of all rows."
)
forget: Callable[..., None] = _command(
    "forget", "Remove rows from a model, as if it had never seen them."
)
