"""The tense of a few words: reads tokens before a date right to left, and tokens after it left to right.

Each token costs a bounded number of look-ups, so the cost is linear in the number of tokens. `tense` splits a
sentence into tokens and decides what their tense means for the date.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from helix_shared.timex import verbs

_AUXILIARY_REACH: Final = 3
_BASE_REACH: Final = 5
_SUBJECT_REACH: Final = 3
_SHORTEST_ED: Final = 4
_PLANNING_CUES = frozenset(["for", "to", "until"])
_ARTICLES = frozenset(["a", "an", "the", "my", "our", "your", "his", "her", "their", "this", "that", "its"])
_POSSESSIVES = _ARTICLES - {"a", "an", "the", "this", "that", "its"}
_OBJECTS = _ARTICLES - {"this", "that"} | {"me", "us", "him", "them"}
_ONE_OBJECT = [[word] for word in sorted(_ARTICLES | _OBJECTS)]
_COUNTING = _ARTICLES | {"of", "some", "two", "three", "these", "those"}
_BRIEF = {"m": "is", "re": "is", "ve": "has", "ll": "will", "d": "would"}
_BEFORE_ORDERS = frozenset([",", ":", "-", "\u2013", "\u2014", "please", "said", "says"])
_NO_ACTORS = verbs.NO_VERBS | _BEFORE_ORDERS
_OVERRULED, _HAS_GONE = ("base", "helper"), frozenset(["been", "gone", "had"])


class Evidence(NamedTuple):
    """Evidence of a tense.

    `sure`: a verb form shows it. `kind`: an auxiliary ("is", "will"), a full verb, the base form of a verb, a
    "have" or "do" that may belong to an auxiliary before it, a plan ("decided to"), a noun, or words that
    could mean either tense.
    """

    tense: Literal["past", "present", "future", "unknown"]
    sure: bool = True
    kind: Literal["auxiliary", "verb", "base", "helper", "plan", "noun", "ambiguous"] = "verb"
    before: bool = True
    """It comes before the date."""


_PAST = Evidence("past")
_DID = Evidence("past", kind="auxiliary")
_IS = Evidence("present", kind="auxiliary")
_WILL = Evidence("future", kind="auxiliary")
_PLAN = Evidence("future", kind="plan")
_ORDER = Evidence("future")
_NAME_OR_ORDER = Evidence("future", sure=False, kind="base")
_DOES = Evidence("present", kind="base")
_HAS_TO = Evidence("future", kind="helper")
_IT_IS_OURS = Evidence("present", sure=False, kind="auxiliary")
_EITHER = Evidence("unknown", sure=False, kind="ambiguous")
_FORMS = (
    dict.fromkeys(verbs.PRESENT_BE, "is")
    | dict.fromkeys(verbs.PAST_BE, "was")
    | dict.fromkeys(verbs.HAVE, "has")
    | {"had": "had", "hadn't": "had", "be": "be", "get": "be"}
)
_FORMS_TELL: Final[dict[str, Evidence]] = {
    "will": _WILL,
    "would": Evidence("future", sure=False, kind="auxiliary"),
    "has": Evidence("present", kind="helper"),
    "had": _DID,
    "was": _DID,
}
_AUXILIARIES: Final[dict[str, Evidence]] = (
    dict.fromkeys(verbs.FUTURE, _WILL)
    | dict.fromkeys(verbs.DO, _IS)
    | dict.fromkeys(("did", "didn't", "couldn't"), _DID)
    | {"need": _HAS_TO, "do": Evidence("present", kind="helper")}
)


def read_before(words: list[str], low: int, high: int, cue: str) -> Evidence | None:
    """Return the evidence of `words[low:high]`, last word first; `cue` is the date's preposition."""
    bare: Evidence | None = None
    reach = low
    for at in range(high - 1, low - 1, -1):
        if bare and at < reach:
            break
        found = _judged(words, at, cue)
        if found is None:
            continue
        if found.kind in _OVERRULED:
            bare, reach = bare or found, max(reach, at - _BASE_REACH)
        elif bare is None or found.kind in ("auxiliary", "plan"):
            return found
    return bare


def read_after(words: list[str], low: int, high: int) -> Evidence | None:
    """Return the evidence of `words[low:high]`, first word first."""
    bare: Evidence | None = None
    reach = high
    for at in range(low, high):
        if bare and at > reach:
            break
        found = _judged(words, at, "")
        if found is None:
            continue
        if found.kind in _OVERRULED:
            bare, reach = bare or found, min(reach, at + _SUBJECT_REACH)
        else:
            return found._replace(before=False)
    return bare._replace(before=False) if bare else None


