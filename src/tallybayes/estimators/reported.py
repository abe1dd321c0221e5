"""The ``report`` method of classifiers. The code of the report is in a layer above, and is imported
by name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from tallybayes.reporting import Language, Report

__all__ = ["Reported"]


class Reported:
    """A classifier that shows itself on one page. Not for direct use."""

    def report(
        self,
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        learned: bool | None = None,
        lang: Language = "en",
    ) -> Report:
        """One page of HTML that shows the model and how good it is on these rows.

        The page needs no network and no other file: figures with intervals, a nomogram, rows with
        the reasons for their classes, each column with what its values add, and curves. Of more
        than 50,000 rows a random sample is predicted. It needs the extra ``report`` (Jinja2).

        Parameters
        ----------
        X : rows (n_rows, n_features)
            Rows to judge the model by: new ones, or those that it has learned.
        y : array-like (n_rows,)
            Their labels.
        sample_weight : array-like (n_rows,), optional
            Weights of the rows; of learned rows, those that they were learned with.
        learned : bool, optional
            Whether the model has learned these rows. Then each is predicted without itself, and
            figures that the model holds of rows left out of all learning come first. By default,
            whether the model's counts can hold these rows; of arrays and documents, whether the
            classes weigh what they weigh in the model.
        lang : {"en", "zh"}, default="en"
            The language of the page.

        Returns
        -------
        Report
            Shows itself in a notebook; ``save("report.html")`` writes the page.

        Raises
        ------
        ImportError
            Without Jinja2.
        ValueError
            For bad rows or labels, or a language that there is not.
        """
        report: Report = import_module("tallybayes.reporting").report_of(
            self, X, y, sample_weight=sample_weight, learned=learned, lang=lang
        )
        return report
