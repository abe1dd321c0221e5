"""A small model of each kind that a file can hold, and rows to ask it about.

Data come from a seeded generator. They are asked of again from the file that ``make.py`` writes, so
that neither these functions nor NumPy's generators have to stay as they are.
"""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import tallybayes
from tallybayes import CostClassifier, NaiveBayes, TextNB, WeightedNaiveBayes, families

__all__ = ["COMMANDS", "KINDS", "TALLIES", "Command", "Kind"]

N_ROWS = 90
N_ASKED = 10  # of the rows that were learned; odd rows follow


class Kind(NamedTuple):
    """A fitted model, rows to ask it about, and rows that it can learn and forget.

    Parameters
    ----------
    model : estimator
    asked : array, data frame or list of str
    x : array, data frame or list of str
    y : array
    """

    model: Any
    asked: Any
    x: Any
    y: Any


# ---- arrays --------------------------------------------------------------------------------------
def digits(n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers from 0 to 3 in four columns, and labels that they depend on."""
    rng = np.random.default_rng(3)
    y = np.arange(N_ROWS) % n_classes
    x = np.minimum(rng.poisson(0.5 + y[:, None] * [0.5, 1.0, 0.0, 0.2]), 3.0)
    x[:4, 0] = [0.0, 1.0, 2.0, 3.0]
    return x, y


def array(
    name: str,
    labels: Any = (0, 1, 2),
    dtype: Any = np.float64,
    change: Callable[[Any, Any, Any], Any] | None = None,
    **parameters: Any,
) -> Callable[[], Kind]:
    """One of the five classifiers of arrays; `change` learns, forgets or merges more."""

    def make() -> Kind:
        x, codes = digits(len(labels))
        if parameters.get("binarize", 0.0) is None:
            x = x % 2.0
        x, y = x.astype(dtype), np.array(labels)[codes]
        model = getattr(tallybayes, name)(**parameters).fit(x, y)
        model = model if change is None else change(model, x, y)
        odd = x[:3].copy()
        odd[0], odd[1, 1:] = 0.0, x.max()
        if name == "GaussianNB":
            odd[2] *= 50.0
        return Kind(model, np.concatenate([x[:N_ASKED], odd]), x[20:32], y[20:32])

    return make


def of_levels() -> Kind:
    """Declared levels of each type, of a frame with names."""
    x, y = digits()
    x = x.astype(int)
    named = np.array(["none", "one", "two", "more"], dtype=object)
    table = pd.DataFrame({"a": named[x[:, 0]], "b": x[:, 1], "c": x[:, 2] > 0, "d": x[:, 3] / 2})
    levels = [named.tolist(), [0, 1, 2, 3], [False, True], [0.0, 0.5, 1.0, 1.5]]
    model = tallybayes.CategoricalNB(levels=levels, unseen="ignore").fit(table, y == 1)
    odd = table[:2].assign(a=["many", "one"], d=[0.0, 7.0])
    asked = pd.concat([table[:N_ASKED], odd], ignore_index=True)
    return Kind(model, asked, table[20:32], y[20:32] == 1)


def history(model: Any, x: Any, y: Any) -> Any:
    """More rows with weights, some forgotten, and those of another model."""
    model.partial_fit(x[:30], y[:30], sample_weight=np.full(30, 0.3)).forget(x[40:50], y[40:50])
    return model.merge(type(model)(**model.get_params()).fit(x[10:70], y[10:70]))


# ---- tables --------------------------------------------------------------------------------------
def frame(n_classes: int = 2) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, strings, booleans, dates and missing values, and labels that they depend on."""
    rng = np.random.default_rng(5)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, N_ROWS - n_classes)])
    age = rng.normal(30.0 + 10.0 * y, 6.0).round()
    age[rng.random(N_ROWS) < 0.1] = np.nan
    home = np.array(["Bern", "Basel", "Wien", "東京"], dtype=object)[rng.integers(0, 2, N_ROWS) + y]
    home[rng.random(N_ROWS) < 0.1] = None
    lucky = rng.integers(0, 2, N_ROWS)
    day = np.datetime64("2020-01-01") + rng.integers(0, 28, N_ROWS) + 9 * y
    mixed = np.where(rng.random(N_ROWS) < 0.3, "none", rng.integers(0, 4, N_ROWS).astype(object))
    x = pd.DataFrame(
        {
            "age": age,
            "pay": rng.lognormal(2.0 + y, 0.5).round(2),
            "home": pd.Series(home, dtype=object),
            "twin": pd.Series(np.array(["u", "v"])[lucky], dtype=object),
            "other": pd.Series(np.array(["p", "q"])[lucky ^ (y > 0)], dtype=object),
            "active": rng.random(N_ROWS) < 0.3 + 0.2 * y,
            "calls": rng.poisson(1.0 + y),
            "words": rng.negative_binomial(2, 0.4, N_ROWS),
            "since": pd.Series(day.astype(object), dtype=object),
            "mixed": pd.Series(mixed, dtype=object),
        }
    )
    return x, np.array(["no", "yes", "maybe"], dtype=object)[y]


