"""Who may do what: tokens of a file, each with a name, scopes and a rate.

A token is ``tb_<id>_<secret>``. The file has its id, and a salted hash of its secret, which is 256
random bits: there is nothing to guess, so that a quick hash is as safe as a slow one.
"""

from __future__ import annotations

import fcntl
import hmac
import json
import os
import secrets
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Any

from tallybayes.errors import SourceError, listed
from tallybayes.replacing import replacing

__all__ = ["SCOPES", "Token", "Tokens"]

SCOPES = ("predict", "explain", "learn", "forget", "admin")
"""What a token may allow: none implies another. ``learn`` covers relabelling; ``admin`` the
metrics, the report of the rows that a store keeps, and learning weights again."""

FORMAT, VERSION = "tallybayes tokens", 1
MAX_NAME_CHARACTERS = 100
SHARED_IDS = 1 << 32  # ids of tokens, of which a file has few


@dataclass(frozen=True)
class Token:
    """What the file holds of a token.

    Parameters
    ----------
    id : str
        Eight hexadecimal digits, which the audit log names.
    name : str
        Whom or what it was made for.
    scopes : tuple of str
        Of :data:`SCOPES`.
    number : int
        How many tokens of the file were made before it.
    made : int
        When, in seconds since 1970.
    rate : float or None
        Requests a second; None is the rate of the service.
    expires : int or None
        When it stops to be valid, in seconds since 1970.
    revoked : int or None
        When it was revoked.
    salt, hash : str
        Hexadecimal; empty after it was revoked.
    """

    id: str
    name: str
    scopes: tuple[str, ...]
    number: int
    made: int
    rate: float | None = None
    expires: int | None = None
    revoked: int | None = None
    salt: str = ""
    hash: str = ""

    def matches(self, secret: str) -> bool:
        """Compare in a time that does not depend on where two hashes differ.

        Parameters
        ----------
        secret : str
            What a client gives.

        Returns
        -------
        bool
            Whether it is this token's secret, and the token is valid now.
        """
        same = hmac.compare_digest(_hashed(self.salt, secret), self.hash)
        return same and self.revoked is None and not 0 < (self.expires or 0) <= time.time()


def _hashed(salt: str, secret: str) -> str:
    return sha256(f"{salt}:{secret}".encode("utf-8", "replace")).hexdigest()


NOBODY = Token("", "", (), 0, 0, revoked=0, salt="0" * 32, hash="0" * 64)
"""What an unknown id is compared with, so that the time does not tell which ids there are."""


