"""Named expressions as nested subqueries: each is written once, above the expressions that it
uses."""

from __future__ import annotations

from collections.abc import Iterable

from tallybayes.export.sql.dialect import Dialect

__all__ = ["Stages"]


class Stages:
    """Expressions named by a letter and a number, which cannot be confused with names of a table.

    Parameters
    ----------
    dialect : Dialect
    """

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.stage: dict[str, int] = {}
        self.last_use: dict[str, int] = {}
        self.text: list[list[tuple[str, str]]] = []
        self.known: dict[tuple[str, int], str] = {}
        self.row: dict[str, str] = {}

    def name(self, letter: str, expression: str, uses: Iterable[str] = ()) -> str:
        """The name of an expression.

        Parameters
        ----------
        letter : str
        expression : str
        uses : iterable of str
            The names in it; where there are none, it is made of the table's columns.
        """
        uses = list(uses)
        stage = 1 + max((self.stage[name] for name in uses), default=-1)
        if (expression, stage) in self.known:
            return self.known[expression, stage]
        self.use(uses, stage)
        while len(self.text) <= stage:
            self.text.append([])
        name = f"{letter}{sum(known.startswith(letter) for known in self.stage)}"
        self.stage[name] = stage
        self.text[stage].append((name, expression))
        self.known[expression, stage] = name
        return name

    def constant(self, array: str) -> str:
        """The name of a constant array, which is a column of a table of one row."""
        column = self.row.setdefault(array, f"a{len(self.row)}")
        return self.name("a", f"w.{column}")

    def use(self, names: Iterable[str], stage: int) -> None:
        """Keeps names until a stage."""
        for name in names:
            self.last_use[name] = max(self.last_use.get(name, 0), stage)

    def select(self, source: str, outputs: list[tuple[str, str]], uses: Iterable[str]) -> str:
        """The statement.

        Parameters
        ----------
        source : str
            The table.
        outputs : list of (expression, name)
            The columns of the result.
        uses : iterable of str
            The names in them.

        Raises
        ------
        ValueError
            Where a subquery needs more columns than the dialect can have.
        """
        self.use(uses, len(self.text))
        text = f"FROM {source} AS t"
        if self.row:
            row = ",\n  ".join(f"{array} AS {column}" for array, column in self.row.items())
            text += f", (\nSELECT\n  {row}\n) AS w"
        for stage, own in enumerate(self.text):
            kept = [n for n, s in self.stage.items() if s < stage <= self.last_use.get(n, 0) - 1]
            kept = [n for n in kept if self.last_use[n] > stage]
            columns = [*kept, *(f"{expression} AS {name}" for name, expression in own)]
            self._need_room(len(columns))
            text = self._subquery(columns, text)
        self._need_room(len(outputs))
        return self.dialect.select(outputs, text)

    def _subquery(self, columns: list[str], source: str) -> str:
        fence = f"\n{self.dialect.fence}" if self.dialect.fence else ""
        return "FROM (\nSELECT\n  " + ",\n  ".join(columns) + f"\n{source}{fence}\n) AS t"

    def _need_room(self, n: int) -> None:
        most = self.dialect.most_columns
        if most is not None and n > most:
            raise ValueError(
                f"the statement needs {n:,} columns in a SELECT, and {self.dialect.title} has "
                f"{most:,} at most: use a model of fewer columns or classes, or another dialect"
            )
