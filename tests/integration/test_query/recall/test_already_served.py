"""`already_served`: memories that the caller has are left out."""

from typing import Any

import pytest

pytestmark = pytest.mark.integration


def ids_of(reply: Any) -> list[str]:
    """Ids of a reply, best first."""
    return [found.memory.memory_id for found in reply.memories]


def test_what_was_served_is_left_out_and_the_next_ones_move_up(answering: Any) -> None:
    """The answer is a longer answer without them, in the same order."""
    service, _ = answering
    query = "where is the garden of the staging server in Gdansk"
    whole = ids_of(service.recall(query, top_k=12))
    for served in (whole[:3], whole[2:5], [whole[0], whole[6], "0" * 32]):
        reply = service.recall(query, top_k=4, already_served=served)
        fresh = [identity for identity in whole if identity not in served][:4]
        assert ids_of(reply) == fresh
        assert [found.rank for found in reply.memories] == [1, 2, 3, 4]
        assert reply.already_served_count == len(set(served) & set(whole[: whole.index(fresh[-1])]))
        assert set(reply.context.memory_ids) <= set(fresh)


def test_when_all_was_served_nothing_comes_back(answering: Any) -> None:
    """With 1,000 ids, among them all of the tenant, the answer is empty."""
    service, ids = answering
    served = [*ids.values(), *(f"{number:032x}" for number in range(1_000 - len(ids)))]
    reply = service.recall("garden", already_served=served, top_k=200)
    assert ids_of(reply) == []
    assert reply.already_served_count > 10
    assert (reply.context.text, list(reply.context.surrounding_ids)) == ("", [])


def test_the_served_take_no_place_of_others_in_a_channel(corpus: Any, start: Any) -> None:
    """150 of 160 similar memories are left out, more than a channel returns; the other ten come back."""
    rows = [{"text": f"The lighthouse keeper wrote entry {number * 7919 % 997}."} for number in range(160)]
    ids = corpus.add(rows)
    corpus.publish()
    service = start(corpus.root)
    service.wait_for(lambda at: at.status().generation == 1)
    reply = service.recall("what did the lighthouse keeper write", top_k=200, already_served=ids[:150])
    assert set(ids_of(reply)) == set(ids[150:])
