"""A client finds a service that was away and has come back."""

import time
from concurrent import futures

import grpc

from helix_memory.errors import TemporaryError
from helix_memory.recall.v1 import recall_pb2, recall_pb2_grpc
from helix_memory.transport.polling import poll
from helix_memory.transport.recall_client import RecallClient

AWAY_SECONDS = 18.0
"""With its own waits gRPC would try again about 16 and 26 s after the first call."""
BACK_SECONDS = 5.0


class _Service(recall_pb2_grpc.RecallServiceServicer):
    def GetStatus(self, *_: object) -> recall_pb2.GetStatusResponse:  # noqa: N802  the name of the call
        return recall_pb2.GetStatusResponse(applied_sequence=7)


def test_a_service_that_comes_back_answers_soon(unused_tcp_port: int) -> None:
    """Where one replica is killed while the other has just come back, nobody else could answer."""
    with RecallClient(f"127.0.0.1:{unused_tcp_port}|127.0.0.1:1", call_seconds=1.0) as client:
        for _ in poll(AWAY_SECONDS, every_seconds=0.2):
            try:
                client.status()
            except TemporaryError:
                continue
        server = grpc.server(futures.ThreadPoolExecutor(1))
        recall_pb2_grpc.add_RecallServiceServicer_to_server(_Service(), server)
        server.add_insecure_port(f"127.0.0.1:{unused_tcp_port}")
        server.start()
        try:
            began = time.monotonic()
            reached = client.wait_until_applied(7, wait_seconds=30)
            assert reached.applied_sequence == 7
            assert time.monotonic() - began < BACK_SECONDS
        finally:
            server.stop(None)
