from tallybayes import _kernels as _kernels
from tallybayes.bayes import bayes_rule, update
from tallybayes.cross_validation import cross_validate, leave_one_out
from tallybayes.diagnosis.doctor import doctor
from tallybayes.estimators.arrays.bernoulli import BernoulliNB
from tallybayes.estimators.arrays.categorical import CategoricalNB
from tallybayes.estimators.arrays.complement import ComplementNB
from tallybayes.estimators.arrays.gaussian import GaussianNB
from tallybayes.estimators.arrays.multinomial import MultinomialNB
from tallybayes.estimators.persistence.model_files import load
from tallybayes.estimators.tables.collecting import collect
from tallybayes.estimators.tables.lazy import LazyNaiveBayes
from tallybayes.estimators.tables.naive_bayes import NaiveBayes
from tallybayes.estimators.tables.weighted import WeightedNaiveBayes
from tallybayes.estimators.text.text_nb import TextNB
from tallybayes.families.registry import register_family
from tallybayes.progress import set_progress
from tallybayes.sources.databases.opening import sql, table
from tallybayes.sources.files import csv, files
from tallybayes.sources.rows import labelled
from tallybayes.threads import get_num_threads, set_num_threads

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianNB",
    "LazyNaiveBayes",
    "MultinomialNB",
    "NaiveBayes",
    "TextNB",
    "WeightedNaiveBayes",
    "__version__",
    "bayes_rule",
    "collect",
    "cross_validate",
    "csv",
    "doctor",
    "files",
    "get_num_threads",
    "labelled",
    "leave_one_out",
    "load",
    "register_family",
    "set_num_threads",
    "set_progress",
    "sql",
    "table",
    "update",
]

__version__: str
