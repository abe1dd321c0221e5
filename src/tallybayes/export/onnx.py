"""A formula as an ONNX model, in float64.

Columns arrive as tensors (n, 1), documents as tokens (n, m), columns without names as one matrix.
Whatever depends on the class is a tensor (n, k). The tables of all columns are one table, which is
looked up once. A row without a prediction has NaN as its probabilities, and as its label "", or the
least whole number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.export.documents import of_documents
from tallybayes.export.tensors import (
    MAX_CELLS,
    ML,
    ML_VERSION,
    OPSET,
    Graph,
    ModelProto,
    Tensor,
    TensorProto,
    checker,
    defs,
    encoded,
    helper,
    is_unicode,
    side_by_side,
    value_info,
)
from tallybayes.export.written import (
    A_NUMBER,
    CountTail,
    CountTerm,
    Mixture,
    Powers,
    StudentTerm,
    Triangular,
    kinds_of,
    labels_of,
    number_of_level,
    written,
)
from tallybayes.score import (
    Cells,
    CellTable,
    CodeCells,
    Formula,
    Inexpressible,
    JointCells,
    Kind,
    LevelCells,
    NumberCells,
    Power,
    TextTerm,
)

__all__ = ["LABEL", "PROBABILITIES", "saved", "write"]

Array = NDArray[np.float64]

LABEL, PROBABILITIES = "label", "probabilities"
"""What the outputs are called."""
MATRIX = "X"
"""What the input is called, where columns have no names."""
MAX_LOG_PROBABILITY, MAX_LOG_ODDS = 1e5, 1e4  # as in models/calibration
MIN_LABEL = np.iinfo(np.int64).min


# ---- columns as numbers, and as cells of tables --------------------------------------------------
class Columns:
    """The columns that a formula reads, and the rows that have no prediction.

    Parameters
    ----------
    formula : Formula
    names : mapping of str to str
        What the inputs are called, where that is not the column's name.
    kinds : mapping of str to Kind
    """

    def __init__(
        self, formula: Formula, names: Mapping[str, str], kinds: Mapping[str, Kind]
    ) -> None:
        self.formula: Formula = formula
        self.kinds: Mapping[str, Kind] = kinds
        self.refusals: list[Tensor] = []
        types = {
            name: TensorProto.STRING if kinds[name] == "text" else TensorProto.DOUBLE
            for name in formula.kinds
        }
        read = {name: names.get(name, name) for name in formula.columns or [*formula.kinds][:1]}
        if not read:
            raise Inexpressible("the model reads no column, so that ONNX cannot count the rows")
        documents = {term.columns[0] for term in formula.terms if isinstance(term, TextTerm)}
        is_matrix = not (formula.has_names or names or documents) and len(set(types.values())) == 1
        if is_matrix:
            read = {MATRIX: MATRIX}
        _check_names(list(read.values()))
        self.graph: Graph = Graph({*read.values(), LABEL, PROBABILITIES})
        self.given: dict[str, Tensor] = {
            name: Tensor(self.graph, own) for name, own in read.items()
        }
        self.inputs: list[Any] = [
            value_info(own, types[name], f"{own} tokens" if name in documents else 1)
            for name, own in read.items()
            if name in types
        ]
        self.place: dict[str, int] = {}
        if is_matrix:
            self.inputs = [value_info(MATRIX, next(iter(types.values())), len(types))]
            self.place = {name: j for j, name in enumerate(types)}

    def refuse(self, condition: Tensor, width: int = 1) -> None:
        """Rows under a condition (n, width) have no prediction."""
        if width > 1:
            condition = condition.whole().over("Max") > np.int64(0)
        if condition not in self.refusals:
            self.refusals.append(condition)

    def values(self, columns: Sequence[str]) -> Tensor:
        """Columns side by side, (n, d)."""
        if not self.place:
            return side_by_side([self.given[column] for column in columns])
        places = [self.place[column] for column in columns]
        matrix = self.given[MATRIX]
        if places == list(range(len(self.place))):
            return matrix
        return matrix.op("Gather", np.array(places), axis=1)

    def numbers(self, columns: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Numbers of columns, (n, d), and whether each is missing."""
        for column in columns:
            if self.kinds[column] == "text":
                raise Inexpressible(
                    f"column {column!r} holds text, but the model reads numbers: name its type in "
                    "types="
                )
        x, width = self.values(columns), len(columns)
        missing, least = x.op("IsNaN"), [self.formula.least.get(column, 0) for column in columns]
        self.refuse(x.op("IsInf"), width)
        if any(least):  # below 0, or not above it
            bounds = np.array([[-np.inf, 0.0, 5e-324][least] for least in least])
            self.refuse(x < bounds[None, :], width)
        if not self.formula.takes_missing:
            self.refuse(missing, width)
        return x, missing

    def cells(self, cells: Sequence[Cells]) -> Tensor:
        """The cells of each row, int64 (n, d), of several columns if they are of one kind: see
        :func:`_batches`."""
        first = cells[0]
        if isinstance(first, JointCells):
            singles = zip(first.cells, first.maps, first.strides, strict=True)
            each = [
                self.cells([single]).of(coarse.astype(np.int64) * stride)
                for single, coarse, stride in singles
            ]
            return reduce(add, each)
        if isinstance(first, LevelCells):
            return self._level(first)
        names = [of_one.column for of_one in cells if not isinstance(of_one, JointCells)]
        x, missing = self.numbers(names)
        if isinstance(first, NumberCells):
            starts = [of_one.starts for of_one in cells if isinstance(of_one, NumberCells)]
            padded = np.full((len(starts), max(1, *map(len, starts))), np.inf)
            for row, own in zip(padded, starts, strict=True):
                row[: len(own)] = own
            below = (x.unsqueeze(2) >= padded[None]).whole().over("Sum", axis=2, keep=0)
            return missing.where(np.int64(0), below + np.int64(1))
        if first.truncates:
            x = (x < 0.0).where(x.op("Ceil"), x.op("Floor"))
        last = np.array([[of_one.size - 1.0 for of_one in cells]])
        self.refuse(x < 0.0, len(cells))
        self.refuse(x.op("Floor").eq(x).op("Not"), len(cells))
        if first.refuses_others:
            self.refuse(x >= last, len(cells))
        return missing.where(0.0, x.op("Max", 0.0).op("Min", last)).whole()

    def _level(self, cells: LevelCells) -> Tensor:
        """The cell of a level: of strings, or of numbers whose digits it is."""
        other = cells.size - 1
        if self.kinds[cells.column] == "text":
            at = {level: 1 + i for i, level in enumerate(cells.levels) if is_unicode(level)}
            if self.formula.takes_missing:
                if "" in at:
                    raise Inexpressible(
                        f"column {cells.column!r} has the level '', and in ONNX the string '' is "
                        "the missing value: give that level a name before fit"
                    )
                at[""] = 0
            numbers = np.array([*at.values()], dtype=np.int64)
            cell = encoded(self.values([cells.column]), [*at], numbers, other)
        else:
            x, missing = self.numbers([cells.column])
            if A_NUMBER in cells.levels:
                other = 1 + cells.levels.index(A_NUMBER)
            kind = self.kinds[cells.column]
            found = {
                number_of_level(level, kind, cells.levels): 1.0 + i
                for i, level in enumerate(cells.levels)
            }
            found.pop(None, None)
            keys = np.array([*found], dtype=np.float64)
            cell = encoded(missing.where(0.0, x), keys, np.array([*found.values()]), float(other))
            cell = missing.where(np.int64(0), cell.whole())
        if cells.refuses_others:
            self.refuse(cell.eq(np.int64(other)))
        return cell


