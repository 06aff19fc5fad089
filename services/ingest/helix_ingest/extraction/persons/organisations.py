"""Which organisation the first "they" of a turn means, by the turns before it.

It is sure only where those turns deal with one organisation, no person or group that "they" could mean is
mentioned since, and the verb is one of what an organisation does to somebody: "they called back", not "they
arrived".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from helix_ingest.extraction.persons.mentions import MOST_CHARACTERS, mentions
from helix_shared.naming import find_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helix_ingest.extraction.persons.pronouns import Turn

TURNS_BEFORE: Final = 2
"""Earlier turns that are read; ingest has them for every turn."""
_DEALT_WITH: Final = re.compile(
    r"\b(?:appl(?:y|ied|ying) (?:at|to|for (?:an? |the )?(?:\w+ ){0,2}\w+ (?:at|with))"
    r"|interview(?:s|ed|ing)? at|(?:job|offer|contract|account|application|internship|position|order|refund)"
    r" (?:at|from|with|to)|(?:signed up|insured|bank(?:ing)?) with|complain(?:ed|ing)? to"
    r"|order(?:ed|ing)? (?:[\w'-]+ ){0,4}from)\s+(?:the )?$",
    re.IGNORECASE,
)
"""In front of the name of an organisation that somebody deals with."""
_BEFORE_CHARACTERS: Final = 48
_ACTS: Final = re.compile(
    r"(?<![\w/'-])they(?P<short>['\u2019](?:ve|ll|re))?(?: have| will| had| are| were)?"
    r"(?: (?:just|finally|already|still|never|also|now|even|all|actually|only|not|definitely))?"
    r" (?:call(?:ed)? (?:me|us|back|today|yesterday)|called(?=[.!,]|$)|rang|e-?mailed|wrote (?:back|to)"
    r"|replied|answered|got back to|offer(?:ed|ing)?|reject(?:ed)?|turned me down|hired?|hiring|invited me"
    r"|want me to|wanted me to|asked me|told me|promised|confirmed|accepted|declined|refund(?:ed)?|charged?"
    r"|pay(?:ing)?|sent me|said (?:yes|no|that|i|the|my|it)"
    r"|need my|approved|cancelled|canceled|extended|shipped|apologi[sz]ed|refused)\b",
    re.IGNORECASE,
)
_PRONOUN: Final = re.compile(r"(?<![\w/'-])(?:they|them|theirs?)(?![\w-])", re.IGNORECASE)
_LONG: Final = {"ve": " have", "ll": " will", "re": " are"}
_OTHERS: Final = re.compile(
    r"\b(?:parents|kids|children|friends?|guys|folks|people|colleagues|co-?workers|neighbou?rs|brothers|sisters|sons"
    r"|daughters|twins|grandparents|cousins|in-laws|family|team|class|band|tenants|students|teachers|doctors|nurses"
    r"|movers|plumbers|builders|police|owners?|couple|girls|boys|men|women|ladies|clients|customers|users|guests"
    r"|recruiters?|agency|landlords?|someone|somebody|anyone|everyone|everybody|nobody|who"
    r"|both|others?|they|them|their|he|she|him|her|his)\b",
    re.IGNORECASE,
)
"""Whom "they" may mean instead."""


def with_organisation(turn: Turn, before: Sequence[Turn]) -> str:
    """The text of `turn` with the name in place of its first "they"; empty where nothing is sure.

    `before` are the turns before it in its session, oldest first, that its memory may quote; the last
    `TURNS_BEFORE` are read.
    """
    text = turn.text[:MOST_CHARACTERS]
    first, act = _PRONOUN.search(text), _ACTS.search(text)
    if first is None or act is None or first.start() != act.start() or text.count('"', 0, act.start()) % 2:
        return ""
    head = text[: act.start()]
    if _OTHERS.search(head) or mentions(head) or any(one.kind == "name" for one in find_names(head)):
        return ""
    name = _only_organisation(before[-TURNS_BEFORE:])
    verb = _LONG[act["short"][1:].lower()] if act["short"] else ""
    end = act.end("short") if act["short"] else first.end()
    return f"{turn.text[: first.start()]}{name}{verb}{turn.text[end:]}" if name else ""


def _only_organisation(turns: Sequence[Turn]) -> str:
    """The one name that the turns deal with as an organisation; empty if anybody else is mentioned."""
    found: dict[str, str] = {}
    for turn in turns:
        read = turn.text[:MOST_CHARACTERS]
        names = [one for one in find_names(read) if one.kind == "name"]
        found |= {
            one.name: one.surface
            for one in names
            if _DEALT_WITH.search(read, max(0, one.span[0] - _BEFORE_CHARACTERS), one.span[0])
        }
        if not found:
            continue
        others = [one.name for one in names if not read.endswith(" in ", 0, one.span[0])]
        persons = [one for one in mentions(read) if one.surface.lower() not in found]
        if persons or _OTHERS.search(read) or not found.keys() >= set(others) - {turn.speaker.lower()}:
            return ""
    return next(iter(found.values())) if len(found) == 1 else ""
