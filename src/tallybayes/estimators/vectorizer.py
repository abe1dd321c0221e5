"""Documents to matrices of counts, and weights of terms, as transformers of scikit-learn."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Set
from dataclasses import replace
from numbers import Integral
from operator import itemgetter
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.feature_extraction import text as peer
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from tallybayes.errors import NegativeTally, SlowTokensWarning, warn_user
from tallybayes.models.documents import (
    inverse_document_frequency,
    length_normalized,
    log_frequency,
)
from tallybayes.tally.terms import FADED, SLACK
from tallybayes.threads import get_num_threads
from tallybayes.tokens import (
    CJK,
    MARKS,
    WORDS,
    Frequencies,
    SortedTerms,
    count_given,
    count_hashed,
    count_vocabulary,
)
from tallybayes.tokens.analyzer import Analyzer, makes_terms_in_python
from tallybayes.tokens.counting import Documents, GivenVocabulary, as_objects, given_vocabulary
from tallybayes.validation import Given, read_given

__all__ = [
    "CountVectorizer",
    "CountedRows",
    "TermWeighting",
    "aged",
    "analyzer_of",
    "decoded",
    "given_beside",
    "need_counted",
    "need_documents",
    "of_own_terms",
    "rules_of",
]


# ---- scikit-learn's CountVectorizer, counted by the kernel ---------------------------------------
try:  # which of scikit-learn's versions and settings has arrays, and which matrices
    from sklearn.utils._sparse import _align_api_if_sparse as _as_sklearn_has_it
except ImportError:  # before 1.8

    def _as_sklearn_has_it(x: Any) -> Any:
        return sp.csr_matrix(x)


class CountVectorizer(peer.CountVectorizer):  # type: ignore[misc]
    r"""Documents to counts of terms, as scikit-learn's CountVectorizer, at many times its speed.

    Parameters, tokens, ``vocabulary_`` and matrix are those of
    :class:`sklearn.feature_extraction.text.CountVectorizer`. A compiled kernel counts words by
    the token patterns ``(?u)\b\w\w+\b`` and ``(?u)\w+|[^\w\s]``, and the analyzers "char",
    "char_wb" and "cjk", on all cores (:func:`tallybayes.set_num_threads`); the result does not
    depend on how many. Python's ``re`` finds the tokens of any other pattern, with a
    :class:`~tallybayes.errors.SlowTokensWarning`, and callables are Python as well.

    Documents are a list or an array of str or bytes, or a column of strings of pandas, polars or
    pyarrow, which is read where it is.

    Parameters
    ----------
    input : {'content', 'filename', 'file'}
        What documents are: themselves, names of files, or open files.
    encoding : str
        The encoding of documents that are bytes.
    decode_error : {'strict', 'ignore', 'replace'}
        What happens to bytes that the encoding does not have.
    strip_accents : {'ascii', 'unicode'}, callable or None
        Whether accents are dropped, and other characters with them.
    lowercase : bool
        Whether capitals count as small letters.
    preprocessor, tokenizer : callable or None
        Replace lower case and accents, and the token pattern.
    stop_words : {'english'}, list or None
        Tokens that are left out before n-grams are made.
    token_pattern : str
        What a token is, for the analyzer "word".
    ngram_range : tuple of (int, int)
        The shortest and the longest n-grams.
    analyzer : {'word', 'char', 'char_wb', 'cjk'} or callable
        What n-grams are made of: tokens, characters, or characters within words. "cjk" takes each
        character of Han, kana, bopomofo and Hangul for a token, beside other words and marks; a
        space stands between the tokens of an n-gram. A callable makes the terms of a document,
        which may be of any type: ``list`` takes documents that are lists of tokens.
    max_df, min_df : float in [0, 1] or int
        Terms in more or fewer documents are left out; a float is a share of the documents.
    max_features : int or None
        How many of the remaining terms are kept: the most frequent.
    vocabulary : mapping, iterable or None
        The terms, if they are known; others are left out.
    binary : bool
        Whether 1 stands for every count.
    dtype : dtype
        Of the matrix.
    n_features : int or None
        If given, terms are hashed into so many columns, and no vocabulary is kept: memory is
        bounded, batches can be transformed without fit, and terms of one hash share a column. The
        hash is of this library, without sign, and the same on every machine.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        The column of each term. Made when it is first read.
    fixed_vocabulary_ : bool
        Whether `vocabulary` was given.

    Notes
    -----
    It differs from scikit-learn's in this: a lone surrogate is refused, and so are n-grams of fewer
    than one token; a call that is refused leaves the vectorizer as it was; after terms of
    ``vocabulary_`` are exchanged in place, assign it anew.

    Examples
    --------
    >>> from tallybayes.text import CountVectorizer
    >>> vectorizer = CountVectorizer()
    >>> vectorizer.fit_transform(["the cat sat", "the dog and the cat"]).toarray()
    array([[0, 1, 0, 1, 1],
           [1, 1, 1, 0, 2]])
    >>> vectorizer.get_feature_names_out().tolist()
    ['and', 'cat', 'dog', 'sat', 'the']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **peer.CountVectorizer._parameter_constraints,
        "analyzer": [StrOptions({"word", "char", "char_wb", "cjk"}), callable],
        "n_features": [Interval(Integral, 1, 2**31 - 1, closed="both"), None],
    }

    def __init__(
        self,
        *,
        input: str = "content",
        encoding: str = "utf-8",
        decode_error: str = "strict",
        strip_accents: Any = None,
        lowercase: bool = True,
        preprocessor: Any = None,
        tokenizer: Any = None,
        stop_words: Any = None,
        token_pattern: str | None = WORDS,
        ngram_range: tuple[int, int] = (1, 1),
        analyzer: Any = "word",
        max_df: float = 1.0,
        min_df: float = 1,
        max_features: int | None = None,
        vocabulary: Mapping[str, int] | Iterable[str] | None = None,
        binary: bool = False,
        dtype: Any = np.int64,
        n_features: int | None = None,
    ) -> None:
        super().__init__(
            input=input,
            encoding=encoding,
            decode_error=decode_error,
            strip_accents=strip_accents,
            lowercase=lowercase,
            preprocessor=preprocessor,
            tokenizer=tokenizer,
            stop_words=stop_words,
            token_pattern=token_pattern,
            ngram_range=ngram_range,
            analyzer=analyzer,
            max_df=max_df,
            min_df=min_df,
            max_features=max_features,
            vocabulary=vocabulary,
            binary=binary,
            dtype=dtype,
        )
        self.n_features: int | None = n_features

    def fit(self, raw_documents: Any, y: Any = None) -> Self:
        """Learn the vocabulary.

        Parameters
        ----------
        raw_documents : list, array, column of strings or iterable
            A document each.
        y : object
            Not used.

        Returns
        -------
        CountVectorizer
            Itself.
        """
        self.fit_transform(raw_documents)
        return self

    def partial_fit(self, raw_documents: Any, y: Any = None) -> Self:
        """Learn the terms of more documents.

        Terms that are known keep their columns, and new ones get the columns after them, sorted
        among themselves: a matrix that was made before lacks the last columns and is right in the
        others. The first call is :meth:`fit`. Where the vocabulary is given, or terms are hashed,
        there is nothing to learn.

        Parameters
        ----------
        raw_documents : list, array, column of strings or iterable
            A document each.
        y : object
            Not used.

        Returns
        -------
        CountVectorizer
            Itself.

        Raises
        ------
        ValueError
            For `min_df`, `max_df` or `max_features`, which choose among the terms of all documents.
        InvalidDocument, UnicodeDecodeError
            If a document is not text.
        """
        chosen = {
            "min_df": self.min_df != 1,
            "max_df": self.max_df != 1.0,
            "max_features": self.max_features is not None,
        }
        for name in (name for name, given in chosen.items() if given):
            raise ValueError(
                f"{name}={getattr(self, name)!r} chooses among the terms of all documents, which "
                f"partial_fit does not see together: omit {name}, or use fit"
            )
        if not self.__sklearn_is_fitted__():
            return self.fit(raw_documents)
        batch = type(self)(**self.get_params(deep=False))
        try:
            batch.fit(raw_documents)
        except ValueError as error:
            if "empty vocabulary" not in str(error):
                raise
            return self  # nothing but stop words
        if self.n_features is None and not vars(self).get("fixed_vocabulary_", False):
            known = self.vocabulary_
            new = [term for term in batch.get_feature_names_out() if term not in known]
            if new:
                places = range(len(known), len(known) + len(new))
                self.vocabulary_ = {**known, **dict(zip(new, places, strict=True))}
        return self

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        """Learn the vocabulary and count its terms.

        Parameters
        ----------
        raw_documents : list, array, column of strings or iterable
            A document each.
        y : object
            Not used.

        Returns
        -------
        CSR array or matrix, shape (n_documents, n_terms)
            How often each document holds each term.

        Raises
        ------
        ValueError
            If no term is left, or a parameter is out of range.
        InvalidDocument, UnicodeDecodeError
            If a document is not text.
        """
        before = dict(vars(self))
        try:
            need_several(raw_documents)
            analyzer = self._check()
            if self.n_features is not None:
                return self._hashed(analyzer, raw_documents)
            if analyzer is None:
                return self._counted_by_python(raw_documents)
            self._validate_vocabulary()
            if self.fixed_vocabulary_:
                if self.lowercase and any(any(map(str.isupper, t)) for t in self.vocabulary_):
                    warnings.warn(
                        "Upper case characters found in vocabulary while 'lowercase' is True. "
                        "These entries will not be matched with any documents",
                        stacklevel=2,
                    )
                return self.transform(raw_documents)
            assert analyzer.rules is not None
            from_one = isinstance(self.min_df, Integral) and self.min_df <= 1
            up_to_all = not isinstance(self.max_df, Integral) and self.max_df == 1.0
            all_terms = from_one and up_to_all and self.max_features is None
            terms, rows = count_vocabulary(
                analyzer.rules,
                decoded(self, raw_documents),
                stop_words=analyzer.stop_words,
                choose=None if all_terms else self._chosen,
                dtype=self.dtype,
                threads=get_num_threads(),
            )
            need_terms(len(terms))
            del self.vocabulary_
            self._terms = terms
            return self._matrix(rows, len(terms))
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def transform(self, raw_documents: Any) -> Any:
        """Count the terms of the vocabulary.

        Parameters
        ----------
        raw_documents : list, array, column of strings or iterable
            A document each.

        Returns
        -------
        CSR array or matrix, shape (n_documents, n_terms)
            How often each document holds each term.

        Raises
        ------
        NotFittedError
            If there is no vocabulary yet.
        InvalidDocument, UnicodeDecodeError
            If a document is not text.
        """
        need_several(raw_documents)
        analyzer = self._kernel()
        if self.n_features is not None:
            return self._hashed(analyzer, raw_documents)
        self._check_known()
        if analyzer is None:
            return _sorted(super().transform(as_objects(raw_documents)))
        rows = count_given(
            self._given(analyzer),
            decoded(self, raw_documents),
            dtype=self.dtype,
            threads=get_num_threads(),
        )
        terms = vars(self).get("_terms")
        return self._matrix(rows, len(self._vocabulary if terms is None else terms))

    def build_tokenizer(self) -> Any:
        """What splits a document into tokens.

        Returns
        -------
        callable (str) -> list of str
            Python's equivalent of what the kernel does.
        """
        if self.analyzer == "cjk" and self.tokenizer is None:
            return re.compile(CJK).findall
        try:
            return super().build_tokenizer()
        except re.error as error:
            what = f"token_pattern={self.token_pattern!r} is not a regular expression: {error.msg}"
            raise re.error(what, error.pattern, error.pos) from None

    def build_analyzer(self) -> Any:
        """What makes the terms of a document.

        Returns
        -------
        callable (str) -> list of str
            Python's equivalent of what the kernel does.
        """
        if self.analyzer != "cjk":
            return super().build_analyzer()
        as_words = type(self)(**{**self.get_params(deep=False), "analyzer": "word"})
        if self.tokenizer is None:
            as_words.token_pattern = CJK
        return peer.CountVectorizer.build_analyzer(as_words)

    def _chosen(self, frequencies: Frequencies, n_documents: int) -> NDArray[np.bool_]:
        """A mask of the terms that min_df, max_df and max_features keep, as in scikit-learn, shape
        (n_terms,).

        Raises
        ------
        ValueError
            If there are no terms, or the limits drop all of them.
        """
        need_terms(len(frequencies.documents))
        least, most = (
            float(share) if isinstance(share, Integral) else share * n_documents
            for share in (self.min_df, self.max_df)
        )
        if most < least:
            raise ValueError(
                f"max_df corresponds to < documents than min_df: max_df={self.max_df} is {most:g} "
                f"of {n_documents} documents and min_df={self.min_df} is {least:g}; raise max_df "
                "or lower min_df"
            )
        keep = (frequencies.documents <= most) & (frequencies.documents >= least)
        if self.max_features is not None and keep.sum() > self.max_features:
            frequency = frequencies.documents if self.binary else frequencies.occurrences
            totals = frequency[keep].astype(np.ones(1, self.dtype).sum().dtype)
            first = (-totals).argsort()[: self.max_features]  # ties as scikit-learn
            kept = np.flatnonzero(keep)[first]
            keep = np.zeros(len(frequency), dtype=bool)
            keep[kept] = True
        if not keep.any():
            raise ValueError(
                "After pruning, no terms remain. Try a lower min_df or a higher max_df: min_df="
                f"{self.min_df} and max_df={self.max_df} keep terms in {least:g} to {most:g} of "
                f"{n_documents} documents"
            )
        return keep

    def _check(self) -> Analyzer | None:
        """How the kernel makes the terms, or None where Python makes them; after the parameters
        were checked, with a warning of those that have no effect."""
        self._validate_params()
        analyzer = self._kernel()
        if self.analyzer != "cjk":
            self._warn_for_unused_params()
        if self.n_features is not None:
            need_hashing(self, analyzer)
        elif analyzer is not None:
            self.build_analyzer()  # stop words that the analyzer would not give are warned of
        return analyzer

    def _counted_by_python(self, documents: Any) -> Any:
        """What :meth:`fit_transform` makes where Python makes the terms."""
        return _sorted(super().fit_transform(as_objects(documents)))

    def _kernel(self) -> Analyzer | None:
        """How the kernel makes the terms; None where Python makes the tokens."""
        self._validate_ngram_range()
        analyzer = analyzer_of(self)
        if analyzer is None and not makes_terms_in_python(self):
            self.build_tokenizer()  # which refuses a pattern that is none
            warn_user(
                f"token_pattern={self.token_pattern!r} has no compiled kernel: Python's re finds "
                "the tokens, at about a twentieth of the speed. Compiled are "
                f"{WORDS!r} and {MARKS!r}.",
                SlowTokensWarning,
            )
        return analyzer

    def _validate_ngram_range(self) -> None:
        """Raise unless two whole numbers give the shortest and the longest n-grams.

        Raises
        ------
        ValueError
            For one number or three, or for n-grams that cannot be.
        TypeError
            For a number that is not whole.
        """
        given = f"Invalid value for ngram_range={self.ngram_range}: "
        if len(self.ngram_range) != 2:
            raise ValueError(
                f"{given}give two numbers, the shortest and the longest n-grams, such as (1, 2)"
            )
        shortest, longest = self.ngram_range
        if not (isinstance(shortest, Integral) and isinstance(longest, Integral)):
            raise TypeError(
                f"{given}the shortest and the longest n-grams are whole numbers, such as (1, 2)"
            )
        if not 1 <= int(shortest) <= int(longest):
            raise ValueError(
                f"{given}n-grams have from 1 token on, and the lower boundary must not be larger "
                "than the upper boundary"
            )

    def _hashed(self, analyzer: Analyzer | None, documents: Any) -> Any:
        need_hashing(self, analyzer)
        assert analyzer is not None
        assert analyzer.rules is not None
        assert self.n_features is not None
        rows = count_hashed(
            analyzer.rules,
            decoded(self, documents),
            int(self.n_features),
            stop_words=analyzer.stop_words,
            dtype=self.dtype,
            threads=get_num_threads(),
        )
        return self._matrix(rows, int(self.n_features))

    # ---- the vocabulary: strings by column, as a dict when asked for, and compiled ---------------
    @property
    def vocabulary_(self) -> dict[str, int]:
        """The column of each term, shape (n_terms,)."""
        if "_vocabulary" not in vars(self):
            if "_terms" not in vars(self):
                raise AttributeError(
                    f"this {type(self).__name__} has no vocabulary_ yet: call fit first"
                )
            self._vocabulary = dict(
                zip(self._terms.strings(), range(len(self._terms)), strict=True)
            )
        return self._vocabulary

    @vocabulary_.setter
    def vocabulary_(self, vocabulary: dict[str, int]) -> None:
        self.__dict__.pop("_terms", None)
        self.__dict__.pop("_compiled", None)
        self._vocabulary = vocabulary

    @vocabulary_.deleter
    def vocabulary_(self) -> None:
        for name in ("_terms", "_compiled", "_vocabulary"):
            self.__dict__.pop(name, None)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The terms in the order of their columns.

        Parameters
        ----------
        input_features : object
            Not used.

        Returns
        -------
        ndarray of object, shape (n_terms,)
            The terms.
        """
        self._need_vocabulary("get_feature_names_out")
        self._check_known()
        if "_terms" in vars(self):
            return np.array([*self._terms.strings(), None], dtype=object)[:-1]
        names: NDArray[np.object_] = super().get_feature_names_out()
        return names

    def inverse_transform(self, X: Any) -> list[NDArray[np.str_]]:
        """The terms of each row that has some of them.

        Parameters
        ----------
        X : array or sparse matrix, shape (n_documents, n_terms)
            Counts.

        Returns
        -------
        list of ndarray of str
            The terms of each document.
        """
        self._need_vocabulary("inverse_transform")
        found: list[NDArray[np.str_]] = super().inverse_transform(X)
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return self.n_features is not None or bool({"_terms", "_vocabulary"} & set(vars(self)))

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_compiled", None)  # made again from the terms
        return state

    def _check_known(self) -> None:
        if "_terms" not in vars(self):
            self._check_vocabulary()

    def _need_vocabulary(self, asked: str) -> None:
        if self.n_features is not None:
            raise ValueError(
                f"with n_features={self.n_features} terms are hashed and not kept, so that "
                f"{asked} has nothing to name them by: omit n_features to keep a vocabulary"
            )

    def _given(self, analyzer: Analyzer) -> GivenVocabulary:
        """The vocabulary for the kernel, kept until it or the rules change."""
        terms, rules = vars(self).get("_terms") or self._vocabulary, analyzer.rules
        assert rules is not None
        key = (id(rules), id(terms), len(terms), frozenset(analyzer.stop_words))
        if vars(self).get("_compiled", (None,))[0] != key:
            columns = terms
            if not isinstance(columns, SortedTerms):
                # a term that no document can hold, such as a number, is kept as an empty string,
                # which matches nothing
                names = [term for term, _ in sorted(terms.items(), key=itemgetter(1))]
                columns = SortedTerms.of(
                    n if isinstance(n, str) and _has_utf8(n) else "" for n in names
                )
            self._compiled = (key, given_vocabulary(rules, analyzer.stop_words, columns), rules)
        return self._compiled[1]

    def _matrix(self, rows: Any, columns: int) -> Any:
        pointers, indices, counts = rows
        if self.binary:
            counts.fill(1)
        x = sp.csr_array(
            (counts, indices, pointers), shape=(len(pointers) - 1, columns), copy=False
        )
        x.has_sorted_indices = x.has_canonical_format = True
        return _as_sklearn_has_it(x)


def _sorted(x: Any) -> Any:
    x.sort_indices()
    return x


def need_terms(n_terms: int) -> None:
    """Raise ValueError for an empty vocabulary."""
    if not n_terms:
        raise ValueError(
            "empty vocabulary; perhaps the documents only contain stop words. Give documents with "
            "tokens, or a token_pattern that finds some in them"
        )


# ---- the kernel's rules for a vectorizer's parameters, if the kernel supports them ---------------
def analyzer_of(vectorizer: Any) -> Analyzer | None:
    """How the kernel makes terms by the parameters of a CountVectorizer; None where Python makes
    them."""
    analyzer = rules_of(vectorizer)
    return None if analyzer is None or analyzer.rules is None else analyzer


def rules_of(vectorizer: Any) -> Analyzer | None:
    """How terms are made by the parameters of a CountVectorizer; None where one is a function."""
    if makes_terms_in_python(vectorizer):
        return None
    shortest, longest = vectorizer.ngram_range
    return Analyzer(
        vectorizer.analyzer,
        vectorizer.token_pattern,
        (int(shortest), int(longest)),
        bool(vectorizer.lowercase),
        vectorizer.strip_accents or None,
        tuple(vectorizer.get_stop_words() or ()),
        vectorizer.n_features,
    )


def need_hashing(vectorizer: Any, analyzer: Analyzer | None) -> None:
    """Raise where the parameters of a CountVectorizer do not let terms be hashed.

    Raises
    ------
    ValueError
        For parameters that need a vocabulary, or terms that Python makes.
    """
    n = vectorizer.n_features
    given = {"vocabulary": vectorizer.vocabulary, "max_features": vectorizer.max_features}
    clash = [name for name, value in given.items() if value is not None]
    clash += ["min_df"] * (vectorizer.min_df != 1) + ["max_df"] * (vectorizer.max_df != 1.0)
    if clash:
        raise ValueError(
            f"n_features={n} hashes terms without counting them first, so that {clash[0]} has no "
            "meaning: omit one of the two"
        )
    if analyzer is None:
        raise ValueError(
            f"n_features={n} needs an analyzer that is compiled: hashing has no Python path. Omit "
            f"preprocessor and tokenizer, and use token_pattern {WORDS!r} or {MARKS!r}, or the "
            "analyzer 'char', 'char_wb' or 'cjk'"
        )


def _has_utf8(term: str) -> bool:
    try:
        term.encode()
    except UnicodeEncodeError:
        return False
    return True


# ---- Rennie et al.'s transforms of counts --------------------------------------------------------
class TermWeighting(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Counts of terms to weights: term frequency, inverse document frequency, length.

    The transforms of Rennie et al. (2003) for naive Bayes, steps 1 to 3 of their table 4
    (sections 4.1 to 4.3), each of which can be left out:

    .. math::

        d_{ij} &\leftarrow \log(d_{ij} + 1) && \text{(step 1, tf)} \\
        d_{ij} &\leftarrow d_{ij} \log \frac{\sum_k 1}{\sum_k \delta_{ik}}
            && \text{(step 2, idf)} \\
        d_{ij} &\leftarrow \frac{d_{ij}}{\sqrt{\sum_k (d_{kj})^2}}
            && \text{(step 3, length\_normalize)}

    d_ij is the count of term i in document j, and δ_ik whether document k holds the term. A
    pipeline of :class:`CountVectorizer`, this transformer and :class:`tallybayes.MultinomialNB` or
    :class:`tallybayes.ComplementNB` gives what :class:`TextNB` gives with the same options.

    Parameters
    ----------
    tf : {"log"} or None, default="log"
        Whether counts become log(1 + count).
    idf : bool, default=True
        Whether they are multiplied by log(n / N_t), of the documents of ``fit``. A term of every
        document becomes 0, and so does one that no document of ``fit`` holds.
    length_normalize : bool, default=True
        Whether the values of a document are divided by the root of their sum of squares.

    Attributes
    ----------
    idf_ : float64 array (n_features,)
        log(n / N_t); only with `idf`.
    n_features_in_ : int
    feature_names_in_ : array of str (n_features,)
        Where X had names.

    References
    ----------
    Rennie, J. D. M. et al. (2003). Tackling the poor assumptions of naive Bayes text classifiers.
    ICML.

    Examples
    --------
    >>> from tallybayes.text import TermWeighting
    >>> TermWeighting(tf=None, length_normalize=False).fit_transform([[2, 1], [0, 1]])
    array([[1.38629436, 0.        ],
           [0.        , 0.        ]])
    """

    idf_: NDArray[np.float64]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "tf": [StrOptions({"log"}), None],
        "idf": ["boolean"],
        "length_normalize": ["boolean"],
    }

    def __init__(
        self,
        *,
        tf: Literal["log"] | None = "log",
        idf: bool = True,
        length_normalize: bool = True,
    ) -> None:
        self.tf = tf
        self.idf = idf
        self.length_normalize = length_normalize

    def fit(self, X: Any, y: Any = None) -> Self:
        """Count the documents that hold each term.

        Parameters
        ----------
        X : array or sparse matrix (n_documents, n_terms)
            Counts, not negative.
        y : object
            Not used.

        Returns
        -------
        self
            The transformer itself.
        """
        self._validate_params()
        x = self._read(X, reset=True)
        if self.idf:
            holding = x.indices[x.data != 0.0]
            frequency = np.bincount(holding, minlength=x.shape[1]).astype(np.float64)
            self.idf_ = inverse_document_frequency(frequency, float(x.shape[0]))
        elif hasattr(self, "idf_"):
            del self.idf_
        return self

    def transform(self, X: Any) -> Any:
        """Weigh the terms of documents.

        Parameters
        ----------
        X : array or sparse matrix (n_documents, n_terms)
            Counts, not negative.

        Returns
        -------
        float64 array, or CSR array or matrix, (n_documents, n_terms)
            Dense where X is dense.

        Raises
        ------
        ValueError
            For a negative count, or one that is not finite.
        """
        check_is_fitted(self, "n_features_in_")
        x = self._read(X, reset=False)
        values: NDArray[np.float64] = log_frequency(x.data) if self.tf == "log" else x.data
        if self.idf:
            values = values * self.idf_[x.indices]
        if self.length_normalize:
            values = length_normalized(x.indptr, values)
        parts = values, x.indices.copy(), x.indptr.copy()
        if not sp.issparse(X):
            return sp.csr_array(parts, shape=x.shape).toarray()
        found = sp.csr_array if isinstance(X, sp.sparray) else sp.csr_matrix
        return found(parts, shape=x.shape)

    def _read(self, X: Any, *, reset: bool) -> Any:
        """Counts as CSR of float64 that is not X's own."""
        x = validate_data(
            self, X, accept_sparse="csr", dtype=np.float64, ensure_non_negative=True, reset=reset
        )
        held = sp.csr_array(x, copy=sp.issparse(x))
        held.sum_duplicates()
        return held

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = []
        tags.requires_fit = True
        return tags


