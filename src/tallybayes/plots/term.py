"""What the cells of a column, or of a pair of columns, add in a weighted model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tallybayes.errors import shown
from tallybayes.models.weighted import WeightedModel, cell_labels
from tallybayes.plots.data import need_fitted
from tallybayes.plots.shapes import bars_from_above, need_count
from tallybayes.plots.style import (
    drawable_ticks,
    legend,
    looks_of,
    name_axis,
    need_axes,
    put_title,
)
from tallybayes.readable import plain
from tallybayes.reporting.columns import MAX_NATS, against_others

__all__ = ["TermDisplay", "WeightsDisplay"]


Array = NDArray[np.float64]

MAX_BARS = 60  # cells of a column that have bars
MAX_NUMBER_BARS = 16  # cells of numbers that have bars; more are drawn as steps
MAX_LINES = 6  # cells of no numbers beside steps
MAX_WRITTEN_CELLS = 150  # cells of a pair that have their number in them
CELL_SIZE = 0.55  # inches
MAX_ACROSS, MAX_DOWN = 24, 40  # cells of a pair that make the figure larger and have a name each


class TermDisplay:
    """The contribution of each cell of a term to the score of a class against the others.

    Parameters
    ----------
    label : label
        The class.
    columns : sequence of one or two str
        The column, or the pair.
    cells : sequence of one or two lists of str
        The cells of each column, in words.
    nats : array-like (n_cells,) or (n_cells, n_other_cells)
        What a cell adds to the class, less the mean of what it adds to the others.
    starts : array-like (n_numbers − 1,), optional
        For a column whose first cells hold numbers: where each cell but the first begins.

    Attributes
    ----------
    ax_, figure_
        What it was drawn in.
    bars_ : list of Rectangle
        Of a column of few cells: a bar for each.
    steps_ : StepPatch
        Of a column of many cells of numbers: what a number adds.
    lines_ : list of Line2D
        Beside the steps: what a missing value, or a string, adds.
    image_ : AxesImage
        Of a pair: the first column from top to bottom, the second from left to right.
    numbers_ : list of Text
        Of a pair of few cells: the number in each.
    """

    legend_: Any
    ax_: Any
    figure_: Any
    bars_: list[Any]

    def __init__(
        self,
        *,
        label: Any,
        columns: Sequence[str],
        cells: Sequence[Sequence[str]],
        nats: ArrayLike,
        starts: ArrayLike | None = None,
    ) -> None:
        self.label = label
        self.columns: tuple[str, ...] = tuple(columns)
        self.cells: list[list[str]] = [list(words) for words in cells]
        self.nats: Array = np.asarray(nats, dtype=np.float64)
        self.starts: Array = np.asarray([] if starts is None else starts, dtype=np.float64)
        shape = tuple(len(words) for words in self.cells)
        if len(self.columns) not in (1, 2) or self.nats.shape != shape or not self.nats.size:
            raise ValueError(
                "a term is of one or two columns with a number for each cell, got the columns "
                f"{self.columns}, cells of the shape {shape} and numbers of {self.nats.shape}"
            )

    def plot(self, ax: Any = None) -> Self:
        """Draw the cells.

        Parameters
        ----------
        ax : axes, optional
            New ones by default.

        Returns
        -------
        self
            The display, with ``figure_`` and ``ax_``.
        """
        adds = f"added to {plain(self.label)} against the others, in nats"
        if len(self.columns) == 1 and len(self.starts) < MAX_NUMBER_BARS:
            ax = self._bars(ax)
            name_axis(ax, "x", adds)
        elif len(self.columns) == 1:
            ax = self._steps(need_axes(ax, (7.0, 4.2)))
            name_axis(ax, "x", plain(self.columns[0]))
            name_axis(ax, "y", adds)
        else:
            ax = self._image(ax, adds)
        put_title(ax, " × ".join(plain(name) for name in self.columns))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _bars(self, ax: Any) -> Any:
        favour, against = (look.colour for look in looks_of(2))
        order = np.arange(len(self.nats))
        if len(order) > MAX_BARS:  # those that add most, in their order
            order = np.sort(np.argsort(-np.abs(self.nats), kind="stable")[:MAX_BARS])
        values = self.nats[order]
        self.shown_: list[str] = [self.cells[0][i] for i in order.tolist()]
        colours = [favour if value >= 0.0 else against for value in values]
        words = [_signed(value) for value in values.tolist()]
        names = [plain(cell) for cell in self.shown_]
        ax, self.bars_ = bars_from_above(ax, names, values, words, colours)
        ax.axvline(0.0, color="0.25", linewidth=0.8)
        return ax

    def _steps(self, ax: Any) -> Any:
        """A step for each cell of numbers, and a line for each of the first other cells."""
        first, last = self.starts[0], self.starts[-1]
        room = 0.06 * (last - first)
        n = len(self.starts) + 1
        edges = [first - room, *self.starts, last + room]
        main, *others = looks_of(1 + min(MAX_LINES, len(self.nats) - n))
        self.steps_: Any = ax.stairs(
            self.nats[:n], edges, baseline=None, color=main.colour, linewidth=1.8
        )
        self.lines_: list[Any] = [
            ax.axhline(value, color=look.colour, linestyle="--", linewidth=1.2)
            for value, look in zip(self.nats[n:], others, strict=False)
        ]
        ax.axhline(0.0, color="0.25", linewidth=0.8, zorder=0)
        ax.set_xlim(edges[0], edges[-1])
        ax.spines[["top", "right"]].set_visible(False)
        names = [f"{plain(c)} {_signed(v)}" for c, v in zip(self.cells[0], self.nats, strict=True)]
        self.legend_ = legend(ax, self.lines_, names[n : n + MAX_LINES]) if self.lines_ else None
        return ax

    def _image(self, ax: Any, adds: str) -> Any:
        down, across = self.nats.shape
        if ax is None:
            ax = need_axes(
                None,
                (
                    3.4 + CELL_SIZE * min(across, MAX_ACROSS),
                    max(3.6, 1.9 + 0.6 * CELL_SIZE * min(down, MAX_DOWN)),
                ),
            )
        reach = float(np.abs(self.nats).max()) or 1.0
        self.image_: Any = ax.imshow(self.nats, cmap="RdBu", vmin=-reach, vmax=reach, aspect="auto")
        drawable_ticks(ax, "y", [plain(cell) for cell in self.cells[0]], MAX_DOWN)
        drawable_ticks(ax, "x", [plain(cell) for cell in self.cells[1]], MAX_ACROSS)
        ax.tick_params(axis="x", labelrotation=90 if max(map(len, self.cells[1])) > 4 else 0)
        name_axis(ax, "y", plain(self.columns[0]))
        name_axis(ax, "x", plain(self.columns[1]))
        bar = ax.figure.colorbar(self.image_, ax=ax)
        name_axis(bar.ax, "y", adds)
        self.numbers_: list[Any] = []
        if self.nats.size <= MAX_WRITTEN_CELLS:
            for (i, j), value in np.ndenumerate(self.nats):
                colour = "white" if abs(value) > 0.6 * reach else "black"
                text = ax.text(j, i, _signed(value), ha="center", va="center", fontsize=7)
                text.set_color(colour)
                self.numbers_.append(text)
        return ax

    @classmethod
    def from_estimator(
        cls, estimator: Any, column: Any, *, label: Any = None, ax: Any = None
    ) -> Self:
        """A column, a pair, or three columns of a weighted model.

        Parameters
        ----------
        estimator : fitted WeightedNaiveBayes
            A fitted model.
        column : str, or tuple of str
            A column, or one of ``interactions_`` in any order: the first column goes down, the
            others across.
        label : label, optional
            The class; the last one by default, which of two is the positive one.
        ax : axes, optional
            Where to draw; new axes unless given.

        Returns
        -------
        TermDisplay
            Drawn.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If it is not a WeightedNaiveBayes.
        ValueError
            For a column or pair that adds nothing or is not there, or a label that is not a class.
        """
        if not isinstance(need_fitted(estimator)._fitted(), WeightedModel):
            raise TypeError(
                "TermDisplay draws the cells of a WeightedNaiveBayes, got "
                f"{type(estimator).__name__}; ClassConditionalDisplay and NomogramDisplay draw its "
                "columns"
            )
        known = estimator.classes_.tolist()
        if label is not None and label not in known:
            raise ValueError(f"{shown(label)} is not a class of the model: name one of {known}")
        k = len(known) - 1 if label is None else known.index(label)
        columns, cells, table, starts = _cells_of(estimator._fitted(), column)
        nats = against_others(table)[:, k].reshape([len(words) for words in cells])
        if isinstance(column, tuple | list):
            order = [columns.index(name) for name in column]
            columns, cells = tuple(column), [cells[i] for i in order]
            nats = nats.transpose(order)
        if len(columns) > 2:  # the last ones share the second axis
            columns = columns[0], " × ".join(columns[1:])
            cells = [cells[0], [" × ".join(words) for words in product(*cells[1:])]]
            nats = nats.reshape(len(nats), -1)
        return cls(label=known[k], columns=columns, cells=cells, nats=nats, starts=starts).plot(ax)


def _cells_of(
    model: Any, wanted: Any
) -> tuple[tuple[str, ...], list[list[str]], Array, Array | None]:
    """The columns of a term, their cells in words, what each cell adds, (n_cells, n_classes), and
    where cells of numbers begin."""
    requested, names = tuple(wanted) if isinstance(wanted, tuple | list) else (wanted,), []
    for term in model.score.terms():
        columns = term.columns
        names.append(columns if len(columns) > 1 else columns[0])
        if len(columns) != len(requested) or set(columns) != set(requested):
            continue
        if len(columns) > 1:
            return columns, model.words_of_pair(columns), term.scores.T, None
        column = next(c for c in model.score.columns if c.name == columns[0])
        order = [*range(1, column.n_cells), 0]  # the missing value last
        starts = column.starts if column.is_number else None
        return columns, [cell_labels(column, model.date_columns)], term.scores.T[order], starts
    raise ValueError(
        f"no term {wanted!r} adds to the score; those that do are {names[:20]}"
        f"{', …' if len(names) > 20 else ''}"
    )


def _signed(value: float) -> str:
    if abs(value) >= MAX_NATS:
        return "∞" if value > 0.0 else "−∞"
    return f"{value:+.2f}".replace("-", "−")


# ---- the weights of a weighted model -------------------------------------------------------------
class WeightsDisplay:
    """How much each column and pair of a weighted model counts.

    Parameters
    ----------
    terms : sequence of str
        Columns, and pairs of them.
    weights : array-like (n_terms,)
        1 as in plain naive Bayes, 0 for a term that adds nothing.

    Attributes
    ----------
    ax_, figure_
        What it was drawn in.
    shown_ : list of str
        The terms that are drawn, the largest weights first.
    bars_ : list of Rectangle
        A bar each.
    """

    ax_: Any
    figure_: Any
    bars_: list[Any]

    def __init__(self, *, terms: Sequence[str], weights: ArrayLike) -> None:
        self.terms: list[str] = list(terms)
        self.weights: NDArray[np.float64] = np.asarray(weights, dtype=np.float64)
        if self.weights.shape != (len(self.terms),):
            raise ValueError(
                f"weights have the shape {self.weights.shape} for {len(self.terms)} terms: give a "
                "number for each"
            )

    def plot(self, ax: Any = None, *, max_display: int = 25) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : axes, optional
            New ones by default.
        max_display : int, default=25
            How many terms are drawn, those with the largest weights.

        Returns
        -------
        self
            The display, with ``figure_`` and ``ax_``.
        """
        shown = need_count("max_display", max_display)
        order = np.argsort(-self.weights, kind="stable")[:shown].tolist()
        self.shown_: list[str] = [self.terms[t] for t in order]
        names = [" × ".join(plain(p) for p in term.split(" × ")) for term in self.shown_]
        weights = self.weights[order]
        ax, self.bars_ = bars_from_above(
            ax, names, weights, [f"{w:.2f}" for w in weights], looks_of(1)[0].colour
        )
        ax.axvline(1.0, color="0.6", linestyle=":", linewidth=1, zorder=0)
        hidden = len(self.terms) - len(order)
        more = f" ({hidden} smaller ones are not shown)" if hidden else ""
        name_axis(ax, "x", f"weight; 1 is naive Bayes{more}")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(cls, estimator: Any, *, max_display: int = 25, ax: Any = None) -> Self:
        """The weights of a fitted model.

        Parameters
        ----------
        estimator : fitted WeightedNaiveBayes
            A fitted model.
        max_display : int, default=25
            How many terms are drawn.
        ax : axes, optional
            Where to draw; new axes unless given.

        Returns
        -------
        WeightsDisplay
            Drawn.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If it has no weights.
        """
        if not isinstance(need_fitted(estimator)._fitted(), WeightedModel):
            raise TypeError(f"WeightedNaiveBayes has weights, {type(estimator).__name__} has none")
        held = estimator.weights_
        terms, weights = list(held["term"]), np.asarray(held["weight"], dtype=np.float64)
        return cls(terms=[str(term) for term in terms], weights=weights).plot(
            ax, max_display=max_display
        )
