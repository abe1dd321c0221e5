"""Classes in a tree: a classifier of leaves, of which each learns from those beside it."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions

from tallybayes.errors import shown
from tallybayes.labels.base import Form, GivenRows, LabelCounter, LabelSets, labels_by_row
from tallybayes.labels.counts import LabelledRows, TermLabels
from tallybayes.labels.inner import Inner
from tallybayes.labels.tree import Tree, shrink
from tallybayes.validation import is_missing_label, labels_and_codes

__all__ = ["Hierarchy"]

Array = NDArray[np.float64]

MIN_ALPHA = 1e-10
"""The smoothing of leaves at least."""


class _Read(NamedTuple):
    """What is read from the counts, and kept until they change.

    Parameters
    ----------
    counts : ColumnLabels or TermLabels
        Those that it was read from.
    key : tuple
        The parameters.
    tree : Tree
    concentration : float64 array (n_nodes,)
    reader : classifier
        Of the leaves.
    """

    counts: Any
    key: tuple[Any, ...]
    tree: Tree
    concentration: Array
    reader: Any


class Hierarchy(ClassifierMixin, LabelCounter):  # type: ignore[misc]
    r"""Classes in a tree: naive Bayes of the leaves, each shrunk toward its parent.

    Rows are counted by leaf. An inner node is the sum of its leaves, so that its probability is the
    sum of theirs, and a node with few rows borrows from the other children of its parent
    (:mod:`tallybayes.labels.tree` has the equations).

    Parameters
    ----------
    model : classifier
        As of :class:`MultiLabel`. It is not changed.
    tree : mapping of str to str, optional
        The parent of each leaf and inner node; those that have none are children of the root. By
        default a label is the path itself.
    separator : str, default="/"
        What stands between the names of a path, as in ``"animals/cats/lion"``.
    concentration : "evidence" or float, default="evidence"
        How many rows of its parent are added to each node; "evidence" chooses the number for the
        children of each inner node, at most as many as the parent has. 0 does not shrink.

    Attributes
    ----------
    classes_ : array of str (n_leaves,)
        The paths of the leaves, sorted.
    label_count_ : float64 array (n_leaves,)
        Rows, or weight, of each leaf.
    concentrations_ : dict
        By path of an inner node, the rows of it that are added to its children; "" is the root.
    n_features_in_ : int
        Of arrays and tables.

    See Also
    --------
    MultiLabel : Labels that do not exclude each other.

    References
    ----------
    McCallum, A., Rosenfeld, R., Mitchell, T. and Ng, A. (1998). Improving text classification by
    shrinkage in a hierarchy of classes. ICML.

    Examples
    --------
    >>> from tallybayes import Hierarchy, TextNB
    >>> documents = ["ball goal team", "goal ball", "ball racket set", "ball set"]
    >>> documents += ["law court", "vote law"]
    >>> labels = ["sport/football"] * 2 + ["sport/tennis"] * 2 + ["politics"] * 2
    >>> model = Hierarchy(TextNB(model="multinomial")).fit(documents, labels)
    >>> model.predict(["goal team", "ball", "law vote"]).tolist()
    ['sport/football', 'sport/football', 'politics']
    >>> model.predict(["goal team", "ball", "law vote"], confidence=0.6).tolist()
    ['sport/football', 'sport', 'politics']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "model": "no_validation",  # `inner_of` says what can be inside
        "tree": [dict, Mapping, None],
        "separator": [str],
        "concentration": [StrOptions({"evidence"}), Interval(Real, 0, None, closed="left")],
    }
    _reads = "labels"

    def __init__(
        self,
        model: Any,
        tree: Mapping[str, str] | None = None,
        *,
        separator: str = "/",
        concentration: float | Literal["evidence"] = "evidence",
    ) -> None:
        self.model = model
        self.tree = tree
        self.separator = separator
        self.concentration: float | Literal["evidence"] = concentration

    # ---- paths -----------------------------------------------------------------------------------
    def _validate(self) -> Inner:
        self._validate_params()
        if not self.separator:
            raise ValueError("separator= is what stands between the names of a path, got ''")
        for name in self.tree or ():
            self._path_in_tree(name)
        complement = "complement" in (
            getattr(self.model, "model", None),
            type(self.model).__name__.removesuffix("NB").lower(),
        )
        if complement and self.concentration != 0:
            raise ValueError(
                "complement naive Bayes reads a class from the counts of all others, which do not "
                "shrink toward a parent: use a multinomial model, or set concentration=0"
            )
        return self._inner()

    def _path_in_tree(self, name: Any) -> tuple[str, ...]:
        """The path of a name of the tree."""
        assert self.tree is not None
        path = [name]
        while path[0] in self.tree:
            above = self.tree[path[0]]
            if above in path:
                cycle = [above, *path[: path.index(above) + 1]]
                raise ValueError(
                    f"tree= has a cycle: {' → '.join(map(repr, cycle))}. Each name has one parent, "
                    "and the uppermost ones have none"
                )
            path.insert(0, above)
        for part in path:
            if not isinstance(part, str) or not part or self.separator in part:
                raise ValueError(
                    f"tree= has the name {part!r}: names are strings that are not empty and do not "
                    f"hold the separator {self.separator!r}"
                )
        return tuple(path)

    def _path(self, given: Any, row: int) -> str:
        """The label of a row as the path of its leaf."""
        if not isinstance(given, Iterable) and is_missing_label(given):
            raise ValueError(f"row {row} of y has no label: drop such rows from X and y")
        if self.tree is not None and isinstance(given, str):
            if given in self.tree.values():
                below = next(name for name, above in self.tree.items() if above == given)
                raise ValueError(
                    f"row {row} of y has the label {given!r}, which is the parent of {below!r}: "
                    "give the row one of its leaves, or add a leaf such as "
                    f"'other {given}' to the tree"
                )
            if given not in self.tree:
                raise ValueError(
                    f"row {row} of y has the label {given!r}, which tree= does not name"
                )
            return self.separator.join(self._path_in_tree(given))
        if isinstance(given, str):
            names = given.split(self.separator)
        elif self.tree is not None:
            names = []
        elif isinstance(given, Iterable) and not isinstance(given, bytes | Mapping):
            names = list(given)
            while names and (names[-1] is None or names[-1] != names[-1] or names[-1] == ""):
                names.pop()  # paths of unequal length in a table
            for name in names:
                if isinstance(name, str) and self.separator in name:
                    raise ValueError(
                        f"row {row} of y has the name {name!r}, which holds the separator "
                        f"{self.separator!r}: choose another separator, or rename it"
                    )
        else:
            names = []
        if not names or not all(isinstance(name, str) and name for name in names):
            raise ValueError(
                f"row {row} of y has the label {shown(given)}: a label is the path of a leaf, "
                f"such as 'animals{self.separator}cats', or a list of its names, none of them empty"
            )
        return self.separator.join(names)

    def _sets(self, y: Any, n_rows: int) -> LabelSets:
        if y is None or isinstance(y, str):
            raise ValueError(f"Hierarchy takes one label a row, got y={y!r}")
        rows = labels_by_row(y)
        if len(rows) != n_rows:
            raise ValueError(f"X has {n_rows} rows and y {len(rows)} labels: give one label a row")
        paths = np.array([self._path(given, i) for i, given in enumerate(rows)], dtype=object)
        known, codes = labels_and_codes(paths) if n_rows else (paths, np.zeros(0, dtype=np.int32))
        held = set(known.tolist())
        if self.__sklearn_is_fitted__():
            held |= set(self._counts.labels.tolist())
        for path in sorted(held):
            names = path.split(self.separator)
            for n in range(1, len(names)):
                above = self.separator.join(names[:n])
                if above in held:
                    raise ValueError(
                        f"y has the label {above!r}, which is the parent of {path!r}: rows belong "
                        f"to leaves. Give them a leaf such as '{above}{self.separator}other'"
                    )
        form: Form = "text"
        return LabelSets(LabelledRows(known, np.arange(n_rows + 1), codes), form)

    # ---- reading ---------------------------------------------------------------------------------
    def _learned(self, inner: Inner, X: Any, given: GivenRows) -> None:
        self.__dict__.pop("_read_tree", None)

    def _changed(self, before: Any) -> None:
        self.__dict__.pop("_read_tree", None)

    def _chosen(self) -> Any:
        return None

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        state.pop("_read_tree", None)
        return state

    def _reading(self) -> _Read:
        """The classifier of the leaves, read from the counts as they are."""
        counts, inner = self._with_rows(), self._inner()
        key = self.concentration, self.separator
        held: _Read | None = self.__dict__.get("_read_tree")
        if held is not None and held.counts is counts and held.key == key:
            return held
        tree = Tree(tuple(tuple(path.split(self.separator)) for path in counts.labels.tolist()))
        alpha = getattr(self._every, "alpha", None)
        smoothing = float(alpha) if isinstance(alpha, Real) else 0.0
        given = None if self.concentration == "evidence" else float(self.concentration)
        shrunk = shrink(tree, counts, smoothing, given)
        leaves = np.array([tree.place[path] for path in tree.leaves])
        every = self._every
        if smoothing > 0.0:  # one for all leaves: the classifier has no other
            of_leaves = float(np.exp(np.log(shrunk.alpha[leaves]).mean()))
            every = copy.copy(every).set_params(alpha=max(of_leaves, MIN_ALPHA))
        tally = counts.mixed(sparse.csr_array(shrunk.weights[leaves]), counts.labels)
        reader = inner.reading(every, tally, counts.rows_of_labels)
        held = _Read(counts, key, tree, shrunk.concentration, reader)
        self.__dict__["_read_tree"] = held
        return held

    def at(self, level: int) -> Any:
        """The classifier of the nodes at a level, without shrinkage.

        Parameters
        ----------
        level : int
            From 1 on: the length of the paths. Leaves above it are classes, too.

        Returns
        -------
        classifier
            Of the type of `model`: the one that is fitted on rows with these labels.

        Raises
        ------
        ValueError
            For a level that the tree does not have.
        """
        read, counts = self._reading(), self._counts
        nodes = self._nodes(read.tree, level)
        labels = self._labels(read.tree, nodes)
        order = np.argsort(labels, kind="stable")
        weights = read.tree.sums[np.array(nodes)[order]]
        return self._inner().reading(self._every, counts.mixed(weights, labels[order]))

    def _nodes(self, tree: Tree, level: Any) -> list[int]:
        whole = isinstance(level, Integral)
        if not whole or not 1 <= int(level) <= tree.depth:
            raise ValueError(
                f"level is the length of paths, from 1 to {tree.depth} in this tree; got "
                f"{shown(level)}"
            )
        return tree.level(int(level))

    def _labels(self, tree: Tree, nodes: Iterable[int]) -> NDArray[Any]:
        found = [self.separator.join(tree.nodes[i]) for i in nodes]
        labels = np.empty(len(found), dtype=object)
        labels[:] = found
        return labels

    def nodes(self, level: int) -> list[str]:
        """The paths at a level, in the order of :meth:`predict_proba`.

        Parameters
        ----------
        level : int
            From 1 on: the length of the paths. Leaves above it are among them.

        Returns
        -------
        list of str
            Paths.
        """
        tree = self._reading().tree
        found: list[str] = self._labels(tree, self._nodes(tree, level)).tolist()
        return found

    def predict_proba(self, X: Any, level: int | None = None) -> Array:
        """P(node | x) of the leaves, or of the nodes at a level.

        Parameters
        ----------
        X : rows (n_rows, n_features)
            Rows to predict.
        level : int, optional
            The length of paths, from 1 on; by default that of each leaf.

        Returns
        -------
        float64 array (n_rows, n_nodes)
            In the order of ``classes_``, or of :meth:`nodes`. Rows sum to 1, and a node is the sum
            of its children.
        """
        read, inner = self._reading(), self._inner()
        x = inner.to_predict(self._every, X)
        if isinstance(self._counts, TermLabels):
            x = self._of_read_terms(read, x)
        proba = inner.posterior(read.reader, inner.joint(read.reader, x))
        if level is None:
            return proba
        below = read.tree.sums[self._nodes(read.tree, level)]
        found: Array = (below @ proba.T).T
        return found

    def _of_read_terms(self, read: _Read, x: Any) -> Any:
        """Documents as rows of the terms that are read."""
        terms, documents = x
        own = read.reader._held_model().tally
        if own.terms is terms:
            return x
        return own.terms, documents.among(own.places(terms), own.n_terms)

    def predict(self, X: Any, confidence: float | None = None) -> NDArray[Any]:
        """The most probable leaf of each row, or as far down as the model is sure.

        Parameters
        ----------
        X : rows (n_rows, n_features)
            Rows to predict.
        confidence : float, optional
            The least probability of what is predicted: the way goes from the root to the most
            probable child, as long as this is at least so probable.

        Returns
        -------
        array of str (n_rows,)
            Paths; "" where not even a child of the root is so probable.

        Raises
        ------
        ValueError
            If confidence is not above 0 and at most 1.
        """
        proba = self.predict_proba(X)
        if confidence is None:
            found: NDArray[Any] = self._counts.labels[proba.argmax(axis=1)]
            return found
        if not isinstance(confidence, Real) or not 0.0 < confidence <= 1.0:
            raise ValueError(
                f"confidence is a probability above 0 and at most 1, got {shown(confidence)}"
            )
        tree = self._reading().tree
        of_nodes = (tree.sums @ proba.T).T
        at = np.zeros(len(proba), dtype=np.intp)
        for node, children in enumerate(tree.children):  # parents before children
            rows = np.flatnonzero(at == node)
            if len(rows) and children:
                below = of_nodes[np.ix_(rows, np.array(children))]
                best = below.argmax(axis=1)
                sure = below[np.arange(len(rows)), best] >= confidence
                at[rows[sure]] = np.array(children)[best[sure]]
        return self._labels(tree, range(len(tree.nodes)))[at]

    def explain(self, X: Any) -> Any:
        """What each column, or term, adds to the scores of the leaves.

        Parameters
        ----------
        X : rows (n_rows, n_features)
            Rows to explain.

        Returns
        -------
        Explanation, or list of DocumentExplanation
            As the classifier's own, of the shrunk counts.

        Raises
        ------
        ValueError
            For a classifier of arrays, which explains nothing.
        """
        reader = self._reading().reader
        if not hasattr(reader, "explain"):
            raise ValueError(
                f"a {type(reader).__name__} does not explain rows: use NaiveBayes or TextNB"
            )
        return reader.explain(X)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows whose leaf is predicted.

        Parameters
        ----------
        X : rows (n_rows, n_features)
            Rows to predict.
        y : paths of leaves (n_rows,)
            As for :meth:`fit`.
        sample_weight : array-like (n_rows,), optional
            How much each row counts; 1 by default.

        Returns
        -------
        float
            The accuracy, by weight.
        """
        predicted = self.predict(X)
        sets, weights, _ = self._read(X, y, sample_weight, len(predicted))
        right = predicted == sets.held.labels[sets.held.codes]
        return float(np.average(right, weights=weights))

    # ---- attributes ------------------------------------------------------------------------------
    @property
    def concentrations_(self) -> dict[str, float]:
        """By path of an inner node, the rows of it that are added to its children."""
        read = self._reading()
        inner = [i for i, children in enumerate(read.tree.children) if children]
        paths = self._labels(read.tree, inner).tolist()
        return dict(zip(paths, read.concentration[inner].tolist(), strict=True))