# ---- checks of documents and labels before anything is counted -----------------------------------
def of_own_terms(terms: NDArray[Any], documents: Documents) -> tuple[NDArray[Any], Documents]:
    """Documents as rows of the terms that they have."""
    held, places = np.unique(documents.terms, return_inverse=True)
    rows = replace(documents, terms=places.astype(np.int32), n_terms=len(held))
    return terms[held], rows


class CountedRows(NamedTuple):
    """Documents with their classes and weights.

    Parameters
    ----------
    documents : Documents
    codes : int32 array (n_documents,)
    weights : float64 array (n_documents,), optional
        None for weight 1.
    groups : index array (n_documents,), optional
        The number of each one's group; None where each is alone.
    """

    documents: Documents
    codes: NDArray[np.int32]
    weights: NDArray[np.float64] | None
    groups: NDArray[np.intp] | None = None

    @property
    def weighty(self) -> NDArray[np.intp]:
        """The places of those that weigh something."""
        if self.weights is None:
            return np.arange(len(self.codes))
        return np.flatnonzero(self.weights)

    def take(self, kept: NDArray[np.intp]) -> CountedRows:
        """Some of them, in this order."""
        if len(kept) == len(self.codes):
            return self
        return CountedRows(
            self.documents.take(kept),
            self.codes[kept],
            None if self.weights is None else self.weights[kept],
            None if self.groups is None else self.groups[kept],
        )


