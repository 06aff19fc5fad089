"""Requests to JetStream with the settings of a stream as the server gives them: nothing of them is lost.

The client of NATS knows some fields, and drops the others.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any, Final

from helix_memory import subjects
from helix_shared.errors import PermanentError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from nats.aio.client import Client

REQUEST_SECONDS: Final = 30.0
SEAL_BYTES: Final = 4 * 1024
"""More than the headers with its own time add to an event, which may be as large as the log takes."""


async def ask(client: Client, subject: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """What JetStream replies to a request.

    Raises:
        PermanentError: it refuses.
        nats.errors.Error: it does not answer.
    """
    reply = await client.request(subject, json.dumps(request).encode(), timeout=REQUEST_SECONDS)
    answer: dict[str, Any] = json.loads(reply.data)
    if "error" in answer:
        raise PermanentError(f"NATS refuses {subject}: {answer['error'].get('description', answer['error'])}")
    return answer


def with_room_for_seals(config: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of the log that take each event of it again with the headers of its own time."""
    most = int(config.get("max_msg_size", -1))
    return {**config, "max_msg_size": most + SEAL_BYTES if most > 0 else most}


@contextlib.asynccontextmanager
async def room_for_seals(client: Client) -> AsyncIterator[None]:
    """Inside, the log has the settings of `with_room_for_seals`.

    Raises:
        PermanentError: NATS refuses.
        nats.errors.Error: it does not answer.
    """
    update = f"$JS.API.STREAM.UPDATE.{subjects.EVENTS_STREAM}"
    info = await ask(client, f"$JS.API.STREAM.INFO.{subjects.EVENTS_STREAM}", {})
    await ask(client, update, with_room_for_seals(info["config"]))
    try:
        yield
    finally:
        await ask(client, update, info["config"])