def odd_rows(x: pd.DataFrame) -> pd.DataFrame:
    """Rows with missing values, levels that nobody has seen, and numbers far away."""
    odd = x[:4].copy()
    for name, values in {
        "age": [np.nan, 400.0, -3.5, 30.25],
        "pay": [np.nan, 1e6, 0.01, 7.125],
        "home": [None, "Rom", "Wien", "Bern"],
        "twin": [None, "w", "u", "v"],
        "calls": [0, 40, 3, 1],
        "words": [0, 90, 2, 5],
        "since": [
            None,
            date(2031, 5, 1),
            date(1999, 1, 1),
            date(2020, 1, 9),
        ],
        "mixed": [None, "some", 17, 2],
    }.items():
        if name in odd:
            odd[name] = pd.Series(values, dtype=x[name].dtype)
    return odd


def asked_of(model: Any, x: pd.DataFrame, y: Any) -> Kind:
    asked = pd.concat([x[:N_ASKED], odd_rows(x)], ignore_index=True)
    more = x[20:32].reset_index(drop=True)
    return Kind(model, asked, more, y[20:32])


def table(
    columns: Any = "auto",
    only: list[str] | None = None,
    n_classes: int = 2,
    kind: Any = NaiveBayes,
    change: Callable[[Any, Any, Any], Any] | None = None,
    sample_weight: Any = None,
    **parameters: Any,
) -> Callable[[], Kind]:
    """A model of some columns of the table, all by default."""

    def make() -> Kind:
        x, y = frame(n_classes)
        x = x if only is None else x[only]
        model = kind(columns, **parameters).fit(x, y, sample_weight=sample_weight)
        model = model if change is None else change(model, x, y)
        return asked_of(model, x, y)

    return make


def column(name: str, family: Any, **parameters: Any) -> Callable[[], Kind]:
    """A family of one column, beside a column of levels."""
    return table({name: family}, [name, "twin"], **parameters)


def group(names: list[str], family: Any, n_classes: int = 3) -> Callable[[], Kind]:
    """A family of several columns."""
    return table({tuple(names): family}, names, n_classes)


def of_tally() -> Kind:
    """A model of counts alone."""
    x, y = frame()
    tally = tallybayes.collect(x, y)
    return asked_of(NaiveBayes.from_tally(tally), x, y)


def one_by_one(model: Any, x: pd.DataFrame, y: Any) -> Any:
    """Rows learned and forgotten one by one, with a prediction between."""
    rows = x.to_dict("records")
    for row, label in zip(rows[:9], y[:9], strict=True):
        model.learn_one(row, label)
        model.predict_one(row)
    model.forget_one(rows[3], y[3])
    return model


def decayed(model: Any, x: pd.DataFrame, y: Any) -> Any:
    """Counts that faded, and rows that were forgotten since, whose rounding the model bounds."""
    return model.decay(0.9).forget(x[:20], y[:20], sample_weight=np.full(20, 0.9))


def more_rows(model: Any, x: pd.DataFrame, y: Any) -> Any:
    """Rows after those that weights, or a calibration, were learned on: these are stale."""
    return model.partial_fit(x[:15], y[:15])


