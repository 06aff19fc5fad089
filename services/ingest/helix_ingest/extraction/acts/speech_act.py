"""Tells the speech act of a text by rules: what its author does with it.

Every sentence gets an act, and the strongest decides: a turn that states something and then asks is a
statement. Only a turn that is nothing but an acknowledgement is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from helix_ingest.extraction.acts.acknowledgement import NUMBER_WORD, is_acknowledgement
from helix_ingest.extraction.acts.asked_changes import asks_for_change
from helix_ingest.extraction.acts.decision import decides
from helix_ingest.extraction.acts.instructions import (
    OPENERS,
    asks_for_reminder,
    is_standing,
    tells_beside,
    tells_fact,
)
from helix_ingest.extraction.acts.remarks import is_courtesy, is_receipt
from helix_ingest.extraction.acts.sentences import is_question, sentences, words
from helix_ingest.extraction.acts.slips import corrects_before
from helix_ingest.extraction.acts.subject_nouns import begins_with_subject
from helix_memory.events import CorrectEvent, MemoryEvent, MessageEvent
from helix_memory.vocabulary.speech_acts import SpeechAct
from helix_shared.text.failed_plans import without_failed_plans

if TYPE_CHECKING:
    from helix_memory.events import Event

_READ_CHARACTERS: Final = 400
"""Characters of a sentence that are read."""


_CORRECTION: Final = re.compile(
    r"^\W*(?:no+(?=,| (?:i|we|its?|he|she|they|the|thats?|not|there|wait|actually)\b)|nope|nah|actually"
    r"|correction|oops"
    r"|scratch that|i meant|i mean)\b(?=(?:\W+\w+){2})"
    r"|^\W*(?:wait|sorry)\b,? (?:no|its?|thats?|(?:i )?meant|actually|not|my mistake)\b"
    r"|\b(?:i meant|scratch (?:that|the)|i was wrong|my mistake|i misspoke|typo|correction:)"
    r"|\b(?:is|it['\u2019]?s|was|are|were|on|at|by|in)\b [^.,\n]{1,40}, not (?:\w+ ?){1,4}[.!)]*$"
    r"|\bnot (?:\w+ ){1,3}(?:any ?more|any longer)\b|\bno longer\b",
    re.IGNORECASE,
)
_DENIAL: Final = re.compile(r"^\W*(?:no+|nope|nah|wrong|actually)\W*$", re.IGNORECASE)
_WOULD: Final = (
    r"(?:\bwould\b|['\u2019]d\b|\bcould\b|\bmight\b"
    r"|\bid (?:need|be|have|go|get|want|do|buy|take|move|say|like|love|rather)\b)"
)
_WEIGHED: Final = r"\b(?:thinking (?:of|about)|considering|toying with|tempted|might)\b"
_UNDECIDED: Final = (
    r"\b(?:not (?:yet )?(?:sure|decided)|unsure|undecided|on the fence|in two minds"
    r"|ha(?:ve|s) ?n['\u2019o]?t (?:yet )?decided|can['\u2019]?t decide)\b"
)
_HYPOTHETICAL: Final = re.compile(
    rf"{_WEIGHED}[^.?!\n]{{0,120}}{_UNDECIDED}(?: yet| tho(?:ugh)?)?\W*$"
    rf"|{_UNDECIDED} (?:yet )?(?:if|whether) (?:i|we) (?:should|want|will|would|can|could)\b|"
    r"\bif (?:i|we|you|he|she|they|it|only|there)(?:['\u2019]?d| had| were| was| could| would| won| ever)\b"
    rf"|\bif\b[^.?!\n]{{0,80}}\bever\b|\bif\b[^.?!\n]{{0,120}}{_WOULD}|{_WOULD}[^.?!\n]{{0,120}}\bif\b"
    r"|\bi(?:['\u2019]d)? wish\b|\bhypothetical(?:ly)?\b|\bimagine\b|\bsuppose (?:that|we|i|you|he|she"
    r"|they)\b"
    r"|\bwhat if\b|\b(?:would|could|should)(?:['\u2019]ve| have| of) \w+|\bin another life\b"
    r"|\bjust kidding\b|\bjk\b",
    re.IGNORECASE,
)
_REGRET: Final = re.compile(r"\bshould(?:['\u2019]ve| have| of)\b", re.IGNORECASE)
_JOURNEY: Final = (
    r"^\W*(?:(?:i['\u2019]?m|i am|we['\u2019]?re|we are) (?:flying|leaving|travell?ing)"
    r"|(?:i|we) (?:leave|fly))"
    r" (?:(?:for|to|from|back|home|out|early|at)\b[^.,;:?!\n]{0,40}? )?"
    r"(?:tomorrow|next (?:week|month|year|weekend|spring|summer|autumn|fall|winter)"
    r"|(?:on|next) (?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|on (?:the )?\d{1,2}(?:st|nd|rd|th)?(?: [a-z]{3,9})?)"
    r"(?: (?:morning|afternoon|evening|night))?(?: at [\w:]{1,8})?\W*$"
)
"""A whole sentence about a dated journey; "we deploy on Tuesdays" and "when we leave on Monday" are none."""
_PLAN: Final = re.compile(
    r"\b(?:i|we|he|she|they|you)(?:['\u2019]ll| will| shall)\b|\b(?:they|you)ll\b"
    r"|^\W*ill (?!with\b|on\b|in\b|at\b|again\b|all\b|for\b|since\b|and\b|but\b|today\b)\w"
    r"|\b(?:going to|gonna|planning (?:to|on)|plan(?:s|ned)? to|intend(?:s|ing)? to|hop(?:e|es|ing) to"
    r"|(?<!n't )(?<!n\u2019t )(?<!dont )(?<!not )(?<!nt )want to|wanna"
    r"|thinking (?:of|about)|about to|scheduled (?:for|to)|looking forward to)\b"
    r"|^\W*(?:the )?plan\b[^.\n:]{0,20}:|^\W*(?:the|my|our) plan is (?:still |now )?to (?!blame\b)\w"
    rf"|{_JOURNEY}"
    r"|\blet['\u2019]?s\b|\b(?:i|we)['\u2019]d (?:go|like|use|put|start|swap|move|say|rather|suggest"
    r"|propose)\b"
    r"|\bi (?:would|suggest|propose|recommend)\b",
    re.IGNORECASE,
)
_ASKED_TO_ACT: Final = re.compile(
    rf"^\W*+(?:(?:{OPENERS})\b\W*+)*+"
    r"(?:(?:please|pls|plz)\b|let me know\b|make sure|help me"
    r"|(?:remind|tell|show|give) (?:me|us)\b(?! (?:what|which|who|whose|when|where|why|how|if|whether)\b)"
    r"|don['\u2019]?t (?:forget|touch|add|use|change|tell|run|delete|do)\b)",
    re.IGNORECASE,
)
_COMMAND: Final = re.compile(
    rf"^\W*+(?:(?:{OPENERS})\b\W*+)*+"
    r"(?:(?:can|could|would|will) (?:you|u) (?:please |pls )?(?:add|fix|write|show|give|send|make|change"
    r"|set|update"
    r"|run|check|move|create|find|look|book|order|call|remind|tell|explain|help|summari[sz]e|list|remove"
    r"|delete|put"
    r"|draft|review|translate|open|turn|schedule|cancel|keep|stop|let|generate|rewrite|compare)"
    r"|(?:tell|write|add|remove|delete|change|set|update|fix|run|try|check|pick|create|make|find|look up"
    r"|book|rename"
    r"|bump|explain|summari[sz]e|list|generate|draft|schedule|deploy|merge|revert|install|build"
    r"|translate|convert"
    r"|compare|describe|review|refactor|implement|cancel|start|stop|send|turn|go|raise|lower|increase"
    r"|reduce|double"
    r"|strike))\b(?!,|:| ?(?:['\u2019]s|is|was|are|were|will|has|had|of)\b)",
    re.IGNORECASE,
)
_REQUESTED: Final = re.compile(
    rf"{_ASKED_TO_ACT.pattern}|{_COMMAND.pattern}|^\W*+(?:can|could|would|will) (?:you|u)\b", re.IGNORECASE
)
_QUOTED: Final = re.compile(
    r"\"[^\"\n]{2,400}\"|\u201c[^\u201d\n]{2,400}\u201d|\u300c[^\u300d\n]{2,200}\u300d"
)
_QUOTED_LINES: Final = re.compile(
    r"(?:^[^\n>]{0,200}\b(?:wrote|writes|said"
    r"|schrieb)[^\n]{0,40}:[^\S\n]*\n+)?(?:^[^\S\n]{0,8}>[^\n]*(?:\n|\Z))+",
    re.MULTILINE | re.IGNORECASE,
)
_ATTRIBUTED: Final = re.compile(
    r"^\W*(?:>|(?:[\w.' ]{2,40} )?(?:wrote|writes|said|says|quote)\s*:)", re.IGNORECASE
)
_LEAST_QUOTED: Final = 0.5
"""Share of the words in quotation marks."""
_LEAST_QUOTED_WORDS: Final = 3
_TOPIC_WORDS: Final = 2

_STATED: Final = ("decision", "correction", "statement", "plan", "quotation", "hypothetical")


def speech_act(event: Event, text: str, *, answers: bool = False) -> SpeechAct:
    """The speech act of `text`, a piece of `event`; `answers`: it replies to a question of another speaker.

    An explicit memory, a document or a tool's output is never an acknowledgement, a question or a request: it
    was stored on purpose, or nobody speaks. "Yes" or "please" that answers a question is a statement.
    """
    if isinstance(event, CorrectEvent):
        return "correction"
    is_spoken = isinstance(event, MessageEvent) and event.role != "tool"
    if not is_spoken and not isinstance(event, MemoryEvent):
        return "statement"
    act = _act_of_turn(text, commands=getattr(event, "role", "") == "user")
    if act in _STATED:
        return "statement" if act == "correction" and answers and not _contrasts(text) else act
    is_assent = answers and (act == "acknowledgement" or is_acknowledgement(text))
    return act if is_spoken and not is_assent else "statement"


_CONTRAST: Final = re.compile(
    r"\bnot\b|\binstead\b|\bactually\b|\bit['\u2019]?s\b|\bno longer\b", re.IGNORECASE
)


def _contrasts(text: str) -> bool:
    return bool(_CONTRAST.search(text[:_READ_CHARACTERS]))


def _act_of_turn(text: str, *, commands: bool) -> SpeechAct:
    """The strongest act of the sentences of a turn; unreal ones count by their share of the words."""
    acts: dict[SpeechAct, int] = {}
    own = _without_quoted_lines(text)
    found = sentences(own if words(own) else text)
    asks = not commands and any(is_question(sentence.text) for sentence in found)
    for number, sentence in enumerate(found):
        act = _act_of_sentence(sentence.text, commands=commands)
        if not commands and act in _STATED and _is_polite(sentence.text, asks=asks):
            act = "acknowledgement"
        if act == "statement" and _is_topic(sentence.text) and number + 1 < len(found):
            # "chunked uploads. ideas?"
            follows = found[number + 1].text
            act = "question" if is_question(follows) else act
        acts[act] = acts.get(act, 0) + max(1, len(words(sentence.text)))
    stated = sum(acts.get(act, 0) for act in _STATED)
    if not stated:
        return next((act for act in ("request", "question") if act in acts), "acknowledgement")
    for act in ("quotation", "hypothetical"):
        if acts.get(act, 0) > stated / 2:
            return act
    if acts.get("plan", 0) > acts.get("statement", 0) and "decision" not in acts and "correction" not in acts:
        return "plan"
    if acts.get("correction") is None and "statement" in acts and _DENIAL.match(found[0].text):
        return "correction"
    return next(act for act in _STATED if act in acts)


def _act_of_sentence(sentence: str, *, commands: bool) -> SpeechAct:
    """The act of one sentence, by the first rule that holds; an assistant gives no `commands`."""
    text = sentence[:_READ_CHARACTERS]
    return next((act for act, holds in _RULES if holds(text, commands)), "statement")


def _without_quoted_lines(text: str) -> str:
    """A reply without the lines of another mail that it quotes (">") and the line that announces them."""
    return _QUOTED_LINES.sub("", text) if ">" in text else text


def _is_polite(text: str, *, asks: bool) -> bool:
    """Whether an agent's sentence states nothing: "saved that", and what it offers beside a question."""
    read = text[:_READ_CHARACTERS]
    return is_receipt(read) or (asks and is_courtesy(read))


