"""Pipelines of scikit-learn that end with one of our classifiers, by sklearn-onnx."""

import numpy as np
import onnxruntime
import pandas as pd
import pytest
import skl2onnx
from skl2onnx.common.data_types import (
    DoubleTensorType,
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
)
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

import tallybayes
from tallybayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    WeightedNaiveBayes,
)
from tallybayes.estimators.sklearn_onnx import CLASSIFIERS

OPSET = {"": 18, "ai.onnx.ml": 3}


@pytest.fixture(autouse=True, scope="module")
def _registered():
    tallybayes.register_sklearn_onnx()


def rows(n=300, dtype=np.float32):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    return rng.normal(y[:, None], 1.0, (n, 5)).astype(dtype), y


def run(written, feed):
    return onnxruntime.InferenceSession(written.SerializeToString()).run(None, feed)


MODELS = [
    GaussianNB(),
    BernoulliNB(),
    NaiveBayes(),
    NaiveBayes(calibrate="isotonic"),
    WeightedNaiveBayes(parts=1),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize(
    ("kind", "dtype", "atol"),
    [(FloatTensorType, np.float32, 1e-6), (DoubleTensorType, np.float64, 1e-12)],
    ids=["float32", "float64"],
)
def test_a_classifier_on_numbers(model, kind, dtype, atol):
    x, y = rows(dtype=dtype)
    model = model.fit(x, y)
    written = skl2onnx.to_onnx(
        model,
        initial_types=[("in", kind([None, 5]))],
        target_opset=OPSET,
        options={"zipmap": False},
    )
    label, proba = run(written, {"in": x})
    assert proba.dtype == dtype
    assert label.tolist() == model.predict(x).tolist()
    np.testing.assert_allclose(proba, model.predict_proba(x), rtol=0, atol=atol)


@pytest.mark.parametrize(
    "classifier",
    [MultinomialNB(), ComplementNB(), BernoulliNB(binarize=0.5), GaussianNB()],
    ids=str,
)
def test_a_pipeline_after_a_scaler(classifier):
    x, y = rows()
    scaler = StandardScaler() if isinstance(classifier, GaussianNB) else MinMaxScaler()
    model = make_pipeline(scaler, classifier).fit(x, y)
    written = skl2onnx.to_onnx(model, x[:1], target_opset=OPSET, options={"zipmap": False})
    label, proba = run(written, {"X": x})
    assert (label == model.predict(x)).mean() > 0.99
    np.testing.assert_allclose(proba, model.predict_proba(x), rtol=0, atol=3e-5)


def test_intervals_of_numbers_after_a_scaler_take_float64():
    x, y = rows(dtype=np.float64)  # of which float32 may be in the next interval
    model = make_pipeline(StandardScaler(), NaiveBayes()).fit(x, y)
    written = skl2onnx.to_onnx(model, x[:1], target_opset=OPSET, options={"zipmap": False})
    label, proba = run(written, {"X": x})
    assert label.tolist() == model.predict(x).tolist()
    np.testing.assert_allclose(proba, model.predict_proba(x), rtol=0, atol=1e-9)


def test_maps_of_probabilities_by_label():
    x, y = rows()
    names = np.array(["a", "b", "c"])[y]
    model = make_pipeline(StandardScaler(), GaussianNB()).fit(x, names)
    _, maps = run(skl2onnx.to_onnx(model, x[:1], target_opset=OPSET), {"X": x})
    assert [*maps[0]] == ["a", "b", "c"]
    found = np.array([[*row.values()] for row in maps])
    np.testing.assert_allclose(found, model.predict_proba(x), rtol=0, atol=3e-5)


@pytest.mark.parametrize("labels", [bool, float, np.int32])
@pytest.mark.parametrize("zipmap", [True, False, "columns"])
def test_labels_that_are_whole_numbers(labels, zipmap):
    x, y = rows(50)
    model = GaussianNB().fit(x, (y > 0).astype(labels))
    options = {"zipmap": zipmap}
    label, *_ = run(skl2onnx.to_onnx(model, x[:1], target_opset=OPSET, options=options), {"X": x})
    assert label.dtype == np.int64
    assert (label == model.predict(x)).all()


def frame(n=300):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, n)
    city = np.array(["Bern", "Oslo", "Lima"])[(y + rng.integers(0, 2, n)) % 3]
    return pd.DataFrame(
        {"age": rng.normal(y, 1.0), "city": city, "rooms": rng.integers(0, 4, n)}
    ), y


TYPES = [
    ("age", FloatTensorType([None, 1])),
    ("city", StringTensorType([None, 1])),
    ("rooms", Int64TensorType([None, 1])),
]


def fed(x):
    return {
        "age": x[["age"]].to_numpy(np.float32),
        "city": x[["city"]].to_numpy(object),
        "rooms": x[["rooms"]].to_numpy(np.int64),
    }


@pytest.mark.parametrize("model", [NaiveBayes(), WeightedNaiveBayes(parts=1)], ids=str)
def test_columns_of_a_table_are_inputs(model):
    x, y = frame()
    x["age"] = x["age"].astype(np.float32)
    model.fit(x, y)
    written = skl2onnx.convert_sklearn(
        model, initial_types=TYPES, target_opset=OPSET, options={"zipmap": False}
    )
    label, proba = run(written, fed(x))
    assert label.tolist() == model.predict(x).tolist()
    np.testing.assert_allclose(proba, model.predict_proba(x), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("encoder", "classifier"),
    [(OneHotEncoder(), BernoulliNB()), (OrdinalEncoder(), CategoricalNB())],
    ids=["one-hot", "ordinal"],
)
def test_encoded_columns_of_a_table(encoder, classifier):
    x, y = frame()
    encode = ColumnTransformer([("of", encoder, ["city", "rooms"])], sparse_threshold=0.0)
    model = make_pipeline(encode, classifier).fit(x, y)
    written = skl2onnx.convert_sklearn(
        model, initial_types=TYPES[1:], target_opset=OPSET, options={"zipmap": False}
    )
    feed = fed(x)
    del feed["age"]
    label, proba = run(written, feed)
    assert label.tolist() == model.predict(x).tolist()
    np.testing.assert_allclose(proba, model.predict_proba(x), rtol=0, atol=1e-6)


def test_what_cannot_be_converted():
    x, y = rows()
    model = GaussianNB().fit(x, y)
    with pytest.raises(ValueError, match=r"target_opset=15: a GaussianNB needs 18 of ai\.onnx"):
        skl2onnx.to_onnx(model, x[:1], target_opset=15)
    types = [("in", FloatTensorType([None, 4]))]
    with pytest.raises(ValueError, match="the GaussianNB reads 5 columns, and the"):
        skl2onnx.convert_sklearn(model, initial_types=types, target_opset=OPSET)
    assert len(CLASSIFIERS) == 7