def _judged(words: list[str], at: int, cue: str) -> Evidence | None:
    """Return the evidence of one token and the few around it."""
    word = words[at]
    opens = at == 0 or words[at - 1] in _BEFORE_ORDERS
    if word in verbs.KNOWING and not opens:
        return _WILL if words[at - 1] == "don't" else _EITHER
    found = _auxiliary(words, at, opens=opens)
    if found is None and opens and word in verbs.ORDERS:
        return _ORDER if _is_plain_order(words, at) else _NAME_OR_ORDER
    return found or _full_verb(words, at, cue)


def _is_plain_order(words: list[str], at: int) -> bool:
    """Tell whether the word that opens a clause is a verb: "call me", but not "book club"."""
    is_asked = at > 0 and words[at - 1] == "please"
    return words[at] not in verbs.NAMES_TOO or is_asked or words[at + 1 : at + 2] in _ONE_OBJECT


def _full_verb(words: list[str], at: int, cue: str) -> Evidence | None:
    """Return the evidence of a token that is not an auxiliary verb."""
    word = words[at]
    if word in verbs.PLANNED_TO and _is_planned(words, at):
        found: Evidence | None = Evidence("future", sure=not _is_past(word), kind="plan")
    elif word in verbs.LOOKS_AHEAD:
        found = _looks_ahead(words, at)
    elif _is_past(word) or word in verbs.SAME_IN_PAST:
        found = _past(words, at, cue)
    elif word.endswith("ing") and word not in verbs.NO_ING:
        found = _progressive(words, at)
    elif word in verbs.SCHEDULED:
        found = _scheduled(words, at)
    elif word in verbs.SUBJECTS:
        found = _subject(words, at)
    else:
        found = Evidence("present", sure=False) if _takes_object(words, at) else None
    return found


def _auxiliary(words: list[str], at: int, *, opens: bool) -> Evidence | None:
    """Return the evidence of a modal or auxiliary verb."""
    word, form = words[at], _form(words, at)
    if form == "is":
        subject = "it" if word == "it's" else words[at - 1] if at else ""
        if subject != "it" or words[at + 1 :] in ([], ["now"]):
            return _IS
        # "it is cold in January" means every January, "it's our party" one day
        return _IT_IS_OURS if words[at + 1] in _POSSESSIVES else _EITHER
    if form == "has" and words[at + 1 : at + 2] == ["to"]:
        return _HAS_TO
    if (opens and word == "don't") or (word == "may" and at and words[at - 1] not in _NO_ACTORS):
        return _WILL
    if word == "do" and at and words[at - 1] in verbs.SUBJECTS:
        return _DOES
    return _AUXILIARIES.get(word) or _FORMS_TELL.get(form)


def _form(words: list[str], at: int) -> str:
    """Return the auxiliary that a token is or ends with ("is", "was", "has", "had", "be", "will"), or ""."""
    word = words[at]
    if word in _FORMS:
        return _FORMS[word]
    base, _, ending = word.partition("'")
    if ending == "s":
        # a genitive, unless next to a pronoun or the date's preposition
        return "is" if base in verbs.IS_BEHIND or at + 1 == len(words) else ""
    return _BRIEF.get(ending, "")


def _helping(words: list[str], at: int) -> str:
    """Return the auxiliary of a participle; it is at most three tokens before it."""
    for place in range(at - 1, max(-1, at - 1 - _AUXILIARY_REACH), -1):
        word = words[place]
        if word in verbs.BOUNDARIES or word in ("a", "an"):
            return ""
        if form := _form(words, place):
            return form
        if word in verbs.SUBJECTS:
            return _form(words, place - 1) if place else ""
    return ""


def _is_past(word: str) -> bool:
    """Tell whether a word has a past form."""
    if word in verbs.PAST:
        return True
    return len(word) >= _SHORTEST_ED and word.endswith("ed") and word not in verbs.NOT_PAST


def _is_planned(words: list[str], at: int) -> bool:
    """Tell whether "to" and a verb follow ("decided to launch", "asked me to call")."""
    following = words[at + 1 : at + 4]
    if following[:1] == ["to"]:
        return len(following) > 1 and following[1] not in _ARTICLES
    return following[1:2] == ["to"] and _is_past(words[at]) and len(following) > 2  # noqa: PLR2004 a verb


