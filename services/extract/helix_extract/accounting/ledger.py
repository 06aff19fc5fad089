"""The ledger: tokens by tenant and day, calls, windows and drops, in the bucket HELIX_LEDGER.

`helix status` shows it; the daily budget is checked against it. All copies of the worker add to one entry.
Without an answer of NATS counts are given up, and questions wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from nats.js.errors import KeyNotFoundError, KeyWrongLastSequenceError
from pydantic import BaseModel, ConfigDict, ValidationError

from helix_extract.accounting.metrics import ABOUT_PAIRS, ABOUT_WINDOWS
from helix_memory.transport.connection import UNANSWERED, reason_of
from helix_shared.broker import streams
from helix_shared.errors import TemporaryError
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from nats.js.kv import KeyValue

ATTEMPTS: Final = 8
BUSY_SECONDS: Final = 2.0
"""Between two looks at a budget that questions in progress reserve."""

_log = logger(__name__)


class LedgerEntry(BaseModel):
    """What was spent; `tokens` are of `day` (UTC) and by tenant, the other counts are of all time."""

    model_config = ConfigDict(extra="ignore")

    day: str = ""
    tokens: dict[str, int] = {}
    counts: dict[str, int] = {}
    dropped: dict[str, int] = {}
    pairs: dict[str, int] = {}
    """Counts of the questions about pairs; `counts` are those about windows."""
    pairs_dropped: dict[str, int] = {}
    pair_tokens: int = 0
    """Tokens of the day for questions about pairs; `tokens` has them too."""
    breaker: str = "closed"
    form: str = ""
    """Form of answer that the server accepts."""
    model: str = ""
    problem: str = ""
    """Why the last question was not answered; empty once one is."""
    updated_at: str = ""


class Ledger:
    """Reads and adds to the entry; used from one event loop."""

    def __init__(
        self, bucket: KeyValue, *, daily_tokens: int, clock: Callable[[], datetime] | None = None
    ) -> None:
        self._bucket = bucket
        self._daily_tokens = daily_tokens
        self._clock = clock or (lambda: datetime.now(UTC))
        self._reserved: dict[str, int] = {}
        self._writing = asyncio.Lock()

    async def reserve(
        self, tenant_id: str, tokens: int, *, pause: Callable[[float], Awaitable[None]]
    ) -> bool:
        """Whether a tenant may spend so many tokens today; if so, `release` must follow.

        A question in progress reserves more than it will spend. Where only such reservations leave no room,
        this waits with `pause`.

        Raises:
            TemporaryError: NATS does not answer, so nobody knows what was spent.
            HelixError: what `pause` raised.
        """
        if not self._daily_tokens:
            return True
        while (left := self._daily_tokens - await self._spent(tenant_id)) >= tokens:
            reserved = self._reserved.get(tenant_id, 0)
            if reserved + tokens <= left:
                self._reserved[tenant_id] = reserved + tokens
                return True
            await pause(BUSY_SECONDS)
        return False

    def release(self, tenant_id: str, tokens: int) -> None:
        """Undo `reserve`, after the tokens that were used are added."""
        left = self._reserved.get(tenant_id, 0) - tokens
        self._reserved[tenant_id] = max(0, left)

    async def add(
        self,
        outcome: str,
        *,
        call: str = ABOUT_WINDOWS,
        tenant_id: str = "",
        tokens: int = 0,
        counts: Mapping[str, int] | None = None,
        dropped: Mapping[str, int] | None = None,
        state: Mapping[str, str] | None = None,
    ) -> None:
        """Add one `outcome`, other counts, tokens and drops; `state` replaces fields of the entry."""
        async with self._writing:
            for _ in range(ATTEMPTS):
                try:
                    entry, revision = await self._read()
                    self._spend(entry, call, tenant_id, tokens)
                    _count(entry, call, {outcome: 1, **(counts or {})}, dropped or {})
                    changed = entry.model_copy(
                        update={**(state or {}), "updated_at": self._clock().isoformat()}
                    )
                    await self._bucket.update(
                        streams.LEDGER_KEY, changed.model_dump_json().encode(), last=revision
                    )
                except KeyWrongLastSequenceError:
                    continue
                except UNANSWERED as error:
                    _log.warning("ledger not written", reason=reason_of(error))
                return

    async def _spent(self, tenant_id: str) -> int:
        """Tokens that a tenant has spent today."""
        try:
            entry, _ = await self._read()
        except UNANSWERED as error:
            raise TemporaryError(f"the budget of today cannot be read ({type(error).__name__})") from error
        return entry.tokens.get(tenant_id, 0) if entry.day == self._today else 0

    def _spend(self, entry: LedgerEntry, call: str, tenant_id: str, tokens: int) -> None:
        if entry.day != self._today:
            entry.day, entry.tokens, entry.pair_tokens = self._today, {}, 0
        if tokens:
            entry.tokens[tenant_id] = entry.tokens.get(tenant_id, 0) + tokens
            entry.pair_tokens += tokens * (call == ABOUT_PAIRS)

    async def _read(self) -> tuple[LedgerEntry, int]:
        """The entry and its revision; 0 where there is none."""
        try:
            found = await self._bucket.get(streams.LEDGER_KEY)
        except KeyNotFoundError:
            return LedgerEntry(), 0
        try:
            return LedgerEntry.model_validate_json(found.value or b"{}"), found.revision or 0
        except ValidationError:
            return LedgerEntry(), found.revision or 0

    @property
    def _today(self) -> str:
        return self._clock().date().isoformat()


def _count(entry: LedgerEntry, call: str, counts: Mapping[str, int], dropped: Mapping[str, int]) -> None:
    is_first = call == ABOUT_WINDOWS
    both = (
        (entry.counts if is_first else entry.pairs, counts),
        (entry.dropped if is_first else entry.pairs_dropped, dropped),
    )
    for total, added in both:
        for name, count in added.items():
            total[name] = total.get(name, 0) + count
