"""Random memories with corrections, deletions and expiry, and recalls of past moments on them."""

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from helix_memory.recall.v1 import recall_pb2
from helix_query.api.requests import query_of
from helix_query.generations.snapshot import Snapshot
from helix_query.profile.files import load_profiles
from helix_query.recall.channels import LANES
from helix_query.recall.context import RecallContext
from helix_query.recall.recall import recall
from helix_query.recall.result import RecallResult
from helix_query.recall.routing.centroids import centroids_of
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.encoders.encoder import Encoder
from helix_shared.identity import memory_id

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
DAYS = 100
START = NOW - timedelta(days=DAYS)
THINGS = ("harbour", "lighthouse", "garden", "server", "invoice", "bicycle", "violin", "glacier")
DEEDS = ("was painted", "was sold", "broke", "was moved", "was praised", "was measured", "burned", "leaked")
PLACES = ("Gdansk", "Lisbon", "Oslo", "Turin", "Bergen", "Porto", "Ghent", "Riga")
PROFILES = {name: one for name, one in load_profiles().items() if not one.rerank.late_interaction_model}


@dataclass(frozen=True)
class Past:
    """A snapshot of random memories, with their rows."""

    served: Snapshot
    rows: list[dict[str, Any]]
    ids: list[str]
    lanes: dict[str, ThreadPoolExecutor]

    def ask(self, query: str, **fields: Any) -> RecallResult:
        """Recall through the stages; by default 200 memories without a user."""
        scope = {"tenant_id": "acme", "user_id": fields.pop("user", "")}
        given = {"scope": scope, "query": query, "top_k": 200, "never_skip": True} | fields
        question = query_of(recall_pb2.RecallRequest(**given), profiles=PROFILES, clock=NOW)
        profile = PROFILES[question.profile]
        context = RecallContext.of(question, self.served, profile)
        return recall(context, lanes=self.lanes, channel_deadline_seconds=30)

    def known(self, as_of: datetime, user: str = "") -> set[str]:
        """Ids that should be recallable at `as_of`, computed from the rows by definition."""
        return {
            identity
            for ordinal, (identity, row) in enumerate(zip(self.ids, self.rows, strict=True))
            if row["created_at"] <= as_of
            and row.get("owner", "") in ("", user)
            and row.get("deleted_at") is None
            and not self._superseded(ordinal, as_of)
            and (row.get("valid_from") is None or row["valid_from"] <= as_of)
            and all(row.get(end) is None or row[end] > as_of for end in ("valid_to", "expires_at"))
        }

    def _superseded(self, ordinal: int, as_of: datetime) -> bool:
        """A forgotten correction never supersedes a memory."""
        row, identity = self.rows[ordinal], self.ids[ordinal]
        return any(
            later["created_at"] <= as_of
            and (
                _is_correction_of(later, {identity, row.get("corrects", "")})
                or (row.get("document_id", "") and later.get("document_id") == row["document_id"])
            )
            for later in self.rows[ordinal + 1 :]
        )


def _is_correction_of(later: dict[str, Any], names: set[str]) -> bool:
    """Whether a row corrects one of these memories and was not forgotten."""
    return later.get("deleted_at") is None and later.get("corrects", "") in (names - {""})


def written(seed: int, count: int = 140) -> list[dict[str, Any]]:
    """Random memories as consolidation leaves them at `NOW`, in order of creation."""
    rng = random.Random(seed)
    rows: list[dict[str, Any]] = []
    for number in range(count):
        text = (
            f"Note {number * 7919 % 9973}: the {rng.choice(THINGS)} {rng.choice(DEEDS)} in "
            f"{rng.choice(PLACES)} {rng.choice(('early', 'late', 'twice'))} {number * 31 % 1009}."
        )
        row: dict[str, Any] = {"name": f"m{number}", "text": text, "session_id": f"s{number % 9}"}
        row["created_at"] = START + timedelta(days=DAYS * number / count)
        row["occurred_at"] = row["created_at"] - timedelta(days=rng.randint(0, 300))
        row["entities"] = [rng.choice(PLACES)]
        if rng.random() < 0.2:
            row |= {"user_id": "ann", "owner": "ann"}
        for end, chance in (("valid_from", 0.1), ("valid_to", 0.1), ("expires_at", 0.15)):
            if rng.random() < chance:
                row[end] = row["created_at"] + timedelta(days=rng.uniform(-5, 60))
        if rng.random() < 0.05:
            row["deleted_at"] = NOW
        if number > 10 and rng.random() < 0.25:
            target = rng.randrange(number)
            row["corrects"] = memory_id("acme", f"acme/m{target}", 0)
        elif rng.random() < 0.2:
            row |= {"document_id": f"d{rng.randrange(10)}", "event_kind": "document"}
        rows.append(row)
    for number in rng.sample(range(count), 12):
        # an event from the dead letters: created early, stored late, no version of another memory
        if "corrects" not in rows[number] and "document_id" not in rows[number]:
            rows[number]["created_at"] = START + timedelta(days=rng.uniform(0, DAYS * number / count))
    _settle(rows)
    return rows


def _settle(rows: list[dict[str, Any]]) -> None:
    """Set supersession and hiding as consolidation does at `NOW`."""
    ids = [memory_id("acme", f"acme/{row['name']}", 0) for row in rows]
    for ordinal, row in enumerate(rows):
        corrections = [
            later
            for later in range(ordinal + 1, len(rows))
            if _is_correction_of(rows[later], {ids[ordinal], row.get("corrects", "")})
        ]
        replaced = row.get("document_id") and any(
            later.get("document_id") == row["document_id"] for later in rows[ordinal + 1 :]
        )
        row["superseded_by"] = ids[corrections[-1]] if corrections else ""
        row["is_latest"] = not corrections and not replaced
        expired = row.get("expires_at") is not None and row["expires_at"] <= NOW
        row["hidden"] = not row["is_latest"] or expired or row.get("deleted_at") is not None


def served_from(root: Path, encoder: Encoder, corpus: Any, rows: list[dict[str, Any]]) -> Past:
    """The rows as a snapshot."""
    ids = corpus.add([dict(row) for row in rows])
    corpus.publish()
    generation = Generation.open(root, 1)
    served = Snapshot(generation, encoder, centroids_of(encoder))
    lanes = {channel: ThreadPoolExecutor(1) for channel in LANES}
    return Past(served, rows, ids, lanes)
