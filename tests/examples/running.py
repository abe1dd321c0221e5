"""Runs an example as a person would, in this process, without a screen."""

import os
import runpy
import sys
from contextlib import chdir
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

from package.tree import ROOT

PNG = b"\x89PNG\r\n\x1a\n"


def run(number, folder, *arguments):
    """The names that example `number` has when it ends; `folder` is where it runs."""
    (script,) = (ROOT / "examples").glob(f"{number}_*.py")
    before = sys.argv
    mpl.use("Agg")
    sys.argv = [str(script), *map(os.fspath, arguments)]
    try:
        with mpl.rc_context(), chdir(folder):
            return runpy.run_path(str(script), run_name="__main__")
    finally:
        sys.argv = before
        plt.close("all")


def pictures(folder):
    """The names of the pictures in a folder; each is a PNG of some size."""
    found = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
    assert all(data.startswith(PNG) and len(data) > 5000 for data in found.values())
    return set(found)
