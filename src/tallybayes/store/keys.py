"""Keys of a store that encrypts its rows, one for each subject; forgetting destroys them.

Dead versions, archives, replicas and backups of a database hold what was written to it. If that
was encrypted, nobody can read it once its key is gone. Keys therefore lie in a database of their
own, of which nobody keeps copies.

A name has one key in use. Names are subjects, ids of rows without a subject, and two for counts.
Sealed content begins with the number of its key, so a key can be retired while content needs it:
what is sealed next under the name gets another key. Content is sealed by AES-256-GCM.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tallybayes.errors import StoreError

__all__ = ["COUNTS", "IMPORTED", "KeyGone", "Keys", "number_of"]

COUNTS = b"counts"
"""Names the key of the snapshot and of the model that was learned on rows. Every forget replaces
both, and destroys the key."""
IMPORTED = b"imported"
"""Names the key of counts that have no rows, which nobody can ask to forget."""

NUMBER = 16  # bytes of the number of a key
NONCE = 12
MAX_CACHED = 50_000
SOME = 500  # names or numbers of one statement


class KeyGone(StoreError):
    """The key of some content was destroyed."""


def number_of(sealed: bytes) -> bytes:
    """The number of the key that sealed content needs."""
    return sealed[:NUMBER]


class Keys:
    """The keys of a store.

    Parameters
    ----------
    ledger : Ledger
        The database that holds them; it is used for nothing else.
    """

    def __init__(self, ledger: Any) -> None:
        try:
            from cryptography.exceptions import InvalidTag
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError as error:
            raise ImportError(
                "a store that encrypts rows needs cryptography: pip install 'tallybayes[store]'"
            ) from error
        self.ledger: Any = ledger
        self._cipher: Any = AESGCM
        self._invalid: Any = InvalidTag
        self._known: dict[bytes, Any] = {}  # ciphers by number

    def _selected(self, columns: str, column: str, values: Iterable[bytes]) -> list[Any]:
        found: list[Any] = []
        given = sorted(set(values))
        for i in range(0, len(given), SOME):
            some = given[i : i + SOME]
            marks = ", ".join("?" * len(some))
            retired = " AND retired = 0" if column == "name" else ""
            found += self.ledger.run(
                f"SELECT {columns} FROM tally_keys WHERE {column} IN ({marks}){retired}", some
            ).fetchall()
        return found

    def seal(self, names: Sequence[bytes], contents: Sequence[bytes]) -> list[bytes]:
        """Encrypts each content with the key in use of its name; a new name gets a key.

        Parameters
        ----------
        names, contents : sequence of bytes
            As many of both.

        Returns
        -------
        list of bytes
            The number of the key, a nonce, the content and its tag.
        """
        wanted = set(names)
        with self.ledger.reading():
            found = self._selected("name, k, content", "name", wanted)
        if new := wanted - {bytes(name) for name, _, _ in found}:
            some = sorted(new)
            with self.ledger.writing():
                for i in range(0, len(some), SOME):
                    made = [
                        (secrets.token_bytes(NUMBER), name, self._cipher.generate_key(256))
                        for name in some[i : i + SOME]
                    ]
                    rows = ", ".join(["(?, ?, ?, 0)"] * len(made))
                    self.ledger.run(
                        f"INSERT INTO tally_keys (k, name, content, retired) VALUES {rows} "
                        "ON CONFLICT DO NOTHING",
                        [value for key in made for value in key],
                    )
                found += self._selected("name, k, content", "name", new)
        in_use = {bytes(name): (bytes(k), self._cipher(bytes(key))) for name, k, key in found}
        sealed = []
        for name, content in zip(names, contents, strict=True):
            number, cipher = in_use[name]
            nonce = secrets.token_bytes(NONCE)
            sealed.append(number + nonce + cipher.encrypt(nonce, content, number))
        return sealed

    def open(self, sealed: Sequence[bytes]) -> list[bytes]:
        """The inverse of :meth:`seal`.

        Raises
        ------
        KeyGone
            If the key of any content was destroyed.
        """
        numbers = {number_of(content) for content in sealed}
        if lacking := numbers - self._known.keys():
            if len(self._known) > MAX_CACHED:
                self._known.clear()
                lacking = numbers
            with self.ledger.reading():
                for k, key in self._selected("k, content", "k", lacking):
                    self._known[bytes(k)] = self._cipher(bytes(key))
        opened = []
        for content in sealed:
            number, nonce = content[:NUMBER], content[NUMBER : NUMBER + NONCE]
            if number not in self._known:
                raise KeyGone(
                    "a key was destroyed when its rows were forgotten, and this store still holds "
                    "them: it is an older copy. compact() removes these rows, and counts the "
                    "others"
                )
            try:
                opened.append(self._known[number].decrypt(nonce, content[NUMBER + NONCE :], number))
            except self._invalid as error:
                raise StoreError(
                    "a row was changed after it was encrypted: restore a backup"
                ) from error
        return opened

    def gone(self, numbers: Iterable[bytes]) -> set[bytes]:
        """Which keys were destroyed, of some numbers."""
        wanted = set(numbers)
        with self.ledger.reading():
            return wanted - {bytes(row[0]) for row in self._selected("k", "k", wanted)}

    def retire(self, names: Iterable[bytes]) -> None:
        """From now on, seals content of these names with new keys."""
        with self.ledger.writing():
            for name in sorted(set(names)):
                self.ledger.run("UPDATE tally_keys SET retired = 1 WHERE name = ?", (name,))

    def destroy(self, in_use: Callable[[bytes, bytes], bool]) -> None:
        """Destroys retired keys.

        Parameters
        ----------
        in_use : callable
            Takes the name and the number of a key; says whether the store holds content that was
            sealed with it, because the change that retired it was undone.
        """
        with self.ledger.writing():
            for name, k in self.ledger.run(
                "SELECT name, k FROM tally_keys WHERE retired = 1"
            ).fetchall():
                if not in_use(bytes(name), bytes(k)):
                    self._known.pop(bytes(k), None)
                    self.ledger.run("DELETE FROM tally_keys WHERE k = ?", (bytes(k),))
