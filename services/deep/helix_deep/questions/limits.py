"""Limits: time and tokens of one call, and tokens a day of a tenant."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

RESERVED_SHARE: Final = 0.1
"""Share of the time of a call that is left for packing."""
MOST_RESERVED_SECONDS: Final = 1.0


class Budget:
    """Time and tokens of one call; tokens are reserved before a question and settled after it."""

    def __init__(self, *, seconds: float, tokens: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.tokens = tokens
        """Tokens that are neither spent nor reserved."""
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self._clock = clock
        self.until = clock() + seconds - min(MOST_RESERVED_SECONDS, RESERVED_SHARE * seconds)
        """Moment of the clock at which only packing is left."""

    @property
    def seconds(self) -> float:
        """Seconds left for the language model, 0 and up."""
        return max(0.0, self.until - self._clock())

    def reserve(self, tokens: int) -> bool:
        """Whether so many tokens are left; if so, `settle` must follow."""
        if tokens > self.tokens:
            return False
        self.tokens -= tokens
        return True

    def settle(self, reserved: int, *, prompt: int, completion: int) -> None:
        """Replace what was reserved by what was spent."""
        self.tokens += reserved - prompt - completion
        self.prompt_tokens += prompt
        self.completion_tokens += completion


class DailyTokens:
    """Tokens of each tenant since midnight UTC, in this process; used from one event loop."""

    def __init__(self, most: int, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._most = most
        self._clock = clock
        self._day = ""
        self._spent: dict[str, int] = {}

    def left(self, tenant_id: str) -> int | None:
        """Tokens that a tenant may still spend today, 0 and up; None: there is no limit."""
        self._turn()
        return max(0, self._most - self._spent.get(tenant_id, 0)) if self._most else None

    def spend(self, tenant_id: str, tokens: int) -> None:
        """Count tokens; a negative number takes a reservation back."""
        self._turn()
        if self._most:
            self._spent[tenant_id] = max(0, self._spent.get(tenant_id, 0) + tokens)

    def _turn(self) -> None:
        if (today := self._clock().date().isoformat()) != self._day:
            self._day, self._spent = today, {}
