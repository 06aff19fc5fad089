"""Decay on real stores: what hides, what never does, and the ways back."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from helix_consolidation.stores.shard import Shard
from helix_consolidation.usage.decay import NO_DECAY, DecayRule
from helix_memory import subjects
from helix_memory.events import FeedbackEvent, ForgetEvent
from helix_shared.accesses import AccessedMemory, encode_accesses
from tests.unit.consolidation.conftest import (
    FIRST,
    NOON,
    NOW,
    SECOND,
    Bench,
    Stream,
    lifecycle,
    message,
    row,
    statement,
)

DAY = 86_400
RULE = DecayRule(after_seconds=30 * DAY, most_salience=0.3)
OLD = NOON - timedelta(days=60)


@pytest.fixture
def decaying(tmp_path: Path) -> Iterator[Callable[[DecayRule], Bench]]:
    """Opens the data folder with a rule; opened again it is a restart."""
    opened: list[Shard] = []

    def open_with(rule: DecayRule = RULE) -> Bench:
        for shard in opened:
            shard.close()
        opened.append(Shard.open(tmp_path / "data", maintain_every=64, decay=rule))
        return Bench(tmp_path / "data", opened[-1])

    yield open_with
    for shard in opened:
        shard.close()


def old_and_new(bench: Bench, stream: Stream, **fields: Any) -> None:
    """A turn of two months ago, changed by `fields`, and one of today."""
    weak = {"type": "episodic", "salience": 0.1, "created_at": OLD} | fields
    bench.apply(
        stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "the bus was late again", **weak)]),
        stream.memories("acme", "e2", 2, [row("acme", "e2", 2, "the shelf is oak", type="episodic")]),
    )
    bench.shard.sweep(now=NOW)


def hidden(bench: Bench) -> set[str]:
    """Ids of the hidden memories."""
    return {name for name, stored in bench.rows().items() if stored["hidden"]}


def accessed(memory_id: str, *, sequence: int = 1, tenant: str = "acme") -> Any:
    """A message that a memory was served once, now."""
    body = encode_accesses([AccessedMemory(memory_id, 1, NOW)])
    return message(subjects.ACCESS_STREAM, subjects.access_subject(tenant), body, sequence)


def test_a_weak_old_unused_turn_is_hidden_since_a_moment_that_follows_from_the_log(
    decaying: Callable[[DecayRule], Bench], stream: Stream
) -> None:
    """The moment is creation plus the age of the rule, whenever the sweep runs."""
    bench = decaying(RULE)
    old_and_new(bench, stream)
    assert hidden(bench) == {FIRST}
    assert bench.rows()[FIRST]["decayed_at"] == OLD + timedelta(days=30)
    assert bench.found("bus") == []
    assert bench.shard.manifest is not None
    assert bench.shard.manifest.counts.decayed == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"pinned": True},
        {"priority": 1.5},
        {"salience": 0.6},
        {"speech_act": "decision"},
        {"speech_act": "correction"},
        {"document_id": "manual"},
        {"created_at": NOON - timedelta(days=29)},
        *({"type": kind} for kind in ("semantic", "procedural", "decision", "code")),
    ],
    ids=str,
)
def test_what_is_marked_lasting_or_young_never_decays(
    decaying: Callable[[DecayRule], Bench], stream: Stream, fields: dict[str, Any]
) -> None:
    """Facts, procedures, decisions, documents and pinned memories stay, whatever their age."""
    bench = decaying(RULE)
    old_and_new(bench, stream, **fields)
    assert hidden(bench) == set()


def test_a_silent_tenant_loses_nothing(decaying: Callable[[DecayRule], Bench], stream: Stream) -> None:
    """Age is counted to the newest event of the same tenant, not to the clock or to other tenants."""
    bench = decaying(RULE)
    weak = {"type": "episodic", "salience": 0.1, "created_at": OLD}
    bench.apply(
        stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "the bus was late again", **weak)]),
        stream.memories("other", "e2", 2, [row("other", "e2", 2, "news")]),
    )
    bench.shard.sweep(now=NOW + 10**15)
    assert hidden(bench) == set()


def test_an_access_brings_it_back_for_good(decaying: Callable[[DecayRule], Bench], stream: Stream) -> None:
    """A memory that was read is used, so later sweeps leave it."""
    bench = decaying(RULE)
    old_and_new(bench, stream)
    assert bench.shard.apply_accesses([accessed(FIRST)], now=NOW)
    bench.shard.sweep(now=NOW)
    assert hidden(bench) == set()
    assert bench.rows()[FIRST]["decayed_at"] is None


def test_a_restore_event_brings_it_back_for_another_age(
    decaying: Callable[[DecayRule], Bench], stream: Stream
) -> None:
    """It takes the age of the rule from the restoration until it may decay again."""
    bench = decaying(RULE)
    old_and_new(bench, stream)
    restore = ForgetEvent(event_id="r", tenant_id="acme", memory_ids=[FIRST], restore=True)
    bench.apply(lifecycle(restore, 3))
    assert hidden(bench) == set()
    bench.shard.sweep(now=NOW)
    assert hidden(bench) == set()
    later = row("acme", "e4", 4, "much later", created_at=NOON + timedelta(days=31))
    bench.apply(stream.memories("acme", "e4", 4, [later]))
    bench.shard.sweep(now=NOW)
    assert bench.rows()[FIRST]["decayed_at"] == NOON + timedelta(days=30)


def test_another_rule_decides_again_after_a_restart(
    decaying: Callable[[DecayRule], Bench], stream: Stream
) -> None:
    """Switching decay off shows everything; switching it on hides the same memories since the same moment."""
    bench = decaying(RULE)
    old_and_new(bench, stream)
    before = bench.rows()[FIRST]
    for rule, expected in ((NO_DECAY, set()), (RULE, {FIRST})):
        bench.publish()
        bench = decaying(rule)
        bench.shard.sweep(now=NOW)
        assert hidden(bench) == expected
    assert bench.rows()[FIRST] == before


def test_helpful_feedback_keeps_a_memory_and_unhelpful_feedback_does_not(
    decaying: Callable[[DecayRule], Bench], stream: Stream
) -> None:
    """What helped was used. What did not help weakens, and a memory just above the bound falls below it."""
    bench = decaying(RULE)
    bench.apply(
        stream.memories(
            "acme", "e1", 1, [row("acme", "e1", 1, "one", type="episodic", salience=0.1, created_at=OLD)]
        ),
        stream.memories(
            "acme", "e2", 2, [row("acme", "e2", 2, "two", type="episodic", salience=0.35, created_at=OLD)]
        ),
        stream.memories("acme", "e3", 3, [row("acme", "e3", 3, "new")]),
    )
    bench.apply(
        lifecycle(FeedbackEvent(event_id="f", tenant_id="acme", helpful=[FIRST], unhelpful=[SECOND]), 4)
    )
    bench.shard.sweep(now=NOW)
    assert hidden(bench) == {SECOND}
    assert (bench.rows()[SECOND]["access_count"], bench.rows()[SECOND]["last_accessed_at"]) == (0, None)


def test_forgetting_and_superseding_come_before_decay(
    decaying: Callable[[DecayRule], Bench], stream: Stream
) -> None:
    """A forgotten memory is not counted as decayed, and a read by id does not find it."""
    bench = decaying(RULE)
    old_and_new(bench, stream)
    bench.apply(lifecycle(ForgetEvent(event_id="f", tenant_id="acme", memory_ids=[FIRST]), 3))
    stored = bench.rows()[FIRST]
    assert (stored["hidden"], stored["decayed_at"]) == (True, None)
    assert bench.publish().counts.decayed == 0


def test_a_turn_whose_statement_was_served_does_not_decay(
    decaying: Callable[[DecayRule], Bench], stream: Stream
) -> None:
    """A recall shows the statement in its place, and decay of the turn hides both; an access shows both."""
    bench = decaying(RULE)
    extracted = statement("acme", "e1", 1, "The bus of Ann was late", window=1)
    weak = {"type": "episodic", "salience": 0.1, "created_at": OLD}
    bench.apply(
        stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "it was late again", **weak)]),
        stream.statements("acme", "e1", 1, [extracted]),
        stream.memories("acme", "e2", 2, [row("acme", "e2", 2, "the shelf is oak", type="episodic")]),
    )
    bench.shard.sweep(now=NOW)
    assert hidden(bench) == {FIRST, extracted["memory_id"]}
    bench.shard.apply_accesses([accessed(extracted["memory_id"])], now=NOW)
    bench.shard.sweep(now=NOW)
    assert hidden(bench) == set()
    counts = {name: stored["access_count"] for name, stored in bench.rows().items()}
    assert counts == {FIRST: 1, SECOND: 0, extracted["memory_id"]: 1}
