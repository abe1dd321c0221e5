"""A file that is not whole, not ours or not of our time: refused, and in which words."""

import json
import os
import pickle
import sys

import numpy as np
import pytest
from safetensors.numpy import save_file

import tallybayes
from estimators.cases import (
    ALL,
    saved,
)
from tallybayes import (
    GaussianNB,
    persistence,
)
from tallybayes.errors import ModelFileError


# ---- damage ------------------------------------------------------------------------------------
@pytest.fixture(scope="module", params=ALL, ids=lambda c: c.__name__)
def good(request, tmp_path_factory):
    """The bytes of a small model file."""
    model = request.param().fit([[1, 0], [0, 2], [2, 1]], ["a", "b", "b"])
    return saved(model, tmp_path_factory.mktemp("good")).read_bytes()


def refused_file(path, data):
    """The message with which a file of these bytes is refused."""
    path.write_bytes(data)
    with pytest.raises(ModelFileError) as info:
        tallybayes.load(path)
    message = str(info.value)
    assert str(path) in message
    return message


def header_size(data):
    return 8 + int.from_bytes(data[:8], "little")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "damaged"


def test_a_file_cut_off_anywhere_is_refused(good, path):
    lengths = {*range(64), *range(64, len(good), 37), header_size(good), len(good) - 1}
    for length in sorted(lengths):
        message = refused_file(path, good[:length])
        assert "not a tallybayes model file" in message or "is damaged" in message, length
        if length > header_size(good):
            assert "cut off or altered" in message


def test_every_flipped_bit_is_found(good, path):
    """Of the header and of the rest."""
    path.write_bytes(good)
    with path.open("r+b", buffering=0) as file:
        missed = [bit for bit in range(8 * len(good)) if not refuses_flip(file, good, bit)]
    assert missed == []


def refuses_flip(file, good, bit):
    """Whether the open file is refused with one of its bits flipped; the bit is put back."""
    at, was = bit // 8, good[bit // 8]
    os.pwrite(file.fileno(), bytes([was ^ 1 << bit % 8]), at)
    try:
        tallybayes.load(file.name)
    except ModelFileError:
        return True
    finally:
        os.pwrite(file.fileno(), bytes([was]), at)
    return False


def exchanged(data):
    """The file with two different numbers in each other's place."""
    start = header_size(data)
    cells = [data[i : i + 8] for i in range(start, len(data), 8)]
    other = next(i for i, cell in enumerate(cells) if cell != cells[0])
    cells[0], cells[other] = cells[other], cells[0]
    return data[:start] + b"".join(cells)


@pytest.mark.parametrize(
    "alter",
    [
        lambda d: d + b"\0",
        lambda d: d + d,
        lambda d: b"\0" + d,
        lambda d: d[:-8] + np.float64(12345.678).tobytes(),
        exchanged,
        lambda d: d[: len(d) // 2] + bytes(len(d) - len(d) // 2),
    ],
    ids=["a byte more", "twice", "a byte before", "one number replaced", "two exchanged", "zeros"],
)
def test_other_damage_is_found(good, path, alter):
    assert alter(good) != good
    message = refused_file(path, alter(good))
    assert "is damaged" in message or "not a tallybayes model file" in message


def test_a_whole_file_is_not_refused(good, path):
    path.write_bytes(good)
    assert tallybayes.load(path).class_count_.tolist() == [1.0, 2.0]


# ---- other files -------------------------------------------------------------------------------
def a_foreign_safetensors_file(path):
    save_file({"weight": np.arange(6.0)}, path)


def a_foreign_safetensors_file_with_a_checksum(path):
    save_file({"weight": np.arange(6.0)}, path, metadata={"sha256": "0" * 64})


def a_pickle(path):
    path.write_bytes(pickle.dumps(GaussianNB().fit([[0.0], [1.0]], [0, 1])))


def an_archive_of_arrays(path):
    with path.open("wb") as file:
        np.savez(file, a=np.arange(3))


OTHERS = {
    "empty": lambda path: path.write_bytes(b""),
    "a byte": lambda path: path.write_bytes(b"\x08"),
    "text": lambda path: path.write_text("a,b\n1,2\n" * 50),
    "json": lambda path: path.write_text(json.dumps({"model": "GaussianNB"})),
    "zeros": lambda path: path.write_bytes(bytes(4096)),
    "noise": lambda path: path.write_bytes(np.random.default_rng(0).bytes(4096)),
    "a huge length": lambda path: path.write_bytes(b"\xff" * 8 + b"{}"),
    "safetensors": a_foreign_safetensors_file,
    "safetensors with a checksum": a_foreign_safetensors_file_with_a_checksum,
    "pickle": a_pickle,
    "npz": an_archive_of_arrays,
}


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS)
def test_another_kind_of_file_is_refused_by_name(make, path):
    make(path)
    message = refused_file(path, path.read_bytes())
    assert "not a tallybayes model file" in message or "is damaged" in message


def test_a_pickle_is_not_unpickled(path):
    class Trap:
        def __reduce__(self):
            return sys.exit, ("unpickled",)

    refused_file(path, pickle.dumps(Trap()))


@pytest.mark.parametrize("change", [{"FORMAT": 2}, {"FORMAT": 999}], ids=["next", "far"])
def test_a_newer_format_says_to_upgrade(path, monkeypatch, change):
    model = GaussianNB().fit([[0.0], [1.0]], [0, 1])
    with monkeypatch.context() as future:
        future.setattr(persistence, "FORMAT", change["FORMAT"])
        model.save(path)
    message = refused_file(path, path.read_bytes())
    assert f"has format {change['FORMAT']}" in message
    assert "reads formats up to 1" in message
    assert "Upgrade tallybayes" in message


def test_an_estimator_of_a_newer_version_is_named(path):
    """A whole file, of a class that there is not yet."""
    model = GaussianNB().fit([[0.0], [1.0]], [0, 1])
    model.save(path)
    with persistence.opened(path, "model") as (header, tree):
        persistence.write(path, {**header, "estimator": "FutureNB"}, tree)
    assert "holds a FutureNB" in refused_file(path, path.read_bytes())


def test_a_checksum_that_fits_does_not_make_a_foreign_file_ours(path):
    """Whoever wrote it: what is missing is told, not stumbled over."""
    persistence.write(path, {}, {"weight": np.arange(6.0)})
    refused_file(path, path.read_bytes())


@pytest.mark.parametrize("where", ["missing", "folder"])
def test_a_path_that_is_no_file_is_an_oserror(tmp_path, where):
    target = tmp_path / "missing" if where == "missing" else tmp_path
    with pytest.raises(OSError, match=str(target)):
        tallybayes.load(target)
