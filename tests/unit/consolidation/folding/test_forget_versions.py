"""The id of any version names the memory: a forget hides all versions, a restore brings them back."""

from __future__ import annotations

from random import Random

import pytest

from helix_memory.events import ForgetEvent
from tests.examples import seeds
from tests.unit.consolidation.conftest import Bench, Stream, lifecycle, row, statement
from tests.unit.consolidation.folding.test_undo import NEW, NEWEST, OLD, chain, event_of, visible
from tests.unit.consolidation.histories import applied, shuffled


@pytest.mark.parametrize("last_corrects", [NEW, OLD])
@pytest.mark.parametrize("named", [OLD, NEW, NEWEST])
def test_a_forget_of_any_version_hides_all(
    bench: Bench, stream: Stream, named: str, last_corrects: str
) -> None:
    """Also after a restart; a restore of any version shows the current one again, and no other."""
    bench.apply(*chain(stream, last_corrects=last_corrects))
    assert bench.apply(lifecycle(event_of("forget", named, name="f"), 4)).dead == []
    assert visible(bench.rows()) == {}
    assert bench.found("e3") == []
    bench.publish()
    reopened = bench.reopened()
    assert visible(reopened.rows()) == {}
    reopened.apply(lifecycle(event_of("restore", OLD if named != OLD else NEWEST, name="r"), 5))
    assert visible(reopened.rows()) == {"e3": ""}
    reopened.shard.close()


def test_a_forget_hides_all_versions_while_an_earlier_event_is_missing(bench: Bench, stream: Stream) -> None:
    """It is carried out later, and hides what it reaches at once."""
    bench.apply(*chain(stream), lifecycle(event_of("forget", OLD), 5))
    assert bench.shard.state.pending.actions
    assert visible(bench.rows()) == {}


def test_what_is_said_after_a_forget_is_shown(bench: Bench, stream: Stream) -> None:
    """A correction of a forgotten memory."""
    bench.apply(*chain(stream)[:2], lifecycle(event_of("forget", NEW), 3))
    bench.apply(stream.memories("acme", "e4", 4, [row("acme", "e4", 4, "e4", corrects=NEW)]))
    assert visible(bench.rows()) == {"e4": ""}


def test_a_restore_leaves_an_undone_correction_undone(bench: Bench, stream: Stream) -> None:
    """What held before the forget holds again."""
    bench.apply(*chain(stream)[:2], lifecycle(event_of("undo", NEW), 3))
    bench.apply(lifecycle(event_of("forget", OLD, name="f"), 4))
    assert visible(bench.rows()) == {}
    bench.apply(lifecycle(event_of("restore", OLD, name="r"), 5))
    assert visible(bench.rows()) == {"e1": ""}


def test_statements_of_every_version_are_hidden(bench: Bench, stream: Stream) -> None:
    """One that stands beside a turn, and one that was extracted from it."""
    first = [
        row("acme", "e1", 1, "on Friday"),
        row("acme", "e1", 1, "the plumber comes on Friday", piece=1, derived_from=OLD),
    ]
    bench.apply(stream.memories("acme", "e1", 1, first))
    second = [
        row("acme", "e2", 2, "on Monday", corrects=OLD),
        row("acme", "e2", 2, "the plumber comes on Monday", piece=1, derived_from=NEW, corrects=OLD),
    ]
    bench.apply(stream.memories("acme", "e2", 2, second))
    extracted = [statement("acme", "e2", 2, "a plumber is expected", window=2)]
    bench.apply(stream.statements("acme", "e2", 2, extracted))
    shown = visible(bench.rows())
    assert set(shown) == {"on Monday", "the plumber comes on Monday", "a plumber is expected"}
    bench.apply(lifecycle(event_of("forget", OLD, name="f"), 3))
    assert visible(bench.rows()) == {}
    bench.apply(lifecycle(event_of("restore", NEW, name="r"), 4))
    assert visible(bench.rows()) == shown


def test_a_forget_reaches_the_versions_through_an_erased_one(bench: Bench, stream: Stream) -> None:
    """The last two correct one that was erased, before and after a restart."""
    bench.apply(*chain(stream, last_corrects=OLD), lifecycle(event_of("erase", OLD, name="x"), 4))
    for sequence in (5, 7):
        bench.apply(lifecycle(event_of("forget", NEWEST, name=f"f{sequence}"), sequence))
        assert visible(bench.rows()) == {}
        bench.apply(lifecycle(event_of("restore", NEW, name=f"r{sequence}"), sequence + 1))
        assert visible(bench.rows()) == {"e3": ""}
        bench.publish()
        bench = bench.reopened()
    bench.shard.close()


def test_bob_forgets_no_version_of_anns(bench: Bench, stream: Stream) -> None:
    """A forget reaches what its user could recall."""
    for number, corrects in ((1, ""), (2, OLD)):
        text = row("acme", f"e{number}", number, f"e{number}", corrects=corrects, user_id="ann")
        bench.apply(stream.memories("acme", f"e{number}", number, [text]))
    bobs = ForgetEvent(event_id="f", tenant_id="acme", user_id="bob", memory_ids=[OLD])
    bench.apply(lifecycle(bobs, 3))
    assert visible(bench.rows()) == {"e2": ""}


@pytest.mark.parametrize("seed", seeds(4, part=2))
def test_every_order_of_arrival_forgets_the_same(stream: Stream, seed: int) -> None:
    """Corrections, undo, forget and restore of different versions."""
    random = Random(seed)
    events = [("undo", NEW), ("forget", NEWEST), ("restore", OLD), ("forget", NEW)]
    named = random.sample(events, 3)
    messages = chain(stream, last_corrects=random.choice((OLD, NEW)))
    messages += [
        lifecycle(event_of(kind, one, name=f"x{number}"), number)
        for number, (kind, one) in enumerate(named, 4)
    ]
    expected = applied(messages, Random(0))
    assert applied(shuffled(messages, random), random) == expected
