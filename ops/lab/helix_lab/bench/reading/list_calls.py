"""What lists cost over gRPC, and the pages of the explorer over HTTP, beside a plain scan of the columns.

The scan is what a list would take without an order that is made once: the whole columns of tenant and time,
the newest 100 of the tenant, and their records. It runs in this process, so it has no gRPC in it.
"""

from __future__ import annotations

import http.client
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import numpy as np

from helix_lab.bench.reading.turns import timed_in_turns
from helix_lab.gateway_calls import gateway_over
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.recall_client import RecallClient
from helix_shared.artifacts.generation.folders import current_number
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.artifacts.signals.columns import code
from helix_shared.errors import OverdueError, TemporaryError

if TYPE_CHECKING:
    from helix_cli.stack.stack import Stack
    from helix_lab.bench.generate.load import BuildInfo

PAGE: Final = 100
CALLS: Final = 50
WARM_UP: Final = 5
SCAN: Final = "scan"
OK: Final = 200
OVERDUE: Final = 504


def lists_section(stack: Stack, info: BuildInfo) -> dict[str, Any]:
    """`lists_ms`: percentiles of each call, asked in turns, and of the scan; `lists_ratio`: p50 over its p50.

    `lists_first_ms` is the first call of each, which makes what a generation keeps. `pages_ms`: percentiles
    of each page of the explorer, over HTTP on a kept connection.
    """
    generation = Generation.open(stack.home.data, current_number(stack.home.data) or 0)
    try:
        with RecallClient(stack.query_address) as client:
            calls = _calls(client, info)
            found, first = timed_in_turns(
                {**calls, SCAN: partial(scanned, generation, info.tenant)}, rounds=CALLS, warm_up=WARM_UP
            )
    finally:
        generation.close()
    return {
        "lists_ms": found,
        "lists_first_ms": first,
        "lists_ratio": {
            name: round(one["p50"] / found[SCAN]["p50"], 3) for name, one in found.items() if name != SCAN
        },
        "pages_ms": _pages(stack, info),
    }


def scanned(generation: Generation, tenant: str) -> list[Mapping[str, Any]]:
    """The records of the newest `PAGE` memories of a tenant, by a scan of all columns that this needs."""
    signals = generation.signals
    own = np.flatnonzero((signals.tenant_code == code(tenant)) & ~signals.hidden)
    times = signals.occurred_at[own]
    count = min(PAGE, len(own))
    newest = own[np.argpartition(-times, count - 1)[:count]]
    return list(signals.records(newest[np.argsort(-signals.occurred_at[newest])]))


def _calls(client: RecallClient, info: BuildInfo) -> dict[str, Callable[[], object]]:
    scope = recall_pb2.Scope(tenant_id=info.tenant)
    memory = client.memories(recall_pb2.ListMemoriesRequest(scope=scope, page_size=1)).memories[0].memory_id
    around = {"scope": scope, "memory_id": memory}
    of_a_type = recall_pb2.Filter(types=["semantic"])
    return {
        "ListMemories": partial(client.memories, recall_pb2.ListMemoriesRequest(scope=scope, page_size=PAGE)),
        "ListMemories, a type": partial(
            client.memories, recall_pb2.ListMemoriesRequest(scope=scope, page_size=PAGE, filter=of_a_type)
        ),
        "Timeline": partial(client.timeline, recall_pb2.TimelineRequest(**around, page_size=PAGE)),
        "ListSessions": partial(client.sessions, recall_pb2.ListSessionsRequest(scope=scope, page_size=PAGE)),
        "ListEntities": partial(client.entities, recall_pb2.ListEntitiesRequest(scope=scope, page_size=PAGE)),
        "Neighbours": partial(client.neighbours, recall_pb2.NeighboursRequest(**around, hops=2)),
        "GetProfile": partial(client.profile, recall_pb2.GetProfileRequest(scope=scope)),
    }


def _pages(stack: Stack, info: BuildInfo) -> dict[str, dict[str, float]]:
    with RecallClient(stack.query_address) as client:
        scope = recall_pb2.Scope(tenant_id=info.tenant)
        newest = client.memories(recall_pb2.ListMemoriesRequest(scope=scope, page_size=PAGE)).memories
    session = next((one.session_id for one in newest if one.session_id), "")
    memory, question = newest[0].memory_id, quote(info.questions[0][:200])
    paths = {
        "overview": "",
        "memories": "/memories",
        "memory": f"/memories/{memory}",
        "timeline": "/timeline",
        "sessions": "/sessions",
        **({"session": f"/sessions/{quote(session)}"} if session else {}),
        "entities": "/graph",
        "graph, two hops": f"/graph?around={memory}&hops=2",
        "dead letters": "/letters",
        "search": f"/memories?q={question}",
        "recall lab, two profiles": f"/lab?q={question}&a=helix&b=engram",
    }
    with gateway_over(stack) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        calls = {
            name: partial(_got, connection, f"/explorer{path}", info.tenant) for name, path in paths.items()
        }
        found, _ = timed_in_turns(calls, rounds=CALLS, warm_up=WARM_UP)
        connection.close()
    return found


def _got(connection: http.client.HTTPConnection, path: str, tenant: str) -> None:
    connection.request("GET", path, headers={"Helix-Tenant": tenant})
    reply = connection.getresponse()
    body = reply.read()
    if reply.status == OVERDUE:
        raise OverdueError(f"{path} passed its deadline")
    if reply.status != OK:
        raise TemporaryError(f"{path} answered with {reply.status}: {body[:200]!r}")
