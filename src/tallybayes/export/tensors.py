"""Tensors of an ONNX graph as operands, so that a formula is arithmetic.

The operators are those of ai.onnx 18 and ai.onnx.ml 4 that runtimes have in float64.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    from onnx import ModelProto as ModelProto
    from onnx import TensorProto as TensorProto
    from onnx import checker as checker
    from onnx import defs as defs
    from onnx import helper as helper
    from onnx import numpy_helper as numpy_helper
except ImportError as error:
    raise ModuleNotFoundError(
        f"ONNX models are written by onnx ({error}): pip install 'tallybayes[onnx]'", name="onnx"
    ) from error

__all__ = [
    "MAX_CELLS",
    "ML",
    "ML_VERSION",
    "OPSET",
    "Graph",
    "Tensor",
    "encoded",
    "is_unicode",
    "side_by_side",
    "value_info",
]

ML, ML_VERSION = "ai.onnx.ml", 4
OPSET = 18  # the oldest in which every operator takes float64
MAX_CELLS = 2**28  # numbers of a table: a file has fewer than 2³¹ bytes


class Graph:
    """Nodes and constants. What is asked twice is computed once.

    Parameters
    ----------
    taken : collection of str
        Names of inputs and outputs, with which no other tensor begins.
    """

    def __init__(self, taken: Collection[str]) -> None:
        self.prefix = "t"
        while any(name.startswith(self.prefix) for name in taken):
            self.prefix += "_"
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._known: dict[Any, list[Tensor]] = {}

    def constant(self, value: Any) -> Tensor:
        array = np.ascontiguousarray(value) if np.ndim(value) else np.asarray(value)
        data = tuple(array.tolist()) if array.dtype.kind == "O" else array.tobytes()
        key = (array.dtype.str, array.shape, data)
        if key not in self._known:
            name = f"{self.prefix}_{len(self.constants)}"
            self.constants.append(numpy_helper.from_array(array, name))
            self._known[key] = [Tensor(self, name)]
        return self._known[key][0]

    def op(self, kind: str, *inputs: Any, **attributes: Any) -> Tensor:
        """The result of an operator; arrays and numbers among the inputs are constants."""
        [found] = self.several(kind, *inputs, n=1, **attributes)
        return found

    def several(self, kind: str, *inputs: Any, n: int, **attributes: Any) -> list[Tensor]:
        """The n results of an operator."""
        tensors = [x if isinstance(x, Tensor) else self.constant(x) for x in inputs]
        names = [tensor.name for tensor in tensors]
        key = (kind, *names, repr(attributes))
        if key not in self._known:
            place = f"{self.prefix}{len(self.nodes)}"
            found = [Tensor(self, place + f"_{i}" * (i > 0)) for i in range(n)]
            self._known[key] = found
            domain = {"domain": ML} if kind == "LabelEncoder" else {}
            results = [tensor.name for tensor in found]
            self.nodes.append(helper.make_node(kind, names, results, **domain, **attributes))
        return self._known[key]


class Tensor:
    """A tensor of a graph. Operators between tensors, arrays and numbers make nodes."""

    __array_ufunc__ = None  # an array on the left leaves the operator to the tensor

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph: Graph = graph
        self.name: str = name

    def op(self, kind: str, *others: Any, **attributes: Any) -> Tensor:
        return self.graph.op(kind, self, *others, **attributes)

    def __add__(self, other: Any) -> Tensor:
        return self.op("Add", other)

    def __sub__(self, other: Any) -> Tensor:
        return self.op("Sub", other)

    def __mul__(self, other: Any) -> Tensor:
        return self.op("Mul", other)

    def __truediv__(self, other: Any) -> Tensor:
        return self.op("Div", other)

    def __radd__(self, other: Any) -> Tensor:
        return self.graph.op("Add", other, self)

    def __rsub__(self, other: Any) -> Tensor:
        return self.graph.op("Sub", other, self)

    def __rmul__(self, other: Any) -> Tensor:
        return self.graph.op("Mul", other, self)

    def __rtruediv__(self, other: Any) -> Tensor:
        return self.graph.op("Div", other, self)

    def __neg__(self) -> Tensor:
        return self.op("Neg")

    def __lt__(self, other: Any) -> Tensor:
        return self.op("Less", other)

    def __le__(self, other: Any) -> Tensor:
        return self.op("LessOrEqual", other)

    def __gt__(self, other: Any) -> Tensor:
        return self.op("Greater", other)

    def __ge__(self, other: Any) -> Tensor:
        return self.op("GreaterOrEqual", other)

    def __or__(self, other: Tensor) -> Tensor:
        return self.op("Or", other)

    def __and__(self, other: Tensor) -> Tensor:
        return self.op("And", other)

    def eq(self, other: Any) -> Tensor:
        return self.op("Equal", other)

    def where(self, yes: Any, no: Any) -> Tensor:
        """`yes` under this condition, else `no`."""
        return self.op("Where", yes, no)

    def whole(self) -> Tensor:
        return self.op("Cast", to=TensorProto.INT64)

    def real(self) -> Tensor:
        return self.op("Cast", to=TensorProto.DOUBLE)

    def over(self, kind: str, axis: int = 1, keep: int = 1) -> Tensor:
        """Reduced over an axis: "Sum", "Max", …"""
        return self.op(f"Reduce{kind}", np.array([axis]), keepdims=keep)

    def unsqueeze(self, axis: int) -> Tensor:
        return self.op("Unsqueeze", np.array([axis]))

    def of(self, table: Any) -> Tensor:
        """table[self], in place of the last axis, of length 1, where the table has several."""
        found = self.graph.op("Gather", table, self)
        return found.op("Squeeze", np.array([1])) if np.ndim(table) > 1 else found


def side_by_side(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors (n, …) as one."""
    first, *others = tensors
    return first.op("Concat", *others, axis=1) if others else first


def value_info(name: str, kind: int, width: int | str) -> Any:
    """An input or output (n, width); a string names a width that is known at run time."""
    return helper.make_tensor_value_info(name, kind, ["n", width])


def encoded(x: Tensor, keys: Any, values: NDArray[Any], default: float) -> Tensor:
    """values[i] where x is keys[i], strings or numbers, else the default."""
    if isinstance(keys, list):
        known = [key.encode() for key in keys]
        codes = {"values_int64s": values.tolist(), "default_int64": int(default)}
        return x.op("LabelEncoder", keys_strings=known, **codes)
    if not len(keys):
        return x * 0.0 + default
    return x.op(
        "LabelEncoder",
        keys_tensor=numpy_helper.from_array(keys, "keys"),
        values_tensor=numpy_helper.from_array(values, "values"),
        default_tensor=numpy_helper.from_array(values.dtype.type([default]), "default"),
    )


def is_unicode(text: str) -> bool:
    """Whether UTF-8 has the string: no half of a surrogate pair is in it."""
    return not any("\ud800" <= character <= "\udfff" for character in text)
