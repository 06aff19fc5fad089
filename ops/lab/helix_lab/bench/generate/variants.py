"""Varied texts: names, numbers and words of a base memory replaced by others of the same kind.

Words are drawn as often as they occur in the base texts, so distributions of words and lengths stay those of
real texts. Content hash and MinHash are made by ingest's functions; links and expansions follow the replaced
names. `load` calls this in worker processes.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from helix_lab.bench.generate.base_memories import Base
from helix_lab.bench.generate.entities import Entities, entities_of, spelt
from helix_shared.encoders.minhash import minhash
from helix_shared.identity import content_hash
from helix_shared.naming import Name, find_names

NAME_SHARE: Final = 0.7
WORD_SHARE: Final = 0.15
"""Shares of names and of plain words that are replaced, so that no variants are near-duplicates."""
NAMES_READ: Final = 24
MOST_DIGITS: Final = 11
_WORD: Final = re.compile(r"\w+|\W+")
_PLAIN: Final = re.compile(r"[a-z]{4,}")


@dataclass(frozen=True, slots=True)
class Template:
    """A base text cut into pieces, with the pieces that may be replaced."""

    pieces: list[str]
    names: list[tuple[int, str]]
    """Piece and kind of a name; equal names are replaced alike."""
    numbers: list[int]
    words: list[int]
    kind: int
    title: str
    context: str
    links: list[dict[str, Any]]
    expansions: list[str]


@dataclass(frozen=True, slots=True)
class Varied:
    """Columns of a batch, one value per memory; a link is edge, kind, name, surface and weight."""

    texts: list[str] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    contexts: list[str] = field(default_factory=list)
    content_hashes: list[str] = field(default_factory=list)
    minhashes: list[bytes] = field(default_factory=list)
    expansions: list[list[str]] = field(default_factory=list)
    links: list[list[tuple[str, str, str, str, float]]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Material:
    """The texts to vary, and the words to put in."""

    templates: list[Template]
    entities: Entities
    words: list[list[str]]
    """Plain words by kind, each as often as it occurs in the base texts."""


def material_of(base: Base, memories: int) -> Material:
    """Cut the base texts; `memories` says how many names there are to be."""
    columns = [base.rows[name].to_pylist() for name in ("text", "title", "context")]
    names = [_apart(find_names(text)) for text in columns[0]]
    rows = zip(names, *columns, base.kinds.tolist(), base.links, base.expansions, strict=True)
    templates = [_template(*row) for row in rows]
    words: list[list[str]] = [[] for _ in range(int(base.kinds.max()) + 1)]
    for template in templates:
        words[template.kind] += [template.pieces[at] for at in template.words]
    about = zip(base.kinds.tolist(), names, strict=True)
    entities = entities_of(((kind, name) for kind, found in about for name in found), memories)
    return Material(templates, entities, [found or ["again"] for found in words])


def vary(material: Material, rows: Sequence[int], *, seed: int) -> Varied:
    """One variant of each of `rows`, in order; the same for the same seed."""
    drawn = random.Random(seed)  # noqa: S311  repeatable texts, no secret
    varied = Varied()
    for row in rows:
        _append(varied, material, material.templates[row], drawn)
    return varied


def _append(varied: Varied, material: Material, template: Template, drawn: random.Random) -> None:
    pieces, put = list(template.pieces), {}
    for at, kind in template.names:
        surface = pieces[at]
        if surface not in put:
            kept = drawn.random() >= NAME_SHARE
            new = "" if kept else material.entities.drawn(template.kind, kind, drawn.random())
            put[surface] = new or surface
        pieces[at] = put[surface]
    for at in template.numbers:
        low = 10 ** (len(pieces[at]) - 1)
        pieces[at] = str(drawn.randrange(low, 10 * low))
    count = int(len(template.words) * WORD_SHARE + drawn.random())
    for at, word in zip(
        drawn.sample(template.words, count),
        drawn.choices(material.words[template.kind], k=count),
        strict=True,
    ):
        pieces[at] = word
    text = "".join(pieces)
    changed = [(old, new) for old, new in put.items() if old != new]
    spellings = {spelt(old): (spelt(new), new) for old, new in changed}
    varied.texts.append(text)
    varied.titles.append(_exchanged(template.title, changed))
    varied.contexts.append(_exchanged(template.context, changed))
    varied.content_hashes.append(content_hash(text))
    varied.minhashes.append(minhash(text))
    varied.expansions.append([_exchanged(expansion, changed) for expansion in template.expansions])
    varied.links.append([_link(link, spellings) for link in template.links])


def _exchanged(text: str, changed: list[tuple[str, str]]) -> str:
    if text:
        for old, new in changed:
            text = text.replace(old, new)
    return text


def _link(link: dict[str, Any], spellings: dict[str, tuple[str, str]]) -> tuple[str, str, str, str, float]:
    name, surface = spellings.get(link["name"], (link["name"], link["surface"]))
    return link["edge"], link["kind"], name, surface, link["weight"]


def _apart(names: list[Name]) -> list[Name]:
    """Names that do not overlap, the longer first, in the order of the text."""
    chosen: list[Name] = []
    for name in sorted(names, key=lambda name: (name.span[0], -name.span[1])):
        if len(chosen) < NAMES_READ and (not chosen or name.span[0] >= chosen[-1].span[1]):
            chosen.append(name)
    return chosen


def _template(
    names: list[Name],
    text: str,
    title: str,
    context: str,
    kind: int,
    links: list[dict[str, Any]],
    expansions: list[str],
) -> Template:
    pieces: list[str] = []
    places: list[tuple[int, str]] = []
    at = 0
    for name in names:
        pieces += _WORD.findall(text[at : name.span[0]])
        places.append((len(pieces), name.kind))
        pieces.append(text[name.span[0] : name.span[1]])
        at = name.span[1]
    pieces += _WORD.findall(text[at:])
    named = {at for at, _ in places}
    free = [at for at in range(len(pieces)) if at not in named]
    numbers = [
        at for at in free if pieces[at].isascii() and pieces[at].isdigit() and len(pieces[at]) <= MOST_DIGITS
    ]
    words = [at for at in free if _PLAIN.fullmatch(pieces[at])]
    return Template(pieces, places, numbers, words, kind, title, context, links, expansions)
