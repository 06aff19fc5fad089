"""The reading of a text: content words, values, cues. Cached by text: candidates are compared repeatedly."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from helix_consolidation.relations.words import cues
from helix_consolidation.relations.words.quantities import Quantity, find_quantities, is_value_word
from helix_consolidation.relations.words.returns import CHANGES, Returns, returns_of
from helix_shared.naming.words import FUNCTION_WORDS
from helix_shared.text.failed_plans import without_failed_plans


def _split(text: str) -> frozenset[str]:
    return frozenset(text.split())


READ_CHARACTERS: Final = 1_000
"""The first characters of a text that are read."""
_CACHED: Final = 8_192
_WORD: Final = re.compile(r"[$\u20ac\u00a3]?\w+(?:[.,:/'_-]\w+)*%?")
_SAYING: Final = re.compile(r"\b(?:said|says|told|writes|wrote|goes|quote)[^\"\u201c\n]{0,40}[\"\u201c]")
_ENDINGS: Final = ("'s", "ings", "ing", "edly", "ied", "ies", "ed", "es", "s", "e", "ly", "y")
_MOST_MOVED: Final = 5
"""Words of what is moved, in "moved the Japan trip to May"."""
_LEAST_STEM: Final = 3
_UNTELLING: Final = FUNCTION_WORDS | _split("""
    instead longer anymore now new change changed switch switched move moved moving swap replace replaced
    scrap drop dropped cancel cancelled canceled postponed pushed revert reverted update updated actually
    correction finally already today tomorrow yesterday tonight week month year day night morning evening
    afternoon hour time thing ok okay yes no yeah please btw lol haha hey hi oh well also just really so im
    i'm i've i'll it's that's don't didn't we're we've can't isn't want wants wanted say says said told
    think got get gets make made take took go goes went
""")
"""Words that say nothing about what a statement is about."""


class Reading(NamedTuple):
    """A text as the features need it."""

    words: frozenset[str] = frozenset()
    """Stems of content words, without values and words of change."""
    quantities: frozenset[Quantity] = frozenset()
    codes: frozenset[str] = frozenset()
    """Values of the quantities that are identifiers."""
    length: int = 0
    """Words."""
    change: int = 0
    """Phrases of change."""
    sure_change: bool = False
    back: bool = False
    returned: frozenset[str] = frozenset()
    """Stems and values beside a phrase of return: "back to X", "X again"."""
    undone: frozenset[str] = frozenset()
    """Stems and values of what was undone: "rolled back X"."""
    given_up: frozenset[str] = frozenset()
    """Stems and values of what somebody returned, sent or gave back: "returned X"."""
    regained: frozenset[str] = frozenset()
    """Stems and values of what somebody got back."""
    negated: bool = False
    hypothetical: bool = False
    unreal: bool = False
    tentative: bool = False
    forbids: bool = False
    plan: bool = False
    done: bool = False
    reported: bool = False
    personal: bool = False
    asks: bool = False
    """Ends with a question."""
    only_asks: bool = False
    """Every sentence is a question."""
    quotes: bool = False
    """Holds the words of somebody else in quotation marks."""


def read(text: str) -> Reading:
    """Read the first `READ_CHARACTERS` of `text`."""
    return _read(text[:READ_CHARACTERS])


def content_words(text: str) -> frozenset[str]:
    """Stems of the content words of the first `READ_CHARACTERS` of `text`."""
    return _content(text[:READ_CHARACTERS])


@functools.lru_cache(_CACHED)
def _read(text: str) -> Reading:
    words = words_of(text)
    phrases = _phrases(words)
    end = text.rstrip(" )\n\"'*")
    asks = end.endswith("?")
    quantities = frozenset(find_quantities(words))
    happened = _without_failed_plans(text, phrases)
    returns = returns_of(text.replace("\u2019", "'").lower(), words_of)
    return Reading(
        words=_stems(words),
        quantities=quantities,
        codes=frozenset(quantity.value for quantity in quantities if quantity.kind == "code"),
        length=len(words),
        change=len(phrases & cues.CHANGE),
        sure_change=not phrases.isdisjoint(cues.SURE_CHANGE) or _moves(words),
        back=returns.is_there or _is_back(phrases & cues.BACK, returns),
        returned=_stems_and_values(returns.returned),
        undone=_stems_and_values([word for word in returns.undone if word not in CHANGES]),
        given_up=_stems_and_values(returns.given_up),
        regained=_stems_and_values(returns.regained),
        negated="n't" in text or not phrases.isdisjoint(cues.NEGATION),
        hypothetical=not happened.isdisjoint(cues.HYPOTHETICAL),
        unreal=not happened.isdisjoint(cues.UNREAL),
        tentative=not happened.isdisjoint(cues.TENTATIVE),
        forbids=not phrases.isdisjoint(cues.FORBIDS),
        plan=not happened.isdisjoint(cues.PLAN),
        done=not phrases.isdisjoint(cues.DONE),
        reported=not phrases.isdisjoint(cues.REPORTED),
        personal=not phrases.isdisjoint(cues.PERSONAL),
        asks=asks,
        only_asks=asks and not any(mark in end for mark in (". ", "! ", "\n", "? ")),
        quotes=_SAYING.search(text) is not None,
    )


def holds_value(reading: Reading, value: str) -> bool:
    """Whether a text has a stem or value of `Reading.returned`."""
    return value in reading.words or any(quantity.value == value for quantity in reading.quantities)


def is_same_stem(one: str, other: str) -> bool:
    """Whether two stems are equal but for a doubled letter ("run" and "runn" of "running")."""
    return one == other or one == other + other[-1:] or other == one + one[-1:]


def _moves(words: list[str]) -> bool:
    """Whether the words say that somebody moved a thing to another time, place or tool."""
    return any(
        verb in cues.MOVES
        and article in cues.MOVED
        and not cues.MOVED_TO.isdisjoint(words[at + 3 : at + 3 + _MOST_MOVED])
        for at, (verb, article) in enumerate(pairwise(words))
    )


def _without_failed_plans(text: str, phrases: set[str]) -> set[str]:
    """The phrases of a text without plans that came to nothing; `phrases` are all of them."""
    left = without_failed_plans(text)
    return phrases if left == text else _phrases(words_of(left))


def _is_back(phrases: set[str], returns: Returns) -> bool:
    """Whether a phrase of return is left without those whose "back" returns to nothing."""
    return any(not (returns.is_other_back and phrase.startswith("back ")) for phrase in phrases)


def _stems_and_values(words: Sequence[str]) -> frozenset[str]:
    return _stems(words) | {quantity.value for quantity in find_quantities(words)}


@functools.lru_cache(_CACHED)
def _content(text: str) -> frozenset[str]:
    return _stems(words_of(text))


def words_of(text: str) -> list[str]:
    """Words in lower case, apostrophes straight."""
    return _WORD.findall(text.replace("\u2019", "'").lower())


def _phrases(words: list[str]) -> set[str]:
    """All runs of one to three words, as many as a phrase of `cues` has at most."""
    phrases = set(words)
    phrases.update(map(" ".join, pairwise(words)))
    phrases.update(map(" ".join, zip(words, words[1:], words[2:], strict=False)))
    return phrases


def _stems(words: Iterable[str]) -> frozenset[str]:
    return frozenset(
        stem(word) for word in words if word not in _UNTELLING and len(word) > 1 and not is_value_word(word)
    )


def stem(word: str) -> str:
    """The word without its commonest ending; equal stems are taken for one word."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM:
            return word[: -len(ending)]
    return word
