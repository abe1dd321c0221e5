"""Base of the classifiers of arrays: one group of columns of one kind, read by one family."""

from __future__ import annotations

import operator
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import assert_all_finite

from tallybayes.engines.arrays import ArrayEngine
from tallybayes.estimators.arrays.validated_rows import read_rows
from tallybayes.estimators.base import TallyClassifier
from tallybayes.estimators.in_sql import SaysSQL
from tallybayes.estimators.locked_learning import learning, lock_of
from tallybayes.estimators.reported import Reported
from tallybayes.models.array import ArrayModel
from tallybayes.models.base import joined_declared
from tallybayes.models.class_weights import (
    need_known_labels,
    need_same_class_weights,
    weighted,
)
from tallybayes.schema import Columns, Schema
from tallybayes.tables.columns import frame
from tallybayes.tally import TableTally
from tallybayes.validation import (
    codes_of,
    label_array,
    labels_and_codes,
    read_labels,
    read_weights,
    warn_of_other_order,
)

__all__ = ["ArrayClassifier"]

Array = NDArray[np.float64]


class ArrayClassifier(TallyClassifier, SaysSQL, Reported):
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
        warn_of_other_order(X, y, sample_weight)
        y = read_labels(y, x, self._name)
        known = self._model.schema.classes
        codes = codes_of(y, known)
        weights = weighted(read_weights(sample_weight, x), class_weight, known, codes)
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
        x = self._first_rows(X)
        warn_of_other_order(X, y, sample_weight)
        y = read_labels(y, x, self._name)
        given = read_weights(sample_weight, x)
        if classes is None:
            known, codes = labels_and_codes(y)
            weights = weighted(given, class_weight, known, codes)
            self._count_afresh(known, x, codes, weights).class_weight = class_weight
            return self
        named = label_array(classes).ravel()
        if not len(named):
            raise ValueError("classes= names no class: name every label that may occur")
        if named.dtype.kind in "fcO":
            assert_all_finite(named, input_name="classes")
        known, _ = labels_and_codes(named)
        codes = codes_of(y, known)
        need_known_labels(self.class_weight, known.tolist())
        model = self._count_afresh(known, x, codes, weighted(given, class_weight, known, codes))
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
        engine = ArrayEngine()
        counted = engine.collect(
            self._columns(x), x, codes, len(classes), weights, whose=self._name
        )
        schema = Schema(classes, (counted.columns,))
        tally = TableTally(schema, counted.classes, (counted.tally,))
        if weights is not None and weights.min(initial=0.0) < 0.0:
            tally.need_non_negative("fit with these negative weights")
        self._model = ArrayModel(tally, family, prior, x.dtype, self._name, engine)
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
        x = self._read_rows(X, learning=True)
        warn_of_other_order(X, y, sample_weight)
        y = read_labels(y, x, self._name)
        codes = codes_of(y, model.schema.classes)
        weights = self._weights(sample_weight, x, model.schema.classes, codes)
        batch, rows = model.count(x, codes, weights)
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
        self._model = ArrayModel(tally, mine.family, prior, dtype, self._name, mine.engine)
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
