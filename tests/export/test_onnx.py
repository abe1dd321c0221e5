"""Models in ONNX: their inputs and outputs, and what the format forbids."""

import numpy as np
import onnx
import onnxruntime
import pyarrow as pa
import pytest

from tallybayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, NaiveBayes
from tallybayes.export.tensors import OPSET
from tallybayes.families import Categorical

ROWS = pa.table({"wind": ["calm", "strong", None, "calm"], "sun": [1.0, 2.0, 5.0, None]})
Y = ["go", "stay", "go", "stay"]


def model_of(rows=ROWS, y=Y, **options):
    return NaiveBayes(**options).fit(rows, y)


def run(written, feed):
    return onnxruntime.InferenceSession(written.SerializeToString()).run(None, feed)


def test_columns_are_inputs_and_the_outputs_have_names():
    written = model_of().to_onnx()
    onnx.checker.check_model(written, full_check=True)
    kinds = {put.name: put.type.tensor_type.elem_type for put in written.graph.input}
    assert kinds == {"wind": onnx.TensorProto.STRING, "sun": onnx.TensorProto.DOUBLE}
    assert [put.name for put in written.graph.output] == ["label", "probabilities"]
    versions = {of.domain: of.version for of in written.opset_import}
    assert versions == {"": 18, "ai.onnx.ml": 4}


@pytest.mark.parametrize("opset", [OPSET, 21])
def test_opsets(opset):
    model = model_of()
    feed = {"wind": np.array([["calm"], [""]], object), "sun": np.array([[1.0], [np.nan]])}
    label, proba = run(model.to_onnx(opset=opset), feed)
    asked = pa.table({"wind": ["calm", None], "sun": [1.0, None]})
    assert label.tolist() == model.predict(asked).tolist()
    np.testing.assert_allclose(proba, model.predict_proba(asked), rtol=0, atol=1e-12)


@pytest.mark.parametrize("opset", [17, 1000])
def test_an_opset_that_lacks_operators(opset):
    with pytest.raises(ValueError, match=f"opset={opset}: a model in float64 needs opset 18"):
        model_of().to_onnx(opset=opset)


def test_arrays_are_one_matrix():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    x = rng.normal(y[:, None], 1.0, (200, 70))
    models = GaussianNB(), BernoulliNB(), NaiveBayes()
    for model in models:
        written = model.fit(x, y).to_onnx()
        [put] = written.graph.input
        assert put.name == "X"
        label, proba = run(written, {"X": x})
        assert label.tolist() == model.predict(x).tolist()
        np.testing.assert_allclose(proba, model.predict_proba(x), rtol=0, atol=1e-12)
    assert max(len(m.to_onnx().graph.node) for m in models[:2]) < 60


def test_scores_of_many_counts_are_not_rounded_more_than_the_model_s():
    """Scores of −20,000 nats have steps of 4e-12, in the model as well: what ONNX adds is exact."""
    rng = np.random.default_rng(0)
    shares, y = rng.dirichlet(np.full(1000, 5.0), 10), rng.integers(0, 10, 300)
    x = np.array([rng.multinomial(3000, 0.02 * shares[c] + 0.98 * shares.mean(axis=0)) for c in y])
    model = MultinomialNB().fit(x, y)
    slopes = np.stack([term.law.slope for term in model._formula().terms])
    scores = x @ slopes.astype(np.longdouble) + model._formula().offset
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    exact = shares / shares.sum(axis=1, keepdims=True)
    label, proba = run(model.to_onnx(), {"X": x.astype(np.float64)})
    assert label.tolist() == model.predict(x).tolist()
    assert 0.9 < exact.max(axis=1).mean() < 0.999
    np.testing.assert_allclose(proba.astype(np.longdouble), exact, rtol=0, atol=1e-13)
    np.testing.assert_allclose(proba, model.predict_proba(x), rtol=0, atol=3e-11)


