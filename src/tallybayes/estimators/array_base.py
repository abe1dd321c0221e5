"""Base of the five classifiers of arrays, and how their rows are read."""

from __future__ import annotations

import inspect
import operator
from abc import abstractmethod
from collections.abc import Mapping
from numbers import Integral, Real
from textwrap import dedent
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import assert_all_finite, check_array, validate_data

from tallybayes import scoring
from tallybayes.engines.arrays import collect_array, readable
from tallybayes.errors import SmoothingWarning, UnseenLevel, warn_user
from tallybayes.estimators.base import TallyClassifier, learning, lock_of
from tallybayes.models.array import ArrayModel, declared_levels
from tallybayes.models.base import joined_declared
from tallybayes.models.class_weights import (
    need_known_labels,
    need_same_class_weights,
    weighted,
)
from tallybayes.models.data_warnings import is_index_name, warn_of_written_index
from tallybayes.schema import Columns, Schema
from tallybayes.tables import Column, Empty, Mixed, Numbers, Strings, read_table
from tallybayes.tables.columns import BITS, TIMES, frame, is_missing
from tallybayes.tables.read import is_arrow, is_frame
from tallybayes.tally import TableTally
from tallybayes.threads import get_num_threads
from tallybayes.validation import (
    as_numpy,
    codes_of,
    label_array,
    labels_and_codes,
    like,
    read_given,
)

if TYPE_CHECKING:
    from tallybayes import distributions

__all__ = [
    "ArrayClassifier",
    "DiscreteClassifier",
    "GenerativeClassifier",
    "encode",
    "feature_count",
    "read_rows",
    "shares_parameters",
]

Array = NDArray[np.float64]