def given_beside(X: Any, y: Any, sample_weight: Any, groups: Any, n_documents: int) -> Given:
    """Labels, weights and groups of documents: without weights where all are 1, and without groups
    where each document is alone.

    Raises
    ------
    ValueError
        As of :func:`~tallybayes.validation.read_given`, for a negative weight, or if all are 0.
    """
    given = read_given(X, y, sample_weight, groups, n_documents, "TextNB")
    together, weights = given.groups, given.weights
    if together is not None and int(together.max(initial=0)) + 1 == n_documents:
        given = given._replace(groups=None)
    if weights is None or (weights == 1.0).all():
        return given._replace(weights=None)
    if weights.min() < 0.0:
        i = int(weights.argmin())
        raise ValueError(
            f"sample_weight[{i}] is {weights[i]:g}, and a document weighs 0 or more: forget(X, y, "
            "sample_weight) takes documents away"
        )
    if not weights.any():
        raise ValueError("all sample_weight are 0, and there is no document to count")
    return given


def aged(
    weights: NDArray[np.float64] | None, n_documents: int, half_life: float | None
) -> NDArray[np.float64] | None:
    """Weights of documents in the order in which they are learned, as they are when the last one
    has been."""
    if half_life is None:
        return weights
    age = np.arange(n_documents - 1, -1, -1) / half_life
    share = np.maximum(0.5**age, FADED * FADED)  # such as no count shows, but there
    return share if weights is None else weights * share


