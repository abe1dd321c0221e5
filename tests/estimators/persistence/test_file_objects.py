"""Models are saved to and loaded from open files, too."""

import io

import numpy as np
import pytest

from tallybayes import GaussianNB, NaiveBayes, load
from tallybayes.errors import ModelFileError

X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("model", [GaussianNB(), NaiveBayes()], ids=["array", "table"])
def test_an_open_file_holds_the_bytes_of_a_saved_one(model, tmp_path):
    model.fit(X, Y).save(tmp_path / "model.tally")
    file = io.BytesIO()
    model.save(file)
    assert file.getvalue() == (tmp_path / "model.tally").read_bytes()
    file.seek(0)
    assert load(file) == model
    with (tmp_path / "model.tally").open("rb", buffering=0) as raw:
        assert load(raw) == model
    with (tmp_path / "raw.tally").open("wb", buffering=0) as raw:
        model.save(raw)
        assert not raw.closed
    assert load(tmp_path / "raw.tally") == model


def test_a_file_that_takes_little_at_a_time_gets_everything():
    class Slow(io.RawIOBase):
        def __init__(self):
            self.held = b""

        def write(self, data):
            self.held += bytes(data[:100])
            return min(100, len(data))

    model, file = NaiveBayes().fit(X, Y), Slow()
    model.save(file)
    assert load(io.BytesIO(file.held)) == model


def test_text_files_and_other_things_are_refused(tmp_path):
    model = GaussianNB().fit(X, Y)
    with pytest.raises(TypeError, match="opened in the mode 'wb', got a StringIO"):
        model.save(io.StringIO())
    with pytest.raises(TypeError, match="opened in the mode 'rb', got a StringIO"):
        load(io.StringIO())
    with pytest.raises(TypeError, match="got a int"):
        model.save(3)


def test_what_is_no_model_is_named():
    with pytest.raises(ModelFileError, match="the BytesIO"):
        load(io.BytesIO(b"not a model"))