# ---- all five: one group of columns of one kind, read by one family ------------------------------
class ArrayClassifier(TallyClassifier):
    """Base of the classifiers of arrays. Not for direct use."""

    _reads = "arrays"

    # ---- what a subclass defines -----------------------------------------------------------------
    @abstractmethod
    def _family(self) -> Any:
        """The family, from validated parameters; raises ValueError where they do not fit X."""

    @abstractmethod
    def _columns(self, x: Any) -> Columns:
        """What the columns of a first batch mean."""

    def _read_rows(self, x: Any, *, first: bool = False, learning: bool = False) -> Any:
        """X as the kernels read it; `first` for a first batch, `learning` for rows to count."""
        return read_rows(self, x, reset=first)

    def _first_rows(self, x: Any) -> Any:
        return self._read_rows(x, first=True, learning=True)

    if TYPE_CHECKING:  # its models are of this type; to assert it in each call would cost time
        _model: ArrayModel

        def _fitted(self) -> ArrayModel: ...

        def _attribute(self, name: str) -> ArrayModel: ...

    # ---- learning --------------------------------------------------------------------------------
    @learning
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Count the rows of X from scratch.

        Parameters
        ----------
        X : array-like or sparse matrix (n_rows, n_features)
            Finite numbers.
        y : array-like (n_rows,)
            Class labels.
        sample_weight : array-like (n_rows,), optional
            A row of weight w counts as w rows. Negative weights are lawful as long as no count
            becomes negative. The class weights are multiplied in.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        ValueError
            For bad parameters or data; the estimator is then as it was before.
        """
        return self._fit_rows(X, y, sample_weight)

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Count the rows of X in addition to those counted before.

        The batches may be of any size and in any order: the model is the one that `fit` would make
        of all rows together.

        Parameters
        ----------
        X : array-like or sparse matrix (n_rows, n_features)
            Rows to count.
        y : array-like (n_rows,)
            Class labels.
        classes : array-like (n_classes,), optional
            Every label that may occur. Needed on the first call; later it may only be repeated.
        sample_weight : array-like (n_rows,), optional
            How much each row counts; 1 by default.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        ValueError
            For bad parameters or data; the estimator is then as it was before.
        """
        with lock_of(self):
            model = self.__dict__.get("_model")
            if model is not None and len(model.schema.classes):
                return self._count_more(X, y, classes, sample_weight)
            return self._first_partial_fit(X, y, classes, sample_weight)

    def _count_more(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        """A later batch. It changes nothing but the model, at the end, and so needs no twin."""
        if classes is not None:
            self._need_same_classes(classes)
        class_weight = self._model.class_weight
        if class_weight or self.class_weight is not None:
            class_weight = self._class_weight_to_learn()
        x = self._read_rows(X, learning=True)
        labels, given, _ = read_given(X, y, sample_weight, None, x.shape[0], self._name)
        known = self._model.schema.classes
        codes = codes_of(labels, known)
        weights = weighted(given, class_weight, known, codes)
        self._take_parameters()
        model = self._model.own(for_numbers=x.shape[0] * x.shape[1])
        if weights is not None and weights.min(initial=0.0) < 0.0:
            batch, rows = model.count(x, codes, weights)
            weightless = model.tally.weightless_classes()
            model.subtract(batch * -1.0, rows, "partial_fit with these negative weights")
            model = self._of_what_is_held(model, weightless)
        elif not model.collect(x, codes, weights):
            model.add(*model.count(x, codes, weights))
        model.class_weight = class_weight
        self._model = model
        return self

    @learning
    def _first_partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        emptied = "_model" in self.__dict__  # whatever it learned was removed again
        if classes is None and not emptied:
            raise ValueError(
                "classes must be passed on the first call to partial_fit. They name every label "
                "that may occur: partial_fit(X, y, classes=[...])."
            )
        self._validate_params()
        class_weight = self._class_weight_to_learn()
        x, known = self._first_rows(X), None
        labels, given, _ = read_given(X, y, sample_weight, None, x.shape[0], self._name)
        if classes is None:
            found, codes = labels_and_codes(labels)
        else:
            named = label_array(classes).ravel()
            if not len(named):
                raise ValueError("classes= names no class: name every label that may occur")
            if named.dtype.kind in "fcO":
                assert_all_finite(named, input_name="classes")
            found = known = labels_and_codes(named)[0]
            codes = codes_of(labels, found)
            need_known_labels(self.class_weight, found.tolist())
        model = self._count_afresh(found, x, codes, weighted(given, class_weight, found, codes))
        model.class_weight, model.declared_classes = class_weight, known
        return self

    def _count_afresh(
        self,
        classes: NDArray[Any],
        x: Any,
        codes: NDArray[np.int32],
        weights: Array | None,
        groups: NDArray[np.intp] | None = None,
    ) -> ArrayModel:
        prior = self._class_prior(classes)
        family = self._family()
        counted = collect_array(self._columns(x), x, codes, len(classes), weights, whose=self._name)
        schema = Schema(classes, (counted.columns,))
        tally = TableTally(schema, counted.classes, (counted.tally,))
        if weights is not None and weights.min(initial=0.0) < 0.0:
            tally.need_non_negative("fit with these negative weights")
        self._model = ArrayModel(tally, family, prior, x.dtype, self._name)
        self._model.taken = self._parameters()
        return self._model

    def _take_parameters(self) -> None:
        """Reads by the parameters as they are now, if they were set since the last batch."""
        model = self._fitted()
        now = self._parameters()
        if model.taken is not None and all(map(operator.is_, now, model.taken)):
            return
        self._validate_params()
        prior = self._class_prior(model.schema.classes)
        family = self._family()
        self._model = model.with_tally(model.tally)
        self._model.shared = model.shared
        self._model.family, self._model.prior, self._model.taken = family, prior, now

    def _need_same_classes(self, classes: ArrayLike) -> None:
        known = self._fitted().schema.classes
        # a label named twice is refused as well: it is not the list of the first call
        if not np.array_equal(np.sort(label_array(classes).ravel()), known):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: "
                f"{known!r}. Leave classes out, repeat them, or merge models of different classes."
            )

    @learning
    def forget(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Remove rows that were counted before: the model is as if it had never seen them.

        Classes and levels that no row holds any more are gone, unless they were declared (by
        ``partial_fit(classes=...)``, a class prior that is given, ``levels=`` or
        ``min_categories=``). A class whose rows all have weight 0 goes when one of them is
        forgotten. A model that holds no rows predicts nothing, and learns again as if
        it were new.

        Whole weights are removed exactly. Of fractional ones, what is left of a count below
        2⁻⁴⁰ of what it was (and below ½) is rounding and becomes 0.

        Parameters
        ----------
        X : array-like or sparse matrix (n_rows, n_features)
            Rows that were counted.
        y : array-like (n_rows,)
            The labels they were counted with.
        sample_weight : array-like (n_rows,), optional
            The weights that the rows were learned with.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        NegativeTally
            A ValueError: more would be removed than was counted, as far as a count, n or a sum
            of squares can show it. The estimator is then as it was before.
        """
        model = self._fitted()
        x, own, weights, _ = self._learned_rows(X, y, sample_weight, learning=True)
        batch, rows = model.count(x, own.astype(np.int32), weights)
        model = model.own(for_numbers=x.shape[0] * x.shape[1])
        weightless = model.tally.weightless_classes(model.schema.classes[rows].tolist())
        model.subtract(batch, rows, "forget")
        self._model = self._of_what_is_held(model, weightless)
        return self

    def _of_what_is_held(self, model: ArrayModel, weightless: NDArray[Any]) -> ArrayModel:
        """The model without the classes and levels that no row holds, unless they are declared;
        `weightless` classes have rows of weight 0, and stay, too."""
        declared = model.declared_classes
        if len(weightless):
            declared = weightless if declared is None else joined_declared(declared, weightless)
        own_prior = getattr(self, self._prior_parameter) is not None
        if own_prior and model.prior.given is not None:
            declared = model.schema.classes  # the prior names a probability for each
        tally = model.tally.held(declared, self._n_declared_levels(model.columns.n_features))
        if tally is model.tally:
            return model
        held = model.with_tally(tally)
        if len(tally.schema.classes) != len(model.schema.classes) and not own_prior:
            held.prior = self._class_prior(tally.schema.classes)
        return held

    def _n_declared_levels(self, n_features: int) -> NDArray[np.int64] | None:
        """How many levels each column has in any case, where levels are codes."""
        return None

    @learning
    def _merge(self, theirs: ArrayModel, other: ArrayClassifier) -> Self:
        """Adds another model's counts; `other` was read before, since its lock is another."""
        mine = self._fitted()
        need_same_class_weights(mine.class_weight, theirs.class_weight)
        tally = mine.tally.merged(theirs.tally)
        prior = mine.prior
        if len(tally.schema.classes) != len(mine.schema.classes):
            prior = self._class_prior(tally.schema.classes)
        dtype = np.result_type(mine.dtype, theirs.dtype)
        self._model = ArrayModel(tally, mine.family, prior, dtype, self._name)
        self._model.taken, self._model.class_weight = mine.taken, mine.class_weight
        self._model.decayed = max(mine.decayed, theirs.decayed)
        self._model.declared_classes = joined_declared(
            mine.declared_classes, theirs.declared_classes
        )
        if "feature_names_in_" in other.__dict__:  # the same, or this model has none
            self.__dict__["feature_names_in_"] = other.__dict__["feature_names_in_"]
        return self

    # ---- fitted attributes -----------------------------------------------------------------------
    def _feature_names(self) -> tuple[str, ...] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names))

    def _feature_labels(self) -> list[Any]:
        """What tables call the columns: their names, or else their numbers."""
        return list(self._feature_names() or range(self.n_features_in_))

    def _prior_table(self) -> Any:
        """A frame with a row a class: its count and its prior probability."""
        model = self._fitted()
        return frame(
            {
                "class": model.schema.classes,
                "count": model.tally.classes.count,
                "probability": np.exp(model.log_prior),
            }
        )

    def _feature_table(self, values: Array) -> Any:
        """A frame with a row a feature and, beside its name, a column a class."""
        return self._class_table("feature", self._feature_labels(), values)

    def _class_table(self, first: str, entries: Any, values: Array) -> Any:
        """A frame with a column of entries, and a column of `values` for each class."""
        columns: dict[str, Any] = {first: entries}
        for k, label in enumerate(self._fitted().schema.classes.tolist()):
            name = str(label)
            columns[f"{name} (class)" if name in columns else name] = values[k]
        return frame(columns)


