import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from helix_query.profile.sections.section import DENSE, LEXICAL
from helix_query.recall.candidates import PHRASE_MATCH
from helix_query.recall.channels import LANES
from helix_query.recall.recipes.extra_searches import ExtraSearch
from helix_query.recall.stages.retrieve import ClearLead, search_all
from helix_shared.artifacts.hits import Hits
from helix_shared.errors import TemporaryError

LEAD = ClearLead(half_score=5.0, top=0.8, lead=0.3)


class RustPanicError(BaseException):
    """What a panic of an engine looks like."""


def hits(*scores: float) -> Hits:
    """A list with these scores."""
    return Hits(np.arange(len(scores), dtype=np.int64), np.array(scores, np.float32))


@pytest.fixture
def lanes() -> Iterator[dict[str, ThreadPoolExecutor]]:
    """One pool a channel."""
    pools = {name: ThreadPoolExecutor(2) for name in LANES}
    yield pools
    for pool in pools.values():
        pool.shutdown()


def test_channels_run_at_once(lanes: dict[str, ThreadPoolExecutor]) -> None:
    """Each waits for the other, which only works side by side."""
    meeting = threading.Barrier(2, timeout=5)

    def search() -> Hits:
        meeting.wait()
        return hits(1.0)

    found = search_all({DENSE: search, LEXICAL: search}, lanes=lanes, deadline_seconds=5)
    assert [ranking.channel for ranking in found.rankings] == [DENSE, LEXICAL]
    assert found.degraded == ()


def test_a_late_channel_is_named_and_the_other_answers(lanes: dict[str, ThreadPoolExecutor]) -> None:
    """The deadline holds even though the search continues."""
    release = threading.Event()

    def late() -> Hits:
        release.wait(60)
        return hits(1.0)

    started = time.monotonic()
    found = search_all({DENSE: late, LEXICAL: lambda: hits(3.0)}, lanes=lanes, deadline_seconds=1.0)
    assert time.monotonic() - started < 30
    release.set()
    assert found.degraded == (DENSE,)
    assert [ranking.channel for ranking in found.rankings] == [LEXICAL]


@pytest.mark.parametrize("error", [ValueError("no"), RustPanicError("panicked")])
def test_a_failing_channel_is_named(lanes: dict[str, ThreadPoolExecutor], error: BaseException) -> None:
    """A panic, which is not an Exception, fails its channel only."""

    def fails() -> Hits:
        raise error

    found = search_all({DENSE: fails, LEXICAL: lambda: hits(3.0)}, lanes=lanes, deadline_seconds=5)
    assert found.degraded == (DENSE,)


def test_no_channel_at_all_is_an_error(lanes: dict[str, ThreadPoolExecutor]) -> None:
    """An empty answer would mean that no memory matches."""

    def fails() -> Hits:
        raise ValueError

    with pytest.raises(TemporaryError):
        search_all({DENSE: fails, LEXICAL: fails}, lanes=lanes, deadline_seconds=5)


def test_without_any_answer_the_first_late_one_is_waited_for(lanes: dict[str, ThreadPoolExecutor]) -> None:
    """One fails, one takes twice its deadline: its answer counts; with a third in time it would not."""

    def fails() -> Hits:
        raise ValueError

    def late() -> Hits:
        time.sleep(0.2)
        return hits(3.0)

    found = search_all({DENSE: fails, LEXICAL: late}, lanes=lanes, deadline_seconds=0.1)
    assert [ranking.channel for ranking in found.rankings] == [LEXICAL]
    assert found.degraded == (DENSE,)


def test_a_clear_lead_is_measured_on_the_normalised_score() -> None:
    """Normalised is s / (s + 5): 20 is .8, 5 is .5 -> lead .3 holds; 5.1 leads too little, 19 is too weak."""
    assert LEAD.is_met_by(hits(20.0, 5.0))
    assert not LEAD.is_met_by(hits(20.0, 5.1))
    assert not LEAD.is_met_by(hits(19.0, 1.0))
    assert LEAD.is_met_by(hits(20.0))
    assert not LEAD.is_met_by(Hits.none())


