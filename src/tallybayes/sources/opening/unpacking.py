"""Packed files: gzip, zstd, bzip2, xz, and zip archives of one file."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
import zlib
from pathlib import Path
from typing import Any

from tallybayes.errors import SourceError, listed

__all__ = ["DAMAGE", "MAGIC", "SUFFIXES", "ZIP", "packing_of", "suffix_of", "unpacked", "unzipped"]

PACKINGS = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
}
ZIP = b"PK\x03\x04"
MAGIC = (*PACKINGS, ZIP)
"""How packed files begin."""

SUFFIXES = (".gz", ".zst", ".bz2", ".xz", ".zip")
DAMAGE = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
"""What reading a packed file raises where it is damaged."""


def packing_of(head: bytes) -> str | None:
    """How a stream of bytes is packed; None where it is not, or in a way that is not read."""
    return next((name for magic, name in PACKINGS.items() if head.startswith(magic)), None)


def unpacked(packing: str, file: Any) -> Any:
    """The bytes of a packed file, as a file."""
    if packing == "gzip":
        return gzip.GzipFile(fileobj=file)
    if packing == "bzip2":
        return bz2.BZ2File(file)
    if packing == "xz":
        return lzma.LZMAFile(file)
    import pyarrow as pa  # slow to import

    return pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")


def unzipped(name: str, file: Any) -> Any:
    """The only file in a zip archive; None where the archive is an office document.

    Raises
    ------
    SourceError
        If the archive is damaged, or does not hold one file.
    """
    try:
        archive = zipfile.ZipFile(file)
        within = [member for member in archive.namelist() if not member.endswith("/")]
        if "[Content_Types].xml" in within or "mimetype" in within:
            return None
        if len(within) != 1:
            raise SourceError(
                f"{name} is a zip archive of {len(within)} files, and one is read: unpack it, and "
                f"give a folder or a pattern{' for ' if within else ''}{listed(within, 3)}"
            )
        return archive.open(within[0])
    except (*DAMAGE, RuntimeError, NotImplementedError) as error:  # the latter: a password
        raise SourceError(f"{name} is a zip archive that cannot be read ({error})") from None


def suffix_of(name: str) -> str:
    """The suffix that says the format, in lower case, whatever the file is packed with."""
    path = Path(name)
    return (path.with_suffix("") if path.suffix.lower() in SUFFIXES else path).suffix.lower()
