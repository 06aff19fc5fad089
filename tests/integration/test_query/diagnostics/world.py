"""A random corpus, and WhyNot on it in this process."""

import random
import time
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from helix_memory.changes import changed
from helix_memory.recall.v1 import recall_pb2
from helix_query.api.requests import query_of
from helix_query.api.responses.why_not import why_not_response
from helix_query.diagnostics.explain import explained
from helix_query.diagnostics.explanation import Explanation
from helix_query.diagnostics.replays import Replays
from helix_query.diagnostics.why_not import why_not
from helix_query.generations.snapshot import Snapshot
from helix_query.profile.overrides import with_constants
from helix_query.profile.profile import RankingProfile
from helix_query.recall.context import RecallContext
from helix_query.recall.recall import recall
from helix_query.recall.result import RecallResult

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
PEOPLE = ("Ann", "Bob", "Carla", "Deniz", "Emil")
THINGS = ("printer", "garden", "database", "budget", "bicycle", "kitchen", "server", "contract")
DEEDS = ("repaired", "ordered", "painted", "lost", "measured", "cleaned")
ABSTAINING = {
    "name": "abstaining",
    "abstain.answer": {"intercept": -6.0, "coefficients": {"cosine": 6.0}},
    "abstain.threshold": 0.5,
}
NARROW = {
    "name": "narrow",
    "retrieve.limits": {"dense": 6, "lexical": 6},
    "diversify.candidates": 5,
    "diversify.mmr_lambda": 0.6,
}


def rows_of(seed: int) -> list[dict[str, Any]]:
    """Statements in sessions at different times; some near-duplicates, some private."""
    draw = random.Random(seed)
    rows: list[dict[str, Any]] = []
    for number, (person, thing) in enumerate((p, t) for p in PEOPLE for t in THINGS):
        deed, place = draw.choice(DEEDS), draw.choice(("Berlin", "Ghent", "Lyon", "Porto"))
        text = f"{person} {deed} the {thing} in {place}, and it took {number + 2} hours of a long afternoon."
        rows.append(
            {
                "text": text,
                "session_id": f"s{number % 7}",
                "project_id": draw.choice(("", "north", "south")),
                "type": draw.choice(("episodic", "semantic", "decision")),
                "occurred_at": NOW - timedelta(days=number, minutes=number),
                "pinned": draw.random() < 0.1,
            }
        )
    rows += [row | {"text": f"{row['text']} Indeed.", "name": f"again {row['text']}"} for row in rows[::6]]
    rows.append({"text": "Ann hides the key of the garden.", "name": "private", "user_id": "u", "owner": "u"})
    rows.append({"text": "Bob threw the old garden key away.", "name": "hidden", "hidden": True})
    rows.append({"text": "The garden of a neighbour.", "name": "foreign", "tenant_id": "globex"})
    return rows


@dataclass(frozen=True)
class World:
    """A generation, queried in this process."""

    served: Snapshot
    profiles: Mapping[str, RankingProfile]
    lanes: Mapping[str, Executor]
    rows: list[dict[str, Any]]
    ids: list[str]

    def id_of(self, name: str) -> str:
        """Id of the memory with this name, or text."""
        names = [row.get("name", row["text"]) for row in self.rows]
        return self.ids[names.index(name)]

    def why_not(
        self, request: recall_pb2.RecallRequest, memory_id: str, *, seconds: float = 60
    ) -> recall_pb2.WhyNotResponse:
        """The reply of the service."""
        parse = partial(query_of, profiles=self.profiles, clock=NOW)
        asking = partial(recall, lanes=self.lanes, channel_deadline_seconds=30)
        until = time.monotonic() + seconds
        replays = Replays(self.served, self.profiles, parse, asking, until=until)
        steps = why_not(request, memory_id, replays)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return why_not_response(end.value, self.served)

    def replay(self, request: recall_pb2.RecallRequest, reply: recall_pb2.WhyNotResponse) -> RecallResult:
        """The recall with the advised changes, applied as a caller would."""
        return self.ask(request, list(reply.changes))

    def ask(
        self, request: recall_pb2.RecallRequest, changes: list[recall_pb2.Change] | None = None
    ) -> RecallResult:
        """One recall; changed constants become a derived ranking profile."""
        result, _ = self.explain(request, changes)
        return result

    def explain(
        self, request: recall_pb2.RecallRequest, changes: list[recall_pb2.Change] | None = None
    ) -> tuple[RecallResult, Explanation | None]:
        """The same with the explanation, where the request asks for one."""
        asking, constants = changed(request, changes or [])
        query = query_of(asking, profiles=self.profiles, clock=NOW)
        context = RecallContext.of(
            query, self.served, with_constants(self.profiles[query.profile], constants)
        )
        return explained(recall(context, lanes=self.lanes, channel_deadline_seconds=30), context)


def request_of(query: str, profile: str = "helix", **fields: Any) -> recall_pb2.RecallRequest:
    """A query of the tenant."""
    fields.setdefault("now", NOW)
    return recall_pb2.RecallRequest(
        scope={"tenant_id": "acme"}, query=query, ranking_profile=profile, **fields
    )


def drawn(world: World, seed: int) -> tuple[recall_pb2.RecallRequest, str]:
    """A random query with tight limits, and a random memory that the caller may see."""
    draw = random.Random(seed)
    person, thing = draw.choice(PEOPLE), draw.choice(THINGS)
    query = draw.choice(
        (
            f"What did {person} do with the {thing}?",
            f"Where is the {thing}?",
            f"{thing} hours",
            "hello there!",
        )
    )
    profile = draw.choice(("helix", "helix-reference", "cems", "engram", "narrow", "abstaining"))
    request = request_of(query, profile, top_k=20 if profile == "abstaining" else draw.choice((1, 2, 5, 20)))
    request.mode = draw.choice((0, 0, 1, 3))
    if draw.random() < 0.5:
        request.token_budget = draw.choice((20, 40, 90))
    if draw.random() < 0.15:
        request.filter.types.append("decision")
        request.filter.event_after.FromDatetime(NOW - timedelta(days=12))
    memory_id = world.ids[draw.randrange(len(world.ids) - 3)]
    if draw.random() < 0.4:
        request.explain = True
        _, told = world.explain(request)
        found = [] if told is None else [told.shown[position][0] for position in told.order]
        memory_id = draw.choice(found or [memory_id])
    if draw.random() < 0.25:
        request.already_served.append(memory_id)
    return request, memory_id
