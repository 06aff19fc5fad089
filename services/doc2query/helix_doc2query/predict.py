"""Predicts the questions that a memory answers, by rules and from its text alone.

Sentence patterns (`rules`) give questions, word tables (`synonyms`) search words; `keep` selects among them.
Questions, acknowledgements and small talk answer nothing; a sentence that asks answers nothing either.
Deterministic; `SENTENCES` and `SENTENCE_CHARACTERS` bound the work for a long text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from helix_doc2query.rules import RULES
from helix_doc2query.synonyms import SYNONYMS
from helix_doc2query.topics import is_defined_thing, names_something
from helix_shared.naming.abbreviations import sentence_ends
from helix_shared.text.apostrophes import with_apostrophes
from helix_shared.text.scripts import ends_with_question_mark

COLUMNS: Final = ("memory_id", "text", "title", "speaker", "speech_act", "derived_from")
"""Columns of a memory that are used."""

SILENT_ACTS: Final = frozenset({"question", "acknowledgement"})
"""Speech acts of memories that answer nothing."""

SENTENCES: Final = 60
SENTENCE_CHARACTERS: Final = 400
SEARCH_WORDS: Final = 6
"""Words in one line of search words."""

_BREAK = re.compile(r"(?<=[.!?])(?<!^\d\.)(?<!^\d\d\.)\s+|(?<!\s)[^\S\n]*+\n\s*", re.MULTILINE)
"""White space behind the end of a sentence, or with a line break in it; tried where white space begins.

The number of an item of a list ends none.
"""
_OTHERS: Final = {
    **{other: other for other in ("they", "he", "she")},
    **{noun: f"the {noun}" for noun in ("team", "company", "board", "project", "service")},
    "his": "he",
    "her": "she",
    "their": "they",
}
"""Who it is that a sentence is about, if not its speaker."""
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]+")
_SPACE = re.compile(r"\s+")


def predict(row: Mapping[str, Any]) -> list[str]:
    """Candidate questions in the order of the text, then lines of search words."""
    if row["speech_act"] in SILENT_ACTS:
        return []
    who = str(row["speaker"]).strip() or "user"
    text = str(row["text"])
    questions = dict.fromkeys(
        question for sentence in _sentences(text) for question in _answered(sentence, who)
    )
    return [*questions, *_search_words(f"{row['title']}\n{text}")]


def _sentences(text: str) -> list[str]:
    """The first sentences, each cut to a length for which every pattern is fast."""
    text = text.strip()
    breaks = [found.span() for found in islice(sentence_ends(_BREAK.finditer(text)), SENTENCES)]
    starts, ends = [0, *(end for _, end in breaks)], [*(start for start, _ in breaks), len(text)]
    pieces = [text[start:end] for start, end in zip(starts, ends, strict=True)][:SENTENCES]
    return [piece[:SENTENCE_CHARACTERS].rstrip() for piece in pieces]


def _answered(sentence: str, who: str) -> Iterator[str]:
    if ends_with_question_mark(sentence):
        return
    sentence = with_apostrophes(sentence.replace("\u2019", "'"))
    for rule in RULES:
        if rule.cue is not None and rule.cue.search(sentence) is None:
            continue
        if (match := rule.pattern.search(sentence)) is None:
            continue
        groups = {name: _phrase(value) for name, value in match.groupdict(default="").items()}
        somebody = groups.pop("somebody", "i").lower()
        if not all(names_something(phrase) for phrase in groups.values() if phrase):
            continue
        if rule.defines and not is_defined_thing(groups["x"]):
            continue
        for question in rule.questions:
            asked = question.format(who=_OTHERS.get(somebody, who), **groups)
            yield _SPACE.sub(" ", asked).strip()


def _phrase(text: str) -> str:
    return _SPACE.sub(" ", text).strip(" `'\"*_")


def _search_words(text: str) -> list[str]:
    """Synonyms of words in the text, a few per line."""
    spoken = dict.fromkeys(word.lower() for word in _WORD.findall(text))
    others = list(
        dict.fromkeys(other for word in spoken for other in SYNONYMS.get(word, ()) if other not in spoken)
    )
    return [" ".join(others[at : at + SEARCH_WORDS]) for at in range(0, len(others), SEARCH_WORDS)]
