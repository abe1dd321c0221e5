"""The compiled kernels. Arrays are numpy's; faults come back as flags for the caller to word."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_F8 = NDArray[np.float64]
_I8 = NDArray[np.int64]
_I4 = NDArray[np.int32]
_U1 = NDArray[np.uint8]
_Real = NDArray[Any]
_Reply = tuple[int, bool, int]

NOT_FINITE: int
NEGATIVE: int
NOT_INTEGER: int
OUT_OF_RANGE: int

def available_instruction_sets() -> list[str]: ...
def instruction_set() -> str: ...
def use_instruction_set(name: str) -> None: ...
def rank_labels(y: _Real, limit: int, codes: _I4, threads: int) -> _I8 | None: ...
def count_classes(
    codes: _I4, weights: _F8 | None, count: _F8, threads: int, rest: _F8 | None = None
) -> None: ...
def count_rows(codes: _I4, rows: _F8, count: _F8, squared_weights: _F8, threads: int) -> None: ...
def moments_dense(
    x: _Real,
    codes: _I4,
    weights: _F8 | None,
    origin: _F8,
    s1_hi: _F8,
    s1_lo: _F8,
    s2_hi: _F8,
    s2_lo: _F8,
    threads: int,
) -> int: ...
def moments_columns(
    columns: list[_F8],
    codes: _I4,
    weights: _F8 | None,
    origin: _F8,
    s1_hi: _F8,
    s1_lo: _F8,
    s2_hi: _F8,
    s2_lo: _F8,
    threads: int,
) -> int: ...
def moments_sparse(
    indptr: _Real,
    indices: _Real,
    data: _Real,
    rows: int,
    columns: int,
    by_column: bool,
    codes: _I4,
    weights: _F8 | None,
    s1_hi: _F8,
    s1_lo: _F8,
    s2_hi: _F8,
    s2_lo: _F8,
    threads: int,
) -> int: ...
def sums_dense(
    x: _Real,
    codes: _I4,
    weights: _F8 | None,
    threshold: float | None,
    non_negative: bool,
    sums: _F8,
    threads: int,
) -> int: ...
def huge_table(rows: int, columns: int) -> _F8 | None: ...
def sums_sparse(
    indptr: _Real,
    indices: _Real,
    data: _Real,
    rows: int,
    columns: int,
    by_column: bool,
    codes: _I4,
    weights: _F8 | None,
    threshold: float | None,
    non_negative: bool,
    sums: _F8,
    threads: int,
) -> int: ...
def highest_codes(x: _Real, highest: _I8, threads: int) -> int: ...
def levels_dense(
    x: _Real, codes: _I4, weights: _F8 | None, start: _I8, counts: _F8, threads: int
) -> int: ...
def levels_columns(
    columns: list[_I4],
    codes: _I4,
    weights: _F8 | None,
    start: _I8,
    counts: _F8,
    threads: int,
) -> int: ...
def grid_counts(
    x: _Real,
    codes: _I4,
    weights: _F8 | None,
    classes: int,
    budget: int,
    least_shift: int = 0,
) -> tuple[int, int, _I8, _F8]: ...
def last_record_end(text: bytes, delimiter: bytes) -> int: ...
def encode_strings(streams: list[Any], threads: int) -> list[tuple[_I4, list[str]]]: ...
def rank_items(items: _U1, codes: _I4) -> _I8: ...
def bin_entries(x: _Real, edges: _F8, entries: _I4, threads: int) -> int: ...
def add_of_counts(x: _F8, table: _F8, scores: _F8, beyond: _U1, threads: int) -> None: ...
def score_cells(
    counts: list[_F8],
    classes: _F8,
    row: _F8,
    unit: float,
    pseudo: float,
    sizes: _I8,
    fine: int,
    widths: _I8,
    strengths: _F8,
    bins: _F8,
    densities: _F8,
) -> None: ...
def score_gaussians(
    counts: list[_F8],
    values: list[_F8],
    classes: _F8,
    row: _F8,
    n: _F8,
    mean: _F8,
    squares: _F8,
    centre: _F8,
    constant: _F8,
    scale: _F8,
    everyone: _F8,
    rows: float,
    less: float,
    least: float,
    exact: NDArray[np.uint8],
    enough: _F8,
    scores: _F8,
) -> None: ...
def score_counts(
    counts: list[_F8],
    values: list[_F8],
    classes: _F8,
    row: _F8,
    alpha: float,
    pooled: float,
    enough: _F8,
    scores: _F8,
) -> None: ...
def counts_sizes(counts: _F8, values: _F8, sizes: _F8) -> None: ...
def counts_sizes_without(
    counts: _F8, values: _F8, own: _I8, x: _F8, weight: _F8, sizes: _F8
) -> None: ...
def quantile_bins(counts: list[_F8], row: _F8, n_bins: _I8, bin: _I4) -> None: ...
def find_atoms(
    counts: list[_F8],
    values: list[_F8],
    classes: int,
    row: float,
    found: NDArray[np.uint8],
) -> None: ...
def levels_csr(
    indptr: _Real,
    indices: _Real,
    data: _Real,
    rows: int,
    columns: int,
    codes: _I4,
    weights: _F8 | None,
    start: _I8,
    counts: _F8,
) -> int: ...
def add_moments(
    n: _F8,
    s1_hi: _F8,
    s1_lo: _F8,
    s2_hi: _F8,
    s2_lo: _F8,
    n_lo: _F8,
    other_n: _F8,
    other_s1_hi: _F8,
    other_s1_lo: _F8,
    other_s2_hi: _F8,
    other_s2_lo: _F8,
    other_n_lo: _F8,
    factor: float,
) -> None: ...
def rebase_moments(
    n: _F8,
    s1_hi: _F8,
    s1_lo: _F8,
    s2_hi: _F8,
    s2_lo: _F8,
    n_lo: _F8,
    old_origin: _F8,
    new_origin: _F8,
) -> None: ...
def centre_columns(
    n: _F8,
    s1_hi: _F8,
    s1_lo: _F8,
    s2_hi: _F8,
    s2_lo: _F8,
    n_lo: _F8,
    origin: _F8,
    residue: float,
    mean: _F8,
    squares: _F8,
    everyone: _F8,
) -> None: ...
def centre_moments(
    n: _F8,
    s1_hi: _F8,
    s1_lo: _F8,
    s2_hi: _F8,
    s2_lo: _F8,
    n_lo: _F8,
    origin: _F8,
    residue: float,
    mean: _F8,
    squares: _F8,
) -> None: ...
def cross_dense(
    x: _F8,
    codes: _I4,
    weights: _F8 | None,
    origin: _F8,
    n: _F8,
    s1_hi: _F8,
    s1_lo: _F8,
    s2_hi: _F8,
    s2_lo: _F8,
    n_lo: _F8,
    threads: int,
) -> int: ...
def add_cross(
    n: _F8,
    s1_hi: _F8,
    s1_lo: _F8,
    s2_hi: _F8,
    s2_lo: _F8,
    n_lo: _F8,
    other_n: _F8,
    other_s1_hi: _F8,
    other_s1_lo: _F8,
    other_s2_hi: _F8,
    other_s2_lo: _F8,
    other_n_lo: _F8,
    factor: float,
) -> None: ...
def rebase_cross(
    n: _F8,
    s1_hi: _F8,
    s1_lo: _F8,
    s2_hi: _F8,
    s2_lo: _F8,
    n_lo: _F8,
    old_origin: _F8,
    new_origin: _F8,
) -> None: ...
def centre_cross(
    n: _F8,
    s1_hi: _F8,
    s1_lo: _F8,
    s2_hi: _F8,
    s2_lo: _F8,
    n_lo: _F8,
    origin: _F8,
    residue: float,
    mean: _F8,
    scatter: _F8,
) -> None: ...
def flatten_cross(
    n: _F8,
    s1_hi: _F8,
    s1_lo: _F8,
    s2_hi: _F8,
    s2_lo: _F8,
    n_lo: _F8,
    marked: NDArray[np.uint8],
) -> None: ...
def score_triangular(
    x: _F8,
    mean: _F8,
    rotation: _F8,
    constant: _F8,
    freedom: _F8 | None,
    scores: _F8,
    shares: _F8 | None,
    threads: int,
) -> None: ...
def normalise(
    scores: _F8, fallback: _F8, probability: bool, log_evidence: _F8 | None, threads: int
) -> int: ...
def own_sums(
    x: RowEntries,
    own: _I8,
    weight: _F8,
    table: _F8,
    score: _F8,
    length: _F8,
    threads: int,
) -> int: ...
def sums_without(
    x: RowEntries,
    own: _I8,
    weight: _F8,
    part: _F8,
    alpha: _F8,
    score: _F8,
    length: _F8,
    threads: int,
) -> int: ...
def presence_without(
    x: RowEntries,
    own: _I8,
    weight: _F8,
    pair: _F8,
    rows: _F8,
    yes: _F8,
    no: _F8,
    score: _F8,
    ruled: _F8,
    threads: int,
) -> int: ...
def shifted_logs(
    table: _F8,
    own: _I8,
    weight: _F8,
    alpha: _F8,
    whole: _F8,
    scale: _F8,
    sign: float,
    sum: _F8,
    zeros: _F8,
    threads: int,
) -> None: ...
def codes_without(x: _Real, start: _I8, table: _F8, own: _I8, scores: _F8, threads: int) -> int: ...
def moments_without(
    x: _Real,
    own: _I8,
    weight: _F8,
    totals: tuple[_F8, ...],
    everyone: tuple[_F8, ...],
    origin: _F8,
    rest: _F8,
    residue: float,
    rounding: float,
    smoothing: float,
    each: bool,
    scores: _F8,
    redo: NDArray[np.uint8],
    threads: int,
) -> None: ...
def posterior_without(
    scores: _F8, own: _I8, other_prior: _F8, own_prior: _F8, threads: int
) -> int: ...

class RowEntries:
    @staticmethod
    def dense(x: _Real, threshold: float | None) -> RowEntries: ...
    @staticmethod
    def csr(
        indptr: _Real,
        indices: _Real,
        data: _Real,
        rows: int,
        columns: int,
        threshold: float | None,
    ) -> RowEntries: ...

class ComplementScorer:
    def __init__(
        self,
        part: _F8,
        total: _F8,
        everything: _F8,
        log_sum: _F8,
        present: _F8,
        alpha: _F8,
        norm: bool,
        threads: int,
    ) -> None: ...
    def score(self, x: RowEntries, own: _I8, weight: _F8, scores: _F8, threads: int) -> int: ...

class DenseScorer:
    def __init__(
        self,
        first: _F8,
        second: _F8 | None,
        offset: _F8,
        fallback: int,
        threshold: float | None,
        non_negative: bool,
    ) -> None: ...
    def score(self, x: _Real, joint: _F8 | None, best: _I8 | None, threads: int) -> _Reply: ...

class LaneScorer:
    def __init__(
        self, first: _F8, second: _F8 | None, offset: _F8, fallback: int, threads: int
    ) -> None: ...
    @staticmethod
    def of_columns(tables: list[_F8], offset: _F8, fallback: int, threads: int) -> LaneScorer: ...
    def score_codes(
        self, x: _Real, start: _I8, joint: _F8 | None, best: _I8 | None, threads: int
    ) -> _Reply: ...
    def score_sparse(
        self,
        indptr: _Real,
        indices: _Real,
        data: _Real,
        rows: int,
        columns: int,
        threshold: float | None,
        non_negative: bool,
        joint: _F8 | None,
        best: _I8 | None,
        threads: int,
    ) -> _Reply: ...

class RowCounter:
    rows: int
    holds: bool
    @property
    def names(self) -> list[str]: ...
    def __init__(
        self,
        names: list[str],
        holds: list[int],
        least: list[int],
        dates: list[int],
        others: int,
        budget: int,
        convert: Any,
        as_text: Any,
        check_label: Callable[[Any], None],
    ) -> None: ...
    def declare(self, column: int, levels: list[str], most: int) -> None: ...
    def learn(self, row: Any, label: Any, weight: float) -> None: ...
    def add_group(self, columns: list[int]) -> None: ...
    def hold_classes(self, labels: list[Any], count: _F8, squared_weights: _F8) -> None: ...
    def hold_levels(self, column: int, levels: list[str], counts: _F8) -> None: ...
    def hold_numbers(
        self,
        column: int,
        origin: float,
        moments: _F8,
        shift: int,
        keys: _I8,
        counts: _F8,
        largest: float,
    ) -> None: ...
    def forget(self, row: Any, label: Any, weight: float) -> bool: ...
    def largest(self) -> dict[str, float]: ...
    def counted(
        self, without: frozenset[str]
    ) -> tuple[list[Any], _F8, _F8, list[Any], list[Any]]: ...

class PooledScorer:
    def __init__(self, classes: int) -> None: ...
    def add(
        self,
        low: _F8,
        high: _F8,
        atoms: _F8,
        constant: _F8,
        mean: _F8,
        scale: _F8,
        shift: _F8,
        share: float,
    ) -> None: ...
    def add_less(
        self,
        counts: _F8,
        rest: _F8,
        squares: _F8,
        n: _F8,
        rows: float,
        less: float,
        least: float,
    ) -> None: ...
    def score(self, columns: list[_F8], scores: _F8, threads: int) -> None: ...
    def score_without(
        self,
        columns: list[_F8],
        own: _I8,
        weight: _F8,
        scores: _F8,
        redo: NDArray[np.uint8],
        threads: int,
    ) -> None: ...

class RowScorer:
    doubtful: bool
    found: int
    def __init__(
        self, log_prior: _F8, fallback: int, dates: list[str], convert: Any, as_text: Any
    ) -> None: ...
    def add_levels(
        self, name: str, entry: dict[str, int], unseen: int, table: _F8, numbers: dict[str, int]
    ) -> None: ...
    def add_bins(self, name: str, edges: _F8, table: _F8, strings: dict[str, int]) -> None: ...
    def add_pooled(
        self,
        name: str,
        low: _F8,
        high: _F8,
        atoms: _F8,
        constant: _F8,
        mean: _F8,
        scale: _F8,
        shift: _F8,
        share: float,
        missing: _F8,
        there: _F8,
        least: int,
        strings: dict[str, int],
        beside: _F8,
    ) -> None: ...
    def add_quadratic(
        self,
        name: str,
        constant: _F8,
        slope: _F8,
        mean: _F8,
        scale: _F8,
        missing: _F8,
        least: int,
        strings: dict[str, int],
        beside: _F8,
    ) -> None: ...
    def add_function(
        self,
        name: str,
        function: Callable[[float], list[float]],
        missing: _F8,
        least: int,
        strings: dict[str, int],
        beside: _F8,
        counts: _F8,
    ) -> None: ...
    def add_group(
        self,
        names: list[str],
        mean: _F8,
        rotation: _F8,
        constant: _F8,
        freedom: _F8 | None,
        function: Callable[[list[float]], list[float]],
    ) -> None: ...
    def add_joint(
        self, columns: list[int], coarser: list[_I4], sizes: list[int], table: _F8
    ) -> None: ...
    def mix(self, share: float, prior: _F8, most: float) -> None: ...
    def watch(self, names: list[str]) -> None: ...
    def posterior(self, row: Any) -> list[float]: ...
    def best(self, row: Any) -> int: ...

def screen_pairs(
    codes: NDArray[np.uint8],
    size: _I8,
    pairs: _I4,
    y: _I4,
    weight: NDArray[np.float32],
    P: NDArray[np.float32],
    strength: _F8,
    gains: _F8,
    threads: int,
) -> None: ...
def try_pairs(
    coarse: NDArray[np.uint8],
    fine: NDArray[np.uint8],
    size: _I8,
    numbers: _I8,
    number: NDArray[np.bool_],
    most_cells: int,
    pairs: _I4,
    y: _I4,
    weight: _F8,
    P: NDArray[np.float32],
    strength: _F8,
    width: _F8,
    gains: _F8,
    threads: int,
) -> None: ...
def exact_pair_gains(
    coarse: NDArray[np.uint8],
    fine: NDArray[np.uint8],
    size: _I8,
    numbers: _I8,
    number: NDArray[np.bool_],
    most_cells: int,
    pairs: _I4,
    y: _I4,
    weight: _F8,
    P: NDArray[np.float32],
    strength: _F8,
    width: _F8,
    gains: _F8,
    threads: int,
    middle: int,
    thorough: bool,
) -> None: ...
def joint_cells(
    first: _I4, second: _I4, a: _I4, b: _I4, width: int, cells: _I4, threads: int
) -> None: ...
def sum_pair(cells: _I4, y: _I4, weight: _F8, P: NDArray[np.float32], sums: _F8) -> None: ...
def cell_gain(sums: _F8, C: _F8, E: _F8, strength: _F8, removed: _F8) -> float: ...
def residual_gain(
    cells: _I4,
    y: _I4,
    weight: _F8,
    P: NDArray[np.float32],
    C: _F8,
    E: _F8,
    strength: _F8,
) -> float: ...
def residual_values(
    cells: _I4,
    y: _I4,
    removed: _F8,
    P: NDArray[np.float32],
    C: _F8,
    E: _F8,
    strength: _F8,
    out: NDArray[np.float32],
    threads: int,
) -> None: ...
def add_column(
    cells: _I4,
    y: _I4,
    removed: _F8,
    C: _F8,
    p: _F8,
    least: float,
    W: _F8,
    S: _F8,
    threads: int,
) -> None: ...
def add_pair(
    cells: _I4,
    y: _I4,
    removed: _F8,
    P: NDArray[np.float32],
    C: _F8,
    E: _F8,
    strength: _F8,
    W: _F8,
    S: _F8,
    threads: int,
) -> None: ...
def softmax_residuals(
    S: _F8, y: _I4, weight: _F8, R: NDArray[np.float32], threads: int
) -> float: ...
def weighted_loss(
    Z: NDArray[np.float32],
    v: _F8,
    offset: _F8,
    y: _I4,
    weight: _F8,
    in_v: _F8,
    in_b: _F8,
    threads: int,
) -> float: ...
def correction_gradient(
    cells: _I4, S: _F8, y: _I4, weight: _F8, Q: _F8, gradient: _F8, threads: int
) -> float: ...
def ridge_descent(
    cells: _I4,
    S: _F8,
    y: _I4,
    weight: _F8,
    start: _I8,
    function: _I8,
    value: _F8,
    curvature: _F8,
    ridge: float,
    Q: _F8,
    steps: int,
    nearly: float,
    of_loss: float,
    threads: int,
) -> None: ...
def equal_shares(weight: _F8, total: float, most: int, label: _I8) -> None: ...
def corrections_added(cells: _I4, Q: _F8, into: _F8, threads: int) -> None: ...
def neighbour_sums(counts: _F8, at: _F8, width: _F8, into: _F8) -> None: ...
def table_gains(
    counts: _F8, removed: _F8, p: _F8, summed: _F8, strength: _F8, gains: _F8
) -> None: ...
def scaled_rows(
    Z: NDArray[np.float32],
    rows: NDArray[np.intp],
    factor: NDArray[np.float32],
    into: NDArray[np.float32],
) -> None: ...
def correction_curvature(cells: _I4, S: _F8, weight: _F8, diagonal: _F8, threads: int) -> None: ...
def count_terms(
    indptr: _I8,
    terms: _I4,
    codes: _I4,
    weights: _F8 | None,
    values: _F8 | _I4 | None,
    n_terms: int,
    n_classes: int,
    threads: int,
) -> tuple[_I8, _I4, _F8, _F8 | None]: ...
def document_hashes(
    indptr: _I8,
    terms: _I4,
    counts: _I4,
    salt: int,
    out: NDArray[np.uint64],
    threads: int,
) -> None: ...
def document_sums_without(
    indptr: _I8,
    terms: _I4,
    values: NDArray[np.float32],
    y: _I4,
    weight: _F8,
    start: _I8,
    classes: _I4,
    counts: _F8,
    frequency: _F8,
    first: NDArray[np.int8],
    share: _F8,
    tau: float,
    of_an_order: int,
    Z: _F8,
    threads: int,
) -> None: ...
def document_sums(
    indptr: _I8,
    terms: _I4,
    values: NDArray[np.float32],
    y: _I4 | None,
    start: _I8,
    classes: _I4,
    pair: _F8,
    own: _F8 | None,
    expected: _F8,
    row: _I4,
    bin: NDArray[np.int8],
    Z: _F8,
    threads: int,
) -> None: ...
def tfidf_columns(
    indptr: _I8,
    terms: _I4,
    values: NDArray[np.float32],
    column: _I4,
    idf: _F8,
    columns: int,
) -> tuple[_I8, _I4, NDArray[np.float32]]: ...
def gram_times(
    start: _I8,
    documents: _I4,
    values: NDArray[np.float32],
    D: NDArray[np.float32],
    F: NDArray[np.float32],
    threads: int,
) -> None: ...
def columns_times(
    start: _I8,
    documents: _I4,
    values: NDArray[np.float32],
    A: NDArray[np.float32],
    U: NDArray[np.float32],
    threads: int,
) -> None: ...

class DocumentScorer:
    def __init__(
        self,
        start: _I8,
        classes: _I4,
        pair: _F8,
        expected: _F8,
        row: _I4,
        column: _I4,
        idf: _F8,
        u: NDArray[np.float32],
        intercept: _F8,
        mean_length: float,
        power: float,
    ) -> None: ...
    def joint(
        self, indptr: _I8, terms: _I4, values: NDArray[np.float32], S: _F8, threads: int
    ) -> None: ...
    def contributions(
        self, indptr: _I8, terms: _I4, values: NDArray[np.float32], out: _F8
    ) -> None: ...

class TextRules:
    def __init__(
        self,
        properties: NDArray[np.uint8],
        numbers: NDArray[np.uint16],
        strings: list[bytes],
        lower: bool,
        ascii: bool,
        unit: int,
        min_n: int,
        max_n: int,
        singles: bool,
        longer_than_one: bool,
    ) -> None: ...
    def fold(self, documents: TextDocuments) -> list[str]: ...

class TextDocuments:
    def __init__(self, items: list[Any]) -> None: ...
    @staticmethod
    def from_arrow(stream: Any) -> TextDocuments: ...
    @property
    def refused(self) -> int: ...
    def __len__(self) -> int: ...

def write_terms(bytes: NDArray[np.uint8], end: _I8, out: NDArray[Any]) -> None: ...
def read_terms(terms: NDArray[Any]) -> tuple[NDArray[np.uint8], _I8]: ...
def terms_ascend(bytes: NDArray[np.uint8], end: _I8) -> bool: ...
def term_places(
    bytes: NDArray[np.uint8], end: _I8, others: NDArray[np.uint8], others_end: _I8
) -> tuple[_I8, NDArray[np.uint8]]: ...

class GrowingVocabulary:
    def __init__(self, rules: TextRules, stop_words: list[bytes]) -> None: ...
    def __len__(self) -> int: ...
    def add(self, documents: TextDocuments, threads: int) -> int: ...
    def sorted(self, threads: int) -> tuple[NDArray[np.uint8], _I8]: ...
    def frequencies(self) -> tuple[_I8, _I8]: ...
    def row_ends(self, column: _I4, threads: int) -> _I8: ...
    def write(self, end: _I8, indices: _I4, counts: _Real, columns: int, threads: int) -> None: ...

class CountedRows:
    @property
    def fault(self) -> int: ...
    def row_ends(self) -> _I8: ...
    def write(self, indices: _I4, counts: _Real, threads: int) -> None: ...

class GivenVocabulary:
    def __init__(
        self, rules: TextRules, stop_words: list[bytes], bytes: NDArray[np.uint8], end: _I8
    ) -> None: ...
    def count(self, documents: TextDocuments, threads: int) -> CountedRows: ...

class LiveDocuments:
    def __init__(self, rules: TextRules, stop_words: list[bytes], buckets: int) -> None: ...
    def add_class(self) -> int: ...
    def show(self, order: _I4) -> None: ...
    def load(
        self,
        bytes: NDArray[np.uint8] | None,
        names: _I8,
        start: _I8,
        classes: _I4,
        counts: _F8,
        sums: _F8 | None,
        documents: _F8,
        pruned: float,
    ) -> None: ...
    def fade_by(self, half_life: float) -> None: ...
    def fix_idf(
        self, bytes: NDArray[np.uint8] | None, names: _I8, idf: _F8, other: float
    ) -> None: ...
    def read_plain(
        self, event: int, alpha: float, sums: bool, log_tf: bool, idf: bool, normalize: bool
    ) -> None: ...
    def read_weighted(
        self,
        tau: float,
        mass: bool,
        power: float,
        mean_length: float,
        min_length: float,
        weights: _F8,
        intercept: _F8,
        log_counts: NDArray[np.float32],
    ) -> None: ...
    def read_ridge(self, column: _I4, idf: _F8, u: NDArray[np.float32]) -> None: ...
    def fault(self, documents: TextDocuments) -> int: ...
    def learn(self, documents: TextDocuments, codes: _I4, weights: _F8) -> int: ...
    def learn_one(self, documents: TextDocuments, code: int, weight: float) -> int: ...
    def forget(self, documents: TextDocuments, codes: _I4, weights: _F8) -> tuple[bool, int]: ...
    def joint(self, documents: TextDocuments, out: _F8) -> int: ...
    def tally(
        self,
    ) -> tuple[NDArray[np.uint8] | None, _I8, _I8, _I4, _F8, _F8 | None, _I4, _F8]: ...
    def pass_one(self) -> None: ...
    @property
    def pruned(self) -> float: ...
    @property
    def n_terms(self) -> int: ...
    def documents(self) -> _F8: ...
    def documents_of(self, k: int) -> float: ...
    def intercept(self) -> _F8: ...

def hash_documents(
    rules: TextRules, stop_words: list[bytes], columns: int, documents: TextDocuments, threads: int
) -> CountedRows: ...
def decode_terms(bytes: NDArray[np.uint8], end: _I8) -> list[str]: ...