class Tokens:
    """The tokens of a file, which only its owner may read. Safe for threads and processes.

    A change by the command line is seen at the next request: a revoked token is refused at once.

    Parameters
    ----------
    path : str or path-like
        The file, which :meth:`make` creates.

    Raises
    ------
    SourceError
        If there is a file and it holds no tokens, or those of a newer version.
    """

    path: str

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._seen: tuple[int, int, int] | None = None
        self._by_id: dict[str, Token] = {}
        self._key = b""
        self._refresh()

    def _refresh(self) -> None:
        """Reads the file again if it was changed.

        Raises
        ------
        SourceError
            If it holds no tokens.
        """
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            self._seen, self._by_id = None, {}
            return
        state = found.st_mtime_ns, found.st_size, found.st_ino
        if state == self._seen:
            return
        try:
            with open(self.path, encoding="utf-8") as file:
                held = json.load(file)
            if held["format"] != FORMAT:
                raise ValueError
            newer = held["version"] > VERSION
            by_id = {t["id"]: Token(**{**t, "scopes": tuple(t["scopes"])}) for t in held["tokens"]}
            key = bytes.fromhex(held["audit_key"])
        except (ValueError, TypeError, KeyError) as error:
            self._seen, self._by_id = None, {}
            raise SourceError(
                f"{self.path} is not a file of tokens, such as `tallybayes token make` writes: "
                "name another file, or move this one"
            ) from error
        if newer:
            self._seen, self._by_id = None, {}
            raise SourceError(
                f"{self.path} has format version {held['version']} and this tallybayes reads "
                f"{VERSION}: upgrade tallybayes"
            )
        self._by_id, self._key, self._seen = by_id, key, state

    @contextmanager
    def _changed(self) -> Iterator[None]:
        """The file for this process alone, written when the block ends without an error."""
        folder = os.open(os.path.dirname(os.path.abspath(self.path)), os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            is_new = not os.path.exists(self.path)
            if is_new:
                self._by_id, self._key = {}, secrets.token_bytes(32)
            else:
                self._refresh()
            yield
            tokens = [asdict(token) for token in self._by_id.values()]
            held = {"format": FORMAT, "version": VERSION, "audit_key": self._key.hex()}
            with replacing(self.path, self._first if is_new else None) as file:
                file.write(json.dumps({**held, "tokens": tokens}, indent=1).encode())
            self._refresh()
        finally:
            os.close(folder)

    @staticmethod
    def _first(draft: str, path: str) -> None:
        """Puts a new file in its place, for its owner alone; later ones keep this mode."""
        os.chmod(draft, 0o600)
        os.replace(draft, path)

    def make(
        self,
        name: str,
        scopes: Collection[str],
        *,
        rate: float | None = None,
        days: float | None = None,
    ) -> str:
        """Make a token. Nothing holds its secret afterwards but what you keep.

        Parameters
        ----------
        name : str
            Whom or what it is for, which no other valid token is called.
        scopes : collection of str
            Of "predict", "explain", "learn", "forget" and "admin".
        rate : float, optional
            Requests a second; by default the rate of the service.
        days : float, optional
            After how many days it stops to be valid.

        Returns
        -------
        str
            What a client sends as ``Authorization: Bearer …``.

        Raises
        ------
        ValueError
            For an unknown scope, none, a name that is taken or cannot be printed, or a rate or days
            that are not positive.
        """
        unknown = sorted(set(scopes) - set(SCOPES))
        if unknown or not scopes:
            given = listed(map(repr, unknown)) or "none"
            raise ValueError(f"a token has scopes of {listed(SCOPES)}; got {given}")
        if not (0 < len(name) <= MAX_NAME_CHARACTERS and name.isprintable() and name.strip()):
            raise ValueError(
                f"a token has a name of 1 to {MAX_NAME_CHARACTERS} printable characters; got "
                f"{name[:MAX_NAME_CHARACTERS]!r}"
            )
        for what, number in (("rate", rate), ("days", days)):
            if number is not None and not 0.0 < number < 1e9:
                raise ValueError(f"the {what} of a token is a number above 0, got {number!r}")
        with self._changed():
            if any(t.name == name and t.revoked is None for t in self._by_id.values()):
                raise ValueError(
                    f"{self.path} has a token named {name!r}: revoke it first, or choose another "
                    "name"
                )
            while (made := f"{secrets.randbelow(SHARED_IDS):08x}") in self._by_id:
                pass
            secret, salt, now = secrets.token_urlsafe(32), secrets.token_hex(16), int(time.time())
            token = Token(
                made,
                name,
                tuple(scope for scope in SCOPES if scope in scopes),
                len(self._by_id),
                now,
                rate,
                None if days is None else int(now + 86_400 * days),
                salt=salt,
                hash=_hashed(salt, secret),
            )
            self._by_id[made] = token
        return f"tb_{made}_{secret}"

    def revoke(self, name: str) -> Token:
        """Make a token invalid. Its name and id stay, since the audit log refers to them.

        Parameters
        ----------
        name : str
            Its name or id.

        Returns
        -------
        Token
            The token that was revoked.

        Raises
        ------
        ValueError
            If no valid token is called so.
        """
        if not os.path.exists(self.path):
            raise ValueError(f"there is no file {self.path}: name the one that has the token")
        with self._changed():
            valid = [t for t in self if t.revoked is None]
            found = [t for t in valid if name in (t.name, t.id)]
            if not found:
                names = listed([repr(t.name) for t in valid]) or "none"
                raise ValueError(f"{self.path} has no valid token {name!r}; it has {names}")
            gone = replace(found[0], revoked=int(time.time()), salt="", hash="")
            self._by_id[gone.id] = gone
        return gone

    def __iter__(self) -> Iterator[Token]:
        return iter(tuple(self._by_id.values()))

    def __len__(self) -> int:
        return len(self._by_id)

    def check(self, given: str) -> Token | None:
        """Find the token that a client gives.

        Parameters
        ----------
        given : str
            What follows "Bearer ".

        Returns
        -------
        Token or None
            None for a token that there is not, or that is not valid any more.

        Raises
        ------
        SourceError
            If the file was replaced by something else.
        """
        self._refresh()
        prefix, _, rest = given.partition("_")
        id, _, secret = rest.partition("_")
        token = self._by_id.get(id, NOBODY) if prefix == "tb" else NOBODY
        return token if token.matches(secret) else None

    def hashed(self, id: Any) -> str:
        """Hash an id or a subject with the key of the file, as the audit log names it.

        Parameters
        ----------
        id : str
            An id or a subject.

        Returns
        -------
        str
            16 hexadecimal digits.
        """
        return hmac.new(self._key, str(id).encode("utf-8", "replace"), sha256).hexdigest()[:16]
