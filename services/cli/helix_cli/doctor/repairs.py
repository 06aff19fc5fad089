"""What `helix doctor --repair` does: only what loses nothing, and what the next start would do as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_cli.clients.broker import jetstream_of
from helix_cli.doctor.generation_checks import REBUILD, Generations
from helix_cli.home.addresses import Server
from helix_cli.home.folder import HomeFolder
from helix_cli.home.lock import locked
from helix_cli.home.record import remove_record
from helix_memory import subjects
from helix_memory.transport.publisher import Publisher
from helix_shared.artifacts.generation.folders import CURRENT
from helix_shared.artifacts.generation.publishing import set_pointer
from helix_shared.broker import streams
from helix_shared.broker.provisioning.provision import provision

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from helix_consolidation.reconciliation.log import MissingEvent


def point_to_good(home: HomeFolder, data: Path, known: Generations) -> str:
    """Let CURRENT of the data folder of a shard name the newest good generation; returns what was done.

    Raises:
        PermanentError: `helix up` runs on the home.
    """
    if not known.good:
        return f"no generation is good: {REBUILD}"
    number = known.good[0]
    with locked(home):
        set_pointer(data, number)
    return (
        f"{data / CURRENT} names generation {number}; if the writer does not start because later messages "
        f"were acknowledged, {REBUILD}"
    )


def unlock(home: HomeFolder) -> str:
    """Remove the record of a run whose processes are gone; returns what was done."""
    with locked(home):
        remove_record(home)
    return "the stale record was removed"


async def provision_again(server: Server) -> str:
    """Provision again, all streams with as many replicas as any has; returns what was done."""
    async with jetstream_of(server) as jetstream:
        found = {info.config.name: info.config.num_replicas or 1 for info in await jetstream.streams_info()}
        endpoint = streams.ANSWERS.name in found
        done = await provision(jetstream, replicas=max(found.values(), default=1), endpoint=endpoint)
    return f"provisioned {len(done)} streams, consumers and buckets"


async def derive(server: Server, missing: Sequence[MissingEvent]) -> str:
    """Store the memories messages of events again, as results of the same events; returns what was done."""
    async with jetstream_of(server) as jetstream:
        publisher = Publisher(jetstream)
        for event in missing:
            await publisher.publish(
                subjects.derived_subject("memories", event.tenant_id),
                event.derived.body,
                message_id=subjects.derived_message_id("memories", event.sequence, "doctor"),
                headers={**event.derived.headers(event.sequence), subjects.REDRIVE_HEADER: "1"},
            )
    return f"the results of {len(missing)} events were stored again"
