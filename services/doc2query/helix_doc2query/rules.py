"""Sentence patterns and the questions that a matching sentence answers.

The groups `x` and `y` of a rule fill its questions. `{who}` is the speaker, or whom `somebody` names if that
is another: "she loves dogs" tells nothing of the speaker. A question only helps with words that the text does
not have ("decision", "reason", "favourite"), so the templates contain such words.
`predict` applies the rules in this order to each sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

PHRASE: Final = 80
"""Longest stretch of text, in characters, that goes into a question."""

_X = rf"(?P<x>[^\s.,;:!?()][^.,;:!?()\n]{{1,{PHRASE}}}?)"
_Y = _X.replace("<x>", "<y>")
_SOME = r"[^.,;:!?\n]{1,60}?"
_END = (
    r"(?= because\b| since\b| so that\b| so we\b| due to\b| instead of\b| over\b| and\b| but\b| which\b"
    r"|[.,;:!?()]|$)"
)
_SOMEBODY = (
    r"\b(?P<somebody>we|i|they|he|she|team|company|board|project|service)"
    r"(?:'ve|'d| have| has| had| also| now| finally| just| both| all| always| really| usually)*+"
)
_DECIDED = (
    rf"{_SOMEBODY} (?:decided|agreed|chose|opted|elected|picked|selected|standardi[sz]ed"
    r"|settled(?= (?:on|for)))(?: to| on| for| that we| we)?(?: will| should)?"
    r"(?: use| adopt| go with| keep| pick)?"
)
_OTHERS_RULE = (
    r"\b(?=always|never|must|do |don't|make sure|should)"
    r"(?<!\bi )(?<!\bhe )(?<!\bshe )(?<! must )(?<! should )(?<! have )(?<!'ve )"
)
"""Before the words for a rule: what one person always or never does is none for others."""
_DATE = (
    r"(?:\d{4}-\d\d-\d\d|(?:\d{1,2}(?:st|nd|rd|th)? (?:of )?)?"
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*(?: \d{1,2}(?:st|nd|rd|th)?)?(?:,? \d{4})?"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|\d{1,2}(?::\d\d)? ?[ap]m|\d\d:\d\d|[12]\d{3})"
)
_ERROR = (
    r"(?-i:\b(?:[A-Za-z_.]{0,60}[A-Za-z](?:Error|Exception)\b|[A-Z]{1,4}\d{3,5}\b|ERR_[A-Z_]{2,40}"
    r"|HTTP [45]\d\d|exit (?:code|status) [1-9]\d*))"
)
_DO = (
    r"(?:please |you (?:can|must|should|need to) |first |just |simply )?(?:run|use|call|execute|type|open|set"
    r"|add|install|click|go|create|edit|start|do|press|select|make)\b"
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern for one sentence, and the questions that the sentence answers.

    `cue` is searched first: a pattern that may begin with any word would otherwise be tried at every word.
    """

    cue: re.Pattern[str] | None
    pattern: re.Pattern[str]
    questions: tuple[str, ...]
    defines: bool = False
    """Whether the sentence says what `x` is."""


def _rule(pattern: str, *questions: str) -> Rule:
    return Rule(None, re.compile(pattern, re.IGNORECASE), questions)


def _between(cue: str, *questions: str) -> Rule:
    """A rule for "x cue y"."""
    pattern = re.compile(rf"\b{_X} (?:{cue}) {_Y}{_END}", re.IGNORECASE)
    return Rule(re.compile(rf" (?:{cue}) ", re.IGNORECASE), pattern, questions)


_DECISIONS = (
    _rule(
        rf"{_DECIDED} {_X}(?: for {_Y}){_END}",
        "what was the decision about {y}",
        "which choice was made for {y} and what was the reason",
        "what is used for {y}",
    ),
    _rule(rf"{_DECIDED} {_X}{_END}", "what is the decision on {x}", "reason for the choice of {x}"),
    _rule(
        rf"\b(?:decision|conclusion|agreed|resolution): ?{_X}{_END}",
        "what did we decide on {x}",
        "what was chosen: {x}",
    ),
    _rule(
        rf"{_SOMEBODY} (?:switched|migrated|moved|upgraded|changed|ported|converted)(?: {_Y})? from {_SOME}"
        rf" to {_X}{_END}",
        "what replaced the old {y}",
        "migration change to {x}",
    ),
    _between("(?:was|were|is|has been|got) renamed (?:to|as)", "new name of {x}", "former old name of {y}"),
    _between(
        "replaces|replaced(?! by)|supersedes|superseded(?! by)",
        "what to use instead of {y}",
        "successor new {y}",
    ),
    _between(
        "(?:(?:will|can|must|should|has|have) )?(?:been|was|were|is|are|be|got|gets|being)(?: now)? "
        "(?:replaced|superseded) by",
        "what to use instead of {x}",
        "successor new {x}",
    ),
)

