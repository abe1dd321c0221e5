"""What is special of a store in PostgreSQL: transactions that commit in any order, rights, and
connections that break."""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any

import psycopg
import pytest

from servers.postgres import Server
from tallybayes import NaiveBayes, store
from tallybayes.errors import StoreError, StoreWarning
from tallybayes.store.postgres import PostgresLedger

END_CLIENTS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
ROWS = [{"sky": "grey"}, {"sky": "blue"}, {"sky": "white"}]
APPEND = "INSERT INTO tally_ledger (id, time, label, weight, row) VALUES (%s, 0, '\"dry\"', 1, %s)"


def test_a_reader_stops_at_the_oldest_open_transaction(postgres_url: str) -> None:
    with (
        store.open(postgres_url, create=NaiveBayes()) as mine,
        store.open(postgres_url) as other,
        psycopg.connect(postgres_url) as slow,
    ):
        mine.learn(ROWS[:1], ["rain"], ids=[1])
        slow.execute(APPEND, (b"s" * 16, b'{"sky":"slow"}'))  # it has its number, and is not there
        found = mine.learn(ROWS[1:2], ["dry"], ids=[2])
        early = other.model()
        assert other.version < found.version
        assert early == NaiveBayes().fit(ROWS[:1], ["rain"])
        mine.relabel([1], ["dry"])
        assert other.model() == early
        slow.commit()
        expected = NaiveBayes().fit([*ROWS[:2], {"sky": "slow"}], ["dry"] * 3)
        assert other.model().tally_ == expected.tally_
        assert other.version >= found.version
        assert other.verify().rows == 3


@pytest.mark.parametrize("moment", ["learned", "relabelled"])
def test_what_a_reader_has_not_counted_is_not_removed(postgres_url: str, moment: str) -> None:
    """A row is learned, relabelled and forgotten while an older transaction hides it."""
    with (
        store.open(postgres_url, create=NaiveBayes()) as mine,
        store.open(postgres_url) as other,
        psycopg.connect(postgres_url) as slow,
    ):
        mine.learn(ROWS[:1], ["rain"], ids=[1])
        if moment == "relabelled":
            mine.learn(ROWS[1:2], ["rain"], ids=[2])
        other.model()
        other.snapshot()
        slow.execute(APPEND, (b"s" * 16, b'{"sky":"slow"}'))
        if moment == "learned":
            mine.learn(ROWS[1:2], ["rain"], ids=[2])
        mine.relabel([2], ["dry"])
        other.refresh()
        other.snapshot()
        mine.forget(ids=[2])
        assert other.model() == NaiveBayes().fit(ROWS[:1], ["rain"])
        slow.commit()
        rows = [ROWS[0], {"sky": "slow"}]
        assert other.model().tally_ == NaiveBayes().fit(rows, ["rain", "dry"]).tally_
        other.verify()


def test_a_broken_connection_is_made_again(postgres_server: Server, postgres_url: str) -> None:
    with store.open(postgres_url, create=NaiveBayes()) as mine:
        mine.learn(ROWS[:1], ["rain"], ids=[1])
        postgres_server.execute(END_CLIENTS)
        with pytest.warns(StoreWarning, match="repeated the call, which counts nothing twice"):
            assert mine.learn(ROWS[1:2], ["dry"], ids=[2]).rows == 1
        assert mine.model() == NaiveBayes().fit(ROWS[:2], ["rain", "dry"])
        postgres_server.execute(END_CLIENTS)
        with pytest.raises(StoreError, match="give rows ids, which makes a repetition safe"):
            mine.learn(ROWS[1:2], ["dry"])
        assert mine.learn(ROWS[2:], ["dry"]).rows == 1


