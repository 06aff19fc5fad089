"""When a stack is ready: the newest generation is served, every consumer is read, the writer writes."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from nats.js import JetStreamContext

from helix_cli.clients.broker import connected, run_async
from helix_cli.clients.deep_client import is_listening
from helix_cli.clients.query_status import generation_of
from helix_cli.clients.writer_status import writer_status
from helix_memory.subjects import EVENTS_STREAM
from helix_memory.transport.credentials import CallCredentials, NatsCredentials
from helix_memory.transport.recall_client import RecallClient
from helix_shared.broker.streams import DurableConsumer
from helix_shared.errors import DeniedError, HelixError, UnauthenticatedError

CALL_SECONDS: Final = 2.0


def missing(
    *,
    queries: Sequence[tuple[str, Sequence[int]]],
    nats_url: str,
    data_of: Callable[[int], Path],
    consumers: Sequence[DurableConsumer],
    deep_address: str = "",
    gateway_port: int = 0,
    nats: NatsCredentials | None = None,
    calls: CallCredentials | None = None,
) -> str:
    """The part that is not ready yet, for people; empty when every part is ready.

    `queries`: address of every query service, with its shards; `data_of` gives the data folder of a shard.
    """
    try:
        if reason := run_async(_not_consuming(nats_url, consumers, nats, is_new=not _published(data_of(0)))):
            return reason
        for address, shards in queries:
            published = {shard: _published(data_of(shard)) for shard in shards}
            if reason := _not_serving(address, calls, published):
                return reason
        if deep_address and not is_listening(deep_address, wait_seconds=CALL_SECONDS, credentials=calls):
            return f"the deep service does not listen at {deep_address}"
        if gateway_port and not _is_listening(gateway_port):
            return f"the gateway does not listen on port {gateway_port}"
    except HelixError as error:
        return str(error)
    return ""


def _is_listening(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), CALL_SECONDS):
            return True
    except OSError:
        return False


def _not_serving(address: str, calls: CallCredentials | None, published: Mapping[int, int]) -> str:
    """Why the query service does not serve this generation of each shard or a later one; empty when it does.

    Where it takes no credential of the stack (`HELIX_QUERY_AUTH=jwt`), its health tells, which says only
    whether it serves a generation. A new home has none to serve: that it refuses the call is enough.
    """
    try:
        with RecallClient(address, call_seconds=CALL_SECONDS, credentials=calls) as client:
            status = client.status()
    except (UnauthenticatedError, DeniedError):
        is_ready = not any(published.values()) or _is_healthy(address, calls)
        return "" if is_ready else "query serves no generation"
    served = {shard: generation_of(status, shard) for shard in published}
    behind = [f"generation {served[shard]}" for shard, least in published.items() if served[shard] < least]
    return f"query serves {behind[0]}" if behind else ""


def _is_healthy(address: str, calls: CallCredentials | None) -> bool:
    with (calls or CallCredentials()).channel(address) as channel:
        try:
            found = health_pb2_grpc.HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(), timeout=CALL_SECONDS
            )
        except grpc.RpcError:
            return False
    return bool(found.status == health_pb2.HealthCheckResponse.SERVING)


def _published(data: Path) -> int:
    """Generation that CURRENT names; 0 where there is none."""
    try:
        return int((data / "CURRENT").read_text())
    except (OSError, ValueError):
        return 0


async def _not_consuming(
    nats_url: str, consumers: Sequence[DurableConsumer], credentials: NatsCredentials | None, *, is_new: bool
) -> str:
    """Why messages are not consumed: the writer is blocked, or no process fetches for a consumer.

    `is_new`: there is no generation; in a home without events the writer is about to publish an empty one.
    """
    async with connected(nats_url, credentials=credentials) as jetstream:
        if problem := (await writer_status(jetstream)).problem:
            return f"the writer is blocked: {problem}"
        log_end = (await jetstream.stream_info(EVENTS_STREAM)).state.last_seq
        idle = [c.name for c in consumers if not await _is_fetched(jetstream, c)]
    if not idle and is_new and not log_end:
        return "consolidation has not published its first generation"
    return f"no process fetches for {', '.join(idle)}" if idle else ""


async def _is_fetched(jetstream: JetStreamContext, consumer: DurableConsumer) -> bool:
    info = await jetstream.consumer_info(consumer.stream, consumer.name)
    return bool(info.num_waiting or info.num_ack_pending)
