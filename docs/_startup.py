"""Runs before the cells of each page: its data lies beside it, and pictures are drawn alike."""

import shutil as _shutil
from pathlib import Path as _Path

for _path in _Path(DATA).glob("*"):  # noqa: F821
    _shutil.copy(_path, _path.name)

import matplotlib as _matplotlib  # noqa: E402

_matplotlib.rcParams.update({"figure.figsize": (6.4, 4.0), "figure.dpi": 100, "savefig.dpi": 100})
