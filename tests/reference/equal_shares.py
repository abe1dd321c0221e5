"""Labels of consecutive values that weigh alike, value by value."""

import numpy as np

__all__ = ["equal_shares"]


def equal_shares(weight, total, most):
    """A value heavier than an equal share of what lighter ones leave is by itself."""
    heavy = np.zeros(len(weight), dtype=bool)
    rest, left = total, most
    for i in np.argsort(-weight, kind="stable"):
        if left <= 1 or weight[i] < rest / left:
            break
        heavy[i] = True
        rest, left = rest - weight[i], left - 1
    share = max(rest / max(left, 1), 1e-300)
    label, held, labels = 0, 0.0, []
    for i, w in enumerate(weight):
        if i and (heavy[i] or heavy[i - 1] or held >= share * (1.0 - 1e-12)):
            label, held = label + 1, 0.0
        held += w
        labels.append(label)
    return labels
