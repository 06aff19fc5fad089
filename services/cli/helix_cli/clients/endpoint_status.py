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
    pairs: dict[str, int] | None = None
    """Counts of the second question, about pairs of memories."""
    pairs_dropped: dict[str, int] | None = None
    pair_tokens: int = 0
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
        counts = self.counts or {}
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
        lines += _dropped(self.dropped)
        if pairs := self.pairs:
            is_today = self.day == datetime.now(UTC).date().isoformat()
            lines.append(
                f"pairs: {pairs.get('answered', 0)} answers, {pairs.get('repeated', 0)} repeated, "
                f"{pairs.get('failed', 0)} failed attempts, {pairs.get('over budget', 0)} over budget"
            )
            lines.append(
                f"{pairs.get('verdicts', 0)} verdicts about {pairs.get('pairs', 0)} pairs, "
                f"{self.pair_tokens if is_today else 0} of the tokens"
            )
        lines += _dropped(self.pairs_dropped)
        return "\n       ".join(lines)


def _dropped(counts: dict[str, int] | None) -> list[str]:
    """A line with what failed the checks, by reason; none where nothing did."""
    listed = ", ".join(f"{reason} {count}" for reason, count in sorted((counts or {}).items()))
    return [f"dropped: {listed}"] if listed else []


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