def weighted(columns: Any = "auto", n_classes: int = 2, **parameters: Any) -> Callable[[], Kind]:
    only = parameters.pop("only", ["age", "home", "twin", "other", "active"])
    return table(columns, only, n_classes, WeightedNaiveBayes, **parameters)


def correlated(**parameters: Any) -> Callable[[], Kind]:
    """Copies, near-copies and pairs of columns."""

    def make() -> Kind:
        rng = np.random.default_rng(0)
        a, b, c = rng.integers(0, 3, (3, 240))
        y = ((a + b >= c + 1) & ((a != 1) | (b == 2))).astype(int)
        x = pd.DataFrame(
            {
                "a": pd.Series(np.array(list("uvw"))[a], dtype=object),
                "b": pd.Series(np.array(list("pqr"))[b], dtype=object),
                "c": 1.5 * c,
                "twin": pd.Series(np.array(list("xyz"))[a], dtype=object),
            }
        )
        x["near"] = pd.Series(x["a"].where(np.arange(240) % 60 > 0, "u"), dtype=object)
        return asked_of(WeightedNaiveBayes(**parameters).fit(x, y), x, y)

    return make


def simplified(model: Any, x: pd.DataFrame, y: Any) -> Any:
    return model.simplify(x, y, 4)


WORDS = np.array(["naïve", "bayes", "東京", "Cheap", "pills", "lunch", "noon", "now!", "a-b", "$5"])
LABELS = np.array(["ham", "spam", "ads"], dtype=object)


def messages(n_classes: int = 2, n: int = N_ROWS) -> tuple[list[str], np.ndarray]:
    """Messages of words that the classes prefer, and codes of the classes."""
    rng = np.random.default_rng(7)
    y = np.arange(n) % n_classes
    return [" ".join(WORDS[(rng.poisson(1.6, 5) + 3 * k) % len(WORDS)]) for k in y], y


def with_text(kind: Any, family: Any, **parameters: Any) -> Callable[[], Kind]:
    """A column of text beside others."""

    def make() -> Kind:
        x, y = frame()
        words, _ = messages()
        order = np.argsort(np.argsort(y, kind="stable"), kind="stable")
        by_class = np.array(words[::2] + words[1::2], dtype=object)
        x = x[["age", "home"]].assign(note=pd.Series(by_class[order], dtype=object))
        kind_of = asked_of(kind({"note": family}, **parameters).fit(x, y), x, y)
        kind_of.asked.loc[N_ASKED:, "note"] = pd.Series(
            [None, "", "unheard of", "lunch at noon"], index=range(N_ASKED, N_ASKED + 4)
        )
        return kind_of

    return make


def prose(kind: Any = NaiveBayes) -> Callable[[], Kind]:
    """A column of sentences that nobody declared."""

    def make() -> Kind:
        rng = np.random.default_rng(11)
        common = [
            "the",
            "parcel",
            "came",
            "late",
            "and",
            "we",
            "called",
            "about",
            "that",
            "again",
            "on",
            "the",
            "phone",
        ]
        kinds = [["broken", "refund", "angry"], ["lovely", "thanks", "quick"]]
        y = np.arange(N_ROWS) % 2
        said = [" ".join([*rng.choice(common, 8), *rng.choice(kinds[k], 2), str(i)])
                for i, k in enumerate(y)]  # fmt: skip
        x = pd.DataFrame({"note": pd.Series(said, dtype=object), "stars": rng.poisson(2 + y)})
        return asked_of(kind().fit(x, y == 1), x, y == 1)

    return make


# ---- documents -----------------------------------------------------------------------------------
def text(
    n_classes: int = 2, change: Callable[[Any, Any, Any], Any] | None = None, **parameters: Any
) -> Callable[[], Kind]:
    def make() -> Kind:
        x, y = messages(n_classes)
        model = TextNB(**parameters).fit(x, LABELS[y])
        model = model if change is None else change(model, x, LABELS[y])
        odd = ["", "unheard of", "lunch at noon, lunch at noon! 東京の天気", " ".join(WORDS) * 3]
        return Kind(model, x[:N_ASKED] + odd, x[20:32], LABELS[y[20:32]])

    return make


