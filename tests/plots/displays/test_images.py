"""Pictures beside small ones that were looked at, without their strings: fonts differ.

After a change that is meant, write them anew, and look at them:
``PYTHONPATH=tests python -m plots.displays.test_images``.
"""

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.text import Text

from plots.cases import WINE, X, Y, table, table_model, wine
from tallybayes.families import Beta
from tallybayes.plots import (
    ClassConditionalDisplay,
    DecisionRegionDisplay,
    JointPlot,
    NomogramDisplay,
    PairPlot,
    PosteriorDisplay,
    PriorDisplay,
    WaterfallDisplay,
)

BASELINES = Path(__file__).with_name("baselines")
MOST = 8.0  # root mean square of the difference, of 255
INCHES, DPI = (3.2, 2.4), 80


def levels():
    model, frame, y = table_model()
    return ClassConditionalDisplay.from_estimator(model, "job", frame, y)


def counts():
    model, frame, y = table_model()
    return ClassConditionalDisplay.from_estimator(model, "visits", frame, y)


PICTURES = {
    "prior": lambda: PriorDisplay.from_estimator(wine()),
    "density": lambda: ClassConditionalDisplay.from_estimator(wine(), "hue", X, Y),
    "levels": levels,
    "counts": counts,
    "contours": lambda: ClassConditionalDisplay.from_estimator(wine(), ["alcohol", "hue"], X, Y),
    "regions": lambda: DecisionRegionDisplay.from_estimator(wine(), X=X, y=Y),
    "pairs": lambda: PairPlot.from_predictions(WINE.data, Y, columns=["alcohol", "hue", "ash"]),
    "joint": lambda: JointPlot.from_estimator(wine(), X, Y),
    "waterfall": lambda: WaterfallDisplay.from_estimator(table_model()[0], table()[0].iloc[[20]]),
    "nomogram": lambda: NomogramDisplay.from_estimator(table_model()[0]),
    "posterior": lambda: PosteriorDisplay.from_counts(Beta.from_mode(0.5, 4), (3, 7)),
}


def picture(name):
    """A Display as pixels (height, width, 3), without strings, ticks and legends."""
    figure = PICTURES[name]().figure_
    for ax in figure.axes:
        ax.tick_params(labelbottom=False, labelleft=False, length=0)
        if ax.get_legend() is not None:
            ax.get_legend().remove()
    for text in figure.findobj(Text):
        text.set_visible(False)
    figure.set_layout_engine("none")
    figure.set_size_inches(*INCHES)
    figure.set_dpi(DPI)
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[:, :, :3].copy()


def apart(a, b):
    return float(np.sqrt(np.mean((a.astype(float) - b.astype(float)) ** 2)))


def baseline(name):
    pixels = plt.imread(BASELINES / f"{name}.png")[:, :, :3]
    return np.rint(pixels * 255.0)


@pytest.mark.skipif(
    mpl.__version_info__ < (3, 11), reason="older matplotlib draws lines and strings otherwise"
)
@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_the_one_that_was_looked_at(name):
    assert apart(picture(name), baseline(name)) < MOST


def test_the_tolerance_tells_pictures_apart():
    names = list(PICTURES)
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            assert apart(baseline(one), baseline(other)) > 2.0 * MOST, (one, other)


if __name__ == "__main__":
    mpl.use("Agg")
    for name in PICTURES:
        mpl.rcdefaults()
        mpl.use("Agg")
        plt.imsave(BASELINES / f"{name}.png", picture(name))
        plt.close("all")
