"""Pictures are drawn without a screen, with the settings that matplotlib ships, and closed."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def _pictures():
    mpl.use("Agg")
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.use("Agg")
        yield
    plt.close("all")
