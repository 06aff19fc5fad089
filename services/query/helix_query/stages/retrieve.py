"""Stage 3: every channel at once, each with its own deadline; what is missing is named.

A channel that raises, panics or is late costs its candidates, never the answer. The channels
themselves stand in `helix_query.channels`; stage 4 fuses what they found.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from helix_query.pool import LEXICAL, Ranking, Retrieved
from helix_shared.artifacts.ranking import Hits
from helix_shared.errors import TemporaryError
from helix_shared.telemetry import logger

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

Search = Callable[[], Hits]

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class ClearLead:
    """Mode auto: when the lexical answer alone is good enough.

    Scores normalise to s / (s + `half_score`); the best must reach `top` and lead by `lead`.
    """

    half_score: float
    top: float
    lead: float

    def holds(self, hits: Hits) -> bool:
        """Whether the best hit is strong and clearly ahead of the second."""
        if not len(hits):
            return False
        best, second = (*(float(score) for score in hits.scores[:2]), 0.0)[:2]
        normalised = best / (best + self.half_score)
        return normalised >= self.top and normalised - second / (second + self.half_score) >= self.lead


def retrieve(
    searches: Mapping[str, Search],
    *,
    lanes: Mapping[str, Executor],
    deadline_seconds: float,
    clear_lead: ClearLead | None = None,
) -> Retrieved:
    """What the channels find, in the order of `searches`; at most `deadline_seconds` for each.

    With `clear_lead` the lexical channel goes first and may make the others unnecessary.

    Raises:
        TemporaryError: no channel answered.
    """
    if clear_lead is not None and LEXICAL in searches:
        first = _ask({LEXICAL: searches[LEXICAL]}, lanes=lanes, deadline_seconds=deadline_seconds)
        lexical = first.get(LEXICAL)
        if lexical is not None and clear_lead.holds(lexical):
            return Retrieved((Ranking(LEXICAL, lexical),), lexical_alone=True)
        others = {name: search for name, search in searches.items() if name != LEXICAL}
        found = first | _ask(others, lanes=lanes, deadline_seconds=deadline_seconds)
    else:
        found = _ask(searches, lanes=lanes, deadline_seconds=deadline_seconds)
    rankings = tuple(Ranking(name, hits) for name in searches if (hits := found[name]) is not None)
    if not rankings:
        raise TemporaryError(f"no channel answered in {deadline_seconds} seconds; try again")
    return Retrieved(rankings, degraded=tuple(name for name in searches if found[name] is None))


def _ask(
    searches: Mapping[str, Search], *, lanes: Mapping[str, Executor], deadline_seconds: float
) -> dict[str, Hits | None]:
    deadline = time.monotonic() + deadline_seconds
    started = {name: lanes[name].submit(search) for name, search in searches.items()}
    return {name: _await(name, future, deadline=deadline) for name, future in started.items()}


def _await(name: str, future: Future[Hits], *, deadline: float) -> Hits | None:
    try:
        return future.result(timeout=max(0.0, deadline - time.monotonic()))
    except BaseException as error:  # noqa: BLE001 a panic of a Rust engine is a BaseException
        future.cancel()
        # The message may quote the query; the kind of error says enough.
        _log.warning("channel_missing", channel=name, error=type(error).__name__)
        return None
