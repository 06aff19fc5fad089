"""Tenants, users, sessions and times of n generated memories.

Sizes follow power laws, as in real installations: the largest of the usual tenants has about half of
everything. All columns are drawn at once from one seed; `load` cuts them into batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

TENANT: Final = "bench"
"""The largest tenant; all queries are its."""

TENANTS: Final = (TENANT, *(f"{TENANT}-{rank:02d}" for rank in range(2, 41)))
"""From the largest to the smallest."""
TENANT_EXPONENT: Final = 1.7
"""Tenant r has a share that falls with r^-1.7: the first one half, the fortieth a thousandth."""

KIND_SHARES: Final = (0.5, 0.2, 0.15, 0.15)
"""Shares of the memories by `KINDS`."""
SESSION_MEMORIES: Final = (30, 6, 6, 12)
"""Mean length of a session by kind: tens of turns, a few pieces of a document."""

BEGIN: Final = datetime(2024, 10, 1, tzinfo=UTC)
DAYS: Final = 730
TURN_SECONDS: Final = 45.0

USERS: Final = 24
PROJECTS: Final = 8
PRIVATE_SHARE: Final = 0.15
"""Share of the sessions that only their user sees."""
AUDIENCE_SHARE: Final = 0.05
AUDIENCES: Final = ("team:core", "team:ops", "team:data")
"""Share of the sessions that only one of these sees."""

NOBODY: Final = -1


@dataclass(frozen=True, slots=True)
class Layout:
    """One value per memory, in the order of time; codes are indices into what `load` names them by."""

    tenants: tuple[str, ...]
    """Names, from the largest to the smallest."""
    tenant: NDArray[np.int16]
    """Index into `tenants`."""
    session: NDArray[np.int32]
    position: NDArray[np.int32]
    """Place in the session, 0 and up."""
    base: NDArray[np.int32]
    """Row of `Base` that it varies."""
    kind: NDArray[np.int8]
    user: NDArray[np.int16]
    project: NDArray[np.int16]
    private: NDArray[np.bool_]
    audience: NDArray[np.int8]
    """Index into `AUDIENCES`, `NOBODY` without one."""
    occurred_at: NDArray[np.int64]
    """Microseconds since 1970, UTC."""

    def __len__(self) -> int:
        return len(self.tenant)


def power_law(count: int, exponent: float) -> NDArray[np.float64]:
    """Shares of ranks 1 to `count` that fall with rank^-exponent; they sum to 1."""
    weights = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares


def lay_out(
    n: int,
    kinds: NDArray[np.int8],
    *,
    seed: int,
    tenants: Sequence[str] = TENANTS,
    exponent: float = TENANT_EXPONENT,
) -> Layout:
    """`n` memories over base rows whose kinds are `kinds`, ascending."""
    drawn = np.random.default_rng([seed, 1])
    starts = np.searchsorted(kinds, np.arange(len(KIND_SHARES) + 1))
    there = np.diff(starts)
    lengths_of = np.array(SESSION_MEMORIES)
    chances = np.array(KIND_SHARES) / lengths_of * (there > 0)
    # more sessions than are needed: the last is cut where n is reached
    kind = drawn.choice(len(KIND_SHARES), max(64, n), p=chances / chances.sum()).astype(np.int8)
    length = drawn.geometric(1 / lengths_of[kind])
    sessions = int(np.searchsorted(np.cumsum(length), n)) + 1
    kind, length = kind[:sessions], length[:sessions]
    length[-1] -= int(length.sum()) - n
    begin = np.sort(drawn.random(sessions)) * DAYS * 86_400
    offset = drawn.integers(0, 2**31, sessions) % np.maximum(there[kind], 1)
    per_session: dict[str, NDArray[Any]] = {
        "tenant": drawn.choice(len(tenants), sessions, p=power_law(len(tenants), exponent)).astype(np.int16),
        "kind": kind,
        "user": drawn.choice(USERS, sessions, p=power_law(USERS, 1.0)).astype(np.int16),
        "project": drawn.choice(PROJECTS, sessions, p=power_law(PROJECTS, 1.0)).astype(np.int16),
        "private": drawn.random(sessions) < PRIVATE_SHARE,
        "audience": np.where(
            drawn.random(sessions) < AUDIENCE_SHARE, drawn.integers(0, len(AUDIENCES), sessions), NOBODY
        ).astype(np.int8),
    }
    session = np.repeat(np.arange(sessions, dtype=np.int32), length)
    position = (np.arange(n) - np.repeat(np.cumsum(length) - length, length)).astype(np.int32)
    row = (offset[session] + position) % there[kind[session]] + starts[kind[session]]
    seconds = begin[session] + position * TURN_SECONDS + drawn.random(n) * TURN_SECONDS / 2
    return Layout(
        tenants=tuple(tenants),
        session=session,
        position=position,
        base=row.astype(np.int32),
        occurred_at=(int(BEGIN.timestamp()) * 1_000_000 + (seconds * 1_000_000).astype(np.int64)),
        **{name: values[session] for name, values in per_session.items()},
    )