def test_a_server_that_restarts_is_waited_for(
    postgres_server: Server, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends connections, and refuses new ones until it is back."""
    with store.open(postgres_url, create=NaiveBayes()) as mine:
        connect, n_refused = PostgresLedger._connect, itertools.count()

        def refused(ledger: PostgresLedger) -> None:
            if next(n_refused) < 3:
                raise StoreError("the server starts up")
            connect(ledger)

        mine.learn(ROWS[:1], ["rain"], ids=[1])
        monkeypatch.setattr(PostgresLedger, "_connect", refused)
        postgres_server.execute(END_CLIENTS)
        with pytest.warns(StoreWarning, match="connected again, and repeated the call"):
            assert mine.learn(ROWS[1:2], ["dry"], ids=[2]).rows == 1
        assert mine.verify().rows == 2


def test_a_vacuum_is_made_when_no_other_one_runs_and_does_not_wait_in_its_way(
    postgres_url: str,
) -> None:
    """A process that waits for the lock of a vacuum makes both last for seconds."""
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    vacuums = (
        "SELECT sum(vacuum_count) FROM pg_stat_user_tables WHERE relid = 'tally_ledger'::regclass"
    )
    with (
        store.open(postgres_url, create=NaiveBayes()) as mine,
        psycopg.connect(postgres_url) as other,
        psycopg.connect(postgres_url, autocommit=True) as watch,
    ):
        mine.learn(ROWS, ["rain", "dry", "dry"], ids=[1, 2, 3])
        other.execute("LOCK TABLE tally_ledger IN SHARE UPDATE EXCLUSIVE MODE")  # as a vacuum does
        compacting = threading.Thread(target=mine.compact)
        compacting.start()
        for _ in range(20):
            assert watch.execute(waiting).fetchone() == (0,)
            time.sleep(0.01)
        assert compacting.is_alive()
        other.rollback()
        compacting.join(30)
        assert not compacting.is_alive()
        assert watch.execute(vacuums).fetchone() == (1,)


def test_a_role_without_rights_is_refused(postgres_server: Server, postgres_url: str) -> None:
    schema = postgres_url.rpartition("search_path%3D")[2]
    postgres_server.execute("CREATE ROLE reader LOGIN")
    try:
        postgres_server.execute(f"GRANT USAGE ON SCHEMA {schema} TO reader")
        url = postgres_server.url(schema, "reader")
        with pytest.raises(StoreError, match=r"denied for schema.*CREATE on the schema"):
            store.open(url, create=NaiveBayes())
        with store.open(postgres_url, create=NaiveBayes()) as mine:
            mine.learn(ROWS[:1], ["rain"], ids=[1])
        with pytest.raises(StoreError, match="permission denied for table tally_settings"):
            store.open(url)
    finally:
        postgres_server.execute("DROP OWNED BY reader")
        postgres_server.execute("DROP ROLE reader")


def test_a_server_that_is_not_there(tmp_path: Any) -> None:
    with pytest.raises(StoreError, match=r"postgresql://.*/postgres cannot be reached") as error:
        store.open(f"postgresql://me:secret@/postgres?host={tmp_path}")
    assert "secret" not in str(error.value)


def test_no_store_and_a_newer_one(postgres_server: Server, postgres_url: str) -> None:
    with pytest.raises(StoreError, match="holds no store"):
        store.open(postgres_url)
    store.open(postgres_url, create=NaiveBayes()).close()
    postgres_server.execute(
        "UPDATE tally_settings SET value = '99' WHERE name = 'format'", postgres_url
    )
    with pytest.raises(StoreError, match="a store of format 99"):
        store.open(postgres_url)


def test_a_dump_of_another_server_is_read(postgres_server: Server, postgres_url: str) -> None:
    """There, transactions had higher numbers than those of this server."""
    with store.open(postgres_url, create=NaiveBayes()) as mine:
        mine.learn(ROWS, ["rain", "dry", "dry"], ids=[1, 2, 3])
        mine.model()
        mine.snapshot()
        mine.relabel([1], ["dry"])
    for table in ("tally_ledger", "tally_undone"):
        postgres_server.execute(f"UPDATE {table} SET v = v + 1000000000", postgres_url)
    postgres_server.execute("UPDATE tally_undone SET was = was + 1000000000", postgres_url)
    postgres_server.execute("UPDATE tally_snapshot SET version = 1000000000", postgres_url)
    with store.open(postgres_url) as mine:
        assert mine.model().tally_ == NaiveBayes().fit(ROWS, ["dry"] * 3).tally_
        assert mine.verify().rows == 3
        assert mine.learn(ROWS[:1], ["rain"], ids=[4]).new == [4]
        assert mine.model().class_count_.sum() == 4.0


def test_a_backup_of_a_store_without_rows(postgres_url: str, tmp_path: Any) -> None:
    with store.open(postgres_url, create=NaiveBayes(), ledger="ids") as mine:
        mine.learn(ROWS, ["rain", "dry", "dry"], ids=[1, 2, 3])
        mine.import_(NaiveBayes().fit(ROWS[:2], ["rain", "dry"]))
        mine.forget(ids=[3], rows=ROWS[2:])
        mine.backup(tmp_path / "copy.db")
        with store.open(tmp_path / "copy.db") as copied:
            assert copied.verify().rows == 2
            assert copied.model() == mine.model()
            assert copied.learn(ROWS[1:], ["dry", "dry"], ids=[2, 3]).forgotten == [3]
            copied.forget(ids=[1], rows=ROWS[:1])
            assert copied.verify().rows == 1


def test_a_backup_is_a_file(postgres_url: str, tmp_path: Any) -> None:
    with store.open(postgres_url, create=NaiveBayes(), keep_ids=3) as mine:
        mine.learn(ROWS, ["rain", "dry", "dry"], ids=[1, 2, 3])
        mine.forget(ids=[3])
        mine.backup(tmp_path / "copy.db")
        with store.open(tmp_path / "copy.db") as copied:
            assert copied.model() == mine.model()
            assert copied.learn(ROWS[2:], ["dry"], ids=[3]).forgotten == [3]
