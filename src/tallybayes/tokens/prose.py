"""Whether strings are prose: sentences of words that recur, not names, addresses or codes.

A string is a *sentence* if

- it has at least 6 words, at least half of its pieces between spaces are words, and at least half
  of the words in a script with capitals begin with a small letter; a word is a piece of letters,
  with apostrophes, hyphens and points within, and marks around it; or
- it has at least 10 characters of a script without spaces (Han, kana, Hangul), and neither the
  number of a house nor the ending of a firm's name.

Strings are *prose* if more than half of them are sentences, and of the running words of these (of a
script without spaces: characters) at least a third also occur in another, and at most half are
words that nine tenths of the sentences have. Names and addresses have few words, most of them with
capitals; paths, URLs, codes and lists of numbers have few words between spaces; words of random
identifiers do not recur; dates in words and messages of machines fill in a form.

More than 1,000 strings are judged by the 1,000 of the least CRC-32, each by its first 2,000
characters, so that neither their order nor their number matters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import nsmallest
from zlib import crc32

__all__ = ["are_prose"]

MARKS = r"(?:[^\w\s{}=<>/\\@#|&$%+~^`]|_)*+"
LETTER = r"[^\W\d_]"
WORD = re.compile(rf"{MARKS}({LETTER}(?:{LETTER}|['’.\-](?={LETTER}))*+){MARKS}")
UNSPACED = re.compile(r"[⺀-〇぀-ヿ㐀-鿿가-힣豈-﫿ｦ-ﾟ𠀀-𿿿]")
ADDRESS = re.compile(
    r"[0-9０-９一二三四五六七八九十]\s*(?:号|號|室|弄|栋|棟|幢|楼|樓|丁目|番|巷|호)"
)
FIRM = re.compile(r"(?:公司|会社|會社|企业|集团|集團|회사)\W*$")

MIN_WORDS = 6
MIN_CHARACTERS = 10
MIN_SENTENCE_SHARE = 0.5  # of the strings, more than
MIN_RECURRING_SHARE = 1.0 / 3.0  # of running words
MIN_FORM_FREQUENCY = 0.9  # of the sentences, in which the words of a form are
MAX_FORM_SHARE = 0.5  # of running words, which are those of a form at most
MAX_STRINGS = 1_000
MAX_CHARACTERS = 2_000


def _words(string: str) -> list[str]:
    """The words of a sentence, or its characters; empty for another string."""
    characters: list[str] = UNSPACED.findall(string)
    if len(characters) >= MIN_CHARACTERS:
        return [] if ADDRESS.search(string) or FIRM.search(string) else characters
    pieces = string.split()
    if len(pieces) < MIN_WORDS:
        return []
    words = [found[1] for piece in pieces if (found := WORD.fullmatch(piece))]
    if len(words) < max(MIN_WORDS, len(pieces) / 2):
        return []
    small, large = sum(w[0].islower() for w in words), sum(w[0].isupper() for w in words)
    return [word.lower() for word in words] if small >= large else []


def are_prose(strings: Sequence[str]) -> bool:
    """Whether different strings are prose.

    Parameters
    ----------
    strings : sequence of str
        Each once; their order does not matter.
    """
    found = [_words(string[:MAX_CHARACTERS]) for string in _sampled(strings)]
    sentences = [words for words in found if words]
    if len(sentences) <= MIN_SENTENCE_SHARE * len(found):
        return False
    in_strings = Counter(word for words in sentences for word in set(words))
    often = Counter(in_strings[word] for words in sentences for word in words)
    running = often.total()
    form = sum(n for many, n in often.items() if many >= MIN_FORM_FREQUENCY * len(sentences))
    return running - often[1] >= MIN_RECURRING_SHARE * running and form <= MAX_FORM_SHARE * running


def _sampled(strings: Sequence[str]) -> Iterable[str]:
    if len(strings) <= MAX_STRINGS:
        return strings
    return nsmallest(MAX_STRINGS, strings, key=lambda s: (crc32(s.encode("utf-8", "replace")), s))
