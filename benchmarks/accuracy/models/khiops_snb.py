"""Khiops' selective naive Bayes."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any, Self

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it sets an option that pandas has deprecated
    from khiops.sklearn import KhiopsClassifier

__all__ = ["KhiopsSNB"]


def find_program() -> None:
    """Puts the environment's programs on the path: an environment that is not activated is not on
    it, and Khiops looks for its program there."""
    if shutil.which("khiops_env") is None:
        programs = str(Path(sys.executable).parent)
        os.environ["PATH"] = os.pathsep.join([programs, os.environ.get("PATH", "")])


class KhiopsSNB:
    """KhiopsClassifier without trees and pairs of columns."""

    def fit(self, X: Any, y: Any) -> Self:
        find_program()
        self.model_ = KhiopsClassifier(n_trees=0, n_pairs=0).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.model_.predict_proba(X)
