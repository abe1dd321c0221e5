"""Bytes of a document as text, or an error that names the kind of file and what to do."""

from __future__ import annotations

import codecs
import re

from tallybayes.cli.terminal.failures import Failure
from tallybayes.sources.opening import PACKED

__all__ = ["decoded"]

PACKERS = {b"\x1f\x8b": ("gzip", "gunzip"), **PACKED}
OTHERS = {
    b"%PDF": "a PDF document: make text of it, such as by pdftotext",
    b"PK\x03\x04": "a zip archive, or an office document: unpack it, or save it as text",
    b"\xd0\xcf\x11\xe0": "an old office document: save it as text",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"GIF8": "an image",
    b"\x7fELF": "a program",
    b"PAR1": "a Parquet file: give it by itself, not in a folder",
}
CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")
MAX_CONTROL_SHARE = 0.02
"""The share of control characters that a text with a NUL may have."""

UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def decoded(place: str, data: bytes, encoding: str) -> str:
    """The text of a document, without a byte-order mark.

    Raises
    ------
    Failure
        For bytes that are packed, binary, or not of the encoding.
    """
    for magic, (kind, tool) in PACKERS.items():
        if data.startswith(magic):
            raise Failure(f"{place} is {kind}-compressed: unpack it first ({tool.split()[0]})")
    if data[8:].startswith(b'{"') and b'"tallybayes"' in data[:4096]:
        raise Failure(f"{place} is a tallybayes model, and documents are expected here")
    for magic, what in OTHERS.items():
        if data.startswith(magic):
            raise Failure(f"{place} is {what}, or remove it from the documents")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise Failure(_not_text(place, data, encoding, error)) from None
    if "\0" in text and len(CONTROLS.findall(text)) > MAX_CONTROL_SHARE * len(text):
        raise Failure(
            f"{place} is a binary file, with NUL bytes and other control characters: documents are "
            "text. Remove it, or name its encoding, such as --encoding utf-16"
        )
    return text.removeprefix("\ufeff")


def _not_text(place: str, data: bytes, encoding: str, error: UnicodeDecodeError) -> str:
    """What to do about bytes that an encoding does not have."""
    if data.startswith(UTF16_MARKS):
        return f"{place} is UTF-16 text: add --encoding utf-16"
    if b"\0" in data:
        return f"{place} is a binary file: documents are text. Remove it from the documents"
    line = len(re.findall(b"\n", data[: error.start])) + 1
    return (
        f"{place} is not {encoding} text (line {line:,}, byte 0x{data[error.start]:02x}): name the "
        "encoding of the documents, such as --encoding latin-1, which has a character for each byte"
    )
