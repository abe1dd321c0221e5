"""Paths, folders and patterns as sources."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tallybayes.errors import SourceError
from tallybayes.sources.contract import Source
from tallybayes.sources.opening.faults import explained
from tallybayes.sources.opening.foreign import need_readable
from tallybayes.sources.opening.places import files_at, is_remote
from tallybayes.sources.opening.sniffing import FORMATS, Format, format_of
from tallybayes.sources.opening.stream import Stream, read_once
from tallybayes.sources.opening.unpacking import suffix_of
from tallybayes.sources.several import Several

__all__ = ["files_of", "header_of", "holds_data", "source_of_paths"]


def files_of(path: str) -> list[str]:
    """The files that a path, a folder or a pattern stands for, sorted by name.

    Of a folder, and of those in it, files whose names end as data does; hidden files, and those
    whose names begin with an underscore, are left out, as writers of data sets have it.

    Raises
    ------
    SourceError
        If there is none.
    """
    if is_remote(path):
        return _files_at(path)
    if os.path.isdir(path):
        return _files_in(Path(path))
    if os.path.exists(path) or not glob.has_magic(path):
        return [path]
    found = sorted(name for name in glob.glob(path, recursive=True) if os.path.isfile(name))
    if not found:
        raise SourceError(f"no file matches the pattern {path!r}")
    return found


def _files_at(url: str) -> list[str]:
    found, is_folder = files_at(url)
    if not is_folder:
        return found
    named = [name for name in found if suffix_of(name) in FORMATS]
    if not named:
        raise _without_data(url)
    return named


def _without_data(folder: object) -> SourceError:
    return SourceError(
        f"{folder} is a folder without data: no name in it ends in {', '.join(FORMATS)}"
    )


def _files_in(folder: Path) -> list[str]:
    found: list[str] = []
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder).parts
        if (
            any(name.startswith((".", "_")) for name in inner)
            or suffix_of(path.name) not in FORMATS
        ):
            continue
        partitions = [name for name in inner[:-1] if "=" in name]
        if partitions:
            raise SourceError(
                f"{folder} is partitioned by the names of folders, such as {partitions[0]!r}: give "
                "pyarrow.dataset.dataset(folder, partitioning='hive'), which reads them as columns"
            )
        if path.is_file():
            found.append(str(path))
    if not found:
        raise _without_data(folder)
    return found


def source_of_paths(paths: Sequence[str], format: Format | None = None, **text: Any) -> Source:
    """Files, folders and patterns as one source; "-" is standard input.

    Parameters
    ----------
    paths : sequence of str
    format : {"csv", "jsonl", "parquet", "arrow"}, optional
        Found by the first bytes and the suffix by default.
    **text
        How text is read: options of :class:`~tallybayes.sources.text_files.csv_file.CsvFile`.

    Raises
    ------
    SourceError
        If there is no file, or one cannot be read or has other columns than the first.
    """
    names = [name for path in paths for name in files_of(path)]
    if not names:
        raise SourceError("the list of paths is empty: name at least one file")
    sources = [_source_of_file(name, format, text) for name in names]
    return sources[0] if len(sources) == 1 else Several(sources, f"{len(names)} files")


def _source_of_file(path: str, format: Format | None, text: dict[str, Any]) -> Source:
    name = "standard input" if path == "-" else path
    with explained(name, "data"):
        stream = Stream(path)
        try:
            need_readable(name, stream.head)
            format = format or format_of(name, stream.head)
        except BaseException:
            stream.close()
            raise
    if format == "csv":
        from tallybayes.sources.text_files.csv_file import CsvFile

        return CsvFile(path, stream, **text)
    if format == "jsonl":
        from tallybayes.sources.text_files.json_file import JsonLines

        return JsonLines(path, stream, **text)
    stream.close()
    if read_once(path):
        raise SourceError(
            f"{name} can be read only once, which {format} does not allow: save it to a file first"
        )
    if format == "parquet":
        from tallybayes.sources.batches.parquet import ParquetFile

        return ParquetFile(path)
    from tallybayes.sources.batches.streams import ArrowFile

    return ArrowFile(path)


def header_of(source: Source) -> list[str]:
    """The names of the columns of a source, before a row is read where that can be."""
    header = getattr(source, "header", None)
    return list(source.columns()) if header is None else list(header)


def holds_data(folder: str) -> bool:
    """Whether a folder has a file of rows by its name; .txt may as well be a document."""
    return any(
        suffix_of(path.name) in FORMATS and path.suffix != ".txt" and path.name[0] not in "._"
        for path in Path(folder).rglob("*")
    )
