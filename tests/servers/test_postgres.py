"""The server that other tests connect to."""

from pathlib import Path

from servers.postgres import running


def test_a_schema_is_empty_and_gone_after_the_test(postgres_server):
    from adbc_driver_postgresql import dbapi

    with postgres_server.schema() as url:
        postgres_server.execute("CREATE TABLE t (x int)", url)
        with dbapi.connect(url) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM t")
            assert cursor.fetchone() == (0,)
        name = url.rpartition("%3D")[2]
    asked = f"SELECT count(*) FROM information_schema.schemata WHERE schema_name = '{name}'"
    with dbapi.connect(postgres_server.url()) as connection, connection.cursor() as cursor:
        cursor.execute(asked)
        assert cursor.fetchone() == (0,)


def test_the_server_listens_on_its_socket_alone_and_leaves_nothing(postgres_server):
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(postgres_server.url()) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('listen_addresses')")
        assert cursor.fetchone() == ("",)
    assert list(Path(postgres_server.folder).glob(".s.PGSQL.*"))
    with running() as another:
        folder = Path(another.folder)
        assert folder != Path(postgres_server.folder)
    assert not folder.exists()
