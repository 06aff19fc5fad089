"""Readiness of a query service that takes no credential of the stack."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health, health_pb2_grpc
from grpc_health.v1.health_pb2 import HealthCheckResponse

from helix_cli.stack.readiness import _not_serving
from helix_memory.errors import HelixError


class RefusesAllButHealth(grpc.ServerInterceptor):
    """What `HELIX_QUERY_AUTH=jwt` does to a caller without a token of the issuer."""

    def intercept_service(self, continuation: Any, details: Any) -> Any:
        """Refuse the call."""
        if "Health" in details.method:
            return continuation(details)
        return grpc.unary_unary_rpc_method_handler(
            lambda _, call: call.abort(grpc.StatusCode.UNAUTHENTICATED, "no")
        )


@pytest.fixture
def service() -> Iterator[tuple[str, Any]]:
    """Address and health of such a server."""
    server = grpc.server(ThreadPoolExecutor(2), interceptors=[RefusesAllButHealth()])
    state = health.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(state, server)
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield address, state
    server.stop(None)


def test_a_service_that_refuses_the_stack_is_ready_when_its_health_says_so(service: tuple[str, Any]) -> None:
    """Health answers everybody; without a generation it says NOT_SERVING."""
    address, state = service
    state.set("", HealthCheckResponse.NOT_SERVING)
    assert _not_serving(address, None, {0: 1}) == "query serves no generation"
    assert _not_serving(address, None, {0: 0}) == "", "a new home has no generation"
    state.set("", HealthCheckResponse.SERVING)
    assert _not_serving(address, None, {0: 1}) == ""


def test_a_service_that_is_not_there_is_not_ready() -> None:
    """Nothing listens at port 9."""
    with pytest.raises(HelixError):
        _not_serving("127.0.0.1:9", None, {0: 1})
