"""Whether a question is about what was, not about what holds: by its tense, and by words of earlier times.

The tense of the first finite verb decides, so no list of phrases has to know the question. Words such as
"previous" or "originally" say that something else held before; they are read in every tense where they stand
beside the thing that is asked for. A question that is misread loses little: what was replaced becomes a
candidate, and links between memories count less, or the other way round; nothing is left out.
"""

from __future__ import annotations

import re
from typing import Final

from helix_query.profile.past import Past
from helix_query.recall.query_text import read_query
from helix_query.recall.routing.rules import is_question
from helix_shared.timex import verbs

_TOKEN: Final = re.compile(r"[^\W_]+(?:'[^\W\d_]+)?")
_PRESENT: Final = (
    verbs.PRESENT_BE
    | verbs.HAVE
    | verbs.DO
    | verbs.FUTURE
    | {
        "can",
        "can't",
        "may",
        "might",
        "must",
        "mustn't",
        "shall",
        "should",
        "could",
        "would",
        "needs",
        "need",
    }
)
_PAST: Final = verbs.PAST_BE | {"did", "didn't", "had", "hadn't", "used"}
_IS: Final = frozenset(["what's", "who's", "where's", "when's", "how's", "which's", "that's", "it's"])
_SHORTEST_ED: Final = 4
_NOUNS_IN_ED: Final = frozenset(
    ["bed", "seed", "speed", "need", "feed", "breed", "shed", "weed", "hundred", "red"]
)
_NOW: Final = re.compile(
    r"(?<!until )(?<!till )(?<!before )(?<!up to )\b(?:current(?:ly)?|now|nowadays|at the moment|these days|"
    r"still|today|any ?more|any longer|at present|presently|by now|as of (?:now|today)|up[- ]to[- ]date|"
    r"latest|newest|in the end|atm)\b"
)

_CHANGE: Final = (
    r"(?:chang|mov|switch|swap|evolv|develop|shift|postpon|reschedul|rebook|renam|migrat|revert|updat|replac|"
    r"rais|lower|increas|decreas|cancel|abandon|adjust|revis|relocat|transfer)(?:e|es|ed|d|s|ing)?\b"
)
_ENDS: Final = (
    r"(?:stop|stopped|quit|give up|gave up|given up|drop|dropped|leave|left|go up|went up|gone up|go down|"
    r"went down|gone down|get rid of|got rid of|push(?:ed)? back|call(?:ed)? off|put off|turn(?:ed)? into|"
    r"take over|took over|bring forward|brought forward|become|became)\b"
)
_CHANGES: Final = re.compile(
    r"\bhow (?:often|many times) (?:has|have|did|was|were)\b"
    rf"|\b(?:has|have|had|did) [^?]{{1,80}}?\b(?:{_CHANGE}|(?:gone|go|went) (?:up|down)\b)"
    r"|\bsince when\b|\b(?:was|were) [^?]{1,60}? always\b|\bchanges? (?:was|were|has|have|did)\b"
    r"|\bhow (?!do |does |to |can |could |should |would |will )[^?]{1,60}? (?:changed|evolved|developed)\b"
    r"|\b(?:when|why|how|since when|how long ago) (?:did|was|were|has|have|had) [^?]{1,80}?"
    rf"\b(?:{_CHANGE}|{_ENDS})"
    rf"|\bwhat (?:has |have |had )?(?:been )?(?:changed|moved|is different|was different)\b"
    rf"|\b(?:was|were) [^?]{{1,60}}? (?:different|another) (?:before|earlier|then)\b"
    r"|\bover time\b|\bhistory of\b|\bover the (?:years|months|weeks)\b"
    r"|\b(?:all|every) \w+ [^?]{0,60}?\bin order\b|\ball the (?:versions|changes)\b"
    r"|\b(?:has|have|had) [^?]{1,60}? (?:ever|always) been\b"
)
_CHANGED_FROM: Final = re.compile(rf"\b{_CHANGE}(?: [\w']{{1,30}}){{0,3}} from\W*$")

_ASKS_WHAT: Final = re.compile(
    r"^\W*(?:\w+ ){0,2}(?:when (?:was|were)|what|which|who|whom|where|how (?:much|many|long|big|far|high))\b"
)
_SUPPOSED: Final = re.compile(r"\b(?:was|were) (?:[\w']{1,30} ){0,6}?(?:supposed|meant) to\b")
_BEFORE: Final = re.compile(
    r"\b(?:did|was|were|had)\b[^?]{1,120}? (?:before|prior to|previously|formerly|use(?:d)? to)\b"
)

