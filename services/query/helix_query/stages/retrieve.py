"""Stage 3: every channel at once, each with its own deadline; what is missing is named.

A channel that raises, panics or is late costs its candidates, never the answer. The channels
themselves stand in `helix_query.channels`; stage 4 fuses what they found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from helix_query.pool import APART, LEXICAL, Ranking, Retrieved
from helix_shared.artifacts.ranking import Hits
from helix_shared.errors import TemporaryError
from helix_shared.telemetry import logger

if TYPE_CHECKING:
    from concurrent.futures import Executor

Search = Callable[[], Hits]
Begun = Search | Future[Hits]
"""A search that is still to be started, or one that runs already."""
PATIENCE: Final = 3
"""Further channel deadlines that a recall without any answer waits for one."""

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


@dataclass(frozen=True, slots=True)
class Further:
    """A further search of a channel, in other words than the question's: a list of its own."""

    channel: str
    query: str
    search: Search


def retrieve(
    searches: Mapping[str, Begun],
    *,
    further: Sequence[Further] = (),
    lanes: Mapping[str, Executor],
    deadline_seconds: float,
    clear_lead: ClearLead | None = None,
) -> Retrieved:
    """What the channels find, in the order of `searches`, then of `further`.

    At most `deadline_seconds` for each; while none has answered, `PATIENCE` times as long for the first that
    does: late is better than nothing. With `clear_lead` the lexical channel goes first and may make
    the others unnecessary.

    Raises:
        TemporaryError: no channel answered.
    """
    if clear_lead is not None and LEXICAL in searches:
        first = _ask(_jobs({LEXICAL: searches[LEXICAL]}), lanes=lanes, deadline_seconds=deadline_seconds)
        lexical = first[LEXICAL, ""]
        if lexical is not None and clear_lead.holds(lexical):
            return Retrieved((Ranking(LEXICAL, lexical),), lexical_alone=True)
        others = {name: search for name, search in searches.items() if name != LEXICAL}
        found = first | _ask(_jobs(others, further), lanes=lanes, deadline_seconds=deadline_seconds)
    else:
        found = _ask(_jobs(searches, further), lanes=lanes, deadline_seconds=deadline_seconds)
    order = list(_jobs(searches, further))
    rankings = tuple(
        Ranking(channel, hits, query)
        for channel, query in order
        if (hits := found[channel, query]) is not None
    )
    if not rankings:
        raise TemporaryError(f"no channel answered in {deadline_seconds * (1 + PATIENCE)} seconds; try again")
    unanswered = [job for job in order if found[job] is None]
    missing = dict.fromkeys(query if query in APART else channel for channel, query in unanswered)
    return Retrieved(rankings, degraded=tuple(missing))


def _jobs(searches: Mapping[str, Begun], further: Sequence[Further] = ()) -> dict[tuple[str, str], Begun]:
    """Searches by channel and other words; the question itself first, so that it never waits for those."""
    jobs: dict[tuple[str, str], Begun] = {(name, ""): search for name, search in searches.items()}
    return jobs | {(one.channel, one.query): one.search for one in further}


def _ask(
    jobs: Mapping[tuple[str, str], Begun], *, lanes: Mapping[str, Executor], deadline_seconds: float
) -> dict[tuple[str, str], Hits | None]:
    started = {
        job: search if isinstance(search, Future) else lanes[job[0]].submit(search)
        for job, search in jobs.items()
    }
    late = wait(started.values(), timeout=deadline_seconds).not_done
    if late and not any(_answered(future) for future in started.values()):
        wait(late, timeout=deadline_seconds * PATIENCE, return_when=FIRST_COMPLETED)
    return {job: _found(job[0], future) for job, future in started.items()}


def _answered(future: Future[Hits]) -> bool:
    return future.done() and future.exception() is None


def _found(name: str, future: Future[Hits]) -> Hits | None:
    if _answered(future):
        return future.result()
    # The message may quote the query; the kind of error says enough.
    error = future.exception() if future.done() else TimeoutError()
    future.cancel()
    _log.warning("channel_missing", channel=name, error=type(error).__name__)
    return None
