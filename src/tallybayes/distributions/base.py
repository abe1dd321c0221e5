"""The base of distribution objects: shapes, densities, draws, moments, entropy.

A distribution has a batch shape, how many distributions it is, and an event shape, that of one draw
(Dillon et al., 2017, TensorFlow Distributions, section 3). A class conditional is a batch of K
distributions, one a class; it answers each question about a row for every class. One-dimensional
parts are frozen distributions of scipy.stats.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

__all__ = [
    "Categorical",
    "ClassConditional",
    "Distribution",
    "Joint",
    "Levels",
    "drawn",
    "generator",
    "shown",
    "size_of",
    "stats",
]


Array = NDArray[np.float64]
Index = NDArray[np.intp]

SHOWN_NAMES = 6  # names that a repr lists


def stats() -> Any:
    """scipy.stats, which is slow to import and therefore imported on first use."""
    import scipy.stats

    return scipy.stats


def generator(random_state: Any) -> Any:
    """What draws random numbers: for None, a seed, a RandomState or a Generator.

    A seed gives a RandomState, as in scikit-learn, so that draws are those of ``sample`` of the
    estimators.
    """
    if isinstance(random_state, np.random.RandomState | np.random.Generator):
        return random_state
    if random_state is None:
        return np.random.RandomState()
    if isinstance(random_state, Integral) and not isinstance(random_state, bool):
        return np.random.RandomState(int(random_state))
    raise ValueError(
        "random_state is None, a whole number from 0 on, a RandomState or a Generator, got "
        f"{random_state!r}"
    )


def size_of(n: Any) -> int | None:
    """The number of draws; None for one draw without an axis of its own."""
    if n is None:
        return None
    if isinstance(n, bool) or not isinstance(n, Integral) or n < 0:
        raise ValueError(f"n is a whole number of draws from 0 on, or None for one, got {n!r}")
    return int(n)


def shown(values: Sequence[Any]) -> str:
    """A list for a repr, cut where it is long."""
    strings = [repr(v) for v in values[:SHOWN_NAMES]]
    return f"[{', '.join([*strings, '…'] if len(values) > SHOWN_NAMES else strings)}]"


def drawn(shares: Array, codes: Index, rng: Any) -> Index:
    """A cell for each class index, by the shares (n_classes, n_cells) of its class."""
    cumulative = np.cumsum(shares, axis=1)
    at = rng.uniform(size=len(codes)) * cumulative[codes, -1]
    found: Index = (at[:, None] >= cumulative[codes, :-1]).sum(axis=1)
    return found


class Levels(NamedTuple):
    """A column whose values are levels.

    Parameters
    ----------
    names : list
        What the levels are called.
    probs : float64 array (n_classes, n_levels)
        P(level | c).
    values : sequence (n_levels,)
        The levels in the form of events.
    threshold : float, optional
        Numbers are read as [x > threshold].
    """

    names: list[Any]
    probs: Array
    values: Sequence[Any]
    threshold: float | None = None


class Distribution(ABC):
    """A distribution, or a batch of them.

    Attributes
    ----------
    batch_shape : tuple of int
    event_shape : tuple of int
    dtype : dtype
        Of a draw.
    """

    batch_shape: tuple[int, ...]
    event_shape: tuple[Any, ...]
    dtype: np.dtype[Any]

    def _details(self) -> dict[str, str]:
        return {}

    def __repr__(self) -> str:
        fields = {
            "batch_shape": list(self.batch_shape),
            "event_shape": list(self.event_shape),
            "dtype": self.dtype,
            **self._details(),
        }
        values = " ".join(f"{name}={value}" for name, value in fields.items())
        return f"<tallybayes.distributions.{type(self).__name__} {values}>"


class ClassConditional(Distribution):
    """p(x | c) for each class c: a batch of K distributions.

    Parameters
    ----------
    classes : array (n_classes,)
        The class labels.
    features : sequence
        The names of the columns, or their numbers.

    Attributes
    ----------
    classes : array (n_classes,)
    features : list
    shares_total : bool
        Whether the columns are counts that share a total.
    edges : float64 array (n_bins − 1,) or None
        The edges of the bins of a column of numbers that is read in bins.
    whole : bool
        Whether one column has whole numbers only.
    positive : bool
        Whether one column has no numbers below 0.
    """

    dtype: np.dtype[Any] = np.dtype(np.float64)
    shares_total = False

    @property
    def edges(self) -> Array | None:
        """The edges of the bins; None for other distributions."""
        return None

    @property
    def whole(self) -> bool:
        """Whether all values are whole numbers."""
        return False

    @property
    def positive(self) -> bool:
        """Whether all values are above 0."""
        return False

    def __init__(self, classes: NDArray[Any], features: Sequence[Any]) -> None:
        self.classes: NDArray[Any] = np.asarray(classes)
        self.features: list[Any] = list(features)
        self.batch_shape: tuple[int, ...] = (len(self.classes),)
        self.event_shape: tuple[Any, ...] = (len(self.features),)

    def _details(self) -> dict[str, str]:
        return {"classes": shown(self.classes.tolist()), "features": shown(self.features)}

    @abstractmethod
    def log_prob(self, x: Any) -> Array:
        """log p(x | c), in nats, (…, n_classes) of events x of the shape ``(…, *event_shape)``.

        Parameters
        ----------
        x : array-like
            Events: rows, or values of a column.
        """

    def prob(self, x: Any) -> Array:
        """p(x | c), like :meth:`log_prob`.

        Parameters
        ----------
        x : array-like
            Events; see :meth:`log_prob`.
        """
        return np.asarray(np.exp(self.log_prob(x)))

    @abstractmethod
    def draw(self, codes: Index, rng: Any, **more: Any) -> Any:
        """One event for each class index in `codes`, ``(len(codes), *event_shape)``.

        Parameters
        ----------
        codes : index array (n,)
            The class of each draw.
        rng : numpy.random.Generator
            The source of random numbers.
        **more : Any
            Parameters of the class conditional.
        """

    @abstractmethod
    def entropy(self, **more: Any) -> Array:
        """Entropy of an event of each class, in nats, float64 (n_classes,).

        Parameters
        ----------
        **more : Any
            Parameters of the class conditional.
        """

    def index_of(self, features: Sequence[Any]) -> list[int]:
        """Where some columns stand among all.

        Parameters
        ----------
        features : list of str
            Names of features.

        Raises
        ------
        ValueError
            For a column that is not there, is named twice, or if none is named.
        """
        wanted = list(features)
        unknown = [name for name in wanted if name not in self.features]
        if unknown or not wanted or len(set(wanted)) < len(wanted):
            raise ValueError(
                f"name some of the columns {shown(self.features)}, each once, got {wanted!r}"
            )
        return [self.features.index(name) for name in wanted]

    def marginal(self, features: Sequence[Any]) -> ClassConditional:
        """p(x_S | c) of some columns S, whatever the others are.

        Columns are independent given the class, so that the factors of the others, which sum to 1,
        are left out of the product.

        Parameters
        ----------
        features : sequence
            Names, or numbers, of columns; events have them in this order.

        Returns
        -------
        ClassConditional
            Of a table: its events are rows as before, of which the other columns may be missing
            values.

        Raises
        ------
        ValueError
            For a column that is not there or is named twice.
        TypeError
            For counts that share a total: some of them alone have no distribution.
        """
        index = self.index_of(features)
        return self if index == list(range(len(self.features))) else self._marginal(index)

    def _marginal(self, index: list[int]) -> ClassConditional:
        raise TypeError(
            f"the columns {shown(self.features)} have a distribution together, and no part of it "
            "can be taken by itself: take all of them"
        )

    def column(self, name: Any) -> ClassConditional:
        """The distribution of a column, or of the group of columns that it is in.

        Parameters
        ----------
        name : str
            The name of the column.
        """
        return self.marginal([name])

    def as_levels(self) -> Levels | None:
        """One column as levels, where it has such."""
        return None

    def events(self, values: dict[Any, NDArray[Any]]) -> Any:
        """Read values (n,) by column as events of the distribution.

        Parameters
        ----------
        values : Any
            Values as a user gives them.
        """
        return np.column_stack([values[name] for name in self.features])

    def as_rows(self, drawn: Any, n: int) -> Any:
        """n draws in a form that the model reads.

        Parameters
        ----------
        drawn : Any
            Draws, as :meth:`draw` gives them.
        n : int
            How many rows.
        """
        return drawn

    def as_row(self, drawn: Any) -> Any:
        """The one event that was drawn.

        Parameters
        ----------
        drawn : Any
            Draws, as :meth:`draw` gives them.
        """
        return drawn[0]

    def _by_class(self, n: Any, random_state: Any, shape: Callable[..., Any], **more: Any) -> Any:
        """Draws of every class: `shape` brings an array (n · n_classes, …) into its final shape."""
        count = size_of(n)
        codes = np.tile(np.arange(len(self.classes)), 1 if count is None else count)
        drawn = self.draw(codes, generator(random_state), **more)
        return shape(drawn, self.batch_shape if count is None else (count, *self.batch_shape))


# ---- the class prior P(y) as a distribution over labels ------------------------------------------
class Categorical(Distribution):
    """A distribution over labels.

    Parameters
    ----------
    log_probs : float64 array (n_classes,)
        In nats. Probabilities that sum to 1 only nearly are taken as they are; draws are by their
        shares.
    classes : array (n_classes,)
        The labels.

    Attributes
    ----------
    probs, log_probs : float64 arrays (n_classes,)
    classes : array (n_classes,)

    Examples
    --------
    >>> import numpy as np
    >>> from tallybayes.distributions import Categorical
    >>> prior = Categorical(np.log([0.25, 0.75]), np.array(["ham", "spam"]))
    >>> prior
    <tallybayes.distributions.Categorical batch_shape=[] event_shape=[] dtype=<U4 \
