"""The estimators by name, for model files: a class is imported when a file holds it."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from tallybayes import families
from tallybayes.schema import Kind

__all__ = ["Form", "form_of_class", "form_of_name"]


class Form(NamedTuple):
    """An estimator that a model file can hold.

    Parameters
    ----------
    name : str
        Of its class.
    home : str
        The module below ``tallybayes.estimators`` that has it.
    kind : str, optional
        What it counts; None for tables, which count each column in its own way, and for
        documents.
    family : type, optional
        The family of arrays that its tally is read by.
    has_threshold : bool
        Whether numbers are counted by whether they are above a threshold.
    of_documents : bool
        Whether it counts the terms of documents.
    """

    name: str
    home: str
    kind: Kind | None = None
    family: Any = None
    has_threshold: bool = False
    of_documents: bool = False

    @property
    def estimator(self) -> Any:
        """The class, imported when it is first asked for."""
        return getattr(import_module(f"tallybayes.estimators.{self.home}"), self.name)


_FORMS = {
    form.name: form
    for form in (
        Form("BernoulliNB", "arrays.bernoulli", "sums", families.Bernoulli, has_threshold=True),
        Form("CategoricalNB", "arrays.categorical", "levels", families.Categorical),
        Form("ComplementNB", "arrays.complement", "sums", families.Complement),
        Form("GaussianNB", "arrays.gaussian", "moments", families.Gaussian),
        Form("MultinomialNB", "arrays.multinomial", "sums", families.Multinomial),
        Form("NaiveBayes", "tables.naive_bayes"),
        Form("TextNB", "text.text_nb", of_documents=True),
        Form("WeightedNaiveBayes", "tables.weighted"),
    )
}


def form_of_name(name: str) -> Form | None:
    """The estimator whose class has this name; None where there is none."""
    return _FORMS.get(name)


def form_of_class(estimator: type) -> Form | None:
    """The estimator of this very class; None of any other, subclasses among them."""
    form = _FORMS.get(estimator.__name__)
    return form if form is not None and form.estimator is estimator else None
