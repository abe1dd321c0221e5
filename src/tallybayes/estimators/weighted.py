"""Weighted naive Bayes for a table: columns and pairs of columns, weighted by leave-one-out."""

from __future__ import annotations

import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from tallybayes.engines.contract import raise_infinite
from tallybayes.errors import StaleWarning, shown
from tallybayes.estimators.base import (
    Classifier,
    TallyClassifier,
    draw_waterfall,
    learning,
)
from tallybayes.estimators.naive_bayes import NaiveBayes, weights_to_choose_on
from tallybayes.estimators.one_row import RowByRow
from tallybayes.explain.explanation import Explanation, explanation_of
from tallybayes.explain.importances import term_frame
from tallybayes.models.data_warnings import warn_of_rows
from tallybayes.models.declarations import Declared, Reading
from tallybayes.models.table import Chosen
from tallybayes.models.weighted import WeightedModel
from tallybayes.models.weighted_fit import (
    LeftOutRows,
    learned_weighting,
    simplified_weighting,
)
from tallybayes.models.weighting import Weighting
from tallybayes.schema import places_among
from tallybayes.tables import Numbers, Table
from tallybayes.tables.columns import frame
from tallybayes.validation import (
    LeftOut,
    like,
)
from tallybayes.weighted.search import FitOptions

