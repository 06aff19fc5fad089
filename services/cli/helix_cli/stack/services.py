"""The services of a stack, how many processes each may have, and their settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from helix_shared.broker import streams
from helix_shared.errors import InvalidInputError

INGEST: Final = "ingest"
CONSOLIDATION: Final = "consolidation"
QUERY: Final = "query"
EXTRACT: Final = "extract"
DEEP: Final = "deep"
GATEWAY: Final = "gateway"
GATEWAY_MODULE: Final = "helix_gateway"
ENDPOINT_VARIABLES: Final = {EXTRACT: "HELIX_EXTRACT_BASE_URL", DEEP: "HELIX_DEEP_BASE_URL"}
"""Where one is set, a stack starts that service, which asks a language model."""
SECRETS: Final = ("HELIX_EXTRACT_API_KEY", "HELIX_DEEP_API_KEY")
"""Variables that only the service they name gets."""
FORWARDER: Final = "forwarder"
"""Without it the query service records no accesses."""
OF_A_SHARD: Final = (CONSOLIDATION, QUERY, FORWARDER)
"""Every shard has one process of each, unless one query process has all of them."""
QUERY_SHARDS: Final = "HELIX_QUERY_SHARDS"
COPIES_AT_MOST: Final = 32


@dataclass(frozen=True, slots=True)
class Service:
    """A service of the stack, with the least, the usual and the most processes it may have."""

    name: str
    module: str
    least: int = 1
    most: int = 1
    usual: int = 1


SERVICES: Final = (
    Service(INGEST, "helix_ingest", most=COPIES_AT_MOST),
    Service("doc2query", "helix_doc2query", least=0, most=COPIES_AT_MOST),
    Service("kg", "helix_kg", least=0, most=COPIES_AT_MOST),
    Service(CONSOLIDATION, "helix_consolidation"),
    Service(QUERY, "helix_query"),
    Service(FORWARDER, "helix_consolidation.forwarder", least=0),
    Service(EXTRACT, "helix_extract", least=0, most=COPIES_AT_MOST, usual=0),
    Service(DEEP, "helix_deep", least=0, usual=0),
    Service(GATEWAY, GATEWAY_MODULE, least=0, usual=0),
)
_EXTRAS: Final = {EXTRACT: "endpoint", DEEP: "endpoint", GATEWAY: "gateway"}
"""Extra of helix-memory-cli that installs a service."""


def checked_copies(copies: Mapping[str, int]) -> dict[str, int]:
    """Processes by service: those of `copies`, else the usual number.

    Raises:
        InvalidInputError: an unknown service, a number out of bounds, or a service that is not installed.
    """
    services = {service.name: service for service in SERVICES}
    for name, count in copies.items():
        if name not in services:
            raise InvalidInputError("--copies", f"unknown service {name!r}; services: {', '.join(services)}")
        least, most = services[name].least, services[name].most
        if not least <= count <= most:
            allowed = "exactly 1" if least == most else f"{least} to {most}"
            raise InvalidInputError("--copies", f"{name}={count} must be {allowed}")
    for name, extra in _EXTRAS.items():
        if copies.get(name) and not is_installed(services[name].module):
            reason = f"{name} is not installed; install helix-memory-cli[{extra}]"
            raise InvalidInputError("--copies", reason)
    return {name: copies.get(name, service.usual) for name, service in services.items()}


def with_shards(copies: Mapping[str, int], shards: int, environment: Mapping[str, str]) -> dict[str, int]:
    """`copies` with a process for every shard of each service in `OF_A_SHARD`.

    Where HELIX_QUERY_SHARDS names the shards, one query process has all of them, and one forwarder reads it.

    Raises:
        InvalidInputError: the setting names other shards.
    """
    named = environment.get(QUERY_SHARDS, "")
    if named and sorted(named.split(",")) != sorted(map(str, range(shards))):
        every = ",".join(map(str, range(shards)))
        raise InvalidInputError(QUERY_SHARDS, f"must name all shards of this home: {every}")
    of_each = (CONSOLIDATION,) if named else OF_A_SHARD
    return {name: count * shards if name in of_each else count for name, count in copies.items()}


def is_installed(module: str) -> bool:
    """Whether a service is there."""
    return find_spec(module) is not None


def configured_copies(copies: Mapping[str, int], environment: Mapping[str, str]) -> dict[str, int]:
    """`copies`, with one process of a service whose endpoint the environment names and `copies` leaves open.

    Raises: as `checked_copies`.
    """
    configured = {name: 1 for name, variable in ENDPOINT_VARIABLES.items() if environment.get(variable, "")}
    return checked_copies(configured | dict(copies))


def consumers_of(copies: Mapping[str, int]) -> list[streams.DurableConsumer]:
    """The durable consumers that the processes of `copies` read from."""
    every = (*streams.consumers_of(copies[CONSOLIDATION]), *streams.ENDPOINT_CONSUMERS)
    return [consumer for consumer in every if copies[consumer.name.partition("-")[0]]]


def remove_secrets_of_others(service: str, environment: dict[str, str]) -> None:
    """Take the secrets of other services out of the environment of a service."""
    for secret in SECRETS:
        if not secret.startswith(f"HELIX_{service.upper()}_"):
            environment.pop(secret, None)


def service_settings(
    service: str,
    *,
    nats_url: str,
    data: Path,
    models: Path,
    query_address: str,
    copies: int,
    instance: str = "",
    access_address: str = "",
    deep_address: str = "",
    gateway_address: str = "",
    shard: int = 0,
) -> dict[str, str]:
    """Environment variables that connect a service to the stack; `shard` is that of a service of one.

    `access_address` is where the forwarder reads accesses; empty: there is no forwarder.
    `deep_address` and `gateway_address` are where these services listen.
    """
    values = {
        "NATS_URL": nats_url,
        "DATA_DIR": str(data),
        "MODELS_DIR": str(models),
        "LISTEN": {DEEP: deep_address, GATEWAY: gateway_address}.get(service, query_address),
        "QUERY_ADDRESS": query_address,
        "INSTANCE": instance,
        "ACCESS_LISTEN": access_address,
        "ACCESS_ADDRESS": access_address,
        "COPIES": str(copies),
        "SHARD": str(shard),
    }
    used = {
        "ingest": ("NATS_URL", "MODELS_DIR", "COPIES"),
        "doc2query": ("NATS_URL",),
        "kg": ("NATS_URL",),
        "consolidation": ("NATS_URL", "DATA_DIR", "MODELS_DIR", "SHARD"),
        QUERY: ("DATA_DIR", "MODELS_DIR", "LISTEN", "INSTANCE", "ACCESS_LISTEN"),
        FORWARDER: ("NATS_URL", "ACCESS_ADDRESS"),
        EXTRACT: ("NATS_URL", "MODELS_DIR"),
        DEEP: ("LISTEN", "QUERY_ADDRESS"),
        GATEWAY: ("LISTEN", "NATS_URL", "QUERY_ADDRESS"),
    }
    return {f"HELIX_{service.upper()}_{key}": values[key] for key in used[service]}
