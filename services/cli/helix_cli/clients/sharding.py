"""Changing the shard map of an instance: more shards, while no writer runs.

Whoever changes it holds the leases of all writers, so that no two of them ever own the same tenant. A tenant
that has events stays where it is; only new tenants are placed in new shards.
"""

from __future__ import annotations

import contextlib
import json
import uuid
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from nats.js.errors import NotFoundError

from helix_consolidation.delivery.leading.lease import Lease
from helix_memory import subjects
from helix_shared.broker import streams
from helix_shared.broker.provisioning.provision import stream_settings
from helix_shared.broker.shard_bucket import read_map, replace_map
from helix_shared.errors import TemporaryError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from nats.aio.client import Client

_INFO: Final = f"$JS.API.STREAM.INFO.{subjects.EVENTS_STREAM}"
_SECONDS: Final = 10.0


async def grow(client: Client, shards: int) -> bool:
    """Give the instance so many shards; returns whether it had fewer. Streams and buckets exist.

    Raises:
        InvalidInputError: `shards` is less than there are, or too many.
        TemporaryError: a writer runs, or another command changes the map.
        LostLeaseError: it took longer than a lease is valid; nothing was changed.
        nats.errors.Error: NATS does not answer.
    """
    jetstream = client.jetstream()
    before = await read_map(jetstream)
    if before.grown(shards, tenants=(), log_end=0) == before:
        return False
    async with _all_leases(client, before.shards) as leases:
        log_end = (await jetstream.stream_info(subjects.EVENTS_STREAM)).state.last_seq
        tenants = {tenant async for tenant, _ in tenants_of_log(client)}
        after = before.grown(shards, tenants=tenants, log_end=log_end)
        log = await stream_settings(jetstream, subjects.EVENTS_STREAM)
        for lease in leases:
            await lease.renew()
        await replace_map(jetstream, before, after, replicas=(log and log.num_replicas) or 1)
    return True


async def tenants_of_log(client: Client) -> AsyncIterator[tuple[str, int]]:
    """Every tenant with events in the log, a number of them each time; a tenant may come several times.

    Raises:
        TemporaryError: NATS refuses to tell.
        nats.errors.Error: it does not answer.
    """
    offset = 0
    while True:
        request = {"subjects_filter": subjects.ALL_EVENTS, "offset": offset}
        reply = await client.request(_INFO, json.dumps(request).encode(), timeout=_SECONDS)
        answer: dict[str, Any] = json.loads(reply.data)
        if "error" in answer:
            raise TemporaryError(f"stream {subjects.EVENTS_STREAM}: {answer['error'].get('description')}")
        found: dict[str, int] = answer["state"].get("subjects") or {}
        for subject, count in found.items():
            if (address := subjects.parse_event_subject(subject)) is not None:
                yield address.tenant_id, count
        offset += len(found)
        if not found or offset >= answer.get("total", 0):
            return


@asynccontextmanager
async def _all_leases(client: Client, shards: int) -> AsyncIterator[list[Lease]]:
    """The leases of the writers of all shards, which are free again afterwards."""
    try:
        bucket = await client.jetstream().key_value(streams.LEASES)
    except NotFoundError as error:
        raise TemporaryError(f"bucket {streams.LEASES} does not exist; run `helix provision`") from error
    # the identity of no lock: nobody else takes the leases over
    leases, identity = list[Lease](), uuid.uuid4().hex
    async with contextlib.AsyncExitStack() as held:
        for shard in range(shards):
            lease = await Lease.acquire(bucket, lock_identity=identity, shard=shard)
            if lease is None:
                raise TemporaryError(f"the writer of shard {shard} runs; stop all writers first")
            held.push_async_callback(lease.release)
            leases.append(lease)
        yield leases
