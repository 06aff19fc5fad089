"""Extracts the links of a memory by rules: what it mentions, defines, belongs to and relates.

A title names the thing that its text defines, so it has the weight of three mentions; "Theodred II (Bishop of
Elmham)" also defines "theodred ii". Names are found by `helix_shared.naming`, as query does in a question.
`resolve` merges and limits the links. Consolidation finds relations between memories.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from helix_kg.relations import Relation, find_relations
from helix_kg.sentences import sentence_spans
from helix_memory.vocabulary.predicates import OBJECT, SUBJECT
from helix_shared.naming import Name, base_name, canonical, find_names, without_disambiguation
from helix_shared.naming.frequency import is_common

COLUMNS: Final = (
    "memory_id",
    "text",
    "title",
    "context",
    "speaker",
    "role",
    "user_id",
    "speech_act",
    "document_id",
    "categories",
)
"""Columns of a memory that are used."""

STATING_NOTHING: Final = frozenset({"question", "request", "hypothetical"})
"""Speech acts of memories that state no relation."""

MENTION_WEIGHT: Final = 1.0
TITLE_WEIGHT: Final = 3.0
PART_WEIGHT: Final = 0.5
"""Documents, speakers, the file name of a path, a possessor: mentioned, but not the subject."""
CATEGORY_WEIGHT: Final = 0.3

USER: Final = "user"
"""Kind of the entity of a user, who says "I" without the name of a speaker."""
_USER_NAME: Final = "User {}"
"""Canonical names have no capitals, so nothing that a text names is this entity."""

PLACE: Final = "place"
"""Kind of a name that stands where a place does."""

_CONTEXT_CHARACTERS: Final = 4_000
_WORD: Final = re.compile(r"[^\W\d_]+(?:[-'\u2019][^\W\d_]+)*")
_SPEAKER: Final = re.compile(r"^([^\W\d_][^\s:]{1,40}):\s", re.MULTILINE)
"""Lines of the context begin with the speaker."""
_BEFORE_CHARACTERS: Final = 40
_GO: Final = (
    r"(?:mov|fl|dr|rod?|trave|relocat|return|commut|emigrat|trip|flight|train|road|w[ae]nt|go|came|com)\w*"
)
_PLACE_BEFORE: Final = re.compile(
    rf"\b(?:in|near|around|across|inside|outside|throughout|visit(?:s|ed|ing)?|toured|reached|towards?"
    rf"|{_GO} (?:back |away |over |down |up )?(?:to|from|into|through|via))\s+$",
    re.IGNORECASE,
)
_BE = "(?:was|were|is|are|been|got)"
_RELATION = re.compile(
    rf"\b(?:{_BE} (?:re)?named (?:to|as|from|after)|renam(?:ed|es|ing) (?:to|from|as)"
    rf"|{_BE} (?:replaced|superseded|succeeded|acquired|merged|bought|written|created|founded|directed) "
    r"(?:by|with|into|in)|replac(?:es|ed|ing)|supersed(?:es|ed)|depends on"
    r"|(?:migrat(?:ed|es|ing)|switch(?:ed|es|ing)|moved) (?:to|from)"
    r"|is (?:part|a fork|an alias|a successor) of|belongs to|reports to|married"
    rf"|{_BE} (?:the )?(?:wife|husband|son|daughter|brother|sister|mother|father) of)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Link:
    """One row of the links edge, without the memory it starts from."""

    edge: str
    kind: str
    name: str
    surface: str
    weight: float


def extract(row: Mapping[str, Any]) -> list[Link]:
    """Every link of a memory, in the order title, text, relations, speaker, document, categories."""
    title, text = str(row["title"]), str(row["text"])
    names = _with_places(text, find_names(text))
    links = [*_title_links(title), *_mentions(find_names(title)), *_mentions(names)]
    links += _known_in(str(row["context"]), text, names)
    links += _relations(text, names)
    said_by = str(row["speaker"])
    speaker = Name("name", name, said_by, (0, 0)) if (name := canonical(said_by)) else None
    if speaker is not None:
        links.append(Link("MENTIONS", speaker.kind, speaker.name, speaker.surface, PART_WEIGHT))
    if row["speech_act"] not in STATING_NOTHING:
        links += _sides(find_relations(text, names, speaker or _user(row)))
    if document := str(row["document_id"]):
        links.append(Link("PART_OF", "document", document, document, PART_WEIGHT))
    for category in row["categories"]:
        if name := canonical(category):
            links.append(Link("IN_CATEGORY", "category", name, category, CATEGORY_WEIGHT))
    return links


def _user(row: Mapping[str, Any]) -> Name | None:
    """The user whose own turn a memory is; None where nobody or somebody else says "I"."""
    if not row["user_id"] or row["role"] != "user":
        return None
    name = _USER_NAME.format(row["user_id"])
    return Name(USER, name, name, (0, 0))


def _with_places(text: str, names: list[Name]) -> list[Name]:
    """The names of a text; one word behind "in" or "moved to" is a place and no short form of a person."""
    return [replace(name, kind=PLACE) if _is_place(text, name) else name for name in names]


def _is_place(text: str, name: Name) -> bool:
    start = name.span[0]
    one_word = name.kind == "name" and " " not in name.name
    return one_word and _PLACE_BEFORE.search(text, max(0, start - _BEFORE_CHARACTERS), start) is not None


def _title_links(title: str) -> Iterator[Link]:
    for form in dict.fromkeys((title.strip(), without_disambiguation(title))):
        if name := canonical(form):
            yield Link("MENTIONS", "title", name, form, TITLE_WEIGHT)


def _mentions(names: list[Name]) -> Iterator[Link]:
    for name in names:
        yield Link("MENTIONS", name.kind, name.name, name.surface, MENTION_WEIGHT)
        if name.kind == "path" and (base := base_name(name.name)):
            yield Link("MENTIONS", "path", base, base, PART_WEIGHT)


def _known_in(context: str, text: str, names: list[Name]) -> Iterator[Link]:
    """Names of the turns around, and their speakers, that the text has in lower case."""
    lower = (word for word in _WORD.findall(text[:_CONTEXT_CHARACTERS]) if word.islower())
    words = {word if word.isascii() and word.isalpha() else canonical(word) for word in lower}
    if not words or not context:
        return
    read = context[:_CONTEXT_CHARACTERS]
    known = [name.surface for name in find_names(read) if name.kind == "name"]
    known += [match[1] for match in _SPEAKER.finditer(read)]
    told = {name.name for name in names}
    for surface in dict.fromkeys(known):
        name = canonical(surface)
        if name in words and name not in told and not is_common(name):
            told.add(name)
            yield Link("MENTIONS", "name", name, surface, MENTION_WEIGHT)


def _sides(relations: list[Relation]) -> Iterator[Link]:
    """The subject and the object of typed relations."""
    for relation in relations:
        for end, name in ((SUBJECT, relation.subject), (OBJECT, relation.obj)):
            yield Link(relation.predicate + end, name.kind, name.name, name.surface, PART_WEIGHT)


def _relations(text: str, names: list[Name]) -> Iterator[Link]:
    """Both sides of a relation in a sentence: the last name before the verb and the first after it."""
    if len(names) < len(("one side", "the other")) or _RELATION.search(text) is None:
        return
    starts = [name.span[0] for name in names]
    for start, end in sentence_spans(text):
        if (verb := _RELATION.search(text, start, end)) is None:
            continue
        before = names[bisect_left(starts, start) : bisect_left(starts, verb.start())]
        after = names[bisect_left(starts, verb.end()) : bisect_left(starts, end)]
        if before and after:
            for name in (before[-1], after[0]):
                yield Link("RELATES", name.kind, name.name, name.surface, MENTION_WEIGHT)
