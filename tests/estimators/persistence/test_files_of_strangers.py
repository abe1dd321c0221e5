"""A file that is whole by its checksum may still say anything: it is refused before it is used."""

import hashlib
import os
import subprocess
import sys
import tracemalloc
from itertools import cycle

import numpy as np
import pytest
from benchmarks.files.fuzz import fuzz, seeds
from benchmarks.files.kinds import KINDS
from benchmarks.files.mutations import Parts, rechecked
from safetensors.numpy import save as safetensors

import tallybayes
from tallybayes.errors import ModelFileError

MEMORY = 20_000_000  # bytes that loading a file of a few kB may take


@pytest.fixture(scope="module")
def files():
    """The bytes of a file of each kind of model, by name."""
    return {seed.name: seed.file for seed in seeds(KINDS)}


@pytest.fixture
def refused(tmp_path):
    """The message with which these bytes are refused, without much memory. Tracing it makes loading
    four times as slow."""

    def refused(data, trace=True):
        path = tmp_path / "m.tally"
        path.write_bytes(data)
        if trace:
            tracemalloc.start()
        try:
            with pytest.raises(ModelFileError) as caught:
                tallybayes.load(path)
            if trace:
                assert tracemalloc.get_traced_memory()[1] < MEMORY
        finally:
            tracemalloc.stop()
        assert str(path) in str(caught.value)
        return str(caught.value)

    return refused


def entry(value, *path):
    """The pair or list that holds what is at a path of keys, and its index."""
    for i, key in enumerate(path):
        if isinstance(key, int):
            at, index = value, key
        else:
            at = next(pair for pair in value["dict"] if pair[0] == key)
            index = 1
        if i == len(path) - 1:
            return at, index
        value = at[index]
    raise AssertionError("a path has a key")


def with_value(file, new, *path):
    """The file with another value in its header."""
    parts = Parts.of(file)
    at, index = entry(parts.model, *path)
    at[index] = new
    return parts.joined()


# ---- names ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "name", ["__name__", "__loader__", "Family", "ClassPrior", "base", "os", 3]
)
def test_a_family_is_looked_up_among_families_only(files, refused, name):
    family = {"dict": [["tallybayes.family", name]]}
    message = refused(with_value(files["gaussian"], family, "family"))
    assert "family" in message
    assert tallybayes.families.__name__ == "tallybayes.families"


def test_a_family_takes_its_own_fields_only(files, refused):
    family = {"dict": [["tallybayes.family", "Gaussian"], ["kind", "levels"]]}
    assert "'kind'" in refused(with_value(files["gaussian"], family, "family"))


@pytest.mark.parametrize(
    ("family", "message"),
    [
        ([["tallybayes.family", "Smooth"], ["bins", 0]], "bins, from 1 to"),
        ([["tallybayes.family", "Binned"], ["cuts", "x"]], "cuts"),
        ([["tallybayes.family", "Gaussian"], ["ddof", "x"]], "ddof"),
        ([["tallybayes.family", "Multinomial"]], "single columns|for a group"),
    ],
)
def test_a_family_checks_its_fields(files, refused, family, message):
    import re

    data = with_value(files["table-declared"], {"dict": family}, "table", "families", "words")
    assert re.search(message, refused(data))


# ---- sizes ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("width", [3 * 10**6, 500_000_000])
def test_a_wide_type_for_short_texts_asks_for_nothing(files, refused, width):
    labels = {"array": f"<U{width}", "values": ["a", "b", "c"], "shape": [3]}
    assert f"<U{width}" in refused(with_value(files["gaussian"], labels, "classes"))


def test_many_arrays_share_what_texts_may_waste(files, refused):
    wide = [{"array": "<U200000", "values": ["a"], "shape": [1]}] * 100
    refused(with_value(files["gaussian"], wide, "parameters", "priors"))


@pytest.mark.parametrize("n", [10**11, 2**31, -1])
def test_sizes_that_no_array_of_the_file_has(files, refused, n):
    sizes = {"array": "<i8", "values": [n, 1, 1, 1], "shape": [4]}
    refused(with_value(files["categorical"], sizes, "groups", 0, "n_levels"))


@pytest.mark.parametrize("n", [10**12, 0, -3, 2.0, True, "4", None])
def test_a_number_of_columns_that_the_tally_does_not_have(files, refused, n):
    refused(with_value(files["gaussian"], n, "groups", 0, "n_features"))
    refused(with_value(files["gaussian"], n, "n_features_in"))


def test_a_prior_vector_is_not_made_a_matrix():
    n = 100_000
    tracemalloc.start()
    prior = tallybayes.families.NormalInverseWishart(0.0, 1.0, 2.0 * n, [1.0] * n)
    assert tracemalloc.get_traced_memory()[1] < MEMORY
    tracemalloc.stop()
    assert len(prior.scale) == n
    with pytest.raises(ValueError, match="positive definite"):
        tallybayes.families.NormalInverseWishart(0.0, 1.0, 3.0, [1.0, 0.0])


