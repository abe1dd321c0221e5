"""The laws of a store, on files of SQLite and in PostgreSQL."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from servers.postgres import Server
from store.machine import StoreLaws

STEPS = settings(max_examples=15, stateful_step_count=25, deadline=None)
pytestmark = pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")


class DocumentLaws(StoreLaws):
    documents = True


def test_a_file_holds_the_rows_that_survive() -> None:
    run_state_machine_as_test(StoreLaws, settings=STEPS)


def test_a_file_holds_the_documents_that_survive() -> None:
    run_state_machine_as_test(DocumentLaws, settings=STEPS)


def test_a_database_holds_the_rows_that_survive(postgres_server: Server) -> None:
    class DatabaseLaws(StoreLaws):
        def __init__(self) -> None:
            super().__init__()
            self.schemas = ExitStack()

        def new_url(self) -> str:
            return self.schemas.enter_context(postgres_server.schema())

        def teardown(self) -> None:
            super().teardown()
            self.schemas.close()

    run_state_machine_as_test(DatabaseLaws, settings=STEPS)