classes=['ham', 'spam'] probs=[0.25, 0.75]>
    >>> prior.prob(["spam", "ham"]).tolist()
    [0.75, 0.25]
    """

    batch_shape: tuple[int, ...] = ()
    event_shape: tuple[Any, ...] = ()

    def __init__(self, log_probs: ArrayLike, classes: ArrayLike) -> None:
        self.log_probs: NDArray[np.float64] = np.array(log_probs, dtype=np.float64)
        self.classes: NDArray[Any] = np.array(classes)
        if self.log_probs.ndim != 1 or self.log_probs.shape != self.classes.shape:
            raise ValueError(
                f"log_probs has the shape {self.log_probs.shape} for labels of the shape "
                f"{self.classes.shape}: give one log-probability a label"
            )
        self.probs: NDArray[np.float64] = np.exp(self.log_probs)
        if not np.isclose(self.probs.sum(), 1.0):
            raise ValueError(
                f"the probabilities sum to {self.probs.sum().item()!r}; they must sum to 1"
            )
        self.dtype: np.dtype[Any] = self.classes.dtype
        self._code = {label: k for k, label in enumerate(self.classes.tolist())}

    def _details(self) -> dict[str, str]:
        probs = [float(f"{p:.3g}") for p in self.probs.tolist()]
        return {"classes": shown(self.classes.tolist()), "probs": shown(probs)}

    def codes_of(self, labels: Any) -> NDArray[np.intp]:
        """The index of each label, in the shape of `labels`; −1 for what is not a class.

        Parameters
        ----------
        labels : array-like
            Labels of classes.
        """
        given = np.asarray(labels)
        codes = [self._code.get(label, -1) for label in given.ravel().tolist()]
        return np.array(codes, dtype=np.intp).reshape(given.shape)

    def log_prob(self, y: Any) -> Array:
        """log P(y), in nats.

        Parameters
        ----------
        y : label or array-like of labels
            Labels.

        Returns
        -------
        float64 array, of the shape of y
            −inf for what is not a class.
        """
        return np.asarray(np.append(self.log_probs, -np.inf)[self.codes_of(y)])

    def prob(self, y: Any) -> Array:
        """P(y), like :meth:`log_prob`.

        Parameters
        ----------
        y : array-like
            Labels.
        """
        return np.asarray(np.exp(self.log_prob(y)))

    def draw(self, n: int, rng: Any) -> NDArray[np.intp]:
        """n class indices.

        Parameters
        ----------
        n : int
            How many draws.
        rng : numpy.random.Generator
            The source of random numbers.
        """
        share = self.probs / self.probs.sum()
        return rng.choice(len(share), size=n, p=share).astype(np.intp)  # type: ignore[no-any-return]

    def sample(self, n: int | None = None, random_state: Any = None) -> Any:
        """n labels, (n,); one label by default.

        Parameters
        ----------
        n : int, optional
            How many draws.
        random_state : None, int, RandomState or Generator
            The seed, or the generator, of the draws.
        """
        count = size_of(n)
        drawn = self.classes[self.draw(1 if count is None else count, generator(random_state))]
        return drawn[0] if count is None else drawn

    def mode(self) -> Any:
        """The most probable label, the first of equals. Labels have no mean."""
        return self.classes[int(np.argmax(self.probs))]

    def entropy(self) -> float:
        """−Σ_c P(c) log P(c), in nats."""
        return float(stats().entropy(self.probs))


# ---- the joint distribution p(x, y) = P(y) p(x | y), restored from its two factors ---------------
class Joint(Distribution):
    """The joint distribution of rows and labels of a generative classifier.

    Parameters
    ----------
    prior : Categorical
        P(y).
    conditional : ClassConditional
        p(x | y), for the classes of the prior in their order.

    Attributes
    ----------
    prior, conditional
        As given.
    event_shape : tuple
        Of x, then of y.

    Examples
    --------
    >>> from tallybayes import GaussianNB
    >>> model = GaussianNB().fit([[0.0], [2.0], [5.0], [9.0]], ["a", "a", "b", "b"])
    >>> x, y = model.joint_.sample(3, random_state=0)
    >>> x.shape, y.tolist()
    ((3, 1), ['b', 'b', 'b'])
    >>> round(model.joint_.log_prob([1.0], "a").item(), 4)
    -1.6121
    """

    batch_shape: tuple[int, ...] = ()

    def __init__(self, prior: Categorical, conditional: ClassConditional) -> None:
        self.prior = prior
        self.conditional = conditional
        self.event_shape: tuple[Any, ...] = (list(conditional.event_shape), [])
        self.dtype: np.dtype[Any] = conditional.dtype

    def _details(self) -> dict[str, str]:
        factors = f"P(y): {type(self.prior).__name__}, p(x | y): {type(self.conditional).__name__}"
        return {**self.conditional._details(), "factors": f"({factors})"}

    def log_prob_of_classes(self, x: Any) -> Array:
        """log p(x, c) for every class c, in nats, (…, n_classes): the classifier's joint
        log-probabilities.

        Parameters
        ----------
        x : array-like
            Events; see :meth:`log_prob`.
        """
        return np.asarray(self.prior.log_probs + self.conditional.log_prob(x))

    def log_prob(self, x: Any, y: Any) -> Array:
        """log p(x, y), in nats.

        Parameters
        ----------
        x : events of the conditional
            Events.
        y : label or array-like of labels
            One for each event, or one for all.

        Returns
        -------
        float64 array
            A number for each event; −inf for what cannot be, such as a label that is not a class.

        Raises
        ------
        ValueError
            If x and y do not fit together.
        """
        scores = self.log_prob_of_classes(x)
        codes = self.prior.codes_of(y)
        try:
            codes = np.broadcast_to(codes, scores.shape[:-1])
        except ValueError:
            raise ValueError(
                f"y has the shape {codes.shape} for events of the shape {scores.shape[:-1]}: give "
                "a label for each, or one for all"
            ) from None
        taken = np.take_along_axis(scores, np.maximum(codes, 0)[..., None], axis=-1)[..., 0]
        return np.where(codes < 0, -np.inf, taken)

    def prob(self, x: Any, y: Any) -> Array:
        """p(x, y), like :meth:`log_prob`.

        Parameters
        ----------
        x : array-like
            Events; see :meth:`log_prob`.
        y : array-like
            Labels.
        """
        return np.asarray(np.exp(self.log_prob(x, y)))

    def marginal_log_prob(self, x: Any) -> Array:
        """log p(x) = log Σ_c P(c) p(x | c), in nats, a number for each event.

        Parameters
        ----------
        x : array-like
            Events; see :meth:`log_prob`.
        """
        return np.asarray(logsumexp(self.log_prob_of_classes(x), axis=-1))

    def marginal(self, features: Sequence[Any]) -> Joint:
        """p(x_S, y) of some columns S, whatever the others are; see
        :meth:`ClassConditional.marginal`.

        Parameters
        ----------
        features : list of str
            Names of the features to keep.
        """
        return Joint(self.prior, self.conditional.marginal(features))

    def best_class(self, x: Any) -> NDArray[Any]:
        """The most probable label of each event, of equally probable ones the first.

        Parameters
        ----------
        x : array-like
            Events; see :meth:`log_prob`.
        """
        best = self.log_prob_of_classes(x).argmax(axis=-1)
        labels: NDArray[Any] = self.prior.classes[best]
        return labels

    def sample(self, n: int | None = None, random_state: Any = None, **more: Any) -> Any:
        """Draw rows with their labels: y from the prior, x from its class.

        Parameters
        ----------
        n : int, optional
            How many; one row and its label by default.
        random_state : None, int, RandomState or Generator
            The seed, or the generator, of the draws.
        **more
            What the class conditional's ``sample`` takes besides, such as ``total_count``.

        Returns
        -------
        x : Any
            The events, n of them, in a form that the model reads.
        y : array (n,)
            The class of each.
        """
        count = size_of(n)
        rng = generator(random_state)
        codes = self.prior.draw(1 if count is None else count, rng)
        drawn = self.conditional.draw(codes, rng, **more)
        y = self.prior.classes[codes]
        if count is None:
            return self.conditional.as_row(drawn), y[0]
        return self.conditional.as_rows(drawn, count), y

    def entropy(self, **more: Any) -> float:
        """H(y) + Σ_c P(c) H(x | c), in nats; `more` as the class conditional's ``entropy``.

        Parameters
        ----------
        **more : Any
            Parameters of the class conditional.
        """
        probs = self.prior.probs
        within = np.asarray(self.conditional.entropy(**more))
        return self.prior.entropy() + float((probs * np.where(probs > 0.0, within, 0.0)).sum())
