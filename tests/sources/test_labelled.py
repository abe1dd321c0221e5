"""Rows without a label are left out of whatever is read part by part."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tallybayes
from tallybayes import NaiveBayes
from tallybayes.errors import SourceError

COLOURS = ["red", "red", None, "white", "red", "white"]
KINDS = ["rose", None, "rose", "lily", "NA", "lily"]
NUMBERS = [1, None, 1, 2, None, 2]


def csv_file(folder, labels):
    path = folder / "t.csv"
    rows = zip(COLOURS, labels, strict=True)
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
    path.write_text("\n".join(["colour,kind", *lines]) + "\n")
    return path


def arrow_table(labels):
    given = [None if label == "NA" else label for label in labels]
    return pa.table({"colour": COLOURS, "kind": given})


def parquet_file(folder, labels):
    pq.write_table(arrow_table(labels), folder / "t.parquet", row_group_size=2)
    return folder / "t.parquet"


def reader(_folder, labels):
    return arrow_table(labels).to_reader(max_chunksize=2)


@pytest.mark.parametrize("labels", [KINDS, NUMBERS])
@pytest.mark.parametrize("source", [csv_file, parquet_file, reader])
def test_the_tally_is_that_of_the_rows_with_a_label(tmp_path, source, labels):
    rows = tallybayes.labelled(source(tmp_path, labels), "kind")
    there = [i for i in range(6) if i not in (1, 4)]
    model = NaiveBayes().fit(rows, "kind")
    twin = NaiveBayes().fit([{"colour": COLOURS[i]} for i in there], [labels[i] for i in there])
    assert model.class_count_.tolist() == [2.0, 2.0]
    assert model.classes_.tolist() == twin.classes_.tolist()
    assert model.tables_["colour"].to_numpy().tolist() == twin.tables_["colour"].to_numpy().tolist()


def test_rows_are_called_by_their_lines(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,kind\n1,a\n2,\n3,b\ninf,a\n")
    with pytest.raises(ValueError, match=r"line 5.*'x' is infinite"):
        NaiveBayes().fit(tallybayes.labelled(path, "kind"), "kind")


def test_it_gives_what_the_command_line_gives(tmp_path):
    path = csv_file(tmp_path, ["rose", None, "rose", "lily", None, "lily"])
    diagnosis = tallybayes.doctor(str(path), "kind")
    assert "--skip-unlabelled" in diagnosis.command
    scope = {}
    exec(diagnosis.call, scope)  # the text that is printed
    assert scope["model"].class_count_.tolist() == [2.0, 2.0]


def test_what_cannot_be_read_so_is_refused(tmp_path):
    with pytest.raises(TypeError, match="drop the rows where the label is missing"):
        tallybayes.labelled([{"a": 1}], "a")
    with pytest.raises(SourceError, match="no column 'k', it has colour, kind"):
        tallybayes.labelled(csv_file(tmp_path, KINDS), "k")
    with pytest.raises(ValueError, match="no rows"):
        NaiveBayes().fit(tallybayes.labelled(csv_file(tmp_path, [None] * 6), "kind"), "kind")
