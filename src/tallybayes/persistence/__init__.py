"""Model files: a safetensors file with one header entry and a checksum over every byte."""

from __future__ import annotations

from tallybayes.persistence.container import FORMAT, name_of, packed, read, unpacked, write
from tallybayes.persistence.refusals import refusing
from tallybayes.persistence.values import decode, dtype_of, encode

__all__ = [
    "FORMAT",
    "decode",
    "dtype_of",
    "encode",
    "name_of",
    "packed",
    "read",
    "refusing",
    "unpacked",
    "write",
]
