"""Mailboxes: where messages begin, and the text of a message."""

from __future__ import annotations

import gzip

import pytest

from tallybayes.errors import SourceError
from tallybayes.sources.documents import Mailboxes, messages
from tallybayes.sources.mail import header_of, message_of, text_of


def texts(path, **options):
    source = Mailboxes([str(path)], options.get("header"), "utf-8", None, False)
    return [
        (d.text, d.label, d.name.rpartition("/")[2])
        for b in source.batches(1, labelled=True)
        for d in b.documents
    ]


def test_a_message_begins_below_an_empty_line():
    data = b"From a Thu\n\nx\nFrom here on\n>From b\n\nFrom b\nS: 1\r\n\r\nFrom c\ny\n"
    parts = list(messages(iter(data.splitlines(keepends=True))))
    assert parts == [b"\nx\nFrom here on\nFrom b\n\n", b"S: 1\r\n\r\n", b"y\n"]


def test_the_label_is_the_name_of_the_file_or_a_header(tmp_path):
    data = b"From x\nSubject: hi\nX-L: =?utf-8?q?caf=C3=A9?=\n\nbody\n"
    (tmp_path / "spam.mbox.gz").write_bytes(gzip.compress(data))
    assert texts(tmp_path / "spam.mbox.gz") == [("hi\nbody\n", "spam", "spam.mbox.gz, message 1")]
    assert texts(tmp_path / "spam.mbox.gz", header="X-L")[0][1] == "café"
    with pytest.raises(SourceError, match="its header 'X-M' is missing"):
        texts(tmp_path / "spam.mbox.gz", header="X-M")


def test_another_kind_of_file_is_refused(tmp_path):
    (tmp_path / "a.mbox").write_text("Subject: x\n\ny")
    with pytest.raises(SourceError, match=r"not a mailbox"):
        texts(tmp_path / "a.mbox")


MESSAGES = {
    "plain": (b"Subject: a\n b\n\nx\n", "a b\nx\n"),
    "no subject": (b"\nx", "x"),
    "encoded": (
        b"Subject: =?iso-8859-1?q?gr=FC=DFe?=\nContent-Type: text/plain; charset=iso-8859-1\n"
        b"Content-Transfer-Encoding: base64\n\n/Gjr",
        "grüße\nühë",
    ),
    "latin-1 without saying so": (b"Subject: a\n\ncaf\xe9", "a\ncaf\ufffd"),
    "unknown charset": (b"Content-Type: text/plain; charset=nonsense\n\nx", "x"),
    "html": (
        b"Content-Type: text/html\n\n<html><head><title>t</title><style>p{}</style></head>"
        b"<p>Hello <b>you</b> &amp; me<br>bye<script>x()</script>",
        "Hello you & me\nbye",
    ),
    "alternatives": (
        b'Content-Type: multipart/alternative; boundary="b"\n\n--b\n\nplain\n--b\n'
        b"Content-Type: text/html\n\n<p>html\n--b--\n",
        "plain",
    ),
    "attachment": (
        b'Content-Type: multipart/mixed; boundary="b"\n\n--b\n\nbody\n--b\n'
        b"Content-Type: text/plain\nContent-Disposition: attachment\n\nsecret\n--b--\n",
        "body",
    ),
    "damaged": (b'Content-Type: multipart/mixed; boundary="b"\n\nno part', None),
    "noise": (bytes(range(256)), None),
}


@pytest.mark.parametrize(("data", "expected"), MESSAGES.values(), ids=MESSAGES)
def test_the_text_of_a_message_is_its_subject_and_what_people_read(data, expected):
    message = message_of(data)
    text = text_of(message, "utf-8")
    text.encode()  # no byte of another encoding is left in it
    if expected is not None:
        assert text == expected
    header_of(message, "Subject")
