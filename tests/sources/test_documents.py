"""Folders of documents and mailboxes: classes, hidden files, messages, files that are no text."""

import gzip

import pytest

import tallybayes
from tallybayes import TextNB
from tallybayes.errors import SourceError, SourceWarning
from tallybayes.sources.document_source import Document
from tallybayes.sources.documents import Files, Folder, Mailboxes, messages
from tallybayes.sources.mail import header_of, message_of, text_of


def put(root, **files):
    for name, content in files.items():
        path = root / name.replace("__", "/").replace("_txt", ".txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def read(folder, labelled=True, **options):
    source = Folder(str(folder), options.pop("encoding", "utf-8"), None, False)
    found = [d for b in source.batches(1, labelled=labelled) for d in b.documents]
    return [(d.text, d.label, d.name.removeprefix(f"{folder}/")) for d in found]


def test_files_are_read_in_the_order_of_names_with_their_folder_as_label(tmp_path):
    put(tmp_path, b__2_txt=b"two", b__deep__er__1_txt=b"one", a__x=b"\xef\xbb\xbfx", README=b"no")
    put(tmp_path, a__nothing_txt=b"")
    (tmp_path / "a" / ".hidden").write_bytes(b"\xff")
    (tmp_path / ".git").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "b" / "again").symlink_to(tmp_path / "b")
    expected = [("", "a", "a/nothing.txt"), ("x", "a", "a/x")]
    expected += [("two", "b", "b/2.txt"), ("one", "b", "b/deep/er/1.txt")]
    with pytest.warns(SourceWarning) as noted:
        assert read(tmp_path) == expected
    first, second = (str(warning.message) for warning in noted)
    assert "no files in empty" in first
    assert "1 file beside the folders" in second
    names = [name for _, _, name in read(tmp_path, labelled=False)]
    assert sorted(names) == sorted(["README", *(name for _, _, name in expected)])


def test_what_has_been_read_is_counted_in_bytes(tmp_path):
    put(tmp_path, a__1=b"x" * 30, b__2=b"y" * 10)
    source = Folder(str(tmp_path), "utf-8", None, False)
    assert [b.done for b in source.batches(1, labelled=True)] == [0.75, 1.0]


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (gzip.compress(b"text", mtime=0), "gzip-compressed"),
        (b"PK\x03\x04rest", "zip archive"),
        (b"%PDF-1.7", "pdftotext"),
        (bytes(range(256)), "binary file"),
        ("für".encode("utf-16"), "encoding='utf-16'"),
        ("first\nfür".encode("latin-1"), "line 2, byte 0xfc"),
    ],
)
def test_a_file_that_is_no_text_is_named(tmp_path, content, part):
    put(tmp_path, a__1=b"fine", b__2=content)
    with pytest.raises(SourceError, match=r"b/2 is ") as error:
        read(tmp_path)
    assert part in str(error.value)


def test_other_encodings_are_read_where_they_are_named(tmp_path):
    put(tmp_path, a__1="für".encode("latin-1"), b__2=b"stray \0 among " + b"many letters " * 9)
    assert [text[:3] for text, _, _ in read(tmp_path, encoding="latin-1")] == ["für", "str"]


@pytest.mark.parametrize(
    ("files", "part"),
    [
        ({}, "has no documents"),
        ({"1_txt": b"x"}, "no folders of classes: move the files"),
        ({"spam.mbox": b"From x"}, "give the mailboxes themselves"),
        ({"t.csv": b"a,b"}, "name a file in it, such as t.csv"),
    ],
)
def test_a_folder_without_classes_says_what_to_do(tmp_path, files, part):
    put(tmp_path, **files)
    with pytest.raises(SourceError, match=part):
        read(tmp_path)


def test_documents_without_a_label_are_refused_or_left_out(tmp_path):
    put(tmp_path, one_txt=b"x", two_txt=b"y")
    paths = [str(tmp_path / "one.txt"), str(tmp_path / "two.txt")]
    with pytest.raises(SourceError, match=r"one.txt has no label: it is one document"):
        list(Files(paths, "utf-8", None, False).batches(9, labelled=True))
    with pytest.raises(SourceError, match="none of its 2 documents has a label"):
        list(Files(paths, "utf-8", None, True).batches(9, labelled=True))
    batch = next(Files(paths, "utf-8", "ham", False).batches(9, labelled=True))
    assert batch.labels == ["ham", "ham"]


def test_errors_about_a_document_name_its_file(tmp_path):
    put(tmp_path, a__1=b"x", b__2=b"y")
    source = Folder(str(tmp_path), "utf-8", None, False)
    batch = next(source.batches(9))
    assert isinstance(batch.documents[0], Document)
    with pytest.raises(SourceError, match="b/2: document 1 is odd"), source.locating(batch):
        raise ValueError("document 1 is odd")


def test_a_model_takes_documents_with_their_labels(tmp_path):
    put(tmp_path, ham__1=b"see you at lunch", ham__2=b"lunch at noon", spam__1=b"cheap pills")
    put(tmp_path, spam__2=b"buy cheap pills now")
    mails = tallybayes.documents(tmp_path)
    texts = [d.text for d in mails.read(labelled=True)]
    labels = [d.label for d in mails.read(labelled=True)]
    model, expected = TextNB(ridge=False).fit(mails), TextNB(ridge=False).fit(texts, labels)
    assert model.tally_ == expected.tally_
    assert model.score(mails) == expected.score(texts, labels)
    assert model.predict(mails).tolist() == expected.predict(texts).tolist()
    assert model.partial_fit(mails).forget(mails).tally_ == expected.tally_


def test_a_model_knows_the_columns_of_its_documents(tmp_path):
    (tmp_path / "a.csv").write_text("kind,body\nham,lunch at noon\nspam,cheap pills\n" * 3)
    rows = tallybayes.documents(tmp_path / "a.csv", target="kind")
    model = TextNB(ridge=False).fit(rows)
    model.save(tmp_path / "m.tally")
    assert tallybayes.load(tmp_path / "m.tally").read_by_.target == "kind"
    assert tallybayes.open_model(str(tmp_path / "m.tally")).target == "kind"


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