def _check_names(names: Sequence[str]) -> None:
    """Raises ValueError for what the format forbids."""
    for i, name in enumerate(names):
        if name in (LABEL, PROBABILITIES):
            rule = f"outputs of the model are called {LABEL!r} and {PROBABILITIES!r}"
        elif name in names[:i]:
            rule = "inputs have different names"
        elif not name or "\0" in name or not is_unicode(name):
            rule = "an input needs a name in Unicode without the character U+0000"
        else:
            continue
        raise ValueError(f"{rule}, got an input {name!r}: give another name in names=")


# ---- what terms add to the scores, float64 (n, k) ------------------------------------------------
def _tables(terms: Sequence[CellTable], columns: Columns) -> Tensor:
    """All tables as one: the sum of its rows."""
    batches = _batches(terms) if columns.place else [[term] for term in terms]
    terms = [term for batch in batches for term in batch]
    sizes = [term.scores.shape[1] for term in terms]
    table = np.concatenate([term.scores for term in terms], axis=1).T
    if table.size >= MAX_CELLS:
        raise Inexpressible(
            f"the tables have {table.size:,} numbers of 8 bytes, and a file in ONNX fewer than 2³¹ "
            "bytes: fit fewer columns, levels or classes"
        )
    cells = side_by_side([columns.cells([term.cells for term in batch]) for batch in batches])
    rows = columns.graph.op("Gather", table, cells + np.cumsum([0, *sizes[:-1]])[None, :])
    return rows.over("Sum", keep=0)


