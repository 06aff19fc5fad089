"""The span of one search for memories, with those of its stages inside; a batch has several.

Conventions: OpenTelemetry spans of operations on memories, `search_memory`. A store of memories is a tenant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from helix_shared.rpc.statuses import is_fault
from helix_shared.telemetry.tracing import attributes, spans

if TYPE_CHECKING:
    from helix_memory.recall.v1 import recall_pb2

    Search = Callable[..., recall_pb2.RecallResponse]

SEARCH: Final = "search_memory"


def in_span(search: Search, tenant: str) -> Search:
    """`search`, which a thread runs later, below the span that is current here."""
    if not spans.is_on():
        return search
    parent = spans.here()

    def traced(*arguments: Any, **options: Any) -> recall_pb2.RecallResponse:
        values: dict[str, attributes.Value] = {attributes.OPERATION: SEARCH, attributes.STORE: tenant}
        with spans.span(
            f"{SEARCH} {tenant}", spans.INTERNAL, values, parent=parent, is_failure=is_fault
        ) as span:
            reply = search(*arguments, **options)
            span.set(
                {
                    attributes.GENERATION: reply.generation,
                    attributes.MEMORIES: len(reply.memories),
                    attributes.ABSTAINED: reply.abstained,
                }
            )
            return reply

    return traced
