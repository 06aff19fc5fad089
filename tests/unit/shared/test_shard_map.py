"""The shard map: hashing, growth, and what a subject belongs to."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_memory import subjects
from helix_memory.sharding import MOST_SHARDS, hashed_shard
from helix_shared.errors import CorruptArtifactError, InvalidInputError
from helix_shared.shard_map import ONLY_SHARD, ShardMap, ShardPlace

TENANTS = [f"tenant-{number}" for number in range(2_000)]


def test_hashing_never_changes() -> None:
    """Stored memories lie by it: another result would lose them."""
    assert [hashed_shard(one, 4) for one in ("acme", "globex", "initech", "a", "tenant-17")] == FOUR


FOUR = [1, 3, 0, 0, 2]


def test_tenants_are_spread_evenly() -> None:
    """Each of eight shards has an eighth of 2,000 tenants, within five standard deviations."""
    counts = Counter(hashed_shard(one, 8) for one in TENANTS)
    assert sorted(counts) == list(range(8))
    assert all(abs(count - 250) < 5 * 15 for count in counts.values())


@given(st.integers(1, MOST_SHARDS - 1))
def test_one_shard_more_takes_tenants_for_itself_alone(shards: int) -> None:
    """Whoever is placed elsewhere is placed in the new shard."""
    moved = [one for one in TENANTS if hashed_shard(one, shards) != hashed_shard(one, shards + 1)]
    assert {hashed_shard(one, shards + 1) for one in moved} == {shards}
    assert 0 < len(moved) < 2 * len(TENANTS) / (shards + 1)


@given(st.lists(st.integers(1, MOST_SHARDS), min_size=1, max_size=4))
def test_growth_moves_no_tenant_that_exists(sizes: list[int]) -> None:
    """Through any number of steps; a new tenant lies where hashing says."""
    found, known = ShardMap(), TENANTS[:50]
    for size in sorted(sizes):
        before = {one: found.shard_of(one) for one in known}
        found = found.grown(size, tenants=known, log_end=len(known))
        assert {one: found.shard_of(one) for one in known} == before
        assert found.shard_of("newcomer") == hashed_shard("newcomer", size)
        known = TENANTS[: len(known) + 10]
        # whoever came since lies where the map of that time says
        assert ShardMap.decoded(found.encoded()) == found


def test_a_map_cannot_shrink_or_grow_beyond_its_bound() -> None:
    """The error names the option and the bounds."""
    two = ShardMap().grown(2, tenants=(), log_end=7)
    assert (two.starts, two.overrides) == ((0, 7), {})
    for shards in (1, MOST_SHARDS + 1):
        with pytest.raises(InvalidInputError, match=f"{shards} must be 2 to {MOST_SHARDS}"):
            two.grown(shards, tenants=(), log_end=7)


def test_every_subject_belongs_to_exactly_one_shard() -> None:
    """That of its tenant; with one shard all are its own."""
    whole = ShardMap().grown(3, tenants=(), log_end=0)
    places = [ShardPlace(shard=number, map=whole) for number in range(3)]
    for tenant in TENANTS[:100]:
        for subject in (
            subjects.event_subject(tenant, "s", "forget"),
            subjects.derived_subject("memories", tenant),
            subjects.access_subject(tenant),
        ):
            owners = [place.shard for place in places if place.owns_subject(subject)]
            assert owners == [whole.shard_of(tenant)]
            assert ONLY_SHARD.owns_subject(subject)


@given(st.lists(st.tuples(st.sampled_from(TENANTS[:4]), st.integers(0, 3), st.integers(1, 99)), max_size=9))
def test_a_moved_tenant_lies_where_it_was_moved(moves: list[tuple[str, int, int]]) -> None:
    """Whatever was moved before; others stay; what came by a move is told for the last move alone."""
    found = ShardMap().grown(4, tenants=(), log_end=0)
    for tenant, shard, sequence in moves:
        others = {one: found.shard_of(one) for one in TENANTS[:20] if one != tenant}
        found = ShardMap.decoded(found.moving(tenant, shard, sequence=sequence).encoded())
        assert found.shard_of(tenant) == shard
        assert {one: found.shard_of(one) for one in others} == others
        subject = subjects.event_subject(tenant, "s", "forget")
        place = ShardPlace(shard=shard, map=found)
        assert [place.has_by_move(subject, one) for one in (sequence, sequence + 1)] == [True, False]
        assert found.placing(tenant, shard).moved == {k: v for k, v in found.moved.items() if k != tenant}
    # one that lies where hashing places it needs no override
    assert all(hashed_shard(one, 4) != at for one, at in found.overrides.items())
    assert found.grown(5, tenants=TENANTS[:20], log_end=9).moved == found.moved


@pytest.mark.parametrize(
    ("tenant", "shard", "field"), [("a", 2, "--to"), ("a", -1, "--to"), ("a.b", 1, "tenant")]
)
def test_a_tenant_moves_to_shards_that_exist(tenant: str, shard: int, field: str) -> None:
    """The error names what is wrong, and the bounds."""
    two = ShardMap().grown(2, tenants=(), log_end=0)
    with pytest.raises(InvalidInputError, match=f"{field}.* must"):
        two.moving(tenant, shard, sequence=1)


@pytest.mark.parametrize(
    "body", [b"", b"{}x", b'{"shards":2}', b'{"shards":1,"overrides":{"a":1}}', b'{"shards":0,"starts":[]}']
)
def test_a_damaged_map_is_refused(body: bytes) -> None:
    """A writer must not guess whose a tenant is."""
    with pytest.raises(CorruptArtifactError, match="shard map is damaged"):
        ShardMap.decoded(body)
