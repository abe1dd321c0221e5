"""The text of a message of mail: its subject, and the parts that people read."""

from __future__ import annotations

import email
import re
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message
from html.parser import HTMLParser

__all__ = ["header_of", "message_of", "text_of"]


INVISIBLE_TAGS = {"script", "style", "head", "title"}
BLOCK_TAGS = {"br", "p", "div", "tr", "li", "h1", "h2", "h3", "td", "table"}


def message_of(data: bytes) -> Message:
    """A message, parsed."""
    return email.message_from_bytes(data)


def header_of(message: Message, name: str) -> str | None:
    """A header as people read it; None where the message lacks it or it is empty."""
    value = message.get(name)
    if value is None:
        return None
    try:
        text = str(make_header(decode_header(value)))
    except (HeaderParseError, LookupError, ValueError):
        text = str(value)
    return re.sub(r"\s+", " ", _clean(text)).strip() or None


def text_of(message: Message, encoding: str) -> str:
    """The subject, and below it the plain text; the words of HTML where there is no plain text.

    Attachments are left out. Bytes that are not of the encoding that a part names are replaced:
    mail is often wrong about it.

    Parameters
    ----------
    message : Message
    encoding : str
        Of parts that name none.
    """
    plain: list[str] = []
    html: list[str] = []
    for part in message.walk():
        if part.is_multipart() or part.get_content_disposition() == "attachment":
            continue
        if part.get_content_type() == "text/html":
            html.append(_words_of(_body(part, encoding)))
        elif part.get_content_maintype() == "text":
            plain.append(_body(part, encoding))
    body = plain if any(text.strip() for text in plain) else html
    subject = header_of(message, "Subject")
    return "\n".join([*([subject] if subject else []), *body])


def _body(part: Message, encoding: str) -> str:
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return _clean(str(part.get_payload()))
    for name in (part.get_content_charset(), encoding):
        try:
            return data.decode(name or "utf-8", "replace") if name else data.decode()
        except (LookupError, UnicodeDecodeError):
            continue
    return data.decode("utf-8", "replace")


def _clean(text: str) -> str:
    """Text without the surrogates that stand for bytes of no encoding."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._unseen += tag in INVISIBLE_TAGS
        if tag in BLOCK_TAGS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._unseen = max(0, self._unseen - (tag in INVISIBLE_TAGS))

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.parts.append(data)


def _words_of(html: str) -> str:
    """The text of HTML."""
    parser = _Words()
    parser.feed(html)
    parser.close()
    return re.sub(r"\n\s*\n+", "\n", "".join(parser.parts)).strip()
