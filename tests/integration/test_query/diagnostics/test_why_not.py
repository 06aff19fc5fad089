"""WhyNot: every loss is named with its numbers, and the advised change brings the memory in."""

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from helix_memory.changes import changed
from helix_memory.recall.v1 import recall_pb2
from helix_query.generations.current import CurrentGeneration
from helix_query.profile.adapter import adapter_for
from helix_query.profile.files import load_profiles
from helix_query.profile.overrides import with_constants
from helix_query.recall.channels import LANES
from helix_shared.encoders.encoder import Encoder
from helix_shared.errors import NotFoundError

from .world import ABSTAINING, NARROW, NOW, World, drawn, request_of, rows_of

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def world(
    tmp_path_factory: pytest.TempPathFactory, corpus_type: Any, models_dir: Path, encoder: Encoder
) -> Iterator[World]:
    """One generated corpus."""
    root = tmp_path_factory.mktemp("why-not")
    corpus = corpus_type.create(root / "data", encoder)
    rows = rows_of(3)
    ids = corpus.add([dict(row) for row in rows])
    corpus.publish()
    corpus.live.close()
    profiles = dict(load_profiles())
    profiles["narrow"] = with_constants(profiles["helix"], NARROW)
    profiles["abstaining"] = with_constants(profiles["helix"], ABSTAINING)
    with contextlib.ExitStack() as held:
        current = CurrentGeneration(
            corpus.root, models_dir, scratch=root / "scratch", profile=profiles["helix"]
        )
        held.callback(current.close)
        current.refresh()
        served = held.enter_context(current.lease())
        lanes = {name: held.enter_context(ThreadPoolExecutor(1)) for name in LANES}
        yield World(served, profiles, lanes, rows, ids)


PAIRS = 90


@pytest.mark.long
def test_the_advised_change_brings_every_memory_in(world: World) -> None:
    """Over many queries and memories: after the change the memory is packed; every loss occurs."""
    seen = set()
    for seed in range(PAIRS):
        request, memory_id = drawn(world, seed)
        before = world.ask(request)
        reply = world.why_not(request, memory_id)
        told = f"{seed}: {reply.verdict} {reply.advice}"
        assert (reply.loss == recall_pb2.LOSS_NONE) == (memory_id in before.packed.memory_ids), told
        seen.add(reply.loss)
        if reply.loss == recall_pb2.LOSS_NONE:
            assert not reply.changes, told
            continue
        assert reply.changes, told
        after = world.replay(request, reply)
        assert memory_id in after.packed.memory_ids, told
        assert memory_id in [found.row["memory_id"] for found in after.rows], told
    # tested in recall/test_speech_acts.py, in test_cli/test_accesses.py, and below
    elsewhere = {recall_pb2.LOSS_SAME_TURN, recall_pb2.LOSS_QUOTED, recall_pb2.LOSS_DECAYED}
    elsewhere |= {recall_pb2.LOSS_FORGOTTEN, recall_pb2.LOSS_ERASED}
    elsewhere |= {recall_pb2.LOSS_REPLACED, recall_pb2.LOSS_NOT_VALID}
    assert seen == set(recall_pb2.Loss.values()) - elsewhere, seen


@pytest.mark.long
def test_no_part_of_the_change_is_needless(world: World) -> None:
    """Without one of several changes the memory is not packed."""
    several = 0
    for seed in range(40):
        request, memory_id = drawn(world, seed)
        changes = list(world.why_not(request, memory_id).changes)
        for change in changes if len(changes) > 1 else ():
            fewer = [one for one in changes if one is not change]
            assert memory_id not in world.ask(request, fewer).packed.memory_ids, (seed, change)
            several += 1
    assert several


def test_a_filter_is_named_by_its_field(world: World) -> None:
    """Exactly the two fields that exclude it are cleared."""
    row = next(row for row in world.rows if row["type"] == "semantic")
    request = request_of("Who did what for a long afternoon?", top_k=60, token_budget=9000)
    request.filter.types.append("decision")
    request.filter.session_ids.append("elsewhere")
    request.filter.event_before.FromDatetime(NOW)
    reply = world.why_not(request, world.id_of(row["text"]))
    assert (reply.loss, reply.stage) == (recall_pb2.LOSS_FILTER, "retrieve")
    assert list(reply.filter_fields) == ["filter.types", "filter.session_ids"]
    assert [(one.request_field, one.value) for one in reply.changes] == [
        ("filter.types", "null"),
        ("filter.session_ids", "null"),
    ]
    assert "filter.types and filter.session_ids" in reply.verdict


