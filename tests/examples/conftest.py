"""Runs a script of examples/ as a person would, from another directory, once for its tests."""

import runpy
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def ran(request, tmp_path_factory):
    """What the script whose name begins with the module's NUMBER leaves behind, with `pictures`,
    the folder it was given, and `printed`."""
    (script,) = EXAMPLES.glob(f"{request.module.NUMBER}_*.py")
    folder = tmp_path_factory.mktemp("pictures")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("elsewhere"))
        patch.setattr(sys, "argv", [str(script), str(folder)])
        patch.syspath_prepend(str(EXAMPLES))
        found = runpy.run_path(str(script))
    yield found | {"pictures": folder}
    plt.close("all")
    sys.modules.pop("article", None)
