"""Turning a frame into what scikit-learn and its likes can read.

Missing values in strings become the level "missing", missing values in numbers the median: what
scikit-learn's user guide shows. Strings become codes from 1 on; 0 is left for a string that
training did not have.
"""

from __future__ import annotations

from typing import Any

from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder

__all__ = ["NUMBERS", "STRINGS", "codes", "encoder", "filled_numbers", "filled_strings"]

NUMBERS = make_column_selector(dtype_include="number")
STRINGS = make_column_selector(dtype_exclude="number")


def _as_objects(frame: Any) -> Any:
    return frame.astype(object)


def _plus_one(values: Any) -> Any:
    return values + 1.0


def filled_numbers() -> Any:
    """Numbers without missing values."""
    return SimpleImputer(strategy="median", keep_empty_features=True)


def filled_strings() -> Any:
    """Strings without missing values."""
    return make_pipeline(
        FunctionTransformer(_as_objects),
        SimpleImputer(strategy="constant", fill_value="missing", keep_empty_features=True),
    )


def codes() -> Any:
    """Strings as codes from 1 on, 0 for an unseen one."""
    return make_pipeline(
        filled_strings(),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        FunctionTransformer(_plus_one),
    )


def encoder(numbers: Any, strings: Any) -> ColumnTransformer:
    """Numbers first, then strings, as one dense array."""
    return ColumnTransformer(
        [("numbers", numbers, NUMBERS), ("texts", strings, STRINGS)], sparse_threshold=0.0
    )
