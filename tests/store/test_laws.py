"""The laws of a store, on files of SQLite and in PostgreSQL."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from servers.postgres import Server
from store.machine import StoreLaws

pytestmark = pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")


def run(laws: type[StoreLaws], n_examples: int) -> None:
    """Runs a state machine as often as its statements leave time for."""
    given = settings(max_examples=n_examples, stateful_step_count=25, deadline=None)
    run_state_machine_as_test(laws, settings=given)


class DocumentLaws(StoreLaws):
    documents = True


class LawsWithoutRows(StoreLaws):
    ledger = "ids"


class EncryptedLaws(StoreLaws):
    encrypted = True


@pytest.mark.parametrize(
    ("laws", "n_examples"),
    [(StoreLaws, 12), (DocumentLaws, 6), (LawsWithoutRows, 6), (EncryptedLaws, 6)],
)
def test_a_file_holds_what_survives(laws: type[StoreLaws], n_examples: int) -> None:
    run(laws, n_examples)


@pytest.mark.parametrize(
    ("laws", "n_examples"),
    [(StoreLaws, 5), (DocumentLaws, 2), (LawsWithoutRows, 2), (EncryptedLaws, 3)],
)
def test_a_database_holds_what_survives(
    postgres_server: Server, laws: type[StoreLaws], n_examples: int
) -> None:
    class DatabaseLaws(laws):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            super().__init__()
            self.schemas = ExitStack()

        def new_url(self) -> str:
            self.n_stores += 1
            return self.schemas.enter_context(postgres_server.schema())

        def teardown(self) -> None:
            super().teardown()
            self.schemas.close()

    run(DatabaseLaws, n_examples)
