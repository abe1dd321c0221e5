"""p(x | class) of one column and of two; pair plots and joint plots."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.stats
from matplotlib.colors import to_rgb

from plots.cases import CLASSES, WINE, X, Y, table_model, wine
from tallybayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, NaiveBayes
from tallybayes.families import Binned, Categorical, Gaussian, Multinomial, Poisson, Smooth
from tallybayes.plots import ClassConditionalDisplay, JointPlot, PairPlot

draw = ClassConditionalDisplay.from_estimator


def strings(display):
    return [t.get_text() for t in display.legend_.get_texts()]


# ---- one column ----------------------------------------------------------------------------------
@pytest.mark.parametrize("column", ["alcohol", "hue", 1])
def test_gaussian_curves_are_scipys(column):
    display = draw(wine(), column)
    name = "hue" if column == 1 else column
    for line, label in zip(display.artists_, CLASSES, strict=True):
        own = X.loc[label == Y, name]
        law = scipy.stats.norm(own.mean(), own.std(ddof=0))
        x, height = line.get_data()
        np.testing.assert_allclose(height, law.pdf(x), rtol=1e-6)
        assert law.cdf(x[-1]) - law.cdf(x[0]) > 0.98
    assert strings(display) == CLASSES
    assert display.ax_.get_xlabel() == name
    assert display.ax_.get_ylabel() == f"p({name} | class)"
    assert display.rug_ == []


def test_heavy_tails_are_cut_where_the_classes_are_still_seen():
    rows, y = [[0.0], [1.0], [5.0], [6.5]], ["a", "a", "b", "b"]
    model = NaiveBayes({"0": Gaussian(estimate="posterior")}).fit(rows, y)
    display = draw(model, "0")
    law = model.class_conditional_["0"].frozen
    low, high = display.ax_.get_xlim()
    assert low < law.ppf(0.1).min() < law.ppf(0.9).max() < high
    assert high - low < 30 * (law.ppf(0.75) - law.ppf(0.25)).max()


def test_many_long_levels_have_labels_that_fit():
    names = [f"a level of a very long name, number {i}" for i in range(80)]
    frame = [{"w": name} for name in names * 2]
    display = draw(NaiveBayes({"w": Categorical()}).fit(frame, ["p"] * 80 + ["q"] * 80), "w")
    labels = [t.get_text() for t in display.ax_.get_xticklabels()]
    assert 20 < len(labels) < 60
    assert all(len(label) == 25 for label in labels)
    assert [len(bars) for bars in display.artists_] == [80, 80]


def test_the_rug_is_the_rows_of_each_class():
    display = draw(wine(), "hue", X, Y)
    for rug, label in zip(display.rug_, CLASSES, strict=True):
        at = [segment[0, 0] for segment in rug.get_segments()]
        np.testing.assert_array_equal(at, X.loc[label == Y, "hue"])
    colours = [to_rgb(rug.get_color()[0]) for rug in display.rug_]
    assert colours == [to_rgb(line.get_color()) for line in display.artists_]


def test_rows_without_labels_are_those_predicted():
    model = wine()
    display = draw(model, "hue", X)
    n = [len(rug.get_segments()) for rug in display.rug_]
    assert n == [(model.predict(X) == label).sum() for label in CLASSES]


def test_poisson_is_drawn_at_whole_numbers():
    model, frame, y = table_model()
    display = draw(model, "visits", frame, y)
    overall = frame.visits.mean()
    for line, label in zip(display.artists_, ["no", "yes"], strict=True):
        own = frame.visits[y == label]
        rate = (own.sum() + overall) / (len(own) + 1)
        x, height = line.get_data()
        assert (x == np.arange(len(x))).all()
        np.testing.assert_allclose(height, scipy.stats.poisson(rate).pmf(x), rtol=1e-10)


def test_a_negative_binomial_too():
    frame = [{"n": k} for k in (0, 1, 1, 2, 5, 9)]
    model = NaiveBayes({"n": Poisson(estimate="posterior")}).fit(frame, list("aaabbb"))
    display = draw(model, "n")
    frozen = model.class_conditional_["n"].frozen
    for k, line in enumerate(display.artists_):
        x, height = line.get_data()
        np.testing.assert_allclose(height, frozen.pmf(x[:, None])[:, k], rtol=1e-9)


def test_a_log_normal_has_no_density_below_zero():
    model, frame, y = table_model()
    display = draw(model, "pay", frame, y)
    for line, label in zip(display.artists_, ["no", "yes"], strict=True):
        logs = np.log(frame.pay[y == label])
        x, height = line.get_data()
        law = scipy.stats.lognorm(logs.std(ddof=0), scale=np.exp(logs.mean()))
        assert x[0] > 0.0
        np.testing.assert_allclose(height, law.pdf(x), rtol=1e-6)


def test_levels_are_bars_of_their_probabilities():
    model, frame, y = table_model()
    display = draw(model, "job", frame, y)
    names = [t.get_text() for t in display.ax_.get_xticklabels()]
    assert sorted(names) == ["artist", "engineer", "nurse"]
    for bars, label in zip(display.artists_, ["no", "yes"], strict=True):
        own = frame.job[(y == label) & frame.job.notna()]
        expected = [((own == name).sum() + 1) / (len(own) + 3) for name in names]
        np.testing.assert_allclose([bar.get_height() for bar in bars], expected, rtol=1e-12)
    drawn = [len(rug.get_segments()) for rug in display.rug_]
    assert sum(drawn) == frame.job.notna().sum()  # missing values are not drawn


@pytest.mark.parametrize("family", [Binned(bins=5), Smooth(bins=12)])
def test_bins_are_steps_of_their_probabilities(family):
    model = NaiveBayes({"hue": family}).fit(X[["hue"]], Y)
    display = draw(model, "hue", X[["hue"]], Y)
    law = model.class_conditional_["hue"].law
    assert display.ax_.get_ylabel() == "P(bin of hue | class)"
    for k, line in enumerate(display.artists_):
        x, height = line.get_data()
        bins = np.searchsorted(law.edges, x, side="right")
        np.testing.assert_allclose(height, law.probs[k, bins], rtol=1e-12)
        assert set(bins) == set(range(law.probs.shape[1]))  # every bin is drawn


def test_dates_are_dates():
    model, frame, y = table_model()
    display = draw(model, "since", frame, y)
    display.figure_.canvas.draw()
    assert any("2020" in t.get_text() for t in display.ax_.get_xticklabels())


def test_yes_no_features():
    rows, y = [[0, 1], [1, 1], [3, 0], [0, 0]], [0, 0, 1, 1]
    display = draw(BernoulliNB().fit(rows, y), 0, rows, y)
    assert [[b.get_height() for b in bars] for bars in display.artists_] == [[0.5, 0.5]] * 2
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == ["0", "1"]
    two = BernoulliNB(binarize=2.0).fit(rows, y)
    display = draw(two, 0, rows, y)
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == ["≤ 2", "> 2"]
    np.testing.assert_allclose([bars[1].get_height() for bars in display.artists_], [0.25, 0.5])


def test_categories_as_codes_and_declared():
    codes = CategoricalNB().fit([[0, 2], [1, 0], [1, 1]], ["a", "b", "b"])
    display = draw(codes, 0, [[0, 2], [1, 0], [1, 1]], ["a", "b", "b"])
    found = [[b.get_height() for b in bars] for bars in display.artists_]
    np.testing.assert_allclose(found, [[2 / 3, 1 / 3], [1 / 4, 3 / 4]])
    assert [len(rug.get_segments()) for rug in display.rug_] == [1, 2]
    weather = CategoricalNB(levels=[["sun", "rain"], ["calm", "wind"]])
    rows = [["sun", "calm"], ["rain", "wind"]]
    display = draw(weather.fit(rows, ["out", "in"]), 1, rows, ["out", "in"])
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == ["calm", "wind"]
    assert [len(rug.get_segments()) for rug in display.rug_] == [1, 1]


def test_counts_that_share_a_total_are_shares():
    rows, y = [[3, 1], [0, 2], [1, 4]], [0, 1, 1]
    model = MultinomialNB().fit(rows, y)
    expected = np.exp(model.feature_log_prob_[:, 0])
    display = draw(model, 0)
    np.testing.assert_allclose([bars[0].get_height() for bars in display.artists_], expected)
    frame = [{"a": r[0], "b": r[1]} for r in rows]
    group = NaiveBayes({("a", "b"): Multinomial()}).fit(frame, y)
    display = draw(group, "a")
    np.testing.assert_allclose([bars[0].get_height() for bars in display.artists_], expected)


# ---- two columns ---------------------------------------------------------------------------------
def test_contours_are_lines_of_equal_density():
    shares = [0.5, 0.1, 0.9]
    display = draw(wine(), ["alcohol", "hue"], X, Y, shares=shares)
    for contours, points, label in zip(display.artists_, display.points_, CLASSES, strict=True):
        own = X[label == Y]
        law = scipy.stats.multivariate_normal(own.mean(), np.diag(own.var(ddof=0)))
        peak = law.pdf(own.mean())
        np.testing.assert_allclose(contours.levels, peak * np.sort(shares), rtol=0.01)
        for level, path in zip(contours.levels, contours.get_paths(), strict=True):
            np.testing.assert_allclose(law.pdf(path.vertices), level, rtol=0.02)
            assert len(path.vertices) > 20
        np.testing.assert_array_equal(points.get_offsets(), own)
    assert strings(display) == CLASSES
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("alcohol", "hue")


def test_contours_of_a_table_leave_the_other_columns_out():
    model, frame, y = table_model()
    display = draw(model, ["pay", "size"], frame, y)
    heights = display.shape.heights
    x, z = display.shape.x, display.shape.y
    for k, label in enumerate(["no", "yes"]):
        logs, size = np.log(frame.pay[y == label]), frame["size"][y == label]
        pay = scipy.stats.lognorm(logs.std(ddof=0), scale=np.exp(logs.mean())).pdf(x)
        of_size = scipy.stats.norm(size.mean(), size.std(ddof=0)).pdf(z)
        np.testing.assert_allclose(heights[k], np.outer(of_size, pay), rtol=1e-6, atol=1e-12)


def test_contours_of_counts():
    model, frame, y = table_model()
    display = draw(model, ["pay", "visits"], frame, y)
    assert (display.shape.y == np.arange(len(display.shape.y))).all()
    assert display.ax_.get_ylim()[0] < 0.0


def test_it_is_drawn_where_one_says():
    _, axes = plt.subplots(1, 2)
    assert draw(wine(), "hue", ax=axes[1]).ax_ is axes[1]


def test_classes_differ_in_colour_and_in_line():
    lines = draw(wine(), "hue").artists_
    assert len({line.get_color() for line in lines}) == 3
    assert len({line.get_linestyle() for line in lines}) == 3


def test_the_legend_makes_way_for_many_classes_and_for_bars():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(90, 2)), np.arange(90) % 9
    levels = [{"level": f"level {i % 3}"} for i in range(90)]
    pictures = [
        ClassConditionalDisplay.from_estimator(NaiveBayes().fit(x, y), "0"),
        ClassConditionalDisplay.from_estimator(NaiveBayes().fit(x, y), ["0", "1"], x, y),
        ClassConditionalDisplay.from_estimator(NaiveBayes().fit(levels, y % 2), "level"),
    ]
    for display in pictures:
        display.figure_.canvas.draw()
        place = display.legend_.get_window_extent()
        assert not place.overlaps(display.ax_.get_window_extent())
        assert place.x1 <= display.figure_.bbox.x1 + 1


FIVE = ["alcohol", "alcalinity_of_ash", "flavanoids", "color_intensity", "hue"]


def offsets(points):
    return [np.asarray(p.get_offsets()) for p in points]


# ---- pairs ---------------------------------------------------------------------------------------
def test_every_pair_holds_the_rows():
    display = PairPlot.from_predictions(WINE.data, Y, columns=FIVE)
    assert display.axes_.shape == (5, 5)
    assert len(display.points_) == 20
    for (i, j), points in display.points_.items():
        for found, label in zip(offsets(points), CLASSES, strict=True):
            own = WINE.data.loc[label == Y, [FIVE[j], FIVE[i]]]
            np.testing.assert_array_equal(found, own)
    assert [at.get_xlabel() for at in display.axes_[-1]] == FIVE
    assert [at.get_ylabel() for at in display.axes_[:, 0]] == FIVE
    assert [t.get_text() for t in display.legend_.get_texts()] == CLASSES


def test_panels_of_a_column_share_its_range():
    display = PairPlot.from_predictions(WINE.data, Y, columns=FIVE[:3])
    for j in range(3):
        assert len({at.get_xlim() for at in display.axes_[:, j]}) == 1
        across = display.axes_[0, j].get_xlim()
        assert {display.axes_[j, i].get_ylim() for i in range(3) if i != j} == {across}


def test_without_a_model_the_diagonal_is_an_estimate():
    display = PairPlot.from_predictions(X, Y)
    for j, name in enumerate(X.columns):
        for line, label in zip(display.margins_[j], CLASSES, strict=True):
            x, height = line.get_data()
            kde = scipy.stats.gaussian_kde(X.loc[label == Y, name])
            np.testing.assert_allclose(height, kde(x), rtol=1e-6)


def test_with_a_model_it_is_what_was_fitted():
    display = PairPlot.from_estimator(wine(), X, Y)
    for j, name in enumerate(X.columns):
        for line, label in zip(display.margins_[j], CLASSES, strict=True):
            own = X.loc[label == Y, name]
            x, height = line.get_data()
            law = scipy.stats.norm(own.mean(), own.std(ddof=0))
            np.testing.assert_allclose(height, law.pdf(x), rtol=1e-9)


def test_a_table_with_levels_and_gaps():
    model, frame, y = table_model()
    display = PairPlot.from_estimator(model, frame, y, columns=["age", "visits", "job"])
    both = frame.age.notna() & frame.job.notna()
    assert sum(len(p) for p in offsets(display.points_[2, 0])) == both.sum()
    levels = [t.get_text() for t in display.axes_[2, 0].get_yticklabels()]
    for found, label in zip(offsets(display.points_[2, 0]), ["no", "yes"], strict=True):
        own = frame[both & (y == label)]
        np.testing.assert_array_equal(found[:, 0], own.age)
        assert [levels[k] for k in np.rint(found[:, 1]).astype(int)] == own.job.tolist()
    heights = [[bar.get_height() for bar in bars] for bars in display.margins_[2]]
    np.testing.assert_allclose(heights, model.class_conditional_["job"].probs)


def test_levels_without_a_model_are_shares():
    _, frame, y = table_model()
    display = PairPlot.from_predictions(frame, y, columns=["age", "job"])
    levels = [t.get_text() for t in display.axes_[1, 0].get_yticklabels()]
    for bars, label in zip(display.margins_[1], ["no", "yes"], strict=True):
        own = frame.job[(y == label) & frame.job.notna()]
        expected = [(own == level).mean() for level in levels]
        np.testing.assert_allclose([bar.get_height() for bar in bars], expected)


def test_arrays_have_numbers_for_names():
    rows = X.to_numpy()
    display = PairPlot.from_estimator(GaussianNB().fit(rows, Y), rows, Y)
    assert [at.get_xlabel() for at in display.axes_[-1]] == ["0", "1"]
    found = offsets(PairPlot.from_predictions(rows, Y, columns=[1, 0]).points_[1, 0])
    np.testing.assert_array_equal(
        np.concatenate(found)[:, 0], np.concatenate([rows[label == Y, 1] for label in CLASSES])
    )


def test_without_labels_they_are_predicted():
    model = wine()
    display = PairPlot.from_estimator(model, X)
    expected = [(model.predict(X) == label).sum() for label in CLASSES]
    assert [len(p) for p in offsets(display.points_[1, 0])] == expected


def test_a_class_of_one_row_or_of_no_spread_has_no_estimate():
    rows = [[0.0, 1.0], [1.0, 3.0], [2.0, 3.0], [2.0, 3.0]]
    display = PairPlot.from_predictions(rows, ["a", "a", "b", "b"])
    assert [len(margin) for margin in display.margins_] == [1, 1]
    alone = PairPlot.from_predictions([[1.0, 2.0]], ["a"])
    assert [len(margin) for margin in alone.margins_] == [0, 0]
    alone.figure_.canvas.draw()


def test_many_classes_leave_the_panels_room():
    rng = np.random.default_rng(0)
    display = PairPlot.from_predictions(rng.normal(size=(60, 2)), np.arange(60) % 12)
    display.figure_.canvas.draw()
    assert len(display.legend_.get_texts()) == 12
    heights = [at.get_position().height for at in display.axes_.ravel()]
    assert min(heights) > 0.35
    inside = display.legend_.get_window_extent()
    assert inside.x1 <= display.figure_.bbox.x1 + 1
    assert inside.x0 >= display.axes_[0, -1].get_window_extent().x1


def test_too_many_columns_are_refused():
    with pytest.raises(ValueError, match=r"13 columns are too many.*columns="):
        PairPlot.from_predictions(WINE.data, Y)


def test_they_take_the_place_of_axes():
    figure, axes = plt.subplots(1, 2)
    pair = PairPlot.from_estimator(wine(), X, Y, ax=axes[0])
    joint = JointPlot.from_estimator(wine(), X, Y, ax=axes[1])
    assert pair.figure_ is joint.figure_ is figure
    assert not axes[0].axison
    figure.canvas.draw()
    assert pair.axes_[0, -1].get_position().x1 < joint.ax_.get_position().x1
    loose = figure.add_axes((0.1, 0.1, 0.2, 0.2))
    with pytest.raises(ValueError, match=r"plt\.subplots"):
        PairPlot.from_estimator(wine(), X, Y, ax=loose)


# ---- joint ---------------------------------------------------------------------------------------
def test_a_joint_plot_has_the_rows_and_both_margins():
    display = JointPlot.from_estimator(wine(), X, Y)
    for k, label in enumerate(CLASSES):
        own = X[label == Y]
        np.testing.assert_array_equal(display.points_[k].get_offsets(), own)
        x, height = display.margin_x_[k].get_data()
        law = scipy.stats.norm(own.alcohol.mean(), own.alcohol.std(ddof=0))
        np.testing.assert_allclose(height, law.pdf(x), rtol=1e-9)
        height, z = display.margin_y_[k].get_data()
        law = scipy.stats.norm(own.hue.mean(), own.hue.std(ddof=0))
        np.testing.assert_allclose(height, law.pdf(z), rtol=1e-9)
    assert display.ax_.get_xlim() == display.ax_x_.get_xlim()
    assert display.ax_.get_ylim() == display.ax_y_.get_ylim()


def test_a_joint_plot_of_rows_alone():
    display = JointPlot.from_predictions(WINE.data, Y, columns=["alcohol", "hue"])
    height, z = display.margin_y_[0].get_data()
    kde = scipy.stats.gaussian_kde(X.loc[CLASSES[0] == Y, "hue"])
    np.testing.assert_allclose(height, kde(z), rtol=1e-6)


def test_a_joint_plot_with_levels():
    model, frame, y = table_model()
    display = JointPlot.from_estimator(model, frame, y, columns=["age", "job"])
    widths = [[bar.get_width() for bar in bars] for bars in display.margin_y_]
    np.testing.assert_allclose(widths, model.class_conditional_["job"].probs)


def test_a_joint_plot_is_of_two_columns():
    with pytest.raises(ValueError, match=r"two columns, got.*hue"):
        JointPlot.from_estimator(wine(), X, Y, columns="hue")
    with pytest.raises(ValueError, match=r"too many.*name 2"):
        JointPlot.from_predictions(WINE.data, Y)