def part_labelled(**parameters: Any) -> Callable[[], Kind]:
    """Documents of which most have no label."""

    def make() -> Kind:
        x, codes = messages(n=150)
        y = LABELS[codes]
        y[30:] = None
        model = TextNB(**parameters).fit(x, y)
        return Kind(model, [*x[:N_ASKED], "", "lunch"], x[20:30], y[20:30])

    return make


def more_documents(model: Any, x: list[str], y: Any) -> Any:
    return model.partial_fit(x[:15], y[:15])


def one_document_at_a_time(model: Any, x: list[str], y: Any) -> Any:
    for document, label in zip(x[:9], y[:9], strict=True):
        model.partial_fit([document], [label])
        model.predict([document])
    return model.forget(x[3:4], y[3:4])


def pruned(model: Any, x: list[str], y: Any) -> Any:
    return model.prune(4)


# ---- decisions, sets, many labels, and trees -----------------------------------------------------
COSTS = {"no": {"no": 0.0, "yes": 5.0, "ask": 1.0}, "yes": {"no": 1.0, "yes": 0.0, "ask": 1.0}}


def around(
    inside: Any, make_of: Callable[[Any], Any], change: Callable[[Any, Any, Any], Any] | None = None
) -> Callable[[], Kind]:
    """A model of the table; `make_of` puts one around it, and `change` comes after its fit."""

    def make() -> Kind:
        x, y = frame()
        x = x[["age", "home", "active"]]
        model = make_of(inside).fit(x, y)
        return asked_of(model if change is None else change(model, x, y), x, y)

    return make


def decided(model: Any, x: pd.DataFrame, y: Any) -> Any:
    return model.with_costs(COSTS)


def compared(model: Any, x: pd.DataFrame, y: Any) -> Any:
    return model.conformalize(x, y, within="home")


def rows_for(inside: Any) -> Kind:
    """Rows that a classifier takes, with three classes that they depend on."""
    kind = type(inside).__name__
    if kind == "TextNB":
        x, y = messages(3)
        return Kind(inside, [*x[:N_ASKED], "", "unheard of"], x, y)
    if kind == "NaiveBayes":
        x, labels = frame(3)
        x = x[["age", "home", "active"]]
        y = np.unique(labels, return_inverse=True)[1]
        return Kind(inside, asked_of(inside, x, y).asked, x, y)
    x, y = digits()
    return Kind(inside, x[:N_ASKED], x, y)


def labelled(
    inside: Any,
    model: Any,
    names: list[str],
    change: Callable[[Any, Any, Any], Any] | None = None,
) -> Kind:
    """A model around another one, of labels that are named by class."""
    _, asked, x, codes = rows_for(inside)
    y = np.array(
        [names[(k + (i % 5 == 0)) % 3] for i, k in enumerate(codes.tolist())], dtype=object
    )
    model = model.fit(x, y)
    model = model if change is None else change(model, x, y)
    return Kind(model, asked, x[20:32], y[20:32])


def many(
    inside: Any, change: Callable[[Any, Any, Any], Any] | None = None, **parameters: Any
) -> Callable[[], Kind]:
    """Sets of labels, one of them empty."""

    def make() -> Kind:
        model = tallybayes.MultiLabel(inside, separator=";", **parameters)
        return labelled(inside, model, ["a;b", "b;日本", ""], change)

    return make


def tree(inside: Any, **parameters: Any) -> Callable[[], Kind]:
    """Paths of unequal length."""

    def make() -> Kind:
        model = tallybayes.Hierarchy(inside, **parameters)
        return labelled(inside, model, ["a/x", "a/y/z", "b"])

    return make


# ---- all of them ---------------------------------------------------------------------------------
def csv(x: pd.DataFrame, y: Any) -> str:
    """The table as a file of another country: semicolons, decimal commas, its own missing value."""
    rows = x.assign(bought=y, since=pd.to_datetime(x["since"]).dt.strftime("%d.%m.%Y"))
    return rows.to_csv(index=False, sep=";", decimal=",", na_rep="-")


