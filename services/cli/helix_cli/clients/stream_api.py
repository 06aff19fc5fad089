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


async def log_info(client: Client) -> dict[str, Any]:
    """The log as the server describes it: `created`, `config`, `state`; raises as `ask`."""
    return await ask(client, f"$JS.API.STREAM.INFO.{subjects.EVENTS_STREAM}", {})


async def configure_log(client: Client, config: Mapping[str, Any]) -> None:
    """Give the log these settings; raises as `ask`."""
    await ask(client, f"$JS.API.STREAM.UPDATE.{subjects.EVENTS_STREAM}", config)


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
    config = (await log_info(client))["config"]
    await configure_log(client, with_room_for_seals(config))
    try:
        yield
    finally:
        await configure_log(client, config)
