"""A Parquet file with a damaged page: the error names file, column and row group."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tallybayes import NaiveBayes, collect
from tallybayes.errors import SourceError

N = 4000


@pytest.fixture
def folder(tmp_path):
    """Three files; of the second, `damage` changes bytes of a column in its second row group."""
    rng = np.random.default_rng(3)

    def damage(change, *, column="age", checksums=False):
        for k in range(3):
            y = np.where(rng.random(N) < 0.5, "yes", "no")
            rows = {"job": rng.choice(list("abcd"), N), "age": rng.normal(size=N), "y": y}
            path = tmp_path / f"{k}.parquet"
            options = {"use_dictionary": ["job", "y"], "write_page_checksum": checksums}
            pq.write_table(pa.table(rows), path, row_group_size=N // 2, **options)
        path = tmp_path / "1.parquet"
        group = pq.ParquetFile(path).metadata.row_group(1)
        at = next(c for i in range(3) if (c := group.column(i)).path_in_schema == column)
        content = bytearray(path.read_bytes())
        change(content, at.dictionary_page_offset or at.data_page_offset)
        path.write_bytes(content)
        return tmp_path

    return damage


def no_header(content, start):
    content[start : start + 12] = b"\xff" * 12


def one_bit(content, start):
    content[start + 1000] ^= 4  # in the middle of a page of numbers, which are numbers still


@pytest.mark.parametrize("column", ["job", "age"])
def test_a_page_that_cannot_be_decoded(folder, column):
    rows = str(folder(no_header, column=column) / "*.parquet")
    model = NaiveBayes().fit([{"age": 1.0, "job": "a"}], ["yes"])
    before = model.tally_
    where = rf"1\.parquet is a damaged .*: column '{column}' of row group 2 of 2\. Write the file"
    for learn in (lambda: collect(rows, "y"), lambda: model.partial_fit(rows, "y")):
        with pytest.raises(SourceError, match=where):
            learn()
    assert model.tally_ == before


def test_a_column_that_is_left_out_may_be_damaged(folder):
    rows = str(folder(no_header) / "*.parquet")
    tally = collect(rows, "y", columns={"age": None})
    assert tally.classes.count.sum() == 3 * N


def test_a_changed_number_is_found_by_the_checksum_of_its_page(folder):
    rows = str(folder(one_bit, checksums=True) / "*.parquet")
    with pytest.raises(
        SourceError, match=r"1\.parquet is .*checksum.*: column 'age' of row group 2"
    ):
        collect(rows, "y")
