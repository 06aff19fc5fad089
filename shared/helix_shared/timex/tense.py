"""Which occurrence a date without a year means, from the tense of its clause and from prepositions.

Reads at most 120 characters on each side as tokens, from the date outwards. The nearest verb in the clause of
the date decides, then the rest of the sentence, then nouns of appointments ("dentist"). Otherwise the date is
open.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from helix_shared.text.apostrophes import spelt_words
from helix_shared.timex import verbs
from helix_shared.timex.booked import tells_booked
from helix_shared.timex.clause import Evidence, read_after, read_before
from helix_shared.timex.cues import OPENS_A_STRETCH
from helix_shared.timex.general import states_rule
from helix_shared.timex.words import WEEKDAY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helix_shared.timex.expression import Certainty
    from helix_shared.timex.reading import Passage

_REACH: Final = 120
_SENTENCE_END = re.compile(
    r"(?:(?<!\bdr)(?<!\bmr)(?<!\bms)(?<!\bst)(?<!\bmrs)(?<!\bprof)\.|[!?])(?=[\s\"')]|\Z)|[;\n]"
)
_TOKEN = re.compile(r"[^\W_]+(?:'[^\W\d_]+)?|[,:()\u2014]|(?<=\S\s)[-\u2013](?=\s)")
_DAY_NAME = re.compile(rf"\b{WEEKDAY}[.,]?\s{{1,3}}(?:the\s{{1,3}})?\Z")
""""Monday" of "on Monday 3 June"."""
_TO = re.compile(r"\s{1,3}(?:to|until|till|through)\b|\s?[-\u2013]")
_ONWARDS = re.compile(r"\s{1,3}(?:onwards?\b|on(?=\s{0,3}(?:[,.;?!]|\Z)))")
_LEADING = frozenset([
    "on", "in", "by", "the", "from", "until", "till", "early", "late", "mid", "end", "of", "beginning",
    "start", "middle", "around", "about", "for", "at", "only", "just", "since", "starting", "through", "to",
    "back", "not", "maybe", "between", "during", "over", "before", "after",
])  # fmt: skip
_PREPOSITIONS = frozenset([
    "on", "in", "by", "from", "until", "till", "for", "since", "through", "to", "starting", "beginning",
    "before", "after", "between", "around", "during",
])  # fmt: skip
_UNTIL = frozenset(["until", "till", "by", "through"])
_NO_OBJECT = frozenset([",", "now", "then"])
_MARKS = frozenset([",", ":", "\u2014", "\u2013", "-"])
_NEW = verbs.NEW_TIMES | {"new", "now", "its", "it's", "is", "instead"}
_OPENERS = frozenset(["from", "starting", "beginning"])
_NOUNS: Final = 8
_NO_VERB = ("noun", "ambiguous")
_NO_STRETCH = ("auxiliary", "helper", *_NO_VERB)
_WEEKDAY_ONLY = re.compile(WEEKDAY)
_ABOUT = (["how", "about"], ["what", "about"])
_UNKNOWN = Evidence("unknown", sure=False, kind="ambiguous")

Occurrence = Literal["past", "future", "near"]


class Implied(NamedTuple):
    """The occurrence that a date means, and how certain it is."""

    which: Occurrence
    certainty: Certainty


class _Surroundings(NamedTuple):
    """The sentence around a date as tokens: before it, after it, and its preposition."""

    before: list[str]
    after: list[str]
    cue: str
    initial: bool
    """The date comes first in its clause."""
    opens: bool
    """The date starts a period ("from 21 December")."""
    arranged: bool
    """The words before it say that something has that time ("rescheduled: 12 April", "tickets for 8 May")."""


def implied(passage: Passage, span: tuple[int, int]) -> Implied:
    """Return which occurrence a date without a year, or a weekday, means.

    "near" is the closest one, for the start of a period in the present tense ("we are closed from 21
    December") and for questions in the present tense. An open date has "past", for callers that need some
    window.
    """
    around = _surroundings(passage, span)
    if around.cue == "since":
        return Implied("past", "stated")
    clause = _clause(around)
    if verbs.HABITS.intersection(clause) or states_rule(clause, passage, span):
        return Implied("past", "open")
    is_weekday = _WEEKDAY_ONLY.fullmatch(passage.folded, *span)
    if not passage.asks and not is_weekday and tells_booked(_body(around), around.after, around.cue):
        return Implied("near" if around.cue == "on" else "future", "guessed")
    found = _evidence(around)
    if around.cue == "from" and not around.opens and found.kind in _NO_STRETCH:
        certainty: Certainty = "stated" if found.sure else "guessed"
        if found.tense == "future" or (found.kind in _NO_VERB and not is_weekday and not passage.asks):
            # "they are cutting hours from February", "day clinic from 1 June", "the photo from 1 June"
            return Implied("near", certainty)
        # "the photo is from Friday": where it comes from
        return Implied("past", certainty)
    return _concluded(found, around, asks=passage.asks)


def tells_past(passage: Passage, position: int) -> bool:
    """Tell whether the words before a position are a clause in the past tense without a plan."""
    found = _evidence(_surroundings(passage, (position, position)))
    return found.tense == "past" and found.before and found.sure


def tells_after(passage: Passage, span: tuple[int, int]) -> bool:
    """Tell whether a verb follows a span in the same sentence."""
    behind = _surroundings(passage, span).after
    return read_after(behind, 0, len(behind)) is not None


def _concluded(found: Evidence, around: _Surroundings, *, asks: bool) -> Implied:
    """Return the occurrence that evidence and preposition give for a date."""
    certainty: Certainty = "stated" if found.sure else "guessed"
    match found.tense:
        case "future":
            return Implied("near" if asks and not found.sure else "future", certainty)
        case "present":
            return Implied("near" if asks or around.opens else "future", certainty)
        case "past" if around.cue == "for" and found.before:
            return Implied("past", "open")
        case "past":
            return Implied("past", certainty)
        case _:
            return _without_tense(around, asks=asks)


def _without_tense(around: _Surroundings, *, asks: bool) -> Implied:
    """Return the occurrence that the preposition of a date gives."""
    if around.cue in _UNTIL:
        return Implied("future", "guessed")
    if around.opens and not around.initial and not asks:
        # "prices up, 26.50 from January"
        return Implied("near", "guessed")
    return Implied("past", "open")


def _surroundings(passage: Passage, span: tuple[int, int]) -> _Surroundings:
    """Return the sentence around a span."""
    start, end = span
    folded = passage.folded
    *earlier, own = _SENTENCE_END.split(folded[max(0, start - _REACH) : start])
    before_text = _DAY_NAME.sub("", own)
    ended = end > start and folded[end - 1] == "." and _begins_sentence(passage.text[end : end + 4])
    after_text = "" if ended else _SENTENCE_END.split(folded[end : end + _REACH], maxsplit=1)[0]
    before, after = _tokens(before_text), _tokens(after_text)
    lead = len(before)
    while lead and before[lead - 1] in _LEADING:
        lead -= 1
    if lead == len(before) and before[-1:] == ["its"] and (not after or after[0] in _NO_OBJECT):
        before[lead - 1] = "it's"
    prepositions = [word for word in before[lead:] if word in _PREPOSITIONS]
    cue = prepositions[-1] if prepositions else ""
    if "until" in prepositions or "till" in prepositions:
        cue = "until"
    initial = lead == 0 or before[lead - 1] in verbs.BOUNDARIES
    opens = cue in _OPENERS and (
        cue != "from"
        or initial
        or before[lead - 1] in OPENS_A_STRETCH
        or before[lead - 1][-1:].isdigit()
        or bool(_TO.match(folded, end) or _ONWARDS.match(folded, end))
    )
    is_for = cue == "for" and before[lead - 1 : lead] and before[lead - 1] in verbs.APPOINTMENTS
    behind = read_after(after, 0, len(_until_boundary(after)))
    is_told = behind is not None and behind.tense == "past" and behind.sure
    arranged = is_for or (not is_told and _tells_arranged(before, _tokens(earlier[-1]) if earlier else []))
    return _Surroundings(before, after, cue, initial, opens, arranged and not passage.asks)


def _tells_arranged(before: list[str], earlier: list[str]) -> bool:
    """Tell whether the clause that ends where the date's clause begins gives something a time."""
    start = len(before)
    while start and (before[start - 1] in _LEADING or before[start - 1] in _NEW):
        start -= 1
    if start and before[start - 1] not in _MARKS:
        return False
    clause = _until_boundary(reversed(before[: start - 1] if start else earlier))
    at = next((at for at, word in enumerate(clause) if word not in verbs.BEHIND_ARRANGED), len(clause))
    verb, subject = ([*clause[at:], "", ""])[:2]
    if verb == "confirmed" and subject in verbs.PAID:
        return False
    alone = verb in verbs.BY_ONESELF and subject in verbs.SUBJECTS and subject != "it" and "it" not in clause
    return verb in verbs.ARRANGED and not alone


def _tokens(text: str) -> list[str]:
    """Return the words of a text, with the apostrophes that were left out, and the marks between clauses."""
    return spelt_words(_TOKEN.findall(text))


def _begins_sentence(text: str) -> bool:
    """Tell whether a full stop is followed by nothing or by a capitalised word."""
    return not text.strip() or text.lstrip()[:1].isupper()


def _clause(around: _Surroundings) -> list[str]:
    """Return the tokens of the clause of the date, without those that introduce it."""
    return [*_until_boundary(reversed(_body(around)))[::-1], *_until_boundary(_behind(around))]


def _body(around: _Surroundings) -> list[str]:
    """Return the tokens before the date, without the words that introduce it."""
    last = len(around.before)
    while last and around.before[last - 1] in _LEADING:
        last -= 1
    return around.before[:last]


def _behind(around: _Surroundings) -> list[str]:
    """Return the tokens after the date, without a comma directly after it."""
    first = 0
    while first < len(around.after) and around.after[first] in (",", ":", ")"):
        first += 1
    return around.after[first:]


def _until_boundary(words: Iterable[str]) -> list[str]:
    """Return the words up to the first token that separates clauses."""
    found: list[str] = []
    for word in words:
        if word in verbs.BOUNDARIES:
            break
        found.append(word)
    return found


def _evidence(around: _Surroundings) -> Evidence:
    """Return the evidence of the clause of the date, else of the rest of its sentence, else of its nouns."""
    if around.arranged or around.before[-2:] in _ABOUT:
        return Evidence("future", sure=False)
    body, behind = _body(around), _behind(around)
    low = len(body) - len(_until_boundary(reversed(body)))
    high = len(_until_boundary(behind))
    own, rest = (
        (((behind, 0, len(behind), False),), ((body, 0, len(body), True),))
        if around.initial
        else (
            ((body, low, len(body), True), (behind, 0, high, False)),
            ((body, 0, low, True), (behind, high, len(behind), False)),
        )
    )
    found = _first(own, around.cue)
    if found and _is_note(around, body[low:], found):
        return Evidence("future", sure=False)
    if found:
        return found
    found = _first(rest, around.cue)
    if found and found.tense == "past" and around.cue in _UNTIL:
        # "the cinema failed its inspection, shut until March"
        return Evidence("future", sure=False)
    if found and found.tense == "past" and around.cue == "from":
        # "the rota changed, Fridays too from October"
        return _UNKNOWN
    return found or _announced(body, behind)


def _is_note(around: _Surroundings, clause: list[str], found: Evidence) -> bool:
    """Tell whether the verb found after a date is a note, so that the word before the date is not a command.

    "Update 3 June: the fix works" dates the update and not the fix; "Call Bob on Friday, he said it was
    urgent" has an object, so it is a command.
    """
    if found.before or around.after[:1] not in ([","], [":"]) or verbs.NAMES_TOO.isdisjoint(clause[:1]):
        return False
    has_object = len(clause) > 1 and clause[1] not in verbs.NO_VERBS
    return found.tense != "past" or (has_object and around.after[0] == ",")


def _first(steps: Iterable[tuple[list[str], int, int, bool]], cue: str) -> Evidence | None:
    """Return the first sure evidence, else the first evidence."""
    best: Evidence | None = None
    for words, first, last, is_before in steps:
        found = read_before(words, first, last, cue) if is_before else read_after(words, first, last)
        if found and (found.sure or found.tense == "unknown"):
            return found
        best = best or found
    return best


def _announced(body: list[str], behind: list[str]) -> Evidence:
    """Return the evidence of the nouns of a sentence without a verb: future in "Dentist on 2 April"."""
    if (body and body[0] in verbs.JUDGEMENTS) or not verbs.LOOK_BACK.isdisjoint(body):
        return _UNKNOWN
    near = (*body[-_NOUNS:], *behind[:_NOUNS])
    is_new = any(
        "new" in (one, two) and then in verbs.NEW_TIMES
        for one, two, then in zip(("", *near), near, near[1:], strict=False)
    )
    if verbs.APPOINTMENTS.isdisjoint(near) and verbs.ABSENT.isdisjoint(body[-1:]) and not is_new:
        return _UNKNOWN
    return Evidence("future", sure=False, kind="noun")
