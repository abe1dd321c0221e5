"""How values get into a statement: as parameters, or as text that cannot be read as SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

__all__ = ["Bound", "Values", "Written"]


class Values(Protocol):
    """How values get into a statement."""

    def array(self, values: Sequence[Any], kind: str) -> str:
        """An SQL expression for an array of values of the SQL type `kind`."""


class Bound:
    """Values as parameters, in the order in which the statement has them."""

    def __init__(self, first: Sequence[Any] = ()) -> None:
        self.values: list[Any] = list(first)

    def array(self, values: Sequence[Any], kind: str) -> str:
        self.values.append(list(values))
        return f"CAST(? AS {kind}[])"


class Written:
    """Values written into a statement that takes no parameters: strings as hexadecimal digits."""

    def array(self, values: Sequence[Any], kind: str) -> str:
        return f"CAST([{', '.join(map(self._literal, values))}] AS {kind}[])"

    @staticmethod
    def _literal(value: Any) -> str:
        if isinstance(value, str):
            return f"decode(unhex('{value.encode().hex()}'))"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return str(value)
        return f"CAST('{float(value)!r}' AS DOUBLE)"
