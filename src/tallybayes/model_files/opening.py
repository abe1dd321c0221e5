"""Model files, opened: the one place that sees what kind of model a file holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallybayes.estimators.loading import load_or_count
from tallybayes.model_files.tables import TableFile

if TYPE_CHECKING:
    from tallybayes.model_files.documents import DocumentFile

__all__ = ["open_model"]


def open_model(path: str) -> TableFile | DocumentFile:
    """Open a model file together with how its data is read.

    Parameters
    ----------
    path : str
        A file that the command line, or :meth:`save` of an estimator, has written; or that of a
        tally, which is read by a plain model.

    Returns
    -------
    TableFile or DocumentFile
        The model, and the columns, kinds and spelling of its rows.

    Raises
    ------
    ModelFileError
        If the file is no whole model file.
    SourceError
        If its model reads arrays.
    """
    model, extra = load_or_count(path)
    if model._reads == "documents":
        from tallybayes.model_files.documents import DocumentFile  # which imports more

        return DocumentFile.of(path, model, extra)
    return TableFile.of(path, model, extra)
