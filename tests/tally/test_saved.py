"""Tallies in files: what is loaded is what was counted, and nothing else is loaded."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.files.kinds import TALLIES
from benchmarks.files.mutations import Parts
from hypothesis import given, settings

import tallybayes
from tallybayes import NaiveBayes, collect
from tallybayes.errors import ModelFileError
from tallybayes.families import Poisson, Text
from tallybayes.tally import TableTally
from tallybayes.testing.edge_tables import edge_tables
from tallybayes.testing.strategies import table_tallies


def through_a_file(tally: TableTally) -> TableTally:
    file = io.BytesIO()
    tally.save(file)
    file.seek(0)
    return TableTally.load(file)


def bits(tally: TableTally) -> dict[str, Any]:
    return {name: (a.dtype, a.shape, a.tolist()) for name, a in tally.arrays().items()}


def frame(n: int = 40, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    late = rng.integers(0, 2, n)
    return pd.DataFrame(
        {
            "rain": np.array(["no", "yes", "snow", "雨"])[rng.integers(0, 3, n) + late],
            "wind": rng.normal(late, 1.0),
            "trips": rng.poisson(1.0 + late),
            "said": np.array(["on time", "stuck in snow", "a train"])[rng.integers(0, 3, n)],
            "late": np.array(["no", "yes"])[late],
        }
    )


# ---- laws --------------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")
@settings(max_examples=60)
@given(table=edge_tables(min_rows=2, max_rows=20, of_weights=("none", "whole")))
def test_a_tally_of_any_table_comes_back_bit_for_bit(table):
    tally = NaiveBayes().fit(table.records(), table.labels, table.weights).tally_
    back = through_a_file(tally)
    assert back == tally
    assert back.schema == tally.schema
    assert bits(back) == bits(tally)


@settings(max_examples=30)
@given(parts=table_tallies(2, whole=True))
def test_saving_commutes_with_adding(parts):
    a, b = parts
    if len(a.groups) != 1:  # groups by number are one, in a file
        return
    assert bits(through_a_file(a) + through_a_file(b)) == bits(through_a_file(a + b))


def test_parts_of_several_machines_make_the_model_of_all_rows():
    rows = frame()
    columns = {"said": Text(), "trips": Poisson()}
    parts = [through_a_file(collect(part, "late", columns)) for part in (rows[:15], rows[15:])]
    whole = NaiveBayes(columns).fit(rows, "late")
    assert sum(parts) == whole.tally_
    assert NaiveBayes.from_tally(sum(parts), columns=columns) == whole
    assert through_a_file(sum(parts) - parts[0]) == parts[1]


# ---- files -------------------------------------------------------------------------------------
def test_a_path_and_an_open_file_hold_the_same_bytes(tmp_path):
    tally, file = collect(frame(), "late"), io.BytesIO()
    tally.save(tmp_path / "t.tally")
    tally.save(file)
    assert (tmp_path / "t.tally").read_bytes() == file.getvalue()
    assert TableTally.load(str(tmp_path / "t.tally")) == tally
    with pytest.raises(TypeError, match="opened in the mode 'wb', got a StringIO"):
        tally.save(io.StringIO())


def test_an_old_file_stays_where_a_tally_cannot_be_saved(tmp_path):
    tally = collect(frame(), "late")
    tally.save(tmp_path / "t.tally")
    with pytest.raises(ModelFileError, match="no rows have these counts"):
        (tally - (tally + tally)).save(tmp_path / "t.tally")
    assert TableTally.load(tmp_path / "t.tally") == tally


def test_the_tally_of_a_saved_model_is_read(tmp_path):
    model = NaiveBayes().fit(frame(), "late")
    model.save(tmp_path / "m.tally")
    assert TableTally.load(tmp_path / "m.tally") == model.tally_


def test_a_tally_is_no_model_and_says_so(tmp_path):
    collect(frame(), "late").save(tmp_path / "t.tally")
    with pytest.raises(ModelFileError, match=r"TableTally\.load.*NaiveBayes\.from_tally"):
        tallybayes.load(tmp_path / "t.tally")


def test_models_without_counts_of_columns_are_refused(tmp_path):
    model = tallybayes.TextNB().fit(["a b", "b c"], ["x", "y"])
    model.save(tmp_path / "m.tally")
    with pytest.raises(ModelFileError, match=r"m\.tally is whole.*no counts of columns"):
        TableTally.load(tmp_path / "m.tally")


@pytest.mark.parametrize("kind", TALLIES)
def test_every_array_is_checked(kind):
    """What is not counted, or is no count, is named; the rest is in the fuzz of model files."""
    file = io.BytesIO()
    TALLIES[kind]().model.save(file)
    for name, tensor in Parts.of(file.getvalue()).tensors.items():
        if tensor["dtype"] != "F64":
            continue
        parts = Parts.of(file.getvalue())
        start = tensor["data_offsets"][0]
        parts.data[start : start + 8] = np.float64(np.nan).tobytes()
        with pytest.raises(ModelFileError, match=name.split(".")[0]):
            TableTally.load(io.BytesIO(parts.joined()))
        parts = Parts.of(file.getvalue())
        del parts.tensors[name]
        with pytest.raises(ModelFileError):
            TableTally.load(io.BytesIO(parts.joined()))


def test_a_damaged_file_is_refused(tmp_path):
    collect(frame(), "late").save(tmp_path / "t.tally")
    data = (tmp_path / "t.tally").read_bytes()
    for damaged in (data[:-1], data[:100], b"", data[:300] + b"x" + data[301:]):
        (tmp_path / "t.tally").write_bytes(damaged)
        with pytest.raises(ModelFileError, match=r"t\.tally"):
            TableTally.load(tmp_path / "t.tally")