class Command(NamedTuple):
    """A model that the command line fits, and what it is asked.

    Parameters
    ----------
    train, asked : str
        The content of two CSV files.
    fit, predict : tuple of str
        Options.
    """

    train: str
    asked: str
    fit: tuple[str, ...]
    predict: tuple[str, ...] = ("--proba",)


def command_for_tables(*options: str) -> Callable[[], Command]:
    def make() -> Command:
        x, y = frame()
        x = x.drop(columns=["words", "twin"])
        reading = ("--decimal", ",", "--dates", "dmy", "--null", "-")
        return Command(csv(x, y), csv(odd_rows(x), y[:4]), ("-t", "bought", *reading, *options))

    return make


def command_for_text() -> Command:
    x, y = messages()
    table = pd.DataFrame({"message": x, "label": LABELS[y]})
    options = ("-t", "label", "--column", "message=text")
    return Command(table.to_csv(index=False), table[:8].to_csv(index=False), options)


F = families
WISHART = F.NormalInverseWishart([30.0, 10.0], 1.0, 4.0, [[40.0, 0.0], [0.0, 40.0]])
WHOLE = ["age", "pay", "home", "calls"]

ARRAYS: Mapping[str, Callable[[], Kind]] = {
    "gaussian": array("GaussianNB"),
    "gaussian-feature": array("GaussianNB", var_smoothing_of="feature", class_alpha=1.0),
    "gaussian-prior": array("GaussianNB", priors=np.array([0.2, 0.3, 0.5])),
    "gaussian-class-weights": array("GaussianNB", class_weight={0: 2.0, 2: 0.5}),
    "gaussian-float32": array("GaussianNB", dtype=np.float32),
    "gaussian-history": array("GaussianNB", change=history),
    "gaussian-strings": array("GaussianNB", labels=["tea", "café", "牛奶"]),
    "multinomial": array("MultinomialNB", alpha=[0.5, 1.0, 1.5, 2.0]),
    "multinomial-uniform": array("MultinomialNB", fit_prior=False, alpha=0.1),
    "multinomial-history": array("MultinomialNB", change=history),
    "complement": array("ComplementNB"),
    "complement-norm": array("ComplementNB", norm=True, alpha=1 / 3),
    "complement-history": array("ComplementNB", change=history),
    "bernoulli": array("BernoulliNB", binarize=0.5),
    "bernoulli-bits": array("BernoulliNB", labels=[False, True], binarize=None, alpha=0.25),
    "bernoulli-history": array("BernoulliNB", change=history),
    "categorical": array("CategoricalNB", min_categories=5),
    "categorical-balanced": array("CategoricalNB", class_weight="balanced"),
    "categorical-levels": of_levels,
    "categorical-history": array("CategoricalNB", change=history),
}
FAMILIES: Mapping[str, Callable[[], Kind]] = {
    "gaussian": column("age", F.Gaussian()),
    "gaussian-group": group(["age", "pay"], F.Gaussian()),
    "gaussian-log": column("pay", F.Gaussian(transform="log", ddof=1.0)),
    "gaussian-yeo-johnson": column("pay", F.Gaussian(transform="yeo-johnson")),
    "gaussian-pooled": column("age", F.Gaussian(pooled_rows=3.0, min_variance=0.5)),
    "gaussian-nig": column("age", F.Gaussian(prior=F.NormalInverseGamma(30.0, 1.0, 2.0, 50.0))),
    "gaussian-posterior": column("age", F.Gaussian(
        prior=F.NormalInverseGamma(30.0, 1.0, 2.0, 50.0), estimate="posterior")),
    "covariance": group(["age", "pay"], F.Gaussian(covariance="full")),
    "covariance-prior": group(["age", "pay"], F.Gaussian(covariance="full", prior=WISHART)),
    "categorical": column("home", F.Categorical(alpha=0.5)),
    "categorical-levels": column("home", F.Categorical(
        levels=("Bern", "Basel", "Wien", "東京", "Rom"))),
    "categorical-dirichlet": column("home", F.Categorical(prior=F.Dirichlet(2.0, "marginal"))),
    "categorical-unseen": column("home", F.Categorical(unseen="ignore")),
    "bernoulli": column("active", F.Bernoulli()),
    "bernoulli-beta": column("other", F.Bernoulli(prior=F.Beta(2.0, 3.0))),
    "bernoulli-alpha": column("other", F.Bernoulli(alpha=0.5)),
    "poisson": column("calls", F.Poisson()),
    "poisson-gamma": column("calls", F.Poisson(prior=F.Gamma(2.0, 1.0), estimate="posterior")),
    "negative-binomial": column("words", F.NegativeBinomial()),
    "negative-binomial-mle": column("words", F.NegativeBinomial(estimate="mle")),
    "negative-binomial-gamma": column("words", F.NegativeBinomial(prior=F.Gamma(2.0, 1.0))),
    "binned": column("pay", F.Binned()),
    "binned-four": column("since", F.Binned(bins=4, alpha=0.5)),
    "binned-supervised": column("age", F.Binned(cuts="supervised")),
    "smooth": column("age", F.Smooth()),
    "smooth-given": column("words", F.Smooth(bins=8, width=2, strength=4.0)),
    "multinomial": group(["calls", "words"], F.Multinomial()),
    "multinomial-alpha": group(["calls", "words"], F.Multinomial(alpha=[0.5, 2.0])),
    "multinomial-dirichlet": group(["calls", "words"], F.Multinomial(prior=F.Dirichlet(2.0))),
    "text": with_text(NaiveBayes, F.Text()),
    "text-characters": with_text(NaiveBayes, F.Text(
        analyzer="char_wb", ngram_range=(2, 3), strip_accents="unicode")),
    "text-buckets": with_text(NaiveBayes, F.Text(n_features=40, stop_words=("noon",), alpha=0.5)),
}  # fmt: skip
TABLES: Mapping[str, Callable[[], Kind]] = {
    "auto": table(),
    "auto-three": table(n_classes=3),
    "mixed": table(only=["mixed", "twin"]),
    "dates": table(only=["since", "twin"]),
    "prose": prose(),
    "types": table({str: F.Categorical(alpha=0.5), bool: F.Bernoulli(), "since": None}),
    "missing-level": table(only=WHOLE, missing="level"),
    "unseen-ignore": table(only=WHOLE, unseen="ignore"),
    "map": table(only=["home", "twin"], estimate="map", alpha=2.0),
    "mle": table(only=["calls", "age"], estimate="mle"),
    "posterior": table(only=WHOLE, estimate="posterior"),
    "alpha-log-loss": table(only=WHOLE, alpha="auto"),
    "alpha-likelihood": table(only=WHOLE, alpha="auto", criterion="loo_likelihood"),
    "alpha-evidence": table(
        only=["home", "twin"], alpha="auto", class_alpha="auto", criterion="evidence"
    ),
    "half-life": table(only=WHOLE, half_life=30.0),
    "class-weight": table(only=WHOLE, class_weight={"yes": 3.0}),
    "balanced": table(only=WHOLE, n_classes=3, class_weight="balanced"),
    "class-prior": table(only=WHOLE, class_prior={"no": 0.75, "yes": 0.25}),
    "classes": table(only=WHOLE, classes=["maybe", "no", "yes"]),
    "sample-weight": table(only=WHOLE, sample_weight=np.linspace(0.0, 3.0, N_ROWS)),
    "temperature": table(calibrate="temperature"),
    "isotonic": table(only=WHOLE, calibrate="isotonic"),
    "isotonic-three": table(only=WHOLE, n_classes=3, calibrate="isotonic"),
    "calibrated-stale": table(only=WHOLE, calibrate="temperature", change=more_rows),
    "one-by-one": table(only=WHOLE, change=one_by_one),
    "decayed": table(only=WHOLE, change=decayed),
    "of-tally": of_tally,
}
WEIGHTED: Mapping[str, Callable[[], Kind]] = {
    "auto": weighted(),
    "three": weighted(n_classes=3),
    "dates": weighted(only=["since", "pay", "mixed"]),
    "column-weights": weighted(n_classes=3, weights="column", interactions=1),
    "no-pairs": weighted(interactions=0, polish=False),
    "one-part": weighted(parts=1),
    "one-part-pairs": weighted(parts=1, interactions=2, polish=True, regularization=0.5),
    "three-parts": weighted(parts=3, interactions=2),
    "copies": correlated(),
    "copies-one-part": correlated(parts=1),
    "declared": weighted({
        "home": F.Categorical(levels=("Bern", "Basel", "Wien", "東京", "Rom")), "age": None}),
    "text": with_text(WeightedNaiveBayes, F.Text()),
    "text-one-part": with_text(WeightedNaiveBayes, F.Text(n_features=40), parts=1),
    "prose": prose(WeightedNaiveBayes),
    "half-life": weighted(half_life=60.0, parts=1),
    "balanced": weighted(class_weight="balanced", parts=1),
    "class-prior": weighted(class_prior=[0.3, 0.7], parts=1),
    "stale": weighted(change=more_rows),
    "simplified": weighted(change=simplified),
}  # fmt: skip
TEXT: Mapping[str, Callable[[], Kind]] = {
    "weighted": text(),
    "weighted-three": text(3),
    "weighted-plain": text(3, ridge=False),
    "weighted-stale": text(change=more_documents),
    "characters": text(3, analyzer="char_wb", ngram_range=(2, 3), strip_accents="unicode"),
    "cjk": text(2, analyzer="cjk", ngram_range=(1, 1)),
    "buckets": text(3, n_features=50, stop_words=["noon"], ridge=False),
    "buckets-ridge": text(3, n_features=50, stop_words="english", lowercase=False),
    "multinomial": text(3, model="multinomial"),
    "multinomial-log-idf": text(3, model="multinomial", tf="log", idf=True, alpha=0.1),
    "multinomial-length": text(3, model="multinomial", idf=True, length_normalize=True),
    "complement": text(3, model="complement"),
    "complement-idf": text(3, model="complement", idf=True, length_normalize=True),
    "bernoulli": text(2, model="bernoulli"),
    "bernoulli-buckets": text(2, model="bernoulli", n_features=50, token_pattern=r"(?u)\b\w\w+\b"),
    "one-at-a-time": text(model="multinomial", change=one_document_at_a_time),
    "pruned": text(model="multinomial", change=pruned),
    "part-labelled": part_labelled(unlabelled=0.5),
    "part-labelled-auto": part_labelled(unlabelled="auto", ridge=False),
}
LABELS: Mapping[str, Callable[[], Kind]] = {
    "costs": around(NaiveBayes(), lambda inside: CostClassifier(inside, COSTS)),
    "costs-weighted": around(WeightedNaiveBayes(parts=1), lambda inside: inside, decided),
    "sets": around(NaiveBayes(), lambda inside: inside, compared),
    "sets-weighted": around(WeightedNaiveBayes(parts=1), lambda inside: inside, compared),
    "many": many(NaiveBayes(), threshold="f1"),
    "many-arrays": many(tallybayes.MultinomialNB(), smoothing="auto"),
    "many-documents": many(TextNB(model="multinomial", idf=True), threshold="cost", costs=(1, 3)),
    "many-stale": many(TextNB(model="bernoulli"), change=more_documents, threshold="f1"),
    "tree": tree(NaiveBayes()),
    "tree-arrays": tree(tallybayes.GaussianNB(), concentration=2.0),
    "tree-documents": tree(TextNB(model="multinomial")),
}
TALLIES: Mapping[str, Callable[[], Kind]] = {
    "tallies/table": table(only=WHOLE),
    "tallies/three": table(only=["since", "mixed", "active"], n_classes=3),
}
"""By name: models of whose counts alone a file is made."""

COMMANDS: Mapping[str, Callable[[], Command]] = {
    "command/table": command_for_tables("--plain"),
    "command/weighted": command_for_tables("--parts", "1"),
    "command/text": command_for_text,
}
"""By name: models that carry how their rows were read."""

KINDS = {
    f"{folder}/{name}": make
    for folder, kinds in {
        "arrays": ARRAYS,
        "families": FAMILIES,
        "tables": TABLES,
        "weighted": WEIGHTED,
        "text": TEXT,
        "labels": LABELS,
    }.items()
    for name, make in kinds.items()
}
"""By name. Each call makes the model from scratch."""
