"""What GetProfile costs, for a user who stated much, one thing, or nothing.

The last is the floor of the call. The first call of a user in a generation reads and merges the statements.
"""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from helix_lab.bench.reading.turns import timed_in_turns
from helix_memory.events import MessageEvent
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.connection import connect
from helix_memory.transport.publisher import Publisher
from helix_memory.transport.recall_client import RecallClient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helix_cli.stack.stack import Stack
    from helix_lab.bench.generate.load import BuildInfo

STATED: Final = {"none": 0, "one": 1, "many": 500}
"""Statements of each user."""
CALLS: Final = 200
WAIT_SECONDS: Final = 900.0
_FORMS: Final = (
    "I love {0} with {1} and {2}",
    "I can't stand {0} near {1} or {2}",
    "I'm building a {0} with {1} for the {2} club",
    "I work at the {0} office near the {1} and the {2}",
)
_THINGS: Final = (
    *("tea", "rain", "opera", "chess", "ferries", "bread", "maps", "owls", "snow", "jazz"),
    *("boats", "skis", "cheese", "onions", "rivers", "tents", "novels", "clocks", "pianos", "kites"),
)


def profile_section(stack: Stack, info: BuildInfo) -> dict[str, Any]:
    """`profile_ms`: percentiles by user, asked in turns; `profile_first_ms`: the first call of each.

    `profile_ratio` is the p50 of each as a multiple of that of the user who stated nothing.
    """
    sequence = asyncio.run(_publish(stack.nats_url, info.tenant))
    scopes = {user: recall_pb2.Scope(tenant_id=info.tenant, user_id=f"profile-{user}") for user in STATED}
    with RecallClient(stack.query_address) as client:
        client.wait_until_applied(sequence, wait_seconds=WAIT_SECONDS)
        calls = {
            user: partial(client.profile, recall_pb2.GetProfileRequest(scope=scope))
            for user, scope in scopes.items()
        }
        found, first = timed_in_turns(calls, rounds=CALLS, warm_up=1)
    return {
        "profile_ms": found,
        "profile_first_ms": first,
        "profile_ratio": {user: round(one["p50"] / found["none"]["p50"], 2) for user, one in found.items()},
    }


async def _publish(url: str, tenant: str) -> int:
    """The sequence of the last statement."""
    client = await connect(url, name="helix-bench")
    try:
        publisher, sequence = Publisher(client.jetstream()), 0
        for event in _statements(tenant):
            sequence = (await publisher.publish_event(event)).sequence
        return sequence
    finally:
        await client.close()


def _statements(tenant: str) -> Iterator[MessageEvent]:
    """Statements that are parts of a profile; those of one user are three hours apart."""
    drawn, now = random.Random(7), datetime.now(UTC)  # noqa: S311  repeatable texts, no secret
    for user, count in STATED.items():
        for number in range(count):
            yield MessageEvent(
                event_id=f"profile-{user}-{number}",
                tenant_id=tenant,
                user_id=f"profile-{user}",
                session_id=f"profile-{user}-{number}",
                role="user",
                text=drawn.choice(_FORMS).format(*drawn.sample(_THINGS, 3)),
                occurred_at=now - timedelta(hours=3 * number),
            )
