"""The services of a stack, how many processes each may have, and their settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from helix_shared.errors import InvalidInputError

QUERY: Final = "query"
COPIES_AT_MOST: Final = 32


@dataclass(frozen=True, slots=True)
class Service:
    """A service of the stack, with the least and the most processes it may have."""

    name: str
    module: str
    least: int = 1
    most: int = 1


SERVICES: Final = (
    Service("ingest", "helix_ingest", most=COPIES_AT_MOST),
    Service("doc2query", "helix_doc2query", least=0, most=COPIES_AT_MOST),
    Service("kg", "helix_kg", least=0, most=COPIES_AT_MOST),
    Service("consolidation", "helix_consolidation"),
    Service(QUERY, "helix_query"),
)


def checked_copies(copies: Mapping[str, int]) -> dict[str, int]:
    """Processes by service: those of `copies`, else 1.

    Raises:
        InvalidInputError: an unknown service, or a number out of bounds.
    """
    services = {service.name: service for service in SERVICES}
    for name, count in copies.items():
        if name not in services:
            raise InvalidInputError("--copies", f"unknown service {name!r}; services: {', '.join(services)}")
        least, most = services[name].least, services[name].most
        if not least <= count <= most:
            allowed = "exactly 1" if most == 1 else f"{least} to {most}"
            raise InvalidInputError("--copies", f"{name}={count} must be {allowed}")
    return {name: copies.get(name, 1) for name in services}


def service_settings(
    service: str,
    *,
    nats_url: str,
    data: Path,
    models: Path,
    query_address: str,
    copies: int,
    instance: str = "",
) -> dict[str, str]:
    """Environment variables that connect a service to the stack."""
    values = {
        "NATS_URL": nats_url,
        "DATA_DIR": str(data),
        "MODELS_DIR": str(models),
        "LISTEN": query_address,
        "INSTANCE": instance,
        "COPIES": str(copies),
    }
    used = {
        "ingest": ("NATS_URL", "MODELS_DIR", "COPIES"),
        "doc2query": ("NATS_URL",),
        "kg": ("NATS_URL",),
        "consolidation": ("NATS_URL", "DATA_DIR"),
        QUERY: ("DATA_DIR", "MODELS_DIR", "LISTEN", "INSTANCE"),
    }
    return {f"HELIX_{service.upper()}_{key}": values[key] for key in used[service]}
