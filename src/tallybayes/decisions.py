"""From probabilities to decisions: the decision of the least expected cost, and sets of classes.

    decision(x) = argmin_d Σ_c P(c | x)·cost(c, d)
    p(x, c)     = (Σ_i w_i [s_i ≥ s(x, c)] + w) / (Σ_i w_i + w),   s(x, c) = −log P(c | x)
    set(x)      = {c : p(x, c) > 1 − coverage}

s_i is the score of a learned row under its own class, predicted without it, and w the weight of one
effective row. So no rows are held out, and nothing is fitted again.

Vovk, Gammerman and Shafer (2005), sections 2.2 (p-values) and 4.5 (sets within categories); Barber,
Candès, Ramdas and Tibshirani (2021), on leaving one row out. Elkan (2001), on costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import RareClassWarning, listed, shown, suggestion, warn_user
from tallybayes.persistence import Distinct, Shape, Tree, Within, fit, need, numbered
from tallybayes.tables import read_table
from tallybayes.tables.columns import as_text, values_of
from tallybayes.tally import effective_row_weight
from tallybayes.tally.saved import Labels

__all__ = [
    "MAX_SCORES",
    "CostFigures",
    "Costs",
    "Decided",
    "Scores",
    "costs_by_name",
    "in_set",
    "need_coverage",
    "scores_of",
]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


# ---- decisions by cost ---------------------------------------------------------------------------
class Decided(NamedTuple):
    """What is decided about rows.

    Parameters
    ----------
    decision : array (n_rows,)
        The decision of the least expected cost; of several the first.
    expected : float64 array (n_rows, n_decisions)
        The expected cost of each decision, in the order of the costs.
    """

    decision: NDArray[Any]
    expected: Array


@dataclass(frozen=True, eq=False)
class Costs:
    """What each decision costs in each class.

    Parameters
    ----------
    decisions : list
        Names of the decisions. Those that are class labels decide for the class; others, such as
        "ask a person", refer the row.
    values : float64 array (n_classes, n_decisions)
        Costs, in any unit; a negative cost is a gain.
    of_class : index array (n_decisions,)
        The class that each decision decides for, −1 for one that refers the row.
    """

    decisions: list[Any]
    values: Array
    of_class: Index

    @classmethod
    def read(cls, costs: Any, classes: NDArray[Any]) -> Costs:
        """Read a table of costs: rows are actual classes, columns are decisions.

        Parameters
        ----------
        costs : data frame, mapping or array-like
            Of pandas with the classes as its index, or any frame with them in its first column. A
            mapping of each class to a mapping of decisions to costs. Of an array the rows and
            columns are the classes in their order. A name that is a label's text stands for the
            label. Classes that the model lacks are left aside.
        classes : array (n_classes,)
            Labels of the model.

        Raises
        ------
        ValueError
            If a class has no costs, or a decision no finite cost in a class.
        """
        table = costs_by_name(costs, classes)
        labels = classes.tolist()
        if lacking := [label for label in labels if label not in table]:
            hint = suggestion(str(lacking[0]), [str(name) for name in table])
            named = {name for row in table.values() for name in row}
            if lacking == labels and named.issuperset(labels):
                hint = ". Its columns are the classes: transpose it, with a column a decision"
            raise ValueError(
                f"costs have a row for each class: the class {lacking[0]!r} has none; there are "
                f"rows for {listed(map(shown, table))}.{hint}"
            )
        decisions = list(table[labels[0]]) if labels else []
        values = np.array([list(table[label].values()) for label in labels], dtype=np.float64)
        places = {label: k for k, label in enumerate(labels)}
        return cls(decisions, values, np.array([places.get(d, -1) for d in decisions], np.intp))

    @property
    def names(self) -> NDArray[Any]:
        """The decisions as an array, (n_decisions,), in the type of the labels where all are."""
        kinds = {type(decision) for decision in self.decisions}
        if len(kinds) == 1 and kinds <= {str, int, float, bool}:
            return np.array(self.decisions)
        names = np.empty(len(self.decisions), dtype=object)
        names[:] = self.decisions
        return names

    def expected(self, proba: Array) -> Array:
        """The expected cost of each decision, (n_rows, n_decisions).

        Parameters
        ----------
        proba : float64 array (n_rows, n_classes)
        """
        total = np.zeros((len(proba), len(self.decisions)))
        for k, costs in enumerate(self.values):  # one order of adding, however many rows
            total += proba[:, k : k + 1] * costs
        return total

    def decide(self, proba: Array) -> Decided:
        """The decision of the least expected cost for each row, and the expected costs.

        Parameters
        ----------
        proba : float64 array (n_rows, n_classes)
        """
        expected = self.expected(proba)
        return Decided(self.names[expected.argmin(axis=1)], expected)


class CostFigures:
    """What decisions have cost, over rows whose classes are known.

    Parameters
    ----------
    costs : Costs
    """

    def __init__(self, costs: Costs) -> None:
        self.costs: Costs = costs
        n_classes, n_decisions = costs.values.shape
        self.taken: Array = np.zeros((n_classes, n_decisions))
        """The weight of the rows of each class for which each decision was taken."""
        self.rows: int = 0
        self.unpriced: int = 0
        """Rows of classes that have no costs, which are left aside."""
        self._squared_weights = 0.0

    def add(self, own: Index, proba: Array, weight: Array | None = None) -> None:
        """Count rows.

        Parameters
        ----------
        own : index array (n_rows,)
            The class of each row, −1 for one that is unknown.
        proba : float64 array (n_rows, n_classes)
        weight : float64 array (n_rows,), optional
            How much each row counts; 1 by default.
        """
        known = np.flatnonzero(own >= 0)
        self.rows += len(own)
        self.unpriced += len(own) - len(known)
        given = np.ones(len(known)) if weight is None else weight[known]
        decided = self.costs.expected(proba[known]).argmin(axis=1)
        np.add.at(self.taken, (own[known], decided), given)
        self._squared_weights += float((given * given).sum())

    @property
    def weight(self) -> float:
        """How much the rows weigh that have costs."""
        return float(self.taken.sum())

    @property
    def cost(self) -> float:
        """The mean cost of a row; NaN where there are none."""
        return self._mean(self.costs.values * self.taken, self.taken)

    @property
    def cost_se(self) -> float:
        """The standard error of :attr:`cost`."""
        spread = self._mean((self.costs.values - self.cost) ** 2 * self.taken, self.taken)
        return float(np.sqrt(spread * self._squared_weights)) / max(self.weight, 1e-300)

    @property
    def referred(self) -> float:
        """The share of rows whose decision is not a class."""
        return self._mean(self.taken[:, self.costs.of_class < 0], self.taken)

    @property
    def error(self) -> float:
        """The share of the other rows that are decided for another class than their own."""
        of_class = self.costs.of_class
        right = of_class[None, :] == np.arange(len(self.taken))[:, None]
        decided = of_class >= 0
        return self._mean((self.taken * ~right)[:, decided], self.taken[:, decided])

    @property
    def shares(self) -> Array:
        """How often each decision is taken, (n_decisions,)."""
        return np.asarray(self.taken.sum(axis=0) / max(self.weight, 1e-300))

    @property
    def always(self) -> Array:
        """The mean cost of taking each decision for every row, (n_decisions,)."""
        return np.asarray(self.taken.sum(axis=1) @ self.costs.values / max(self.weight, 1e-300))

    def document(self) -> dict[str, Any]:
        """Everything, for machines; null where there is no row."""
        names = [as_text(decision) for decision in self.costs.decisions]
        figures = {
            "cost": self.cost,
            "cost_standard_error": self.cost_se,
            "referred": self.referred,
            "error_of_the_rest": self.error,
        }
        return {
            "rows": self.rows,
            "rows_without_costs": self.unpriced,
            **{name: value if np.isfinite(value) else None for name, value in figures.items()},
            "decisions": [
                {"decision": name, "share": share, "cost_if_always_taken": cost}
                for name, share, cost in zip(
                    names, self.shares.tolist(), self.always.tolist(), strict=True
                )
            ],
        }

    @staticmethod
    def _mean(part: Array, whole: Array) -> float:
        total = float(whole.sum())
        return float(part.sum()) / total if total > 0.0 else float("nan")


def costs_by_name(costs: Any, classes: NDArray[Any]) -> dict[Any, dict[Any, float]]:
    """Costs as :meth:`Costs.read` takes them: of each class that they name, by decision."""
    labels = classes.tolist()
    by_text = {as_text(label): label for label in labels}

    def named(name: Any) -> Any:
        return name if name in labels else by_text.get(as_text(name), name)

    rows, decisions, cells = _cells(costs, labels)
    rows, decisions = [named(name) for name in rows], [named(name) for name in decisions]
    for what, names in (("class", rows), ("decision", decisions)):
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"costs name the {what} {twice[0]!r} twice: keep one")
    if not decisions:
        raise ValueError("costs name no decision: give a cost for each class and decision")
    found: dict[Any, dict[Any, float]] = {}
    for label, row in zip(rows, cells, strict=True):
        found[label] = {}
        for decision, given in zip(decisions, row, strict=True):
            try:
                cost = float(given)
            except (TypeError, ValueError):
                cost = np.nan
            if not np.isfinite(cost):
                raise ValueError(
                    f"each decision has a finite cost in each class: {decision!r} costs {given!r} "
                    f"in the class {label!r}. Give it a price; 0 is one"
                )
            found[label][decision] = cost
    return found


def _cells(costs: Any, labels: list[Any]) -> tuple[list[Any], list[Any], Sequence[Sequence[Any]]]:
    """The names of the rows and of the columns of a table of costs, and its cells by row."""
    if isinstance(costs, Mapping):
        for label, row in costs.items():
            if not isinstance(row, Mapping):
                raise ValueError(
                    "costs as a mapping give each class a mapping of decisions to costs, such as "
                    f"{{'bad': {{'bad': 0, 'good': 5}}}}; {label!r} has {row!r}"
                )
        names = list(dict.fromkeys(name for row in costs.values() for name in row))
        return list(costs), names, [[row.get(name) for name in names] for row in costs.values()]
    if hasattr(costs, "columns") or hasattr(costs, "__arrow_c_stream__"):
        index, known = getattr(costs, "index", None), set(map(as_text, labels))  # that of pandas
        if index is not None and known & set(map(as_text, index)):
            numbered = index.tolist() == list(range(len(index)))  # the index of who gave none
            head = costs.columns[:1].tolist()
            by_column = known <= set(map(as_text, costs[head[0]])) if head else False
            if not (numbered and by_column and as_text(head[0]) not in known):
                return index.tolist(), costs.columns.tolist(), costs.to_numpy(object).tolist()
        (_, first), *others = read_table(costs).columns.items()
        columns = [values_of(column) for _, column in others]
        cells = [list(row) for row in zip(*columns, strict=True)]
        return values_of(first), [name for name, _ in others], cells
    array, k = np.asarray(costs, dtype=object), len(labels)
    if array.shape != (k, k):
        raise ValueError(
            f"costs without names are an array of actual class × decided class, ({k}, {k}) for "
            f"these {k} classes, got the shape {array.shape}. Other decisions need names: give a "
            "data frame or a mapping"
        )
    return labels, labels, array.tolist()


# ---- sets of classes -----------------------------------------------------------------------------
MAX_SCORES = 1 << 16
"""Scores that are kept: of 65,536 rows the coverage is met within ± 0.001 (standard error)."""
MAX_SCORE = 1e300
"""Of a row whose class was ruled out; a file holds finite numbers."""
TOLERANCE = 1e-12
"""Of p-values, which are quotients of few numbers of rows."""

Codes = Annotated[NDArray[np.int64], Shape("n"), Within(0)]


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of learned rows under their own classes, each predicted without itself.

    Parameters
    ----------
    classes : array (n_classes,)
        The labels when these were made.
    counts : str
        A digest of the counts that the rows were predicted by.
    score : float64 array (n,)
        −log P(own class), in nats.
    own : int64 array (n,)
        The class of each row.
    weight : float64 array (n,)
    columns : list of str
        Those that sets may be within.
    values : list of lists of str or None
        The distinct values of each.
    places : list of int64 arrays (n,)
        Of each, the place of a row's value among these.
    """

    classes: Labels
    counts: str
    score: Annotated[Array, Shape("n"), Within(0.0)]
    own: Codes
    weight: Annotated[Array, Shape("n"), Within(above=0.0)]
    columns: Distinct
    values: list[list[str | None]]
    places: list[Codes]

    @classmethod
    def of(
        cls,
        classes: NDArray[Any],
        counts: str,
        log_proba: Array,
        own: Index,
        weight: Array,
        columns: Mapping[str, Sequence[Any]],
    ) -> Scores:
        """Scores of rows that were left out, those of weight 0 aside.

        Parameters
        ----------
        classes : array (n_classes,)
        counts : str
        log_proba : float64 array (n, n_classes)
        own : index array (n,)
        weight : float64 array (n,)
        columns : mapping of str to sequence
            The values of the rows in each column that sets may be within.
        """
        kept = np.flatnonzero(weight > 0.0)
        if len(kept) > MAX_SCORES:
            kept = np.sort(np.random.default_rng(0).permutation(kept)[:MAX_SCORES])
        values, places = [], []
        for column in columns.values():
            strings = texts_of([column[i] for i in kept.tolist()])
            place = {text: i for i, text in enumerate(dict.fromkeys(strings))}
            values.append(list(place))
            places.append(np.array([place[text] for text in strings], dtype=np.int64))
        score, mine = scores_of(log_proba[kept, own[kept]]), own[kept].astype(np.int64)
        return cls(classes, counts, score, mine, weight[kept], list(columns), values, places)

    def plain(self) -> tuple[dict[str, Any], Tree]:
        """Header and arrays of a model file."""
        header = {"classes": self.classes, "counts": self.counts}
        header |= {"columns": self.columns, "values": self.values}
        tree = {"score": self.score, "own": self.own, "weight": self.weight}
        return header, {**tree, "place": self.places}

    @classmethod
    def restored(cls, header: Any, tree: Any) -> Scores:
        """The inverse of :meth:`plain`; raises Unfit."""
        need(isinstance(header, dict) and isinstance(tree, dict), "scores are a dict")
        columns, tree = fit(list[str], header.get("columns"), "scores.columns"), dict(tree)
        places = numbered(tree, "place", len(columns), "scores")
        found: Scores = fit(cls, {**header, **tree, "places": places}, "scores")
        need(found.own.max(initial=-1) < len(found.classes), "scores are of classes that there are")
        for values, place in zip(found.values, found.places, strict=True):
            need(place.max(initial=-1) < len(values), "scores are of values that there are")
            need(len(set(values)) == len(values), "the values of scores differ")
        return found

    def p_values(
        self, scores: Array, classes: NDArray[Any], within: str | None, values: Sequence[Any]
    ) -> Array:
        """The p-value of each class for rows with these scores, (n_rows, n_classes).

        Parameters
        ----------
        scores : float64 array (n_rows, n_classes)
        classes : array (n_classes,)
        within : str, optional
            "class", or a column; by default all rows are compared with each other.
        values : sequence (n_rows,)
            The values of the rows in that column; not read for others.
        """
        found = np.ones(scores.shape)  # where there is nothing to compare with, nothing is excluded
        asked: dict[str | None, list[int]] = {}
        for i, text in enumerate(texts_of(values)):
            asked.setdefault(text, []).append(i)
        for _, kept, key in self.groups(within, classes):
            cells: Any = slice(None) if within is None else (slice(None), key)
            if within not in (None, "class"):
                cells = np.array(asked.get(key, []), dtype=np.intp)
            found[cells] = self._shares(kept, scores[cells])
        return found

    def groups(self, within: str | None, classes: NDArray[Any]) -> list[tuple[str, Index, Any]]:
        """The kept rows that are compared with each other: what each group is called, its rows,
        and the place of its class or the text of its value."""
        if within is None:
            return [("the model", np.arange(len(self.score)), None)]
        if within == "class":
            place = {label: k for k, label in enumerate(self.classes.tolist())}
            rows = [np.flatnonzero(self.own == place.get(c, -1)) for c in classes.tolist()]
            names = [f"the class {label!r}" for label in classes.tolist()]
            return list(zip(names, rows, range(len(classes)), strict=True))
        j = self.columns.index(within)
        values, places = enumerate(self.values[j]), self.places[j]
        return [(f"{within} = {text!r}", np.flatnonzero(places == i), text) for i, text in values]

    def _shares(self, kept: Index, scores: Array) -> Array:
        """The share of the weight of kept rows whose scores are at least these, with one more."""
        if not len(kept):
            return np.ones(scores.shape)
        order = kept[np.argsort(self.score[kept], kind="stable")]
        weight = self.weight[order]
        above = np.append(np.cumsum(weight[::-1])[::-1], 0.0)
        one = one_row(weight)
        reached = above[np.searchsorted(self.score[order], scores, side="left")]
        return np.asarray((reached + one) / (above[0] + one))

    def warn_of_few(self, within: str | None, coverage: float, classes: NDArray[Any]) -> None:
        """Warns of a group of so few rows that no class can be excluded within it."""
        few = []
        for name, kept, _ in self.groups(within, classes):
            weight = self.weight[kept]
            one = one_row(weight)
            if one / (weight.sum() + one) > 1.0 - coverage + TOLERANCE:
                few.append((name, len(kept)))
        if few:
            name, n = few[0]
            more = f" (and {len(few) - 1} more have too few)" if len(few) > 1 else ""
            needed = int(np.ceil(coverage / (1.0 - coverage) - 1e-9))
            warn_user(
                f"{name} has {n} rows with scores{more}, and a coverage of {coverage:g} excludes "
                f"nothing with fewer than {needed}: ask for less coverage, or for sets within "
                "larger groups",
                RareClassWarning,
            )


def one_row(weight: Array) -> float:
    """The weight of one effective row among these."""
    total, squares = weight.sum(keepdims=True), (weight * weight).sum(keepdims=True)
    return float(effective_row_weight(total, squares)[0])


def scores_of(log_proba: Array) -> Array:
    """−log P, in nats: how odd a row is under each class."""
    return np.clip(-log_proba, 0.0, MAX_SCORE)


def texts_of(values: Iterable[Any]) -> list[str | None]:
    """The values of a column as a group is named: by their text; None for a missing value."""
    return [None if value is None else as_text(value) for value in values]


def in_set(p_values: Array, coverage: float) -> NDArray[np.bool_]:
    """Which classes are in the set, of p-values (n_rows, n_classes)."""
    return p_values > 1.0 - coverage + TOLERANCE


def need_coverage(coverage: Any) -> float:
    """A coverage between 0 and 1; ValueError for anything else."""
    try:
        found = float(coverage)
    except (TypeError, ValueError):
        found = np.nan
    if not 0.0 < found < 1.0:
        raise ValueError(
            f"coverage is a share of rows between 0 and 1, such as 0.95, got {shown(coverage)}: "
            "0 is the empty set, and 1 the set of all classes"
        )
    return found
