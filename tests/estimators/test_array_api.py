"""Arrays of other libraries under scikit-learn's array API dispatch.

scikit-learn's own test of its GaussianNB runs in tests/peers. SciPy reads its switch when it is
imported, so the tests run in a process of their own.
"""

import json
import os
import subprocess
import sys

import pytest

PROGRAM = """
import warnings
warnings.simplefilter("error")
import numpy as np, array_api_strict as xp, sklearn
from tallybayes import (BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB,
                        NaiveBayes, WeightedNaiveBayes, cross_validate, leave_one_out)
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_array_api_input
warnings.simplefilter("ignore")

MODELS = [BernoulliNB(), CategoricalNB(), ComplementNB(), GaussianNB(), MultinomialNB(),
          NaiveBayes(), NaiveBayes(calibrate="isotonic"), WeightedNaiveBayes()]
rng = np.random.default_rng(0)
x = rng.poisson(2, (120, 4)).astype(float)
y = (x[:, 0] + rng.normal(size=120) > 2).astype(int)
w = rng.uniform(1, 2, 120)
"""

CASES = {
    "predictions are those of NumPy, in the library and on the device of the rows": """
sklearn.set_config(array_api_dispatch=True)
for device in ("CPU_DEVICE", "device1"):
    put = lambda a: xp.asarray(a, device=xp.Device(device))
    for model in MODELS:
        plain = sklearn.base.clone(model).fit(x, y, w)
        made = sklearn.base.clone(model).fit(put(x), put(y), put(w))
        for ask in ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"):
            got, want = getattr(made, ask)(put(x)), getattr(plain, ask)(x)
            assert type(got).__module__.startswith("array_api_strict"), (model, ask)
            assert str(got.device).count(device), (model, ask)
            back = np.asarray(xp.asarray(got, device=xp.Device("CPU_DEVICE")))
            assert np.array_equal(back, want), (model, ask)
        assert isinstance(made.predict(x), np.ndarray)
        assert made.score(put(x), put(y)) == plain.score(x, y)
""",
    "strings as labels come back as NumPy's": """
sklearn.set_config(array_api_dispatch=True)
labels = np.where(y > 0, "yes", "no")
for model in MODELS:
    predicted = model.fit(xp.asarray(x), labels).predict(xp.asarray(x))
    assert isinstance(predicted, np.ndarray) and set(predicted) <= {"yes", "no"}
""",
    "batches, forgetting and leaving out take them": """
sklearn.set_config(array_api_dispatch=True)
for model in MODELS:
    plain = sklearn.base.clone(model).fit(x, y)
    made = sklearn.base.clone(model).partial_fit(xp.asarray(x), xp.asarray(y), classes=[0, 1])
    a = leave_one_out(made, xp.asarray(x), xp.asarray(y))
    assert np.allclose(a, leave_one_out(plain, x, y))
    made.forget(xp.asarray(x[:9]), xp.asarray(y[:9]))
    assert np.allclose(np.asarray(made.class_count_), np.bincount(y[9:]))
made = GaussianNB().fit(x, y)
a = cross_validate(made, xp.asarray(x), xp.asarray(y))
assert np.array_equal(a, cross_validate(made, x, y))
""",
    "GaussianNB passes scikit-learn's checks of array API estimators": """
import inspect
by_name = "device_name" in inspect.signature(check_array_api_input).parameters
def on(device):  # before scikit-learn 1.9 it asks for the device itself
    return {"device_name": device} if by_name else {"device": xp.Device(device)}
check_array_api_input("GaussianNB", GaussianNB(), "array_api_strict", **on("CPU_DEVICE"),
                      dtype_name="float64", check_values=True)
check_array_api_input("GaussianNB", GaussianNB(), "array_api_strict", **on("device1"),
                      dtype_name="float32", check_values=True)
""",
    "a model is fitted again with NumPy, and survives pickling": """
import pickle
with sklearn.config_context(array_api_dispatch=True):
    model = GaussianNB().fit(xp.asarray(x), xp.asarray(y))
    assert type(pickle.loads(pickle.dumps(model)).theta_).__module__.startswith("array_api_strict")
    assert isinstance(model.fit(x, y).theta_, np.ndarray)
""",
    "without dispatch arrays are converted as scikit-learn converts them": """
for model in MODELS:
    predicted = model.fit(xp.asarray(x), xp.asarray(y)).predict(xp.asarray(x))
    assert isinstance(predicted, np.ndarray)
""",
}


EACH = """
import json, sys, traceback, warnings
report = {}
start, cases = json.load(sys.stdin)
for name, code in cases.items():
    with warnings.catch_warnings():
        try:
            exec(start, space := {})
            with space["sklearn"].config_context():
                exec(code, space)
            report[name] = ""
        except Exception:
            report[name] = traceback.format_exc()
print(json.dumps(report))
"""


@pytest.fixture(scope="module")
def report():
    """What went wrong in each case, each of names and settings of its own, in one process."""
    pytest.importorskip("array_api_strict", reason="in the test group of dependencies")
    done = subprocess.run(
        [sys.executable, "-c", EACH],
        input=json.dumps([PROGRAM, CASES]),
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("case", CASES)
def test_arrays_of_another_library(case, report):
    assert report[case] == ""
