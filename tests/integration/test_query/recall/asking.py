"""One generation of a few rows, and recalls of tenant acme on it, without a service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from helix_query.generations.snapshot import Snapshot
from helix_query.profile.files import load_profiles
from helix_query.recall.channels import LANES
from helix_query.recall.context import RecallContext
from helix_query.recall.query import Query
from helix_query.recall.recall import recall
from helix_query.recall.result import RecallResult
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.generation.reader import Generation

NOW: Final = datetime(2026, 3, 4, 12, tzinfo=UTC)
PROFILE: Final = load_profiles()["helix"]
DEADLINE_SECONDS: Final = 30.0


@contextmanager
def opened(
    corpus_type: Any, encoder: Any, folder: Path, rows: Sequence[Mapping[str, Any]]
) -> Iterator[Generation]:
    """A generation of these rows in a new folder; it is closed at the end."""
    corpus = corpus_type.create(folder / "data", encoder)
    corpus.add([dict(row) for row in rows])
    generation = Generation.open(corpus.root, corpus.publish(), scratch=folder)
    try:
        yield generation
    finally:
        generation.close()
        corpus.live.close()


@contextmanager
def lanes_of(threads: int) -> Iterator[dict[str, ThreadPoolExecutor]]:
    """A pool for each lane; it is shut down at the end."""
    with ExitStack() as held:
        yield {name: held.enter_context(ThreadPoolExecutor(threads)) for name in LANES}


def context_of(
    served: Snapshot, query: str, *, as_of: datetime | None = None, retrieve: Mapping[str, Any] | None = None
) -> RecallContext:
    """A query of tenant acme that keeps a trace; `retrieve`: other constants of that stage."""
    stage = PROFILE.retrieve.model_copy(update=dict(retrieve or {}))
    asking = Query(query, Selection("acme", as_of=as_of), NOW, NOW, explain=True)
    return RecallContext.of(asking, served, PROFILE.model_copy(update={"retrieve": stage}))


def answered(context: RecallContext, lanes: Mapping[str, Executor]) -> RecallResult:
    """The answer to a query, with time for every channel."""
    return recall(context, lanes=lanes, channel_deadline_seconds=DEADLINE_SECONDS)


def asked(served: Snapshot, query: str, *, as_of: datetime | None = None, **retrieve: Any) -> RecallResult:
    """A recall of tenant acme, by the default profile with other `retrieve` constants."""
    with lanes_of(2) as lanes:
        return answered(context_of(served, query, as_of=as_of, retrieve=retrieve), lanes)