def _batches(terms: Sequence[CellTable]) -> list[list[CellTable]]:
    """Tables whose cells are found together: of codes, and of numbers with similarly many
    starts."""
    found: dict[Any, list[CellTable]] = {}
    for term in terms:
        cells, key = term.cells, object()
        if isinstance(cells, NumberCells):
            found.setdefault(len(cells.starts).bit_length(), []).append(term)
        elif isinstance(cells, CodeCells):
            found.setdefault("codes", []).append(term)
        else:
            found[key] = [term]
    return list(found.values())


def _polynomials(terms: Sequence[Powers], columns: Columns) -> Tensor:
    """Σ constant + slope·x − ((x − mean)·scale)² of columns with the same power; nothing for
    slope·0, or for a missing value."""
    x, gone = _numbers([term.column for term in terms], terms[0].power, columns)
    x = gone.where(0.0, x)
    constant, slope, mean, scale = (
        np.stack([getattr(term.terms, name) for term in terms])
        for name in ("constant", "slope", "mean", "scale")
    )
    total = gone.where(0.0, 1.0).op("MatMul", constant)
    if (slope != 0.0).any():
        impossible = np.isneginf(slope)
        # less what all classes share: sums of large numbers would round by more than 1e-12
        shared = np.where(impossible, 0.0, slope).sum(axis=1) / (~impossible).sum(axis=1).clip(1)
        apart = np.where(impossible, 0.0, slope - shared[:, None])
        total = total + x.op("MatMul", apart)
        if impossible.any():
            held = x.eq(0.0).where(0.0, 1.0).op("MatMul", impossible.astype(float))
            total = (held > 0.0).where(-np.inf, total)
    if (scale != 0.0).any():
        r = (x.unsqueeze(2) - mean[None]) * scale[None]
        total = total - gone.unsqueeze(2).where(0.0, r * r).over("Sum", keep=0)
    return total


def _student(term: StudentTerm, columns: Columns) -> Tensor:
    x, missing = _numbers([term.column], term.power, columns)
    z = (x - term.mean[None, :]) * term.scale[None, :]
    return missing.where(0.0, term.constant[None, :] - term.half[None, :] * (z * z + 1.0).op("Log"))


def _numbers(names: list[str], power: Power | None, columns: Columns) -> tuple[Tensor, Tensor]:
    """Numbers, or their power, and whether each is missing."""
    x, missing = columns.numbers(names)
    if power is None:
        return x, missing
    if power.kind == "log":
        return (x > 0.0).where(x, 1.0).op("Log"), missing
    # eʸ − 1 is exact near 0 as (v − 1)·y / log(v), where v = eʸ is as it is rounded (W. Kahan)
    positive = x >= 0.0
    ln = _log1p(x.op("Abs"))
    exponents = power.exponent, 2.0 - power.exponent
    y = positive.where(ln * exponents[0], ln * exponents[1])
    v = y.op("Exp")
    near = (v > 0.5) & (v < 2.0)
    log_v = near.where(v, 3.0).op("Log")
    less = v.eq(1.0).where(y, near.where((v - 1.0) * (y / log_v), v - 1.0))
    up, down = (ln if e == 0.0 else less / e for e in exponents)
    return positive.where(up, -down), missing


def _log1p(a: Tensor) -> Tensor:
    """log(1 + a), exact near 0 as a·log(u) / (u − 1), where u = 1 + a is as it is rounded
    (W. Kahan)."""
    u = a + 1.0
    is_one = u.eq(1.0)
    return is_one.where(a, u.op("Log") * (a / (is_one.where(2.0, u) - 1.0)))


def _mixture(term: Mixture, columns: Columns) -> Tensor:
    """See PooledTerms."""
    terms = term.terms
    x, missing = columns.numbers([term.column])
    z = (x - terms.mean[None, :]) * terms.scale[None, :]
    masses = terms.constant[None, :] - z * z
    if len(terms.low):
        at = ((x >= terms.low[None, :]) & (x < terms.high[None, :])).whole()
        atom = (at * np.arange(1, len(terms.low) + 1)[None, :]).over("Max")
        of_atom = atom.of(np.concatenate([np.zeros((1, len(terms.mean))), terms.atoms]))
        masses = (atom > np.int64(0)).where(of_atom, masses)
    return missing.where(0.0, _pooled(masses, terms.share, terms.shift))


def _pooled(masses: Tensor, share: float, shift: Array) -> Tensor:
    """log(M_c + share·Σ M) − shift_c of all log M; 0 where all M are 0."""
    top = masses.over("Max")
    nothing = top <= -np.inf
    own = (masses - nothing.where(0.0, top)).op("Exp")
    pooled = (own + own.over("Sum") * float(share)).op("Log") + top - shift[None, :]
    return nothing.where(0.0, pooled)


