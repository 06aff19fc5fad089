"""One client for several callers."""

from collections.abc import Iterator
from concurrent import futures

import grpc
import pytest

from helix_memory.client import Helix, InvalidInputError, PermanentError
from helix_memory.recall.v1 import recall_pb2, recall_pb2_grpc


class ListeningService(recall_pb2_grpc.RecallServiceServicer):
    """Keeps who asked, and with which token."""

    def __init__(self) -> None:
        self.port = 0
        self.seen: list[tuple[str, object]] = []

    def Recall(  # noqa: N802  gRPC's name
        self, request: recall_pb2.RecallRequest, context: grpc.ServicerContext
    ) -> recall_pb2.RecallResponse:
        """Answer with nothing."""
        token = dict(context.invocation_metadata()).get("authorization")
        self.seen.append((request.scope.user_id, token))
        return recall_pb2.RecallResponse()


@pytest.fixture
def service() -> Iterator[ListeningService]:
    """A service that runs."""
    listening, server = ListeningService(), grpc.server(futures.ThreadPoolExecutor(2))
    recall_pb2_grpc.add_RecallServiceServicer_to_server(listening, server)
    listening.port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield listening
    server.stop(None)


def test_a_client_acts_for_other_callers_over_one_connection(service: ListeningService) -> None:
    """Each has its own scope and token; the first one keeps its own. Closing one closes all."""
    with Helix("127.0.0.1", query_port=service.port, user="ana", token="first") as ana:  # noqa: S106  a test
        bo = ana.acting_as(user="bo", token="second")  # noqa: S106  likewise
        nobody = ana.acting_as()
        for helix in (bo, nobody, ana):
            helix.recall("x")
        bo.close()
        for helix in (bo, nobody, ana):
            with pytest.raises(PermanentError, match="closed"):
                helix.recall("x")
    assert service.seen == [("bo", "Bearer second"), ("", None), ("ana", "Bearer first")]


def test_the_token_of_another_caller_does_not_cross_the_network_in_the_clear() -> None:
    """As that of the client itself."""
    with Helix(query_address="203.0.113.1:7461") as helix:
        helix.acting_as(user="bo")
        with pytest.raises(InvalidInputError, match="in the clear"):
            helix.acting_as(user="bo", token="second")  # noqa: S106  a test