# ---- the four discrete ones: parameters, and the checks of alpha ---------------------------------
MIN_ALPHA = 1e-10  # what alpha is raised to with force_alpha=False


PARAMETERS = {
    "alpha": """
    alpha : float or array-like (n_features,), default=1.0
        Additive smoothing; 0 is none.
""",
    "force_alpha": """
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is raised to 1e-10, with a warning.
""",
    "fit_prior": """
    fit_prior : bool, default=True
        Whether the class prior is estimated; otherwise every class is alike.
""",
    "class_prior": """
    class_prior : array-like (n_classes,) or dict, optional
        A class prior that no count changes, in the order of the classes or by label; it sums to 1.
""",
    "class_alpha": """
    class_alpha : float, default=0.0
        Smoothing of the estimated class prior: (count + class_alpha) / (m + K·class_alpha).
""",
    "class_weight": """
    class_weight : dict, "balanced" or None, optional
        Weights of rows by label; see :class:`GaussianNB`.
""",
}
"""The documentation of the parameters that the discrete classifiers share, by name."""

Classifier = TypeVar("Classifier", bound=type)


def shares_parameters(cls: Classifier) -> Classifier:
    """Put the shared descriptions in place of lines such as ``<alpha>`` of a class's docstring."""
    if cls.__doc__:  # python -OO has none
        described = inspect.cleandoc(cls.__doc__)  # from Python 3.13 on it is indented no more
        for name, text in PARAMETERS.items():
            described = described.replace(f"<{name}>\n", dedent(text).lstrip("\n"))
        cls.__doc__ = described + "\n"
    return cls


