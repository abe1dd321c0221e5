"""The report of a classifier, and the picture of an explanation: imported when they are asked for,
because Matplotlib and templates are extras."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from tallybayes.reporting import Language, Report

__all__ = ["Reported", "draw_waterfall"]


def draw_waterfall(explanation: Any, **options: Any) -> Any:
    """The waterfall of an explanation; options are those of ``from_explanation``."""
    from tallybayes.plots import WaterfallDisplay

    return WaterfallDisplay.from_explanation(explanation, **options)


class Reported:
    """A classifier that shows itself on one page. Not for direct use."""

    def report(
        self,
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        learned: bool | None = None,
        about: Mapping[str, str] | None = None,
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
        groups : array-like (n_rows,), optional
            Rows of a group are left out together; see :meth:`fit`.
        learned : bool, optional
            Whether the model has learned these rows. Then each is predicted by what is learned
            without it: a table is cross-validated, and weights are learned again, which gives the
            figures that the fit states. By default, whether the model's counts can hold these rows;
            of arrays and documents, whether the classes weigh what they weigh in the model.
        about : mapping, optional
            What the heading names: the "target", by default the name of y, the file of the "model"
            and the "data".
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
        from tallybayes.reporting import report_of

        return report_of(
            self,
            X,
            y,
            sample_weight=sample_weight,
            groups=groups,
            learned=learned,
            about=about,
            lang=lang,
        )
