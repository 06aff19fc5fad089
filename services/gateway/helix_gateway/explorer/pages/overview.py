"""Overview: what is served, how far the log is applied, and what waits."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from helix_gateway.operations import proto_json
from helix_memory import subjects
from helix_shared.errors import HelixError
from helix_shared.rpc.access.credential import ADMIN, RECALL

if TYPE_CHECKING:
    from helix_gateway.explorer.asked import Asked
    from helix_gateway.explorer.broker import Broker, Stream
    from helix_memory.client.results import Memory
    from helix_memory.recall.v1 import recall_pb2

RECENT: Final = 6


class Overview:
    """Builds the page, and the figures that its chart asks for while it is open."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def build(self, asked: Asked) -> dict[str, Any]:
        """What does not answer is said on the page, which stands."""
        problems: list[str] = []
        status: recall_pb2.GetStatusResponse | None = None
        streams: list[Stream] = []
        recent: tuple[Memory, ...] = ()
        try:
            status = await asked.helix.status()
        except HelixError as error:
            problems.append(f"query service: {error}")
        if _is_admin(asked):
            try:
                streams = await self._broker.streams()
            except HelixError as error:
                problems.append(str(error))
        if status is not None and status.generation and _may_recall(asked):
            try:
                recent = (await asked.helix.list(page_size=RECENT)).memories
            except HelixError as error:
                problems.append(f"memories: {error}")
        return {
            "title": "Overview",
            "status": status,
            "counts": status is not None and _is_admin(asked),
            "published": None if status is None else _published(status),
            "accesses": _accesses(status),
            "streams": streams,
            "lag": None if status is None else _lags(status, streams),
            "letters": next((one.messages for one in streams if one.name == subjects.DLQ_STREAM), None),
            "recent": recent,
            "may_recall": _may_recall(asked) and not problems,
            "problems": problems,
            "is_admin": _is_admin(asked),
        }

    async def pulse(self, asked: Asked) -> dict[str, Any]:
        """One point of the chart: the moment, the lag where the caller may know it, how long a call took."""
        began = time.perf_counter()
        status = await asked.helix.status()
        took = 1000 * (time.perf_counter() - began)
        lag = None
        if _is_admin(asked):
            lag = (_lags(status, await self._broker.streams()) or {}).get("events")
        return {
            "at": time.time(),
            "lag": lag,
            "generation": status.generation,
            "milliseconds": round(took, 2),
        }


def _lags(status: recall_pb2.GetStatusResponse, streams: list[Stream]) -> dict[str, int] | None:
    """Events and derived messages that no generation has yet."""
    ends = {one.name: one.last_sequence for one in streams}
    if subjects.EVENTS_STREAM not in ends:
        return None
    return {
        "events": max(0, ends[subjects.EVENTS_STREAM] - status.applied_sequence),
        "derived": max(0, ends.get(subjects.DERIVED_STREAM, 0) - status.derived_sequence),
    }


def _published(status: recall_pb2.GetStatusResponse) -> dict[str, Any] | None:
    if not status.HasField("published_at"):
        return None
    at = status.published_at.ToDatetime(tzinfo=UTC)
    return {"at": at, "age": max(0, int((datetime.now(UTC) - at).total_seconds()))}


def _accesses(status: recall_pb2.GetStatusResponse | None) -> dict[str, Any] | None:
    is_there = status is not None and status.HasField("accesses")
    return proto_json.plain(status.accesses) if status is not None and is_there else None


def _is_admin(asked: Asked) -> bool:
    return asked.caller.may(ADMIN)


def _may_recall(asked: Asked) -> bool:
    return asked.caller.may(RECALL)
