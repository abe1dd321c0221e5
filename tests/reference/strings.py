"""Strings to codes, in order of appearance."""

import numpy as np


def encode_strings(strings):
    """The rank of each string among those that came before, −1 for None, and the distinct
    strings."""
    rank = {}
    codes = [-1 if text is None else rank.setdefault(text, len(rank)) for text in strings]
    return np.array(codes, dtype=np.int32), list(rank)