def test_a_skipped_question_is_asked_all_the_same(world: World) -> None:
    """The smallest change is `never_skip`."""
    # not the first memory, which has a near-duplicate, nor profile helix, which abstains after a greeting:
    # both would need a second change
    asked = request_of("hello there!", "helix-reference", top_k=200, token_budget=9000)
    reply = world.why_not(asked, world.ids[1])
    assert (reply.loss, reply.stage) == (recall_pb2.LOSS_SKIPPED, "route")
    assert [(one.request_field, one.value) for one in reply.changes] == [("never_skip", "true")]
    assert "never_skip = true" in reply.advice


def test_the_reported_channel_rank_is_the_true_rank(world: World) -> None:
    """The rank equals that by exact cosine of the adapted question among all visible memories."""
    request = request_of("What did Ann do with the printer?", "narrow", mode=recall_pb2.MODE_DENSE, top_k=9)
    encoder = world.served.encoder
    adapter = adapter_for(encoder)
    assert adapter is not None
    vector = adapter.vector(encoder.embed_query(request.query))
    visible = np.arange(len(world.ids) - 3)
    cosines = world.served.generation.signals.cosines(vector, visible)
    order = np.lexsort((visible, -cosines))
    rank = 15
    reply = world.why_not(request, world.ids[order[rank - 1]])
    dense = next(one for one in reply.channel_ranks if one.channel == "dense")
    assert (reply.loss, dense.rank, dense.limit) == (recall_pb2.LOSS_NOT_RETRIEVED, rank, 6)
    assert dense.score == pytest.approx(cosines[order[rank - 1]], abs=1e-6)
    assert dense.least_score == pytest.approx(cosines[order[5]], abs=1e-6)
    assert f"rank {rank}" in reply.verdict
    assert "9 beyond its 6" in reply.verdict


def test_a_near_duplicate_names_the_better_memory(world: World) -> None:
    """With the similarity; a threshold just above it keeps both."""
    text = world.rows[0]["text"]
    request = request_of(text, top_k=10, token_budget=5000)
    replies = {name: world.why_not(request, world.id_of(name)) for name in (text, f"again {text}")}
    lost = [name for name, reply in replies.items() if reply.loss == recall_pb2.LOSS_NEAR_DUPLICATE]
    assert len(lost) == 1
    reply = replies[lost[0]]
    other = next(name for name in replies if name != lost[0])
    assert reply.candidate.duplicate_of == world.id_of(other)
    assert reply.candidate.similarity >= 0.9
    [change] = reply.changes
    assert (change.profile_key, change.was) == ("diversify.near_duplicate", "0.9")
    assert reply.candidate.similarity < float(change.value) <= reply.candidate.similarity + 0.002


def test_top_k_is_the_rank_and_no_more(world: World) -> None:
    """One less is not enough."""
    everyone = world.ask(request_of("Who cleaned the kitchen?", top_k=30, token_budget=9000)).rows
    memory_id = everyone[11].row["memory_id"]
    reply = world.why_not(request_of("Who cleaned the kitchen?", top_k=3, token_budget=9000), memory_id)
    assert reply.loss in {recall_pb2.LOSS_TOP_K, recall_pb2.LOSS_NOT_AMONG_BEST}
    assert [(one.request_field, one.value, one.was) for one in reply.changes] == [("top_k", "12", "3")]
    assert reply.needed_score > reply.candidate.score > 0


def test_the_budget_is_named_in_tokens(world: World) -> None:
    """The needed budget packs it; one token less does not."""
    request = request_of("Who cleaned the kitchen?", top_k=5, token_budget=45)
    memory_id = world.ask(request).rows[3].row["memory_id"]
    reply = world.why_not(request, memory_id)
    assert (reply.loss, reply.stage) == (recall_pb2.LOSS_TOKEN_BUDGET, "pack")
    [change] = reply.changes
    assert int(change.value) == reply.needed_tokens > 45
    request.token_budget = reply.needed_tokens - 1
    assert memory_id not in world.ask(request).packed.memory_ids


