"""Which class is predicted where, over two columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes.distributions import ProductOfColumns
from tallybayes.estimators.frames import frame
from tallybayes.plots.asking import (
    column_named,
    columns_named,
    columns_trained,
    joint_of,
    need_fitted,
)
from tallybayes.plots.class_conditional import name_places
from tallybayes.plots.libraries import library
from tallybayes.plots.rows import Rows, class_codes, read_rows
from tallybayes.plots.shapes import draw_points
from tallybayes.plots.style import legend, looks_of, need_axes, put_title
from tallybayes.plots.views import View, events_of, number_view

__all__ = ["DecisionRegionDisplay"]

Array = NDArray[np.float64]

POINTS = 200  # of a grid, each way
PALE = 0.62  # how much of a region's colour is white


class DecisionRegionDisplay:
    """Regions of two columns, each in the colour of the class that is predicted there.

    Parameters
    ----------
    classes : array-like (n_classes,)
    views : tuple of two View
    x, y : float64 arrays (n_x,), (n_y,)
    regions : index array (n_y, n_x)
        The class at each place.
    rows : Rows, optional
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
        self.classes = np.asarray(classes)
        self.views = tuple(views)
        self.x = x
        self.y = y
        self.regions = regions
        self.rows = rows
        self.codes = codes
        self.title = title

    def plot(self, ax: Any = None) -> Self:
        """Draws it.

        Parameters
        ----------
        ax : axes, optional
            New ones by default.
        """
        ax = need_axes(ax)
        looks = looks_of(len(self.classes))
        pale = [tuple(PALE + (1.0 - PALE) * c for c in look.colour) for look in looks]
        colours = library("matplotlib.colors")
        self.mesh_ = ax.pcolormesh(
            self.x,
            self.y,
            self.regions,
            cmap=colours.ListedColormap(pale),
            norm=colours.NoNorm(0, max(1, len(pale) - 1)),
            shading="nearest",
            rasterized=True,
        )
        self.points_: list[Any] = []
        first, second = self.views
        if self.rows is not None and self.codes is not None:
            self.points_ = draw_points(ax, (first, second), self.rows, self.codes, looks)
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
        self.legend_ = legend(
            ax,
            keys,
            self.classes.tolist(),
            title="predicted",
            loc="upper left",
            bbox_to_anchor=(1.02, 1.0),
            borderaxespad=0.0,
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
        points: int = POINTS,
        ax: Any = None,
    ) -> Self:
        """What a fitted classifier predicts over two columns.

        The columns that are neither drawn nor held are left out of the product, which sums over
        their values: the prediction is that for a row of which they are not known. Where no column
        is left out, regions are what ``predict`` says, calibration included.

        Parameters
        ----------
        estimator : fitted classifier of this package
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

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If it does not model p(x | class) and a column would have to be left out.
        ValueError
            For columns that are not there, not two, or both drawn and held.
        """
        need_fitted(estimator)
        joint = joint_of(estimator) if hasattr(estimator, "joint_") else None
        features = joint.conditional.features if joint else estimator._feature_labels()
        named = columns_named(features, columns, 2)
        if len(named) != 2:
            raise ValueError(f"regions are drawn over two columns, got {columns!r}")
        fixed = {column_named(features, name): value for name, value in (held or {}).items()}
        if set(fixed) & set(named):
            raise ValueError(
                f"column {next(iter(set(fixed) & set(named)))!r} is both drawn and held: held= is "
                "for the others"
            )
        whole = len(named) + len(fixed) == len(features)
        if joint is None and not whole:
            raise TypeError(
                f"{type(estimator).__name__} does not model p(x | class), so that no column can be "
                f"left out: give held= a value for each column but {named[0]!r} and {named[1]!r}"
            )
        rows = codes = None
        if X is not None:
            rows = read_rows(X, columns_trained(estimator, features), named)
            labels = estimator.predict(X) if y is None else y
            _, codes = class_codes(labels, rows.n_rows, estimator.classes_)
        elif y is not None:
            raise ValueError("y is of the rows of X: give X, too")
        views = [number_view(joint.conditional if joint else None, name) for name in named]
        grids = [view.grid(view.span(rows), points) for view in views]
        places = np.meshgrid(*grids)
        values: dict[Any, Any] = {
            view.name: view.values(at.ravel()) for view, at in zip(views, places, strict=True)
        }
        values |= {name: np.full(places[0].size, value) for name, value in fixed.items()}
        if whole:
            predicted = estimator.predict(_rows_of(estimator, joint, features, values))
        else:
            assert joint is not None
            part = joint.marginal(list(values))
            predicted = part.best_class(events_of(part.conditional, values))
        _, regions = class_codes(predicted, len(predicted), estimator.classes_)
        left_out = len(features) - len(values)
        said = [f"{name} = {value}" for name, value in fixed.items()]
        if left_out:
            said.append(f"{left_out} other column{'s' if left_out > 1 else ''} left out")
        return cls(
            classes=estimator.classes_,
            views=views,
            x=grids[0],
            y=grids[1],
            regions=regions.reshape(places[0].shape),
            rows=rows,
            codes=codes,
            title=", ".join(said),
        ).plot(ax)


def _rows_of(estimator: Any, joint: Any, features: Sequence[Any], values: dict[Any, Any]) -> Any:
    """Rows for ``predict``."""
    if joint is not None and isinstance(joint.conditional, ProductOfColumns):
        return events_of(joint.conditional, values)
    if hasattr(estimator, "feature_names_in_"):
        return frame({name: values[name] for name in features})
    return np.column_stack([values[name] for name in features])
