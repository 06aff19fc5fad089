"""A client for the explorer's pages whose replies have a text of the test everywhere, and its browser."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any, Self

import httpx

from helix_memory.client import EntityPage, MemoryPage, SessionPage, Written
from helix_memory.client.results import Recalled, StoredMemory
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.dead_letters import DeadLetter
from helix_shared.errors import NotFoundError, TemporaryError
from tests.unit.gateway.gateways import HOST

NEXT = "n+1"
ID, OTHER = "a" * 32, "b" * 32
OWN = {"origin": f"http://{HOST}", "content-type": "application/x-www-form-urlencoded"}
HOSTILE = (
    '<script>alert(1)</script><img src=x onerror=alert(1)> "q" \' & {{ 7*7 }} </textarea></bdi></svg>'
    "\x00\x1b[31m\u202eevil\u2066\u200b\U000e0041"
)
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


def memory(text: str = "We deploy on Tuesdays.", identity: str = ID, **fields: Any) -> recall_pb2.Memory:
    """A memory of a reply."""
    found = recall_pb2.Memory(
        memory_id=identity, text=text, type="episodic", audience=["*"], session_id="s1", **fields
    )
    found.occurred_at.FromDatetime(datetime(2026, 11, 2, 9, tzinfo=UTC))
    return found


def explained(text: str, profile: str) -> recall_pb2.RecallResponse:
    """A recall with one memory that was a candidate, and the words that matched."""
    words = [recall_pb2.WordMatch(word="deploy", nearest=text[:200], similarity=0.9, rarity=3.0)]
    late = recall_pb2.LateInteraction(words=words, score=0.9, mean=0.2, deviation=0.1, scale=0.1)
    candidate = recall_pb2.Candidate(
        memory_id=ID, excerpt=text[:160], method="blend", relevance=0.5, score=0.5, place=1, rank=1,
        signals=[recall_pb2.Signal(name=name, normalised=0.5) for name in ("fused", "cosine", "sim")],
        late_interaction=late, fusion=recall_pb2.Fusion(method="rrf"),
    )  # fmt: skip
    return recall_pb2.RecallResponse(
        memories=[recall_pb2.RecalledMemory(memory=memory(text), rank=1, score=0.5)],
        stages=[recall_pb2.StageTime(stage="embed", milliseconds=3)],
        total_milliseconds=4,
        ranking_profile=profile,
        explanation=recall_pb2.Explanation(candidates=[candidate]),
    )  # fmt: skip


class Memories:
    """Stands for the client: every text, name and reason of its replies is `text`."""

    def __init__(self, text: str = "We deploy on Tuesdays.") -> None:
        self.text = text
        self.callers: list[dict[str, Any]] = []
        self.done: list[tuple[Any, ...]] = []
        self.event_ids: list[str] = []
        self.changes = [
            recall_pb2.Change(request_field="top_k", value="20", was="10"),
            recall_pb2.Change(request_field="query", value=json.dumps('what "tea"?'), was='"tea"'),
        ]
        self.is_applied = True

    def acting_as(self, **caller: Any) -> Self:
        """As the client."""
        self.callers.append(caller)
        return self

    async def status(self) -> recall_pb2.GetStatusResponse:
        """A generation."""
        return recall_pb2.GetStatusResponse(
            generation=3, memories=1, applied_sequence=7, model=self.text[:50]
        )

    async def list(self, **options: Any) -> MemoryPage:
        """One memory, and another page."""
        self.done.append(("list", options))
        found = memory(self.text, title=self.text[:200], project_id=self.text[:200])
        return MemoryPage.of(recall_pb2.ListMemoriesResponse(memories=[found], next_page_token=NEXT))

    async def timeline(self, **_: Any) -> MemoryPage:
        """The memory, and one whose context quotes it."""
        quoting = memory("And another.", OTHER, context=f"before. {self.text}")
        quoting.occurred_at.FromDatetime(datetime(2026, 11, 3, 9, tzinfo=UTC))
        return MemoryPage.of(recall_pb2.TimelineResponse(memories=[memory(self.text), quoting]))

    async def sessions(self, **_: Any) -> SessionPage:
        """One session."""
        return SessionPage.of(
            recall_pb2.ListSessionsResponse(sessions=[recall_pb2.SessionSummary(session_id="s1", memories=2)])
        )

    async def entities(self, **_: Any) -> EntityPage:
        """One entity."""
        return EntityPage.of(
            recall_pb2.ListEntitiesResponse(
                entities=[recall_pb2.EntitySummary(name="tea", display_name=self.text[:256], memories=2)]
            )
        )

    async def neighbours(self, **_: Any) -> recall_pb2.NeighboursResponse:
        """A memory and an entity."""
        nodes = [
            recall_pb2.GraphNode(memory=memory(self.text)),
            recall_pb2.GraphNode(entity=self.text[:256], display_name=self.text[:256], hops=1),
        ]
        edges = [recall_pb2.GraphEdge(source=0, target=1, kind="MENTIONS", weight=1)]
        return recall_pb2.NeighboursResponse(nodes=nodes, edges=edges)

    async def get(self, wanted: str) -> StoredMemory:
        """The memory; another id is not there."""
        if wanted != ID:
            raise NotFoundError(f"no memory {wanted}")
        names = {"entities": [self.text[:100]], "entity_display_names": [self.text[:100]]}
        found = memory(self.text, **names, flags=["invisible"], owner=self.text[:100])
        return StoredMemory.of_id(found)

    async def history(self, _: str) -> recall_pb2.GetHistoryResponse:
        """A relation to an older memory."""
        relation = recall_pb2.HistoryRelation(
            newer_id=ID, older_id=OTHER, relation="UPDATES", probability=0.9, counts=True, closed=True
        )
        return recall_pb2.GetHistoryResponse(
            memories=[memory(self.text), memory(self.text, OTHER)], relations=[relation]
        )

    async def recall(self, query: str, **options: Any) -> Recalled:
        """A recall."""
        self.done.append(("recall", query, options))
        return Recalled.of(explained(self.text, ""))

    async def explain(self, query: str, **options: Any) -> recall_pb2.RecallResponse:
        """A recall taken apart."""
        self.done.append(("explain", query, options))
        return explained(self.text, options.get("ranking_profile", ""))

    async def why_not(self, _: str, query: str, **options: Any) -> recall_pb2.WhyNotResponse:
        """A proposal."""
        self.done.append(("why_not", query, options))
        return recall_pb2.WhyNotResponse(
            loss=recall_pb2.LOSS_TOP_K, verdict=self.text[:500], changes=self.changes, advice=self.text[:500]
        )

    async def correct(self, wanted: str, text: str, *, event_id: str = "") -> Written:
        """Note it."""
        self.done.append(("correct", wanted, text))
        self.event_ids.append(event_id)
        return Written("e", OTHER, 9, duplicate=False)

    async def forget(self, wanted: str) -> Written:
        """Note it."""
        self.done.append(("forget", wanted))
        return Written("e", "", 9, duplicate=False)

    async def undo(self, wanted: str, *, other: str | None = None) -> Written:
        """Note it."""
        self.done.append(("undo", wanted, other))
        return Written("e", "", 9, duplicate=False)

    async def wait(self, _: Written) -> None:
        """Applied, or not in time."""
        if not self.is_applied:
            raise TemporaryError("sequence 9 is not applied")


LETTER = DeadLetter(5, "2026-11-02T09:00:00", "ingest", "acme", HOSTILE, HOSTILE, "HELIX_EVENTS", 3, 9, 3)


class Letters:
    """Stands for the broker, which has one dead letter with hostile words."""

    async def letters(self, **_: Any) -> list[DeadLetter]:
        """The letter."""
        return [LETTER]

    async def letter(self, _: int) -> tuple[DeadLetter, bytes]:
        """The letter and its body."""
        return LETTER, json.dumps({"text": HOSTILE}).encode()

    async def streams(self) -> list[Any]:
        """None."""
        return []


async def form_key(client: httpx.AsyncClient) -> str:
    """The key of a form that this browser was given."""
    page = await client.get("/explorer/login")
    found = re.search(r'name="form_key" value="(\w+)"', page.text)
    assert found
    return found[1]
