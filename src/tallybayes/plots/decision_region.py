"""Which class is predicted where, over two columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes.distributions import Joint, ProductOfColumns
from tallybayes.plots.data import (
    Rows,
    View,
    class_codes,
    column_named,
    columns_named,
    joint_of,
    need_fitted,
    region_view,
    rows_and_codes,
)
from tallybayes.plots.shapes import draw_points
from tallybayes.plots.style import (
    RIGHT,
    legend,
    library,
    looks_of,
    name_places,
    need_axes,
    put_title,
)
from tallybayes.tables.columns import frame

__all__ = ["DecisionRegionDisplay"]


Array = NDArray[np.float64]

N_POINTS = 200  # of a grid, each way
WHITE_SHARE = 0.62  # how much of a region's colour is white


class DecisionRegionDisplay:
    """Regions of two columns, each in the colour of the class that is predicted there.

    Parameters
    ----------
    classes : array-like (n_classes,)
        The counts of the classes.
    views : tuple of two View
        What is drawn in each panel.
    x, y : float64 arrays (n_x,), (n_y,)
        Events; as ``log_prob`` takes them.
    regions : index array (n_y, n_x)
        The class at each place.
    rows : Rows, optional
        Rows to predict; as ``predict`` takes them.
    codes : index array (n_rows,), optional
        The class of each row.
    title : str
        What the other columns are held at.

    Attributes
    ----------
    ax_, figure_
        What it was drawn in.
    mesh_ : QuadMesh
        Its array is `regions`.
    points_ : list of PathCollection
        Of each class; empty without rows.
    legend_ : Legend
    """

    ax_: Any
    figure_: Any

    def __init__(
        self,
        *,
        classes: Any,
        views: Sequence[View],
        x: Array,
        y: Array,
        regions: NDArray[np.intp],
        rows: Rows | None = None,
        codes: NDArray[np.intp] | None = None,
        title: str = "",
    ) -> None:
        self.classes: NDArray[Any] = np.asarray(classes)
        self.views: tuple[View, ...] = tuple(views)
        self.x = x
        self.y = y
        self.regions = regions
        self.rows = rows
        self.codes = codes
        self.title = title

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : axes, optional
            New ones by default.

        Returns
        -------
        self
            The display, with ``figure_`` and ``axes_``.
        """
        ax = need_axes(ax)
        looks = looks_of(len(self.classes))
        pale = [tuple(WHITE_SHARE + (1.0 - WHITE_SHARE) * c for c in look.colour) for look in looks]
        colours = library("matplotlib.colors")
        self.mesh_: Any = ax.pcolormesh(
            self.x,
            self.y,
            self.regions,
            cmap=colours.ListedColormap(pale),
            norm=colours.NoNorm(0, max(1, len(pale) - 1)),
            shading="nearest",
            rasterized=True,
        )
        first, second = self.views
        self.points_: list[Any] = draw_points(ax, self.views, self.rows, self.codes, looks)
        patch, line = library("matplotlib.patches").Patch, library("matplotlib.lines").Line2D
        keys: list[Any] = [
            (
                patch(facecolor=colour),
                line([], [], color=look.colour, marker=look.marker, linestyle=""),
            )
            if self.points_
            else patch(facecolor=colour, edgecolor=look.colour)
            for colour, look in zip(pale, looks, strict=True)
        ]
        name_places(ax, "x", first, self.rows)
        name_places(ax, "y", second, self.rows)
        if self.title:
            put_title(ax, self.title)
        self.legend_: Any = legend(
            ax,
            keys,
            self.classes.tolist(),
            title="predicted",
            **RIGHT,
        )
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        columns: Any = None,
        X: Any = None,
        y: Any = None,
        *,
        held: Mapping[Any, Any] | None = None,
        points: int = N_POINTS,
        ax: Any = None,
    ) -> Self:
        """What a fitted classifier predicts over two columns.

        The columns that are neither drawn nor held are left out of the product, which sums over
        their values: the prediction is that for a row of which they are not known. Where no column
        is left out, regions are those of ``predict``, calibration included.

        Parameters
        ----------
        estimator : fitted classifier of this package
            A fitted model.
        columns : sequence of two, optional
            Names, or numbers, of columns; may be left out for a model of two.
        X : table or array (n_rows, n_columns), optional
            Rows to draw as points.
        y : array-like (n_rows,), optional
            Their classes; those that the estimator predicts by default.
        held : mapping, optional
            Values of other columns.
        points : int
            Of the grid, along each column of numbers.
        ax : axes, optional
            Where to draw; new axes unless given.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If it does not model p(x | class) and a column would have to be left out.
        ValueError
            For columns that are not there, not two, or both drawn and held.
        """
        question = _Question.of(estimator, columns, held)
        rows, codes = rows_and_codes(estimator, X, y, question.features, question.named)
        views = question.views(rows)
        grids = [view.grid(view.span(rows), points) for view in views]
        places = np.meshgrid(*grids)
        values: dict[Any, Any] = {
            view.name: view.values(at.ravel()) for view, at in zip(views, places, strict=True)
        }
        predicted = question.answer(values)
        _, regions = class_codes(predicted, len(predicted), estimator.classes_)
        return cls(
            classes=estimator.classes_,
            views=views,
            x=grids[0],
            y=grids[1],
            regions=regions.reshape(places[0].shape),
            rows=rows,
            codes=codes,
            title=question.title(),
        ).plot(ax)


