"""Verdicts of a language model about pairs that the rules are unsure of: evidence, whenever it arrives."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nats.aio.msg import Msg

from helix_consolidation.relations.unsure import MAX_UNSURE, MIN_UNSURE
from helix_consolidation.stores.shard import Shard
from helix_shared.artifacts.generation.folders import folder_of
from helix_shared.artifacts.relations.records import DecidedRelation
from helix_shared.artifacts.relations.relation_files import RelationReader
from helix_shared.pairs.verdicts import VERDICTS
from tests.examples import examples
from tests.unit.consolidation.conftest import Bench, Stream, lifecycle, statement
from tests.unit.consolidation.folded import folded
from tests.unit.consolidation.histories import applied, in_log_order, shuffled
from tests.unit.consolidation.slots import TENANT, current, decide_unsure, edges, event, ids, said, told

ID = ids(9)


@pytest.fixture
def unsure(tmp_path: Path) -> Iterator[Bench]:
    """A shard that is unsure of every replacement."""
    bench = Bench(tmp_path, Shard.open(tmp_path, maintain_every=64, decide=decide_unsure))
    yield bench
    bench.shard.close()


def ports(stream: Stream) -> list[Msg]:
    """Two turns about the port."""
    return [said(stream, 1, "port 80"), said(stream, 2, "port 443")]


def shown(bench: Bench, memory: str) -> list[DecidedRelation]:
    """What a history shows of the relations of a memory."""
    ordinals = np.array([bench.rows()[memory]["ordinal"]])
    reader = RelationReader.open(folder_of(bench.folder, bench.publish().generation))
    return [relation for relation, counts in reader.of(ordinals) if counts]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_verdict_makes_an_unsure_update_sure(unsure: Bench, stream: Stream, order: tuple[int, ...]) -> None:
    """Whenever it arrives; the history shows the verdict and what the rules said; a restart keeps both."""
    messages = [*ports(stream), told(stream, 2, {1: "replaces"})]
    waiting = [messages[place] for place in order]
    while waiting:
        waiting += [message for message, _ in unsure.apply(waiting.pop(0)).postponed]
    for _ in range(2):
        assert current(unsure) == {"port 443"}
        assert edges(unsure) == {(ID[2], ID[1], "UPDATES"): 0.67}
        [relation] = shown(unsure, ID[1])
        assert relation.closes
        assert relation.evidence["verdict:replaces"] == 1.0
        assert relation.evidence["rules:UPDATES"] == pytest.approx(0.4, abs=1e-3)
        unsure.publish()
        reopened = unsure.reopened()
        unsure.shard = reopened.shard


def test_a_generation_does_not_say_that_a_relation_with_a_verdict_was_undone(
    unsure: Bench, stream: Stream
) -> None:
    """The verdict puts another relation in the place of the stored one, which alone does not count."""
    unsure.apply(*ports(stream))
    unsure.publish()
    unsure.apply(told(stream, 2, {1: "replaces"}))
    folder = folder_of(unsure.folder, unsure.publish().generation)
    assert RelationReader.open(folder).void_pairs == frozenset()
    unsure.apply(lifecycle(event("undo", "u", ID[2], ID[1]), 3))
    old, new = (unsure.rows()[ID[n]]["ordinal"] for n in (1, 2))
    folder = folder_of(unsure.folder, unsure.publish().generation)
    assert RelationReader.open(folder).void_pairs == {(new, old)}


def test_where_the_rules_do_not_permit_it_a_verdict_closes_nothing(unsure: Bench, stream: Stream) -> None:
    """It moves the probability alone; a relation that is not unsure does not move at all."""
    unsure.apply(said(stream, 1, "host a"), said(stream, 2, "host b"), said(stream, 3, "host c sure"))
    unsure.apply(told(stream, 2, {1: "replaces"}), told(stream, 3, {1: "unrelated", 2: "unrelated"}))
    assert current(unsure) == {"host c sure"}
    assert edges(unsure)[ID[2], ID[1], "UPDATES"] == 0.67
    assert edges(unsure)[ID[3], ID[2], "UPDATES"] == 0.99
    unsure.apply(lifecycle(event("forget", "f", ID[3]), 4))
    assert current(unsure) == {"host a", "host b"}


@pytest.mark.parametrize(
    ("verdict", "kind", "weight"),
    [("replaces", "UPDATES", 0.67), ("contradicts", "CONTRADICTS", 0.67)]
    + [(verdict, "UPDATES", 0.18) for verdict in ("adds", "same", "unrelated")],
)
def test_a_verdict_moves_the_odds_by_a_bounded_factor(
    unsure: Bench, stream: Stream, verdict: str, kind: str, weight: float
) -> None:
    """Of every verdict; the relation stays, so that a later answer can move it back."""
    unsure.apply(said(stream, 1, "host a"), said(stream, 2, "host b"))
    unsure.apply(told(stream, 2, {1: verdict}))
    assert edges(unsure) == {(ID[2], ID[1], kind): weight}
    unsure.apply(told(stream, 2, {1: ""}))
    assert edges(unsure) == {(ID[2], ID[1], "UPDATES"): 0.4}
    [relation] = shown(unsure, ID[1])
    assert dict(relation.evidence) == {"slot": 1.0}


def test_a_message_without_rows_takes_no_verdict_back(unsure: Bench, stream: Stream) -> None:
    """It is derived again where the pairs have expired; the verdict that was folded before stays."""
    unsure.apply(*ports(stream))
    unsure.apply(told(stream, 2, {1: "replaces"}), told(stream, 2, {}))
    assert current(unsure) == {"port 443"}
    unsure.apply(told(stream, 2, {1: "unrelated"}))
    assert current(unsure) == {"port 80", "port 443"}


def test_an_undo_takes_a_verdict_back_before_and_after_it(unsure: Bench, stream: Stream) -> None:
    """An undone relation does not come back with a later verdict."""
    unsure.apply(*ports(stream), told(stream, 2, {1: "replaces"}))
    unsure.apply(told(stream, 2, {1: "replaces"}))
    assert current(unsure) == {"port 443"}
    unsure.apply(lifecycle(event("undo", "u", ID[2], ID[1]), 3))
    assert current(unsure) == {"port 80", "port 443"}
    unsure.apply(told(stream, 2, {1: "contradicts"}), told(stream, 2, {1: "replaces"}))
    assert current(unsure) == {"port 80", "port 443"}
    assert edges(unsure) == {}


def test_a_verdict_about_another_publication_or_tenant_changes_nothing(unsure: Bench, stream: Stream) -> None:
    """It names memories with the sequences of their events; an erased one is not there."""
    unsure.apply(*ports(stream))
    row = {"newer": ID[2], "newer_sequence": 2, "older": ID[1], "older_sequence": 1, "verdict": "replaces"}
    wrong = [
        stream.verdicts("other", "e2", 2, [row]),
        stream.verdicts(TENANT, "e2", 2, [row | {"older_sequence": 3}, row | {"newer_sequence": 3}]),
        stream.verdicts(TENANT, "e1", 1, [row]),
        stream.verdicts(TENANT, "e2", 2, [row | {"older": ID[7]}]),
    ]
    outcome = unsure.apply(*wrong)
    assert len(outcome.done) == len(wrong)
    assert edges(unsure) == {(ID[2], ID[1], "UPDATES"): 0.4}
    [refused] = unsure.apply(stream.verdicts(TENANT, "e2", 2, [row | {"verdict": "maybe"}])).dead
    assert "unknown verdict" in str(refused[1])


def test_pairs_are_collected_only_where_somebody_asks(unsure: Bench, stream: Stream) -> None:
    """The most probable two of an event, in both texts, with what identifies them."""
    unsure.apply(said(stream, 1, "port 1"), said(stream, 2, "port 2"))
    assert unsure.shard.unsure is None
    unsure.shard.unsure = []
    unsure.apply(said(stream, 3, "port 3"), said(stream, 4, "name 1"))
    [asked] = unsure.shard.unsure
    assert (asked.tenant_id, asked.event_sequence) == (TENANT, 3)
    assert [(pair.newer.text, pair.older.text) for pair in asked.pairs] == [
        ("port 3", "port 1"),
        ("port 3", "port 2"),
    ]
    assert [(pair.newer.memory_id, pair.older.sequence) for pair in asked.pairs] == [(ID[3], 1), (ID[3], 2)]
    unsure.apply(said(stream, 5, "port 5"))
    assert len(unsure.shard.unsure[1].pairs) == 2


def test_the_asked_band_is_where_a_verdict_can_carry_across_one_half() -> None:
    """The factor of the odds defines it."""
    assert (MIN_UNSURE, MAX_UNSURE) == (0.25, 0.75)


def history(seed: int) -> list[Msg]:
    """Statements about few slots, verdicts about any pair, extracted statements, and lifecycle events."""
    random, stream, messages = Random(seed), Stream(), []
    known = ids(24)
    for number in range(1, random.randrange(8, 24)):
        kind = random.choice(("say",) * 7 + ("correct", "forget", "restore", "erase", "undo"))
        if kind in ("forget", "restore", "erase", "undo"):
            named = random.sample(known[1 : number + 2], 2 if kind == "undo" else 1)
            messages.append(lifecycle(event(kind, f"x{number}", *named), number))
            continue
        sure = random.choice(("", "", " sure"))
        text = f"{random.choice(('port', 'host', 'port', 'host', 'jk'))} {random.choice('abc')}{sure}"
        corrects = random.choice(known[:number]) if kind == "correct" else ""
        messages.append(said(stream, number, text, corrects=corrects))
        if random.random() < 0.3:
            name = f"e{number}"
            row = statement(TENANT, name, number, f"{text} drawn", window=number) | {"links": []}
            messages.append(stream.statements(TENANT, name, number, [row]))
        for _ in range(random.choice((0, 1, 1, 2)) if number > 1 else 0):
            earlier = random.sample(range(1, number), min(number - 1, 3))
            answers = {older: random.choice((*VERDICTS, "replaces", "")) for older in earlier}
            messages.append(told(stream, number, answers if random.random() < 0.8 else {}))
    return messages


@settings(max_examples=examples(2), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_any_order_of_arrival_leads_to_the_same_state(seed: int) -> None:
    """With repeats, batches of any size and restarts in between, in real stores."""
    random, messages = Random(seed), history(seed)
    expected = applied(in_log_order(messages), Random(0), decide=decide_unsure)
    assert applied(shuffled(messages, random), random, restarts=0.2, decide=decide_unsure) == expected


@settings(max_examples=examples(5), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_many_histories_fold_to_the_same_state(seed: int) -> None:
    """More orders of arrival, without the stores."""
    random, messages = Random(seed), history(seed)
    expected = folded(in_log_order(messages), Random(0), decide=decide_unsure)
    assert folded(shuffled(messages, random), random, decide=decide_unsure) == expected
