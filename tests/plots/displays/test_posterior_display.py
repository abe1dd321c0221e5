"""Beliefs about a parameter, and the class prior."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from plots.cases import CLASSES, Y, table_model, wine
from tallybayes import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB, NaiveBayes
from tallybayes.families import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gamma,
    NormalInverseGamma,
    Poisson,
)
from tallybayes.plots import PosteriorDisplay, PriorDisplay

draw = PosteriorDisplay.from_estimator


def names(display):
    return [t.get_text() for t in display.legend_.get_texts()]


# ---- counts --------------------------------------------------------------------------------------
def test_a_coin():
    display = PosteriorDisplay.from_counts(Beta.from_mode(0.5, 4), (3, 7))
    for line, (a, b) in [
        (display.prior_, (3, 3)),
        (display.likelihood_, (4, 8)),
        (display.posteriors_[0], (6, 10)),
    ]:
        x, height = line.get_data()
        np.testing.assert_allclose(height, scipy.stats.beta(a, b).pdf(x), rtol=1e-10, atol=1e-12)
    marks = [line.get_xdata()[0] for line in display.estimates_]
    np.testing.assert_allclose(marks, [3 / 10, (3 + 2) / (10 + 4), 6 / 16])
    assert names(display) == [
        "prior",
        "likelihood",
        "posterior",
        "MLE 0.3",
        "MAP 0.357",
        "mean 0.375",
    ]


def test_a_rate():
    display = PosteriorDisplay.from_counts(Gamma(2, 1), (7, 2), parameter="λ")
    x, height = display.posteriors_[0].get_data()
    np.testing.assert_allclose(height, scipy.stats.gamma(9, scale=1 / 3).pdf(x), rtol=1e-10)
    marks = [line.get_xdata()[0] for line in display.estimates_]
    np.testing.assert_allclose(marks, [7 / 2, 8 / 3, 9 / 3])
    assert display.ax_.get_xlabel() == "λ"


def test_no_rows_leave_the_prior_and_no_maximum_likelihood():
    display = PosteriorDisplay.from_counts(Beta(2, 2), (0, 0))
    np.testing.assert_array_equal(display.posteriors_[0].get_ydata(), display.prior_.get_ydata())
    assert names(display)[3:] == ["MAP 0.5", "mean 0.5"]


def test_a_density_without_bound_is_drawn_where_it_has_a_height():
    display = PosteriorDisplay.from_counts(Beta(0.5, 0.5), (0, 3))
    height = display.prior_.get_ydata()
    assert np.isnan(height[[0, -1]]).all()
    assert np.isfinite(height[1:-1]).all()
    assert "MAP" not in " ".join(names(display))
    display.figure_.canvas.draw()


# ---- models --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"alpha": 0.3},
        {"columns": {"job": Categorical(prior=Dirichlet(4.0, "marginal"))}},
        {"columns": {"job": Categorical(prior=Dirichlet(5.0, [0.5, 0.3, 0.2]))}},
        {"missing": "level"},
    ],
)
def test_the_mean_of_a_level_is_the_models_estimate(settings):
    _, frame, y = table_model()
    columns = settings.pop("columns", "auto")
    model = NaiveBayes(columns, **settings).fit(frame[["job"]], y)
    for level in ("artist", "engineer", "nurse"):
        display = draw(model, "job", level)
        entries = model.class_conditional_.prob([{"job": level}])[0]
        means = [belief.mean for belief in display.posteriors.values()]
        np.testing.assert_allclose(means, entries, rtol=1e-10)
    assert display.ax_.get_xlabel() == "P(job = nurse | class)"


def test_the_mode_of_a_level_is_the_models_map_estimate():
    _, frame, y = table_model()
    model = NaiveBayes({"job": Categorical(alpha=2.0, prior=None, estimate="map")})
    display = draw(model.fit(frame[["job"]], y), "job", "artist")
    entries = model.class_conditional_.prob([{"job": "artist"}])[0]
    # of the Dirichlet of all three levels: that of one alone has its mode elsewhere
    modes = [(b.a - 1.0) / (b.a + b.b - 3.0) for b in display.posteriors.values()]
    np.testing.assert_allclose(modes, entries, rtol=1e-10)


def test_yes_and_no():
    rows, y = [{"b": v} for v in (True, False, True, True)], [0, 0, 1, 1]
    model = NaiveBayes({"b": Bernoulli(prior=Beta(2, 3))}).fit(rows, y)
    display = draw(model, "b", True)
    assert (display.prior.a, display.prior.b) == (2.0, 3.0)
    assert [(p.a, p.b) for p in display.posteriors.values()] == [(3.0, 4.0), (4.0, 3.0)]


@pytest.mark.parametrize("family", [Poisson(), Poisson(estimate="map"), Poisson(prior=Gamma(3, 2))])
def test_a_rate_of_a_table(family):
    _, frame, y = table_model()
    model = NaiveBayes({"visits": family}).fit(frame[["visits"]], y)
    display = draw(model, "visits")
    rates = model.class_conditional_["visits"].frozen.mean()
    point = "mode" if family.estimate == "map" else "mean"
    found = [getattr(belief, point) for belief in display.posteriors.values()]
    np.testing.assert_allclose(found, rates, rtol=1e-10)


def test_the_mean_of_a_gaussian():
    model, frame, y = table_model()
    display = draw(model, "age")
    for line, label in zip(display.posteriors_, ["no", "yes"], strict=True):
        own = frame.age[(y == label) & frame.age.notna()]
        n = len(own)
        squares = ((own - own.mean()) ** 2).sum()
        centre, strength = (40 + own.sum()) / (1 + n), 1 + n
        shape = 2 + n / 2
        scale = 100 + 0.5 * (squares + n / (n + 1) * (own.mean() - 40) ** 2)
        law = scipy.stats.t(2 * shape, centre, np.sqrt(scale / (shape * strength)))
        x, height = line.get_data()
        np.testing.assert_allclose(height, law.pdf(x), rtol=1e-8)
    assert names(display) == ["prior", "no", "yes"]


@given(
    mean=st.floats(-5, 5),
    strength=st.floats(0.1, 9),
    shape=st.floats(0.3, 9),
    scale=st.floats(0.1, 9),
)
def test_the_density_of_a_mean_is_student_t(mean, strength, shape, scale):
    x = np.linspace(-10, 10, 21)
    law = scipy.stats.t(2 * shape, mean, np.sqrt(scale / (shape * strength)))
    found = NormalInverseGamma(mean, strength, shape, scale).density_of_mean(x)
    np.testing.assert_allclose(found, law.pdf(x), rtol=1e-9)


# ---- what has no belief to draw ------------------------------------------------------------------
@pytest.mark.parametrize(
    ("column", "level", "said"),
    [
        ("size", None, "no proper prior.*NormalInverseGamma"),
        ("job", "king", "has the levels.*name one, got 'king'"),
        ("job", None, "name one"),
        ("visits", "2", "has no levels"),
        ("wage", None, "no column 'wage'"),
    ],
)
def test_what_cannot_be_drawn_says_why(column, level, said):
    model, _, _ = table_model()
    with pytest.raises(ValueError, match=said):
        draw(model, column, level)


def test_without_smoothing_there_is_no_prior():
    _, frame, y = table_model()
    with pytest.raises(ValueError, match=r"no proper prior.*alpha above 0"):
        draw(NaiveBayes(alpha=0.0).fit(frame[["job"]], y), "job", "nurse")


def test_other_kinds_are_refused():
    with pytest.raises(TypeError, match=r"NaiveBayes.*from_counts"):
        draw(wine(), "hue")
    with pytest.raises(TypeError, match="one kind"):
        PosteriorDisplay(prior=Beta(1, 1), posteriors={"after": Gamma(1, 1)})
    with pytest.raises(TypeError, match="a Beta or a Gamma, got Dirichlet"):
        PosteriorDisplay.from_counts(Dirichlet(2), (1, 2))
    with pytest.raises(ValueError, match="counts are two"):
        PosteriorDisplay.from_counts(Beta(1, 1), (1, 2, 3))
    with pytest.raises(ValueError, match=r"Beta\.updated"):
        PosteriorDisplay.from_counts(Beta(1, 1), (1, -2))


def heights(display):
    return [bar.get_height() for bar in display.bars_]


def test_bars_are_the_relative_frequencies():
    display = PriorDisplay.from_estimator(wine())
    np.testing.assert_allclose(heights(display), np.array([59, 71, 48]) / 178, rtol=1e-14)
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == CLASSES
    assert [t.get_text() for t in display.ax_.get_legend().get_texts()] == CLASSES
    assert display.figure_ is display.ax_.figure


def test_the_classes_of_labels_alone():
    display = PriorDisplay.from_predictions(Y)
    assert heights(display) == pytest.approx(heights(PriorDisplay.from_estimator(wine())))
    assert heights(PriorDisplay.from_predictions(["a"])) == [1.0]


def test_a_given_and_a_smoothed_prior():
    given = wine().with_class_prior([0.5, 0.25, 0.25])
    assert heights(PriorDisplay.from_estimator(given)) == pytest.approx([0.5, 0.25, 0.25])
    model, _, y = table_model(class_alpha=2.0)
    expected = [((y == c).sum() + 2) / (len(y) + 4) for c in ("no", "yes")]
    assert heights(PriorDisplay.from_estimator(model)) == pytest.approx(expected)


@pytest.mark.parametrize("estimator", [BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB])
def test_every_classifier_has_one(estimator):
    model = estimator().fit([[0, 1], [1, 0], [1, 1]], [0, 1, 1])
    assert heights(PriorDisplay.from_estimator(model)) == pytest.approx([1 / 3, 2 / 3])


def test_it_is_drawn_where_one_says_and_again():
    _, ax = plt.subplots()
    display = PriorDisplay.from_estimator(wine(), ax=ax, color="red")
    assert display.ax_ is ax
    assert {to_rgb(bar.get_facecolor()) for bar in display.bars_} == {(1.0, 0.0, 0.0)}
    before = display.ax_
    assert display.plot().ax_ is not before


def test_the_colours_of_classes_differ_also_when_there_are_many():
    for n in (2, 10, 25):
        bars = PriorDisplay.from_predictions(np.arange(n)).bars_
        assert len({bar.get_facecolor() for bar in bars}) == n


def covered(display):
    """Whether the legend lies over what is in the axes."""
    display.figure_.canvas.draw()
    legend = display.ax_.get_legend().get_window_extent()
    return legend.overlaps(display.ax_.get_window_extent())


@pytest.mark.parametrize("n", [1, 2, 10, 25])
def test_the_legend_covers_no_bar(n):
    assert not covered(PriorDisplay.from_predictions([f"class {i}" for i in range(n)]))


def test_long_names_are_cut_where_they_do_not_differ():
    start = "a class whose name is so long that it begins"
    display = PriorDisplay.from_predictions([f"{start} {i}" for i in (1, 2)])
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert len(set(names)) == 2
    assert all(len(name) <= 25 and "…" in name for name in names)
    assert not covered(display)
    display = PriorDisplay.from_predictions([f"{start}", f"other: {start}"])
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == [f"{start[:24]}…", f"other: {start[:17]}…"]
    assert display.ax_.get_window_extent().width > 0.4 * display.figure_.bbox.width
