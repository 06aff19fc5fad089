"""Rephrasing of a query by rules, and by statements of the user. Pure functions on text.

A question about a preference shares few words with the statement that answers it ("recommend an editor",
"I use vim"). A question about the order of events asks for each event.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from helix_query.profile.intent import Intent
from helix_query.recall.query_text import QUERY_CHARACTERS

MAX_WORDS: Final = 12
"""Words of a topic or event."""
STATEMENT_CHARACTERS: Final = 200
"""Characters of a statement that are kept."""

PREFERENCE_PHRASES: Final = ("I use", "I prefer", "my favourite")
"""Phrases that state a preference."""

_FRAME_WORDS = """
a about advice advise all also an and another any anything are as at be been best better can consider
could did do does enjoy favorite favorites favourite favourites find for from get getting give go good
great had has have he help how i idea ideas if in interesting into is it like liked look looking love may
me might mine more most my need new nice of on one or our out please prefer preference preferences
preferred prefers recommend recommendation recommendations recommended recommending shall she should so
some something suggest suggested suggestion suggestions that the their them there these they thinking
this those tips to try trying us want was we were what when where which who why will with would you your
"""
_TIME_WORDS = """
after ago before began begin between came chronological come date dates day days during earlier earliest
elapsed end ended finish finished first happen happened happens hour hours last later latest long many
minute minutes month months much now order passed previous previously recent recently since start started
then till time timeline times until week weeks year years
"""
_FRAME: Final = frozenset(_FRAME_WORDS.split())
_TIME: Final = frozenset(_TIME_WORDS.split())

_WORD = re.compile(r"[\w][\w'./+#-]*")
_EVENTS = re.compile(r"[,;:?!]|\b(?:or|before|after|since|until|till|when|while|during)\b", re.IGNORECASE)
_BETWEEN = re.compile(r"\bbetween\b(.{1,300}?)\band\b(.{1,300})", re.IGNORECASE | re.DOTALL)
_SENTENCE = re.compile(r"[^.!?\n]+")
_STATEMENT = re.compile(
    r"\bI(?:'m| am)? (?:\w+ ){0,2}?(?:use|used|prefer|like|love|enjoy|hate|dislike|always|usually|never|into|"
    r"switched|bought|own|play|read|watch|cook|collect)\b|\bmy (?:\w+ )?(?:favou?rite|preferred|go-to)\b",
    re.IGNORECASE,
)


def rephrase(query: str, intents: Collection[Intent], *, most: int) -> tuple[str, ...]:
    """At most `most` rephrasings of `query`, for the intents preference and temporal; else none.

    A preference is rephrased as a statement, a temporal question as each event it names.
    """
    text = query[:QUERY_CHARACTERS]
    found: list[str] = []
    if Intent.PREFERENCE in intents and (subject := topic_words(text)):
        found += [f"{stated} {subject}" for stated in PREFERENCE_PHRASES]
    if Intent.TEMPORAL in intents:
        found += asked_events(text)
    return tuple(dict.fromkeys(found))[:most]


def topic_words(query: str) -> str:
    """The words of a question without those of asking and liking."""
    return " ".join(_content(query, _FRAME)[:MAX_WORDS])


def asked_events(query: str) -> list[str]:
    """The events of a temporal question, without words of time."""
    between = _BETWEEN.search(query)
    parts = list(between.groups()) if between else _EVENTS.split(query)
    found = [" ".join(_content(part, _FRAME | _TIME)[:MAX_WORDS]) for part in parts]
    return [words for words in dict.fromkeys(found) if words]


def own_statements(texts: Sequence[str], *, most: int) -> tuple[str, ...]:
    """The first sentence of each text that states a preference or habit, at most `most` sentences."""
    stated = (_first_statement(text) for text in texts)
    return tuple(dict.fromkeys(sentence for sentence in stated if sentence))[:most]


def _first_statement(text: str) -> str:
    sentences = (found.group().strip() for found in _SENTENCE.finditer(text))
    return next((one[:STATEMENT_CHARACTERS] for one in sentences if _STATEMENT.search(one)), "")


def _content(text: str, without: frozenset[str]) -> list[str]:
    words = (word.rstrip("'./-") for word in _WORD.findall(text.replace("\u2019", "'")))
    return [word for word in words if word and word.lower().removesuffix("'s") not in without]
