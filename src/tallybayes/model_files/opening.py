"""Model files of any kind, opened: the one place that sees what kind of model a file holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from tallybayes.errors import SourceError
from tallybayes.estimators.loading import load_or_count
from tallybayes.model_files.tables import TableFile

if TYPE_CHECKING:
    from tallybayes.model_files.documents import DocumentFile
    from tallybayes.model_files.labels import LabelFile

__all__ = ["open_model"]


@overload
def open_model(path: str) -> TableFile | DocumentFile: ...


@overload
def open_model(path: str, *, labels: bool) -> TableFile | DocumentFile | LabelFile: ...


def open_model(path: str, *, labels: bool = False) -> TableFile | DocumentFile | LabelFile:
    """Open a model file together with how its data is read.

    Parameters
    ----------
    path : str
        A file that the command line, or ``save`` of an estimator, has written; or that of a
        tally, which is read by a plain model.
    labels : bool, default=False
        Whether it may hold many labels a row, or classes in a tree: such a file predicts alone.

    Returns
    -------
    TableFile, DocumentFile or LabelFile
        The model, and the columns, kinds and spelling of its rows.

    Raises
    ------
    ModelFileError
        If the file is no whole model file.
    SourceError
        If its model reads arrays, or has labels that are not asked for.
    """
    model, extra, costs = load_or_count(path)
    kind: Any = TableFile
    if model._reads == "labels":
        if not labels:
            raise SourceError(
                f"{path} holds a {type(model).__name__}, which on the command line is for predict "
                "and show alone. For the rest load it in Python: tallybayes.load(...)"
            )
        from tallybayes.model_files.labels import LabelFile

        kind = LabelFile
    elif model._reads == "documents":
        from tallybayes.model_files.documents import DocumentFile  # which imports more

        kind = DocumentFile
    file: TableFile | DocumentFile | LabelFile = kind.of(path, model, extra)
    file.costs = costs
    return file
