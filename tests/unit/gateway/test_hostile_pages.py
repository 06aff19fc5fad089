"""Ten thousand hostile texts on the pages of the explorer: none becomes a part of a page.

An element, an attribute or an address that pages of harmless texts do not have fails. `make test` shows a
part of the texts, `make faults` all of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Any, Self

import pytest
from jinja2 import Environment
from markupsafe import Markup

from helix_gateway.explorer import rendering, shown
from helix_gateway.explorer.broker import Broker
from helix_memory.client import EntityPage, MemoryPage, Recalled, SessionPage
from helix_memory.recall.v1 import recall_pb2
from tests.unit.gateway.explorers import HIDDEN, ID, Letters, Memories, explained, memory
from tests.unit.gateway.gateways import client_of
from tests.unit.hostile.explorer_texts import Page, hostile_texts

SHOWN = 10_000
AT_ONCE = 100
"""Texts of one page of a list."""
LISTS = (
    "/memories", "/memories?q=tea", "/timeline", "/sessions", "/sessions/s1", "/graph",
    f"/graph?around={ID}&hops=2", "/lab?q=tea&a=helix&b=engram",
)  # fmt: skip
ALONE = (f"/memories/{ID}", f"/memories/{ID}?whole=1", f"/lab/why-not/{ID}?q=tea")
TABLE = "| {} | day |\n|:-:|--:|\n| {} | 2 |\n"
HARMLESS = ("We deploy on Tuesdays.", "a\u202eb", "x" * 5_000, TABLE.format("what", "deploy") + "x" * 5_000)
"""Short, with something that is hidden, with a link to the whole text, and with a table."""


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    """NATS is not what these tests are about."""
    for name in ("letters", "letter", "streams"):
        monkeypatch.setattr(Broker, name, getattr(Letters, name))


class Many(Memories):
    """A client whose lists have a memory, a session, an entity and a candidate for each text."""

    def show(self, texts: Sequence[str]) -> None:
        """Have these texts from now on."""
        self.text = texts[0]
        self.memories = [memory(one, title=one[:200], project_id=one[:64], context=one) for one in texts]

    async def list(self, **_: Any) -> MemoryPage:
        """All of them."""
        return MemoryPage.of(recall_pb2.ListMemoriesResponse(memories=self.memories))

    async def timeline(self, **_: Any) -> MemoryPage:
        """All of them."""
        return MemoryPage.of(recall_pb2.TimelineResponse(memories=self.memories))

    async def sessions(self, **_: Any) -> SessionPage:
        """One named after each."""
        found = [recall_pb2.SessionSummary(session_id=one.text[:128], memories=2) for one in self.memories]
        return SessionPage.of(recall_pb2.ListSessionsResponse(sessions=found))

    async def entities(self, **_: Any) -> EntityPage:
        """One named after each."""
        names = [one.text[:256] for one in self.memories]
        found = [recall_pb2.EntitySummary(name=one, display_name=one, memories=2) for one in names]
        return EntityPage.of(recall_pb2.ListEntitiesResponse(entities=found))

    async def neighbours(self, **_: Any) -> recall_pb2.NeighboursResponse:
        """Half of them as memories, half as entities."""
        half = len(self.memories) // 2
        nodes = [recall_pb2.GraphNode(memory=one, hops=1) for one in self.memories[half:]]
        names = [one.text[:256] for one in self.memories[:half]]
        nodes += [recall_pb2.GraphNode(entity=one, display_name=one, hops=1) for one in names]
        nodes[0].hops = 0
        edges = [recall_pb2.GraphEdge(source=0, target=1, kind="MENTIONS", weight=1)] if half else []
        return recall_pb2.NeighboursResponse(nodes=nodes, edges=edges)

    async def recall(self, query: str, **options: Any) -> Recalled:
        """As `explain`."""
        return Recalled.of(await self.explain(query, **options))

    async def explain(self, query: str, **options: Any) -> recall_pb2.RecallResponse:
        """Each as a candidate and in the answer."""
        del query
        profile = options.get("ranking_profile", "")
        replies = [explained(one.text, profile) for one in self.memories]
        for other in replies[1:]:
            replies[0].memories.extend(other.memories)
            replies[0].explanation.candidates.extend(other.explanation.candidates)
        replies[0].context.text = "\n".join(one.text for one in self.memories)[:200_000]
        return replies[0]


class Explorer:
    """The explorer of one gateway, whose client shows one text after the other."""

    def __init__(self) -> None:
        self._helix = Many()
        self._client = client_of(self._helix)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def pages_of(self, texts: Sequence[str], paths: Sequence[str]) -> list[Page]:
        """The pages that show these texts."""
        self._helix.show(texts)
        answers = [await self._client.get(f"/explorer{path}") for path in paths]
        assert {answer.status_code for answer in answers} == {200}
        return [Page(answer.text) for answer in answers]


async def added_by(texts: Sequence[str], *, alone: Sequence[str]) -> set[str]:
    """What pages of these texts have that pages of harmless ones do not; `alone` are shown one at a time."""
    pages = []
    async with Explorer() as explorer:
        harmless = [
            page for one in HARMLESS for page in await explorer.pages_of([one] * 12, (*LISTS, *ALONE))
        ]
        for start in range(0, len(texts), AT_ONCE):
            pages += await explorer.pages_of(texts[start : start + AT_ONCE], LISTS)
        for text in alone:
            pages += await explorer.pages_of([text], ALONE)
    known = set().union(*(page.elements for page in harmless))
    return {problem for page in pages for problem in _problems(page, known)}


def _problems(page: Page, known: set[tuple[str, ...]]) -> set[str]:
    found = {f"element {one}" for one in page.elements - known}
    found |= {f"address {one}" for one in page.addresses if not re.match(r"/explorer(?![^/?])|[#?]", one)}
    found |= {f"declaration {one}" for one in page.declarations if one != "doctype html"}
    return found | {f"hidden {one[:80]!r}" for one in page.texts if HIDDEN.search(one)}


async def test_hostile_texts_add_nothing_to_a_page() -> None:
    """A part of them: 200 in lists and 20 alone, a long one among them."""
    *texts, longest = hostile_texts(500)
    assert await added_by([*texts[:199], longest], alone=[*texts[:19], longest]) == set()


async def test_hostile_texts_in_cells_of_tables_add_nothing_to_a_page() -> None:
    """Each is in the header and in a row, on a line of its own as a cell is."""
    cells = [one.replace("\n", " ").replace("|", " ").rstrip("\\") for one in hostile_texts(30, seed=9)]
    tables = [TABLE.format(one, one) for one in cells]
    async with Explorer() as explorer:
        [page] = await explorer.pages_of(tables[:1], ALONE[:1])
    assert ("th", "class", "scope") in page.elements, "the text is no table"
    assert await added_by(tables, alone=tables) == set()


@pytest.mark.long
@pytest.mark.timeout(3_600)
async def test_ten_thousand_hostile_texts_add_nothing_to_a_page() -> None:
    """In lists and alone."""
    texts = list(hostile_texts(round(SHOWN * float(os.environ.get("FAULTS_SCALE") or 1)), seed=8))
    assert await added_by(texts, alone=texts) == set()


def _templates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "Environment", _unescaped)


def _unescaped(**given: Any) -> Environment:
    environment = Environment(**given)  # noqa: S701  what the control is about
    environment.autoescape = False
    return environment


def _texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown, "escape", Markup)


def _marks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown, "_HIDDEN", re.compile("(?!)"))


@pytest.mark.parametrize(
    ("switch_off", "kind"), [(_templates, "element"), (_texts, "element"), (_marks, "hidden")]
)
async def test_the_same_texts_are_found_where_nothing_is_escaped(
    switch_off: Callable[[pytest.MonkeyPatch], None], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: escaping by templates, escaping of texts and marks for what is hidden are each needed."""
    harmless_first = await added_by([HARMLESS[0]], alone=[])
    assert harmless_first == set()
    texts = list(hostile_texts(40))
    rendering._environment.cache_clear()
    try:
        switch_off(monkeypatch)
        found = await added_by(texts, alone=texts[:10])
    finally:
        monkeypatch.undo()
        rendering._environment.cache_clear()
    assert [one for one in found if one.startswith(kind)]
