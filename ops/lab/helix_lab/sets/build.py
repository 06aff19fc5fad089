"""Builds a corpus with every worker in this process: ingest, kg, doc2query, consolidation, one generation.

The functions and the messages between them are the services' own; only NATS and the processes are missing. A
folder that was built from the same documents by the same code with the same model is used again.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import itertools
import json
import shutil
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Final

from nats.aio.client import Client
from nats.aio.msg import Msg

import helix_consolidation
import helix_doc2query
import helix_ingest
import helix_kg
import helix_memory
import helix_shared
from helix_consolidation.stores.publish import PublicationInfo
from helix_consolidation.stores.shard import Shard
from helix_doc2query.consumer import DERIVATION as DOC2QUERY
from helix_ingest.extraction.drafts import CONTEXT_TURNS
from helix_ingest.extraction.values import LoggedEvent
from helix_ingest.memories_builder import MemoriesBuilder
from helix_ingest.settings import IngestSettings
from helix_kg.consumer import DERIVATION as KG
from helix_lab.sets.data import EvaluationSet
from helix_lab.sets.handles import event_of
from helix_memory.events import MessageEvent
from helix_memory.subjects import DERIVED_STREAM, EVENTS_STREAM
from helix_shared.artifacts.generation.manifest import StreamState
from helix_shared.broker.worker.derived import DerivedMessage
from helix_shared.encoders.encoder import Encoder
from helix_shared.errors import PermanentError
from helix_shared.moments import microseconds

PACKAGES: Final = (helix_memory, helix_shared, helix_ingest, helix_doc2query, helix_kg, helix_consolidation)
"""What a generation depends on, besides the documents and the model."""
EVENTS_AT_ONCE: Final = 512
AT_WORK: Final = 4
"""Events in work at once: two embed while the others tokenise, score and encode."""
BUILT: Final = "built"
"""A finished corpus has this file; a killed build has none and is started again."""

Advance = Callable[[], None]


def corpus_key(data: EvaluationSet, model: str) -> str:
    """What a built corpus is known by: its documents, the code of every worker, the model, its setting."""
    digest = hashlib.blake2b(model.encode(), digest_size=12)
    digest.update(f"{IngestSettings.load().piece_tokens}".encode())
    digest.update(code_digest(PACKAGES).encode())
    digest.update(data.name.encode())
    for document in data.documents:
        digest.update(json.dumps(asdict(document), sort_keys=True).encode())
    return digest.hexdigest()


@functools.cache
def code_digest(packages: tuple[ModuleType, ...], *, without_toml_of: str = "") -> str:
    """One digest over all files of `packages`, fitted ones and word lists too; computed once per process.

    The TOML files below the folder `without_toml_of` of a package are left out.
    """
    digest = hashlib.blake2b(digest_size=12)
    for package in packages:
        folder = Path(str(package.__file__)).parent
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            place = path.relative_to(folder)
            is_left_out = path.suffix == ".toml" and place.parts[0] == without_toml_of
            if not is_left_out and path.suffix != ".pyc":
                digest.update(str(place).encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def build_corpus(
    data: EvaluationSet, folder: Path, encoder: Encoder, *, advance: Advance = lambda: None
) -> bool:
    """Fill `folder` with a generation of the whole corpus; returns whether it had anything to do.

    A second process waits until the first has built it.

    Raises:
        PermanentError: a document was refused by a worker; names its position.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / BUILT).exists():
            return False
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        shard = Shard.open(folder, maintain_every=EVENTS_AT_ONCE)
        try:
            _fill(shard, data, encoder, advance)
        finally:
            shard.close()
        (folder / BUILT).touch()
    return True


def _fill(shard: Shard, data: EvaluationSet, encoder: Encoder, advance: Advance) -> None:
    started = datetime.now(UTC)
    ingest = MemoriesBuilder(encoder, IngestSettings.load().most_tokens(encoder.card))
    last = len(data.documents)
    messages = _numbered(derived_messages(data, ingest, started, advance))
    while batch := list(itertools.islice(messages, EVENTS_AT_ONCE * 3)):
        outcome = shard.apply(batch, now=microseconds(started), log_end=last)
        if outcome.dead or outcome.postponed:
            reasons = [str(error) for _, error in (*outcome.dead, *outcome.postponed)]
            raise PermanentError(f"a document was refused: {reasons[0]}")
    shard.maintain_when_idle()
    stream = StreamState(name=EVENTS_STREAM, created_at=started, first_sequence=1, last_sequence=last)
    shard.publish(PublicationInfo(1, stream, datetime.now(UTC)), ensure_lease=lambda: None)


def derived_messages(
    data: EvaluationSet, ingest: MemoriesBuilder, started: datetime, advance: Advance
) -> Iterator[Sequence[DerivedMessage]]:
    """The three messages every document leads to, in the order of the log."""

    def follow(event: tuple[LoggedEvent, list[LoggedEvent]]) -> Sequence[DerivedMessage]:
        memories = ingest.build(*event)
        advance()
        derived = (worker.derived_message(memories.subject, memories.body) for worker in (DOC2QUERY, KG))
        return (memories, *derived)

    with ThreadPoolExecutor(AT_WORK, thread_name_prefix="lab-build") as pool:
        log = logged_events(data, started)
        while some := list(itertools.islice(log, EVENTS_AT_ONCE)):
            yield from pool.map(follow, some)


def logged_events(data: EvaluationSet, started: datetime) -> Iterator[tuple[LoggedEvent, list[LoggedEvent]]]:
    """Every document as an event of the log, with the turns before it that ingest would read back."""
    turns: defaultdict[tuple[str, str], deque[LoggedEvent]] = defaultdict(lambda: deque(maxlen=CONTEXT_TURNS))
    for position in range(len(data.documents)):
        event = event_of(data, position)
        logged = LoggedEvent(event, position + 1, started + timedelta(milliseconds=position))
        before = turns[event.tenant_id, event.session_id] if event.session_id else deque()
        if isinstance(event, MessageEvent):
            yield logged, list(before)
            before.append(logged)
        else:
            yield logged, []


def _numbered(answers: Iterable[Sequence[DerivedMessage]]) -> Iterator[Msg]:
    """Messages as HELIX_DERIVED would deliver them."""
    client = Client()
    for sequence, message in enumerate(itertools.chain.from_iterable(answers), 1):
        reply = f"$JS.ACK.{DERIVED_STREAM}.lab.1.{sequence}.{sequence}.0.0"
        yield Msg(
            _client=client,
            subject=message.subject,
            reply=reply,
            data=message.body,
            headers=dict(message.headers),
        )