def _looks_ahead(words: list[str], at: int) -> Evidence | None:
    """Return the evidence of "due", "deadline" and "upcoming"."""
    word = words[at]
    if word == "due":
        if words[at + 1 : at + 2] == ["to"]:
            return None
        return _EITHER if _helping(words, at) == "was" else _WILL
    if word == "coming":
        return _PAST if _helping(words, at) == "was" else _WILL
    return Evidence("future", sure=False, kind="noun")


def _past(words: list[str], at: int, cue: str) -> Evidence | None:
    """Return the evidence of a past form or participle."""
    word, helping = words[at], _helping(words, at)
    if cue in _PLANNING_CUES and word in verbs.PLANNED_FOR:
        found: Evidence | None = _PLAN
    elif cue == "by" and word in verbs.PLANNED_BY:
        found = Evidence("future", sure=False, kind="plan")
    elif helping in ("be", "will") or (at and words[at - 1] == "to"):
        found = None
    elif helping == "is":
        found = _PAST if word in _HAS_GONE else _IS
    elif helping == "has":
        found = _IS if word == "got" else _perfect(words, at)
    elif word in verbs.PLACED_ON or _is_notice(words, at):
        found = _EITHER
    else:
        found = _put(words, at) if word in verbs.SAME_IN_PAST else _PAST
    return found


def _is_notice(words: list[str], at: int) -> bool:
    """Tell whether the last word of some says that something is off ("town hall closed on the 12th")."""
    is_last = words[at] in verbs.PUT_OFF and at + 1 == len(words)
    return is_last and not (at and words[at - 1] in verbs.SUBJECTS)


def _perfect(words: list[str], at: int) -> Evidence:
    """Return the evidence of "has finished": the past, but not in "will have finished"."""
    if "will" in words[max(0, at - _BASE_REACH) : at]:
        return _WILL
    return _EITHER if words[at] in verbs.PLACED_ON else _PAST


def _put(words: list[str], at: int) -> Evidence | None:
    """Return the evidence of a verb whose present and past form are the same."""
    if not at or (subject := words[at - 1]) in _COUNTING:
        return None
    return Evidence("past", sure=subject not in ("i", "we", "they", "you"))


def _progressive(words: list[str], at: int) -> Evidence | None:
    """Return the evidence of a word on "-ing": future in "we are flying", past in "we were flying"."""
    helping = _helping(words, at)
    if helping == "is":
        return _WILL
    if helping == "was":
        return _PAST
    # "starting on the 16th", "Marta's starting on the 16th", but not "Marta's coaching session"
    opens = at == 0 or (words[at - 1].endswith("'s") and words[at] not in verbs.NOUNS_ON_ING)
    is_verb = at == 0 or words[at + 1 :] == [] or words[at + 1] in verbs.NO_VERBS
    return Evidence("future", sure=False) if opens and is_verb else None


def _scheduled(words: list[str], at: int) -> Evidence | None:
    """Return the evidence of a verb used for timetables."""
    if at and (words[at - 1] == "to" or words[at - 1] in _COUNTING):
        return None
    return Evidence("present", kind="verb" if words[at].endswith("s") else "base")


def _takes_object(words: list[str], at: int) -> bool:
    """Tell whether a word looks like a verb of the third person and its object ("gets his results")."""
    word, before = words[at], words[at - 1] if at else "the"
    is_form = len(word) >= _SHORTEST_ED and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return is_form and words[at + 1 : at + 2] != [] and words[at + 1] in _OBJECTS and before not in _COUNTING


def _subject(words: list[str], at: int) -> Evidence | None:
    """Return the present tense of a pronoun followed by a verb ("I work")."""
    word = words[at]
    if word in ("you", "it") and at and words[at - 1] not in verbs.BOUNDARIES:
        return None
    place = at + 1
    while place < min(len(words), at + 3) and (words[place] in verbs.ADVERBS or words[place].endswith("ly")):
        place += 1
    verb = words[place] if place < len(words) else ""
    if not verb or verb in verbs.NO_VERBS or verb in verbs.BOUNDARIES or verb in verbs.SUBJECTS:
        return None
    if _is_past(verb) or verb in verbs.FUTURE or verb in verbs.DO or _form(words, place):
        return None
    if word == "it" and verb not in verbs.SCHEDULED:
        return _EITHER
    return Evidence("present", sure=verb in verbs.SCHEDULED, kind="base")
