"""The server that other tests connect to."""

from pathlib import Path

import pytest

from servers.mysql import running, server


def test_a_row_is_a_value_of_json_and_an_error_is_an_error():
    assert server().run("SELECT JSON_ARRAY(1.5, NULL, 'a\\nb'); SELECT 7;") == [
        [1.5, None, "a\nb"],
        7,
    ]
    with pytest.raises(ValueError, match="no_such_table"):
        server().run("SELECT * FROM mysql.no_such_table")


def test_it_listens_on_its_socket_alone_and_leaves_nothing():
    assert server().run("SELECT @@skip_networking") == [1]
    with running() as another:
        folder = Path(another.folder)
        assert folder.exists()
    assert not folder.exists()