def test_auto_answers_from_a_clear_lexical_match_alone(lanes: dict[str, ThreadPoolExecutor]) -> None:
    """Then the dense channel is not even asked."""
    asked: list[str] = []

    def dense() -> Hits:
        asked.append(DENSE)
        return hits(0.5)

    searches = {DENSE: dense, LEXICAL: lambda: hits(30.0, 2.0)}
    found = search_all(searches, lanes=lanes, deadline_seconds=5, clear_lead=LEAD)
    assert found.lexical_alone
    assert asked == []
    searches = {DENSE: dense, LEXICAL: lambda: hits(30.0, 25.0)}
    found = search_all(searches, lanes=lanes, deadline_seconds=5, clear_lead=LEAD)
    assert not found.lexical_alone
    assert [ranking.channel for ranking in found.rankings] == [DENSE, LEXICAL]


def test_other_words_are_lists_of_their_own_behind_the_question(lanes: dict[str, ThreadPoolExecutor]) -> None:
    """Each with what was asked; the question's own lists come first."""
    found = search_all(
        {DENSE: lambda: hits(1.0), LEXICAL: lambda: hits(2.0)},
        extra_searches=[
            ExtraSearch(LEXICAL, "I use", lambda: hits(3.0)),
            ExtraSearch(DENSE, "I use", lambda: hits(4.0)),
        ],
        lanes=lanes,
        deadline_seconds=5,
    )
    asked = [(ranking.channel, ranking.words, float(ranking.hits.scores[0])) for ranking in found.rankings]
    assert asked == [(DENSE, "", 1.0), (LEXICAL, "", 2.0), (LEXICAL, "I use", 3.0), (DENSE, "I use", 4.0)]


@pytest.mark.parametrize("channel", ["entity", "associative"])
def test_a_failing_entity_or_associative_channel_is_named_and_the_others_answer(
    lanes: dict[str, ThreadPoolExecutor], channel: str
) -> None:
    """One that raises, and one that is late."""
    release = threading.Event()

    def fails() -> Hits:
        raise RustPanicError

    def late() -> Hits:
        release.wait(60)
        return hits(1.0)

    for broken in (fails, late):
        found = search_all(
            {DENSE: lambda: hits(1.0), LEXICAL: lambda: hits(2.0), channel: broken},
            lanes=lanes,
            deadline_seconds=1.0,
        )
        assert found.degraded == (channel,)
        assert [ranking.channel for ranking in found.rankings] == [DENSE, LEXICAL]
    release.set()


def test_a_search_in_other_words_that_fails_degrades_its_channel_once(
    lanes: dict[str, ThreadPoolExecutor],
) -> None:
    """Two of them fail; the question's own list is still there."""

    def fails() -> Hits:
        raise RustPanicError

    found = search_all(
        {LEXICAL: lambda: hits(2.0)},
        extra_searches=[ExtraSearch(LEXICAL, "one", fails), ExtraSearch(LEXICAL, "two", fails)],
        lanes=lanes,
        deadline_seconds=5,
    )
    assert found.degraded == (LEXICAL,)
    assert [ranking.words for ranking in found.rankings] == [""]


def test_a_clear_lexical_lead_needs_no_other_words(lanes: dict[str, ThreadPoolExecutor]) -> None:
    """Mode auto stops before everything else."""
    asked: list[str] = []

    def other() -> Hits:
        asked.append("other")
        return hits(1.0)

    found = search_all(
        {DENSE: other, LEXICAL: lambda: hits(30.0, 2.0)},
        extra_searches=[ExtraSearch(LEXICAL, "I use", other)],
        lanes=lanes,
        deadline_seconds=5,
        clear_lead=LEAD,
    )
    assert (found.lexical_alone, asked) == (True, [])


def test_evidence_alone_is_no_answer(lanes: dict[str, ThreadPoolExecutor]) -> None:
    """It holds no candidates; and a search for it that fails is named."""

    def fails() -> Hits:
        raise RustPanicError

    with pytest.raises(TemporaryError):
        search_all(
            {DENSE: fails}, evidence={PHRASE_MATCH: lambda: hits(1.0)}, lanes=lanes, deadline_seconds=0.1
        )
    found = search_all(
        {DENSE: lambda: hits(1.0)}, evidence={PHRASE_MATCH: fails}, lanes=lanes, deadline_seconds=5
    )
    assert (found.degraded, found.phrase_match) == ((PHRASE_MATCH,), None)
