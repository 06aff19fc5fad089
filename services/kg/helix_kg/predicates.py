"""The verbs of each predicate, and which side of a verb is the subject of the predicate."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Rule:
    """A verb phrase between two names."""

    predicate: str
    """One of `helix_memory.vocabulary.predicates.PREDICATES`."""
    verb: re.Pattern[str]
    reversed: bool = False
    """Whether the name behind the verb is the subject: the passive voice, or the inverse verb."""
    behind: re.Pattern[str] | None = None
    """What must end where the name before the verb begins, if that matters."""
    active: bool = False
    """Whether the verb is also the participle of a passive, which says nothing about the name behind it."""
    beside: bool = False
    """Whether the name must stand just behind: in "my boss is meeting Ann" she is not the boss."""
    apposed: bool = False
    """Whether the verb is a noun for the name behind it, which may be the subject of what follows."""


def _rule(
    predicate: str,
    verb: str,
    *,
    inverse: bool = False,
    behind: str | None = None,
    active: bool = False,
    beside: bool = False,
    apposed: bool = False,
) -> Rule:
    return Rule(
        predicate,
        re.compile(rf"(?<![\w-])(?:{verb})(?![\w-])", re.IGNORECASE),
        inverse,
        None if behind is None else re.compile(behind, re.IGNORECASE),
        active,
        beside,
        apposed,
    )


_FROM: Final = r"(?: from [^.;,\n]{1,40}?)?"
_AS: Final = r"(?: (?:as|part-time|full-time|remotely|nights|shifts)(?: [\w'-]+){0,5}?)?"
_SINCE: Final = r"(?: with [\w'. -]{1,40}?)?"
_DETERMINERS: Final = r"(?:(?:an?|the|our|my|your|his|her|its|their|old|new|legacy|existing|current) ){0,3}"
_WITH_NOTHING: Final = r"(?![^.;,\n]{1,60}? with\b)"
"""In "Ada replaced X with Y" Ada takes the place of neither."""
_OF_LIST: Final = r"(?:a |an |the |one of the )?(?:\w+ ){0,2}?"

BETWEEN_PERSONS: Final = frozenset({"MARRIED", "PARENT_OF", "REPORTS_TO", "SUCCEEDED"})
"""Predicates whose object is nobody behind "of": "married a friend of Tom"."""

THROUGH_PLACES: Final = frozenset(
    {"MOVED_TO", "MOVED_FROM", "LIVES_IN", "LOCATED_IN", "BORN_IN", "MEMBER_OF", "DEPENDS_ON"}
)
"""Predicates whose object may stand behind a place: "lives in a flat in Ghent", "joined the team at Acme"."""

RULES: Final = (
    _rule(
        "WORKS_FOR", rf"work(?:s|ed|ing)?{_AS} (?:for|at)|employed (?:by|at)|hired by|took a job (?:at|with)"
    ),
    _rule("WORKS_FOR", r"(?:started|begun|began|got a job) (?:work(?:ing)? )?(?:at|with)"),
    _rule("WORKS_FOR", r"employs|hired", inverse=True, active=True),
    _rule("MOVED_TO", rf"(?:moved|relocated|emigrated)(?: back| over| house)?{_SINCE}{_FROM} to"),
    _rule("MOVED_FROM", rf"(?:moved|relocated|emigrated)(?: away| here| over)?{_SINCE} from"),
    _rule("LIVES_IN", rf"(?:live[sd]?|living|resid(?:es|ed|ing)){_SINCE} in|based in(?= )|settled in"),
    _rule("LOCATED_IN", r"(?:located|situated|headquartered) (?:in|at|on|near)|lies (?:in|on)|stands in"),
    _rule("BORN_IN", r"born (?:and raised )?in"),
    _rule("REPLACED_BY", r"(?:replaced|superseded) (?:by|with)"),
    _rule(
        "REPLACED_BY",
        rf"(?:replaces|replaced(?! (?:by|with))|replacing|superseded(?! by)|supersedes){_WITH_NOTHING}"
        r"|took the place of",
        inverse=True,
        active=True,
    ),
    _rule(
        "REPLACED_BY",
        rf"with(?= {_DETERMINERS}[\"'`]?(?-i:[A-Z]))(?![^.;,\n]{{1,40}}?['\u2019]s\b)",
        behind=rf"\breplace[sd] {_DETERMINERS}[\"'`]?$",
    ),
    _rule(
        "REPLACED_BY",
        r"to",
        behind=r"\b(?:migrated|switched|ported|converted|swapped)\b[^.;,\n]{0,40}? from (?:the )?[\"'`]?$",
    ),
    _rule("DEPENDS_ON", r"depend(?:s|ed|ing)? (?:up)?on|relies on|rely on|requires|built on(?: top of)?"),
    _rule("OWNS", r"owns|owned(?! by)|bought|acquired(?! by)|purchased(?! by)|possesses|own", active=True),
    _rule("OWNS", r"(?:owned|acquired|bought|purchased) by|belongs to(?! the)|belonged to", inverse=True),
    _rule("MARRIED", r"married(?: to)?|(?:the )?(?:wife|husband|spouse) of"),
    _rule("MARRIED", r"(?:wife|husband|spouse) (?:is|was)", beside=True),
    _rule("MARRIED", r"wife|husband|spouse", beside=True, apposed=True),
    _rule("SUCCEEDED", r"succeeded(?! by)", active=True),
    _rule("SUCCEEDED", r"succeeds|took over from|the successor (?:of|to)"),
    _rule("SUCCEEDED", r"succeeded by", inverse=True),
    _rule("REPORTS_TO", r"report(?:s|ed|ing)? to|managed by|supervised by"),
    _rule("REPORTS_TO", r"(?:manager|boss|supervisor|line manager) is", beside=True),
    _rule("REPORTS_TO", r"manages|supervises|(?:the )?(?:manager|boss|supervisor) of", inverse=True),
    _rule(
        "MEMBER_OF",
        rf"{_OF_LIST}member of|joined(?! (?:in|at|on))|belongs to the|{_OF_LIST}part of"
        r"|plays (?:\w+ )?(?:for|in)",
    ),
    _rule("PARENT_OF", r"(?:the )?(?:mother|father|mum|mom|dad|parent) of"),
    _rule("PARENT_OF", r"(?:the )?(?:\w+ )?(?:son|daughter|child) of", inverse=True),
    _rule("FOUNDED", r"founded(?! (?:by|in))|co-founded(?! by)|established(?! (?:by|in))", active=True),
    _rule("FOUNDED", r"(?:co-)?founded by|established by", inverse=True),
    _rule(
        "CREATED",
        r"wrote|(?:directed|composed|designed|painted|created|invented)(?! by)",
        active=True,
    ),
    _rule(
        "CREATED", r"(?:written|directed|composed|designed|painted|created|invented|built) by", inverse=True
    ),
)