_WHOSE: Final = r"(?:the|my|our|your|his|her|their|its|that|this|whose|a|an|[^\W_]{1,40}(?:'s|s'))"
_BEFORE_IT: Final = r"(?:old|previous|former|prior|earlier|past|one-time|erstwhile|outgoing|preceding)"
_AT_FIRST: Final = r"(?:original|initial|very first)"
_NOT_OLD: Final = (
    r"(?! (?:friends?|man|men|woman|women|lady|ladies|people|folks?|town|city|age|enough|and|or|is|was|"
    r"the|a|an|my|our|your|his|her|their|its|this|that|to|noon|midnight|tense|\d+|"
    r"e?mails|messages|notes|chats|conversations|meetings|calls|photos|posts|events|tickets)\b)"
)
_FORMER_THING: Final = re.compile(
    rf"\b{_WHOSE} {_BEFORE_IT}\b{_NOT_OLD} \w"
    r"|\bex-(?!(?:parte|post|ante|officio|gratia|factory|works|libris|dividend|vivo|situ|voto)\b)\w"
)
_FIRST_THING: Final = re.compile(rf"\b{_WHOSE} {_AT_FIRST}\b{_NOT_OLD} \w")
_FORMER_NOTE: Final = re.compile(rf"^(?:{_WHOSE} )?{_BEFORE_IT}\b{_NOT_OLD} \w")
_FIRST_NOTE: Final = re.compile(rf"^(?:{_WHOSE} )?{_AT_FIRST}\b \w")
_CHANGES_NOTE: Final = re.compile(r"^(?:the )?(?:history|evolution|timeline|changes) (?:of|to|in)\b")
_NOTE_WORDS: Final = 9
_ASKS_FOR_THING: Final = re.compile(
    rf"\b(?:what|which|who|whom)(?:'s| is| are| was| were|) (?:{_WHOSE} )?(?:[^\W_]{{1,40}}'s )?"
    rf"(?:{_BEFORE_IT}|{_AT_FIRST}|ex)\b"
)
"""The thing asked for is a former one, whatever the tense: "what's the old code"."""
_DEMAND: Final = re.compile(
    r"^\W*(?:(?:can|could|would|will) you |please |hey |ok |so )*"
    r"(?:(?:tell|give|remind|show|send|find|get|look up|recall|name|list) |"
    r"do you (?:remember|recall|know|have) |i (?:need|want|would like|am looking for) |i'm looking for )"
)
_FORMER: Final = re.compile(
    r"\b(?:use(?:d)? to|formerly|previously|prior to|before|until|till|up (?:to|until) (?:then|now|that)|"
    r"earlier on|no longer)\b"
    r"|\b(?:was|were|wasn't|weren't|had been) (?:[\w']{1,30} ){0,6}?(?:supposed|meant|intended|going|"
    r"planning|planned|scheduled|due|expecting|hoping) (?:to|for)\b"
    r"|\binstead of (?:what|which|whom)\b"
)
_FIRST: Final = re.compile(
    r"\b(?:original(?:ly)?|initial(?:ly)?|at first|to begin with|to start with|in the first place|"
    r"(?:at|in) the (?:very )?(?:beginning|start|outset))\b"
    rf"|\b{_WHOSE} (?:very )?first (?!times?\b|days?\b|weeks?\b|months?\b|years?\b|thing\b|half\b|floor\b|"
    r"aid\b|to\b|of\b|and\b|or\b)\w"
)
_EARLIER: Final = re.compile(
    r"\b(?:earlier|at the time|at that (?:time|point)|in those days|in the (?:old days|past)|"
    r"back (?:then|when|in)|first|once|ever|for a while|then|in the meantime|those days)\b"
)


