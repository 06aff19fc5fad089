"""What the gateway adds to a recall: the same questions over gRPC, REST and MCP, in turns and in one run."""

from __future__ import annotations

import contextlib
import http.client
import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from helix_cli.stack.children import ServiceChild, child_environment
from helix_cli.stack.services import GATEWAY, GATEWAY_MODULE, service_settings
from helix_lab.bench.reading.recall_load import WARM_UP, percentiles, request_of
from helix_memory.transport.polling import poll
from helix_memory.transport.recall_client import RecallClient
from helix_shared.broker.server import free_port
from helix_shared.errors import TemporaryError

if TYPE_CHECKING:
    from helix_cli.stack.stack import Stack
    from helix_lab.bench.generate.load import BuildInfo

START_SECONDS: Final = 60.0
OK: Final = 200
MILLISECONDS: Final = 1_000
GRPC: Final = "grpc"


def gateway_section(stack: Stack, info: BuildInfo, queries: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """`gateway_ms`: percentiles of each door; `gateway_ratio`: its p95 as a multiple of that over gRPC."""
    with gateway_over(stack) as port, RecallClient(stack.query_address) as client:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        doors: dict[str, Callable[[str], object]] = {
            GRPC: lambda text: client.recall(request_of(info, text)),
            "rest": lambda text: _posted(connection, "/v1/recall", {"query": text}, info),
            "mcp": lambda text: _posted(connection, "/mcp", _tool_call(text), info),
        }
        for text in info.questions[1 : 1 + WARM_UP // len(doors)]:
            for call in doors.values():
                call(text)
        taken: dict[str, list[float]] = {name: [] for name in doors}
        for number, (text, _) in enumerate(queries, 1):
            for name, call in doors.items():
                began = time.perf_counter()
                # a text that was not asked before: the service keeps vectors of those
                call(f"{text} {number} {name}")
                taken[name].append((time.perf_counter() - began) * MILLISECONDS)
    found = {name: percentiles(values) for name, values in taken.items()}
    ratios = {name: round(one["p95"] / found[GRPC]["p95"], 2) for name, one in found.items() if name != GRPC}
    return {"gateway_ms": found, "gateway_ratio": ratios}


@contextlib.contextmanager
def gateway_over(stack: Stack) -> Iterator[int]:
    """The port of a gateway over a stack."""
    port = free_port()
    settings = service_settings(
        GATEWAY,
        nats_url=stack.nats_url,
        data=stack.home.data,
        models=stack.models,
        query_address=stack.query_address,
        copies=1,
        gateway_address=f"127.0.0.1:{port}",
    )
    log = stack.home.logs / f"{GATEWAY}-bench.log"
    child = ServiceChild(GATEWAY, GATEWAY_MODULE, environment=child_environment(settings), log=log)
    child.start()
    try:
        for _ in poll(START_SECONDS):
            with contextlib.suppress(OSError):
                ready = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
                ready.request("GET", "/readyz")
                if ready.getresponse().status == OK:
                    break
        else:
            raise TemporaryError(f"the gateway does not start; log: {log}")
        yield port
    finally:
        child.kill()


def _tool_call(text: str) -> dict[str, Any]:
    params = {"name": "recall", "arguments": {"query": text}}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def _posted(connection: http.client.HTTPConnection, path: str, body: object, info: BuildInfo) -> None:
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Helix-Tenant": info.tenant,
    }
    connection.request("POST", path, json.dumps(body), headers)
    reply = connection.getresponse()
    answer = reply.read()
    if reply.status != OK:
        raise TemporaryError(f"{path} answered with {reply.status}: {answer[:200]!r}")
