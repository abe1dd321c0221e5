"""Tokens: made, revoked, checked; hashes in a file that only its owner reads."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallybayes.errors import SourceError
from tallybayes.serve import SCOPES, Tokens


@pytest.fixture
def tokens(tmp_path):
    return Tokens(tmp_path / "tokens.json")


def test_a_token_is_what_was_made_and_nothing_else(tokens):
    given = tokens.make("filter", ["learn", "predict"])
    found = tokens.check(given)
    assert (found.name, found.scopes) == ("filter", ("predict", "learn"))
    for other in (given[:-1], given + "a", given.upper(), given[3:], "", "tb__", "tb_" * 50, "ü"):
        assert tokens.check(other) is None


@given(st.text())
def test_no_text_is_a_token(text):
    assert Tokens("/nowhere/tokens.json").check(text) is None


def test_the_file_holds_no_secret_and_is_for_its_owner(tokens):
    given = tokens.make("filter", SCOPES)
    assert given.split("_", 2)[2] not in Path(tokens.path).read_text()
    assert os.stat(tokens.path).st_mode & 0o777 == 0o600
    tokens.make("another", SCOPES)
    assert os.stat(tokens.path).st_mode & 0o777 == 0o600


def test_hashes_are_salted(tokens):
    tokens.make("a", SCOPES)
    tokens.make("b", SCOPES)
    assert len({t.salt for t in tokens} | {t.hash for t in tokens}) == 4


def test_a_revoked_token_is_refused_at_once_by_every_reader(tokens):
    reader, given = Tokens(tokens.path), tokens.make("filter", ["predict"])
    assert reader.check(given).name == "filter"
    gone = tokens.revoke("filter")
    assert reader.check(given) is None
    assert gone.revoked is not None
    assert [t.hash for t in reader] == [""]
    again = tokens.make("filter", ["predict"])
    assert reader.check(again).id != gone.id
    tokens.revoke(reader.check(again).id)
    assert reader.check(again) is None


def test_an_expired_token_is_refused(tokens):
    assert tokens.check(tokens.make("soon", ["predict"], days=1)) is not None
    assert tokens.check(tokens.make("past", ["predict"], days=1e-9)) is None


def test_tokens_made_at_the_same_time_are_all_there(tokens):
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda i: Tokens(tokens.path).make(f"t{i}", ["learn"]), range(12)))
    assert {tokens.check(given).name for given in made} == {f"t{i}" for i in range(12)}
    assert sorted(t.number for t in tokens) == list(range(12))


@pytest.mark.parametrize(
    ("name", "scopes", "options", "message"),
    [
        ("a", [], {}, "none"),
        ("a", ["predict", "write"], {}, "'write'"),
        ("", ["predict"], {}, "1 to 100"),
        ("a" * 101, ["predict"], {}, "1 to 100"),
        ("a\nb", ["predict"], {}, "printable"),
        ("a", ["predict"], {"rate": 0}, "rate"),
        ("a", ["predict"], {"days": float("nan")}, "days"),
    ],
)
def test_bad_tokens_are_not_made(tokens, name, scopes, options, message):
    with pytest.raises(ValueError, match=message):
        tokens.make(name, scopes, **options)
    assert not os.path.exists(tokens.path)


def test_names_are_taken_and_lacking(tokens):
    with pytest.raises(ValueError, match="no file"):
        tokens.revoke("filter")
    tokens.make("filter", ["learn"])
    with pytest.raises(ValueError, match="named 'filter'"):
        tokens.make("filter", ["learn"])
    with pytest.raises(ValueError, match="it has 'filter'"):
        tokens.revoke("other")


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"format": "tallybayes tokens"}', "\x00", '{"format": "other"}'],
)
def test_a_file_of_something_else_is_refused(tmp_path, content):
    path = tmp_path / "tokens.json"
    path.write_text(content)
    with pytest.raises(SourceError, match="not a file of tokens"):
        Tokens(path)


def test_a_newer_file_is_refused(tokens):
    tokens.make("a", ["learn"])
    held = json.loads(Path(tokens.path).read_text())
    Path(tokens.path).write_text(json.dumps({**held, "version": 2}))
    with pytest.raises(SourceError, match="upgrade"):
        Tokens(tokens.path)


def test_ids_are_hashed_by_the_key_of_the_file(tokens, tmp_path):
    tokens.make("a", ["learn"])
    other = Tokens(tmp_path / "others.json")
    other.make("a", ["learn"])
    assert tokens.hashed("x") == Tokens(tokens.path).hashed("x")
    assert len({tokens.hashed("x"), tokens.hashed("y"), other.hashed("x")}) == 3


def test_the_command_line_makes_shows_and_revokes(run, tmp_path):
    scopes = ("--scope", "predict", "--scope", "learn")
    made = run("token", "make", "t.json", "filter", *scopes, "--rate", "5")
    assert Tokens(tmp_path / "t.json").check(made.stdout.strip()).rate == 5.0, made.stderr
    shown = run("token", "show", "t.json", "--json")
    assert json.loads(shown.stdout)["tokens"][0]["scopes"] == ["predict", "learn"]
    assert made.stdout.strip() not in shown.stdout
    assert run("token", "revoke", "t.json", "filter").exit_code == 0
    assert Tokens(tmp_path / "t.json").check(made.stdout.strip()) is None
    assert run("token", "make", "t.json", "x", "--scope", "write").exit_code == 1