def test_levels_of_an_array_are_a_matrix_of_strings():
    x = np.array([["a", ""], ["b", "u"], ["a", "u"]], dtype=object)
    model = CategoricalNB(levels=[["a", "b"], ["", "u"]]).fit(x, ["no", "yes", "no"])
    label, proba = run(model.to_onnx(), {"X": x})
    assert label.tolist() == model.predict(x).tolist()
    np.testing.assert_allclose(proba, model.predict_proba(x), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "labels", [[False, True] * 2, [3, -7] * 2, [1.0, 2.0] * 2, ["é", ""] * 2], ids=str
)
def test_labels_of_every_type(labels):
    rows = pa.table({"x": [0.0, 1.0, 0.1, 1.1]})
    model = model_of(rows, labels)
    label, _ = run(model.to_onnx(), {"x": np.array([[0.0], [1.0]])})
    assert label.tolist() == model.predict(rows.slice(0, 2)).tolist()


def test_names_that_the_format_forbids():
    for name, rule in {
        "label": "outputs of the model are called 'label'",
        "probabilities": "outputs of the model are called 'label'",
        "a\0b": "an input needs a name in Unicode",
        "\ud800": "an input needs a name in Unicode",
    }.items():
        model = model_of([{name: 1.0}, {name: 2.0}], ["a", "b"])
        with pytest.raises(ValueError, match=rule):
            model.to_onnx()
        assert model.to_onnx(names={name: "x"}).graph.input[0].name == "x"
    with pytest.raises(ValueError, match="inputs have different names, got an input 'w'"):
        model_of().to_onnx(names={"wind": "w", "sun": "w"})
    with pytest.raises(ValueError, match="names= names 'rain', which is not a column"):
        model_of().to_onnx(names={"rain": "w"})


def test_names_of_columns_may_be_those_of_tensors():
    names = ["t0", "t_0", "t", "t1", "n"]
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 5))
    y = (x[:, 0] > 0).astype(int)
    table = pa.table({name: x[:, j] for j, name in enumerate(names)})
    model = model_of(table, y)
    label, _ = run(model.to_onnx(), {name: x[:, [j]] for j, name in enumerate(names)})
    assert label.tolist() == model.predict(table).tolist()


def test_an_empty_level_is_refused_by_name():
    rows = pa.table({"wind": ["", "strong"]})
    with pytest.raises(ValueError, match="column 'wind' has the level '', and in ONNX"):
        model_of(rows, ["a", "b"]).to_onnx()


def test_levels_and_labels_that_no_string_can_hold():
    rows = [{"wind": "\ud800"}, {"wind": "calm"}] * 2
    model = NaiveBayes(columns={"wind": Categorical()}).fit(rows, ["a", "b"] * 2)
    label, _ = run(model.to_onnx(), {"wind": np.array([["calm"], ["other"]], object)})
    assert label[0] == "b"
    for label in ("\ud800", "a\0b"):
        with pytest.raises(ValueError, match="ONNX has no string for the label"):
            model_of([{"x": 0.0}, {"x": 1.0}], [label, "b"]).to_onnx()
    with pytest.raises(ValueError, match="are of several types or beyond 64 bits"):
        model_of([{"x": 0.0}, {"x": 1.0}], np.array([2**63, 1], dtype=np.uint64)).to_onnx()


def test_a_model_that_reads_no_column():
    rows = pa.table({"x": [0.0, 1.0, 0.5]})
    model = model_of(rows, ["a", "b", "a"], columns={"x": None})
    label, proba = run(model.to_onnx(), {"x": np.array([["any"]] * 3, object)})
    assert label.tolist() == ["a"] * 3
    np.testing.assert_allclose(proba, model.predict_proba(rows), rtol=0, atol=1e-12)


def test_tables_beyond_what_a_tensor_holds(monkeypatch):
    from tallybayes.export import onnx as ours

    monkeypatch.setattr(ours, "MAX_CELLS", 5)
    with pytest.raises(ValueError, match=r"the tables have \d+ numbers of 8 bytes, and a file"):
        model_of().to_onnx()


def test_without_onnx_it_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "onnx", None)
    for name in ("tensors", "onnx"):
        monkeypatch.delitem(sys.modules, f"tallybayes.export.{name}", raising=False)
    with pytest.raises(ImportError, match=r"tallybayes\[onnx\]"):
        model_of().to_onnx()