class DiscreteClassifier(ArrayClassifier):
    """Base class of the classifiers with additive smoothing. Not for direct use."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ArrayClassifier._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "fit_prior": ["boolean"],
        "class_prior": ["array-like", dict, None],
        "force_alpha": ["boolean"],
    }

    def _columns(self, x: Any) -> Columns:
        """Feature sums."""
        return Columns(
            kind="sums", n_features=x.shape[1], names=self._feature_names(), non_negative=True
        )

    def _smoothing(self) -> float | Array:
        """alpha as a number or float64 array (n_features,), raised to 1e-10 if requested."""
        alpha: Any = self.alpha
        if not isinstance(alpha, Real):
            alpha = np.array(alpha, dtype=np.float64)  # the user's may change
            if alpha.shape != (self.n_features_in_,):
                raise ValueError(
                    "When alpha is an array, it should contains `n_features`. Got the shape "
                    f"{alpha.shape} for {self.n_features_in_} features: give one value a feature."
                )
            if not (alpha >= 0.0).all() or not np.isfinite(alpha).all():
                j = int(np.flatnonzero(~((alpha >= 0.0) & np.isfinite(alpha)))[0])
                raise ValueError(
                    "All values in alpha must be greater than 0. "
                    f"alpha[{j}] is {alpha[j].item()!r}; 0 is allowed and means no smoothing."
                )
        elif not np.isfinite(float(alpha)):
            raise ValueError(f"alpha must be finite, got {alpha!r}")
        if not self.force_alpha and np.min(alpha) < MIN_ALPHA:
            warn_user(
                f"alpha too small will result in numeric errors, setting alpha = {MIN_ALPHA:.1e}. "
                "Use `force_alpha=True` to keep alpha unchanged.",
                SmoothingWarning,
            )
            alpha = np.maximum(alpha, MIN_ALPHA)
        return alpha if isinstance(alpha, np.ndarray) and alpha.ndim else float(alpha)

    def _declared_smoothing(self) -> float:
        return float(np.max(self.alpha))

    @property
    def class_log_prior_(self) -> Array:
        """log P(c), in nats, float64 (n_classes,)."""
        return self._attribute("class_log_prior_").log_prior.copy()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True
        return tags


def feature_count(estimator: Any) -> NDArray[np.float64]:
    """Feature sums, for the attribute ``feature_count_`` of those that count them."""
    sums: NDArray[np.float64] = estimator._attribute("feature_count_").group.sums
    return sums.copy()


# ---- those of a model of p(x, y): log p(x), and draws --------------------------------------------
class GenerativeClassifier(ArrayClassifier):
    """Base class of the classifiers whose score is log P(c) + log p(x | c). Not for direct use."""

    @property
    def class_prior_distribution_(self) -> distributions.Categorical:
        """P(y): a :class:`tallybayes.distributions.Categorical` over the labels."""
        from tallybayes.estimators.distributions import class_prior_distribution

        return class_prior_distribution(self)

    @property
    def class_conditional_(self) -> distributions.ClassConditional:
        """p(x | y): a batch of distributions of rows, one a class; see
        :mod:`tallybayes.distributions`."""
        from tallybayes.estimators.distributions import class_conditional

        return class_conditional(self)

    @property
    def joint_(self) -> distributions.Joint:
        """p(x, y) = P(y) p(x | y): a :class:`tallybayes.distributions.Joint`."""
        from tallybayes.estimators.distributions import joint

        return joint(self)

    def score_samples(self, X: Any) -> Any:
        """log p(x) = log Σ_c P(c) p(x | c), in nats: how well the model knows such a row.

        Parameters
        ----------
        X : array-like or sparse matrix (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        array (n_rows,)
            −inf for a row that every class rules out.
        """
        model = self._fitted()
        x = self._read_rows(X)
        evidence = scoring.log_evidence(model.score, x, model.log_prior)
        return like(X, self._as_output(evidence, x))

    def sample(
        self, n: int | None = None, y: ArrayLike | None = None, random_state: Any = None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Draw rows from the model.

        Parameters
        ----------
        n : int, optional
            Rows. May be left out where y has the number.
        y : label or array-like (n,), optional
            The class of each row, or of all of them; drawn from the class prior by default.
        random_state : int, RandomState or None
            The seed, or the generator, of the draws.

        Returns
        -------
        X : array (n, n_features)
            The rows.
        y : array (n,)
            Their labels.

        Raises
        ------
        ValueError
            If n and y do not fit, or y names an unknown class.
        """
        return self._sample(n, y, random_state)

    def _sample(
        self, n: int | None, y: Any, random_state: Any, length: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        model = self._fitted()
        classes = model.schema.classes
        rng = check_random_state(random_state)
        if n is not None and (isinstance(n, bool) or not isinstance(n, Integral) or n < 0):
            raise ValueError(f"n must be a whole number of rows, got {n!r}")
        if y is None:
            if n is None:
                raise ValueError("say how many rows to draw: sample(n), or sample(y=labels)")
            share = np.exp(model.log_prior)  # given priors sum to 1 only nearly
            codes = rng.choice(len(classes), size=int(n), p=share / share.sum())
        else:
            labels = label_array(y)
            if labels.ndim == 0:
                labels = np.full(1 if n is None else int(n), labels)
            if labels.ndim != 1:
                raise ValueError(
                    f"y is one label, or one a row; got an array of shape {labels.shape}"
                )
            if n is not None and len(labels) != n:
                raise ValueError(f"n={n} rows were asked for, but y has {len(labels)} labels")
            codes = codes_of(labels, classes) if len(labels) else np.empty(0, dtype=np.int32)
        size = {}
        if length is not None:
            if length.ndim and len(length) != len(codes):
                raise ValueError(f"length has {len(length)} values for {len(codes)} rows")
            size["total_count"] = length
        x = self.class_conditional_.draw(codes.astype(np.intp), rng, **size)
        return x, classes[codes]


# ---- declared levels: the sets A_j of values that each column can take ---------------------------
def encode(
    estimator: Any, x: Any, levels: Any, *, reset: bool, refuse_unknown: bool
) -> NDArray[np.int64]:
    """Values as codes, int64 (n_rows, n_features); the number of levels for a value that is not
    declared.

    Raises
    ------
    TypeError
        If x is sparse.
    UnseenLevel
        A ValueError: a value is not declared, and `refuse_unknown`.
    ValueError
        If x is empty or has other columns than were declared.
    """
    if sparse.issparse(x):
        raise TypeError(
            "Sparse data was passed for X, but with declared levels X must be dense: an absent "
            "entry has no value. Use X.toarray(), or level codes without levels="
        )
    x = _without_written_index(estimator, as_numpy(x), reset=reset)
    if isinstance(x, list | tuple):
        x = np.array(x, dtype=object)  # NumPy would turn the numbers of a mixed row into strings
    x = validate_data(estimator, x, dtype=None, ensure_all_finite=False, reset=reset)
    declared = declared_levels(levels, x.shape[1])
    codes = np.empty(x.shape, dtype=np.int64)
    for j, values in enumerate(declared):
        rank = {value: code for code, value in enumerate(values.tolist())}
        unknown = len(rank)
        column = x[:, j].tolist()
        codes[:, j] = [rank.get(value, unknown) for value in column]
        if codes[:, j].max() < unknown:
            continue
        names = getattr(estimator, "feature_names_in_", None)
        where = str(j) if names is None else f"{j} ({names[j]!r})"
        for row in np.flatnonzero(codes[:, j] == unknown).tolist():
            value = column[row]
            if is_missing(value):
                raise ValueError(
                    f"Input X contains NaN: row {row}, column {where} holds {value!r}. A missing "
                    "value is not a level: declare a level for it, or leave the row out."
                )
        if refuse_unknown:
            row = int(codes[:, j].argmax())
            shown = ", ".join(map(repr, values[:8].tolist())) + (", …" if unknown > 8 else "")
            raise UnseenLevel(
                f"row {row}, column {where} holds {column[row]!r}, which levels= does not declare "
                f"for that column ({shown}): declare it, or leave the row out"
            )
    return codes


# ---- reading X: scikit-learn's rules, without its second pass over the data ----------------------
# Whether values are finite, negative or whole is checked by the kernels while they count or score.
PLAIN_DTYPES = frozenset("dfbhilqBHILQ?")
NUMBERS_OF_POLARS = {f"{s}{b}" for s in ("Int", "UInt") for b in (8, 16, 32, 64)} | {
    "Float32",
    "Float64",
}
NOT_NUMBERS = ("date", "duration", "time")


def read_rows(estimator: Any, x: Any, *, reset: bool) -> Any:
    """X as an array, CSR or CSC matrix (n_rows, n_features) that the kernels can read.

    Strings that are numbers are numbers, and booleans are 0 and 1. A missing value of any kind is
    NaN, which the kernels refuse.

    Parameters
    ----------
    estimator : BaseEstimator
        Gets ``n_features_in_`` and ``feature_names_in_`` if `reset`, else is held to them.
    x : array-like, frame or sparse matrix
    reset : bool
        Whether this is the first batch.

    Raises
    ------
    ValueError
        If x is empty, not two-dimensional, has another number of features or other names, or holds
        what is not a number.
    TypeError
        If an array holds objects that are not numbers.
    """
    if type(x) is np.ndarray and x.ndim == 2:
        known, (n_rows, n_features), dtype, flags = estimator.__dict__, x.shape, x.dtype, x.flags
        as_it_is = dtype.char in PLAIN_DTYPES and dtype.isnative
        as_it_is = as_it_is and flags.c_contiguous and flags.aligned
        if as_it_is and n_rows and n_features and "feature_names_in_" not in known:
            if reset:
                estimator.n_features_in_ = n_features
                return x
            if n_features == known.get("n_features_in_"):
                return x
    x = _without_written_index(estimator, as_numpy(x), reset=reset)
    if is_frame(x) and not _is_plain(x):
        return _rows_of_frame(estimator, x, reset=reset)
    if isinstance(x, list | tuple) and len(x) and isinstance(x[0], Mapping):
        raise TypeError(
            f"X is a list of dicts, and {type(estimator).__name__} takes columns of numbers: give "
            "pandas.DataFrame(X), or use NaiveBayes, which takes rows as dicts"
        )
    if isinstance(x, np.ndarray) and x.dtype.names:  # a structured array: its fields are columns
        x = np.array(x.tolist(), dtype=object)
    x = validate_data(
        estimator,
        x,
        accept_sparse=("csr", "csc"),
        accept_large_sparse=True,
        dtype=None,
        ensure_all_finite=False,
        reset=reset,
    )
    if not sparse.issparse(x) and x.dtype.kind not in "biuf":
        x = _floats(estimator, x)
    return readable(x)


def _without_written_index(estimator: Any, x: Any, *, reset: bool) -> Any:
    """A frame without the index that pandas wrote among its columns, as classifiers of tables read
    it; warns of it at the first batch. What offers Arrow's memory is a pyarrow table afterwards."""
    if not is_frame(x):
        return x
    arrow = is_arrow(x)
    if arrow:
        from tallybayes.tables.arrow import as_table

        x = as_table(x)
    columns = x.column_names if arrow else list(x.columns)
    known = () if reset else estimator.__dict__.get("feature_names_in_", ())  # of an older version
    index = [name for name in columns if is_index_name(str(name)) and name not in known]
    if not index:
        return x
    if reset:
        for name in index:
            warn_of_written_index(name, set(), "rename it to use it")
    return x.drop(columns=index) if hasattr(x, "iloc") else x.drop(index)


def _is_plain(frame: Any) -> bool:
    """Whether NumPy makes an array of numbers of a frame of pandas or polars, or SciPy a sparse
    matrix."""
    if not hasattr(frame, "iloc"):
        polars = type(frame).__module__.startswith("polars.")
        return polars and all(str(dtype) in NUMBERS_OF_POLARS for dtype in frame.dtypes)
    dtypes = set(frame.dtypes)
    return all(isinstance(d, np.dtype) and d.kind in "biufc" for d in dtypes) or all(
        type(d).__name__ == "SparseDtype" and d.fill_value == 0 for d in dtypes
    )


def _rows_of_frame(estimator: Any, frame: Any, *, reset: bool) -> Any:
    """The columns of a frame as numbers, each by its own type."""
    validate_data(estimator, frame, reset=reset, skip_check_array=True)  # names, and their number
    names = None
    if hasattr(frame, "iloc"):  # whose names may be of any type, and repeat
        names = [str(name) for name in frame.columns]
        if len(set(names)) < len(names):
            frame = frame.set_axis(range(len(names)), axis=1)
    table = read_table(frame, get_num_threads())
    names = [*table.columns] if names is None else names
    columns = [
        _numbers(estimator, column, f"column {j} ({name!r})")
        for j, (name, column) in enumerate(zip(names, table.columns.values(), strict=True))
    ]
    dtype = np.result_type(*columns) if columns else np.float64
    x = np.empty(table.shape, dtype=dtype, order="F")
    for j, values in enumerate(columns):
        x[:, j] = values
    check_array(x, ensure_all_finite=False, estimator=estimator)  # that there are some
    return readable(x)


def _numbers(estimator: Any, column: Column, where: str) -> NDArray[Any]:
    """A column as numbers, NaN for a missing value."""
    if isinstance(column, Empty):
        return np.full(column.n_rows, np.nan)
    if isinstance(column, Numbers):
        if column.what in NOT_NUMBERS:
            row = int(np.argmax(~np.isnan(column.values)))
            held = f"row {row}, {where} holds a {column.what}"
            raise ValueError(f"{held}. {_advice(estimator)}")
        return column.values
    if isinstance(column, Mixed):
        numbers = np.asarray(column.numbers.values, dtype=np.float64)
        strings = _numbers(estimator, column.strings, where)
        return np.where(np.isnan(numbers), strings, numbers)
    assert isinstance(column, Strings)
    values = [_float_of(level) for level in column.levels]
    others = np.array([*(v is None for v in values), False])[column.codes]
    if others.any():
        row = int(np.argmax(others))
        level = column.levels[column.codes[row]]
        raise ValueError(
            f"could not convert string to float: {level!r}: row {row}, {where} holds {level!r}. "
            f"{_advice(estimator)}"
        )
    return np.array([*(np.nan if v is None else v for v in values), np.nan])[column.codes]


def _float_of(text: str) -> float | None:
    """The number that a string stands for; True is 1 and False is 0."""
    if text in BITS.values():
        return float(text == "True")
    try:
        return float(text)
    except ValueError:
        return None


def _floats(estimator: Any, x: NDArray[Any]) -> NDArray[np.float64]:
    """An array of strings or objects as numbers, NaN for a missing value.

    Raises
    ------
    ValueError, TypeError
        Naming the place of what is not a number.
    """
    types = map(type, x.ravel().tolist()) if x.dtype.kind == "O" else [x.dtype.type]
    if not any(issubclass(kind, TIMES) for kind in set(types)):
        try:
            return x.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            pass  # found below, value by value
    found = np.empty(x.shape)
    for (row, j), value in np.ndenumerate(x):
        try:
            if isinstance(value, TIMES) and not is_missing(value):
                raise TypeError(
                    "float() argument must be a string or a real number, not "
                    f"{type(value).__name__!r}"
                )
            found[row, j] = np.nan if is_missing(value) else float(value)
        except (TypeError, ValueError, OverflowError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            names = getattr(estimator, "feature_names_in_", None)
            name = "" if names is None else f" ({str(names[j])!r})"
            raise kind(
                f"{error}: row {row}, column {j}{name} holds {value!r}. {_advice(estimator)}"
            ) from None
    return found


def _advice(estimator: Any) -> str:
    """What to do with what is not a number."""
    advice = (
        f"{type(estimator).__name__} takes numbers. NaiveBayes and WeightedNaiveBayes take tables "
        "with strings, dates and times."
    )
    if hasattr(estimator, "levels"):
        advice += " This class takes them as levels that are declared: levels=[...]."
    return advice
