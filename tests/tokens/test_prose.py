"""Which strings are sentences, and which columns of strings are prose."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallybayes.tokens.prose import _words, are_prose

N = 200
RNG = random.Random(0)
NOUNS = ("parcel", "phone", "order", "shop", "driver", "letter", "screen", "price", "refund")
VERBS = ("arrived", "broke", "called", "opened", "lost", "sent", "returned", "found", "waited")
OTHERS = ("late", "broken", "again", "today", "twice", "badly", "slowly", "finally", "here")
NAMES = ("James", "Mary", "Robert", "Patricia", "John", "Jennifer", "Michael", "Linda", "Owen")
STREETS = ("Oak", "Pine", "Maple", "Cedar", "Elm", "View", "Lake", "Hill", "Rose", "Mill")
REST = (
    "which was not what the seller had said",
    "but nobody answered for more than an hour",
    "and my neighbour took it in, thank you!",
)


def _of(*lists):
    return [RNG.choice(words) for words in lists]


def sentence():
    noun, verb, other, more = _of(NOUNS, VERBS, OTHERS, NOUNS)
    return f"Our {noun} {verb} {other}: no {more}, {RNG.choice(REST)} {RNG.randrange(1000)}."


def word(letters="abcdefghij"):
    return "".join(RNG.choice(letters) for _ in range(8))


RUSSIAN = ("посылка", "пришла", "поздно", "никто", "ответил", "ждали", "опять", "снова")
TITLES = "的了是在不有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之"

PROSE = {
    "sentences": sentence,
    "small letters": lambda: sentence().lower(),
    "quoted": lambda: f'> "{sentence()}" -- {RNG.choice(NAMES)}',
    "Russian": lambda: " ".join(_of(*[RUSSIAN] * 7)) + f" {RNG.random()}",
    "Chinese": lambda: "".join(RNG.choice(TITLES + TITLES[:9] * 3) for _ in range(18)),
}
NOT_PROSE = {
    "names": lambda: "{}, Mrs. {} {} {} ({} {})".format(*_of(*[NAMES] * 6)),
    "addresses": lambda: "Flat {}, {} {} {} Street, City of {}, United States".format(
        RNG.randrange(9), RNG.randrange(99), *_of(STREETS, STREETS, STREETS)
    ),
    "URLs": lambda: f"https://example.org/{word()}/the-{word()}-of-the-day?q=a+b+c+d+e+f+g",
    "paths": lambda: f"/usr/lib/{word()}/{word()}/read me/{word()}.txt",
    "codes": lambda: " ".join(f"{RNG.getrandbits(40):x}" for _ in range(9)),
    "random words": lambda: " ".join(word() for _ in range(9)),
    "dates": lambda: f"Monday the {RNG.randrange(28)}th of May {RNG.randrange(2000)} in the rain",
    "JSON": lambda: f'{{"id": {RNG.random()}, "name": "a b", "words": "c", "more": "d e f"}}',
    "pairs": lambda: " ".join(f"{k}={word()}" for k in ("id", "name", "host", "user", "at", "of")),
    "numbers": lambda: " ".join(f"{RNG.random():.3f}" for _ in range(20)),
    "bases": lambda: " ".join(RNG.choice("acgt") for _ in range(60)),
    "user agents": lambda: f"Mozilla/5.0 (X11; Linux {word()}; rv:{RNG.random()}) Gecko/2010 Fox/1",
    "short answers": lambda: f"{word()} is good",
    "Chinese names": lambda: "".join(RNG.choice(TITLES) for _ in range(3)),
    "Chinese addresses": lambda: f"北京市朝阳区建国路{RNG.randrange(999)}号现代城A座",
    "Chinese firms": lambda: "".join(RNG.choice(TITLES) for _ in range(8)) + "有限责任公司",
    "log lines": lambda: f"Connection from {word()} closed by user {word()} on port {RNG.random()}",
    "empty": lambda: "",
}


@pytest.mark.parametrize("what", PROSE)
def test_what_is_prose(what):
    assert are_prose(sorted({PROSE[what]() for _ in range(N)}))


@pytest.mark.parametrize("what", NOT_PROSE)
def test_what_is_not(what):
    assert not are_prose(sorted({NOT_PROSE[what]() for _ in range(N)}))


@given(st.randoms())
def test_the_order_of_many_strings_does_not_matter(rng):
    strings = [sentence() + word() for _ in range(600)] + [word() for _ in range(590)]
    expected = are_prose(strings)
    rng.shuffle(strings)
    assert are_prose(strings) == expected


def test_a_little_more_than_half_must_be_sentences():
    good, bad = [f"{sentence()} {i}" for i in range(100)], [f"{i} {word()}" for i in range(100)]
    assert are_prose([*good, *bad[:99]])
    assert not are_prose([*good, *bad])


@pytest.mark.parametrize("piece", ["-" * 400, "a." * 200 + "1", "a'" * 200 + "1", "_*" * 200 + "="])
def test_pieces_of_marks_and_letters_are_no_words_and_take_no_backtracking(piece):
    assert _words(" ".join([piece] * 6)) == []


@given(st.text(max_size=300))
def test_any_string_is_judged(string):
    assert all(isinstance(w, str) and w for w in _words(string))
