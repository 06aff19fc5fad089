"""Status of the language model: the ledger that the worker extract keeps in NATS."""

from __future__ import annotations

from datetime import UTC, datetime

from nats.js import JetStreamContext
from nats.js.errors import BucketNotFoundError, KeyNotFoundError
from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from helix_shared.broker import streams


@dataclass(frozen=True, config={"extra": "ignore"})
class EndpointStatus:
    """What was asked, spent and dropped; `tokens` are of `day` (UTC), by tenant."""

    day: str = ""
    tokens: dict[str, int] | None = None
    counts: dict[str, int] | None = None
    dropped: dict[str, int] | None = None
    breaker: str = ""
    form: str = ""
    model: str = ""
    problem: str = ""
    updated_at: str = ""

    @property
    def tokens_today(self) -> int:
        """Tokens of all tenants since midnight UTC."""
        is_today = self.day == datetime.now(UTC).date().isoformat()
        return sum((self.tokens or {}).values()) if is_today else 0

    def __str__(self) -> str:
        """Lines for people."""
        counts, dropped = self.counts or {}, self.dropped or {}
        state = self.problem or "ok"
        asked = (
            f"{counts.get('answered', 0)} answers, {counts.get('repeated', 0)} repeated from the record, "
            f"{counts.get('failed', 0)} failed attempts, {counts.get('over budget', 0)} windows over budget"
        )
        lines = [
            f"model {self.model}, breaker {self.breaker or 'closed'}: {state}",
            asked,
            f"{counts.get('statements', 0)} statements, {self.tokens_today} tokens today",
        ]
        if dropped:
            listed = ", ".join(f"{reason} {count}" for reason, count in sorted(dropped.items()))
            lines.append(f"dropped: {listed}")
        return "\n       ".join(lines)


async def endpoint_status(jetstream: JetStreamContext) -> EndpointStatus | None:
    """Read the ledger; None where there is none.

    Raises:
        nats.errors.Error: NATS does not answer.
    """
    try:
        entry = await (await jetstream.key_value(streams.LEDGER)).get(streams.LEDGER_KEY)
    except (BucketNotFoundError, KeyNotFoundError):
        return None
    try:
        return TypeAdapter(EndpointStatus).validate_json(entry.value or b"{}")
    except ValidationError:
        return EndpointStatus()