class _Question(NamedTuple):
    """A question to an estimator.

    Parameters
    ----------
    estimator : fitted classifier
    joint : Joint or None
        p(x, y), where the estimator models it.
    features : list
        The columns that count.
    named : list of two
        Those that are drawn.
    held : dict
        Values of others.
    """

    estimator: Any
    joint: Joint | None
    features: list[Any]
    named: list[Any]
    held: dict[Any, Any]

    @classmethod
    def of(cls, estimator: Any, columns: Any, held: Mapping[Any, Any] | None) -> _Question:
        need_fitted(estimator)
        joint = joint_of(estimator) if hasattr(estimator, "joint_") else None
        features = joint.conditional.features if joint else _columns_of(estimator)
        named = columns_named(features, columns, 2)
        if len(named) != 2:
            raise ValueError(f"regions are drawn over two columns, got {columns!r}")
        fixed = {column_named(features, name): value for name, value in (held or {}).items()}
        for name in named:
            if name in fixed:
                raise ValueError(f"column {name!r} is both drawn and held: held= is for the others")
        question = cls(estimator, joint, features, named, fixed)
        if joint is None and question.left_out:
            raise TypeError(
                f"{type(estimator).__name__} does not model p(x | class): no column can be left "
                f"out. Give held= a value for each column but {named[0]!r} and {named[1]!r}"
            )
        return question

    @property
    def left_out(self) -> int:
        """How many columns are neither drawn nor held."""
        return len(self.features) - len(self.named) - len(self.held)

    def title(self) -> str:
        """What becomes of the columns that are not drawn."""
        parts = [f"{name} = {value}" for name, value in self.held.items()]
        if self.left_out:
            parts.append(f"{self.left_out} other column{'s' * (self.left_out > 1)} left out")
        return ", ".join(parts)

    def views(self, rows: Rows | None) -> list[View]:
        """The columns that are drawn."""
        conditional = self.joint.conditional if self.joint else None
        return [region_view(conditional, name, rows) for name in self.named]

    def answer(self, values: dict[Any, NDArray[Any]]) -> NDArray[Any]:
        """The class of each place; `values` are those of the columns that are drawn."""
        n = len(values[self.named[0]])
        values = values | {name: np.full(n, value) for name, value in self.held.items()}
        if self.left_out:
            assert self.joint is not None
            part = self.joint.marginal(list(values))
            return part.best_class(part.conditional.events(values))
        predicted: NDArray[Any] = self.estimator.predict(self._rows(values))
        return predicted

    def _rows(self, values: dict[Any, NDArray[Any]]) -> Any:
        """Rows for ``predict``."""
        if self.joint is not None and isinstance(self.joint.conditional, ProductOfColumns):
            return self.joint.conditional.events(values)
        if hasattr(self.estimator, "feature_names_in_"):
            return frame({name: values[name] for name in self.features})
        return np.column_stack([values[name] for name in self.features])


def _columns_of(estimator: Any) -> list[Any]:
    """The names of the columns, or else their numbers."""
    names = getattr(estimator, "feature_names_in_", None)
    return list(range(estimator.n_features_in_) if names is None else map(str, names))
