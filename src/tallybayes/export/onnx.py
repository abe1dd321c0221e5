"""A formula as an ONNX model, in float64: see `tensor_terms` for the scores.

A row without a prediction has NaN as its probabilities, and as its label "", or the least whole
number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.export.tensor_terms import LABEL, PROBABILITIES, Columns, added, is_unicode
from tallybayes.export.tensors import (
    ML,
    ML_VERSION,
    OPSET,
    ModelProto,
    Tensor,
    TensorProto,
    checker,
    defs,
    helper,
    side_by_side,
    value_info,
)
from tallybayes.export.written import kinds_of, labels_of
from tallybayes.score import Formula, Inexpressible, Kind

__all__ = ["saved", "write"]

Array = NDArray[np.float64]

MAX_LOG_PROBABILITY, MAX_LOG_ODDS = 1e5, 1e4  # as in models/calibration
MIN_LABEL = np.iinfo(np.int64).min


# ---- from scores to probabilities and labels -----------------------------------------------------
def _scores(columns: Columns) -> Tensor:
    """The scores, (n, k)."""
    parts = added(columns.formula, columns)
    offset = columns.graph.constant(columns.formula.offset[None, :])
    if not parts:
        return offset.op("Expand", columns.values([*columns.formula.kinds][:1]).op("Shape"))
    return sum(parts, offset)


def _corrected(formula: Formula, differences: Tensor) -> Tensor:
    """The probability of each class by s_c − max s, of a row that not every class rules out."""
    correction, k = formula.correction, len(formula.classes)
    shares = (differences * correction.beta).op("Exp")
    proba = shares / shares.over("Sum")
    if correction.knots:
        log_odds = _log_odds(differences, k)
        one_for_two = len(correction.knots) == 1 and k == 2
        of_classes = [
            _interpolated(log_odds.op("Gather", np.array([c]), axis=1), knots, values)
            for c, knots, values in zip(
                [1] if one_for_two else range(k), correction.knots, correction.values, strict=True
            )
        ]
        regressed = side_by_side([1.0 - of_classes[0], *of_classes] if one_for_two else of_classes)
        regressed = regressed / regressed.over("Sum")
        proba = regressed * correction.share + proba * (1.0 - correction.share)
    if correction.prior_share:
        prior = correction.prior_share * correction.prior[None, :]
        proba = (proba * (1.0 - correction.prior_share) + prior).op("Min", correction.most)
    return proba


def _log_odds(differences: Tensor, k: int) -> Tensor:
    """log p_c − log Σ of the others, within ±1e4, by s_c − max s."""
    log_p = differences - differences.op("Exp").over("Sum").op("Log")
    log_p = log_p.op("Max", -MAX_LOG_PROBABILITY)
    top = log_p.over("Max")
    best = log_p.op("ArgMax", axis=1, keepdims=1).eq(np.arange(k)[None, :])
    others = best.where(-np.inf, log_p)
    second = others.over("Max")
    rest_of_best = second + (others - second).op("Exp").over("Sum").op("Log")
    each = (others - top).op("Exp")
    rest = best.where(rest_of_best, top + (each.over("Sum") + 1.0 - each).op("Log"))
    return (log_p - rest).op("Max", -MAX_LOG_ODDS).op("Min", MAX_LOG_ODDS)


def _interpolated(z: Tensor, knots: Array, values: Array) -> Tensor:
    """The piecewise linear function of z (n, 1)."""
    rises = np.diff(knots)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.where(rises > 0.0, np.diff(values) / rises, 0.0)
    cell = (z >= knots[None, :]).whole().over("Sum")
    slope = cell.of(np.array([0.0, *slopes, 0.0]))
    start, value = (cell.of(np.array([of[0], *of])) for of in (knots, values))
    return slope * (z - start) + value


def _best(formula: Formula, scores: Tensor, proba: Tensor) -> Tensor:
    """The place of the label, int64 (n,): of equal scores the first."""
    if formula.correction.moves_labels:
        return proba.op("ArgMax", axis=1, keepdims=0)
    best = scores.op("ArgMax", axis=1, keepdims=0)
    if not formula.may_rule_out:
        return best
    return (scores.over("Max", keep=0) <= -np.inf).where(np.int64(formula.fallback), best)


def _label_values(formula: Formula) -> tuple[NDArray[Any], Any]:
    """The labels, and what stands for the label of a row without a prediction."""
    labels = labels_of(formula)
    strings = [label for label in labels if isinstance(label, str)]
    if len(strings) == len(labels):
        for label in strings:
            if not is_unicode(label) or "\0" in label:
                raise Inexpressible(f"ONNX has no string for the label {label!r}: rename it")
        return np.array(labels, dtype=object), np.array("", dtype=object)
    if all(isinstance(label, bool) for label in labels):
        return np.array(labels), False
    if all(type(label) is int and MIN_LABEL < label < 2**63 for label in labels):
        return np.array(labels, dtype=np.int64), np.int64(MIN_LABEL)
    if all(isinstance(label, float) for label in labels):
        return np.array(labels, dtype=np.float64), np.nan
    raise Inexpressible(
        f"the labels {labels[0]!r}, … are of several types or beyond 64 bits, and a tensor in ONNX "
        "holds one type: make strings of them"
    )


# ---- the model -----------------------------------------------------------------------------------
def write(
    formula: Formula,
    *,
    names: Mapping[str, str] | None = None,
    kinds: Mapping[str, Kind] | None = None,
    opset: int = OPSET,
) -> ModelProto:
    """The model, which the checker of onnx has checked.

    Parameters
    ----------
    formula : Formula
    names : mapping of str to str, optional
        What inputs are called, where that is not the column's name.
    kinds : mapping of str to Kind, optional
        What inputs hold, where that differs from the model's kind.
    opset : int
        Of ai.onnx.

    Raises
    ------
    ValueError
        For a name, a kind or an opset that does not exist.
    Inexpressible
        For what ONNX cannot express.
    """
    newest = defs.onnx_opset_version()
    if not OPSET <= opset <= newest:
        raise ValueError(
            f"opset={opset}: a model in float64 needs opset {OPSET} of ai.onnx or a later one, and "
            f"the installed onnx has those up to {newest}"
        )
    columns = Columns(formula, names or {}, kinds_of(formula, kinds or {}, "an input of ONNX"))
    scores = _scores(columns)
    top = scores.over("Max")
    ruled_out = top <= -np.inf
    proba = _corrected(formula, scores - ruled_out.where(0.0, top))
    if formula.may_rule_out:
        proba = ruled_out.where(formula.ruled_out[None, :], proba)
    best = _best(formula, scores, proba)
    labels, nothing = _label_values(formula)
    label = columns.graph.op("Gather", labels, best)
    if columns.refusals:
        first, *others = columns.refusals
        refused = first
        for other in others:
            refused = refused | other
        proba = refused.where(np.nan, proba)
        refused = refused.op("Squeeze", np.array([1]))
        if labels.dtype.kind == "b":  # of which no runtime has to have Where
            label = label & refused.op("Not")
        else:
            label = refused.where(nothing, label)
    graph = columns.graph
    graph.nodes += [
        helper.make_node("Identity", [label.name], [LABEL]),
        helper.make_node("Identity", [proba.name], [PROBABILITIES]),
    ]
    outputs = [
        helper.make_tensor_value_info(LABEL, helper.np_dtype_to_tensor_dtype(labels.dtype), ["n"]),
        value_info(PROBABILITIES, TensorProto.DOUBLE, len(labels)),
    ]
    whole = helper.make_graph(graph.nodes, "tallybayes", columns.inputs, outputs, graph.constants)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(ML, ML_VERSION)]
    model = helper.make_model_gen_version(whole, opset_imports=opsets, producer_name="tallybayes")
    checker.check_model(model, full_check=True)
    return model


def saved(written: ModelProto, path: str) -> dict[str, bytes]:
    """The file of a model."""
    return {path: written.SerializeToString()}
