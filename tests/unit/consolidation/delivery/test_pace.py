"""How often the writer applies and publishes."""

import pytest

from helix_consolidation.delivery.pace import (
    OVERDUE_SECONDS,
    GenerationAge,
    events_to_come,
    pace_of,
)
from helix_consolidation.ledger.sequences import ProcessedSequences
from helix_consolidation.settings import ConsolidationSettings

SETTINGS = ConsolidationSettings(
    apply_interval_seconds=0.25, publish_interval_seconds=1.0, backlog_interval_seconds=10.0
)


@pytest.mark.parametrize("few", [0, 1, 10])
def test_few_events_keep_the_set_intervals(few: int) -> None:
    """Without a backlog the set intervals apply."""
    pace = pace_of(SETTINGS, events_to_come=few)
    assert (pace.apply_seconds, pace.publish_seconds) == (0.25, 1.0)


def test_intervals_grow_with_the_backlog_up_to_the_bound() -> None:
    """The more events are to come the longer, up to the setting."""
    paces = [pace_of(SETTINGS, events_to_come=count) for count in (10, 50, 100, 200, 1_000, 1_000_000)]
    assert [pace.publish_seconds for pace in paces] == sorted(pace.publish_seconds for pace in paces)
    assert paces[1].publish_seconds > 1.0
    assert paces[-1].publish_seconds == paces[-1].apply_seconds == 10.0


def test_a_bound_of_zero_turns_growing_off() -> None:
    """A backlog is then published as often as single events."""
    often = SETTINGS.model_copy(update={"backlog_interval_seconds": 0.0})
    assert pace_of(often, events_to_come=10_000) == pace_of(often, events_to_come=0)


def test_one_slow_event_does_not_delay_the_others() -> None:
    """Event 1,000 takes minutes to derive, 400 later ones are applied: a new one does not wait."""
    applied = ProcessedSequences(999, range(1_001, 1_401))
    assert events_to_come(applied, 1_402, here=1) == 2
    assert pace_of(SETTINGS, events_to_come=events_to_come(applied, 1_402, here=1)).publish_seconds == 1.0
    assert events_to_come(applied, 1_402, here=9) == 0


@pytest.mark.parametrize("name", ["publish_interval_seconds", "backlog_interval_seconds"])
def test_a_writer_is_ready_while_it_waits_for_the_interval_that_was_set(name: str) -> None:
    """Ten minutes may be set; it was called not ready for nine of them."""
    settings = SETTINGS.model_copy(update={name: 600.0})
    age = GenerationAge(settings, 0.0)
    assert age.problem(590.0, is_waiting=True) == ""
    assert age.problem(600.0 + OVERDUE_SECONDS + 1, is_waiting=True)
    age.published(700.0)
    assert age.problem(701.0, is_waiting=True) == ""
