"""Compares the streams, consumers and the lease bucket on a server with what `provision` wants.

Changes nothing: only `helix provision` does. The number of replicas is a choice of whoever provisions, so a
stream is compared with the others. Whether the server syncs each write is in its configuration, which no
client can read: `helix doctor` reads the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from nats.js.errors import NotFoundError

from helix_shared.broker import streams
from helix_shared.broker.provisioning.provision import bucket_settings, stream_settings
from helix_shared.broker.shard_bucket import read_map

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nats.js import JetStreamContext

ADVICE: Final = "run `helix provision`"
_STREAM_FIELDS: Final = (
    "subjects", "retention", "discard", "storage", "max_msg_size", "max_bytes", "max_age", "max_msgs",
    "max_msgs_per_subject", "max_consumers", "duplicate_window", "allow_direct", "allow_atomic",
    "compression", "deny_delete", "deny_purge", "sealed", "no_ack", "allow_rollup_hdrs",
)  # fmt: skip
_CONSUMER_FIELDS: Final = (
    "filter_subjects", "ack_policy", "deliver_policy", "max_deliver", "max_ack_pending", "ack_wait",
)  # fmt: skip
_UNSET: Final = (None, "", 0, -1, False)
"""Values that mean no limit, or off: the server fills in one where another was asked for."""


@dataclass(frozen=True, slots=True)
class SettingDifference:
    """One setting that is not as wanted; values as text."""

    name: str
    """Name of the stream, or stream/consumer."""
    field: str
    wanted: str
    found: str

    def __str__(self) -> str:
        """One line for people."""
        return f"{self.name}: {self.field} is {self.found}, wanted {self.wanted}"


async def differences(jetstream: JetStreamContext) -> list[SettingDifference]:
    """Every difference, in the order of provisioning; what is optional counts where it exists.

    Raises:
        nats.errors.Error: the server does not answer.
    """
    found: list[SettingDifference] = []
    replicas: dict[str, int] = {}
    consumers = streams.consumers_of((await read_map(jetstream)).shards)
    for wanted in streams.wanted_streams():
        name = str(wanted.name)
        config = await stream_settings(jetstream, name)
        if config is None:
            found += [] if name in streams.OPTIONAL else [_missing(name)]
            continue
        replicas[name] = config.num_replicas or 1
        found += _compared(name, wanted, config, _STREAM_FIELDS)
    for consumer in (*consumers, *streams.ENDPOINT_CONSUMERS):
        name = f"{consumer.stream}/{consumer.name}"
        try:
            info = await jetstream.consumer_info(consumer.stream, consumer.name)
        except NotFoundError:
            found += [] if consumer in streams.ENDPOINT_CONSUMERS else [_missing(name)]
            continue
        found += _compared(name, streams.consumer_config(consumer), info.config, _CONSUMER_FIELDS)
    found += await _lease_bucket(jetstream, replicas)
    most = max(replicas.values(), default=1)
    found += [
        SettingDifference(n, "num_replicas", str(most), str(r)) for n, r in replicas.items() if r < most
    ]
    return found


async def _lease_bucket(jetstream: JetStreamContext, replicas: dict[str, int]) -> list[SettingDifference]:
    config = await bucket_settings(jetstream, streams.LEASES)
    if config is None:
        return [_missing(streams.LEASE_STREAM)]
    replicas[streams.LEASE_STREAM] = config.num_replicas or 1
    wanted = streams.LEASE_TTL_SECONDS
    if config.max_age == wanted:
        return []
    return [SettingDifference(streams.LEASE_STREAM, "max_age", _text(wanted), _text(config.max_age))]


def _missing(name: str) -> SettingDifference:
    return SettingDifference(name, "exists", "true", "false")


def _compared(name: str, wanted: Any, found: Any, fields: tuple[str, ...]) -> Iterator[SettingDifference]:
    for field in fields:
        want, have = (_text(_value(config, field)) for config in (wanted, found))
        if want != have:
            yield SettingDifference(name, field, want, have)


def _value(config: Any, field: str) -> Any:
    value = getattr(config, field, None)
    if field == "filter_subjects":
        return sorted(value or [config.filter_subject or ""])
    return sorted(value or []) if field == "subjects" else value


def _text(value: Any) -> str:
    """One form of equal values: enums by value, seconds as numbers, every unset value alike."""
    plain = getattr(value, "value", value)
    if isinstance(plain, list):
        return ", ".join(plain)
    if plain in _UNSET:
        return "unset"
    return f"{plain:g}" if isinstance(plain, int | float) and not isinstance(plain, bool) else str(plain)
