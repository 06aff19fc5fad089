"""A key of which single events are forgotten."""

import hashlib
import hmac
import random
import time

import pytest

from helix_shared.errors import CorruptArtifactError
from helix_shared.keys.key_tree import KEY_BYTES, LEVELS, KeyTree


def test_every_event_has_a_key_of_its_own_and_keeps_it() -> None:
    """The same after storing, and different from those of other events and other users."""
    tree, other = KeyTree.fresh(), KeyTree.fresh()
    keys = {sequence: tree.key_of(sequence) for sequence in (0, 1, 2, 3, 1_000_000, 2**LEVELS - 1)}
    assert len(set(keys.values())) == len(keys)
    assert None not in keys.values()
    assert other.key_of(1) != keys[1]
    again = KeyTree.from_bytes(tree.to_bytes())
    assert {sequence: again.key_of(sequence) for sequence in keys} == keys


def test_a_key_follows_from_the_halves_above_it() -> None:
    """Worked out by hand: HMAC-SHA256 with the bits of the sequence, the first one first."""
    key = root = bytes(range(KEY_BYTES))
    for bit in f"{5:0{LEVELS}b}":
        key = hmac.new(key, bytes([int(bit)]), hashlib.sha256).digest()
    assert KeyTree({(0, 0): root}).key_of(5) == key


def test_forgotten_events_have_no_key_and_all_others_keep_theirs() -> None:
    """Single events, ranges, and everything below an event, in any order."""
    tree, draw = KeyTree.fresh(), random.Random(7)
    before = {sequence: tree.key_of(sequence) for sequence in range(300)}
    gone = set(range(40)) | {77, 78, 200} | set(draw.sample(range(300), 30))
    ranges = [(0, 39), (77, 78), *((one, one) for one in gone if one >= 40)]
    draw.shuffle(ranges)
    for first, last in ranges:
        tree.forget(first, last)
    after = {sequence: KeyTree.from_bytes(tree.to_bytes()).key_of(sequence) for sequence in range(300)}
    assert after == {sequence: None if sequence in gone else key for sequence, key in before.items()}
    assert not tree.forget(77, 78)


def test_many_events_between_others_are_forgotten_in_a_moment() -> None:
    """As many as a long session of a tenant without users; twice as many took four times as long."""
    tree = KeyTree.fresh()
    kept = tree.key_of(2)
    spent = time.process_time()
    for sequence in range(1, 100_000, 10):
        assert tree.forget(sequence, sequence)
    assert time.process_time() - spent < 10.0  # .2 s, and minutes with a look at every node for every event
    assert tree.key_of(2) == kept
    assert tree.key_of(1) is None


def test_no_node_that_is_left_leads_to_a_forgotten_key() -> None:
    """Neither a node above a forgotten event nor its key is kept; the few that are cover all the others."""
    tree = KeyTree.fresh()
    root = tree.nodes[0, 0]
    forgotten = tree.key_of(9)
    tree.forget(9, 9)
    assert root not in tree.nodes.values()
    assert forgotten not in tree.nodes.values()
    assert not any(9 >> (LEVELS - level) == prefix for level, prefix in tree.nodes)
    assert len(tree.nodes) == LEVELS
    assert sum(2 ** (LEVELS - level) for level, _ in tree.nodes) == 2**LEVELS - 1


def test_a_cut_key_is_refused() -> None:
    """Half a node would be another key."""
    with pytest.raises(CorruptArtifactError):
        KeyTree.from_bytes(KeyTree.fresh().to_bytes()[:-1])
