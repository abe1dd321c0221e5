"""Documents to counts of terms, in plain Python."""

import re
from collections import Counter

MASK = 2**64 - 1


def tokens(document, pattern, *, lowercase=True):
    return re.findall(pattern, document.lower() if lowercase else document)


def ngrams(tokens, shortest, longest):
    """Every run of so many tokens, with spaces between them."""
    return [
        " ".join(tokens[i : i + n])
        for n in range(shortest, longest + 1)
        for i in range(len(tokens) - n + 1)
    ]


def count_terms(documents):
    """Sorted terms of lists of terms, and a row of counts for each."""
    vocabulary = sorted(set().union(*documents))
    counted = [Counter(terms) for terms in documents]
    return vocabulary, [[c[term] for term in vocabulary] for c in counted]


def mixed(h):
    h = h * 0x9E3779B97F4A7C15 & MASK
    return h ^ h >> 32


def hash_of(token):
    data = token.encode()
    h = len(data)
    for i in range(0, len(data), 8):
        h = mixed(h ^ int.from_bytes(data[i : i + 8], "little"))
    return mixed(h)


def hash_of_gram(tokens):
    first, *others = map(hash_of, tokens)
    for other in others:
        first = mixed((first << 1 | first >> 63) & MASK ^ other)
    return first


def bucket_of(h, buckets):
    return (mixed(h) >> 32) * buckets >> 32
