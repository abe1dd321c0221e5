"""examples/5: Gaussian naive Bayes on the wine."""

import numpy as np
import pytest
import scipy.stats
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB as Peer

from examples.running import pictures, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("elsewhere")


@pytest.fixture(scope="module")
def names(folder):
    return run(5, folder, folder / "made" / "for it")


def test_the_pictures_are_saved_where_one_says(names, folder):
    assert {path.name for path in folder.iterdir()} == {"made"}
    wanted = {"pairs", "joint", "prior", "alcohol", "contours", "regions"}
    assert {f"5-{name}.png" for name in wanted} <= pictures(folder / "made" / "for it")


def test_the_numbers(names):
    assert len(names["two"]) == 200
    assert names["two"].mean() == pytest.approx(0.884, abs=5e-4)
    assert names["worse"] == pytest.approx(0.63)
    assert names["same"] == pytest.approx(0.185)
    assert names["every"].mean() == pytest.approx(0.975, abs=5e-4)


def test_they_are_scikit_learns_too(names):
    x, y = names["rows"], names["y"]
    found = []
    for seed in range(200):
        a, b, c, d = train_test_split(x, y, test_size=0.2, random_state=seed)
        found.append(Peer().fit(a, c).score(b, d))
    np.testing.assert_allclose(names["two"], found)


def test_the_shapes_are_those_of_the_article(names):
    prior, conditional = names["prior"], names["conditional"]
    assert (prior.batch_shape, prior.event_shape) == ((), ())
    assert (conditional.batch_shape, conditional.event_shape) == ((3,), (2,))


def own_rows(names, label):
    return names["X_train"][names["y_train"] == label]


CLASSES = ["class_0", "class_1", "class_2"]


def test_pair_and_joint_plot_have_every_wine(names):
    pairs, joint = names["pairs"], names["joint"]
    assert pairs.axes_.shape == (5, 5)
    assert all(sum(len(p.get_offsets()) for p in of) == 178 for of in pairs.points_.values())
    assert [at.get_xlabel() for at in pairs.axes_[-1]] == names["FIVE"]
    for points, label in zip(joint.points_, CLASSES, strict=True):
        own = names["wine"].data.loc[names["growers"] == label, ["alcohol", "hue"]]
        np.testing.assert_array_equal(points.get_offsets(), own)


def test_bars_are_the_classes_of_the_training_rows(names):
    heights = [bar.get_height() for bar in names["bars"].bars_]
    np.testing.assert_allclose(heights, [(names["y_train"] == c).mean() for c in CLASSES])


def test_curves_and_contours_are_the_densities(names):
    for k, label in enumerate(CLASSES):
        own = own_rows(names, label)
        mean, sd = own.mean(), own.std(ddof=0)
        x, height = names["curves"].artists_[k].get_data()
        law = scipy.stats.norm(mean.alcohol, sd.alcohol)
        np.testing.assert_allclose(height, law.pdf(x), rtol=1e-5, atol=1e-12)
        both = scipy.stats.multivariate_normal(mean, np.diag(sd**2))
        contours = names["contours"].artists_[k]
        shares = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
        np.testing.assert_allclose(contours.levels, both.pdf(mean) * shares, rtol=0.01)
        for level, path in zip(contours.levels, contours.get_paths(), strict=True):
            np.testing.assert_allclose(both.pdf(path.vertices), level, rtol=0.03)
        points = names["contours"].points_[k]
        np.testing.assert_array_equal(points.get_offsets(), own)


def test_regions_are_predictions_and_hold_the_training_rows(names):
    display = names["regions"]
    across, up = np.meshgrid(display.x, display.y)
    peer = Peer().fit(names["X_train"].to_numpy(), names["y_train"])
    expected = peer.predict(np.column_stack([across.ravel(), up.ravel()]))
    assert (np.array(CLASSES)[np.ravel(display.mesh_.get_array())] == expected).all()
    for points, label in zip(display.points_, CLASSES, strict=True):
        np.testing.assert_array_equal(points.get_offsets(), own_rows(names, label))


def test_the_slip_changes_labels_and_costs_accuracy(names):
    assert names["changed"] == 69
    assert names["total"] == 7200
    assert (names["right"] != names["slipped"]).sum() == 7
    assert names["right_share"] == pytest.approx(0.932, abs=5e-4)
    assert names["slipped_share"] == pytest.approx(0.889, abs=5e-4)
    peer = Peer().fit(names["few"], names["labels"])
    scores = peer.predict_joint_log_proba(names["few"])
    scores += peer.class_prior_ - np.log(peer.class_prior_)
    np.testing.assert_array_equal(peer.classes_[scores.argmax(axis=1)], names["slipped"])


def test_neither_correlated_columns_nor_weights_help_here(names):
    assert names["together"].mean() == pytest.approx(0.880, abs=5e-4)
    assert names["weighted"].mean() == pytest.approx(names["two"][:40].mean(), abs=0.01)
    for k, label in enumerate(CLASSES):
        own = own_rows(names, label)
        law = scipy.stats.multivariate_normal(own.mean(), np.cov(own.T, ddof=0))
        contours = names["tilted"].artists_[k]
        shares = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
        np.testing.assert_allclose(contours.levels, law.pdf(own.mean()) * shares, rtol=0.02)
