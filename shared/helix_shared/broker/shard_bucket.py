"""The shard map in NATS: a key of the bucket HELIX_SHARDS, which exists only where there are several shards.

It is read from the leader of its stream: a replica may be behind, and two writers with different maps would
both own a tenant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nats.js import api
from nats.js.errors import BucketNotFoundError, KeyNotFoundError, KeyWrongLastSequenceError, NotFoundError

from helix_shared.errors import TemporaryError
from helix_shared.shard_map import ShardMap

if TYPE_CHECKING:
    from nats.js import JetStreamContext

SHARDS: Final = "HELIX_SHARDS"
MAP_KEY: Final = "map"
_STREAM: Final = f"KV_{SHARDS}"
_SUBJECT: Final = f"$KV.{SHARDS}.{MAP_KEY}"


async def read_map(jetstream: JetStreamContext) -> ShardMap:
    """The shard map; that of one shard where none was written.

    Raises:
        nats.errors.Error: the server does not answer.
        CorruptArtifactError: what is there is no map.
    """
    return (await _read(jetstream))[0]


async def replace_map(
    jetstream: JetStreamContext, before: ShardMap, after: ShardMap, *, replicas: int
) -> None:
    """Replace the map `before`; the caller holds the leases of all its shards.

    Raises:
        TemporaryError: another command changed the map meanwhile.
        nats.errors.Error: the server does not answer.
    """
    found, revision = await _read(jetstream)
    if found != before:
        raise TemporaryError("the shard map was changed by another command; try again")
    await jetstream.create_key_value(api.KeyValueConfig(bucket=SHARDS, history=8, replicas=replicas))
    bucket = await jetstream.key_value(SHARDS)
    try:
        await bucket.update(MAP_KEY, after.encoded(), last=revision)
    except (KeyWrongLastSequenceError, KeyNotFoundError, BucketNotFoundError) as error:
        raise TemporaryError("the shard map was changed by another command; try again") from error


async def _read(jetstream: JetStreamContext) -> tuple[ShardMap, int]:
    try:
        found = await jetstream.get_last_msg(_STREAM, _SUBJECT)
    except NotFoundError:
        return ShardMap(), 0
    return ShardMap.decoded(found.data or b""), int(found.seq or 0)
