"""AccessService on a listening address of its own: hands the ring of accesses to a forwarder.

The address is separate from that of RecallService because accesses name memories of all tenants: an operator
publishes the one and keeps the other to the machine. The recalls never wait for a reader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import grpc

from helix_memory.recall.v1 import recall_pb2
from helix_shared.rpc.access.credential import SERVICE
from helix_shared.rpc.access.listening import bind
from helix_shared.rpc.guard import guarded_stream
from helix_shared.rpc.server import OPTIONS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from helix_query.accesses.ring import AccessRing, ServedMemories
    from helix_query.settings import QuerySettings
    from helix_shared.rpc.access.admission import Admission

ACCESS_SERVICE: Final = recall_pb2.DESCRIPTOR.services_by_name["AccessService"].full_name
BATCH_ACCESSES: Final = 256


class AccessServer:
    """A server that streams the accesses of one ring, to callers with the role of a service."""

    def __init__(self, ring: AccessRing, settings: QuerySettings, admission: Admission) -> None:
        self._ring = ring
        self._settings = settings
        self._server = grpc.aio.server(options=OPTIONS)
        stream = admission.checked_stream(self._stream, recall_pb2.StreamAccessesRequest, SERVICE)
        handler = grpc.unary_stream_rpc_method_handler(
            guarded_stream(stream, rpc="StreamAccesses"),
            request_deserializer=recall_pb2.StreamAccessesRequest.FromString,
            response_serializer=lambda batch: batch.SerializeToString(),
        )
        handlers = grpc.method_handlers_generic_handler(ACCESS_SERVICE, {"StreamAccesses": handler})
        self._server.add_generic_rpc_handlers((handlers,))

    async def start(self) -> int:
        """Listen; return the port, 0 for a Unix socket.

        Raises:
            TemporaryError: the address cannot be bound.
        """
        port = bind(self._server, self._settings.access_listen, self._settings)
        await self._server.start()
        return port

    async def stop(self) -> None:
        """End the streams; what is still in the ring is lost."""
        self._ring.close()
        await self._server.stop(grace=1.0)

    async def _stream(
        self, _request: recall_pb2.StreamAccessesRequest, _context: Any
    ) -> AsyncIterator[recall_pb2.AccessBatch]:
        self._ring.readers += 1
        try:
            while True:
                served, audits = await self._ring.take(BATCH_ACCESSES), self._ring.audits.take()
                if not (served or audits):
                    return
                yield _batch(self._ring.name, served, audits)
        finally:
            self._ring.readers -= 1


def _batch(
    ring: str, served: Sequence[ServedMemories], audits: Sequence[recall_pb2.AuditRecord]
) -> recall_pb2.AccessBatch:
    return recall_pb2.AccessBatch(
        ring=ring,
        audits=audits,
        accesses=[
            recall_pb2.Access(
                number=one.number,
                tenant_id=one.tenant_id,
                at=one.at,
                generation=one.generation,
                memory_ids=one.memory_ids,
            )
            for one in served
        ],
    )