def _is_command(text: str) -> bool:
    return _COMMAND.match(text) is not None and not begins_with_subject(text)


def _is_hypothetical(text: str) -> bool:
    return _HYPOTHETICAL.search(text) is not None and not _REGRET.search(text)


def _is_topic(sentence: str) -> bool:
    found = words(sentence)
    is_label = len(found) <= _TOPIC_WORDS and not any(word.endswith("ed") for word in found)
    return is_label and not NUMBER_WORD.search(sentence)


def _is_quotation(text: str) -> bool:
    quoted = sum(len(words(span)) for span in _QUOTED.findall(text))
    total = len(words(text))
    return bool(_ATTRIBUTED.match(text)) or (quoted >= _LEAST_QUOTED_WORDS and quoted > _LEAST_QUOTED * total)


_RULES: Final[tuple[tuple[SpeechAct, Callable[[str, bool], object]], ...]] = (
    ("correction", lambda text, _: corrects_before(text)),
    ("statement", lambda text, commands: commands and _REQUESTED.match(text) and is_standing(text)),
    ("statement", lambda text, commands: commands and tells_fact(text)),
    ("plan", lambda text, commands: commands and asks_for_reminder(text)),
    ("decision", lambda text, commands: commands and asks_for_change(text) and not begins_with_subject(text)),
    ("statement", lambda text, commands: commands and _REQUESTED.match(text) and tells_beside(text)),
    ("request", lambda text, commands: _ASKED_TO_ACT.match(text) or (commands and _is_command(text))),
    ("question", lambda text, _: is_question(text)),
    ("acknowledgement", lambda text, _: is_acknowledgement(text)),
    ("quotation", lambda text, _: _is_quotation(text)),
    ("hypothetical", lambda text, _: _is_hypothetical(without_failed_plans(text))),
    ("decision", lambda text, _: decides(text)),
    ("correction", lambda text, _: _CORRECTION.search(text)),
    ("plan", lambda text, _: _PLAN.search(without_failed_plans(text))),
)
"""The first that holds is the act of a sentence."""