def _counts(term: CountTerm, columns: Columns) -> Tensor:
    """The table where the count is in it, the tail beyond it."""
    size = term.cells.size - 1.0
    x, missing = columns.numbers([term.cells.column])
    columns.refuse(x > term.most)
    columns.refuse((x > 0.0) & x.op("Floor").eq(x).op("Not"))
    beyond = x >= size
    nothing = missing | (x < 0.0) | beyond
    cell = nothing.where(0.0, x + 1.0).whole()
    return beyond.where(_tail(beyond.where(x, size), term.tail), cell.of(term.scores.T))


def _tail(y: Tensor, tail: CountTail) -> Tensor:
    """See CountTail."""
    mean, size = tail.mean[None, :], tail.size[None, :]

    def correction(z: Tensor) -> Tensor:
        square = z * z
        return (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / z

    shared = y.op("Log") * 0.5 + correction(y)
    odds = (y + size) / y * (mean / (size + mean))
    rising = _log1p(y / size) * (size - 0.5)
    masses = y * odds.op("Log") + tail.constant[None, :] + rising - shared + correction(y + size)
    return masses if tail.share is None else _pooled(masses, tail.share, tail.shift)


def _together(term: Triangular, columns: Columns) -> Tensor:
    """Columns given those before them: the residuals by the pattern of missing values."""
    x, gone = columns.numbers(term.columns)
    absent = [gone.op("Gather", np.array([j]), axis=1) for j in range(len(term.columns))]
    if term.every:
        columns.refuse(gone, len(absent))
    n_classes, parts, squares = len(term.mean), [], []
    apart = gone.unsqueeze(1).where(0.0, x.unsqueeze(1) - term.mean[None])  # (n, k, d)
    for j, steps in enumerate(term.steps):
        weights = np.zeros((len(steps), n_classes, len(term.columns)))
        for of_step, step in zip(weights, steps, strict=True):
            of_step[:, [*step.given, j]] = step.weights
        pattern: Any = np.zeros((1, 1), dtype=np.int64)
        if len(steps) > 1:
            bits = np.where(np.arange(len(term.columns)) < j, 1 << np.arange(len(term.columns)), 0)
            pattern = gone.where(np.int64(0), bits[None, :].astype(np.int64)).over("Sum")
        pattern = columns.graph.op("Identity", pattern)
        r = (pattern.of(weights) * apart).over("Sum", axis=2, keep=0)
        constant = pattern.of(np.stack([step.constant for step in steps]))
        parts.append(absent[j].where(0.0, constant))
        squares.append(absent[j].where(0.0, r * r))
    constants, square = sum(parts[1:], parts[0]), sum(squares[1:], squares[0])
    if term.freedom is None:
        return constants - square * 0.5
    nu = term.freedom[None, :]
    n = gone.where(0.0, 1.0).over("Sum")
    return constants - (n + nu) * 0.5 * (square / nu + 1.0).op("Log")


# ---- the scores ----------------------------------------------------------------------------------
def _scores(columns: Columns) -> Tensor:
    """The scores, (n, k): the offset and all terms, some of them together."""
    formula = columns.formula
    offset = columns.graph.constant(formula.offset[None, :])
    documents = [term for term in formula.terms if isinstance(term, TextTerm)]
    terms = written([term for term in formula.terms if term not in documents])
    if not formula.terms:
        return offset.op("Expand", columns.values([*formula.kinds][:1]).op("Shape"))
    tables = [term for term in terms if isinstance(term, CellTable)]
    plain = [term for term in terms if isinstance(term, Powers) and term.power is None]
    parts = [_tables(tables, columns)] if tables else []
    parts += [_polynomials(plain, columns)] if plain else []
    for term in terms:
        if isinstance(term, Powers) and term.power is not None:
            parts.append(_polynomials([term], columns))
        elif isinstance(term, Mixture):
            parts.append(_mixture(term, columns))
        elif isinstance(term, StudentTerm):
            parts.append(_student(term, columns))
        elif isinstance(term, CountTerm):
            parts.append(_counts(term, columns))
        elif isinstance(term, Triangular):
            parts.append(_together(term, columns))
    for document in documents:
        (column,) = document.columns
        if columns.kinds[column] != "text":
            raise Inexpressible(f"column {column!r} is read as text: its input holds strings")
        parts.append(of_documents(document, columns.given[column], len(formula.classes)))
    return sum(parts, offset)


# ---- from scores to probabilities and labels -----------------------------------------------------
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