_SURELY_FORMER: Final = re.compile(
    rf"\b(?:originally|initially)\b|\b(?:before|previously|formerly)\W*$|{_CHANGED_FROM.pattern}|{_FORMER_THING.pattern}|{_FIRST_THING.pattern}"
    rf"|{_FORMER_NOTE.pattern}|{_FIRST_NOTE.pattern}"
)
_ACTS: Final = re.compile(
    r"^\W*(?:(?:and|so|but) )?(?:what |which (?:\w{1,30} )?)?did [\w']{1,30} "
    r"(?:develop|raise|update|adjust|revise|cancel|transfer)\b"
    r"|\braised? (?:[\w']{1,30} )?(?:questions?|points?|issues?|concerns?|hands?|kids?|children|"
    r"money|funds)\b"
    r"|\bdrop(?:ped)? (?:[\w']{1,30} ){0,2}(?:kids?|children|off)\b"
    r"|\bdid (?:i|we|you|he|she|they) (?:move (?:to|in|into|out|here|there)\b|cancel\W*$)"
)
"""What somebody did once, in words that else tell of a change of a value."""
_BEFORE_AN_EVENT: Final = re.compile(
    r"\bbefore (?=(?:breakfast|lunch|dinner|supper|bed|noon|midnight|work|school)\b)"
    r"|(?<=[\w,] )before (?!(?:i|we|you|he|she|it|they|the (?:new|move|change|switch))\b)"
    r"(?=(?:[\w']{1,30} ?){1,3}\W*$)"
)
_ONCE: Final = re.compile(
    r"\bdid (?:[\w']{1,30} ){1,3}?(?:say|tell|mention|ask|promise|discuss|leave|eat|lose)\b"
)
"""Who says or leaves a thing before an event does so once: no other value holds since."""


def asks_for_former(query: str) -> bool:
    """Whether words of a question about the past surely ask for a former or a first thing."""
    return _SURELY_FORMER.search(read_query(query).lower()) is not None


def past_of(query: str) -> Past:
    """How a query speaks of the past."""
    folded = read_query(query).lower()
    return _of_question(folded) if is_question(query) else _of_note(folded)


def _of_question(folded: str) -> Past:
    if _ONCE.search(folded):
        folded = _BEFORE_AN_EVENT.sub("by ", folded)
    is_past = _is_past(_TOKEN.findall(folded))
    found = _of_strong_words(folded)
    asks_before = _ASKS_WHAT.search(folded) and _BEFORE.search(folded)
    if _CHANGED_FROM.search(folded) or _SUPPOSED.search(folded) or asks_before:
        found = Past.FORMER
    elif _CHANGES.search(folded) and not _ACTS.search(folded):
        found = Past.CHANGES
    elif not _NOW.search(folded):
        found = _first_of(_former_thing(folded), found)
        if is_past:
            words = ((_FIRST, Past.FIRST), (_FORMER, Past.FORMER), (_EARLIER, Past.SAID))
            said = (past for pattern, past in words if pattern.search(folded))
            found = _first_of(found, next(said, Past.TENSE))
        else:
            found = _first_of(found, _of_note(folded.rstrip("? ")))
    return found


def _first_of(found: Past, other: Past) -> Past:
    return other if found is Past.NO else found


def _of_note(folded: str) -> Past:
    """Of a few words that begin with "old", "previous" ..., and of a short demand for such a thing."""
    if folded.count(" ") >= _NOTE_WORDS or folded.endswith("."):
        return Past.NO
    notes = (
        (_FIRST_NOTE, Past.FIRST),
        (_FORMER_NOTE, Past.FORMER),
        (_CHANGES_NOTE, Past.CHANGES),
    )
    return next((past for pattern, past in notes if pattern.search(folded)), _former_thing(folded))


def _of_strong_words(folded: str) -> Past:
    """Of a question in the present tense, or with a word for now."""
    if "originally" in folded:
        return Past.FIRST
    return Past.FORMER if "used to " in folded else Past.NO


def _former_thing(folded: str) -> Past:
    """Whether it asks for a former thing; in the present tense only where nothing else is asked of it.

    "What is the old code" asks for it, "where is the old sofa" for something else about it.
    """
    asked = _ASKS_FOR_THING.search(folded) or _DEMAND.search(folded)
    if not (asked or _is_past(_TOKEN.findall(folded))):
        return Past.NO
    if _FIRST_THING.search(folded):
        return Past.FIRST
    return Past.FORMER if _FORMER_THING.search(folded) else Past.NO


def _is_past(words: list[str]) -> bool:
    """Whether the first finite verb is in the past tense."""
    for word in words:
        if word in _PRESENT or word in _IS:
            return False
        if word in _PAST or word in verbs.PAST or _ends_in_ed(word):
            return True
    return False


def _ends_in_ed(word: str) -> bool:
    is_long = len(word) > _SHORTEST_ED and word.endswith("ed")
    return is_long and word not in verbs.NOT_PAST and word not in _NOUNS_IN_ED
