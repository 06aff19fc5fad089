"""Merges the links of a memory to one per entity, and short forms of a name with the full name.

"John Smith ... Smith" is one entity if the full name comes first and no other full name of the memory ends
(or begins) with the same word.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from helix_kg.extract import Link
from helix_memory.vocabulary.predicates import SIDES

LINKS: Final = 64
"""Most links of one memory; a memory with more mentions says little about each."""
_PERSON_WORDS: Final = (2, 3)
_INSIDE_NAMES: Final = str.maketrans("", "", ".-'\u2019")


def resolve(links: Sequence[Link], *, limit: int = LINKS) -> list[Link]:
    """At most `limit` links, one per edge and entity, by descending weight, then in the order of the text.

    The sides of predicates take the place of a mention and share its weight, so that a memory is tied to an
    entity as strongly as without them.
    """
    full_names = _short_forms(links)
    merged: dict[tuple[str, str], Link] = {}
    for link in links:
        full = full_names.get(link.name, link) if link.kind == "name" else link
        resolved = link if full is link else replace(link, name=full.name, surface=full.surface)
        key = (resolved.edge, resolved.name)
        if key not in merged or merged[key].weight < resolved.weight:
            merged[key] = resolved
    return sorted(_typed(list(merged.values())), key=lambda link: -link.weight)[:limit]


def _typed(links: list[Link]) -> list[Link]:
    """`links` with the sides of predicates instead of the mentions of the same entities."""
    sides = Counter(link.name for link in links if link.edge in SIDES)
    mentioned = {link.name: link for link in links if link.edge == "MENTIONS"}
    typed = []
    for link in links:
        if link.edge in SIDES:
            mention = mentioned.get(link.name, link)
            typed.append(replace(mention, edge=link.edge, weight=mention.weight / sides[link.name]))
        elif link.edge != "MENTIONS" or not sides[link.name]:
            typed.append(link)
    return typed


def _short_forms(links: Sequence[Link]) -> dict[str, Link]:
    """The earlier full name that each single-word name means."""
    longer: dict[str, dict[str, Link]] = defaultdict(dict)
    short: dict[str, Link] = {}
    for link in links:
        words = link.name.split(" ")
        if link.kind in {"name", "title"} and len(words) in _PERSON_WORDS and _is_person(link.surface):
            longer[words[0]].setdefault(link.name, link)
            longer[words[-1]].setdefault(link.name, link)
        elif link.kind == "name" and len(words) == 1 and len(longer[link.name]) == 1:
            short.setdefault(link.name, next(iter(longer[link.name].values())))
    return {name: full for name, full in short.items() if len(longer[name]) == 1}


def _is_person(surface: str) -> bool:
    """Whether every word is capitalised and alphabetic: not "Bishop of Elmham" or "Apollo 11"."""
    return all(word[:1].isupper() and word.translate(_INSIDE_NAMES).isalpha() for word in surface.split())
