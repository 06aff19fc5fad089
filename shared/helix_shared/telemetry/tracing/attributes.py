"""Every attribute that a span may have; a span with another one is an error of the program.

The names are those of the semantic conventions of OpenTelemetry where they have one: `messaging.*`, `rpc.*`,
and `gen_ai.*` for operations on memories. Their opt-in attributes with the question and the records
(`gen_ai.memory.query.text`, `gen_ai.memory.records`) are not in the list, on purpose.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

Value = str | int | float | bool

MESSAGING_SYSTEM: Final = "messaging.system"
MESSAGING_OPERATION: Final = "messaging.operation.type"
MESSAGING_OPERATION_NAME: Final = "messaging.operation.name"
MESSAGING_DESTINATION: Final = "messaging.destination.name"
MESSAGING_TEMPLATE: Final = "messaging.destination.template"
MESSAGING_CONSUMER: Final = "messaging.consumer.group.name"
MESSAGING_ID: Final = "messaging.message.id"
MESSAGING_BODY: Final = "messaging.message.body.size"
RPC_SYSTEM: Final = "rpc.system"
RPC_SERVICE: Final = "rpc.service"
RPC_METHOD: Final = "rpc.method"
RPC_STATUS: Final = "rpc.grpc.status_code"
OPERATION: Final = "gen_ai.operation.name"
STORE: Final = "gen_ai.memory.store.id"
ERROR: Final = "error.type"
SEQUENCE: Final = "helix.event.sequence"
STREAM_SEQUENCE: Final = "helix.stream.sequence"
GENERATION: Final = "helix.generation"
MEMORIES: Final = "helix.memories"
ABSTAINED: Final = "helix.abstained"
DELIVERIES: Final = "helix.deliveries"

ALLOWED: Final = frozenset(
    {
        MESSAGING_SYSTEM, MESSAGING_OPERATION, MESSAGING_OPERATION_NAME, MESSAGING_DESTINATION,
        MESSAGING_TEMPLATE, MESSAGING_CONSUMER, MESSAGING_ID, MESSAGING_BODY, RPC_SYSTEM, RPC_SERVICE,
        RPC_METHOD, RPC_STATUS, OPERATION, STORE, ERROR, SEQUENCE, STREAM_SEQUENCE, GENERATION, MEMORIES,
        ABSTAINED, DELIVERIES,
    }
)  # fmt: skip


def checked(values: Mapping[str, Value]) -> dict[str, Value]:
    """`values` without empty ones.

    Raises:
        ValueError: a name is not in `ALLOWED`.
    """
    unknown = values.keys() - ALLOWED
    if unknown:
        message = f"no attribute of a span: {', '.join(sorted(unknown))}"
        raise ValueError(message)
    return {name: value for name, value in values.items() if value not in ("", None)}
