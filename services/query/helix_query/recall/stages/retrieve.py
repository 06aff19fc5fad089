"""Stage 3: every channel at once, each with its own deadline; what is missing is named.

A channel that raises, panics or is late costs its candidates, never the answer. The channels
themselves stand in `helix_query.recall.channels`; stage 4 fuses what they found.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from helix_query.recall.candidates import APART, LEXICAL, Ranking, Retrieved
from helix_query.scheduling.deadline import check, left
from helix_shared.artifacts.hits import Hits
from helix_shared.errors import TemporaryError
from helix_shared.telemetry import logger

if TYPE_CHECKING:
    from concurrent.futures import Executor

Search = Callable[[], Hits]
Begun = Search | Future[Hits]
"""A search that is still to be started, or one that runs already."""
Job = tuple[str, str]
"""Channel, and the other words it is asked with; empty: the question itself."""
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
class ExtraSearch:
    """A further search of a channel, in other words than the question's: a list of its own."""

    channel: str
    query: str
    search: Search


def retrieve(
    searches: Mapping[str, Begun],
    *,
    further: Sequence[ExtraSearch] = (),
    lanes: Mapping[str, Executor],
    deadline_seconds: float,
    clear_lead: ClearLead | None = None,
    until: float = math.inf,
) -> Retrieved:
    """What the channels find, in the order of `searches`, then of `further`.

    Waits `deadline_seconds` for all searches. If none of them has an answer by then, waits up to `PATIENCE`
    times as long again for the first answer, however many fail meanwhile. No wait goes past `until`, a moment
    of the monotonic clock. With `clear_lead` the lexical channel goes first and may make the others
    unnecessary.

    Raises:
        OverdueError: no channel answered until `until`.
        TemporaryError: no channel answered within its own deadline.
    """
    started: dict[Job, Future[Hits]] = {}
    if clear_lead is not None and LEXICAL in searches:
        started = _started(_jobs({LEXICAL: searches[LEXICAL]}), lanes)
        wait(started.values(), timeout=left(until, most=deadline_seconds))
        first = started[LEXICAL, ""]
        if _answered(first) and clear_lead.holds(first.result()):
            return Retrieved((Ranking(LEXICAL, first.result()),), lexical_alone=True)
    jobs = _jobs(searches, further)
    started |= _started({job: search for job, search in jobs.items() if job not in started}, lanes)
    _wait_for_answers(started, deadline_seconds, until)
    found = {job: _found(job[0], started[job]) for job in jobs}
    rankings = tuple(
        Ranking(channel, hits, query) for (channel, query), hits in found.items() if hits is not None
    )
    if all(ranking.query in APART for ranking in rankings):
        check(until)
        raise TemporaryError("no channel answered: each failed or was too late; try again")
    missing = dict.fromkeys(
        query if query in APART else channel for (channel, query), hits in found.items() if hits is None
    )
    return Retrieved(rankings, degraded=tuple(missing))


def _jobs(searches: Mapping[str, Begun], further: Sequence[ExtraSearch] = ()) -> dict[Job, Begun]:
    """Searches by channel and other words; the question itself first, so that it never waits for those."""
    jobs: dict[Job, Begun] = {(name, ""): search for name, search in searches.items()}
    return jobs | {(one.channel, one.query): one.search for one in further}


def _started(jobs: Mapping[Job, Begun], lanes: Mapping[str, Executor]) -> dict[Job, Future[Hits]]:
    return {
        job: search if isinstance(search, Future) else lanes[job[0]].submit(search)
        for job, search in jobs.items()
    }


def _wait_for_answers(started: Mapping[Job, Future[Hits]], deadline_seconds: float, until: float) -> None:
    """Return when all searches are done or late; while none has answered, when the patience ends.

    A search that fails while the others are waited for ends nothing. Lists of `APART` are no answer, because
    they hold no candidates.
    """
    patient_until = min(time.monotonic() + deadline_seconds * (1 + PATIENCE), until)
    late = wait(started.values(), timeout=left(until, most=deadline_seconds)).not_done
    answers = [future for (_, query), future in started.items() if query not in APART]
    while not any(map(_answered, answers)) and (patience := left(patient_until)):
        late = late.intersection(answers)
        if not late:
            return
        late = wait(late, timeout=patience, return_when=FIRST_COMPLETED).not_done


def _answered(future: Future[Hits]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def _found(name: str, future: Future[Hits]) -> Hits | None:
    if _answered(future):
        return future.result()
    # The message may quote the query; the kind of error says enough.
    error = TimeoutError() if future.cancel() or not future.done() else future.exception()
    _log.warning("channel_missing", channel=name, error=type(error).__name__)
    return None