def need_counted(
    weights: NDArray[np.float64], codes: NDArray[np.int32], documents: NDArray[np.float64]
) -> None:
    """Raises NegativeTally for a document that weighs more than its class holds."""
    more = np.flatnonzero(weights > documents[codes] * (1.0 + SLACK))
    if more.size:
        i = int(more[0])
        raise NegativeTally(
            f"document {i} weighs {weights[i]:g}, more than the {documents[codes[i]]:g} that its "
            "class holds: leave_one_out takes documents that were learned, with their weights"
        )


def need_documents(documents: Any) -> None:
    """Raise unless X is a non-empty sequence of documents."""
    if isinstance(documents, str | bytes):
        raise ValueError(
            "X is a single string, and documents are several: give a list, such as [document]"
        )
    if isinstance(documents, Mapping | Set):
        raise TypeError(
            f"X must be a list, an array or a column of documents, got a "
            f"{type(documents).__name__}, whose order is not that of the labels: make a list of "
            "the documents"
        )
    if not hasattr(documents, "__len__"):
        raise TypeError(
            f"X must be a list, an array or a column of documents, got {type(documents).__name__}: "
            "make a list of it"
        )
    if len(getattr(documents, "shape", (0,))) != 1:
        raise ValueError(
            f"X must be one document a row, got the shape {documents.shape}: give one column, such "
            "as frame['body']"
        )
    if not len(documents):
        raise ValueError("X holds no documents (minimum of 1 is required): give at least one")


def need_several(documents: Any) -> None:
    """Raise where a single string is given for the documents of a vectorizer."""
    if isinstance(documents, str | bytes):
        raise ValueError(
            "Iterable over raw text documents expected, string object received: put a single "
            "document into a list"
        )


def decoded(vectorizer: Any, documents: Any) -> Any:
    """Documents as the kernel reads them: files are read, and bytes of other encodings, as the
    parameters of a CountVectorizer say."""
    utf8 = vectorizer.encoding.lower().replace("_", "-") in ("utf-8", "utf8")
    if vectorizer.input != "content":
        return map(vectorizer.decode, as_objects(documents))
    if utf8 and vectorizer.decode_error == "strict":
        return documents
    return map(vectorizer.decode, as_objects(documents))
