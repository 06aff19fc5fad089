"""Tells which question a turn answers: one of another speaker in the turn before it.

Turns that say nothing in between are passed over: the output of a tool, an own "one sec", and the other
speaker's "sure, take your time".

The answer may be long ("No, I sold my ticket in March"), and the question need not end its turn. A turn that
changes the subject, only thanks, or asks in return is no answer. An offer is only answered by a
turn that accepts or declines it, or speaks of it (`offers`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from helix_ingest.extraction.acts.acknowledgement import assents, dissents, is_acknowledgement, puts_off
from helix_ingest.extraction.acts.choices import picked_item, without_items
from helix_ingest.extraction.acts.offers import is_offer, takes_up
from helix_ingest.extraction.acts.remarks import is_courtesy
from helix_ingest.extraction.acts.sentences import (
    MOST_CHARACTERS,
    asks_yes_or_no,
    is_question,
    sentences,
    without_lead,
    words,
)
from helix_ingest.extraction.acts.speech_act import speech_act
from helix_memory.events import MessageEvent
from helix_shared.audience import may_quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helix_ingest.extraction.values import LoggedEvent

TOPIC_CHARACTERS: Final = 200
NEAR_TURNS: Final = 2
"""Turns before an answer that are always read; more only where one of these says nothing."""
PASSED_TURNS: Final = 5
"""Turns before an answer among which its question is looked for."""
PASSED_CHARACTERS: Final = 120
"""A longer turn between question and answer says something."""
_ELLIPTIC_WORDS: Final = 3
_PRONOUN_WORDS: Final = 10
_LEADS_ON: Final = frozenset(["about", "at", "else", "for", "from", "if", "in", "of", "on", "to", "with"])
"""Behind "who" they go on with what was said."""
_IS: Final = frozenset(["is", "are", "was", "were"])
_POINTING: Final = frozenset(
    ["he", "she", "it", "they", "him", "her", "them", "that", "this", "there", "those", "one", "ones", "its"]
)
_POINTS_AT_NOTHING: Final = re.compile(
    r"\b(?:(?:is|are|was|were|will|would|could|be)(?:n['\u2019]?t)? (?:"
    r"there(?: be)?(?= (?:an?|any|some|more|much|enough|no|something|anything|someone|anyone)\b)"
    r"|it(?: be)?(?= (?:(?:ok(?:ay)?|alright|fine|possible|likely|true|safe|worth|better|best|easier"
    r"|important|necessary|too (?:late|early|soon))(?: (?:with|for) \w{1,20})? (?:if|to|that|when)"
    r"|raining|snowing)\b))"
    r"|(?:think|believe|know|sure|say|mean|hope|feel) that(?= \w))\b",
    re.IGNORECASE,
)
"""Words that stand for nothing said before: "is it OK if ...", "are there any", "do you think that"."""
_SHORT_WORDS: Final = 6
_QUESTIONS: Final = 2
"""Questions of one turn that an answer may take, the last ones."""
_SENTENCES_AFTER: Final = 4
"""A question that more sentences follow is not what the next turn answers."""
ANSWERED_WITHIN: Final = timedelta(hours=12)
"""What is said later in a session is no answer: a new day begins with a new subject."""
_CHANGES_SUBJECT: Final = re.compile(
    r"^\W*(?:also|btw|by the way|(?:different|other|new|another) (?:topic|thing|subject|news|question)"
    r"|unrelated"
    r"|oh and|anyway|one more thing|off[ -]topic|fyi|ps|p\.s\.|on another note"
    r"|changing (?:the )?(?:topic|subject))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Question:
    """The question that a turn answers."""

    asked: LoggedEvent
    text: str
    """Its words; of several questions in one turn the last ones."""
    start: int
    """Where its words begin in the text of `asked`."""
    yes_or_no: bool
    picked: str = ""
    """The item of its list that the answer picks by a number or a letter; else empty."""
    topic: str = ""
    """What an elliptic question is about ("For how long?"): the words said before it; else empty."""


def answered_question(answering: LoggedEvent, before: Sequence[LoggedEvent]) -> Question | None:
    """The question that a turn answers; `before` holds the turns before it in its session, oldest first.

    Turns that say nothing are passed over between question and answer. A question counts only if everybody
    who may recall the answer may also recall the question.
    """
    event = answering.event
    if not isinstance(event, MessageEvent) or _CHANGES_SUBJECT.match(event.text):
        return None
    number = _asking_turn(event, before)
    if number is None or not may_quote(answering.scope, before[number].scope):
        return None
    if answering.occurred_at - before[number].occurred_at > ANSWERED_WITHIN:
        return None
    picked = picked_item(getattr(before[number].event, "text", ""), event.text)
    question = _question_of(before[number], picked)
    if question is None or not _answers(event, question):
        return None
    if not _is_open(question, event, before[number + 1 :]):
        return None
    is_whole = question.topic or question.picked
    return question if is_whole else _with_topic(question, answering, before[:number])


def _is_open(question: Question, event: MessageEvent, between: Sequence[LoggedEvent]) -> bool:
    """Whether a question still waits for its answer after the turns `between`.

    "One sec" keeps it open. Behind "ok" alone a longer turn is more often about something else.
    """
    own = [turn.event for turn in between if isinstance(turn.event, MessageEvent)]
    own = [one for one in own if _speaker(one) == _speaker(event)]
    if any(_answers(one, question) for one in own):
        return False
    is_kept = not own or any(puts_off(one.text) for one in own)
    return is_kept or (not question.yes_or_no and len(words(event.text)) <= _SHORT_WORDS)


def says_nothing(event: object) -> bool:
    """Whether a turn may stand between a question and its answer: it acknowledges, puts off, or is polite."""
    if not isinstance(event, MessageEvent) or len(event.text) > PASSED_CHARACTERS:
        return False
    is_polite = is_courtesy if event.role == "assistant" else is_acknowledgement
    said = [one.text for one in sentences(event.text)]
    return all(not is_question(one) and (is_acknowledgement(one) or is_polite(one)) for one in said)


def _asking_turn(event: MessageEvent, before: Sequence[LoggedEvent]) -> int | None:
    """Index of the turn that may have asked: the last one of another speaker that says something."""
    least = len(before) - (PASSED_TURNS if any(map(_passed, before[-NEAR_TURNS:])) else NEAR_TURNS)
    speakers = {_speaker(event)}
    for number in reversed(range(max(0, least), len(before))):
        previous = before[number].event
        if not isinstance(previous, MessageEvent):
            return None
        if previous.role == "tool":
            continue
        if not says_nothing(previous):
            # what a third speaker says in between may be the answer
            others = speakers - {_speaker(event), _speaker(previous)}
            return None if others or _speaker(previous) == _speaker(event) else number
        speakers.add(_speaker(previous))
    return None


def _passed(turn: LoggedEvent) -> bool:
    return says_nothing(turn.event)


def _with_topic(question: Question, answering: LoggedEvent, before: Sequence[LoggedEvent]) -> Question:
    """An elliptic question with what the answering speaker had said just before it."""
    if not before or not _is_elliptic(question.text):
        return question
    event, earlier = answering.event, before[-1]
    is_own = isinstance(event, MessageEvent) and isinstance(earlier.event, MessageEvent)
    if not is_own or _speaker(earlier.event) != _speaker(event):  # type: ignore[arg-type]
        return question
    if not may_quote(answering.scope, earlier.scope):
        return question
    return replace(question, topic=_first_sentences(earlier.event.text))  # type: ignore[union-attr]


def _first_sentences(text: str) -> str:
    """What a turn states at its beginning, whole sentences where the first one is not too long."""
    stated = [sentence.text for sentence in sentences(text) if not is_acknowledgement(sentence.text)]
    chosen = ""
    for sentence in stated:
        if chosen and len(chosen) + len(sentence) > TOPIC_CHARACTERS:
            break
        chosen = f"{chosen} {sentence}".strip()
    return chosen[:TOPIC_CHARACTERS]


def _is_elliptic(question: str) -> bool:
    """Whether a question cannot be understood alone: it is very short, or asks about "it"."""
    found = words(without_lead(question))
    if len(found) <= _ELLIPTIC_WORDS:
        return not _asks_about_a_name(question, found)
    pointing = _POINTING.intersection(words(_POINTS_AT_NOTHING.sub(" ", question)))
    return len(found) <= _PRONOUN_WORDS and bool(pointing)


def _asks_about_a_name(question: str, found: Sequence[str]) -> bool:
    """Whether it is like "Who owns CartStore?" or "When is Ana's?", and not like "What time, Ana?"."""
    if len(found) < _ELLIPTIC_WORDS or not _POINTING.isdisjoint(found) or "," in question:
        return False
    asks = found[1] not in _LEADS_ON if found[0] == "who" else found[1] in _IS
    last = question.rsplit(maxsplit=1)[-1]
    return asks and found[-1] not in {"i", "you", "we", "me"} and (last != last.lower() or "_" in last)


def _speaker(event: MessageEvent) -> tuple[str, str]:
    return event.role, event.speaker


def _question_of(asked: LoggedEvent, picked: str) -> Question | None:
    """The last questions of a turn, if they are near its end; a list with the `picked` item is left out."""
    text = getattr(asked.event, "text", "")
    skipped = max(0, len(text) - MOST_CHARACTERS)
    found = sentences(without_items(text[skipped:]) if picked else text[skipped:])
    questions = [n for n, sentence in enumerate(found) if is_question(sentence.text)]
    if not questions or questions[-1] < len(found) - 1 - _SENTENCES_AFTER:
        return None
    first = questions[-1]
    while first - 1 in questions and questions[-1] - first < _QUESTIONS - 1:
        first -= 1
    chosen = found[first : questions[-1] + 1]
    asking = " ".join(sentence.text for sentence in chosen)
    yes_or_no = any(asks_yes_or_no(sentence.text) for sentence in chosen)
    before = found[first - 1].text if first and _is_elliptic(asking) else ""
    topic = "" if picked or not before or is_acknowledgement(before) else before[:TOPIC_CHARACTERS]
    return Question(asked, asking, skipped + chosen[0].start, yes_or_no, picked, topic)


def _answers(event: MessageEvent, question: Question) -> bool:
    if is_acknowledgement(event.text):
        return question.yes_or_no and (assents(event.text) or dissents(event.text))
    by_assistant = getattr(question.asked.event, "role", "") == "assistant"
    if is_offer(question.text, by_assistant=by_assistant) and not takes_up(event.text, question.text):
        return False
    return speech_act(event, event.text) not in ("question", "acknowledgement")
