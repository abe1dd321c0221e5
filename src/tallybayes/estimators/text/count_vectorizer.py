"""scikit-learn's CountVectorizer, counted by the kernel."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.feature_extraction import text as peer
from sklearn.utils._param_validation import Interval, StrOptions

from tallybayes.errors import SlowTokensWarning, warn_user
from tallybayes.estimators.text.given_documents import decoded, need_several
from tallybayes.estimators.text.term_choice import choice_of, need_no_choice, need_terms
from tallybayes.estimators.text.term_rules import (
    need_hashing,
    need_ngrams,
    rules_of,
    warn_of_capitals,
)
from tallybayes.estimators.text.vocabulary_vectorizer import VocabularyVectorizer
from tallybayes.threads import get_num_threads
from tallybayes.tokens import (
    CJK,
    MARKS,
    WORDS,
    count_given,
    count_hashed,
    count_vocabulary,
)
from tallybayes.tokens.analyzer import TextRules, makes_terms_in_python
from tallybayes.tokens.documents import as_objects

__all__ = ["CountVectorizer"]


class CountVectorizer(VocabularyVectorizer):
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
        self.n_features = n_features

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
        need_no_choice(self)
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
            return self._learned(raw_documents)
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
        rules = self._rules()
        if self.n_features is not None:
            return self._hashed(rules, raw_documents)
        self._check_known()
        if rules is None:
            return _sorted(super().transform(as_objects(raw_documents)))
        rows = count_given(
            self._given(rules),
            decoded(self, raw_documents),
            dtype=self.dtype,
            threads=get_num_threads(),
        )
        return self._matrix(rows, self._n_terms())

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

    def _learned(self, documents: Any) -> Any:
        self._validate_params()
        need_several(documents)
        self._validate_ngram_range()
        rules = self._rules()
        self._warn_of_unused()
        if self.n_features is not None:
            return self._hashed(rules, documents)
        if rules is None:
            return _sorted(super().fit_transform(as_objects(documents)))
        self.build_analyzer()  # stop words that the analyzer would not give are warned of
        self._validate_vocabulary()
        if self.fixed_vocabulary_:
            warn_of_capitals(self)
            return self.transform(documents)
        terms, rows = count_vocabulary(
            rules,
            decoded(self, documents),
            stop_words=self.get_stop_words() or (),
            choose=choice_of(self),
            dtype=self.dtype,
            threads=get_num_threads(),
        )
        need_terms(len(terms))
        del self.vocabulary_
        self._terms = terms
        return self._matrix(rows, len(terms))

    def _rules(self) -> TextRules | None:
        """The kernel's rules; None where Python makes the tokens."""
        self._validate_ngram_range()
        rules = rules_of(self)
        if rules is None and not makes_terms_in_python(self):
            self.build_tokenizer()  # which refuses a pattern that is none
            warn_user(
                f"token_pattern={self.token_pattern!r} has no compiled kernel: Python's re finds "
                "the tokens, at about a twentieth of the speed. Compiled are "
                f"{WORDS!r} and {MARKS!r}.",
                SlowTokensWarning,
            )
        return rules

    def _validate_ngram_range(self) -> None:
        need_ngrams(self.ngram_range)

    def _warn_of_unused(self) -> None:
        if self.analyzer != "cjk":
            self._warn_for_unused_params()

    def _hashed(self, rules: TextRules | None, documents: Any) -> Any:
        need_hashing(self, rules)
        assert rules is not None
        assert self.n_features is not None
        rows = count_hashed(
            rules,
            decoded(self, documents),
            int(self.n_features),
            stop_words=self.get_stop_words() or (),
            dtype=self.dtype,
            threads=get_num_threads(),
        )
        return self._matrix(rows, int(self.n_features))


def _sorted(x: Any) -> Any:
    x.sort_indices()
    return x
