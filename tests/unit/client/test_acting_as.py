"""One client for several callers."""

from collections.abc import Iterator
from concurrent import futures
from pathlib import Path

import grpc
import pytest

from helix_memory.client import AsyncHelix, Helix, InvalidInputError, PermanentError
from helix_memory.recall.v1 import recall_pb2, recall_pb2_grpc


class ListeningService(recall_pb2_grpc.RecallServiceServicer):
    """Keeps who asked, and with which token."""

    def __init__(self) -> None:
        self.port = 0
        self.seen: list[tuple[str, object]] = []
        self.time_zones: list[str] = []

    def Recall(  # noqa: N802  gRPC's name
        self, request: recall_pb2.RecallRequest, context: grpc.ServicerContext
    ) -> recall_pb2.RecallResponse:
        """Answer with nothing."""
        token = dict(context.invocation_metadata()).get("authorization")
        self.seen.append((request.scope.user_id, token))
        self.time_zones.append(request.time_zone)
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
        nobody = ana.acting_as(token="")
        for helix in (bo, nobody, ana):
            helix.recall("x")
        bo.close()
        for helix in (bo, nobody, ana):
            with pytest.raises(PermanentError, match="closed"):
                helix.recall("x")
    assert service.seen == [("bo", "Bearer second"), ("", None), ("ana", "Bearer first")]


def test_another_caller_keeps_token_and_time_zone_unless_they_are_given(
    service: ListeningService, tmp_path: Path
) -> None:
    """None keeps what the client has, a file with a token, too; the token "" is none at all."""
    file = tmp_path / "token"
    file.write_text("of-the-file")
    file.chmod(0o600)
    zone = "Asia/Kathmandu"
    with (
        Helix(query_port=service.port, token="first", time_zone=zone) as ana,  # noqa: S106  a test
        Helix(query_port=service.port, token_file=str(file), time_zone=zone) as bo,
    ):
        for helix in (ana, bo):
            helix.acting_as(user="kept").recall("x")
            helix.acting_as(user="none", token="", time_zone="Europe/Berlin").recall("x")
            helix.acting_as(user="kept").acting_as(user="twice").recall("x")
            helix.recall("x")
    first, second = "Bearer first", "Bearer of-the-file"
    assert service.seen == [
        ("kept", first), ("none", None), ("twice", first), ("", first),
        ("kept", second), ("none", None), ("twice", second), ("", second),
    ]  # fmt: skip
    assert service.time_zones == [zone, "Europe/Berlin", zone, zone] * 2


async def test_a_client_for_asyncio_keeps_them_too(service: ListeningService) -> None:
    """As the adapter of Google ADK needs it."""
    async with AsyncHelix(query_port=service.port, token="first") as ana:  # noqa: S106  a test
        await ana.acting_as(user="kept").recall("x")
        await ana.acting_as(user="none", token="").recall("x")
    assert service.seen == [("kept", "Bearer first"), ("none", None)]


def test_the_token_of_another_caller_does_not_cross_the_network_in_the_clear() -> None:
    """As that of the client itself."""
    with Helix(query_address="203.0.113.1:7461") as helix:
        helix.acting_as(user="bo")
        with pytest.raises(InvalidInputError, match="in the clear"):
            helix.acting_as(user="bo", token="second")  # noqa: S106  a test