_PREFERENCES = (
    _rule(
        rf"{_SOMEBODY} (?:prefer|(?<!'d )(?:like|love|enjoy|adore))(?:s|d|ed)? {_X}{_END}",
        "what does {who} prefer: favourite favorite preference",
        "which likes and preferences does {who} have",
    ),
    _rule(
        rf"{_SOMEBODY} (?:(?:can't|cannot) stand|hates?|dislikes?|avoids?|(?:don't|doesn't) (?:like|want)) "
        rf"{_X}{_END}",
        "what does {who} dislike: hate avoid preference",
    ),
    _rule(
        rf"\b(?P<somebody>my|his|her|our|their) favou?rite {_X} (?:is|are|was) {_Y}{_END}",
        "which {x} does {who} like best: preference",
    ),
    _rule(
        rf"\b(?:i'm|i am) (?:allergic|intolerant) to {_X}{_END}",
        "what can {who} not eat: allergy dietary restriction",
    ),
    _rule(
        rf"{_OTHERS_RULE}(?:always|never|must(?: not)?|do not|don't|make sure to|should(?: not| never)?) "
        rf"(?!(?:forget|hesitate|mind|worry)\b){_X}{_END}",
        "rule convention policy: {x}",
    ),
)

_FAILURES = (
    _between(
        "(?:was|is) caused by|(?:happens|fails|failed|broke) because|comes from",
        "reason root cause why {x}",
    ),
    _rule(rf"\b(?:root )?cause(?: of {_SOME})? (?:is|was) {_X}{_END}", "why did it fail: reason problem {x}"),
    _rule(
        rf"\b(?:fixed|resolved|solved|repaired|worked around|corrected)(?: it| this| that)? by {_X}{_END}",
        "how to fix solve: solution fix workaround {x}",
    ),
    _rule(
        rf"\b(?:fixed|resolved|solved|repaired) (?!by\b){_X}{_END}", "solution resolution of the problem {x}"
    ),
    _rule(rf"(?P<x>{_ERROR})", "how to fix {x}: solution", "what causes {x}: cause reason problem failure"),
)

_PROCEDURES = (
    _rule(rf"\b(?:in order )?to {_X}, {_DO}", "how to {x}: command steps instructions"),
    _rule(
        rf"\b(?:run|execute|use|type|call) [`'\"]?{_X}[`'\"]? (?:to|in order to) {_Y}{_END}",
        "how to {y}: command steps instructions",
    ),
    _rule(rf"^(?:step \d+|first|\d+[.)])[:,]? {_X}{_END}", "steps procedure guide how to {x}"),
)

_SETTINGS = (
    _rule(
        rf"\bset(?:ting)? [`'\"]?{_X}[`'\"]? (?:to|=) {_Y}{_END}",
        "value of {x}: setting configuration option",
    ),
    _rule(
        r"(?<![\w=])(?P<x>[A-Za-z_][\w.-]{1,60}) ?(?<![=!<>])= ?(?P<y>[\w\"'./:-]{1,60})",
        "what is {x} set to: value setting configuration",
    ),
    _between(
        "defaults to|is set to|is configured (?:to|as)|listens on|runs on port|times out after|is limited to",
        "value of {x}: setting configuration default",
    ),
)

_LIVES = (
    _rule(
        r"^(?P<x>[A-Z]\w+(?: [A-Z]\w+)?) (?:said|says|asked|told|mentioned|suggested|recommended|advised) ",
        "who said it: opinion advice of {x}",
    ),
    _rule(
        rf"{_SOMEBODY} (?:work|works|worked|am working) (?:as|at|for|in) {_X}{_END}",
        "what job does {who} have: occupation employer career",
    ),
    _rule(
        rf"{_SOMEBODY} (?:(?:live|lives|lived) (?:in|at|near)|(?:moved|relocated) to) {_X}{_END}",
        "where does {who} live: home residence city address",
    ),
    _rule(
        rf"{_SOMEBODY} (?:(?:went|travell?ed|flew|drove|been) to|visited) {_X}{_END}",
        "where did {who} travel: trip visit place",
    ),
    _rule(
        rf"\bmy (?P<x>\w{{2,30}})(?:'s name is| is (?:named|called)|, named) {_Y}{_END}",
        "what is the name of the {x} of {who}",
    ),
    _rule(
        rf"\b(?:on|at|since|until|by|in|from|before|after|due) (?:the )?{_DATE}\b",
        "when did it happen: date time day",
    ),
    _rule(
        r"\b(?:yesterday|tomorrow|tonight|\d+ (?:days|weeks|months|years) ago"
        r"|(?:last|next|this) (?:week|month|year|night|weekend|summer|\w{3,6}day))\b",
        "when did it happen: date time",
    ),
)

_DEFINITIONS = tuple(
    replace(rule, defines=True)
    for rule in (
        _rule(
            r"^(?:the |an? )?(?P<x>[A-Z\"'`][^.,;:!?()\n]{1,60}?)(?: \([^()\n]{0,80}\))? (?:is|are|was|were) "
            r"(?:an?|the|one of)\b",
            "what is {x}: definition meaning",
        ),
        _between("stands for|means|refers to|is short for", "definition meaning abbreviation of {x}"),
    )
)

RULES: Final = (*_DECISIONS, *_PREFERENCES, *_FAILURES, *_PROCEDURES, *_SETTINGS, *_LIVES, *_DEFINITIONS)
