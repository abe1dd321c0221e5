"""The Open Inference Protocol, version 2 over REST: a tensor for each column, and tensors back.

Clients of KServe, Triton and MLServer speak it. Explanations have no place in it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from math import prod
from typing import Any

from tallybayes.errors import listed
from tallybayes.serve.bodies import MAX_FLOAT, Limits, Refused, need_scalars
from tallybayes.serve.served import Served

__all__ = ["answered", "asked", "metadata"]

PLATFORM = "tallybayes"


def _whole(low: int, high: int) -> Callable[[Any], bool]:
    return lambda v: type(v) is int and low <= v <= high


def _number(value: Any) -> bool:
    return type(value) in (int, float) and -MAX_FLOAT <= value <= MAX_FLOAT


DATATYPES: dict[str, Callable[[Any], bool]] = {
    "BOOL": lambda v: type(v) is bool,
    **{f"INT{n}": _whole(-(2 ** (n - 1)), 2 ** (n - 1) - 1) for n in (8, 16, 32, 64)},
    **{f"UINT{n}": _whole(0, 2**n - 1) for n in (8, 16, 32, 64)},
    **{f"FP{n}": _number for n in (16, 32, 64)},
    "BYTES": lambda v: type(v) is str,
}
"""By datatype, whether a tensor may hold a value; null is a missing one in each."""


def metadata(served: Served) -> dict[str, Any]:
    """Describe the tensors of the model.

    Parameters
    ----------
    served : Served
        The model.

    Returns
    -------
    dict
        As the protocol has it.
    """
    kinds = {"numbers": "FP64", "booleans": "BOOL"}
    inputs = [
        {"name": name, "datatype": kinds.get("".join(holds), "BYTES"), "shape": [-1]}
        for name, holds in served.columns.items()
    ]
    label = {"name": "label", "datatype": _datatype(served.labels), "shape": [-1]}
    shares = {"name": "probabilities", "datatype": "FP64", "shape": [-1, len(served.labels)]}
    return {
        "name": served.name,
        "versions": [served.version],
        "platform": PLATFORM,
        "inputs": inputs,
        "outputs": [label, {**shares, "parameters": {"classes": served.labels}}],
    }


def _datatype(labels: list[Any]) -> str:
    kinds = {bool: "BOOL", int: "INT64", float: "FP64"}
    return kinds.get(type(labels[0]), "BYTES")


def asked(served: Served, document: Any, limits: Limits) -> list[dict[str, Any]]:
    """Read the rows of an inference request.

    Parameters
    ----------
    served : Served
        The model.
    document : object
        The body, parsed.
    limits : Limits
        What it may hold.

    Returns
    -------
    list of dict
        The rows.

    Raises
    ------
    Refused
        400, as the protocol has it, naming the tensor.
    """
    inputs = document.get("inputs") if isinstance(document, dict) else None
    if not isinstance(inputs, list) or not inputs:
        raise Refused(400, "an inference request has a list 'inputs' of one tensor or more")
    n_rows, columns = -1, {}
    for i, tensor in enumerate(inputs):
        if not isinstance(tensor, dict) or not isinstance(tensor.get("name"), str):
            raise Refused(400, f"a tensor is an object with a name; inputs[{i}] is not")
        name, shape = tensor["name"], tensor.get("shape")
        at = f"the tensor {name[:100]!r}"
        if not isinstance(shape, list) or not 1 <= len(shape) <= 2 or not all(map(_size, shape)):
            raise Refused(400, f"{at} needs a shape [n], or [n, m], of whole numbers from 0 on")
        if not 0 < shape[0] <= limits.rows:
            raise Refused(
                400, f"{at} has {shape[0]:,} rows, and 1 to {limits.rows:,} are taken: send parts"
            )
        if n_rows not in (-1, shape[0]):
            raise Refused(400, f"{at} has {shape[0]:,} rows, and the tensors before {n_rows:,}")
        n_rows, values = shape[0], _values(tensor, shape, at)
        if shape[1:] in ([], [1]):
            if name in columns:
                raise Refused(400, f"two tensors are named {name[:100]!r}: one holds a column")
            columns[name] = values
            continue
        if len(inputs) > 1 or shape[1] != len(served.columns):
            raise Refused(
                400,
                f"a tensor of several columns is the only one, and has all "
                f"{len(served.columns)} of the model; {at} has the shape {shape}: give one tensor "
                "of the shape [n] for each column",
            )
        wide = shape[1]
        columns = {name: values[j::wide] for j, name in enumerate(served.columns)}
    unknown = [name for name in columns if name not in served.columns]
    if unknown:
        names = listed(map(repr, served.columns), 10)
        raise Refused(400, f"the model has tensors {names}, and not {unknown[0][:100]!r}")
    rows = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    need_scalars(rows, limits, served.columns)
    return rows


def _size(value: Any) -> bool:
    return type(value) is int and value >= 0


def _values(tensor: dict[str, Any], shape: list[int], at: str) -> list[Any]:
    """The values of a tensor, flat.

    Raises
    ------
    Refused
        400 if they do not fit the shape or the datatype.
    """
    parameters = tensor.get("parameters") or {}
    if isinstance(parameters, dict) and "binary_data_size" in parameters:
        raise Refused(400, f"{at} comes as binary data, which is not taken: send it as JSON")
    kind, values = tensor.get("datatype"), tensor.get("data")
    holds = DATATYPES.get(kind) if isinstance(kind, str) else None
    if holds is None:
        raise Refused(400, f"{at} needs a datatype of {listed(DATATYPES)}")
    if not isinstance(values, list):
        raise Refused(400, f"{at} needs a list 'data'")
    if len(shape) == 2 and any(isinstance(v, list) for v in values):
        if len(values) != shape[0] or not all(isinstance(v, list) for v in values):
            raise Refused(400, f"{at}: nested data have one list for each row")
        if any(len(v) != shape[1] for v in values):
            raise Refused(400, f"{at}: a row of its data has not {shape[1]} values")
        values = list(chain.from_iterable(values))
    if len(values) != prod(shape):
        raise Refused(400, f"{at} has {len(values):,} values, and the shape {shape}")
    for i, value in enumerate(values):
        if value is not None and not holds(value):
            raise Refused(400, f"{at} is {kind}, and value {i} of its data is none of these")
    return values


def answered(served: Served, document: dict[str, Any], shares: list[list[float]]) -> dict[str, Any]:
    """Write an inference response.

    Parameters
    ----------
    served : Served
        The model.
    document : dict
        The request, with the outputs that it asks for.
    shares : list of list of float
        The probabilities of each row.

    Returns
    -------
    dict
        As the protocol has it.

    Raises
    ------
    Refused
        400 for an output that there is not.
    """
    labels = [served.best(row) for row in shares]
    outputs = {
        "label": {
            "name": "label",
            "datatype": _datatype(served.labels),
            "shape": [len(shares)],
            "data": labels,
        },
        "probabilities": {
            "name": "probabilities",
            "datatype": "FP64",
            "shape": [len(shares), len(served.labels)],
            "parameters": {"classes": served.labels},
            "data": list(chain.from_iterable(shares)),
        },
    }
    wanted = document.get("outputs") or []
    if not isinstance(wanted, list):
        raise Refused(400, "outputs is a list of objects with names")
    names = [output.get("name") if isinstance(output, dict) else None for output in wanted]
    for name in names:
        if not isinstance(name, str) or name not in outputs:
            raise Refused(400, f"the outputs are {listed(map(repr, outputs))}; asked for another")
    if names:
        outputs = {str(name): outputs[str(name)] for name in names}
    answer = {
        "model_name": served.name,
        "model_version": served.version,
        "outputs": list(outputs.values()),
    }
    given = document.get("id")
    return {**answer, "id": given} if isinstance(given, str) else answer
