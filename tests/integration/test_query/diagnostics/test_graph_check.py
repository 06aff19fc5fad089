"""Whether the graph pays: on memories that only a shared name tells from others like them."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from helix_query.diagnostics.graph_check import MIN_PAIRS, GraphCheck, check_graph
from helix_query.generations.snapshot import Snapshot
from helix_query.profile.files import load_profiles
from helix_query.recall.routing.centroids import centroids_of
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.encoders.encoder import Encoder

pytestmark = pytest.mark.integration

PAIRS = 32
FIRST = ("Adam", "Boris", "Clara", "Dora", "Edwin", "Fiona")
LAST = ("Karwick", "Lomsted", "Mirevan", "Norlund", "Ostrava", "Pelling")
ERRANDS = ("carried lanterns past", "mended umbrellas beside", "sketched sailboats under")
PLACES = ("quarry", "foundry", "vineyard", "lighthouse", "monastery", "observatory", "cannery", "tannery")


def told(place: int) -> list[str]:
    """Two memories of one person: an errand of their own, and a taste like that of many others."""
    name = f"{FIRST[place % 6]} {LAST[place // 6]}"
    where = f"the {PLACES[place % 8]} and the {PLACES[(place // 8 + place + 1) % 8]}"
    return [
        f"Yesterday {name} {ERRANDS[place % 3]} {where} until gate {place} closed.",
        f"At breakfast {name} usually orders pancakes, cinnamon coffee and toasted raisin bread.",
    ]


@pytest.fixture(scope="module")
def snapshot(
    corpus_type: Any, encoder: Encoder, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Snapshot]:
    """Ada's memories in acme have links, those of other have none; small has two memories; chat asks."""
    corpus = corpus_type.create(tmp_path_factory.mktemp("paying") / "data", encoder)
    rows = []
    for place in range(PAIRS):
        name = f"{FIRST[place % 6]} {LAST[place // 6]}"
        texts = [*told(place), "Is the ferry late?"] if place == 0 else told(place)
        owned = {"user_id": "ada", "owner": "ada", "entities": (name,)}
        rows += [{"text": text, **owned} for text in texts]
        rows += [{"text": text, "tenant_id": "other"} for text in texts]
    rows += [{"text": text, "tenant_id": "small"} for text in told(0)]
    asked = (
        f"Where is the {place} key number {n}?"
        for n, place in zip(range(MIN_PAIRS), PLACES * 4, strict=False)
    )
    rows += [{"text": text, "tenant_id": "chat"} for text in asked]
    for row in rows:
        if row["text"].endswith("?"):
            row["speech_act"] = "question"
    corpus.add(rows)
    number = corpus.publish()
    with closing(Generation.open(corpus.root, number)) as generation:
        yield Snapshot(generation, encoder, centroids_of(encoder))
    corpus.live.close()


def checked(snapshot: Snapshot, selection: Selection, **limits: float) -> GraphCheck:
    """The check with the default ranking profile."""
    return check_graph(snapshot, load_profiles()["helix"], selection, **limits)


def test_a_graph_that_finds_the_second_memory_helps(snapshot: Snapshot) -> None:
    """Its words are those of many others; the link leads to it."""
    found = checked(snapshot, Selection("acme", "ada"))
    for pairs in found.pairs.values():
        assert pairs.questions >= MIN_PAIRS
        assert pairs.difference == pytest.approx(pairs.with_graph - pairs.without_graph)
        assert 0 < pairs.low <= pairs.difference <= pairs.high
    assert [pairs.verdict for pairs in found.pairs.values()] == ["helps", "helps"]
    assert "for acme the graph helps (" in found.sentence
    assert f"{found.pairs['hinted'].questions} questions)" in found.sentence
    assert (found.coverage.memories, found.coverage.with_entity, found.coverage.with_link) == (65, 1.0, 0.0)
    assert (found.own.questions, found.own.several_hops) == (1, 0)


def test_without_links_the_graph_does_not_matter(snapshot: Snapshot) -> None:
    """The same memories, and not one is linked: both ways find the same."""
    found = checked(snapshot, Selection("other"))
    for pairs in found.pairs.values():
        assert (pairs.with_graph, pairs.low, pairs.high) == (pairs.without_graph, 0.0, 0.0)
    assert [pairs.verdict for pairs in found.pairs.values()] == ["does not matter", "does not matter"]
    assert found.coverage.with_entity == 0.0


@pytest.mark.parametrize(
    ("selection", "memories"),
    [
        (Selection("acme"), 0),
        (Selection("acme", "eve"), 0),
        (Selection("small"), 2),
        (Selection("nobody"), 0),
    ],
)
def test_too_few_visible_memories_have_no_verdict(
    snapshot: Snapshot, selection: Selection, memories: int
) -> None:
    """Another user's memories are neither read nor counted."""
    found = checked(snapshot, selection)
    assert found.coverage.memories == memories
    assert f"no verdict for {selection.tenant_id}" in found.sentence


def test_a_graph_that_changes_none_of_the_questions_asked_does_not_matter(snapshot: Snapshot) -> None:
    """What memories ask counts before what is made of them."""
    found = checked(snapshot, Selection("chat"))
    assert (found.own.questions, found.own.changed) == (MIN_PAIRS, 0)
    assert "the graph does not matter for chat: it changes the first 10 of none of the 30" in found.sentence


def test_the_time_is_bounded(snapshot: Snapshot) -> None:
    """Out of time, what was not asked is not judged."""
    found = checked(snapshot, Selection("acme", "ada"), seconds=0.0)
    assert (found.pairs, found.own.questions) == ({}, 0)
    assert "no verdict for acme: 0 questions" in found.sentence
