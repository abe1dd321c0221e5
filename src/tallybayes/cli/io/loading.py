"""Any model file: the one place where the command line sees what kind of model it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallybayes.cli.io.places import need_model
from tallybayes.cli.terminal.quick_imports import import_estimators

if TYPE_CHECKING:
    from tallybayes.cli.io.document_file import DocumentFile
    from tallybayes.cli.io.model_file import ModelFile

__all__ = ["load"]


def load(path: str) -> ModelFile | DocumentFile:
    """Reads a model file.

    Raises
    ------
    Failure, ModelFileError, OSError
    """
    need_model(path)
    import_estimators()
    from tallybayes.estimators.persistence.model_files import load_or_count
    from tallybayes.estimators.persistence.saving import form_of_class

    model, extra = load_or_count(path)
    form = form_of_class(type(model))
    if form is not None and form.of_documents:
        from tallybayes.cli.io.document_file import DocumentFile

        return DocumentFile.of(path, model, extra)
    from tallybayes.cli.io.model_file import ModelFile

    return ModelFile.of(path, model, extra)
