"""Documents in ONNX: they arrive as tokens (n, m), filled up with "".

The graph numbers the tokens and leaves out stop words. An n-gram is found by the number of its
beginning and that of its last token, in a trie of numbers. Then the terms of each row are sorted
and counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.export.form import MAX_EXACT_COUNT, need_names, need_rules
from tallybayes.export.tensors import (
    MAX_CELLS,
    Graph,
    Tensor,
    TensorProto,
    encoded,
    is_unicode,
    numpy_helper,
    side_by_side,
)
from tallybayes.score import Inexpressible, TermSums, TextTerm
from tallybayes.tokens.analyzer import MARKS, WORDS, Analyzer

__all__ = ["of_documents"]


def of_documents(term: TextTerm, given: Tensor, n_classes: int) -> Tensor:
    """What documents add to the scores, (n, n_classes).

    Parameters
    ----------
    term : TextTerm
    given : Tensor
        Tokens, strings (n, m).
    n_classes : int
    """
    graph, column = given.graph, term.columns[0]
    names, analyzer = need_names(term), need_rules(term)
    if "" in names:
        raise Inexpressible(
            f"column {column!r} has the term '', and in ONNX the string '' is no token: use a "
            "token_pattern that matches a character at least"
        )
    alphabet, levels, term_of = _trie([_tokens(name, analyzer) for name in names])
    stop = [word for word in analyzer.stop_words if is_unicode(word)]
    numbers = {token: i for i, token in enumerate(alphabet)} | dict.fromkeys(stop, -2)
    numbers = {token: i for token, i in numbers.items() if is_unicode(token)} or {"": -1}
    token = encoded(given, [*numbers], np.array([*numbers.values()]), -1)
    # one that is no token, so that there is a last one in every row
    rows = given.op("Shape", start=0, end=1).op("Concat", np.array([1]), axis=0)
    token = side_by_side([token, rows.op("ConstantOfShape", value=_tensor([-1]))])
    if stop and analyzer.analyzer in ("word", "cjk"):  # to the end, so that n-grams go across them
        length = token.op("Shape", start=1, end=2)
        place = rows.op("ConstantOfShape", value=_tensor([1])) * graph.op(
            "Range", np.int64(0), length.op("Squeeze"), np.int64(1)
        )
        left_out = token.eq(np.int64(-2))
        last = left_out.where(place + length, place)
        _, order = graph.several("TopK", last, length, n=2, axis=1, largest=0, sorted=1)
        token = left_out.where(np.int64(-1), token).op("GatherElements", order, axis=1)
    state, states, width = token, [token], len(alphabet) + 1  # −1 is no token's last digit
    for n, level in enumerate(levels, start=1):
        before = state.op("Slice", np.array([0]), np.array([-1]), np.array([1]))
        after = token.op("Slice", np.array([n]), np.array([np.iinfo(np.int64).max]), np.array([1]))
        codes = np.array([*level], dtype=np.int64)
        state = encoded(before * np.int64(width) + after, codes, np.array([*level.values()]), -1)
        states.append(state)
    none = len(names)  # the term that is none
    found = side_by_side(states).of(np.append(term_of, none))
    count, found = _counted(found, none, graph)
    parts = [_term_sums(sums, found, count, n_classes) for sums in term.sums()]
    return sum(parts[1:], parts[0])


def _tokens(term: str, analyzer: Analyzer) -> list[str]:
    """The tokens of an n-gram."""
    if analyzer.analyzer in ("char", "char_wb"):
        return list(term)
    if analyzer.ngram_range[1] == 1:
        return [term]
    if analyzer.analyzer == "word" and analyzer.token_pattern not in (MARKS, WORDS):
        raise Inexpressible(
            f"n-grams of token_pattern {analyzer.token_pattern!r} may have blanks within a token, "
            f"so that ONNX does not know where one ends: use {MARKS!r} or {WORDS!r}, or single "
            "tokens (ngram_range=(1, 1))"
        )
    return term.split(" ")


def _trie(terms: list[list[str]]) -> tuple[list[str], list[dict[int, int]], NDArray[np.int64]]:
    """The tokens of terms; of 2-grams, 3-grams, …, the number of each by that of its beginning,
    times the number of tokens and one, and its last token; and the term that each number is, or
    the number of terms."""
    alphabet = list(dict.fromkeys(token for term in terms for token in term))
    place = {token: i for i, token in enumerate(alphabet)}
    levels: list[dict[int, int]] = [{} for _ in range(max(map(len, terms), default=1) - 1)]
    term_of = [len(terms)] * len(alphabet)
    for t, term in enumerate(terms):
        state = place[term[0]]
        for token, level in zip(term[1:], levels, strict=False):
            code = state * (len(alphabet) + 1) + place[token]
            if code not in level:
                level[code] = len(term_of)
                term_of.append(len(terms))
            state = level[code]
        term_of[state] = t
    return alphabet, levels, np.array(term_of, dtype=np.int64)


def _counted(term: Tensor, none: int, graph: Graph) -> tuple[Tensor, Tensor]:
    """How often each term stands in a row, float64, at one of its places, and 0 elsewhere; and the
    term at each place."""
    length = term.op("Shape", start=1, end=2)
    term, _ = graph.several("TopK", term, length, n=2, axis=1, largest=0, sorted=1)
    before = term.op("Slice", np.array([0]), np.array([-1]), np.array([1]))
    first = before.op("Pad", np.array([0, 1, 0, 0]), np.int64(-1)).eq(term).op("Not")
    run = first.whole().op("CumSum", np.int64(1)) - np.int64(1)
    nothing = term.op("Shape").op("ConstantOfShape", value=_tensor([0]))
    one = nothing + np.int64(1)
    size = nothing.op("ScatterElements", run, one, axis=1, reduction="add")
    count = size.op("GatherElements", run, axis=1)
    return (first & (term < np.int64(none))).where(count.real(), 0.0), term


def _term_sums(sums: TermSums, term: Tensor, count: Tensor, n_classes: int) -> Tensor:
    """See TermSums."""
    is_there = count > 0.0
    x = count
    if sums.frequency == "presence":
        x = is_there.where(1.0, 0.0)
    elif sums.frequency != "count":
        x = (count + 1.0).op("Log")
        if sums.frequency == "single":
            exact = np.log1p(np.arange(MAX_EXACT_COUNT), dtype=np.float32).astype(np.float64)
            near = count.op("Min", MAX_EXACT_COUNT - 1.0).whole().of(exact)
            far = x.op("Cast", to=TensorProto.FLOAT).real()
            x = (count < float(MAX_EXACT_COUNT)).where(near, far)
    if sums.by is not None:
        x = x * term.of(np.append(sums.by, 0.0))
    if len(sums.cell) * n_classes >= MAX_CELLS:
        raise Inexpressible(
            f"{len(sums.cell):,} terms of {n_classes:,} classes are too many for a file in ONNX, "
            "which has fewer than 2³¹ bytes: fit fewer terms, by max_terms= or ngram_range="
        )
    dense = np.concatenate([np.zeros((1, n_classes)), sums.common])[np.append(sums.cell + 1, 0)]
    if sums.start is not None and sums.classes is not None and sums.pair is not None:
        dense[np.repeat(np.arange(len(sums.cell)), np.diff(sums.start)), sums.classes] += sums.pair
    rows = dense.view(np.dtype((np.void, dense.itemsize * n_classes))).ravel()  # compared by bytes
    _, first, row = np.unique(rows, return_index=True, return_inverse=True)
    of_terms = term.graph.op("Gather", dense[first], term.of(row.astype(np.int32)))
    found = x.unsqueeze(1).op("MatMul", of_terms).op("Squeeze", np.array([1]))
    if sums.length is None:
        return found
    total = (x * x if sums.length == "squares" else x).over("Sum")
    if sums.length == "squares":
        return found / (total > 0.0).where(total, 1.0).op("Sqrt")
    total = total.op("Max", float(sums.shortest))
    return found * ((total > 0.0).where(total, sums.mean_length) / sums.mean_length).op(
        "Pow", -float(sums.power)
    )


def _tensor(values: list[int]) -> Any:
    """The value of an attribute."""
    return numpy_helper.from_array(np.array(values, dtype=np.int64))