# ---- numbers -------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", KINDS)
def test_counts_that_are_no_counts(files, refused, kind):
    """Each array of each tally by itself, with values that are not finite in turn, and negative."""
    file, odd = files[kind], cycle([np.nan, -np.inf, np.inf])
    for name, tensor in Parts.of(file).tensors.items():
        counts = name in ("class_count", "tally.documents")
        counts |= name.endswith((".counts", ".n", ".sums"))
        if not name.startswith(("group", "class", "tally.", "ridge.", "weights.")):
            continue
        if tensor["dtype"] != "F64":
            continue
        value = -np.inf if name == "class_squared_weights" else next(odd)
        for wrong in (value, -1.0) if counts else (value,):
            parts = Parts.of(file)
            start = tensor["data_offsets"][0]
            parts.data[start : start + 8] = np.float64(wrong).tobytes()
            assert name.split(".")[0] in refused(parts.joined(), trace=np.isnan(wrong)), name


# ---- the outside ---------------------------------------------------------------------------------
def joined(head, data=b""):
    return rechecked(len(head).to_bytes(8, "little") + head + data)


META = b'{"__metadata__":{"format":"1","sha256":"' + b"0" * 64 + b'","tallybayes":'


@pytest.mark.parametrize(
    "head",
    [
        META + b'"{}"}',
        META + b'"{}"}, "a": ' + b"[" * 5000 + b"]" * 5000 + b"}",
        META + b'"' + b"[" * 5000 + b"]" * 5000 + b'"}}',
        META + b'"\xff"}}',
        META + b'"{}"},"a":{"dtype":"F64","shape":[4],"data_offsets":[0,8]}}',
        META + b'"{}"},"a":{"dtype":"F8_E4M3","shape":[0],"data_offsets":[0,0]}}',
        META + b'"{}"},"a":{"dtype":"F64","shape":[0,9999999999],"data_offsets":[0,0]}}',
        META + b"3}}",
        META + b'"null"}}',
        META.replace(b'"1"', b'"x"') + b'"{}"}}',
        META.replace(b'"1"', b'"' + b"9" * 6000 + b'"') + b'"{}"}}',
        b"[" + META + b'"{}"}}]',
    ],
    ids=lambda head: f"{len(head)} bytes",
)
def test_a_container_that_is_none(refused, head):
    refused(joined(head))


def test_the_checksum_cannot_be_left_out(files, refused):
    parts = Parts.of(files["gaussian"])
    parts.meta.pop("sha256")
    assert "not a tallybayes model file" in refused(parts.joined())
    meta = {"format": "1", "tallybayes": "{}"}
    assert "not a tallybayes" in refused(safetensors({"a": np.zeros(2)}, metadata=meta))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_missing_is_named(files, refused, kind):
    parts = Parts.of(files[kind])
    for key, _ in list(parts.model["dict"]):
        less = Parts.of(files[kind])
        less.model["dict"] = [pair for pair in less.model["dict"] if pair[0] != key]
        if key in ("extra", "weighting", "class_weight", "rounding", "scores", "costs"):
            continue
        assert repr(key) in refused(less.joined()) or key == "table"


@pytest.mark.parametrize(
    "wrong", [[[0, -1.0]], [[0, "2"]], [[0, True]], [[{"tuple": [0]}, 2.0]], [[None, 2.0]]]
)
def test_class_weights_are_numbers_from_0_on_by_label(files, refused, wrong):
    file = with_value(files["gaussian-class-weights"], {"dict": wrong}, "class_weight")
    assert "class_weight" in refused(file)


@pytest.mark.parametrize(
    "wrong",
    [
        {"dict": [["decayed", -1.0], ["squares", []]]},
        {"dict": [["decayed", 1.0], ["squares", []]]},
        {"dict": [["decayed", 1.0]]},
        [1.0],
    ],
)
def test_what_bounds_rounding_fits_the_columns(files, refused, wrong):
    assert "rounding" in refused(with_value(files["table-forgotten"], wrong, "rounding"))


# ---- the same bytes ------------------------------------------------------------------------------
SAVE = """
import hashlib, sys, warnings
warnings.simplefilter("ignore")
import tallybayes
from pathlib import Path
for file in sorted(Path(sys.argv[1]).glob("*.tally")):
    tallybayes.load(file).save(sys.argv[2])
    print(file.stem, hashlib.sha256(Path(sys.argv[2]).read_bytes()).hexdigest())
"""


def test_the_same_model_gives_the_same_bytes_in_every_process(files, tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    for name, file in files.items():
        (folder / f"{name}.tally").write_bytes(file)
    own = {name: hashlib.sha256(file).hexdigest() for name, file in files.items()}
    found = subprocess.run(
        [sys.executable, "-c", SAVE, folder, tmp_path / "again"],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert dict(line.split() for line in found.splitlines()) == own


# ---- anything ------------------------------------------------------------------------------------
def test_mutated_files_are_refused_or_predict():
    """The short form of ``python -m benchmarks files fuzz``."""
    tried = fuzz(560, base=0, of=seeds())
    assert tried.failures == []
    assert tried.by_chance == 0
    assert tried.files == 560
    assert tried.outcomes["refused"] > 300
    assert tried.outcomes["predicted"] > 20
