"""`helix export`: events of tenants, with the recorded answers of the language model, as JSON lines.

Three readings of the log in batches, so the memory does not grow with it: the numbers for the header, the
answers, the events. What is published meanwhile comes after the last sequence that was read first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Container, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import IO, TYPE_CHECKING, Final

from nats.js.errors import NotFoundError as NoStreamError

from helix_cli.exchange.erased import NOTHING_ERASED, Erased, erased_memories
from helix_cli.exchange.orphans import Orphans
from helix_memory import subjects
from helix_memory.transport import dead_letters
from helix_shared.artifacts.generation.manifest import current_manifest
from helix_shared.broker.log_reader import read_range
from helix_shared.broker.shard_bucket import read_map
from helix_shared.errors import CorruptArtifactError, InvalidInputError
from helix_shared.event_log.export_file import ANSWER, EVENT, ExportHeader, ExportWriter

if TYPE_CHECKING:
    from pathlib import Path

    from nats.aio.client import Client

    from helix_shared.event_log.record import EventRecord

ERASE: Final = "erase"
REFUSED_HEADER: Final = "Helix-Refused"
"""In a line of an export: the event had no effect where it comes from. An import takes it off."""
Advance = Callable[[int, int], None]
"""Hears the number of lines that are written, and of all."""


@dataclass(slots=True)
class Exported:
    """What was written."""

    events: int
    answers: int
    left_out: int
    last_sequence: int
    size_bytes: int
    sha256: str
    tenants: dict[str, int]
    """Events of each, by its name."""
    tenants_without_answers: list[str] = field(default_factory=list)
    """An answer may repeat what was erased, so tenants with an erase event export none."""
    completed: int = 0
    """Corrections of erased memories, which are memories of their own in the export."""
    malformed: int = 0
    """Messages that are left out since their subjects are not those of events: no worker takes them."""


@dataclass(slots=True)
class _Counted:
    events: int = 0
    left_out: int = 0
    malformed: int = 0
    last_erasure: dict[str, int] = field(default_factory=dict)
    """Sequence of the last erase event, by tenant."""
    tenants: Counter[str] = field(default_factory=Counter)


def require_tenants(tenants: Sequence[str]) -> None:
    """Check what a user names.

    Raises:
        InvalidInputError: a tenant is no token.
    """
    for tenant in tenants:
        if not subjects.is_token(tenant):
            raise InvalidInputError("--tenant", f"{tenant[:80]!r} is not a tenant: A-Z a-z 0-9 _ -, 1 to 64")


async def export(
    client: Client,
    target: IO[bytes],
    *,
    tenants: Sequence[str],
    data_of: Callable[[int], Path],
    advance: Advance = lambda _, __: None,
) -> Exported:
    """Write the events of `tenants` (empty: of all) to `target`; `data_of` gives the data folder of a shard.

    Raises:
        InvalidInputError: a tenant is no token.
        PermanentError: something was erased, and the data folder of its shard does not know what.
        TemporaryError: NATS does not answer, an erasure is not applied yet, or one came meanwhile.
    """
    require_tenants(tenants)
    info = await client.jetstream().stream_info(subjects.EVENTS_STREAM)
    last = info.state.last_seq
    counted = await _count(client, tenants, last, NOTHING_ERASED)
    erased, place = NOTHING_ERASED, await read_map(client.jetstream())
    if counted.last_erasure:
        last_erasures: dict[Path, int] = {}
        # a shard knows what was erased of its own tenants
        for tenant, sequence in counted.last_erasure.items():
            folder = data_of(place.shard_of(tenant))
            last_erasures[folder] = max(sequence, last_erasures.get(folder, 0))
        erased = erased_memories(last_erasures, info.created)
        counted = await _count(client, tenants, last, erased)
    answers = [record async for record in _answer_places(client, tenants, counted.last_erasure)]
    header = ExportHeader(
        helix=version("helix-memory"),
        model=_model(data_of(0)),
        rules=_rules(),
        tenants=sorted(counted.tenants),
        events=counted.events,
        answers=len(answers),
        last_sequence=last,
        left_out=counted.left_out,
    )
    writer = ExportWriter(target, header)
    written, total = 0, counted.events + len(answers)
    kept = set(answers)
    until = max(answers, default=0)
    async for record in _records(client, subjects.ANSWERS_STREAM, _answers_of(tenants), until):
        if record.sequence in kept:
            writer.add(ANSWER, record)
            advance(written := written + 1, total)
    refused = await _refused(client, tenants)
    orphans = Orphans(erased, lambda tenant: data_of(place.shard_of(tenant)))
    async for record in _records(client, subjects.EVENTS_STREAM, events_of(tenants), last):
        if _is_event(record) and not erased.holds(record):
            whole = orphans.complete(record)
            writer.add(EVENT, _marked(whole) if record.sequence in refused else whole)
            advance(written := written + 1, total)
    digest = writer.finish()
    return Exported(
        counted.events,
        len(answers),
        counted.left_out,
        last,
        writer.size_bytes,
        digest,
        dict(sorted(counted.tenants.items())),
        sorted(counted.last_erasure),
        orphans.completed,
        counted.malformed,
    )


def events_of(tenants: Sequence[str]) -> list[str]:
    """Subject filters of all events of these tenants; empty: of all tenants."""
    return [subjects.events_of_tenant(tenant) for tenant in dict.fromkeys(tenants)] or [subjects.ALL_EVENTS]


def _answers_of(tenants: Sequence[str]) -> list[str]:
    return [subjects.answer_subject(tenant, "*") for tenant in dict.fromkeys(tenants or ("*",))]


async def _records(
    client: Client, stream: str, filters: Sequence[str], until: int, *, headers_only: bool = False
) -> AsyncIterator[EventRecord]:
    if until:
        async for batch in read_range(client, stream, filters, until=until, headers_only=headers_only):
            for record in batch:
                yield record


async def _count(client: Client, tenants: Sequence[str], last: int, erased: Erased) -> _Counted:
    """Numbers for the header; bodies are read only to find what was erased."""
    counted = _Counted()
    filters = events_of(tenants)
    async for record in _records(client, subjects.EVENTS_STREAM, filters, last, headers_only=not erased):
        if not _is_event(record):
            counted.malformed += 1
            continue
        tenant = subjects.tenant_of(record.subject)
        if subjects.kind_of(record.subject) == ERASE:
            counted.last_erasure[tenant] = record.sequence
        if erased.holds(record):
            counted.left_out += 1
            continue
        counted.events += 1
        counted.tenants[tenant] += 1
    return counted


def _is_event(record: EventRecord) -> bool:
    """Whether the subject names tenant, session and kind; an import refuses a file with another one."""
    return subjects.parse_event_subject(record.subject) is not None


async def _answer_places(
    client: Client, tenants: Sequence[str], without: Container[str]
) -> AsyncIterator[int]:
    """Sequences of the answers that are exported."""
    try:
        last = (await client.jetstream().stream_info(subjects.ANSWERS_STREAM)).state.last_seq
    except NoStreamError:
        return
    async for record in _records(
        client, subjects.ANSWERS_STREAM, _answers_of(tenants), last, headers_only=True
    ):
        if subjects.tenant_of(record.subject) not in without:
            yield record.sequence


async def _refused(client: Client, tenants: Sequence[str]) -> set[int]:
    """The events that had no effect: an import expects that they have none there either."""
    found = [
        await dead_letters.refused_events(client.jetstream(), one) for one in dict.fromkeys(tenants or [""])
    ]
    return set().union(*found)


def _marked(record: EventRecord) -> EventRecord:
    """The record of an event that was refused."""
    return replace(record, headers={**record.headers, REFUSED_HEADER: "1"})


def _model(data: Path) -> str:
    """Model of the current generation; empty where there is none."""
    try:
        manifest = current_manifest(data)
    except CorruptArtifactError:
        return ""
    return "" if manifest is None else f"{manifest.model.name} {manifest.model.checksum[:12]}"


def _rules() -> str:
    """Version of the rules by which this release makes memories."""
    from helix_ingest.memories_builder import VERSION  # noqa: PLC0415  slow to import

    return f"memories {VERSION}"