__all__ = ["WeightedNaiveBayes"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class WeightedNaiveBayes(RowByRow):
    r"""Naive Bayes whose columns are weighted, with pairs of columns where they help.

    Plain naive Bayes counts the evidence of dependent columns twice. Here each column's
    log-likelihood ratio has a weight, learned by the leave-one-out log-likelihood of the labels.
    Pairs of columns enter as joint tables for what the columns alone do not predict, and finally
    each cell of the tables is corrected. The model is the mean of several fits, each without
    another part of the rows, and of a fit of all rows. It is one sum of tables: quick to evaluate,
    and readable.

    .. math::

        \text{score}_k &= \log P(k) + b_k + \sum_t (w_t + u_{tk}) \, T_t[v, k] \\
        T[v, k] &= \log \frac{C_{vk} + a \, p_k}{(m_v + a) \, p_k}

    with C the counts of a cell v, m_v their sum, p_k the share of class k, and a chosen by
    leave-one-out. A number is in one of at most 128 cells of about equal weight, and neighbouring
    cells are smoothed; a level is a cell, and so is the missing value. A level that training did
    not have adds nothing. The class prior has a share of ε = ½ / (n + ½) in each probability, with
    n the effective rows that weights were learned on, so no probability is 0 or 1.

    Of equal columns one is used, and the others have weight 0; ``schema_`` names the column that
    was kept.

    Weights of rows are read in effective rows (Kish): a common factor changes nothing. A row is
    left out whole, whatever its weight. Copies of rows, as of a table that was repeated or a class
    that was over-sampled, are one row that weighs as much as they do together. The order of rows
    does not matter.

    The counts stay exact when rows are learned, forgotten or merged, and the tables of columns
    follow them. Weights, pairs, corrections, the edges of cells and the smoothing stay as they were
    learned. They are then stale, and predictions warn until :meth:`reweight`, or until the counts
    are the same again.

    Parameters
    ----------
    columns : "auto", mapping or list of pairs, default="auto"
        As for :class:`NaiveBayes`; families may be ``Categorical(levels=…)``, ``Bernoulli()`` or
        None, which leaves a column out.
    classes : array-like, optional
        Classes that may occur; others may still come.
    interactions : "auto" or int, default="auto"
        The maximum number of pairs of columns, or of three columns of which two are a pair; "auto":
        all that help by leave-one-out. Three columns are tried up to 20,000 rows.
    weights : {"column-class", "column"}, default="column-class"
        Whether the weight of a term may deviate by class, if there are more than two classes and
        columns times classes are at most 4,000.
    polish : "auto" or bool, default="auto"
        Whether cells are corrected; "auto" and True: if that helps by cross-validation.
    regularization : "auto" or float, default="auto"
        γ, the strength of the penalty toward weights of 0.3; "auto": by cross-validation, if it
        matters.
    parts : "auto" or int, default="auto"
        How many fits, each without another part of the rows, are averaged with one of all
        rows; 1: as many fits as by "auto" judge, and that one alone is the model. "auto": 5
        up to 4,000 rows, 3 up to 20,000; of more rows one without a fifth.
    class_alpha : float or "auto", default=1.0
        Smoothing of the class prior; see :class:`NaiveBayes`.
    class_prior : array-like (n_classes,) or dict, optional
        A class prior that replaces the shares of the rows. The offsets b, learned under these
        shares, are added to it; otherwise as for :class:`NaiveBayes`.
    half_life : float, optional
        Number of rows after which older rows have half their weight.
    class_weight : dict, "balanced" or None, optional
        Weights of rows by label; see :class:`GaussianNB`.

    Attributes
    ----------
    classes_, class_count_ : arrays (n_classes,)
    weights_ : frame
        The weight of each term's table, by class for more than two, and what the term adds as a
        whole, in nats; "left out" columns weigh 0.
    interactions_ : list of tuples of two or three str
    tables_ : dict
        By column name, and by pair of names: a frame with the contribution of each cell to each
        class, in nats.
    feature_importances_ : float64 array (n_features,)
        What each column adds, with half of each of its pairs and a third of three columns, in nats
        a row.
    offsets_ : float64 array (n_classes,)
        log P(k) + b_k, in nats.
    log_loss_increase_ : float
        If :meth:`simplify` pruned the model: the increase of its log-loss, in nats a row.
    log_loss_, accuracy_ : float
        Of rows that weights were learned on, each predicted by a fit that left it out, and
        corrected by what the mean of all fits gains. After :meth:`simplify` each row is only
        taken out of the counts; as it has helped to choose weights and pairs, the figures are then
        a little optimistic.
    log_loss_se_, accuracy_se_ : float
        Their standard errors, by effective rows: by the spread over the rows, or by that which
        the predicted probabilities expect, if that is larger. Where few rows are predicted
        wrongly, the few rows that decide the mean may be missing from the sample.
    schema_ : frame
        What was decided about each column, and why.
    tally_ : TableTally
    class_weight_ : dict
        By label, the factor of the weights of rows.
    n_features_in_ : int
    feature_names_in_ : array of str (n_features,)

    See Also
    --------
    NaiveBayes : The model without weights; any family of columns.
    cross_validate : The log-loss with the fit repeated without each fold.

    References
    ----------
    Boullé, M. (2007). Compression-based averaging of selective naive Bayes classifiers. JMLR 8.
    Zaidi, N. et al. (2013). Alleviating naive Bayes attribute independence assumption by attribute
    weighting. JMLR 14.

    Examples
    --------
    >>> from tallybayes import WeightedNaiveBayes
    >>> rows = [{"a": a, "b": b} for a in "xy" for b in "xy"] * 25
    >>> labels = ["same" if row["a"] == row["b"] else "other" for row in rows]
    >>> model = WeightedNaiveBayes().fit(rows, labels)
    >>> model.interactions_
    [('a', 'b')]
    >>> model.predict([{"a": "y", "b": "y"}]).tolist()
    ['same']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "columns": [StrOptions({"auto"}), dict, list],
        "classes": ["array-like", None],
        "interactions": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "weights": [StrOptions({"column", "column-class"})],
        "polish": ["boolean", StrOptions({"auto"})],
        "parts": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "regularization": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "class_alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "class_prior": ["array-like", dict, None],
        "half_life": [None, Interval(Real, 0, None, closed="neither")],
        "class_weight": TallyClassifier._parameter_constraints["class_weight"],
    }
    _model_type = WeightedModel

    def __init__(
        self,
        columns: Any = "auto",
        *,
        classes: ArrayLike | None = None,
        interactions: int | Literal["auto"] = "auto",
        weights: Literal["column", "column-class"] = "column-class",
        polish: bool | Literal["auto"] = "auto",
        regularization: float | Literal["auto"] = "auto",
        parts: int | Literal["auto"] = "auto",
        class_alpha: float | Literal["auto"] = 1.0,
        class_prior: ArrayLike | None = None,
        half_life: float | None = None,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
    ) -> None:
        self.columns = columns
        self.classes = classes
        self.interactions = interactions
        self.weights = weights
        self.polish = polish
        self.regularization = regularization
        self.parts = parts
        self.class_alpha = class_alpha
        self.class_prior = class_prior
        self.half_life = half_life
        self.class_weight: dict[Any, float] | Literal["balanced"] | None = class_weight

    # ---- reading the tally -----------------------------------------------------------------------
    def _reading(self, what: Declared) -> Reading:
        declared: dict[Any, Any] = {**what.families, **what.groups}
        for name, family in declared.items():
            if family is None or family.reads == "documents" or family.names_levels_only:
                continue
            levels = family.reads == "levels"
            cells = "levels whose smoothing it chooses" if levels else "cells of its own choice"
            raise ValueError(
                f"columns= gives {name!r} the family {family!r}, but WeightedNaiveBayes reads a "
                f"column as {cells}: declare Categorical(levels=…), Bernoulli(), Text(), or None "
                "to leave a column out; NaiveBayes takes any family"
            )
        return Reading(what, 1.0, "mean", "ignore", "level")

    # ---- learning weights ------------------------------------------------------------------------
    @property
    def chooses_on_rows(self) -> bool:
        """Whether something is chosen on rows: always."""
        return True

    def _choose(self, x: Table, own: Index, weight: Array | None, groups: Index | None) -> None:
        self._learn(x, own, weight, groups)

    def _learn(
        self, x: Table, own: Index, weight: Array | None, groups: Index | None
    ) -> LeftOutRows | None:
        """Learns weights, and predicts the rows by fits that left them out."""
        model = self._model
        assert isinstance(model, WeightedModel)
        weight = weights_to_choose_on("weights are learned", model, own, weight)
        kept = np.flatnonzero(weight > 0.0)
        if len(kept) < len(own):
            x, own, weight = x.take(kept), own[kept], weight[kept]
            groups = None if groups is None else groups[kept]
        model.warned.discard((StaleWarning, None))
        given = self.class_prior is not None
        rows = x, own, weight, groups
        learned = learned_weighting(model, self._options(), *rows, prior_is_given=given)
        if learned is None:
            model.chosen = Chosen()
            return None
        weighting, now, left_out = learned
        model.hold(weighting, now)
        warn_of_rows(now, model.schema.classes, model.tally.classes.count, len(model.names))
        return left_out._replace(rows=kept[left_out.rows])

    def _left_out(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, groups: Any = None
    ) -> LeftOut | None:
        """Predictions of learned rows by a fit that is repeated: those that its figures are of. Of
        rows that are copies one stands for all. None for rows of less than two classes."""
        return self._fitted_again(X, y, sample_weight, groups, of_terms=False)

    def _fitted_again(
        self, X: Any, y: Any, sample_weight: Any, groups: Any = None, *, of_terms: bool
    ) -> LeftOut | None:
        """See :meth:`_left_out`; `of_terms` without the share of the class prior."""
        twin = copy.copy(self)
        rows = twin._rows_to_choose_on(X, y, sample_weight, groups)
        found = twin._learn(*rows)
        weighting = twin._weighted().chosen.weighting
        if found is None or weighting is None:
            return None
        log_proba = np.full((len(found.rows), len(self.classes_)), -np.inf)
        places = places_among(weighting.classes, self.classes_)
        log_proba[:, places] = found.of_terms if of_terms else found.log_proba
        how: Literal["whole", "counts"] = "whole" if weighting.figures.left_out else "counts"
        known = twin._weighted().schema.classes
        own = places_among(known, self.classes_)[rows.own[found.rows]]
        weight = found.weight / np.array(list(self.class_weight_.values()))[own]
        return LeftOut(found.rows, log_proba, weight, how, weighting.figures)

    def _left_out_once(self, X: Any, y: Any, sample_weight: Any, groups: Any = None) -> LeftOut:
        # of the terms alone: no probability that is mixed with the class prior is near 1, so
        # that most rows of an easy class would have one score
        if self._weighting("conformalize").figures.log_loss_increase is None:
            found = self._fitted_again(X, y, sample_weight, groups, of_terms=True)
            if found is not None:
                return found
        if groups is not None:
            return super()._left_out_once(X, y, sample_weight, groups)
        return LeftOut.of_all(self._posterior_without(X, y, sample_weight)[0], sample_weight)

    def _log_proba_compared(self, X: Any) -> Array:
        self._fresh()
        return super()._posterior(X, log=True)

    def _need_no_choice(self) -> None:
        Classifier._need_no_choice(self)

    def _options(self) -> FitOptions:
        return FitOptions(
            interactions=None if self.interactions == "auto" else int(self.interactions),
            by_class=self.weights == "column-class",
            polish=bool(self.polish),
            penalty=None if self.regularization == "auto" else float(self.regularization),
            parts=None if self.parts == "auto" else int(self.parts),
        )

    def _kept(self, chosen: Chosen) -> Chosen:
        return chosen

    @learning
    def reweight(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn cells, weights, pairs and corrections again, on rows that were learned.

        Parameters
        ----------
        X : table (n_rows, n_columns)
            Rows that the model has learned, all or a fair sample of them.
        y : array-like (n_rows,)
            Their labels.
        sample_weight : array-like (n_rows,), optional
            The weights that they were learned with.
        groups : array-like (n_rows,), optional
            Rows of a group are left out together; see :meth:`fit`.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        ValueError
            If the rows weigh more than the model holds of their class (a NegativeTally): they
            cannot have been learned. The estimator is then as it was before.
        """
        self._choose_again(X, y, sample_weight, groups)
        return self

    def simplify(
        self,
        X: Any,
        y: ArrayLike,
        max_terms: int,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """A shorter model of the same counts, its weights learned again.

        Terms are left out as long as there are too many, those first that are missed least.

        Parameters
        ----------
        X : table (n_rows, n_columns)
            Rows that the model has learned; of many a sample of 25,000 is looked at.
        y : array-like (n_rows,)
            Their labels.
        max_terms : int
            How many columns and pairs there may be, at least 1.
        sample_weight : array-like (n_rows,), optional
            The weights that they were learned with.
        groups : array-like (n_rows,), optional
            Rows of a group are left out together; see :meth:`fit`.

        Returns
        -------
        WeightedNaiveBayes
            A new model; its ``log_loss_increase_`` is how much higher its log-loss is, in nats a
            row. This one is unchanged.

        Raises
        ------
        ValueError
            As for :meth:`reweight`.
        """
        if not isinstance(max_terms, Integral) or max_terms < 1:
            raise ValueError(f"max_terms is a whole number from 1 on, got {shown(max_terms)}")
        self._weighting("simplify")
        model, twin = self._weighted(), copy.copy(self)
        x, own, given, together = self._learned_rows(X, y, sample_weight, groups)
        weight = weights_to_choose_on("weights are learned", model, own, given)
        shorter = simplified_weighting(
            model,
            self._options(),
            x,
            own,
            weight,
            int(max_terms),
            together,
            prior_is_given=self.class_prior is not None,
        )
        twin._weighted().hold(*shorter)
        return twin

    def _choose_without(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, groups: Any = None
    ) -> Self:
        """A model that was simplified is simplified again, to as many terms."""
        weighting = self._weighted().chosen.weighting
        super()._choose_without(X, y, sample_weight, groups)
        again = self._weighted().chosen.weighting
        if weighting is None or weighting.figures.log_loss_increase is None or again is None:
            return self
        n_terms = np.count_nonzero(weighting.learned.weights.by_class().any(axis=0))
        return self.simplify(X, y, max(1, int(n_terms)), sample_weight, groups)

    @learning
    def count_from(
        self,
        counted: NaiveBayes,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Take the counts of a :class:`NaiveBayes`, and learn weights on rows that it counted.

        For counts that were made elsewhere: in batches, or merged from parts on many machines.

        Parameters
        ----------
        counted : fitted NaiveBayes
            It keeps its counts.
        X : table (n_rows, n_columns)
            Rows that it has counted, all or a fair sample of them.
        y : array-like (n_rows,)
            Their labels.
        sample_weight : array-like (n_rows,), optional
            The weights that they were counted with.
        groups : array-like (n_rows,), optional
            Rows of a group are left out together; see :meth:`fit`.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        ValueError
            As for :meth:`reweight`.
        """
        if not isinstance(counted, NaiveBayes):
            raise TypeError(f"count_from takes a NaiveBayes, got a {type(counted).__name__}")
        self._validate_params()
        if self.class_weight is not None:
            counted = counted.with_class_weight(self.class_weight)
        theirs = counted._fitted()
        self.__dict__.pop("_rows", None)
        model = self._hold(
            counted.tally_, theirs.seen, theirs.reading.declared, has_names=theirs.has_names
        )
        model.class_weight = theirs.class_weight
        self.reweight(X, y, sample_weight, groups)
        return self

    def _open_rows(self, x: Any) -> Any:
        if "_model" not in self.__dict__:
            raise ValueError(
                "weights are learned on rows, and rows learned one by one are not kept: begin with "
                "fit or partial_fit"
            )
        return super()._open_rows(x)

    def _row_scorer(self) -> Any:
        self._fresh()
        return super()._row_scorer()

    def _weighted(self) -> WeightedModel:
        return cast("WeightedModel", self._fitted())

    def _weighting(self, name: str) -> Weighting:
        model = self._attribute(name)
        if model.chosen.weighting is None:
            raise AttributeError(
                f"{self._name} has no {name} yet: weights are learned on rows of two classes or "
                "more, by fit, the first partial_fit, or reweight"
            )
        return model.chosen.weighting

    # ---- predicting ------------------------------------------------------------------------------
    def _read_rows(self, x: Any, *, learning: bool = False) -> Any:
        rows = super()._read_rows(x, learning=learning)
        if not learning:  # those that are counted are looked at there
            for name, column in rows.columns.items():
                if isinstance(column, Numbers) and np.isinf(column.values).any():
                    raise_infinite(name, column.values)
        return rows

    _stale = (
        "weights and pairs were learned before the counts last changed",
        "call reweight(X, y) with rows that were learned",
    )

    def _predicted(self, X: Any) -> Any:
        model = self._weighted()
        if not model.prior_share:
            self._fresh()
            return super()._predicted(X)
        best = self._posterior(X, log=False).argmax(axis=1)
        return like(X, model.schema.classes[best])

    def _posterior(self, X: Any, *, log: bool) -> Array:
        self._fresh()
        model = self._weighted()
        if not model.prior_share:
            return super()._posterior(X, log=log)
        proba = model.predicted(super()._posterior(X, log=False))
        with np.errstate(divide="ignore"):  # a class prior may rule a class out
            return np.log(proba, out=proba) if log else proba

    def predict_joint_log_proba(self, X: Any) -> Any:
        self._fresh()
        return super().predict_joint_log_proba(X)

    # ---- reading the model -----------------------------------------------------------------------
    @property
    def weights_(self) -> Any:
        """The weight of each term, as a frame: term, weight, what it adds in nats, and for more
        than two classes the weight in each class.

        The weight is that of the term's table. Corrections of cells and smooth functions add to it,
        so that a term of weight 0 may add something: "adds" is how far the term as a whole moves
        the scores of the classes apart, on average over the rows that weights were learned on.
        """
        weighting = self._weighting("weights_")
        by_class = weighting.learned.weights.by_class()
        held: dict[str, Any] = {
            "term": weighting.names,
            "weight": weighting.learned.weights.terms.copy(),
        }
        text = weighting.text
        if text is not None:
            held["term"] = [*weighting.names, *text.names]
            held["weight"] = np.append(text.cells * held["weight"], text.weights)
            more = np.tile(text.weights, (len(by_class), 1))
            by_class = np.concatenate([text.cells * by_class, more], axis=1)
        held["adds"] = np.array(list(weighting.adds.values()))
        if len(weighting.classes) > 2:
            for label, weight in zip(weighting.classes.tolist(), by_class, strict=True):
                name = str(label)
                held[f"{name} (class)" if name in ("term", "weight", "adds") else name] = (
                    weight.copy()
                )
        return frame(held)

    @property
    def interactions_(self) -> list[tuple[str, ...]]:
        """The pairs of columns, and three columns together, that have a table of their own, in the
        order they were taken."""
        return self._weighting("interactions_").pairs

    @property
    def tables_(self) -> dict[Any, Any]:
        """What each cell of a term adds to each class, in nats, as a frame by column name, or by
        the names of two or three columns."""
        weighting = self._weighting("tables_")
        model = self._weighted()
        names = [*((column.name,) for column in model.score.columns), *weighting.pairs]
        labels = [str(label) for label in self.classes_.tolist()]
        return {
            (name if len(name) > 1 else name[0]): term_frame(model, t, name, labels)
            for t, name in enumerate(names)
        }

    @property
    def feature_importances_(self) -> Array:
        """What each column adds with its pairs, in nats a row, float64 (n_features,).

        What it adds by itself (see :attr:`weights_`), and its part, a half or a third, of what
        its pairs and three columns add. A column that is left out is 0.
        """
        weighting = self._weighting("feature_importances_")
        adds = weighting.adds
        found = {name: adds.get(name, 0.0) for name in self._weighted().names}
        for pair in weighting.pairs:
            for name in pair:
                found[name] += adds[" × ".join(pair)] / len(pair)
        return np.array(list(found.values()))

    @property
    def offsets_(self) -> Array:
        """log P(k) + b_k, float64 (n_classes,), in nats."""
        self._weighting("offsets_")
        offset: Array = self._weighted().score.offset.copy()
        return offset

    @property
    def log_loss_(self) -> float:
        """The log-loss of rows that weights were learned on, each predicted by what is learned
        without it, in nats a row."""
        return self._weighting("log_loss_").figures.log_loss

    @property
    def log_loss_se_(self) -> float:
        """The standard error of :attr:`log_loss_`."""
        return self._standard_error("log_loss_se_")

    @property
    def accuracy_se_(self) -> float:
        """The standard error of :attr:`accuracy_`."""
        return self._standard_error("accuracy_se_")

    def _standard_error(self, name: str) -> float:
        figures = self._weighting(name).figures
        found = figures.log_loss_se if name == "log_loss_se_" else figures.accuracy_se
        if found is None:
            raise AttributeError(
                f"the file of this model is older than {name}: reweight(X, y) measures it again"
            )
        return found

    @property
    def log_loss_increase_(self) -> float:
        """The log-loss of a pruned model minus that of the model it was made of, in nats a row.

        Both by leave-one-out: each row is predicted by the others. Only models that
        :meth:`simplify` made have it.
        """
        increase = self._weighting("log_loss_increase_").figures.log_loss_increase
        if increase is None:
            raise AttributeError(
                "log_loss_increase_ is of a model that simplify(X, y, max_terms) made"
            )
        return increase

    @property
    def price_(self) -> float:
        """The former name of :attr:`log_loss_increase_`, kept for one version."""
        return self.log_loss_increase_

    @property
    def accuracy_(self) -> float:
        """The accuracy on rows that weights were learned on, each predicted by what is learned
        without it."""
        return self._weighting("accuracy_").figures.accuracy

    def explain(self, X: Any) -> Explanation:
        """What each term adds to the score of each class.

        Parameters
        ----------
        X : table (n_rows, n_columns)
            Rows to explain.

        Returns
        -------
        Explanation
            Its columns are the terms: columns, then pairs as "a × b".
            ``base + contributions.sum(axis=2)`` is ``predict_joint_log_proba``.
        """
        self._fresh()
        return explanation_of(self._weighted(), self._read_rows(X), draw_waterfall)
