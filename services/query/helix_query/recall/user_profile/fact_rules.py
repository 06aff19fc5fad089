"""The words that announce a fact of which a person has one at a time: home, work, partner, age.

All ignore case. Every repetition is bounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from helix_shared.naming.persons import ROLE_PATTERN
from helix_shared.text.questions import SCHEDULE_ASKED

ValueForm = Literal["name", "name_or_thing", "person", "words"]

_SELF = r"(?<![\w'\u2019-])(?:i|we)(?:['\u2019](?:m|ve|re)| am| are| have|m|ve)?"
_NOW = r"(?: (?:also|now|still|just|recently|finally|currently|actually|both|mostly|already|mainly)){0,2}"
_I = _SELF + _NOW
_MY = r"(?<!\w)(?:my|our) (?P<change>new )?"
_PARTNER = r"(?:wife|husband|spouse|partner|girlfriend|boyfriend|gf|bf|fianc[\u00e9e]e?)"
_AS = r"(?: as (?:[\w'-]+ ){1,4}?| )"
_NO_STAFF = r"(?:member|customer|client|patient|regular|fan|guest|visitor|student|pupil|one|guy|girl|kid)\b"
_NO_NAME = (
    r"(?![\w-]*(?:ese|ish|ian|ean|man|ench|utch|eek|wiss|can|day|sorry|back|ok|january|february|march|april"
    r"|may|june|july|august|september|october|november|december)\b)"
)
"""Nationalities, days and months: "I'm Portuguese, from Porto" names nobody."""
_NOT = r" (?:no longer|don['\u2019]?t|do not|am not|aren['\u2019]t|not)"
_IS = r"(?:['\u2019]?s name is| is called| is|,)? (?=\S)"
_ROLE = rf"(?P<fact>{ROLE_PATTERN})"
_MOVED = (
    rf"(?:{_I}|(?:^|[.!?] )(?:just|finally|recently)) (?:moved|relocated|emigrated)"
    r"(?: yesterday| today| recently| (?:last|this|on) [a-z]+)?"
    r"(?: back| over| out| away| down| up| house| home| here)?(?: from [\w' -]{1,30}?)?"
)


@dataclass(frozen=True, slots=True)
class Rule:
    """Words with a value behind them, or in the group `value`."""

    fact: str
    """What it is a value of; the group `fact` where this is empty."""
    words: re.Pattern[str]
    value: ValueForm = "name"
    """What the value may be: names; names or a thing ("the bakery"); the person named at once; any words."""
    is_new_value: bool = False
    """Whether the words say that the value is new; a group `change` says so too."""
    may_be_long_ago: bool = False
    """Whether the words tell an event ("I moved"), which may be long ago."""
    is_ambiguous: bool = False
    """Whether the words are also said of other facts: "I moved to Vim"."""
    ends_value: bool = False
    """Whether the words say that the value holds no longer."""
    allows_others: bool = False
    """Whether another value may hold at the same time."""
    is_complete_value: bool = False
    """Whether the words give the whole value (a shift pattern), so that no other holds at the same time."""


def _rule(fact: str, words: str, value: ValueForm = "name", **flags: bool) -> Rule:
    return Rule(fact, re.compile(words, re.IGNORECASE), value, **flags)


RULES: Final = (
    _rule("name", r"(?<!\w)my (?:full |first |real )?name(?: is|['\u2019]?s) ", "person"),
    _rule("name", r"(?<!\w)(?:i['\u2019]?m called|i am called|call me) ", "person", allows_others=True),
    _rule(
        "name",
        r"(?:^|[.!?,;] )(?:(?:hi|hey|hello|good \w+)[,!]? )?(?:i['\u2019]?m|i am|this is|it['\u2019]s) "
        rf"(?P<value>{_NO_NAME}(?-i:[A-Z\u00c0-\u00de])[\w'\u2019-]{{1,20}})"
        r"(?=[,.!]|$| here\b| from\b| and i\b)",
        "words",
        allows_others=True,
    ),
    _rule(
        "name",
        r"(?:^|[.!?] )(?:hi|hey|hello|hiya|good \w+)[,!.]{0,2} (?:i['\u2019]?m|i am|this is|it['\u2019]?s) ",
        "person",
        allows_others=True,
    ),
    _rule(
        "name",
        rf"(?:^|[.!] )(?P<value>{_NO_NAME}(?-i:[A-Z\u00c0-\u00de])[\w'\u2019-]{{1,20}}) here(?=[,.!]|$)",
        "words",
        allows_others=True,
    ),
    _rule(
        "home",
        rf"{_I} (?:been )?(?:live|living|based|settled)(?: [\w'\u2019-]+){{0,4}}? (?:in|near|outside) ",
    ),
    _rule(
        "home",
        rf"{_MOVED}(?: with [\w' ]{{1,30}}?)? (?:in)?to ",
        is_new_value=True,
        may_be_long_ago=True,
        is_ambiguous=True,
    ),
    _rule("home", rf"{_MOVED} in with [\w' ]{{1,30}}? in ", is_new_value=True, may_be_long_ago=True),
    _rule("home", rf"{_MY}(?:home|flat|house|apartment|place) is (?:in|near|outside) "),
    _rule(
        "home",
        r"\b(?P<value>[\w'-]{1,30}(?: [\w'-]{1,30}){0,2}) is (?:my |our )?(?:new )?home now\b",
        is_new_value=True,
    ),
    _rule(
        "home",
        rf"{_SELF}{_NOT} (?:live|living|based)(?: [\w'\u2019-]+){{0,4}}? (?:in|near|outside) ",
        "name_or_thing",
        ends_value=True,
    ),
    _rule(
        "home", rf"{_I} moved (?:out of|away from) ", "name_or_thing", may_be_long_ago=True, ends_value=True
    ),
    _rule(
        "work",
        rf"{_I} (?:work|working|employed)(?: full[- ]time| remotely| nights| shifts)?{_AS}(?:at|for|by) ",
        "name_or_thing",
    ),
    _rule(
        "work",
        rf"{_I} (?:started|began|start)(?: work| working)?{_AS}(?:at|for|with) ",
        is_new_value=True,
        may_be_long_ago=True,
    ),
    _rule(
        "work",
        rf"{_I} (?:got|found|took|have|started|accepted)(?: an?| the| my)?(?: \w+)?"
        rf" (?:job|position|post|role){_AS}(?:at|with) ",
        "name_or_thing",
        is_new_value=True,
        may_be_long_ago=True,
    ),
    _rule(
        "work",
        rf"{_I} (?:joined|signed (?:with|for))"
        r" (?=[^;\n]{1,40} (?:as (?:an?|the|their|head|lead)|full[- ]time)\b)",
        is_new_value=True,
        may_be_long_ago=True,
    ),
    _rule(
        "work",
        rf"{_SELF} (?:now an?|now the|now their|the new)(?! (?:\w+ )?{_NO_STAFF})"
        r"(?: [\w&'-]+){1,4}? (?:at|for) ",
        is_new_value=True,
    ),
    _rule(
        "role",
        rf"{_I} (?:(?:got|was|been|getting|being) ){{1,2}}promoted to (?P<value>[^,.;:!?\n]{{3,40}})",
        "words",
        is_new_value=True,
        may_be_long_ago=True,
    ),
    _rule("work", r"(?<!\w)my new (?:job is (?:at|with)|employer is) ", "name_or_thing", is_new_value=True),
    _rule(
        "work",
        rf"{_I} (?:changed|switched) jobs\b[^;.!?\n]{{0,20}}? (?:at|with|to) ",
        is_new_value=True,
        may_be_long_ago=True,
    ),
    _rule(
        "work",
        rf"{_I} (?:quit|lost|left) my (?:\w+ )?job(?: (?:at|with))? ?",
        may_be_long_ago=True,
        ends_value=True,
    ),
    _rule("work", rf"{_I} (?:quit|resigned from) ", "name_or_thing", may_be_long_ago=True, ends_value=True),
    _rule(
        "work",
        rf"{_SELF}{_NOT} (?:work|working|employed){_AS}(?:at|for|by) ",
        "name_or_thing",
        ends_value=True,
    ),
    _rule(
        "work",
        rf"{_I} (?:(?:got|was|been|were) (?:laid off|fired|sacked|let go|made redundant)|retired)\b"
        r"(?: (?:at|by|from))? ?",
        may_be_long_ago=True,
        ends_value=True,
    ),
    _rule("partner", rf"{_MY}{_PARTNER}{_IS}", "person"),
    _rule("partner", rf"{_I} (?:married|engaged) to ", "person"),
    _rule("partner", rf"{_I} (?:dating|going out with) ", "person"),
    _rule("partner", rf"{_I} (?P<value>single)(?![\w-])", "words"),
    _rule("partner", rf"(?<!\w)my (?:ex|late)[- ](?:{_PARTNER},? )?", "person", ends_value=True),
    _rule(
        "partner", rf"{_I} (?:broke|broken|split) up with ", "person", may_be_long_ago=True, ends_value=True
    ),
    _rule(
        "status", rf"{_I} (?:got )?(?P<value>single|engaged|married|divorced|widowed)(?![\w-]| in\b)", "words"
    ),
    _rule("", rf"{_MY}{_ROLE}{_IS}", "person"),
    _rule(
        "", rf"^(?:the )?(?P<change>new) {_ROLE} is (?:called )?(?=[\w.' -]{{2,30}}(?:[.,!(]|$))", "person"
    ),
    _rule("", rf"\bwho(?:['\u2019]s| is) your (?:new |current )?{_ROLE}\? ", "person"),
    _rule("schedule", rf"{SCHEDULE_ASKED} (?P<value>[^.;!?\n]{{3,60}})", "words", is_complete_value=True),
    _rule(
        "age",
        rf"{_I} turned (?P<value>1[5-9]|[2-9]\d)(?= (?:yesterday|today|last|this|on|in)\b)",
        "words",
    ),
    _rule(
        "age",
        rf"{_I} (?:turned )?(?P<value>1[5-9]|[2-9]\d)(?= years old|[,.!]| now\b| and\b|$)",
        "words",
    ),
    _rule(
        "",
        r"(?<!\w)(?:my|our) (?:home |(?P<change>new ))?"
        r"(?P<fact>address|phone|(?:phone |mobile |cell )?number|mobile|cell|e-?mail|e-?mail address)"
        r"(?: is|['\u2019]s)(?: now)? (?P<value>(?=[^;\n]{0,59}[\d@])[^;\n]{3,60})",
        "words",
    ),
)
ANY_RULE: Final = re.compile(
    r"\b(?:names?|call|called|i['\u2019]?m|i am|this is|it['\u2019]s|here"
    r"|live|living|based|settled|moved|relocated|emigrated|home|flat|house|apartment|place|work|working|employed"
    r"|started|began|start|job|position|post|role|joined|(?:wife|husband|spouse|partner|girlfriend|boyfriend)s?|gf|bf"
    r"|fianc\w+|married|engaged|dating|going|single|ex|late|broke|broken|split|divorced|widowed|boss|landlord|landlady"
    r"|dentist|therapist|gp|supervisor|laid|fired|sacked|let|redundant|retired|quit|resigned|employer|jobs|address|phone|number|mobile|cell|promoted|signed|now|new|e-?mail|1[5-9]|[2-9]\d)\b"
    rf"|{SCHEDULE_ASKED}",
    re.IGNORECASE,
)
"""A sentence without any of these words has no value of the rules: one search costs far less than all."""