def test_what_is_in_needs_no_change(world: World) -> None:
    """The verdict is its rank."""
    request = request_of("Who cleaned the kitchen?", top_k=5)
    found = world.ask(request).rows[1].row["memory_id"]
    reply = world.why_not(request, found)
    assert (reply.loss, reply.stage, list(reply.changes), reply.advice) == (0, "", [], "")
    assert "rank 2" in reply.verdict


def test_without_time_nothing_is_tried_but_the_loss_is_named(world: World) -> None:
    """The verdict takes one recall; the advice names the reason."""
    reply = world.why_not(request_of("hello there!"), world.ids[0], seconds=-1)
    assert (reply.loss, list(reply.changes), reply.replays) == (recall_pb2.LOSS_SKIPPED, [], 0)
    assert "in the available time" in reply.advice


def test_what_the_caller_may_not_see_is_not_found(world: World) -> None:
    """The same error for private, forgotten, foreign and unknown memories; the owner gets a verdict."""
    said = set()
    for memory_id in (*(world.id_of(name) for name in ("private", "hidden", "foreign")), "0" * 32):
        with pytest.raises(NotFoundError) as raised:
            world.why_not(request_of("Where is the key of the garden?"), memory_id)
        said.add(str(raised.value).replace(memory_id, "?"))
    assert len(said) == 1
    request = request_of("Where is the key of the garden?")
    request.scope.user_id = "u"
    assert world.why_not(request, world.id_of("private")).loss == recall_pb2.LOSS_NONE


def test_the_service_answers_why_not(answering: Any) -> None:
    """Over gRPC, within the deadline; memories of others give the status of GetMemory."""
    service, ids = answering
    asked = recall_pb2.RecallRequest(
        scope={"tenant_id": "acme"}, query="where was Jan Nowak born", top_k=1, now=NOW
    )
    known = ids["Gdansk lies on the Baltic coast."]
    reply = service.stub().WhyNot(recall_pb2.WhyNotRequest(recall=asked, memory_id=known), timeout=10)
    assert reply.loss == recall_pb2.LOSS_TOP_K
    again, constants = changed(asked, reply.changes)
    assert constants == {}
    assert known in service.stub().Recall(again, timeout=10).context.memory_ids
    for name, loss in (
        ("deleted", recall_pb2.LOSS_FORGOTTEN),
        ("erasing", recall_pb2.LOSS_ERASED),
        ("expired", recall_pb2.LOSS_NOT_VALID),
    ):
        hidden = service.stub().WhyNot(
            recall_pb2.WhyNotRequest(recall=asked, memory_id=ids[name]), timeout=10
        )
        assert (hidden.loss, hidden.stage, len(hidden.changes)) == (loss, "retrieve", 0), hidden.verdict
    for name in ("ann private", "board only", "globex secret"):
        codes = []
        for call, request in (
            (service.stub().WhyNot, recall_pb2.WhyNotRequest(recall=asked, memory_id=ids[name])),
            (
                service.stub().GetMemory,
                recall_pb2.GetMemoryRequest(scope={"tenant_id": "acme"}, memory_id=ids[name]),
            ),
        ):
            with pytest.raises(grpc.RpcError) as raised:
                call(request, timeout=10)
            codes.append((raised.value.code(), raised.value.details()))
        assert codes[0] == codes[1]
        assert codes[0][0] == grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize(
    "broken",
    [
        recall_pb2.WhyNotRequest(memory_id="0" * 32),
        recall_pb2.WhyNotRequest(recall={"scope": {"tenant_id": "acme"}, "query": "what?"}, memory_id="x"),
        recall_pb2.WhyNotRequest(
            recall={"scope": {"tenant_id": "a.b"}, "query": "what?"}, memory_id="0" * 32
        ),
    ],
)
def test_a_broken_request_is_refused(answering: Any, broken: recall_pb2.WhyNotRequest) -> None:
    """With the status of a recall."""
    service, _ = answering
    with pytest.raises(grpc.RpcError) as raised:
        service.stub().WhyNot(broken, timeout=10)
    assert raised.value.code() == grpc.StatusCode.INVALID_ARGUMENT
