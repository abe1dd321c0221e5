"""Our classifiers in sklearn-onnx, so that pipelines that end with one of them are exported.

The graph of a classifier is that of ``to_onnx``, in float64, between the tensors of a pipeline,
which are mostly float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes.estimators.arrays import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
)
from tallybayes.estimators.naive_bayes import NaiveBayes
from tallybayes.estimators.weighted import WeightedNaiveBayes
from tallybayes.score import Inexpressible, TextTerm

__all__ = ["register_sklearn_onnx"]

CLASSIFIERS = (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    WeightedNaiveBayes,
)


def register_sklearn_onnx() -> None:
    """Register the classifiers of arrays and tables with sklearn-onnx.

    Afterwards `skl2onnx.to_onnx` and `skl2onnx.convert_sklearn` take pipelines with these
    classifiers. They need ``target_opset`` 18 or later, and take the option ``zipmap``. Columns of
    strings are inputs of strings, where "" is a missing value; others are numbers, where NaN is
    one. Labels that are booleans or whole floats become integers, as those of other classifiers do.

    Raises
    ------
    ImportError
        Where skl2onnx is not installed.
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError as error:
        raise ModuleNotFoundError(
            f"pipelines are written by skl2onnx ({error}): pip install skl2onnx 'tallybayes[onnx]'",
            name="skl2onnx",
        ) from error

    for kind in CLASSIFIERS:
        update_registered_converter(
            kind,
            f"Tallybayes{kind.__name__}",
            _shapes,
            _converted,
            options={"zipmap": [True, False, "columns"], "nocl": [True, False]},
        )


def _shapes(operator: Any) -> None:
    """The types of the outputs, which the graph of the classifier has."""
    from skl2onnx.common import data_types as types

    classes, first = operator.raw_operator.classes_, operator.inputs[0]
    label = types.DoubleTensorType if classes.dtype.kind == "f" else types.StringTensorType
    if _are_whole(classes):
        label = types.Int64TensorType
    real = type(first.type) is types.DoubleTensorType
    n = first.get_first_dimension()
    operator.outputs[0].type = label([n])
    kind = types.DoubleTensorType if real else types.FloatTensorType
    operator.outputs[1].type = kind([n, len(classes)])


def _are_whole(classes: Any) -> bool:
    """Whether labels are whole numbers for sklearn-onnx, as booleans are."""
    kind = classes.dtype.kind
    return kind in "biu" or (kind == "f" and bool((classes == np.trunc(classes)).all()))


def _converted(scope: Any, operator: Any, container: Any) -> None:
    """Adds the graph of a classifier, its names made unique."""
    from skl2onnx.common import data_types as types

    from tallybayes.export.onnx import LABEL, PROBABILITIES, write
    from tallybayes.export.tensors import ML_VERSION, OPSET, TensorProto, helper, numpy_helper

    model, inputs = operator.raw_operator, operator.inputs
    opset = container.target_opset_any_domain("")
    if opset is None or opset < OPSET:
        raise ValueError(
            f"target_opset={opset}: a {type(model).__name__} needs {OPSET} of ai.onnx or later"
        )
    formula = model._formula()
    tokens = [term.columns[0] for term in formula.terms if isinstance(term, TextTerm)]
    if tokens:
        raise Inexpressible(
            f"column {tokens[0]!r} is read as text, which ONNX takes as tokens, and a pipeline has "
            "whole strings: write the classifier by to_onnx, or declare Categorical()"
        )
    kinds = dict(formula.kinds)
    places = [(own, j) for own in inputs for j in range(own.type.shape[1])]
    if len(places) != len(kinds):
        raise ValueError(
            f"the {type(model).__name__} reads {len(kinds)} columns, and the pipeline's inputs "
            f"have {len(places)}: give initial_types= with all of its columns, in their order"
        )

    def node(kind: str, given: list[str], target: str | None = None, **attributes: Any) -> str:
        target = target or scope.get_unique_variable_name("tally")
        domain = attributes.pop("domain", "")
        version = OPSET if not domain else ML_VERSION if "keys_tensor" in attributes else 2
        name = scope.get_unique_operator_name(kind)
        container.add_node(kind, given, [target], domain, version, name=name, **attributes)
        return target

    def constant(tensor: Any) -> str:
        tensor.name = scope.get_unique_variable_name("tally")
        container.initializers.append(tensor)
        return str(tensor.name)

    tensors = {}  # numbers as float64, strings as they are
    for own in inputs:
        is_text = isinstance(own.type, types.StringTensorType)
        name = own.full_name
        tensors[own] = name if is_text else node("Cast", [name], to=TensorProto.DOUBLE)
    for column, (own, _) in zip(kinds, places, strict=True):
        is_text = isinstance(own.type, types.StringTensorType)
        if is_text or kinds[column] == "text":
            whole = isinstance(own.type, types.Int64TensorType)
            kinds[column] = "text" if is_text else "integer" if whole else "number"
    names = {column: f"column {j}" for j, column in enumerate(kinds)}
    read = dict(zip(names.values(), places, strict=True))

    graph = write(formula, names=names if formula.has_names else None, kinds=kinds).graph
    renamed = {tensor.name: constant(tensor) for tensor in list(graph.initializer)}
    for put in graph.input:
        if put.name in read:
            own, j = read[put.name]
            place = constant(numpy_helper.from_array(np.array([j])))
            renamed[put.name] = node("Gather", [tensors[own], place], axis=1)
        else:
            every = [tensors[own] for own in inputs]
            renamed[put.name] = node("Concat", every, axis=1) if len(every) > 1 else every[0]
    for each in graph.node:
        given = [renamed[name] for name in each.input]
        attributes = {a.name: helper.get_attribute_value(a) for a in each.attribute}
        renamed[each.output[0]] = node(each.op_type, given, domain=each.domain, **attributes)
    label, proba = (out.full_name for out in operator.outputs)
    if _are_whole(model.classes_):
        node("Cast", [renamed[LABEL]], label, to=TensorProto.INT64)
    else:
        node("Identity", [renamed[LABEL]], label)
    real = isinstance(operator.outputs[1].type, types.DoubleTensorType)
    kind = TensorProto.DOUBLE if real else TensorProto.FLOAT
    node("Cast", [renamed[PROBABILITIES]], proba, to=kind)
